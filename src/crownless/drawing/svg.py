"""Space-time diagrams as SVG: a violation stands out, and each event has a description in words.

The same diagram gives the same bytes. Ids begin with a hash of the content, so that one page can hold several.
"""

import hashlib
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, tostring

from crownless.runtime.printable import printable

from . import shapes
from .diagram import Diagram, Wait
from .geometry import MARGIN, RADIUS, DrawnArrow, Geometry
from .labels import places
from .shapes import number
from .signs import MEANING, SIGNS, explained, signs_in
from .style import style_sheet
from .widths import LARGE, SMALL, cut, width, wrapped
from .words import event_in_words, in_words, name_of, wait_in_words

#: Stands for the hash until the content is known; no name can have it.
_ID = "\ue000id\ue000"
#: The height of a line of text, and the least width in which texts are wrapped.
LINE, LEAST = 19, 560
#: The maximum width of the remarks beside a row.
REMARKS = 620
#: Rows after which the names of the processes are written below, too.
ROWS_ON_A_SCREEN = 24


def in_svg(diagram: Diagram, *, focusable: bool = False, legend: bool = True) -> str:
    """The diagram as an SVG document of its own, ending in a newline. `focusable`: a page can move from event to event,
    from top to bottom. `legend`: its signs are explained below it.
    """
    return with_ids(_Drawing(diagram, focusable).document(legend))


def with_ids(svg: Element) -> str:
    """The document, ending in a newline, with ids derived from its content."""
    text = tostring(svg, encoding="unicode")
    return text.replace(_ID, f"d{hashlib.sha256(text.encode()).hexdigest()[:10]}") + "\n"


def described(name: str, words: str, role: str = "img") -> Element:
    """An empty picture that has a name, a description in words, and the look of all of them; `with_ids` finishes it."""
    svg = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "id": _ID,
            "role": role,
            "aria-labelledby": f"{_ID}-title",
            "aria-describedby": f"{_ID}-desc",
        },
    )
    SubElement(svg, "title", {"id": f"{_ID}-title"}).text = name
    SubElement(svg, "desc", {"id": f"{_ID}-desc"}).text = words
    SubElement(svg, "style").text = style_sheet(_ID)
    return svg


def legend() -> str:
    """All signs with their meanings, as an element for a page that draws runs itself."""
    wide = number(MEANING + max(map(width, SIGNS.values())))
    high = number(MARGIN + len(SIGNS) * LINE)
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "id": "legend", "width": wide, "height": high})
    for place, (sign, meaning) in enumerate(SIGNS.items(), 1):
        explained(svg, sign, meaning, place * LINE)
    return tostring(svg, encoding="unicode")


class _Drawing:
    def __init__(self, diagram: Diagram, focusable: bool) -> None:
        self.diagram = diagram
        self.focusable = focusable
        plain = Geometry(diagram)
        self.remarks = self._remarks()
        self.width = max(plain.right + MARGIN, LEAST)
        self.remarks_at = plain.right + 18
        if self.remarks:
            self.width = max(self.width, self.remarks_at + max(map(width, self.remarks.values())) + MARGIN)
        self.heading = list(self._heading())
        self.geometry = Geometry(diagram, MARGIN + len(self.heading) * LINE + (6 if self.heading else 0))

    def document(self, with_legend: bool) -> Element:
        names_below = self.diagram.row_count > ROWS_ON_A_SCREEN
        foot = self.geometry.foot + (LINE if names_below else 0)
        signs = signs_in(self.diagram) if with_legend else []
        high = foot + 18 * with_legend + len(signs) * LINE + MARGIN / 2
        size = {"width": number(self.width), "height": number(high)}
        svg = described(name_of(self.diagram), in_words(self.diagram), "group" if self.focusable else "img")
        for key, value in {"viewBox": f"0 0 {size['width']} {size['height']}", **size}.items():
            svg.set(key, value)
        SubElement(svg, "rect", {"class": "page", **size})
        for place, (kind, line) in enumerate(self.heading):
            shapes.text(svg, MARGIN, MARGIN + place * LINE, line, kind)
        self._lines(svg, names_below)
        self._waits(svg)
        self._pairs(svg)
        self._arrows(svg)
        self._events(svg)
        if signs:
            below = SubElement(svg, "g", {"class": "legend"})
            for place, (sign, meaning) in enumerate(signs):
                explained(below, sign, meaning, foot + 24 + place * LINE)
        return svg

    def _remarks(self) -> dict[int, str]:
        """The remarks beside each row, as many as fit: each event has its own in full."""
        rows: dict[int, list[str]] = {}
        remarks = self.diagram.short_remarks
        for event in self.diagram.by_row:
            if event in remarks:
                rows.setdefault(self.diagram.row_of[event], []).append(remarks[event])
        return {row: _as_many_as_fit(remarks) for row, remarks in rows.items()}

    def _heading(self) -> Iterator[tuple[str, str]]:
        room = self.width - 2 * MARGIN
        for line in wrapped(printable(self.diagram.title), room, LARGE, bold=True):
            yield "title", line
        if self.diagram.emphasis is not None:
            for line in wrapped(printable(self.diagram.emphasis.says), room, LARGE, bold=True):
                yield "says", line
            for constraint in self.diagram.emphasis.because:
                for line in wrapped(printable(constraint), room):
                    yield "quiet", line
        for line in wrapped(self.diagram.left_out, room):
            yield "quiet", line

    def _lines(self, svg: Element, names_below: bool) -> None:
        geometry, diagram = self.geometry, self.diagram
        crashed = {diagram.computation.process_of[event]: event for event in diagram.crashes}
        top = geometry.first_row - 18
        for p, (x, name) in enumerate(zip(geometry.x, diagram.process_names, strict=True)):
            shapes.text(svg, x, top - 7, name, "name")
            if names_below:
                shapes.text(svg, x, geometry.foot + 16, name, "name")
            end = geometry.y_of(crashed[p]) if p in crashed else geometry.foot
            shapes.line(svg, (x, top), (x, end), "line")
            if p in crashed:
                shapes.line(svg, (x, end), (x, geometry.foot), "gone")

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
            bar = shapes.bar(svg, self.geometry.x[p] + shift, top, bottom, "waits")
            SubElement(bar, "title").text = wait_in_words(wait)

    def _pairs(self, svg: Element) -> None:
        """The parts of process lines between events of the witness."""
        if self.diagram.emphasis is None:
            return
        process_of = self.diagram.computation.process_of
        for e, f in self.diagram.emphasis.pairs:
            if process_of[e] == process_of[f]:
                x = self.geometry.x_of(e)
                shapes.line(svg, (x, self.geometry.y_of(e)), (x, self.geometry.y_of(f)), "chain")

    def _arrows(self, svg: Element) -> None:
        drawn = zip(self.geometry.arrows, places(self.geometry), strict=True)
        # Emphasized parts lie above the rest.
        for one, place in sorted(drawn, key=lambda each: each[0].shown):
            group = SubElement(svg, "g", {"class": " ".join(_classes(self.diagram, one))})
            if one.at_send or len(one.receivers) > 1:
                SubElement(group, "title").text = self._for_whom(one)
            shapes.arrow(group, one.curve, one.arrow)
            if place is not None:
                shapes.text(group, place[0], place[1] + 4, one.label)

    def _for_whom(self, one: DrawnArrow) -> str:
        names = ", ".join(self.diagram.process_names[q] for q in one.receivers)
        return f"{self.diagram.message_names[one.arrow.message]} to {names}"

    def _events(self, svg: Element) -> None:
        diagram, geometry = self.diagram, self.geometry
        events = SubElement(svg, "g", {"class": "events"})
        for event in diagram.by_row:
            x, y = geometry.x_of(event), geometry.y_of(event)
            group = SubElement(events, "g", self._reached_by_keys(event))
            variables = [printable(str(variable)) for variable in diagram.variables.get(event, ())]
            SubElement(group, "title").text = "\n".join([event_in_words(diagram, event), *variables])
            if event in diagram.silent:
                shapes.diamond(group, x, y)
            elif event in diagram.crashes:
                shapes.cross(group, x, y, 6, "crash")
            else:
                plain = diagram.is_plain(event)
                kind = {"class": "hollow"} if plain or event in diagram.waits_from else {}
                SubElement(group, "circle", {**kind, "cx": number(x), "cy": number(y), "r": str(RADIUS - plain * 0.5)})
        for row, remark in self.remarks.items():
            shapes.text(svg, self.remarks_at, geometry.y(row) + 4, remark, "quiet")

    def _reached_by_keys(self, event: int) -> dict[str, str]:
        """The first event is reached by Tab, the others from there."""
        if not self.focusable:
            return {}
        return {"tabindex": "0" if event == self.diagram.by_row[0] else "-1", "role": "img"}


def _classes(diagram: Diagram, one: DrawnArrow) -> Iterator[str]:
    arrow = one.arrow
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
        yield "shown" if one.shown else "dim"


def _as_many_as_fit(remarks: list[str]) -> str:
    """The remarks that fit on one line, and the number of others."""
    for count in range(len(remarks), 0, -1):
        more = f"; and {len(remarks) - count} more" if count < len(remarks) else ""
        said = "; ".join(remarks[:count]) + more
        if width(said) <= REMARKS:
            return said
    room = REMARKS - width(f"…{more}")
    return cut(remarks[0], room, SMALL) + f"…{more}"
