"""The search by rows, level by level, with limits: its tables and its findings.

The rows of a level lie in this process's memory (`search.NativeSearch`) or in files (`model_check.on_disk`).
"""

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from itertools import accumulate
from typing import Any

import numpy as np

from crownless.model_check.search.engines import NATIVE_CHANNELS, Engine, SymmetryCheck
from crownless.model_check.system import properties
from crownless.model_check.system.exploration import FIRST_VIOLATION, Exploration, Progress
from crownless.model_check.system.request import ResolvedCheck
from crownless.model_check.system.system import CRASHED
from crownless.runtime.ending import Limits, Stopped, state_limit_reached
from crownless.runtime.errors import BadInput
from crownless.runtime.memory import NO_MEMORY, collector_off

from . import kernels
from .checkpoints import START_OVER_HINT, Checkpoint, SavedSearch, undamaged
from .compiled import searching_time
from .monitor_states import MAX_MONITORED, Unforeseen, monitor_states_for
from .row_set import hashes_of
from .symmetry import NotSymmetric
from .tables import Tables

#: Python's switch interval in seconds: a worker's part of a round may take less than the usual five milliseconds.
SWITCH_EVERY = 5e-5
#: The bit of each live property in the set violated by a run that ends.
LIVE_BITS = {
    properties.NEVER_BLOCKS.name: kernels.ENDS_BLOCKED,
    properties.COMPLETES.name: kernels.ENDS_BLOCKED,
    properties.DELIVERS_ALL.name: kernels.ENDS_OWING,
}


class LevelSearch:
    """A search that can be run; see `explore`. Its engine places the rows and has them expanded."""

    #: True if all rows are kept, not only those of two levels.
    keep: bool
    level: int

    def __init__(self, check: ResolvedCheck, engine: Engine) -> None:
        self.machine = machine = check.machine
        self.workload = check.workload
        self._monitors = check.system().monitors
        monitored = [name for monitor in self._monitors for name in monitor.watches]
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
        self._may_crash = check.crash
        self._channel = NATIVE_CHANNELS.index(check.channel_name)
        self._shared = engine.shared
        #: True if rows that differ only by process names are merged.
        self.reduces = bool(engine.reductions)
        self.properties = {known.name for known in check.properties}
        self.workers = engine.workers
        self.n = machine.n
        self.result = Exploration()
        self._prepare()

    def _prepare(self, *, plain: bool = False, asymmetry: str | None = None) -> None:
        """Empty tables. The monitors in their plain form accept all events that a protocol can report. If a difference
        was seen between processes that are declared alike, they share nothing.
        """
        self.plain_monitor_states, self.asymmetry = plain, asymmetry
        if asymmetry is not None:
            self._shared = self.reduces = False
        self._tables_are_whole = True
        arguments = self._monitors, self.workload, self._bits[0], self._may_crash
        self.monitor_states = monitor_states_for(*arguments, plain=plain)
        try:
            self.tables = Tables(
                self.machine,
                self.workload,
                self.monitor_states,
                *self._bits[1:],
                channel=self._channel,
                shared=self._shared,
                symmetric=self.reduces,
                may_crash=self._may_crash,
            )
        except NotSymmetric as difference:
            self._prepare(plain=plain, asymmetry=str(difference))
        self.system = self.tables.constants

    @property
    def symmetry(self) -> SymmetryCheck:
        """The comparison of processes that are declared alike."""
        alike = self.tables.alike
        if alike is None:
            return SymmetryCheck(self.asymmetry)
        return SymmetryCheck(None, alike.entries, alike.compared)

    @property
    def commutes(self) -> bool:
        """True if moves of different processes commute, for the monitors too; others are `Unforeseen`."""
        return not self.reduces and self.monitor_states.commute

    def bits_of(self, name: str) -> int:
        """The bits of a property that a step violates; an invariant may have the name of an order."""
        return self._bits[0].get(name, 0) | self._bits[1].get(name, 0)

    def live_bits_of(self, name: str) -> int:
        """The bits of a live property that a run violates by ending; a process that never sends cannot be blocked."""
        bits = LIVE_BITS[name]
        if name == properties.NEVER_BLOCKS.name:
            bits |= sum(1 << kernels.ENDS_BLOCKED_AT + process for process in self.result.senders or range(self.n))
        return bits

    # -- the rows, which an engine defines -----------------------------------------------------------------------------

    def at_work(self) -> AbstractContextManager[None]:
        """Entered around the search."""
        return nullcontext()

    def start(self) -> None:
        """The initial state alone is in the next level."""
        raise NotImplementedError

    def turn(self) -> bool:
        """The next level becomes this one; returns whether it has rows."""
        raise NotImplementedError

    def level_begins(self) -> None:
        """Called when a level begins, after a save that is due."""

    def expand(self) -> None:
        """Expands the rows of this level, and fills missed table entries; ends early if the search is `over`."""
        raise NotImplementedError

    def release_memory(self) -> None:
        """Called when memory is short: frees what the search no longer needs, as it ends."""

    def rows_to_save(self) -> tuple[Any, dict[str, Any]]:
        """This level, as it began: where its rows are, and arrays."""
        raise NotImplementedError

    def restore_rows(self, rows: Any, arrays: Mapping[str, Any]) -> None:
        """The inverse: the saved level becomes the next level."""
        raise NotImplementedError

    # -- the search ----------------------------------------------------------------------------------------------------

    def explore(
        self,
        limits: Limits | None = None,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
        until: Iterable[str] = (),
        *,
        first: bool = False,
    ) -> Exploration:
        """Searches all of the system, or until a limit is reached, or until all of the properties `until`, if any, are
        violated; with `first`, up to the level with the first violation. Given a checkpoint, resumes from it unless it
        is empty, and saves itself there regularly, and when it stops early.
        """
        self.until = set(until)
        self.first = first
        self.limits = limits or Limits()
        self.progress = progress
        self.checkpoint = checkpoint
        #: The findings where this level began; None: none did.
        self._at_level_start: Exploration | None = None
        self.started = searching_time()
        self.seconds_before = 0.0

        switching = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_EVERY)
        try:
            with collector_off(), self.at_work():
                try:
                    self._search_or_start_over()
                except MemoryError:
                    self.result.stopped = NO_MEMORY
                    self.release_memory()
                except Stopped as ending:  # raised by a node under test
                    self.result.stopped = str(ending)
                if self.result.stopped and self._tables_are_whole:
                    self._save()
        finally:
            self.result.seconds = self.seconds_before + searching_time() - self.started
            self.result.actions = {name: count for name, count in self.result.actions.items() if count}
            sys.setswitchinterval(switching)
        result = self.result
        if not result.stopped:
            result.note_blocked(at_end=True)
        result.violated = {name: depth for name, depth in result.violated.items() if name in self.properties}
        result.acyclic = self.tables.acyclic
        result.reached |= self.tables.exercised.reached
        return result

    def _search_or_start_over(self) -> None:
        while True:
            try:
                if not self._search(keep=False):
                    self._search(keep=True)
                return
            except Unforeseen:
                self._prepare(plain=True, asymmetry=self.asymmetry)
            except NotSymmetric as difference:
                self._prepare(plain=self.plain_monitor_states, asymmetry=str(difference))

    def _search(self, *, keep: bool) -> bool:
        """Returns false if the space proved not to be graded, and not all rows were kept."""
        self._keep_all(keep)
        self.result = Exploration()
        self.level = 0
        self.start()
        self.result.states = self.result.nodes = 1
        self.result.levels = [1]
        self._resume()
        while self.turn():
            self._at_level_start = deepcopy(self.result)
            if self.checkpoint is not None and self.checkpoint.is_due:
                self._save()
            self.level_begins()
            done = self._next_level()
            if done is not None:
                return done
        return True

    def _keep_all(self, keep: bool) -> None:
        """Keeps from now on all rows, or those of two levels; in the latter case commuting moves may sleep."""
        self.keep = keep
        self.system = self.system._replace(sleeps=not keep and self.commutes)

    @property
    def lacks_rows(self) -> bool:
        """True if the space proved not to be graded, and not all rows are kept."""
        return not self.keep and not self.tables.graded

    def _next_level(self) -> bool | None:
        """Goes through a level: None if there may be another, else what `_search` returns."""
        states = self.result.states
        self.expand()
        self.result.senders |= self.tables.senders
        self.result.note_blocked()
        if self.result.stopped or (self.until and self.until <= self.result.violated.keys()):
            return True
        if self.lacks_rows:
            return False
        self.result.levels.append(self.result.states - states)
        self.level += 1
        if self.result.states > states:
            self.result.depth = self.level
        if self.first and self.properties & self.result.violated.keys():
            self.result.stopped = FIRST_VIOLATION
            return True
        return None

    def first_row(self) -> Any:
        """The initial state, as the only row."""
        for cell in self.tables.initial:
            self._record(self.tables.seen(cell), 0)
        return np.array([[0, *self.tables.initial_sites]], np.int32)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Saves this level, as it began."""
        if self.checkpoint is None or self._at_level_start is None:
            return
        rows, arrays = self.rows_to_save()
        search = SavedSearch(
            self._at_level_start,
            len(self._at_level_start.levels) - 1,
            self.keep,
            [len(batch) for batch in self.tables.log],
            self.tables.sizes(),
            self.plain_monitor_states,
            self.asymmetry,
            rows,
        )
        self.checkpoint.save(search, {"log": np.concatenate([np.zeros(0, np.uint64), *self.tables.log]), **arrays})

    def _resume(self) -> None:
        """Resumes the saved search, once, if there is one."""
        if self.checkpoint is None or self.checkpoint.saved is None:
            return
        saved, arrays = self.checkpoint.saved
        self.checkpoint.saved = None
        self._prepare(plain=saved.plain_monitor_states, asymmetry=saved.asymmetry)
        where = f"--resume {self.checkpoint.directory}"
        with undamaged(where):
            log = arrays["log"]
        if not self._refill_tables(saved, log):
            raise BadInput(f"{where}: the protocol's code has changed since", hint=START_OVER_HINT)
        self._keep_all(saved.keep)
        self.result, self.level = saved.result, saved.level
        self.seconds_before = self.result.seconds
        with undamaged(where):
            self.restore_rows(saved.rows, arrays)

    def _refill_tables(self, saved: SavedSearch, log: Any) -> bool:
        """Fills the tables as they were filled then; returns whether they got the same sizes."""
        try:
            for end, count in zip(accumulate(saved.batches), saved.batches, strict=True):
                self.tables.fill(log[end - count : end])
        except MemoryError:
            raise
        except Exception:
            return False  # other code was called with states that are not its own
        return self.tables.sizes() == saved.sizes

    # -- for its engine ------------------------------------------------------------------------------------------------

    def owners_of(self, rows: Any) -> Any:
        """The owner of each row, one of the workers."""
        return kernels.owner_of(hashes_of(rows), self.workers)

    def fill(self, misses: Any) -> None:
        """Computes the missed entries. If that fails in the middle the tables can no longer be saved."""
        if len(misses):
            self._tables_are_whole = False
            self.tables.fill(misses)
            self._tables_are_whole = True
            if max(len(self.monitor_states), len(self.tables.sites)) > kernels.MAX_NUMBERS:
                raise Stopped("more than 2³⁰ sites or monitor states, which is the limit of the native engine")

    def add_counts(self, counts: Any, seen: Any, actions: Any) -> None:
        """Adds the counts and findings of expanded rows of this level; see `kernels.Found`."""
        result = self.result
        result.transitions += int(counts[0])
        result.terminal_states += int(counts[1])
        self._record(int(seen[0]), self.level + 1)
        self._record_end(int(seen[1]), self.level)
        for number, count in enumerate(actions.tolist()):
            name = self.tables.actions[number]
            result.actions[name] = result.actions.get(name, 0) + count

    def add_blocked(self, rows: Any) -> None:
        """Adds the waits of the applications in rows where a program ends unfinished."""
        for row in np.unique(rows, axis=0).tolist():
            cells = [self.tables.sites.cell_of(site) for site in row[1:]]
            _, locals_, positions = zip(*(self.tables.cells[cell] for cell in cells), strict=True)
            crashed = locals_.index(CRASHED) if CRASHED in locals_ else None
            position = tuple(map(sum, zip(*positions, strict=True)))
            self.result.blocked.add(tuple(self.workload.describe(position, crashed)))

    def add_new(self, *, nodes: int, states: int, met_again: int) -> None:
        """Adds the new rows of the next level, and the states among them; `met_again` belong to earlier levels too."""
        self.result.nodes += nodes
        self.result.states += states
        self.result.graded &= not met_again

    def _record(self, seen: int, depth: int) -> None:
        """Records properties that a transition to this depth violates or reaches."""
        if seen & kernels.DELIVERS:
            self.result.reached.add(properties.DELIVERS_SOMETHING.name)
        for k, name in enumerate(self.names):
            if seen >> k & 1 and name:
                if k < self._first_witness:
                    self.result.violated.setdefault(name, depth)
                else:
                    self.result.reached.add(name)
                    self.tables.exercised.reached.add(name)

    def _record_end(self, seen: int, depth: int) -> None:
        """Records live properties that a run violates or meets by ending at this depth."""
        for name, bit in LIVE_BITS.items():
            if seen & bit:
                self.result.violated.setdefault(name, depth)
        for process in range(self.n):
            if seen >> kernels.ENDS_BLOCKED_AT + process & 1:
                self.result.blocked_at.setdefault(process, depth)
        if seen & kernels.ENDS_COMPLETE:
            self.result.reached.add(properties.CAN_COMPLETE.name)

    def over(self) -> bool:
        """Reports the progress of the search; True if a limit is reached, or if it lacks rows."""
        if self.lacks_rows:
            return True
        result, limits = self.result, self.limits
        seconds = searching_time() - self.started
        result.seconds = self.seconds_before + seconds
        if self.progress is not None:
            self.progress(result, self.level)
        if limits.states is not None and result.states > limits.states:
            result.stopped = state_limit_reached(limits.states)
        else:
            result.stopped = limits.reached(seconds)
        return result.stopped is not None
