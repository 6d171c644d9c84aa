"""Event logs on Spark: every verdict is that of `crownless classify`, and no row is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from command_line_runner import Answer, Crownless
from log_runs import Known, agree, by_classify, event, log, random_log, random_run

from crownless.command_line import main
from crownless.oracle.log_orders.damaged_runs import judge_run
from crownless.oracle.logs.event_logs import read_log
from crownless.oracle.logs.formats import LOST_UNSEEN
from crownless.oracle.logs.rows import COLUMNS
from crownless.runtime.errors import BadInput
from crownless.spec.clocks import clock_named, readings
from crownless.spec.orders import ORDERS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("pyspark")


from crownless.pipeline.logs.judging import LogResult, judge, judge_by_clocks, judge_one_run, read  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark")

SEND, DELIVER = event("P1", 0, "send", peer="P2"), event("P2", 0, "deliver", peer="P1")
ROW = {"run": "r", "process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2"}


def collected(judged: LogResult) -> Known:
    return {(r["run"], r["order"]): (r["verdict"], r["witness"], r["because"]) for r in judged.verdicts.collect()}


def written(path: Path, lines: Sequence[str]) -> str:
    path.write_text("\n".join(lines), "utf-8")
    return str(path)


def parquet(path: Path, *rows: dict[str, Any], group: int = 100) -> None:
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=group)


# -- many runs ---------------------------------------------------------------------------------------------------------


def test_a_log_of_lines_is_judged_as_by_classify(spark: SparkSession, tmp_path: Path) -> None:
    lines = random_log(21, 100)
    agree(collected(judge(read(spark, written(tmp_path / "whole.jsonl", lines)))), lines, "lost")
    half = event("P\ud800", 0, "internal", None, run="odd")
    (tmp_path / "torn").mkdir()
    written(tmp_path / "torn" / "a.jsonl", [*lines[::2], "[1]"])
    rest = "\n".join([*lines[1::2], "", " \t\r", half]).encode()
    (tmp_path / "torn" / "b.jsonl").write_bytes(rest + b"\n\xff\n")
    judged = judge(read(spark, str(tmp_path / "torn")))
    judged = LogResult(judged.count, judged.records.persist())
    found = collected(judged)
    odd = {("odd", order): ("unknown", None, "no row of it can be used") for order in ORDERS}
    assert {key: of for key, of in found.items() if key in odd} == odd
    for run in {run for run, _ in found} - {"odd"}:  # two rows name no run: they may be of any
        of_run = [line for line in lines if json.loads(line)["run"] == run]
        known = judge_run(run, [*of_run, "[1]", "\\xff"], tuple(ORDERS)).verdicts
        assert {order: found[run, order][0] for order in ORDERS} == {one.order: one.outcome for one in known}
    assert judged.account() == (len(lines) + 3, len(lines), 3)
    rows = {row["row"]: row["run"] for row in judged.left_out.collect()}
    assert rows == {half: "odd", "[1]": None, "\\xff": None}
    assert judged.holes.count() > 5
    with pytest.raises(AssertionError, match="rows were dropped"):
        LogResult(lambda: judged.count() + 1, judged.records).account()
    judged.records.unpersist()


def test_a_parquet_log_is_judged_as_by_classify(spark: SparkSession, tmp_path: Path) -> None:
    lines = random_log(22, 100, multicasts=False)
    rows = [{name: json.loads(line).get(name) for name in COLUMNS} for line in lines]
    for k in range(3):
        parquet(tmp_path / f"part-{k}.parquet", *rows[k::3])
    by_files = judge(read(spark, str(tmp_path)), reading="pending")
    agree(collected(by_files), lines, "pending")
    assert by_files.account() == (len(lines), len(lines), 0)
    frame = spark.read.parquet(str(tmp_path)).selectExpr("*", "'clicked' AS text")  # a column of its own purpose
    agree(collected(judge(frame, reading="pending")), lines, "pending")
    with pytest.raises(BadInput, match="'kind' is missing"):
        judge(frame.drop("kind"))


def test_files_of_a_dataset_may_differ_and_none_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    multicast = [event("P1", 0, "send", peer=["P2", "P3"], run="s"), event("P3", 0, "deliver", run="s")]
    unusable = event("P1", 0, "send", peer=["P2\x1fP3"], run="t")
    parquet(tmp_path / "a.parquet", ROW, {**ROW, "run": "u", "peer": "P2\x1fP3"})
    parquet(tmp_path / "b.pq", *({"peer": None, **json.loads(line)} for line in (*multicast, unusable)))
    judged = judge(read(spark, str(tmp_path)))
    found = collected(judged)
    assert {key: of for key, of in found.items() if key[0] in "rs"} == by_classify([SEND, *multicast], "lost")
    assert {of for key, of in found.items() if key[0] in "tu"} == {("unknown", None, "no row of it can be used")}
    assert judged.account() == (5, 3, 2)


def stamp(index: int) -> str:
    return f"2024-02-01T{index // 60:02}:{index % 60:02}:00.5+01:00"


@pytest.mark.parametrize(
    "stamped", [lambda k: 7 * k + 10**17, lambda k: 1.5 + k / 8, stamp], ids=["int", "float", "time"]
)
def test_a_column_orders_the_events(
    spark: SparkSession,
    tmp_path: Path,
    stamped: Callable[[int], Any],
) -> None:
    lines = random_log(23, 60, holes=False, multicasts=False)
    rows = [{"ts": stamped(row["index"]), **row} for row in map(json.loads, lines)]
    rows = [{name: row.get(name) for name in ("ts", *COLUMNS) if name != "index"} for row in rows]
    tied = [{**rows[0], "run": "tied", "message": name} for name in "ab"] + [{**rows[0], "run": "late", "ts": None}]
    parquet(tmp_path / "log.parquet", *rows, *tied)
    judged = judge(read(spark, str(tmp_path), "ts"))
    found = collected(judged)
    agree({key: of for key, of in found.items() if key[0] not in ("tied", "late")}, lines, "lost")
    reasons = sorted(row["reason"] for row in judged.left_out.collect())
    assert reasons[1:] == [f"{rows[0]['process']} has two events 0"] * 2
    assert reasons[0] == "'index' is missing"
    with pytest.raises(BadInput, match="unknown column 'at'"):
        read(spark, str(tmp_path), "at")
    written(tmp_path / "log.jsonl", [json.dumps(row) for row in rows])
    with pytest.raises(BadInput, match="--order-by with --engine spark is for Parquet"):
        read(spark, str(tmp_path / "log.jsonl"), "ts")


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (["1", "2024-01-01T00:00:00", "12:30:00", "-2.5"], [1, None, None, 0]),
        (["2024-01-01 12:00", "12:30:00", "2024-01-01T10:00:00,5", "2024-01-01T00:00:00Z"], [1, None, 0, None]),
        (["2024-01-01T00:00:00+02", "2024-01-01T00:00:00Z", "3", "2024-01-01"], [0, 1, None, None]),
        ([datetime(2024, 1, 2), datetime(2024, 1, 1), None], [1, 0, None]),
    ],
    ids=["numbers", "times", "times with a zone", "a column of times"],
)
def test_values_of_another_kind_than_most_have_no_place(
    spark: SparkSession, tmp_path: Path, crownless: Callable[..., Answer], values: list[Any], places: list[int | None]
) -> None:
    rows = [{**ROW, "message": f"{k}", "ts": value} for k, value in enumerate(values)]
    parquet(tmp_path / "log.parquet", *rows)
    found = read(spark, str(tmp_path), "ts").frame.select("message", "index").collect()
    assert [index for _, index in sorted(found)] == places
    options = (tmp_path, "--order-by", "ts", "--order", "fifo")
    facts = crownless(*options, "--json")
    assert facts.code == 3
    assert json.loads(facts.out)["summary"]["rows"]["left_out"] == places.count(None)
    assert json.loads(facts.out)["summary"]["notes"] == [LOST_UNSEEN]
    assert f"note: {LOST_UNSEEN}" in " ".join(crownless(*options).out.split())


def test_a_quarantined_row_of_no_known_run_is_noted(tmp_path: Path, crownless: Callable[..., Answer]) -> None:
    lines = random_log(5, 3, holes=False, multicasts=False)
    whole, cut = (written(tmp_path / name, [*lines, *more]) for name, more in (("a.jsonl", ()), ("b.jsonl", ("{",))))
    assert "without a run left out" not in crownless(whole).out
    answer = crownless(cut)
    said = "note: 1 row without a run left out; any run may lack them, so no order is known to be kept"
    assert said in " ".join(answer.out.split())
    assert re.search(r"fifo .* 0 +[0-9]+ +[0-9]+\n", answer.out), "no run is known to keep it"


# -- one run, clocks ---------------------------------------------------------------------------------------------------


def test_one_large_run_is_judged_as_by_classify(spark: SparkSession, tmp_path: Path) -> None:
    chance = Random(6)
    lines = [json.dumps(e) for e in random_run(chance, "r", holes=False)]
    chance.shuffle(lines)
    judged = judge_one_run(read(spark, written(tmp_path / "log.jsonl", [*lines, lines[0]])), stretch=3)
    known = by_classify(lines, "lost")
    assert {key: of[0] for key, of in collected(judged).items()} == {key: of[0] for key, of in known.items()}
    assert judged.account() == (len(lines) + 1, len(lines), 1)
    assert [row["reason"].endswith("one a copy of the other") for row in judged.left_out.collect()] == [True]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([SEND, DELIVER, "{"], {"kept", "unknown"}),
        ([*log("P1: x>P2 y>P2", "P2: y x"), event("P9", 4, "odd")], {"kept", "violated", "unknown"}),
        ([event("P1", 0, "odd")], {"unknown"}),
        ([SEND, event("P1", 1, "internal", None, run="s")], "of several runs, such as 'r' and 's'"),
        ([SEND, DELIVER, event("P2", 1, "deliver")], "P2 delivers x twice"),
        (log("P1: x y>P2", "P2: y x>P1"), "no linearization exists: P1 receives x waits for P2 receives y"),
    ],
)
def test_one_large_run_with_rows_that_cannot_be_used(
    lines: list[str], expected: set[str] | str, spark: SparkSession, tmp_path: Path
) -> None:
    source = read(spark, written(tmp_path / "log.jsonl", lines))
    if isinstance(expected, str):
        with pytest.raises(BadInput, match=expected):
            judge_one_run(source)
        return
    judged = judge_one_run(source)
    assert {verdict for verdict, _, _ in collected(judged).values()} == expected
    assert judged.account() == (len(lines), len(lines) - 1, 1)


def test_clocks_are_compared_with_the_messages_of_each_run(spark: SparkSession, tmp_path: Path) -> None:
    lines = random_log(30, 40, holes=False)
    clocked: list[dict[str, Any]] = []
    for logged in read_log(lines):
        c = logged.computation
        shown = readings(c, clock_named("vector-times"))
        of_run = [fields for fields in map(json.loads, lines) if fields["run"] == logged.run]
        for fields in of_run:
            p = c.processes.index(fields["process"])
            time = shown[c.first_event[p] + fields["index"] - int(logged.from_one)].time
            clocked.append({**fields, "clock": list(time)})
    known = {key: of[0] for key, of in by_classify(lines, "lost").items()}
    path = written(tmp_path / "log.jsonl", [json.dumps(fields) for fields in clocked])
    judged = judge_by_clocks(read(spark, path))
    assert {key: of[0] for key, of in collected(judged).items()} == known
    assert judged.account() == (len(lines), len(lines), 0)
    # A clock that contradicts the others, in one run, and one without a clock: nothing else is unknown.
    first, second = (next(e for e in clocked if e["run"] == run) for run in ("run0", "run1"))
    first["clock"], second["clock"] = [99] * len(first["clock"]), None
    parquet(tmp_path / "log.parquet", *_flat(clocked))
    found = {key: of[0] for key, of in collected(judge_by_clocks(read(spark, str(tmp_path / "log.parquet")))).items()}
    assert found == {key: "unknown" if key[0] in ("run0", "run1") else verdict for key, verdict in known.items()}


def _flat(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose peers are all lists, as a column of Parquet has them."""
    peers = [[row["peer"]] if isinstance(row.get("peer"), str) else row.get("peer") for row in rows]
    names = (*COLUMNS[:-1], "clock")
    return [{**{name: row.get(name) for name in names}, "peer": peer} for row, peer in zip(rows, peers, strict=True)]


# -- the command -------------------------------------------------------------------------------------------------------

#: P1 sends x to P2 and y to P3, P3 sends z to P2, where it overtakes x.
OVERTAKEN = log("P1: x>P2 y>P3", "P3: y z>P2", "P2: z x")


@pytest.fixture
def crownless(crownless: Crownless) -> Callable[..., Answer]:
    """`crownless classify --engine spark`."""
    return lambda *arguments: crownless("classify", "--engine", "spark", *map(str, arguments))


@pytest.mark.usefixtures("spark")
def test_the_command_prints_a_summary_and_its_exit_code_is_the_verdict(crownless: Any, tmp_path: Path) -> None:
    path, out = written(tmp_path / "log.jsonl", [SEND, DELIVER]), tmp_path / "out"
    code, printed, _ = crownless(path, "--order", "fifo", "--out", out)
    assert (code, "2 rows, 2 judged, 0 left out" in printed) == (0, True)
    assert len(pq.read_table(out / "record_type=verdict")) == 1
    code, printed, err = crownless(path, "--out", out)
    assert (code, printed, err) == (2, "", f"crownless: {out}: the folder exists already; name a new folder\n")
    written(tmp_path / "log.jsonl", OVERTAKEN)
    for mode in ((), ("--one-run",)):
        code, printed, err = crownless(path, "--json", *mode)
        assert (code, err) == (1, "")
        facts = json.loads(printed)["summary"]
        assert facts["rows"] == {"read": 6, "judged": 6, "left_out": 0}
        assert facts["orders"]["fifo"]["runs"] == {"kept": 1, "violated": 0, "unknown": 0, "nothing": 0}
        assert facts["orders"]["causal"]["first_violated"]["witness"]["kind"] == "overtaking"
    written(tmp_path / "log.jsonl", [SEND, "{"])
    assert crownless(path, "--order", "fifo")[0] == 3


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there is no file in it"),
        ({"a.parquet": b"PAR1"}, "a.parquet: it cannot be read as Parquet: Parquet file size is 4 bytes"),
        ({"a.parquet": [{**ROW, "index": 0.5}]}, "a.parquet: the column 'index' is of type double"),
        (
            {"a.parquet": [ROW], "b.parquet": [{"run": "r"}]},
            "b.parquet: 'process', 'index', 'kind', 'message' and 'peer' are missing",
        ),
        ({"a.parquet": [ROW], "b.jsonl": SEND.encode()}, "it holds Parquet files and others"),
        ({"a.csv": b"process,index"}, "a.csv: Spark reads Parquet and JSON Lines, not CSV; leave --engine"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_a_dataset_that_cannot_be_read_is_refused_before_anything_is_judged(
    files: dict[str, Any], message: str, tmp_path: Path, crownless: Any
) -> None:
    for name, content in files.items():
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        else:
            parquet(tmp_path / name, *content)
    code, out, err = crownless(tmp_path)
    assert (code, out, message in err, err.count("\n")) == (2, "", True, 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--one-run --live", ["--one-run", "--live"]),
        ("--idle-timeout 3", ["--idle-timeout", "--live"]),
        ("--live --max-lateness 3", ["--max-lateness", "--event-time"]),
        ("--processes P1", ["--processes", "--clocks"]),
        ("--live --idle-timeout 0", ["--idle-timeout"]),
    ],
)
def test_incompatible_options_are_refused(options: str, named: list[str], crownless: Any, tmp_path: Path) -> None:
    code, out, err = crownless(written(tmp_path / "log.jsonl", [SEND]), *options.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert all(option in err for option in named)


@pytest.mark.usefixtures("spark")
def test_out_of_the_plain_engine_has_the_same_records(
    crownless: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.dataset

    from crownless.oracle.log_orders import classify_file

    def records(folder: Path) -> tuple[Any, list[str], int]:
        rows = pyarrow.dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
        others = sorted(json.dumps(row, sort_keys=True) for row in rows if row["record_type"] != "judged")
        judged = sum(row["rows"] for row in rows if row["record_type"] == "judged")  # Spark has one of each task
        return sorted(rows[0]), others, judged

    with_hole = [line.replace('"r"', '"hole"') for k, line in enumerate(OVERTAKEN) if k != 2]
    kept = [line.replace('"r"', '"kept"') for line in OVERTAKEN[:4]]
    path = written(tmp_path / "log.jsonl", [*OVERTAKEN, *with_hole, *kept])
    assert crownless(path, "--out", tmp_path / "spark")[0] == 1
    for small_up_to in (3, 5_000):
        monkeypatch.setattr(classify_file, "SMALL_UP_TO", small_up_to)
        out = tmp_path / str(small_up_to)
        with pytest.raises(SystemExit, match="1"):
            main(["classify", path, "--out", str(out)])
        assert records(out) == records(tmp_path / "spark")
    assert sum('"record_type": "hole"' in row for row in records(out)[1]) > 0
