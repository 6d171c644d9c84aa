"""The vector-pair protocol with messages to several sites realises causal order, for every n ([SES] §4.2.1, end).

As in `ses`; what is new is that each copy of a message is for one site, and that it must carry the pairs
of the others: a message is, for whoever delivers a copy of it, one more message that the others may still miss.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from crownless.impl.ses_multicast import SesMulticast
from crownless.proofs.induction.any_multicast import ASSUMED, AnyMulticast
from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.causal_order import KNOWN_IS_SENT, CausalOrder, Invariants
from crownless.proofs.language.terms import Term


def _time(run: AnyRun, x: Term) -> Term:
    """VT(x), the same on all copies."""
    return run.stamp(x, run.sender(x)).time


def _misses(run: AnyRun, now: SymbolicState, x: Term, j: Term) -> Term:
    """True if x is to j, and not delivered there."""
    return z3.And(run.to(x, j), z3.Not(now.delivered(x, j)))


def _covers(run: AnyRun, pairs: Term, x: Term, j: Term) -> Term:
    """True if, among these pairs, one for j is as late as x."""
    return run.processes(lambda k: _time(run, x)[k] <= pairs[j][k])


def _covered_by(run: AnyRun, x: Term, l: Term, k: Term, entry: Term) -> Term:
    """True if x is a message to l whose time has this entry for k."""
    return z3.And(run.to(x, l), entry <= _time(run, x)[k])


def _each(run: AnyRun, holds: Callable[[Term, Term, Term], Term]) -> Term:
    """For all messages x and m, and processes j."""
    return run.messages(lambda x, m: run.processes(lambda j: holds(x, m, j)), of=2)


def _copies_cover(run: AnyRun, now: SymbolicState) -> Term:
    """Of the copy of m for i; and j is another one."""
    return run.messages(
        lambda x, m: run.processes(
            lambda i, j: z3.Implies(
                z3.And(now.sent(m), run.to(m, i), run.precedes(x, m), z3.Or(i == j, z3.Not(run.to(m, j)))),
                z3.Or(z3.Not(_misses(run, now, x, j)), _covers(run, run.stamp(m, i).buffer, x, j)),
            ),
            of=2,
        ),
        of=2,
    )


def _copy_covers(run: AnyRun) -> Callable[[Term, Term, Term, Term], Term]:
    def copy_covers(m: Term, i: Term, l: Term, k: Term) -> Term:
        entry, witness = run.stamp(m, i).buffer[l][k], run.witness(m, l, k)
        before = z3.And(run.precedes(witness, m), _covered_by(run, witness, l, k, entry))
        return z3.Implies(z3.And(entry > 0, z3.Or(l == i, z3.Not(run.to(m, l)))), before)

    return copy_covers


INVARIANTS: Invariants = {
    **KNOWN_IS_SENT,
    "no message is to its sender": lambda run, now: run.messages(
        lambda x: z3.Implies(now.sent(x), z3.Not(run.to(x, run.sender(x))))
    ),
    "times are not negative": lambda run, now: run.processes(lambda p, k: now.local(p).time[k] >= 0, of=2),
    "all copies have the same time": lambda run, now: run.messages(
        lambda m: run.processes(lambda j, k: z3.Implies(now.sent(m), run.stamp(m, j).time[k] == _time(run, m)[k]), of=2)
    ),
    "nobody is ahead of a site's own time": lambda run, now: z3.And(
        run.processes(lambda p, k: now.local(p).time[k] <= now.local(k).time[k], of=2),
        run.messages(
            lambda m: run.processes(lambda k: z3.Implies(now.sent(m), _time(run, m)[k] <= now.local(k).time[k]))
        ),
    ),
    "time determines what is known": lambda run, now: run.processes(
        lambda p: run.messages(
            lambda x: z3.Implies(
                now.sent(x),
                now.knows(p, x) == (_time(run, x)[run.sender(x)] <= now.local(p).time[run.sender(x)]),
            )
        )
    ),
    "time determines what happened before": lambda run, now: run.messages(
        lambda x, m: z3.Implies(
            z3.And(now.sent(m), now.sent(x), x != m),
            run.precedes(x, m) == (_time(run, x)[run.sender(x)] <= _time(run, m)[run.sender(x)]),
        ),
        of=2,
    ),
    "what is known is not later": lambda run, now: z3.And(
        run.processes(
            lambda p, k: run.messages(lambda x: z3.Implies(now.knows(p, x), _time(run, x)[k] <= now.local(p).time[k])),
            of=2,
        ),
        run.messages(
            lambda x, m: run.processes(
                lambda k: z3.Implies(z3.And(now.sent(m), run.precedes(x, m)), _time(run, x)[k] <= _time(run, m)[k])
            ),
            of=2,
        ),
    ),
    "a site knows of messages to itself by delivering them": lambda run, now: run.messages(
        lambda x: run.processes(
            lambda p: z3.Implies(z3.And(now.sent(x), run.to(x, p)), now.knows(p, x) == now.delivered(x, p))
        )
    ),
    "a site has a pair for what it knows": lambda run, now: run.processes(
        lambda p, j: run.messages(
            lambda x: z3.Implies(
                now.knows(p, x),
                z3.Or(z3.Not(_misses(run, now, x, j)), _covers(run, now.local(p).buffer, x, j)),
            )
        ),
        of=2,
    ),
    "a copy has a pair for what happened before": _copies_cover,
    "a copy has the pairs of the other copies": lambda run, now: run.messages(
        lambda m: run.processes(
            lambda i, l, k: z3.Implies(
                z3.And(now.sent(m), run.to(m, l), l != i), run.stamp(m, i).buffer[l][k] == _time(run, m)[k]
            ),
            of=3,
        )
    ),
    "a site's pairs are those of messages that it knows": lambda run, now: run.processes(
        lambda p, l, k: z3.Implies(
            now.local(p).buffer[l][k] > 0,
            z3.And(
                now.knows(p, now.witness(p, l, k)),
                _covered_by(run, now.witness(p, l, k), l, k, now.local(p).buffer[l][k]),
            ),
        ),
        of=3,
    ),
    "a copy's other pairs are those of messages before": lambda run, now: run.messages(
        lambda m: run.processes(lambda i, l, k: z3.Implies(now.sent(m), _copy_covers(run)(m, i, l, k)), of=3)
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
    optimal_by=(
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
