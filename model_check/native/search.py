"""The search itself: level by level, split by owner over the workers, with limits.

A level's rows lie on one *shelf* a worker: a row belongs to the worker that its hash names. A round expands a block of
rows of every shelf, each worker writing what it finds into one share for each owner; then Python works out the table
entries that were missed; then each owner takes its shares in and drops what it has already. So no lock is needed, and
what is counted does not depend on how many workers there are.

In a graded space (`ranks`) two shelves suffice, of this level and of the next; otherwise one keeps all rows.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Workload

from ..explorer import INTERRUPTED, Exploration, Limits, Progress
from ..observers import Observer
from ..properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ALL,
    DELIVERS_SOMETHING,
    HOLDS_BACK,
    NEVER_BLOCKS,
    Property,
)
from . import kernels
from .ghosts import ghosts_for
from .layout import layout as layout_of
from .tables import CHANNEL_ACTIONS, Tables

CHANNEL_NUMBERS = {
    "unordered": kernels.UNORDERED,
    "fifo": kernels.FIFO,
    "lossy": kernels.LOSSY,
    "duplicating": kernels.DUPLICATING,
}

#: Rows that a worker expands in one round, and rows in a share.
BLOCK = 1 << 15
SHARE = 1 << 17
#: Below so many rows in a round, threads cost more than they save.
FEW = 1 << 10


class Shelf:
    """The rows of one owner, and a hash table of them."""

    def __init__(self, words: int) -> None:
        self.rows = np.zeros((1 << 10, words), np.uint64)
        self.is_new = np.zeros(1 << 10, np.bool_)
        self.table = np.zeros(1 << 11, np.uint64)
        self.used = 0

    def clear(self, words: int) -> None:
        """Forgets all rows; the next ones are of so many words."""
        if self.rows.shape[1] != words:
            self.rows = np.zeros((len(self.rows) * self.rows.shape[1] // words + 1, words), np.uint64)
            self.is_new = np.zeros(len(self.rows), np.bool_)
        self.table[:] = 0
        self.used = 0

    def make_room(self, more: int, layout: kernels.Layout) -> None:
        """Room for so many more rows."""
        needed = self.used + more
        if needed > len(self.rows):
            size = max(needed, len(self.rows) * 3 // 2)
            # In place: the system moves pages, and copies nothing.
            self.rows.resize((size, self.rows.shape[1]), refcheck=False)
            self.is_new.resize(size, refcheck=False)
        if needed * 3 > len(self.table) * 2:
            size = len(self.table)
            while needed * 3 > size * 2:
                size *= 2
            self.table = np.zeros(size, np.uint64)
            kernels.rehash(self.rows, 0, self.used, layout, self.table)

    def repack(self, before: kernels.Layout, after: kernels.Layout) -> None:
        rows = np.zeros((len(self.rows), after.words), np.uint64)
        kernels.repack(self.rows, self.used, before, after, rows, np.zeros(len(after.word), np.int64))
        self.rows = rows
        self.table[:] = 0
        kernels.rehash(self.rows, 0, self.used, after, self.table)


class Worker:
    """What one worker writes to."""

    def __init__(self, owners: int) -> None:
        self.owners = owners
        self.out = np.zeros((owners, 0, 0), np.uint64)
        self.hashes = np.zeros((owners, SHARE), np.uint64)
        self.filled = np.zeros(owners, np.int64)
        self.recent = np.full(1 << 12, kernels.EMPTY, np.uint64)
        self.tallies = np.zeros(2, np.int64)
        self.found = kernels.Found(
            np.zeros(2, np.int64),
            np.zeros(2, np.int64),
            np.zeros(64, np.int64),
            np.zeros(BLOCK, np.int64),
            np.zeros(1 << 15, np.uint64),
            np.zeros(BLOCK, np.int64),
            np.zeros(4, np.int64),
        )
        self.reached = 1 << 6

    def lay_out(self, layout: kernels.Layout) -> None:
        if self.out.shape[2] != layout.words:
            self.out = np.zeros((self.owners, SHARE, layout.words), np.uint64)
        size = len(layout.word) + 260  # a step emits fewer packets than 256
        self.scratch = kernels.Scratch(
            np.zeros((self.reached, size), np.int64),
            *(np.zeros(size, np.int64) for _ in range(3)),
            *(np.zeros(layout.words, np.uint64) for _ in range(2)),
            *(np.zeros(count, np.int64) for count in (self.owners, size)),
            np.zeros((1 << 12, 4), np.int64),
            np.zeros(1 << 12, np.int64),
            np.zeros(1 << 14, np.int64),
        )


class NativeSearch:
    """A search that can be run; see `explore`."""

    def __init__(
        self,
        machine: ProtocolMachine,
        workload: Workload,
        channel: str,
        observers: Sequence[Observer],
        properties: Sequence[Property],
        *,
        shared: bool,
        reductions: Sequence[str] = (),
        workers: int = 1,
    ) -> None:
        watched = [name for observer in observers for name in observer.watches]
        names = [*watched, *[""] * (16 - len(watched)), *machine.invariants, *machine.witnesses]
        assert len(watched) <= 16
        assert len(names) < 62
        self.names = names
        self.invariants = set(machine.invariants)
        self.machine = machine
        self.workload = workload
        self.properties = {known.name for known in properties}
        self.workers = workers
        self.n = machine.n
        self.in_order = "order" in reductions
        bit = {name: 1 << k for k, name in enumerate(names)}
        self.ghosts = ghosts_for(observers, workload, bit)
        self.tables = Tables(
            machine,
            workload,
            self.ghosts,
            names,
            channel=CHANNEL_NUMBERS[channel],
            shared=shared,
            symmetric="symmetry" in reductions,
            in_order=self.in_order,
        )
        self.system = kernels.System(
            self.n,
            CHANNEL_NUMBERS[channel],
            workload.messages if workload.takes_anything else 1 << 40,
            workload.takes_anything,
            self.in_order,
            np.array(self.tables.permutations, np.int64),
            np.array(self.tables.frame, np.int64),
            len(self.tables.frames),
        )
        self.result = Exploration()

    def explore(self, limits: Limits | None = None, progress: Progress | None = None) -> Exploration:
        """All of the system, or until a limit is reached."""
        self.limits = limits or Limits()
        self.progress = progress
        self.started = time.monotonic()
        collecting = gc.isenabled()
        gc.disable()
        try:
            with ThreadPoolExecutor(self.workers) as self.pool:
                if not self._search(keep=False):
                    self._search(keep=True)
        except KeyboardInterrupt:
            self.result.stopped = INTERRUPTED
        finally:
            self.result.seconds = time.monotonic() - self.started
            counts = zip(self.tables.actions, self.actions.tolist(), strict=False)
            self.result.actions = {name: count for name, count in counts if count}
            if collecting:
                gc.enable()
        result = self.result
        result.broken = {name: depth for name, depth in result.broken.items() if name in self.properties}
        if self.tables.refuses:
            result.reached.add(HOLDS_BACK.name)
        return result

    # -- one search ----------------------------------------------------------------------------------------------------

    def _search(self, *, keep: bool) -> bool:
        """Returns false if the space turned out not to be graded, and not all rows were kept."""
        self.result = result = Exploration()
        self.keep = keep
        tables, ghosts = self.tables, self.ghosts
        self.layout = self._layout(1)
        self.layout_after = self.layout
        self.next = [Shelf(self.layout.words) for _ in range(self.workers)]
        self.now = self.next if keep else [Shelf(self.layout.words) for _ in range(self.workers)]
        self.crew = [Worker(self.workers) for _ in range(self.workers)]
        self.actions = np.zeros(64, np.int64)
        seen = 0
        for cell in tables.initial:
            seen |= tables.seen(cell)
        self._see(seen, 0)
        numbers = np.zeros(len(self.layout.word), np.int64)
        numbers[1 : 1 + self.n] = tables.initial
        row = np.zeros((1, self.layout.words), np.uint64)
        kernels.pack(numbers, self.layout, row[0])
        h = np.array([kernels.hash_of(row[0], self.layout)], np.uint64)
        owner = kernels.owner_of(numbers, self.n, self.workers)
        self.next[owner].make_room(1, self.layout)
        shelf = self.next[owner]
        tallies = np.zeros(2, np.int64)
        shelf.used = kernels.insert(row, h, 1, self.layout, shelf.rows, shelf.is_new, shelf.table, 0, 0, tallies)
        result.states = result.nodes = 1
        level = 0
        begins = [0] * self.workers
        while True:
            ends = [shelf.used for shelf in self.next]
            if ends == begins and keep or not keep and not any(ends):
                break
            if not keep:
                self.now, self.next = self.next, self.now
                self.layout = self.layout_after
                self.layout_after = self._layout(self.layout.slots)
                for shelf in self.next:
                    shelf.clear(self.layout_after.words)
            new = self._level(level, begins, ends)
            if result.stopped:
                return True
            if not keep and not tables.ranks.graded:
                return False
            level += 1
            if new:
                result.depth = level
            if keep:
                begins = ends
        return True

    def _layout(self, slots: int) -> kernels.Layout:
        """For twice as many numbers as there are."""
        return layout_of(
            self.n,
            slots,
            ghosts=2 * len(self.ghosts),
            cells=2 * len(self.tables.cells),
            packets=2 * len(self.tables.packets),
        )

    def _level(self, level: int, begins: list[int], ends: list[int]) -> int:
        """Expands the rows from `begins` to `ends` of each shelf; returns how many new states they lead to."""
        result = self.result
        states = result.states
        places = list(begins)
        again: list[Any] = [np.zeros(0, np.int64)] * self.workers
        for worker in self.crew:
            worker.lay_out(self.layout_after)
        while any(place < end for place, end in zip(places, ends, strict=True)) or any(map(len, again)):
            if self._over(level):
                break
            todo = []
            for w in range(self.workers):
                fresh = min(BLOCK - len(again[w]), ends[w] - places[w])
                todo.append(np.concatenate([again[w], np.arange(places[w], places[w] + fresh)]))
                places[w] += fresh
            again = self._round(level, todo, ends)
            if not (self.keep or self.tables.ranks.graded):
                break
        return result.states - states

    def _round(self, level: int, todo: list[Any], ends: list[int]) -> list[Any]:
        """Expands these rows of each shelf; returns those that must be expanded again."""
        tables, ghosts = self.tables.arrays(), self.ghosts.arrays()
        rows = sum(map(len, todo))
        reached = self._all(lambda w: self._expand(w, todo[w], tables, ghosts), rows)
        narrow = any(place < 0 for place in reached)
        for worker in self.crew:
            if worker.found.used[3]:
                worker.reached *= 2
                worker.lay_out(self.layout_after)
        again = []
        for w, place in enumerate(reached):
            found = self.crew[w].found
            rest = todo[w][place if place >= 0 else -1 - place :]
            again.append(np.concatenate([found.again[: found.used[1]], rest]))
        misses = self._take_stock(level)
        result = self.result
        before = sum(shelf.used for shelf in self.next)
        self._all(lambda w: self._take_in(w, ends[w] if self.keep else 0), rows)
        result.nodes += sum(shelf.used for shelf in self.next) - before
        for worker in self.crew:
            result.states += int(worker.tallies[0])
            result.graded &= not worker.tallies[1]
            worker.tallies[:] = 0
            worker.filled[:] = 0
        if len(misses):
            self.tables.fill(misses)
        if narrow:
            self._widen()
        return again

    def _all(self, work: Callable[[int], int], rows: int) -> list[int]:
        """Has every worker do its part."""
        if self.workers == 1 or rows < FEW:
            return [work(w) for w in range(self.workers)]
        return list(self.pool.map(work, range(self.workers)))

    def _expand(self, w: int, todo: Any, tables: kernels.Tables, ghosts: kernels.Ghosts) -> int:
        worker, shelf = self.crew[w], self.now[w]
        return kernels.expand(
            shelf.rows,
            shelf.is_new,
            todo,
            self.layout,
            self.layout_after,
            self.system,
            tables,
            ghosts,
            worker.out,
            worker.hashes,
            worker.filled,
            worker.found,
            worker.recent,
            worker.scratch,
        )

    def _take_in(self, w: int, level_start: int) -> int:
        """Puts what all workers found for this owner on its shelf."""
        shelf, tallies = self.next[w], self.crew[w].tallies
        for worker in self.crew:
            count = int(worker.filled[w])
            if count:
                shelf.make_room(count, self.layout_after)
                shelf.used = kernels.insert(
                    worker.out[w],
                    worker.hashes[w],
                    count,
                    self.layout_after,
                    shelf.rows,
                    shelf.is_new,
                    shelf.table,
                    level_start,
                    shelf.used,
                    tallies,
                )
        return 0

    def _take_stock(self, level: int) -> Any:
        """Adds up what the workers found in a round; returns what they missed."""
        result = self.result
        misses = []
        for w, worker in enumerate(self.crew):
            found = worker.found
            result.transitions += int(found.counts[0])
            result.terminal_states += int(found.counts[1])
            self._see(int(found.seen[0]), level + 1)
            self._judge(int(found.seen[1]), level)
            self.actions += found.actions
            for r in found.blocked[: found.used[2]].tolist():
                result.blocked.add(self._waits(self.now[w].rows[r]))
            misses.append(found.misses[: found.used[0]].copy())
            for array in (found.counts, found.seen, found.actions, found.used):
                array[:] = 0
        return np.unique(np.concatenate(misses))

    def _see(self, seen: int, depth: int) -> None:
        """Properties that a transition to this depth breaks or reaches."""
        if seen & kernels.DELIVERS:
            self.result.reached.add(DELIVERS_SOMETHING.name)
        for k, name in enumerate(self.names):
            if seen >> k & 1 and name:
                if k < 16 or name in self.invariants:
                    self.result.broken.setdefault(name, depth)
                else:
                    self.result.reached.add(name)

    def _judge(self, seen: int, depth: int) -> None:
        """Live properties that a run breaks or meets which ends at this depth."""
        if seen & 1:
            self.result.broken.setdefault(NEVER_BLOCKS.name, depth)
            self.result.broken.setdefault(COMPLETES.name, depth)
        if seen & 2:
            self.result.broken.setdefault(DELIVERS_ALL.name, depth)
        if seen & 4:
            self.result.reached.add(CAN_COMPLETE.name)

    def _waits(self, row: Any) -> tuple[str, ...]:
        """What each application waits for in a row."""
        numbers = np.zeros(len(self.layout.word), np.int64)
        kernels.unpack(row, self.layout, numbers)
        positions = [self.tables.cells[cell][2] for cell in numbers[1 : 1 + self.n]]
        return tuple(self.workload.describe(tuple(map(sum, zip(*positions, strict=True)))))

    def _widen(self) -> None:
        """Lays the next rows out anew, with one slot more."""
        before, self.layout_after = self.layout_after, self._layout(self.layout_after.slots + 1)
        for shelf in self.next:
            shelf.repack(before, self.layout_after)
        if self.keep:
            self.layout = self.layout_after
        for worker in self.crew:
            worker.lay_out(self.layout_after)

    def _over(self, level: int) -> bool:
        """Tells how far the search is; is a limit reached?"""
        result, limits = self.result, self.limits
        result.seconds = time.monotonic() - self.started
        if self.progress is not None:
            self.progress(result, level)
        if limits.seconds is not None and result.seconds > limits.seconds:
            result.stopped = f"{limits.seconds:g} seconds are over"
        elif limits.states is not None and result.states >= limits.states:
            result.stopped = f"{limits.states} states are reached"
        elif limits.memory is not None and psutil.Process().memory_info().rss > limits.memory:
            result.stopped = f"{limits.memory >> 20} MiB of memory are used"
        return result.stopped is not None
