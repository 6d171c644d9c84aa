"""The search whose rows lie in this process's memory, expanded by threads.

A level's rows lie in one *row set* per worker: a row belongs to the worker that its cells name. A round expands a block
of rows of every row set, each worker writing successors into one outbox for each owner; then each owner takes in the
outboxes addressed to it and drops known rows. Meanwhile Python computes the table entries that the previous round
missed. So no lock is needed, and counts do not depend on the number of workers.

In a graded space (`ranks`) two row sets suffice, of this level and of the next; otherwise one keeps all rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import kernels
from .layout import Shape
from .level_search import LevelSearch
from .row_set import RowSet
from .workers import BLOCK, Worker

#: The minimum number of rounds of a level, if it has enough rows: in each, Python computes entries missed before.
ROUNDS = 4
NO_TABLE = np.zeros(0, np.uint64)
#: With fewer rows in a round, threads cost more than they save.
MIN_ROWS_FOR_THREADS = 1 << 10


class NativeSearch(LevelSearch):
    """A search whose levels lie in row sets, one per worker."""

    #: Where this level's rows begin and end in each row set of `now`; their successors go to `next`.
    begins: list[int]
    ends: list[int]
    now: list[RowSet]
    next: list[RowSet]
    shape: Shape
    shape_after: Shape
    layout: kernels.Layout
    layout_after: kernels.Layout
    worker_buffers: list[Worker]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within it the threads run."""
        with ThreadPoolExecutor(1 + self.workers) as self._pool:
            yield

    def start(self) -> None:
        """The initial state alone, in the next level's row set."""
        self._lay_out(self.shape_of(1))
        self._new_row_sets()
        self.worker_buffers = [Worker(self.workers, sleeps=self.system.sleeps) for _ in range(self.workers)]
        self.begins = self.ends = [0] * self.workers
        self._shelve(self.first_row(self.layout), np.ones(1, np.bool_))

    def _lay_out(self, shape: Shape) -> None:
        self.shape = self.shape_after = shape
        self.layout = self.layout_after = shape.layout(self.n)

    def turn(self) -> bool:
        """The next level becomes this one; returns whether it has rows."""
        ends = [row_set.used for row_set in self.next]
        if self.keep:
            self.begins = self.ends
        if (self.keep and ends == self.begins) or not any(ends):
            return False
        if not self.keep:
            self.now, self.next = self.next, self.now
            self.shape, self.layout = self.shape_after, self.layout_after
            self.shape_after = self.shape_of(self.layout.slots)
            self.layout_after = self.shape_after.layout(self.n)
            for level, following in zip(self.now, self.next, strict=True):
                following.table, level.table = level.table, NO_TABLE  # a level that is expanded is not searched
                following.clear(self.layout_after.words)
        self.ends = ends
        return True

    def release_memory(self) -> None:
        """Frees memory that the search no longer needs, so that it can be saved."""
        self.worker_buffers = []
        if not self.keep:
            self.next = []

    def _new_row_sets(self) -> None:
        def row_sets() -> list[RowSet]:
            return [RowSet(self.layout.words, sleeps=self.system.sleeps) for _ in range(self.workers)]

        self.next = row_sets()
        self.now = self.next if self.keep else row_sets()

    def _shelve(self, rows: Any, is_new: Any) -> None:
        """Puts rows, all different, into their owners' row sets."""
        owners = self.owners_of(rows, self.layout_after)
        for owner, row_set in enumerate(self.next):
            own = owners == owner
            row_set.add(rows[own], self.layout_after, is_new[own])

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def rows_to_save(self) -> tuple[Any, dict[str, Any]]:
        arrays: dict[str, Any] = {}
        for w, row_set in enumerate(self.now):
            begin, end = self.begins[w], self.ends[w]
            arrays[f"earlier-{w}"] = row_set.rows[:begin]
            arrays[f"level-{w}"] = row_set.rows[begin:end]
            arrays[f"new-{w}"] = row_set.is_new[begin:end]
        return [self.shape, self.workers], arrays

    def restore_rows(self, rows: Any, arrays: Mapping[str, Any]) -> None:
        shape, parts = rows
        self._lay_out(Shape(*shape))
        self._new_row_sets()
        for w in range(parts):
            earlier = arrays[f"earlier-{w}"]
            self._shelve(earlier, np.zeros(len(earlier), np.bool_))
        self.begins = self.ends = [row_set.used for row_set in self.next]
        for w in range(parts):
            self._shelve(arrays[f"level-{w}"], arrays[f"new-{w}"])

    # -- levels --------------------------------------------------------------------------------------------------------

    def expand(self) -> None:
        """Expands the rows from `begins` to `ends` of each row set.

        While threads expand some, Python computes the entries missed before, for which rows wait.
        """
        places = list(self.begins)
        none = np.zeros(0, np.int64)
        rows_in_all = sum(self.ends) - sum(places)
        block = (
            BLOCK
            if self.workers == 1
            else min(BLOCK, max(MIN_ROWS_FOR_THREADS, 1, rows_in_all // (ROUNDS * self.workers)))
        )
        ready, waiting = [none] * self.workers, [none] * self.workers
        misses: Any = none
        while True:
            left = sum(self.ends) - sum(places) + sum(map(len, ready))
            if self.workers == 1 or not left or left < MIN_ROWS_FOR_THREADS or not len(misses):
                # There is nothing, or too little, to do meanwhile.
                self.fill(misses)
                ready = [np.concatenate(rows) for rows in zip(ready, waiting, strict=True)]
                misses, waiting = none, [none] * self.workers
            if not left and not any(map(len, ready)):
                break
            if self.over():
                break
            todo = []
            for w, rows in enumerate(ready):
                fresh = max(0, min(block - len(rows), self.ends[w] - places[w]))
                todo.append(np.concatenate([rows[:block], np.arange(places[w], places[w] + fresh)]))
                places[w] += fresh
            beyond = [rows[block:] for rows in ready]
            again, missed = self._round(todo, misses)
            ready = [np.concatenate(rows) for rows in zip(beyond, waiting, strict=True)]
            waiting, misses = again, missed

    def _round(self, todo: list[Any], misses: Any) -> tuple[list[Any], Any]:
        """Expands these rows of each row set and computes these misses; returns the rows that must be expanded again,
        and their misses.
        """
        space = self.space()
        for worker in self.worker_buffers:
            self.make_room(worker)
        before = sum(row_set.used for row_set in self.next)
        self._all(
            [lambda w: self.expand_rows(w, todo[w], space), lambda w: self._take_in(w)],
            sum(map(len, todo)),
            lambda: self.fill(misses),
        )
        again = []
        for w, worker in enumerate(self.worker_buffers):
            again.append(np.concatenate([worker.found.again[: worker.found.used[1]], todo[w][worker.place :]]))
        missed = self._take_stock()
        states, met_again = (int(sum(worker.tallies[k] for worker in self.worker_buffers)) for k in (0, 1))
        nodes = sum(row_set.used for row_set in self.next) - before
        self.add_new(nodes=nodes, states=states, met_again=met_again)
        for worker in self.worker_buffers:
            worker.tallies[:] = 0
        if any(worker.narrow for worker in self.worker_buffers):
            self._widen()
        return again, missed[~np.isin(missed, misses, assume_unique=True)]

    def make_room(self, worker: Worker) -> None:
        slots = max(self.layout.slots, self.layout_after.slots)
        worker.make_room(self.n, slots, self.layout_after.words, self.sizes())

    def _all(self, steps: Sequence[Callable[[int], None]], rows: int, meanwhile: Callable[[], None]) -> None:
        """Makes all workers do their part of each step, one step after the other; this thread does `meanwhile`."""

        def all_steps(do: Callable[[Callable[[int], None], range], Iterable[None]]) -> None:
            for step in steps:
                list(do(step, range(self.workers)))

        if self.workers == 1 or rows < MIN_ROWS_FOR_THREADS:
            all_steps(map)
            meanwhile()
            return
        try:
            work = self._pool.submit(all_steps, self._pool.map)
            try:
                meanwhile()
            finally:
                wait([work])
            work.result()
        except RuntimeError as error:  # a thread that cannot be started, for want of memory
            raise MemoryError(str(error)) from error

    def space(self) -> kernels.Space:
        """The tables as they are now."""
        tables, monitor_states = self.tables.arrays(), self.monitor_states.arrays()
        return kernels.Space(self.layout, self.layout_after, self.system, tables, monitor_states)

    def expand_rows(self, w: int, todo: Any, space: kernels.Space) -> None:
        row_set = self.now[w]
        self.worker_buffers[w].expand(row_set.rows, row_set.is_new, row_set.asleep, todo, space)

    def _take_in(self, w: int) -> None:
        """Puts the rows that all workers found for this owner into its row set."""
        level_start = self.ends[w] if self.keep else 0
        row_set, tallies = self.next[w], self.worker_buffers[w].tallies
        for worker in self.worker_buffers:
            count = int(worker.filled[w])
            if count:
                row_set.insert(
                    worker.out[w], worker.hashes[w], worker.asleep[w], count, self.layout_after, level_start, tallies
                )

    def _take_stock(self) -> Any:
        """Adds up the workers' findings in a round; returns their misses."""
        misses = []
        for w, worker in enumerate(self.worker_buffers):
            found = worker.found
            self.add_counts(found.counts, found.seen, found.actions)
            for cells in worker.blocked_cells(self.now[w].rows, self.layout, self.n):
                self.add_blocked(cells)
            misses.append(found.misses[: found.used[0]].copy())
            worker.start_again()
        return np.unique(np.concatenate(misses))

    def _widen(self) -> None:
        """Changes the layout of the next rows to one slot more."""
        before = self.layout_after
        self.shape_after = self.shape_of(before.slots + 1)
        self.layout_after = self.shape_after.layout(self.n)
        for row_set in self.next:
            row_set.repack(before, self.layout_after)
        if self.keep:
            self.shape, self.layout = self.shape_after, self.layout_after
