"""The map as a picture: what every two alternatives do together, with everything else as published.

A row and a column for each alternative that is not published; the diagonal is that alternative alone. The color of a
square is the outcome; a frame marks what cannot be read off the two alone: holds together though one does not, or
violated together though each holds. Hovering over a square shows the combination, and its shortest run if violated.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from .deciding import LIVENESS
from .knob_map import Decision, KnobMap

SQUARE, GAP, CHARACTER, LINE = 20, 8, 5.8, 20
MARGIN, FONT = 16, 11

#: Color and meaning of each outcome.
COLORS = {
    "exact": ("#2166ac", "holds: generates every computation of the order"),
    "delays": ("#92c5de", "holds: generates some of them only"),
    "safety": ("#b2182b", "violates an order, or delivers twice"),
    "liveness": ("#f4a582", "some message is never delivered, or a send blocks"),
    "unknown": ("#cccccc", "not decided"),
}

TOGETHER = "holds together though one alone does not, or violated together though each holds alone"


class Axis(NamedTuple):
    """An alternative on both axes."""

    knob: str
    name: str
    decision: Decision
    place: float  #: in pixels


def in_svg(of: KnobMap) -> str:
    """The source of the picture."""
    axis, end = _axis(of)
    left = MARGIN + CHARACTER * max(len(each.name) for each in axis) + 130
    top = MARGIN + 2 * LINE + CHARACTER * max(len(each.name) for each in axis) * 0.72
    channel, (n, m) = of.channel, of.bound
    heading = f"{of.protocol}: {of.headline}; {channel} channel, up to {n} processes and {m} messages"
    width = left + max(end + 60, SQUARE + CHARACTER * len(TOGETHER)) + MARGIN
    legend = top + end + LINE
    height = legend + LINE * (len(COLORS) + 2) + MARGIN
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="{FONT}">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        _text(MARGIN, MARGIN + FONT, heading, weight="bold"),
        *_labels(axis, left, top),
        *_squares(of, axis, left, top),
        *_legend(left, legend, of),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axis(of: KnobMap) -> tuple[list[Axis], float]:
    axis: list[Axis] = []
    place = 0.0
    for knob, name, decision in of.alone():
        if axis and axis[-1].knob != knob.name:
            place += GAP
        axis.append(Axis(knob.name, name, decision, place))
        place += SQUARE
    return axis, place


def _labels(axis: Sequence[Axis], left: float, top: float) -> Iterator[str]:
    named = set()
    for each in axis:
        middle = each.place + SQUARE / 2
        if each.knob not in named:
            named.add(each.knob)
            yield _text(MARGIN, top + middle + FONT / 3, each.knob, weight="bold")
        yield _text(left - 6, top + middle + FONT / 3, each.name, anchor="end")
        x, y = left + middle, top - 6
        yield f'<g transform="rotate(-45 {x:.1f} {y:.1f})">{_text(x, y, each.name)}</g>'


def _squares(of: KnobMap, axis: Sequence[Axis], left: float, top: float) -> Iterator[str]:
    exact = {id(each) for family in of.families if family.exact for each in family.decisions}
    for row in axis:
        for column in axis:
            if row is not column and row.knob == column.knob:
                continue
            places = zip(row.decision.combination.places, column.decision.combination.places, strict=True)
            decision = of.decisions[tuple(max(pair) for pair in places)]
            apart = {row.decision.outcome, column.decision.outcome}
            repaired = decision.outcome == "holds" and "violated" in apart
            surprising = row is not column and (repaired or (decision.outcome == "violated" and apart == {"holds"}))
            color = COLORS[_kind(decision, exact)][0]
            frame = ' stroke="black" stroke-width="2"' if surprising else ""
            said = "\n".join([decision.combination.name, decision.said, *decision.run])
            yield (
                f'<rect x="{left + column.place + 1:.1f}" y="{top + row.place + 1:.1f}" width="{SQUARE - 2}" '
                f'height="{SQUARE - 2}" fill="{color}"{frame}><title>{escape(said)}</title></rect>'
            )


def _kind(decision: Decision, exact: set[int]) -> str:
    if decision.outcome == "unknown":
        return "unknown"
    if decision.outcome == "holds":
        return "exact" if id(decision) in exact else "delays"
    return "liveness" if decision.violated in LIVENESS else "safety"


def _legend(left: float, top: float, of: KnobMap) -> Iterator[str]:
    for k, (color, meaning) in enumerate(COLORS.values()):
        y = top + k * LINE
        yield f'<rect x="{left:.1f}" y="{y:.1f}" width="{SQUARE - 6}" height="{SQUARE - 6}" fill="{color}"/>'
        within = f" (up to {of.compared_at[0]} processes and {of.compared_at[1]} messages)" * (k < 2)
        yield _text(left + SQUARE, y + FONT, meaning + within)
    y = top + len(COLORS) * LINE
    yield (
        f'<rect x="{left:.1f}" y="{y:.1f}" width="{SQUARE - 6}" height="{SQUARE - 6}" fill="none" stroke="black" '
        'stroke-width="2"/>'
    )
    yield _text(left + SQUARE, y + FONT, TOGETHER)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
