"""The conditions of [MG] §4.2, and §5.1's lemmas on them and Theorems 4 to 6, for any number of processes and messages.

Theorem 6 and Lemma 4 are repaired, with RC⁺ for RC, and shown for crowns of any size. Lemma 4 is shown by induction on
the size of the crown: a crown of two messages is strong (Lemma 3); and one of k + 1 is, unless there is one of k, since
a message before a link that is not strong may be left out. So any crown implies a strong one. Theorem 6 follows a
strong crown around: its processes would grow at every step.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import z3

from crownless.proofs.induction.queue_abstraction import Logic, SymbolicLogic
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

from .computation import AnyComputation, Hypotheses
from .evidence import Evidence, by_z3
from .synchronous import theorem_2


class Conditions:
    """[MG]'s conditions, written once for one computation in Python's logic and for any computation in z3's."""

    logic: Logic
    #: [MG]'s ≺, on one line, and →, which also goes through control messages.
    precedes: Callable[[Any, Any], Any]
    leads: Callable[[Any, Any], Any]
    process: Callable[[Any], Any]
    #: The events of an application message.
    send: Callable[[Any], Any]
    receive: Callable[[Any], Any]
    messages: Callable[..., Any]
    events: Callable[..., Any]
    some_message: Callable[[Callable[[Any], Any]], Any]
    is_message: Callable[[Any, Any], Any]

    def maps_to(self, e: Any, f: Any) -> Any:
        """[MG]'s ↦, read so that it contains what §4.2 needs: → whose first message, if any, is the application's."""
        l = self.logic

        def through(m: Any) -> Any:
            leaves = l.either(e == self.send(m), self.precedes(e, self.send(m)))
            return l.both(leaves, l.either(self.receive(m) == f, self.leads(self.receive(m), f)))

        return l.either(self.precedes(e, f), self.some_message(through))

    def maps_to_as_printed(self, e: Any, f: Any) -> Any:
        """[MG]'s ↦ by the letter: ≺ and → leave out the event itself."""
        return self.logic.either(self.is_message(e, f), self.precedes(e, f), self.through_later(e, f))

    def through_later(self, e: Any, f: Any) -> Any:
        """e ≺ s1 and r1 → f."""
        return self.some_message(
            lambda m: self.logic.both(self.precedes(e, self.send(m)), self.leads(self.receive(m), f))
        )

    def lemma_1_as_printed(self, e: Any, f: Any) -> Any:
        """The conclusion of [MG] Lemma 1 for e and f: e ≺ f, or e ≺ s1 and r1 → f, or e ⇝ g and g → f."""
        through_own = self.some_message(lambda m: self.logic.both(e == self.send(m), self.leads(self.receive(m), f)))
        return self.logic.either(self.precedes(e, f), self.through_later(e, f), through_own)

    def ranked(self) -> Any:
        """PR: the application's messages go from bigger to smaller processes."""
        return self.messages(lambda m: self.process(self.send(m)) > self.process(self.receive(m)), of=1)

    def send_condition(self) -> Any:
        """SC."""
        return self.messages(
            lambda m, k: self.logic.implies(
                self.precedes(self.send(m), self.send(k)), self.leads(self.receive(m), self.receive(k))
            )
        )

    def receive_condition(self) -> Any:
        """RC."""
        l = self.logic
        return self.messages(
            lambda m, k: l.implies(
                self.precedes(self.send(m), self.receive(k)), l.no(self.leads(self.receive(k), self.receive(m)))
            )
        )

    def strong_receive_condition(self) -> Any:
        """A strengthened RC: if s1 ≺ r2, whatever follows from r2 at another process also follows from r1."""
        l = self.logic

        def follows(m: Any, k: Any, f: Any) -> Any:
            elsewhere = l.both(self.leads(self.receive(k), f), l.no(self.precedes(self.receive(k), f)))
            return l.implies(
                l.both(self.precedes(self.send(m), self.receive(k)), elsewhere), self.leads(self.receive(m), f)
            )

        return self.messages(lambda m, k: self.events(lambda f: follows(m, k, f), of=1))


class AnySplit(Conditions, AnyComputation):
    """Any computation with control messages."""

    logic = SymbolicLogic()

    def __init__(self) -> None:
        AnyComputation.__init__(self)
        self.e, self.f, self.g = z3.Consts("e1 e2 e3", self.event)

    def two_messages(self) -> Hypotheses:
        return {"two messages": self.first != self.second}

    def links(self, before: Callable[[Term, Term], Term], m: Term, k: Term) -> Term:
        """From the send of one message to the receive of the other."""
        return before(self.send(m), self.receive(k))

    def silent_while_passive(self) -> Hypotheses:
        """SP, and RP as printed: a passive process transmits nothing, not even an acknowledgement."""
        e, f = self.e, self.f
        out = z3.Function("way_out", self.event, self.event, self.event)

        def silent(m: Term) -> Term:
            passive = z3.And(self.precedes(self.send(m), e), self.precedes(e, self.acked(m)))
            return z3.ForAll([e], z3.Implies(passive, z3.Not(self.transmits(e))))

        way = z3.And(
            z3.Or(out(e, f) == e, self.precedes(e, out(e, f))), self.transmits(out(e, f)), self.leads(out(e, f), f)
        )
        leaves = z3.And(self.leads(e, f), z3.Not(self.precedes(e, f)))
        return {
            "a passive process transmits nothing": self.messages(silent, of=1),
            "receiving transmits nothing": self.messages(
                lambda m, k: z3.Not(z3.Or(self.transmits(self.receive(m)), self.transmits(self.acked(k))))
            ),
            "→ leaves a line by what is transmitted": z3.ForAll([e, f], z3.Implies(leaves, way)),
        }


def _shown(because: str, given: Hypotheses, shows: Term) -> Evidence:
    """z3 shows it, and has a model of its hypotheses."""
    return by_z3(because, [Claim(because, given, shows)], possible=[given])


@cache
def theorem_4() -> Evidence:
    c = AnySplit()
    given = {**c.computation(), **c.acknowledged(), "SP": c.send_protocol()}
    return _shown("the formula of SP implies SC", given, c.send_condition())


@cache
def theorem_5() -> Evidence:
    """With acknowledgements only, sent only while active: RC, and more. Runs of Fig. 8 are models of the hypotheses."""
    c = AnySplit()
    given = {**c.computation(), **c.acknowledged(), **c.silent_while_passive()}
    claim = Claim("silence implies RC⁺", given, c.strong_receive_condition())
    needed = claim.without("each event is of one message", "→ has no circle")
    return by_z3("silence while passive implies RC⁺", [needed]) & stronger_condition_implies_rc()


@cache
def stronger_condition_implies_rc() -> Evidence:
    c = AnySplit()
    given = {**c.computation(), "RC⁺": c.strong_receive_condition()}
    return _shown("RC⁺ implies RC", given, c.receive_condition())


@cache
def maps_to_holds_happened_before() -> Evidence:
    """→ of the application's messages alone, the least transitive relation with ≺ and their ⇝, lies within ↦, which is
    such a relation.
    """
    c = AnySplit()
    path = {**c.computation(), "e ↦ f": c.maps_to(c.e, c.f), "f ↦ g": c.maps_to(c.f, c.g)}
    own = Claim("↦ holds ⇝", {}, c.maps_to(c.send(c.first), c.receive(c.first)))
    return (
        _shown("↦ is transitive", path, c.maps_to(c.e, c.g))
        & _shown("↦ holds ≺", {"e ≺ f": c.precedes(c.e, c.f)}, c.maps_to(c.e, c.f))
        & by_z3("↦ holds ⇝", [own])
    )


@cache
def maps_to_holds_what_is_printed() -> Evidence:
    """↦ as printed lies within the wider one; and →_ℰ as printed lies within ↦ as printed."""
    c = AnySplit()
    within_own = z3.Function("leads within own", c.event, c.event, z3.BoolSort())

    def as_printed(e: Term, f: Term) -> Term:
        later = c.some_message(lambda m: z3.And(c.precedes(e, c.send(m)), within_own(c.receive(m), f)))
        return within_own(e, f) == z3.Or(c.is_message(e, f), c.precedes(e, f), later)

    given = {
        "→_ℰ as printed": c.events(as_printed),
        "→_ℰ lies within →": c.events(lambda e, f: z3.Implies(within_own(e, f), c.leads(e, f))),
    }
    printed = c.maps_to_as_printed(c.e, c.f)
    wider = Claim("printed ↦", {}, z3.Implies(printed, c.maps_to(c.e, c.f)))
    own = Claim("printed →_ℰ", given, z3.Implies(within_own(c.e, c.f), printed))
    return by_z3("↦ as printed lies within the wider one, and →_ℰ as printed within ↦ as printed", [wider, own])


def _lemma_1(maps_to: Callable[[AnySplit], Callable[[Term, Term], Term]]) -> Claim:
    c = AnySplit()
    given = {"e ↦ f": maps_to(c)(c.e, c.f), "not e ⇝ f": z3.Not(c.is_message(c.e, c.f))}
    return Claim("Lemma 1", given, c.lemma_1_as_printed(c.e, c.f))


@cache
def lemma_1() -> Evidence:
    """By the letter, without any knowledge of → and ≺."""
    because = "Lemma 1 by the letter, without any knowledge of → and ≺: the definition of ↦ has the same cases"
    return by_z3(because, [_lemma_1(lambda c: c.maps_to_as_printed)])


@cache
def lemma_1_of_chains() -> Evidence:
    claim = _lemma_1(lambda c: c.maps_to)
    of_chains = claim._replace(given={**claim.given, **AnySplit().computation()})
    return by_z3("Lemma 1 is refuted of the wider ↦", [], refuted=[[of_chains]]).refutes()


def lemma_2_claim(*, distinct: bool = True) -> Claim:
    """For two messages that may be equal."""
    c = AnySplit()
    s1, r1, r2 = c.send(c.first), c.receive(c.first), c.receive(c.second)
    given = {**c.computation(), "SC": c.send_condition(), "s1 ↦ r2": c.maps_to(s1, r2)}
    given |= c.two_messages() if distinct else {}
    return Claim("Lemma 2", given, z3.Or(c.leads(r1, r2), c.precedes(s1, r2)))


@cache
def lemma_2() -> Evidence:
    return by_z3("Lemma 2 of the wider ↦", [lemma_2_claim()], possible=[lemma_2_claim().given])


@cache
def lemma_2_of_one_message() -> Evidence:
    return by_z3(
        "Lemma 2 has a model against it where the messages are one", [], refuted=[[lemma_2_claim(distinct=False)]]
    )


@cache
def lemma_3() -> Evidence:
    c = AnySplit()
    given = {
        **c.computation(),
        "SC": c.send_condition(),
        "RC": c.receive_condition(),
        **c.two_messages(),
        "crown": z3.And(c.links(c.maps_to, c.first, c.second), c.links(c.maps_to, c.second, c.first)),
    }
    strong = z3.And(c.links(c.precedes, c.first, c.second), c.links(c.precedes, c.second, c.first))
    return _shown("Lemma 3: every such crown of size 2 is strong itself", given, strong)


# -- crowns of any size, by these properties alone ---------------------------------------------------------------------


@cache
def crown_shrinks() -> Evidence:
    """The step of Lemma 4: if s0 ↦ r1, s1 ↦ r2 and not s1 ≺ r2, the middle message may be left out."""
    c = AnySplit()
    before = z3.Const("m0", c.message)
    given = {
        **c.computation(),
        "SC": c.send_condition(),
        "RC⁺": c.strong_receive_condition(),
        "three messages": z3.Distinct(before, c.first, c.second),
        "s0 ↦ r1": c.links(c.maps_to, before, c.first),
        "s1 ↦ r2": c.links(c.maps_to, c.first, c.second),
        "not s1 ≺ r2": z3.Not(c.links(c.precedes, c.first, c.second)),
    }
    return _shown(
        "a crown shrinks by a message before a link that is not strong", given, c.links(c.maps_to, before, c.second)
    )


@cache
def strong_crowns_descend() -> Evidence:
    """Under PR, s1 ≺ r2 puts m2 at bigger processes than m1: P(s1) < P(s2). So no strong crown can close."""
    c = AnySplit()
    given = {**c.computation(), "PR": c.ranked(), "s1 ≺ r2": c.links(c.precedes, c.first, c.second)}
    climbs = c.process(c.send(c.first)) < c.process(c.send(c.second))
    return _shown("under PR the processes of a strong crown grow along it", given, climbs)


class AnyCrown(AnySplit):
    """A crown of any size, by a relation ↦ about which only the hypotheses are known."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = z3.Function("maps to", self.event, self.event, z3.BoolSort())

    def of_two_messages(self) -> Hypotheses:
        """`lemma_3`."""

        def strong(m: Term, k: Term) -> Term:
            crown, same = (z3.And(self.links(by, m, k), self.links(by, k, m)) for by in (self.maps, self.precedes))
            return z3.Implies(z3.And(m != k, crown), same)

        return {"Lemma 3": self.messages(strong)}

    def of_three_messages(self) -> Hypotheses:
        """`crown_shrinks`."""

        def left_out(m: Term, k: Term, l: Term) -> Term:
            weak = z3.And(self.links(self.maps, k, l), z3.Not(self.links(self.precedes, k, l)))
            given = z3.And(z3.Distinct(m, k, l), self.links(self.maps, m, k), weak)
            return z3.Implies(given, self.links(self.maps, m, l))

        return {"the message before a link that is not strong may be left out": self.messages(left_out, of=3)}

    def of_ranks(self) -> Hypotheses:
        """`strong_crowns_descend`."""

        def climbs(m: Term, k: Term) -> Term:
            return z3.Implies(self.links(self.precedes, m, k), self.process(self.send(m)) < self.process(self.send(k)))

        return {"PR: a strong crown climbs": self.messages(climbs)}


def lemma_4_claims() -> list[Claim]:
    """By induction on the size: base and step."""
    c = AnyCrown()
    strong = z3.And(*c.crown(c.precedes).values())
    base = {**c.crown(c.maps), **c.of_two_messages(), "two messages": c.size == 2}
    step = {
        **c.crown(c.maps),
        **c.of_three_messages(),
        "no crown of one message less": c.none_with_one_less(c.crown_link(c.maps)),
        "three messages or more": c.size >= 3,
    }
    return [Claim("a crown of two is strong", base, strong), Claim("a smallest crown is strong", step, strong)]


@cache
def lemma_4() -> Evidence:
    """With RC⁺: from any crown by ↦, of whatever size, a strong one."""
    claims = lemma_4_claims()
    by_size = by_z3(
        "with RC⁺ a crown of any size implies a strong one, by induction on its size",
        claims,
        possible=[claim.given for claim in claims],
    )
    return crown_shrinks() & lemma_3() & stronger_condition_implies_rc() & by_size


@cache
def theorem_6() -> Evidence:
    """With RC⁺ and PR: no crown by ↦, so none by →; that is synchronous by Theorem 2."""
    c = AnyCrown()
    claims = c.never_grows_round(c.process, {**c.crown(c.precedes), **c.of_ranks()})
    links = claims[0].without("the last message is linked to the first").given
    none_strong = by_z3(
        "no strong crown of any size, along which processes would grow until it comes round",
        claims,
        possible=[{**links, "more than two": c.size > 2}],
    )
    return lemma_4() & strong_crowns_descend() & none_strong & maps_to_holds_happened_before() & theorem_2()
