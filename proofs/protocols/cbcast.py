"""Causal broadcast realizes causal order, for every n and any number of broadcasts ([BSS91], [Kup]).

Why it works: VT(p_i) counts the broadcasts of each process that p_i knows: those delivered to it, and its own. They are
the first ones of each, so a count determines them, and the vector on m the broadcasts that happened before it.
"""

import z3

from crownless.impl.protocols.cbcast import Cbcast
from crownless.proofs.induction.any_multicast import ASSUMED, AnyMulticast
from crownless.proofs.induction.any_run import AnyRun
from crownless.proofs.induction.causal_order import KNOWN_IS_SENT, CausalOrder, Invariants
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term


class AnyBroadcast(AnyMulticast):
    """A run of broadcasts."""

    broadcasts = True


def _carried(run: AnyRun, m: Term, k: Term) -> Term:
    """The number of broadcasts of k that m counts, itself included; all its copies carry the same."""
    return run.stamp(m, run.sender(m))[k]


INVARIANTS: Invariants = {
    **KNOWN_IS_SENT,
    **for_all(
        {
            "a broadcast is to all but its sender": lambda run, now, x, p: z3.Implies(
                now.sent(x), run.to(x, p) == (p != run.sender(x))
            ),
            "a sender's broadcasts are numbered from one": (
                lambda run, now, k: now.count(k) >= 0,
                lambda run, now, x: z3.Implies(
                    now.sent(x), z3.And(run.number(x) >= 1, run.number(x) <= now.count(run.sender(x)))
                ),
            ),
            "each number is that of one broadcast": lambda run, now, x: z3.Implies(
                now.sent(x), run.numbered(run.sender(x), run.number(x)) == x
            ),
            "there is a broadcast of each number": lambda run, now: run.all_numbered(now),
            "all copies carry the same": lambda run, now, m, j, k: z3.Implies(
                now.sent(m), run.stamp(m, j)[k] == _carried(run, m, k)
            ),
            "a process counts its own broadcasts": lambda run, now, k: now.local(k)[k] == now.count(k),
            "nobody counts more than there are": (
                lambda run, now, p, k: z3.And(now.local(p)[k] >= 0, now.local(p)[k] <= now.count(k)),
                lambda run, now, m, k: z3.Implies(now.sent(m), _carried(run, m, k) <= now.count(k)),
            ),
            "a broadcast carries its own number": lambda run, now, m: z3.Implies(
                now.sent(m), _carried(run, m, run.sender(m)) == run.number(m)
            ),
            "VT counts what is known": lambda run, now, p, x: z3.Implies(
                now.sent(x), now.knows(p, x) == (run.number(x) <= now.local(p)[run.sender(x)])
            ),
            "VT counts what happened before": lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), now.sent(x), x != m),
                run.precedes(x, m) == (run.number(x) <= _carried(run, m, run.sender(x))),
            ),
            "nothing happened before itself": lambda run, now, m: z3.Implies(now.sent(m), z3.Not(run.precedes(m, m))),
            "a process knows of others' broadcasts by delivering them": lambda run, now, x, p: z3.Implies(
                z3.And(now.sent(x), p != run.sender(x)), now.knows(p, x) == now.delivered(x, p)
            ),
        }
    ),
}

CBCAST = CausalOrder(
    Cbcast,
    INVARIANTS,
    safe_by=(
        "what is known or delivered is sent",
        "a broadcast is to all but its sender",
        "all copies carry the same",
        "VT counts what is known",
        "VT counts what happened before",
        "nothing happened before itself",
        "a broadcast carries its own number",
        "a process knows of others' broadcasts by delivering them",
        "each number is that of one broadcast",
    ),
    waits_by=tuple(INVARIANTS),
    missing=lambda run, k: run.numbered(
        k, z3.If(k == run.sender(run.m), _carried(run, run.m, k) - 1, _carried(run, run.m, k))
    ),
    world=AnyBroadcast,
    remark="every message is to all other processes",
    assumed=ASSUMED,
)
