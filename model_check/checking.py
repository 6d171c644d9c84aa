"""One check: a protocol, a workload and a channel, explored, with a verdict for each property and a run for each
violation.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crownless.impl.channels import channel_named
from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.registry import protocol_named
from crownless.impl.workloads import Workload

from .asking import Check, clocks_of, crash_of, orders_of, sends_of, settings_of, workload_of
from .clocks import Clocks
from .cycles import EndlessRuns, GaveUp
from .explorer import INTERRUPTED, Exploration, Limits, Progress, explore
from .observers import observers_of
from .properties import CAN_COMPLETE, COMPLETES, DELIVERS_ALL, DELIVERS_SOMETHING, Property, properties_of
from .runs import Run, run_of
from .shortest import shortest_run
from .system import Ghost, State, System

Outcome = Literal["holds", "violated", "unknown"]


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
            "engine": "plain",
            "reductions": [],
            "states": found.states,
            "transitions": found.transitions,
            "depth": found.depth,
            "terminal_states": found.terminal_states,
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
            "completes": self.completes,
            "blocks": [list(waits) for waits in sorted(found.blocked)],
            "scope": self.scope,
            "properties": [result.json() for result in self.properties],
        }


def run_check(check: Check, limits: Limits | None = None, progress: Progress | None = None) -> CheckResult:
    """Explores and judges; raises `BadInput` for what cannot be checked."""
    kind = protocol_named(check.protocol)
    workload = workload_of(check, kind)
    n = len(workload.processes)
    parameters = settings_of(check, kind, n)
    machine = kind(n, parameters=parameters)
    orders = orders_of(check, machine)
    channel = channel_named(check.channel or kind.needs_channel)
    clocks = clocks_of(check, kind)
    observers = [*observers_of(machine, orders), *(Clocks(n, clock) for clock in clocks)]
    crash = crash_of(check, workload)
    system = System(machine, workload, channel, observers, crash)
    program = check.program is not None
    properties = properties_of(machine, orders, program=program, crash=crash is not None, clocks=clocks)
    started = time.monotonic()
    found = explore(system, properties, limits, progress)
    endless = _endless(system, found, properties, limits, progress, started)
    results = tuple(_result(system, found, endless, known, program=program) for known in properties)
    seconds = time.monotonic() - started
    scope = _scope(check, machine, workload, found)
    return CheckResult(check, machine, workload, found, results, _verdict(found, results), scope, seconds)


def _endless(
    system: System,
    found: Exploration,
    properties: Sequence[Property],
    limits: Limits | None,
    progress: Progress | None,
    started: float,
) -> EndlessRuns | str | None:
    """The second search, for runs that never end: what it found, or why it was given up; None if not needed."""
    undecided = [known for known in properties if known.kind == "live" and known.name not in found.broken]
    if found.graded or found.stopped or not undecided:
        return None

    def tick(nodes: int) -> None:
        if progress is not None:
            progress(found, -nodes)
        if limits is not None and limits.seconds is not None and time.monotonic() - started > limits.seconds:
            raise GaveUp(f"{limits.seconds:g} seconds are over")

    try:
        return EndlessRuns(system, tick)
    except GaveUp as reason:
        return str(reason)
    except KeyboardInterrupt:
        return INTERRUPTED


def _result(
    system: System, found: Exploration, endless: EndlessRuns | str | None, known: Property, *, program: bool
) -> PropertyResult:
    if known.kind == "sometimes":
        if known.name in found.reached:
            return PropertyResult(known, "holds")
        note = "no run so far" if found.stopped else "no run" if program else "no run within the bound"
        return PropertyResult(known, "unknown", note=f"{note} reaches it")
    if known.name in found.broken:
        steps, state, ghost = shortest_run(system, known, found.broken[known.name])
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


def _scope(check: Check, machine: ProtocolMachine, workload: Workload, found: Exploration) -> str:
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
    parts.append("plain explorer, no reductions")
    return "; ".join(parts)


def told(value: Setting) -> str:
    """The value of a parameter as `--set` takes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
