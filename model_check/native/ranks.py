"""Is the state space graded: does every action add one to a rank that the local states and packets determine?

If so, a state has one distance from the start: the search meets it again within its own level only, and need not
remember the levels before. The rank sought is a sum: over the processes, of a number for each cell; over the packets in
flight, of a weight for each kind of packet (and for a packet in the mail room, or a copy, one of its own). The weights
are unknown. Each local transition that is found says what the rank of its new cell is, as a linear expression in them,
or, where the cell is known already, is an equation that they must meet. As long as the equations have a solution, the
space seen so far is graded.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

#: A linear expression: unknown → coefficient; the constant stands at "".
Expression = dict[str, int]


class Ranks:
    """Collects what local transitions say; `graded` tells whether it has a solution."""

    def __init__(self) -> None:
        self.graded = True
        self._cells: dict[int, Expression] = {}
        #: Solved so far: unknown → what it is in terms of those that are not solved.
        self._solved: dict[str, dict[str, Fraction]] = {}
        self._known: set[tuple[tuple[str, int], ...]] = set()

    def start(self, cell: int) -> None:
        """A cell in which a process starts."""
        self._cells.setdefault(cell, {})

    def step(
        self, before: int, after: int, consumed: Iterable[str], emitted: Iterable[str], *, adds: bool = True
    ) -> None:
        """A local transition, with the kinds of the packets that it takes from the channel and puts on it.

        `adds`: does it add one to the rank, and not nothing?
        """
        expression = dict(self._cells[before])
        expression[""] = expression.get("", 0) + adds
        for kind in consumed:
            expression[kind] = expression.get(kind, 0) + 1
        for kind in emitted:
            expression[kind] = expression.get(kind, 0) - 1
        known = self._cells.get(after)
        if known is None:
            self._cells[after] = expression
            return
        for kind, coefficient in known.items():
            expression[kind] = expression.get(kind, 0) - coefficient
        self._must_vanish(expression)

    def by_channel(self, consumed: Iterable[str], emitted: Iterable[str]) -> None:
        """An action of the channel alone."""
        expression = {"": 1}
        for kind in consumed:
            expression[kind] = expression.get(kind, 0) + 1
        for kind in emitted:
            expression[kind] = expression.get(kind, 0) - 1
        self._must_vanish(expression)

    def same(self, cells: Iterable[int]) -> None:
        """These cells differ by the names of the processes only, and have one rank; the first is known."""
        first, *others = cells
        for cell in others:
            self._cells.setdefault(cell, self._cells[first])

    def _must_vanish(self, expression: Expression) -> None:
        key = tuple(sorted((kind, value) for kind, value in expression.items() if value))
        if not key or key in self._known:
            return
        self._known.add(key)
        left: dict[str, Fraction] = {}
        for kind, coefficient in key:
            for part, share in self._solved.get(kind, {kind: Fraction(1)}).items():
                left[part] = left.get(part, Fraction(0)) + coefficient * share
        unknown = next((kind for kind, value in left.items() if value and kind), None)
        if unknown is None:
            self.graded &= not left.get("", 0)
            return
        scale = -left.pop(unknown)
        solution = {kind: value / scale for kind, value in left.items() if value}
        self._solved[unknown] = solution
        for kind, parts in self._solved.items():
            if unknown in parts and kind != unknown:
                share = parts.pop(unknown)
                for part, value in solution.items():
                    parts[part] = parts.get(part, Fraction(0)) + share * value
