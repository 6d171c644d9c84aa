"""Places for the names of messages beside their arrows, where they cover as little as possible."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from .geometry import RADIUS, ROW, Curve, Geometry, width

#: Where along its arrow a name may stand, the best first; and how far its middle is from the arrow.
ALONG = (0.3, 0.42, 0.2, 0.55, 0.68, 0.8)
BESIDE = 9
#: How far it keeps off other arrows.
APART = 6
#: Pixels across a cell in which points are looked up.
CELL = 64
HEIGHT = 13


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """True if they have a point in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def places(geometry: Geometry) -> list[tuple[float, float]]:
    """The middle of the name of each arrow."""
    return _Places(geometry).all()


class _Places:
    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.taken: dict[int, list[Box]] = defaultdict(list)
        for event in geometry.diagram.row_of:
            x, y = geometry.x_of(event), geometry.y_of(event)
            self._take(Box(x - RADIUS - 1, y - RADIUS - 1, x + RADIUS + 1, y + RADIUS + 1))
        #: The points along each arrow, by row and cell, so that names keep off other arrows.
        self.points: dict[tuple[int, int], list[tuple[float, float, int]]] = defaultdict(list)
        for number, curve in enumerate(geometry.curves):
            steps = max(4, int((abs(curve.x1 - curve.x0) + abs(curve.y1 - curve.y0)) / 8))
            for step in range(1, steps):
                x, y = curve.at(step / steps)
                self.points[int(y // ROW), int(x // CELL)].append((x, y, number))

    def all(self) -> list[tuple[float, float]]:
        diagram = self.geometry.diagram
        names = diagram.message_names
        return [
            self._place(number, curve, width(names[arrow.message]))
            for number, (arrow, curve) in enumerate(zip(diagram.arrows, self.geometry.curves, strict=True))
        ]

    def _place(self, number: int, curve: Curve, size: float) -> tuple[float, float]:
        best: tuple[float, Box] | None = None
        for rank, box in enumerate(self._candidates(curve, size)):
            cost = self._cost(number, box) + rank * 0.05
            if best is None or cost < best[0]:
                best = cost, box
            if cost < 1:
                break
        assert best is not None
        left, top, right, bottom = best[1]
        self._take(Box(left - 4, top, right + 4, bottom))
        return (best[1].left + best[1].right) / 2, (best[1].top + best[1].bottom) / 2

    def _candidates(self, curve: Curve, size: float) -> list[Box]:
        """Above and below the arrow, and beside a steep one."""
        boxes = []
        steep = abs(curve.y1 - curve.y0) > abs(curve.x1 - curve.x0)
        for t in ALONG:
            x, y = curve.at(t)
            aside = size / 2 + 5
            ways = [(aside, 0), (-aside, 0)] if steep or curve.loop else [(0, -BESIDE), (0, BESIDE + 1)]
            ways += [(aside * 0.8, -BESIDE), (-aside * 0.8, BESIDE)]
            for dx, dy in ways:
                boxes.append(Box(x + dx - size / 2, y + dy - HEIGHT / 2, x + dx + size / 2, y + dy + HEIGHT / 2))
        return boxes

    def _cost(self, number: int, box: Box) -> float:
        rows = range(int(box.top // ROW), int(box.bottom // ROW) + 1)
        covered = sum(box.meets(other) for row in rows for other in self.taken.get(row, ()))
        crossed = sum(
            box.left - APART < x < box.right + APART and box.top - 2 < y < box.bottom + 2 and own != number
            for row in rows
            for cell in range(int((box.left - APART) // CELL), int((box.right + APART) // CELL) + 1)
            for x, y, own in self.points.get((row, cell), ())
        )
        lines = sum(box.left - 2 < x < box.right + 2 for x in self.geometry.x)
        return 10 * covered + crossed + 2 * lines

    def _take(self, box: Box) -> None:
        for row in range(int(box.top // ROW), int(box.bottom // ROW) + 1):
            self.taken[row].append(box)
