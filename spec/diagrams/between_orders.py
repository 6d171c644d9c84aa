"""The seven orders in one picture, with a smallest computation between each two."""

from __future__ import annotations

from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement, fromstring, register_namespace, tostring

from crownless.spec.computation import Computation
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import ORDERS

from .emphasis import diagram_of
from .geometry import CHARACTER, MARGIN
from .style import style_sheet
from .svg import LINE, in_svg

#: For unicasts each order allows no more than the one before: a computation that the order of this name breaks, of as
#: few messages as can be, and that the order before keeps.
SMALLEST = {
    "fifo": "P1: send m1 to P2; send m2 to P2\nP2: receive m2; receive m1",
    "causal": "P1: send m1 to P2; send m2 to P3\nP2: receive m3; receive m1\nP3: receive m2; send m3 to P2",
    "mailbox": "P1: send m1 to P2; send m2 to P3\nP2: receive m4; receive m1\nP3: receive m2; receive m3\n"
    "P4: send m3 to P3; send m4 to P2",
    "one-n": "P1: send m1 to P2; send m2 to P3\nP2: \nP3: receive m2",
    "n-n": "P1: send m1 to P2; send m2 to P3; receive m4; receive m3\nP2: send m3 to P1; receive m1\n"
    "P3: receive m2; send m4 to P1",
    "synchronous": "P1: send m1 to P2; receive m2\nP2: send m2 to P1; receive m1",
}
#: Pixels of the column of orders, and of a box in it.
LEFT, BOX = 330, 300
_SVG = "http://www.w3.org/2000/svg"
_ID = "orders"
TITLE = "The seven orders, from the weakest to the strongest"
NOTE = "Of multicasts, one-n allows some that mailbox does not; otherwise each order allows no more than the one above."


def smallest_between(order: str) -> Computation:
    """The computation that breaks this order, and no weaker one."""
    return to_computation(parse(SMALLEST[order]))


def orders_in_svg() -> str:
    """The picture as an SVG document of its own, ending in a newline."""
    register_namespace("", _SVG)
    svg = Element(f"{{{_SVG}}}svg", {"id": _ID, "role": "img", "aria-labelledby": f"{_ID}-title"})
    SubElement(svg, f"{{{_SVG}}}title", {"id": f"{_ID}-title"}).text = TITLE
    SubElement(svg, f"{{{_SVG}}}style").text = style_sheet(_ID)
    page = SubElement(svg, f"{{{_SVG}}}rect", {"class": "page"})
    _text(svg, MARGIN, MARGIN + 4, TITLE, "title")
    y, wide = float(MARGIN + 24), 0.0
    names = list(ORDERS)
    for name, following in zip(names, [*names[1:], None], strict=True):
        bottom = _box(svg, y, name)
        if following is None:
            y = bottom
            break
        title = f"{name}, not {following}"
        part = fromstring(in_svg(diagram_of(smallest_between(following), title, following), legend=False))
        part.set("x", str(LEFT))
        part.set("y", str(y))
        svg.append(part)
        height, wide = float(part.attrib["height"]), max(wide, float(part.attrib["width"]))
        end = max(y + height, bottom + 40)
        middle = str(MARGIN + BOX / 2)
        SubElement(
            svg, f"{{{_SVG}}}line", {"class": "line", "x1": middle, "y1": str(bottom), "x2": middle, "y2": str(end)}
        )
        y = end
    _text(svg, MARGIN, y + 28, NOTE, "quiet")
    width, depth = round(max(LEFT + wide, len(NOTE) * CHARACTER) + MARGIN), round(y + 28 + MARGIN)
    for element in (svg, page):
        element.set("width", str(width))
        element.set("height", str(depth))
    svg.set("viewBox", f"0 0 {width} {depth}")
    return tostring(svg, encoding="unicode") + "\n"


def _box(svg: Element, y: float, name: str) -> float:
    """An order with what it demands; its lower edge."""
    lines = wrap(ORDERS[name].demands, int((BOX - 20) / CHARACTER) + 4)
    bottom = y + 2 * 8 + (1 + len(lines)) * LINE
    edges = {"x": str(MARGIN), "y": str(y), "width": str(BOX), "height": str(bottom - y), "rx": "6"}
    SubElement(svg, f"{{{_SVG}}}rect", {"class": "box", **edges})
    _text(svg, MARGIN + 10, y + 8 + LINE - 5, name, "title")
    for number, line in enumerate(lines, 2):
        _text(svg, MARGIN + 10, y + 8 + number * LINE - 5, line, "quiet")
    return bottom


def _text(svg: Element, x: float, y: float, text: str, kind: str) -> None:
    SubElement(svg, f"{{{_SVG}}}text", {"class": kind, "x": str(x), "y": str(y)}).text = text
