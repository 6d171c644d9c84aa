"""Schedules of violations as files of their own, and their replay with the same implementation or another one.

A schedule says who sends what to whom, which packet arrives when, and what happened then. A packet is known by its link
and by its number among those that its sender transmitted there, so that a schedule outlives changes of what packets
carry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import msgspec

from crownless.impl.channels import channel_named
from crownless.impl.workloads import Free
from crownless.model_check.monitors import monitors_for
from crownless.model_check.request import MOST_MESSAGES, MOST_PROCESSES
from crownless.model_check.runs import Links, Run, ShownAction, run_of
from crownless.model_check.saved_runs import SavedPacket
from crownless.model_check.system import LocalStep, State, System
from crownless.runtime.ending import watching
from crownless.spec.computation import Computation, process_names
from crownless.spec.diagrams.diagram import Diagram
from crownless.spec.drawn import Drawn
from crownless.spec.enumeration import SENDS, known_sends
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.json_reader import decode_json
from crownless.spec.orders import ORDERS, decide
from crownless.spec.printable import in_brackets, printable

from .conformance_request import Request
from .node import Implementation
from .node_machine import RESTART, TICK, UNPROMPTED, Failed, machine_class
from .queries import Queries

HINT = "give what 'crownless conform --save' wrote"


class ScheduledStep(msgspec.Struct, omit_defaults=True, rename={"source": "from"}):
    """One action: a send (`to`), the arrival, loss or duplication of a packet (`from`, `number`), or a step of its own.

    `reply`: the message is sent from inside the next delivery. `happens`: what happened then for the application, such
    as `deliver m1`.
    """

    process: str
    action: str
    message: str = ""
    to: list[str] = []
    reply: bool = False
    source: str = ""
    number: int = 0
    happens: list[str] = []
    #: What the node put on the channel then; only to be shown.
    transmits: list[SavedPacket] = []


class Schedule(msgspec.Struct):
    """A run of an implementation, and what it breaks."""

    def __repr__(self) -> str:
        return in_brackets(f"schedule of {self.implementation}: {len(self.steps)} steps, breaks {self.breaks}")

    implementation: str
    breaks: str
    processes: int
    messages: int
    channel: str
    sends: str
    self_sends: bool
    ticks: int
    steps: list[ScheduledStep]
    restarts: int = 0

    @property
    def replies(self) -> bool:
        """Does an application send from inside a delivery?"""
        return any(step.reply for step in self.steps)

    @property
    def request(self) -> Request:
        """What was searched, within the bounds of the run."""
        return Request(
            self.processes,
            self.messages,
            self.channel,
            sends=known_sends(self.sends),
            self_sends=self.self_sends,
            ticks=self.ticks,
            restarts=self.restarts,
        )

    def json(self) -> dict[str, Any]:
        """As a file has it."""
        return {"crownless": version("crownless"), "schedule": msgspec.to_builtins(self)}


class _File(msgspec.Struct):
    schedule: Schedule


def read_schedule(content: bytes, file: str) -> Schedule:
    """The schedule in a file; raises `BadInput` if it holds none."""
    return checked(decode_json(content, _File, file=file, hint=HINT).schedule, file)


def checked(found: Schedule, file: str) -> Schedule:
    """The schedule, if such a run can be; raises `BadInput` that names the file."""
    try:
        if found.sends not in SENDS:
            raise unknown_name("kind of sends", found.sends, SENDS)
        channel_named(found.channel)
        _free(found)
    except BadInput as problem:
        raise problem.at(file=file) from None
    names = process_names(found.processes)
    for k, step in enumerate(found.steps, 1):
        others = [*([step.source] if step.source else []), *(packet.to for packet in step.transmits)]
        for name in (step.process, *step.to, *others):
            if name not in names:
                raise BadInput(f"step {k} names '{name}', which is none of {', '.join(names)}", hint=HINT, file=file)
    return found


def _free(schedule: Schedule) -> Free:
    for what, number, most in (
        ("processes", schedule.processes, MOST_PROCESSES),
        ("messages", schedule.messages, MOST_MESSAGES),
    ):
        if not 1 <= number <= most:
            raise BadInput(f"it has {number} {what}", hint=f"there are 1 to {most}")
    sends = next(known for known in SENDS if known == schedule.sends)
    return Free(schedule.processes, schedule.messages, self_sends=schedule.self_sends, sends=sends)


def schedule_of(implementation: str, breaks: str, run: Run, request: Request) -> Schedule:
    """The schedule of a run of nodes."""
    messages = sum(action.action == "send" for action in run.actions)
    steps = [_scheduled(action) for action in run.actions]
    return Schedule(
        implementation,
        breaks,
        len(run.processes),
        max(messages, 1),
        request.channel,
        request.sends,
        request.self_sends,
        request.ticks,
        steps,
        request.restarts,
    )


def _scheduled(action: ShownAction) -> ScheduledStep:
    happens = [f"{kind} {message}" for kind, message in action.happened]
    step = ScheduledStep(
        action.process,
        action.action,
        action.message or "",
        list(action.to),
        happens=happens,
        transmits=[SavedPacket(one.kind, one.message, one.destination) for one in action.transmits],
    )
    if action.action == "send":
        step.reply = not action.happened
    elif action.packet is not None:
        step.action = action.action if action.by_channel else "receive"
        step.source, step.number = action.packet.source, action.packet.number
    return step


@dataclass(frozen=True, repr=False)
class Replay(Drawn):
    """What came of a schedule: the run as far as it could be followed, and what that breaks.

    `differs`: at which step something else happened than before, in words; None: nowhere.
    """

    schedule: Schedule
    run: Run
    broken: tuple[str, ...]
    differs: str | None
    #: Why the answers may not be all that the nodes say.
    best_effort: str | None = None

    def __bool__(self) -> bool:
        """True if what the schedule once broke is no longer broken by it."""
        return self.schedule.breaks not in self.broken

    def __repr__(self) -> str:
        return in_brackets(f"replay: {'no longer' if self else 'still'} breaks {self.schedule.breaks}")

    def __str__(self) -> str:
        differs = "" if self.differs is None else f"; differs at {self.differs}"
        return (
            printable(f"{'no longer' if self else 'still'} breaks {self.schedule.breaks}{differs}") + f"\n\n{self.run}"
        )

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the run."""
        still = "" if self else f"{self.schedule.implementation} breaks {self.schedule.breaks}"
        yield self.run.diagram(still, highlight or self.schedule.breaks)

    @property
    def shows_violation(self) -> bool:
        """True if there is a violation to be shown."""
        return not self

    def json(self) -> dict[str, Any]:
        return {
            "breaks": self.schedule.breaks,
            "still_broken": not self,
            "broken": list(self.broken),
            "differs": self.differs,
            "best_effort": self.best_effort,
            "run": self.run.json(),
        }


def as_test(schedule: Schedule, node: str, run: Run, options: str = "") -> str:
    """A test for pytest that an implementation breaks this no more, by what `cr.replay` takes: a name or a command, and
    options.
    """
    import pprint

    said = "".join(f"    {line}\n" for line in run.say().splitlines())
    steps = pprint.pformat(schedule.json()["schedule"], width=110, sort_dicts=False)
    about = f"No schedule of `crownless conform` may break {schedule.breaks} again.\n\n{said}    "
    return (
        f"import crownless as cr\n\nSCHEDULE = {steps}\n\n\n"
        f"def test_{schedule.breaks.replace('-', '_')}() -> None:\n"
        f'    """{about}"""\n    assert cr.replay({node}, SCHEDULE{options})\n'
    )


class Follower:
    """Follows a schedule through the transition system of an implementation."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.number = {name: p for p, name in enumerate(system.workload.processes)}
        self.links = Links()
        self.steps: list[LocalStep] = []
        self.state: State = self.system.initial()
        self.monitored = self.system.initial_monitor_state()
        self.broken: list[str] = []

    def follow(self, wanted: ScheduledStep) -> int | None:
        """Takes the step, if it can be taken; returns its number among the moves there."""
        moves = self.system.moves(self.state)
        taken = next((number for number, (step, _) in enumerate(moves) if self._is(step, wanted)), None)
        if taken is None:
            return None
        step, self.state = moves[taken]
        self.monitored, broken = self.system.evaluate(self.monitored, step)
        self.broken += broken
        if step.action.packet is not None:
            self.links.taken(step.action.packet, step.action.name)
        for packet in self.system.transmitted(step):
            self.links.transmitted(packet)
        self.steps.append(step)
        return taken

    def _is(self, step: LocalStep, wanted: ScheduledStep) -> bool:
        action = step.action
        if action.process != self.number[wanted.process]:
            return False
        if wanted.source:
            packet = self.links.packet(self.number[wanted.source], action.process, wanted.number)
            named = action.name == wanted.action if action.by_channel else wanted.action == "receive"
            return packet is not None and action.packet == packet and named
        if wanted.action == "send":
            to = tuple(sorted(self.number[name] for name in wanted.to))
            at_once = any(one.kind == "send" for one in step.observations)
            return (
                action.name == "send"
                and action.message is not None
                and action.message.receivers == to
                and at_once != wanted.reply
            )
        return action.name == wanted.action and action.name in (TICK, RESTART, UNPROMPTED)

    @property
    def run(self) -> Run:
        return run_of(self.system, self.steps, keep_names=False, end=self.state)

    def all_broken(self) -> tuple[str, ...]:
        """All that the run breaks: failures, deliveries, and orders."""
        found = [state.kind for state in self.system.local_states(self.state) if isinstance(state, Failed)]
        found += self.broken
        moves = self.system.moves(self.state)
        if self.system.may_end(moves) and self.system.undelivered(self.monitored, self.state):
            found.append("delivers-all")
        c = computation_of(self.run)
        found += [] if c is None else [name for name in ORDERS if not decide(c, name, "pending").kept]
        return tuple(dict.fromkeys(found))


def computation_of(run: Run) -> Computation | None:
    """The computation that applications saw in a run; None if it is none, as after a delivery of what was not sent."""
    from crownless.spec.recorder import Recorder

    to = {action.message: action.to for action in run.actions if action.action == "send" and action.message}
    recorder = Recorder(run.processes)
    try:
        for action in run.actions:
            for kind, message in action.happened:
                if kind == "send":
                    recorder.send(action.process, message, to=to[message])
                else:
                    recorder.deliver(action.process, message)
        return recorder.computation
    except BadInput:
        return None


@watching()
def replay(implementation: Implementation, schedule: Schedule) -> Replay:
    """Takes an implementation through a schedule, as far as it can be followed."""
    follower, differs = Follower(_system_of(implementation, schedule)), None
    for k, wanted in enumerate(schedule.steps, 1):
        if follower.follow(wanted) is None:
            differs = differs or f"step {k}: {cannot_be_taken(wanted)}"
            break
        now = [f"{kind} {message}" for kind, message in follower.run.actions[-1].happened]
        if differs is None and now != wanted.happens:
            said = [" and ".join(one) or "nothing" for one in (now, wanted.happens)]
            differs = f"step {k}, at {wanted.process}: {said[0]}; before: {said[1]}"
    return Replay(schedule, follower.run, follower.all_broken(), differs, implementation.best_effort)


def _system_of(implementation: Implementation, schedule: Schedule) -> System:
    n, free = schedule.processes, _free(schedule)
    kind = machine_class(implementation.name, "asynchronous")
    machine = kind(
        n,
        Queries(implementation, with_states=False, only_new_nodes=True),
        free.universe(),
        replies=schedule.replies and implementation.takes_replies,
        ticks=schedule.ticks,
        restarts=schedule.restarts,
    )
    monitors = monitors_for(n, (), sends_before_delivery=machine.sends_before_delivery)
    return System(machine, free, channel_named(schedule.channel), monitors)


def cannot_be_taken(step: ScheduledStep) -> str:
    if step.source:
        return f"there is no packet {step.number} from {step.source} to {step.process}"
    return f"{step.process} takes no step '{step.action}' now"
