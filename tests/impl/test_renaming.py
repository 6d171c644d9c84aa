"""Renaming processes: the permutations, and what they make of messages and packets."""

from __future__ import annotations

import pytest
from in_order import all_renamings

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends

#: P1 is called P2, P2 is called P3, P3 is called P1.
ROUND = Renaming((1, 2, 0))


def test_vectors_and_matrices_are_read_by_the_new_names() -> None:
    assert ROUND.vector(("of 1", "of 2", "of 3")) == ("of 3", "of 1", "of 2")
    assert ROUND.matrix(((11, 12, 13), (21, 22, 23), (31, 32, 33))) == ((33, 31, 32), (13, 11, 12), (23, 21, 22))
    assert Renaming((0,)).vector((7,)) == (7,)
    assert Renaming((0,)).matrix(((7,),)) == ((7,),)


def test_processes_keep_their_order_or_are_a_set() -> None:
    assert [ROUND.process(p) for p in range(3)] == [1, 2, 0]
    assert ROUND.process(None) is None
    assert ROUND.processes((2, 0)) == (0, 1)
    assert ROUND.processes(frozenset({2, 0})) == frozenset({0, 1})


def test_a_message_keeps_its_number_and_its_receivers_their_order() -> None:
    message = FreeMessage(0, (1, 2), 4)
    renamed = Message("2→13#4", 1, (0, 2))
    assert ROUND.message(message) == ROUND.message(message) == renamed
    assert ROUND.messages((message, message)) == (renamed, renamed)
    assert ROUND.messages(frozenset({message})) == frozenset({renamed})


@pytest.mark.parametrize("sends", ["unicast", "multicast", "broadcast"])
def test_the_messages_of_the_free_workload_are_its_messages_renamed(sends: Sends) -> None:
    free = Free(3, 1, self_sends=True, sends=sends)
    messages = {pending.message for pending in free.pending_sends(free.start())}
    for renaming in all_renamings(3):
        assert {renaming.message(message) for message in messages} == messages


def test_a_packet_that_carries_nothing_needs_no_word_of_its_protocol() -> None:
    acknowledgement = Packet(0, 2, "ack")
    assert Unordered(3).renamed_packet(acknowledgement, ROUND) == Packet(1, 0, "ack")
    with pytest.raises(NotImplementedError):
        Unordered(3).renamed_packet(acknowledgement._replace(stamp=1), ROUND)
    with pytest.raises(NotImplementedError):
        ProtocolMachine(3).renamed((), ROUND)
