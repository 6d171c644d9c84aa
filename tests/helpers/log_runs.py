"""Event logs of one run or many, random and by hand, and the verdicts of the specification on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from log_files import rows_of
from log_rows import random_computation
from witness_checks import check_witness, from_json

from crownless.oracle.log_orders.classification import classify
from crownless.oracle.logs.event_logs import read_log
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.runtime.printable import as_json
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict

Event = dict[str, Any]
#: run, order → verdict, witness as JSON, why unknown
Known = dict[tuple[str, str], tuple[str, str | None, str | None]]


def event(process: str, index: int, kind: str, message: str | None = "x", peer: Any = None, **more: Any) -> str:
    fields = {"run": "r", "process": process, "index": index, "kind": kind, "message": message, "peer": peer, **more}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def log(*lines: str, first: int = 0) -> list[str]:
    """Lines such as "P1: x>P2 y> ? -" as events: sends, delivers, an event that is missing, an internal one."""
    events = []
    for line in lines:
        process, does = line.split(": ")
        for index, what in enumerate(does.split(), start=first):
            message, sends, receiver = what.partition(">")
            if what == "-":
                events.append(event(process, index, "internal", None))
            elif sends:
                events.append(
                    event(process, index, "send", message, receiver.split("+") if "+" in receiver else receiver)
                )
            elif what != "?":
                name, _, sender = message.partition("<")
                events.append(event(process, index, "deliver", name, sender or None))
    return events


def random_run(chance: Random, run: str, *, holes: bool = True, multicasts: bool = True) -> list[Event]:
    """A run of a few processes: more or less orderly; perhaps with lost messages, multicasts, holes."""
    c = random_computation(
        chance, chance.randint(1, 5), chance.randint(0, 7), disorder=chance.choice([0.0, 0.1, 0.5]),
        loss=chance.choice([0, 0, 0.15]), several=float(multicasts and chance.random() < 0.1), internal=0.05,
    )  # fmt: skip
    base = chance.choice([0, 0, 0, 1])
    events = [{**row, "index": base + row["index"]} for row in rows_of(c, chance=chance, run=run)]
    for row in events:
        row["kind"] = chance.choice(["deliver", "receive"]) if row["kind"] == "deliver" else row["kind"]
    if holes and chance.random() < 0.2:
        events = [row for row in events if chance.random() > 0.1] or events
    return events or [{"run": run, "process": "P1", "index": base, "kind": "internal"}]


def random_events(seed: int, runs: int, **which: bool) -> list[Event]:
    """The events of so many random runs, in any order."""
    chance = Random(seed)
    events = [event for k in range(runs) for event in random_run(chance, f"run{k}", **which)]
    chance.shuffle(events)
    return events


def random_log(seed: int, runs: int, **which: bool) -> list[str]:
    return [json.dumps(event) for event in random_events(seed, runs, **which)]


def known_of(run: str, verdicts: Iterable[Verdict]) -> Known:
    known: Known = {}
    for one in verdicts:
        witness = one.json()["witness"]
        known[run, one.order] = (one.outcome, None if witness is None else as_json(witness), one.unknown)
    return known


def by_classify(lines: Sequence[str], reading: UnreceivedPolicy) -> Known:
    known: Known = {}
    for logged in read_log(lines):
        found = classify(NamedComputation("", logged.run, logged.computation, logged.holes), tuple(ORDERS), reading)
        known |= known_of(logged.run, found.verdicts)
    return known


def agree(found: Known, lines: Sequence[str], reading: UnreceivedPolicy) -> Known:
    """The verdicts are those of `classify`, which are returned, and the witnesses genuine."""
    known, runs = by_classify(lines, reading), {logged.run: logged for logged in read_log(lines)}
    assert found.keys() == known.keys()
    for (run, order), (verdict, witness, because) in found.items():
        assert (verdict, because) == known[run, order][::2]
        if witness is None or runs[run].holes:
            assert witness == known[run, order][1]
        else:
            c = runs[run].computation
            check_witness(c, Verdict(order, kept=False, witness=from_json(c, json.loads(witness))), reading)
    return known
