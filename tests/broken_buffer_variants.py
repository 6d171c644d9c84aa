"""The buffer protocol pipelined and bounded, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl import buffer, buffer_pipelined
from crownless.impl.buffer_bounded import BufferBounded
from crownless.impl.buffer_pipelined import BufferPipelined
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message

State = buffer_pipelined.State

# -- posting on to the same receiver -----------------------------------------------------------------------------------


class PostsOnToAnybody(BufferPipelined):
    """Never waits, whoever the next message is for."""

    def may_post_on(self, state: State, message: Message) -> bool:
        return True


class PostsOnToAnotherReceiver(BufferPipelined):
    """Footnote 4 the wrong way round: waits only before a message to the same receiver."""

    def may_post_on(self, state: State, message: Message) -> bool:
        return state.awaits != message.receiver


class WaitsForOneAcknowledgement(BufferPipelined):
    """The first acknowledgement ends the waiting, whatever else is outstanding."""

    def acknowledged(self, state: State, j: int) -> State:  # type: ignore[override]
        return state._replace(awaits=None, outstanding=0) if state.awaits == j else state


class CountsOnePost(BufferPipelined):
    """What is posted on is not counted: one acknowledgement is awaited for all."""

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        return [
            (name, step._replace(state=step.state._replace(outstanding=1))) for name, step in super().internal(i, state)
        ]


class NeverCountsAcknowledgements(BufferPipelined):
    def acknowledged(self, state: State, j: int) -> State:  # type: ignore[override]
        return state


class SkipsToTheSameReceiver(BufferPipelined):
    """Posts a later message to the receiver awaited, past the next one, which is for another."""

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        for place, message in enumerate(state.output):
            if state.awaits in (None, message.receiver):
                rest = state.output[:place] + state.output[place + 1 :]
                posted = State(rest, message.receiver, state.outstanding + 1, state.input)
                return [("post", Step(posted, [Packet(i, message.receiver, "message", message)]))]
        return []


class PostsTheNewestFirst(BufferPipelined):
    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        return super().internal(i, state._replace(output=state.output[::-1]))


class AcknowledgesNothing(BufferPipelined):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()


class AcknowledgesTwice(BufferPipelined):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


class GetsAtTheFront(BufferPipelined):
    def get(self, state: State, message: Message) -> State:  # type: ignore[override]
        return state._replace(input=(message, *state.input))


class NeverPostsOn(BufferPipelined):
    """Footnote 4 left out, over the transport that it asks for."""

    def may_post_on(self, state: State, message: Message) -> bool:
        return False


# -- bounded buffers ---------------------------------------------------------------------------------------------------


class OutputHoldsOneMore(BufferBounded):
    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        if len(state.output) > self.setting("output"):
            return []
        return [Step(self.insert(state, message), (), [AppEvent("send", message)])]


class InputHoldsOneMore(BufferBounded):
    def deliverable(self, i: int, state: buffer.State, packet: Packet) -> bool:
        return packet.kind == "ack" or len(state.input) <= self.setting("input")


class DropsWhatFindsNoPlace(BufferBounded):
    """A message that finds the input buffer full is acknowledged and lost."""

    def deliverable(self, i: int, state: buffer.State, packet: Packet) -> bool:
        return True

    def get(self, state: buffer.State, message: Message) -> buffer.State:
        return super().get(state, message) if len(state.input) < self.setting("input") else state


class DropsWhatCannotBeSent(BufferBounded):
    """A send into a full output buffer does not block: the message is lost."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) or [Step(state, (), [AppEvent("send", message)])]


class OverwritesTheOldest(BufferBounded):
    """A full input buffer makes room by dropping its oldest message."""

    def deliverable(self, i: int, state: buffer.State, packet: Packet) -> bool:
        return True

    def get(self, state: buffer.State, message: Message) -> buffer.State:
        full = len(state.input) == self.setting("input")
        return super().get(state._replace(input=state.input[1:]) if full else state, message)


class BlocksForEver(BufferBounded):
    """A send that found the output buffer full is never taken again: the buffer is not emptied."""

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return [] if len(state.output) == self.setting("output") else super().internal(i, state)


class PostsWithoutWaiting(BufferBounded):
    def may_post(self, state: buffer.State) -> bool:
        return True


class AcknowledgementsNeedAPlace(BufferBounded):
    """Acknowledgements wait for a place in the input buffer like messages."""

    def deliverable(self, i: int, state: buffer.State, packet: Packet) -> bool:
        return len(state.input) < self.setting("input")


class CountsTheMessagePosted(BufferBounded):
    """The message that is not yet acknowledged keeps its place in the output buffer."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        held = len(state.output) + (state.awaits is not None)
        return super().send(i, state, message) if held < self.setting("output") else []


class Arrived(NamedTuple):
    """A buffer state with messages that are acknowledged and have found no place yet."""

    output: tuple[Message, ...]
    awaits: int | None
    input: tuple[Message, ...]
    outside: tuple[Message, ...]


class AcknowledgesOutside(BufferBounded):
    """A message that finds the input buffer full is acknowledged at once, and gets its place when there is one."""

    def initial(self, i: int) -> Any:
        return Arrived((), None, (), ())

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return True

    def get(self, state: Any, message: Message) -> Any:
        if len(state.input) < self.setting("input"):
            return state._replace(input=(*state.input, message))
        return state._replace(outside=(*state.outside, message))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        own = [*super().internal(i, state)]
        if len(state.input) < self.setting("input"):
            for place, message in enumerate(state.outside):
                rest = state.outside[:place] + state.outside[place + 1 :]
                own.append(("enqueue", Step(state._replace(input=(*state.input, message), outside=rest))))
        return own

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        usual = super().renamed(buffer.State(*state[:3]), renaming)
        return Arrived(*usual, renaming.messages(state.outside))


# -- the tables --------------------------------------------------------------------------------------------------------

FIFO = Setup(channel="fifo")

#: The first program of [MF] §4.1.
PROGRAM_1 = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive; receive"

#: The second message to P2 and what P3 sends once it has heard of it.
TWO_AND_A_THIRD = """
P1: send a to P2; send b to P2; send c to P3
P2: receive; receive; receive
P3: receive; send d to P2
"""

#: P2 hears of a message that was sent after one to P3.
PAST_THE_NEXT = """
P1: send a to P2; send b to P3; send c to P2
P2: receive; receive; send d to P3
P3: receive; receive
"""

#: As many sends each way as buffers of one place have room for.
THREE_EACH = """
P1: send a to P2; send b to P2; send c to P2; receive; receive; receive
P2: send d to P1; send e to P1; send f to P1; receive; receive; receive
"""

BROKEN = (
    Broken(
        PostsTheNewestFirst,
        "[MF] §3.1: output buffers are FIFO queues",
        (Catch("fifo", 2, 2, 5, FIFO),),
    ),
    Broken(
        GetsAtTheFront,
        "[MF] §3.1: input buffers are FIFO queues",
        (Catch("fifo", 2, 2, 7, FIFO),),
    ),
    Broken(
        NeverCountsAcknowledgements,
        "[MF] §3.2: acknowledgements end the waiting",
        (Catch("delivers-all", 3, 2, 6, FIFO),),
    ),
    Broken(
        AcknowledgesNothing,
        "[MF] §3.2: getting a message, send an acknowledgement",
        (Catch("delivers-all", 3, 2, 5, FIFO),),
    ),
    Broken(
        OutputHoldsOneMore,
        "[MF] footnote 2: a full output buffer blocks an enqueue",
        (Catch("capacities-are-kept", 2, 2, 2),),
    ),
    Broken(
        InputHoldsOneMore,
        "[MF] footnote 2: a full input buffer blocks an enqueue",
        (Catch("capacities-are-kept", 2, 2, 7),),
    ),
    Broken(
        DropsWhatCannotBeSent,
        "[MF] footnote 2: an enqueue into a full output buffer blocks, nothing is lost",
        (Catch("delivers-all", 2, 2, 6), Catch("fifo", 2, 3, 10)),
    ),
    Broken(
        DropsWhatFindsNoPlace,
        "[MF] footnote 2: an enqueue into a full input buffer blocks, nothing is lost",
        (Catch("delivers-all", 2, 2, 9), Catch("fifo", 2, 3, 13)),
    ),
    Broken(
        OverwritesTheOldest,
        "[MF] footnote 2: an enqueue into a full input buffer blocks, and makes no room for itself",
        (Catch("delivers-all", 2, 2, 9), Catch("fifo", 2, 2, 8)),
    ),
    Broken(
        BlocksForEver,
        "[MF] footnote 2: an enqueue blocks as long as the buffer is full",
        (Catch("never-blocks", 2, 3, 2), Catch("delivers-all", 2, 1, 1)),
    ),
    Broken(PostsWithoutWaiting, "[MF] §3.2: wait for an acknowledgement", (Catch("fifo", 2, 2, 6),)),
    Broken(
        AcknowledgesOutside,
        "[MF] §3.2: a message is acknowledged when it is in the buffer",
        (Catch("fifo", 2, 3, 13),),
    ),
)

BROKEN_PROGRAMS = (
    BrokenProgram(
        PostsOnToAnybody,
        "[MF] footnote 4: subsequent messages to the same receiver, no others, are transmitted without waiting",
        PROGRAM_1,
        "causal",
        10,
        FIFO,
    ),
    BrokenProgram(
        PostsOnToAnotherReceiver,
        "[MF] footnote 4: a delay when two successive messages are sent to different receivers",
        PROGRAM_1,
        "causal",
        10,
        FIFO,
    ),
    BrokenProgram(
        WaitsForOneAcknowledgement,
        "[MF] footnote 4: before a message to another receiver all acknowledgements are awaited",
        TWO_AND_A_THIRD,
        "causal",
        15,
        FIFO,
    ),
    BrokenProgram(
        CountsOnePost,
        "[MF] footnote 4: every message posted is to be acknowledged",
        TWO_AND_A_THIRD,
        "causal",
        15,
        FIFO,
    ),
    BrokenProgram(
        AcknowledgesTwice,
        "[MF] §3.2: one acknowledgement a message",
        TWO_AND_A_THIRD,
        "causal",
        16,
        FIFO,
    ),
    BrokenProgram(
        SkipsToTheSameReceiver,
        "[MF] footnote 4: subsequent messages, not later ones past others",
        PAST_THE_NEXT,
        "causal",
        13,
        FIFO,
    ),
    BrokenProgram(
        AcknowledgementsNeedAPlace,
        "[MF] §3.2: an acknowledgement is for the output buffer, whatever the input buffer holds",
        THREE_EACH,
        "completes",
        8,
    ),
    BrokenProgram(
        CountsTheMessagePosted,
        "[MF] §3.2: to post is to dequeue, acknowledged or not",
        THREE_EACH,
        "completes",
        12,
    ),
    BrokenProgram(
        BlocksForEver,
        "[MF] footnote 2: an enqueue blocks as long as the buffer is full",
        THREE_EACH,
        "completes",
        2,
    ),
)

HARMLESS = (
    Harmless(
        NeverPostsOn,
        "[MF] footnote 4 is a permission: over a transport that does not reorder, waiting is as safe.",
        3,
        3,
        7627,
        FIFO,
        never_reaches=frozenset(
            {"a-message-is-posted-before-the-last-is-acknowledged", "one-of-several-acknowledgements-comes"}
        ),
    ),
    Harmless(
        CountsTheMessagePosted,
        "[MF] footnote 2: whether the message not yet acknowledged keeps its place is no matter of order; only which "
        "programs block depends on it.",
        3,
        3,
        4789,
        never_reaches=frozenset({"an-acknowledgement-lets-the-next-message-be-posted"}),
    ),
    Harmless(
        AcknowledgementsNeedAPlace,
        "[MF] footnote 2: where every process goes on receiving, even acknowledgements that wait for a place come in.",
        3,
        3,
        5696,
    ),
)
