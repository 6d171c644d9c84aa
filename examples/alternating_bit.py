"""The alternating-bit protocol, over links that lose packets and keep their order.

crownless check alternating_bit.py   exit code 0; alternating_bit_wrong.py has two common mistakes
"""

from typing import Any, NamedTuple

import crownless as cr


class State(NamedTuple):
    outbox: tuple[tuple[cr.Message, ...], ...]  # for each process: not acknowledged yet, the first is on its way
    bit: tuple[int, ...]  # of that first message
    expected: tuple[int, ...]  # of the next message from each process


class AlternatingBit(cr.Protocol):
    promises = ("fifo", "delivers-once", "delivers-all", "never-blocks")
    needs_channel = "lossy-fifo"
    timers = ("retransmit",)
    bound = (2, 3)

    def initial(self, i: int) -> State:
        return State(((),) * self.n, (0,) * self.n, (0,) * self.n)

    def send(self, i: int, state: State, message: cr.Message) -> list[cr.Step]:
        to, before = message.receiver, state.outbox[message.receiver]
        after = state._replace(outbox=put(state.outbox, to, (*before, message)))
        return [cr.Step(after, [] if before else self.first(i, after, to), [cr.sent(message)])]

    def internal(self, i: int, state: State) -> list[tuple[str, cr.Step]]:
        return [("retransmit", cr.Step(state, self.first(i, state, to))) for to in range(self.n) if state.outbox[to]]

    def first(self, i: int, state: State, to: int) -> list[Any]:
        return [cr.Packet(i, to, "data", message, state.bit[to]) for message in state.outbox[to][:1]]

    def on_packet(self, i: int, state: State, packet: Any) -> list[cr.Step]:
        k = packet.source
        if packet.kind == "data":
            acknowledgement = [cr.Packet(i, k, "ack", None, packet.stamp)]
            if packet.stamp != state.expected[k]:
                return [cr.Step(state, acknowledgement)]  # a duplicate: the first acknowledgement may be lost
            after = state._replace(expected=put(state.expected, k, 1 - packet.stamp))
            return [cr.Step(after, acknowledgement, [cr.delivered(packet.message)])]
        if not state.outbox[k] or packet.stamp != state.bit[k]:
            return [cr.Step(state)]
        after = State(put(state.outbox, k, state.outbox[k][1:]), put(state.bit, k, 1 - packet.stamp), state.expected)
        return [cr.Step(after, self.first(i, after, k))]


def put(vector: tuple[Any, ...], k: int, entry: Any) -> tuple[Any, ...]:
    return (*vector[:k], entry, *vector[k + 1 :])
