"""Monitors on random computations, larger than those of explorations: each reports as soon as its order is broken."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from small_computations import random_small_computation

from crownless.model_check.monitors import Crowns, DeliveryMonitor, FifoAndCausal, Monitor, Observation
from crownless.spec.computation import Computation
from crownless.spec.orders import decide


def random_linearization(c: Computation, random: Random) -> list[Observation]:
    """The events of the computation in an order that happened-before allows; each message is submitted before."""
    successors = c.immediate_successors()
    waits = [0] * c.event_count
    for targets in successors:
        for e in targets:
            waits[e] += 1
    ready, happened = [e for e in range(c.event_count) if not waits[e]], list[Observation]()
    while ready:
        e = ready.pop(random.randrange(len(ready)))
        event, p = c.events[e], c.process_of[e]
        assert event.message is not None
        message = c.messages[event.message]
        if event.kind == "send":
            happened.append(Observation("hand", p, message))
        happened.append(Observation("send" if event.kind == "send" else "deliver", p, message))
        for f in successors[e]:
            waits[f] -= 1
            if not waits[f]:
                ready.append(f)
    return happened


def first_reports(monitor: Monitor, happened: Sequence[Observation]) -> dict[str, int]:
    """For each property the number of events until the monitor first reports it."""
    monitor_state, reports = monitor.initial(), dict[str, int]()
    for length, observation in enumerate(happened, 1):
        for code in monitor.encode_all([observation]):
            monitor_state, broken = monitor.observe(monitor_state, code)
            for name in broken:
                reports.setdefault(name, length)
    return reports


def is_broken(n: int, happened: Sequence[Observation], order: str) -> bool:
    """True if no completion of these events keeps the order."""
    lines = [
        [(kind, message) for kind, process, message in happened if process == p and kind != "hand"] for p in range(n)
    ]
    return not decide(Computation.of_message_lines(lines), order, "pending").kept


@pytest.mark.parametrize("seed", range(5))
def test_orders_are_reported_exactly_as_soon_as_they_are_broken(seed: int) -> None:
    random = Random(seed)
    for _ in range(400):
        c = random_small_computation(random)
        happened, n = random_linearization(c, random), len(c.processes)
        reports = first_reports(FifoAndCausal(n), happened) | first_reports(Crowns(n), happened)
        for order in ("fifo", "causal", "synchronous"):
            until = reports.get(order)
            if until is None:
                assert not is_broken(n, happened, order), (order, happened)
            else:
                assert is_broken(n, happened[:until], order), (order, happened)
                assert not is_broken(n, happened[: until - 1], order), (order, happened)


def test_what_is_owed_is_what_was_sent_and_not_delivered_and_each_event_may_happen_once() -> None:
    random = Random(0)
    for _ in range(300):
        c = random_small_computation(random)
        happened, monitor = random_linearization(c, random), DeliveryMonitor(sends_before_delivery=True)
        assert first_reports(monitor, happened) == {}
        assert first_reports(monitor, [*happened, random.choice([x for x in happened if x.kind != "hand"])]) == {
            "delivers-once": len(happened) + 1
        }
        monitor_state: Any = monitor.initial()
        for code in monitor.encode_all(happened):
            monitor_state, _ = monitor.observe(monitor_state, code)
        owed = {(c.messages[m], q) for m, q in c.unreceived}
        assert set(monitor.undelivered(monitor_state)) == owed
        assert monitor.unsent(monitor_state) == []


def test_a_delivery_before_the_send_is_reported_where_none_may_be() -> None:
    random = Random(1)
    for _ in range(100):
        c = random_small_computation(random)
        message = random.choice(c.messages)
        early = [Observation("hand", message.sender, message), Observation("deliver", message.receivers[0], message)]
        assert first_reports(DeliveryMonitor(sends_before_delivery=True), early) == {"delivers-once": 2}
        assert first_reports(DeliveryMonitor(), early) == {}
