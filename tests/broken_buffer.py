"""The buffer protocol with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from crownless.impl import buffer
from crownless.impl.buffer import Buffer
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.variants import ProgramCatch, Setup, breaks, keeps, variants_in
from crownless.spec.computation import Message

#: The program of [MF] Fig. 1, in which synchronous communication deadlocks.
FIG_1 = "P1: send x to P2; receive\nP2: send y to P1; receive"

#: P2 never asks for what it is sent.
NOBODY_ASKS = "P1: send x to P2; send y to P3\nP2:\nP3: receive"

#: The first program of [MF] §4.1 with P3's selective receives.
PROGRAM_1_SELECTIVE = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive from P2; receive from P1"

# -- the buffer protocol: the output buffer ----------------------------------------------------------------------------

InsertsAtTheFront = breaks("[MF] §3.1: output buffers are FIFO queues", fifo=(2, 2, 5))(
    Buffer, insert=lambda self, state, message: state._replace(output=(message, *state.output))
)

InsertsIntoItsInputBuffer = breaks(
    "[MF] §3.2: OB_i inserts m, to be posted to IB_j",
    input_holds_messages_for_itself=(2, 1, 1),
    delivers_once=(2, 1, 2),
)(Buffer, insert=lambda self, state, message: state._replace(input=(*state.input, message)))

PostsWithoutWaiting = breaks("[MF] §3.2: wait for an acknowledgement", fifo=(2, 2, 6))(
    Buffer, may_post=lambda self, state: True
)


@breaks("[MF] §3.2: dequeue the next message, one at a time", fifo=(2, 2, 5))
class PostsAllAtOnce(Buffer):
    """Waits for an acknowledgement before it posts, but then posts all there is."""

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        if not state.output or state.awaits is not None:
            return []
        packets = [Packet(i, message.receiver, "message", message) for message in state.output]
        return [("post", Step(state._replace(output=(), awaits=state.output[0].receiver), packets))]


PostsTheSameAgain = breaks("[MF] §3.2: dequeue the next message", delivers_once=(2, 1, 8))(
    Buffer,
    internal=lambda self, i, state: [
        (name, step._replace(state=step.state._replace(output=state.output)))
        for name, step in Buffer.internal(self, i, state)
    ],
)

PostsNothing = breaks("[MF] §3.2: transmit it", delivers_all=(2, 1, 2))(
    Buffer,
    internal=lambda self, i, state: [
        (name, step._replace(packets=())) for name, step in Buffer.internal(self, i, state)
    ],
)


@breaks("[MF] §3.2: transmit it to IB_j", input_holds_messages_for_itself=(3, 1, 3), delivers_once=(3, 1, 4))
class PostsToEverybody(Buffer):
    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        others = [j for j in range(self.n) if j != i]
        return [
            (name, step._replace(packets=[packet._replace(destination=j) for packet in step.packets for j in others]))
            for name, step in super().internal(i, state)
        ]


NeverStopsWaiting = breaks("[MF] §3.2: an acknowledgement ends the waiting", delivers_all=(2, 2, 6))(
    Buffer, acknowledged=lambda self, state, j: state
)

# -- the buffer protocol: the input buffer -----------------------------------------------------------------------------

NeverAcknowledgesAGet = breaks("[MF] §3.2: getting a message, send an acknowledgement", delivers_all=(2, 2, 5))(
    Buffer, acknowledgement=lambda self, i, packet: ()
)


@breaks("[MF] §3.2: one acknowledgement a message", fifo=(2, 3, 12))
class AcknowledgesTwice(Buffer):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


AcknowledgesToEverybody = breaks("[MF] §3.2: an acknowledgement to OB_j", causal=(3, 3, 11))(
    Buffer, acknowledgement=lambda self, i, packet: [Packet(i, j, "ack") for j in range(self.n) if j != i]
)

GetsAtTheFront = breaks("[MF] §3.1: input buffers are FIFO queues", fifo=(2, 2, 8))(
    Buffer, get=lambda self, state, message: state._replace(input=(message, *state.input))
)

GetsIntoItsOutputBuffer = breaks(
    "[MF] §3.2: IB_i enqueues the message", output_holds_own_messages=(2, 1, 3), delivers_all=(2, 1, 4)
)(Buffer, get=lambda self, state, message: state._replace(output=(*state.output, message)))

NeverEnqueues = breaks("[MF] §3.2: enqueue message in buffer", delivers_all=(2, 1, 4))(
    Buffer, get=lambda self, state, message: state
)


@breaks("[MF] §3.1: the first message, which is the oldest", fifo=(2, 2, 8))
class DeliversTheNewest(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return super().receive(i, state._replace(input=state.input[-1:] + state.input[:-1]), sender)


@breaks("[MF] §3.2: dequeue the next message", delivers_once=(2, 1, 5))
class DeliversWithoutDequeuing(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [step._replace(state=state) for step in super().receive(i, state, sender)]


@breaks(
    "[MF] §4.1: messages in the FIFO queue cannot be reordered, whatever a receive asks for",
    ProgramCatch("causal", PROGRAM_1_SELECTIVE, 12),
)
class SearchesItsInputBuffer(Buffer):
    """A selective receive takes the oldest message from the sender it names, wherever that is in the buffer."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        for place, message in enumerate(state.input):
            if sender in (None, message.sender):
                rest = state.input[:place] + state.input[place + 1 :]
                return [Step(state._replace(input=rest), (), [AppEvent("deliver", message)])]
        return []


class Arrived(NamedTuple):
    """A buffer state with messages that are acknowledged and not yet enqueued."""

    output: tuple[Message, ...]
    awaits: int | None
    input: tuple[Message, ...]
    arrived: tuple[Message, ...]


@breaks("[MF] §3.2: getting is one operation, its end the get event", fifo=(2, 2, 9))
class EnqueuesLate(Buffer):
    """Acknowledges at once and enqueues by a later step: another message may be enqueued in between."""

    def initial(self, i: int) -> Any:
        return Arrived((), None, (), ())

    def get(self, state: Any, message: Message) -> Any:
        return state._replace(arrived=(*state.arrived, message))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [
            *super().internal(i, state),
            *(("enqueue", Step(self.enqueued(state, place))) for place in range(len(state.arrived))),
        ]

    def enqueued(self, state: Arrived, place: int) -> Arrived:
        rest = state.arrived[:place] + state.arrived[place + 1 :]
        return state._replace(input=(*state.input, state.arrived[place]), arrived=rest)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        usual = super().renamed(buffer.State(*state[:3]), renaming)
        return Arrived(*usual, renaming.messages(state.arrived))


# -- the buffer protocol: variations -----------------------------------------------------------------------------------


@keeps("[MF] §3.2: acknowledging before enqueuing, as printed, needs only that gets do not overlap.", (3, 3, 14984))
class AcknowledgesBeforeEnqueuing(EnqueuesLate):
    """Getting a message is two steps in the order printed, and the next one is got when both are done."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return packet.kind == "ack" or not state.arrived


@keeps(
    "[MF] §3.1: a later acknowledgement is as safe, and as live while every process goes on receiving.", (3, 3, 3869)
)
@breaks("[MF] §3.1: the input buffer acknowledges immediately", ProgramCatch("completes", NOBODY_ASKS, 4))
class AcknowledgesOnDelivery(Buffer):
    """Synchronous communication between an output buffer and the *process*."""

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [
            step._replace(packets=[Packet(i, event.message.sender, "ack") for event in step.events])
            for step in super().receive(i, state, sender)
        ]


@breaks(
    "[MF] §3.1: with buffers the processes are free to proceed (without: Fig. 1)",
    ProgramCatch("completes", FIG_1, 6),
    delivers_all=(2, 2, 6),
    never_blocks=(2, 3, 6),
)
class WaitsAndAcknowledges(AcknowledgesOnDelivery):
    """No buffers: the sender does nothing else until its message has been received ([MF] §2)."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return [] if state.output or state.awaits is not None else super().send(i, state, message)

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [] if state.output or state.awaits is not None else super().receive(i, state, sender)


RefusesWhileItWaits = keeps(
    "[MF] §3.1: that sends do not block is no matter of order.",
    (3, 3, 5821),
    never_reaches=frozenset(
        {"a-message-waits-for-an-acknowledgement", "an-acknowledgement-lets-the-next-message-be-posted"}
    ),
)(
    Buffer,
    send=lambda self, i, state, message: (
        [] if state.output or state.awaits is not None else Buffer.send(self, i, state, message)
    ),
)


@keeps(
    "[MF] §3.1 posts to an empty output buffer immediately, §3.2 in a loop of its own: no matter of order.",
    (3, 3, 4847),
    never_reaches=frozenset({"an-acknowledgement-lets-the-next-message-be-posted"}),
)
class PostsAtOnce(Buffer):
    """[MF] §3.1's words: to an empty output buffer a message is "immediately transmitted"; no step lies between."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return [self.posting(i, step) for step in super().send(i, state, message)]

    def on_packet(self, i: int, state: buffer.State, packet: Packet) -> Sequence[Step]:
        return [self.posting(i, step) for step in super().on_packet(i, state, packet)]

    def posting(self, i: int, step: Step) -> Step:
        for _, post in super().internal(i, step.state):
            return Step(post.state, [*step.packets, *post.packets], step.events)
        return step

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return []


class Posted(NamedTuple):
    """A buffer state that counts the posts not yet acknowledged, all of them to one receiver."""

    output: tuple[Message, ...]
    waiting: int
    input: tuple[Message, ...]
    towards: int | None


@keeps(
    "[MF] footnote 4: without waiting, to the same receiver, if the transport does not reorder.",
    (3, 3, 8929),
    setup=Setup(channel="fifo"),
)
class PostsOnToTheSameReceiver(Buffer):
    """Waits only before it posts to another receiver than the last ([MF] footnote 4)."""

    rules = {}  # of other stamps or states

    witnesses = {}

    def initial(self, i: int) -> Any:
        return Posted((), 0, (), None)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if not state.output or (state.waiting and state.output[0].receiver != state.towards):
            return []
        message, *rest = state.output
        after = Posted(tuple(rest), state.waiting + 1, state.input, message.receiver)
        return [("post", Step(after, [Packet(i, message.receiver, "message", message)]))]

    def acknowledged(self, state: Any, j: int) -> Any:
        return state._replace(waiting=state.waiting - 1, towards=state.towards if state.waiting > 1 else None)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        output, waiting, received, towards = state
        return Posted(renaming.messages(output), waiting, renaming.messages(received), renaming.process(towards))


ROWS = variants_in(globals())
