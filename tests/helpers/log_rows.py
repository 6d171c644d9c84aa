"""Computations as the rows of a log, as numbers: for tests of the monitor."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from crownless.oracle.logs.layout import DELIVER, INTERNAL, NONE, SEND, Rows
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import ORDERS, Outcome, UnreceivedPolicy, decide, earned

KINDS = {"send": SEND, "receive": DELIVER, "internal": INTERNAL}


#: The outcomes for a log of messages with one receiver each that keeps every order which says something of them.
KEPT_BY_UNICASTS = {order: "nothing" if order == "total" else "kept" for order in ORDERS}


def outcome_of(c: Computation, order: str, reading: UnreceivedPolicy = "lost") -> Outcome:
    """The outcome of the order for a log of the computation, by the spec."""
    return earned(decide(c, order, reading), len(c.messages), unicasts=c.unicasts).outcome


def rows_of(computations: Sequence[Computation], chance: Random | None = None) -> Rows:
    """Each computation is a run: in the order of a linearization, or in any order; some deliveries name the sender."""
    peers: dict[tuple[int, ...], int] = {}
    first, rows = [0], []
    for c in computations:
        run = []
        for e in c.linearization:
            p, event = c.process_of[e], c.events[e]
            peer = NONE
            if event.message is not None:
                message = c.messages[event.message]
                named = message.receivers if event.kind == "send" else (message.sender,)
                if event.kind == "send" or event.message % 2:
                    peer = peers.setdefault(tuple(named), len(peers))
            m = NONE if event.message is None else event.message
            run.append((p, e - c.first_event[p], KINDS[event.kind], m, peer))
        if chance is not None:
            chance.shuffle(run)
        rows += run
        first.append(len(rows))
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return Rows(
        np.array(first, np.int64),
        columns[0].astype(np.int32),
        columns[1].copy(),
        columns[2].astype(np.int8),
        columns[3].astype(np.int32),
        columns[4].astype(np.int32),
        np.cumsum([0, *map(len, peers)]).astype(np.int32),
        np.array([q for names in peers for q in names], np.int32),
    )


def random_computation(
    chance: Random,
    n: int,
    messages: int,
    *,
    disorder: float,
    loss: float,
    several: float,
    at_once: float | None = None,
    internal: float = 0,
) -> Computation:
    """A run of n processes: the more disorder, the less messages are delivered in the order sent.

    A step is a send with probability `at_once`: the greater, the more messages are in flight; and an internal event
    with probability `internal`.
    """
    lines: list[list[Event]] = [[] for _ in range(n)]
    sent: list[Message] = []
    flying: list[tuple[int, int]] = []
    at_once = at_once or chance.choice([0.2, 0.5, 0.8])
    while len(sent) < messages or flying:
        if internal and chance.random() < internal:
            lines[chance.randrange(n)].append(Event("internal", None))
        elif len(sent) < messages and (not flying or chance.random() < at_once):
            p = chance.randrange(n)
            others = [q for q in range(n) if q != p or chance.random() < 0.1] or [p]
            receivers = chance.sample(others, chance.randint(1, len(others)) if chance.random() < several else 1)
            lines[p].append(Event("send", len(sent)))
            flying += [(len(sent), q) for q in receivers if chance.random() >= loss]
            sent.append(Message(f"m{len(sent)}", p, tuple(sorted(receivers))))
        else:
            m, q = flying.pop(chance.randrange(len(flying)) if chance.random() < disorder else 0)
            lines[q].append(Event("receive", m))
    names = tuple(f"P{p + 1}" for p in range(n))
    return Computation(names, tuple(sent), tuple(map(tuple, lines)))


def of_messages(c: Computation, chosen: Sequence[int]) -> Computation:
    """The events of these messages alone."""
    number = {m: k for k, m in enumerate(chosen)}
    lines = tuple(
        tuple(Event(event.kind, number[event.message]) for event in line if event.message in number) for line in c.lines
    )
    return Computation(c.processes, tuple(c.messages[m] for m in chosen), lines)
