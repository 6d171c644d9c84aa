"""Live logs: early verdicts are those of the certain events, and the final verdicts are those of `judge_run`."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from time import sleep
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from crownless.model_check.logs.reasons import Copy, Cyclic
from crownless.pipeline.logs import live_run
from crownless.pipeline.logs.live_run import LiveRun, Record, RunState, add_events, end_run, on_batch, on_poll
from crownless.pipeline.logs.records import Query
from crownless.pipeline.logs.rows import UNKNOWN_RUN
from crownless.pipeline.logs.runs import judge_run
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from spark_session import spark  # noqa: F401
from test_pipeline_logs import event, random_run

from crownless.pipeline.logs import live as live_on_spark
from crownless.pipeline.logs.live import _lines, _require_state_store, judge_live, read_live, stop
from crownless.pipeline.logs.rows import plain_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark")

ALL = Query.of((), "lost", True)


# -- the records of one run --------------------------------------------------------------------------------------------


def spoilt(chance: Random, k: int, run: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """The run with a row that is lost, or with one more that contradicts another or cannot be used."""
    one, other = dict(chance.choice(run)), dict(chance.choice(run))
    place = {"run": one["run"], "process": one["process"], "index": 50}
    name = [*_SPOILT, *["lost"] * 6][k % 12]
    if name == "lost":
        late = [e for e in run if e["kind"] in ("deliver", "receive")] or run
        return name, [e for e in run if e is not late[-1]] or run
    if name == "two in one place":
        return name, [*run, {**one, "kind": "send", "message": "new", "peer": "P9"}]
    if name == "sent twice":
        return name, [*run, {**place, "kind": "send", "message": other.get("message", "m0"), "peer": "P2"}]
    if name == "sent by two":
        return name, [*run, {**place, "kind": "deliver", "message": other.get("message", "m0"), "peer": "P8"}]
    if name == "sent elsewhere":
        return name, [*run, {**place, "process": "P7", "kind": "deliver", "message": other.get("message", "m0")}]
    if name == "delivered twice":
        return name, [*run, {**other, "index": 50}]
    return name, [*run, {**place, "index": chance.randrange(6), "kind": "odd"}]


_SPOILT = ["two in one place", "sent twice", "sent by two", "sent elsewhere", "delivered twice", "junk"]


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


def broken_by(lines: Sequence[str]) -> set[str]:
    order_verdicts = judge_run("r", lines, ALL.orders, "pending").order_verdicts if lines else []
    return {order_verdict.order for order_verdict in order_verdicts if order_verdict.verdict == "broken"}


def has_unusable_rows(lines: Sequence[str]) -> bool:
    """True if a row is unusable, or contradicts another."""
    reasons = [reason for _, reason in judge_run("r", lines, ALL.orders).quarantine]
    return any(reason.kind not in (Copy, Cyclic) for reason in reasons)


def standing(records: Sequence[Record]) -> dict[str, str]:
    """The verdicts that stand after these records; a withdrawal precedes the verdict that replaces it."""
    stand: dict[str, str] = {}
    for row in records:
        if row["record_type"] == "withdrawn":
            assert stand.pop(row["order"]) == "broken"
            assert row["because"]
        elif row["record_type"] == "verdict":
            assert row["order"] not in stand
            stand[row["order"]] = row["verdict"]
    return stand


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_standing_verdicts_are_those_of_the_certain_events_and_in_the_end_those_of_all_rows(seed: int) -> None:
    chance = Random(seed)
    seen: Counter[str] = Counter()
    for k in range(200):
        run = random_run(chance, "r", holes=False)
        while chance.random() < 0.8 and not broken_by([json.dumps(e) for e in run]):
            run = random_run(chance, "r", holes=False)
        kind, run = spoilt(chance, k, run) if chance.random() < 0.6 else ("none", run)
        lines = [json.dumps(e) for e in run]
        lines += [line for line in lines if chance.random() < 0.1]
        base = 1 if min(e["index"] for e in run) == 1 else 0
        if chance.random() < 0.7:
            chance.shuffle(lines)
        query = chance.choice([ALL, Query.of((), "pending", True)])
        live, records, received = LiveRun(), list[Record](), list[str]()
        clean = True
        while len(received) < len(lines):
            batch = lines[len(received) : len(received) + chance.choice([1, 2, 5])]
            live = LiveRun.unpacked(live.packed())
            records += add_events(live, "r", batch, query, first=base)
            received += batch
            clean = clean and not has_unusable_rows(received)
            known = broken_by(certain(received, base)) if clean else set()
            assert standing(records) == dict.fromkeys(known, "broken"), (k, kind)
            seen["early"] += bool(known and len(received) < len(lines))
        seen["withdrawn, a contradiction"] += any(row["record_type"] == "withdrawn" for row in records)
        records += end_run(live, "r", query)
        whole = judge_run("r", lines, query.orders, query.reading)
        assert standing(records) == {
            order_verdict.order: order_verdict.verdict for order_verdict in whole.order_verdicts
        }, (k, kind)
        assert set(standing(records)) == set(ORDERS)
        # No row is lost, and none is reported twice.
        assert sum(row["rows"] for row in records if row["record_type"] == "judged") == whole.judged
        quarantine = sorted(row["row"] for row in records if row["record_type"] == "quarantine")
        assert quarantine == sorted(text for text, _ in whole.quarantine)
        assert {row["because"] for row in records if row["record_type"] == "hole"} == {
            hole.text for hole in whole.holes
        }
        seen[kind] += 1
    assert min(seen[kind] for kind in (*_SPOILT, "none", "lost", "early", "withdrawn, a contradiction")) > 3, seen


FIFO = Query.of(("fifo",), "lost", True)
X, Y = event("P1", 0, "send", "x", "P2"), event("P1", 1, "send", "y", "P2")
Y_FIRST = event("P2", 0, "deliver", "y", "P1")


def facts(records: Iterable[Record]) -> list[tuple[Any, ...]]:
    return [
        (row["record_type"], row["order"] or row["row"] or row["rows"], row["verdict"] or row["because"])
        for row in records
    ]


def test_a_contradiction_withdraws_reported_verdicts_and_defers_all_others_to_the_end() -> None:
    live, other = LiveRun(), event("P1", 0, "send", "z", "P3")
    assert facts(add_events(live, "r", [X, Y, Y_FIRST], FIFO)) == [("verdict", "fifo", "broken")]
    assert facts(add_events(live, "r", [other], FIFO)) == [("withdrawn", "fifo", "P1 has two events 0")]
    crossed = [event("P4", 0, "send", "a", "P5"), event("P4", 1, "send", "b", "P5"), event("P5", 0, "deliver", "b")]
    assert facts(add_events(live, "r", [*crossed, X], FIFO)) == [("quarantine", X, Copy("P1", 0).text)]
    records = list(end_run(live, "r", FIFO))
    assert facts(records)[0] == ("verdict", "fifo", "broken")
    assert json.loads(records[0]["witness"])["first"] == "a"
    live = LiveRun()
    assert facts(add_events(live, "r", [X, Y, Y_FIRST, other], FIFO)) == []
    assert facts(end_run(live, "r", FIFO))[0][:2] == ("verdict", "fifo")


def test_each_kind_of_contradiction_withdraws_reported_verdicts_with_the_reason() -> None:
    for line, reason in [
        (event("P2", 7, "deliver", "y"), "P2 delivers y twice"),
        (event("P1", 7, "send", "y", "P2"), "y is sent twice"),
        (event("P3", 7, "deliver", "x"), "P3 delivers x, which is sent to P2"),
        (event("P2", 7, "deliver", "x", "P3"), "x is said to be sent by P1 and by P3"),
        (event("P2", 7, "odd"), "unknown kind 'odd'"),
    ]:
        live = LiveRun()
        assert facts(add_events(live, "r", [X, Y, Y_FIRST], FIFO)) == [("verdict", "fifo", "broken")]
        assert facts(add_events(live, "r", [line], FIFO)) == [("withdrawn", "fifo", reason)]


def test_a_witness_says_whether_the_overtaken_message_was_delivered_later() -> None:
    for later in ([], [event("P2", 1, "deliver", "x")]):
        (records,) = add_events(LiveRun(), "r", [X, Y, Y_FIRST, *later], FIFO)
        witness = {"kind": "overtaking", "first": "x", "second": "y", "receiver": "P2", "first_received": bool(later)}
        assert json.loads(records["witness"]) == witness


def test_a_multicast_that_is_overtaken_breaks_causal_order_and_keeps_one_queue_a_sender() -> None:
    lines = [event("P1", 0, "send", "x", ["P2", "P3"]), event("P2", 0, "deliver"), event("P2", 1, "send", "y", "P3")]
    lines += [event("P3", 0, "deliver", "y"), event("P3", 1, "deliver", "x")]
    records = list(add_events(LiveRun(), "r", lines, ALL))
    assert set(standing(records)) == {"causal", "mailbox", "n-n", "synchronous"} == broken_by(lines)


def test_a_verdict_that_the_whole_run_does_not_support_is_withdrawn_in_the_end() -> None:
    live = LiveRun()
    # If x may have been delivered among the missing events, it does not count as sent.
    lines = [X, Y, Y_FIRST, event("P2", 5, "internal")]
    assert facts(add_events(live, "r", lines, FIFO)) == [("verdict", "fifo", "broken")]
    because = "not broken by what is logged; P2: events 1 to 4 are missing"
    assert facts(end_run(live, "r", FIFO))[:2] == [("withdrawn", "fifo", because), ("verdict", "fifo", "unknown")]


def test_a_log_with_another_first_index_raises_no_false_alarm() -> None:
    live = LiveRun()
    lines = [event("P1", 1, "send", "x", "P2"), event("P1", 2, "send", "y", "P2"), event("P2", 1, "deliver", "y")]
    assert facts(add_events(live, "r", lines, FIFO, first=1)) == [("verdict", "fifo", "broken")]
    assert facts(add_events(live, "r", [event("P2", 0, "deliver", "x")], FIFO, first=1)) == [
        ("withdrawn", "fifo", "P2 has an event 0, but events count from 1")
    ]
    live = LiveRun()
    assert facts(add_events(live, "r", lines, FIFO)) == []
    assert facts(end_run(live, "r", FIFO))[0] == ("verdict", "fifo", "broken")


def test_a_row_that_names_no_run_is_reported_at_once_and_not_kept() -> None:
    live = LiveRun()
    assert facts(add_events(live, UNKNOWN_RUN, ["{"], ALL)) == [
        ("quarantine", "{", "not JSON: Expecting property name enclosed in double quotes")
    ]
    assert live == LiveRun()


def test_the_rows_of_an_ended_run_are_dropped() -> None:
    live = LiveRun()
    list(add_events(live, "r", [X, Y, Y_FIRST, "{"], FIFO))
    assert facts(end_run(live, "r", FIFO))[-1] == ("judged", 3, None)
    assert live == LiveRun(RunState(ended=True))
    assert facts(add_events(live, "r", [X], FIFO)) == [("quarantine", X, "it came after the run had ended")]


# -- what a batch costs ------------------------------------------------------------------------------------------------


class Counting(dict[str, str]):
    """A store that counts its reads."""

    reads = 0

    def get(self, key: str, default: Any = None, /) -> Any:
        self.reads += 1
        return super().get(key, default)


def there_and_back(k: int) -> list[str]:
    """The k-th message of each of two processes to the other."""
    return [
        event("P1", 2 * k, "send", f"x{k}", "P2"),
        event("P2", 2 * k, "deliver", f"x{k}", "P1"),
        event("P2", 2 * k + 1, "send", f"y{k}", "P1"),
        event("P1", 2 * k + 1, "deliver", f"y{k}", "P2"),
    ]


@pytest.mark.parametrize("lost", [False, True])
def test_a_batch_costs_what_is_in_it_however_long_the_run_is(lost: bool) -> None:
    rows, messages = Counting(), Counting()
    live = LiveRun(rows=rows, messages=messages)
    records = list(
        add_events(live, "r", [event("P3", 0, "send", "never", "P1"), event("P3", 1, "send", "z", "P2")], ALL)
        if lost
        else []
    )
    costs = []
    for batch in range(20):
        lines = [line for k in range(25 * batch, 25 * batch + 25) for line in there_and_back(k)]
        rows.reads = messages.reads = 0
        known = len(json.dumps(vars(live.state)))
        records += add_events(live, "r", lines, ALL)
        costs.append((rows.reads, messages.reads, known // 500))
    assert len(rows) >= 2_000
    assert len(set(costs[2:])) == 1
    assert costs[-1] < (500, 500, 3)
    assert facts(records) == []


def test_orders_for_which_too_much_is_held_are_deferred_to_the_end_with_a_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_run, "HELD_UP_TO", 400)
    live = LiveRun()
    # A message that is in flight for long, and after it others in turn.
    records = list(add_events(live, "r", [event("P2", 0, "send", "slow", "P3")], ALL))
    for k in range(0, 300, 50):
        lines = [event("P2", 1 + j, "send", f"m{j}", "P1") for j in range(k, k + 50)]
        lines += [event("P1", j, "deliver", f"m{j}", "P2") for j in range(k, k + 50)]
        records += add_events(live, "r", lines, ALL)
    assert [(row["record_type"], row["order"]) for row in records] == [("later", order) for order in list(ORDERS)[3:]]
    assert live.state.named == {"0": "slow"}
    # FIFO and causal order need no such room.
    records = list(
        add_events(live, "r", [event("P2", 301, "send", "last", "P3"), event("P3", 0, "deliver", "last")], ALL)
    )
    assert {row["order"]: row["verdict"] for row in records} == dict.fromkeys(list(ORDERS)[1:], "broken")


# -- when a run has ended ----------------------------------------------------------------------------------------------


def ended_at(polls: Sequence[tuple[str, float]], idle_timeout: float = 6.0) -> int | None:
    """The poll (start of the stream, how overdue) at which a run has ended whose events arrived in the start 'a'."""
    known = RunState()
    on_batch(known, "a")
    return next((k for k, (start, late) in enumerate(polls) if on_poll(known, start, late, idle_timeout)), None)


def test_a_run_ends_after_the_idle_timeout_while_the_stream_ran() -> None:
    assert ended_at([("a", 0.5)] * 9) == 2
    # After another start the timeout begins again, however short the stop.
    assert ended_at([("a", 0.5), ("a", 0.5), *[("b", 0.5)] * 9]) == 5
    # So it does after a batch that takes too long; while all do no run ends.
    assert ended_at([("a", 0.5), ("a", 7.0), *[("a", 0.5)] * 9]) == 4
    assert ended_at([("a", 7.0)] * 99) is None


# -- on Spark ----------------------------------------------------------------------------------------------------------


def put(folder: Path, name: str, *lines: str) -> None:
    (folder / f".{name}").write_text("\n".join(lines), "utf-8")
    (folder / f".{name}").rename(folder / name)


def at(seconds: int, line: str) -> str:
    """The event with a time."""
    return json.dumps({**json.loads(line), "time": f"2024-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"})


class Stream:
    """A stream of what is put into a folder, to be stopped and started again."""

    def __init__(self, spark: SparkSession, folder: Path, **how: Any) -> None:  # noqa: F811
        self.spark, self.folder, self.how = spark, folder, how
        self.log = folder / "log"
        self.log.mkdir()
        self.records: dict[int, list[Any]] = {}

    def start(self) -> StreamingQuery:
        def keep(batch: DataFrame, number: int) -> None:
            self.records[number] = batch.collect()

        lines = read_live(self.spark, str(self.log), files_at_once=1)
        out = judge_live(lines, ("fifo", "synchronous"), **self.how).writeStream.foreachBatch(keep)
        out = out.option("checkpointLocation", str(self.folder / "state"))
        return out.trigger(processingTime="300 milliseconds").start()

    def until(self, query: StreamingQuery, record_type: str, run: str | None) -> list[Any]:
        for _ in range(600):
            found = [row for rows in self.records.values() for row in rows if row["run"] == run]
            if any(row["record_type"] == record_type for row in found):
                return found
            assert query.exception() is None
            sleep(0.1)
        raise AssertionError(f"there are no records of {run}: {self.records}")


@pytest.mark.parametrize(
    "how", [{"idle_timeout": 4}, {"idle_timeout": 40, "event_time": "time", "max_lateness": 1}], ids=["clock", "log"]
)
def test_a_run_is_not_ended_by_a_stop_while_its_events_wait_in_the_source(
    how: dict[str, Any],
    spark: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    pytest.importorskip("google.protobuf")
    partitions = spark.conf.get("spark.sql.shuffle.partitions") or "4"
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    stream = Stream(spark, tmp_path, **how)
    put(stream.log, "1.json", at(0, X), "{")
    query = stream.start()
    try:
        (unreadable,) = stream.until(query, "quarantine", None)
        assert unreadable["row"] == "{"
        stop(query)
        sleep(0 if "event_time" in how else how["idle_timeout"])
        put(stream.log, "2.json", at(31, event("P9", 0, "internal", run="other")))
        put(stream.log, "3.json", at(32, event("P2", 0, "deliver", "x", "P1")))
        query = stream.start()
        if "event_time" in how:  # nothing but later events ends a run
            put(stream.log, "4.json", at(90, event("P9", 1, "internal", run="other")))
        records = stream.until(query, "verdict", "r")
        assert [(row["order"], row["verdict"]) for row in records] == [("fifo", "kept"), ("synchronous", "kept")]
        put(stream.log, "5.json", at(33, event("P2", 1, "internal")))
        (_, _, late) = stream.until(query, "quarantine", "r")
        assert late["because"] == "it came after the run had ended"
    finally:
        stop(query)
        spark.conf.set("spark.sql.shuffle.partitions", partitions)


def test_rows_of_any_kind_become_lines_with_their_times(spark: SparkSession) -> None:  # noqa: F811
    instant = 1704067201500
    multicast = event("P1", 0, "send", "x", ["P2", "P3"])
    times = ["2024-01-01T00:00:01.5Z", "1704067201.5", 1704067201.5, "soon", 1e300, None]
    known = [instant] * 3 + [None] * 3
    lines = [json.dumps({**json.loads(multicast), "time": time}) for time in times]
    as_text = spark.createDataFrame([(line,) for line in [*lines, " ", "["]], "value string")
    found = _lines(as_text, "time", 1).collect()
    assert [tuple(row) for row in found[:6]] == [("r", line, at) for line, at in zip(lines, known, strict=True)]
    assert [tuple(row) for row in found[6:]] == [(UNKNOWN_RUN, "[", None)]

    shape = (
        "run int, process string, index int, kind string, message string, peer array<string>, text string, time double"
    )
    row = (None, "P1", 0, "send", "x", ["P2", "P3"], "ignored", 1704067201.5)
    ((run, line, time),) = _lines(spark.createDataFrame([row], shape), "time", 1).collect()
    without_run = {name: value for name, value in json.loads(multicast).items() if name != "run"}
    assert (run, json.loads(line), time) == ("", without_run, instant)
    with pytest.raises(BadInput, match="no column 'when'"):
        _lines(spark.createDataFrame([row], shape), "when", 1)
    with pytest.raises(BadInput, match="the column 'process' is of type int"):
        _lines(spark.createDataFrame([(1,)], "process int"), None, 1)

    rows = plain_lines(spark.createDataFrame([(multicast,), ("[",)], "value string"))
    ((run, line, time), odd) = _lines(rows, None, 1).collect()
    assert (run, json.loads(line), time) == ("r", json.loads(multicast), None)
    assert tuple(odd) == (UNKNOWN_RUN, "[", None)


def test_missing_requirements_are_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"spark.app.name": "mine"}
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=settings.get, set=settings.__setitem__))
    pytest.importorskip("google.protobuf")
    with pytest.raises(BadInput, match="no state store for live runs") as refused:
        _require_state_store(session)
    assert settings == {"spark.app.name": "mine"}
    assert refused.value.hint is not None
    exec(refused.value.hint, {"spark": session})
    _require_state_store(session)  # as the hint says
    ours = {"spark.app.name": "crownless"}
    our_session: Any = SimpleNamespace(conf=SimpleNamespace(get=ours.get, set=ours.__setitem__))
    _require_state_store(our_session)
    assert len(ours) == 2
    with pytest.raises(BadInput, match="there is no such folder"):
        read_live(session, str(tmp_path / "nowhere"))
    monkeypatch.setattr(live_on_spark, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="protobuf, which is missing"):
        _require_state_store(session)
