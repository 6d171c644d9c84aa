"""Many simulations: in this process, or by Spark over as many as there are.

    frame = experiments_frame(spark, experiments)      # a row an experiment
    simulated(frame)                                   # the same rows with what was measured

`simulated` is a function from DataFrame to DataFrame, for notebooks and `spark-submit`. Executors elsewhere need
crownless too: an installed wheel, or ``--py-files crownless.whl``.

*Balance.* Simulations differ in cost by orders of magnitude. Each is given a guess (`effort`); the dearest are dealt
first, each to the task with least to do, and the tasks with most to do start first. A sweep runs in blocks: what a
block found is appended to the table on disk at once and whole, and a sweep that was killed goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapreplace
from pathlib import Path
from typing import TYPE_CHECKING

from crownless.model_check.simulation.simulation import Experiment, simulate
from crownless.pipeline.session import session

from . import table as kept
from .rows import ASKED_SCHEMA, SCHEMA, Row, experiment_of, row_of, with_figures

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

#: Is told how many of how many simulations are done.
Progress = Callable[[int, int], None]

#: Simulations of a block, at most, and tasks of a block for each of Spark's processors.
BLOCK, TASKS = 500, 8
#: Rows written at a time where there is no Spark.
ROWS_A_FILE = 200


def sweep(
    experiments: Iterable[Experiment],
    *,
    engine: str = "plain",
    out: Path | None = None,
    master: str | None = None,
    progress: Progress = lambda done, total: None,
) -> list[Row]:
    """What all the experiments found, in order, each simulated once; those that `out` has are taken from there."""
    asked = [row_of(experiment) for experiment in experiments]
    wanted = {row["key"]: row for row in asked}
    found = {} if out is None else {row["key"]: row for row in kept.read(out) if row["key"] in wanted}
    missing = [row for key, row in wanted.items() if key not in found]
    done = len(found)
    progress(done, len(wanted))
    for rows in _blocks(missing, engine, out, master):
        found |= {row["key"]: row for row in rows}
        done += len(rows)
        progress(done, len(wanted))
    return [found[row["key"]] for row in asked]


def _blocks(rows: Sequence[Row], engine: str, out: Path | None, master: str | None) -> Iterator[list[Row]]:
    """The rows with what was measured, block by block, each in the table on disk before it is given."""
    if not rows:
        return
    if engine == "plain":
        for start in range(0, len(rows), ROWS_A_FILE):
            block = [with_figures(row, simulate(experiment_of(row))) for row in rows[start : start + ROWS_A_FILE]]
            if out is not None:
                kept.append(out, block)
            yield block
        return
    spark = session(master, rows_in_java=False)
    for start in range(0, len(rows), BLOCK):
        block = _on_spark(spark, rows[start : start + BLOCK])
        if out is not None:
            kept.append(out, block)
        yield block


def _on_spark(spark: SparkSession, rows: Sequence[Row]) -> list[Row]:
    return [row.asDict() for row in simulated(rows_frame(spark, rows)).collect()]


# -- on Spark ----------------------------------------------------------------------------------------------------------


def experiments_frame(spark: SparkSession, experiments: Iterable[Experiment]) -> DataFrame:
    """A row an experiment, dealt to tasks of about the same effort."""
    return rows_frame(spark, [row_of(experiment) for experiment in experiments])


def rows_frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    tasks = dealt(rows, max(1, min(len(rows), TASKS * spark.sparkContext.defaultParallelism)))
    placed = [{**row, "task": number} for number, task in enumerate(tasks) for row in task]
    table = kept.arrow_table(placed, f"{ASKED_SCHEMA}, task int")
    return spark.createDataFrame(table).repartitionById(len(tasks), "task").drop("task")


def simulated(frame: DataFrame) -> DataFrame:
    """Every row of `experiments_frame` with what its simulation found; as many tasks as the frame has partitions."""
    return frame.mapInArrow(_simulate_batches, SCHEMA)


def _simulate_batches(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    for batch in batches:
        rows = [with_figures(row, simulate(experiment_of(row))) for row in batch.to_pylist()]
        yield from kept.arrow_table(rows).to_batches()


def dealt(rows: Iterable[Row], tasks: int) -> list[list[Row]]:
    """The rows in so many tasks of about the same effort, the one with most to do first; none is empty."""
    piles: list[tuple[float, int, list[Row]]] = [(0.0, number, []) for number in range(tasks)]
    for row in sorted(rows, key=effort, reverse=True):
        load, number, pile = piles[0]
        pile.append(row)
        heapreplace(piles, (load + effort(row), number, pile))
    return [pile for load, _, pile in sorted(piles, key=lambda each: (-each[0], each[1])) if pile]


#: Protocols → microseconds a message, for n processes: fixed, for each process, for each pair of processes.
_EFFORT: dict[str, tuple[float, float, float]] = {
    "extra-messages": (100, 30, 20),
    "optimal": (60, 10, 1),
    "ses": (60, 5, 2),
    "isis": (500, 200, 0),
}


def effort(row: Row) -> float:
    """A guess at what a simulation costs, in microseconds; only their proportions matter."""
    n = row["processes"]
    fixed, each, pair = _EFFORT.get(row["protocol"].split("-gc")[0], (50, 2, 1))
    return float(row["messages"] * (fixed + each * n + pair * n * n))
