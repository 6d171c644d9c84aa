"""Wait and acknowledge ([MF] §2, §3.1 and Fig. 1): synchronous communication on top of an asynchronous system.

A process that sends waits for the acknowledgement and does nothing else in the meantime; in particular it accepts no
message. So two processes that send to each other wait forever: "each process is waiting for the delivery of its own
message before accepting the other message" (Fig. 1).

Modelling choices: the send event is the end of the wait ("the message transaction is completed on the receive of the
acknowledgment", [MG] §4.1, of this same algorithm), and so comes after the delivery; nothing happens at the process in
between. A message that arrives at a waiting process waits in the hold-back queue. A message to oneself could never be
accepted, and is excluded.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class State(NamedTuple):
    sending: Message | None  #: the message whose acknowledgement is awaited


class Rendezvous(ProtocolMachine):
    source = "[MF] §2, Fig. 1"
    promises = "synchronous"
    sends_before_delivery = False
    symmetric = True

    rules = {
        "a-send-is-blocked": lambda machine, t: t.action == "send" and t.refused,
        "an-acknowledgement-ends-the-wait": lambda machine, t: t.receives("ack") and t.after.sending is None,
    }

    def initial(self, i: int) -> State:
        return State(None)

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        if state.sending is not None:
            return []
        return [Step(State(message), [Packet(i, message.receiver, "message", message)])]

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        """A waiting process accepts no message."""
        if packet.kind == "ack":
            return True
        return state.sending is None

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return [self.acknowledged(state, packet.source)]
        return [Step(state, self.acknowledgement(i, packet), [AppEvent("deliver", packet.message)])]

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [Packet(i, packet.source, "ack")]

    def acknowledged(self, state: State, j: int) -> Step:
        """The sender goes on; an acknowledgement that is not awaited, of a faulty channel, changes nothing."""
        if state.sending is None or state.sending.receiver != j:
            return Step(state)
        return Step(State(None), (), [AppEvent("send", state.sending)])

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(None if state.sending is None else renaming.message(state.sending))
