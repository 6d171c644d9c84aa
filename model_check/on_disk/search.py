"""The native engine's search, with its levels in files.

This process has the tables: only it numbers sites and monitor states, and computes missed entries. A level's
rows belong to owners, determined by their sites. In each round tasks expand rows of each owner and set aside those that
miss an entry (`tasks`); once none is left, the rows found for each owner are merged, compared whole, into its part of
the next level. So each thread has only one owner's part of a level in memory. `pipeline.exploration` has the tasks run
by Spark instead of threads.

A search in memory that reaches its memory limit continues here, from the beginning of its level (`going_on_from`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec
import numpy as np

from crownless.model_check.native.checkpoints import CHECKPOINT, START_OVER_HINT, damaged, drop
from crownless.model_check.native.columns import distinct
from crownless.model_check.native.level_search import LevelSearch
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.search.engines import Engine
from crownless.model_check.system.request import ResolvedCheck
from crownless.runtime.ending import Stopped, is_at_work, look, memory_is_freed
from crownless.runtime.errors import BadInput

from .tasks import (
    Block,
    ExpandResult,
    ExpandTask,
    FoundRows,
    Left,
    MergeResult,
    MergeTask,
    View,
    expand,
    merge,
    write,
    write_found,
)

Task = TypeVar("Task")
Answer = TypeVar("Answer")

#: Seconds between two checks whether to end while threads work.
WAIT = 0.5
#: Parts of a level for each thread, which has one of them in memory at a time.
PARTS = 8


@contextmanager
def files_in(saved: Path | None) -> Iterator[Path]:
    """The directory for files of a search, removed in the end: the one where it is saved, or a temporary one."""
    if saved is None:
        with TemporaryDirectory(prefix="crownless-", ignore_cleanup_errors=True) as directory:
            yield Path(directory)
        return
    try:
        yield saved
    finally:
        drop(saved, {CHECKPOINT})


class SearchOnDisk(LevelSearch):
    """A search whose levels lie in files of a directory. Its workers are the owners of rows."""

    #: Each owner's part of this level, or of the next one once found, and its parts of earlier levels, if
    #: they are kept.
    parts: list[Block]
    earlier: list[list[Block]]
    #: The search in memory that it goes on from, until it does.
    _before: NativeSearch | None = None

    def __init__(self, check: ResolvedCheck, engine: Engine, directory: Path) -> None:
        super().__init__(check, engine)
        self._directory = directory
        self._threads = engine.workers

    @classmethod
    def going_on_from(
        cls, search: NativeSearch, check: ResolvedCheck, engine: Engine, directory: Path
    ) -> "SearchOnDisk":
        """A search of the same check that goes on where that one is, at the beginning of its level."""
        onward = cls(check, engine, directory)
        onward.workers = engine.workers * PARTS
        onward._before = search
        return onward

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with ThreadPoolExecutor(self._threads) as self._pool:
            yield

    def start(self) -> None:
        self.earlier = [[] for _ in range(self.workers)]
        row = self.first_row()
        whose = self.owners_of(row)
        self.parts = []
        rows = [row[whose == owner] for owner in range(self.workers)]
        with self._writing():
            found = write_found(self._directory, rows, [])
        self._merge([found])

    def turn(self) -> bool:
        return any(part.size for part in self.parts)

    def level_begins(self) -> None:
        """Removes the files of earlier levels."""
        drop(self._directory, {CHECKPOINT, *(part.file for part in self._all_parts())})

    def _all_parts(self) -> list[Block]:
        return [*self.parts, *(part for parts in self.earlier for part in parts)]

    # -- going on from a search in memory ------------------------------------------------------------------------------

    def _resume(self) -> None:
        if self._before is None:
            super()._resume()
            return
        search, self._before = self._before, None
        assert search._at_level_start is not None
        self.asymmetry, self._shared, self.reduces = search.asymmetry, search._shared, search.reduces
        self.tables, self.monitor_states, self.system = search.tables, search.monitor_states, search.system
        self.plain_monitor_states = search.plain_monitor_states
        self._keep_all(search.keep)
        self.seconds_before = search.result.seconds
        self.result, self.level = search._at_level_start, search.level
        self._wait_for([self._pool.submit(self._write_rows_of, search)], is_at_work)
        search.now, search.next, search.worker_buffers = [], [], []
        memory_is_freed()

    def _write_rows_of(self, search: NativeSearch) -> None:
        """Writes the rows of its level, and of earlier ones if they are kept, for each owner."""
        whole = list(zip(search.now, search.begins, search.ends, strict=True))
        owners = [self.owners_of(row_set.rows[:end]).astype(np.uint16) for row_set, _, end in whole]

        def block(owner: int, of_level: bool) -> Block:
            arrays: dict[str, list[Any]] = {"rows": [], "asleep": [], "is_new": []}
            for (row_set, begin, _), whose in zip(whole, owners, strict=True):
                own = np.flatnonzero(whose == owner)
                own = own[(own >= begin) == of_level]
                arrays["rows"].append(row_set.rows[own])
                arrays["is_new"].append(row_set.is_new[own])
                arrays["asleep"].append(row_set.asleep[own] if len(row_set.asleep) else row_set.asleep)
            joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
            return Block(write(self._directory, f"level-{owner}", **joined), len(joined["rows"]))

        self.parts = [block(owner, True) for owner in range(self.workers)]
        self.earlier = [[block(owner, False)] if self.keep else [] for owner in range(self.workers)]

    # -- levels --------------------------------------------------------------------------------------------------------

    def expand(self) -> None:
        """Expands in rounds, until no row misses an entry; then merges the rows found."""
        left = {owner: Left(np.zeros(0, np.int64), 0) for owner, part in enumerate(self.parts) if part.size}
        found: list[FoundRows] = []
        misses: Any = np.zeros(0, np.uint64)
        while left:
            self.fill(misses)
            if self.over():
                return
            tasks = [
                ExpandTask(str(self._directory), "", self.system, self.workers, owner, self.parts[owner], rest)
                for owner, rest in left.items()
            ]
            most_moves, arrays = self.tables.sites.most_moves, (self.tables.arrays(), self.monitor_states.arrays())
            answers = self.expanded(tasks, View(*arrays, len(self.tables.actions), most_moves))
            left = {answer.owner: answer.left for answer in answers if answer.left is not None}
            misses = self._take_account(answers)
            found += [file for answer in answers for file in answer.found]
        self._merge(found)

    def _take_account(self, answers: Sequence[ExpandResult]) -> Any:
        """Adds up the results of a round; returns the missed entries."""
        for answer in answers:
            self.add_counts(answer.counts, answer.seen, answer.actions)
            self.add_blocked(answer.blocked)
        return distinct(np.concatenate([answer.misses for answer in answers]))

    def _merge(self, found: list[FoundRows]) -> None:
        """Merges the rows found into the next level."""
        if self.keep:
            for earlier, part in zip(self.earlier, self.parts, strict=False):
                earlier += [part] if part.size else []
        tasks = [
            MergeTask(str(self._directory), self.n, owner, earlier, found, self.system.sleeps)
            for owner, earlier in enumerate(self.earlier)
        ]
        answers = self.merged(tasks)
        self.parts = [answer.part for answer in answers]
        for answer in answers:
            self.add_new(nodes=answer.part.size, states=answer.states, met_again=answer.met_again)

    def expanded(self, tasks: Sequence[ExpandTask], view: View) -> list[ExpandResult]:
        """The results of these tasks."""
        return self._by_threads(partial(expand, view=view), tasks)

    def merged(self, tasks: Sequence[MergeTask]) -> list[MergeResult]:
        """The results of these tasks."""
        return self._by_threads(merge, tasks)

    def _by_threads(self, do: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        return self._wait_for([self._pool.submit(do, task) for task in tasks], look)

    def _wait_for(self, futures: Sequence["Future[Answer]"], meanwhile: Callable[[], None]) -> list[Answer]:
        """The results; `meanwhile` is called again and again, and may end the search."""
        try:
            while wait(futures, WAIT).not_done:
                meanwhile()
        finally:
            for future in futures:
                future.cancel()
        with self._writing():
            return [future.result() for future in futures]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Within it an error of the disk ends the search, with what was found by then."""
        try:
            yield
        except OSError as error:
            raise Stopped(f"cannot write to {self._directory}: {error.strerror or error}") from error

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
