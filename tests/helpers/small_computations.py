"""Every computation within a bound, random ones, and which orders one keeps: what tests of orders share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import NamedTuple

import networkx as nx

from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import computations
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide


class Bound(NamedTuple):
    """Every computation of n processes and m messages, of one kind, and how unreceived messages are read."""

    n: int
    m: int
    complete: bool = True
    self_sends: bool = False
    multicast: bool = False
    reading: UnreceivedPolicy = "lost"

    @property
    def unicasts(self) -> bool:
        return not self.multicast

    def computations(self) -> Iterator[Computation]:
        return computations(
            self.n,
            self.m,
            complete=self.complete,
            self_sends=self.self_sends,
            sends="multicast" if self.multicast else "unicast",
        )

    def __str__(self) -> str:
        flags = [] if self.complete else ["incomplete", self.reading]
        flags.extend(flag for flag in ("self_sends", "multicast") if getattr(self, flag))
        return "-".join([f"{self.n},{self.m}", *flags])


INCOMPLETE = [
    Bound(n, m, complete=False, reading=reading)
    for n, m in ((2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3))
    for reading in ("lost", "pending")
]


class Decided(NamedTuple):
    """A bound's computations, each with its verdicts."""

    bound: Bound
    rows: tuple[tuple[Computation, dict[str, Verdict]], ...]

    def kept(self) -> dict[Nameless, frozenset[str]]:
        """For each computation the orders it keeps."""
        return {
            nameless(c): frozenset(order for order, verdict in verdicts.items() if verdict.kept)
            for c, verdicts in self.rows
        }


def decide_all(bound: Bound) -> Decided:
    return Decided(
        bound, tuple((c, {order: decide(c, order, bound.reading) for order in ORDERS}) for c in bound.computations())
    )


def random_small_computation(random: Random) -> Computation:
    """At most 5 processes and 6 messages, each to at most 3 of them; channels are mostly FIFO, and may lose."""
    n, m = random.choice((3, 3, 4, 5)), random.choice((4, 4, 5, 6))
    self_sends = random.random() < 0.2
    multicast, lost = random.choice((0, 0.5, 0.8)), random.choice((0, 0.1, 0.2))
    messages: list[Message] = []
    lines: list[list[Event]] = [[] for _ in range(n)]
    in_flight: list[tuple[int, int]] = []
    while len(messages) < m or in_flight:
        if len(messages) < m and (not in_flight or random.random() < 0.7):
            sender = random.randrange(n)
            others = [q for q in range(n) if q != sender or self_sends]
            size = min(random.choice((2, 2, 3)), len(others)) if random.random() < multicast else 1
            receivers = tuple(sorted(random.sample(others, size)))
            lines[sender].append(Event("send", len(messages)))
            in_flight += [(len(messages), q) for q in receivers]
            messages.append(Message(f"m{len(messages)}", sender, receivers))
        else:
            first: dict[tuple[int, int], tuple[int, int]] = {}
            for message, q in in_flight:
                first.setdefault((messages[message].sender, q), (message, q))
            message, q = random.choice(in_flight if random.random() < 0.03 else list(first.values()))
            in_flight.remove((message, q))
            if random.random() >= lost:
                lines[q].append(Event("receive", message))
    return Computation.of_lines(n, messages, lines)


#: Lines in which a send names its receivers and a receive the place of its send: the same for all names of messages.
Nameless = tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]


def nameless(c: Computation) -> Nameless:
    place = [(c.process_of[send], send - c.first_event[c.process_of[send]]) for send in c.send_event]
    return tuple(
        tuple(
            (kind, c.messages[message].receivers if kind == "send" else place[message])
            for kind, message in line
            if message is not None
        )
        for line in c.lines
    )


def computation(text: str) -> Computation:
    return to_computation(parse(text))


def kept(c: Computation, reading: UnreceivedPolicy = "lost") -> set[str]:
    return {order for order in ORDERS if decide(c, order, reading).kept}


def acyclic_after_one_round(c: Computation) -> bool:
    """Sends and receives forced into the order that happened-before gives to the other end, and no further."""
    graph: nx.DiGraph[int] = nx.DiGraph((e, f) for e, targets in enumerate(c.immediate_successors()) for f in targets)
    for m, other in permutations(range(len(c.messages)), 2):
        ends = (c.send_event[m], c.send_event[other]), (receive_of(c, m), receive_of(c, other))
        for (e, f), edge in (ends, ends[::-1]):
            if c.happened_before(e, f):
                graph.add_edge(*edge)
    return nx.is_directed_acyclic_graph(graph)


def receive_of(c: Computation, m: int) -> int:
    return c.receive_events[m][c.messages[m].receiver]


def time_reversed(c: Computation) -> Computation:
    lines = (
        tuple(Event("receive" if event.kind == "send" else "send", event.message) for event in reversed(line))
        for line in c.lines
    )
    messages = [Message(message.name, message.receiver, (message.sender,)) for message in c.messages]
    return Computation.of_lines(len(c.lines), messages, lines)


CAUSAL_BROKEN = "P1: send x to P3; send y to P2\nP2: receive y; send z to P3\nP3: receive z; receive x\nP4:"
MAILBOX_BROKEN = """\
P1: send m1 to P2; send m2 to P3
P2: receive m4; receive m1
P3: receive m2; receive m3
P4: send m3 to P3; send m4 to P2"""
CROWN = "P1: send x to P2; receive y\nP2: send y to P1; receive x\nP3:\nP4:"
