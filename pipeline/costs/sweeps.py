"""Many simulations: in this process, or by Spark over as many as there are.

    frame = experiments_frame(spark, experiments)      # a row an experiment
    simulated(frame)                                   # the same rows with what was measured

`simulated` is a function from DataFrame to DataFrame, for notebooks and `spark-submit`. Executors elsewhere need
crownless too: an installed wheel, or ``--py-files crownless.whl``.

*Balance.* Simulations differ in cost by orders of magnitude. Each is given a guess (`effort`); the dearest are dealt
first, each to the task with least to do, and the tasks with most to do start first.

*Stops.* What was found is appended to the table on disk every few seconds, each time whole, and a sweep that was killed
goes on from there; one that is interrupted first writes all that is done. On Spark a task is a job of its own, of about
as long; a few more jobs than there are processors are under way at any time.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from heapq import heapreplace
from pathlib import Path
from typing import TYPE_CHECKING

from crownless.model_check.simulation.simulation import Experiment, simulate
from crownless.model_check.simulation.studies.experiment_rows import (
    EXPERIMENT_SCHEMA,
    SCHEMA,
    Row,
    experiment_of,
    row_of,
    with_figures,
)
from crownless.pipeline.session import session

from . import table as kept

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

#: Is told how many of how many simulations are done.
Progress = Callable[[int, int], None]

#: Tasks of a sweep for each of Spark's processors, at least, and the effort of a task, about: a few seconds.
TASKS, EFFORT_A_TASK = 8, 2e6
#: Jobs under way for each of Spark's processors: the next one waits where the last one ends.
JOBS = 2
#: Rows written at a time, at most, and for how many seconds they may wait for that.
ROWS_A_FILE, SECONDS_A_FILE = 200, 3.0


def sweep(
    experiments: Iterable[Experiment],
    *,
    engine: str = "plain",
    out: Path | None = None,
    master: str | None = None,
    progress: Progress = lambda done, total: None,
    found: dict[str, Row] | None = None,
) -> list[Row]:
    """What all the experiments found, in order, each simulated once; those that `out` has are taken from there.

    What is done is in `found` at once, by its key, so that it is known of a sweep that was ended early, too.
    """
    asked = [row_of(experiment) for experiment in experiments]
    wanted = {row["key"]: row for row in asked}
    found = {} if found is None else found
    if out is not None:
        # What was asked is known: of a file only the figures are taken.
        found.update({row["key"]: {**row, **wanted[row["key"]]} for row in kept.read(out) if row["key"] in wanted})
    missing = [row for key, row in wanted.items() if key not in found]
    progress(len(found), len(wanted))
    with closing(_done(missing, engine, master)) as rows, _written(out) as write:
        for row in rows:
            found[row["key"]] = row
            write(row)
            progress(len(found), len(wanted))
    return [found[row["key"]] for row in asked]


def _done(rows: Sequence[Row], engine: str, master: str | None) -> Generator[Row]:
    """The rows with what was measured, each as soon as it is there."""
    if engine == "plain":
        for row in rows:
            yield with_figures(row, simulate(experiment_of(row)))
    elif rows:
        yield from _on_spark(session(master, rows_in_java=False), rows)


@contextmanager
def _written(out: Path | None) -> Iterator[Callable[[Row], None]]:
    """Takes rows and appends them to the table on disk: before long, and at the end all, also if it comes too early."""
    rows: list[Row] = []
    last = time.monotonic()

    def write(row: Row) -> None:
        nonlocal last
        rows.append(row)
        if out is not None and (len(rows) >= ROWS_A_FILE or time.monotonic() - last >= SECONDS_A_FILE):
            kept.append(out, rows)
            rows.clear()
            last = time.monotonic()

    try:
        yield write
    finally:
        if out is not None:
            kept.append(out, rows)


# -- on Spark ----------------------------------------------------------------------------------------------------------


def experiments_frame(spark: SparkSession, experiments: Iterable[Experiment]) -> DataFrame:
    """A row an experiment, dealt to tasks of about the same effort."""
    return rows_frame(spark, [row_of(experiment) for experiment in experiments])


def rows_frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    tasks = dealt(rows, max(1, min(len(rows), TASKS * spark.sparkContext.defaultParallelism)))
    placed = [{**row, "task": number} for number, task in enumerate(tasks) for row in task]
    table = kept.arrow_table(placed, f"{EXPERIMENT_SCHEMA}, task int")
    return spark.createDataFrame(table).repartitionById(len(tasks), "task").drop("task")


def _on_spark(spark: SparkSession, rows: Sequence[Row]) -> Iterator[Row]:
    """Task by task, as they end; if they are not wanted any more, those under way are given up."""
    processors = spark.sparkContext.defaultParallelism
    least = max(TASKS * processors, math.ceil(sum(map(effort, rows)) / EFFORT_A_TASK))
    tag = f"crownless-{uuid.uuid4()}"
    pool = ThreadPoolExecutor(JOBS * processors)
    jobs: list[Future[list[Row]]] = []
    try:
        jobs += [pool.submit(_job, spark, task, tag) for task in dealt(rows, min(len(rows), least))]
        for job in as_completed(jobs):
            yield from job.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if not all(job.done() for job in jobs):
            spark.sparkContext.cancelJobsWithTag(tag)
        pool.shutdown()


def _job(spark: SparkSession, rows: Sequence[Row], tag: str) -> list[Row]:
    spark.sparkContext.addJobTag(tag)
    frame = spark.createDataFrame(kept.arrow_table(rows, EXPERIMENT_SCHEMA)).coalesce(1)
    return [row.asDict() for row in simulated(frame).collect()]


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
