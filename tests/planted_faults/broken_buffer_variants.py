"""The buffer protocol pipelined and bounded [MF], with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broken_buffer import HoldsBackFromTheApplication
from overrides import DOUBLE, always, none_sent, with_state, within
from planted import ProgramCatch, breaks, keeps, planted_in

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.buffer_bounded import BufferBounded
from crownless.impl.protocols.buffer_pipelined import BufferPipelined

#: The first program of §4.1.
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

# -- footnote 4: messages to the same receiver are posted on without waiting, over a transport that does not reorder ---

PostsOnToAnybody = breaks(ProgramCatch("causal", PROGRAM_1, 10))(
    BufferPipelined, may_post_on=lambda self, state, message: True
)
PostsOnToAnotherReceiver = breaks(ProgramCatch("causal", PROGRAM_1, 10))(
    BufferPipelined, may_post_on=lambda self, state, message: state.awaits != message.receiver
)
#: The first acknowledgement ends the waiting, whatever else is outstanding.
WaitsForOneAcknowledgement = breaks(ProgramCatch("causal", TWO_AND_A_THIRD, 15))(
    BufferPipelined,
    acknowledged=lambda self, state, j: state._replace(awaits=None, outstanding=0) if state.awaits == j else state,
)
#: What is posted on is not counted: one acknowledgement is awaited for all.
CountsOnePost = breaks(ProgramCatch("causal", TWO_AND_A_THIRD, 15))(
    BufferPipelined, each_internal=lambda state, step: with_state(step, outstanding=1)
)
NeverCountsAcknowledgements = breaks(delivers_all=(3, 2, 6))(BufferPipelined, acknowledged=lambda self, state, j: state)


@breaks(ProgramCatch("causal", PAST_THE_NEXT, 13))
class SkipsToTheSameReceiver(BufferPipelined):
    """Posts a later message to the receiver awaited, past the next one, which is for another."""

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        output = state.output
        for place, message in enumerate(output):
            if state.awaits in (None, message.receiver):
                return super().internal(i, state._replace(output=(message, *output[:place], *output[place + 1 :])))
        return []


PostsTheNewestFirst = breaks(fifo=(2, 2, 5))(
    BufferPipelined,
    internal=lambda self, i, state: BufferPipelined.internal(self, i, state._replace(output=state.output[::-1])),
)
AcknowledgesNothing = breaks(delivers_all=(3, 2, 5))(BufferPipelined, acknowledgement=none_sent)
AcknowledgesTwice = breaks(ProgramCatch("causal", TWO_AND_A_THIRD, 16))(BufferPipelined, acknowledgement=DOUBLE)
GetsAtTheFront = breaks(fifo=(2, 2, 7))(
    BufferPipelined, get=lambda self, state, message: state._replace(input=(message, *state.input))
)
#: Footnote 4 is a permission: over a transport that does not reorder, waiting is as safe.
NeverPostsOn = keeps(
    (3, 3, 7627),
    never_reaches=["a-message-is-posted-before-the-last-is-acknowledged", "one-of-several-acknowledgements-comes"],
)(BufferPipelined, may_post_on=lambda self, state, message: False)

# -- footnote 2: a full buffer blocks an enqueue, and nothing is lost --------------------------------------------------


def has_place(machine: BufferBounded, state: Any) -> bool:
    """True if the input buffer is not full."""
    return len(state.input) < machine.setting("input")


OutputHoldsOneMore = breaks(capacities_are_kept=(2, 2, 2))(
    BufferBounded,
    send=lambda self, i, state, message: (
        [] if len(state.output) > self.setting("output") else Buffer.send(self, i, state, message)
    ),
)
InputHoldsOneMore = breaks(capacities_are_kept=(2, 2, 7))(
    BufferBounded,
    deliverable=lambda self, i, state, packet: packet.kind == "ack" or len(state.input) <= self.setting("input"),
)
DropsWhatFindsNoPlace = breaks(delivers_all=(2, 2, 9), fifo=(2, 3, 13))(
    BufferBounded,
    deliverable=always,
    get=lambda self, state, message: BufferBounded.get(self, state, message) if has_place(self, state) else state,
)
DropsWhatCannotBeSent = breaks(delivers_all=(2, 2, 6), fifo=(2, 3, 10))(
    BufferBounded,
    send=lambda self, i, state, message: (
        BufferBounded.send(self, i, state, message) or [Step(state, (), [AppEvent("send", message)])]
    ),
)
OverwritesTheOldest = breaks(delivers_all=(2, 2, 9), fifo=(2, 2, 8))(
    BufferBounded,
    deliverable=always,
    get=lambda self, state, message: BufferBounded.get(
        self, state if has_place(self, state) else state._replace(input=state.input[1:]), message
    ),
)
BlocksForEver = breaks(ProgramCatch("completes", THREE_EACH, 2), never_blocks=(2, 2, 1), delivers_all=(2, 1, 1))(
    BufferBounded,
    internal=lambda self, i, state: (
        [] if len(state.output) == self.setting("output") else BufferBounded.internal(self, i, state)
    ),
)
PostsWithoutWaiting = breaks(fifo=(2, 2, 6))(BufferBounded, may_post=lambda self, state: True)
#: Acknowledgements are for the output buffer, whatever the input buffer holds. Where every process goes on receiving,
#: even acknowledgements that wait for a place come in.
AcknowledgementsNeedAPlace = keeps((3, 3, 5696))(
    breaks(ProgramCatch("completes", THREE_EACH, 8))(
        BufferBounded, deliverable=lambda self, i, state, packet: has_place(self, state)
    )
)
#: To post is to dequeue, acknowledged or not (§3.2). Whether the message not yet acknowledged keeps its place is no
#: matter of order; only which programs block depends on it.
CountsTheMessagePosted = keeps((3, 3, 4789), never_reaches=["an-acknowledgement-lets-the-next-message-be-posted"])(
    breaks(ProgramCatch("completes", THREE_EACH, 12))(
        BufferBounded,
        blocked_if=lambda self, state, message: (
            len(state.output) + (state.awaits is not None) >= self.setting("output")
        ),
    )
)


@breaks(fifo=(2, 3, 13))
class AcknowledgesOutside(HoldsBackFromTheApplication, BufferBounded):
    """A message that finds the input buffer full is acknowledged at once, and gets its place when there is one."""

    deliverable: Any = always

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if has_place(self, state):
            return within(state, BufferBounded.on_packet(self, i, state.usual, packet))
        return super().on_packet(i, state, packet)

    def taken(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().taken(i, state, packet) if has_place(self, state) else []


ROWS = planted_in(globals())
