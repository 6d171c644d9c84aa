"""The monitor of logs decides what the procedures of the spec decide, and its witnesses are genuine."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from log_files import content_of, table_of
from log_files import rows_of as rows_of_log
from log_rows import random_computation
from log_runs import event, log
from monitors_compared import READINGS, agree
from small_computations import computation, random_small_computation
from witness_checks import check_witness, from_json

from crownless.oracle.log_orders import witnesses as log_witnesses
from crownless.oracle.log_orders.monitor import BROKEN, COLUMN, KEPT, NOTHING, UNDECIDED, Monitor
from crownless.oracle.log_orders.witnesses import WitnessesByShape, WitnessOfRun
from crownless.oracle.logs.event_logs import logged_run
from crownless.oracle.logs.event_logs import rows_of as rows_of_events
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.named_rows import by_run
from crownless.oracle.logs.tables import read_table
from crownless.runtime.printable import as_json
from crownless.spec.computation import Computation, Message
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide

SMALL: list[tuple[int, int, bool, bool, Sends]] = [
    (2, 3, False, True, "unicast"),
    (3, 3, False, False, "unicast"),
    (3, 2, False, True, "multicast"),
    (3, 3, True, False, "multicast"),
    (4, 3, True, False, "unicast"),
]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("n", "m", "complete", "self_sends", "sends"), SMALL)
def test_all_small_computations(
    n: int, m: int, complete: bool, self_sends: bool, sends: Sends, reading: UnreceivedPolicy
) -> None:
    found = list(computations(n, m, complete=complete, self_sends=self_sends, sends=sends))
    chance = Random(1)
    chance.shuffle(found)
    agree(found, reading, chance)


@pytest.mark.parametrize("several", [0.0, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("disorder", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("reading", READINGS)
def test_random_computations(reading: UnreceivedPolicy, disorder: float, loss: float, several: float) -> None:
    chance = Random(hash((disorder, loss, several)))
    found = [
        random_computation(chance, chance.randint(2, 6), 14, disorder=disorder, loss=loss, several=several)
        for _ in range(80)
    ]
    agree(found, reading)
    agree(found, reading, chance)


@pytest.mark.parametrize("reading", READINGS)
def test_random_computations_that_are_nearly_ordered(reading: UnreceivedPolicy) -> None:
    random = Random(0)
    agree([random_small_computation(random) for _ in range(800)], reading, random)


def overtaken_by_a_chain(way: tuple[int, ...], *, in_order: bool) -> Computation:
    """x goes from the first process to the last, and a chain through all others overtakes it, unless in order."""
    *others, last = way
    lines = [""] * len(way)
    for k, p in enumerate(others):
        before = f"receive c{k}" if k else f"send x to P{last + 1}"
        lines[p] = f"{before}; send c{k + 1} to P{way[k + 1] + 1}"
    lines[last] = f"receive x; receive c{len(others)}" if in_order else f"receive c{len(others)}; receive x"
    return computation("\n".join(f"P{p + 1}: {line}" for p, line in enumerate(lines)))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_chain_through_any_processes_that_overtakes_is_found(n: int) -> None:
    ways = permutations(range(n))
    found = [overtaken_by_a_chain(way, in_order=in_order) for way in ways for in_order in (False, True)]
    agree(found, "lost", Random(0))


FINE = log("P1: x>P2", "P2: x -")
#: More rows than those of the other runs: what they leave behind is not taken for theirs.
AT_ONE_PLACE = [event("P1", 0, "internal", None)] * 9
#: Rows that contradict each other, or lack some.
NOT_WELL_FORMED = {
    "delivered twice": log("P1: x>P2", "P2: x x"),
    "another sender": log("P1: x>P2", "P2: x<P3", "P3: -"),
    "a gap": log("P1: x>P2 ? -", "P2: x"),
    "a gap in the last line": log("P1: x>P2", "P2: x ? -"),
    "two events in one place": [*FINE, event("P2", 0, "internal", None)],
    "sent twice": log("P1: x>P2 x>P2", "P2: x"),
    "not a receiver": log("P1: x>P2", "P3: x"),
    "never sent": log("P1: -", "P2: x"),
    "a cycle": log("P1: x y>P2", "P2: y x>P1"),
    "a longer cycle": log("P1: x y>P2", "P2: y z>P3", "P3: z x>P1"),
}


@pytest.mark.parametrize("name", NOT_WELL_FORMED)
def test_a_run_that_is_not_well_formed_is_not_decided_and_does_not_keep_the_others_waiting(name: str) -> None:
    runs = [FINE, AT_ONE_PLACE, NOT_WELL_FORMED[name], FINE]
    rows = [{**json.loads(line), "run": f"run{k}"} for k, lines in enumerate(runs) for line in lines]
    outcomes = Monitor(by_run(table_of(rows)).numbers()).outcomes()
    assert (np.delete(outcomes[[0, 3]], COLUMN["total"], axis=1) == KEPT).all()
    assert (outcomes[[0, 3], COLUMN["total"]] == NOTHING).all(), "each message has one receiver"
    assert (outcomes[1:3] == UNDECIDED).all()


# -- witnesses ---------------------------------------------------------------------------------------------------------


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


def renamed_computations(seed: int, count: int = 200) -> list[Computation]:
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


def have_witnesses(found: Sequence[Computation], reading: UnreceivedPolicy, chance: Random | None = None) -> set[str]:
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
        assert text == said_of_messages(events[f"r{run}"], named[0], mine, order, reading)
    return {json.loads(text)["kind"] for _, _, text in made}


def said_of_messages(
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
        "", rows_of_events((e["process"], e["kind"], e["message"], to) for e, to in zip(mine, peers, strict=True))
    )
    verdict = decide(logged.computation, order, reading)
    assert verdict.witness is not None
    return as_json(verdict.witness.json(logged.computation))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(3))
def test_every_violation_has_a_genuine_witness(seed: int, reading: UnreceivedPolicy) -> None:
    kinds = have_witnesses(renamed_computations(seed), reading)
    kinds |= have_witnesses(renamed_computations(seed), reading, Random(seed))
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
