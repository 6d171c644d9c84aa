"""Faults planted in every part of every protocol, and what `check` and `prove` say of each.

The operators make candidates; one that changes some step of a small run is a fault and is planted. What has been found
of each is on file, `planted_faults.csv`, and as a page, `docs/planted_faults.md`; both are written by

    python tests/planted_faults.py
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import fault_operators as plant
from fault_operators import ALWAYS, ARITHMETIC, FIFTH_MESSAGE, LAST_PROCESS, THIRD_MESSAGE

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free

#: One line a fault: what was found of it.
FINDINGS = Path(__file__).parent / "planted_faults.csv"


class Fault(NamedTuple):
    """A machine with one fault."""

    protocol: str
    #: What is wrong: a component of the state, the guard, packets, …
    part: str
    machine: type[ProtocolMachine]

    @property
    def name(self) -> str:
        """What is wrong, in words."""
        return str(self.machine.__doc__)


#: Where a fault strikes, beside always.
SELDOM = (LAST_PROCESS, THIRD_MESSAGE, FIFTH_MESSAGE)

#: Those beyond the default bound, and at one process.
RARE = (LAST_PROCESS, FIFTH_MESSAGE)

METHODS = ("send", "on_packet", "receive", "internal")


#: The kinds of application events.
EVENTS = ("send", "deliver", "unsend", "undeliver", "orphan")


def candidates_of(protocol: str) -> Iterator[Fault]:
    """What each operator makes of the protocol; much of it changes nothing, since no method does all."""
    base = PROTOCOLS[protocol]
    row = partial(Fault, protocol)
    for method in plant.overridden(base, *METHODS):
        for field in sorted(plant.components(base)):
            keeps = f"{method} leaves {field} as it was"
            yield row(f"state: {field}", plant.changed_steps(base, method, keeps, plant.keeps_component(field)))
        for field in plant.queues(base):
            for name, fault in (
                ("puts the last first", plant.last_first),
                ("drops the last", plant.without_last),
            ):
                label = f"{method} {name} in {field}, of three or more"
                change = plant.queue_fault(field, fault, 3)
                yield row(f"queue: {field}", plant.changed_steps(base, method, label, change))
        yield from _step_faults(row, base, method)
    yield from _guard_faults(row, base)
    yield from _index_faults(row, base)
    for component, stamp in _stamp_components(base).items():
        part = f"stamp: {component or 'all of it'}"
        yield row(part, plant.stamped_as_first(base, component))
        if component is not None and isinstance(stamp, frozenset):
            yield row(part, plant.stamped_empty(base, component))
    for arithmetic, operation in ARITHMETIC.items():
        yield row("loop" if operation == "every" else "ops", plant.computing_with(base, arithmetic))


def _step_faults(row: partial[Fault], base: type[ProtocolMachine], method: str) -> Iterator[Fault]:
    for name, change in (
        ("drops its last packet", plant.drops_last_packet),
        ("sends its packets twice", plant.sends_packets_twice),
        ("sends its packets to itself", plant.sends_packets_to_itself),
    ):
        yield row("packets", plant.changed_steps(base, method, f"{method} {name}", change))
    for where in RARE:
        name = f"{method} drops its last packet"
        yield row("packets", plant.changed_steps(base, method, name, plant.drops_last_packet, where))
    for kind in EVENTS:
        yield row("events", plant.changed_steps(base, method, f"{method} says no {kind}", plant.drops_events(kind)))
        yield row(
            "events", plant.changed_steps(base, method, f"{method} says {kind} twice", plant.repeats_events(kind))
        )
    if method in ("send", "on_packet"):
        for where in RARE:
            label = f"{method} may do nothing instead"
            yield row("step", plant.changed_steps(base, method, label, plant.may_do_nothing, where))


def _guard_faults(row: partial[Fault], base: type[ProtocolMachine]) -> Iterator[Fault]:
    for where in (ALWAYS, *SELDOM):
        if where is not LAST_PROCESS:
            yield row("guard", plant.guard(base, "accepts nothing", lambda machine, i, state, packet: False, where))
        if plant.overridden(base, "deliverable"):
            yield row("guard", plant.guard(base, "accepts everything", lambda machine, i, state, packet: True, where))
    if plant.overridden(base, "deliverable"):
        neighbour = plant.guard(
            base,
            "guards as its neighbour",
            lambda machine, i, state, packet: base.deliverable(machine, (i + 1) % machine.n, state, packet),
        )
        yield row("index", neighbour)


def _index_faults(row: partial[Fault], base: type[ProtocolMachine]) -> Iterator[Fault]:
    name = "send addresses the neighbour of the receiver"
    yield row("index", plant.changed_steps(base, "send", name, plant.sends_packets_to_neighbour))

    def from_neighbour(machine: ProtocolMachine, i: int, packet: Packet) -> Packet:
        return packet._replace(source=(packet.source + 1) % machine.n)

    for where in (ALWAYS, *RARE):
        yield row("index", plant.arrives_as(base, "takes the sender for its neighbour", from_neighbour, where))
        yield row("index", plant.sends_as_neighbour(base, where))


def _stamp_components(base: type[ProtocolMachine]) -> dict[str | None, object]:
    """The components of what a message carries, with what the first carries; any other stamp is one."""
    machine, workload = base(3), Free(3, 1, sends=base.sends)
    pending = workload.pending_sends(workload.start())[0]
    steps = machine.send(pending.process, machine.initial(pending.process), pending.message)
    stamps = [packet.stamp for step in steps for packet in step.packets if packet.stamp is not None]
    if not stamps:
        return {}
    return stamps[0]._asdict() if hasattr(stamps[0], "_fields") else {None: stamps[0]}


#: A fault by its protocol, its part and its name.
Key = tuple[str, str, str]


def key_of(fault: Fault) -> Key:
    return fault.protocol, fault.part, fault.name


@cache
def candidates() -> tuple[Fault, ...]:
    """Those of all protocols."""
    return tuple(fault for protocol in PROTOCOLS for fault in candidates_of(protocol))


def on_file() -> frozenset[Key]:
    """What is planted, by what is on file."""
    with FINDINGS.open(encoding="utf-8", newline="") as file:
        return frozenset((protocol, part, fault) for protocol, part, fault, *_ in csv.reader(file))


def faults() -> tuple[Fault, ...]:
    """The faults that are planted."""
    planted = on_file()
    return tuple(fault for fault in candidates() if key_of(fault) in planted)


if __name__ == "__main__":
    from planted_fault_findings import write

    sys.exit(write())
