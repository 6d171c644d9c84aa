"""The vector-pair protocol with messages to several sites realizes causal order, for every n ([SES] §4.2.1, end).

As in `ses`; in addition each copy of a message is for one site, and must carry the pairs of the others: for a site that
delivers a copy, the message is one more that the others may still miss.
"""

import z3

from crownless.impl.protocols.ses_multicast import SesMulticast
from crownless.proofs.induction.any_multicast import ASSUMED, AnyMulticast
from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.causal_order import CausalOrder, Invariants
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term

from .ses import OF_TIME, covered_by, covers, time_of


def _misses(run: AnyRun, now: SymbolicState, x: Term, j: Term) -> Term:
    """True if x is to j and not delivered there."""
    return z3.And(run.to(x, j), z3.Not(now.delivered(x, j)))


def _covered_before(run: AnyRun, m: Term, l: Term, k: Term, entry: Term) -> Term:
    """True if the witness of this entry happened before m, and has the entry."""
    witness = run.witness(m, l, k)
    return z3.And(run.precedes(witness, m), covered_by(run, witness, l, k, entry))


INVARIANTS: Invariants = {
    **OF_TIME,
    **for_all(
        {
            "all copies have the same time": lambda run, now, m, j, k: z3.Implies(
                now.sent(m), run.stamp(m, j).time[k] == time_of(run, m)[k]
            ),
            "a site knows of messages to itself by delivering them": lambda run, now, x, p: z3.Implies(
                z3.And(now.sent(x), run.to(x, p)), now.knows(p, x) == now.delivered(x, p)
            ),
            "a site has a pair for what it knows": lambda run, now, p, j, x: z3.Implies(
                now.knows(p, x), z3.Or(z3.Not(_misses(run, now, x, j)), covers(run, now.local(p).buffer, x, j))
            ),
            # On the copy of m for i; j is another site.
            "a copy has a pair for what happened before": lambda run, now, x, m, i, j: z3.Implies(
                z3.And(now.sent(m), run.to(m, i), run.precedes(x, m), z3.Or(i == j, z3.Not(run.to(m, j)))),
                z3.Or(z3.Not(_misses(run, now, x, j)), covers(run, run.stamp(m, i).buffer, x, j)),
            ),
            "a copy has the pairs of the other copies": lambda run, now, m, i, l, k: z3.Implies(
                z3.And(now.sent(m), run.to(m, l), l != i), run.stamp(m, i).buffer[l][k] == time_of(run, m)[k]
            ),
            "a copy's other pairs are those of messages before": lambda run, now, m, i, l, k: z3.Implies(
                z3.And(now.sent(m), run.stamp(m, i).buffer[l][k] > 0, z3.Or(l == i, z3.Not(run.to(m, l)))),
                _covered_before(run, m, l, k, run.stamp(m, i).buffer[l][k]),
            ),
        }
    ),
}

SES_MULTICAST = CausalOrder(
    SesMulticast,
    INVARIANTS,
    safe_by=(
        "what is known or delivered is sent",
        "time determines what is known",
        "a site knows of messages to itself by delivering them",
        "a copy has a pair for what happened before",
    ),
    waits_by=(
        "what is known or delivered is sent",
        "times are not negative",
        "what is known is not later",
        "a site knows of messages to itself by delivering them",
        "a copy's other pairs are those of messages before",
    ),
    missing=lambda run, k: run.witness(run.m, run.i, k),
    kept_by={
        "time determines what is known": (
            "what is known or delivered is sent",
            "all copies have the same time",
            "nobody is ahead of a site's own time",
            "time determines what happened before",
        ),
        "a site has a pair for what it knows": (
            "what is known or delivered is sent",
            "no message is to its sender",
            "all copies have the same time",
            "time determines what is known",
            "time determines what happened before",
            "what is known is not later",
            "a site knows of messages to itself by delivering them",
            "a copy has a pair for what happened before",
            "a copy has the pairs of the other copies",
        ),
        "a site's pairs are those of messages that it knows": (
            "a copy's other pairs are those of messages before",
            "a copy has the pairs of the other copies",
        ),
    },
    takes=lambda run, l, k: run.stamp(run.m, run.i).buffer[l][k] > run.before.local(run.i).buffer[l][k],
    world=AnyMulticast,
    assumed=ASSUMED,
)
