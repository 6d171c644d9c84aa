"""A run judged as it comes has the verdicts of the spec, however it comes and whatever the monitor forgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from log_files import event, rows_of, table_of
from log_rows import KEPT_BY_UNICASTS, random_computation
from parts_compared import agree_in_parts

from crownless.oracle.log_orders import streaming
from crownless.oracle.log_orders.large_run import RunMonitor
from crownless.oracle.log_orders.overtaking import LINES_UP_TO
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import ORDERS, UnreceivedPolicy

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


SMALL: list[tuple[int, int, bool, bool, Sends]] = [
    (2, 3, False, True, "unicast"),
    (3, 3, False, False, "unicast"),
    (3, 2, False, True, "multicast"),
    (3, 3, True, False, "multicast"),
]


def small_computations(chance: Random) -> Iterator[Computation]:
    for n, m, complete, self_sends, sends in SMALL:
        every = list(computations(n, m, complete=complete, self_sends=self_sends, sends=sends))
        yield from chance.sample(every, min(len(every), 250))


@pytest.mark.parametrize("reading", READINGS)
def test_small_computations(reading: UnreceivedPolicy) -> None:
    chance = Random(2)
    for c in small_computations(chance):
        agree_in_parts(c, reading, chance)


@pytest.mark.parametrize("several", [0.0, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.05])
@pytest.mark.parametrize("disorder", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("reading", READINGS)
def test_random_computations(reading: UnreceivedPolicy, disorder: float, loss: float, several: float) -> None:
    chance = Random(str((disorder, loss, several)))
    for _ in range(30):
        c = random_computation(
            chance, chance.randint(2, 6), chance.choice([6, 14]), disorder=disorder, loss=loss, several=several
        )
        agree_in_parts(c, reading, chance)


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_alone_forgets_nothing_that_it_needs(order: str) -> None:
    chance = Random(order)
    for _ in range(80):
        c = random_computation(
            chance, chance.randint(3, 5), 14, disorder=chance.choice([0.02, 0.3]), loss=0.02, several=0.7
        )
        agree_in_parts(c, "lost", chance, (order,))


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


def outcomes(c: Computation, orders: Sequence[str] = tuple(ORDERS), **more: Any) -> tuple[dict[str, str], int]:
    """The verdicts on a run that comes in order, and how many events were held at most."""
    monitor, rows, held = RunMonitor("", orders, "lost", at_once=True, **more), rows_of(c), 0
    for k in range(0, len(rows), 50):
        monitor.add(table_of(rows[k : k + 50]))
        held = max(held, len(monitor.named))
    return dict(monitor.classification().outcomes), held


def test_memory_grows_with_the_messages_in_flight_not_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    c = in_queue(4, 3_000, 20)
    with monkeypatch.context() as limits:
        limits.setattr(streaming, "ONE_QUEUE_UP_TO", 200)
        found, held = outcomes(c, forget_from=100)
    assert found == KEPT_BY_UNICASTS | {"n-n": "unknown", "synchronous": "violated"}
    assert held < 150
    assert outcomes(c, forget_from=100)[0]["n-n"] == "kept"
    # Nothing is forgotten that a violation rests on: the first message, which is received last, holds all others.
    first = c.messages[0]
    lines = [list(line) for line in c.lines]
    lines[first.receiver].remove(Event("receive", 0))
    lines[first.receiver].append(Event("receive", 0))
    overtaken = Computation(c.processes, c.messages, tuple(map(tuple, lines)))
    found, _ = outcomes(overtaken, forget_from=100)
    assert found["fifo"] == found["causal"] == "violated"


@pytest.mark.parametrize("orders", [("fifo", "causal", "mailbox"), ("fifo",)])
def test_a_run_of_which_too_much_must_be_held_is_not_decided(orders: Sequence[str]) -> None:
    c = in_queue(2, 200, 100)
    found, held = outcomes(c, orders, hold_up_to=80, forget_from=0)
    assert set(found.values()) == {"unknown"}
    assert held < 150
    # Orders for which little must be held are decided still.
    assert outcomes(c, orders, hold_up_to=180, forget_from=0)[0]["fifo"] == "kept"


def test_what_waits_is_bounded_too_and_so_are_processes() -> None:
    waiting = RunMonitor("", ("fifo",), "lost", hold_up_to=20, at_once=True)
    for k in range(100):  # deliveries whose sends never come
        waiting.add(table_of([event("P", k, "deliver", f"m{k}")]))
    assert len(waiting.named) <= 21
    wide = RunMonitor("", ("fifo",), "lost")
    wide.add(table_of([event("P", 0, "send", "m", [f"P{k}" for k in range(LINES_UP_TO)])]))
    for many, why in ((waiting, "more than 20 events"), (wide, "more than 4,096 processes")):
        assert many.given_up == ["fifo"]
        assert why in str(many.classification()["fifo"].unknown)


def test_a_violation_stands_though_too_much_must_be_held_later() -> None:
    monitor = RunMonitor("", tuple(ORDERS), "lost", hold_up_to=6, forget_from=0, at_once=True)
    sends = [event("P", k, "send", f"m{k}", "Q") for k in range(2)]
    monitor.add(table_of([*sends, event("Q", 0, "deliver", "m1"), event("Q", 1, "deliver", "m0")]))
    monitor.add(table_of([event("R", k, "send", f"r{k}", "P") for k in range(9)]))
    found = monitor.classification().outcomes
    assert (found["fifo"], found["asynchronous"]) == ("violated", "unknown")


def test_events_that_wait_for_each_other_are_a_cycle() -> None:
    monitor = RunMonitor("", tuple(ORDERS), "lost")
    rows = [event("P", 0, "deliver", "a"), event("P", 1, "send", "b", "Q")]
    monitor.add(table_of([*rows, event("Q", 0, "deliver", "b"), event("Q", 1, "send", "a", "P")]))
    with pytest.raises(BadInput, match="P receives a waits for Q receives b waits for P receives a"):
        monitor.classification()
