"""Sweeps of many simulations, in this process or on Spark.

    frame = experiments_frame(spark, experiments)      # a row an experiment
    simulated(frame)                                   # the same rows with their figures

`simulated` is a function from DataFrame to DataFrame, for notebooks and `spark-submit`. Remote executors need crownless
too: an installed wheel, or ``--py-files crownless.whl``.

*Balance.* Simulations differ in cost by orders of magnitude. Each gets an estimate (`effort`); the most expensive are
assigned first, each to the task with the least effort, and the tasks with the most effort start first.

*Stops.* Results are appended to the table on disk every few seconds, each time whole, and a killed sweep resumes from
there; an interrupted one first writes all finished simulations. On Spark each task is a job of about the same length;
slightly more jobs than processors run at any time.
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
from crownless.runtime.ending import interrupted_by

from . import table as cost_table

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

#: Receives the numbers of finished and of all simulations.
Progress = Callable[[int, int], None]

#: The least number of tasks of a sweep for each of Spark's processors; the approximate effort of a task: a few seconds.
TASKS, EFFORT_A_TASK = 8, 2e6
#: Concurrent jobs for each of Spark's processors, so that one is always waiting.
JOBS = 2
#: The most rows written at a time, and the seconds after which waiting rows are written.
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
    """The rows of all experiments, in order, each simulated once; rows that `out` has are reused.

    Finished rows are in `found` at once, by key, also if the sweep is ended early.
    """
    requested = [row_of(experiment) for experiment in experiments]
    wanted = {row["key"]: row for row in requested}
    found = {} if found is None else found
    if out is not None:
        # The parameters are those requested: only the figures are taken from a file.
        found.update(
            {row["key"]: {**row, **wanted[row["key"]]} for row in cost_table.read(out) if row["key"] in wanted}
        )
    missing = [row for key, row in wanted.items() if key not in found]
    progress(len(found), len(wanted))
    with closing(_done(missing, engine, master)) as rows, _written(out) as write:
        for row in rows:
            found[row["key"]] = row
            write(row)
            progress(len(found), len(wanted))
    return [found[row["key"]] for row in requested]


def _done(rows: Sequence[Row], engine: str, master: str | None) -> Generator[Row]:
    """The rows with their figures, each as soon as it is finished."""
    if engine == "plain":
        for row in rows:
            yield with_figures(row, simulate(experiment_of(row)))
    elif rows:
        yield from _on_spark(session(master, rows_in_java=False), rows)


@contextmanager
def _written(out: Path | None) -> Iterator[Callable[[Row], None]]:
    """Yields a function that appends rows to the table on disk, after a short wait; at the end, also an early one,
    writes the rest.
    """
    rows: list[Row] = []
    last = time.monotonic()

    def write(row: Row) -> None:
        nonlocal last
        rows.append(row)
        if out is not None and (len(rows) >= ROWS_A_FILE or time.monotonic() - last >= SECONDS_A_FILE):
            cost_table.append(out, rows)
            rows.clear()
            last = time.monotonic()

    try:
        yield write
    finally:
        if out is not None:
            cost_table.append(out, rows)


# -- on Spark ----------------------------------------------------------------------------------------------------------


def experiments_frame(spark: SparkSession, experiments: Iterable[Experiment]) -> DataFrame:
    """A row for each experiment, assigned to tasks of about the same effort."""
    return rows_frame(spark, [row_of(experiment) for experiment in experiments])


def rows_frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    tasks = balance_tasks(rows, max(1, min(len(rows), TASKS * spark.sparkContext.defaultParallelism)))
    placed = [{**row, "task": number} for number, task in enumerate(tasks) for row in task]
    table = cost_table.arrow_table(placed, f"{EXPERIMENT_SCHEMA}, task int")
    return spark.createDataFrame(table).repartitionById(len(tasks), "task").drop("task")


def _on_spark(spark: SparkSession, rows: Sequence[Row]) -> Iterator[Row]:
    """The rows of each task as it ends; running tasks are cancelled if the iterator is closed."""
    processors = spark.sparkContext.defaultParallelism
    least = max(TASKS * processors, math.ceil(sum(map(effort, rows)) / EFFORT_A_TASK))
    tag = f"crownless-{uuid.uuid4()}"
    pool = ThreadPoolExecutor(JOBS * processors)
    jobs: list[Future[list[Row]]] = []
    try:
        jobs += [pool.submit(_job, spark, task, tag) for task in balance_tasks(rows, min(len(rows), least))]
        with interrupted_by(lambda: spark.sparkContext.cancelJobsWithTag(tag)):
            for job in as_completed(jobs):
                yield from job.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if not all(job.done() for job in jobs):
            spark.sparkContext.cancelJobsWithTag(tag)
        pool.shutdown()


def _job(spark: SparkSession, rows: Sequence[Row], tag: str) -> list[Row]:
    spark.sparkContext.addJobTag(tag)
    frame = spark.createDataFrame(cost_table.arrow_table(rows, EXPERIMENT_SCHEMA)).coalesce(1)
    return [row.asDict() for row in simulated(frame).collect()]


def simulated(frame: DataFrame) -> DataFrame:
    """The rows of `experiments_frame` with the figures of their simulations; one task for each partition."""
    return frame.mapInArrow(_simulate_batches, SCHEMA)


def _simulate_batches(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    for batch in batches:
        rows = [with_figures(row, simulate(experiment_of(row))) for row in batch.to_pylist()]
        yield from cost_table.arrow_table(rows).to_batches()


def balance_tasks(rows: Iterable[Row], tasks: int) -> list[list[Row]]:
    """The rows in this many tasks of about the same effort, in descending order; none is empty."""
    tasks_by_load: list[tuple[float, int, list[Row]]] = [(0.0, number, []) for number in range(tasks)]
    for row in sorted(rows, key=effort, reverse=True):
        load, number, task = tasks_by_load[0]
        task.append(row)
        heapreplace(tasks_by_load, (load + effort(row), number, task))
    return [task for load, _, task in sorted(tasks_by_load, key=lambda each: (-each[0], each[1])) if task]


#: Protocol → microseconds for a message: fixed, for each process, for each pair of processes.
_EFFORT: dict[str, tuple[float, float, float]] = {
    "extra-messages": (100, 30, 20),
    "optimal": (60, 10, 1),
    "ses": (60, 5, 2),
    "isis": (500, 200, 0),
}


def effort(row: Row) -> float:
    """The estimated cost of a simulation, in microseconds; only proportions matter."""
    n = row["processes"]
    fixed, each, pair = _EFFORT.get(row["protocol"].split("-gc")[0], (50, 2, 1))
    return float(row["messages"] * (fixed + each * n + pair * n * n))
