"""The proof of causal order for combinations of the matrix protocol's choices, for every n.

Unlike in `rst`, SENT need not count what is delivered: whoever knows a message counts it, or it is delivered; and what
is counted is known. Likewise for stamps. That suffices for the guard, whichever entries are left out.
"""

from collections.abc import Callable

import z3

from crownless.impl.variants.knobs import Combination
from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.causal_order import OF_CHANNELS, CausalOrder, Invariants
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term

from .rst import Counts

COUNTED = "what is known is counted, or delivered"
BEFORE = "what happened before is counted by the stamp, or delivered"
FIRST = "DELIV counts what is delivered"
CHANNEL = "a stamp counts those before on its channel"
NUMBERED = "there is a message of each number"
STAMPS = "what a stamp counts happened before"


def counting_what_is_not_delivered(at: Counts) -> Invariants:
    """The invariants, if these are the counts."""

    def of_channel(run: AnyRun, x: Term) -> tuple[Term, Term]:
        return run.sender(x), run.receiver(x)

    def counted(run: AnyRun, now: SymbolicState, p: Term, x: Term) -> Term:
        return run.number(x) <= at.known(now, p, *of_channel(run, x))

    def carried(run: AnyRun, m: Term, x: Term) -> Term:
        return run.number(x) <= at.carried(run, m, *of_channel(run, x))

    kept: dict[str, Callable[..., Term]] = {
        "a sender counts what it sent": lambda run, now, k, l: at.known(now, k, k, l) == now.count(k, l),
        "nobody counts more than there are": lambda run, now, p, k, l: at.known(now, p, k, l) <= now.count(k, l),
        "no stamp counts more than there are": lambda run, now, m, k, l: z3.Implies(
            now.sent(m), at.carried(run, m, k, l) <= now.count(k, l)
        ),
        COUNTED: lambda run, now, p, x: z3.Implies(
            z3.And(now.sent(x), now.knows(p, x)), z3.Or(now.delivered(x), counted(run, now, p, x))
        ),
        "what is counted is known": lambda run, now, p, x: z3.Implies(
            z3.And(now.sent(x), counted(run, now, p, x)), now.knows(p, x)
        ),
        BEFORE: lambda run, now, x, m: z3.Implies(
            z3.And(now.sent(m), now.sent(x), run.precedes(x, m)), z3.Or(now.delivered(x), carried(run, m, x))
        ),
        STAMPS: lambda run, now, x, m: z3.Implies(
            z3.And(now.sent(m), now.sent(x), carried(run, m, x)), run.precedes(x, m)
        ),
        CHANNEL: lambda run, now, m: z3.Implies(
            now.sent(m), at.carried(run, m, *of_channel(run, m)) == run.number(m) - 1
        ),
        "the own column counts no more than is delivered": lambda run, now, p, k: (
            at.known(now, p, k, p) <= at.delivered(now, p, k)
        ),
        "what a process knows that was sent to it is delivered": lambda run, now, x: z3.Implies(
            z3.And(now.sent(x), now.knows(run.receiver(x), x)), now.delivered(x)
        ),
        "DELIV counts no more than there are": lambda run, now, p, k: z3.And(
            at.delivered(now, p, k) >= 0, at.delivered(now, p, k) <= now.count(k, p)
        ),
        FIRST: lambda run, now, x: z3.Implies(
            now.sent(x), now.delivered(x) == (run.number(x) <= at.delivered(now, run.receiver(x), run.sender(x)))
        ),
    }
    return {**OF_CHANNELS, **for_all(kept)}


def proofs(of: Combination) -> list[CausalOrder]:
    """The proof to try: its counts are read off the choices."""
    choices = of.choices
    own = choices["delivered"] != "DELIV"
    itself = choices["sender counts"] == "before sending"

    def carried(run: AnyRun, m: Term, k: Term, l: Term) -> Term:
        count = run.stamp(m)[k][l]
        return count - z3.If(z3.And(k == run.sender(m), l == run.receiver(m)), 1, 0) if itself else count

    at = Counts(
        lambda now, p, k, l: now.local(p).sent[k][l],
        lambda now, p, k: now.local(p).sent[k][p] if own else now.local(p).deliv[k],
        carried,
    )
    proof = CausalOrder(
        of.protocol,
        counting_what_is_not_delivered(at),
        ("what is known or delivered is sent", BEFORE, FIRST),
        (
            NUMBERED,
            "no stamp counts more than there are",
            STAMPS,
            CHANNEL,
            FIRST,
            "DELIV counts no more than there are",
        ),
        lambda run, k: run.numbered(k, run.i, at.carried(run, run.m, k, run.i)),
    )
    return [proof]
