"""Figures with confidence intervals, from rows of repeated simulations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from .estimates import Estimate, estimate
from .experiment_rows import EXPERIMENT_FIELDS, Row
from .simulation import FIGURES

#: The fields of an experiment, apart from the seed.
FIELDS_BUT_SEED = tuple(name for name in EXPERIMENT_FIELDS if name != "seed")
#: What is counted and not averaged.
COUNTED = ("kept", "undelivered")
AVERAGED = tuple(name for name in FIGURES if name not in COUNTED)
#: The delay still grows, if that of the later half surely exceeds that of the earlier by so many mean latencies. (Less
#: is found at random among hundreds of experiments whose delay is small, and queues without bound grow by more.)
GROWTH = 1.0


@dataclass(frozen=True)
class Point:
    """One experiment, repeated."""

    settings: Mapping[str, Any]
    #: None: there is none; nor is there any where a run got stuck, since only messages that got through have one.
    figures: Mapping[str, Estimate | None]
    repetitions: int
    #: In how many of them some message was never delivered, and in how many the promise was broken.
    stuck: int
    broken: int

    def __getitem__(self, name: str) -> Any:
        """A setting of the experiment, or a figure, by name."""
        return self.settings[name] if name in self.settings else self.figures[name]

    def mean(self, name: str) -> float:
        """A figure's mean; not a number, if it has none."""
        found = self.figures[name]
        return float("nan") if found is None else found.mean

    @property
    def growing(self) -> bool:
        """Did the delay surely still grow as the runs went on? Then its mean depends on how long they are."""
        drift = self.figures["drift"]
        return drift is not None and drift.mean - drift.error > GROWTH

    def said(self, name: str) -> str:
        """A figure, or why there is none."""
        if self.stuck:
            return f"stuck ({self.stuck} of {self.repetitions})"
        return "–" if self.figures[name] is None else str(self.figures[name])

    def json(self) -> dict[str, Any]:
        figures = {
            name: None
            if each is None
            else {"mean": each.mean, "error": each.error if isfinite(each.error) else None, "values": each.values}
            for name, each in self.figures.items()
        }
        counts = {"repetitions": self.repetitions, "stuck": self.stuck, "broken": self.broken, "growing": self.growing}
        return {**self.settings, **counts, "figures": figures}


def points(rows: Iterable[Row]) -> list[Point]:
    """The experiments in the rows, in the order in which they come first; rows that are there twice count once."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in {row["key"]: row for row in rows}.values():
        groups.setdefault(tuple(row[name] for name in FIELDS_BUT_SEED), []).append(row)
    return [_point(dict(zip(FIELDS_BUT_SEED, settings, strict=True)), some) for settings, some in groups.items()]


def _point(settings: Mapping[str, Any], rows: Sequence[Row]) -> Point:
    stuck = sum(row["undelivered"] > 0 for row in rows)
    figures = {name: None if stuck else estimate(row[name] for row in rows) for name in AVERAGED}
    return Point(settings, figures, len(rows), stuck, sum(not row["kept"] for row in rows))


def chosen(some: Iterable[Point], **settings: Any) -> list[Point]:
    """The points with these settings, such as ``load=0.1``; a tuple names several values."""
    return [
        point
        for point in some
        if all(
            point.settings[name] in value if isinstance(value, tuple) else point.settings[name] == value
            for name, value in settings.items()
        )
    ]


def one(some: Iterable[Point], **settings: Any) -> Point:
    """The point with these settings; of several that with most messages."""
    found = chosen(some, **settings)
    if not found:
        raise LookupError(f"no experiment with {settings}")
    return max(found, key=lambda point: int(point.settings["messages"]))


def difference(rows: Sequence[Row], figure: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Estimate:
    """The difference of a figure between the first experiment and the second, on the same messages and latencies: seed
    by seed, so that what both share falls out.
    """
    values = [
        {row["seed"]: row[figure] for row in rows if all(row[name] == value for name, value in settings.items())}
        for settings in (first, second)
    ]
    found = estimate(values[0][seed] - values[1][seed] for seed in sorted(values[0].keys() & values[1].keys()))
    if found is None:
        raise LookupError(f"nothing in common: {first}, {second}")
    return found
