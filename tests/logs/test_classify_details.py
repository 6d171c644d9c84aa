"""Details of a run that `crownless classify` prints, and all verdicts, witnesses and holes as Parquet (`--out`)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Crownless
from log_files import (  # noqa: F401
    Row,
    by_the_monitor,
    in_both_ways,
    written,
)
from log_rows import random_computation
from log_runs import random_events
from long_logs import by_spec, log_of, long_run
from witness_checks import check_witness, from_json

from crownless.command_line.commands.classify_report import part_that_violates
from crownless.oracle.log_orders.classification import LargeRun
from crownless.oracle.log_orders.context import AFTER, BEFORE, Context
from crownless.oracle.logs.event_logs import read_log
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.spec.delivery_disorder import summaries
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide
from crownless.spec.witnesses import Overtaking, Unreceived

pytestmark = pytest.mark.usefixtures("by_the_monitor")


def with_internal_events(found: Sequence[Row]) -> list[Row]:
    """The same with an internal event after every tenth."""
    places: dict[str, int] = {}
    events = []
    for number, event in enumerate(found):
        process = event["process"]
        events.append({**event, "index": places.setdefault(process, 0)})
        places[process] += 1
        if number % 10 == 0:
            events.append({"run": "long", "process": process, "index": places[process], "kind": "internal"})
            places[process] += 1
    return events


def large_run(name: str, reading: UnreceivedPolicy = "lost") -> LargeRun:
    subject = log_of(name, reading).classification(0).subject
    assert isinstance(subject, LargeRun)
    return subject


def context_of(name: str) -> Context:
    found = large_run(name).context
    assert found is not None
    return found


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("missing", [0, 1])
def test_each_process_of_a_large_run_has_the_figures_of_the_definition(
    tmp_path: Path, shuffled: bool, missing: int
) -> None:
    found = with_internal_events(long_run(11, 1_900, disorder=0.2, loss=0.01))
    del found[700 : 700 + missing]
    if shuffled:
        Random(4).shuffle(found)
    (logged,) = read_log(json.dumps(event) for event in found)
    defined = summaries(logged.computation)
    assert defined is not None
    assert any(one.causal.out_of_order for one in defined)
    assert bool(logged.holes) == bool(missing)
    assert large_run(written(tmp_path, found)).by_process == defined


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("missing", [0, 1])
def test_the_context_says_where_in_the_file_each_event_is(tmp_path: Path, shuffled: bool, missing: int) -> None:
    found = with_internal_events(long_run(3, 1_900, disorder=0.05))
    del found[20 : 20 + missing]
    if shuffled:
        Random(4).shuffle(found)
    around = context_of(written(tmp_path, found))
    assert around.numbered_by == "line"
    assert around.orders[0] == "fifo"
    for event in around.events:
        logged = found[event.number - 1]
        assert [logged[key] for key in ("process", "index", "kind", "message")] == [
            event.process, event.index, event.kind, event.message,
        ]  # fmt: skip
        assert (logged["peer"],) == event.peers
    showing = [event for event in around.events if event.shows_violation]
    assert {event.message for event in showing} >= {one.message for one in showing if one.kind == "deliver"}
    last = around.events.index(showing[-1])
    assert len(around.events) - last - 1 == AFTER
    assert sum(not event.skipped for event in around.events[last - BEFORE : last]) >= BEFORE - 4
    if not shuffled and not missing:
        involved = {event.process for event in around.events}
        numbers = [k for k, one in enumerate(found, 1) if one["process"] in involved and one["kind"] != "internal"]
        places = [numbers.index(event.number) for event in around.events]
        steps = [after - before - 1 for before, after in zip([-1, *places], places, strict=False)]
        assert steps == [event.skipped for event in around.events], "as many events are left out as it says"


def test_rows_of_several_runs_and_of_a_table_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    found = long_run(3, 1_900, disorder=0.002)
    other: list[Row] = [{**event, "run": "other"} for event in found]
    both = [event for two in zip(other, found, strict=True) for event in two]
    name = written(tmp_path, both)
    expected = [(event.number * 2, event.message) for event in context_of(written(tmp_path, found, name="one")).events]
    subject = log_of(name).classification(1).subject
    assert isinstance(subject, LargeRun)
    assert subject.context is not None
    assert [(event.number, event.message) for event in subject.context.events] == expected
    for suffix in (".csv", ".parquet"):
        written(tmp_path, found, suffix)
    (tmp_path / "blank.jsonl").write_text((tmp_path / "one.jsonl").read_text().replace("\n", "\n\n", 1))
    numbered = {"one.jsonl": ("line", 0), "log.csv": ("line", 1), "log.parquet": ("row", 0), "blank.jsonl": ("row", 0)}
    for name, (by, more) in numbered.items():
        around = context_of(str(tmp_path / name))
        assert (around.numbered_by, around.events[0].number) == (by, more + expected[0][0] // 2), name


def test_a_large_run_with_violations_is_printed_with_both(tmp_path: Path, crownless: Crownless) -> None:
    name = written(tmp_path, long_run(3, 1_900, disorder=0.2))
    answer = crownless("classify", name)
    assert answer.code == 1
    assert "where in the log; > marks the events that show it" in answer.out
    assert "process  events  deliveries  fifo  max  mean  never  causal  max  mean  never\n" in answer.out
    facts: dict[str, Any] = crownless("classify", name, "--json").json
    assert [one["process"] for one in facts["by_process"]] == [f"P{p}" for p in range(1, 7)]
    assert facts["by_process"][0].keys() == {"process", "events", "deliveries", "fifo", "causal"}
    assert facts["context"]["events"][0].keys() == {
        "line", "process", "index", "kind", "message", "peers", "shows_violation",
    }  # fmt: skip
    assert len(facts["context"]["events"]) <= 41
    quiet = crownless("classify", name, "--quiet").out
    assert "where in the log" not in quiet
    assert "deliveries" not in quiet


@pytest.mark.parametrize("reading", ["lost", "pending"])
def test_of_a_run_too_large_to_be_drawn_the_messages_that_show_a_violation_are(
    tmp_path: Path, crownless: Crownless, reading: UnreceivedPolicy
) -> None:
    found = long_run(9, 150, disorder=0.2, loss=0.02)
    answer = crownless("classify", written(tmp_path, found), "--unreceived", reading)
    assert "not drawn: more than 40 events; crownless show draws it all the same" in answer.out
    assert "fifo, causal, mailbox, one-n, n-n: only the messages that show the violation" in answer.out.replace(
        "\n  ", " "
    )
    assert "●" in answer.out


def test_the_messages_of_each_witness_break_the_order_alone() -> None:
    chance = Random(5)
    shown = 0
    for _ in range(200):
        c = random_computation(chance, 4, 12, disorder=0.5, loss=0.1, several=0.0)
        for order in ORDERS:
            verdict = decide(c, order)
            part = part_that_violates(verdict, "lost")
            if isinstance(verdict.witness, (Overtaking, Unreceived)):
                assert part is not None, (str(c), order)
            if part is not None:
                assert verdict.witness is not None
                assert not decide(part, order).kept
                assert len(part.messages) <= len(c.messages)
                receivers = {q for message in part.messages for q in message.receivers}
                assert all(line or p in receivers for p, line in enumerate(part.lines))
                shown += 1
    assert shown > 300


def test_processes_are_listed_by_an_option_also_of_a_small_computation(crownless: Crownless) -> None:
    assert "deliveries" not in crownless("classify", "mf-fig5").out
    answer = crownless("classify", "mf-fig5", "--by-process")
    assert "process  events  deliveries  fifo" in answer.out
    for given, measured in (("fifo", ["fifo"]), ("causal", ["causal"]), ("n-n", ["fifo", "causal"])):
        out = crownless("classify", "mf-fig5", "--by-process", "--order", given).out
        assert f"\n{', '.join(measured)}: deliveries out of that order" in out
        heading = next(line.split() for line in out.splitlines() if line.startswith("process  events"))
        assert [name for name in heading if name in ("fifo", "causal")] == measured
    assert crownless("classify", "mf-fig5", "--json").json["context"] is None
    assert crownless("classify", "log.parquet", "--engine", "spark", "--by-process").code == 2


# -- --out -------------------------------------------------------------------------------------------------------------


EXAMPLES = Path(__file__).parents[2] / "examples" / "logs"


def records(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.dataset

    rows: list[dict[str, Any]] = pyarrow.dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
    return rows


def of_type(rows: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["record_type"] == kind]


@pytest.mark.usefixtures("in_both_ways")
def test_out_has_every_verdict_witness_and_hole(tmp_path: Path, crownless: Crownless) -> None:
    found = random_events(5, 100)
    name = written(tmp_path, found)
    answer = crownless("classify", name, "--out", str(tmp_path / "out"))
    assert answer.code == 1
    assert "all verdicts, witnesses and holes:" in answer.out
    rows = records(tmp_path / "out")
    assert rows[0].keys() == {"run", "order", "verdict", "witness", "because", "row", "rows", "record_type"}
    known = list(by_spec(found, "lost"))
    verdicts = {(row["run"], row["order"]): row for row in of_type(rows, "verdict")}
    assert len(verdicts) == len(of_type(rows, "verdict")) == len(ORDERS) * len(known)
    for one in known:
        assert isinstance(one.subject, NamedComputation)
        for order, verdict in one.items():
            row = verdicts[one.subject.run or "", order]
            assert row["verdict"] == verdict.outcome
            assert row["because"] == verdict.unknown
            assert (row["witness"] is None) == (verdict.witness is None)
            if row["witness"] is not None:
                shown = from_json(one.subject.computation, json.loads(row["witness"]))
                check_witness(one.subject.computation, Verdict(order, kept=False, witness=shown), "lost")
    holes = [(row["run"], row["because"]) for row in of_type(rows, "hole")]
    assert sorted(holes) == sorted((one.subject.run, hole.text) for one in known for hole in one.subject.holes)
    assert holes
    assert [row["rows"] for row in of_type(rows, "judged")] == [len(found)]
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl", "out"]


@pytest.mark.usefixtures("in_both_ways")
def test_out_of_a_large_run_and_of_a_run_without_a_name(tmp_path: Path, crownless: Crownless) -> None:
    found: list[Row] = [{**event, "run": None} for event in long_run(3, 1_900, disorder=0.1)]
    found += random_events(8, 3, multicasts=False)
    name = written(tmp_path, found)
    assert crownless("classify", name, "--out", str(tmp_path / "new" / "out"), "--order", "fifo", "--json").code == 1
    rows = of_type(records(tmp_path / "new" / "out"), "verdict")
    assert {row["order"] for row in rows} == {"fifo"}
    assert {row["run"] for row in rows} == {"", "run0", "run1", "run2"}
    (large,) = [row for row in rows if row["run"] == ""]
    assert json.loads(large["witness"])["kind"] == "overtaking"


def test_out_takes_a_new_or_an_empty_folder_and_one_log(tmp_path: Path, crownless: Crownless) -> None:
    log = str(EXAMPLES / "events.csv")
    (tmp_path / "empty").mkdir()
    assert crownless("classify", log, "--out", str(tmp_path / "empty")).code == 1
    answer = crownless("classify", log, "--out", str(tmp_path / "empty"))
    assert (answer.code, answer.out) == (2, "")
    assert "the folder exists already; name a new folder" in answer.err
    answer = crownless("classify", log, log, "--out", str(tmp_path / "two"))
    assert (answer.code, answer.out) == (2, "")
    assert "--out takes one log" in answer.err
