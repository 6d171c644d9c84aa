"""A machine's local states and packets in flight, as functions of a state of its abstraction.

Written once, field by field, and read twice: on plain values (`refinement`), and on z3's terms, for queues of any
content (`step_refinement`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crownless.impl.protocol import Packet
from crownless.proofs.induction.queue_abstraction import Abstraction, AbstractState, Truth
from crownless.spec.computation import Message

#: Abstraction, state, process, message → True if it is inside
Inside = Callable[[Any, AbstractState, Any, Any], Truth]


def _itself(run: Abstraction, x: Any) -> Any:
    return x


@dataclass(frozen=True)
class QueueField:
    """A queue of the messages that are inside, the one that came first foremost."""

    inside: Inside
    #: When a message came there.
    at: Callable[[Any, Any], Any]
    #: What stands in the queue for a message.
    element: Callable[[Any, Any], Any] = _itself


@dataclass(frozen=True)
class FlagField:
    """Yes or no."""

    holds: Callable[[Any, AbstractState, Any], Truth]


@dataclass(frozen=True)
class OptionField:
    """A process, or None."""

    there: Callable[[Any, AbstractState, Any], Truth]
    value: Callable[[Any, AbstractState, Any], Any]


@dataclass(frozen=True)
class PacketKind:
    """The packets of one kind: one for each message of which one is in flight."""

    in_flight: Callable[[Any, AbstractState, Any], Truth]
    source: Callable[[Any, Any], Any]
    destination: Callable[[Any, Any], Any]
    #: True if it carries the message. Else it carries nothing.
    carries: bool = True


@dataclass(frozen=True)
class MachineView:
    """The machine's local state, field by field, and its packets, kind by kind; and which events an input is."""

    state: Callable[..., Any]
    fields: Mapping[str, QueueField | FlagField | OptionField]
    packets: Mapping[str, PacketKind]
    #: True if a message was not submitted yet.
    fresh: Callable[[Any, AbstractState, Any], Truth]
    #: The events that submitting a message may be; so an application's request for one, and a step of its own.
    on_send: Sequence[str] = ()
    on_receive: Sequence[str] = ()
    on_internal: Sequence[str] = ()
    #: Those that receiving a packet of a kind may be.
    on_packet: Mapping[str, Sequence[str]] = ()  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<view of {', '.join(self.fields)}>"

    def concrete(
        self, run: Abstraction, now: AbstractState, n: int, messages: Sequence[Message]
    ) -> tuple[list[Any], list[Packet]]:
        """All local states and packets, of a moment in plain values."""
        states = [self.state(**self.local_state(run, now, i, messages)) for i in range(n)]
        packets = [
            Packet(kind.source(run, x), kind.destination(run, x), name, x if kind.carries else None)
            for name, kind in self.packets.items()
            for x in messages
            if kind.in_flight(run, now, x)
        ]
        return states, packets

    def local_state(self, run: Abstraction, now: AbstractState, i: int, messages: Sequence[Message]) -> dict[str, Any]:
        """The fields of one local state, in plain values."""
        values: dict[str, Any] = {}
        for name, field in self.fields.items():
            if isinstance(field, QueueField):
                inside = [x for x in messages if field.inside(run, now, i, x)]
                ordered = sorted(inside, key=lambda x, field=field: field.at(run, x))  # type: ignore[misc]
                values[name] = tuple(field.element(run, x) for x in ordered)
            elif isinstance(field, FlagField):
                values[name] = bool(field.holds(run, now, i))
            else:
                values[name] = field.value(run, now, i) if field.there(run, now, i) else None
        return values
