"""Theorems about computations with control messages, of any number of processes and messages, by z3."""

from __future__ import annotations

from functools import cache

import z3

from crownless.proofs.terms import Term
from crownless.proofs.theorem import Claim, theorem

from .evidence import all_proved, not_vacuous


class AnySplit:
    """Any computation with control messages: events and messages are of sorts of which only this is known."""

    def __init__(self) -> None:
        event, message = z3.DeclareSort("Event"), z3.DeclareSort("Message")
        self.event, self.message = event, message
        self.precedes = z3.Function("precedes", event, event, z3.BoolSort())
        self.leads = z3.Function("leads", event, event, z3.BoolSort())
        self.process = z3.Function("process", event, z3.IntSort())
        self.transmits = z3.Function("transmits", event, z3.BoolSort())
        self.send, self.receive, self.ack, self.acked = (
            z3.Function(name, message, event) for name in ("send", "receive", "ack", "acked")
        )
        self.m, self.k, self.l = z3.Consts("m k l", message)
        self.e, self.f, self.g = z3.Consts("e f g", event)

    def computation(self) -> dict[str, Term]:
        """≺ orders each line, → is transitive, holds ≺ and every message, and has no circle."""
        e, f, g, m, k = self.e, self.f, self.g, self.m, self.k
        send, receive = self.send, self.receive
        return {
            "→ is transitive": z3.ForAll(
                [e, f, g], z3.Implies(z3.And(self.leads(e, f), self.leads(f, g)), self.leads(e, g))
            ),
            "→ has no circle": z3.ForAll([e], z3.Not(self.leads(e, e))),
            "≺ is → on one line": z3.ForAll(
                [e, f], self.precedes(e, f) == z3.And(self.leads(e, f), self.process(e) == self.process(f))
            ),
            "a line is in order": z3.ForAll(
                [e, f],
                z3.Implies(self.process(e) == self.process(f), z3.Or(e == f, self.precedes(e, f), self.precedes(f, e))),
            ),
            "a message is sent, then received elsewhere": z3.ForAll(
                [m],
                z3.And(self.leads(send(m), receive(m)), self.process(send(m)) != self.process(receive(m))),
            ),
            "each event is of one message": z3.ForAll(
                [m, k],
                z3.And(z3.Implies(z3.Or(send(m) == send(k), receive(m) == receive(k)), m == k), send(m) != receive(k)),
            ),
        }

    def maps_to(self, e: Term, f: Term) -> Term:
        """As `Split.maps_to`."""
        l = self.l
        leaves = z3.Or(e == self.send(l), self.precedes(e, self.send(l)))
        arrives = z3.Or(self.receive(l) == f, self.leads(self.receive(l), f))
        return z3.Or(self.precedes(e, f), z3.Exists([l], z3.And(leaves, arrives)))

    def is_message(self, e: Term, f: Term) -> Term:
        return z3.Exists([self.l], z3.And(e == self.send(self.l), f == self.receive(self.l)))

    def through_later(self, e: Term, f: Term) -> Term:
        """e ≺ s1 and r1 → f."""
        return z3.Exists([self.l], z3.And(self.precedes(e, self.send(self.l)), self.leads(self.receive(self.l), f)))

    def maps_to_as_printed(self, e: Term, f: Term) -> Term:
        """As `Split.maps_to_as_printed`."""
        return z3.Or(self.is_message(e, f), self.precedes(e, f), self.through_later(e, f))

    def send_condition(self) -> Term:
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(self.precedes(self.send(m), self.send(k)), self.leads(self.receive(m), self.receive(k))),
        )

    def receive_condition(self) -> Term:
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(
                self.precedes(self.send(m), self.receive(k)), z3.Not(self.leads(self.receive(k), self.receive(m)))
            ),
        )

    def strong_receive_condition(self) -> Term:
        m, k, f = self.m, self.k, self.f
        leaves = z3.And(self.leads(self.receive(k), f), z3.Not(self.precedes(self.receive(k), f)))
        return z3.ForAll(
            [m, k, f],
            z3.Implies(z3.And(self.precedes(self.send(m), self.receive(k)), leaves), self.leads(self.receive(m), f)),
        )

    def acknowledged(self) -> dict[str, Term]:
        """Each message is acknowledged: r ≺ r.ack ⇝ s.ack, at the same two processes."""
        m = self.m
        return {
            "each message is acknowledged": z3.ForAll(
                [m],
                z3.And(
                    self.precedes(self.receive(m), self.ack(m)),
                    self.leads(self.ack(m), self.acked(m)),
                    self.precedes(self.send(m), self.acked(m)),
                ),
            )
        }

    def send_protocol(self) -> Term:
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(self.precedes(self.send(m), self.send(k)), self.precedes(self.acked(m), self.send(k))),
        )

    def silent_while_passive(self) -> dict[str, Term]:
        """SP, and RP as printed: while passive a process transmits nothing, no acknowledgement either."""
        m, k, e, f = self.m, self.k, self.e, self.f
        silence = z3.And(self.precedes(self.send(m), e), self.precedes(e, self.acked(m)))
        out = z3.Function("way_out", self.event, self.event, self.event)(e, f)
        way_out = z3.And(z3.Or(out == e, self.precedes(e, out)), self.transmits(out), self.leads(out, f))
        return {
            "a passive process transmits nothing": z3.ForAll([m, e], z3.Implies(silence, z3.Not(self.transmits(e)))),
            "receiving transmits nothing": z3.ForAll(
                [m, k], z3.Not(z3.Or(self.transmits(self.receive(m)), self.transmits(self.acked(k))))
            ),
            "→ leaves a line by what is transmitted": z3.ForAll(
                [e, f],
                z3.Implies(z3.And(self.leads(e, f), z3.Not(self.precedes(e, f))), way_out),
            ),
        }

    def two_messages(self) -> tuple[Term, Term]:
        first, second = z3.Consts("m1 m2", self.message)
        return first, second


def shows(name: str, given: dict[str, Term], what: Term) -> bool:
    """True if z3 shows it, and has a model of its hypotheses."""
    return all_proved([Claim(name, given, what)]) and not_vacuous(given)


@cache
def theorem_4_is_proved() -> bool:
    any_split = AnySplit()
    given = {**any_split.computation(), **any_split.acknowledged(), "SP": any_split.send_protocol()}
    return shows("SP implies SC", given, any_split.send_condition())


@cache
def theorem_5_is_proved() -> bool:
    """Of acknowledgements alone, sent only while active: RC, and more. Runs of Fig. 8 are models of what is given."""
    any_split = AnySplit()
    given = {**any_split.computation(), **any_split.acknowledged(), **any_split.silent_while_passive()}
    del given["each event is of one message"], given["→ has no circle"]
    strong = any_split.strong_receive_condition()
    return all_proved([Claim("silence implies RC⁺", given, strong)]) and stronger_condition_implies_rc()


@cache
def stronger_condition_implies_rc() -> bool:
    any_split = AnySplit()
    given = {**any_split.computation(), "RC⁺": any_split.strong_receive_condition()}
    return shows("RC⁺ implies RC", given, any_split.receive_condition())


@cache
def maps_to_holds_happened_before() -> bool:
    """→ of the application's messages alone, the least transitive relation with ≺ and their ⇝, lies within ↦, which is
    such a relation.
    """
    any_split = AnySplit()
    e, f, g, m = any_split.e, any_split.f, any_split.g, any_split.m
    path = {"e ↦ f": any_split.maps_to(e, f), "f ↦ g": any_split.maps_to(f, g), **any_split.computation()}
    return (
        shows("↦ is transitive", path, any_split.maps_to(e, g))
        and shows("↦ holds ≺", {"e ≺ f": any_split.precedes(e, f)}, any_split.maps_to(e, f))
        and bool(theorem("↦ holds ⇝", {}, any_split.maps_to(any_split.send(m), any_split.receive(m))))
    )


def lemma_1(*, as_printed: bool) -> str:
    """z3's answer, of ↦ as it is printed, of which nothing need be known, or of `AnySplit.maps_to`."""
    any_split = AnySplit()
    e, f = any_split.e, any_split.f
    through_own = z3.Exists(
        [any_split.l], z3.And(e == any_split.send(any_split.l), any_split.leads(any_split.receive(any_split.l), f))
    )
    given = {
        "e ↦ f": any_split.maps_to_as_printed(e, f) if as_printed else any_split.maps_to(e, f),
        "not e ⇝ f": z3.Not(any_split.is_message(e, f)),
        **({} if as_printed else any_split.computation()),
    }
    return theorem(
        "Lemma 1", given, z3.Or(any_split.precedes(e, f), any_split.through_later(e, f), through_own)
    ).outcome


@cache
def maps_to_holds_what_is_printed() -> bool:
    """↦ as it is printed lies within `AnySplit.maps_to`; and →_ℰ as it is printed lies within ↦ as it is printed."""
    any_split = AnySplit()
    e, f, l = any_split.e, any_split.f, any_split.l
    within_own = z3.Function("leads within own", any_split.event, any_split.event, z3.BoolSort())
    later = z3.Exists([l], z3.And(any_split.precedes(e, any_split.send(l)), within_own(any_split.receive(l), f)))
    given = {
        "→_ℰ as printed": z3.ForAll(
            [e, f], within_own(e, f) == z3.Or(any_split.is_message(e, f), any_split.precedes(e, f), later)
        ),
        "→_ℰ lies within →": z3.ForAll([e, f], z3.Implies(within_own(e, f), any_split.leads(e, f))),
    }
    printed = any_split.maps_to_as_printed(e, f)
    return bool(theorem("printed ↦", {}, z3.Implies(printed, any_split.maps_to(e, f)))) and bool(
        theorem("printed →_ℰ", given, z3.Implies(within_own(e, f), printed))
    )


@cache
def lemma_2(*, distinct: bool = True) -> str:
    """z3's answer, of two messages, or of any, the same twice included."""
    any_split = AnySplit()
    first, second = any_split.two_messages()
    given = {
        **any_split.computation(),
        "SC": any_split.send_condition(),
        "s1 ↦ r2": any_split.maps_to(any_split.send(first), any_split.receive(second)),
        **({"two messages": first != second} if distinct else {}),
    }
    either = z3.Or(
        any_split.leads(any_split.receive(first), any_split.receive(second)),
        any_split.precedes(any_split.send(first), any_split.receive(second)),
    )
    return theorem("Lemma 2", given, either).outcome


@cache
def lemma_3_is_proved() -> bool:
    any_split = AnySplit()
    first, second = any_split.two_messages()
    crown = [(first, second), (second, first)]
    given = {
        **any_split.computation(),
        "SC": any_split.send_condition(),
        "RC": any_split.receive_condition(),
        "two messages": first != second,
        "crown": z3.And([any_split.maps_to(any_split.send(a), any_split.receive(b)) for a, b in crown]),
    }
    strong = z3.And([any_split.precedes(any_split.send(a), any_split.receive(b)) for a, b in crown])
    return shows("Lemma 3", given, strong)


@cache
def crown_shrinks() -> bool:
    """The step of Lemma 4: of s0 ↦ r1, s1 ↦ r2 and not s1 ≺ r2 the middle may be left out."""
    any_split = AnySplit()
    first, second = any_split.two_messages()
    before = z3.Const("m0", any_split.message)
    given = {
        **any_split.computation(),
        "SC": any_split.send_condition(),
        "RC⁺": any_split.strong_receive_condition(),
    }
    step = {
        **given,
        "three messages": z3.Distinct(before, first, second),
        "s0 ↦ r1": any_split.maps_to(any_split.send(before), any_split.receive(first)),
        "s1 ↦ r2": any_split.maps_to(any_split.send(first), any_split.receive(second)),
        "not s1 ≺ r2": z3.Not(any_split.precedes(any_split.send(first), any_split.receive(second))),
    }
    left_out = any_split.maps_to(any_split.send(before), any_split.receive(second))
    return shows("a crown shrinks", step, left_out)


@cache
def strong_crowns_descend() -> bool:
    """Under PR, s1 ≺ r2 puts m2 at bigger processes than m1: P(s1) < P(s2). So no strong crown comes round."""
    any_split = AnySplit()
    first, second = any_split.two_messages()
    m = any_split.m
    given = {
        **any_split.computation(),
        "PR": z3.ForAll([m], any_split.process(any_split.send(m)) > any_split.process(any_split.receive(m))),
        "s1 ≺ r2": any_split.precedes(any_split.send(first), any_split.receive(second)),
    }
    climbs = any_split.process(any_split.send(first)) < any_split.process(any_split.send(second))
    return shows("a strong crown climbs", given, climbs)
