"""The signs of diagrams, each with its meaning."""

from xml.etree.ElementTree import Element, SubElement

from . import shapes
from .diagram import Arrow, Diagram
from .geometry import MARGIN, Curve
from .shapes import number

#: Where the meanings begin.
MEANING = MARGIN + 44
TIME = "Time flows down. Lines and slopes show order, not duration."
#: Each sign with its meaning. The last one is that of pages on which runs are made.
SIGNS = {
    "shown": "the violation",
    "chain": "happened before, on one process",
    "control": "control packet",
    "open": "in flight",
    "lost": "lost",
    "copy": "duplicate",
    "undone": "send rolled back",
    "waits": "held back until delivered",
    "hollow": "internal event, or arrival that is held back",
    "silent": "loss or duplication in the channel",
    "crash": "crash",
    "ring": "action that violates a property",
}


def signs_in(diagram: Diagram) -> list[tuple[str | None, str]]:
    """The lines of a diagram's legend: that time flows down, and each sign used, with its meaning."""
    arrows, emphasis = diagram.arrows, diagram.emphasis
    internal = any(diagram.is_plain(event) for event in range(diagram.computation.event_count))
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
    if not (diagram.waits and internal):
        meanings["hollow"] = "internal event" if internal else "arrival that is held back"
    return [(None, TIME), *((sign, meanings[sign]) for sign, present in there.items() if present)]


def explained(svg: Element, sign: str | None, meaning: str, y: float) -> None:
    """A line of a legend."""
    if sign is not None:
        _sample(svg, sign, y - 4)
    shapes.text(svg, MARGIN if sign is None else MEANING, y, meaning, "quiet")


def _sample(svg: Element, sign: str, y: float) -> None:
    left, right = MARGIN, MARGIN + 32
    middle = (left + right) / 2
    if sign == "chain":
        shapes.line(svg, (left, y), (right, y), "chain")
    elif sign == "waits":
        shapes.bar(svg, middle, y - 7, y + 7, sign)
    elif sign in ("hollow", "silent", "crash", "ring"):
        group = SubElement(svg, "g", {"class": "events"})
        if sign == "silent":
            shapes.diamond(group, middle, y)
        elif sign == "crash":
            shapes.cross(group, middle, y, 6, sign)
        else:
            radius = {"ring": "8", "hollow": "4"}[sign]
            SubElement(group, "circle", {"class": sign, "cx": number(middle), "cy": number(y), "r": radius})
    else:
        group = SubElement(svg, "g", {"class": f"arrow {'open lost' if sign == 'lost' else sign}"})
        received = sign not in ("open", "lost")
        arrow = Arrow(0, 0, 1, 0, 1 if received else None, sign == "lost")
        shapes.arrow(group, Curve(left, y, right, y, y), arrow)
