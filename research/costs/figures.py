"""Figures with confidence intervals, from rows of repeated simulations; the columns of such rows."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from statistics import fmean, stdev
from typing import Any, NamedTuple

from crownless.impl.protocol import Setting

from .experiment import EXPERIMENT_FIELDS, Experiment, Row
from .simulation import Measured

#: The confidence level: how often an interval contains the true mean.
CONFIDENCE = 0.95
_TYPES: dict[Any, str] = {
    str: "string", str | None: "string", Mapping[str, Setting]: "string", int: "int64", float: "float64",
    float | None: "float64", bool: "bool",
}  # fmt: skip
#: The columns of a row, and the names of their types in Arrow.
COLUMNS = {"key": "string"} | {each.name: _TYPES[each.type] for kind in (Experiment, Measured) for each in fields(kind)}
#: The fields of an experiment, apart from the seed.
FIELDS_BUT_SEED = tuple(name for name in EXPERIMENT_FIELDS if name != "seed")
#: All measured quantities, without the counts.
AVERAGED = tuple(each.name for each in fields(Measured) if each.name not in ("kept", "undelivered"))
#: The delay still grows if that of the later half surely exceeds that of the earlier half by this many mean latencies.
#: (Less occurs at random among hundreds of experiments with small delays, and unbounded queues grow by more.)
GROWTH = 1.0


class Estimate(NamedTuple):
    """A mean with its confidence interval by Student's t: from ``mean - error`` to ``mean + error``."""

    mean: float
    #: Half the width of the interval; infinite for a single value.
    error: float
    values: int

    def __str__(self) -> str:
        if not math.isfinite(self.error):
            return f"{self.mean:.3g}"
        if self.error <= 1e-9 * max(1.0, abs(self.mean)):
            return f"{self.mean:.6g}"  # all alike
        # Two digits of the error, and at most four decimals.
        digits = max(0, min(4, 1 - math.floor(math.log10(self.error))))
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """The mean of the existing values; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    count = len(known)
    error = student(count - 1) * stdev(known) / math.sqrt(count) if count > 1 else math.inf
    return Estimate(fmean(known), error, count)


@cache
def student(freedom: int) -> float:
    """The t such that Student's distribution of these degrees of freedom is within ±t with probability `CONFIDENCE`."""
    low, high = 0.0, 2.0
    while probability_within(high, freedom) < CONFIDENCE:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability_within(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def probability_within(t: float, freedom: int) -> float:
    """The probability that Student's t lies within ±t, by the finite series for whole degrees of freedom (Abramowitz
    and Stegun 26.7.3, 26.7.4).
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(angle) ** 2
    odd = freedom % 2
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for k in range(freedom // 2):
        total += term
        term *= cosine2 * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


@dataclass(frozen=True)
class Point:
    """One experiment, repeated."""

    settings: Mapping[str, Any]
    #: None: no figure, as when a run got stuck, since only messages that got through have figures.
    figures: Mapping[str, Estimate | None]
    repetitions: int
    #: The number of repetitions with an undelivered message, and the number with a broken promise.
    stuck: int
    violated: int

    def __getitem__(self, name: str) -> Any:
        """A setting of the experiment, or a figure, by name."""
        return self.settings[name] if name in self.settings else self.figures[name]

    @property
    def growing(self) -> bool:
        """True if the delay surely still grew as the runs went on: then its mean depends on their length."""
        drift = self.figures["drift"]
        return drift is not None and drift.mean - drift.error > GROWTH

    def json(self) -> dict[str, Any]:
        figures = {
            name: None
            if each is None
            else {"mean": each.mean, "error": each.error if math.isfinite(each.error) else None, "values": each.values}
            for name, each in self.figures.items()
        }
        counts = {
            "repetitions": self.repetitions,
            "stuck": self.stuck,
            "violated": self.violated,
            "growing": self.growing,
        }
        return {**self.settings, **counts, "figures": figures}


def points(rows: Iterable[Row]) -> list[Point]:
    """The experiments in the rows, in order of first occurrence; duplicate rows count once."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in {row["key"]: row for row in rows}.values():
        groups.setdefault(tuple(row[name] for name in FIELDS_BUT_SEED), []).append(row)
    found = []
    for values, some in groups.items():
        stuck = sum(row["undelivered"] > 0 for row in some)
        figures = {name: None if stuck else estimate(row[name] for row in some) for name in AVERAGED}
        settings = dict(zip(FIELDS_BUT_SEED, values, strict=True))
        found.append(Point(settings, figures, len(some), stuck, sum(not row["kept"] for row in some)))
    return found
