"""Space-time diagrams as SVG: what breaks an order stands out, and each event says in words what happens there.

The same diagram makes the same bytes. Ids begin with a hash of the content, so that several fit on one page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement, tostring

from crownless.spec.printable import printable, some

from .diagram import Arrow, Diagram, Wait
from .geometry import CHARACTER, LOOP, MARGIN, RADIUS, Curve, Geometry, width
from .labels import places
from .style import style_sheet

#: Stands for the hash until the content is known; no name can have it.
_ID = "\ue000id\ue000"
#: The height of a line of text, and the least width in which texts are wrapped.
LINE, LEAST = 19, 560
#: Rows after which the names of the processes are written below, too.
ROWS_ON_A_SCREEN = 24
TIME = "Time flows down. Lines and slopes show order, not duration."
#: The signs of diagrams, each with its meaning. The last one is that of pages on which runs are made.
SIGNS = {
    "shown": "what breaks it",
    "chain": "happened before, on one process",
    "control": "a packet of the protocol's own",
    "open": "in flight",
    "lost": "lost",
    "copy": "a copy",
    "undone": "undone",
    "waits": "held back, until it is delivered",
    "hollow": "an internal event, or an arrival",
    "silent": "something happens in the channel",
    "crash": "a crash",
    "ring": "an action that breaks something",
}


def in_svg(diagram: Diagram, *, focusable: bool = False, legend: bool = True) -> str:
    """The diagram as an SVG document of its own, ending in a newline. `focusable`: a page can move from event to event,
    in the order of the linearization. `legend`: its signs are explained below it.
    """
    drawn = _Drawing(diagram, focusable).document(legend)
    text = tostring(drawn, encoding="unicode")
    return text.replace(_ID, f"d{hashlib.sha256(text.encode()).hexdigest()[:10]}") + "\n"


def legend() -> str:
    """All signs with their meanings, as an element for a page that draws runs itself."""
    width, height = _number(LEAST / 2), _number(MARGIN + len(SIGNS) * LINE)
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "id": "legend", "width": width, "height": height})
    for number, (sign, meaning) in enumerate(SIGNS.items(), 1):
        _explained(svg, sign, meaning, number * LINE)
    return tostring(svg, encoding="unicode")


def in_words(diagram: Diagram) -> str:
    """All that happens in it, for those who do not see it."""
    c = diagram.computation
    said = [f"Processes {', '.join(diagram.process_names)}; {some(len(c.messages), 'message')}."]
    if diagram.emphasis is not None:
        said.append(f"{printable(diagram.emphasis.says)}.")
    said += [f"{number}. {event_in_words(diagram, event)}." for number, event in enumerate(diagram.linearization, 1)]
    return " ".join([*said, diagram.left_out]).strip()


def event_in_words(diagram: Diagram, event: int) -> str:
    """An event in words, with the remark on it."""
    happens = printable(diagram.computation.say(event))
    remark = diagram.shown_remarks.get(event)
    internal = diagram.computation.events[event].message is None
    if remark is None:
        return happens
    process = diagram.process_names[diagram.computation.process_of[event]]
    return f"{process}: {remark}" if internal else f"{happens} ({remark})"


class _Drawing:
    def __init__(self, diagram: Diagram, focusable: bool) -> None:
        self.diagram = diagram
        self.focusable = focusable
        plain = Geometry(diagram)
        self.remarks = self._remarks()
        remarks = self.remarks.values()
        self.width = max(plain.right + MARGIN, LEAST)
        self.remarks_at = plain.right + 18
        if remarks:
            self.width = max(self.width, self.remarks_at + max(map(width, remarks)) + MARGIN)
        self.heading = list(self._heading())
        self.geometry = Geometry(diagram, MARGIN + len(self.heading) * LINE + (6 if self.heading else 0))

    def document(self, with_legend: bool) -> Element:
        names_below = self.diagram.row_count > ROWS_ON_A_SCREEN
        foot = self.geometry.foot + (LINE if names_below else 0)
        legend = _legend(self.diagram) if with_legend else []
        height = foot + 18 * with_legend + len(legend) * LINE + MARGIN / 2
        size = {"width": _number(self.width), "height": _number(height)}
        svg = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "id": _ID,
                "viewBox": f"0 0 {size['width']} {size['height']}",
                **size,
                "role": "group" if self.focusable else "img",
                "aria-labelledby": f"{_ID}-title {_ID}-desc",
            },
        )
        title = printable(self.diagram.title) or "Space-time diagram"
        SubElement(svg, "title", {"id": f"{_ID}-title"}).text = title
        SubElement(svg, "desc", {"id": f"{_ID}-desc"}).text = in_words(self.diagram)
        SubElement(svg, "style").text = style_sheet(_ID)
        SubElement(svg, "rect", {"class": "page", **size})
        for number, (kind, line) in enumerate(self.heading):
            _text(svg, MARGIN, MARGIN + number * LINE, line, kind)
        self._lines(svg, names_below)
        self._waits(svg)
        self._pairs(svg)
        self._arrows(svg)
        self._events(svg)
        for number, (sign, meaning) in enumerate(legend):
            _explained(svg, sign, meaning, foot + 24 + number * LINE)
        return svg

    def _remarks(self) -> dict[int, str]:
        """The remarks beside each row."""
        rows: dict[int, list[str]] = {}
        for event in self.diagram.linearization:
            if event in self.diagram.shown_remarks:
                rows.setdefault(self.diagram.row_of[event], []).append(self.diagram.shown_remarks[event])
        return {row: "; ".join(remarks) for row, remarks in rows.items()}

    def _heading(self) -> Iterator[tuple[str, str]]:
        room = int((self.width - 2 * MARGIN) / CHARACTER)
        for line in wrap(printable(self.diagram.title), room):
            yield "title", line
        if self.diagram.emphasis is not None:
            for line in wrap(printable(self.diagram.emphasis.says), room):
                yield "says", line
        for line in wrap(self.diagram.left_out, room):
            yield "quiet", line

    def _lines(self, svg: Element, names_below: bool) -> None:
        geometry, diagram = self.geometry, self.diagram
        crashed = {diagram.computation.process_of[event]: event for event in diagram.crashes}
        top = geometry.first_row - 18
        for p, (x, name) in enumerate(zip(geometry.x, diagram.process_names, strict=True)):
            _text(svg, x, top - 7, name, "name")
            if names_below:
                _text(svg, x, geometry.foot + 16, name, "name")
            end = geometry.y_of(crashed[p]) if p in crashed else geometry.foot
            _line(svg, (x, top), (x, end), "line")
            if p in crashed:
                _line(svg, (x, end), (x, geometry.foot), "gone")

    def _waits(self, svg: Element) -> None:
        """A bar for each held-back message; those of one process at one time stand side by side."""
        beside: dict[int, list[Wait]] = {}
        rows, c = self.diagram.row_of, self.diagram.computation
        for wait in sorted(self.diagram.waits, key=lambda wait: rows[wait.arrival]):
            p, top = c.process_of[wait.arrival], self.geometry.y_of(wait.arrival)
            bottom = self.geometry.foot if wait.delivery is None else self.geometry.y_of(wait.delivery)
            others = beside.setdefault(p, [])
            depth = sum(one.delivery is None or rows[one.delivery] > rows[wait.arrival] for one in others)
            others.append(wait)
            shift = (depth + 1) // 2 * (8 if depth % 2 else -8)
            bar = SubElement(
                svg,
                "rect",
                {
                    "class": "waits",
                    "x": _number(self.geometry.x[p] - 3.5 + shift),
                    "y": _number(top),
                    "width": "7",
                    "height": _number(bottom - top),
                    "rx": "3",
                },
            )
            until = "" if wait.delivery is None else " until it is delivered"
            SubElement(bar, "title").text = f"{printable(wait.message)} is held back{until}"

    def _pairs(self, svg: Element) -> None:
        """The parts of process lines that are on the way from one event of the witness to another."""
        if self.diagram.emphasis is None:
            return
        process_of = self.diagram.computation.process_of
        for e, f in self.diagram.emphasis.pairs:
            if process_of[e] == process_of[f]:
                x = self.geometry.x_of(e)
                _line(svg, (x, self.geometry.y_of(e)), (x, self.geometry.y_of(f)), "chain")

    def _arrows(self, svg: Element) -> None:
        names = self.diagram.message_names
        drawn = zip(self.diagram.arrows, self.geometry.curves, places(self.geometry), strict=True)
        # What is shown lies above the rest.
        for arrow, curve, (x, y) in sorted(drawn, key=lambda one: self._is_shown(one[0].message)):
            group = SubElement(svg, "g", {"class": " ".join(_classes(self.diagram, arrow))})
            _arrow(group, curve, arrow)
            _text(group, x, y + 4, names[arrow.message])

    def _is_shown(self, message: int) -> bool:
        return self.diagram.emphasis is not None and message in self.diagram.emphasis.messages

    def _events(self, svg: Element) -> None:
        diagram, geometry = self.diagram, self.geometry
        events = SubElement(svg, "g", {"class": "events"})
        arrivals = {wait.arrival for wait in diagram.waits}
        filled = {wait.delivery for wait in diagram.waits} | {event for _, event in diagram.copies}
        for event in diagram.linearization:
            x, y = geometry.x_of(event), geometry.y_of(event)
            group = SubElement(events, "g", self._reached_by_keys(event))
            variables = [printable(str(variable)) for variable in diagram.variables.get(event, ())]
            SubElement(group, "title").text = "\n".join([event_in_words(diagram, event), *variables])
            internal = diagram.computation.events[event].message is None
            if event in diagram.silent:
                _path(group, f"M{_number(x)} {_number(y - 5)}l5 5l-5 5l-5 -5z")
            elif event in diagram.crashes:
                _cross(group, x, y, 6, "crash")
            else:
                hollow = event in arrivals or (internal and event not in filled)
                kind = {"class": "hollow"} if hollow else {}
                SubElement(
                    group, "circle", {**kind, "cx": _number(x), "cy": _number(y), "r": str(RADIUS - internal * 0.5)}
                )
        for row, remark in self.remarks.items():
            _text(svg, self.remarks_at, geometry.y(row) + 4, remark, "quiet")

    def _reached_by_keys(self, event: int) -> dict[str, str]:
        """The first event is reached by Tab, the others from there."""
        if not self.focusable:
            return {}
        return {"tabindex": "0" if event == self.diagram.linearization[0] else "-1", "role": "img"}


def _classes(diagram: Diagram, arrow: Arrow) -> Iterator[str]:
    yield "arrow"
    if arrow.message in diagram.control:
        yield "control"
    if not arrow.received:
        yield "open"
    if arrow.lost:
        yield "lost"
    if arrow.copy:
        yield "copy"
    if arrow.message in diagram.undone:
        yield "undone"
    if diagram.emphasis is not None and diagram.emphasis.messages:
        yield "shown" if arrow.message in diagram.emphasis.messages else "dim"


def _legend(diagram: Diagram) -> list[tuple[str | None, str]]:
    """The signs that the diagram has, each with its meaning."""
    arrows, emphasis = diagram.arrows, diagram.emphasis
    internal = any(
        event.message is None and e not in diagram.silent for e, event in enumerate(diagram.computation.events)
    )
    there = {
        "shown": emphasis is not None and emphasis.messages,
        "chain": emphasis is not None and emphasis.pairs,
        "control": diagram.control,
        "open": any(not arrow.received and not arrow.lost for arrow in arrows),
        "lost": any(arrow.lost for arrow in arrows),
        "copy": any(arrow.copy for arrow in arrows),
        "undone": diagram.undone,
        "waits": diagram.waits,
        "hollow": diagram.waits or internal,
        "silent": diagram.silent,
        "crash": diagram.crashes,
    }
    meanings = SIGNS | {"open": diagram.unreceived.removesuffix(" by").removesuffix(" to").removeprefix("is ")}
    if not diagram.waits:
        meanings["hollow"] = "an internal event"
    return [(None, TIME), *((sign, meanings[sign]) for sign, present in there.items() if present)]


def _explained(svg: Element, sign: str | None, meaning: str, y: float) -> None:
    """A line of the legend."""
    if sign is not None:
        _sample(svg, sign, y - 4)
    _text(svg, MARGIN + (0 if sign is None else 44), y, meaning, "quiet")


def _sample(svg: Element, sign: str, y: float) -> None:
    """A sign of the legend."""
    left, right = MARGIN, MARGIN + 32
    middle = (left + right) / 2
    if sign == "chain":
        _line(svg, (left, y), (right, y), "chain")
    elif sign == "waits":
        SubElement(svg, "rect", {"class": sign, "x": _number(middle - 3.5), "y": _number(y - 7), "width": "7",
                                 "height": "14", "rx": "3"})  # fmt: skip
    elif sign in ("hollow", "silent", "crash", "ring"):
        group = SubElement(svg, "g", {"class": "events"})
        if sign == "ring":
            SubElement(group, "circle", {"class": sign, "cx": _number(middle), "cy": _number(y), "r": "8"})
        elif sign == "hollow":
            SubElement(group, "circle", {"class": sign, "cx": _number(middle), "cy": _number(y), "r": "4"})
        elif sign == "silent":
            _path(group, f"M{_number(middle)} {_number(y - 5)}l5 5l-5 5l-5 -5z")
        else:
            _cross(group, middle, y, 6, sign)
    else:
        group = SubElement(svg, "g", {"class": f"arrow {'open lost' if sign == 'lost' else sign}"})
        received = sign not in ("open", "lost")
        arrow = Arrow(0, 0, 1, 0, 1 if received else None, sign == "lost")
        _arrow(group, Curve(left, y, right, y, y), arrow)


def _arrow(group: Element, curve: Curve, arrow: Arrow) -> None:
    """A line, and its head, cross or open end."""
    start = f"M{_number(curve.x0)} {_number(curve.y0)}"
    if curve.loop:
        side = _number(curve.x0 + LOOP)
        _path(
            group,
            f"{start}C{side} {_number(curve.y0)} {side} {_number(curve.y1)} {_number(curve.x1)} {_number(curve.y1)}",
        )
    elif curve.straight:
        _path(group, f"{start}L{_number(curve.x1)} {_number(curve.y1)}")
    else:
        control = f"{_number((curve.x0 + curve.x1) / 2)} {_number(curve.control)}"
        _path(group, f"{start}Q{control} {_number(curve.x1)} {_number(curve.y1)}")
    if arrow.lost:
        _cross(group, curve.x1, curve.y1, 5, "cross")
    elif not arrow.received:
        SubElement(group, "circle", {"cx": _number(curve.x1), "cy": _number(curve.y1), "r": "3.5"})
    else:
        _head(group, curve)


def _head(group: Element, curve: Curve) -> None:
    """A triangle whose point touches the receive."""
    before_x, before_y = curve.at(0.9)
    dx, dy = curve.x1 - before_x, curve.y1 - before_y
    length = (dx * dx + dy * dy) ** 0.5 or 1
    dx, dy = dx / length, dy / length
    x, y = curve.x1 - dx * (RADIUS + 0.5), curve.y1 - dy * (RADIUS + 0.5)
    back_x, back_y = x - dx * 9, y - dy * 9
    points = ((x, y), (back_x - dy * 4, back_y + dx * 4), (back_x + dy * 4, back_y - dx * 4))
    SubElement(group, "polygon", {"points": " ".join(f"{_number(a)},{_number(b)}" for a, b in points)})


def _cross(group: Element, x: float, y: float, size: float, kind: str) -> None:
    step = _number(2 * size)
    left, top, bottom = _number(x - size), _number(y - size), _number(y + size)
    _path(group, f"M{left} {top}l{step} {step}M{left} {bottom}l{step} -{step}", kind)


def _path(group: Element, d: str, kind: str = "") -> None:
    SubElement(group, "path", {**({"class": kind} if kind else {}), "d": d})


def _line(group: Element, start: Sequence[float], end: Sequence[float], kind: str) -> None:
    places = dict(zip(("x1", "y1", "x2", "y2"), map(_number, (*start, *end)), strict=True))
    SubElement(group, "line", {"class": kind, **places})


def _text(group: Element, x: float, y: float, text: str, kind: str = "") -> None:
    attributes = {"class": kind} if kind else {}
    SubElement(group, "text", {**attributes, "x": _number(x), "y": _number(y)}).text = text


def _number(value: float) -> str:
    """In tenths of a pixel at most."""
    return f"{value:.1f}".removesuffix(".0")
