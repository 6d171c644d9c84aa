"""Places for the names of messages beside their arrows, where they cover as little as possible.

Covered pixels are bits: each row of pixels is one number.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from .geometry import RADIUS, ROW, Curve, DrawnArrow, Geometry
from .widths import width

#: Where along its arrow a name may stand, the best first, and where else if there is no room; and how far its middle is
#: from the arrow.
ALONG, ELSEWHERE = (0.3, 0.42, 0.2, 0.55, 0.68, 0.8), (0.25, 0.36, 0.49, 0.62, 0.74, 0.13, 0.87)
BESIDE = 9
#: How far it keeps off what is beside it.
APART = 3
HEIGHT = 13
#: Pixels of a bit, across and down.
ACROSS, DOWN = 2, 4
#: What it costs to cover an event or a sign, another name, a line of a process, and most that arrows in a row cost.
EVENT, NAME, LINE, ARROWS = 120, 60, 2, 5
#: With less the first place is taken, and with less no farther ones are looked at.
GOOD, BEARABLE = 1, 28


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        """Its middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


class _Pixels:
    """The covered pixels of the page."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = defaultdict(int)

    def add(self, box: Box) -> None:
        bits = _bits(box.left, box.right)
        for row in _rows(box):
            self.rows[row] |= bits

    def add_curve(self, curve: Curve) -> None:
        """Adds a curve; in steep parts it skips rows between which no name fits."""
        high, wide = curve.y1 - curve.y0, abs(curve.x1 - curve.x0)
        apart = DOWN if high < 2 * wide or curve.loop else 3 * DOWN
        steps = max(3, int(high / apart))
        if curve.loop:
            points = [curve.at(step / steps) for step in range(1, steps + 1)]
        else:
            linear, square = 2 * (curve.control - curve.y0), curve.y0 - 2 * curve.control + curve.y1
            across = (curve.x1 - curve.x0) / steps
            points = [
                (curve.x0 + step * across, curve.y0 + step / steps * (linear + step / steps * square))
                for step in range(1, steps + 1)
            ]
        place, y, rows = int(curve.x0 / ACROSS), curve.y0, self.rows
        for x, below in points:
            after, row = int(x / ACROSS), int((y + below) / (2 * DOWN))
            rows[row] |= ((2 << after - place) - 1) << place if place < after else ((2 << place - after) - 1) << after
            place, y = after, below


def places(geometry: Geometry) -> list[tuple[float, float] | None]:
    """The middle of the name of each arrow that has one; emphasized arrows choose first."""
    return _Places(geometry).all()


class _Places:
    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.names, self.events, self.arrows = _Pixels(), _Pixels(), _Pixels()
        for event in geometry.diagram.row_of:
            self.events.add(_around(geometry.x_of(event), geometry.y_of(event), RADIUS + 1))
        for arrow, curve, *_ in geometry.arrows:
            self.arrows.add_curve(curve)
            if not arrow.received:
                self.events.add(_around(curve.x1, curve.y1, 6 if arrow.lost else RADIUS))
        self.lines = sum(1 << int(x / ACROSS) for x in geometry.x)

    def all(self) -> list[tuple[float, float] | None]:
        """The places, in the order of the arrows."""
        drawn = self.geometry.arrows
        found: list[tuple[float, float] | None] = [None] * len(drawn)
        for number in sorted(range(len(drawn)), key=lambda number: not drawn[number].shown):
            if drawn[number].label:
                found[number] = self._place(drawn[number])
        return found

    def _place(self, arrow: DrawnArrow) -> tuple[float, float]:
        size = width(arrow.label)
        box = self._best(arrow, size)
        self.names.add(Box(box.left - APART, box.top, box.right + APART, box.bottom))
        return box.middle

    def _best(self, arrow: DrawnArrow, size: float) -> Box:
        best: tuple[float, Box] | None = None
        bounds = Box(APART, self.geometry.first_row - 17, self.geometry.right + 8, self.geometry.foot + 6)
        for rank, box in enumerate(_candidates(arrow, size)):
            if isinstance(box, int):
                if best is not None and best[0] < box:
                    break
                continue
            inside = _moved_into(bounds, box)
            cost = self._cost(inside) + rank * 0.05
            if best is None or cost < best[0]:
                best = cost, inside
            if cost < GOOD:
                break
        assert best is not None
        return best[1]

    def _cost(self, box: Box) -> float:
        """The cost of the worst covered thing; if that is no event, sign or name, the amount covered of the rest."""
        bits = _bits(box.left - APART, box.right + APART)
        rows = _rows(box)
        events, names, arrows = self.events.rows, self.names.rows, self.arrows.rows
        covers_name = False
        for row in rows:
            if events[row] & bits:
                return EVENT
            covers_name = covers_name or names[row] & bits != 0
        if covers_name:
            return NAME
        crossed = 0
        for row in rows:
            covered = arrows[row] & bits
            if covered:
                crossed += min(covered.bit_count(), ARROWS)
        return crossed + LINE * (self.lines & bits).bit_count()


def _candidates(arrow: DrawnArrow, size: float) -> Iterator[Box | int]:
    """Places beside the end of an arrow that does not arrive, beside the send of one with many receivers, or above and
    below the arrow, and beside a steep one; then ever farther away. A number means: try further places only if all
    before cost more.
    """
    curve = arrow.curve
    at_end = arrow.at_send or not arrow.arrow.received
    yield from _at_end(arrow, size) if at_end else _along(curve, size)
    yield NAME
    x, y = (curve.x0, curve.y0) if arrow.at_send else curve.at(1 if at_end else 0.4)
    for far in range(1, 9):
        for dx, dy in ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1)):
            yield _box(x + dx * far * 20, y + dy * far * 11, size)


def _at_end(arrow: DrawnArrow, size: float) -> Iterator[Box | int]:
    curve = arrow.curve
    x, y, near = (curve.x0, curve.y0, 3) if arrow.at_send else (curve.x1, curve.y1, 4)
    side = -1 if curve.x1 < curve.x0 else 1
    aside = size / 2 + 5
    for across in (side * (aside + near), -side * (aside + near)):
        for down in (-8, 0, 9) if arrow.at_send else (0, 5, -6):
            yield _box(x + across, y + down, size)
    for across, down in ((0, -14), (0, 14), (side * aside, -14), (side * aside, 15), (-side * aside, -14)):
        yield _box(x + across, y + down, size)
    yield BEARABLE
    for far in (0, 10, 20, 36):
        for dy in (-ROW / 2, ROW / 2, 0, -0.8 * ROW, 0.8 * ROW):
            yield _box(x + side * (aside + far), y + dy, size)
            yield _box(x - side * (aside + far), y + dy, size)


def _along(curve: Curve, size: float) -> Iterator[Box | int]:
    high, wide = abs(curve.y1 - curve.y0), abs(curve.x1 - curve.x0)
    if high > wide or curve.loop:
        aside = size / 2 + 5 + HEIGHT / 2 * wide / high
        ways = [(aside, 0.0), (-aside, 0.0)]
    else:
        aside = size / 2 + 5
        lean = min(size / 2 * high / wide, BESIDE)
        ways = [(0.0, -BESIDE - lean), (0.0, BESIDE + 1 + lean), (0.0, -BESIDE), (0.0, BESIDE + 1.0)]
    ways += [(aside * 0.8, -BESIDE), (-aside * 0.8, BESIDE)]
    for t in ALONG:
        x, y = curve.at(t)
        yield from (_box(x + dx, y + dy, size) for dx, dy in ways)
    yield BEARABLE
    for t in ELSEWHERE:
        x, y = curve.at(t)
        yield from (_box(x + dx, y + dy, size) for dx, dy in ways)
    yield BEARABLE
    for t in (*ALONG, *ELSEWHERE):
        x, y = curve.at(t)
        yield from (_box(x, y + dy * BESIDE, size) for dy in (-1.6, 1.6, 0, -2.3, 2.3))


def _box(x: float, y: float, size: float) -> Box:
    return Box(x - size / 2, y - HEIGHT / 2, x + size / 2, y + HEIGHT / 2)


def _around(x: float, y: float, radius: float) -> Box:
    return Box(x - radius, y - radius, x + radius, y + radius)


def _moved_into(bounds: Box, box: Box) -> Box:
    """The box, moved as little as possible into these bounds."""
    dx = max(bounds.left - box.left, 0) or min(bounds.right - box.right, 0)
    dy = max(bounds.top - box.top, 0) or min(bounds.bottom - box.bottom, 0)
    if not (dx or dy):
        return box
    return Box(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy)


def _bits(left: float, right: float) -> int:
    """The bits from one place to another, both included."""
    first = max(int(left / ACROSS), 0)
    return ((2 << max(int(right / ACROSS) - first, 0)) - 1) << first


def _rows(box: Box) -> range:
    return range(int(box.top / DOWN), int(box.bottom / DOWN) + 1)
