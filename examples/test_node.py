"""A pytest suite for an implementation: random schedules, over several channels, and one scenario by hand.

pytest examples/test_node.py
"""

from collections.abc import Callable
from typing import Any

import crownless as cr
from crownless.testing import stateful


class Node:
    """FIFO order over a channel that reorders, repeats and loses: numbers, and each number delivered once, in turn."""

    def __init__(
        self, process: int, processes: int, transmit: Callable[[int, Any], None], deliver: Callable[[str], None]
    ) -> None:
        self.transmit, self.deliver = transmit, deliver
        self.sent, self.next = [0] * processes, [0] * processes
        self.held: dict[tuple[int, int], str] = {}

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, (self.sent[to], message))
        self.sent[to] += 1

    def on_packet(self, source: int, packet: Any) -> None:
        number, message = packet
        if number >= self.next[source]:
            self.held[source, number] = message
        while (source, self.next[source]) in self.held:
            self.deliver(self.held.pop((source, self.next[source])))
            self.next[source] += 1


TestReordered = stateful(Node, orders="fifo", channel="unordered").TestCase
TestRepeated = stateful(Node, orders="fifo", channel="duplicating").TestCase
TestLost = stateful(Node, orders="fifo", channel="lossy").TestCase


def test_a_packet_that_overtakes_another_waits() -> None:
    packets: list[Any] = []
    recorder = cr.Recorder(["A", "B"])
    a = Node(0, 2, lambda to, packet: packets.append(packet), lambda message: recorder.deliver("A", message))
    b = Node(1, 2, lambda to, packet: None, lambda message: recorder.deliver("B", message))
    for message in ("x", "y"):
        recorder.send("A", message, to="B")
        a.on_send(1, message)
    for packet in reversed(packets):
        b.on_packet(0, packet)
    assert recorder.verdict("fifo")
    assert recorder.computation.complete
