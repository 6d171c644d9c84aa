"""Witnesses of many runs at once: each is genuine, and what the spec says of the messages that show the violation."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from log_files import content_of
from log_files import rows_of as rows_of_log
from log_rows import random_computation
from witness_checks import check_witness, from_json

from crownless.oracle.event_logs import logged_run, rows_of
from crownless.oracle.log_orders import witnesses as log_witnesses
from crownless.oracle.log_orders.monitor import BROKEN, COLUMN, Monitor
from crownless.oracle.log_orders.witnesses import WitnessesByShape, WitnessOfRun
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.named_rows import by_run
from crownless.oracle.logs.tables import read_table
from crownless.runtime.printable import as_json
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")
Named = tuple[WitnessesByShape, np.ndarray[Any, Any]]


def renamed(c: Computation, chance: Random) -> Computation:
    """The same with names whose natural order is neither that of the letters nor that of the first events."""
    names = chance.sample([f"P{k}" for k in range(1, 30)], len(c.processes))
    return Computation(tuple(names), tuple(Message(f"x{m.name}", m.sender, m.receivers) for m in c.messages), c.lines)


def log_of(found: Sequence[Computation], chance: Random | None = None) -> bytes:
    """Each computation is a run; in the order of a linearization, or in any order."""
    runs = [rows_of_log(c, run=f"r{run}") for run, c in enumerate(found)]
    if chance is not None:
        for rows in runs:
            chance.shuffle(rows)
    return content_of([row for rows in runs for row in rows], ".jsonl")


def decided(log: bytes, reading: UnreceivedPolicy) -> Named:
    rows = by_run(read_table(log, "jsonl", "log", LogOptions()))
    monitor = Monitor(rows.numbers(), reading == "pending")
    outcomes = monitor.outcomes()[:, [COLUMN[order] for order in ORDERS]]
    return WitnessesByShape(rows, monitor), outcomes


def witnesses(named: Named) -> list[WitnessOfRun]:
    return list(named[0].of(np.arange(len(named[1])), named[1], tuple(ORDERS)))


def random_computations(seed: int, count: int = 200) -> list[Computation]:
    chance = Random(seed)
    return [
        renamed(
            random_computation(
                chance, chance.randint(2, 6), 12, disorder=chance.choice([0.05, 0.4]),
                loss=chance.choice([0, 0, 0.05]), several=chance.choice([0, 0, 0.5]),
            ),
            chance,
        )
        for _ in range(count)
    ]  # fmt: skip


def agree(found: Sequence[Computation], reading: UnreceivedPolicy, chance: Random | None = None) -> set[str]:
    """Each violation has a witness, which is genuine, and the one of the messages that the monitor names."""
    log = log_of(found, chance)
    named = decided(log, reading)
    events: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in log.splitlines():
        event = json.loads(line)
        events[event["run"]].append(event)
    made = witnesses(named)
    broken = np.argwhere(named[1] == BROKEN).tolist()
    violations = named[0].monitor.violations(np.arange(len(found)), named[1] == BROKEN)
    shown = {(run, order): rows for run, order, rows in violations}
    assert sorted((run, order) for run, order, _ in made) == sorted((run, [*ORDERS][k]) for run, k in broken)
    for run, order, text in made:
        c = found[run]
        check_witness(c, Verdict(order, kept=False, witness=from_json(c, json.loads(text))), reading)
        mine = shown[run, order]
        assert text == of_messages(events[f"r{run}"], named[0], mine, order, reading)
    return {json.loads(text)["kind"] for _, _, text in made}


def of_messages(
    events: Sequence[dict[str, Any]],
    by_shape: WitnessesByShape,
    rows: Sequence[int],
    order: str,
    reading: UnreceivedPolicy,
) -> str:
    """What the spec says of these messages of a run, which are given by the rows of their events."""
    names = {by_shape.rows.named["message"].name(row) for row in rows}
    mine = sorted((e for e in events if e["message"] in names), key=lambda e: int(e["index"]))
    peers = [e["peer"] if isinstance(e["peer"], list) else [e["peer"]] for e in mine]
    logged = logged_run(
        "", rows_of((e["process"], e["kind"], e["message"], to) for e, to in zip(mine, peers, strict=True))
    )
    verdict = decide(logged.computation, order, reading)
    assert verdict.witness is not None
    return as_json(verdict.witness.json(logged.computation))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(3))
def test_every_violation_has_a_genuine_witness(seed: int, reading: UnreceivedPolicy) -> None:
    kinds = agree(random_computations(seed), reading)
    kinds |= agree(random_computations(seed), reading, Random(seed))
    assert kinds >= {"overtaking", "crown", "cycle"}
    assert ("unreceived" in kinds) == (reading == "lost")


def test_there_is_room_for_a_message_to_many_that_none_receives() -> None:
    receivers = [f"P{k}" for k in range(2, 102)]
    sent = {"process": "P1", "index": 0, "kind": "send", "message": "x", "peer": receivers}
    made = witnesses(decided(json.dumps(sent).encode(), "lost"))
    assert [(order, json.loads(text)["kind"]) for _, order, text in made] == [("synchronous", "unreceived")]


def test_of_long_shapes_none_is_kept() -> None:
    n, events = 40, []
    for k in range(n):
        before, after = (k - 1) % n, (k + 1) % n
        events += [
            {"process": f"P{k}", "index": 0, "kind": "send", "message": f"m{k}", "peer": f"P{after}"},
            {"process": f"P{k}", "index": 1, "kind": "deliver", "message": f"m{before}", "peer": f"P{before}"},
        ]
    known = log_witnesses._known_witness_of.cache_info().currsize
    made = witnesses(decided("\n".join(map(json.dumps, events)).encode(), "lost"))
    assert [(order, json.loads(text)["kind"]) for _, order, text in made] == [("synchronous", "crown")]
    assert log_witnesses._known_witness_of.cache_info().currsize == known


def test_names_are_those_of_the_log_whatever_is_in_them() -> None:
    odd = ['a "quoted" one', "back\\slash", "⟨P0⟩", "⟨m1⟩", "é", "\u3164"]
    for name in odd:
        first, second = f"{name}1", f"{name}2"
        events = [
            {"process": "P1", "index": 0, "kind": "send", "message": first, "peer": name},
            {"process": "P1", "index": 1, "kind": "send", "message": second, "peer": name},
            {"process": name, "index": 0, "kind": "deliver", "message": second},
            {"process": name, "index": 1, "kind": "deliver", "message": first},
        ]
        made = witnesses(decided("\n".join(map(json.dumps, events)).encode(), "lost"))
        fifo = json.loads(next(text for _, order, text in made if order == "fifo"))
        assert (fifo["first"], fifo["second"], fifo["receiver"]) == (first, second, name)
        assert all("\u3164" not in text for *_, text in made)  # which shows nothing on a terminal
