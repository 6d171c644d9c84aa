"""One check: a protocol, a workload and a channel, explored, with a verdict for each property and a run for each
violation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from crownless.impl.channels import channel_named
from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.workloads import Workload
from crownless.spec.errors import BadInput

from .asking import Asked, Check, sends_of
from .clocks import Clocks
from .cycles import EndlessRuns, GaveUp
from .engines import Elsewhere, Engine, SymmetryCheck, engine_for
from .explorer import Exploration, Progress, explore
from .limits import Limits, allocation_failed
from .observers import observers_of
from .properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ALL,
    DELIVERS_SOMETHING,
    HOLDS_BACK,
    RELEASES,
    Property,
    properties_of,
)
from .runs import Run, run_of
from .shortest import NoSuchRun, shortest_run
from .stopping import INTERRUPTED, reason_of
from .system import Ghost, LocalStep, State, System

if TYPE_CHECKING:
    from .native.checkpoints import Checkpoint
    from .native.search import NativeSearch
    from .native.walking_back import Levels

NativeKind = TypeVar("NativeKind", bound="NativeSearch")

#: Up to so many states it takes no longer to look at all of them again for the run to show than to leave most out.
FEW_STATES = 20_000

#: After an interrupt the runs to show are looked for no longer than so many seconds: what was found is wanted now.
SHOWN_WITHIN = 0.5
#: After so many nodes the search for a run to show looks at memory.
NODES_A_LOOK = 1024

Outcome = Literal["holds", "violated", "unknown"]

#: Finds a shortest run that breaks a property, with the state and the ghost at its end.
RunTo = Callable[[Property], tuple[list[LocalStep], State, Ghost]]

#: The actions that are no internal steps of a protocol, beside `receive …`.
NOT_INTERNAL = ("send", "deliver", "receive", "lose", "duplicate", "crash", "agree")


@dataclass(frozen=True)
class PropertyResult:
    """What was found of one property; `run` shows a violation, `note` says what the verdict rests on where that is
    not plain.
    """

    property: Property
    verdict: Outcome
    run: Run | None = None
    note: str = ""

    def json(self) -> dict[str, Any]:
        return {
            "name": self.property.name,
            "kind": self.property.kind,
            "verdict": self.verdict,
            "run": None if self.run is None else self.run.json(),
            "note": self.note,
        }


@dataclass(frozen=True)
class CheckResult:
    """The verdict, and the counts that go with it. `scope` says in words how far it reaches."""

    check: Check
    machine: ProtocolMachine
    workload: Workload
    exploration: Exploration
    properties: tuple[PropertyResult, ...]
    verdict: Outcome
    scope: str
    seconds: float
    #: What explored it.
    engine: Engine
    #: Where it is saved, if it ended early and can be gone on with.
    saved: Path | None = None

    @property
    def actions(self) -> dict[str, int]:
        """How often each action is enabled, summed over distinct states: sends, deliveries, then by name."""
        counts = self.exploration.actions
        names = sorted(counts, key=lambda name: (name != "send", name != "deliver", name))
        return {name: counts[name] for name in names}

    @property
    def never(self) -> tuple[str, ...]:
        """What the protocol has a rule for, and what was nowhere enabled."""
        return tuple(name for name, enabled in self._kinds_of_rules.items() if not enabled)

    @property
    def exercised(self) -> dict[str, bool]:
        """Each rule of the protocol, by name, and whether some run exercised it: kinds of actions, then its own."""
        own = (HOLDS_BACK.name, RELEASES.name, *self.machine.witnesses, *self.machine.rules)
        verdicts = {result.property.name: result.verdict for result in self.properties}
        return {**self._kinds_of_rules, **{name: verdicts[name] == "holds" for name in own if name in verdicts}}

    @property
    def never_exercised(self) -> tuple[str, ...]:
        """The rules that no run exercised: of what they are for, the verdict says nothing."""
        return tuple(name for name, exercised in self.exercised.items() if not exercised)

    @property
    def _kinds_of_rules(self) -> dict[str, bool]:
        """Each kind of rule that the protocol has, and whether anything of the kind was enabled anywhere."""
        own, base, actions = type(self.machine), ProtocolMachine, self.exploration.actions
        arrivals = [name for name in actions if name == "deliver" or name.startswith("receive ")]
        internal = [name for name in actions if name not in NOT_INTERNAL and not name.startswith("receive ")]
        kinds = {"send": "send" in actions, "arrival": bool(arrivals)}
        if own.receive is not base.receive:
            kinds["receive by the application"] = "deliver" in actions
        if own.internal is not base.internal:
            kinds["internal step"] = bool(internal)
        if own.agree is not base.agree and self.check.crash is not None:
            kinds["agree"] = "agree" in actions
        return kinds

    @property
    def completes(self) -> str | None:
        """Does the program come to its end: `always`, `sometimes`, `never`, or is that `unknown`? None: no program."""
        verdicts = {result.property.name: result.verdict for result in self.properties}
        if COMPLETES.name not in verdicts:
            return None
        if verdicts[COMPLETES.name] != "violated":
            return {"holds": "always", "unknown": "unknown"}[verdicts[COMPLETES.name]]
        if verdicts[CAN_COMPLETE.name] == "holds":
            return "sometimes"
        return "unknown" if self.exploration.stopped else "never"

    @property
    def _compared(self) -> dict[str, Any]:
        """How it was made sure that processes that share tables are alike; None: they share none."""
        check, shared = self.engine.symmetry, self.engine.shared
        return {
            "parametric": check.parametric if shared else None,
            "entries": check.entries if shared else None,
            "compared": check.compared if shared else None,
        }

    @property
    def interrupted(self) -> bool:
        """Was it ended by Ctrl-C?"""
        return self.exploration.stopped == INTERRUPTED or any(x.note.endswith(INTERRUPTED) for x in self.properties)

    @property
    def channel(self) -> str:
        """The channel it was checked over."""
        return self.check.channel or self.machine.needs_channel

    def json(self) -> dict[str, Any]:
        """The stable keys of the command line, and a few more."""
        found = self.exploration
        free = self.check.program is None
        return {
            "protocol": self.check.protocol,
            "processes": len(self.workload.processes),
            "process_names": list(self.workload.processes),
            "messages": self.workload.messages,
            "program": self.check.program_name,
            "channel": self.channel,
            "sends": sends_of(self.check, type(self.machine)) if free else None,
            "self_sends": self.check.self_sends,
            "crash": self.check.crash,
            "parameters": dict(self.machine.settings),
            "engine": self.engine.name,
            "reductions": list(self.engine.reductions),
            "symmetry": {
                "declared": self.machine.symmetric,
                "found": False if self.engine.told_apart is not None else True if self.engine.shared else None,
                "because": self.engine.told_apart,
                **self._compared,
            },
            "workers": self.engine.workers,
            "states": found.states,
            "transitions": found.transitions,
            "depth": found.depth,
            "terminal_states": found.terminal_states,
            "nodes": found.nodes,
            "actions": self.actions,
            "never": list(self.never),
            "never_exercised": list(self.never_exercised),
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
            "completes": self.completes,
            "blocks": [list(waits) for waits in sorted(found.blocked)],
            "scope": self.scope,
            "properties": [result.json() for result in self.properties],
        }


def run_check(
    check: Check,
    limits: Limits | None = None,
    progress: Progress | None = None,
    *,
    engine: str | None = None,
    reductions: Iterable[str] = (),
    workers: int | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
    tell: Callable[[str], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> CheckResult:
    """Explores and judges; raises `BadInput` for what cannot be checked.

    `engine`: the native one wherever it can, unless named; `workers`: as many as there are processors. The search is
    saved in the directory `checkpoint`, or goes on from what is saved in `resume`, which then is saved further. Nothing
    is left there of a check that came to its end. `tell` is told in a line if saving fails; the search then goes on.
    `elsewhere` is where the engine `spark` runs.
    """
    limits = limits or Limits()
    asked = Asked.by(check)
    machine, workload, crash = asked.machine, asked.workload, asked.crash
    observers = [*observers_of(machine, asked.orders), *(Clocks(machine.n, clock) for clock in asked.clocks)]
    chosen = engine_for(check, asked, observers, engine=engine, reductions=reductions, workers=workers)
    if chosen.name == "spark" and elsewhere is None:
        raise BadInput("the engine spark: it is not said where it runs", mend="give `elsewhere`, such as `OnSpark()`")
    system = System(machine, workload, asked.channel, observers, crash)
    program = check.program is not None
    properties = properties_of(machine, asked.orders, program=program, crash=crash is not None, clocks=asked.clocks)
    with _saving(check, asked, chosen, checkpoint, resume, tell, elsewhere) as saving:
        clock = _clock_for(chosen)
        started = clock()
        found, seconds_before, symmetry = _explore(
            chosen, asked, system, properties, limits, progress, saving, elsewhere
        )
        chosen = chosen.after(symmetry)
        endless = _endless(chosen, system, found, properties, limits, progress, lambda: clock() - started)
        to_show = limits
        if found.stopped or isinstance(endless, str):
            in_a_hurry = INTERRUPTED in (found.stopped, endless)
            to_show = limits.of_a_second_search(SHOWN_WITHIN if in_a_hurry else limits.seconds)
        run_to = _shortest_runs(chosen, asked, system, properties, found, to_show, progress)
        try:
            results = tuple(_result(system, found, endless, known, run_to, program=program) for known in properties)
        except NoSuchRun as error:
            if resume is None:
                raise
            mend = "start anew with --checkpoint and another directory"
            raise BadInput(f"--resume {resume}: it says that a property is violated, but {error}", mend=mend) from None
        seconds = seconds_before + clock() - started
        saved = None
        if saving is not None:
            to_do = (
                found.stopped or isinstance(endless, str) or any(x.verdict == "violated" and not x.run for x in results)
            )
            if not to_do:
                saving.remove()
            elif saving.exists:
                saved = saving.directory
    scope = _scope(check, machine, workload, found, chosen)
    verdict = _verdict(found, results)
    return CheckResult(check, machine, workload, found, results, verdict, scope, seconds, chosen, saved)


def _clock_for(engine: Engine) -> Callable[[], float]:
    """Tells seconds; those in which the engine is compiled, once for this machine, are none of the check."""
    if engine.name == "plain":
        return time.monotonic
    from .native.search import searching_time  # it takes a while to import, and most verbs need none of it

    return searching_time


@contextmanager
def _saving(
    check: Check,
    asked: Asked,
    engine: Engine,
    checkpoint: Path | None,
    resume: Path | None,
    tell: Callable[[str], None] | None,
    elsewhere: Elsewhere | None,
) -> Iterator[Checkpoint | None]:
    """Where the search is saved; None if nowhere."""
    directory = checkpoint or resume
    if directory is None:
        yield None
        return
    if checkpoint is not None and resume is not None:
        raise BadInput(
            "--checkpoint and --resume: a search that is gone on with is saved further in the same directory",
            mend="leave out --checkpoint",
        )
    if engine.name == "plain":
        why = f": {engine.because}" if engine.because else ""
        option = "--checkpoint" if resume is None else "--resume"
        raise BadInput(
            f"{check.protocol}: {option}: the plain explorer does not save itself{why}", mend=f"leave out {option}"
        )
    if engine.name == "spark":
        assert elsewhere is not None
        with elsewhere.saving(check, asked, engine, checkpoint, resume) as saving:
            yield saving
        return
    from .native.checkpoints import checkpoint_in
    from .native.questions import question_of

    question = question_of(check, asked, engine.reductions)
    with checkpoint_in(directory, question, resume=resume is not None, tell=tell) as saving:
        yield saving


def _explore(
    engine: Engine,
    asked: Asked,
    system: System,
    properties: list[Property],
    limits: Limits,
    progress: Progress | None,
    saving: Checkpoint | None,
    elsewhere: Elsewhere | None,
) -> tuple[Exploration, float, SymmetryCheck]:
    """What is found, how many seconds it took before the search was gone on with, and what it saw of processes that
    are declared alike.
    """
    if engine.name == "plain":
        return explore(system, properties, limits, progress), 0.0, SymmetryCheck()
    if engine.name == "spark":
        assert elsewhere is not None
        began = time.monotonic()
        with elsewhere.search(asked, engine, system.observers, properties, saving) as there:
            until_it_stood = time.monotonic() - began
            return there.explore(limits, progress), there.seconds_before - until_it_stood, there.symmetry
    from .native.search import NativeSearch

    search = _native(NativeSearch, engine, asked, system, properties, engine.reductions)
    return search.explore(limits, progress, saving), search.seconds_before, search.symmetry


def _native(
    kind: type[NativeKind],
    engine: Engine,
    asked: Asked,
    system: System,
    properties: Sequence[Property],
    reductions: Sequence[str],
) -> NativeKind:
    return kind(
        asked.machine,
        asked.workload,
        asked.channel_name,
        system.observers,
        properties,
        shared=engine.shared,
        reductions=reductions,
        workers=engine.workers,
    )


def _shortest_runs(
    engine: Engine,
    asked: Asked,
    system: System,
    properties: list[Property],
    found: Exploration,
    limits: Limits,
    progress: Progress | None,
) -> RunTo:
    """Finds the run to show. Where many states are as near as the violation, those not on the way to it are told first:
    by a second search, one for all properties.
    """
    in_order = "order" in engine.reductions
    far = {
        name
        for name, length in found.broken.items()
        if engine.name != "plain" and (in_order or sum(found.levels[: length + 1]) >= FEW_STATES)
    }

    @cache
    def levels() -> Levels:
        from .native.walking_back import Levels

        search = _native(
            Levels, engine, asked, system, properties, [name for name in engine.reductions if name != "order"]
        )
        search.explore(limits, progress, until=far)
        return search

    began = time.monotonic()
    looks = count()

    def tick() -> None:
        over = limits.seconds_are_over(time.monotonic() - began)
        if over is None and not next(looks) % NODES_A_LOOK:
            over = limits.memory_is_used()
        if over is not None:
            raise GaveUp(over)

    def run_to(known: Property) -> tuple[list[LocalStep], State, Ghost]:
        if known.name not in far:
            return shortest_run(system, known, found.broken[known.name], tick=tick)
        runs = levels().shortest(known, tick)
        return shortest_run(system, known, runs.length, lambda depth, state: runs.holds(depth, system, state), tick)

    return run_to


def _endless(
    engine: Engine,
    system: System,
    found: Exploration,
    properties: Sequence[Property],
    limits: Limits,
    progress: Progress | None,
    seconds: Callable[[], float],
) -> EndlessRuns | str | None:
    """The second search, for runs that never end: what it found, or why it was given up; None if not needed."""
    undecided = [known for known in properties if known.kind == "live" and known.name not in found.broken]
    graded = found.graded and "order" not in engine.reductions  # whose levels skip steps
    if found.acyclic or graded or found.stopped or not undecided:
        return None

    def tick(nodes: int) -> None:
        if progress is not None:
            progress(found, -nodes)
        over = limits.reached(seconds())
        if over is not None:
            raise GaveUp(over)

    try:
        return EndlessRuns(system, tick)
    except GaveUp as reason:
        return str(reason)
    except KeyboardInterrupt as ending:
        return reason_of(ending)
    except MemoryError:
        return allocation_failed()


def _result(
    system: System,
    found: Exploration,
    endless: EndlessRuns | str | None,
    known: Property,
    run_to: RunTo,
    *,
    program: bool,
) -> PropertyResult:
    if known.kind == "sometimes":
        if known.name in found.reached:
            return PropertyResult(known, "holds")
        note = "no run so far" if found.stopped else "no run" if program else "no run within the bound"
        return PropertyResult(known, "unknown", note=f"{note} reaches it")
    if known.name in found.broken:
        try:
            steps, state, ghost = run_to(known)
        except (GaveUp, KeyboardInterrupt, MemoryError) as ending:
            why = _why(ending)
            length = found.broken[known.name]
            note = f"by a run of {length} action{'s' * (length != 1)}; the search for one to show ended early: {why}"
            return PropertyResult(known, "violated", note=note)
        run = run_of(system, steps, keep_names=program)
        return PropertyResult(known, "violated", run, _what_is_missing(system, known, state, ghost, run))
    if found.stopped:
        return PropertyResult(known, "unknown", note=f"not violated before the search ended: {found.stopped}")
    if known.kind != "live" or endless is None:
        return PropertyResult(known, "holds")
    if isinstance(endless, str):
        note = f"no run that ends violates it; the search for runs that never end ended early: {endless}"
        return PropertyResult(known, "unknown", note=note)
    lasso = endless.without(known)
    if lasso is not None:
        note = "from here on it can go on for ever"
        return PropertyResult(known, "violated", run_of(system, lasso, keep_names=program), note)
    return PropertyResult(known, "holds")


def _why(ending: BaseException) -> str:
    """Why a search for a run to show ended."""
    if isinstance(ending, KeyboardInterrupt):
        return reason_of(ending)
    return allocation_failed() if isinstance(ending, MemoryError) else str(ending)


def _what_is_missing(system: System, known: Property, state: State, ghost: Ghost, run: Run) -> str:
    """At the end of a run that breaks a live property: who waits for what."""
    if known.kind != "live":
        return ""
    if known.name == DELIVERS_ALL.name:
        lost = {action.message for action in run.actions if action.action == "lose"}
        owed = system.undelivered(ghost, state)
        names = [run.names[message] for message, _ in owed]
        return "never delivered: " + ", ".join(f"{name} (lost)" if name in lost else name for name in names)
    names_in_run = {message.name: name for message, name in run.names.items()}
    crashed = system.crashed(state)
    waits = [f"{names_in_run[name]} is never sent" for name in system.unsent(ghost, crashed)]
    if not system.finished(state):
        waits += system.workload.describe(system.position(state), crashed)
    return "; ".join(waits)


def _verdict(found: Exploration, results: Sequence[PropertyResult]) -> Outcome:
    if any(result.verdict == "violated" for result in results):
        return "violated"
    if any(result.verdict == "unknown" and result.property.kind == "live" for result in results):
        return "unknown"
    if found.stopped or DELIVERS_SOMETHING.name not in found.reached:
        return "unknown"
    return "holds"


def _scope(check: Check, machine: ProtocolMachine, workload: Workload, found: Exploration, engine: Engine) -> str:
    name = check.channel or machine.needs_channel
    channel = channel_named(name)
    count = f"{len(workload.processes)} process{'es' * (len(workload.processes) != 1)}"
    if check.program is None:
        to = {"unicast": "any other", "multicast": "any set of others", "broadcast": "all others"}
        sends = f"any process to {to[sends_of(check, type(machine))]}{', itself included' * check.self_sends}"
        bound = f"{count}, up to {workload.messages} message{'s' * (workload.messages != 1)}, {sends}"
    else:
        bound = f"program {check.program_name}, {count}"
    parts = [bound, f"{name} channel: {channel.meaning}"]
    if machine.settings:
        parts.append(", ".join(f"{key}={told(value)}" for key, value in machine.settings.items()))
    if machine.remark:
        parts.append(machine.remark)
    if machine.ordered_at is not None:
        parts.append(f"orders judged at {', '.join(workload.processes[i] for i in sorted(machine.ordered_at))} alone")
    if check.crash is not None:
        parts.append(f"{check.crash} may crash and lose what it has under way; messages from and to it are not owed")
    if not channel.reliable:
        parts.append("fair: what is enabled again and again happens, what is lost stays lost")
    parts.append(f"search ended early: {found.stopped}" if found.stopped else "every interleaving")
    parts.append(str(engine))
    return "; ".join(parts)


def told(value: Setting) -> str:
    """The value of a parameter as `--set` takes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
