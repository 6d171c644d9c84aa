"""One large run on Spark, walked or by its clocks: small logs, whose verdicts and witnesses are known by hand.

Every verdict is also compared with that of the spec (`judge_run`); every unusable row has its reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from crownless.model_check.event_logs import read_log
from crownless.pipeline.logs.clocks import judge_by_clocks, read_with_clocks
from crownless.pipeline.logs.judging import LogResult, judge, read
from crownless.pipeline.logs.one_run import (
    OneRunResult,
    _events,
    _lines,
    _messages,
    _unprintable_characters,
    checked,
    is_no_name,
    judge_one_run,
)
from crownless.pipeline.logs.rows import PEER_SEPARATOR, plain_lines
from crownless.pipeline.logs.runs import judge_run
from crownless.spec.computation import Computation
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from spark_session import spark  # noqa: F401
from test_pipeline_logs import random_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark"),
    pytest.mark.usefixtures("_without_compiling"),
]


@pytest.fixture(scope="module")
def _without_compiling(spark: SparkSession) -> Iterator[None]:  # noqa: F811
    """Spark compiles each query, which takes longer than the few rows here."""
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, earlier in before.items():
        spark.conf.set(name, str(earlier))


def event(process: str, index: int, kind: str, message: str | None = None, peer: Any = None, **more: Any) -> str:
    fields = {"run": "r", "process": process, "index": index, "kind": kind, "message": message, "peer": peer, **more}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def log(*lines: str, first: int = 0) -> list[str]:
    """Lines such as "P1: x>P2 y> ? -" as events: sends, delivers, an event that is missing, an internal one."""
    events = []
    for line in lines:
        process, does = line.split(": ")
        for index, what in enumerate(does.split(), start=first):
            message, sends, receiver = what.partition(">")
            if what == "-":
                events.append(event(process, index, "internal"))
            elif sends:
                events.append(
                    event(process, index, "send", message, receiver.split("+") if "+" in receiver else receiver)
                )
            elif what != "?":
                name, _, sender = message.partition("<")
                events.append(event(process, index, "deliver", name, sender or None))
    return events


def frame(spark: SparkSession, lines: Sequence[str]) -> DataFrame:  # noqa: F811
    """The lines as plain rows, in one partition."""
    return plain_lines(spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1))


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
    return {"kind": "cycle", "cycle": " waits for ".join([*events, events[0]])}


def round_(witness: dict[str, Any]) -> dict[str, Any]:
    """A crown, rotated to begin with its first message by name."""
    if witness["kind"] == "crown":
        messages = witness["messages"]
        k = messages.index(min(messages))
        witness["messages"] = [*messages[k:], *messages[:k]]
    return witness


def unreceived(message: str, receiver: str) -> dict[str, Any]:
    return {"kind": "unreceived", "message": message, "receiver": receiver}


def behind(message: str, receiver: str) -> dict[str, Any]:
    return {"kind": "behind an unreceived one", "message": message, "receiver": receiver}


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
OVERTAKEN = log("P1: x>P2 y>P2", "P2: y x")
#: a from P1 is not received, b from P1 is.
LOST = log("P1: a>P3 b>P2", "P2: b", "P3: -")
BEHIND_A = {"one-n": behind("b", "P2"), "n-n": behind("b", "P2"), "synchronous": unreceived("a", "P3")}
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
    "two messages cross": Small(CROSSED, CROWN, "n-n"),
    "three messages go round": Small(
        log("P1: x>P2 z", "P2: y>P3 x", "P3: z>P1 y"),
        {"synchronous": crown("x", "z", "y")},
        "n-n",
    ),
    "a message to oneself encloses another": Small(
        log("P1: x>P1 y>P2 x", "P2: y"), {"synchronous": crown("x", "y")}, "n-n",
    ),
    "two senders' messages are received crosswise": Small(
        log("P1: x>P3 a>P4", "P2: b>P4 y>P3", "P3: y x", "P4: a b"), {
            "mailbox": cycle("P1 sends x", "P2 sends b"),
            "one-n": cycle("P3 receives y", "P4 receives a"), "n-n": cycle("P1 sends x", "P2 sends b"),
            "synchronous": crown("a", "b", "y", "x"),
        },
    ),
    "two processes' messages are received in the other order of sending": Small(
        log("P1: x>P3 a>P2", "P2: a y>P4 b>P3", "P3: b x", "P4: y"),
        dict.fromkeys(("causal", *BUT_FIFO_AND_CAUSAL.split()), overtaking("x", "b", "P3")),
    ),
    "what is behind a lost message": Small(LOST, BEHIND_A),
    "what is behind one that may still come": Small(LOST, {}, "one-n n-n synchronous", reading="pending"),
    "two senders' messages are received crosswise, but for a lost one": Small(
        log("P1: x>P3 a>P4", "P2: b>P4 y>P3", "P3: y", "P4: a b"), {
            "mailbox": cycle("P1 sends x", "P2 sends b"), "n-n": cycle("P1 sends x", "P2 sends b"),
            "one-n": behind("a", "P4"), "synchronous": unreceived("x", "P3"),
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
        [*LOST, LOST[0]], BEHIND_A, reasons=["a copy of another line"],
    ),
    "a line that is no JSON": Small(
        [*LOST, "{"], {}, ALL, {"any process: rows of it are in quarantine"}, ["it cannot be read as an event"],
    ),
    "a bad line of one that has no other": Small(
        [*OVERTAKEN[:3], event("P9", 0, "odd", "v"), '{"run": "r", "process": "P9", "index": "?"}'],
        dict.fromkeys(X_BEFORE_Y, overtaking("x", "y", "P2", received=False)), "asynchronous",
        {"P9: rows of it are in quarantine"}, ["it cannot be read as an event", "unknown kind"],
    ),
    "a bad line of a receiver": Small(
        [*OVERTAKEN[:3], event("P2", 1, "odd", "x")], {}, ALL, {"P2: rows of it are in quarantine"}, ["unknown kind"],
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
        ["rows differ in who sends x"] * 2,
    ),
    "a deliver of what goes to another": Small(
        log("P1: x>P2 y>P2", "P2: y", "P3: x"), {}, ALL,
        {"P1: 1 event is missing", "P1: rows of it are in quarantine", "P3: rows of it are in quarantine"},
        ["rows differ in who receives x"] * 2,
    ),
    "a deliver with an empty peer": Small(
        [*LOST, event("P2", 1, "deliver", "z", "")], BEHIND_A, "asynchronous fifo causal mailbox",
        {"P2: rows of it are in quarantine"}, ["'peer' is not a name"],
    ),
    "names that cannot be printed": Small(
        [*LOST, event("P\u00a0", 0, "internal"), event("P2", 1, "send", "x\u0085", "P1"),
         event("P2", 2, "send", "v", "P\u2028"), event("P2", 3, "deliver", "v", "\u200b")], {}, ALL,
        {"any process: rows of it are in quarantine", "P2: rows of it are in quarantine"},
        ["'message' is missing or no name", "'peer' is missing or no name", "'peer' is not a name",
         "'process' is missing or no name"],
    ),
    "nothing that can be used": Small(
        [event("P1", 0, "odd", "v")], {}, ALL, {"P1: rows of it are in quarantine"}, ["unknown kind"],
    ),
    "a cyclic log": Small(
        log("P1: x y>P2", "P2: y x>P1"), {}, ALL, set(),
        ["the log is cyclic: P1 receives x waits for P2 receives y waits for P1 receives x"] * 4,
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


def test_rows_of_several_runs_are_refused_not_merged(spark: SparkSession) -> None:  # noqa: F811
    two = [event("P1", 0, "send", "x", "P2"), event("P2", 0, "internal", run="s")]
    with pytest.raises(BadInput, match="of several runs, such as 'r' and 's'"):
        judge_one_run(frame(spark, two))
    # No run, the empty name and a line of an unknown run are not several.
    one = [*(event("P1", k, "internal", run=run) for k, run in enumerate((None, ""))), "{"]
    found = judge_one_run(frame(spark, one), ("fifo",))
    assert (found.judged, found.quarantined) == (2, 1)
    assert [(row["run"], row["verdict"]) for row in found.verdicts.collect()] == [("", "unknown")]


def test_a_log_with_a_multicast_is_not_decided_and_an_invalid_multicast_is_quarantined(
    spark: SparkSession,  # noqa: F811
) -> None:
    found = judge_one_run(frame(spark, log("P1: x>P2+P3", "P2: x")), ("fifo",))
    assert found.order_verdicts[0][1::2] == ("unknown", "a run of multicasts is not decided at this size")
    odd = [event("P1", 0, "send", "x", ["P2", "P2"]), event("P1", 1, "send", "y", ["P2", "P\u00a0"])]
    found = judge_one_run(frame(spark, [*odd, event("P2", 0, "internal")]), ("fifo",))
    assert found.judged == 1
    assert {reason for _, reason in unusable_rows_and_holes(found)[0]} == {
        "'peer' names a receiver twice", "'peer' is missing or no name",
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


# -- the parts ---------------------------------------------------------------------------------------------------------


def test_a_name_is_what_python_can_print(spark: SparkSession) -> None:  # noqa: F811
    """Of all characters, but for halves of them, which no string of Spark holds."""
    from pyspark.sql import functions as f

    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    stretches = ["".join(every[k : k + 4096]) for k in range(0, len(every), 4096)]
    printed = f.regexp_replace("name", _unprintable_characters(), "")
    rows = spark.createDataFrame([(stretch,) for stretch in stretches], "name string").select(printed).collect()
    assert [row[0] for row in rows] == ["".join(filter(str.isprintable, stretch)) for stretch in stretches]
    some = ["P 1", "P\u00e9", "\U0001f600", "", None, "P\n", "\nP", "P\u00a0", "P\u0085", "P\x7f", "\U000e0001"]
    found = spark.createDataFrame([(name,) for name in some], "name string").select(is_no_name(f.col("name"))).collect()
    assert [row[0] for row in found] == [False] * 3 + [True] * 8


def test_the_events_are_numbered_along_the_lines_with_what_comes_before(spark: SparkSession) -> None:  # noqa: F811
    # Internal events, the message that P3 may have received in its hole, and the unsent one are not walked.
    lines = log("P1: - x>P2 l>P2 y>P4 h>P3", "P4: y z>P2", "P2: z x s", "P3: ? -")
    found = checked(frame(spark, lines))
    of_lines = _lines(found)
    assert of_lines.numbers == {"P1": 0, "P2": 1, "P3": 2, "P4": 3}
    # The send of s may have been of anybody but P2.
    assert of_lines.processes_with_gaps == {"P1", "P3", "P4"}
    assert (of_lines.judged, of_lines.quarantined, of_lines.multicasts) == (11, 0, False)
    rows = {tuple(row) for row in _events(_messages(found, of_lines)).collect()}
    no = (-1, -1)
    assert rows == {
        (0, 0, 0, 0, 0, 1, 1, *(3, 1), *no),  # x: before it P2 delivers z
        (0, 1, 0, 0, 1, 1, -1, *(0, 0), *no),  # l, which P2 does not: all that it delivers comes before
        (0, 2, 0, 0, 2, 3, 0, *no, *no),
        (3, 0, 1, 0, 2, 3, 0, *no, *(1, 1)),  # y: what P1 sent before it and was received is x
        (3, 1, 0, 3, 1, 1, 0, *no, *no),
        (1, 0, 1, 3, 1, 1, 0, *no, *no),
        (1, 1, 1, 0, 0, 1, 1, *no, *no),
    }


def test_few_rows_stay_in_one_task(spark: SparkSession) -> None:  # noqa: F811
    found = checked(frame(spark, OVERTAKEN))
    events = _events(_messages(found, _lines(found)))
    assert "Exchange" not in events._jdf.queryExecution().executedPlan().toString()


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
        last = c.receive_events[first].get(receiver)
        assert (last is not None) == witness["first_received"]
        assert last is None or c.receive_events[second][receiver] < last


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 60))])
def test_a_random_log_damaged_or_not(seed: int, spark: SparkSession) -> None:  # noqa: F811
    chance = Random(seed)
    whole = [json.dumps(fields) for fields in random_run(chance, "r", multicasts=False)]
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


# -- by clocks ---------------------------------------------------------------------------------------------------------


class Clocked(NamedTuple):
    """Events with clocks; the verdict on causal order and its witness or reason; the reasons and holes, if any."""

    rows: list[tuple[Any, ...]]
    verdict: str
    expected: str | None = None
    reasons: list[str] = []
    holes: set[str] = set()


SENT, RECEIVED = ("P1", 0, "send", "x", "P2", [1, 0]), ("P2", 0, "deliver", "x", "P1", [1, 1])
LATE = [
    ("P1", 0, "send", "x", "P2", [1, 0]), ("P1", 1, "send", "y", "P2", [2, 0]),
    ("P2", 0, "deliver", "y", "P1", [2, 1]), ("P2", 1, "deliver", "x", "P1", [2, 2]),
]  # fmt: skip
X_IS_LATE = '{"kind":"late","message":"x","receiver":"P2"}'
QUARANTINED, NONE_LEFT = "rows of it are in quarantine", "no row of it can be used"
NOT_FOLLOWING = "a clock does not follow from those before it"
OF_P1, OF_P2 = "P1: rows of it are in quarantine", "P2: rows of it are in quarantine"
NO_SEND = "P2 delivers messages whose sends are not in the log: 1"
NO_CLOCK = "'clock' has not one count for each of 2 processes"

CLOCKED = {
    "kept": Clocked([SENT, RECEIVED], "kept"),
    "counted from one": Clocked([("P1", 1, *SENT[2:]), ("P2", 1, *RECEIVED[2:])], "kept"),
    "late": Clocked(LATE, "broken", X_IS_LATE),
    "never delivered, though known": Clocked(LATE[:3], "broken", X_IS_LATE),
    "never delivered, and not known": Clocked([SENT, ("P2", 0, "internal", None, None, [0, 1])], "kept"),
    "an exact copy": Clocked([SENT, SENT, RECEIVED], "kept", reasons=["a copy of another line"]),
    "a copy with another clock": Clocked(
        [*LATE, ("P1", 0, "send", "x", "P2", [0, 0])], "unknown", QUARANTINED, ["P1 has two events 0"] * 2,
        {OF_P1, "P1: events missing: 1", NO_SEND},
    ),
    "a process that is none": Clocked(
        [*LATE[1:], ("P9", 0, *SENT[2:])], "unknown", QUARANTINED, ["'process' is none of the clocks' processes"],
        {"P9: rows of it are in quarantine", "P1: events missing: 1", NO_SEND},
    ),
    "no process": Clocked(
        [*LATE, (None, 0, "internal", None, None, [1, 0])], "unknown", QUARANTINED, ["'process' is missing or no name"],
        {"any process: rows of it are in quarantine"},
    ),
    "a receiver that is none": Clocked(
        [*LATE, ("P1", 2, "send", "z", "P9", [3, 0])], "unknown", QUARANTINED, ["'peer' is none of them"], {OF_P1},
    ),
    "delivered to another": Clocked(
        [SENT, ("P1", 1, "deliver", "x", "P1", [2, 0])], "unknown", NONE_LEFT,
        ["rows differ in who receives x"] * 2, {OF_P1},
    ),
    "of another sender": Clocked(
        [SENT, ("P2", 0, "deliver", "x", "P2", [1, 1])], "unknown", NONE_LEFT,
        ["rows differ in who sends x"] * 2, {OF_P1, OF_P2},
    ),
    "an unknown kind": Clocked(
        [SENT, RECEIVED, ("P2", 1, "dlvr", "y", "P1", [1, 2])], "unknown", QUARANTINED, ["unknown kind"], {OF_P2},
    ),
    "no index, or less than none": Clocked(
        [("P1", None, *SENT[2:]), ("P2", -3, *RECEIVED[2:])], "unknown", NONE_LEFT,
        ["'index' is missing or negative"] * 2, {OF_P1, OF_P2},
    ),
    "delivered twice": Clocked(
        [SENT, RECEIVED, ("P2", 1, "deliver", "x", "P1", [1, 2])], "unknown", QUARANTINED, ["P2 delivers x twice"] * 2,
        {OF_P2},
    ),
    "a clock too short, too long, or none": Clocked(
        [("P1", 0, "internal", None, None, [1]), ("P1", 1, "internal", None, None, [2, 0, 0]),
         ("P1", 2, "internal", None, None, None), ("P1", 3, "internal", None, None, [4, -1]),
         ("P2", 0, "internal", None, None, [0, 1])],
        "unknown", QUARANTINED, [NO_CLOCK] * 4, {OF_P1},
    ),
    "a send that is missing": Clocked([RECEIVED], "unknown", "a send is not in the log", [], {NO_SEND}),
    "a gap that no clock shows": Clocked(
        [SENT, ("P2", 1, *RECEIVED[2:])], "unknown", "events of it are missing", [], {"P2: events missing: 1"},
    ),
    "a clock that does not count its own event": Clocked(
        [SENT, ("P2", 0, "deliver", "x", "P1", [1, 0])], "unknown", NOT_FOLLOWING,
    ),
    "a clock that does not take over the message's": Clocked(
        [SENT, ("P2", 0, "deliver", "x", "P1", [0, 1])], "unknown", NOT_FOLLOWING,
    ),
    "clocks in a circle, each of which follows": Clocked(
        [("P1", 0, "deliver", "y", "P2", [1, 2]), ("P1", 1, "send", "x", "P2", [2, 2]),
         ("P2", 0, "deliver", "x", "P1", [2, 1]), ("P2", 1, "send", "y", "P1", [2, 2])],
        "unknown", NOT_FOLLOWING,
    ),
    "a message to oneself": Clocked(
        [("P1", 0, "send", "x", "P1", [1, 0]), ("P1", 1, "deliver", "x", "P1", [2, 0])],
        "unknown", "messages to oneself are not decided by clocks",
    ),
    "a multicast": Clocked(
        [("P1", 0, "send", "x", f"P2{PEER_SEPARATOR}P1", [1, 0])],
        "unknown", "messages to several receivers are not decided by clocks",
    ),
}  # fmt: skip

SHAPE = "run string, process string, index long, kind string, message string, peer string, clock array<long>"


def test_small_logs_by_their_clocks(spark: SparkSession) -> None:  # noqa: F811
    rows = [(name, *row) for name, clocked in CLOCKED.items() for row in clocked.rows]
    judged = judge_by_clocks(spark.createDataFrame(rows, SHAPE), ["P1", "P2"])
    found = {(row["run"], row["order"]): tuple(row)[2:] for row in judged.verdicts.collect()}
    reasons: Counter[tuple[str, str]] = Counter()
    for row in judged.quarantine.collect():
        reasons[row["run"], row["reason"]] += 1
        assert json.loads(row["row"])["run"] == row["run"]
    holes = {(row["run"], row["hole"]) for row in judged.holes.collect()}
    for name, clocked in CLOCKED.items():
        verdict, witness, because = found.pop((name, "causal"))
        assert (verdict, witness if verdict == "broken" else because) == (clocked.verdict, clocked.expected), name
        fifo = {"broken": ("unknown", None, "clocks show that FIFO order is kept only where causal order is")}
        assert found.pop((name, "fifo")) == fifo.get(verdict, (verdict, None, because)), name
    assert not found
    assert reasons == Counter((name, reason) for name, clocked in CLOCKED.items() for reason in clocked.reasons)
    assert holes == {(name, hole) for name, clocked in CLOCKED.items() for hole in clocked.holes}
    assert judged.account() == (len(rows), len(rows) - reasons.total(), reasons.total())
    assert judged.records.dtypes == judge(frame(spark, OVERTAKEN)).records.dtypes


def test_clocks_are_read_from_lines_and_processes_are_taken_in_natural_order(
    spark: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    lines = [event("P2", 0, "send", "x", "P10", clock=[1, 0]), event("P10", 0, "deliver", "x", "P2", clock=[1, 1])]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    events = read_with_clocks(spark, str(path))
    judged = judge_by_clocks(events, orders=("causal",))
    assert [tuple(row)[:3] for row in judged.verdicts.collect()] == [("r", "causal", "kept")]
    # The other way round no clock follows.
    other = judge_by_clocks(events, ["P10", "P2"], ("causal",)).verdicts.collect()
    assert [row["because"] for row in other] == [NOT_FOLLOWING]
    with pytest.raises(BadInput, match="no column 'clock'"):
        judge_by_clocks(read(spark, str(path)))
    with pytest.raises(BadInput, match="clocks do not decide mailbox order"):
        judge_by_clocks(events, orders=("mailbox",))
    with pytest.raises(BadInput, match="named twice"):
        judge_by_clocks(events, ["P2", "P2"])


@pytest.mark.parametrize("odd", ["{", event("P2", 1, "internal"), event("P2", 1, "internal", clock=["1", 1])])
def test_a_line_without_run_or_clock_may_be_a_missing_event_of_the_only_run(
    odd: str,
    spark: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    lines = [event("P1", 0, "send", "x", "P2", clock=[1, 0]), event("P2", 0, "deliver", "x", "P1", clock=[1, 1])]
    path.write_text("\n".join([*lines, odd]), "utf-8")
    judged = judge_by_clocks(read_with_clocks(spark, str(path)))
    assert {(row["run"], row["because"]) for row in judged.verdicts.collect()} == {("r", QUARANTINED)}
    (row,) = judged.quarantine.collect()
    assert row["reason"] == ("it cannot be read as an event" if odd == "{" else NO_CLOCK)
