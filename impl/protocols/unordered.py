"""The pass-through baseline: a message is transmitted when it is sent and delivered when it arrives.

The application sees exactly the channel's order of messages ([MF] §2, "the communication characteristics of the
underlying message transport system"). It promises no order, and every other protocol is compared with it: over
unordered channels it must violate FIFO, over FIFO channels causal order.
"""

from collections.abc import Sequence

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class Unordered(ProtocolMachine):
    source = "no protocol"
    promises = "asynchronous"
    admits_self_sends = True
    admits_multicast = True
    symmetric = True

    def initial(self, i: int) -> tuple[()]:
        return ()

    def send(self, i: int, state: tuple[()], message: Message) -> Sequence[Step]:
        packets = [Packet(i, j, "message", message) for j in message.receivers]
        return [Step(state, packets, [AppEvent("send", message)])]

    def on_packet(self, i: int, state: tuple[()], packet: Packet) -> Sequence[Step]:
        return [Step(state, (), [AppEvent("deliver", packet.message)])]

    def renamed(self, state: tuple[()], renaming: Renaming) -> tuple[()]:
        return state
