"""Graded state spaces: every action adds one to a rank that the local states and packets determine.

If so, a state has one distance from the start: the search meets it again only within its own level, and need not
remember earlier levels. The rank sought is a sum: over the processes, of a number for each cell; over the packets in
flight, of a weight for each kind of packet. The weights are unknown. Each local transition found determines the rank of
its new cell, as a linear expression in them, or, if the cell is already known, gives an equation that they must meet.
As long as the equations have a solution, the space seen so far is graded.
"""

from collections.abc import Sequence
from fractions import Fraction

#: A linear expression, sorted: (unknown, coefficient), none of them zero; the constant stands at "".
Expression = tuple[tuple[str, int], ...]


class Ranks:
    """Collects the equations from local transitions; `graded` is true if they have a solution."""

    def __init__(self) -> None:
        self.graded = True
        self._cells: dict[int, Expression] = {}
        #: The rank of a cell and a transition's effect on the channel → the rank afterwards: there are few of each.
        self._after: dict[tuple[Expression, Sequence[str], Sequence[str]], Expression] = {}
        #: Solved so far: unknown → its value in terms of the unsolved ones.
        self._solved: dict[str, dict[str, Fraction]] = {}
        self._known: set[tuple[Expression, Expression]] = set()

    def start(self, cell: int) -> None:
        """A cell in which a process starts."""
        self._cells.setdefault(cell, ())

    def step(self, before: int, after: int, consumed: tuple[str, ...], emitted: tuple[str, ...]) -> None:
        """A local transition, with the kinds of the packets that it takes from the channel and puts on it."""
        key = (self._cells[before], consumed, emitted)
        rank = self._after.get(key)
        if rank is None:
            rank = self._after[key] = _sum(*key)
        known = self._cells.setdefault(after, rank)
        if known is not rank and known != rank:
            self._must_be_equal(rank, known)

    def by_channel(self, consumed: tuple[str, ...], emitted: tuple[str, ...]) -> None:
        """An action of the channel alone."""
        self._must_be_equal(_sum((), consumed, emitted), ())

    def _must_be_equal(self, one: Expression, other: Expression) -> None:
        if (one, other) in self._known:
            return
        self._known.add((one, other))
        left: dict[str, Fraction] = {}
        for expression, sign in ((one, 1), (other, -1)):
            for kind, coefficient in expression:
                for part, share in self._solved.get(kind, {kind: Fraction(1)}).items():
                    left[part] = left.get(part, Fraction(0)) + sign * coefficient * share
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


def _sum(rank: Expression, consumed: Sequence[str], emitted: Sequence[str]) -> Expression:
    """A step adds one. A consumed packet no longer counts, its cell does instead; an emitted one counts for itself."""
    terms = dict(rank)
    for kind, coefficient in (("", 1), *((kind, 1) for kind in consumed), *((kind, -1) for kind in emitted)):
        terms[kind] = terms.get(kind, 0) + coefficient
    return tuple(sorted((kind, coefficient) for kind, coefficient in terms.items() if coefficient))
