"""`crownless vectors`: what is deliverable when, compared with the definition of the order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless

from crownless.model_check.check.vectors import DELIVERED_BY, vectors
from crownless.spec.enumeration import Sends


def expected(order: str, vector: dict[str, Any]) -> list[list[str] | None]:
    """What each arrival lets through, by the definition: whatever has arrived and waits for no message to its receiver
    that was sent before it: by the same sender for FIFO order, or by anybody for causal order.
    """
    n = vector["processes"]
    sent_by: dict[str, int] = {}
    to: dict[str, list[int]] = {}
    #: The messages in the causal past of each process, and of each send, that message included.
    known: list[set[str]] = [set() for _ in range(n)]
    past: dict[str, set[str]] = {}
    delivered: list[set[str]] = [set() for _ in range(n)]
    waiting: list[set[str]] = [set() for _ in range(n)]
    found: list[list[str] | None] = []
    for step in vector["steps"]:
        p = step["process"]
        if "send" in step:
            m = step["send"]
            sent_by[m], to[m] = p, step["to"]
            past[m] = set(known[p])
            known[p] |= {m}
            found.append(None)
            continue
        waiting[p].add(step["arrives"])
        now: list[str] = []

        def waits(m: str, p: int = p) -> bool:
            before = {b for b in past[m] if p in to[b] and (order == "causal" or sent_by[b] == sent_by[m])}
            return not before <= delivered[p]

        while ready := sorted(m for m in waiting[p] if not waits(m)):
            waiting[p].remove(ready[0])
            delivered[p].add(ready[0])
            known[p] |= past[ready[0]] | {ready[0]}
            now.append(ready[0])
        found.append(sorted(now))
    return found


@pytest.mark.parametrize(("order", "sends"), DELIVERED_BY)
@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 2), (3, 3)])
def test_each_arrival_lets_through_what_the_definition_does(order: str, sends: Sends, n: int, m: int) -> None:
    held = 0
    for vector in vectors(order, n, m, sends):
        assert [step.get("delivers") for step in vector["steps"]] == expected(order, vector)
        held += any(step.get("delivers") == [] for step in vector["steps"])
    assert held


def test_one_message_that_is_let_through_too_early_is_seen() -> None:
    vector = next(one for one in vectors("causal", 2, 2) if any(step.get("delivers") == [] for step in one["steps"]))
    right = expected("causal", vector)
    step = next(step for step in vector["steps"] if step.get("delivers") == [])
    step["delivers"] = [step["arrives"]]
    assert [step.get("delivers") for step in vector["steps"]] != right


def test_they_are_written_a_line_each(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "vectors.jsonl"
    answer = crownless("vectors", "-n", "3", "-m", "3", "--out", str(file))
    assert answer.code == 0
    assert answer.err == f"crownless: {file}: 416 vectors\n"
    lines = file.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 416
    assert crownless("vectors", "-n", "3", "-m", "3").out.splitlines() == lines
    assert json.loads(lines[0])["processes"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--order", "casual"], "did you mean 'causal'?"),
        (["--sends", "broadcst"], "did you mean 'broadcast'?"),
        (["--order", "fifo", "--sends", "broadcast"], "there are no vectors for fifo order with broadcast sends"),
        (["-n", "0"], "-n 0: not 1 to"),
        (["--out", "/nonexistent/file"], "--out /nonexistent/file: no such folder"),
    ],
)
def test_what_cannot_be_written_is_refused(crownless: Crownless, arguments: list[str], said: str) -> None:
    answer = crownless("vectors", *arguments)
    assert (answer.code, said in answer.err, answer.err.count("\n")) == (2, True, 1)
