"""Sweeps of many independent tasks, in one process, in several, or on Spark; with a folder they resume.

The folder holds Parquet files, each added atomically, every few seconds. So a killed sweep loses only unwritten
results; an interrupted one first writes all finished results.

On Spark each task is one of Spark's, the most expensive first. Remote executors need crownless too: an installed wheel,
or ``--py-files crownless.whl``.
"""

import os
import signal
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crownless.pipeline.session import session
from crownless.runtime.ending import interrupted_by, look, watching
from crownless.runtime.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A task, identified by its `key`; and, once it is done, with its results.
Row = dict[str, Any]
#: Receives the numbers of finished and of all tasks.
Progress = Callable[[int, int], None]

#: Tasks per job, for each of Spark's processors.
ROWS_A_JOB = 32
#: The most rows written at a time, and the seconds after which waiting rows are written.
ROWS_A_FILE, SECONDS_A_FILE = 200, 3.0
#: The most tasks that a process is given at a time, and seconds between two looks at whether to end.
ROWS_A_PROCESS, SECONDS_A_LOOK = 8, 0.2


@dataclass(frozen=True)
class Sweep:
    """What is done with each row. `run` must be importable by other processes."""

    run: Callable[[Row], Row]
    #: The columns of the table, and their Arrow types.
    columns: Mapping[str, str]
    #: A few words for messages, such as `a table of costs`.
    table: str
    #: Proportional to the estimated cost of a row.
    effort: Callable[[Row], int]
    #: True if a result is final; one that ended early is neither kept nor counted.
    is_final: Callable[[Row], bool] = lambda row: True


@dataclass(frozen=True)
class Where:
    """Where tasks run: `plain`, in this process or in several on this machine; or `spark`, where `master` says."""

    engine: str = "plain"
    workers: int = 1
    master: str | None = None


HERE = Where()


def sweep(
    of: Sweep,
    requested: Sequence[Row],
    where: Where = HERE,
    *,
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
    found: dict[str, Row] | None = None,
) -> list[Row]:
    """The rows with their results, in order, each key computed once; rows that `out` has are reused.

    Finished rows are in `found` at once, by key, even if the sweep ends early.
    """
    wanted = {row["key"]: row for row in requested}
    found = {} if found is None else found
    if out is not None:
        found.update({row["key"]: row for row in read_table(of, out) if row["key"] in wanted})
    missing = [row for key, row in wanted.items() if key not in found]
    progress(len(found), len(wanted))
    with closing(_done(of, missing, where)) as rows, _written(of, out) as write:
        for row in rows:
            if not of.is_final(row):
                look()
            found[row["key"]] = row
            if of.is_final(row):
                write(row)
            progress(len(found), len(wanted))
    return [found[row["key"]] for row in requested]


def _done(of: Sweep, rows: Sequence[Row], where: Where) -> Generator[Row]:
    """The rows with their results, each as soon as it is finished."""
    if where.engine == "spark" and rows:
        yield from _on_spark(session(where.master, rows_in_java=False), of, rows)
    elif where.workers > 1 and len(rows) > 1:
        yield from _in_processes(of, rows, where.workers)
    else:
        yield from _here(of, rows)


def _in_processes(of: Sweep, rows: Sequence[Row], workers: int) -> Iterator[Row]:
    size = max(1, min(ROWS_A_PROCESS, len(rows) // (8 * workers)))
    parts = [rows[k : k + size] for k in range(0, len(rows), size)]
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_as_a_worker)
    try:
        waiting = {pool.submit(_all_of, of.run, part) for part in parts}
        while waiting:
            look()
            done, waiting = wait(waiting, SECONDS_A_LOOK, FIRST_COMPLETED)
            for each in done:
                yield from each.result()
    finally:  # parts that are under way are finished, and lost
        pool.shutdown(wait=False, cancel_futures=True)


def _all_of(run: Callable[[Row], Row], rows: Sequence[Row]) -> list[Row]:
    with watching():  # once, as each search would otherwise start a thread
        return [run(row) for row in rows]


def _as_a_worker() -> None:
    """Signals are the parent's, and what a machine prints is no part of an answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)


def _here(of: Sweep, rows: Sequence[Row]) -> Iterator[Row]:
    for row in rows:
        look()
        yield of.run(row)


def _on_spark(spark: "SparkSession", of: Sweep, rows: Sequence[Row]) -> Iterator[Row]:
    context = spark.sparkContext
    expensive_first = sorted(rows, key=of.effort, reverse=True)
    size = ROWS_A_JOB * context.defaultParallelism
    for k in range(0, len(rows), size):
        job = expensive_first[k : k + size]
        with interrupted_by(context.cancelAllJobs):
            done = context.parallelize(job, len(job)).map(of.run).collect()
        yield from done


# -- the table on disk -------------------------------------------------------------------------------------------------


@contextmanager
def _written(of: Sweep, out: Path | None) -> Iterator[Callable[[Row], None]]:
    """Yields a function that appends rows to the table on disk, after a short wait; writes the rest at the end, even an
    early one.
    """
    rows: list[Row] = []
    last = time.monotonic()

    def write(row: Row) -> None:
        nonlocal last
        rows.append(row)
        if out is not None and (len(rows) >= ROWS_A_FILE or time.monotonic() - last >= SECONDS_A_FILE):
            append(of, out, rows)
            rows.clear()
            last = time.monotonic()

    try:
        yield write
    finally:
        if out is not None:
            append(of, out, rows)


def read_table(of: Sweep, folder: Path) -> list[Row]:
    """The rows of the table in a folder, each once; raises `BadInput` for a file that is not such a table."""
    import pyarrow as arrow  # it takes a while
    from pyarrow import parquet

    rows: dict[str, Row] = {}
    for file in sorted(folder.glob("*.parquet")):
        try:
            table = parquet.read_table(file, schema=_schema(of))
        except (arrow.ArrowException, OSError, ValueError) as error:
            problem = " ".join(str(error).split())
            hint = "remove it; what it has is computed again"
            raise BadInput(f"not {of.table} ({problem})", hint=hint, file=str(file)) from None
        rows |= {row["key"]: row for row in table.to_pylist()}
    return list(rows.values())


def append(of: Sweep, folder: Path, rows: Sequence[Row]) -> None:
    """Adds rows in one file, which appears once it is complete."""
    import pyarrow as arrow
    from pyarrow import parquet

    if not rows:
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = f"part-{uuid.uuid4()}.parquet"
    unfinished = folder / f".{name}.unfinished"
    parquet.write_table(arrow.Table.from_pylist(list(rows), schema=_schema(of)), unfinished)
    os.replace(unfinished, folder / name)


def _schema(of: Sweep) -> Any:
    import pyarrow as arrow

    return arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in of.columns.items()])
