"""The monitor of a log that comes in parts, compared with the spec."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random

from log_files import rows_of, table_of
from log_rows import outcome_of

from crownless.oracle.log_orders.large_run import RunMonitor
from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy


def agree_in_parts(
    c: Computation, reading: UnreceivedPolicy, chance: Random, orders: Sequence[str] = tuple(ORDERS)
) -> None:
    """The verdicts on its events, given in parts of any size and in any order, are those of the spec."""
    order = list(c.linearization) if chance.random() < 0.5 else in_some_order(c, chance)
    if chance.random() < 0.3:  # in no order at all: from what events count is to be known early
        chance.shuffle(order)
        order.sort(key=lambda e: e not in c.first_event)
    monitor = RunMonitor("", orders, reading, forget_from=chance.choice([0, 4, 100]), at_once=chance.random() < 0.8)
    rows, pickled, early = rows_of(c, order, chance), chance.random() < 0.5, set[str]()
    while rows:
        if pickled:
            monitor = pickle.loads(pickle.dumps(monitor))
        count = chance.randint(1, 6)
        monitor.add(table_of(rows[:count]))
        rows = rows[count:]
        early |= {name for name in orders if monitor.broken(name) is not None}
    found = monitor.classification() if c.event_count else None
    for name in orders:
        expected = outcome_of(c, name, reading)
        assert found is None or found[name].outcome == expected, (str(c), name, reading)
        assert not (expected != "violated" and name in early), (str(c), name, reading)
        verdict = None if found is None else found[name]
        if verdict is not None and verdict.computation is not None and name in early:
            assert {m.name for m in verdict.computation.messages} <= {m.name for m in c.messages}


def in_some_order(c: Computation, chance: Random) -> list[int]:
    """All events, those of each process in order, and otherwise mixed: a deliver may come before its send."""
    lines = [[c.first_event[p] + k for k in range(len(line))] for p, line in enumerate(c.lines)]
    order = []
    while any(lines):
        line = chance.choice([line for line in lines if line])
        order += [line.pop(0) for _ in range(min(len(line), chance.randint(1, 4)))]
    return order
