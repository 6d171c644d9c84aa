"""The proof of causal order for combinations of the matrix protocol's choices, for every n.

Unlike in `rst`, SENT need not count what is delivered: whoever knows a message counts it, or it is delivered; and what
is counted is known. Likewise for stamps. That suffices for the guard, whichever entries are left out.
"""

from collections.abc import Callable
from typing import Any

import z3

from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.causal_order import OF_CHANNELS, CausalOrder, Invariants
from crownless.proofs.induction.covering_run import CoveringRun
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term
from crownless.proofs.protocols.rst import Counts

from .combinations import Combination

COUNTED = "what is known is counted, or delivered"
BEFORE = "what happened before is counted by the stamp, or delivered"
FIRST = "DELIV counts what is delivered"
CHANNEL = "a stamp counts those before on its channel"
NUMBERED = "there is a message of each number"
STAMPS = "what a stamp counts happened before"
NO_MORE = "no stamp counts more than there are"
TO_RECEIVER = "what was sent to a process before what it delivered is delivered"
SAFE_BY = ("what is known or delivered is sent", BEFORE, FIRST)


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
        NO_MORE: lambda run, now, m, k, l: z3.Implies(now.sent(m), at.carried(run, m, k, l) <= now.count(k, l)),
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


#: What happened before is transitive.
CLOSED: Invariants = for_all(
    {
        "what happened before what is known is known": (
            lambda run, now, p, x, y: z3.Implies(z3.And(now.knows(p, y), run.precedes(x, y)), now.knows(p, x)),
            lambda run, now, x, y, m: z3.Implies(
                z3.And(now.sent(m), run.precedes(y, m), run.precedes(x, y)), run.precedes(x, m)
            ),
        ),
        TO_RECEIVER: lambda run, now, x, y: z3.Implies(
            z3.And(now.delivered(y), run.precedes(x, y), run.to(x, run.receiver(y))), now.delivered(x)
        ),
    }
)


def forgetting(at: Counts) -> Invariants:
    """The invariants where a sender forgets what a message that it sends stands for."""

    def stands_for(run: AnyRun, k: Term, count: Term, x: Term) -> Term:
        """The last counted message from k to the receiver of x is x, or later."""
        y = run.numbered(k, run.receiver(x), count)
        return z3.And(count > 0, z3.Or(y == x, run.precedes(x, y)))

    def at_process(run: AnyRun, now: Any, p: Term, x: Term) -> Term:
        k = now.cover(p, x)
        return stands_for(run, k, at.known(now, p, k, run.receiver(x)), x)

    def in_stamp(run: Any, m: Term, x: Term) -> Term:
        k = run.cover_of(m, x)
        return stands_for(run, k, at.carried(run, m, k, run.receiver(x)), x)

    instead: dict[str, Callable[..., Term]] = {
        COUNTED: lambda run, now, p, x: z3.Implies(
            now.knows(p, x), z3.Or(now.delivered(x), at_process(run, now, p, x))
        ),
        BEFORE: lambda run, now, x, m: z3.Implies(
            z3.And(now.sent(m), run.precedes(x, m)), z3.Or(now.delivered(x), in_stamp(run, m, x))
        ),
    }
    return {**counting_what_is_not_delivered(at), **CLOSED, **for_all(instead)}


def proof(of: Combination) -> CausalOrder:
    """The proof to try: its counts are read off the choices. For a column of SENT that nobody reads, DELIV stands."""
    choices = of.choices
    own = choices.get("delivered") == "the own column of SENT"
    itself = choices.get("sender counts") == "before sending"
    unread = choices.get("left out") == "the sender's column" and not own

    def carried(run: AnyRun, m: Term, k: Term, l: Term) -> Term:
        count = run.stamp(m)[k][l]
        return count - z3.If(z3.And(k == run.sender(m), l == run.receiver(m)), 1, 0) if itself else count

    def known(now: SymbolicState, p: Term, k: Term, l: Term) -> Term:
        count = now.local(p).sent[k][l]
        return z3.If(l == p, now.local(p).deliv[k], count) if unread else count

    at = Counts(
        known,
        lambda now, p, k: now.local(p).sent[k][p] if own else now.local(p).deliv[k],
        carried,
    )
    forgets = choices.get("forgotten", "nothing") != "nothing"
    invariants = (forgetting if forgets else counting_what_is_not_delivered)(at)
    return CausalOrder(
        of.protocol,
        invariants,
        (*SAFE_BY, *((NUMBERED, TO_RECEIVER, NO_MORE) if forgets else ())),
        (NUMBERED, STAMPS, CHANNEL, FIRST, NO_MORE, "DELIV counts no more than there are"),
        lambda run, k: run.numbered(k, run.i, at.carried(run, run.m, k, run.i)),
        world=CoveringRun if forgets else AnyRun,
        safe_helps=forgets,
        guard_helps=forgets,
    )
