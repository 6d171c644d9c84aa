"""What a log does not say: receivers that are not named, and orders of no message at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from log_rows import KEPT_BY_UNICASTS

import crownless as cr
from crownless.oracle.log_orders import streaming
from crownless.oracle.log_orders.classification import Classification
from crownless.oracle.log_orders.classified import ClassifiedLog
from crownless.oracle.log_orders.classify_file import LogRequest, classify_file
from crownless.oracle.log_orders.damaged_runs import judge_run
from crownless.oracle.log_orders.large_run import RunMonitor
from crownless.oracle.log_orders.monitor import UNDECIDED
from crownless.oracle.logs.columns import table_of_rows
from crownless.oracle.logs.lines import rows_of_lines
from crownless.runtime.errors import Undecided
from crownless.spec.orders import ORDERS

#: Sends do not name their receivers, and the lines have no index.
NO_RECEIVERS = ("--column", "peer=-", "--order-by", "line")
ASSUMPTION = "the log does not say whether it is one of its receivers"


def written(folder: Path, events: Sequence[tuple[str, str, str]], more: int = 0) -> str:
    """A log of these events, each a process, a kind and a message, and so many internal ones."""
    rows = [{"process": p, "kind": kind, "message": message} for p, kind, message in events]
    rows += [{"process": "idle", "kind": "internal"}] * more
    file = folder / "log.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return str(file)


def sent(sender: str, message: str, *receivers: str) -> list[tuple[str, str, str]]:
    return [(sender, "send", message), *((receiver, "deliver", message) for receiver in receivers)]


MISSED = [*sent("a", "a1", "b", "c"), *sent("a", "a2", "b"), *sent("a", "a3", "b", "c")]


@pytest.mark.parametrize("more", [0, 6_000])
@pytest.mark.parametrize("option", [(), ("--complete",), ("--unreceived", "pending"), ("--skip-bad",)])
def test_a_subscriber_that_misses_a_message_leaves_the_orders_unknown(
    more: int, option: tuple[str, ...], crownless: Crownless, tmp_path: Path
) -> None:
    answer = crownless("classify", written(tmp_path, MISSED, more), *NO_RECEIVERS, *option, "--json")
    assert answer.code == 3
    for order, found in answer.json["orders"].items():
        assert found["verdict"] == ("kept" if order == "asynchronous" else "unknown")
        if order != "asynchronous":
            assert answer.json["unknown"][order] == f"c delivers other messages from a and not a2: {ASSUMPTION}"


def test_a_violation_by_the_receivers_that_are_known_stands(crownless: Crownless, tmp_path: Path) -> None:
    events = [*sent("a", "a1"), *sent("a", "a2", "b", "c"), ("b", "deliver", "a1")]
    answer = crownless("classify", written(tmp_path, events), *NO_RECEIVERS, "--json")
    assert answer.code == 1
    assert answer.json["orders"]["fifo"]["verdict"] == "violated"


@pytest.mark.parametrize(
    ("events", "total"),
    [
        ([*sent("a", "a1", "b", "c"), *sent("a", "a2", "b", "c")], "kept"),
        # a chat, in which a sender does not deliver its own
        ([*sent("a", "a1", "b"), *sent("b", "b1", "a")], "nothing"),
        ([*sent("a", "a1", "b"), *sent("d", "d1", "c")], "nothing"),
    ],
)
def test_without_a_process_that_misses_any_the_orders_are_kept(
    events: Sequence[tuple[str, str, str]], total: str, crownless: Crownless, tmp_path: Path
) -> None:
    answer = crownless("classify", written(tmp_path, events), *NO_RECEIVERS, "--json")
    outcomes = {order: found["verdict"] for order, found in answer.json["orders"].items()}
    assert outcomes == KEPT_BY_UNICASTS | {"total": total}


def test_whoever_delivers_its_own_messages_may_miss_one(crownless: Crownless, tmp_path: Path) -> None:
    events = [*sent("a", "a1", "a", "b"), *sent("a", "a2", "b")]
    answer = crownless("classify", written(tmp_path, events), *NO_RECEIVERS, "--json")
    assert answer.json["unknown"]["fifo"].startswith("a delivers other messages from a and not a2")


def otlp(topics: dict[str, str]) -> bytes:
    """Two messages of one producer, each with a consumer of its own."""

    def of(service: str, spans: list[dict[str, Any]]) -> dict[str, Any]:
        attributes = [{"key": "service.name", "value": {"stringValue": service}}]
        return {"resource": {"attributes": attributes}, "scopeSpans": [{"spans": spans}]}

    def span(number: int, kind: int, parent: str = "", topic: str = "") -> dict[str, Any]:
        attributes = [{"key": "messaging.destination.name", "value": {"stringValue": topic}}] * bool(topic)
        of_trace = {"traceId": "t", "spanId": f"s{number}", "parentSpanId": parent}
        return {**of_trace, "kind": kind, "startTimeUnixNano": str(number), "attributes": attributes}

    sends = [span(1, 4, topic=topics.get("s1", "")), span(2, 4, topic=topics.get("s2", ""))]
    consumers = [of("b", [span(3, 5, "s1")]), of("c", [span(4, 5, "s2")])]
    return json.dumps({"resourceSpans": [of("a", sends), *consumers]}).encode()


def test_consumers_of_another_topic_miss_nothing(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "log.otlp"
    for topics, verdict in (({}, "unknown"), ({"s1": "x", "s2": "x"}, "unknown"), ({"s1": "x", "s2": "y"}, "kept")):
        file.write_bytes(otlp(topics))
        assert crownless("classify", str(file), "--json").json["orders"]["fifo"]["verdict"] == verdict


# -- nothing to judge --------------------------------------------------------------------------------------------------

IDLE = [json.dumps({"process": "P1", "index": k, "kind": "internal"}) for k in range(3)]


def outcomes_of(found: Classification) -> set[str]:
    return {*found.outcomes.values()}


def test_orders_of_no_message_are_not_kept_in_python() -> None:
    found = cr.classify("P1: ...\nP2: ...")
    assert outcomes_of(found) == {"nothing"}
    assert (found.kept, found.strongest) == ([], [])
    assert "nothing to judge, there is no message to judge" in str(found)
    with pytest.raises(Undecided):
        bool(found)
    recorder = cr.Recorder()
    recorder.internal("P1")
    assert recorder.verdict("causal").outcome == "nothing"
    assert {verdict.outcome for verdict in recorder.verdicts().values()} == {"nothing"}
    assert "nothing to judge" in repr(recorder.verdict("causal"))


@pytest.mark.parametrize("more", [0, 6_000])
@pytest.mark.parametrize("option", [(), ("--one-run",), ("--skip-bad",), ("--order", "fifo")])
def test_orders_of_no_message_are_not_kept_in_a_file(
    more: int, option: tuple[str, ...], crownless: Crownless, tmp_path: Path
) -> None:
    file = tmp_path / "log.jsonl"
    idle = (json.dumps({"process": "P2", "index": k, "kind": "internal"}) for k in range(more))
    file.write_text("\n".join([*IDLE, *idle]), "utf-8")
    answer = crownless("classify", str(file), *option, "--json")
    assert answer.code == 3
    assert {found["verdict"] for found in answer.json["orders"].values()} == {"nothing"}
    assert answer.json["strongest"] == []
    assert "nothing to judge: there is no message to judge" in crownless("classify", str(file), *option).out


def test_of_many_runs_those_without_a_message_are_counted_apart(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    lines = [json.dumps({"run": f"r{k}", "process": "P1", "index": 0, "kind": "internal"}) for k in range(6_000)]
    file.write_text("\n".join(lines), "utf-8")
    log = classify_file(LogRequest(str(file), tuple(ORDERS), "lost"))
    assert isinstance(log, ClassifiedLog)
    assert log.counts("fifo")["nothing"] == 6_000
    answer = crownless("classify", str(file))
    assert answer.code == 3
    assert "nothing" in answer.out.splitlines()[1]


def test_a_run_without_a_message_is_not_kept_by_a_task_or_a_live_log() -> None:
    assert {one.outcome for one in judge_run("r", IDLE, tuple(ORDERS)).verdicts} == {"nothing"}


@pytest.mark.parametrize("more", [0, 6_000])
def test_a_complete_log_that_records_no_sends_shows_nothing(more: int, crownless: Crownless, tmp_path: Path) -> None:
    name = written(tmp_path, [("group", "deliver", "140"), ("group", "deliver", "102")], more)
    answer = crownless("classify", name, *NO_RECEIVERS, "--complete", "--json")
    assert answer.code == 3
    assert {found["verdict"] for found in answer.json["orders"].values()} == {"nothing"}
    assert {found["verdict"] for found in answer.json["properties"].values()} == {"nothing"}


def test_what_is_delivered_twice_is_a_violation_without_sends_too(crownless: Crownless, tmp_path: Path) -> None:
    name = written(tmp_path, [("group", "deliver", "140"), ("group", "deliver", "140")])
    answer = crownless("classify", name, *NO_RECEIVERS, "--complete", "--json")
    assert answer.code == 1
    assert answer.json["properties"]["delivers-once"]["verdict"] == "violated"


# -- what no step decided ----------------------------------------------------------------------------------------------


def test_an_order_that_no_step_of_the_streaming_monitor_decided_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        json.dumps({"process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2"}),
        json.dumps({"process": "P2", "index": 0, "kind": "deliver", "message": "x"}),
    ]

    def judged() -> Classification:
        run = RunMonitor("log", tuple(ORDERS), "lost")
        run.add(table_of_rows([*rows_of_lines(lines)]))
        return run.classification()

    assert judged().outcomes == KEPT_BY_UNICASTS

    def undecided(*given: Any) -> None:
        given[-1][:] = UNDECIDED

    monkeypatch.setattr(streaming, "decide", undecided)
    found = judged()
    assert {order for order, outcome in found.outcomes.items() if outcome == "kept"} == {"asynchronous"}
    assert found["fifo"].because == "not decided: no step of the monitor decided it"


def unicasts_and_multicasts(folder: Path, *receivers: str, more: int = 0) -> str:
    """A log of one message to these receivers."""
    rows: list[dict[str, Any]] = [{"process": "a", "index": 0, "kind": "send", "message": "m", "peer": [*receivers]}]
    rows += [{"process": receiver, "index": 0, "kind": "deliver", "message": "m"} for receiver in receivers]
    rows += [{"process": "idle", "index": k, "kind": "internal"} for k in range(more)]
    file = folder / f"{'-'.join(receivers)}.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return str(file)


@pytest.mark.parametrize(("option", "more"), [((), 0), ((), 6_000), (("--one-run",), 0)])
def test_total_order_of_messages_with_one_receiver_each_is_nothing_to_judge(
    option: tuple[str, ...], more: int, crownless: Crownless, tmp_path: Path
) -> None:
    to_one = unicasts_and_multicasts(tmp_path, "b", more=more)
    answer = crownless("classify", to_one, *option, "--json")
    outcomes = {order: found["verdict"] for order, found in answer.json["orders"].items()}
    assert outcomes == KEPT_BY_UNICASTS
    assert answer.code == 0, "the orders that say something of it are kept"
    answer = crownless("classify", to_one, *option, "--order", "total")
    assert answer.code == 3
    assert "nothing to judge: no message has several receivers" in answer.out
    assert crownless("classify", to_one, *option, "--order", "causal", "--order", "total").code == 3
    answer = crownless("classify", unicasts_and_multicasts(tmp_path, "b", "c", more=more), *option, "--order", "total")
    assert answer.code == 0


def test_records_say_why_there_is_nothing_to_judge(crownless: Crownless, tmp_path: Path) -> None:
    import pyarrow.dataset as ds

    out = tmp_path / "out"
    assert crownless("classify", unicasts_and_multicasts(tmp_path, "b", more=6_000), "--out", str(out)).code == 0
    rows = ds.dataset(out, partitioning="hive").to_table().to_pylist()
    why = {row["order"]: (row["verdict"], row["because"]) for row in rows if row["record_type"] == "verdict"}
    assert why["total"] == ("nothing", "no message has several receivers")
    assert why["causal"] == ("kept", None)
