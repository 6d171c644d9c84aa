"""Sweeps of many simulations, in this process or on Spark; with a folder they resume where they stopped.

The folder holds Parquet files, each added atomically, every few seconds. So a killed sweep loses only unwritten
simulations; an interrupted one first writes all finished simulations.

On Spark each simulation is a task, the most expensive first. Remote executors need crownless too: an installed wheel,
or ``--py-files crownless.whl``.
"""

import os
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crownless.model_check.simulation.experiment import Experiment, Row, experiment_of, row_of
from crownless.model_check.simulation.figures import COLUMNS
from crownless.model_check.simulation.simulation import simulate
from crownless.runtime.ending import interrupted_by
from crownless.runtime.errors import BadInput

from .session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Receives the numbers of finished and of total simulations.
Progress = Callable[[int, int], None]

#: Simulations per job, for each of Spark's processors.
ROWS_A_JOB = 32
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

    Finished rows are in `found` at once, by key, even if the sweep ends early.
    """
    requested = [row_of(experiment) for experiment in experiments]
    wanted = {row["key"]: row for row in requested}
    found = {} if found is None else found
    if out is not None:
        found.update({row["key"]: row for row in read_table(out) if row["key"] in wanted})
    missing = [row for key, row in wanted.items() if key not in found]
    progress(len(found), len(wanted))
    with closing(_done(missing, engine, master)) as rows, _written(out) as write:
        for row in rows:
            found[row["key"]] = row
            write(row)
            progress(len(found), len(wanted))
    return [found[row["key"]] for row in requested]


def _done(rows: Sequence[Row], engine: str, master: str | None) -> Generator[Row]:
    """The rows with their results, each as soon as it is finished."""
    if engine == "plain":
        yield from map(_simulated, rows)
    elif rows:
        yield from _on_spark(session(master, rows_in_java=False), rows)


def _simulated(row: Row) -> Row:
    return {**row, **asdict(simulate(experiment_of(row)))}


def _on_spark(spark: "SparkSession", rows: Sequence[Row]) -> Iterator[Row]:
    def effort(row: Row) -> int:
        """Proportional to the estimated cost of a simulation."""
        return int(row["messages"]) * int(row["processes"]) ** 2

    context = spark.sparkContext
    expensive_first = sorted(rows, key=effort, reverse=True)
    size = ROWS_A_JOB * context.defaultParallelism
    for k in range(0, len(rows), size):
        job = expensive_first[k : k + size]
        with interrupted_by(context.cancelAllJobs):
            done = context.parallelize(job, len(job)).map(_simulated).collect()
        yield from done


# -- the table on disk -------------------------------------------------------------------------------------------------


@contextmanager
def _written(out: Path | None) -> Iterator[Callable[[Row], None]]:
    """Yields a function that appends rows to the table on disk, after a short wait; writes the rest at the end, even an
    early one.
    """
    rows: list[Row] = []
    last = time.monotonic()

    def write(row: Row) -> None:
        nonlocal last
        rows.append(row)
        if out is not None and (len(rows) >= ROWS_A_FILE or time.monotonic() - last >= SECONDS_A_FILE):
            append(out, rows)
            rows.clear()
            last = time.monotonic()

    try:
        yield write
    finally:
        if out is not None:
            append(out, rows)


def read_table(folder: Path) -> list[Row]:
    """The rows of the table in a folder, each once; raises `BadInput` for a file that is not a table of costs."""
    import pyarrow as arrow  # it takes a while
    from pyarrow import parquet

    rows: dict[str, Row] = {}
    for file in sorted(folder.glob("*.parquet")):
        try:
            table = parquet.read_table(file, schema=_schema())
        except (arrow.ArrowException, OSError, ValueError) as error:
            problem = " ".join(str(error).split())
            hint = "remove it; its simulations run again"
            raise BadInput(f"not a table of costs ({problem})", hint=hint, file=str(file)) from None
        rows |= {row["key"]: row for row in table.to_pylist()}
    return list(rows.values())


def append(folder: Path, rows: Sequence[Row]) -> None:
    """Adds rows in one file, which appears once it is complete."""
    import pyarrow as arrow
    from pyarrow import parquet

    if not rows:
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = f"part-{uuid.uuid4()}.parquet"
    unfinished = folder / f".{name}.unfinished"
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=_schema()), unfinished)
    os.replace(unfinished, folder / name)


def _schema() -> Any:
    import pyarrow as arrow

    return arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in COLUMNS.items()])
