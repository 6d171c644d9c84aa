"""Logs with vector clocks: verdicts are those of the messages, as far as the clocks show no more."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from log_files import rows_of
from log_rows import KEPT_BY_UNICASTS, outcome_of, random_computation

from crownless.oracle.log_orders import classification as oracle
from crownless.oracle.log_orders.clocked import read_clocked
from crownless.oracle.logs.reader import converted_runs
from crownless.runtime.errors import BadInput
from crownless.spec.clocks import clock_named, readings
from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS


def events_of(c: Computation, first: int, as_array: bool) -> list[dict[str, Any]]:
    """The rows of a computation, with the vector clock after each, as an array or by process."""
    shown = readings(c, clock_named("vector-times"))
    times = [list(shown[e].time) for e in c.linearization]
    clocks = times if as_array else [dict(zip(c.processes, time, strict=True)) for time in times]
    return [
        {**row, "index": first + row["index"], "clock": clock} for row, clock in zip(rows_of(c), clocks, strict=True)
    ]


def classified(events: Sequence[dict[str, Any]], processes: Sequence[str] = ()) -> oracle.Classification:
    content = "\n".join(map(json.dumps, events)).encode()
    (subject,) = converted_runs(read_clocked(content, "log.jsonl", processes), "log.jsonl")
    return oracle.classify(subject)


@pytest.mark.parametrize("as_array", [True, False])
@pytest.mark.parametrize("several", [0.0, 0.3])
def test_verdicts_are_those_of_the_messages(several: float, as_array: bool) -> None:
    chance = Random(str((several, as_array)))
    for _ in range(60):
        c = random_computation(chance, chance.randint(2, 4), 7, disorder=0.2, loss=0.05, several=several)
        events = events_of(c, chance.choice([0, 1]), as_array)
        chance.shuffle(events)
        found = classified(events, c.processes if as_array else ())
        for order in ORDERS:
            assert found[order].outcome == outcome_of(c, order), (str(c), order)


#: x from P1 to P2, y from P2 to P3, and of each event what is known after it.
RELAY: list[dict[str, Any]] = [
    {"process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2", "clock": {"P1": 1}},
    {"process": "P2", "index": 0, "kind": "deliver", "message": "x", "clock": {"P1": 1, "P2": 1}},
    {"process": "P2", "index": 1, "kind": "send", "message": "y", "peer": "P3", "clock": {"P1": 1, "P2": 2}},
    {"process": "P3", "index": 0, "kind": "deliver", "message": "y", "clock": {"P1": 1, "P2": 2, "P3": 1}},
]


def test_what_only_the_clocks_show_leaves_unknown_what_rests_on_happened_before() -> None:
    assert classified(RELAY).outcomes == KEPT_BY_UNICASTS
    # P2 sends y without having received x, and knows of its send all the same.
    events = [RELAY[0], {**RELAY[2], "index": 0, "clock": {"P1": 1, "P2": 1}}]
    events.append({**RELAY[3], "clock": {"P1": 1, "P2": 1, "P3": 1}})
    found = classified(events)
    assert found["fifo"].outcome == "kept"
    assert found["causal"].unknown == "the clocks show that more happened before than the named messages say"
    assert "received, by the clocks, what no named message says" in " ".join(found.subject.notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda events: events[1].pop("clock"), "log.jsonl:2: 'clock' is missing"),
        (lambda events: events[1].update(clock=[1, 1]), "the clock has 2 entries, for 3 processes"),
        (lambda events: events[1].update(clock="1"), "the clock is not a JSON object"),
        (lambda events: events[1].update(clock={"P1": 1}), "the clock has no entry of P2"),
        (lambda events: events[1].update(clock={"P1": -1, "P2": 1}), "not a whole number from 0"),
        (lambda events: events[2].update(clock={"P1": 1, "P2": 3}), "P2's event 1 counts 3 events of it, not 2"),
        (lambda events: events[2].update(clock={"P2": 2}), "the clock of P2's event 2 lacks P1:1"),
        (lambda events: events[1].update(clock={"P2": 1}), "does not know its send on line 1"),
        (lambda events: events[3].update(clock={"P2": 2, "P3": 1}), "lacks P1:1"),
        (lambda events: events[0].update(clock={"P1": 1, "P2": 1}), "know of each other"),
    ],
)
def test_clocks_that_cannot_be_are_refused_in_a_line(
    change: Callable[[list[dict[str, Any]]], object], problem: str
) -> None:
    events = [dict(event) for event in RELAY]
    change(events)
    with pytest.raises(BadInput) as caught:
        classified(events)
    assert problem in str(caught.value)
    assert str(caught.value).startswith("log.jsonl:")
