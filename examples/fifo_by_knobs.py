"""FIFO order by numbers, as two choices: crownless knobs examples/fifo_by_knobs.py:FifoByKnobs"""

from collections.abc import Sequence
from typing import Any, ClassVar

import crownless as cr


class FifoByKnobs(cr.Protocol):
    promises = "fifo"
    bound = (2, 3)

    def initial(self, i: int) -> Any:
        """The numbers of messages sent to each process, and delivered from each."""
        return (0,) * self.n, (0,) * self.n

    def send(self, i: int, state: Any, message: cr.Message) -> Sequence[cr.Step]:
        sent, delivered = state
        j = message.receiver
        after = tuple(count + (k == j) for k, count in enumerate(sent))
        packet = cr.Packet(i, j, "message", message, self.number(sent[j]))
        return [cr.Step((after, delivered), [packet], [cr.sent(message)])]

    def number(self, sent: int) -> int:
        return sent

    def deliverable(self, i: int, state: Any, packet: cr.Packet) -> bool:
        return self.accepts(state[1][packet.source], packet.stamp)

    def accepts(self, delivered: int, number: int) -> bool:
        return delivered == number

    def on_packet(self, i: int, state: Any, packet: cr.Packet) -> Sequence[cr.Step]:
        sent, delivered = state
        after = tuple(count + (k == packet.source) for k, count in enumerate(delivered))
        return [cr.Step((sent, after), (), [cr.delivered(packet.message)])]

    knobs: ClassVar = {
        "number": {"from zero": lambda self, sent: sent, "from one": lambda self, sent: sent + 1},
        "accepts": {
            "the next": lambda self, delivered, number: delivered == number,
            "the next, from one": lambda self, delivered, number: delivered + 1 == number,
            "any earlier": lambda self, delivered, number: delivered >= number,
            "anything": lambda self, delivered, number: True,
        },
    }
