"""FIFO order by acknowledgements ([MF] §2): the sender is blocked until its last message is acknowledged.

The destination process acknowledges a message as it delivers it. Until then its sender sends nothing to any process.

A reading: "resort to synchronous communication and block the sender until an acknowledgement from the destination
process is received" blocks its sends here, which is not synchronous communication but enough for FIFO order; it goes
on delivering (and acknowledging) what others send. The stricter reading, in which a blocked process accepts no message
either, is `rendezvous`; only that one is synchronous, and only that one deadlocks in [MF] Fig. 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class State(NamedTuple):
    awaits: int | None  #: the process whose acknowledgement is awaited


class FifoAck(ProtocolMachine):
    source = "[MF] §2"
    promises = "fifo"
    admits_self_sends = True
    symmetric = True

    witnesses = {"a-sender-is-blocked": lambda machine, i, state: state.awaits is not None}
    rules = {
        "a-send-is-blocked": lambda machine, t: t.action == "send" and t.refused,
        "an-acknowledgement-frees-the-sender": lambda machine, t: t.receives("ack") and t.after.awaits is None,
        "a-blocked-process-delivers": lambda machine, t: t.receives("message") and t.before.awaits is not None,
    }

    def initial(self, i: int) -> State:
        return State(None)

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        if not self.may_send(state):
            return []
        packet = Packet(i, message.receiver, "message", message)
        return [Step(State(message.receiver), [packet], [AppEvent("send", message)])]

    def may_send(self, state: State) -> bool:
        return state.awaits is None

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return [Step(self.acknowledged(state, packet.source))]
        return [Step(state, self.acknowledgement(i, packet), [AppEvent("deliver", packet.message)])]

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [Packet(i, packet.source, "ack")]

    def acknowledged(self, state: State, j: int) -> State:
        """The sender is free again, if this is the acknowledgement that it awaits."""
        return State(None) if state.awaits == j else state

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.process(state.awaits))
