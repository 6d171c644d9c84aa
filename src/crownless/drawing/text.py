"""Space-time diagrams in text.

    Alice       Bob         Carol
      ●─m1───────╂─────╮      ┃
      ●─m2──╮    ┃     │      ┃
      ┃     ╰─m2▶●     │      ┃
      ┃          ●─m3──┼─╮    ┃
      ┃          ┃     │ ╰─m3▶●
      ┃          ┃     ╰───m1▶●

A message leaves its sender along the row of its send, turns into a lane beside its receiver, on the sender's side (a
multicast into one lane per receiver), and runs down to the row of its receive. The lane of the message received first
is the nearest to the receiver; so the lines of two messages that come to a process from the same side cross beside it
exactly when one overtakes the other. A row has one event, hence no two lines share a row; and no two share a lane at
one time. A message that is never received keeps its lane, dotted, to the foot of the diagram.

Names are printed by `printable`: escaped, and cut if long; wide characters take two cells, as on a terminal.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from crownless.spec.computation import Computation

from .diagram import Arrow, Diagram
from .excerpt import excerpt


class _Glyphs(NamedTuple):
    process: str
    event: str
    internal: str
    lane: str
    lost_lane: str
    across: str
    over_process: str
    over_lane: str
    down_at_left_end: str
    down_at_right_end: str
    down_between: str
    up_at_left_end: str
    up_at_right_end: str
    to_left: str
    to_right: str


UNICODE = _Glyphs(*"┃●·│┊─╂┼╭╮┬╰╯◀▶")
ASCII = _Glyphs(*"|*o::-|+...''<>")


class _Lane(NamedTuple):
    """One message on its way down to one receiver, on one side of it: -1 left, 1 right.

    `depth` counts lanes from the receiver outwards. The lane is open in the rows after `top` and before `bottom`.
    """

    arrow: Arrow
    top: int
    bottom: int
    side: int
    depth: int = 0


def draw(c: Computation, *, unicode: bool = True, unreceived: str = "is never received by") -> str:
    """The diagram of a computation in text."""
    return in_text(Diagram(c, unreceived=unreceived), unicode=unicode)


def in_text(diagram: Diagram, *, unicode: bool = True) -> str:
    """The diagram, without a final newline; with `unicode` off it is plain ASCII. Remarks are to the right of rows. A
    large diagram becomes an excerpt, which says so in its last line.
    """
    diagram = excerpt(diagram)
    c = diagram.computation
    processes = [_spelled(name, unicode) for name in diagram.process_names]
    labels = [_spelled(name, unicode) for name in diagram.message_names]
    remarks = {event: _spelled(remark, unicode) for event, remark in diagram.shown_remarks.items()}
    lanes = _lanes(diagram)
    process_x, lane_x = _columns(c, processes, labels, lanes)
    canvas = _Canvas(UNICODE if unicode else ASCII, labels, process_x, lane_x)
    heading = ""
    for name, x in zip(processes, process_x, strict=True):
        heading += " " * (x - cell_len(name) // 2 - cell_len(heading)) + name
    rows = [heading]
    for e in diagram.linearization:
        event, p = c.events[e], c.process_of[e]
        if event.message is None:
            row = canvas.internal(p)
        elif event.kind == "send":
            row = canvas.send(p, event.message, [lanes[event.message, q] for q in c.messages[event.message].receivers])
        else:
            row = canvas.receive(p, event.message, lanes[event.message, p])
        rows.append(row + ("   " + remarks[e] if e in remarks else ""))
    rows.append(canvas.blank())
    return "\n".join([*(row.rstrip() for row in rows), *filter(None, [diagram.left_out])])


class _Canvas:
    """Draws row after row, and knows which lanes are open."""

    def __init__(
        self, glyphs: _Glyphs, labels: Sequence[str], process_x: Sequence[int], lane_x: Mapping[_Lane, int]
    ) -> None:
        self.glyphs = glyphs
        self.labels = labels
        self.process_x = process_x
        self.lane_x = lane_x
        self.width = max([*process_x, *lane_x.values()], default=-1) + 1
        self.open: set[_Lane] = set()

    def blank(self) -> str:
        return "".join(self._cells())

    def internal(self, p: int) -> str:
        cells = self._cells()
        cells[self.process_x[p]] = self.glyphs.internal
        return "".join(cells)

    def send(self, p: int, m: int, lanes: Sequence[_Lane]) -> str:
        """A line from the sender to the top of each lane of the message."""
        cells, glyphs, x = self._cells(), self.glyphs, self.process_x[p]
        tops = [self.lane_x[lane] for lane in lanes]
        left, right = min(x, *tops), max(x, *tops)
        self._across(cells, left, right)
        for top in tops:
            cells[top] = glyphs.down_between
        cells[left] = glyphs.down_at_left_end
        cells[right] = glyphs.down_at_right_end
        cells[x] = glyphs.event
        self._label(cells, m, x, 1 if right > x else -1)
        self.open.update(lanes)
        return "".join(cells)

    def receive(self, p: int, m: int, lane: _Lane) -> str:
        """A line from the bottom of the lane to the receiver."""
        self.open.remove(lane)
        cells, glyphs, x, bottom = self._cells(), self.glyphs, self.process_x[p], self.lane_x[lane]
        self._across(cells, min(x, bottom), max(x, bottom))
        cells[bottom] = glyphs.up_at_right_end if lane.side > 0 else glyphs.up_at_left_end
        cells[x] = glyphs.event
        cells[x + lane.side] = glyphs.to_left if lane.side > 0 else glyphs.to_right
        self._label(cells, m, x, lane.side)
        return "".join(cells)

    def _cells(self) -> list[str]:
        cells = [" "] * self.width
        for x in self.process_x:
            cells[x] = self.glyphs.process
        for lane in self.open:
            cells[self.lane_x[lane]] = self.glyphs.lane if lane.arrow.received else self.glyphs.lost_lane
        return cells

    def _across(self, cells: list[str], left: int, right: int) -> None:
        crossed = {" ": self.glyphs.across, self.glyphs.process: self.glyphs.over_process}
        for x in range(left, right + 1):
            cells[x] = crossed.get(cells[x], self.glyphs.over_lane)

    def _label(self, cells: list[str], m: int, x: int, side: int) -> None:
        """The name of the message, one cell off the event. Some characters take two cells, some none."""
        size = cell_len(self.labels[m])
        if size:
            first = x + 2 if side > 0 else x - 1 - size
            cells[first : first + size] = [self.labels[m], *[""] * (size - 1)]


def _lanes(diagram: Diagram) -> dict[tuple[int, int], _Lane]:
    """A lane for each message and receiver. Of two that are open at once, the first to end is nearer the receiver."""
    rank, foot = diagram.rank_of, len(diagram.linearization)
    lanes = []
    for arrow in diagram.arrows:
        if not arrow.copy:
            # A message from a process to itself makes a loop at its right.
            side = -1 if arrow.sender < arrow.receiver else 1
            bottom = foot if arrow.receive is None else rank[arrow.receive]
            lanes.append(_Lane(arrow, rank[arrow.send], bottom, side))
    placed: dict[tuple[int, int], list[_Lane]] = {}
    # Those never received all end at the foot: there the first sent is nearest, so that they do not cross.
    for lane in sorted(lanes, key=lambda lane: (lane.bottom, lane.top)):
        beside = placed.setdefault((lane.arrow.receiver, lane.side), [])
        depth = 0
        for nearer in reversed(beside):
            if nearer.bottom < lane.top:
                break
            depth = max(depth, nearer.depth + 1)
        beside.append(lane._replace(depth=depth))
    return {(lane.arrow.message, lane.arrow.receiver): lane for beside in placed.values() for lane in beside}


def _columns(
    c: Computation, processes: Sequence[str], labels: Sequence[str], lanes: Mapping[tuple[int, int], _Lane]
) -> tuple[list[int], dict[_Lane, int]]:
    """The columns of the process lines and the lanes: a process, its labels, then the lanes it receives by."""
    label_space = {(p, side): 0 for p in range(len(processes)) for side in (-1, 1)}
    lane_space = dict(label_space)
    for (m, q), lane in lanes.items():
        sender = c.messages[m].sender
        for place in ((sender, 1 if q >= sender else -1), (q, lane.side)):
            label_space[place] = max(label_space[place], cell_len(labels[m]))
        lane_space[q, lane.side] = max(lane_space[q, lane.side], 2 * lane.depth + 2)
    process_x = [cell_len(name) // 2 for name in processes[:1]]
    for p in range(1, len(processes)):
        # A label has a cell on either side, a lane one on the side away from its receiver.
        between = sum(label_space[place] + 2 + lane_space[place] for place in ((p - 1, 1), (p, -1)))
        left, right = cell_len(processes[p - 1]), cell_len(processes[p])
        process_x.append(process_x[-1] + max(1 + between, left - left // 2 + 2 + right // 2))
    return process_x, {
        lane: process_x[q] + lane.side * (label_space[q, lane.side] + 3 + 2 * lane.depth)
        for (_, q), lane in lanes.items()
    }


def _spelled(text: str, unicode: bool) -> str:
    """The text, in ASCII if requested."""
    return text if unicode else text.encode("ascii", "backslashreplace").decode()
