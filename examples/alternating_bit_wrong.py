"""Two common mistakes in the alternating-bit protocol.

crownless check alternating_bit_wrong.py:IgnoresDuplicates         exit code 1, with a run that never ends
crownless check alternating_bit_wrong.py:TakesAnyAcknowledgement   exit code 1, with a shortest run
"""

from typing import Any

from alternating_bit import AlternatingBit, State

import crownless as cr


class IgnoresDuplicates(AlternatingBit):
    """The bug: a duplicate is not acknowledged, so that its sender waits for ever if an acknowledgement is lost."""

    def on_packet(self, i: int, state: State, packet: Any) -> list[cr.Step]:
        is_old = packet.kind == "data" and packet.stamp != state.expected[packet.source]
        return [cr.Step(state)] if is_old else super().on_packet(i, state, packet)


class TakesAnyAcknowledgement(AlternatingBit):
    """The bug: the bit of an acknowledgement is not compared, so that a second one of an old message counts."""

    def on_packet(self, i: int, state: State, packet: Any) -> list[cr.Step]:
        bit = packet.stamp if packet.kind == "data" else state.bit[packet.source]
        return super().on_packet(i, state, packet._replace(stamp=bit))
