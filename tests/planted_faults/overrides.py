"""What a fault changes in a protocol: methods that protocols have in common, with something else done.

An `Override` calls the method that it overrides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming

Method = Callable[..., Any]
Make = TypeVar("Make", bound=Method)


@dataclass(frozen=True)
class Override:
    """An override that calls the method of the protocol, which it is given."""

    of: Callable[[Any], Method]


#: Keywords of faults beside the names of methods: the method that is overridden, and what makes the override.
CHANGES: dict[str, tuple[str, Callable[..., Any]]] = {}


def changes(method: str) -> Callable[[Make], Make]:
    """Makes a function a keyword of faults: `breaks(…)(Rst, stamped=…)` overrides `send` by `stamped(…)`."""

    def register(make: Make) -> Make:
        CHANGES[make.__name__] = method, make
        return make

    return register


# -- steps with something changed --------------------------------------------------------------------------------------


def restamped(steps: Sequence[Step], stamp: Callable[[Packet], Any]) -> list[Step]:
    """The steps, in which each packet carries another stamp."""
    return [step._replace(packets=[packet._replace(stamp=stamp(packet)) for packet in step.packets]) for step in steps]


def changed(steps: Sequence[Step], state: Callable[[Any], Any]) -> list[Step]:
    """The steps, which lead to another local state."""
    return [step._replace(state=state(step.state)) for step in steps]


def twice(steps: Sequence[Step]) -> list[Step]:
    """The steps, in which all application events happen twice."""
    return [step._replace(events=[*step.events, *step.events]) for step in steps]


def with_state(step: Step, **fields: Any) -> Step:
    """The step, to a state of which these fields have other values."""
    return step._replace(state=step.state._replace(**fields))


# -- sends -------------------------------------------------------------------------------------------------------------


@changes("send")
def stamped(stamp: Method) -> Override:
    """`send`, whose packets carry `stamp(self, packet, before, after)`, of the local states before and after it."""

    def of(base: Any) -> Method:
        def send(self: Any, i: Any, state: Any, message: Any) -> Sequence[Step]:
            (step,) = base.send(self, i, state, message)
            return restamped([step], lambda packet: stamp(self, packet, state, step.state))

        return send

    return Override(of)


@changes("send")
def part_sent(where: Method) -> Override:
    """`send` from i to j, of whose matrix only that part is carried for which `where(i, j, k, l)`."""
    return stamped(
        lambda self, packet, before, after: part_where(
            self, packet.stamp, lambda k, l: where(packet.source, packet.destination, k, l)
        )
    )


@changes("send")
def after_send(after: Method) -> Override:
    """`send`, which leads to `after(self, message, before, after)`."""

    def of(base: Any) -> Method:
        def send(self: Any, i: Any, state: Any, message: Any) -> Sequence[Step]:
            steps = base.send(self, i, state, message)
            return [step._replace(state=after(self, message, state, step.state)) for step in steps]

        return send

    return Override(of)


@changes("send")
def blocked_if(condition: Method) -> Override:
    """`send`, which is refused if `condition(self, state, message)`."""
    return Override(
        lambda base: (
            lambda self, i, state, message: (
                [] if condition(self, state, message) else base.send(self, i, state, message)
            )
        )
    )


# -- what arrives ------------------------------------------------------------------------------------------------------


def always(self: Any, i: Any, state: Any, packet: Any) -> bool:
    """`deliverable`, which holds nothing back."""
    return True


@changes("deliverable")
def every(holds: Method) -> Method:
    """`deliverable` at i of a message from j with stamp m, which requires `holds(i, j, k, state, m)` of every k."""
    return lambda self, i, state, packet: self.ops.every(lambda k: holds(i, packet.source, k, state, packet.stamp))


@changes("deliverable")
def every_counted(holds: Method) -> Method:
    """The same of `holds(i, j, k, own, state, m)`, where `own` is 1 for k = j, and otherwise 0."""
    return lambda self, i, state, packet: self.ops.every(
        lambda k: holds(i, packet.source, k, self.ops.one_if(k == packet.source), state, packet.stamp)
    )


@changes("on_packet")
def after_packet(after: Method) -> Override:
    """`on_packet`, which leads to `after(self, packet, before, after)`."""

    def of(base: Any) -> Method:
        def on_packet(self: Any, i: Any, state: Any, packet: Any) -> Sequence[Step]:
            steps = base.on_packet(self, i, state, packet)
            return [step._replace(state=after(self, packet, state, step.state)) for step in steps]

        return on_packet

    return Override(of)


@changes("on_packet")
def each_step(change: Method) -> Override:
    """`on_packet`, each of whose steps becomes `change(packet, step)`."""
    return Override(
        lambda base: (
            lambda self, i, state, packet: [change(packet, step) for step in base.on_packet(self, i, state, packet)]
        )
    )


@changes("internal")
def each_internal(change: Method) -> Override:
    """`internal`, each of whose steps becomes `change(state, step)`."""
    return Override(
        lambda base: (
            lambda self, i, state: [(name, change(state, step)) for name, step in base.internal(self, i, state)]
        )
    )


@changes("on_packet")
def part_read(where: Method) -> Override:
    """`on_packet` at i, as if the matrix of the packet were zero where not `where(i, k, l)`."""

    def of(base: Any) -> Method:
        def on_packet(self: Any, i: Any, state: Any, packet: Any) -> Sequence[Step]:
            part = part_where(self, packet.stamp, lambda k, l: where(i, k, l))
            return base.on_packet(self, i, state, packet._replace(stamp=part))  # type: ignore[no-any-return]

        return on_packet

    return Override(of)


#: `on_packet`, which delivers twice.
TWICE = Override(lambda base: lambda self, i, state, packet: twice(base.on_packet(self, i, state, packet)))

#: What may not be delivered yet is lost.
LOST: dict[str, Any] = {
    "deliverable": always,
    "on_packet": Override(
        lambda base: (
            lambda self, i, state, packet: (
                base.on_packet(self, i, state, packet) if base.deliverable(self, i, state, packet) else [Step(state)]
            )
        )
    ),
}


@changes("after_delivering")
def learning(stamp: Method) -> Override:
    """`after_delivering` of messages from j at i, as if they carried `stamp(self, i, j, stamp)`."""
    return Override(
        lambda base: lambda self, i, state, j, given: base.after_delivering(self, i, state, j, stamp(self, i, j, given))
    )


@changes("after_delivering")
def after_delivery(after: Method) -> Override:
    """`after_delivering` of messages from j at i, which gives `after(self, i, j, stamp, before, after)`."""
    return Override(
        lambda base: (
            lambda self, i, state, j, stamp: after(
                self, i, j, stamp, state, base.after_delivering(self, i, state, j, stamp)
            )
        )
    )


#: `after_delivering`, as if the message carried zeroes.
UNLEARNED = learning(lambda self, i, j, stamp: no_matrix(self))

# -- acknowledgements --------------------------------------------------------------------------------------------------

#: `acknowledgement`, of which two are sent.
DOUBLE = Override(lambda base: lambda self, i, packet: [*base.acknowledgement(self, i, packet)] * 2)


def none_sent(self: Any, i: Any, packet: Any) -> Sequence[Packet]:
    """`acknowledgement`, of which none is sent."""
    return ()


# -- vectors and matrices ----------------------------------------------------------------------------------------------


def no_vector(machine: Any) -> Any:
    """Zeroes."""
    return machine.ops.vector(lambda k: 0)


def no_matrix(machine: Any) -> Any:
    """Zeroes."""
    return machine.ops.matrix(lambda k, l: 0)


def entries_where(machine: Any, vector: Any, where: Method) -> Any:
    """The vector, with zeroes where not `where(k)`."""
    return machine.ops.vector(lambda k: vector[k] * machine.ops.one_if(where(k)))


def part_where(machine: Any, matrix: Any, where: Method) -> Any:
    """The matrix, with zeroes where not `where(k, l)`: row k, column l."""
    return machine.ops.matrix(lambda k, l: matrix[k][l] * machine.ops.one_if(where(k, l)))


def vector_sum(machine: Any, one: Any, other: Any) -> Any:
    """The sum, entry by entry."""
    return machine.ops.vector(lambda k: one[k] + other[k])


def matrix_sum(machine: Any, one: Any, other: Any) -> Any:
    """The sum, entry by entry."""
    return machine.ops.matrix(lambda k, l: one[k][l] + other[k][l])


# -- packets that have their effect later ------------------------------------------------------------------------------


class Holding(NamedTuple):
    """A local state of the protocol, and the packets that have arrived and not yet had their effect."""

    usual: Any
    waiting: tuple[Packet, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Rules and invariants read the protocol's own state."""
        return getattr(self.usual, name)


def within(state: Holding, steps: Sequence[Step]) -> list[Step]:
    """Steps of the protocol, while packets wait."""
    return changed(steps, lambda usual: state._replace(usual=usual))


class HoldsBack(ProtocolMachine):
    """What arrives waits, and has its effect by a later step, if `taken` gives one."""

    #: Of the protocols that have them.
    acknowledgement: Method
    get: Method

    def initial(self, i: int) -> Any:
        return Holding(super().initial(i))

    def send(self, i: int, state: Any, message: Any) -> Sequence[Step]:
        return within(state, super().send(i, state.usual, message))

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return within(state, super().on_packet(i, state.usual, packet))
        arrived = self.arrived(i, state.usual, packet)
        return [arrived._replace(state=Holding(arrived.state, (*state.waiting, packet)))]

    def arrived(self, i: int, usual: Any, packet: Packet) -> Step:
        """What happens at once."""
        return Step(usual)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        steps = [
            (name, step._replace(state=state._replace(usual=step.state)))
            for name, step in super().internal(i, state.usual)
        ]
        for place, packet in enumerate(state.waiting):
            rest = state.waiting[:place] + state.waiting[place + 1 :]
            for step in self.taken(i, state, packet):
                steps.append((f"take {place + 1}", step._replace(state=Holding(step.state, rest))))
        return steps

    def taken(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        """What happens later: steps to states of the protocol, or none yet."""
        return [Step(state.usual, (), [AppEvent("deliver", packet.message)])]

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        waiting = tuple(self.renamed_packet(packet, renaming) for packet in state.waiting)
        return Holding(super().renamed(state.usual, renaming), waiting)
