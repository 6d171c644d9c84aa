"""The buffer protocol [MF] §3 with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overrides import DOUBLE, HoldsBack, changed, none_sent, with_state, within
from planted import ProgramCatch, breaks, keeps, planted_in

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.buffer import Buffer
from crownless.spec.computation import Message

#: The program of Fig. 1, in which synchronous communication deadlocks.
FIG_1 = "P1: send x to P2; receive\nP2: send y to P1; receive"

#: P2 never asks for what it is sent.
NOBODY_ASKS = "P1: send x to P2; send y to P3\nP2:\nP3: receive"

#: The first program of §4.1 with P3's selective receives.
PROGRAM_1_SELECTIVE = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive from P2; receive from P1"

# -- the output buffer: a FIFO queue; dequeue the next message, transmit it, wait for an acknowledgement ---------------

InsertsAtTheFront = breaks(fifo=(2, 2, 5))(
    Buffer, insert=lambda self, state, message: state._replace(output=(message, *state.output))
)
InsertsIntoItsInputBuffer = breaks(input_holds_messages_for_itself=(2, 1, 1), delivers_once=(2, 1, 2))(
    Buffer, insert=lambda self, state, message: Buffer.get(self, state, message)
)
PostsWithoutWaiting = breaks(fifo=(2, 2, 6))(Buffer, may_post=lambda self, state: True)
#: Waits for an acknowledgement before it posts, but then posts all there is.
PostsAllAtOnce = breaks(fifo=(2, 2, 5))(
    Buffer,
    each_internal=lambda state, step: with_state(step, output=())._replace(
        packets=[Packet(message.sender, message.receiver, "message", message) for message in state.output]
    ),
)
PostsTheSameAgain = breaks(delivers_once=(2, 1, 8))(
    Buffer, each_internal=lambda state, step: with_state(step, output=state.output)
)
PostsNothing = breaks(delivers_all=(2, 1, 2))(Buffer, each_internal=lambda state, step: step._replace(packets=()))


@breaks(input_holds_messages_for_itself=(3, 1, 3), delivers_once=(3, 1, 4))
class PostsToEverybody(Buffer):
    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        others = [j for j in range(self.n) if j != i]
        return [
            (name, step._replace(packets=[packet._replace(destination=j) for packet in step.packets for j in others]))
            for name, step in super().internal(i, state)
        ]


NeverStopsWaiting = breaks(delivers_all=(2, 2, 6))(Buffer, acknowledged=lambda self, state, j: state)

# -- the input buffer: a FIFO queue; enqueue a message, and acknowledge it to its sender -------------------------------

NeverAcknowledgesAGet = breaks(delivers_all=(2, 2, 5))(Buffer, acknowledgement=none_sent)
AcknowledgesTwice = breaks(fifo=(2, 3, 12))(Buffer, acknowledgement=DOUBLE)
AcknowledgesToEverybody = breaks(causal=(3, 3, 11))(
    Buffer, acknowledgement=lambda self, i, packet: [Packet(i, j, "ack") for j in range(self.n) if j != i]
)
GetsAtTheFront = breaks(fifo=(2, 2, 8))(
    Buffer, get=lambda self, state, message: state._replace(input=(message, *state.input))
)
GetsIntoItsOutputBuffer = breaks(output_holds_own_messages=(2, 1, 3), delivers_all=(2, 1, 4))(
    Buffer, get=lambda self, state, message: Buffer.insert(self, state, message)
)
NeverEnqueues = breaks(delivers_all=(2, 1, 4))(Buffer, get=lambda self, state, message: state)
DeliversTheNewest = breaks(fifo=(2, 2, 8))(
    Buffer,
    receive=lambda self, i, state, sender: Buffer.receive(
        self, i, state._replace(input=state.input[-1:] + state.input[:-1]), sender
    ),
)
DeliversWithoutDequeuing = breaks(delivers_once=(2, 1, 5))(
    Buffer, receive=lambda self, i, state, sender: changed(Buffer.receive(self, i, state, sender), lambda _: state)
)


@breaks(ProgramCatch("causal", PROGRAM_1_SELECTIVE, 12))
class SearchesItsInputBuffer(Buffer):
    """A selective receive takes the oldest message from the sender it names, wherever that is in the buffer (§4.1)."""

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        for place, message in enumerate(state.input):
            if sender in (None, message.sender):
                rest = state.input[:place] + state.input[place + 1 :]
                return [Step(state._replace(input=rest), (), [AppEvent("deliver", message)])]
        return []


class HoldsBackFromTheApplication(HoldsBack):
    """What arrives is acknowledged at once, and enqueued by a later step."""

    def arrived(self, i: int, usual: Any, packet: Packet) -> Step:
        return Step(usual, self.acknowledgement(i, packet))

    def taken(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step(self.get(state.usual, packet.message))]

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return within(state, super().receive(i, state.usual, sender))


@breaks(fifo=(2, 2, 9))
class EnqueuesLate(HoldsBackFromTheApplication, Buffer):
    """Getting is not one operation: another message may be enqueued in between."""


# -- variations --------------------------------------------------------------------------------------------------------

#: Acknowledging before enqueuing, as §3.2 prints it, needs only that gets do not overlap: the next message is got when
#: both are done.
AcknowledgesBeforeEnqueuing = keeps((3, 3, 14984))(
    EnqueuesLate, deliverable=lambda self, i, state, packet: packet.kind == "ack" or not state.waiting
)


#: A later acknowledgement is as safe, and as live while every process goes on receiving.
@keeps((3, 3, 3869))
@breaks(ProgramCatch("completes", NOBODY_ASKS, 4))
class AcknowledgesOnDelivery(Buffer):
    """Synchronous communication between an output buffer and the *process* (§3.1: the buffer, and immediately)."""

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return [
            step._replace(packets=[Packet(i, event.message.sender, "ack") for event in step.events])
            for step in super().receive(i, state, sender)
        ]


def is_waiting(state: Any) -> bool:
    return bool(state.output) or state.awaits is not None


#: No buffers: the sender does nothing else until its message has been received (§2).
WaitsAndAcknowledges = breaks(ProgramCatch("completes", FIG_1, 6), delivers_all=(2, 2, 6), never_blocks=(2, 3, 6))(
    AcknowledgesOnDelivery,
    blocked_if=lambda self, state, message: is_waiting(state),
    receive=lambda self, i, state, sender: (
        [] if is_waiting(state) else AcknowledgesOnDelivery.receive(self, i, state, sender)
    ),
)
#: That sends do not block is no matter of order.
RefusesWhileItWaits = keeps(
    (3, 3, 5821),
    never_reaches=["a-message-waits-for-an-acknowledgement", "an-acknowledgement-lets-the-next-message-be-posted"],
)(Buffer, blocked_if=lambda self, state, message: is_waiting(state))


#: §3.1 posts to an empty output buffer immediately, §3.2 in a loop of its own: no matter of order.
@keeps((3, 3, 4847), never_reaches=["an-acknowledgement-lets-the-next-message-be-posted"])
class PostsAtOnce(Buffer):
    """§3.1's words: to an empty output buffer a message is "immediately transmitted"; no step lies between."""

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [self.posting(i, step) for step in super().send(i, state, message)]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [self.posting(i, step) for step in super().on_packet(i, state, packet)]

    def posting(self, i: int, step: Step) -> Step:
        for _, post in super().internal(i, step.state):
            return Step(post.state, [*step.packets, *post.packets], step.events)
        return step

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return []


ROWS = planted_in(globals())
