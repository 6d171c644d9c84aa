"""The streaming monitor decides what the procedures of the spec decide, however a run comes and whatever it forgets."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from log_rows import of_messages, random_computation

from crownless.oracle.log_orders import streaming
from crownless.oracle.log_orders.monitor import BROKEN, COLUMN, KEPT, OUTCOMES
from crownless.oracle.log_orders.overtaking import LINES_UP_TO
from crownless.oracle.log_orders.streaming import StreamingMonitor, Violation
from crownless.oracle.logs.events import Events
from crownless.oracle.logs.layout import DELIVER, SEND
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import UnreceivedPolicy, decide

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def events_of(c: Computation, order: Sequence[int]) -> Events:
    """Events of the computation, in that order; internal ones are left out."""
    return Events.of_rows(
        [
            (c.process_of[e], c.events[e].kind == "send", 1000 + 7 * m, c.messages[m].receivers)
            if c.events[e].kind == "send"
            else (c.process_of[e], False, 1000 + 7 * m, ())
            for e in order
            if (m := c.events[e].message) is not None
        ]
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
    violations: dict[int, Violation] = {}
    kept = chance.random() < 0.5
    while order:
        if kept:
            monitor = pickle.loads(pickle.dumps(monitor))
        count = chance.randint(1, 6)
        monitor.feed(events_of(c, order[:count]), at_once=chance.random() < 0.8)
        order = order[count:]
        violations |= monitor.violations
        early |= dict.fromkeys(monitor.violations, BROKEN)
    monitor.finish()
    violations |= monitor.violations
    for name, column in COLUMN.items():
        verdict = decide(c, name, reading)
        found = monitor.outcomes[column]
        assert found == (KEPT if verdict.kept else BROKEN), (str(c), name, reading)
        assert early.get(column, found) == found
        if found == BROKEN:
            violation = violations[column]
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
def test_small_computations(
    n: int, m: int, complete: bool, self_sends: bool, sends: Sends, reading: UnreceivedPolicy
) -> None:
    chance = Random(2)
    every = list(computations(n, m, complete=complete, self_sends=self_sends, sends=sends))
    for c in chance.sample(every, min(len(every), 400)):
        agree(c, reading, chance)


@pytest.mark.parametrize("several", [0.0, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.05])
@pytest.mark.parametrize("disorder", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("reading", READINGS)
def test_random_computations(reading: UnreceivedPolicy, disorder: float, loss: float, several: float) -> None:
    chance = Random(hash((disorder, loss, several)))
    for _ in range(40):
        c = random_computation(
            chance, chance.randint(2, 6), chance.choice([6, 14]), disorder=disorder, loss=loss, several=several
        )
        agree(c, reading, chance)


def in_queue(n: int, messages: int, in_flight: int) -> Computation:
    """A run in which so many messages are in flight at any time, received in the order of sending."""
    lines: list[list[Event]] = [[] for _ in range(n)]
    sent = [Message(f"m{m}", m % n, ((m + 1 + m // n % (n - 1)) % n,)) for m in range(messages)]
    for m in range(messages + in_flight):
        if m < messages:
            lines[sent[m].sender].append(Event("send", m))
        if m >= in_flight:
            lines[sent[m - in_flight].receiver].append(Event("receive", m - in_flight))
    return Computation(tuple(f"P{p}" for p in range(n)), tuple(sent), tuple(map(tuple, lines)))


def outcomes(monitor: StreamingMonitor) -> dict[str, str]:
    return {order: OUTCOMES[monitor.outcomes[column]] for order, column in COLUMN.items()}


def fed(c: Computation, events: Sequence[int], **more: Any) -> StreamingMonitor:
    monitor = StreamingMonitor(len(c.processes), **more)
    for k in range(0, len(events), 50):
        monitor.feed(events_of(c, events[k : k + 50]))
    monitor.finish()
    return monitor


def test_memory_grows_with_the_messages_in_flight_not_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    c = in_queue(4, 3_000, 20)
    with monkeypatch.context() as limits:
        limits.setattr(streaming, "ONE_QUEUE_UP_TO", 200)
        monitor = fed(c, c.linearization, forget_from=100)
    assert outcomes(monitor) == dict.fromkeys(COLUMN, "kept") | {"n-n": "unknown", "synchronous": "broken"}
    assert monitor.most_held < 300
    monitor = fed(c, c.linearization, forget_from=100)
    assert outcomes(monitor)["n-n"] == "kept"
    # Nothing is forgotten that a violation rests on: the first message, which is received last, holds all others.
    first = c.messages[0]
    late = [e for e in c.linearization if e != c.receive_events[0][first.receiver]]
    lines = [list(line) for line in c.lines]
    lines[first.receiver].remove(Event("receive", 0))
    lines[first.receiver].append(Event("receive", 0))
    overtaken = Computation(c.processes, c.messages, tuple(map(tuple, lines)))
    assert len(late) == 5_999
    monitor = fed(overtaken, overtaken.linearization, forget_from=100)
    assert outcomes(monitor)["fifo"] == outcomes(monitor)["causal"] == "broken"


@pytest.mark.parametrize("orders", [("fifo", "causal", "mailbox"), ("fifo",)])
def test_a_run_of_which_too_much_must_be_held_is_not_decided(orders: Sequence[str]) -> None:
    c = in_queue(2, 200, 100)
    monitor = fed(c, c.linearization, orders=orders, hold_up_to=80, forget_from=0)
    assert monitor.given_up == {COLUMN[order] for order in orders}
    assert set(outcomes(monitor).values()) == {"unknown"}
    # Orders for which little must be held are decided still.
    monitor = fed(c, c.linearization, orders=orders, hold_up_to=180, forget_from=0)
    assert outcomes(monitor)["fifo"] == "kept"


def test_what_waits_is_bounded_too_and_so_are_processes() -> None:
    monitor = StreamingMonitor(2, ("fifo",), hold_up_to=20)
    for k in range(100):  # delivers whose sends never come
        monitor.feed(Events.of_rows([(0, False, k, [])]))
    assert len(monitor.waiting) <= 21
    assert monitor.given_up == {COLUMN["fifo"]}
    wide = StreamingMonitor(1, ("fifo",))
    wide.grow(LINES_UP_TO + 1)
    wide.feed(Events.of_rows([(LINES_UP_TO, True, 1, [0])]))
    wide.finish()
    for many in (wide, StreamingMonitor(1 << 20, ("fifo",))):
        assert many.given_up == {COLUMN["fifo"]}
        assert set(outcomes(many).values()) == {"unknown"}


def test_a_violation_stands_though_too_much_must_be_held_later() -> None:
    monitor = StreamingMonitor(3, ("fifo",), hold_up_to=6, forget_from=0)
    monitor.feed(Events.of_rows([(0, True, 1, [1]), (0, True, 2, [1]), (1, False, 2, []), (1, False, 1, [])]))
    monitor.feed(Events.of_rows([(2, True, 100 + k, [0]) for k in range(9)] + [(1, False, 50, [])]))
    monitor.finish()
    assert outcomes(monitor)["fifo"] == "broken"
    assert outcomes(monitor)["asynchronous"] == "unknown"


def test_events_that_wait_for_each_other_are_a_cycle() -> None:
    monitor = StreamingMonitor(2)
    monitor.feed(
        Events(
            np.array([0, 0, 1, 1], np.int32),
            np.array([DELIVER, SEND, DELIVER, SEND], np.int8),
            np.array([1, 2, 2, 1]),
            np.array([0, 0, 1, 1, 2]),
            np.array([1, 0], np.int32),
        )
    )
    monitor.finish()
    assert monitor.cycle() == [(0, 1), (1, 2)]
    assert set(outcomes(monitor).values()) == {"unknown"}
