"""Total order broadcast with a fixed sequencer, over channels that reorder packets; senders deliver their own messages.

crownless check sequencer.py:Sequencer        exit code 0
crownless check sequencer.py:DeliversAtOnce   exit code 1, with a shortest run
"""

from typing import Any, NamedTuple

import crownless as cr


class State(NamedTuple):
    numbered: int = 0  # at the sequencer, process 0: how many messages have a number
    delivered: int = 0


class Sequencer(cr.Protocol):
    """Process 0 numbers every message; all processes, its sender among them, deliver messages by their numbers.

    This is total order, and no more: two messages of one sender may reach the sequencer in either order.
    """

    promises = "total"
    sends = "broadcast-to-all"
    bound = (3, 3)

    def initial(self, i: int) -> State:
        return State()

    def send(self, i: int, state: State, message: cr.Message) -> list[cr.Step]:
        return [cr.Step(state, [cr.Packet(i, 0, "request", message)], [cr.sent(message)])]

    def deliverable(self, i: int, state: State, packet: Any) -> bool:
        """A numbered message waits until all earlier numbers are delivered."""
        return packet.kind == "request" or packet.stamp == state.delivered + 1

    def on_packet(self, i: int, state: State, packet: Any) -> list[cr.Step]:
        if packet.kind == "request":
            number, message = state.numbered + 1, packet.message
            packets = [cr.Packet(i, q, "numbered", message, number) for q in message.receivers]
            return [cr.Step(state._replace(numbered=number), packets)]
        return [cr.Step(state._replace(delivered=packet.stamp), [], [cr.delivered(packet.message)])]


class DeliversAtOnce(Sequencer):
    """The bug: numbers are not waited for, which goes well as long as packets of the sequencer keep their order."""

    def deliverable(self, i: int, state: State, packet: Any) -> bool:
        return True
