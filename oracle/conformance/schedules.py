"""Schedules of violations, as files of their own.

A schedule records each send with its receivers, when each packet arrives, and the events that follow. A packet is
identified by its link and its number among those transmitted there, so that a schedule outlives changes of packet
contents.
"""

from dataclasses import replace
from importlib.metadata import version
from typing import Any

import msgspec

from crownless.impl.channels import channel_named
from crownless.model_check.runs.actions import ShownAction
from crownless.model_check.runs.runs import Run
from crownless.model_check.runs.saved_runs import SavedAction, SavedCheck, SavedProperty, numbered
from crownless.model_check.system.request import MAX_MESSAGES, MAX_PROCESSES
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import in_brackets
from crownless.runtime.reading import decode_json
from crownless.spec.computation import process_names

from .conformance_request import Request

HINT = "give the output of 'crownless conform --save'"


class Schedule(msgspec.Struct):
    """A run of an implementation, and the property that it violates."""

    implementation: str
    violates: str
    #: The request, within the bounds of the run.
    request: Request
    steps: list[SavedAction]

    def __repr__(self) -> str:
        return in_brackets(f"schedule of {self.implementation}: {len(self.steps)} steps, violates {self.violates}")

    @property
    def replies(self) -> bool:
        """True if an application sends from inside a delivery. Without replies, a send that does not happen yet is one
        that the node has queued.
        """
        kept = any(step.action == "send" and not step.happens for step in self.steps)
        return kept and bool(self.request.messages_with_replies)

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
        return SavedCheck(self.implementation, names, [SavedProperty(self.violates, self.steps)])


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
    saved = decode_json(content, _Answer, file=file, hint="give the output of 'conform --json'")
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


def schedule_of(implementation: str, violates: str, run: Run, request: Request) -> Schedule:
    """The schedule of a run of nodes."""
    messages = sum(action.action == "send" for action in run.actions)
    request = replace(request, messages=max(messages, 1))
    steps = [msgspec.convert(action.json(), SavedAction) for action in run.actions]
    return Schedule(implementation, violates, request, steps)
