"""Causal order in ISIS as in [SES] §3: a message carries all messages that its sender knows were sent before it.

BUFF_S holds, in their order of emission, every message received or sent by S. Sending inserts the message and transmits
a packet of the whole buffer. Of an arriving packet each message not yet in BUFF_S' is inserted, and delivered if S' is
its destination.

Modelling choices: a message may have several destinations (the paper's §2 broadcasts updates under this order); each
gets the packet. A packet is received as a whole, in one step, and may deliver several messages. In a program such a
packet waits until the application stands at a receive for each of them. New messages are appended in the order of
their packet; that is an order of emission, since every causal predecessor of a known message is known too.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Messages, Renaming
from crownless.spec.computation import Message


class State(NamedTuple):
    buffer: tuple[Message, ...]  #: BUFF_S, in the order of emission


class Isis(ProtocolMachine):
    source = "[SES] §3"
    promises = "causal"
    admits_multicast = True
    symmetric = True
    bound = (3, 3)

    witnesses = {"a-site-knows-a-message-of-others": lambda machine, i, state: any(
        message.sender != i and i not in message.receivers for message in state.buffer
    )}  # fmt: skip

    rules = {
        "a-packet-carries-messages-of-others": lambda machine, t: (
            t.sends and any(message.sender != t.process for packet in t.step.packets for message in packet.stamp)
        ),
        "a-message-already-known-is-ignored": lambda machine, t: (
            t.receives("packet") and any(message in t.before.buffer for message in t.packet.stamp)
        ),
        "a-packet-delivers-several": lambda machine, t: len(t.delivers()) > 1,
        "a-message-comes-with-a-later-one": lambda machine, t: (
            t.receives("packet") and any(message != t.message for message in t.delivers())
        ),
        "a-message-comes-with-that-of-another": lambda machine, t: (
            t.receives("packet") and any(message.sender != t.packet.source for message in t.delivers())
        ),
    }

    def initial(self, i: int) -> State:
        return State(())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """Insert the message into BUFF_S; send a packet with all that is in it."""
        buffer = self.inserted(state.buffer, [message])
        packets = [Packet(i, j, "packet", message, buffer) for j in message.receivers]
        return [Step(State(buffer), packets, [AppEvent("send", message)])]

    def inserted(self, buffer: tuple[Message, ...], messages: Iterable[Message]) -> tuple[Message, ...]:
        return (*buffer, *messages)

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        """Every message in the packet: ignored if already in BUFF_S', otherwise inserted, and delivered if for S'."""
        new = [message for message in packet.stamp if message not in state.buffer]
        delivered = [AppEvent("deliver", message) for message in new if i in message.receivers]
        return [Step(State(self.inserted(state.buffer, new)), (), delivered)]

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.messages(state.buffer))

    def renamed_stamp(self, kind: str, stamp: Messages, renaming: Renaming) -> Messages:
        return renaming.messages(stamp)
