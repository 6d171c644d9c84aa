"""The constraints that an order adds to happened-before, and the cycle that shows a contradiction.

A queue (one per receiver, one per sender, one for all) imposes on a linearization a set of constraints "this event
before that one". With happened-before they form a graph; a linearization that satisfies all is a topological order of
it, and there is none iff there is a cycle.
"""

from dataclasses import dataclass
from itertools import takewhile

from .computation import Computation, topological_order
from .graphs import lightest_path, shortest_path, strong_components
from .witnesses import Cycle, Link

#: Up to this many events witnesses (crowns, cycles, chains) are smallest; in larger computations they are found
#: quickly.
SMALLEST_UP_TO = 1000


@dataclass(frozen=True)
class Forced:
    """A constraint that an order adds: the edge's head comes after its tail in every suitable linearization."""

    because: str
    #: For a constraint derived from another one (n-n): the two events whose order it mirrors.
    mirrors: tuple[int, int] | None = None


class Constraints:
    """The events of a computation (and, if pending, the future receives) with the constraints between them."""

    def __init__(self, c: Computation, *, pending: bool) -> None:
        self.c = c
        self.successors = c.immediate_successors()
        self.forced: dict[tuple[int, int], Forced] = {}
        self.expected: dict[int, tuple[int, int]] = {}
        self.receives: list[dict[int, int]] = [dict(receives) for receives in c.receive_events]
        if pending:
            for m, q in c.unreceived:
                self._expect(m, q)

    def _expect(self, m: int, q: int) -> None:
        node = len(self.successors)
        self.successors.append([])
        self.expected[node] = (m, q)
        self.receives[m][q] = node
        self.successors[self.c.send_event[m]].append(node)
        if self.c.lines[q]:
            self.successors[self.c.first_event[q + 1] - 1].append(node)

    def force(self, before: int, after: int, because: str, mirrors: tuple[int, int] | None = None) -> None:
        if before != after and (before, after) not in self.forced:
            self.forced[before, after] = Forced(because, mirrors)
            self.successors[before].append(after)

    def satisfiable(self) -> bool:
        """True if some linearization satisfies all constraints."""
        return topological_order(self.successors) is not None

    def cycle(self) -> Cycle | None:
        """The smallest cycle among the constraints, or None if some linearization satisfies them."""
        if self.satisfiable():
            return None
        return self._witness(self._smallest_cycle())

    def _smallest_cycle(self) -> list[int]:
        """A cycle with the fewest forced edges and messages; steps along a line are free."""
        component = strong_components(self.successors)
        within = [[f for f in targets if component[f] == component[e]] for e, targets in enumerate(self.successors)]
        best: tuple[int, list[int]] | None = None
        for e, f in self.forced:
            if component[e] != component[f]:
                continue
            found = lightest_path(within, f, e, self._weight)
            assert found is not None, "they are in one component"
            if best is None or found[0] < best[0]:
                best = found
            if len(self.successors) > SMALLEST_UP_TO:
                break
        assert best is not None, "the computation itself is acyclic, so a forced edge is on every cycle"
        return best[1]

    def _weight(self, e: int, f: int) -> int:
        if (e, f) in self.forced:
            return 1
        on_one_line = e < self.c.event_count and f < self.c.event_count and self.c.process_of[e] == self.c.process_of[f]
        return 0 if on_one_line else 1

    def _witness(self, cycle: list[int]) -> Cycle:
        """The same cycle, with each run of happened-before as one link."""
        turns = [*cycle, cycle[0]]
        derived: list[Link] = []
        links: list[Link] = []
        start = cycle[0]
        for e, f in zip(turns, turns[1:], strict=False):
            if (e, f) in self.forced:
                if start != e:
                    links.append(Link(self.say(start), self.say(e), "happened before"))
                self._explain(e, f, derived)
                links.append(Link(self.say(e), self.say(f), self.forced[e, f].because))
                start = f
        events = (self.c.send_event[self.expected[e][0]] if e in self.expected else e for e in cycle)
        on_it = frozenset(e for e in events if e < self.c.event_count)
        return Cycle(tuple(links), tuple(derived), on_it)

    def _explain(self, e: int, f: int, derived: list[Link]) -> None:
        """Lists the constraints that this forced one rests on, the deepest first."""
        mirrors = self.forced[e, f].mirrors
        if mirrors is None or self._happened_before(*mirrors):
            return
        path = shortest_path(self._earlier_than((e, f)), *mirrors)
        for a, b in zip(path, path[1:], strict=False):
            if (a, b) in self.forced:
                self._explain(a, b, derived)
                link = Link(self.say(a), self.say(b), self.forced[a, b].because)
                if link not in derived:
                    derived.append(link)

    def _happened_before(self, e: int, f: int) -> bool:
        return max(e, f) < self.c.event_count and self.c.happened_before(e, f)

    def _earlier_than(self, edge: tuple[int, int]) -> list[list[int]]:
        """The graph before this constraint and those derived after it were added (dictionaries keep their order)."""
        graph = [[f for f in targets if (e, f) not in self.forced] for e, targets in enumerate(self.successors)]
        for before, after in takewhile(lambda known: known != edge, self.forced):
            graph[before].append(after)
        return graph

    def say(self, node: int) -> str:
        if node in self.expected:
            m, q = self.expected[node]
            return f"{self.c.processes[q]} receives {self.c.messages[m].name} (still to come)"
        return self.c.say(node)
