"""The streaming monitor decides what the procedures of the spec decide, however a run comes and whatever it forgets."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from log_rows import of_messages, random_computation

from crownless.model_check.logs.layout import DELIVER, SEND
from crownless.model_check.logs.monitor import BROKEN, COLUMN, KEPT, UNDECIDED
from crownless.model_check.logs.streaming import Events, StreamingMonitor
from crownless.spec.computation import Computation
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import UnreceivedPolicy, decide

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def events_of(c: Computation, order: Sequence[int]) -> Events:
    """Events of the computation, in that order; internal ones are left out."""
    shown = [e for e in order if c.events[e].message is not None]
    receivers = [c.messages[c.events[e].message].receivers if c.events[e].kind == "send" else () for e in shown]
    return Events(
        np.array([c.process_of[e] for e in shown], np.int32),
        np.array([SEND if c.events[e].kind == "send" else DELIVER for e in shown], np.int8),
        np.array([1000 + 7 * c.events[e].message for e in shown], np.int64),
        np.cumsum([0, *map(len, receivers)]).astype(np.int64),
        np.array([q for names in receivers for q in names], np.int32),
    )


def in_some_order(c: Computation, chance: Random) -> list[int]:
    """All events, those of each process in order, and otherwise mixed: a deliver may come before its send."""
    lines = [[c.first_event[p] + k for k in range(len(line))] for p, line in enumerate(c.lines)]
    order = []
    while any(lines):
        line = chance.choice([line for line in lines if line])
        order += [line.pop(0) for _ in range(min(len(line), chance.randint(1, 4)))]
    return order


def agree(c: Computation, reading: UnreceivedPolicy, chance: Random) -> None:
    order = list(c.linearization) if chance.random() < 0.5 else in_some_order(c, chance)
    lengths = None
    if chance.random() < 0.5:
        lengths = np.array([sum(event.message is not None for event in line) for line in c.lines])
    monitor = StreamingMonitor(
        len(c.processes), pending=reading == "pending", lengths=lengths, forget_from=chance.choice([0, 4, 100])
    )
    early: dict[int, int] = {}
    while order:
        count = chance.randint(1, 6)
        monitor.feed(events_of(c, order[:count]), at_once=chance.random() < 0.8)
        order = order[count:]
        early |= dict.fromkeys(monitor.violations, BROKEN)
    monitor.finish()
    for name, column in COLUMN.items():
        verdict = decide(c, name, reading)
        found = monitor.outcomes[column]
        if not (name == "n-n" and found == UNDECIDED and monitor._has_forgotten):
            assert found == (KEPT if verdict.kept else BROKEN), (str(c), name, reading)
        assert early.get(column, found) == found
        if found == BROKEN:
            violation = monitor.violations[column]
            shown = [(message - 1000) // 7 for message in violation.messages]
            if violation.receiver is None:
                assert not decide(of_messages(c, sorted(shown)), name, reading).kept, (str(c), name, reading, shown)
            else:
                first, second = shown
                assert c.overtakes(second, first, violation.receiver)
                assert name != "fifo" or c.messages[first].sender == c.messages[second].sender


SMALL: list[tuple[int, int, bool, bool, Sends]] = [
    (2, 3, False, True, "unicast"),
    (3, 3, False, False, "unicast"),
    (3, 2, False, True, "multicast"),
    (3, 3, True, False, "multicast"),
]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("n", "m", "complete", "self_sends", "sends"), SMALL)
def test_all_small_computations(
    n: int, m: int, complete: bool, self_sends: bool, sends: Sends, reading: UnreceivedPolicy
) -> None:
    chance = Random(2)
    for c in computations(n, m, complete=complete, self_sends=self_sends, sends=sends):
        agree(c, reading, chance)


@pytest.mark.parametrize("several", [0.0, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.05])
@pytest.mark.parametrize("disorder", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("reading", READINGS)
def test_random_computations(reading: UnreceivedPolicy, disorder: float, loss: float, several: float) -> None:
    chance = Random(hash((disorder, loss, several)))
    for _ in range(60):
        c = random_computation(
            chance, chance.randint(2, 6), chance.choice([6, 14]), disorder=disorder, loss=loss, several=several
        )
        agree(c, reading, chance)
