"""Machines whose packets carry their causal past, so that [MG]'s conditions can be checked at each receive."""

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.protocols.rendezvous import Rendezvous
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.system.properties import Property
from crownless.research.variants.for_murty_garg import ByTheLetterWithRanks
from crownless.spec.computation import Message
from crownless.spec.notation import parse

from .gathering import explored


class Received(NamedTuple):
    """A received message, and the earlier sends of its receiver."""

    message: Message
    at: int
    after: frozenset[Message]


class Watching(NamedTuple):
    """A local state, with the sends of its process and the receives in the past of its last event."""

    inner: Any
    sent: tuple[Message, ...]
    known: frozenset[Received]
    violated: frozenset[str]


class Stamp(NamedTuple):
    known: frozenset[Received]
    sent: tuple[Message, ...]  #: the sender's earlier sends


class Monitored(ProtocolMachine):
    """A machine whose packets carry their causal past, so that SC and RC can be checked at each receive.

    The events are [MG]'s: a message is sent when its packet is transmitted, and received when it arrives.
    """

    kind: type[ProtocolMachine]
    #: The kinds of packets that → goes through.
    through: ClassVar[tuple[str, ...]] = ("message", "ack", "request")
    sends_before_delivery = False
    promises = "synchronous"
    invariants = {
        name: lambda machine, i, state, name=name: name not in state.violated  # type: ignore[misc]
        for name in ("SC", "RC", "RC+", "PR")
    }

    def __init__(self, n: Any, *rest: Any) -> None:
        super().__init__(n, *rest)
        self.inner = self.kind(n)

    def initial(self, i: int) -> Watching:
        return Watching(self.inner.initial(i), (), frozenset(), frozenset())

    def deliverable(self, i: int, state: Watching, packet: Packet) -> Any:
        return self.inner.deliverable(i, state.inner, packet._replace(stamp=None))

    def send(self, i: int, state: Watching, message: Message) -> Sequence[Step]:
        return [self.stamped(state, step) for step in self.inner.send(i, state.inner, message)]

    def internal(self, i: int, state: Watching) -> Sequence[tuple[str, Step]]:
        return [(name, self.stamped(state, step)) for name, step in self.inner.internal(i, state.inner)]

    def on_packet(self, i: int, state: Watching, packet: Packet) -> Sequence[Step]:
        after = self.learned(i, state, packet)
        return [self.stamped(after, step) for step in self.inner.on_packet(i, state.inner, packet._replace(stamp=None))]

    def learned(self, i: int, state: Watching, packet: Packet) -> Watching:
        if packet.kind not in self.through:
            return state
        known = state.known | packet.stamp.known
        violated = set(state.violated)
        received = {one.message for one in known}
        violated |= {"RC+"} if any(one.at != i and not one.after <= received for one in known) else set()
        if packet.kind == "message":
            assert packet.message is not None
            violated |= {"SC"} if not set(packet.stamp.sent) <= received else set()
            violated |= {"RC"} if any(packet.message in one.after for one in known) else set()
            violated |= {"PR"} if packet.source < packet.destination else set()
            known = known | {Received(packet.message, i, frozenset(state.sent))}
        return state._replace(known=known, violated=frozenset(violated))

    def stamped(self, state: Watching, step: Step) -> Step:
        packets, sent = [], state.sent
        for packet in step.packets:
            stamp = Stamp(state.known, sent) if packet.kind in self.through else None
            packets.append(packet._replace(stamp=stamp))
            if packet.kind == "message" and packet.message is not None:
                sent = (*sent, packet.message)
        return Step(state._replace(inner=step.state, sent=sent), packets, step.events)


class MonitoredMurtyGarg(Monitored):
    """Fig. 8; → also goes through requests."""

    kind = MurtyGarg


class MonitoredAcknowledgements(MonitoredMurtyGarg):
    """Fig. 8; → goes only through the application's messages and acknowledgements."""

    through = ("message", "ack")


class MonitoredBlocking(Monitored):
    """Wait and acknowledge."""

    kind = Rendezvous


class MonitoredByTheLetter(Monitored):
    kind = ByTheLetterWithRanks


@cache
def monitored(kind: type[Monitored], n: int, m: int, program: str = "") -> CheckResult:
    """Every interleaving of a monitored machine: up to m messages of n processes, or a program."""
    workload: Workload = Program(parse(program)) if program else Free(n, m)
    properties = tuple(Property(name, "always", name) for name in kind.invariants)
    return explored(kind(n), workload, orders=("asynchronous",), properties=properties)
