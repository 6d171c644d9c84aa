"""Means of independent repetitions, with confidence intervals by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from statistics import fmean, stdev
from typing import NamedTuple

#: How often an interval holds the true mean.
CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A mean with its confidence interval: from ``mean - error`` to ``mean + error``."""

    mean: float
    #: Half the width of the interval; infinite, if there is one value alone.
    error: float
    values: int

    def __str__(self) -> str:
        if not math.isfinite(self.error):
            return f"{self.mean:.3g}"
        if self.error <= 1e-9 * max(1.0, abs(self.mean)):
            return f"{self.mean:.6g}"  # all alike
        digits = decimals(self.error)
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


def decimals(error: float) -> int:
    """The number of decimals for an error of that size: two digits of it, four decimals at most."""
    return max(0, min(4, 1 - math.floor(math.log10(error))))


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """The mean of the values that there are; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return from_moments(fmean(known), stdev(known) if len(known) > 1 else math.inf, len(known))


def from_moments(mean: float, deviation: float, count: int) -> Estimate:
    """The estimate from a sample's mean, its standard deviation, and how many values it has."""
    error = math.inf if count < 2 else student(count - 1) * deviation / math.sqrt(count)
    return Estimate(mean, error, count)


@cache
def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The t within which Student's distribution of so many degrees of freedom lies with that probability."""
    low, high = 0.0, 2.0
    while probability_within(high, freedom) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability_within(middle, freedom) < confidence else (low, middle)
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
