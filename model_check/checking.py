"""One check: a protocol, a workload and a channel, explored, with a verdict for each property and a run for each
violation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from crownless.impl.channels import channel_named
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.impl.workloads import Free, Program, Workload
from crownless.spec import library, notation
from crownless.spec.errors import BadInput
from crownless.spec.notation import Script
from crownless.spec.orders import order_named

from .cycles import endless
from .explorer import Exploration, Limits, Progress, explore
from .observers import observers_for
from .properties import DELIVERS_ALL, DELIVERS_SOMETHING, Property, default_orders, properties_of
from .runs import Run, run_of
from .shortest import shortest_run
from .system import Ghost, State, System

Outcome = Literal["holds", "violated", "unknown"]

#: Beyond these no search ends; asking for more is taken for a slip.
MOST_PROCESSES = 16
MOST_MESSAGES = 64


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
class Check:
    """What to check. `messages` bounds the free workload; a program brings its own."""

    protocol: str
    processes: int = 3
    messages: int = 3
    program: Script | None = None
    program_name: str | None = None
    channel: str = "unordered"
    orders: tuple[str, ...] = ()
    self_sends: bool = False
    parameters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckResult:
    """The verdict, and the counts that go with it. `scope` says in words how far it reaches."""

    check: Check
    processes: tuple[str, ...]
    messages: int
    exploration: Exploration
    properties: tuple[PropertyResult, ...]
    verdict: Outcome
    scope: str

    def json(self) -> dict[str, Any]:
        found = self.exploration
        return {
            "protocol": self.check.protocol,
            "processes": len(self.processes),
            "process_names": list(self.processes),
            "messages": self.messages,
            "program": self.check.program_name,
            "channel": self.check.channel,
            "parameters": dict(self.check.parameters),
            "engine": "plain",
            "reductions": [],
            "states": found.states,
            "transitions": found.transitions,
            "depth": found.depth,
            "terminal_states": found.terminal_states,
            "seconds": round(found.seconds, 3),
            "verdict": self.verdict,
            "scope": self.scope,
            "properties": [result.json() for result in self.properties],
        }


def run_check(check: Check, limits: Limits | None = None, progress: Progress | None = None) -> CheckResult:
    """Explores and judges; raises `BadInput` for what cannot be checked."""
    kind = protocol_named(check.protocol)
    workload = _workload(check, kind)
    orders = check.orders or default_orders(kind)
    for order in orders:
        order_named(order)
    n = len(workload.processes)
    machine = kind(n, parameters=_parameters(check, kind))
    properties = properties_of(machine, orders, program=check.program is not None)
    observers = observers_for(n, orders, sends_before_delivery=machine.sends_before_delivery)
    system = System(machine, workload, channel_named(check.channel), observers)
    found = explore(system, properties, limits, progress)
    results = tuple(_result(system, found, known, program=check.program is not None) for known in properties)
    return CheckResult(
        check,
        workload.processes,
        workload.messages,
        found,
        results,
        _verdict(found, results),
        _scope(check, workload, found),
    )


def _parameters(check: Check, kind: type[ProtocolMachine]) -> dict[str, int]:
    for name in check.parameters:
        if name not in kind.parameters:
            known = ", ".join(kind.parameters) or "none"
            raise BadInput(f"{check.protocol} has no parameter '{name}'", mend=f"its parameters: {known}")
    return dict(check.parameters)


def _workload(check: Check, kind: type[ProtocolMachine]) -> Workload:
    workload: Workload
    if check.program is None:
        _within("-n/--processes", "processes", check.processes, MOST_PROCESSES)
        _within("-m/--messages", "messages", check.messages, MOST_MESSAGES)
        if check.self_sends and not kind.admits_self_sends:
            mend = f"leave out --self-sends, or name the protocols: {_those_that_admit('self_sends')}"
            raise BadInput(f"{check.protocol} excludes messages to oneself", mend=mend)
        return Free(check.processes, check.messages, self_sends=check.self_sends)
    workload = Program(check.program)
    for message in workload.sends:
        if len(message.receivers) > 1 and not kind.admits_multicast:
            raise BadInput(
                f"{check.protocol} has no multicasts, and {message.name} is sent to several",
                mend=f"send copies, or name the protocols: {_those_that_admit('multicast')}",
            )
        if message.sender in message.receivers and not kind.admits_self_sends:
            raise BadInput(f"{check.protocol} excludes messages to oneself, such as {message.name}", mend="drop it")
    return workload


def _those_that_admit(what: str) -> str:
    return ", ".join(name for name, kind in PROTOCOLS.items() if getattr(kind, f"admits_{what}"))


def _within(option: str, what: str, value: int, most: int) -> None:
    if value < 1:
        raise BadInput(f"{option} {value}: nothing to explore", mend=f"give 1 to {most} {what}")
    if value > most:
        raise BadInput(
            f"{option} {value}: more than this tool takes", mend=f"give at most {most} {what}; 3 or 4 is a good start"
        )


def _result(system: System, found: Exploration, known: Property, *, program: bool) -> PropertyResult:
    if known.kind == "sometimes":
        if known.name in found.reached:
            return PropertyResult(known, "holds")
        note = "no run so far" if found.stopped else "no run within the bound"
        return PropertyResult(known, "unknown", note=f"{note} reaches it")
    if known.name in found.broken:
        steps, state, ghost = shortest_run(system, known, found.broken[known.name])
        run = run_of(system, steps, keep_names=program)
        return PropertyResult(known, "violated", run, _what_is_missing(system, known, state, ghost, run))
    if found.stopped:
        return PropertyResult(known, "unknown", note=f"not violated before the search ended: {found.stopped}")
    if known.kind == "live" and not found.graded:
        lasso = endless(system, known)
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
        names = [run.names[message] for message, _ in system.undelivered(ghost)]
        return "never delivered: " + ", ".join(f"{name} (lost)" if name in lost else name for name in names)
    names_in_run = {message.name: name for message, name in run.names.items()}
    waits = [f"{names_in_run[name]} is never sent" for name in system.unsent(ghost)]
    if not system.finished(state):
        waits += system.workload.describe(system.position(state))
    return "; ".join(waits)


def _verdict(found: Exploration, results: Sequence[PropertyResult]) -> Outcome:
    if any(result.verdict == "violated" for result in results):
        return "violated"
    if found.stopped or DELIVERS_SOMETHING.name not in found.reached:
        return "unknown"
    return "holds"


def _scope(check: Check, workload: Workload, found: Exploration) -> str:
    channel = channel_named(check.channel)
    if check.program is None:
        sends = "any process to any, itself included" if check.self_sends else "any process to any other"
        bound = (
            f"{len(workload.processes)} processes, up to {check.messages} message{'s' * (check.messages != 1)}, {sends}"
        )
    else:
        bound = f"program {check.program_name}, {len(workload.processes)} processes"
    fairness = "" if channel.reliable else "; fair: what is enabled again and again happens, what is lost stays lost"
    how = f"search ended early: {found.stopped}" if found.stopped else "every interleaving"
    return f"{bound}; {check.channel} channel: {channel.meaning}{fairness}; {how}; plain explorer, no reductions"


def all_protocols() -> tuple[str, ...]:
    """Every protocol, in the order of the registry."""
    return tuple(PROTOCOLS)


def load_program(name: str) -> tuple[Script, str]:
    """A program by file name or by the name of a bundled one."""
    path = Path(name)
    if not path.exists() and "/" not in name and "." not in name:
        path = library.path(name)
    return notation.load(path), name
