"""One run read block by block is classified as the same log read whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import log_files
import pytest
from command_line_runner import Crownless
from log_files import SUFFIXES
from log_files import written as in_format
from log_rows import KEPT_BY_UNICASTS
from log_runs import random_run

from crownless.oracle.log_orders import classification as oracle
from crownless.oracle.log_orders.large_run import classified_in_blocks
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.reader import subjects
from crownless.oracle.logs.tables import blocks
from crownless.runtime.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy
from crownless.spec.witnesses import Unreceived


def written(path: Path, lines: Sequence[str]) -> str:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def in_blocks(name: str, reading: UnreceivedPolicy = "lost", size: int = 300) -> oracle.Classification:
    return classified_in_blocks(blocks(name, LogOptions(), size=size), name, tuple(ORDERS), reading)


def test_blocks_of_csv_have_the_column_names_though_one_holds_a_line_break(tmp_path: Path) -> None:
    def read(heading: str, cell: str, size: int) -> list[Mapping[str, object]]:
        rows = [f"{cell}P1,{k},send,m{k},P2" for k in range(20)] + [f"{cell}P2,{k},deliver,m{k},P1" for k in range(20)]
        name = written(tmp_path / "log.csv", [f"{heading}process,index,kind,message,peer", *rows])
        return [row for _, table in blocks(name, LogOptions(), size=size) for row in table.to_pylist()]

    whole = read("", "", 1 << 20)
    assert len(whole) == 40
    assert read('"a ""\nnote\n",', "x,", 100) == whole
    assert read('"a ""note",', '"x\ny",', 100) == whole


@pytest.mark.parametrize("reading", ["lost", "pending"])
def test_verdicts_are_those_of_the_log_read_whole_and_with_holes_as_far_as_is_certain(
    reading: UnreceivedPolicy, tmp_path: Path
) -> None:
    chance, broken_with_holes = Random(reading), 0
    for _ in range(300):
        rows = random_run(chance, "r")
        if chance.random() < 0.5:
            chance.shuffle(rows)
            rows.sort(key=lambda row: min(row["index"], 2))  # so that it is known early from where events count
        name = in_format(tmp_path, rows)
        (subject,) = subjects(name)
        known = oracle.classify(subject, tuple(ORDERS), reading)
        found = in_blocks(name, reading, chance.choice([200, 1000]))
        for order, verdict in found.items():
            undecided = verdict.outcome == "unknown" and (subject.holes or order == "n-n")
            assert verdict.outcome == known[order].outcome or undecided, (order, rows)
        broken_with_holes += bool(subject.holes and "violated" in found.outcomes.values())
        assert all(verdict.shows_violation for verdict in found.verdicts if verdict.outcome == "violated")
        assert found.json()["orders"].keys() == known.json()["orders"].keys()
        if subject.holes:
            logged = {(row["message"], row["process"]) for row in rows if row["kind"] in ("deliver", "receive")}
            listed = {*found.subject.unreceived, *found.subject.perhaps_received}
            assert not listed & logged, "a message that the log delivers is not unreceived"
            assert {*found.subject.unreceived} <= {*subject.unreceived}
            assert {*subject.unreceived, *subject.perhaps_received} <= listed
            continue
        assert found.strongest == known.strongest
        assert (found.subject.processes, found.subject.messages) == (subject.processes, subject.messages)
        assert sorted(found.subject.unreceived) == sorted(subject.unreceived)
        for verdict in found.verdicts:
            if isinstance(verdict.witness, Unreceived) and verdict.computation is not None:
                of = verdict.computation
                name_and_receiver = of.messages[verdict.witness.message].name, of.processes[verdict.witness.receiver]
                assert name_and_receiver in subject.unreceived
    assert broken_with_holes > 1 or reading == "pending"


def event(process: str, index: int, kind: str, message: str = "m", peer: Any = None, **more: Any) -> str:
    return json.dumps(log_files.event(process, index, kind, message, peer, **more))


SEND, DELIVER = event("P1", 0, "send", peer="P2"), event("P2", 0, "deliver")
MORE = [event("P3", k, "internal", note="x" * 100) for k in range(9)]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([SEND, *MORE, event("P1", 1, "odd")], ":11: unknown kind 'odd'"),
        ([SEND, *MORE, '{"process": "P1"}'], ":11: 'index', 'kind', 'message' and 'peer' are missing"),
        ([SEND, *MORE, "{"], ":11:2: not JSON"),
        ([SEND, *MORE, event("P1", 1, "internal", run="b")], "of several runs, such as '' and 'b'"),
        ([event("P1", 1, "internal"), *[event("P2", 1 + k, "internal", note="x" * 99) for k in range(9)], DELIVER], ""),
        (
            [event("P1", 0, "deliver", "a"), event("P1", 1, "send", "b", "P2"), *MORE,
             event("P2", 0, "deliver", "b"), event("P2", 1, "send", "a", "P1")],
            "no linearization exists: P1 receives a waits for P2 receives b waits for P1 receives a",
        ),
        ([], "the log is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused_in_a_line(lines: list[str], problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        in_blocks(written(tmp_path / "log.jsonl", lines))
    assert problem in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_blocks_may_have_internal_events_alone(tmp_path: Path) -> None:
    internal = [json.dumps({"process": "P3", "index": k, "kind": "internal", "note": "x" * 100}) for k in range(9)]
    found = in_blocks(written(tmp_path / "log.jsonl", internal))
    assert set(found.outcomes.values()) == {"nothing"}
    found = in_blocks(written(tmp_path / "log.jsonl", [SEND, *internal, DELIVER]))
    assert found.outcomes == KEPT_BY_UNICASTS
    assert (found.subject.events, found.subject.messages, found.subject.unreceived) == (2, 1, ())


def test_a_run_with_holes_is_not_judged(tmp_path: Path) -> None:
    for lines, hole in (
        ([SEND, event("P2", 0, "deliver"), event("P1", 2, "internal")], "P1: event 1 is missing"),
        ([SEND, event("P2", 0, "deliver", "x")], "P2 delivers x, whose send is not in the log"),
    ):
        found = in_blocks(written(tmp_path / "log.jsonl", lines))
        assert {order for order, outcome in found.outcomes.items() if outcome != "unknown"} == {"asynchronous"}
        assert hole in [hole.text for hole in found.subject.holes]


def test_the_command_reads_each_format_in_blocks(crownless: Crownless, tmp_path: Path) -> None:
    examples = Path(__file__).parents[3] / "examples" / "logs"
    lines = gzip.decompress((examples / "events.jsonl.gz").read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    one = [row for row in rows if row.get("run") == rows[0].get("run")]
    known = crownless("classify", in_format(tmp_path, one, name="plain"), "--json").json["orders"]
    for suffix in SUFFIXES:
        answer = crownless("classify", "--one-run", in_format(tmp_path, one, suffix), "--json")
        found = answer.json["orders"]
        assert {order: of["verdict"] for order, of in found.items()} == {
            order: of["verdict"] for order, of in known.items()
        }, suffix
    plain = str(tmp_path / "plain.jsonl")
    for refused in (["--match"], ["--by-process"], ["--out", str(tmp_path / "out")], ["--pattern", "x"]):
        assert crownless("classify", "--one-run", plain, *refused).code == 2
    assert "cannot be read in blocks" in crownless("classify", "--one-run", str(examples / "events.otlp")).err
    assert (
        "this is not an event log; give it as a file; if it is CSV" in crownless("classify", "--one-run", "mf-fig8").err
    )
