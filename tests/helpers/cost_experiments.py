"""Small experiments that the tests of costs share."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.research.costs.experiment import Experiment, combinations
from crownless.research.costs.figures import estimate
from crownless.research.costs.simulation import Measured

#: Columns enough for each row of a table to be one line.
WIDE = {"COLUMNS": "300"}


def mean(figure: str, runs: Sequence[Measured]) -> float:
    found = estimate(getattr(run, figure) for run in runs)
    assert found is not None
    return found.mean


def small(seeds: int = 3) -> list[Experiment]:
    some = combinations(("rst", "buffer", "extra-messages"), seeds=seeds, messages=60, loads=(0.1, 0.3))
    return some + combinations(("extra-messages",), parameters=[{"k": (5, 16, 5, 16)}], seeds=seeds, messages=60)
