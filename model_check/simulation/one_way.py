"""Machines for simulations, with one outcome of each step where enumerating all of them would take too long.

The extra-message protocol clears its matrix column by column, and among columns of equal size each is a choice: the
machine in `impl/` lists every way of clearing, of which there are soon thousands. Here its own single clearing is
repeated instead, taking the first choice each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from crownless.impl.extra_messages import ExtraMessages, State
from crownless.impl.protocol import Packet, ProtocolMachine


class ClearsOneWay(ExtraMessages):
    """The protocol with one way of clearing: the first of those that the machine lists, column by column."""

    def clearings(self, i: int, state: State) -> Iterable[tuple[State, Sequence[Packet]]]:
        packets: list[Packet] = []
        while columns := self.columns_to_clear(i, state):
            ways = [(self.after_sending(i, state, j), self.extra(i, state, j)) for j in columns]
            state, packet = min(ways)
            packets.append(packet)
        return [(state, packets)]


#: Protocols whose own machine lists too many outcomes → the machine that takes one of them.
ONE_WAY: Mapping[type[ProtocolMachine], type[ProtocolMachine]] = MappingProxyType({ExtraMessages: ClearsOneWay})
