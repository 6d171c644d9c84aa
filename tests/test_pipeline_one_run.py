"""One large run on Spark, walked: small logs, whose verdicts and witnesses are known by hand, and random ones.

Every verdict is also compared with that of the spec (`judge_run`); every unusable row has its reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from one_run_logs import (
    OVERTAKEN,
    _without_compiling,  # noqa: F401
    event,
    frame,
    log,
)

from crownless.model_check.event_logs import read_log
from crownless.model_check.logs.reasons import ALL as KINDS
from crownless.model_check.logs.reasons import AfterEnd, BeforeFirst, ByClock, Cyclic, reason_in
from crownless.pipeline.logs import live_run
from crownless.pipeline.logs.judging import LogResult, judge
from crownless.pipeline.logs.live_run import LiveRun, add_events, end_run
from crownless.pipeline.logs.one_run import (
    OneRunResult,
    judge_one_run,
)
from crownless.pipeline.logs.records import Query
from crownless.pipeline.logs.runs import judge_run
from crownless.spec.computation import Computation
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
from spark_session import spark  # noqa: F401
from test_pipeline_logs import random_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark"),
    pytest.mark.usefixtures("_without_compiling"),
]


def unusable_rows_and_holes(judged: LogResult) -> tuple[list[tuple[str, ...]], set[str]]:
    """The rows in quarantine with the reasons, and the holes."""
    return sorted((r["row"], r["reason"]) for r in judged.quarantine.collect()), {
        r["hole"] for r in judged.holes.collect()
    }


def differences(found: OneRunResult, lines: Sequence[str], reading: UnreceivedPolicy) -> list[str]:
    """The orders of which the spec says otherwise, but for those that are not decided at this size."""
    known = judge_run("r", lines, tuple(ORDERS), reading).order_verdicts
    return [
        here.order
        for here, there in zip(found.order_verdicts, known, strict=True)
        if here.verdict != there.verdict and "at this size" not in (here.because or "")
    ]


# -- small logs --------------------------------------------------------------------------------------------------------


def overtaking(first: str, second: str, receiver: str, *, received: bool = True) -> dict[str, Any]:
    return {
        "kind": "overtaking", "first": first, "second": second, "receiver": receiver, "first_received": received,
    }  # fmt: skip


def crown(*messages: str) -> dict[str, Any]:
    return {"kind": "crown", "messages": list(messages)}


def cycle(*events: str) -> dict[str, Any]:
    return {"kind": "cycle", "cycle": list(events)}


def round_(witness: dict[str, Any]) -> dict[str, Any]:
    """The facts of a witness: crowns and cycles begin with the first by name, without the reasons for each step."""
    facts = {key: value for key, value in witness.items() if key not in ("chain", "links", "derived")}
    for name in ("messages", "cycle"):
        if name in facts:
            steps = [step["before"] if isinstance(step, dict) else step for step in facts[name]]
            k = steps.index(min(steps))
            facts[name] = [*steps[k:], *steps[:k]]
    return facts


def unreceived(message: str, receiver: str) -> dict[str, Any]:
    return {"kind": "unreceived", "message": message, "receiver": receiver}


class Small(NamedTuple):
    """A log; what breaks each order that is broken; which orders are unknown (all others are kept)."""

    lines: list[str]
    broken: dict[str, dict[str, Any]]
    unknown: str = ""
    holes: set[str] = set()
    reasons: list[str] = []
    reading: UnreceivedPolicy = "lost"


ALL = " ".join(ORDERS)
BUT_FIFO_AND_CAUSAL = "mailbox one-n n-n synchronous"
X_BEFORE_Y = dict.fromkeys(("fifo", "causal", *BUT_FIFO_AND_CAUSAL.split()), overtaking("x", "y", "P2"))

#: a from P1 is not received, b from P1 is.
LOST = log("P1: a>P3 b>P2", "P2: b", "P3: -")
B_BEFORE_A = overtaking("a", "b", "P2", received=False)
BEHIND_A = {"one-n": B_BEFORE_A, "n-n": cycle("P1 sends a", "P1 sends b"), "synchronous": unreceived("a", "P3")}
CROSSED = log("P1: x>P2 y", "P2: y>P1 x")
CROWN = {"synchronous": crown("x", "y")}

SMALL = {
    "nothing but a message": Small(log("P1: x>P2", "P2: x<P1"), {}),
    "lines that count from one": Small(log("P1: x>P2", "P2: x", first=1), {}),
    "no message at all": Small(log("P1: - -"), {}),
    "the second of a channel overtakes": Small(OVERTAKEN, X_BEFORE_Y),
    "and the first is never received": Small(
        log("P1: x>P2 y>P2", "P2: y"),
        dict.fromkeys(X_BEFORE_Y, overtaking("x", "y", "P2", received=False)),
    ),
    "a message overtakes one from which it comes": Small(
        log("P1: x>P3 y>P2", "P2: y z>P3", "P3: z x"),
        dict.fromkeys(("causal", *BUT_FIFO_AND_CAUSAL.split()), overtaking("x", "z", "P3")),
    ),
    "two messages cross": Small(CROSSED, CROWN),
    "three messages go round": Small(
        log("P1: x>P2 z", "P2: y>P3 x", "P3: z>P1 y"),
        {"synchronous": crown("x", "z", "y")},
    ),
    "a message to oneself encloses another": Small(
        log("P1: x>P1 y>P2 x", "P2: y"), {"synchronous": crown("x", "y")},
    ),
    "two senders' messages are received crosswise": Small(
        log("P1: x>P3 a>P4", "P2: b>P4 y>P3", "P3: y x", "P4: a b"), {
            "mailbox": cycle("P1 sends a", "P2 sends b", "P2 sends y", "P1 sends x"),
            "one-n": cycle("P3 receives x", "P4 receives a", "P4 receives b", "P3 receives y"),
            "n-n": cycle("P3 receives x", "P4 receives a", "P4 receives b", "P3 receives y"),
            "synchronous": crown("b", "x"),
        },
    ),
    "two processes' messages are received in the other order of sending": Small(
        log("P1: x>P3 a>P2", "P2: a y>P4 b>P3", "P3: b x", "P4: y"),
        dict.fromkeys(("causal", *BUT_FIFO_AND_CAUSAL.split()), overtaking("x", "b", "P3")),
    ),
    "what is behind a lost message": Small(LOST, BEHIND_A),
    "what is behind one that may still come": Small(LOST, {}, reading="pending"),
    "two senders' messages are received crosswise, but for a lost one": Small(
        log("P1: x>P3 a>P4", "P2: b>P4 y>P3", "P3: y", "P4: a b"), {
            "mailbox": cycle("P1 sends a", "P2 sends b", "P2 sends y", "P1 sends x"),
            "one-n": overtaking("x", "a", "P4", received=False), "n-n": cycle("P1 sends a", "P1 sends x"),
            "synchronous": unreceived("x", "P3"),
        },
    ),
    "a gap in a line": Small(log("P1: x>P2 ? -", "P2: x"), {}, ALL, {"P1: 1 event is missing"}),
    "a gap hides a deliver": Small(
        log("P1: a>P3 b>P2", "P2: b", "P3: ? -"), {}, ALL, {"P3: 1 event is missing"},
    ),
    "a gap elsewhere hides nothing": Small(
        [*log("P1: a>P3 b>P2", "P2: b", "P3: -"), *log("P4: ? ? -")], BEHIND_A,
        "asynchronous fifo causal mailbox", {"P4: 2 events are missing"},
    ),
    "a send is missing, of a named sender": Small(
        [*LOST, *log("P4: z<P3")], {}, ALL, {"P4 delivers a message whose send is not in the log"},
    ),
    "a send is missing, of an unnamed sender": Small(
        [*LOST, *log("P4: z")], {}, ALL, {"P4 delivers a message whose send is not in the log"},
    ),
    "a send is missing, not of its own receiver": Small(
        log("P1: a>P3 b>P2", "P2: b", "P3: z"), BEHIND_A,
        "asynchronous fifo causal mailbox", {"P3 delivers a message whose send is not in the log"},
    ),
    "a line twice": Small(
        [*LOST, LOST[0]], BEHIND_A, reasons=["P1 has two events 0, one a copy of the other"],
    ),
    "a line that is no JSON": Small(
        [*LOST, "{"], {}, ALL, {"any process: rows of it are in quarantine"},
        ["not JSON: Expecting property name enclosed in double quotes"],
    ),
    "a bad line of one that has no other": Small(
        [*OVERTAKEN[:3], event("P9", 0, "odd", "v"), '{"run": "r", "process": "P9", "index": "?"}'],
        dict.fromkeys(X_BEFORE_Y, overtaking("x", "y", "P2", received=False)), "asynchronous",
        {"P9: rows of it are in quarantine"}, ["'index' cannot be \"?\"", "unknown kind 'odd'"],
    ),
    "a bad line of a receiver": Small(
        [*OVERTAKEN[:3], event("P2", 1, "odd", "x")], {}, ALL, {"P2: rows of it are in quarantine"},
        ["unknown kind 'odd'"],
    ),
    "two events at one place": Small(
        [*OVERTAKEN[1:], event("P1", 0, "send", "x", "P2"), event("P1", 0, "send", "w", "P2")], {}, ALL,
        {"P1: 1 event is missing", "P1: rows of it are in quarantine",
         "P2 delivers a message whose send is not in the log"}, ["P1 has two events 0"] * 2,
    ),
    "a message sent twice": Small(
        [*log("P1: x>P2 y>P2 x>P2", "P2: y x")], {}, ALL,
        {"P1: 1 event is missing", "P1: rows of it are in quarantine",
         "P2 delivers a message whose send is not in the log"}, ["x is sent twice"] * 2,
    ),
    "a message delivered twice": Small(
        log("P1: x>P2 y>P2", "P2: y x x"), {}, ALL, {"P2: rows of it are in quarantine"}, ["P2 delivers x twice"] * 2,
    ),
    "a deliver that names another sender": Small(
        log("P1: x>P2 y>P2", "P2: y x<P3"), {}, ALL,
        {"P1: 1 event is missing", "P1: rows of it are in quarantine", "P2: rows of it are in quarantine"},
        ["x is said to be sent by P1 and by P3"] * 2,
    ),
    "a deliver of what goes to another": Small(
        log("P1: x>P2 y>P2", "P2: y", "P3: x"), {}, ALL,
        {"P1: 1 event is missing", "P1: rows of it are in quarantine", "P3: rows of it are in quarantine"},
        ["P3 delivers x, which is sent to P2"] * 2,
    ),
    "a deliver with an empty peer": Small(
        [*LOST, event("P2", 1, "deliver", "z", "")], BEHIND_A, "asynchronous fifo causal mailbox",
        {"P2: rows of it are in quarantine"}, ["'peer' cannot be \"\""],
    ),
    "names that cannot be printed": Small(
        [*LOST, event("P\u00a0", 0, "internal"), event("P2", 1, "send", "x\u0085", "P1"),
         event("P2", 2, "send", "v", "P\u2028"), event("P2", 3, "deliver", "v", "\u200b")], {}, ALL,
        {"any process: rows of it are in quarantine", "P2: rows of it are in quarantine"},
        ["'message' cannot be \"x\\u0085\"", "'peer' cannot be \"P\\u2028\"", "'peer' cannot be \"\\u200b\"",
         "'process' cannot be \"P\\u00a0\""],
    ),
    "nothing that can be used": Small(
        [event("P1", 0, "odd", "v")], {}, ALL, {"P1: rows of it are in quarantine"}, ["unknown kind 'odd'"],
    ),
    "a cyclic log": Small(
        log("P1: x y>P2", "P2: y x>P1"), {}, ALL, set(),
        ["the computation is cyclic: P1 receives x → P1 sends y → P2 receives y → P2 sends x → P1 receives x"] * 4,
    ),
    "every other kind of line that is no event": Small(
        [*LOST, "9" * 10_000, "[1]", event("P2", 1, "internal", run=0.5), event("P2", -1, "internal"),
         event("P2", 1, "send", "v"), event("P2", 1, "send", "v", []), event("P2", 1, "send", "v", ["P1", "P1"]),
         event("P2", 1 << 70, "internal")], {}, ALL,
        {"any process: rows of it are in quarantine", "P2: rows of it are in quarantine"},
        ["not JSON that can be read: a number too long or a nesting too deep", "a list is not an event",
         "'run' cannot be 0.5", "'index' is -1", "'peer' is missing", "P2 sends v to nobody", "P2 sends v to P1 twice",
         "'index' is more than 9,223,372,036,854,775,807"],
    ),
    "an index as large as can be": Small(
        [*LOST, event("P2", (1 << 63) - 1, "internal")], BEHIND_A, "asynchronous fifo causal mailbox",
        {"P2: 9,223,372,036,854,775,806 events are missing"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_a_small_log(name: str, spark: SparkSession) -> None:  # noqa: F811
    small = SMALL[name]
    found = judge_one_run(frame(spark, small.lines), reading=small.reading)
    verdicts = {j.order: j.verdict for j in found.order_verdicts}
    unknown = small.unknown.split()
    assert verdicts == {
        order: "broken" if order in small.broken else "unknown" if order in unknown else "kept" for order in ORDERS
    }
    assert differences(found, small.lines, small.reading) == []
    for order, verdict, witness, because in found.order_verdicts:
        assert (because is None) == (verdict != "unknown")
        known = None if witness is None else round_(json.loads(witness))
        assert known == small.broken.get(order)
    assert found.rows == found.judged + found.quarantined == len(small.lines)
    assert found.quarantined == len(small.reasons)
    rows, holes = unusable_rows_and_holes(found) if small.reasons or small.holes else ([], set())
    assert sorted(reason for _, reason in rows) == sorted(small.reasons)
    assert holes == small.holes
    assert unlike_the_others(small, [(row, reason) for row, reason in rows]) == []


def by_classify(lines: Sequence[str]) -> str | None:
    """Why a log is refused, without the places; None if it is not."""
    try:
        list(read_log(lines))
    except BadInput as problem:
        return re.sub(r" \(line [0-9]+\)", "", problem.message.removeprefix("run r: "))
    return None


def reasons_live(lines: Sequence[str], reading: UnreceivedPolicy) -> tuple[list[tuple[str, str]], str | None]:
    """The rows that a live run puts in quarantine, with the reasons; and why its verdicts are withdrawn."""
    live, query = LiveRun(), Query.of((), reading, True)
    records = list(add_events(live, "r", lines, query))
    invalid_because = live.state.invalid_because
    records += end_run(live, "r", query)
    return [(row["row"], row["because"]) for row in records if row["record_type"] == "quarantine"], invalid_because


def same_row(row: tuple[str, str]) -> tuple[str, str]:
    """A row with its reason, however its JSON is written."""
    try:
        return json.dumps(json.loads(row[0]), sort_keys=True), row[1]
    except ValueError:
        return row


def unlike_the_others(small: Small, on_spark: Sequence[tuple[str, str]]) -> list[str]:
    """The ways to judge a log by which its unusable rows have other reasons than by `judge_run`."""
    known = sorted(same_row((row, why.text)) for row, why in judge_run("r", small.lines, (), small.reading).quarantine)
    texts = {why for _, why in known}
    live, withdrawn = reasons_live(small.lines, small.reading)
    refused = by_classify(small.lines)
    same = {
        "Spark": sorted(map(same_row, on_spark)) == known,
        "live": sorted(map(same_row, live)) == known,
        "withdrawn": withdrawn is None or withdrawn in texts,
        "classify": not texts if refused is None else any(refused.startswith(why) for why in texts),
    }
    return [way for way, agrees in same.items() if not agrees]


def test_a_way_with_words_of_its_own_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SMALL["a message sent twice"]
    known = [(row, why.text) for row, why in judge_run("r", small.lines, (), small.reading).quarantine]
    assert unlike_the_others(small, known) == []
    assert unlike_the_others(small, [(row, "sent again") for row, _ in known]) == ["Spark"]
    monkeypatch.setattr(live_run, "SentTwice", lambda message: Cyclic(f"{message} is sent again"))
    assert unlike_the_others(small, known) == ["withdrawn"]


def test_small_logs_have_each_kind_of_reason() -> None:
    """But for the reasons that only some ways have: clocks, and runs that have not ended."""
    reasons = [why for small in SMALL.values() for _, why in judge_run("r", small.lines, ()).quarantine]
    never = {ByClock, BeforeFirst, AfterEnd} | {kind for name, kind in KINDS.items() if name.startswith("Never")}
    assert {why.kind for why in reasons} == {*KINDS.values()} - never
    for why in reasons:
        assert reason_in(why.json()) == why


def test_rows_of_several_runs_are_refused_not_merged(spark: SparkSession) -> None:  # noqa: F811
    two = [event("P1", 0, "send", "x", "P2"), event("P2", 0, "internal", run="s")]
    with pytest.raises(BadInput, match="of several runs, such as 'r' and 's'"):
        judge_one_run(frame(spark, two))
    # No run, the empty name and a line of an unknown run are not several.
    one = [*(event("P1", k, "internal", run=run) for k, run in enumerate((None, ""))), "{"]
    found = judge_one_run(frame(spark, one), ("fifo",))
    assert (found.judged, found.quarantined) == (2, 1)
    assert [(row["run"], row["verdict"]) for row in found.verdicts.collect()] == [("", "unknown")]


def test_messages_to_several_receivers_are_decided_and_invalid_ones_are_quarantined(
    spark: SparkSession,  # noqa: F811
) -> None:
    found = judge_one_run(frame(spark, log("P1: x>P2+P3 y>P3", "P2: x z>P3", "P3: z x y")))
    assert [verdict for _, verdict, _, _ in found.order_verdicts] == [
        "kept", "kept", "broken", "broken", "kept", "broken", "broken",
    ]  # fmt: skip
    lines = log("P1: x>P2+P3 y>P4", "P2: x", "P3: ? -", "P4: x y")
    found = judge_one_run(frame(spark, lines), ("fifo",))
    assert [reason for _, reason in unusable_rows_and_holes(found)[0]] == ["P4 delivers x, which is sent to P2, P3"] * 3
    odd = [event("P1", 0, "send", "x", ["P2", "P2"]), event("P1", 1, "send", "y", ["P2", "P\u00a0"])]
    found = judge_one_run(frame(spark, [*odd, event("P2", 0, "internal")]), ("fifo",))
    assert found.judged == 1
    assert {reason for _, reason in unusable_rows_and_holes(found)[0]} == {
        "P1 sends x to P2 twice", "'peer' cannot be \"P\\u00a0\"",
    }  # fmt: skip


def test_the_outcome_is_of_the_same_shape_as_that_of_many_runs(spark: SparkSession) -> None:  # noqa: F811
    lines = [*OVERTAKEN, event("P9", 0, "odd", "v")]
    one, many = judge_one_run(frame(spark, lines)), judge(frame(spark, lines))
    assert one.records.dtypes == many.records.dtypes
    assert one.account() == many.account() == (5, 4, 1)
    verdicts = [[tuple(row)[:3] for row in judged.verdicts.collect()] for judged in (one, many)]
    assert verdicts[0] == verdicts[1]
    assert [row["row"] for row in one.quarantine.collect()] == [row["row"] for row in many.quarantine.collect()]
    assert one.holes.collect() == many.holes.collect()


def test_progress_is_reported_step_by_step_and_during_the_walk(spark: SparkSession) -> None:  # noqa: F811
    reported: list[tuple[str, int, int]] = []
    lines = log("P1: " + " ".join(f"m{k}>P2" for k in range(300)), "P2: " + " ".join(f"m{k}" for k in range(300)))
    judge_one_run(frame(spark, lines), ("fifo",), stretch=100, progress=lambda *step: reported.append(step))
    steps = list(dict.fromkeys(doing for doing, _, _ in reported))
    assert steps == [
        "reading the rows", "comparing the rows", "ordering the events",
        "walking along the lines", "looking up witnesses",
    ]  # fmt: skip
    walked = [(done, of) for doing, done, of in reported if doing == "walking along the lines"]
    assert walked[0] == (0, 600)
    assert walked[-1] == (600, 600)
    assert walked == sorted(walked)


# -- random runs -------------------------------------------------------------------------------------------------------


def damaged(chance: Random, lines: list[str]) -> list[str]:
    """Perhaps with a copy, and rows that are bad or contradict others."""
    odd = ["{", '{"run": "r", "process": "P1"}', event("P6", 0, "odd", "v"), event("P2", 99, "odd", "m0")]
    odd += [event("P1", 0, "deliver", "m0"), event("P3", 9, "deliver", "m1"), event("P2", 7, "send", "m1", "P3")]
    return [
        *lines,
        *chance.choices(lines, k=chance.choice([0, 1])),
        *chance.choices(odd, k=chance.choice([0, 0, 1, 2])),
    ]


def assert_genuine(c: Computation, witness: dict[str, Any]) -> None:
    """Checks crowns and overtakings by their definitions."""
    number = {message.name: m for m, message in enumerate(c.messages)}
    if witness["kind"] == "crown":
        messages = [number[name] for name in witness["messages"]]
        assert len(set(messages)) == len(messages) > 1
        for this, after in zip(messages, [*messages[1:], messages[0]], strict=True):
            (received,) = c.receive_events[after].values()
            assert c.happened_before(c.send_event[this], received)
    if witness["kind"] == "overtaking":
        first, second = number[witness["first"]], number[witness["second"]]
        receiver = c.processes.index(witness["receiver"])
        assert c.happened_before(c.send_event[first], c.send_event[second])
        assert (receiver in c.receive_events[first]) == witness["first_received"]
        assert c.overtakes(second, first, receiver)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 60))])
def test_a_random_log_damaged_or_not(seed: int, spark: SparkSession) -> None:  # noqa: F811
    chance = Random(seed)
    whole = [json.dumps(fields) for fields in random_run(chance, "r", multicasts=seed % 2 == 0)]
    lines = damaged(chance, whole)
    reading: UnreceivedPolicy = chance.choice(["lost", "pending"])
    found = judge_one_run(frame(spark, lines), reading=reading, stretch=3)
    assert differences(found, lines, reading) == []
    known = judge_run("r", lines, ("fifo",), reading)
    assert found.quarantined == len(known.quarantine)
    if lines == whole:
        (logged,) = read_log(lines)
        for order_verdict in found.order_verdicts:
            if order_verdict.witness is not None:
                assert_genuine(logged.computation, json.loads(order_verdict.witness))
