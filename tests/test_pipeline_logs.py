"""Event logs on Spark: every verdict is that of `crownless classify`, and no row is lost."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest

from crownless.command_line import main
from crownless.command_line.classify_spark import classify_on_spark
from crownless.model_check.event_logs import read_log
from crownless.model_check.logs.columns import COLUMNS
from crownless.model_check.logs.monitor import BROKEN, KEPT, Monitor
from crownless.model_check.oracle import NamedComputation, classify
from crownless.pipeline.logs import blocks as log_blocks
from crownless.pipeline.logs import records as log_records
from crownless.pipeline.logs.clocks import judge_by_clocks
from crownless.pipeline.logs.live import LiveRun, add_events, end_run, judge_live
from crownless.pipeline.logs.one_run import judge_one_run
from crownless.pipeline.logs.records import Query, records_of_runs
from crownless.pipeline.logs.rows import plain_line, plain_types
from crownless.pipeline.logs.runs import judge_run
from crownless.spec.clocks import clock_named, readings
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide
from crownless.spec.printable import as_json

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from spark_session import spark  # noqa: E402, F401
from witness_checks import check_witness, from_json  # noqa: E402

from crownless.pipeline.logs.judging import LogResult, judge, judge_lines, judge_parquet, read  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark")

Event = dict[str, Any]
#: run, order → verdict, witness as JSON, why unknown
Known = dict[tuple[str, str], tuple[str, str | None, str | None]]
READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def random_run(chance: Random, run: str, *, holes: bool = True, multicasts: bool = True) -> list[Event]:
    """A run of a few processes: more or less orderly; perhaps with lost messages, multicasts, holes."""
    n, m, disorder = chance.randint(1, 5), chance.randint(0, 7), chance.choice([0.0, 0.1, 0.5])
    several = multicasts and chance.random() < 0.1
    to_self, loss = chance.random() < 0.3, chance.choice([0, 0, 0.15])
    at_once, base = chance.choice([0.15, 0.5]), chance.choice([0, 0, 0, 1])
    index, sent = [base] * n, 0
    events: list[Event] = []
    flying: list[tuple[int, int, int]] = []

    def happen(p: int, kind: str, **more: Any) -> None:
        events.append({"run": run, "process": f"P{p + 1}", "index": index[p], "kind": kind, **more})
        index[p] += 1

    while sent < m or flying:
        if chance.random() < 0.05:
            happen(chance.randrange(n), "internal")
        elif sent < m and (not flying or chance.random() < at_once):
            p = chance.randrange(n)
            others = [q for q in range(n) if to_self or q != p]
            if not others:
                break
            receivers = chance.sample(others, chance.randint(1, len(others)) if several else 1)
            names = [f"P{q + 1}" for q in receivers]
            happen(p, "send", message=f"m{sent}", peer=names if len(names) > 1 else names[0])
            flying += [(sent, p, q) for q in receivers]
            sent += 1
        else:
            message, p, q = flying.pop(chance.randrange(len(flying)) if chance.random() < disorder else 0)
            peer = {"peer": f"P{p + 1}"} if chance.random() < 0.7 else {}
            if chance.random() >= loss:
                happen(q, chance.choice(["deliver", "receive"]), message=f"m{message}", **peer)
    if not events:
        happen(0, "internal")
    if holes and chance.random() < 0.2:
        events = [event for event in events if chance.random() > 0.1] or events
    return events


def random_log(seed: int, runs: int, **which: bool) -> list[str]:
    chance = Random(seed)
    events = [event for k in range(runs) for event in random_run(chance, f"run{k}", **which)]
    chance.shuffle(events)
    return [json.dumps(event) for event in events]


def by_classify(lines: Sequence[str], reading: UnreceivedPolicy) -> Known:
    known: Known = {}
    for logged in read_log(lines):
        c = logged.computation
        found = classify(NamedComputation("", logged.run, c, logged.holes), tuple(ORDERS), reading)
        for verdict in found.verdicts:
            witness = None if verdict.witness is None else as_json(verdict.witness.json(c))
            known[logged.run, verdict.order] = (verdict.outcome, witness, verdict.unknown)
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


def table_of(lines: Sequence[str]) -> Any:
    rows = [plain_line(line) for line in lines]
    return pa.table([pa.array([r[k] for r in rows], kind) for k, kind in enumerate(plain_types())], names=list(COLUMNS))


def records_without_spark(
    lines: Sequence[str], reading: UnreceivedPolicy, *, witnesses: log_records.Witnesses = True
) -> list[dict[str, Any]]:
    """The records that the executors would make, without Spark."""
    blocks = defaultdict(list)
    for batch in log_blocks.packed([table_of(lines)], 5):
        blocks[batch["bucket"][0].as_py()].append(batch["block"][0].as_buffer())
    query = Query.of((), reading, witnesses)
    return [
        row for held in blocks.values() for batch in records_of_runs(log_blocks.unpacked(held), query)
        for row in batch.to_pylist()
    ]  # fmt: skip


def verdicts_in(records: Sequence[dict[str, Any]]) -> Known:
    return {
        (row["run"], row["order"]): (row["verdict"], row["witness"], row["because"])
        for row in records
        if row["record_type"] == "verdict"
    }


# -- without Spark -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(3))
def test_every_verdict_and_witness_is_that_of_classify(
    seed: int, reading: UnreceivedPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_blocks, "STRETCH", 700)  # so that runs are divided between blocks
    lines = random_log(seed, 600)
    records = records_without_spark(lines, reading)
    known = agree(verdicts_in(records), lines, reading)
    assert sum(row["rows"] for row in records if row["record_type"] == "judged") == len(lines)
    assert not [row for row in records if row["record_type"] == "quarantine"]
    seen = Counter((order, verdict) for (_, order), (verdict, _, _) in known.items())
    for order in ORDERS:
        assert seen[order, "kept"] > 100
        assert seen[order, "unknown"] > 10
        assert seen[order, "broken"] > 10 or order == "asynchronous"


@pytest.mark.parametrize("reading", READINGS)
def test_without_witnesses_the_verdicts_are_the_same(
    reading: UnreceivedPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the spec decides no whole run, with witnesses neither."""
    monkeypatch.delattr(log_records, "judge_run")
    lines = random_log(9, 500, holes=False)
    known = {key: verdict for key, (verdict, _, _) in by_classify(lines, reading).items()}
    found = verdicts_in(records_without_spark(lines, reading, witnesses=False))
    assert {key: verdict for key, (verdict, _, _) in found.items()} == known
    assert all(witness is None for _, witness, _ in found.values())
    # Of each order the first run that breaks it, by name, has its witness: of each bucket of runs, hence of all.
    found = verdicts_in(records_without_spark(lines, reading, witnesses="first"))
    assert {key: verdict for key, (verdict, _, _) in found.items()} == known
    assert all(
        sum(witness is not None for (_, of), (_, witness, _) in found.items() if of == order) <= 5 for order in ORDERS
    )
    agree(verdicts_in(records_without_spark(lines, reading)), lines, reading)
    for order in ORDERS:
        broken = [run for (run, of), verdict in known.items() if of == order and verdict == "broken"]
        assert all(found[run, order][1] is not None for run in sorted(broken)[:1])


def test_a_monitor_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Monitor.outcomes

    def wrong(monitor: Monitor, *orders: Any) -> Any:
        found = right(monitor, *orders)
        return np.where(found == KEPT, BROKEN, found)

    monkeypatch.setattr(Monitor, "outcomes", wrong)
    with pytest.raises(AssertionError, match=r"broken by the monitor, kept by the spec|no message shows \w+ broken"):
        records_without_spark(random_log(1, 20), "lost")
    with pytest.raises(AssertionError, match="no message shows asynchronous broken"):
        records_without_spark(random_log(1, 20, holes=False), "lost")


def event(process: str, index: int, kind: str, message: str = "x", peer: Any = None, run: str = "r") -> str:
    fields = {"run": run, "process": process, "index": index, "kind": kind, "message": message, "peer": peer}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


SEND, DELIVER = event("P1", 0, "send", peer="P2"), event("P2", 0, "deliver", peer="P1")


@pytest.mark.parametrize(
    ("bad", "quarantined", "reason"),
    [
        ("{", 1, "not JSON"),
        (event("P1", 1, "sent", peer="P2"), 1, "unknown kind"),
        (event("P1", -1, "internal"), 1, "'index' is -1"),
        (event("P1", 1, "send", "y"), 1, "'peer' is missing"),
        (event("P\n", 1, "internal"), 1, "'process' cannot be"),
        (DELIVER, 1, "P2 has two events 0, one a copy of the other"),
        (event("P2", 1, "deliver", peer="P1"), 3, "rows|delivers x twice|x"),
        (event("P1", 1, "send", peer="P2"), 2, "x is sent twice"),
        (event("P2", 0, "internal"), 2, "P2 has two events 0"),
        (event("P3", 0, "deliver"), 3, "P3 delivers x, which is sent to P2"),
        (event("P2", 1, "deliver", "z", peer="P3"), 0, ""),
        (event("P\ud800", 1, "internal"), 1, "'process' cannot be"),
        (event("P1", 1, "send", "y\udfff", peer="P2"), 1, "'message' cannot be"),
        (event("P1", 1, "send", "y", peer="P2\x1fP3"), 1, "'peer' cannot be"),
        (event("P2", 1, "deliver", "z", peer=""), 1, "'peer' cannot be"),
    ],
)
def test_an_unusable_row_is_reported_with_the_reason(bad: str, quarantined: int, reason: str) -> None:
    other = [event("P1", 0, "send", peer="P2", run="s"), event("P2", 0, "deliver", run="s")]
    records = records_without_spark([SEND, DELIVER, *other, bad], "lost")
    rows = [row for row in records if row["record_type"] == "quarantine"]
    judged = sum(row["rows"] for row in records if row["record_type"] == "judged")
    assert judged + len(rows) == 5
    if bad != event("P2", 1, "deliver", peer="P1"):
        assert len(rows) == quarantined
        assert all(reason in row["because"] for row in rows)
    else:
        assert [row["because"] for row in rows] == ["P2 delivers x twice"] * 2
    found = verdicts_in(records)
    assert {found["s", order][0] for order in ORDERS} == {"kept"}
    harmless = bad in ("{", DELIVER)  # a copy; a line without a known process
    assert {found["r", order][0] for order in ORDERS} == ({"kept"} if harmless else {"unknown"})


def test_a_broken_order_stays_broken_beside_unusable_rows() -> None:
    overtaken = [
        event("P1", 0, "send", "x", "P2"),
        event("P1", 1, "send", "y", "P2"),
        event("P2", 0, "deliver", "y"),
        event("P2", 1, "deliver", "x"),
        event("P3", 0, "odd"),
    ]
    found = verdicts_in(records_without_spark(overtaken, "lost"))
    assert found["r", "fifo"][0] == "broken"
    # Where the row that is lost may be the missing deliver, nothing is certain.
    perhaps = [*overtaken[:3], event("P2", 1, "odd", "x")]
    assert verdicts_in(records_without_spark(perhaps, "lost"))["r", "fifo"][0] == "unknown"


def test_a_cyclic_run_is_quarantined_whole() -> None:
    records = records_without_spark([event("P1", 0, "deliver"), event("P1", 1, "send", peer="P1")], "lost")
    rows = [row["because"] for row in records if row["record_type"] == "quarantine"]
    assert len(rows) == 2
    assert all("cyclic" in reason for reason in rows)
    assert not any("line" in reason for reason in rows), "rows of a dataset have no lines"


# -- live logs ---------------------------------------------------------------------------------------------------------


def test_a_run_that_breaks_an_order_is_reported_at_once_though_events_arrive_late_and_twice() -> None:
    query = Query.of(("fifo", "causal"), "lost", True)
    live = LiveRun()
    y = [event("P1", 1, "send", "y", "P2"), event("P2", 0, "deliver", "y", "P1")]
    assert list(add_events(live, "r", y, query)) == []  # what P1 did first is not here yet
    (copy,) = add_events(live, "r", y[:1], query)
    assert copy["record_type"] == "quarantine"
    assert copy["because"] == "P1 has two events 1, one a copy of the other"
    records = list(add_events(live, "r", [event("P1", 0, "send", "x", "P2")], query))
    assert [(row["order"], row["verdict"]) for row in records] == [("fifo", "broken"), ("causal", "broken")]
    assert json.loads(records[0]["witness"])["first"] == "x"
    records = list(end_run(live, "r", query))
    assert [row["record_type"] for row in records] == ["judged"]
    assert records[0]["rows"] == 3
    (late,) = add_events(live, "r", [event("P2", 1, "deliver", "x")], query)
    assert late["because"] == "it came after the run had ended"


def test_early_verdicts_on_a_live_run_hold_of_the_whole_run_and_the_end_reports_all() -> None:
    chance = Random(5)
    query = Query.of((), "lost", True)
    early = 0
    for k in range(200):
        lines = [json.dumps(e) for e in random_run(chance, f"run{k}", holes=False)]
        known = {key: verdict for key, (verdict, _, _) in by_classify(lines, "lost").items()}
        first = min(json.loads(line)["index"] for line in lines)
        chance.shuffle(lines)
        live = LiveRun()
        records: list[dict[str, Any]] = []
        while lines:
            live = LiveRun.unpacked(live.packed())
            records += add_events(live, f"run{k}", [lines.pop() for _ in range(min(3, len(lines)))], query, first=first)
            assert all(row["verdict"] == "broken" == known[f"run{k}", row["order"]] for row in records)
            early += bool(lines and records)
        records += end_run(live, f"run{k}", query)
        assert {key: verdict for key, (verdict, _, _) in verdicts_in(records).items()} == known
    assert early > 10


# -- on Spark ----------------------------------------------------------------------------------------------------------


def collected(judged: LogResult) -> Known:
    return {(r["run"], r["order"]): (r["verdict"], r["witness"], r["because"]) for r in judged.verdicts.collect()}


def test_a_log_of_lines_is_judged_as_by_classify(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    lines = random_log(21, 200)
    bad = ["[1]", event("P1", 0, "odd", run="odd")]
    tmp_path.joinpath("a.jsonl").write_text("\n".join([*lines[::2], bad[0]]), "utf-8")
    tmp_path.joinpath("b.jsonl").write_text("\n".join([*lines[1::2], "", " \t\r", bad[1]]), "utf-8")
    judged = judge(read(spark, str(tmp_path)))
    records = judged.records.persist()
    judged = LogResult(judged.events, records)
    odd = {("odd", order): ("unknown", None, "no row of it can be used") for order in ORDERS}
    found = collected(judged)
    agree({key: of for key, of in found.items() if key not in odd}, lines, "lost")
    assert {key: of for key, of in found.items() if key in odd} == odd
    assert judged.account() == (len(lines) + 2, len(lines), 2)
    assert {row["run"] for row in judged.quarantine.collect()} == {None, "odd"}
    assert judged.holes.count() > 10
    by_lines = judge_lines(spark, str(tmp_path), reading="lost")
    assert collected(by_lines) == collected(judged)
    assert by_lines.account() == judged.account()
    assert not isinstance(judged.events, int)
    with pytest.raises(AssertionError, match="rows were dropped"):
        LogResult(judged.events.unionAll(judged.events.limit(1)), records).account()
    records.unpersist()


def test_a_parquet_log_is_judged_as_by_classify(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    pq = pytest.importorskip("pyarrow.parquet")
    lines = random_log(22, 200, multicasts=False)
    rows = [json.loads(line) for line in lines]
    for k in range(3):
        names = [name for name in COLUMNS if name != "text"]
        table = pa.table({name: [row.get(name) for row in rows[k::3]] for name in names})
        pq.write_table(table, tmp_path / f"part-{k}.parquet", row_group_size=100)
    by_files = judge_parquet(spark, str(tmp_path), reading="pending")
    agree(collected(by_files), lines, "pending")
    assert by_files.account() == (len(lines), len(lines), 0)
    agree(collected(judge(spark.read.parquet(str(tmp_path)), reading="pending")), lines, "pending")
    with pytest.raises(BadInput, match="no column 'kind'"):
        judge(spark.read.parquet(str(tmp_path)).drop("kind"))


ROW = {"run": "r", "process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2"}


def parquet(path: Path, *rows: dict[str, Any]) -> None:
    pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(list(rows)), path)


def test_files_of_a_dataset_may_differ_and_none_is_left_out(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    multicast = [event("P1", 0, "send", peer=["P2", "P3"], run="s"), event("P3", 0, "deliver", run="s")]
    odd = event("P1", 0, "send", peer=["P2\x1fP3"], run="t")
    parquet(tmp_path / "a.parquet", ROW, {**ROW, "run": "u", "peer": "P2\x1fP3"})
    parquet(tmp_path / "b.pq", *({"peer": None, **json.loads(line)} for line in (*multicast, odd)))
    lines = [SEND, *multicast, odd, event("P1", 0, "send", peer="P2\x1fP3", run="u")]
    known = verdicts_in(records_without_spark(lines, "lost"))
    judged = judge_parquet(spark, str(tmp_path))
    assert collected(judged) == known
    assert judged.account() == (5, 3, 2)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there is no file in it"),
        ({"a.parquet": b"PAR1"}, "a.parquet: it cannot be read as Parquet: Parquet file size is 4 bytes"),
        ({"a.parquet": b""}, "a.parquet: it cannot be read as Parquet: Parquet file size is 0 bytes"),
        ({"a.parquet": [{**ROW, "index": 0.5}]}, "a.parquet: the column 'index' is of type double"),
        ({"a.parquet": [ROW], "b.parquet": [{"run": "r"}]}, "b.parquet: there is no column 'process'"),
        ({"a.parquet": [ROW], "b.jsonl": SEND.encode()}, "it holds Parquet files and others"),
        (
            {"a.csv": b"process,index"},
            "a.csv: Spark does not read CSV, but Parquet and JSON Lines; leave --engine spark",
        ),
    ],
)
def test_a_dataset_that_cannot_be_read_is_refused_before_anything_is_judged(
    files: dict[str, Any], message: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        else:
            parquet(tmp_path / name, *content)
    with pytest.raises(SystemExit) as exit_, patch("sys.stderr", StringIO()) as said:
        main(["classify", "--engine", "spark", str(tmp_path)])
    assert exit_.value.code == 2
    assert message in said.getvalue()
    assert said.getvalue().count("\n") == 1


def test_lines_that_are_no_text_are_quarantined(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    half = event("P\ud800", 0, "internal", run="s")
    (tmp_path / "log.jsonl").write_bytes("\n".join([SEND, DELIVER, half]).encode() + b"\n\xff\n")
    judged = judge(read(spark, str(tmp_path)), ["fifo"])
    found = {row["run"]: (row["row"], row["reason"]) for row in judged.quarantine.collect()}
    assert found.keys() == {"s", None}
    assert found["s"][0] == half
    assert found[None][0] == "\\xff"
    assert {row["run"]: row["verdict"] for row in judged.verdicts.collect()} == {"r": "kept", "s": "unknown"}


def test_a_column_named_text_is_ignored(spark: SparkSession) -> None:  # noqa: F811
    rows = [(*plain_line(line)[:-1], "clicked") for line in (SEND, DELIVER)]
    judged = judge(spark.createDataFrame(rows, ", ".join(f"{name} string" for name in COLUMNS).replace(
        "index string", "index long")), ["fifo"])  # fmt: skip
    assert [row["verdict"] for row in judged.verdicts.collect()] == ["kept"]
    assert judged.account() == (2, 2, 0)


def test_an_event_far_out_is_no_hole() -> None:
    far = [event("P1", 10**15, "internal"), event("P1", 10**15 + 1, "odd")]
    records = records_without_spark([SEND, DELIVER, *far], "lost")
    assert [row["because"] for row in records if row["record_type"] == "quarantine"] == ["unknown kind 'odd'"]
    assert sum(row["rows"] for row in records if row["record_type"] == "judged") == 3


@pytest.mark.parametrize("seed", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_one_large_run_is_judged_as_by_classify(seed: int, spark: SparkSession) -> None:  # noqa: F811
    chance = Random(seed)
    lines = [json.dumps(e) for e in random_run(chance, "r")]
    rows = [(*plain_line(line),) for line in [*lines, lines[0], event("P1", 99, "odd")]]
    from crownless.pipeline.logs.rows import PLAIN

    found = judge_one_run(spark.createDataFrame(rows, PLAIN), stretch=3)
    assert found.judged + found.quarantined == found.rows == len(lines) + 2
    assert found.quarantined == 2
    known = judge_run("r", [*lines, event("P1", 99, "odd")], tuple(ORDERS))
    for here, there in zip(found.order_verdicts, known.order_verdicts, strict=True):
        assert here.verdict == there.verdict or "at this size" in (here.because or ""), here.order


def test_clocks_in_the_log_decide_causal_order_row_by_row(spark: SparkSession) -> None:  # noqa: F811
    """[SES] Proposition 2; clocks that do not follow from each other decide nothing."""
    lines = random_log(30, 300, holes=False, multicasts=False)
    names = [f"P{p + 1}" for p in range(5)]
    rows: list[list[Any]] = []
    known: dict[str, str] = {}
    seen: Counter[str] = Counter()
    by_run: dict[str, list[Event]] = defaultdict(list)
    for line in lines:
        fields = json.loads(line)
        by_run[fields["run"]].append(fields)
    for logged in read_log(lines):
        c = logged.computation
        shown = readings(c, clock_named("vector-times"))
        base = int(logged.from_one)
        for fields in by_run[logged.run]:
            p = c.processes.index(fields["process"])
            time = shown[c.first_event[p] + fields["index"] - base].time
            clock = [time[c.processes.index(name)] if name in c.processes else 0 for name in names]
            rows.append([*(fields.get(key) for key in COLUMNS if key != "text"), clock])
        to_self = any(message.sender in message.receivers for message in c.messages)
        known[logged.run] = "unknown" if to_self else "kept" if decide(c, "causal").kept else "broken"
    wrong = next(row for row in rows if known[row[0]] != "unknown")
    wrong[-1] = [entry + 1 for entry in wrong[-1]]
    known[wrong[0]] = "unknown"
    shape = "run string, process string, index long, kind string, message string, peer string, clock array<long>"
    events = spark.createDataFrame([tuple(row) for row in rows], shape)
    found = judge_by_clocks(events, names, ("causal",)).verdicts.collect()
    assert {row["run"]: row["verdict"] for row in found} == known
    seen.update(known.values())
    assert min(seen[verdict] for verdict in ("kept", "broken", "unknown")) > 5
    assert all(json.loads(row["witness"])["kind"] == "late" for row in found if row["verdict"] == "broken")


def test_the_command_prints_a_summary_and_its_exit_code_is_the_verdict(
    spark: SparkSession,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join([SEND, DELIVER]), "utf-8")
    assert classify_on_spark(str(log), orders=("fifo",), out=str(tmp_path / "out")) == 0
    assert "2 rows, 2 judged, 0 not" in capsys.readouterr().out
    assert spark.read.parquet(str(tmp_path / "out")).where("record_type = 'verdict'").count() == 1
    with pytest.raises(BadInput, match="the folder exists already"):
        classify_on_spark(str(log), out=str(tmp_path / "out"))
    log.write_text("\n".join([SEND, event("P1", 1, "send", "y", "P2"), event("P2", 0, "deliver", "y")]), "utf-8")
    assert classify_on_spark(str(log), orders=("fifo", "causal"), as_json=True) == 1
    facts = json.loads(capsys.readouterr().out)["summary"]
    assert facts["orders"]["fifo"]["runs"] == {"kept": 0, "broken": 1, "unknown": 0}
    assert facts["orders"]["fifo"]["first_broken"]["witness"]["kind"] == "overtaking"
    log.write_text("\n".join([SEND, "{"]), "utf-8")
    assert classify_on_spark(str(log), orders=("fifo",)) == 3


@pytest.mark.slow
def test_a_live_log_on_spark(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    pytest.importorskip("google.protobuf")
    log = tmp_path / "log"
    log.mkdir()
    shape = "run string, process string, index long, kind string, message string, peer string"
    stream = judge_live(spark.readStream.schema(shape).json(str(log)), ("fifo",), idle_timeout=2)
    query = (
        stream.writeStream.format("memory")
        .queryName("records")
        .outputMode("append")
        .option("checkpointLocation", str(tmp_path / "state"))
        .start()
    )
    try:
        lines = [SEND, event("P1", 1, "send", "y", "P2"), event("P2", 0, "deliver", "y")]
        (log / "1.json").write_text("\n".join(lines), "utf-8")
        for _ in range(120):  # the stream goes on for as long as there are timers: it is never done
            query.awaitTermination(1)
            if spark.table("records").where("record_type = 'judged'").count():
                break
        found = spark.table("records").collect()
        assert [(row["record_type"], row["order"], row["verdict"], row["rows"]) for row in found] == [
            ("verdict", "fifo", "broken", None),
            ("judged", None, None, 3),
        ]
    finally:
        query.stop()
