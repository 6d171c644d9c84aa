"""Evidence for claims about costs: repeated simulations of the protocols' machines under a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from crownless.impl.protocol import Setting
from crownless.model_check.simulation.estimates import Estimate
from crownless.model_check.simulation.experiment_rows import Row, row_of, with_figures
from crownless.model_check.simulation.figures import Point, difference, points
from crownless.model_check.simulation.simulation import Experiment, Measured, simulate


@dataclass(frozen=True)
class Runs:
    """Repetitions of one experiment, with seeds 0, 1, …: the same messages and latencies whatever the protocol."""

    asked: Experiment
    runs: tuple[Measured, ...]

    @cached_property
    def rows(self) -> list[Row]:
        """What was asked and measured, a row a repetition."""
        asked = [replace(self.asked, seed=seed) for seed in range(len(self.runs))]
        return [with_figures(row_of(each), run) for each, run in zip(asked, self.runs, strict=True)]

    @cached_property
    def point(self) -> Point:
        """All repetitions together."""
        (point,) = points(self.rows)
        return point

    def __getitem__(self, figure: str) -> Estimate:
        """The mean of a figure, with its confidence interval."""
        found = self.point.figures[figure]
        assert found is not None, f"{self.asked.protocol} has no {figure}"
        return found

    def most(self, figure: str) -> float:
        """The greatest of a figure in all runs."""
        return float(max(getattr(run, figure) or 0.0 for run in self.runs))

    @property
    def kept(self) -> bool:
        """True if every run kept the promised order."""
        return self.point.broken == 0

    @property
    def stuck(self) -> int:
        """The number of runs in which some message was never delivered."""
        return self.point.stuck


def simulated(
    protocol: str, n: int, load: float, runs: int, *, messages: int = 600, k: Setting | None = None, **settings: Any
) -> Runs:
    """Simulates a protocol that often, with these settings of an `Experiment`; see `crownless cost`."""
    return _simulated(protocol, n, load, runs, messages, k, tuple(sorted(settings.items())))


@cache
def _simulated(
    protocol: str,
    n: int,
    load: float,
    runs: int,
    messages: int,
    k: Setting | None,
    settings: tuple[tuple[str, Any], ...],
) -> Runs:
    parameters = {} if k is None else {"k": k}
    asked = Experiment(protocol, n, load=load, messages=messages, parameters=parameters, **dict(settings))
    return Runs(asked, tuple(simulate(replace(asked, seed=seed)) for seed in range(runs)))


def more(both: Sequence[Runs], figure: str) -> Estimate:
    """How much greater a figure is in the first than in the second, run by run on the same messages and latencies."""
    first, second = both
    return difference([*first.rows, *second.rows], figure, first.point.settings, second.point.settings)


def surely_above(found: Estimate, value: float) -> bool:
    """True if the whole confidence interval is above the value."""
    return found.mean - found.error > value


def surely_below(found: Estimate, value: float) -> bool:
    """True if the whole confidence interval is below the value."""
    return found.mean + found.error < value


def describe(runs: Sequence[Runs]) -> str:
    """The number of simulations and of messages, as text."""
    count = sum(len(each.runs) for each in runs)
    return f"{count} simulations of {sum(len(each.runs) * each.asked.messages for each in runs):,} messages"
