"""A naive exploration, from a machine's methods alone: the reference for the plain explorer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from in_order import key

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.spec.computation import Message

#: Local states; how many messages each process has sent to each other; packets in flight; packets in hold-back queues.
Naive = tuple[tuple[Any, ...], tuple[tuple[int, ...], ...], tuple[Packet, ...], tuple[Packet, ...]]


class NaiveMove(NamedTuple):
    """An action, and the state after it; `step` is None where only packets move."""

    process: int
    step: Step | None
    target: Naive
    submits: bool = False
    is_fault: bool = False


def naive_start(machine: ProtocolMachine) -> Naive:
    n = machine.n
    return tuple(machine.initial(i) for i in range(n)), ((0,) * n,) * n, (), ()


def naive_moves(machine: ProtocolMachine, messages: int, channel: str, state: Naive) -> Iterator[NaiveMove]:
    """Each action of unicasts in the free workload, over a channel that is unordered or FIFO, and may be lossy.

    Over an unordered channel everything in flight is at its destination already.
    """
    local, sent, flight, room = state
    fifo, lossy = channel.endswith("fifo"), channel.startswith("lossy")

    def after(i: int, step: Step, sent: Any = sent, flight: Any = flight, room: Any = room) -> NaiveMove:
        target = (
            (*local[:i], step.state, *local[i + 1 :]),
            sent,
            canonical((*flight, *step.packets), fifo),
            canonical(room, fifo),
        )
        return NaiveMove(i, step, target, submits=sent is not state[1])

    if sum(map(sum, sent)) < messages:
        for i in range(machine.n):
            for j in range(machine.n):
                if i != j:
                    number = sent[i][j]
                    row = (*sent[i][:j], number + 1, *sent[i][j + 1 :])
                    counted = (*sent[:i], row, *sent[i + 1 :])
                    for step in machine.send(i, local[i], Message(f"{i} to {j}, {number}", i, (j,))):
                        yield after(i, step, sent=counted)
    for i in range(machine.n):
        for step in [*(step for _, step in machine.internal(i, local[i])), *machine.receive(i, local[i], None)]:
            yield after(i, step)
    if not fifo:
        for packet in set(flight):
            if machine.deliverable(packet.destination, local[packet.destination], packet):
                for step in machine.on_packet(packet.destination, local[packet.destination], packet):
                    yield after(packet.destination, step, flight=without(flight, packet))
            if lossy:
                lost = local, sent, without(flight, packet), room
                yield NaiveMove(packet.destination, None, lost, is_fault=True)
        return
    for link in {packet[:2] for packet in (*flight, *room)}:
        destination = link[1]
        acceptable = [
            packet
            for packet in room
            if packet[:2] == link and machine.deliverable(destination, local[destination], packet)
        ]
        if acceptable:
            for step in machine.on_packet(destination, local[destination], acceptable[0]):
                yield after(destination, step, room=without(room, acceptable[0]))
        head = next((packet for packet in flight if packet[:2] == link), None)
        if head is None:
            continue
        rest = without(flight, head)
        if lossy:
            yield NaiveMove(destination, None, (local, sent, rest, room), is_fault=True)
        if not acceptable and machine.deliverable(destination, local[destination], head):
            for step in machine.on_packet(destination, local[destination], head):
                yield after(destination, step, flight=rest)
        else:
            yield NaiveMove(destination, None, (local, sent, rest, canonical((*room, head), fifo)))


def without(packets: tuple[Packet, ...], packet: Packet) -> tuple[Packet, ...]:
    place = packets.index(packet)
    return packets[:place] + packets[place + 1 :]


def canonical(packets: tuple[Packet, ...], fifo: bool) -> tuple[Packet, ...]:
    """In any one order, over FIFO channels in the order sent on each link."""
    return tuple(sorted(packets, key=(lambda packet: packet[:2]) if fifo else key))
