"""Sweeps of many simulations, in this process or on Spark."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from .experiment import Experiment, Row, experiment_of, row_of
from .figures import COLUMNS
from .simulation import simulate
from .sweeps import Progress, Sweep, Where
from .sweeps import sweep as sweep_rows


def _simulated(row: Row) -> Row:
    return {**row, **asdict(simulate(experiment_of(row)))}


def _effort(row: Row) -> int:
    return int(row["messages"]) * int(row["processes"]) ** 2


COSTS = Sweep(_simulated, COLUMNS, "a table of costs", _effort)


def sweep(
    experiments: Iterable[Experiment],
    *,
    engine: str = "plain",
    out: Path | None = None,
    master: str | None = None,
    progress: Progress = lambda done, total: None,
    found: dict[str, Row] | None = None,
) -> list[Row]:
    """The rows of all experiments, in order, each simulated once; rows that `out` has are reused.

    Finished rows are in `found` at once, by key, even if the sweep ends early.
    """
    requested = [row_of(experiment) for experiment in experiments]
    return sweep_rows(COSTS, requested, Where(engine, master=master), out=out, progress=progress, found=found)
