"""[MG] Theorem 7 for any number of processes and messages: by the formulas of SP and RP alone, order is synchronous.

One message is *linked* to another if an event of the one precedes an event of the other on a line. Four lemmas, one for
each kind of link, put links into →. A link out of a receive begins at the send, one out of a send begins at s.ack; a
link into a send ends there, one into a receive ends at s.ack. So links make no cycle, unless one comes into a message
by its receive and goes out by its receive. Such a message can be left out, as all three events are on one line (the
merging step). Without cycles the messages can be sorted, and their ranks are the T of SYNC.

In words only: that finitely many messages without a cycle can be sorted. The printed proof rests on Lemma 4, which is
false as printed (MG13); this one does without crowns.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import z3

from crownless.proofs.terms import Term
from crownless.proofs.theorem import Claim

from .any_split import AnySplit
from .evidence import all_proved, not_vacuous
from .synchronous_theorems import Hypotheses, is_cycle, without_place

RECEIVE, SEND = z3.BoolVal(True), z3.BoolVal(False)
NEVER = z3.BoolVal(False)


class Links(AnySplit):
    """Links between messages; each is out of an event of the one and into an event of the other, send or receive."""

    def __init__(self) -> None:
        super().__init__()
        place = z3.IntSort()
        self.at = z3.Function("at", place, self.message)
        self.into, self.out_of = (z3.Function(f"{side} receive", place, z3.BoolSort()) for side in ("into", "out of"))
        self.size = z3.Int("size")

    def event_of(self, receive: Term, m: Term) -> Term:
        return z3.If(receive, self.receive(m), self.send(m))

    def linked(self, out_of: Term, m: Term, into: Term, k: Term) -> Term:
        return self.precedes(self.event_of(out_of, m), self.event_of(into, k))

    def in_time(self, out_of: Term, m: Term, into: Term, k: Term) -> Term:
        """→ from where a link begins to where it ends."""
        begins = z3.If(out_of, self.send(m), self.acked(m))
        ends = z3.If(into, self.acked(k), self.send(k))
        return self.leads(begins, ends)

    def between_places(self, i: Term, j: Term) -> tuple[Term, Term, Term, Term]:
        return self.out_of(i), self.at(i), self.into(j), self.at(j)

    def cycle(self) -> Hypotheses:
        return is_cycle(lambda i, j: self.linked(*self.between_places(i, j)), self.at, self.size)

    def no_smaller_cycle(self) -> Hypotheses:
        """The induction hypothesis, of the cycles that one message is left out of."""
        p = z3.Int("p")
        rest = without_place(p)
        smaller = is_cycle(
            lambda i, j: self.linked(*self.between_places(rest(i), rest(j))), lambda i: self.at(rest(i)), self.size - 1
        )
        none = z3.ForAll(
            [p],
            z3.Implies(z3.And(p >= 0, p < self.size), z3.Not(z3.And(*smaller.values()))),
            patterns=[self.at(p)],
        )
        return {"no cycle of one message less": none}

    def passes_through_a_receive(self) -> Hypotheses:
        q = z3.Int("q")
        return {
            "a link comes into a receive and the next goes out of it": z3.And(
                q >= 0, q < self.size, self.into(q), self.out_of(q)
            )
        }

    def passes_through_no_receive(self) -> Hypotheses:
        q = z3.Int("q")
        either = z3.Implies(z3.And(q >= 0, q < self.size), z3.Not(z3.And(self.into(q), self.out_of(q))))
        return {"no link goes out of the receive that the one before comes into": z3.ForAll([q], either)}

    def links_are_in_time(self) -> Hypotheses:
        """The four lemmas, of any two messages."""
        m, k = self.m, self.k
        links = product((RECEIVE, SEND), repeat=2)
        each = [z3.Implies(self.linked(x, m, y, k), self.in_time(x, m, y, k)) for x, y in links]
        return {"the four lemmas": z3.ForAll([m, k], z3.Implies(m != k, z3.And(each)))}

    def one_event_a_line(self) -> Hypotheses:
        m = self.m
        links = [self.linked(x, m, y, m) for x, y in product((RECEIVE, SEND), repeat=2)]
        return {"no message is linked to itself": z3.ForAll([m], z3.Not(z3.Or(links)))}

    def receive_protocol(self) -> Term:
        """The formula of RP: s1 ≺ r2 ⇒ s1.ack ≺ r2.ack."""
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(self.precedes(self.send(m), self.receive(k)), self.precedes(self.acked(m), self.ack(k))),
        )

    def protocols(self) -> Hypotheses:
        return {
            **self.computation(),
            **self.acknowledged(),
            "SP": self.send_protocol(),
            "RP": self.receive_protocol(),
        }


def four_lemmas() -> list[Claim]:
    """What each kind of link is in →; b is s.ack, the receive of the acknowledgement."""
    links = Links()
    first, second = links.two_messages()
    names = {
        "r1 ≺ s2 ⇒ s1 → s2": (RECEIVE, SEND),
        "r1 ≺ r2 ⇒ s1 → b2": (RECEIVE, RECEIVE),
        "s1 ≺ s2 ⇒ b1 → s2": (SEND, SEND),
        "s1 ≺ r2 ⇒ b1 → b2": (SEND, RECEIVE),
    }
    return [
        Claim(
            name,
            {
                **links.protocols(),
                "two messages": first != second,
                "linked": links.linked(out_of, first, into, second),
            },
            links.in_time(out_of, first, into, second),
        )
        for name, (out_of, into) in names.items()
    ]


def merging() -> list[Claim]:
    """By induction on the size: a smallest cycle passes through no receive."""
    links = Links()
    computation = links.computation()
    line = {name: computation[name] for name in ("→ is transitive", "≺ is → on one line")}
    through = {**links.cycle(), **line, **links.passes_through_a_receive()}
    return [
        Claim("no message is linked to itself", computation, z3.And(*links.one_event_a_line().values())),
        Claim(
            "no cycle of two passes through a receive",
            {**through, **links.one_event_a_line(), "two messages": links.size == 2},
            NEVER,
        ),
        Claim(
            "no smallest cycle passes through a receive",
            {**through, **links.no_smaller_cycle(), "three messages or more": links.size >= 3},
            NEVER,
        ),
    ]


def no_cycle() -> list[Claim]:
    """By induction along a cycle that passes through no receive: → would come round."""
    links = Links()
    i, last = z3.Int("i"), links.size - 1
    computation = links.computation()
    given = {
        **{name: computation[name] for name in ("→ is transitive", "→ has no circle", "≺ is → on one line")},
        **links.acknowledged(),
        **links.cycle(),
        **links.links_are_in_time(),
        **links.passes_through_no_receive(),
    }

    def reached(j: Term) -> Term:
        """→ from the beginning of the first link to the end of the one into this place."""
        return links.in_time(links.out_of(0), links.at(0), links.into(j), links.at(j))

    on_the_way = {"→ has come to i": reached(i), "i is on the cycle": z3.And(i >= 1, i < links.size)}
    return [
        Claim("→ takes the first link of a cycle", given, reached(z3.IntVal(1))),
        Claim("→ takes each link of a cycle", {**given, **on_the_way}, z3.Implies(i + 1 < links.size, reached(i + 1))),
        Claim("no cycle comes round", {**given, "→ has come to the last": reached(last)}, NEVER),
    ]


def ranks_are_in_time() -> Claim:
    """Messages that are sorted along links have a T as SYNC has it: their rank, for both events of a message."""
    links = Links()
    rank = z3.Function("rank", links.message, z3.IntSort())
    m, k = links.m, links.k
    grows = z3.Implies(
        z3.Or([links.linked(x, m, y, k) for x, y in product((RECEIVE, SEND), repeat=2)]), rank(m) < rank(k)
    )
    given = {**links.one_event_a_line(), "messages are sorted": z3.ForAll([m, k], z3.Implies(m != k, grows))}
    return Claim("T grows along ≺", given, z3.ForAll([m, k], grows))


@cache
def theorem_7_is_proved() -> bool:
    """And none of its steps is about nothing: an acyclic chain of links that → follows is possible."""
    claims = [*four_lemmas(), *merging(), *no_cycle(), ranks_are_in_time()]
    base, *_ = no_cycle()
    chain = {name: term for name, term in base.given.items() if not name.startswith("the last")}
    possible = [*(claim.given for claim in four_lemmas()), chain, ranks_are_in_time().given]
    return all_proved(claims) and all(not_vacuous(given) for given in possible)
