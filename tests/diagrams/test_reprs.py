"""The `repr` of every result is one short line; `str` says or draws all of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from relays import Relay

import crownless as cr
from crownless.impl.protocols.buffer import Buffer
from crownless.proofs.induction.proving import proof_of
from crownless.spec.computation import Message
from crownless.spec.witnesses import Crown, Cycle, Link, Overtaking, Unreceived

#: The longest that `repr` may be.
LIMIT = 200
NASTY = "x\x1b[31m\n" + "y" * 300

CYCLIC = """
A: send a to B; send b to C; receive d
B: receive c; receive a; send d to A
C: send c to B; receive b
"""


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """A result of each public function, large ones among them."""
    computation = cr.parse("P1: " + "; ".join(f"send m{k} to P2" for k in range(40)) + "\nP2: ")
    recorder = cr.Recorder()
    recorder.send(NASTY, NASTY, to="P2")
    recorder.deliver("P2", NASTY)
    unusable = cr.Recorder()
    unusable.deliver("P2", "nobody sent it")
    checked = cr.check("unordered", 3, 3)
    *_, last = cr.states("rst", 2, 2)
    found = cr.conform(Relay, 2, 2, orders=["fifo"], replies=0)
    schedule = found.schedule("fifo")
    assert schedule is not None
    with_hole = cr.read_log(
        [
            '{"process": "P1", "kind": "send", "message": "x", "peer": "P2", "index": 0}',
            '{"process": "P2", "kind": "deliver", "message": "x", "index": 7}',
        ]
    )
    return {
        "parse": computation,
        "nasty": cr.classify(recorder.computation),
        "classify": cr.classify(CYCLIC),
        "program": cr.program("A: " + "; ".join(f"send m{k} to B" for k in range(40)) + "\nB: receive", name=NASTY),
        "read_log": with_hole,
        "recorder": recorder,
        "unusable": unusable,
        "check": checked,
        "runs": cr.check("rst", program=cr.program("A: " + "; ".join(f"send m{k} to B" for k in range(9)) + "\nB:")),
        "states": last,
        "realize": cr.realize("rst", 2, 2),
        "count": cr.count(2, 2),
        "conform": found,
        "replay": cr.replay(Relay, schedule.json()),
        "schedule": schedule,
        "prove": cr.prove("rst"),
        "queues": proof_of(Buffer),
        "witnesses": [Overtaking(0, 1, 2, tuple(range(200))), Crown(tuple(range(200)), ()), Unreceived(0, 1)],
        "cycle": Cycle(tuple(Link(f"{k}", NASTY, NASTY) for k in range(200))),
    }


#: Dictionaries of these modules are looked into.
MAPPINGS = ("builtins", "types")


def parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """A result, and the results among its fields, however deep."""
    if id(value) in seen or isinstance(value, str | int | float | type | Message | None):
        return
    seen.add(id(value))
    if isinstance(value, Mapping) and type(value).__module__ in MAPPINGS:
        for each in value.values():
            yield from parts(each, seen)
    elif type(value) in (list, tuple, set, frozenset):
        for each in value:
            yield from parts(each, seen)
    elif type(value).__module__.startswith("crownless") and "__repr__" in vars(type(value)):
        yield value
        if dataclasses.is_dataclass(value):
            for each in dataclasses.fields(value):
                yield from parts(getattr(value, each.name), seen)


def is_short(text: str) -> bool:
    return len(text) < LIMIT and text.isprintable()


def test_the_repr_of_every_result_and_of_every_part_of_it_is_one_short_line(results: dict[str, Any]) -> None:
    seen: set[int] = set()
    found = [part for result in results.values() for part in parts(result, seen)]
    long = {type(part).__qualname__: repr(part)[:300] for part in found if not is_short(repr(part))}
    assert long == {}
    kinds = {type(part).__name__ for part in found}
    assert kinds >= {
        *("Computation", "Classification", "Verdict", "Script", "NamedComputation", "Recorder", "CheckResult"),
        *("PropertyResult", "Run", "Reached", "Realization", "Count", "ProofReport", "Obligation", "CausalOrder"),
        *("QueueProof", "Exploration", "ResolvedCheck", "Overtaking", "Crown", "Cycle", "Unreceived"),
    }


def test_str_says_or_draws_what_repr_leaves_out(results: dict[str, Any]) -> None:
    assert str(results["parse"]).count("m39 is never received") == 1
    assert str(results["program"]).count("send") == 40
    assert "P2: events 0 to 6 are missing" in str(results["read_log"][0])
    broken = results["check"]["fifo"]
    assert repr(broken) == "<fifo: violated, shown by a run of 3 actions>"
    assert str(broken).startswith("fifo: violated, shown by a run of 3 actions: two messages from one process to")
    assert "╮" in str(broken)
    assert repr(results["count"]).startswith("<2 processes, 2 messages: asynchronous 7, fifo 5, causal 5")
    assert "nobody sent it" in str(results["unusable"])
    assert str(results["recorder"]).isprintable() is False  # it is drawn, on several lines
    assert "\x1b" not in str(results["recorder"])
    proved = results["prove"]
    assert repr(proved) == f"<rst: safe: proved, optimal: proved, live: proved; {len(proved.claims)} claims>"
    assert all(put.claim.name in str(proved) for put in proved.claims)
    assert str(proved).splitlines()[0] == "rst, of its code; processes: any number; messages: any number"
