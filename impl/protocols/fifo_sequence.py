"""FIFO order by sequence numbers on each channel ([MF] §2, the "better and also well-known solution").

Every message carries its number on the channel from its sender to its receiver. A message that arrives too early is
delayed until all with lower numbers have been delivered.

Modelling choices: a process counts the messages it has sent to each other and delivered from each other; a message
carries its number, from 1. The text delays until lower numbers "have arrived"; here, until they have been delivered.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class State(NamedTuple):
    sent: Value  #: n messages: by receiver
    delivered: Value  #: n messages: by sender


class FifoSequence(ProtocolMachine):
    source = "[MF] §2"
    promises = "fifo"
    admits_self_sends = True
    symmetric = True

    rules = {
        "a-message-is-not-the-first-on-its-channel": lambda machine, t: t.received and t.packet.stamp > 1,
    }

    def initial(self, i: int) -> State:
        return State(self.ops.vector(lambda k: 0), self.ops.vector(lambda k: 0))

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        after = self.after_sending(state, message.receiver)
        packet = Packet(i, message.receiver, "message", message, after.sent[message.receiver])
        return [Step(after, [packet], [AppEvent("send", message)])]

    def after_sending(self, state: State, j: Value) -> State:
        return state._replace(sent=self.ops.incremented(state.sent, j))

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        """All messages with lower numbers on this channel are delivered."""
        return packet.stamp <= state.delivered[packet.source] + 1

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        return [Step(self.after_delivering(state, packet.source), (), [AppEvent("deliver", packet.message)])]

    def after_delivering(self, state: State, j: Value) -> State:
        return state._replace(delivered=self.ops.incremented(state.delivered, j))

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.vector(state.sent), renaming.vector(state.delivered))

    def renamed_stamp(self, kind: str, stamp: int, renaming: Renaming) -> int:
        return stamp
