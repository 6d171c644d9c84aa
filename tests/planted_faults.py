"""Faults planted in every part of every protocol, and what `check` and `prove` say of each.

`FAULTS` has one row a fault; the table of findings, `docs/planted_faults.md`, is written by

    python tests/planted_faults.py

and says of each at which bound `check` sees it, whether that is the default bound, and what `prove` says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import fault_operators as plant
from fault_operators import ALWAYS, ARITHMETIC, FIFTH_MESSAGE, LAST_PROCESS, THIRD_MESSAGE

from crownless.impl.channels import channel_named
from crownless.impl.ops import Integers
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free
from crownless.model_check.purity import Purity
from crownless.model_check.system import System


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

METHODS = ("send", "arrive", "receive", "internal")


class Use(NamedTuple):
    """What a method of a protocol does in some run of two processes and two messages."""

    packets: bool
    events: frozenset[str]
    #: The components of the state that it changes.
    changes: frozenset[str]
    #: The operations that it computes with.
    ops: frozenset[str]


def uses(base: type[ProtocolMachine]) -> dict[str, Use]:
    """What each method does, by its name; a method that does nothing is left out."""
    steps: dict[str, list[tuple[Any, Step]]] = {}
    names: dict[str, set[str]] = {}
    asked: set[str] = set()

    class Watched(Integers):
        def __getattribute__(self, name: str) -> Any:
            asked.add(name)
            return super().__getattribute__(name)

    def watching(method: str) -> Any:
        def call(self: Any, i: int, state: Any, *rest: Any) -> Any:
            asked.clear()
            found = getattr(base, method)(self, i, state, *rest)
            names.setdefault(method, set()).update(asked)
            if method != "accepts":
                outcomes = [step for _, step in found] if method == "internal" else found
                steps.setdefault(method, []).extend((state, step) for step in outcomes)
            return found

        return call

    methods = (*plant.overridden(base, *METHODS), "accepts")
    watched = plant.subclass(base, "watched", {method: watching(method) for method in methods})
    machine = watched(2, Watched(2))
    system = System(machine, Free(2, 2, sends=base.sends), channel_named(base.needs_channel), [])
    with patch.object(Purity, "_left_behind"):  # which sees what is noted here
        for _ in reachable(system):
            pass
    return {
        method: Use(
            any(step.packets for _, step in steps.get(method, ())),
            frozenset(event.kind for _, step in steps.get(method, ()) for event in step.events),
            frozenset(
                field
                for before, step in steps.get(method, ())
                for field in plant.components(base)
                if plant.with_field(step.state, field, before) != step.state
            ),
            frozenset(names[method]),
        )
        for method in methods
        if method in names
    }


def reachable(system: System) -> Iterator[Any]:
    """Every state of the system."""
    states = {system.initial(): None}
    for state in (found := list(states)):
        yield state
        for _, target in system.moves(state):
            if target not in states:
                states[target] = None
                found.append(target)


def faults_of(protocol: str) -> Iterator[Fault]:
    """The faults that each operator makes of the protocol, where its methods do what the operator changes."""
    base = PROTOCOLS[protocol]
    used = uses(base)
    row = partial(Fault, protocol)
    for method, use in used.items():
        for field in sorted(use.changes):
            keeps = f"{method} leaves {field} as it was"
            yield row(f"state: {field}", plant.changed_steps(base, method, keeps, plant.keeps_component(field)))
        for field in plant.queues(base):
            if field in use.changes:
                for name, fault in (
                    ("puts the third first", plant.last_first),
                    ("drops the third", plant.without_last),
                ):
                    change = plant.queue_fault(field, fault, 3)
                    yield row(
                        f"queue: {field}", plant.changed_steps(base, method, f"{method} {name} in {field}", change)
                    )
        yield from _step_faults(row, base, method, use)
    yield from _guard_faults(row, base)
    yield from _index_faults(row, base)
    for component in _stamp_components(base):
        yield row(f"stamp: {component or 'all of it'}", plant.stamped_as_first(base, component))
    operations = frozenset().union(*(use.ops for use in used.values()))
    for arithmetic, operation in ARITHMETIC.items():
        if operation in operations:
            yield row("loop" if operation == "every" else "ops", plant.computing_with(base, arithmetic))


def _step_faults(row: partial[Fault], base: type[ProtocolMachine], method: str, use: Use) -> Iterator[Fault]:
    if use.packets:
        for name, change in (
            ("drops its last packet", plant.drops_last_packet),
            ("sends its packets twice", plant.sends_packets_twice),
            ("sends its packets to itself", plant.sends_packets_to_itself),
        ):
            yield row("packets", plant.changed_steps(base, method, f"{method} {name}", change))
        for where in RARE if method != "internal" else (LAST_PROCESS,):
            name = f"{method} drops its last packet"
            yield row("packets", plant.changed_steps(base, method, name, plant.drops_last_packet, where))
    for kind in sorted(use.events):
        yield row("events", plant.changed_steps(base, method, f"{method} says no {kind}", plant.drops_events(kind)))
        yield row(
            "events", plant.changed_steps(base, method, f"{method} says {kind} twice", plant.repeats_events(kind))
        )
    if method in ("send", "arrive"):
        for where in RARE:
            label = f"{method} may do nothing instead"
            yield row("step", plant.changed_steps(base, method, label, plant.may_do_nothing, where))


def _guard_faults(row: partial[Fault], base: type[ProtocolMachine]) -> Iterator[Fault]:
    for where in (ALWAYS, *SELDOM):
        if where is not LAST_PROCESS:
            yield row("guard", plant.guard(base, "accepts nothing", lambda machine, i, state, packet: False, where))
        if plant.overridden(base, "accepts"):
            yield row("guard", plant.guard(base, "accepts everything", lambda machine, i, state, packet: True, where))
    if plant.overridden(base, "accepts"):
        neighbour = plant.guard(
            base,
            "guards as its neighbour",
            lambda machine, i, state, packet: base.accepts(machine, (i + 1) % machine.n, state, packet),
        )
        yield row("index", neighbour)


def _index_faults(row: partial[Fault], base: type[ProtocolMachine]) -> Iterator[Fault]:
    def from_neighbour(machine: ProtocolMachine, i: int, packet: Packet) -> Packet:
        return packet._replace(source=(packet.source + 1) % machine.n)

    for where in (ALWAYS, *RARE):
        yield row("index", plant.arrives_as(base, "takes the sender for its neighbour", from_neighbour, where))


def _stamp_components(base: type[ProtocolMachine]) -> tuple[str | None, ...]:
    """The components of what a message carries; a stamp that is no named tuple is one."""
    machine, workload = base(3), Free(3, 1, sends=base.sends)
    wish = workload.wishes(workload.start())[0]
    steps = machine.send(wish.process, machine.initial(wish.process), wish.message)
    stamps = [packet.stamp for step in steps for packet in step.packets if packet.stamp is not None]
    return getattr(stamps[0], "_fields", (None,)) if stamps else ()


FAULTS: tuple[Fault, ...] = tuple(fault for protocol in PROTOCOLS for fault in faults_of(protocol))

if __name__ == "__main__":
    from planted_fault_findings import write

    sys.exit(write())
