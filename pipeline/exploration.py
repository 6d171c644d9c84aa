"""The native engine's search, with the tasks of its levels (`model_check.on_disk`) run by executors of Spark.

    run_check(Check("rst", 3, 8), engine="spark", elsewhere=OnSpark())  # on this machine
    run_check(Check("rst", 3, 9), engine="spark", elsewhere=OnSpark(spark), checkpoint=Path("/shared/rst-3-9"))

The driver writes its tables to files that executors read before a round. Rows go from task to task in files, in a
directory that driver and executors share: any on this machine, one on a shared file system on a cluster.

The driver expands levels of few rows itself, which is faster than a Spark job. Limits are checked between rounds; the
memory limit applies to the driver, which holds the tables. On a cluster executors need this package: an installed
wheel, or ``--py-files``.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from crownless.model_check.native import kernels
from crownless.model_check.native.checkpoints import Checkpoint
from crownless.model_check.on_disk.search import SearchOnDisk
from crownless.model_check.on_disk.tasks import (
    ExpandResult,
    ExpandTask,
    MergeResult,
    MergeTask,
    View,
    expand,
    merge,
)
from crownless.model_check.search.engines import Engine
from crownless.model_check.system.request import ResolvedCheck
from crownless.runtime.ending import interrupted_by, look
from crownless.runtime.errors import BadInput

from .session import root_cause, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Task = TypeVar("Task")
Answer = TypeVar("Answer")

#: Up to this many rows are expanded or merged by the driver itself.
MAX_ROWS_ON_DRIVER = 1 << 17


class OnSpark:
    """The Spark session for a search, and the number of owners of rows.

    By default it is the active session, or a new one of this `master`, started by the first search, with as many owners
    as Spark runs tasks at once; each holds its part of a level in memory.
    """

    def __init__(
        self, spark: "SparkSession | None" = None, partitions: int | None = None, *, master: str | None = None
    ) -> None:
        self._spark, self._partitions, self._master = spark, partitions, master

    @contextmanager
    def search(
        self,
        check: ResolvedCheck,
        engine: Engine,
        saving: Checkpoint | None,
    ) -> "Iterator[SearchOnSpark]":
        """A search ready to run, with its files beside the checkpoint `saving`, or in a temporary directory."""
        spark = session(self._master, rows_in_java=False) if self._spark is None else self._spark
        try:
            context = spark.sparkContext
        except AttributeError:
            hint = "use a session other than Spark Connect"
            problem = "a search on Spark submits tasks itself, which this session does not support"
            raise BadInput(problem, hint=hint) from None
        if saving is None and not str(context.master).startswith("local"):
            raise BadInput(
                f"a search on {context.master} needs a directory that all executors share",
                hint="name one, new or empty: --checkpoint DIR",
            )
        with (
            tempfile.TemporaryDirectory(prefix="crownless-", ignore_cleanup_errors=True)
            if saving is None
            else nullcontext(saving.directory.resolve())
        ) as directory:
            owners = self._partitions or context.defaultParallelism
            yield SearchOnSpark(check, replace(engine, workers=owners), Path(directory), spark)


class SearchOnSpark(SearchOnDisk):
    """A search whose levels lie in files; executors expand and merge them."""

    def __init__(self, check: ResolvedCheck, engine: Engine, directory: Path, spark: "SparkSession") -> None:
        super().__init__(check, engine, directory)
        self._spark = spark

    def expanded(self, tasks: Sequence[ExpandTask], view: View) -> list[ExpandResult]:
        rows = sum(task.part.size - task.left.fresh + len(task.left.again) for task in tasks)
        if rows <= MAX_ROWS_ON_DRIVER:
            return super().expanded(tasks, view)
        parts = (view.tables, view.tables.orbits, view.monitor_states)
        arrays = {name: array for part in parts for name, array in part._asdict().items() if name != "orbits"}
        tables = f"tables-{uuid4().hex[:12]}"
        for name, array in (arrays | {"sizes": [view.actions, view.most_moves]}).items():
            np.save(self._directory / f"{tables}-{name}.npy", array)
        return self._on_spark(expand_on_executor, [task._replace(tables=tables) for task in tasks])

    def merged(self, tasks: Sequence[MergeTask]) -> list[MergeResult]:
        of_earlier = sum(block.size for task in tasks for block in task.earlier)
        rows = of_earlier + sum(found.ends[-1] for found in tasks[0].found)
        return self._on_spark(merge, tasks) if rows > MAX_ROWS_ON_DRIVER else super().merged(tasks)

    def _on_spark(self, do: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        """The results of tasks, each a partition."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        context, tag = self._spark.sparkContext, f"crownless-{uuid4().hex[:12]}"
        context.addJobTag(tag)
        try:
            with interrupted_by(lambda: context.cancelJobsWithTag(tag)):
                return context.parallelize(tasks, len(tasks)).map(do).collect()
        except (PySparkException, Py4JError) as error:
            look()
            raise BadInput(
                f"a task on Spark failed: {root_cause(error)}",
                hint="see the log of its executor; each needs this package, numba, and the directory",
            ) from error
        finally:
            context.removeJobTag(tag)


def view_in(directory: str, file: str) -> View:
    """The tables that the driver wrote. Executors of one machine map the same pages into memory, and copy nothing."""

    def array(name: str) -> Any:
        # Numba compiles other code for arrays that are read-only: so they are copied on writing, which nothing does.
        return np.asarray(np.load(Path(directory) / f"{file}-{name}.npy", mmap_mode="c"))

    orbits = kernels.Orbits(int(array("frames")), int(array("bits")), *map(array, kernels.Orbits._fields[2:]))
    tables = {name: array(name) for name in kernels.SiteTables._fields if name != "orbits"}
    monitor_states = kernels.MonitorTables(*map(array, kernels.MonitorTables._fields))
    return View(kernels.SiteTables(**tables, orbits=orbits), monitor_states, *array("sizes").tolist())


#: The tables last read by this process, by directory and file.
_last_view: dict[tuple[str, str], View] = {}


def expand_on_executor(task: ExpandTask) -> ExpandResult:
    """Expands rows with the tables that the driver wrote."""
    key = task.directory, task.tables
    if key not in _last_view:
        _last_view.clear()
        _last_view[key] = view_in(*key)
    return expand(task, _last_view[key])
