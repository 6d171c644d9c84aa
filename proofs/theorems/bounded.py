"""Every computation of a given size as one formula, in which z3 looks for one with given properties.

Events stand in the order of a linearization, the least one as in `spec.enumeration`, so that each computation is
described once; any message may be a control message. That one event happened before another is defined by recursion
over that order, so that it holds just where a chain leads from the one to the other.

z3's answer `unsat` says that there is none of this size. Where there is one, `least` finds the first of all in an order
of its own, so that the answer does not depend on the way that z3 takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import z3

from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import ask, reason_for_giving_up
from crownless.spec.computation import Computation, Event, Message

#: z3 steps allowed to one query: ten times what those of the ledger take.
EFFORT = 200_000_000


class Placed(NamedTuple):
    """An event in a linearization: at which process, and either which earlier event sent what it receives, or to whom
    it sends, and whether that is the application's.
    """

    process: int
    sent_at: int  #: of a receive; of a send, the number of events there are
    to_control: bool
    to: int


class Bounded:
    """Any complete computation of n processes and m messages, none to oneself; what is added narrows it down."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m, self.length = n, m, 2 * m
        self.solver = z3.Solver()
        self.solver.set(rlimit=EFFORT)
        self.at = [[z3.Bool(f"at {e} {p}") for p in range(n)] for e in self.places]
        self.sends = [z3.Bool(f"sends {e}") for e in self.places]
        #: Of a send: True if the message is the application's.
        self.own = [z3.Bool(f"own {e}") for e in self.places]
        #: The message sent at the first place is received at the second.
        self.goes = {(a, b): z3.Bool(f"goes {a} {b}") for a, b in combinations(self.places, 2)}
        self._match()
        self.same_line = self._named("same line", lambda a, b: z3.Or(self._both_at(a, b)))
        self.to_smaller = self._named("to smaller", lambda a, b: z3.Or(self._downward(a, b)))
        self.linked = {pair: z3.Or(self.same_line[pair], self.goes[pair]) for pair in self.goes}
        self._in_normal_form()
        self.leads = self.chains("leads", self.linked)

    @property
    def places(self) -> range:
        return range(self.length)

    def add(self, *what: Term) -> None:
        self.solver.add(*what)

    def _match(self) -> None:
        """Every event is at one process, and is the send or the receive of one message, to another process."""
        for e in self.places:
            self.add(z3.PbEq([(here, 1) for here in self.at[e]], 1), z3.Implies(self.own[e], self.sends[e]))
            out = [(self.goes[e, b], 1) for b in self.places[e + 1 :]]
            into = [(self.goes[a, e], 1) for a in self.places[:e]]
            self.add(z3.Implies(self.sends[e], z3.PbEq(out, 1)) if out else z3.Not(self.sends[e]))
            self.add(z3.Implies(z3.Not(self.sends[e]), z3.PbEq(into, 1)) if into else self.sends[e])
        for (a, b), goes in self.goes.items():
            self.add(z3.Implies(goes, z3.And(self.sends[a], z3.Not(self.sends[b]), z3.Not(z3.Or(self._both_at(a, b))))))

    def _both_at(self, a: int, b: int) -> list[Term]:
        return [z3.And(self.at[a][p], self.at[b][p]) for p in range(self.n)]

    def _downward(self, a: int, b: int) -> list[Term]:
        return [z3.And(self.at[a][p], self.at[b][q]) for p in range(self.n) for q in range(p)]

    def _named(self, name: str, meaning: Callable[[int, int], Term]) -> dict[tuple[int, int], Term]:
        """A variable for each pair of places, equal to what is meant by it."""
        found = {}
        for pair in self.goes:
            found[pair] = z3.Bool(f"{name} {pair}")
            self.add(found[pair] == meaning(*pair))
        return found

    def _in_normal_form(self) -> None:
        """No event could stand before a run of events independent of it, the first of which is at a greater process."""
        for (a, b), greater in self.to_smaller.items():
            self.add(z3.Implies(greater, z3.Or([self.linked[g, b] for g in self.places[a:b]])))

    # -- relations -----------------------------------------------------------------------------------------------------

    def chains(self, name: str, linked: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """From the one place a chain of links leads to the other."""
        found: dict[tuple[int, int], Term] = {}
        for a, b in sorted(self.goes, key=lambda pair: pair[1] - pair[0]):
            longer = [z3.And(found[a, g], linked[g, b]) for g in self.places[a + 1 : b]]
            found[a, b] = z3.Bool(f"{name} {a} {b}")
            self.add(found[a, b] == z3.Or(linked[a, b], *longer))
        return found

    def sent_before_received(self, name: str, before: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """Of two messages, by the places of their sends: True if one's send is so related to the other's receive."""
        return self._of_two(
            name, lambda a, c: [z3.And(self.goes[c, d], before[a, d]) for d in self.places[c + 1 :] if a < d]
        )

    def received_before_received(self, name: str, before: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """Likewise of the two receives."""
        reaches = {
            (a, d): z3.Or([z3.And(self.goes[a, b], before[b, d]) for b in self.places[a + 1 : d]]) for a, d in self.goes
        }
        return self._of_two(
            name, lambda a, c: [z3.And(self.goes[c, d], reaches[a, d]) for d in self.places[c + 1 :] if a < d]
        )

    def _of_two(self, name: str, ways: Callable[[int, int], list[Term]]) -> dict[tuple[int, int], Term]:
        found = {}
        for a, c in self.two_messages():
            found[a, c] = z3.Bool(f"{name} {a} {c}")
            self.add(found[a, c] == z3.Or(ways(a, c)))
        return found

    def two_messages(self) -> Iterator[tuple[int, int]]:
        """The places of the sends of any two messages."""
        return ((a, c) for a in self.places for c in self.places if a != c)

    def both_own(self, a: int, c: int) -> Term:
        return z3.And(self.own[a], self.own[c])

    def require_cycle(self, steps: dict[tuple[int, int], Term]) -> None:
        """Some of the application's messages are a circle: each that is on it has a step to another that is."""
        on_it = [z3.Bool(f"on the circle {a}") for a in self.places]
        self.add(z3.Or(on_it))
        for a in self.places:
            onward = [z3.And(on_it[c], steps[a, c]) for c in self.places if c != a]
            self.add(z3.Implies(on_it[a], z3.And(self.own[a], z3.Or(onward))))

    def closed_walk(self, name: str, steps: dict[tuple[int, int], Term], length: int) -> Term:
        """Among the application's messages there is a closed walk of that many steps: a circle of as many or fewer."""
        own_steps = {(a, c): z3.And(self.both_own(a, c), step) for (a, c), step in steps.items()}
        walks = dict(own_steps)
        for size in range(2, length + 1):
            longer = {}
            for a in self.places:
                for c in self.places:
                    via = [z3.And(walks[a, b], own_steps[b, c]) for b in self.places if (a, b) in walks and b != c]
                    longer[a, c] = z3.Bool(f"{name} {size} {a} {c}")
                    self.add(longer[a, c] == z3.Or(via))
            walks = longer
        return z3.Or([walks[a, a] for a in self.places if (a, a) in walks])

    # -- answers -------------------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        """True if there is one. Raises `BoundedSearchGaveUp` if z3 does not come to an answer."""
        return bool(self._check() == z3.sat)

    def _check(self, *assumed: Term) -> object:
        answer = ask(self.solver, *assumed)
        if answer == z3.unknown:
            raise BoundedSearchGaveUp(reason_for_giving_up(self.solver.reason_unknown()))
        return answer

    def least(self) -> tuple[Placed, ...] | None:
        """The first of all, event by event, in the order of `Placed`; None if there is none."""
        if not self.exists():
            return None
        word = self._word(self.solver.model())
        fixed: list[Term] = []
        for e in self.places:
            for smaller in self._choices(e):
                if smaller >= word[e]:
                    break
                if self._check(*fixed, self._is(e, smaller)) == z3.sat:
                    word = self._word(self.solver.model())
                    break
            fixed.append(self._is(e, word[e]))
        return word

    def _choices(self, e: int) -> list[Placed]:
        """Everything that the event at this place may be, in order."""
        receives = [Placed(p, a, False, p) for p in range(self.n) for a in range(e)]
        sends = [
            Placed(p, self.length, control, q)
            for p in range(self.n)
            for control in (False, True)
            for q in range(self.n)
            if p != q
        ]
        return sorted([*receives, *sends])

    def _is(self, e: int, choice: Placed) -> Term:
        if choice.sent_at < self.length:
            return z3.And(self.at[e][choice.process], self.goes[choice.sent_at, e])
        to = z3.Or([z3.And(self.goes[e, b], self.at[b][choice.to]) for b in self.places[e + 1 :]])
        own = z3.Not(self.own[e]) if choice.to_control else self.own[e]
        return z3.And(self.at[e][choice.process], self.sends[e], own, to)

    def words(self) -> Iterator[tuple[Placed, ...]]:
        """All there are, in no order."""
        while self.exists():
            word = self._word(self.solver.model())
            yield word
            self.add(z3.Not(z3.And([self._is(e, placed) for e, placed in enumerate(word)])))

    def _word(self, model: z3.ModelRef) -> tuple[Placed, ...]:
        def true(term: Term) -> bool:
            return bool(z3.is_true(model.eval(term, model_completion=True)))

        process = [next(p for p in range(self.n) if true(self.at[e][p])) for e in self.places]
        sent_at = {b: a for (a, b), goes in self.goes.items() if true(goes)}
        to = {a: process[b] for b, a in sent_at.items()}
        return tuple(
            Placed(process[e], sent_at[e], False, process[e])
            if e in sent_at
            else Placed(process[e], self.length, not true(self.own[e]), to[e])
            for e in self.places
        )


class BoundedSearchGaveUp(Exception):
    """z3 came to no answer; why, in its words."""


def computation_of(word: Sequence[Placed], n: int) -> Computation:
    """The computation: the application's messages are called m1, m2, …, control messages c1, c2, … in order."""
    numbers: dict[int, int] = {}
    messages: list[Message] = []
    lines: list[list[Event]] = [[] for _ in range(n)]
    for e, placed in enumerate(word):
        if placed.sent_at < len(word):
            lines[placed.process].append(Event("receive", numbers[placed.sent_at]))
            continue
        letter = "c" if placed.to_control else "m"
        of_its_kind = sum(message.name[0] == letter for message in messages) + 1
        numbers[e] = len(messages)
        lines[placed.process].append(Event("send", len(messages)))
        messages.append(Message(f"{letter}{of_its_kind}", placed.process, (placed.to,)))
    return Computation.of_lines(n, messages, lines)
