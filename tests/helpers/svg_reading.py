"""A reader of the SVG that diagrams are drawn in: what can be seen there, for tests to compare with what was drawn."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
#: The steps in which a curve is looked at.
STEPS = 200
Point = tuple[float, float]


class SeenArrow(NamedTuple):
    """An arrow: its classes, its name, and its points from start to end."""

    kinds: frozenset[str]
    name: str
    points: list[Point]

    def at(self, x: float) -> float:
        """How far down it is in that column."""
        return min(self.points, key=lambda point: abs(point[0] - x))[1]


class Seen:
    """What can be seen in an SVG."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        arrows = [self._arrow(group) for group in self.root.iter(f"{SVG}g") if "arrow" in _kinds(group)]
        self.arrows = [arrow for arrow in arrows if arrow.name]  # those without are samples of the legend
        events = next(group for group in self.root.iter(f"{SVG}g") if _kinds(group) == {"events"})  # not of the legend
        self.circles = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in events.iter(f"{SVG}circle")]
        texts = self.root.findall(f"{SVG}text")
        self.columns = [float(text.attrib["x"]) for text in texts if "name" in _kinds(text)]
        self.words = Counter(text.text or "" for text in self.root.iter(f"{SVG}text"))

    def rows(self) -> list[float]:
        """The rows in which there are events, of whatever shape but that of a fault of the channel."""
        return sorted({y for _, y in self.circles})

    def arrow_kinds(self) -> Counter[str]:
        """How many arrows have each class, and how many bars there are."""
        return Counter(kind for arrow in self.arrows for kind in arrow.kinds) + Counter(waits=self._bars())

    def _bars(self) -> int:
        return sum("waits" in _kinds(bar) and float(bar.attrib["height"]) > 0 for bar in self.root.iter(f"{SVG}rect"))

    def kinds(self) -> Counter[str]:
        """How many elements have each class."""
        return Counter(kind for element in self.root.iter() for kind in _kinds(element))

    def ids(self) -> list[str]:
        """Every id."""
        return [element.attrib["id"] for element in self.root.iter() if "id" in element.attrib]

    def titles(self) -> list[str]:
        """What the parts say of themselves."""
        return [element.text or "" for element in self.root.iter(f"{SVG}title")]

    def _arrow(self, group: ElementTree.Element) -> SeenArrow:
        path, text = group.find(f"{SVG}path"), group.find(f"{SVG}text")
        assert path is not None
        name = "" if text is None else text.text or ""
        return SeenArrow(frozenset(_kinds(group)), name, points_of(path.attrib["d"]))


def points_of(d: str) -> list[Point]:
    """Points along a path of one curve."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", d)]
    control = list(zip(numbers[::2], numbers[1::2], strict=True))
    points = []
    for step in range(STEPS + 1):
        left, t = control, step / STEPS
        while len(left) > 1:  # de Casteljau's algorithm
            left = [(a + t * (c - a), b + t * (d - b)) for (a, b), (c, d) in pairwise(left)]
        points += left
    return points


def _kinds(element: ElementTree.Element) -> set[str]:
    return set(element.get("class", "").split())
