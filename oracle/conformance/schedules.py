"""Schedules of violations as files of their own, and their replay with the same implementation or another one.

A schedule records each send with its receivers, when each packet arrives, and the events that follow. A packet is
identified by its link and its number among those transmitted there, so that a schedule outlives changes of packet
contents.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import msgspec

from crownless.impl.channels import channel_named
from crownless.model_check.check.request import MAX_MESSAGES, MAX_PROCESSES
from crownless.model_check.runs.run_diagrams import computation_of_run
from crownless.model_check.runs.runs import Run, ShownAction
from crownless.model_check.runs.saved_runs import SavedAction, SavedCheck, SavedProperty, numbered
from crownless.model_check.runs.stepwise import Follower
from crownless.runtime.ending import watching
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import in_brackets, printable
from crownless.runtime.reading import decode_json
from crownless.spec.computation import process_names
from crownless.spec.diagrams.diagram import Diagram
from crownless.spec.drawn import Drawn
from crownless.spec.orders import WITH_TOTAL, decide

from .answers import Answers
from .conformance_request import Request
from .node import Implementation
from .node_machine import Failed, check_of_nodes

HINT = "give what 'crownless conform --save' wrote"


class Schedule(msgspec.Struct):
    """A run of an implementation, and the property that it violates."""

    implementation: str
    breaks: str
    #: The request, within the bounds of the run.
    request: Request
    steps: list[SavedAction]

    def __repr__(self) -> str:
        return in_brackets(f"schedule of {self.implementation}: {len(self.steps)} steps, violates {self.breaks}")

    @property
    def replies(self) -> bool:
        """True if an application sends from inside a delivery."""
        return any(step.action == "send" and not step.happens for step in self.steps)

    @property
    def actions(self) -> list[ShownAction]:
        """Its steps as actions, each packet identified."""
        return list(numbered(step.shown() for step in self.steps))

    def json(self) -> dict[str, Any]:
        """The contents of its file."""
        return {"crownless": version("crownless"), "schedule": msgspec.to_builtins(self)}

    def saved(self) -> SavedCheck:
        """The run, to be shown."""
        names = list(process_names(self.request.processes))
        return SavedCheck(self.implementation, names, [SavedProperty(self.breaks, self.steps)])


class _File(msgspec.Struct):
    schedule: Schedule


def read_schedule(content: bytes, file: str) -> Schedule:
    """The schedule in a file; raises `BadInput` if it holds none."""
    return checked(decode_json(content, _File, file=file, hint=HINT).schedule, file)


class _Answer(msgspec.Struct):
    """The output of `conform --json`."""

    implementation: str
    processes: int
    failures: list[SavedProperty] = []
    delivery: list[SavedProperty] = []
    orders: dict[str, SavedProperty] = {}


def read_conformance(content: bytes, file: str) -> SavedCheck:
    """The violations that `conform --json` printed; raises `BadInput` if the content is something else."""
    saved = decode_json(content, _Answer, file=file, hint="give what 'conform --json' printed")
    if not 1 <= saved.processes <= MAX_PROCESSES:
        raise BadInput(f"it has {saved.processes} processes", hint=HINT, file=file)
    found = [*saved.failures, *saved.delivery, *saved.orders.values()]
    return SavedCheck(saved.implementation, list(process_names(saved.processes)), [one for one in found if one.run])


def checked(found: Schedule, file: str) -> Schedule:
    """The schedule, if such a run is possible; else raises `BadInput` that names the file."""
    try:
        request = found.request
        if not 1 <= request.processes <= MAX_PROCESSES:
            raise BadInput(f"it has {request.processes} processes", hint=f"there are 1 to {MAX_PROCESSES}")
        if not 1 <= request.messages <= MAX_MESSAGES:
            raise BadInput(f"it has {request.messages} messages", hint=f"there are 1 to {MAX_MESSAGES}")
        channel_named(request.channel)
        found.saved().violations()  # checks that the processes exist
    except BadInput as problem:
        raise problem.at(file=file) from None
    return found


def schedule_of(implementation: str, breaks: str, run: Run, request: Request) -> Schedule:
    """The schedule of a run of nodes."""
    messages = sum(action.action == "send" for action in run.actions)
    request = replace(request, messages=max(messages, 1))
    steps = [msgspec.convert(action.json(), SavedAction) for action in run.actions]
    return Schedule(implementation, breaks, request, steps)


@dataclass(frozen=True, repr=False)
class Replay(Drawn):
    """The result of replaying a schedule: the run as far as it could be followed, and its violations.

    `differs`: the step at which the run differs from the schedule, in words; None if it does not.
    """

    schedule: Schedule
    run: Run
    broken: tuple[str, ...]
    differs: str | None
    #: Why the answers may not include all of the nodes' output.
    best_effort: str | None = None

    def __bool__(self) -> bool:
        """True if the schedule no longer violates the property that it once violated."""
        return self.schedule.breaks not in self.broken

    def __repr__(self) -> str:
        return in_brackets(f"replay: {'no longer' if self else 'still'} violates {self.schedule.breaks}")

    def __str__(self) -> str:
        differs = "" if self.differs is None else f"; differs at {self.differs}"
        return (
            printable(f"{'no longer' if self else 'still'} violates {self.schedule.breaks}{differs}")
            + f"\n\n{self.run}"
        )

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the run."""
        still = "" if self else f"{self.schedule.implementation} violates {self.schedule.breaks}"
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


def _broken_by(follower: Follower) -> tuple[str, ...]:
    """All that the run violates: failures, delivery properties, and orders."""
    system, state = follower.system, follower.state
    found = [local.kind for local in system.local_states(state) if isinstance(local, Failed)]
    found += follower.broken
    if system.may_end(system.moves(state)) and system.undelivered(follower.monitor_state, state):
        found.append("delivers-all")
    c = computation_of_run(follower.run)
    found += [] if c is None else [name for name in WITH_TOTAL if not decide(c, name, "pending").kept]
    return tuple(dict.fromkeys(found))


@watching()
def replay(implementation: Implementation, schedule: Schedule) -> Replay:
    """Takes an implementation through a schedule, as far as it can be followed."""
    request = schedule.request
    answers = Answers(implementation)
    check = check_of_nodes(answers, request, (), replies=schedule.replies).resolve()
    follower, differs = Follower(check.system()), None
    for k, wanted in enumerate(schedule.actions, 1):
        if follower.follow(wanted, exactly=False) is None:
            differs = differs or f"step {k}: {cannot_be_taken(wanted)}"
            break
        now, before = follower.run.actions[-1].happened, wanted.happened
        if differs is None and now != before:
            said = [" and ".join(map(" ".join, one)) or "nothing" for one in (now, before)]
            differs = f"step {k}, at {wanted.process}: {said[0]}; before: {said[1]}"
    return Replay(schedule, follower.run, _broken_by(follower), differs, implementation.best_effort)


def cannot_be_taken(action: ShownAction) -> str:
    """Why a step of a schedule cannot be followed."""
    if action.packet is not None:
        return f"there is no packet {action.packet.number} from {action.packet.source} to {action.process}"
    return f"{action.process} takes no step '{action.action}' now"
