"""The buffer protocol with footnote 4 of [MF]: posting on to the same receiver without waiting.

"If the transport layer does not reorder messages, subsequent messages to the same receiver can be transmitted by an
output buffer without waiting for acknowledgements." So several acknowledgements may be outstanding, all from one
receiver; only a message to another receiver waits for all of them.

Modelling choice: acknowledgements carry nothing, so they are counted.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.protocol import Packet, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message

from .buffer import Buffer


class State(NamedTuple):
    output: tuple[Message, ...]  #: OB_i, the oldest message first
    awaits: int | None  #: the process whose acknowledgements are awaited
    outstanding: int  #: how many of them
    input: tuple[Message, ...]  #: IB_i, the oldest message first


class BufferPipelined(Buffer):
    source = "[MF] footnote 4"
    needs_channel = "fifo"

    witnesses = {
        **Buffer.witnesses,
        "a-message-waits-for-an-acknowledgement": lambda machine, i, state: (
            bool(state.output) and state.awaits not in (None, state.output[0].receiver)
        ),
    }

    rules = {
        **Buffer.rules,
        "a-message-is-posted-before-the-last-is-acknowledged": lambda machine, t: (
            t.action == "post" and t.before.awaits is not None
        ),
        "one-of-several-acknowledgements-comes": lambda machine, t: t.receives("ack") and t.before.outstanding > 1,
    }

    def initial(self, i: int) -> State:  # type: ignore[override]
        return State((), None, 0, ())

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        if not state.output:
            return []
        message, *rest = state.output
        if state.awaits is not None and not self.may_post_on(state, message):
            return []
        posted = State(tuple(rest), message.receiver, state.outstanding + 1, state.input)
        return [("post", Step(posted, [Packet(i, message.receiver, "message", message)]))]

    def may_post_on(self, state: State, message: Message) -> bool:
        """Footnote 4: to the receiver whose acknowledgements are outstanding, and to no other."""
        return state.awaits == message.receiver

    def acknowledged(self, state: State, j: int) -> State:  # type: ignore[override]
        if state.awaits != j:
            return state
        outstanding = state.outstanding - 1
        return state._replace(awaits=j if outstanding else None, outstanding=outstanding)

    def renamed(self, state: State, renaming: Renaming) -> State:  # type: ignore[override]
        output, awaits, outstanding, received = state
        return State(renaming.messages(output), renaming.process(awaits), outstanding, renaming.messages(received))
