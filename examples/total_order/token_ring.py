"""Total order broadcast by a token ring: only the holder of the token numbers messages.

crownless check token_ring.py:TokenRing       exit code 0
crownless check token_ring.py:KeepsNumbers    exit code 1, with a shortest run
"""

from typing import Any, NamedTuple

import crownless as cr


class State(NamedTuple):
    token: int | None  # the last number given to a message, at the holder of the token
    waiting: tuple[cr.Message, ...] = ()  # messages of this process that have no number yet
    delivered: int = 0


class TokenRing(cr.Protocol):
    """The holder of the token numbers its messages, sends them to all, and passes the token on with the last number."""

    promises = "total"
    sends = "broadcast-to-all"
    bound = (3, 2)

    def initial(self, i: int) -> State:
        return State(token=0 if i == 0 else None)

    def send(self, i: int, state: State, message: cr.Message) -> list[cr.Step]:
        return [cr.Step(state._replace(waiting=(*state.waiting, message)), [], [cr.sent(message)])]

    def internal(self, i: int, state: State) -> list[tuple[str, cr.Step]]:
        if state.token is None:
            return []
        packets = [
            cr.Packet(i, q, "numbered", message, number)
            for number, message in enumerate(state.waiting, state.token + 1)
            for q in message.receivers
        ]
        token = cr.Packet(i, (i + 1) % self.n, "token", stamp=self.last_number(state))
        return [("pass on", cr.Step(state._replace(token=None, waiting=()), [*packets, token]))]

    def last_number(self, state: State) -> int:
        return state.token + len(state.waiting)

    def deliverable(self, i: int, state: State, packet: Any) -> bool:
        return packet.kind == "token" or packet.stamp == state.delivered + 1

    def on_packet(self, i: int, state: State, packet: Any) -> list[cr.Step]:
        if packet.kind == "token":
            return [cr.Step(state._replace(token=packet.stamp))]
        return [cr.Step(state._replace(delivered=packet.stamp), [], [cr.delivered(packet.message)])]


class KeepsNumbers(TokenRing):
    """The bug: the token goes on with the number with which it came, so that its next holder uses numbers again."""

    def last_number(self, state: State) -> int:
        return state.token
