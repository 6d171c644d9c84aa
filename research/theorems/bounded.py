"""Every computation of a given size as one formula; z3 searches it for one with given properties.

Events are in the order of a linearization, the least one as in `spec.enumeration`, so each computation is described
once; any message may be a control message. Happened-before is defined by recursion over that order, so it holds exactly
where a chain leads from one event to the other.

z3's answer `unsat` says that there is none of this size: so `none_smaller` certifies that a counterexample is smallest.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

import z3

from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import ask, reason_for_giving_up


class BoundedSearchGaveUp(Exception):
    """z3 gave up; the message has its reason."""


class Linearized:
    """Events of n processes, in the least of their linearizations; further constraints restrict them."""

    def __init__(self, n: int, length: int, solver: z3.Solver, effort: int) -> None:
        """:param effort: z3 steps allowed per query."""
        self.n, self.length, self.solver = n, length, solver
        self.solver.set(rlimit=effort)
        self.at = [[z3.Bool(f"at {e} {p}") for p in range(n)] for e in self.places]
        self.sends = [z3.Bool(f"sends {e}") for e in self.places]
        #: The message sent at the first place is received at the second.
        self.goes = {(a, b): z3.Bool(f"goes {a} {b}") for a, b in combinations(self.places, 2)}
        for e in self.places:
            self.add(exactly(self.at[e], 1))
            self.add(*([z3.AtMost(*self.out(e), 1)] if self.out(e) else []))
            into = [self.goes[a, e] for a in range(e)]
            self.add(z3.Implies(z3.Not(self.sends[e]), exactly(into, 1)) if into else self.sends[e])
        self.same_line = {(a, b): self.named(f"same line {a} {b}", self._both_at(a, b)) for a, b in self.goes}
        self.to_smaller = {(a, b): self.named(f"to smaller {a} {b}", self._downward(a, b)) for a, b in self.goes}
        for (a, b), goes in self.goes.items():
            self.add(z3.Implies(goes, z3.And(self.sends[a], z3.Not(self.sends[b]), z3.Not(self.same_line[a, b]))))
        self.linked = {pair: z3.Or(self.same_line[pair], self.goes[pair]) for pair in self.goes}
        self._in_normal_form()

    @property
    def places(self) -> range:
        return range(self.length)

    def add(self, *what: Term) -> None:
        self.solver.add(*what)

    def out(self, e: int) -> list[Term]:
        """The message sent at this place is received, for each of the later places."""
        return [self.goes[e, b] for b in self.places[e + 1 :]]

    def exists(self) -> bool:
        """True if there are such events. Raises `BoundedSearchGaveUp` if z3 gives up."""
        answer = ask(self.solver)
        if answer == z3.unknown:
            raise BoundedSearchGaveUp(reason_for_giving_up(self.solver.reason_unknown()))
        return bool(answer == z3.sat)

    def _both_at(self, a: int, b: int) -> Term:
        return z3.Or([z3.And(self.at[a][p], self.at[b][p]) for p in range(self.n)])

    def _downward(self, a: int, b: int) -> Term:
        return z3.Or([z3.And(self.at[a][p], self.at[b][q]) for p in range(self.n) for q in range(p)])

    def named(self, name: str, meaning: Term) -> Term:
        """A variable that is equal to this."""
        variable = z3.Bool(name)
        self.add(variable == meaning)
        return variable

    def _in_normal_form(self) -> None:
        """No event could precede a run of events independent of it whose first one is at a greater process."""
        for (a, b), greater in self.to_smaller.items():
            self.add(z3.Implies(greater, z3.Or([self.linked[g, b] for g in self.places[a:b]])))


class Bounded(Linearized):
    """Any complete computation of n processes and m messages, without self-sends."""

    def __init__(self, n: int, m: int) -> None:
        super().__init__(n, 2 * m, z3.Solver(), effort=200_000_000)  # ten times the need of the ledger's queries
        #: For a send: True if the message is the application's.
        self.own = [z3.Bool(f"own {e}") for e in self.places]
        for e in self.places:
            self.add(z3.Implies(self.own[e], self.sends[e]))
            self.add(z3.Implies(self.sends[e], z3.Or(self.out(e))))
        self.leads = self.chains("leads", self.linked)

    def chains(self, name: str, linked: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """A chain of links leads from one place to the other."""
        found: dict[tuple[int, int], Term] = {}
        for a, b in sorted(self.goes, key=lambda pair: pair[1] - pair[0]):
            longer = [z3.And(found[a, g], linked[g, b]) for g in self.places[a + 1 : b]]
            found[a, b] = self.named(f"{name} {a} {b}", z3.Or(linked[a, b], *longer))
        return found

    def sent_before_received(self, name: str, before: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """For two messages, by the places of their sends: True if one's send is so related to the other's receive."""
        return self._of_two(
            name, lambda a, c: [z3.And(self.goes[c, d], before[a, d]) for d in self.places[c + 1 :] if a < d]
        )

    def received_before_received(self, name: str, before: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """Likewise for the two receives."""
        reaches = {
            (a, d): z3.Or([z3.And(self.goes[a, b], before[b, d]) for b in self.places[a + 1 : d]]) for a, d in self.goes
        }
        return self._of_two(
            name, lambda a, c: [z3.And(self.goes[c, d], reaches[a, d]) for d in self.places[c + 1 :] if a < d]
        )

    def _of_two(self, name: str, ways: Callable[[int, int], list[Term]]) -> dict[tuple[int, int], Term]:
        return {(a, c): self.named(f"{name} {a} {c}", z3.Or(ways(a, c))) for a, c in self.two_messages()}

    def two_messages(self) -> Iterator[tuple[int, int]]:
        """The places of the sends of any two messages."""
        return ((a, c) for a in self.places for c in self.places if a != c)

    def both_own(self, a: int, c: int) -> Term:
        return z3.And(self.own[a], self.own[c])

    def require_cycle(self, steps: dict[tuple[int, int], Term]) -> None:
        """Some of the application's messages form a cycle: each has a step to another one on the cycle."""
        on_it = [z3.Bool(f"on the circle {a}") for a in self.places]
        self.add(z3.Or(on_it))
        for a in self.places:
            onward = [z3.And(on_it[c], steps[a, c]) for c in self.places if c != a]
            self.add(z3.Implies(on_it[a], z3.And(self.own[a], z3.Or(onward))))

    def closed_walk(self, name: str, steps: dict[tuple[int, int], Term], length: int) -> Term:
        """The application's messages have a closed walk of that many steps: a cycle of at most as many."""
        own_steps = {(a, c): z3.And(self.both_own(a, c), step) for (a, c), step in steps.items()}
        walks = dict(own_steps)
        for size in range(2, length + 1):
            longer = {}
            for a in self.places:
                for c in self.places:
                    via = [z3.And(walks[a, b], own_steps[b, c]) for b in self.places if (a, b) in walks and b != c]
                    longer[a, c] = self.named(f"{name} {size} {a} {c}", z3.Or(via))
            walks = longer
        return z3.Or([walks[a, a] for a in self.places if (a, a) in walks])


def exactly(terms: list[Term], count: int) -> Term:
    return z3.PbEq([(term, 1) for term in terms], count)


def none_smaller(found: Iterable[Linearized], smaller: Iterable[Linearized]) -> bool:
    """True if z3 finds one of the known size, so that the formula is not vacuous, and none that is smaller."""
    return any(each.exists() for each in found) and not any(each.exists() for each in smaller)
