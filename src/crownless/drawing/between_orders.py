"""The orders in one picture, with a smallest computation between neighbours."""

from xml.etree.ElementTree import Element, SubElement, fromstring

from crownless.spec.computation import Computation
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import ORDERS

from .emphasis import diagram_of
from .geometry import MARGIN
from .shapes import line, text
from .svg import LINE, described, in_svg, with_ids
from .widths import width, wrapped

#: For unicasts each order is at least as strict as the one before: by order, a computation that violates it and keeps
#: the order before, with as few messages as possible.
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
#: Pixel sizes of the column of orders, and of a box in it.
LEFT, BOX = 330, 300
TITLE = "The orders, from the weakest to the strongest"
NOTE = (
    "Of multicasts, one-n allows some that mailbox does not; otherwise an order allows no more than the one above that "
    "a line joins to it."
)


def smallest_between(order: str) -> Computation:
    """The computation that violates this order and keeps every weaker one."""
    return to_computation(parse(SMALLEST[order]))


def orders_in_svg() -> str:
    """The picture as an SVG document of its own, ending in a newline."""
    svg = described(TITLE, _in_words())
    page = SubElement(svg, "rect", {"class": "page"})
    text(svg, MARGIN, MARGIN + 4, TITLE, "title")
    y, wide = float(MARGIN + 24), 0.0
    names = list(ORDERS)
    for name, following in zip(names, [*names[1:], None], strict=True):
        bottom = _box(svg, y, name)
        if following not in SMALLEST:  # it is beside the chain, or there is none
            y = bottom + (0 if following is None else 16)
            continue
        title = f"{name}, not {following}"
        part = _without_namespace(in_svg(diagram_of(smallest_between(following), title, following), legend=False))
        part.set("x", str(LEFT))
        part.set("y", str(y))
        svg.append(part)
        height, wide = float(part.attrib["height"]), max(wide, float(part.attrib["width"]))
        end = max(y + height, bottom + 40)
        line(svg, (MARGIN + BOX / 2, bottom), (MARGIN + BOX / 2, end), "line")
        y = end
    text(svg, MARGIN, y + 28, NOTE, "quiet")
    right, depth = round(max(LEFT + wide, width(NOTE)) + MARGIN), round(y + 28 + MARGIN)
    for element in (svg, page):
        element.set("width", str(right))
        element.set("height", str(depth))
    svg.set("viewBox", f"0 0 {right} {depth}")
    return with_ids(svg)


def _in_words() -> str:
    """Each order with its definition, and the computations between them."""
    demands = " ".join(f"{number}. {name}: {ORDERS[name].demands}." for number, name in enumerate(ORDERS, 1))
    return (
        f"{demands} Beside each that is joined to the next one, a smallest computation that it allows and the next one "
        f"does not. {NOTE}"
    )


def _without_namespace(svg: str) -> Element:
    """A document as an element to embed in a picture."""
    part = fromstring(svg)
    for element in part.iter():
        element.tag = element.tag.rpartition("}")[2]
    return part


def _box(svg: Element, y: float, name: str) -> float:
    """Draws an order with its definition; returns the box's lower edge."""
    lines = list(wrapped(ORDERS[name].demands, BOX - 20))
    bottom = y + 2 * 8 + (1 + len(lines)) * LINE
    edges = {"x": str(MARGIN), "y": str(y), "width": str(BOX), "height": str(bottom - y), "rx": "6"}
    SubElement(svg, "rect", {"class": "box", **edges})
    text(svg, MARGIN + 10, y + 8 + LINE - 5, name, "title")
    for number, said in enumerate(lines, 2):
        text(svg, MARGIN + 10, y + 8 + number * LINE - 5, said, "quiet")
    return bottom
