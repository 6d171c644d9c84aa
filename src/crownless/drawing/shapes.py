"""The shapes of SVG diagrams."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from .diagram import Arrow
from .geometry import LOOP, RADIUS, Curve


def arrow(group: Element, curve: Curve, drawn: Arrow) -> None:
    """Draws an arrow's line, and its head, cross or open end."""
    start = f"M{number(curve.x0)} {number(curve.y0)}"
    if curve.loop:
        side = number(curve.x0 + LOOP)
        path(
            group,
            f"{start}C{side} {number(curve.y0)} {side} {number(curve.y1)} {number(curve.x1)} {number(curve.y1)}",
        )
    elif curve.straight:
        path(group, f"{start}L{number(curve.x1)} {number(curve.y1)}")
    else:
        control = f"{number((curve.x0 + curve.x1) / 2)} {number(curve.control)}"
        path(group, f"{start}Q{control} {number(curve.x1)} {number(curve.y1)}")
    if drawn.lost:
        cross(group, curve.x1, curve.y1, 5, "cross")
    elif not drawn.received:
        SubElement(group, "circle", {"cx": number(curve.x1), "cy": number(curve.y1), "r": "3.5"})
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
    SubElement(group, "polygon", {"points": " ".join(f"{number(a)},{number(b)}" for a, b in points)})


def cross(group: Element, x: float, y: float, size: float, kind: str) -> None:
    """Two strokes through that place."""
    step = number(2 * size)
    left, top, bottom = number(x - size), number(y - size), number(y + size)
    path(group, f"M{left} {top}l{step} {step}M{left} {bottom}l{step} -{step}", kind)


def diamond(group: Element, x: float, y: float) -> None:
    """A diamond around that place."""
    path(group, f"M{number(x)} {number(y - 5)}l5 5l-5 5l-5 -5z")


def bar(group: Element, x: float, top: float, bottom: float, kind: str) -> Element:
    """A bar down from one place to another."""
    places = {"x": number(x - 3.5), "y": number(top), "width": "7", "height": number(bottom - top), "rx": "3"}
    return SubElement(group, "rect", {"class": kind, **places})


def path(group: Element, d: str, kind: str = "") -> None:
    """A path of its own form."""
    SubElement(group, "path", {**({"class": kind} if kind else {}), "d": d})


def line(group: Element, start: Sequence[float], end: Sequence[float], kind: str) -> None:
    """A straight line."""
    places = dict(zip(("x1", "y1", "x2", "y2"), map(number, (*start, *end)), strict=True))
    SubElement(group, "line", {"class": kind, **places})


def text(group: Element, x: float, y: float, said: str, kind: str = "") -> None:
    """A text that begins, or has its middle, there."""
    attributes = {"class": kind} if kind else {}
    SubElement(group, "text", {**attributes, "x": number(x), "y": number(y)}).text = said


def number(value: float) -> str:
    """The number rounded to tenths of a pixel."""
    return f"{value:.1f}".removesuffix(".0")
