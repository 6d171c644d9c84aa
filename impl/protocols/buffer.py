"""The buffer protocol of Mattern & Fünfrocken [MF] §3: non-blocking synchronous communication between FIFO buffers.

A process hands its messages to its output buffer and goes on. The output buffer transmits one message at a time to
the input buffer of the receiver and waits for its acknowledgement; the receiver takes messages from its input buffer
when it requests them. Nothing is piggybacked.

Modelling choices: send and insert are one event, and so are deliver and receive ("can be considered to be a single
event", §3.2). Getting a message acknowledges and enqueues it in one step. Posting is a step of the output buffer's own
loop, also where the buffer was empty. Buffers are unbounded (footnote 2). An acknowledgement that is not awaited, which
only a faulty channel can bring, is received and changes nothing.

A finding: §3.1 says that a message handed to an empty output buffer is transmitted immediately. With §3.2's loop, which
dequeues before it waits, the buffer can be empty while an acknowledgement is outstanding; §3.2 is followed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec import invariants
from crownless.spec.computation import Message


class State(NamedTuple):
    output: tuple[Message, ...]  #: OB_i, the oldest message first
    awaits: int | None  #: the process whose acknowledgement is awaited, that of the message last posted
    input: tuple[Message, ...]  #: IB_i, the oldest message first


class Buffer(ProtocolMachine):
    source = "[MF] §3"
    promises = "causal"
    admits_self_sends = True
    symmetric = True

    invariants = {
        "output-holds-own-messages": lambda machine, i, state: invariants.all_sent_by(i, state.output),
        "input-holds-messages-for-itself": lambda machine, i, state: invariants.all_sent_to(i, state.input),
    }
    witnesses = {
        "a-message-waits-for-an-acknowledgement": lambda machine, i, state: (
            bool(state.output) and state.awaits is not None
        ),
        "an-input-buffer-holds-two": lambda machine, i, state: len(state.input) >= 2,
    }

    rules = {
        "an-acknowledgement-lets-the-next-message-be-posted": lambda machine, t: (
            t.receives("ack") and bool(t.before.output) and t.after.awaits is None
        ),
        "a-message-is-taken-in-while-an-acknowledgement-is-awaited": lambda machine, t: (
            t.receives("message") and t.before.awaits is not None
        ),
        "a-message-is-taken-in-behind-another": lambda machine, t: t.receives("message") and bool(t.before.input),
        "an-application-waits-for-a-message": lambda machine, t: t.action == "deliver" and t.refused,
    }

    def initial(self, i: int) -> State:
        return State((), None, ())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """PROCESS, send: call OB_i to insert m and resume computation (§3.2)."""
        return [Step(self.insert(state, message), (), [AppEvent("send", message)])]

    def insert(self, state: State, message: Message) -> State:
        """OUTPUT BUFFER, insert-request: enqueue m in buffer (§3.2)."""
        return state._replace(output=(*state.output, message))

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:
        """OUTPUT BUFFER, posting: dequeue the next message and transmit it, once the last is acknowledged (§3.2)."""
        if not state.output or not self.may_post(state):
            return []
        message, *rest = state.output
        packet = Packet(i, message.receiver, "message", message)
        return [("post", Step(state._replace(output=tuple(rest), awaits=message.receiver), [packet]))]

    def may_post(self, state: State) -> bool:
        return state.awaits is None

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return [Step(self.acknowledged(state, packet.source))]
        return [Step(self.get(state, packet.message), self.acknowledgement(i, packet))]

    def get(self, state: State, message: Message) -> State:
        """INPUT BUFFER, getting a message: enqueue message in buffer (§3.2)."""
        return state._replace(input=(*state.input, message))

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        """INPUT BUFFER, getting a message: send an acknowledgement to OB_j (§3.2). It carries nothing."""
        return [Packet(i, packet.source, "ack")]

    def acknowledged(self, state: State, j: int) -> State:
        """The acknowledge event: the output buffer, which waits for it from IB_j, may post again (§3.2)."""
        return state._replace(awaits=None) if state.awaits == j else state

    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
        """INPUT BUFFER, deliver request: dequeue the next message and deliver it, whoever sent it (§3.2, §4.1)."""
        if not state.input:
            return []
        message, *rest = state.input
        return [Step(state._replace(input=tuple(rest)), (), [AppEvent("deliver", message)])]

    def renamed(self, state: State, renaming: Renaming) -> State:
        output, awaits, received = state
        return State(renaming.messages(output), renaming.process(awaits), renaming.messages(received))
