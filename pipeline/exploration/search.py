"""The native engine's search, with its levels split over executors of Spark.

    run_check(Check("rst", 3, 8), engine="spark", elsewhere=OnSpark())  # on this machine
    run_check(Check("rst", 3, 9), engine="spark", elsewhere=OnSpark(spark), checkpoint=Path("/shared/rst-3-9"))

The driver has the tables: only it numbers cells, packets and monitor states, and computes missed entries; executors
follow (`published`). A level's rows belong to owners, determined by their cells. In each round executors expand rows of
each owner and set aside those that miss an entry (`levels`); once none is left, the rows found for each owner are
merged, compared whole, into its part of the next level. Rows go from task to task in files of blocks, in a directory
that driver and executors share: on this machine any, on a cluster one on a shared file system.

A level is committed by its manifest alone. The driver expands levels of few rows itself, which is quicker than a Spark
job. Limits are checked between rounds; the memory limit is that of the driver, which holds the tables. On a cluster
executors need this package: an installed wheel, or ``--py-files``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from crownless.model_check.engines import Engine
from crownless.model_check.monitors import Monitor
from crownless.model_check.native.levels import Levels
from crownless.model_check.native.saved_requests import request_of
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.properties import Property
from crownless.model_check.request import ResolvedCheck
from crownless.pipeline.session import root_cause, session
from crownless.runtime.ending import interrupted_by, look
from crownless.spec.errors import BadInput

from .blocks import Block, Shape, Written, append, new_file
from .levels import (
    ExpandResult,
    ExpandTask,
    MergeResult,
    MergeTask,
    Places,
    expand,
    expand_on_executor,
    merge_into_partition,
    merge_on_executor,
)
from .manifest import Manifest, drop, manifest_in, write_array
from .published import Published

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Task = TypeVar("Task")
Answer = TypeVar("Answer")

#: Up to this many rows are expanded or merged by the driver itself.
MAX_ROWS_ON_DRIVER = 1 << 17


class OnSpark:
    """The session of Spark for a search, and the number of owners of rows.

    By default it is the active session, or a new one of this `master`, started by the first search, and there are as
    many owners as tasks that Spark runs at once; each holds its part of a level in memory.
    """

    def __init__(
        self, spark: SparkSession | None = None, partitions: int | None = None, *, master: str | None = None
    ) -> None:
        self._spark, self._partitions, self._master = spark, partitions, master

    @contextmanager
    def saving(
        self, check: ResolvedCheck, engine: Engine, checkpoint: Path | None, resume: Path | None
    ) -> Iterator[Manifest | None]:
        """The directory in which the search is saved, or None."""
        directory = checkpoint or resume
        if directory is None:
            yield None
            return
        check_key = request_of(check, engine.reductions)
        with manifest_in(directory, check_key, resume=resume is not None) as manifest:
            yield manifest

    @contextmanager
    def search(
        self,
        check: ResolvedCheck,
        engine: Engine,
        monitors: Sequence[Monitor],
        properties: Sequence[Property],
        saving: Manifest | None,
    ) -> Iterator[NativeSearch]:
        """A search that is ready to run."""
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
        with ExitStack() as stack:
            if saving is None:
                made = tempfile.TemporaryDirectory(prefix="crownless-", ignore_cleanup_errors=True)
                directory = Path(stack.enter_context(made))
            else:
                directory = saving.directory.resolve()
            yield NativeSearch(
                check.machine,
                check.workload,
                check.channel_name,
                monitors,
                properties,
                shared=engine.shared,
                reductions=engine.reductions,
                workers=self._partitions or context.defaultParallelism,
                levels=lambda search: LevelsOnSpark(search, spark, directory, saving),
            )


class LevelsOnSpark(Levels):
    """Levels in blocks of files. The workers of the search are the owners of rows."""

    #: Each owner's part of this level, or of the next one where that is found, and its parts of the levels before, if
    #: they are kept.
    parts: list[Block]
    earlier: list[list[Block]]

    def __init__(self, search: NativeSearch, spark: SparkSession, directory: Path, manifest: Manifest | None) -> None:
        super().__init__(search)
        self._spark, self._directory, self._manifest = spark, directory, manifest

    def made_tables(self) -> None:
        """They are to be published, and their log to be written."""
        self._published = Published(self._directory, uuid4().hex[:12], self.search.tables, self.search.monitor_states)
        #: The files of the tables' log, and the number of entries in them.
        self._logs: list[Written] = []
        self._logged = 0

    def start(self) -> None:
        """The initial state alone."""
        search = self.search
        self._files: dict[str, Written] = {}
        self.earlier = [[] for _ in range(search.workers)]
        shape = self._shape(1)
        layout = shape.layout(search.n)
        row = search.first_row(layout)
        owner = self.owners_of(row, layout)
        with new_file(self._directory, "found-first") as (name, file):
            first = append(file, name, shape, row, np.zeros(int(search.system.sleeps), np.uint32))
        self.parts = []
        self._gather({int(owner[0]): [first]}, shape)

    def turn(self) -> bool:
        """What was gathered is this level."""
        return any(part.size for part in self.parts)

    def _shape(self, slots: int) -> Shape:
        """The shape with room for twice the current numbers."""
        return Shape(slots, *self.search.most_numbers())

    # -- levels --------------------------------------------------------------------------------------------------------

    def expand(self) -> None:
        """In rounds, until no row misses an entry; then what was found is gathered."""
        shape = self._shape(max(part.shape.slots for part in self.parts))
        places = {owner: Places(None, 0) for owner, part in enumerate(self.parts) if part.size}
        found: dict[int, list[Block]] = {}
        misses: Any = np.zeros(0, np.uint64)
        while places:
            if len(misses):
                self.search.fill(misses)
            if self.search.over():
                return
            answers = self._expand_all(places, shape)
            places = {answer.owner: answer.places for answer in answers if answer.places is not None}
            misses = self._take_account(answers)
            for answer in answers:
                shape = shape.joined(answer.shape)
                for owner, block in answer.found:
                    found.setdefault(owner, []).append(block)
        self._gather(found, shape)

    def _expand_all(self, places: Mapping[int, Places], shape: Shape) -> list[ExpandResult]:
        """Expands the remaining rows of the level."""
        view = self._published.view()
        rows = sum(
            self.parts[owner].size - at.fresh + (at.again.size if at.again else 0) for owner, at in places.items()
        )
        distributed = rows > MAX_ROWS_ON_DRIVER
        version = self._published.publish() if distributed else self._published.version
        tasks = [
            ExpandTask(
                str(self._directory),
                version,
                self.search.system,
                self.search.workers,
                self.search.reduces,
                owner,
                self.parts[owner],
                at,
                shape,
            )
            for owner, at in places.items()
        ]
        return self._on_spark(expand_on_executor, tasks) if distributed else [expand(task, view) for task in tasks]

    def _take_account(self, answers: Sequence[ExpandResult]) -> Any:
        """Adds up the results of a round; returns the missed entries."""
        for answer in answers:
            self.search.add_counts(answer.counts, answer.seen, answer.actions)
            for cells in answer.waits.tolist():
                self.search.add_blocked(cells)
        return np.unique(np.concatenate([answer.misses for answer in answers]))

    def _gather(self, found: Mapping[int, list[Block]], shape: Shape) -> None:
        """Merges the rows found into the next level."""
        if self.search.keep:
            for earlier, part in zip(self.earlier, self.parts, strict=False):
                earlier.append(part)
        level = self.search.level + 1 if self.parts else 0
        tasks = [
            MergeTask(
                str(self._directory),
                self.search.n,
                owner,
                [block for block in self.earlier[owner] if block.size],
                found.get(owner, []),
                shape,
                self.search.system.sleeps,
                f"level-{level}",
                self._manifest is not None,
            )
            for owner in range(self.search.workers)
        ]
        distributed = sum(block.size for task in tasks for block in (*task.found, *task.earlier)) > MAX_ROWS_ON_DRIVER
        answers: list[MergeResult] = (
            self._on_spark(merge_on_executor, tasks) if distributed else [merge_into_partition(task) for task in tasks]
        )
        if not self.search.keep:
            self._files = {}
        self.parts = [answer.block for answer in answers]
        for answer in answers:
            self._files[answer.block.file] = answer.written
            self.search.add_new(nodes=answer.block.size, states=answer.states, met_again=answer.met_again)

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

    @property
    def saving(self) -> Manifest | None:
        return self._manifest

    def began(self) -> None:
        """Commits this level, as it starts, and removes the files of earlier ones."""
        if self._manifest is not None:
            log = self.search.tables.log[self._logged :]
            if log:
                name = f"log-{self.search.level}-{uuid4().hex[:12]}.npy"
                self._logs.append(write_array(self._directory, name, np.concatenate(log)))
                self._logged = len(self.search.tables.log)
            facts = {
                **self.search.saved_facts(),
                "parts": self.parts,
                "earlier": self.earlier,
                "logs": [log.file for log in self._logs],
            }
            self._manifest.commit(facts, [*self._files.values(), *self._logs])
        drop(self._directory, {*self._files, *(log.file for log in self._logs), *self._published.files})

    def restore(self, saving: Manifest) -> None:
        """The tables and blocks of the saved level; refused if the protocol's code is not what it was."""
        saved = saving.saved
        assert saved is not None
        facts = saved.facts
        self.search.resume_tables(facts, saving.log(saved), saving)
        self.parts = [saved_block.block() for saved_block in facts.parts]
        self.earlier = [[saved_block.block() for saved_block in blocks] for blocks in facts.earlier]
        # Owners stay as they were.
        self.search.workers = len(self.parts)
        files = {name: Written(name, sha256) for name, sha256 in saved.files.items()}
        self._logs = [files.pop(name) for name in facts.logs]
        self._logged = len(self.search.tables.log)
        self._files = files
