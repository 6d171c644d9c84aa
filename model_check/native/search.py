"""The search by packed rows: level by level, split by owner over the workers, with limits.

A level's rows lie in one *row set* per worker: a row belongs to the worker that its cells name. A round expands a block
of rows of every row set, each worker writing what it finds into one outbox for each owner; then Python works out the
table entries that were missed; then each owner takes its shares in and drops what it has already. So no lock is needed,
and what is counted does not depend on how many workers there are.

In a graded space (`ranks`) two row sets suffice, of this level and of the next; otherwise one keeps all rows.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from crownless.impl.parametric import parametric
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free, Workload
from crownless.model_check.collector import collector_off
from crownless.model_check.engines import SymmetryCheck
from crownless.model_check.exploration import FIRST_VIOLATION, Exploration, Progress
from crownless.model_check.limits import Limits, allocation_failed, states_are_reached
from crownless.model_check.monitors import Monitor
from crownless.model_check.properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ALL,
    DELIVERS_SOMETHING,
    HOLDS_BACK,
    NEVER_BLOCKS,
    RELEASES,
    Property,
)
from crownless.model_check.stopping import StoppedInCall, deferred, reason_of
from crownless.spec.errors import BadInput
from crownless.spec.printable import error_line

from . import full_kernels, kernels, reduced_kernels, row_set_kernels
from .checkpoints import Checkpoint
from .compiled import is_compiling, seconds_compiling
from .full_kernels import PREFETCH_BATCH
from .layout import layout as layout_of
from .monitor_states import MAX_MONITORED, InTurn, PlainMonitorStates, Unforeseen, monitor_states_for
from .saved_directories import SavedDirectory
from .saved_facts import SavedSearch, SavedTables
from .saved_rows import problem_with_rows
from .symmetry import NotSymmetric
from .tables import Tables

CHANNEL_NUMBERS = {
    "unordered": kernels.UNORDERED,
    "fifo": kernels.FIFO,
    "lossy": kernels.LOSSY,
    "duplicating": kernels.DUPLICATING,
}

#: Rows that a worker expands in one round, and rows in all its outboxes.
BLOCK = 1 << 15
OUTBOX_ROWS = 1 << 17
#: A level takes so many rounds at least, if it has enough rows: in each Python works out what the one before missed.
ROUNDS = 4
#: Below so many rows in a round, threads cost more than they save.
MIN_ROWS_FOR_THREADS = 1 << 10
#: Before stamps no longer fit into 32 bits, they start again.
LAST_STAMP = 1 << 30
#: Seconds after which Python lets a worker begin: its part of a round may take less than the usual five milliseconds.
SWITCH_EVERY = 5e-5
#: The properties that no monitor reports and no local state breaks or reaches.
OF_THE_WHOLE_STATE = frozenset(
    known.name
    for known in (CAN_COMPLETE, COMPLETES, DELIVERS_ALL, DELIVERS_SOMETHING, HOLDS_BACK, NEVER_BLOCKS, RELEASES)
)
#: Seconds between checkpoints.
SAVE_EVERY = 20.0


def searching_time() -> float:
    """Seconds, of which those do not count in which Numba compiles."""
    return time.monotonic() - seconds_compiling()


def _unicast(workload: Workload) -> bool:
    return isinstance(workload, Free) and all(len(receivers) == 1 for _, receivers in workload.channels)


class RowSet:
    """The rows of one owner, and a hash table of them."""

    def __init__(self, words: int, *, sleeps: bool = False) -> None:
        self.rows = np.zeros((1 << 10, words), np.uint64)
        self.is_new = np.zeros(1 << 10, np.bool_)
        #: Which moves of each row sleep, if any do; see `full_kernels.expand`.
        self.asleep = np.zeros(1 << 10 if sleeps else 0, np.uint32)
        self.table = np.zeros(1 << 11, np.uint64)
        self.used = 0

    def clear(self, words: int) -> None:
        """Forgets all rows; the next ones are of so many words."""
        if self.rows.shape[1] != words:
            self.rows = np.zeros((len(self.rows) * self.rows.shape[1] // words + 1, words), np.uint64)
            self.is_new = np.zeros(len(self.rows), np.bool_)
            if len(self.asleep):
                self.asleep = np.zeros(len(self.rows), np.uint32)
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
            if len(self.asleep):
                self.asleep.resize(size, refcheck=False)
        if needed * 3 > len(self.table) * 2:
            size = len(self.table)
            while needed * 3 > size * 2:
                size *= 2
            self.table = np.zeros(size, np.uint64)
            row_set_kernels.rehash(self.rows, 0, self.used, layout, self.table)

    def repack(self, before: kernels.Layout, after: kernels.Layout) -> None:
        rows = np.zeros((len(self.rows), after.words), np.uint64)
        row_set_kernels.repack(self.rows, self.used, before, after, rows, np.zeros(len(after.word), np.int64))
        self.rows = rows
        self.table[:] = 0
        row_set_kernels.rehash(self.rows, 0, self.used, after, self.table)


def _apart(count: int, dtype: Any = np.int64) -> Any:
    """Zeroes in cache lines of their own, for what a worker writes all the time and others must not wait for."""
    line = 16
    return np.zeros(count + 2 * line, dtype)[line : line + count]


class Worker:
    """The buffers of one worker: its outboxes, and scratch memory."""

    scratch: kernels.Scratch

    def __init__(self, owners: int, *, sleeps: bool = False) -> None:
        self.owners = owners
        self.sleeps = sleeps
        self.outbox_rows = max(OUTBOX_ROWS // owners, 1)
        self.reached = 1 << 6
        #: How far the last expansion got.
        self.place = 0
        self.out = np.zeros((owners, 0, 0), np.uint64)
        self.hashes = np.zeros((owners, 0), np.uint64)
        self.asleep = np.zeros((owners, 0), np.uint32)
        self.filled = _apart(owners)
        self.recent = np.full(1 << 12, kernels.EMPTY, np.uint64)
        self.tallies = _apart(2)
        self.found = kernels.Found(
            counts=_apart(2),
            seen=_apart(2),
            actions=np.zeros(0, np.int64),
            blocked=np.zeros(BLOCK, np.int64),
            misses=np.zeros(1 << 15, np.uint64),
            again=np.zeros(BLOCK, np.int64),
            origins=np.zeros((0, 0), np.int64),
            marks=np.zeros((0, 2), np.int64),
            used=_apart(4),
        )
        self._room: tuple[int, ...] = ()

    def make_room(self, fields: int, words: int, moves: int, actions: int) -> None:
        """Room for rows of so many fields and words, for so many moves of one row, and for the names of actions."""
        room = (fields, words, moves, actions, self.outbox_rows, self.reached)
        if room == self._room:
            if self.scratch.stamp[0] > LAST_STAMP:
                self.scratch.stamp[0] = 0
                self.scratch.places[:] = 0
            return
        self._room = room
        self.found = self.found._replace(actions=_apart(actions))
        self.out = np.zeros((self.owners, self.outbox_rows, words), np.uint64)
        self.hashes = np.zeros((self.owners, self.outbox_rows), np.uint64)
        self.asleep = np.zeros((self.owners, self.outbox_rows if self.sleeps else 0), np.uint32)
        self.scratch = kernels.Scratch(
            numbers=np.zeros((PREFETCH_BATCH, fields), np.int64),
            reached=np.zeros((self.reached, fields), np.int64),
            after=_apart(fields),
            best=_apart(fields),
            trial=_apart(fields),
            base=_apart(words, np.uint64),
            row=_apart(words, np.uint64),
            started=_apart(self.owners),
            limit=_apart(fields),
            moves=np.zeros((PREFETCH_BATCH, moves, 4), np.int64),
            steps=np.zeros((PREFETCH_BATCH, moves), np.int64),
            listed=np.zeros((PREFETCH_BATCH, 5), np.int64),
            theirs=_apart(fields),
            acts=_apart(actions),
            places=np.zeros(4 * self.reached, np.int64),
            stamp=_apart(1),
        )


class NativeSearch:
    """A search that can be run; see `explore`."""

    #: Are all rows kept, or those of two levels?
    keep: bool
    level: int
    #: Where this level's rows begin and end in each row set of `now`; what they lead to goes to `next`.
    begins: list[int]
    ends: list[int]
    now: list[RowSet]
    next: list[RowSet]
    layout: kernels.Layout
    layout_after: kernels.Layout
    worker_buffers: list[Worker]

    def __init__(
        self,
        machine: ProtocolMachine,
        workload: Workload,
        channel: str,
        monitors: Sequence[Monitor],
        properties: Sequence[Property],
        *,
        shared: bool,
        reductions: Sequence[str] = (),
        workers: int = 1,
    ) -> None:
        monitored = [name for monitor in monitors for name in monitor.watches]
        own = [*machine.invariants, *machine.witnesses, *machine.rules]
        self._first_witness = MAX_MONITORED + len(machine.invariants)
        #: The properties by their bits: those of the monitors first, then those of local states, invariants first.
        self.names = [*monitored, *[""] * (MAX_MONITORED - len(monitored)), *own]
        self._bits = (
            {name: 1 << k for k, name in enumerate(monitored)},
            {name: 1 << k + MAX_MONITORED for k, name in enumerate(machine.invariants)},
            {name: 1 << k + self._first_witness for k, name in enumerate(machine.witnesses)},
            {name: 1 << k + self._first_witness + len(machine.witnesses) for k, name in enumerate(machine.rules)},
        )
        self._given = (monitors, channel, shared, tuple(reductions))
        self.machine = machine
        self.workload = workload
        self.properties = {known.name for known in properties}
        self.workers = workers
        self.n = machine.n
        self.in_order = "order" in reductions
        self.result = Exploration()
        #: How the processes of a protocol that declares them alike were seen to differ; then they share nothing.
        self.asymmetry: str | None = None
        self._prepare(plain_monitor_states=False)

    def _prepare(self, *, plain_monitor_states: bool) -> None:
        """Empty tables. The monitors in their plain form take all that a protocol can say to have happened."""
        try:
            self._prepare_tables(plain_monitor_states=plain_monitor_states)
        except NotSymmetric as difference:
            self._separate_tables(str(difference))
            self._prepare_tables(plain_monitor_states=plain_monitor_states)

    def _separate_tables(self, why: str) -> None:
        """Each process gets tables of its own, and none is taken for another."""
        monitors, channel, _, reductions = self._given
        self.asymmetry = why
        self._given = (monitors, channel, False, tuple(name for name in reductions if name != "symmetry"))

    @property
    def symmetry(self) -> SymmetryCheck:
        """The comparison of processes that are declared alike."""
        alike = self.tables.alike
        if alike is None:
            return SymmetryCheck(self.asymmetry)
        return SymmetryCheck(None, alike.parametric, alike.entries, alike.compared)

    def _prepare_tables(self, *, plain_monitor_states: bool) -> None:
        monitors, channel, shared, reductions = self._given
        workload = self.workload
        self.plain_monitor_states = plain_monitor_states
        self._tables_are_whole = True
        bit = self._bits[0]
        self.monitor_states = (
            PlainMonitorStates(monitors, bit) if plain_monitor_states else monitor_states_for(monitors, workload, bit)
        )
        if self.in_order and isinstance(self.monitor_states, PlainMonitorStates):
            self.monitor_states = PlainMonitorStates([*monitors, InTurn()], bit)
        # Tables say what becomes of one message more than is sent.
        longest = max(self.n, workload.messages + 1)
        alike = parametric(self.machine, longest) if shared and _unicast(workload) else None
        self.tables = Tables(
            self.machine,
            workload,
            self.monitor_states,
            *self._bits[1:],
            channel=CHANNEL_NUMBERS[channel],
            shared=shared,
            symmetric="symmetry" in reductions,
            in_order=self.in_order,
            parametric=alike,
        )
        self.system = kernels.SearchConstants(
            self.n,
            CHANNEL_NUMBERS[channel],
            workload.messages if workload.takes_anything else 1 << 40,
            workload.takes_anything,
            False,
            self.in_order,
            np.array(self.tables.permutations, np.int64),
            np.array(self.tables.frame, np.int64),
            len(self.tables.frames),
        )

    @property
    def _commutes(self) -> bool:
        """Do moves of different processes commute, for the monitors too? The compiled ones foresee no others."""
        return not (self._reduces or isinstance(self.monitor_states, PlainMonitorStates))

    @property
    def _reduces(self) -> bool:
        return bool(self._given[3])

    def bits_of(self, name: str) -> int:
        """The bits of a property that is broken by a step; an invariant may be called like an order."""
        return self._bits[0].get(name, 0) | self._bits[1].get(name, 0)

    def explore(
        self,
        limits: Limits | None = None,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
        until: Iterable[str] = (),
        *,
        first: bool = False,
    ) -> Exploration:
        """All of the system, or until a limit is reached, or until all of the properties `until`, if any, are broken;
        with `first`, up to the level with the first violation. Given a checkpoint, goes on from it if it holds
        something, and saves itself there now and then, and where it stops early.
        """
        self.until = set(until)
        self.first = first
        self.limits = limits or Limits()
        self.progress = progress
        self.checkpoint = checkpoint
        self.saved_at = time.monotonic()
        self.marked: dict[str, Any] | None = None
        self.started = searching_time()
        self.seconds_before = 0.0
        self.resumed: Path | None = None
        switching = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_EVERY)
        try:
            with (
                collector_off(),
                deferred(unless=is_compiling) as self.asked_to_end,
                ThreadPoolExecutor(self.workers) as self.pool,
            ):
                try:
                    self._search_or_start_over()
                except MemoryError:
                    self._give_up()
                except StoppedInCall as ending:
                    self.result.stopped = reason_of(ending)
                if self.result.stopped:
                    self._save_at_the_end()
        except (BadInput, MemoryError):
            raise
        except Exception as error:
            if self.resumed is None:
                raise
            failure = error_line(error)
            raise BadInput(
                f"--resume {self.resumed}: what is saved there makes the protocol fail ({failure})",
                hint="start anew with --checkpoint and another directory; if it fails there too, the protocol is wrong",
            ) from error
        finally:
            self.result.seconds = self.seconds_before + searching_time() - self.started
            self.result.actions = {name: count for name, count in self.result.actions.items() if count}
            sys.setswitchinterval(switching)
        result = self.result
        result.broken = {name: depth for name, depth in result.broken.items() if name in self.properties}
        result.acyclic = self.tables.acyclic
        result.reached |= self.tables.exercised.reached
        return result

    def _search_or_start_over(self) -> None:
        while True:
            try:
                self._search_all()
                return
            except Unforeseen:
                self._prepare(plain_monitor_states=True)
            except NotSymmetric as difference:
                self._separate_tables(str(difference))
                self._prepare(plain_monitor_states=self.plain_monitor_states)

    def _search_all(self) -> None:
        if not self._search(keep=False):
            self._search(keep=True)

    def _give_up(self) -> None:
        """Ends a search to which the system gives no more memory; what it needs no more is let go, so that it can be
        saved.
        """
        self.result.stopped = allocation_failed()
        self.worker_buffers = []
        if not self.keep:
            self.next = []

    # -- one search ----------------------------------------------------------------------------------------------------

    def _search(self, *, keep: bool) -> bool:
        """Returns false if the space proved not to be graded, and not all rows were kept."""
        self.keep = keep
        self.system = self.system._replace(sleeps=not keep and self._commutes)
        self._start()
        if self.checkpoint is not None and self.checkpoint.saved is not None:
            self._restore(*self.checkpoint.saved)
            self.checkpoint.saved = None
            self.resumed = self.checkpoint.directory
        while True:
            ends = [row_set.used for row_set in self.next]
            if (self.keep and ends == self.begins) or not any(ends):
                return True
            if not self.keep:
                self.now, self.next = self.next, self.now
                self.layout = self.layout_after
                self.layout_after = self._layout(self.layout.slots)
                for row_set in self.next:
                    row_set.clear(self.layout_after.words)
            self.ends = ends
            self._mark()
            self.begin_level()
            done = self._next_level()
            if done is not None:
                return done
            if self.keep:
                self.begins = ends

    def _next_level(self) -> bool | None:
        """Goes through a level: None if there may be another, else what `_search` returns."""
        states = self.result.states
        self._level()
        if self.result.stopped or (self.until and self.until <= self.result.broken.keys()):
            return True
        if not self.keep and not self.tables.graded:
            return False
        self.result.levels.append(self.result.states - states)
        self.level += 1
        if self.result.states > states:
            self.result.depth = self.level
        if self.first and self.properties & self.result.broken.keys():
            self.result.stopped = FIRST_VIOLATION
            return True
        return None

    def _first_row(self, layout: kernels.Layout) -> Any:
        """The initial state, packed."""
        for cell in self.tables.initial:
            self._see(self.tables.seen(cell), 0)
        numbers = np.zeros(len(layout.word), np.int64)
        numbers[1 : 1 + self.n] = self.tables.initial
        row = np.zeros((1, layout.words), np.uint64)
        kernels.pack(numbers, layout, row[0])
        return row

    def begin_level(self) -> None:
        """Called where a level's rows lie on `now`, from `begins` to `ends`."""

    def _start(self) -> None:
        """The initial state alone, in the next level's row set."""
        self.result = result = Exploration()
        self.level = 0
        self.layout = self.layout_after = self._layout(1)
        self._new_row_sets()
        self.worker_buffers = [Worker(self.workers, sleeps=self.system.sleeps) for _ in range(self.workers)]
        self.begins = [0] * self.workers
        self.ends = [0] * self.workers
        self._shelve(self._first_row(self.layout), np.ones(1, np.bool_))
        result.states = result.nodes = 1
        result.levels = [1]

    def _new_row_sets(self) -> None:
        def row_sets() -> list[RowSet]:
            return [RowSet(self.layout.words, sleeps=self.system.sleeps) for _ in range(self.workers)]

        self.next = row_sets()
        self.now = self.next if self.keep else row_sets()

    def _shelve(self, rows: Any, is_new: Any) -> None:
        """Puts rows, all different, into their owners' row sets."""
        owners = np.zeros(len(rows), np.int64)
        room = np.zeros(len(self.layout_after.word), np.int64)
        row_set_kernels.owners_of(rows, self.layout_after, self.n, self.workers, room, owners)
        for owner, row_set in enumerate(self.next):
            own = owners == owner
            count = int(own.sum())
            row_set.make_room(count, self.layout_after)
            row_set.rows[row_set.used : row_set.used + count] = rows[own]
            row_set.is_new[row_set.used : row_set.used + count] = is_new[own]
            row_set_kernels.rehash(row_set.rows, row_set.used, row_set.used + count, self.layout_after, row_set.table)
            row_set.used += count

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _mark(self) -> None:
        """Remembers where this level starts, and saves that now and then."""
        facts = {name: copy(value) for name, value in vars(self.result).items()}
        facts["reached"] = sorted(self.result.reached)
        facts["blocked"] = sorted(map(list, self.result.blocked))
        self.marked = facts
        if self.checkpoint is not None and time.monotonic() - self.saved_at > SAVE_EVERY:
            self._save()

    def _save_at_the_end(self) -> None:
        """Saves this level, unless it cannot be: what was saved before stays then."""
        if self.marked is not None and self._tables_are_whole:
            self._save()

    def _save(self) -> None:
        """Saves this level, as it started."""
        if self.checkpoint is None:
            return
        arrays = {"log": np.concatenate([np.zeros(0, np.uint64), *self.tables.log])}
        for w, row_set in enumerate(self.now):
            begin, end = self.begins[w], self.ends[w]
            arrays[f"level-{w}"] = row_set.rows[begin:end]
            arrays[f"level-new-{w}"] = row_set.is_new[begin:end]
            if begin:
                arrays[f"earlier-{w}"] = row_set.rows[:begin]
        started = time.monotonic()
        facts = {
            "result": self.marked,
            "level": self.level,
            "keep": self.keep,
            "batches": [len(batch) for batch in self.tables.log],
            "plain_monitor_states": self.plain_monitor_states,
            "told_apart": self.asymmetry,
            "digest": self.tables.digest(),
            "layout": {key: getattr(self.layout, key) for key in ("slots", "monitor_states", "cells", "packets")},
        }
        self.checkpoint.save(facts, arrays)
        # Saving takes a tenth of the time at most.
        self.saved_at = time.monotonic() + 9 * (time.monotonic() - started)

    def _restore(self, facts: SavedSearch, arrays: dict[str, Any]) -> None:
        """Goes on from a checkpoint."""
        assert self.checkpoint is not None
        levels = [arrays[name] for name in sorted(arrays) if name.startswith("level-") and "new" not in name]
        marks = [arrays[name] for name in sorted(arrays) if name.startswith("level-new-")]
        earlier = [arrays[name] for name in sorted(arrays) if name.startswith("earlier-")]
        self._resume(facts, arrays["log"], self.checkpoint)
        layout = self._restored_layout(self.checkpoint, **structs.asdict(facts.layout))
        new = sum(int(mark.sum()) for mark in marks)
        problem = facts.problem(new=new, rows=sum(map(len, levels)) + sum(map(len, earlier)))
        if earlier and not self.keep:
            problem = "it keeps rows that such a search does not"
        for rows in (*levels, *earlier):
            problem = problem or problem_with_rows(rows, layout, self.tables, self.system.channel)
        self.checkpoint.refuse_if(problem)
        self.layout = self.layout_after = layout
        self._new_row_sets()
        for rows in earlier:
            self._shelve(rows, np.zeros(len(rows), np.bool_))
        self.begins = [row_set.used for row_set in self.next] if self.keep else [0] * self.workers
        for rows, is_new in zip(levels, marks, strict=True):
            self._shelve(rows, is_new)

    def _resume(self, facts: SavedTables, log: Any, directory: SavedDirectory) -> None:
        """Fills the tables as they were, and takes over what was found."""
        self._prepare_again(facts)
        directory.refuse_if("its log is not as long as it says" if sum(facts.batches) != len(log) else None)
        if not self._work_out_again(facts, log):
            raise BadInput(
                f"--resume {directory.directory}: the protocol's code is not what it was then",
                hint="start anew with --checkpoint and another directory",
            )
        self.keep = facts.keep
        self.system = self.system._replace(sleeps=not self.keep and self._commutes)
        found = facts.result
        unknown = (found.broken.keys() | set(found.reached)) - {*self.names, *OF_THE_WHOLE_STATE, *self.properties}
        unknown |= found.actions.keys() - set(self.tables.actions)
        directory.refuse_if("it names unknown properties or actions" if unknown else None)
        self.result = Exploration(
            **{
                **structs.asdict(found),
                "reached": set(found.reached),
                "blocked": {tuple(waits) for waits in found.blocked},
            }
        )
        self.seconds_before = self.result.seconds
        self.level = facts.level

    def _prepare_again(self, facts: SavedTables) -> None:
        """Tables as empty as those were that are saved."""
        if facts.told_apart is not None and self.asymmetry is None:
            self._separate_tables(facts.told_apart)
            self._prepare(plain_monitor_states=facts.plain_monitor_states)
        elif facts.plain_monitor_states:
            self._prepare(plain_monitor_states=True)

    def _restored_layout(
        self, directory: SavedDirectory, slots: int, monitor_states: int, cells: int, packets: int
    ) -> kernels.Layout:
        """A layout that is saved; refused if these tables never gave one."""
        known = self._layout(slots)
        fits = monitor_states <= known.monitor_states and cells <= known.cells and packets <= known.packets
        directory.refuse_if(None if fits else "rows laid out for more than there is")
        return layout_of(self.n, slots, monitor_states=monitor_states, cells=cells, packets=packets)

    def _work_out_again(self, facts: SavedTables, log: Any) -> bool:
        """Fills the tables as they were filled then; returns whether that gave the same."""
        place = 0
        for count in facts.batches:
            misses = np.array(log[place : place + count])  # the file that it is mapped to may go
            if not self.tables.knows(misses):
                return False
            try:
                self.tables.fill(misses)
            except MemoryError:
                raise
            except Exception:
                return False  # other code was called with states that are not its own
            place += count
        return bool(self.tables.digest() == facts.digest)

    # -- levels --------------------------------------------------------------------------------------------------------

    def _layout(self, slots: int) -> kernels.Layout:
        """For twice as many numbers as there are."""
        tables = self.tables
        return layout_of(
            self.n,
            slots,
            monitor_states=2 * len(self.monitor_states),
            cells=2 * len(tables.cells),
            packets=2 * len(tables.packets),
        )

    def _level(self) -> None:
        """Expands the rows from `begins` to `ends` of each row set.

        While threads expand some, Python works out what was missed before: rows that missed it wait for that.
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
                # There is nothing, or too little, to be done meanwhile.
                self._fill(misses)
                ready = [np.concatenate(rows) for rows in zip(ready, waiting, strict=True)]
                misses, waiting = none, [none] * self.workers
            if not left and not any(map(len, ready)):
                break
            if not (self.keep or self.tables.graded) or self._over():
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

    def _fill(self, misses: Any) -> None:
        """Works out what was missed. Where that fails in the middle the tables are no longer to be saved."""
        if len(misses):
            self._tables_are_whole = False
            self.tables.fill(misses)
            self._tables_are_whole = True

    def _round(self, todo: list[Any], misses: Any) -> tuple[list[Any], Any]:
        """Expands these rows of each row set and works out these misses; returns the rows that must be expanded again,
        and what they missed.
        """
        tables, monitor_states = self.tables.arrays(), self.monitor_states.arrays()
        for worker in self.worker_buffers:
            self._make_room(worker)
        before = sum(row_set.used for row_set in self.next)
        self._all(
            [lambda w: self._expand(w, todo[w], tables, monitor_states), lambda w: self._take_in(w)],
            sum(map(len, todo)),
            lambda: self._fill(misses),
        )
        again = []
        for w, worker in enumerate(self.worker_buffers):
            worker.reached *= 1 + (worker.found.used[3] & 1)
            worker.outbox_rows *= 1 + (worker.found.used[3] >> 1)
            place = worker.place if worker.place >= 0 else -1 - worker.place
            again.append(np.concatenate([worker.found.again[: worker.found.used[1]], todo[w][place:]]))
        missed = self._take_stock()
        result = self.result
        result.nodes += sum(row_set.used for row_set in self.next) - before
        for worker in self.worker_buffers:
            result.states += int(worker.tallies[0])
            result.graded &= not worker.tallies[1]
            worker.tallies[:] = 0
            worker.filled[:] = 0
        if any(worker.place < 0 for worker in self.worker_buffers):
            self._widen()
        return again, missed[~np.isin(missed, misses, assume_unique=True)]

    def _make_room(self, worker: Worker) -> None:
        known, slots = self.tables, max(self.layout.slots, self.layout_after.slots)
        fields = 2 + self.n + slots + known.most_emitted + 2
        moves = self.n * known.most_own + slots * (known.most_of_arrival + 2) + 1
        worker.make_room(fields, self.layout_after.words, moves, len(known.actions))

    def _all(self, steps: Sequence[Callable[[int], None]], rows: int, meanwhile: Callable[[], None]) -> None:
        """Makes every worker do its part of each step, of the next one when all are done with it; `meanwhile` is what
        this thread does.
        """
        if self.workers == 1 or rows < MIN_ROWS_FOR_THREADS:
            for step in steps:
                for w in range(self.workers):
                    step(w)
            meanwhile()
            return
        barrier = threading.Barrier(self.workers)

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
            for w in range(self.workers):
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
            return self.pool.submit(work, w)
        except RuntimeError as error:  # a thread that cannot be started, for want of memory
            raise MemoryError(str(error)) from error

    def _expand(self, w: int, todo: Any, tables: kernels.Tables, monitor_states: kernels.MonitorStates) -> None:
        worker, row_set = self.worker_buffers[w], self.now[w]
        expand = reduced_kernels.expand_reduced if self._reduces else full_kernels.expand
        worker.place = int(
            expand(
                row_set.rows,
                row_set.is_new,
                row_set.asleep,
                todo,
                self.layout,
                self.layout_after,
                self.system,
                tables,
                monitor_states,
                worker.out,
                worker.hashes,
                worker.asleep,
                worker.filled,
                worker.found,
                worker.recent,
                worker.scratch,
            )
        )

    def _take_in(self, w: int) -> None:
        """Puts what all workers found for this owner into its row set."""
        level_start = self.ends[w] if self.keep else 0
        row_set, tallies = self.next[w], self.worker_buffers[w].tallies
        for worker in self.worker_buffers:
            count = int(worker.filled[w])
            if count:
                row_set.make_room(count, self.layout_after)
                row_set.used = row_set_kernels.insert(
                    worker.out[w],
                    worker.hashes[w],
                    worker.asleep[w],
                    count,
                    self.layout_after,
                    row_set.rows,
                    row_set.is_new,
                    row_set.asleep,
                    row_set.table,
                    level_start,
                    row_set.used,
                    tallies,
                )

    def _take_stock(self) -> Any:
        """Adds up what the workers found in a round; returns what they missed."""
        result = self.result
        misses = []
        for w, worker in enumerate(self.worker_buffers):
            found = worker.found
            result.transitions += int(found.counts[0])
            result.terminal_states += int(found.counts[1])
            self._see(int(found.seen[0]), self.level + 1)
            self._note_ending(int(found.seen[1]), self.level)
            for number, count in enumerate(found.actions.tolist()):
                name = self.tables.actions[number]
                self.result.actions[name] = self.result.actions.get(name, 0) + count
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
                if k < self._first_witness:
                    self.result.broken.setdefault(name, depth)
                else:
                    self.result.reached.add(name)
                    self.tables.exercised.reached.add(name)

    def _note_ending(self, seen: int, depth: int) -> None:
        """Live properties that a run breaks or meets which ends at this depth."""
        if seen & 1:
            self.result.broken.setdefault(NEVER_BLOCKS.name, depth)
            self.result.broken.setdefault(COMPLETES.name, depth)
        if seen & 2:
            self.result.broken.setdefault(DELIVERS_ALL.name, depth)
        if seen & 4:
            self.result.reached.add(CAN_COMPLETE.name)

    def _waits(self, row: Any) -> tuple[str, ...]:
        """The waits of the applications in a row."""
        numbers = np.zeros(len(self.layout.word), np.int64)
        kernels.unpack(row, self.layout, numbers)
        positions = [self.tables.cells[cell][2] for cell in numbers[1 : 1 + self.n]]
        return tuple(self.workload.describe(tuple(map(sum, zip(*positions, strict=True)))))

    def _widen(self) -> None:
        """Lays the next rows out anew, with one slot more."""
        before, self.layout_after = self.layout_after, self._layout(self.layout_after.slots + 1)
        for row_set in self.next:
            row_set.repack(before, self.layout_after)
        if self.keep:
            self.layout = self.layout_after

    def _over(self) -> bool:
        """Reports how far the search is; True if a limit is reached."""
        result, limits = self.result, self.limits
        seconds = searching_time() - self.started
        result.seconds = self.seconds_before + seconds
        if self.progress is not None:
            self.progress(result, self.level)
        if limits.states is not None and result.states > limits.states:
            result.stopped = states_are_reached(limits.states)
        else:
            result.stopped = self.asked_to_end() or limits.reached(seconds)
        return result.stopped is not None
