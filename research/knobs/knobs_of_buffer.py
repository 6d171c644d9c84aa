"""The buffer protocol of Mattern & Fünfrocken as independent choices.

The first alternatives are those of [MF] §3.2; others are those of §3.1, of §2 (the sender waits) and of footnote 4
(pipelining), and what an implementer may try or get wrong. Buffers, acknowledgements and steps are those of
`protocols/buffer.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message

#: What becomes of a message that the application sends.
Fate = Literal["buffered", "posted", "refused"]


class State(NamedTuple):
    output: tuple[Message, ...]  #: OB_i, the oldest message first
    awaits: tuple[int, ...]  #: the receivers of messages posted and not acknowledged, one entry per message, sorted
    input: tuple[Message, ...]  #: IB_i, the oldest message first
    asked: tuple[int, ...]  #: of these the processes asked to acknowledge, sorted


class BufferByKnobs(Buffer):
    """The buffer protocol in methods, with the alternatives of each."""

    invariants = {}
    rules = {}
    witnesses = {}

    def initial(self, i: int) -> State:  # type: ignore[override]
        return State((), (), (), ())

    # -- on sending ----------------------------------------------------------------------------------------------------

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:  # type: ignore[override]
        goes, sent = self.sent_message_is(state, message), [AppEvent("send", message)]
        if goes == "refused":
            return []
        if goes == "posted":
            return [self.post(i, state, message)._replace(events=sent)]
        return [Step(state._replace(output=(*state.output, message)), (), sent)]

    def sent_message_is(self, state: State, message: Message) -> Fate:
        """`buffered` in the output buffer, `posted` past it, or `refused`: the send blocks."""
        return "buffered"

    # -- the output buffer ---------------------------------------------------------------------------------------------

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:  # type: ignore[override]
        steps = []
        for place in self.next_out(state) if state.output else ():
            message = state.output[place]
            if self.next_may_go(state.awaits, message.receiver):
                rest = state.output[:place] + state.output[place + 1 :]
                steps.append(("post", self.post(i, state._replace(output=rest), message)))
        if state.output and not steps and self.acknowledged_on("request"):
            return self.ask(i, state)
        return steps

    def post(self, i: int, state: State, message: Message) -> Step:
        j = message.receiver
        return Step(state._replace(awaits=tuple(sorted([*state.awaits, j]))), [Packet(i, j, "message", message)])

    def ask(self, i: int, state: State) -> Sequence[tuple[str, Step]]:
        """A message waits: its predecessors' receivers are asked, each once, whether they got them."""
        packets = [Packet(i, j, "request") for j in sorted({*state.awaits} - {*state.asked})]
        asked = tuple(sorted([*state.asked, *(packet.destination for packet in packets)]))
        return [("request", Step(state._replace(asked=asked), packets))] if packets else []

    def next_out(self, state: State) -> Sequence[int]:
        """The places in the output buffer from which a message may be taken."""
        return [0]

    def next_may_go(self, awaits: tuple[int, ...], j: int) -> bool:
        """True if a message to process j may be posted while these acknowledgements are outstanding."""
        return not awaits

    def any_may_go(self, i: int, awaits: tuple[int, ...]) -> bool:
        """True if process i may post a message to whichever process it likes."""
        return all(self.next_may_go(awaits, j) for j in range(self.n) if j != i)

    def may_be_posted(self, state: State) -> list[int]:
        """The places of the messages in the output buffer that need not wait."""
        return [k for k, message in enumerate(state.output) if self.next_may_go(state.awaits, message.receiver)]

    # -- on arrival ----------------------------------------------------------------------------------------------------

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        j = packet.source
        if packet.kind == "ack":
            asked = tuple(k for k in state.asked if k != j)
            return [Step(state._replace(awaits=self.acknowledgement_ends(state.awaits, j), asked=asked))]
        if packet.kind == "request":
            return [Step(state, [Packet(i, j, "ack")])]
        acks = [Packet(i, j, "ack")] if self.acknowledged_on("get") else []
        return [Step(state._replace(input=(*state.input, packet.message)), acks)]

    def acknowledged_on(self, event: str) -> bool:
        """True if a message is acknowledged on this event: `get`, `delivery` or the sender's `request`."""
        return event == "get"

    def acknowledgement_ends(self, awaits: tuple[int, ...], j: int) -> tuple[int, ...]:
        """The acknowledgements still outstanding after one from process j."""
        return _without_one(awaits, j)

    # -- on delivery ---------------------------------------------------------------------------------------------------

    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:  # type: ignore[override]
        steps = []
        for place in self.next_delivered(state.input) if state.input else ():
            message = state.input[place]
            acks = [Packet(i, message.sender, "ack")] if self.acknowledged_on("delivery") else []
            rest = state.input[:place] + state.input[place + 1 :]
            steps.append(Step(state._replace(input=rest), acks, [AppEvent("deliver", message)]))
        return steps

    def next_delivered(self, messages: tuple[Message, ...]) -> Sequence[int]:
        """The places in the input buffer from which a message may be taken."""
        return [0]

    def renamed(self, state: State, renaming: Renaming) -> State:  # type: ignore[override]
        output, awaits, received, asked = state
        return State(
            renaming.messages(output),
            tuple(sorted(renaming.processes(awaits))),
            renaming.messages(received),
            tuple(sorted(renaming.processes(asked))),
        )

    # -- the alternatives ----------------------------------------------------------------------------------------------

    knobs: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
        "acknowledged_on": {
            "get": lambda self, event: event == "get",
            "delivery": lambda self, event: event == "delivery",
            "request of the sender": lambda self, event: event == "request",
            "nothing": lambda self, event: False,
        },
        "next_may_go": {
            "with no acknowledgement outstanding": lambda self, awaits, j: not awaits,
            "with none outstanding from another receiver": lambda self, awaits, j: all(k == j for k in awaits),
            "with none outstanding from its receiver": lambda self, awaits, j: j not in awaits,
            "with one outstanding": lambda self, awaits, j: len(awaits) < 2,
            "always": lambda self, awaits, j: True,
        },
        "acknowledgement_ends": {
            "one wait for its process": lambda self, awaits, j: _without_one(awaits, j),
            "all waits": lambda self, awaits, j: (),
        },
        "next_out": {
            "the oldest": lambda self, state: [0],
            "the newest": lambda self, state: [len(state.output) - 1],
            "the oldest that need not wait": lambda self, state: self.may_be_posted(state)[:1],
            "the oldest to any receiver": lambda self, state: _firsts([m.receiver for m in state.output]),
        },
        "sent_message_is": {
            "put into the output buffer": lambda self, state, message: "buffered",
            "posted at once if the output buffer is empty and it may go": lambda self, state, message: (
                "posted" if not state.output and self.next_may_go(state.awaits, message.receiver) else "buffered"
            ),
            "posted at once if the output buffer is empty": lambda self, state, message: (
                "buffered" if state.output else "posted"
            ),
            "posted at once if it may go": lambda self, state, message: (
                "posted" if self.next_may_go(state.awaits, message.receiver) else "buffered"
            ),
            "posted at once, and the process sends no more until any message may go": lambda self, state, message: (
                "posted" if self.any_may_go(message.sender, state.awaits) else "refused"
            ),
        },
        "next_delivered": {
            "the oldest": lambda self, messages: [0],
            "the newest": lambda self, messages: [len(messages) - 1],
            "the oldest of any sender": lambda self, messages: _firsts([m.sender for m in messages]),
        },
    }


def _without_one(processes: tuple[int, ...], j: int) -> tuple[int, ...]:
    """The sorted processes with one j less, if there is one."""
    return tuple(sorted([*(k for k in processes if k != j), *[j] * (processes.count(j) - 1)]))


def _firsts(processes: list[int]) -> list[int]:
    """For each of the processes the first place at which it stands."""
    return [processes.index(j) for j in dict.fromkeys(processes)]
