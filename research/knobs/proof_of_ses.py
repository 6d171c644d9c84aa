"""The proof of causal order for combinations of the vector pairs' choices, for every n.

Unlike in `ses`, an entry of VT(S) need not show what S knows, only which of that site's messages S delivered. A pair
need not be as late as a message in every entry: the sender's is enough. And a message needs no pair if a later message
to the same site has one, since the earlier is delivered before that.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import z3

from crownless.impl.protocols.ses import Ses
from crownless.proofs.induction.any_run import AnyRun, Event
from crownless.proofs.induction.causal_order import CausalOrder, Invariants
from crownless.proofs.induction.covering_run import CoveringRun
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term
from crownless.proofs.protocols.ses import INVARIANTS, by_pairs, covered_by, time_of

from .combinations import Combination

SENT = "what is known or delivered is sent"
TO_OTHERS = "no message is to its sender"
NOT_NEGATIVE = "times are not negative"
OF_THE_PAST = "a message's pairs are those of messages before"


def own_time(run: AnyRun, x: Term) -> Term:
    """The sender's entry of VT(x)."""
    return time_of(run, x)[run.sender(x)]


OF_SITES: Invariants = {
    **{
        name: INVARIANTS[name]
        for name in (
            *(SENT, TO_OTHERS, NOT_NEGATIVE, "nobody is ahead of a site's own time"),
            "a site knows of messages to itself by delivering them",
            "what its sender delivered before is delivered",
        )
    },
    **for_all(
        {
            "what a time has reached is known, or happened before": (
                lambda run, now, p, x: z3.Implies(
                    z3.And(now.sent(x), own_time(run, x) <= now.local(p).time[run.sender(x)]), now.knows(p, x)
                ),
                lambda run, now, x, m: z3.Implies(
                    z3.And(now.sent(x), now.sent(m), x != m, own_time(run, x) <= time_of(run, m)[run.sender(x)]),
                    run.precedes(x, m),
                ),
            ),
            "what happened before what is known is known": (
                lambda run, now, p, x, y: z3.Implies(z3.And(now.knows(p, y), run.precedes(x, y)), now.knows(p, x)),
                lambda run, now, x, y, m: z3.Implies(
                    z3.And(now.sent(m), run.precedes(y, m), run.precedes(x, y)), run.precedes(x, m)
                ),
            ),
            "a site's time has reached that of what is delivered to it": lambda run, now, x, k: z3.Implies(
                now.delivered(x), time_of(run, x)[k] <= now.local(run.receiver(x)).time[k]
            ),
        }
    ),
}

#: Where a delivery advances the clock.
DELIVERIES_TICK: Invariants = for_all(
    {
        "a site's own entry is later than what is delivered to it": (
            lambda run, now, x, k: z3.Implies(now.sent(x), time_of(run, x)[k] >= 0),
            lambda run, now, x: z3.Implies(
                now.delivered(x), time_of(run, x)[run.receiver(x)] < now.local(run.receiver(x)).time[run.receiver(x)]
            ),
        )
    }
)


# -- what the pairs stand for ------------------------------------------------------------------------------------------


class Holder(NamedTuple):
    """A site, or a message, that holds pairs."""

    pairs: Term
    witness: Callable[[Term, Term], Term]  #: l, k → the message whose time is entry k of the pair for l
    cover: Callable[[Term], Term]  #: as in `CoveredState`


class InsertingOneEntry(CoveringRun):
    """A run of a protocol in which a send inserts the sender's entry alone."""

    def sending(self) -> Event:
        i, m, before, event = self.i, self.m, self.before, super().sending()

        def witness(p: Term, l: Term, k: Term) -> Term:
            return z3.If(z3.And(p == i, self.to(m, l), k == i), m, before.witness(p, l, k))

        return event._replace(after=replace(event.after, witness=witness))


def of_pairs(has: Callable[[AnyRun, Holder, Term], Term], is_of: Callable[..., Term]) -> Invariants:
    """Messages that are known, or happened before, are delivered or have a pair; entries are those of such messages."""

    def of_site(now: Any, p: Term) -> Holder:
        return Holder(now.local(p).buffer, lambda l, k: now.witness(p, l, k), lambda x: now.cover(p, x))

    def of_message(run: Any, m: Term) -> Holder:
        return Holder(run.stamp(m).buffer, lambda l, k: run.witness(m, l, k), lambda x: run.cover_of(m, x))

    def entry(run: AnyRun, holder: Holder, known: Callable[[Term], Term], l: Term, k: Term) -> Term:
        x, value = holder.witness(l, k), holder.pairs[l][k]
        return z3.Implies(value > 0, z3.And(known(x), is_of(run, x, l, k, value)))

    return for_all(
        {
            "a site has a pair for what it knows": lambda run, now, p, x: z3.Implies(
                now.knows(p, x), z3.Or(now.delivered(x), has(run, of_site(now, p), x))
            ),
            "a message has a pair for what happened before": lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), run.precedes(x, m)), z3.Or(now.delivered(x), has(run, of_message(run, m), x))
            ),
            "a site's pairs are those of messages that it knows": lambda run, now, p, l, k: entry(
                run, of_site(now, p), lambda x: now.knows(p, x), l, k
            ),
            OF_THE_PAST: lambda run, now, m, l, k: z3.Implies(
                now.sent(m), entry(run, of_message(run, m), lambda x: run.precedes(x, m), l, k)
            ),
        }
    )


def _has_later(run: AnyRun, holder: Holder, x: Term) -> Term:
    l, k = run.receiver(x), holder.cover(x)
    return z3.And(holder.pairs[l][k] > 0, z3.Or(holder.witness(l, k) == x, run.precedes(x, holder.witness(l, k))))


#: Where a send inserts one entry.
BY_LATER_MESSAGE = of_pairs(
    _has_later, lambda run, x, l, k, entry: z3.And(run.to(x, l), run.sender(x) == k, entry == own_time(run, x))
)
#: Where it inserts all of VT(M).
BY_OWN_ENTRY: Invariants = {
    "what is known is not later": INVARIANTS["what is known is not later"],
    **of_pairs(lambda run, holder, x: own_time(run, x) <= holder.pairs[run.receiver(x)][run.sender(x)], covered_by),
}


# -- the proofs --------------------------------------------------------------------------------------------------------


class NeverEqual(CausalOrder):
    """A proof for a guard with a second part: the pair is not equal to VT(S)."""

    def _waits(self, run: AnyRun) -> list[Claim]:
        first, second = super()._waits(run)
        used = (SENT, TO_OTHERS, NOT_NEGATIVE, OF_THE_PAST, *DELIVERIES_TICK)
        return [first, second._replace(given=self._given(run, used, delivered=False))]


def proof(combination: Combination) -> CausalOrder:
    """The proof for a combination of `SesByKnobs`, which reads its invariants off the choices."""
    one_entry = "the sender's entry" in combination.choices["inserted"]
    never_equal = "not equal" in combination.choices["test"]
    invariants = {
        **OF_SITES,
        **(BY_LATER_MESSAGE if one_entry else BY_OWN_ENTRY),
        **(DELIVERIES_TICK if never_equal else {}),
    }
    by_choices = replace(
        by_pairs(cast("type[Ses]", combination.protocol)),
        invariants=invariants,
        safe_by=tuple(invariants),
        waits_by=tuple(invariants),
        kept_by={},
        safe_helps=True,
        world=InsertingOneEntry if one_entry else AnyRun,
    )
    return NeverEqual(**vars(by_choices)) if never_equal else by_choices
