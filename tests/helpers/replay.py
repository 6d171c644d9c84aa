"""How a machine that is in no registry is checked, and how a run is replayed move by move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.workloads import Program, Workload
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.monitors import Monitor, Observation
from crownless.model_check.system.request import Check
from crownless.model_check.system.system import LocalStep, MonitorState, State, System
from crownless.runtime.ending import Limits
from crownless.spec import library, notation
from crownless.spec.notation import Script, SendStatement


def check(
    kind: type[ProtocolMachine],
    processes: int = 3,
    messages: int = 3,
    *,
    program: Script | str | None = None,
    limits: Limits | None = None,
    **asked: Any,
) -> CheckResult:
    """What `run_check` says of a machine, by default over an unordered channel; the program may be a text."""
    script = notation.parse(program) if isinstance(program, str) else program
    size = () if script is not None else (processes, messages)  # a program has its own
    return run_check(Check(kind, *size, program=script, **{"channel": "unordered", **asked}), limits)


def violations(result: CheckResult) -> dict[str, int]:
    """Each property found violated, with the length of the run shown for it."""
    return {
        known.property.name: len(known.run.actions)
        for known in result.properties
        if known.verdict == "violated" and known.run is not None
    }


def never_reached(result: CheckResult) -> set[str]:
    """The `sometimes` properties that no run reaches."""
    return {
        known.property.name
        for known in result.properties
        if known.property.kind == "sometimes" and known.verdict != "holds"
    }


def over(
    machine: ProtocolMachine,
    workload: Workload,
    channel: str = "unordered",
    *,
    crash: str | None = None,
    monitors: tuple[Monitor, ...] = (),
) -> System:
    """The transition system of a machine, with no order to judge."""
    request = Check(
        machine, workload=workload, channel=channel, orders=("asynchronous",), crash=crash, monitors=monitors
    )
    return request.resolve().system()


class Replay:
    """One run of a program, move by move. A move is written `P1 send x`, `P1 post`, `P3 deliver z from P2`."""

    def __init__(
        self, kind: type[ProtocolMachine], program: Script | str, channel: str = "unordered", crash: str | None = None
    ) -> None:
        script = notation.parse(program) if isinstance(program, str) else program
        self.processes = script.processes
        self.machine = kind(len(self.processes))
        self.system = over(self.machine, Program(script), channel, crash=crash)
        self.state = self.system.initial()
        #: What has happened for the applications: `P1 sends x`.
        self.happened: list[str] = []

    def _moves(self) -> dict[str, tuple[LocalStep, State]]:
        moves: dict[str, tuple[LocalStep, State]] = {}
        for step, target in self.system.moves(self.state):
            action = step.action
            message = action.message.name if action.message else None
            origin = f"from {self.processes[action.packet.source]}" if action.packet else None
            move = " ".join(filter(None, (self.processes[action.process], action.name, message, origin)))
            assert move not in moves, f"two moves are both called '{move}'"
            moves[move] = (step, target)
        return moves

    def can(self) -> set[str]:
        """Every move that can be made now."""
        return set(self._moves())

    def do(self, *moves: str) -> list[Packet]:
        """Makes these moves, one after the other ("P1 send x; P1 post"), and returns what the last one transmits."""
        for move in "; ".join(moves).split("; "):
            possible = self._moves()
            assert move in possible, f"'{move}' cannot happen now; what can: {sorted(possible)}"
            step, self.state = possible[move]
            self.happened += [
                f"{self.processes[process]} {kind}s {message.name}"
                for kind, process, message in step.observations
                if kind != "hand"
            ]
        return self.system.transmitted(step)

    def at(self, process: str) -> Any:
        """The protocol's local state at a process."""
        return self.system.local_states(self.state)[self.processes.index(process)]

    def waiting(self) -> list[str]:
        """What each application that is not at its end waits for."""
        return self.system.workload.describe(self.system.position(self.state))


#: A computation as plain data: for each process its events, as (`send` or `receive`, message name).
Lines = tuple[tuple[tuple[str, str], ...], ...]


class Recorder(Monitor):
    """Remembers the computation and judges nothing."""

    watches = ()

    def __init__(self, n: int) -> None:
        self.n = n

    def initial(self) -> Lines:
        return ((),) * self.n

    def encode(self, observation: Observation) -> tuple[int, tuple[str, str]] | None:
        kind, process, message = observation
        if kind == "hand":
            return None
        return process, ("send" if kind == "send" else "receive", message.name)

    def observe(self, monitor_state: Any, code: tuple[int, tuple[str, str]]) -> tuple[MonitorState, tuple[str, ...]]:
        process, event = code
        return (*monitor_state[:process], (*monitor_state[process], event), *monitor_state[process + 1 :]), ()


class Ending(NamedTuple):
    """Where a run ends: nothing can happen any more."""

    computation: Lines
    finished: bool
    locals: list[Any]
    waiting: list[str]


def endings(kind: type[ProtocolMachine], workload: Workload, channel: str = "unordered") -> Iterator[Ending]:
    """Every end of every run, distinguished by the computations that led there."""
    machine = kind(len(workload.processes))
    system = over(machine, workload, channel, monitors=(Recorder(machine.n),))
    for now in reachable(system, monitored=True):
        if not now.moves:
            waiting = workload.describe(system.position(now.state))
            yield Ending(now.monitor_state[1], system.finished(now.state), now.locals, waiting)


def script(name: str) -> Script:
    """A program or figure of the library."""
    return notation.load(library.path(name))


def figure(name: str) -> Lines:
    """A figure of the library, as plain data."""
    return computation_of(script(name))


def computations(kind: type[ProtocolMachine], program: Script | str) -> set[Lines]:
    """All that a program, or that of this name, can be when it has come to its end."""
    work = Program(script(program) if isinstance(program, str) else program)
    return {ending.computation for ending in endings(kind, work) if ending.finished}


def computation_of(script: Script) -> Lines:
    """The computation that a script says, without its internal activity."""
    return tuple(
        tuple(
            ("send" if isinstance(part, SendStatement) else "receive", part.message or "")
            for part in parts
            if not isinstance(part, notation.Activity)
        )
        for parts in script.statements
    )


def numbered(lines: Lines) -> Lines:
    """The computation with the messages of each channel numbered in the order sent, whatever they were called."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for line in lines:
        for kind, name in line:
            if kind == "send":
                channel = name.partition("#")[0]
                counts[channel] = counts.get(channel, 0) + 1
                names[name] = f"{channel}#{counts[channel]}"
    return tuple(tuple((kind, names[name]) for kind, name in line) for line in lines)
