"""The search whose rows lie in this process's memory, expanded by threads.

A level's rows lie in one *row set* per worker: a row belongs to the worker that a hash of its sites gives. In a round,
threads take chunks of rows, expand them, and put the successors, unless they are known, into their owners' row sets,
one thread at a time into each. Meanwhile Python computes the table entries that the previous round missed. Counts do
not depend on the number of workers.

In a graded space (`ranks`) two row sets suffice, of this level and of the next; otherwise one keeps all rows.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Barrier, Lock
from typing import Any

import numpy as np

from . import kernels
from .columns import distinct
from .level_search import LevelSearch
from .row_set import RowSet
from .workers import BLOCK, Worker

#: The number of rounds aimed at in a level with enough rows: in each, Python computes entries missed before.
ROUNDS = 12
#: The number of rows of a checkpoint that are copied at a time.
ADDED_AT_ONCE = 1 << 16
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
    worker_buffers: list[Worker]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within it the threads run."""
        self._lock, self._locks = Lock(), [Lock() for _ in range(self.workers)]
        with ThreadPoolExecutor(self.workers) as self._pool:
            list(self._pool.map(Barrier(self.workers).wait, [None] * self.workers))  # all start, while there is memory
            yield

    def start(self) -> None:
        """The initial state alone, in the next level's row set."""
        self._make_buffers()
        self.begins = self.ends = [0] * self.workers
        self._add(self.first_row())

    def turn(self) -> bool:
        """The next level becomes this one; returns whether it has rows."""
        ends = [row_set.used for row_set in self.next]
        if self.keep:
            self.begins = self.ends
        if (self.keep and ends == self.begins) or not any(ends):
            return False
        if not self.keep:
            self.now, self.next = self.next, self.now
            for level, following in zip(self.now, self.next, strict=True):
                following.table, level.table = level.table, NO_TABLE  # a level that is expanded is not searched
                following.clear()
        self.ends = ends
        return True

    def release_memory(self) -> None:
        """Frees memory that the search no longer needs, so that it can be saved."""
        self.worker_buffers = []
        if not self.keep:
            self.next = []

    def _make_buffers(self) -> None:
        def row_sets() -> list[RowSet]:
            return [RowSet(self.n, sleeps=self.system.sleeps) for _ in range(self.workers)]

        self.next = row_sets()
        self.now = self.next if self.keep else row_sets()
        self.worker_buffers = [Worker(self.workers, sleeps=self.system.sleeps) for _ in range(self.workers)]

    def _add(self, rows: Any) -> None:
        """Adds rows to their owners' row sets."""
        for begin in range(0, len(rows), ADDED_AT_ONCE):
            some = rows[begin : begin + ADDED_AT_ONCE]
            owners = self.owners_of(some)
            for owner, row_set in enumerate(self.next):
                row_set.add(some[owners == owner])

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def rows_to_save(self) -> tuple[Any, dict[str, Any]]:
        arrays: dict[str, Any] = {}
        for w, row_set in enumerate(self.now):
            begin, end = self.begins[w], self.ends[w]
            arrays[f"earlier-{w}"] = row_set.rows[:begin]
            arrays[f"level-{w}"] = row_set.rows[begin:end]
        return self.workers, arrays

    def restore_rows(self, rows: Any, arrays: Mapping[str, Any]) -> None:
        self._make_buffers()
        for w in range(rows):
            self._add(arrays[f"earlier-{w}"])
        self.begins = self.ends = [row_set.used for row_set in self.next]
        for w in range(rows):
            self._add(arrays[f"level-{w}"])

    # -- levels --------------------------------------------------------------------------------------------------------

    def expand(self) -> None:
        """Expands the rows from `begins` to `ends` of each row set.

        While threads expand some, Python computes the entries missed before, for which rows wait.
        """
        rows = sum(self.ends) - sum(self.begins)
        block = BLOCK
        if self.workers > 1:
            block = min(4 * BLOCK, max(MIN_ROWS_FOR_THREADS, 1, rows // (ROUNDS * self.workers)))
        self._chunk_size = max(1, min(block, BLOCK // 2))
        #: Rows to be expanded: their owner, and their numbers.
        self._todo = deque[tuple[int, Any]](enumerate(map(range, self.begins, self.ends)))
        waiting: list[tuple[int, Any]] = []
        misses: Any = np.zeros(0, np.uint64)
        while True:
            left = sum(len(rows) for _, rows in self._todo)
            threads = self.workers if left >= MIN_ROWS_FOR_THREADS else 1
            if threads == 1 or not left:
                # There is nothing, or too little, to do meanwhile.
                self.fill(misses)
                self._todo.extendleft(waiting)
                misses, waiting = misses[:0], []
            if not any(len(rows) for _, rows in self._todo) or self.over():
                break
            missing_rows, missed = self._round(threads, block * threads, misses)
            self._todo.extendleft(waiting)
            misses, waiting = missed, [(owner, np.concatenate(rows)) for owner, rows in missing_rows.items()]

    def _round(self, threads: int, rows: int, misses: Any) -> tuple[dict[int, list[Any]], Any]:
        """Lets threads expand at least this number of rows while this one computes the missed entries; returns, by
        owner, the rows that now miss an entry, and the entries that they miss.
        """
        for worker in self.worker_buffers:
            self.make_room(worker)
        self._space, self._left, self._is_filling = self.space(), rows, threads > 1
        self._waiting = defaultdict[int, list[Any]](list)
        self._missed = [misses[:0]]
        before = sum(row_set.used for row_set in self.next)
        if threads == 1:
            self._work(0)
        else:
            try:
                work = [self._pool.submit(self._work, w) for w in range(threads)]
                try:
                    self.fill(misses)
                finally:
                    self._is_filling = False
                    wait(work)
                for each in work:
                    each.result()
            except RuntimeError as error:  # a thread that cannot be started, for want of memory
                raise MemoryError(str(error)) from error
        states, met_again = sum(worker.tallies for worker in self.worker_buffers).tolist()
        self.add_new(nodes=sum(row_set.used for row_set in self.next) - before, states=states, met_again=met_again)
        for worker in self.worker_buffers:
            self.add_counts(worker.found.counts, worker.found.seen, worker.found.actions)
            worker.start_again()
        missed = distinct(np.concatenate(self._missed))
        return self._waiting, missed[~np.isin(missed, misses, assume_unique=True)]

    def _next_chunk(self) -> tuple[int, Any] | None:
        """The rows to expand next: their owner, and their numbers; None if the round is over."""
        with self._lock:
            if not self._todo or (self._left <= 0 and not self._is_filling):
                return None
            owner, rows = self._todo.popleft()
            if len(rows) > self._chunk_size:
                self._todo.appendleft((owner, rows[self._chunk_size :]))
                rows = rows[: self._chunk_size]
            self._left -= len(rows)
        return owner, np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows

    def _work(self, w: int) -> None:
        """Expands chunks of rows, and inserts the successors into their owners' row sets, until the round ends."""
        worker, found = self.worker_buffers[w], self.worker_buffers[w].found
        while not found.used[3] and (chunk := self._next_chunk()) is not None:
            owner, numbers = chunk
            row_set = self.now[owner]
            rows, is_new, todo = row_set.rows, row_set.is_new, numbers
            if self.keep:  # others may be adding to them
                with self._locks[owner]:
                    rows, is_new, todo = row_set.rows[numbers], row_set.is_new[numbers], np.arange(len(numbers))
            worker.expand(rows, is_new, row_set.asleep, todo, self._space)
            if worker.place < len(todo):
                self._todo.appendleft((owner, numbers[worker.place :]))
            again = found.again[: found.used[1]]
            self._waiting[owner].append(numbers[again] if self.keep else again.copy())
            self._missed.append(found.misses[: found.used[0]].copy())
            self.add_blocked(worker.blocked(rows))
            for other in range(self.workers):
                self._insert_found(worker, (w + other) % self.workers)
            worker.empty()

    def _insert_found(self, worker: Worker, owner: int) -> None:
        """Puts the rows that a worker found for this owner into its row set."""
        level_start = self.ends[owner] if self.keep else 0
        with self._locks[owner]:
            self.next[owner].insert(worker.found_for(owner), level_start, worker.tallies)

    def make_room(self, worker: Worker) -> None:
        worker.make_room(self.n, len(self.tables.actions), self.tables.sites.most_moves)

    def space(self) -> kernels.Space:
        """The tables as they are now."""
        return kernels.Space(self.system, self.tables.arrays(), self.monitor_states.arrays())
