"""The buffer protocol pipelined and bounded, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from crownless.impl import buffer, buffer_pipelined
from crownless.impl.buffer_bounded import BufferBounded
from crownless.impl.buffer_pipelined import BufferPipelined
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.variants import ProgramCatch, Setup, breaks, keeps, variants_in
from crownless.spec.computation import Message

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

State = buffer_pipelined.State

# -- posting on to the same receiver -----------------------------------------------------------------------------------

PostsOnToAnybody = breaks(
    "[MF] footnote 4: subsequent messages to the same receiver, no others, are transmitted without waiting",
    ProgramCatch("causal", PROGRAM_1, 10, FIFO),
)(BufferPipelined, may_post_on=lambda self, state, message: True)

PostsOnToAnotherReceiver = breaks(
    "[MF] footnote 4: a delay when two successive messages are sent to different receivers",
    ProgramCatch("causal", PROGRAM_1, 10, FIFO),
)(BufferPipelined, may_post_on=lambda self, state, message: state.awaits != message.receiver)


@breaks(
    "[MF] footnote 4: before a message to another receiver all acknowledgements are awaited",
    ProgramCatch("causal", TWO_AND_A_THIRD, 15, FIFO),
)
class WaitsForOneAcknowledgement(BufferPipelined):
    """The first acknowledgement ends the waiting, whatever else is outstanding."""

    def acknowledged(self, state: State, j: int) -> State:  # type: ignore[override]
        return state._replace(awaits=None, outstanding=0) if state.awaits == j else state


@breaks(
    "[MF] footnote 4: every message posted is to be acknowledged", ProgramCatch("causal", TWO_AND_A_THIRD, 15, FIFO)
)
class CountsOnePost(BufferPipelined):
    """What is posted on is not counted: one acknowledgement is awaited for all."""

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        return [
            (name, step._replace(state=step.state._replace(outstanding=1))) for name, step in super().internal(i, state)
        ]


@breaks("[MF] §3.2: acknowledgements end the waiting", delivers_all=(3, 2, 6), setup=FIFO)
class NeverCountsAcknowledgements(BufferPipelined):
    def acknowledged(self, state: State, j: int) -> State:  # type: ignore[override]
        return state


@breaks(
    "[MF] footnote 4: subsequent messages, not later ones past others", ProgramCatch("causal", PAST_THE_NEXT, 13, FIFO)
)
class SkipsToTheSameReceiver(BufferPipelined):
    """Posts a later message to the receiver awaited, past the next one, which is for another."""

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        for place, message in enumerate(state.output):
            if state.awaits in (None, message.receiver):
                rest = state.output[:place] + state.output[place + 1 :]
                posted = State(rest, message.receiver, state.outstanding + 1, state.input)
                return [("post", Step(posted, [Packet(i, message.receiver, "message", message)]))]
        return []


@breaks("[MF] §3.1: output buffers are FIFO queues", fifo=(2, 2, 5), setup=FIFO)
class PostsTheNewestFirst(BufferPipelined):
    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        return super().internal(i, state._replace(output=state.output[::-1]))


AcknowledgesNothing = breaks(
    "[MF] §3.2: getting a message, send an acknowledgement", delivers_all=(3, 2, 5), setup=FIFO
)(BufferPipelined, acknowledgement=lambda self, i, packet: ())


@breaks("[MF] §3.2: one acknowledgement a message", ProgramCatch("causal", TWO_AND_A_THIRD, 16, FIFO))
class AcknowledgesTwice(BufferPipelined):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


@breaks("[MF] §3.1: input buffers are FIFO queues", fifo=(2, 2, 7), setup=FIFO)
class GetsAtTheFront(BufferPipelined):
    def get(self, state: State, message: Message) -> State:  # type: ignore[override]
        return state._replace(input=(message, *state.input))


NeverPostsOn = keeps(
    "[MF] footnote 4 is a permission: over a transport that does not reorder, waiting is as safe.",
    (3, 3, 7627),
    FIFO,
    never_reaches=frozenset(
        {"a-message-is-posted-before-the-last-is-acknowledged", "one-of-several-acknowledgements-comes"}
    ),
)(BufferPipelined, may_post_on=lambda self, state, message: False)

# -- bounded buffers ---------------------------------------------------------------------------------------------------


@breaks("[MF] footnote 2: a full output buffer blocks an enqueue", capacities_are_kept=(2, 2, 2))
class OutputHoldsOneMore(BufferBounded):
    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        if len(state.output) > self.setting("output"):
            return []
        return [Step(self.insert(state, message), (), [AppEvent("send", message)])]


InputHoldsOneMore = breaks("[MF] footnote 2: a full input buffer blocks an enqueue", capacities_are_kept=(2, 2, 7))(
    BufferBounded,
    deliverable=lambda self, i, state, packet: packet.kind == "ack" or len(state.input) <= self.setting("input"),
)

DropsWhatFindsNoPlace = breaks(
    "[MF] footnote 2: an enqueue into a full input buffer blocks, nothing is lost",
    delivers_all=(2, 2, 9),
    fifo=(2, 3, 13),
)(
    BufferBounded,
    deliverable=lambda self, i, state, packet: True,
    get=lambda self, state, message: (
        BufferBounded.get(self, state, message) if len(state.input) < self.setting("input") else state
    ),
)

DropsWhatCannotBeSent = breaks(
    "[MF] footnote 2: an enqueue into a full output buffer blocks, nothing is lost",
    delivers_all=(2, 2, 6),
    fifo=(2, 3, 10),
)(
    BufferBounded,
    send=lambda self, i, state, message: (
        BufferBounded.send(self, i, state, message) or [Step(state, (), [AppEvent("send", message)])]
    ),
)

OverwritesTheOldest = breaks(
    "[MF] footnote 2: an enqueue into a full input buffer blocks, and makes no room for itself",
    delivers_all=(2, 2, 9),
    fifo=(2, 2, 8),
)(
    BufferBounded,
    deliverable=lambda self, i, state, packet: True,
    get=lambda self, state, message: BufferBounded.get(
        self, state._replace(input=state.input[1:]) if len(state.input) == self.setting("input") else state, message
    ),
)

BlocksForEver = breaks(
    "[MF] footnote 2: an enqueue blocks as long as the buffer is full",
    ProgramCatch("completes", THREE_EACH, 2),
    never_blocks=(2, 3, 2),
    delivers_all=(2, 1, 1),
)(
    BufferBounded,
    internal=lambda self, i, state: (
        [] if len(state.output) == self.setting("output") else BufferBounded.internal(self, i, state)
    ),
)

PostsWithoutWaiting = breaks("[MF] §3.2: wait for an acknowledgement", fifo=(2, 2, 6))(
    BufferBounded, may_post=lambda self, state: True
)

AcknowledgementsNeedAPlace = keeps(
    "[MF] footnote 2: where every process goes on receiving, even acknowledgements that wait for a place come in.",
    (3, 3, 5696),
)(
    breaks(
        "[MF] §3.2: an acknowledgement is for the output buffer, whatever the input buffer holds",
        ProgramCatch("completes", THREE_EACH, 8),
    )(BufferBounded, deliverable=lambda self, i, state, packet: len(state.input) < self.setting("input"))
)


@breaks("[MF] §3.2: to post is to dequeue, acknowledged or not", ProgramCatch("completes", THREE_EACH, 12))
@keeps(
    "[MF] footnote 2: whether the message not yet acknowledged keeps its place is no matter of order; only which "
    "programs block depends on it.",
    (3, 3, 4789),
    never_reaches=frozenset({"an-acknowledgement-lets-the-next-message-be-posted"}),
)
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


@breaks("[MF] §3.2: a message is acknowledged when it is in the buffer", fifo=(2, 3, 13))
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


ROWS = variants_in(globals())
