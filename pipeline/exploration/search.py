"""The native engine's search, with its levels split over executors of Spark.

    run_check(Check("rst", 3, 8), engine="spark", elsewhere=OnSpark())  # on this machine
    run_check(Check("rst", 3, 9), engine="spark", elsewhere=OnSpark(spark), checkpoint=Path("/shared/rst-3-9"))

The driver has the tables: only it numbers cells, packets and monitor states, and computes missed entries; before a
round it writes them to a file that executors read. A level's rows belong to owners, determined by their cells. In each
round executors expand rows of each owner and set aside those that miss an entry (`tasks`); once none is left, the rows
found for each owner are merged, compared whole, into its part of the next level. Rows go from task to task in files, in
a directory that driver and executors share: any on this machine, one on a shared file system on a cluster.

The driver expands levels of few rows itself, which is faster than a Spark job. Limits are checked between rounds; the
memory limit applies to the driver, which holds the tables. On a cluster executors need this package: an installed
wheel, or ``--py-files``.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import msgspec
import numpy as np

from crownless.model_check.check.request import ResolvedCheck
from crownless.model_check.native.checkpoints import START_OVER_HINT, Checkpoint, damaged, drop
from crownless.model_check.native.layout import Shape
from crownless.model_check.native.level_search import LevelSearch
from crownless.model_check.search.engines import Engine
from crownless.pipeline.session import root_cause, session
from crownless.runtime.ending import interrupted_by, look
from crownless.runtime.errors import BadInput

from .tasks import (
    Block,
    ExpandResult,
    ExpandTask,
    Left,
    MergeResult,
    MergeTask,
    View,
    expand,
    expand_on_executor,
    merge,
    write,
)

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
            hint = "use a session that is not of Spark Connect"
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
            yield SearchOnSpark(
                check,
                replace(engine, workers=self._partitions or context.defaultParallelism),
                spark=spark,
                directory=Path(directory),
            )


class SearchOnSpark(LevelSearch):
    """A search whose levels lie in files. Its workers are the owners of rows."""

    #: Each owner's part of this level, or of the next one once found, and its parts of earlier levels, if
    #: they are kept.
    parts: list[Block]
    earlier: list[list[Block]]

    def __init__(self, *arguments: Any, spark: "SparkSession", directory: Path, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._spark, self._directory = spark, directory

    def start(self) -> None:
        self.earlier = [[] for _ in range(self.workers)]
        shape = self.shape_of(1)
        layout = shape.layout(self.n)
        row = self.first_row(layout)
        (owner,) = self.owners_of(row, layout).tolist()
        arrays = {f"rows-{owner}": row, f"asleep-{owner}": np.zeros(int(self.system.sleeps), np.uint32)}
        self.parts = []
        self._merge([Block(write(self._directory, "found", **arrays), 1, shape)], shape)

    def turn(self) -> bool:
        return any(part.size for part in self.parts)

    def level_begins(self) -> None:
        """Removes the files of earlier levels."""
        drop(self._directory, {"checkpoint.npz", *(part.file for part in self._all_parts())})

    def _all_parts(self) -> list[Block]:
        return [*self.parts, *(part for parts in self.earlier for part in parts)]

    # -- levels --------------------------------------------------------------------------------------------------------

    def expand(self) -> None:
        """Expands in rounds, until no row misses an entry; then merges the rows found."""
        shape = self.shape_of(max(part.shape.slots for part in self.parts))
        left = {owner: Left(np.zeros(0, np.int64), 0) for owner, part in enumerate(self.parts) if part.size}
        found: list[Block] = []
        misses: Any = np.zeros(0, np.uint64)
        while left:
            self.fill(misses)
            if self.over():
                return
            answers = self._expand_all(left, shape)
            left = {answer.owner: answer.left for answer in answers if answer.left is not None}
            misses = self._take_account(answers)
            for answer in answers:
                shape = shape.joined(answer.shape)
                found += answer.found
        self._merge(found, shape)

    def _expand_all(self, left: Mapping[int, Left], shape: Shape) -> list[ExpandResult]:
        """Expands the remaining rows of the level."""
        view = View(self.tables.arrays(), self.monitor_states.arrays(), self.sizes())
        distributed = sum(self.parts[owner].size - rest.fresh for owner, rest in left.items())
        distributed += sum(len(rest.again) for rest in left.values())
        on_spark = distributed > MAX_ROWS_ON_DRIVER
        tables = ""
        if on_spark:
            arrays = {**view.tables._asdict(), **view.monitor_states._asdict(), "sizes": np.array(view.sizes)}
            tables = write(self._directory, "tables", **arrays)
        tasks = [
            ExpandTask(str(self._directory), tables, self.system, self.workers, owner, self.parts[owner], rest, shape)
            for owner, rest in left.items()
        ]
        return self._on_spark(expand_on_executor, tasks) if on_spark else [expand(task, view) for task in tasks]

    def _take_account(self, answers: Sequence[ExpandResult]) -> Any:
        """Adds up the results of a round; returns the missed entries."""
        for answer in answers:
            self.add_counts(answer.counts, answer.seen, answer.actions)
            for cells in answer.waits.tolist():
                self.add_blocked(cells)
        return np.unique(np.concatenate([answer.misses for answer in answers]))

    def _merge(self, found: list[Block], shape: Shape) -> None:
        """Merges the rows found into the next level."""
        if self.keep:
            for earlier, part in zip(self.earlier, self.parts, strict=False):
                earlier += [part] if part.size else []
        tasks = [
            MergeTask(str(self._directory), self.n, owner, earlier, found, shape, self.system.sleeps)
            for owner, earlier in enumerate(self.earlier)
        ]
        rows = sum(block.size for block in found) + sum(part.size for parts in self.earlier for part in parts)
        answers: list[MergeResult] = (
            self._on_spark(merge, tasks) if rows > MAX_ROWS_ON_DRIVER else [merge(task) for task in tasks]
        )
        self.parts = [answer.part for answer in answers]
        for answer in answers:
            self.add_new(nodes=answer.part.size, states=answer.states, met_again=answer.met_again)

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

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def rows_to_save(self) -> tuple[Any, dict[str, Any]]:
        return {"parts": self.parts, "earlier": self.earlier}, {}

    def restore_rows(self, rows: Any, arrays: Mapping[str, Any]) -> None:
        self.parts = msgspec.convert(rows["parts"], list[Block])
        self.earlier = msgspec.convert(rows["earlier"], list[list[Block]])
        # Owners stay as they were.
        self.workers = len(self.parts)
        for part in self._all_parts():
            try:
                damaged(self._directory / part.file)
            except Exception:  # of several kinds
                where = f"--resume {self._directory}: {part.file}"
                raise BadInput(f"{where}: damaged or missing", hint=START_OVER_HINT) from None
