"""Machines that treat all processes alike by construction: those that are parametric in the processes' names.

Such a machine runs on values of which nothing is known but their *sort* (`crownless.impl.opaque`). Every input is run
on every shape that a local state and a packet can take, and for each input in every way that its questions may turn
out. If none depends on what a renaming could change, then what a process does is made of operations that commute with
every renaming of the processes: what holds of one process holds of all.

A shape has the tuples of a state or stamp in it, message by message, so there may be no end of them. Those with many
messages, or long tuples, are left out; what is left out is to be compared when it is met.

That rests on the code being unable to look behind a sort, so the code itself is read too: whatever could distinguish an
opaque value from a number (`type`, `is`, `try`, another module's function), or keep something between two calls, is
refused. All that is refused may still be symmetric: it must be compared process by process.

The predicates on local states, of a machine that is parametric, are read and run likewise, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

from crownless.spec.computation import Message
from crownless.spec.printable import error_line

from .code_of_machines import read_function, read_machine
from .opaque import (
    Matrix,
    NotParametric,
    Number,
    Opaque,
    OpaqueMessage,
    OpaqueOps,
    Process,
    Truth,
    Vector,
    expect,
    message,
    on_every_path,
)
from .protocol import AppEvent, Packet, ProtocolMachine, Step

#: So many shapes of states, and of packets, are run.
MOST_SHAPES = 1_000


class Parametric(NamedTuple):
    """That a machine treats all processes alike by construction, for messages with one receiver each."""

    #: Nothing is known of values with more messages or longer tuples; None: there are none.
    longest: int | None
    #: The invariants and witnesses that may distinguish processes.
    unlike: frozenset[str]

    def covers(self, value: Any) -> bool:
        """True if that is known for this local state or stamp."""
        return self.longest is None or not is_longer(value, self.longest)


def parametric(machine: ProtocolMachine, longest: int) -> Parametric | None:
    """The structure seen in it, of values of so many messages and of tuples so long; None if it may distinguish
    processes.
    """
    try:
        return seen_parametric(machine, longest)
    except NotParametric:
        return None


def seen_parametric(machine: ProtocolMachine, longest: int) -> Parametric:
    """Likewise; raises `NotParametric`, which says why."""
    try:
        read_machine(machine)
        shapes = _run(type(machine), machine, longest)
    except NotParametric:
        raise
    except Exception as error:  # of any kind: the code is not written for such values
        raise NotParametric(f"it does not run on opaque values: {error_line(error)}") from error
    return Parametric(longest if shapes.cut else None, _unlike(machine, shapes.states))


def _unlike(machine: ProtocolMachine, states: Iterable[Any]) -> frozenset[str]:
    found = [machine.invariants, machine.witnesses]
    bases = [vars(base) for base in type(machine).__mro__]
    if any(type(base.get(name, {})) is not dict for base in bases for name in ("invariants", "witnesses")):
        return frozenset(name for predicates in found for name in predicates)
    return frozenset(
        name
        for predicates in found
        for name, holds in predicates.items()
        if not _is_parametric_predicate(machine, holds, states)
    )


def _is_parametric_predicate(machine: ProtocolMachine, holds: Any, states: Iterable[Any]) -> bool:
    try:
        if not isinstance(holds, FunctionType):
            raise NotParametric("it is not a function")
        read_function(holds, {Step, Packet, AppEvent, Message})
        i: Any = Process()
        opaque = _opaque(type(machine), machine)
        for shape in states:
            on_every_path(lambda shape=shape: expect(type(holds(opaque, i, _fresh(shape))) in (Truth, bool)))  # type: ignore[misc]
    except Exception:  # of any kind: the code is not written for such values
        return False
    return True


# -- running the machine -----------------------------------------------------------------------------------------------


@dataclass
class _Shapes:
    """The structures of states and packets, as far as they are seen."""

    #: So many messages at most, and tuples so long.
    longest: int
    states: dict[Any, None] = field(default_factory=dict)
    #: (kind, does it carry a message, the shape of the stamp)
    packets: dict[tuple[str, bool, Any], None] = field(default_factory=dict)
    #: Has one been left out?
    cut: bool = False

    def state(self, value: Any) -> None:
        self._add(self.states, shape := _shape(value), shape)

    def packet(self, packet: Packet) -> None:
        stamp = _shape(packet.stamp)
        self._add(self.packets, (packet.kind, packet.message is not None, stamp), stamp)

    def _add(self, known: dict[Any, None], key: Any, shape: Any) -> None:
        if key in known:
            return
        if _is_longer_shape(shape, self.longest):
            self.cut = True
            return
        known[key] = None
        if len(known) > MOST_SHAPES:
            raise NotParametric("its states are made up in too many ways")


def _opaque(kind: type[ProtocolMachine], machine: ProtocolMachine) -> ProtocolMachine:
    """The machine for processes of which nothing is known, with its settings."""
    settings = {name: machine.setting(name) for name in machine.parameters}
    expect(all(type(value) is int for value in (*settings.values(), *machine.settings.values())))
    return kind(Opaque(), OpaqueOps(), settings)


def _run(kind: type[ProtocolMachine], machine: ProtocolMachine, longest: int) -> _Shapes:
    """Runs every input in every shape of state, with every shape of packet."""
    opaque = _opaque(kind, machine)
    i: Any = Process()
    shapes = _Shapes(longest)
    shapes.state(opaque.initial(i))

    def check(steps: Any) -> None:
        expect(type(steps) in (list, tuple))
        for step in steps:
            expect(type(step) is Step)
            shapes.state(step.state)
            for packet in step.packets:
                expect(type(packet) is Packet, type(packet.source) is Process, type(packet.destination) is Process)
                expect(type(packet.kind) is str, packet.message is None or type(packet.message) is OpaqueMessage)
                shapes.packet(packet)
            for event in step.events:
                expect(type(event) is AppEvent, type(event.kind) is str, type(event.message) is OpaqueMessage)

    def by_itself(shape: Any) -> None:
        check(opaque.send(i, _fresh(shape), message()))

    def waits(shape: Any) -> None:
        check(opaque.receive(i, _fresh(shape), None))

    def moves(shape: Any) -> None:
        for name, step in opaque.internal(i, _fresh(shape)):
            expect(type(name) is str)
            check([step])

    def is_renamed(shape: Any) -> None:
        state = _fresh(shape)
        _expect_renamed(state, opaque.renamed(state, _Renaming()))  # type: ignore[arg-type]

    def takes_in(shape: Any, arriving: tuple[str, bool, Any]) -> None:
        name, carries, stamp = arriving
        packet = Packet(Process(), i, name, message() if carries else None, _fresh(stamp))
        state = _fresh(shape)
        expect(type(opaque.deliverable(i, state, packet)) in (Truth, bool))
        check(opaque.on_packet(i, state, packet))

    def is_renamed_in(name: str, of: Any) -> None:
        stamp = _fresh(of)
        if stamp is not None:
            _expect_renamed(stamp, opaque.renamed_stamp(name, stamp, _Renaming()))  # type: ignore[arg-type]

    done: set[Any] = set()

    def once(run: Callable[..., None], *given: Any) -> None:
        if (run, *given) not in done:
            done.add((run, *given))
            on_every_path(lambda: run(*given))

    while True:
        states, packets = list(shapes.states), list(shapes.packets)
        for shape in states:
            for run in (by_itself, waits, moves, is_renamed):
                once(run, shape)
            for arriving in packets:
                once(takes_in, shape, arriving)
        for name, _, of in packets:
            once(is_renamed_in, name, of)
        if (states, packets) == (list(shapes.states), list(shapes.packets)):
            return shapes


def _shape(value: Any) -> Any:
    """Of what sorts a value is made; a number in it may be any."""
    if type(value) is int:
        return Number
    if type(value) in (Process, Number, Vector, Matrix, OpaqueMessage):
        return type(value)
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")):
        return (type(value), tuple(map(_shape, value)))
    if value is None or type(value) in (bool, str):
        return ("always", value)
    raise NotParametric("a state or stamp is not made of processes, numbers, vectors, matrices and messages")


def _fresh(shape: Any) -> Any:
    """A value of that shape of which nothing else is known."""
    if shape is OpaqueMessage:
        return message()
    if isinstance(shape, type):
        return shape()
    kind, parts = shape
    if kind == "always":
        return parts
    return tuple(map(_fresh, parts)) if kind is tuple else kind(*map(_fresh, parts))


def _is_longer_shape(shape: Any, most: int) -> bool:
    """As `is_longer`, of values of that shape; vectors and matrices are as long as there are processes."""
    return _messages_in_shape(shape, most) > most


def _messages_in_shape(shape: Any, most: int) -> int:
    if shape is OpaqueMessage:
        return 1
    if isinstance(shape, type) or shape[0] == "always":
        return 0
    kind, parts = shape
    if kind is tuple and len(parts) > most:
        return most + 1
    return sum(_messages_in_shape(part, most) for part in parts)


def is_longer(value: Any, most: int) -> bool:
    """True if it is made of more messages than that, or of a tuple that is longer."""
    return _messages_in(value, most) > most


def _messages_in(value: Any, most: int) -> int:
    if isinstance(value, Message):
        return 1
    if not isinstance(value, tuple):
        return 0
    if type(value) is tuple and len(value) > most:
        return most + 1
    return sum([_messages_in(part, most) for part in value if isinstance(part, tuple)])


class _Image(Opaque):
    """A value renamed."""

    def __init__(self, of: Any) -> None:
        self.of = of


class _Renaming(Opaque):
    """A renaming of which nothing is known."""

    def __init__(self) -> None:
        self.image = self

    def __getitem__(self, process: Any) -> _Image:
        return self._renamed(process, Process)

    def process(self, process: Any) -> _Image | None:
        return None if process is None else self._renamed(process, Process)

    def vector(self, vector: Any) -> _Image:
        return self._renamed(vector, Vector)

    def matrix(self, matrix: Any) -> _Image:
        return self._renamed(matrix, Matrix)

    def message(self, message: Any) -> _Image:
        return self._renamed(message, OpaqueMessage)

    def messages(self, messages: Any) -> tuple[_Image, ...]:
        return self._each(messages, OpaqueMessage)

    def processes(self, processes: Any) -> tuple[_Image, ...]:
        return self._each(processes, Process)

    def _each(self, values: Any, sort: type) -> tuple[_Image, ...]:
        expect(type(values) is tuple)
        return tuple(self._renamed(value, sort) for value in values)

    def _renamed(self, value: Any, sort: type) -> _Image:
        expect(type(value) is sort)
        return _Image(value)


def _expect_renamed(value: Any, image: Any) -> None:
    """Raises unless every part of the value is renamed as its sort is."""
    if type(value) in (Process, Vector, Matrix, OpaqueMessage):
        expect(type(image) is _Image, getattr(image, "of", None) is value)
    elif type(value) is Number:
        expect(image is value)
    elif isinstance(value, tuple):
        expect(type(image) is type(value), len(image) == len(value))
        for part, other in zip(value, image, strict=True):
            _expect_renamed(part, other)
    else:
        expect(type(image) is type(value), image == value)
