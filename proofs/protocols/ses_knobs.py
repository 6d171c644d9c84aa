"""The proof of causal order for combinations of the vector pairs' choices, for every n.

Unlike in `ses`, a pair need not be as late as a message in every entry: the sender's is enough. Nor need each message
have its own: where a later message to the same site has a pair, the earlier one is delivered before that.
"""

from dataclasses import replace

import z3

from crownless.impl.variants.knobs import Combination
from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.causal_order import CausalOrder, Invariants
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term

from .ses import INVARIANTS, KEPT_BY, OPTIMAL_BY, SAFE_BY, by_pairs, time_of

HAS = "a site has a pair for what it knows"
CARRIES = "a message has a pair for what happened before"


def covers(run: AnyRun, pairs: Term, x: Term) -> Term:
    """True if the pair for the receiver of x is as late as x in the sender's entry."""
    k = run.sender(x)
    return time_of(run, x)[k] <= pairs[run.receiver(x)][k]


BY_ONE_ENTRY: Invariants = {
    **INVARIANTS,
    **for_all(
        {
            HAS: lambda run, now, p, x: z3.Implies(
                now.knows(p, x), z3.Or(now.delivered(x), covers(run, now.local(p).buffer, x))
            ),
            CARRIES: lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), run.precedes(x, m)), z3.Or(now.delivered(x), covers(run, run.stamp(m).buffer, x))
            ),
        }
    ),
}


def proofs(combination: Combination) -> list[CausalOrder]:
    """The proofs to try."""
    proof = by_pairs(combination.protocol)
    return [replace(proof, invariants=BY_ONE_ENTRY, safe_by=(*SAFE_BY, "no message is to its sender"))]
