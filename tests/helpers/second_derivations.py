"""The states of the protocols a second time, counted without the machines of `impl` or the system of `model_check`.

A global state is what the processes keep, the packets in flight, and the number of sends on each (sender, set of
receivers). The protocols are those of `derived_protocols` and `derived_matrices`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import derived_matrices
import derived_protocols
from derived_protocols import Message, Outcome, Unordered, changed, one_more
from pinned_counts import Counts

#: Each text by the name of its protocol: `IsisGcWaits` is that of isis-gc-waits.
TEXTS: dict[str, type[Unordered]] = {
    re.sub("(?<!^)(?=[A-Z])", "-", name).lower(): kind
    for texts in (derived_protocols, derived_matrices)
    for name, kind in vars(texts).items()
    if isinstance(kind, type) and issubclass(kind, Unordered)
}


# -- channels and counting ---------------------------------------------------------------------------------------------

#: One way for a packet to be taken in: the packet, what is then in flight, what is if it is not taken in (None: as it
#: was), and the packets that would have to be taken in before it if any of them may.
Way = tuple[Any, Any, Any, tuple[Any, ...]]


class Anyhow:
    """Packets arrive in any order: a multiset, as a sorted tuple of (number of the) packets."""

    def __init__(self, link: Callable[[int], Any]) -> None:
        self.link = link

    def put(self, flight: Any, packets: list[int]) -> Any:
        return tuple(sorted([*flight, *packets])) if packets else flight

    def ways(self, flight: Any) -> Iterator[Way]:
        for place, packet in enumerate(flight):
            if packet not in flight[:place]:
                yield packet, flight[:place] + flight[place + 1 :], None, ()

    def lost(self, flight: Any) -> Iterator[tuple[int, Any]]:
        """Each packet that may be lost, and what is then left in flight."""
        for packet, left, _, _ in self.ways(flight):
            yield packet, left

    def faults(self, flight: Any) -> Iterator[Any]:
        """What is left in flight after each fault of the channel."""
        yield from ()


class Lossy(Anyhow):
    def faults(self, flight: Any) -> Iterator[Any]:
        return (left for _, left in self.lost(flight))


class Duplicating(Anyhow):
    """In flight is each packet with whether it may still be doubled."""

    def put(self, flight: Any, packets: list[int]) -> Any:
        return tuple(sorted([*flight, *((packet, True) for packet in packets)]))

    def ways(self, flight: Any) -> Iterator[Way]:
        return ((packet, left, None, ()) for (packet, _), left, _, _ in super().ways(flight))

    def faults(self, flight: Any) -> Iterator[Any]:
        for (packet, whole), left, _, _ in super().ways(flight):
            if whole:
                yield tuple(sorted([*left, (packet, False), (packet, False)]))


class InOrder(Anyhow):
    """Packets on one link arrive in order; in front of the process is a room for each link: (queue, room) by link."""

    def put(self, flight: Any, packets: list[int]) -> Any:
        links = dict(flight)
        for packet in packets:
            queue, room = links.get(self.link(packet), ((), ()))
            links[self.link(packet)] = (*queue, self.fresh(packet)), room
        return tuple(sorted(links.items()))

    def fresh(self, packet: int) -> Any:
        """A packet as it stands in its queue once it is transmitted."""
        return packet

    def number(self, queued: Any) -> int:
        """The packet that stands there."""
        return int(queued)

    def ways(self, flight: Any) -> Iterator[Way]:
        for link, (queue, room) in flight:

            def then(queue: Any, room: Any, link: Any = link) -> Any:
                links = {**dict(flight), link: (queue, room)}
                return tuple(sorted((link, state) for link, state in links.items() if state != ((), ())))

            if queue:
                first = self.number(queue[0])
                yield first, then(queue[1:], room), then(queue[1:], (*room, first)), room
            for place, packet in enumerate(room):
                yield packet, then(queue, room[:place] + room[place + 1 :]), None, room[:place]

    def lost(self, flight: Any) -> Iterator[tuple[int, Any]]:
        return ((packet, left) for packet, left, moved, _ in self.ways(flight) if moved is not None)


class LossyInOrder(InOrder):
    def faults(self, flight: Any) -> Iterator[Any]:
        return (left for _, left in self.lost(flight))


class LossyDoublingInOrder(LossyInOrder):
    """In a queue is each packet with whether it may still be doubled, which happens at the head of the queue."""

    def fresh(self, packet: int) -> Any:
        return packet, True

    def number(self, queued: Any) -> int:
        return int(queued[0])

    def faults(self, flight: Any) -> Iterator[Any]:
        yield from super().faults(flight)
        for link, (queue, room) in flight:
            if queue and queue[0][1]:
                twice = [(queue[0][0], False)] * 2
                yield tuple(sorted({**dict(flight), link: ((*twice, *queue[1:]), room)}.items()))


CHANNELS = {
    "unordered": Anyhow,
    "fifo": InOrder,
    "lossy": Lossy,
    "duplicating": Duplicating,
    "lossy-fifo": LossyInOrder,
    "lossy-duplicating-fifo": LossyDoublingInOrder,
}


class Numbers:
    """Numbers for values, so that large ones are compared once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.known: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        number = self.known.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Move(NamedTuple):
    """What may happen: the state afterwards, the kind (send, own, take, wait, fault, agree), and to whom it happens."""

    after: Any
    kind: str
    process: int = -1
    handed: Message | None = None
    delivered: Sequence[Message] = ()


def receivers(n: int, i: int, sends: str) -> list[tuple[int, ...]]:
    """To whom a message of process i may go."""
    others = [j for j in range(n) if j != i]
    sizes = {"unicast": [1], "broadcast": [n - 1], "multicast": list(range(1, n))}[sends]
    return [to for size in sizes for to in combinations(others, size)]


FAILED = "failed"


class Moves:
    """What may happen in a global state: (what the processes keep …, what is in flight, sends made on each way)."""

    def __init__(self, text: Unordered, channel: str, m: int, sends: str = "unicast", crash: int | None = None) -> None:
        self.text, self.m, self.crash = text, m, crash
        self.locals, self.packets = Numbers(), Numbers()
        self.channel = CHANNELS[channel](lambda packet: self.packets.values[packet][:2])
        self.ways = [(i, to) for i in range(text.n) for to in receivers(text.n, i, sends)]
        self.results: dict[Any, list[tuple[int, list[int], Outcome]]] = {}
        start = (*(self.locals(text.start(i)) for i in range(text.n)), ())
        self.start = (*start, (0,) * len(self.ways))

    def results_of(self, handler: str, i: int, local: int, what: Any = None) -> list[tuple[int, list[int], Outcome]]:
        """What a handler leads to, worked out once."""
        key = (handler, i, local, what)
        if key not in self.results:
            kept = self.locals.values[local]
            if kept == FAILED:
                outcomes: Iterable[Outcome] = ()
            elif handler == "send":
                outcomes = self.text.send(i, kept, what)
            elif handler == "take":
                outcomes = self.text.take(i, kept, self.packets.values[what])
            else:
                outcomes = self.text.own(i, kept)
            self.results[key] = [(self.locals(o.local), [self.packets(p) for p in o.packets], o) for o in outcomes]
        return self.results[key]

    def __call__(self, state: Any) -> Iterator[Move]:
        n = self.text.n
        flight, made = state[n:]

        def after(i: int, result: tuple[int, list[int], Outcome], flight: Any = flight, made: Any = made) -> Any:
            local, packets, _ = result
            return (*state[:i], local, *state[i + 1 : n], self.channel.put(flight, packets), made)

        arrivals = [(self.packets.values[way[0]], way) for way in self.channel.ways(flight)]
        agreed = [(packet[1], way) for packet, way in arrivals if packet[2] == "agreed"]
        if agreed:
            i, (packet, left, _, _) = min(agreed)
            [result] = self.results_of("take", i, state[i], packet)
            yield Move(after(i, result, left), "take")
            return
        if sum(made) < self.m:
            for way, (i, to) in enumerate(self.ways):
                m = Message(i, to, made[way] + 1)
                for result in self.results_of("send", i, state[i], m):
                    yield Move(after(i, result, made=one_more(made, way)), "send", i, m, result[2].delivered)
        for i in range(n):
            for result in self.results_of("own", i, state[i]):
                yield Move(after(i, result), "own", i, None, result[2].delivered)
        for (_, i, *_), (packet, left, moved, first) in arrivals:
            results = self.results_of("take", i, state[i], packet)
            if any(self.results_of("take", i, state[i], other) for other in first):
                results = []
            for result in results:
                yield Move(after(i, result, left), "take", i, None, result[2].delivered)
            if not results and moved is not None:
                yield Move((*state[:n], moved, made), "wait")
        for left in self.channel.faults(flight):
            yield Move((*state[:n], left, made), "fault")
        if self.crash is not None:
            yield from self.failing(state, self.crash)

    def failed(self, state: Any) -> int | None:
        """The process that has crashed."""
        return self.crash if self.crash is not None and self.locals.values[state[self.crash]] == FAILED else None

    def failing(self, state: Any, crash: int) -> Iterator[Move]:
        """The crash; and then, what may be lost of what the process had transmitted, and what the others agree on."""
        n = self.text.n
        flight, made = state[n:]
        if self.failed(state) is None:
            yield Move((*state[:crash], self.locals(FAILED), *state[crash + 1 :]), "fault")
            return
        for packet, left in self.channel.lost(flight):
            if self.packets.values[packet][0] == crash:
                yield Move((*state[:n], left, made), "fault")
        others = [i for i in range(n) if i != crash]
        agreed = self.text.agree({i: self.locals.values[state[i]] for i in others}, crash)
        if agreed is not None:
            packets = [self.packets((i, i, "agreed", agreed)) for i in others]
            yield Move((*state[:n], self.channel.put(flight, packets), made), "agree")


class MonitorState(NamedTuple):
    """What has happened: the messages that precede the next event at each process, and those delivered at each."""

    past: tuple[frozenset[Message], ...]
    delivered: tuple[frozenset[Message], ...]
    #: Of each message, those sent before it, in the sense of happened before.
    before: frozenset[tuple[Message, frozenset[Message]]]


def follow(text: Unordered, monitor_state: MonitorState, move: Move) -> tuple[MonitorState, set[str]]:
    """What has happened after a move, and what that breaks ([SES] §2, [MF] §1, where both messages are delivered)."""
    i, m = move.process, move.handed
    past, delivered, before = monitor_state
    violated: set[str] = set()
    if m is not None:
        before |= {(m, past[i])}
        past = changed(past, i, past[i] | {m})
    for m in move.delivered:
        earlier = dict(before)[m]
        overtaken = [other for other in earlier if i in other.to and other not in delivered[i]]
        if overtaken and i in text.ordered_at():
            violated.add("causal")
            if any(other.sender == m.sender for other in overtaken):
                violated.add("fifo")
        if m in delivered[i]:
            violated.add("delivers-once")
        delivered = changed(delivered, i, delivered[i] | {m})
        past = changed(past, i, past[i] | earlier | {m})
    return MonitorState(past, delivered, before), violated


def owed(monitor_state: MonitorState, failed: int | None) -> bool:
    """Is a message of one that did not fail to another such one still to be delivered?"""
    sent = [m for m, _ in monitor_state.before if m.sender != failed]
    return any(m not in monitor_state.delivered[i] for m in sent for i in m.to if i != failed)


class Found(NamedTuple):
    counts: Counts
    #: property → the number of moves of a shortest run that violates it.
    violated: dict[str, int]


def search(moves: Moves) -> Found:
    """All states, and all that may have happened before each, level by level."""
    text, monitor_states = moves.text, Numbers()
    nobody = (frozenset[Message](),) * text.n
    followed: dict[Any, tuple[int, set[str]]] = {}
    violated: dict[str, int] = {}

    def judged(monitor_state: int, move: Move) -> int:
        if text.undoes or not (move.handed or move.delivered):
            return monitor_state
        key = (monitor_state, move.process, move.handed, tuple(move.delivered))
        if key not in followed:
            after, names = follow(text, monitor_states.values[monitor_state], move)
            followed[key] = monitor_states(after), names
        for name in followed[key][1]:
            violated.setdefault(name, depth + 1)
        return followed[key][0]

    start = (moves.start, monitor_states(MonitorState(nobody, nobody, frozenset())))
    states, nodes, level = {moves.start}, {start}, [start]
    counted: set[Any] = set()
    depth = deepest = transitions = terminal = 0
    while level:
        following = []
        for state, monitor_state in level:
            enabled = list(moves(state))
            if state not in counted:
                counted.add(state)
                transitions += len(enabled)
                terminal += not enabled
            # A run may end where nobody is obliged to go on.
            may_end = all(move.kind in ("send", "fault") for move in enabled)
            if may_end and owed(monitor_states.values[monitor_state], moves.failed(state)):
                violated.setdefault("delivers-all", depth)
            for move in enabled:
                node = (move.after, judged(monitor_state, move))
                if move.after not in states:
                    states.add(move.after)
                    deepest = depth + 1
                if node not in nodes:
                    nodes.add(node)
                    following.append(node)
        depth += 1
        level = following
    return Found(Counts(len(states), transitions, deepest, terminal), violated)
