"""A backward slice of the levels: the states that lie on a shortest run to a violation.

The levels are searched once more and kept, up to the last property's violation. For each property, the last level keeps
the rows from which it is violated, and each level before keeps the rows that lead to a kept row of the next.
`shortest.shortest_run` then visits only these. Monitor states are ignored: a state is kept if it is with any of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from crownless.model_check.search.shortest import NoSuchRun
from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import State, System
from crownless.runtime.ending import Stopped

from .columns import distinct
from .row_kernels import canonical
from .row_set import RowSet
from .search import NativeSearch
from .workers import Worker


class SearchForShortest(NativeSearch):
    """A search that keeps its levels, for `ShortestRuns`."""

    def start(self) -> None:
        #: The rows of each level.
        self.kept: list[Any] = []
        super().start()

    def level_begins(self) -> None:
        rows = [row_set.rows[begin:end] for row_set, begin, end in zip(self.now, self.begins, self.ends, strict=True)]
        self.kept.append(np.concatenate(rows))


class ShortestRuns:
    """The states on the shortest runs that violate a property, level by level; `length` is the length of these runs.

    Raises `Stopped` if the search ended before it met a violation, and `NoSuchRun` if there is none. `tick` is called
    regularly; an exception from it ends the slicing.
    """

    def __init__(self, search: SearchForShortest, violated: Property, tick: Callable[[], None] = lambda: None) -> None:
        if violated.name not in search.result.violated:
            if search.result.stopped is None:
                raise NoSuchRun(f"no run violates {violated.name}")
            raise Stopped(search.result.stopped)
        self.search = search
        self._tick = tick
        # All successors of a row are needed.
        search.system = search.system._replace(sleeps=False)
        self._worker = Worker(1)
        search.worker_buffers = [self._worker]
        self.length = search.result.violated[violated.name]
        bit = search.live_bits_of(violated.name) if violated.kind == "live" else search.bits_of(violated.name)
        column = int(violated.kind == "live")
        last = self.length if violated.kind == "live" else self.length - 1
        #: The states kept from each level.
        self._row_sets: list[RowSet] = []
        beyond: RowSet | None = None
        for rows in reversed(search.kept[: last + 1]):
            remain = self._leading(rows, beyond, column, bit)
            beyond = RowSet(search.n)
            beyond.add(remain)
            self._row_sets.insert(0, beyond)
        if search.system.permutations.shape[0] > 1:
            # That of the empty run is the same under every name.
            keys = np.arange(len(search.tables.renamings.all), dtype=np.uint64)
            search.monitor_states.renamed.enter(keys, np.zeros(len(keys), np.int64))

    def _leading(self, rows: Any, beyond: RowSet | None, column: int, bit: int) -> Any:
        """The rows that lead to kept rows of the next level; in the last level, those that violate the property."""
        search, worker = self.search, self._worker
        is_new, asleep = np.zeros(len(rows), np.bool_), np.zeros(0, np.uint32)
        chosen = np.zeros(len(rows), np.bool_)
        marks = np.zeros((len(rows), 2), np.int64)
        todo = np.arange(len(rows))
        while len(todo):
            self._tick()
            search.make_room(worker)
            block = len(worker.found.again)
            some, todo = todo[:block], todo[block:]
            origins = np.zeros((1, worker.outbox_rows), np.int64)
            worker.found = worker.found._replace(origins=origins, marks=marks)
            worker.expand(rows, is_new, asleep, some, search.space())
            found = worker.found
            todo = np.concatenate([found.again[: found.used[1]], some[worker.place :], todo])
            misses = distinct(found.misses[: found.used[0]])
            if beyond is not None:
                there = beyond.has(worker.found_for(0).rows)
                chosen[origins[0, : len(there)][there]] = True
            worker.start_again()
            if len(misses):
                search.tables.fill(misses)
        if beyond is None:
            chosen = marks[:, column] & bit != 0
        return rows[chosen]

    def holds(self, depth: int, system: System, state: State) -> bool:
        """True if this state, at this depth, is on one of the shortest runs."""
        if depth >= len(self._row_sets):
            return True
        search, tables, n = self.search, self.search.tables, self.search.n
        position, flight = system.position(state), system.flight(state)
        row = np.zeros(1 + n, np.int32)
        for p, local in enumerate(system.local_states(state)):
            packets = [(packet, marked) for packet, marked in flight if packet.destination == p]
            row[1 + p] = tables.known_site(p, local, position, packets)
        if row.min() < 0:
            return False
        if search.system.permutations.shape[0] > 1:
            canonical(row, search.space(), np.zeros_like(row), np.zeros_like(row))
        return bool(self._row_sets[depth].has(row[np.newaxis])[0])
