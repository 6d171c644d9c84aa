"""Test vectors: every order in which packets can arrive within a bound, and the deliveries allowed after each arrival.

A vector is one sequence of sends and arrivals, up to the order of independent events at different processes. The
deliveries are those of a protocol in which a message that has arrived waits only for messages before it in the order:
for causal order [RST91], and [BSS91] for broadcasts; for FIFO order sequence numbers ([MF] §2).
"""

from collections.abc import Iterator
from typing import Any

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation
from crownless.spec.enumeration import Sends, computations

#: The protocol by whose rules messages are deliverable, by order and by the kind of sends.
DELIVERED_BY: dict[tuple[str, Sends], str] = {
    ("fifo", "unicast"): "fifo-sequence",
    ("causal", "unicast"): "rst",
    ("causal", "broadcast"): "cbcast",
}
ORDERS_OF_VECTORS = tuple(dict.fromkeys(order for order, _ in DELIVERED_BY))


def vectors(order: str, n: int, m: int, sends: Sends = "unicast") -> Iterator[dict[str, Any]]:
    """The vectors of n processes and exactly m messages; raises `BadInput` if there are none of this order."""
    name = DELIVERED_BY.get((order, sends))
    if name is None:
        known = ", ".join(f"{one} with {kind} sends" for one, kind in DELIVERED_BY)
        raise BadInput(f"there are no vectors for {order} order with {sends} sends", hint=f"available: {known}")
    for c in computations(n, m, sends=sends):
        yield _vector(PROTOCOLS[name](n), c)


def _vector(machine: ProtocolMachine, c: Computation) -> dict[str, Any]:
    n = machine.n
    states = [machine.initial(p) for p in range(n)]
    #: By message and receiver.
    in_flight: dict[tuple[str, int], Packet] = {}
    waiting: list[list[Packet]] = [[] for _ in range(n)]
    steps: list[dict[str, Any]] = []

    def take(p: int, answer: Any) -> list[str]:
        step: Step = next(iter(answer))
        states[p] = step.state
        for packet in step.packets:
            in_flight[packet.message.name, packet.destination] = packet
        return [event.message.name for event in step.events if event.kind == "deliver"]

    for e in c.linearization:
        p, event = c.process_of[e], c.events[e]
        message = c.messages[event.message if event.message is not None else 0]
        if event.kind == "send":
            take(p, machine.send(p, states[p], message))
            steps.append({"process": p, "send": message.name, "to": list(message.receivers)})
            continue
        waiting[p].append(in_flight.pop((message.name, p)))
        delivered: list[str] = []
        while ready := [held for held in waiting[p] if machine.deliverable(p, states[p], held)]:
            waiting[p].remove(ready[0])
            delivered += take(p, machine.on_packet(p, states[p], ready[0]))
        steps.append({"process": p, "arrives": message.name, "delivers": sorted(delivered)})
    return {"processes": n, "steps": steps}
