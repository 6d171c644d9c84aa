"""One check, from the request to verdicts: chooses the engine, searches, and finds a run for each violation.

The native engine takes half a second to load, and half a minute to compile on its first run. So the plain explorer
tries first, unless an engine, workers, reductions or a directory are named; a search that outgrows it is started over
by the native engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crownless.impl.workloads import Free, Workload
from crownless.model_check.runs.runs import Run, run_of, wrong_event
from crownless.model_check.search.engines import Engine, RemoteEngine, engine_for
from crownless.model_check.search.explorer import explore
from crownless.model_check.search.lassos import Lassos
from crownless.model_check.search.shortest import shortest_run
from crownless.model_check.system.exploration import FIRST_VIOLATION, Exploration, Progress
from crownless.model_check.system.properties import (
    DELIVERS_ALL,
    DELIVERS_ONCE,
    DELIVERS_SOMETHING,
    NEVER_BLOCKS,
    NOTHING_DELIVERED,
    OF_DELIVERIES,
    Property,
)
from crownless.model_check.system.request import Check, ResolvedCheck
from crownless.model_check.system.system import LocalStep, MonitorState, State, System
from crownless.runtime.ending import Limits, Stopped, looking, state_limit_reached, stoppable, watching
from crownless.runtime.errors import BadInput
from crownless.runtime.memory import NO_MEMORY
from crownless.runtime.printable import listed, printable_name, shown, some

from .check_result import CheckResult, PropertyResult

if TYPE_CHECKING:
    from crownless.model_check.native.checkpoints import Checkpoint
    from crownless.model_check.native.shortest_run_slice import ShortestRuns

#: The first try by the plain explorer ends beyond this number of states.
FIRST_TRY_STATES = 10_000
#: Up to this number of states, searching all of them again for a run to show is as fast as leaving most out.
FEW_STATES = 20_000
#: The bytes of memory with which the native engine gets further than the plain explorer.
NATIVE_NEEDS = 160 << 20

#: Seconds after which a search reports a violation before its end.
REPORTED_AFTER = 1.0

#: Finds a shortest run that violates a property, with the state and the monitor state at its end.
RunTo = Callable[[Property], tuple[list[LocalStep], State, MonitorState]]


def run_check(
    check: Check | ResolvedCheck,
    limits: Limits | None = None,
    progress: Progress | None = None,
    *,
    engine: str | None = None,
    reductions: Iterable[str] = (),
    workers: int | None = None,
    first: bool = False,
    checkpoint: Path | None = None,
    resume: Path | None = None,
    report: Callable[[str], None] | None = None,
    on_violation: Callable[[str], None] | None = None,
    around_native: Callable[[], AbstractContextManager[None]] = nullcontext,
    elsewhere: RemoteEngine | None = None,
) -> CheckResult:
    """Explores and judges; raises `BadInput` if the request cannot be checked.

    `engine`: unless named, the plain explorer for a search that stays small, and the native one for all others that it
    supports; reductions and directories require the native one, here or on Spark. `workers`: threads of the native
    engine, by default one per processor; the plain explorer has one.
    `first`: the search ends at the shortest violation. Properties that no run of this length violates stay unknown.

    The search is saved in the directory `checkpoint`, or resumed from the directory `resume`, where it is saved from
    then on. A completed check leaves nothing there. `report` gets a line if saving fails, and if
    a search that needs more memory than it may use continues on disk. `on_violation` gets a line for each violation
    found while a long search goes on. `around_native` is entered around a search by the native engine. `elsewhere` is
    where the engine `spark` runs.
    """
    resolved = check.resolve() if isinstance(check, Check) else check
    chosen = engine_for(resolved, engine=engine, reductions=reductions, workers=workers)
    named = engine or chosen.reductions or workers or checkpoint or resume
    if chosen.name == "native" and not named and limits is not None and (limits.memory or NATIVE_NEEDS) < NATIVE_NEEDS:
        chosen = Engine("plain", because=f"the native engine needs {NATIVE_NEEDS >> 20} MiB")
    if chosen.name == "spark" and elsewhere is None:
        raise BadInput("the engine spark needs a place to run", hint="give `elsewhere`, such as `OnSpark()`")
    search = Search(resolved, limits or Limits(), progress, elsewhere, report, first=first)
    if on_violation is not None:
        search.report_early(on_violation)
    with watching():
        if chosen.name == "native" and not named:
            found = search.first_try()
            if found is not None:
                return search.evaluate(found)
        search.engine = chosen
        search.start(_clock_for(chosen))
        with (
            stoppable(search.limits, search.clock) as part,
            _saving(resolved, chosen, checkpoint, resume, report) as saving,
            nullcontext() if chosen.name == "plain" else around_native(),
        ):
            result = search.evaluate(search.explore(saving))
            if saving is None:
                return result
            if result.ended_early:
                return replace(result, saved=saving.directory if saving.exists else None)
            saving.remove()
            return result
        return search.evaluate(search.ended_at_once(part.reason or ""))  # while the engine was set up


def _clock_for(engine: Engine) -> Callable[[], float]:
    """A clock in seconds, without the time to compile the engine, which happens once per machine."""
    if engine.name == "plain":
        return time.monotonic
    from crownless.model_check.native.compiled import searching_time

    return searching_time


@contextmanager
def _saving(
    check: ResolvedCheck,
    engine: Engine,
    checkpoint: Path | None,
    resume: Path | None,
    report: Callable[[str], None] | None,
) -> Iterator[Checkpoint | None]:
    """Where the search is saved; None: nowhere."""
    directory = checkpoint or resume
    if directory is None:
        yield None
        return
    option, why = "--checkpoint" if resume is None else "--resume", None
    if checkpoint is not None and resume is not None:
        option, why = "--checkpoint", "a resumed search is saved further in the directory of --resume"
    elif engine.name == "plain":
        why = f"the plain explorer cannot save its search{engine.because and ': '}{engine.because}"
    elif check.monitors or check.chosen:
        why = f"a check with custom {'monitors' if check.monitors else 'properties'} cannot be saved"
    if why is not None:
        raise BadInput(f"{option}: {why}", hint=f"leave out {option}")
    from crownless.model_check.native.checkpoints import SAVE_EVERY, checkpoint_in
    from crownless.model_check.native.saved_requests import request_of

    request = request_of(check, engine.reductions)
    every = 0.0 if engine.name == "spark" else SAVE_EVERY  # on Spark each level is in files
    with checkpoint_in(
        directory, request, engine.name, resume=resume is not None, report=report, every=every
    ) as saving:
        yield saving


class Search:
    """The searches of one check; `first`: they end at the shortest violation."""

    def __init__(
        self,
        check: ResolvedCheck,
        limits: Limits,
        progress: Progress | None,
        elsewhere: RemoteEngine | None,
        report: Callable[[str], None] | None,
        *,
        first: bool,
    ) -> None:
        # The shortest violation is one of what is promised.
        self.check = check if not first else replace(check, properties=tuple(p for p in check.properties if p.promised))
        self.limits, self.progress, self.report = limits, progress, report
        self.elsewhere, self.first = elsewhere, first
        self.engine = Engine("plain")
        #: The findings of the plain explorer's first try, if it was made and not completed.
        self.earlier: Exploration | None = None
        #: The seconds spent before it was resumed.
        self.seconds_before = 0.0
        self.clock: Callable[[], float] = time.monotonic
        self._started = self.clock()
        #: In plain Python. The plain explorer searches it, and every run shown comes from it.
        self.system = check.system()

    def report_early(self, report: Callable[[str], None]) -> None:
        """Reports each violation as soon as it is known, if the search takes long."""
        left, progress = {known.name for known in self.check.properties if known.promised}, self.progress
        began = time.monotonic()
        ends = "" if self.first else " (--first ends at the first violation)"

        def reported(found: Exploration, level: int) -> None:
            violated = [name for name in found.violated if name in left]
            if violated and (found.stopped or time.monotonic() - began > REPORTED_AFTER):
                left.difference_update(violated)
                report(f"{self.check.protocol}: violated: {listed(violated)}; still searching…{ends}")
            if progress is not None:
                progress(found, level)

        self.progress = reported

    # -- the search ----------------------------------------------------------------------------------------------------

    def start(self, clock: Callable[[], float]) -> None:
        """Starts measuring the search time with this clock."""
        self.clock, self._started = clock, clock()

    def first_try(self) -> Exploration | None:
        """The findings of the plain explorer; None if the search grows beyond its first try."""
        given, most = self.limits, FIRST_TRY_STATES
        bounded = given.states is None or given.states > most
        tried = replace(given, states=most) if bounded else given
        found = explore(self.system, self.check.properties, tried, self.progress, first=self.first)
        if not bounded or found.stopped != state_limit_reached(most):
            return found
        self.earlier = found
        if self.progress is not None:
            self.progress(found, len(found.levels))
        self.limits = given.after(self.clock() - self._started)
        self.system = self.check.system()
        return None

    def explore(self, saving: Checkpoint | None) -> Exploration:
        """The findings of the engine, or of the first try if it got further."""
        if self.engine.name == "plain":
            return explore(self.system, self.check.properties, self.limits, self.progress, first=self.first)
        from crownless.model_check.native.search import NativeSearch

        searching: AbstractContextManager[Any] = (
            nullcontext(NativeSearch(self.check, self.engine))
            if self.elsewhere is None
            else self.elsewhere.search(self.check, self.engine, saving)
        )
        with searching as search:
            self.start(self.clock)  # not counting the time before
            found: Exploration = search.explore(self.limits, self.progress, saving, first=self.first)
            self.seconds_before = search.seconds_before
            if self.elsewhere is None and self.limits.memory_is_why(found.stopped):
                search, found = self.on_disk(search, found, saving)
        if self.earlier is not None and found.stopped and found.states < self.earlier.states:
            return self.ended_at_once(found.stopped)
        self.engine = self.engine.after(search.symmetry)
        return found

    def on_disk(self, search: Any, found: Exploration, saving: Checkpoint | None) -> tuple[Any, Exploration]:
        """Goes on with a search that has reached its limit of memory, with its levels in files."""
        from crownless.model_check.on_disk.search import SearchOnDisk, files_in

        limits = self.limits.after(found.seconds - search.seconds_before)
        with files_in(None if saving is None else saving.directory) as directory:
            if self.report is not None:
                self.report(f"{found.stopped}: the search continues on disk, in {directory}")
            onward = SearchOnDisk.going_on_from(search, self.check, self.engine, directory)
            found = onward.explore(limits, self.progress, first=self.first)
        if limits.memory_is_why(found.stopped):
            found.stopped = f"{found.stopped}, even with the levels on disk"
        return onward, found

    def ended_at_once(self, reason: str) -> Exploration:
        """The findings of the first try, if there was one and this search got no further."""
        if self.earlier is None:
            return Exploration(stopped=reason)
        self.engine = Engine("plain")
        return replace(self.earlier, stopped=reason)

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def evaluate(self, found: Exploration) -> CheckResult:
        """The verdicts, and the runs to show."""
        self.system.senders |= found.senders
        lassos = self.lassos(found)
        complete = not found.stopped and not isinstance(lassos, str)
        run_to = self.shortest_runs(found, self.limits if complete else self.limits.for_runs_to_show())
        results = tuple(self.result(found, lassos, known, run_to) for known in self.check.properties)
        if self.first:
            results = _shortest_violations(results, found.violated)
        seconds = self.seconds_before + self.clock() - self._started
        return CheckResult(self.check, found, results, seconds, self.engine, seconds_before=self.seconds_before)

    def lassos(self, found: Exploration) -> Lassos | str | None:
        """The second search, for lassos: its findings, or why it was given up; None if not needed."""
        undecided = [
            known for known in self.check.properties if known.kind == "live" and known.name not in found.violated
        ]
        if found.acyclic or found.graded or found.stopped or not undecided:
            return None

        def progress(nodes: int) -> None:
            if self.progress is not None:
                self.progress(found, -nodes)

        with stoppable(self.limits.after(self.clock() - self._started)) as part:
            return Lassos(self.system, progress)
        return part.reason

    def shortest_runs(self, found: Exploration, limits: Limits) -> RunTo:
        """Finds the run to show. If many states are as near as the violation, a second search, one for all properties,
        first marks those not on the way to it.
        """
        far = {
            name
            for name, length in found.violated.items()
            if self.engine.name != "plain" and sum(found.levels[: length + 1]) >= FEW_STATES
        }

        @cache
        def kept() -> Callable[..., ShortestRuns]:
            from crownless.model_check.native.shortest_run_slice import SearchForShortest, ShortestRuns

            search = SearchForShortest(self.check, self.engine)
            search.explore(limits, self.progress, until=far, first=self.first)
            return partial(ShortestRuns, search)

        tick = looking(limits)

        def run_to(known: Property) -> tuple[list[LocalStep], State, MonitorState]:
            if known.name not in far:
                return shortest_run(self.system, known, found.violated[known.name], tick=tick)
            runs = kept()(known, tick)
            on_the_way = runs.holds
            return shortest_run(
                self.system, known, runs.length, lambda depth, state: on_the_way(depth, self.system, state), tick
            )

        return run_to

    def result(self, found: Exploration, lassos: Lassos | str | None, known: Property, run_to: RunTo) -> PropertyResult:
        """The result for a property."""
        program = not self.check.workload.takes_anything
        if known.kind == "sometimes":
            if known.name in found.reached:
                return PropertyResult(known, "holds")
            note = "no run so far" if found.stopped else "no run" if program else "no run within the bound"
            return PropertyResult(known, "unknown", note=f"{note} reaches it")
        if known.name in found.violated:
            try:
                steps, state, monitor_state = run_to(known)
            except (Stopped, MemoryError) as ending:
                why = str(ending) or NO_MEMORY
                length = found.violated[known.name]
                note = f"by a run of {some(length, 'action')}; the search for one to show ended early: {why}"
                return PropertyResult(known, "violated", note=note, ended_early=why)
            run = replace(run_of(self.system, steps, end=state), breaks=known.name)
            return PropertyResult(
                known, "violated", run, _what_is_missing(self.system, known, state, monitor_state, run)
            )
        if found.stopped:
            return PropertyResult(known, "unknown", note=f"not violated before the search ended: {found.stopped}")
        if known.name in OF_DELIVERIES and DELIVERS_SOMETHING.name not in found.reached:
            return PropertyResult(known, "unknown", note=NOTHING_DELIVERED)
        note = "; ".join(
            filter(None, [_room_for_disagreement(self.check.workload, known), self._unjudged(found, known)])
        )
        if known.kind != "live" or lassos is None:
            return PropertyResult(known, "holds", note=note)
        if isinstance(lassos, str):
            why = f"no run that ends violates it; the search for runs that never end ended early: {lassos}"
            return PropertyResult(known, "unknown", note=why, ended_early=lassos)
        lasso = lassos.without(known)
        if lasso is not None:
            state, monitor_state, _ = lasso.start
            run = replace(run_of(self.system, lasso.stem, loop=lasso.loop), breaks=known.name)
            missing = _what_is_missing(self.system, known, state, monitor_state, run)
            why = "from here on it can repeat forever"
            return PropertyResult(known, "violated", run, "; ".join(filter(None, [why, missing])))
        where = "in every fair run" if lassos.exist and self.check.channel.reliable else ""
        return PropertyResult(known, "holds", note="; ".join(filter(None, [where, note])))

    def _unjudged(self, found: Exploration, known: Property) -> str:
        """The processes that no state lets send, of which `never-blocks` says nothing."""
        names = self.check.workload.processes
        silent = [printable_name(name) for process, name in enumerate(names) if process not in found.senders]
        if known.name != NEVER_BLOCKS.name or not silent:
            return ""
        verb, judged = ("accepts", "it is") if len(silent) == 1 else ("accept", "they are")
        return f"{listed(silent)} {verb} no send in any state, so {judged} not judged"


def _shortest_violations(results: Sequence[PropertyResult], lengths: Mapping[str, int]) -> tuple[PropertyResult, ...]:
    """The same results, except that violations with longer runs than the shortest become unknown."""
    violated = {
        line.property.name: lengths[line.property.name] if line.run is None else len(line.run)
        for line in results
        if line.verdict == "violated"
    }
    least = min(violated.values(), default=0)
    return tuple(
        PropertyResult(line.property, "unknown", note=FIRST_VIOLATION)
        if violated.get(line.property.name, least) > least
        else line
        for line in results
    )


def _room_for_disagreement(workload: Workload, known: Property) -> str:
    """The bounds at which receivers of broadcasts of several senders can disagree, if this bound is smaller."""
    if not isinstance(workload, Free) or workload.sends != "broadcast" or known.name not in ("mailbox", "total"):
        return ""
    enough = [(2, 2)] if workload.self_sends else [(3, 3), (4, 2)]
    if any(len(workload.processes) >= n and workload.messages >= m for n, m in enough):
        return ""
    return f"two senders' receivers can disagree from {' or '.join(f'-n {n} -m {m}' for n, m in enough)} on"


def _what_is_missing(system: System, known: Property, state: State, monitor_state: MonitorState, run: Run) -> str:
    """At the end of a violating run: for a live property, which process waits for what; for an invariant, the local
    state; for `delivers-once`, the wrong event.
    """
    if known.name == DELIVERS_ONCE.name:
        return wrong_event(run)
    if known.name in system.machine.invariants:
        predicate, crashed = system.machine.invariants[known.name], system.crashed(state)
        states = [(i, local) for i, local in enumerate(system.local_states(state)) if i != crashed]
        false = [(i, local) for i, local in states if not predicate(system.machine, i, local)]
        return "; ".join(
            f"false at {printable_name(run.processes[i])} in the local state {shown(local)}" for i, local in false
        )
    if known.kind != "live":
        return ""
    if known.name == DELIVERS_ALL.name:
        lost = {(at.message, at.packet.destination) for at in run.actions if at.action == "lose" and at.packet}
        owed = system.undelivered(monitor_state, state)
        places = [(run.names[message], run.processes[q]) for message, q in owed]
        said = (f"{at[0]} at {printable_name(at[1])}{' (lost)' if at in lost else ''}" for at in places)
        return f"never delivered: {', '.join(said)}"
    names_in_run = {message.name: name for message, name in run.names.items()}
    crashed = system.crashed(state)
    waits = [f"{names_in_run[name]} is never sent" for name in system.unsent(monitor_state, crashed)]
    blocked = system.blocked(state, system.moves(state)) & system.judged_senders
    if blocked and len(blocked) < system.n:
        waits.append(f"{listed(printable_name(run.processes[p]) for p in sorted(blocked))} can send no more")
    if not system.finished(state):
        waits += system.workload.describe(system.position(state), crashed)
    return "; ".join(waits)
