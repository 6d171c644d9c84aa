"""Names of messages for nodes carry no order: a node that orders by them is found out, with few messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from relays import Relay

import crownless as cr
from crownless.impl.workloads import Free
from crownless.oracle.conformance.maelstrom_form import MaelstromForm
from crownless.oracle.conformance.node import Send, name_for_nodes, number_for_nodes
from crownless.spec.enumeration import Sends

MANY = 40


def least_first(key: Callable[[str], Any]) -> type:
    """Nodes that keep what comes until they get a tick, and then deliver it, the least first."""

    class Sorted(Relay):
        def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
            super().__init__(process, processes, transmit, deliver)
            self.held: list[str] = []

        def on_packet(self, source: int, packet: str) -> None:
            self.held.append(packet)

        def on_tick(self) -> None:
            for message in sorted(self.held, key=key):
                self.deliver(message)
            self.held.clear()

    return Sorted


def number(name: str) -> int:
    return int(name.partition(".")[2])


@pytest.mark.parametrize(
    "key",
    [str, number, lambda name: (-number(name), name), lambda name: [-ord(c) for c in name]],
    ids=["text", "number", "greatest number", "last text"],
)
def test_nodes_that_order_by_names_are_found_out_with_two_messages(key: Callable[[str], Any]) -> None:
    found = cr.conform(least_first(key), 2, 2, orders=("fifo",), channel="fifo", ticks=1, replies=0)
    assert found["fifo"].verdict == "violated"


@pytest.mark.parametrize("sends", ["unicast", "multicast", "broadcast", "broadcast-to-all"])
@pytest.mark.parametrize("processes", [2, 3, 4])
def test_names_on_a_channel_go_up_and_down(processes: int, sends: Sends) -> None:
    free = Free(processes, MANY, sends=sends)
    every: list[str] = []
    first = set()
    for channel in range(len(free.channels)):
        names = [name_for_nodes(free.message(channel, k + 1)) for k in range(MANY)]
        numbers = [number(name) for name in names]
        assert {a < b for a, b in pairwise(names[:3])} == {a < b for a, b in pairwise(numbers[:3])} == {True, False}
        assert all({a < b for a, b in pairwise(numbers[k : k + 4])} == {True, False} for k in range(MANY - 3))
        first.add(names[0] < names[1])
        every += names
    assert first == {True, False}
    assert len(set(every)) == len(every)


def test_numbers_of_maelstrom_broadcasts_are_those_of_the_names() -> None:
    free, form = Free(3, 9, sends="broadcast"), MaelstromForm(sends="broadcast")
    form.init(0, 3)
    messages = list(free.universe())
    numbers = [json.loads(form.given(Send(message))[0])["body"]["message"] for message in messages]
    assert len(set(numbers)) == len(messages)
    assert min(numbers) > 0
    assert [(n - 1) // 3 for n in numbers] == [number_for_nodes(message) for message in messages]
