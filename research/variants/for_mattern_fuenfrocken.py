"""Variants of the buffer protocol, and of the count vectors, that claims of [MF] are about."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer, State
from crownless.impl.protocols.kearns import Kearns
from crownless.impl.variant import variant
from crownless.spec.computation import Message

#: The server also requires the sender's next message in turn.
KearnsInTurn = variant(
    Kearns,
    "KearnsInTurn",
    deliverable=lambda self, i, state, packet: (
        Kearns.deliverable(self, i, state, packet)
        and (i != self.server or packet.stamp[packet.source] == state[packet.source] + 1)
    ),
)

#: The buffer protocol under applications that send and never receive.
NeverAsked = variant(Buffer, "NeverAsked", receive=lambda self, i, state, sender: ())


class GivesUpTheDead(Buffer):
    """Survivors who agree that a process has died no longer wait for its acknowledgement."""

    symmetric = False

    def agree(self, states: Mapping[int, State], crashed: int) -> int | None:
        return crashed if any(state.awaits == crashed for state in states.values()) else None

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "agreed":
            return [Step(self.acknowledged(state, packet.stamp))]
        return super().on_packet(i, state, packet)


class CopyByCopy(Buffer):
    """The buffer protocol with messages to several processes: the output buffer posts one copy after the other."""

    admits_multicast = True
    witnesses = {}
    invariants = {}

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if not state.output or not self.may_post(state):
            return []
        (message, q), *rest = state.output
        packet = Packet(i, q, "message", message)
        return [("post", Step(state._replace(output=tuple(rest), awaits=q), [packet]))]

    def insert(self, state: Any, message: Message) -> Any:
        return state._replace(output=(*state.output, *((message, q) for q in message.receivers)))


class Released(NamedTuple):
    """A buffer state for broadcasts: a posted message is in all input buffers before any process may deliver it."""

    output: tuple[Message, ...]
    posted: Message | None  #: the message whose acknowledgements are awaited
    missing: int  #: how many of them
    input: tuple[tuple[Message, bool], ...]  #: the oldest first; True if released


class ReleasedTogether(ProtocolMachine):
    """Buffers for broadcasts in two rounds: all input buffers get the message, and only then may it be delivered."""

    promises = "causal"
    sends = "broadcast"
    admits_multicast = True

    def initial(self, i: int) -> Released:
        return Released((), None, 0, ())

    def send(self, i: int, state: Released, message: Message) -> Sequence[Step]:
        return [Step(state._replace(output=(*state.output, message)), (), [AppEvent("send", message)])]

    def internal(self, i: int, state: Released) -> Sequence[tuple[str, Step]]:
        if not state.output or state.posted is not None:
            return []
        message, *rest = state.output
        packets = [Packet(i, q, "message", message) for q in message.receivers]
        after = state._replace(output=tuple(rest), posted=message, missing=len(packets))
        return [("post", Step(after, packets))]

    def on_packet(self, i: int, state: Released, packet: Packet) -> Sequence[Step]:
        message = packet.message
        if packet.kind == "message":
            assert message is not None
            return [Step(state._replace(input=(*state.input, (message, False))), [Packet(i, packet.source, "ack")])]
        if packet.kind == "release":
            marked = tuple((m, free or m == message) for m, free in state.input)
            return [Step(state._replace(input=marked))]
        if state.missing > 1:
            return [Step(state._replace(missing=state.missing - 1))]
        assert state.posted is not None
        releases = [Packet(i, q, "release", state.posted) for q in state.posted.receivers]
        return [Step(state._replace(posted=None, missing=0), releases)]

    def receive(self, i: int, state: Released, sender: int | None) -> Sequence[Step]:
        if not state.input or not state.input[0][1]:
            return []
        (message, _), *rest = state.input
        return [Step(state._replace(input=tuple(rest)), (), [AppEvent("deliver", message)])]
