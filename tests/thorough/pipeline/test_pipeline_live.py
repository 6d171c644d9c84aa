"""Live logs: early verdicts are those of the events that are certain, and in the end those of all rows."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from command_line_runner import Crownless
from log_runs import event, log, random_run
from tiers import slow_where

from crownless.oracle.log_orders.damaged_runs import judge_run
from crownless.oracle.logs.reasons import Copy, Cyclic
from crownless.spec.orders import ORDERS, telling

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")


from crownless.pipeline.logs import live as live_logs  # noqa: E402
from crownless.pipeline.logs.live import LiveLog, LiveRun  # noqa: E402
from crownless.pipeline.logs.records import Query, Record  # noqa: E402
from crownless.pipeline.logs.sources import UNKNOWN_RUN  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark")

ALL, FIFO = Query.of((), "lost"), Query.of(("fifo",), "lost")
X, Y = event("P1", 0, "send", "x", "P2"), event("P1", 1, "send", "y", "P2")
Y_FIRST = event("P2", 0, "deliver", "y", "P1")


def spoilt(chance: Random, run: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """The run without an event, or with one that contradicts another or is none."""
    kind = chance.choice(["lost", "two in one place", "sent twice", "delivered twice", "sent elsewhere", "no event"])
    other = chance.choice(run)
    place = {"run": "r", "process": "P9", "index": 0}
    message = {"message": other.get("message", "m0")}
    if kind == "lost":
        return kind, [e for e in run if e is not other] or run
    added = {
        "two in one place": {**other, "kind": "internal" if other["kind"] != "internal" else "odd"},
        "sent twice": {**place, **message, "kind": "send", "peer": "P8"},
        "delivered twice": {**other, "index": 50},
        "sent elsewhere": {**place, **message, "process": "P7", "kind": "deliver"},
        "no event": {**place, "kind": "odd"},
    }
    return kind, [*run, added[kind]]


def certain(lines: Iterable[str], first: int) -> list[str]:
    """Of each line the events before the first one missing, each deliver after its send; counted from 0."""
    events = {(e["process"], e["index"]): e for e in map(json.loads, lines)}
    ends: defaultdict[str, int] = defaultdict(lambda: first)
    sent: set[Any] = set()
    moved = True
    while moved:
        moved = False
        for process in {p for p, _ in events}:
            e = events.get((process, ends[process]))
            if e is not None and (e["kind"] not in ("deliver", "receive") or e["message"] in sent):
                sent |= {e["message"]} if e["kind"] == "send" else set()
                ends[process] += 1
                moved = True
    return [json.dumps({**e, "index": k - first}) for (p, k), e in events.items() if first <= k < ends[p]]


def violated_by(lines: Sequence[str]) -> set[str]:
    verdicts = judge_run("r", lines, ALL.orders, "pending").verdicts if lines else []
    return {one.order for one in verdicts if one.outcome == "violated"}


def has_unusable_rows(lines: Sequence[str]) -> bool:
    """True if a row is unusable, or contradicts another."""
    return any(reason.kind not in (Copy, Cyclic) for _, reason in judge_run("r", lines, ()).quarantine)


def standing(records: Sequence[Record]) -> dict[str, str]:
    """The verdicts that stand after these records; a withdrawal precedes the verdict that replaces it."""
    stand: dict[str, str] = {}
    for row in records:
        if row["record_type"] == "withdrawn":
            assert stand.pop(row["order"]) == "violated"
            assert row["because"]
        elif row["record_type"] == "verdict":
            assert row["order"] not in stand
            stand[row["order"]] = row["verdict"]
    return stand


@pytest.mark.parametrize("seed", slow_where(lambda seed: seed > 1, range(1, 6)))
def test_standing_verdicts_are_those_of_the_certain_events_and_in_the_end_those_of_all_rows(seed: int) -> None:
    chance, seen = Random(seed), Counter[str]()
    for k in range(60):
        run = random_run(chance, "r", holes=False)
        while chance.random() < 0.8 and not violated_by([json.dumps(e) for e in run]):
            run = random_run(chance, "r", holes=False)
        kind, run = spoilt(chance, run) if chance.random() < 0.6 else ("none", run)
        lines = [json.dumps(e) for e in run]
        lines += [line for line in lines if chance.random() < 0.1]
        first = 1 if min(e["index"] for e in run) == 1 else 0
        if chance.random() < 0.7:
            chance.shuffle(lines)
        query = chance.choice([ALL, Query.of((), "pending")])
        live, records, received, clean = LiveRun("r", query, first), list[Record](), list[str](), True
        while len(received) < len(lines):
            batch = lines[len(received) : len(received) + chance.choice([1, 2, 5])]
            records += live.add(batch)
            received += batch
            clean = clean and not has_unusable_rows(received)
            if clean:
                known = violated_by(certain(received, first))
                assert standing(records) == dict.fromkeys(known, "violated"), (k, kind)
                seen["early"] += bool(known and len(received) < len(lines))
        seen["withdrawn"] += any(row["record_type"] == "withdrawn" for row in records)
        records += live.end()
        whole = judge_run("r", lines, query.orders, query.reading)
        assert standing(records) == {one.order: one.outcome for one in whole.verdicts}, (k, kind)
        assert sum(row["rows"] for row in records if row["record_type"] == "judged") == whole.judged
        quarantine = sorted(row["row"] for row in records if row["record_type"] == "left_out")
        assert quarantine == sorted(text for text, _ in whole.quarantine)
        seen[kind] += 1
    assert min(seen[kind] for kind in ("none", "lost", "no event", "sent twice", "early", "withdrawn")) > 1, seen


def facts(records: Iterable[Record]) -> list[tuple[Any, ...]]:
    return [
        (row["record_type"], row["order"] or row["row"] or row["rows"], row["verdict"] or row["because"])
        for row in records
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (event("P1", 0, "send", "z", "P3"), "P1 has two events 0"),
        (event("P3", 0, "deliver", "x"), "P3 delivers x, which is sent to P2"),
        (event("P2", 1, "odd"), "unknown kind 'odd'"),
    ],
)
def test_a_contradiction_withdraws_reported_verdicts_and_defers_all_others_to_the_end(line: str, reason: str) -> None:
    live = LiveRun("r", FIFO)
    assert facts(live.add([X, Y, Y_FIRST])) == [("verdict", "fifo", "violated")]
    assert facts(live.add([line])) == [("withdrawn", "fifo", reason)]
    crossed = [json.dumps({**json.loads(e), "process": p}) for e, p in ((X, "P4"), (Y, "P5"))]
    assert facts(live.add([*crossed, X])) == [("left_out", X, Copy("P1", 0).text)]
    assert facts(live.end())[0][:2] == ("verdict", "fifo")
    live = LiveRun("r", FIFO)
    assert facts(live.add([X, Y, Y_FIRST, line])) == []


def test_a_verdict_that_the_whole_run_does_not_support_is_withdrawn_in_the_end() -> None:
    live = LiveRun("r", FIFO)
    # If x may have been delivered among the missing events, it does not count as sent.
    assert facts(live.add([X, Y, Y_FIRST, event("P2", 5, "internal", None)])) == [("verdict", "fifo", "violated")]
    because = "not violated by what is logged; P2: events 1 to 4 are missing"
    assert facts(live.end())[:2] == [("withdrawn", "fifo", because), ("verdict", "fifo", "unknown")]


def test_orders_for_which_too_much_is_held_are_deferred_to_the_end_with_a_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_logs, "HELD_UP_TO", 400)
    live = LiveRun("r", ALL)
    # A message that is in flight for long, and after it others in turn.
    records = list(live.add([event("P2", 0, "send", "slow", "P3")]))
    for k in range(0, 300, 50):
        lines = [event("P2", 1 + j, "send", f"m{j}", "P1") for j in range(k, k + 50)]
        records += live.add([*lines, *(event("P1", j, "deliver", f"m{j}", "P2") for j in range(k, k + 50))])
    assert [(row["record_type"], row["order"]) for row in records] == [("later", order) for order in list(ORDERS)[3:]]
    assert live.monitor.named.keys() == {"slow"}
    # FIFO and causal order need no such room.
    records = list(live.add([event("P2", 301, "send", "last", "P3"), event("P3", 0, "deliver", "last")]))
    assert {row["order"]: row["verdict"] for row in records} == dict.fromkeys(telling(unicasts=True)[1:], "violated")


# -- many runs ---------------------------------------------------------------------------------------------------------


class Clock:
    """The machine's clock, in the hands of a test."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(live_logs, "monotonic", clock)
    return clock


def rows(*lines: str, at: float | None = None) -> list[tuple[str, str, float | None]]:
    return [(json.loads(line)["run"] if line != "{" else UNKNOWN_RUN, line, at) for line in lines]


def test_a_run_ends_when_the_stream_has_run_for_the_idle_timeout(clock: Clock, tmp_path: Path) -> None:
    records: list[Record] = []

    def live(**more: Any) -> LiveLog:
        return LiveLog(records.extend, ("fifo",), idle_timeout=6, checkpoint=tmp_path / "runs.pickle", **more)

    def poll(log: LiveLog, *pauses: float) -> list[str]:
        records.clear()
        for pause in pauses:
            clock.now += pause
            log.poll()
        return [row["record_type"] for row in records]

    first = live()
    first.add(0, rows(X, "{"))
    assert facts(records)[0][:2] == ("left_out", "{")
    # A batch, or a pause, that takes longer than the timeout counts for a part of it; so events may be waiting.
    assert poll(first, 1, 1, 1, 90) == []
    # Another start goes on where the state was saved; the time between does not count, nor a batch that comes again.
    clock.now += 90
    second = live()
    second.add(0, rows(X))
    second.add(1, rows(event("P2", 0, "deliver", peer="P1")))
    assert poll(second, 2, 2, 1.5) == []
    assert poll(second, 1) == ["verdict", "hole", "judged"]  # the row without a run may be of it
    second.add(2, rows(Y))
    assert facts(records)[-1] == ("left_out", Y, "it arrived after the run had ended")
    clock.now += 3600
    for _ in range(1800):
        poll(second, 2.1)
    records.clear()
    second.add(3, rows(X))  # begins a new run, since the end is forgotten
    assert records == []


def test_by_the_time_in_the_log_a_run_ends_when_later_events_have_come(clock: Clock) -> None:
    records: list[Record] = []
    live = LiveLog(records.extend, ("fifo",), idle_timeout=40, event_time="time", max_lateness=1)
    live.add(0, rows(X, at=0))
    live.add(1, rows(event("P2", 0, "deliver"), at=30))
    clock.now += 1000
    live.poll()
    other = event("P9", 0, "internal", None, run="other")
    live.add(2, rows(other, at=70.9))
    assert records == []
    live.add(3, rows(event("P9", 1, "internal", None, run="other"), at=71))
    assert [row["record_type"] for row in records] == ["verdict", "judged"]


def verdicts_after(records: Sequence[Record], run: str) -> dict[str, str]:
    """The verdicts on a run that stand after these records."""
    stand: dict[str, str] = {}
    for row in records:
        if row["run"] == run and row["record_type"] == "withdrawn":
            del stand[row["order"]]
        elif row["run"] == run and row["record_type"] == "verdict":
            stand[row["order"]] = row["verdict"]
    return stand


#: A message, and two of which the second overtakes the first, which is received or not.
KEPT = [event("P1", 0, "send", "x", "P2"), event("P2", 0, "deliver", "x")]
LATE_X = event("P2", 1, "deliver", "x", "P1")
OF_NO_RUN = '{"process": "P2", "index"'


@pytest.mark.parametrize(("run", "line"), [("r", event("P2", 1, "send", "late", "P1")), (UNKNOWN_RUN, OF_NO_RUN)])
@pytest.mark.parametrize(
    ("lines", "before", "after"),
    [
        (KEPT, {"kept"}, {"unknown"}),
        ([X, Y, Y_FIRST], {"violated"}, {"unknown"}),  # the late row could receive x
        ([X, Y, Y_FIRST, LATE_X], {"violated"}, {"violated"}),
        ([event("P1", 0, "internal")], {"nothing"}, {"unknown"}),
    ],
)
def test_a_row_that_comes_too_late_leaves_the_verdicts_that_it_could_change_unknown(
    run: str, line: str, lines: list[str], before: set[str], after: set[str]
) -> None:
    records: list[Record] = []
    live = LiveLog(records.extend, event_time="at", max_lateness=0, idle_timeout=10)
    live.add(0, [("r", one, 0.0) for one in lines])
    live.add(1, [("later", event("P1", 0, "internal"), 100.0)])
    ended = verdicts_after(records, "r")
    assert {ended["fifo"], ended["causal"]} == before
    live.add(2, [(run, line, 100.0)])
    found = verdicts_after(records, "r")
    assert {found["fifo"], found["causal"]} == after
    assert found.keys() == {*ORDERS}


def test_a_row_that_names_no_run_may_be_of_a_run_in_progress_and_of_one_that_begins_later() -> None:
    records: list[Record] = []
    live = LiveLog(records.extend, event_time="at", max_lateness=0, idle_timeout=10, retention=50)
    live.add(0, [("r", one, 0.0) for one in (X, Y, Y_FIRST, LATE_X)])
    assert verdicts_after(records, "r")["fifo"] == "violated"
    live.add(1, [(UNKNOWN_RUN, OF_NO_RUN, None)])
    assert verdicts_after(records, "r") == {}
    live.add(2, [("s", one, 1.0) for one in KEPT])
    live.add(3, [("t", one, 100.0) for one in KEPT])
    live.add(4, [("u", one, 200.0) for one in KEPT])
    live.add(5, [("v", event("P1", 0, "internal"), 300.0)])
    fifo = {run: verdicts_after(records, run)["fifo"] for run in "rstu"}
    assert fifo == {"r": "violated", "s": "unknown", "t": "unknown", "u": "kept"}


def test_rows_of_any_kind_become_lines_with_their_times() -> None:
    instant = 1704067201.5
    multicast = {"process": "P1", "index": 0, "kind": "send", "message": "x", "peer": ["P2", "P3"]}
    times = ["2024-01-01T00:00:01.5Z", "1704067201.5", instant, "soon", 1e300, None]
    known = [instant] * 3 + [None] * 3
    live = LiveLog(print, event_time="time")
    lines = [json.dumps({"run": "r", **multicast, "time": time}) for time in times]
    found = list(live.rows_of(pa.table({"value": [line.encode() for line in [*lines, " ", "["]]})))
    assert found == [*(("r", line, at) for line, at in zip(lines, known, strict=True)), (UNKNOWN_RUN, "[", None)]
    table = pa.Table.from_pylist([{**multicast, "run": None, "text": "ignored", "time": instant}])
    ((run, line, at),) = live.rows_of(table)
    assert (run, json.loads(line), at) == ("", multicast, instant)


def test_a_live_log_is_reported_until_an_interrupt(spark: SparkSession, tmp_path: Path, crownless: Crownless) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "log.jsonl").write_text("\n".join(log("P1: x>P2 y>P3", "P3: y z>P2", "P2: z x")), "utf-8")

    def interrupt() -> None:
        until = time.monotonic() + 120
        while not list(out.glob("*.parquet")) and time.monotonic() < until:
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    options = ["--engine", "spark", "--live", "--idle-timeout", "600", "--out", out, "--json"]
    code, printed, err = crownless("classify", str(folder), *map(str, options))
    thread.join()
    assert (code, err) == (1, f"crownless: judging files added to {folder}; Ctrl-C to stop\n")
    records = [json.loads(line)["update"] for line in printed.splitlines()]
    assert {(row["run"], row["order"], row["verdict"]) for row in records} == {
        ("r", order, "violated") for order in ("causal", "mailbox", "one-n", "n-n", "synchronous")
    }
    assert len(records) == spark.read.parquet(str(out)).count()
    assert crownless("classify", str(tmp_path / "nowhere"), "--engine", "spark", "--live").code == 2
