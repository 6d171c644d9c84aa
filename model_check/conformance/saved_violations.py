"""Violations of implementations as files have them: schedules, and what `crownless conform --json` printed."""

from __future__ import annotations

import msgspec

from crownless.impl.protocol import ARRIVAL
from crownless.model_check.runs import ShownAction, ShownPacket
from crownless.model_check.saved_runs import SavedAction, SavedCheck, SavedProperty
from crownless.spec.computation import process_names
from crownless.spec.errors import BadInput
from crownless.spec.json_reader import decode_json

from .conformance_request import JUDGED
from .node_machine import RESTART, TICK, UNPROMPTED
from .schedules import Schedule, ScheduledStep, read_schedule

#: What a step may be called that takes no packet.
WITHOUT_PACKETS = ("send", UNPROMPTED, TICK, RESTART)
AGAIN = "write the schedule once more, with 'conform --save'"
HINT = "give what 'conform --json' printed"


class SavedFinding(msgspec.Struct):
    """An order or a property, and the run that breaks it."""

    name: str
    run: list[SavedAction] | None = None


class SavedConformance(msgspec.Struct):
    """What `conform --json` printed, with or without `--random`."""

    implementation: str
    processes: int
    failures: list[SavedFinding] = []
    delivery: list[SavedFinding] = []
    orders: dict[str, SavedFinding] = {}
    violations: list[SavedFinding] = []


def read_conformance(content: bytes, file: str) -> SavedCheck:
    """The violations that `conform --json` printed; raises `BadInput` if the content is something else."""
    saved = decode_json(content, SavedConformance, file=file, hint=HINT)
    orders = [saved.orders[name] for name in JUDGED if name in saved.orders]
    found = [*saved.failures, *saved.delivery, *orders, *saved.violations]
    properties = [SavedProperty(one.name, one.run) for one in found if one.run]
    return SavedCheck(saved.implementation, _names(saved.processes, file), properties)


def read_scheduled_run(content: bytes, file: str) -> SavedCheck:
    """The run of a schedule; raises `BadInput` if the content is none, or does not say what the nodes transmitted."""
    schedule = read_schedule(content, file)
    try:
        shown = _actions(schedule)
    except BadInput as error:
        raise error.at(file=file) from None
    run = msgspec.convert([action.json() for action in shown], list[SavedAction])
    names = _names(schedule.processes, file)
    return SavedCheck(schedule.implementation, names, [SavedProperty(schedule.breaks, run)])


def _names(processes: int, file: str) -> list[str]:
    if processes < 1:
        raise BadInput(f"it has {processes} processes", hint=HINT, file=file)
    return list(process_names(processes))


def _actions(schedule: Schedule) -> list[ShownAction]:
    """The steps as actions, each with the packet that it takes."""
    transmitted: dict[tuple[str, str], list[ShownPacket]] = {}
    shown = []
    for k, step in enumerate(schedule.steps, 1):
        taken = None
        if step.source:
            there = transmitted.get((step.source, step.process), [])
            if not 1 <= step.number <= len(there):
                said = f"step {k} takes packet {step.number} from {step.source}, which no step before transmits"
                raise BadInput(said, hint=AGAIN)
            taken = there[step.number - 1]
        elif step.action not in WITHOUT_PACKETS:
            raise BadInput(f"step {k} is '{step.action}', and takes no packet", hint="name 'from' and 'number'")
        packets = [
            ShownPacket(one.kind, one.message, step.process, one.to, control=one.message is None)
            for one in step.transmits
        ]
        for packet in packets:
            transmitted.setdefault((step.process, packet.destination), []).append(packet)
        shown.append(_action(k, step, taken, tuple(packets)))
    return shown


def _action(k: int, step: ScheduledStep, taken: ShownPacket | None, packets: tuple[ShownPacket, ...]) -> ShownAction:
    happened = []
    for one in step.happens:
        kind, _, of_message = one.partition(" ")
        if not of_message:
            raise BadInput(f"step {k}: '{one}' is nothing that happens", hint="such as 'deliver m1'")
        happened.append((kind, of_message))
    name = step.action
    if taken is not None and name == "receive":
        name = "deliver" if ("deliver", step.message) in happened else f"{ARRIVAL}{taken.kind}"
    by_channel = taken is not None and step.action != "receive"
    message = step.message or None
    return ShownAction(step.process, name, message, tuple(step.to), taken, packets, tuple(happened), by_channel)
