"""The places of a diagram's parts on a page, in pixels: columns, rows, and the curves of its arrows.

An arrow is straight, unless it would cross an event of a process in between; then it bends around it. If no bend
suffices, an empty row makes room.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from math import inf
from typing import NamedTuple

from .diagram import Arrow, Diagram
from .widths import LARGE, width

#: Pixels from row to row; of a character of a page that measures its texts by their lengths; around it all.
ROW, CHARACTER, MARGIN = 26, 7.4, 20
#: Pixels from column to column: at least, at most, and of all of them as far as there is room.
COLUMN, FARTHEST, COLUMNS = 104, 180, 420
#: The radius of an event, how far from its middle an arrow of others stays, and how far at the very least.
RADIUS, CLEARANCE, TOUCHING = 4.5, 9, 6
#: How far the middle of an arrow may be moved up or down, as a part of its height: it never leads up.
BENDS = (0, -0.2, 0.2, -0.35, 0.35, -0.5, 0.5, -0.1, 0.1, -0.27, 0.27, -0.43, 0.43)
#: The most rounds in which empty rows are inserted, and the most arrow paths that are tried.
ROUNDS, WAYS = 6, 1300
#: The part of the way to the next column that an arrow goes that does not arrive, and how far it goes down.
STUB, STUB_DOWN = 0.3, 0.7
#: How far further ones of the same send and on the same side go down, in rows.
FURTHER_DOWN = (0.12, 1.25, 1.8)
#: How far a message of a process to itself goes to the side.
LOOP = 34
#: A message with more arrows has its name beside its send, once, instead of beside each.
NAMED_EACH = 3


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


class DrawnArrow(NamedTuple):
    """An arrow with its path and the text beside it, which may be empty. `receivers`: those it stands for, several if
    it does not arrive. `at_send`: the text is beside its send, and also serves the message's other arrows.
    """

    arrow: Arrow
    curve: Curve
    label: str
    receivers: tuple[int, ...]
    shown: bool
    at_send: bool = False


class _Way(NamedTuple):
    """How an arrow passes the events in between: its bend, its distance from the nearest, that one's row, and whether
    room above or below that row helps.
    """

    bend: float
    clearance: float
    row: int
    above: bool


class Geometry:
    """The places of a diagram's parts; `top` is where the names of the processes stand."""

    def __init__(self, diagram: Diagram, top: float = MARGIN) -> None:
        self.diagram = diagram
        self.first_row = top + 30
        self.signs = list(self._signs())
        labels = [width(label) for _, label, _, _ in self.signs]
        wide = min(FARTHEST, COLUMNS / max(len(diagram.process_names) - 1, 1))
        open_ones = [size for size, (arrow, *_) in zip(labels, self.signs, strict=True) if not arrow.received]
        beside_end = (max(open_ones, default=0) + 24) / (1 - STUB)
        gap = max(COLUMN, wide, max(labels, default=0) + 44, beside_end)
        names = [width(name, LARGE, bold=True) for name in diagram.process_names]
        self.x = _columns(names, gap)
        self.right = self.x[-1] + names[-1] / 2 if self.x else MARGIN
        last = len(self.x) - 1
        loops = [
            size for size, (arrow, *_) in zip(labels, self.signs, strict=True) if arrow.sender == arrow.receiver == last
        ]
        if loops:
            self.right = max(self.right, self.x[-1] + LOOP + max(loops) + 8)

    def y(self, row: int) -> float:
        """The place of a row."""
        return self._spread[0][row]

    @property
    def foot(self) -> float:
        """Where the lines of the processes end."""
        return self.y(self.diagram.row_count) - ROW / 4

    def x_of(self, event: int) -> float:
        """The column of an event."""
        return self.x[self.diagram.computation.process_of[event]]

    def y_of(self, event: int) -> float:
        """The row of an event."""
        return self.y(self.diagram.row_of[event])

    @cached_property
    def arrows(self) -> list[DrawnArrow]:
        """The arrows, each ending in the middle of its receive; arrows that do not arrive are merged if they share the
        send, the side and the style.
        """
        _, ways = self._spread
        many = Counter(arrow.message for arrow, _, shown, _ in self.signs if not (shown or arrow.copy))
        further: Counter[tuple[int, bool]] = Counter()
        named: set[int] = set()
        drawn = []
        for number, (arrow, label, shown, receivers) in enumerate(self.signs):
            side = arrow.message, arrow.receiver < arrow.sender
            curve = self._curve(arrow, ways[number].bend if number in ways else 0, further[side])
            further[side] += not arrow.received
            at_send = not (shown or arrow.copy) and many[arrow.message] > NAMED_EACH
            if at_send:
                label = "" if arrow.message in named else self.diagram.message_names[arrow.message]
                named.add(arrow.message)
            drawn.append(DrawnArrow(arrow, curve, label, receivers, shown, at_send))
        return drawn

    def _signs(self) -> Iterator[tuple[Arrow, str, bool, tuple[int, ...]]]:
        """Each drawn arrow, its text, whether it is emphasized, and the receivers that it stands for."""
        alike: dict[tuple[bool, tuple[int, ...]], list[Arrow]] = {}
        emphasis = self.diagram.emphasis
        for number, arrow in enumerate(self.diagram.arrows):
            shown = emphasis is not None and emphasis.has(arrow.message, arrow.receiver)
            ways = (arrow.receiver > arrow.sender) - (arrow.receiver < arrow.sender)
            key = (number,) if arrow.received else (arrow.message, ways, arrow.lost)
            alike.setdefault((shown, key), []).append(arrow)
        for (shown, _), arrows in alike.items():
            name = self.diagram.message_names[arrows[0].message]
            label = name if len(arrows) == 1 else f"{name} ×{len(arrows)}"
            yield arrows[0], label, shown, tuple(arrow.receiver for arrow in arrows)

    def _curve(self, arrow: Arrow, bend: float, further: int) -> Curve:
        x0, y0, x1 = self.x[arrow.sender], self.y_of(arrow.send), self.x[arrow.receiver]
        if arrow.receive is None:
            side = -1 if arrow.receiver < arrow.sender else 1
            to_next = abs(self.x[arrow.sender + side] - x0) if arrow.receiver != arrow.sender else LOOP / STUB
            y1 = y0 + (STUB_DOWN, *FURTHER_DOWN)[min(further, len(FURTHER_DOWN))] * ROW
            return Curve(x0, y0, x0 + side * STUB * to_next, y1, (y0 + y1) / 2)
        y1 = self.y_of(arrow.receive)
        return Curve(x0, y0, x1, y1, (y0 + y1) / 2 + bend * (y1 - y0), loop=arrow.sender == arrow.receiver)

    @cached_property
    def _spread(self) -> tuple[list[float], dict[int, _Way]]:
        """The place of each row and of the foot, and the paths of the arrows that pass events. If one would touch an
        event, there is an empty row above or below it.
        """
        row_of, rows = self.diagram.row_of, range(self.diagram.row_count + 1)
        tops = [self.first_row + row * ROW for row in rows]
        passing = {
            number: (arrow, row_of[arrow.send], row_of[arrow.receive])
            for number, (arrow, *_) in enumerate(self.signs)
            if arrow.receive is not None and abs(arrow.sender - arrow.receiver) > 1
        }
        ways: dict[int, _Way] = {}
        changed: set[int] = set(rows)
        for rounds_left in reversed(range(max(min(ROUNDS, WAYS // max(len(passing), 1)), 1))):
            places = [[-inf, *(tops[row] for row in on_line), inf] for on_line in self._rows_of]
            for number, (arrow, send, receive) in passing.items():
                if not ways or len(changed) == len(rows) or any(send < row <= receive for row in changed):
                    ways[number] = self._way(arrow, tops[send], tops[receive], places)
            touching = [way for way in ways.values() if way.clearance < TOUCHING]
            changed = {way.row + (not way.above) for way in touching}
            if not changed or not rounds_left:
                break
            more = 0
            for row in rows:
                more += ROW * (row in changed)
                tops[row] += more
        return tops, ways

    def _way(self, arrow: Arrow, y0: float, y1: float, places: list[list[float]]) -> _Way:
        """The first bend that keeps it farthest from all events in between, as far as needed. `places`: those of the
        events of each process, with infinite sentinels.
        """
        x, sender, receiver = self.x, arrow.sender, arrow.receiver
        x0, across = x[sender], x[receiver] - x[sender]
        between = []
        for p in range(min(sender, receiver) + 1, max(sender, receiver)):
            t = (x[p] - x0) / across
            between.append(((1 - t) * (1 - t) * y0 + t * t * y1, 2 * (1 - t) * t, places[p], p, t))
        best = _Way(0, -1, 0, above=True)
        for bend in BENDS:
            control = (y0 + y1) / 2 + bend * (y1 - y0)
            nearest, where = float(CLEARANCE), (0, 0, 0.0)
            for ends, weight, on_line, p, t in between:
                y = ends + weight * control
                k = bisect_left(on_line, y)
                if on_line[k] - y < nearest:
                    nearest, where = on_line[k] - y, (p, k, t)
                if y - on_line[k - 1] < nearest:
                    nearest, where = y - on_line[k - 1], (p, k - 1, t)
                if nearest <= best.clearance:
                    break
            if nearest > best.clearance:
                p, k, t = where
                row, y = (self._rows_of[p][k - 1], places[p][k]) if nearest < CLEARANCE else (0, 0.0)
                best = _Way(bend, nearest, row, above=y > y0 and (t < 0.5 or y >= y1))
            if nearest >= CLEARANCE:
                break
        return best

    @cached_property
    def _rows_of(self) -> list[list[int]]:
        """The rows of the events of each process, except events in the channel."""
        c, diagram = self.diagram.computation, self.diagram
        return [
            [diagram.row_of[e] for e in range(c.first_event[p], c.first_event[p + 1]) if e not in diagram.silent]
            for p in range(len(self.x))
        ]


def _columns(names: list[float], gap: float) -> list[float]:
    x = [MARGIN + max(names[0], 24) / 2] if names else []
    for left, right in zip(names, names[1:], strict=False):
        x.append(x[-1] + max(gap, (left + right) / 2 + 16))
    return [round(each) for each in x]
