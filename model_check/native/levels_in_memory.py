"""Levels of a search whose rows lie in this process's memory, expanded by threads.

A level's rows lie in one *row set* per worker: a row belongs to the worker that its cells name. A round expands a block
of rows of every row set, each worker writing what it finds into one outbox for each owner; then each owner takes its
shares in and drops what it has already. Meanwhile Python works out the table entries that the round before missed. So
no lock is needed, and what is counted does not depend on how many workers there are.

In a graded space (`ranks`) two row sets suffice, of this level and of the next; otherwise one keeps all rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from . import kernels
from .layout import layout as layout_of
from .levels import Levels
from .row_set import RowSet
from .workers import BLOCK, Worker

if TYPE_CHECKING:
    from .checkpoints import Checkpoint

#: A level takes so many rounds at least, if it has enough rows: in each Python works out what the one before missed.
ROUNDS = 4
#: Below so many rows in a round, threads cost more than they save.
MIN_ROWS_FOR_THREADS = 1 << 10


class LevelsInMemory(Levels):
    """Levels in row sets, one of each worker."""

    #: Where this level's rows begin and end in each row set of `now`; what they lead to goes to `next`.
    begins: list[int]
    ends: list[int]
    now: list[RowSet]
    next: list[RowSet]
    layout: kernels.Layout
    layout_after: kernels.Layout
    worker_buffers: list[Worker]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within it there are threads."""
        with ThreadPoolExecutor(self.search.workers) as self._pool:
            yield

    def start(self) -> None:
        """The initial state alone, in the next level's row set."""
        search = self.search
        self.layout = self.layout_after = search.layout(1)
        self._new_row_sets()
        self.worker_buffers = [Worker(search.workers, sleeps=search.system.sleeps) for _ in range(search.workers)]
        self.begins = self.ends = [0] * search.workers
        self._shelve(search.first_row(self.layout), np.ones(1, np.bool_))

    def turn(self) -> bool:
        """The next level becomes this one; returns whether it has rows."""
        keep = self.search.keep
        ends = [row_set.used for row_set in self.next]
        if keep:
            self.begins = self.ends
        if (keep and ends == self.begins) or not any(ends):
            return False
        if not keep:
            self.now, self.next = self.next, self.now
            self.layout = self.layout_after
            self.layout_after = self.search.layout(self.layout.slots)
            for row_set in self.next:
                row_set.clear(self.layout_after.words)
        self.ends = ends
        return True

    def let_go(self) -> None:
        """What the search needs no more, so that it can be saved."""
        self.worker_buffers = []
        if not self.search.keep:
            self.next = []

    def _new_row_sets(self) -> None:
        def row_sets() -> list[RowSet]:
            return [RowSet(self.layout.words, sleeps=self.search.system.sleeps) for _ in range(self.search.workers)]

        self.next = row_sets()
        self.now = self.next if self.search.keep else row_sets()

    def _shelve(self, rows: Any, is_new: Any) -> None:
        """Puts rows, all different, into their owners' row sets."""
        owners = self.owners_of(rows, self.layout_after)
        for owner, row_set in enumerate(self.next):
            own = owners == owner
            row_set.add(rows[own], self.layout_after, is_new[own])

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    @property
    def saving(self) -> Checkpoint | None:
        return self.search.checkpoint

    def began(self) -> None:
        """Saves this level, if a save is due."""
        if self.saving is not None and self.saving.is_due:
            self.save()

    def save(self) -> None:
        """Saves this level, as it started."""
        if self.search.checkpoint is None:
            return
        arrays = {"log": np.concatenate([np.zeros(0, np.uint64), *self.search.tables.log])}
        for w, row_set in enumerate(self.now):
            begin, end = self.begins[w], self.ends[w]
            arrays[f"level-{w}"] = row_set.rows[begin:end]
            arrays[f"level-new-{w}"] = row_set.is_new[begin:end]
            if begin:
                arrays[f"earlier-{w}"] = row_set.rows[:begin]
        facts = {
            **self.search.saved_facts(),
            "layout": {key: getattr(self.layout, key) for key in ("slots", "monitor_states", "cells", "packets")},
        }
        self.search.checkpoint.save(facts, arrays)

    def restore(self, saving: Checkpoint) -> None:
        """The tables and rows of a checkpoint; refused if the protocol's code is not what it was."""
        assert saving.saved is not None
        facts, arrays = saving.saved
        levels = [arrays[name] for name in sorted(arrays) if name.startswith("level-") and "new" not in name]
        marks = [arrays[name] for name in sorted(arrays) if name.startswith("level-new-")]
        earlier = [arrays[name] for name in sorted(arrays) if name.startswith("earlier-")]
        self.search.resume_tables(facts, arrays["log"], saving)
        layout = layout_of(self.search.n, **structs.asdict(facts.layout))
        self.layout = self.layout_after = layout
        self._new_row_sets()
        for rows in earlier:
            self._shelve(rows, np.zeros(len(rows), np.bool_))
        self.begins = [row_set.used for row_set in self.next] if self.search.keep else [0] * self.search.workers
        self.ends = self.begins
        for rows, is_new in zip(levels, marks, strict=True):
            self._shelve(rows, is_new)

    # -- levels --------------------------------------------------------------------------------------------------------

    def expand(self) -> None:
        """Expands the rows from `begins` to `ends` of each row set.

        While threads expand some, Python works out what was missed before: rows that missed it wait for that.
        """
        places = list(self.begins)
        none = np.zeros(0, np.int64)
        rows_in_all = sum(self.ends) - sum(places)
        block = (
            BLOCK
            if self.search.workers == 1
            else min(BLOCK, max(MIN_ROWS_FOR_THREADS, 1, rows_in_all // (ROUNDS * self.search.workers)))
        )
        ready, waiting = [none] * self.search.workers, [none] * self.search.workers
        misses: Any = none
        while True:
            left = sum(self.ends) - sum(places) + sum(map(len, ready))
            if self.search.workers == 1 or not left or left < MIN_ROWS_FOR_THREADS or not len(misses):
                # There is nothing, or too little, to be done meanwhile.
                self.search.fill(misses)
                ready = [np.concatenate(rows) for rows in zip(ready, waiting, strict=True)]
                misses, waiting = none, [none] * self.search.workers
            if not left and not any(map(len, ready)):
                break
            if self.search.over():
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
        """Expands these rows of each row set and works out these misses; returns the rows that must be expanded again,
        and what they missed.
        """
        tables, monitor_states = self.search.tables.arrays(), self.search.monitor_states.arrays()
        for worker in self.worker_buffers:
            self.make_room(worker)
        before = sum(row_set.used for row_set in self.next)
        self._all(
            [lambda w: self.expand_rows(w, todo[w], tables, monitor_states), lambda w: self._take_in(w)],
            sum(map(len, todo)),
            lambda: self.search.fill(misses),
        )
        again = []
        for w, worker in enumerate(self.worker_buffers):
            worker.grow()
            again.append(np.concatenate([worker.found.again[: worker.found.used[1]], todo[w][worker.place :]]))
        missed = self._take_stock()
        states, met_again = (int(sum(worker.tallies[k] for worker in self.worker_buffers)) for k in (0, 1))
        nodes = sum(row_set.used for row_set in self.next) - before
        self.search.add_new(nodes=nodes, states=states, met_again=met_again)
        for worker in self.worker_buffers:
            worker.tallies[:] = 0
            worker.filled[:] = 0
        if any(worker.narrow for worker in self.worker_buffers):
            self._widen()
        return again, missed[~np.isin(missed, misses, assume_unique=True)]

    def make_room(self, worker: Worker) -> None:
        known, slots = self.search.tables, max(self.layout.slots, self.layout_after.slots)
        worker.make_room(self.search.n, slots, self.layout_after.words, len(known.actions), known)

    def _all(self, steps: Sequence[Callable[[int], None]], rows: int, meanwhile: Callable[[], None]) -> None:
        """Makes every worker do its part of each step, of the next one when all are done with it; `meanwhile` is what
        this thread does.
        """
        if self.search.workers == 1 or rows < MIN_ROWS_FOR_THREADS:
            for step in steps:
                for w in range(self.search.workers):
                    step(w)
            meanwhile()
            return
        barrier = threading.Barrier(self.search.workers)

        def work(w: int) -> None:
            try:
                for step in steps:
                    step(w)
                    barrier.wait()
            except BaseException:
                barrier.abort()
                raise

        parts: list[Future[None]] = []
        try:
            for w in range(self.search.workers):
                parts.append(self._submit(work, w))
            meanwhile()
        except BaseException:
            barrier.abort()
            raise
        finally:
            wait(parts)
        errors = [error for part in parts if (error := part.exception()) is not None]
        # The others only say that one of them failed.
        for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
            raise error

    def _submit(self, work: Callable[[int], None], w: int) -> Future[None]:
        try:
            return self._pool.submit(work, w)
        except RuntimeError as error:  # a thread that cannot be started, for want of memory
            raise MemoryError(str(error)) from error

    def expand_rows(self, w: int, todo: Any, tables: kernels.Tables, monitor_states: kernels.MonitorStates) -> None:
        row_set = self.now[w]
        self.worker_buffers[w].expand(
            row_set.rows,
            row_set.is_new,
            row_set.asleep,
            todo,
            self.layout,
            self.layout_after,
            self.search.system,
            tables,
            monitor_states,
            reduces=self.search.reduces,
        )

    def _take_in(self, w: int) -> None:
        """Puts what all workers found for this owner into its row set."""
        level_start = self.ends[w] if self.search.keep else 0
        row_set, tallies = self.next[w], self.worker_buffers[w].tallies
        for worker in self.worker_buffers:
            count = int(worker.filled[w])
            if count:
                row_set.insert(
                    worker.out[w], worker.hashes[w], worker.asleep[w], count, self.layout_after, level_start, tallies
                )

    def _take_stock(self) -> Any:
        """Adds up what the workers found in a round; returns what they missed."""
        misses = []
        for w, worker in enumerate(self.worker_buffers):
            found = worker.found
            self.search.add_counts(found.counts, found.seen, found.actions)
            for cells in worker.blocked_cells(self.now[w].rows, self.layout, self.search.n):
                self.search.add_blocked(cells)
            misses.append(found.misses[: found.used[0]].copy())
            worker.clear_found()
        return np.unique(np.concatenate(misses))

    def _widen(self) -> None:
        """Lays the next rows out anew, with one slot more."""
        before, self.layout_after = self.layout_after, self.search.layout(self.layout_after.slots + 1)
        for row_set in self.next:
            row_set.repack(before, self.layout_after)
        if self.search.keep:
            self.layout = self.layout_after
