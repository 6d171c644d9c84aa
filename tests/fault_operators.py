"""Ways to plant a fault in any protocol machine, and conditions under which it strikes.

An operator takes a protocol's class and returns a subclass in which one method is wrong. It knows nothing of the
protocol but what `ProtocolMachine` says of all of them, so that each protocol gets a fault in each of its parts: every
component of its state and stamps, guard, packets, events, queue positions, the indices it computes with, its loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from crownless.impl.ops import Integers
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.spec.computation import Message

Machine = type[ProtocolMachine]

#: (machine, process, its state before the step, the message, the step) → the faulty outcomes.
Change = Callable[[Any, int, Any, Message | None, Step], Sequence[Step]]

#: (machine, process, message) → True where the fault strikes.
Condition = Callable[[Any, int, Message | None], bool]


#: Names of messages of the free workload, and of the programs of `fault_programs`.
NUMBERED = re.compile(r"\d+(?:→|to)\d+[#.](\d+)")


class Where(NamedTuple):
    """A condition with its name."""

    name: str
    strikes: Condition


def _number(message: Message | None) -> int:
    """The number of a message on its channel, as its name ends: `1→2#3`, `1to2.3`; 0 for anything else."""
    numbered = None if message is None else NUMBERED.fullmatch(message.name)
    return int(numbered[1]) if numbered else 0


ALWAYS = Where("always", lambda machine, i, message: True)
LAST_PROCESS = Where("last process only", lambda machine, i, message: i == machine.n - 1)
THIRD_MESSAGE = Where("third message of a channel only", lambda machine, i, message: _number(message) == 3)
#: The default bounds are of at most four messages.
FIFTH_MESSAGE = Where("fifth message of a channel only", lambda machine, i, message: _number(message) == 5)


def subclass(base: Machine, name: str, methods: dict[str, Any]) -> Machine:
    """A subclass of that name; `name` is in words."""
    return type(_camel(f"{base.__name__} {name}"), (base,), {"__module__": __name__, "__doc__": name, **methods})


def _camel(words: str) -> str:
    letters = "".join(letter if letter.isalnum() else " " for letter in words)
    return "".join(word[:1].upper() + word[1:] for word in letters.split())


# -- steps -------------------------------------------------------------------------------------------------------------


def changed_steps(base: Machine, method: str, name: str, change: Change, where: Where = ALWAYS) -> Machine:
    """The steps of one method are changed."""
    original = getattr(base, method)

    def outcomes(self: Any, i: int, state: Any, message: Message | None, steps: Sequence[Step]) -> list[Step]:
        if not where.strikes(self, i, message):
            return list(steps)
        return [faulty for step in steps for faulty in change(self, i, state, message, step)]

    def send(self: Any, i: int, state: Any, message: Message) -> Sequence[Step]:
        return outcomes(self, i, state, message, original(self, i, state, message))

    def on_packet(self: Any, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return outcomes(self, i, state, packet.message, original(self, i, state, packet))

    def receive(self: Any, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return outcomes(self, i, state, None, original(self, i, state, sender))

    def internal(self: Any, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        steps = original(self, i, state)
        return [(label, faulty) for label, step in steps for faulty in outcomes(self, i, state, None, [step])]

    new = {"send": send, "on_packet": on_packet, "receive": receive, "internal": internal}[method]
    label = name if where is ALWAYS else f"{name}, {where.name}"
    return subclass(base, label, {method: new})


def keeps_component(field: str) -> Change:
    """A component of the state stays as it was before the step."""
    return lambda machine, i, before, message, step: [step._replace(state=with_field(step.state, field, before))]


def with_field(state: Any, field: str, source: Any) -> Any:
    """The state with that component of another; a state that is not a named tuple is one component, `state`."""
    return state._replace(**{field: getattr(source, field)}) if hasattr(state, "_fields") else source


def drops_last_packet(machine: Any, i: int, before: Any, message: Message | None, step: Step) -> Sequence[Step]:
    return [step._replace(packets=tuple(step.packets)[:-1])]


def sends_packets_twice(machine: Any, i: int, before: Any, message: Message | None, step: Step) -> Sequence[Step]:
    return [step._replace(packets=(*step.packets, *step.packets))]


def sends_packets_to_itself(machine: Any, i: int, before: Any, message: Message | None, step: Step) -> Sequence[Step]:
    return [step._replace(packets=[packet._replace(destination=i) for packet in step.packets])]


def sends_packets_to_neighbour(
    machine: Any, i: int, before: Any, message: Message | None, step: Step
) -> Sequence[Step]:
    """The packets go to the process after the one that they are for."""
    packets = [packet._replace(destination=(packet.destination + 1) % machine.n) for packet in step.packets]
    return [step._replace(packets=packets)]


def drops_events(kind: str) -> Change:
    return lambda machine, i, before, message, step: [
        step._replace(events=[event for event in step.events if event.kind != kind])
    ]


def repeats_events(kind: str) -> Change:
    def change(machine: Any, i: int, before: Any, message: Message | None, step: Step) -> Sequence[Step]:
        again = [AppEvent(*event) for event in step.events if event.kind == kind]
        return [step._replace(events=[*step.events, *again])]

    return change


def may_do_nothing(machine: Any, i: int, before: Any, message: Message | None, step: Step) -> Sequence[Step]:
    """A second outcome: nothing is done, and what was to be done is forgotten."""
    return [step, Step(before)]


def queue_fault(field: str, fault: Callable[[tuple[Any, ...]], tuple[Any, ...]], length: int) -> Change:
    """A step that changes a queue, and leaves that many in it or more, gets it wrong."""

    def change(machine: Any, i: int, before: Any, message: Message | None, step: Step) -> Sequence[Step]:
        queue = getattr(step.state, field)
        if len(queue) < length or queue == getattr(before, field):
            return [step]
        return [step._replace(state=step.state._replace(**{field: fault(queue)}))]

    return change


def last_first(queue: tuple[Any, ...]) -> tuple[Any, ...]:
    return (queue[-1], *queue[:-1])


def without_last(queue: tuple[Any, ...]) -> tuple[Any, ...]:
    return queue[:-1]


# -- guards and packets ------------------------------------------------------------------------------------------------


def guard(base: Machine, name: str, fault: Callable[[Any, int, Any, Packet], Any], where: Where = ALWAYS) -> Machine:
    """Another guard; the fault is given what the right one is given."""

    def deliverable(self: Any, i: int, state: Any, packet: Packet) -> Any:
        if where.strikes(self, i, packet.message):
            return fault(self, i, state, packet)
        return base.deliverable(self, i, state, packet)

    label = name if where is ALWAYS else f"{name}, {where.name}"
    return subclass(base, label, {"deliverable": deliverable})


def arrives_as(base: Machine, name: str, forge: Callable[[Any, int, Packet], Packet], where: Where = ALWAYS) -> Machine:
    """What arrives is taken for another packet, by `on_packet` alone; the guard sees the right one."""

    def on_packet(self: Any, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        seen = forge(self, i, packet) if where.strikes(self, i, packet.message) else packet
        return base.on_packet(self, i, state, seen)

    label = name if where is ALWAYS else f"{name}, {where.name}"
    return subclass(base, label, {"on_packet": on_packet})


def stamped_as_first(base: Machine, field: str | None) -> Machine:
    """A message carries, or a component of its stamp is, what the first message to that receiver would carry."""

    def send(self: Any, i: int, state: Any, message: Message) -> Sequence[Step]:
        firsts = [packet for step in base.send(self, i, base.initial(self, i), message) for packet in step.packets]

        def stamped(packet: Packet, first: Packet) -> Packet:
            stamp = first.stamp if field is None else packet.stamp._replace(**{field: getattr(first.stamp, field)})
            return packet._replace(stamp=stamp)

        return [
            step._replace(packets=[stamped(*pair) for pair in zip(step.packets, firsts, strict=True)])
            for step in base.send(self, i, state, message)
        ]

    return subclass(base, f"stamps {field or 'messages'} as at the start", {"send": send})


def stamped_empty(base: Machine, field: str) -> Machine:
    """A component of the stamp, which is a set, is empty."""

    def send(self: Any, i: int, state: Any, message: Message) -> Sequence[Step]:
        def emptied(packet: Packet) -> Packet:
            return packet._replace(stamp=packet.stamp._replace(**{field: frozenset()}))

        return [
            step._replace(packets=[emptied(packet) for packet in step.packets])
            for step in base.send(self, i, state, message)
        ]

    return subclass(base, f"stamps no {field}", {"send": send})


def sends_as_neighbour(base: Machine, where: Where = ALWAYS) -> Machine:
    """A process computes what it sends as if it were its neighbour; the packets are its own."""

    def send(self: Any, i: int, state: Any, message: Message) -> Sequence[Step]:
        if not where.strikes(self, i, message):
            return base.send(self, i, state, message)
        return [
            step._replace(packets=[packet._replace(source=i) for packet in step.packets])
            for step in base.send(self, (i + 1) % self.n, state, message)
        ]

    name = "sends as its neighbour"
    return subclass(base, name if where is ALWAYS else f"{name}, {where.name}", {"send": send})


# -- arithmetic --------------------------------------------------------------------------------------------------------


class SaturatingAtTwo(Integers):
    """Nothing counts beyond two."""

    def incremented(self, array: Any, *place: int) -> Any:
        k, *within = place
        return (*array[:k], self.incremented(array[k], *within) if within else min(array[k] + 1, 2), *array[k + 1 :])


class SkippingTheLast(Integers):
    """A loop over the processes ends one too early."""

    def every(self, holds: Callable[[int], bool]) -> bool:
        return all(holds(k) for k in range(self.n - 1))


class MaximumOfFirst(Integers):
    """The maximum of two numbers, vectors or matrices is the first."""

    def maximum(self, a: Any, b: Any) -> Any:
        return a


#: Wrong arithmetic, and the operation that is wrong.
ARITHMETIC: dict[type[Integers], str] = {
    SaturatingAtTwo: "incremented",
    SkippingTheLast: "every",
    MaximumOfFirst: "maximum",
}


def computing_with(base: Machine, arithmetic: type[Integers]) -> Machine:
    """The protocol's integers are wrong."""

    def initialize(self: Any, n: Any, ops: Any = None, parameters: Any = None) -> None:
        base.__init__(self, n, ops, parameters)
        if ops is None:
            self.ops = arithmetic(n)

    return subclass(base, f"computes with {arithmetic.__name__}", {"__init__": initialize})


# -- the parts of a protocol -------------------------------------------------------------------------------------------


def components(base: Machine) -> tuple[str, ...]:
    """The names of the components of its local state."""
    state = base(3).initial(0)
    return state._fields if hasattr(state, "_fields") else ("state",) if state != () else ()


def queues(base: Machine) -> Iterator[str]:
    """The components that are empty tuples at the start: what is queued."""
    state = base(3).initial(0)
    return (field for field in components(base) if field != "state" and getattr(state, field) == ())


def overridden(base: Machine, *methods: str) -> tuple[str, ...]:
    """Those of these methods that the protocol has of its own."""
    return tuple(method for method in methods if getattr(base, method) is not getattr(ProtocolMachine, method))
