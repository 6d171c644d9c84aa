"""The places of a diagram's parts on a page, in pixels: columns, rows, and the curves of its arrows.

An arrow is straight, unless it would run through an event of a process between; then it bends around it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from rich.cells import cell_len

from .diagram import Arrow, Diagram

#: Pixels from row to row; of a character; around it all.
ROW, CHARACTER, MARGIN = 26, 7.4, 20
#: Pixels from column to column: at least, at most, and of all of them as far as there is room.
COLUMN, FARTHEST, COLUMNS = 104, 180, 420
#: The radius of an event, and how far from its middle an arrow of others stays.
RADIUS, CLEARANCE = 4.5, 9
#: How far the middle of an arrow may be moved up or down, as a part of its height: it never leads up.
BENDS = (0, -0.2, 0.2, -0.35, 0.35, -0.5, 0.5)
#: The part of the way to the next column that an arrow goes that does not arrive, and how far it goes down.
STUB, STUB_DOWN = 0.3, 0.7
#: How far a message of a process to itself goes to the side.
LOOP = 34


class Curve(NamedTuple):
    """A quadratic Bézier curve whose control point is half way across; or, of a loop, a cubic one."""

    x0: float
    y0: float
    x1: float
    y1: float
    control: float
    loop: bool = False

    def at(self, t: float) -> tuple[float, float]:
        """The point at t, from 0 to 1."""
        s = 1 - t
        if self.loop:
            return self.x0 + 3 * s * t * LOOP, s * s * (s + 3 * t) * self.y0 + t * t * (t + 3 * s) * self.y1
        return self.x0 + t * (self.x1 - self.x0), s * s * self.y0 + 2 * s * t * self.control + t * t * self.y1

    @property
    def straight(self) -> bool:
        """True if it is a line."""
        return not self.loop and self.control == (self.y0 + self.y1) / 2


class Geometry:
    """The places of a diagram's parts; `top` is where the names of the processes stand."""

    def __init__(self, diagram: Diagram, top: float = MARGIN) -> None:
        self.diagram = diagram
        self.first_row = top + 30
        labels = [cell_len(name) for name in diagram.message_names]
        wide = min(FARTHEST, COLUMNS / max(len(diagram.process_names) - 1, 1))
        gap = max(COLUMN, wide, max(labels, default=0) * CHARACTER + 44)
        self.x = self._columns(gap)
        self.right = self.x[-1] + width(diagram.process_names[-1]) / 2 if self.x else MARGIN
        last = len(self.x) - 1
        loops = [labels[arrow.message] for arrow in diagram.arrows if arrow.sender == arrow.receiver == last]
        if loops:
            self.right = max(self.right, self.x[-1] + LOOP + max(loops) * CHARACTER)
        self.foot = self.y(diagram.row_count) - ROW / 4

    def _columns(self, gap: float) -> list[float]:
        names = [width(name) for name in self.diagram.process_names]
        x = [MARGIN + max(names[0], 24) / 2] if names else []
        for left, right in zip(names, names[1:], strict=False):
            x.append(x[-1] + max(gap, (left + right) / 2 + 16))
        return [round(each) for each in x]

    def y(self, row: int) -> float:
        """The place of a row."""
        return self.first_row + row * ROW

    def x_of(self, event: int) -> float:
        """The column of an event."""
        return self.x[self.diagram.computation.process_of[event]]

    def y_of(self, event: int) -> float:
        """The row of an event."""
        return self.y(self.diagram.row_of[event])

    @cached_property
    def curves(self) -> list[Curve]:
        """The way of each arrow, which ends in the middle of its receive."""
        return [self._curve(arrow) for arrow in self.diagram.arrows]

    def _curve(self, arrow: Arrow) -> Curve:
        x0, y0, x1 = self.x[arrow.sender], self.y_of(arrow.send), self.x[arrow.receiver]
        if arrow.receive is None:
            side = -1 if arrow.receiver < arrow.sender else 1
            beside = arrow.sender + side
            to_next = abs(self.x[beside] - x0) if arrow.receiver != arrow.sender else LOOP / STUB
            y1 = y0 + STUB_DOWN * ROW
            return Curve(x0, y0, x0 + side * STUB * to_next, y1, (y0 + y1) / 2)
        y1 = self.y_of(arrow.receive)
        if arrow.sender == arrow.receiver:
            return Curve(x0, y0, x1, y1, (y0 + y1) / 2, loop=True)
        between = range(min(arrow.sender, arrow.receiver) + 1, max(arrow.sender, arrow.receiver))
        curves = [Curve(x0, y0, x1, y1, (y0 + y1) / 2 + bend * (y1 - y0)) for bend in BENDS]
        return max(curves, key=lambda curve: min(self._clearances(curve, between), default=CLEARANCE))

    def _clearances(self, curve: Curve, between: Iterable[int]) -> Iterator[float]:
        """How far a curve stays from the next event of each of these processes; no more than is needed."""
        for p in between:
            _, y = curve.at((self.x[p] - curve.x0) / (curve.x1 - curve.x0))
            rows = self._events_of[p]
            place = bisect_left(rows, y)
            yield min([CLEARANCE, *(abs(y - each) for each in rows[max(place - 1, 0) : place + 1])])

    @cached_property
    def _events_of(self) -> list[list[float]]:
        c, diagram = self.diagram.computation, self.diagram
        return [
            [self.y_of(e) for e in range(c.first_event[p], c.first_event[p + 1]) if e not in diagram.silent]
            for p in range(len(self.x))
        ]


def width(text: str) -> float:
    """The pixels that a text takes, hardly ever more."""
    return cell_len(text) * CHARACTER
