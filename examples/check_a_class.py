"""Check a protocol class: print the shortest run that breaks it, or say how far it holds.

python examples/check_a_class.py
"""

from typing import Any

import crownless as cr


class Broadcast(cr.Protocol):
    """Each broadcast carries how many messages of each process its sender has delivered. `lacks`: is that enough?"""

    promises = "causal"
    sends = "broadcast"
    admits_multicast = True
    bound = (3, 3)

    def initial(self, i: int) -> tuple[int, ...]:
        return (0,) * self.n

    def send(self, i: int, state: tuple[int, ...], message: cr.Message) -> list[cr.Step]:
        packets = [cr.Packet(i, q, "message", message, state) for q in message.receivers]
        return [cr.Step(incremented(state, i), packets, [cr.sent(message)])]

    def lacks(self, state: tuple[int, ...], packet: Any, k: int) -> bool:
        """True if the sender had delivered, or sent, a message of process k that is not delivered here."""
        return state[k] < packet.stamp[k]

    def deliverable(self, i: int, state: tuple[int, ...], packet: Any) -> bool:
        return not any(self.lacks(state, packet, k) for k in range(self.n))

    def on_packet(self, i: int, state: tuple[int, ...], packet: Any) -> list[cr.Step]:
        return [cr.Step(incremented(state, packet.source), [], [cr.delivered(packet.message)])]


class ForgetsOthers(Broadcast):
    """Looks at the messages of the sender alone: FIFO order, and no more."""

    def lacks(self, state: tuple[int, ...], packet: Any, k: int) -> bool:
        return k == packet.source and super().lacks(state, packet, k)


def incremented(vector: tuple[int, ...], k: int) -> tuple[int, ...]:
    return (*vector[:k], vector[k] + 1, *vector[k + 1 :])


if __name__ == "__main__":
    for protocol in (Broadcast, ForgetsOthers):
        print(cr.check(protocol), end="\n\n")
