"""One large run on Spark by the clocks that its log carries: small logs, whose verdicts are known by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from one_run_logs import (
    OVERTAKEN,
    _without_compiling,  # noqa: F401
    event,
    frame,
)

from crownless.model_check.logs.columns import PEER_SEPARATOR
from crownless.pipeline.logs.clocks import judge_by_clocks, read_with_clocks
from crownless.pipeline.logs.judging import judge, read
from crownless.spec.errors import BadInput

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
from spark_session import spark  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark"),
    pytest.mark.usefixtures("_without_compiling"),
]


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
NO_JSON = "not JSON: Expecting property name enclosed in double quotes"

CLOCKED = {
    "kept": Clocked([SENT, RECEIVED], "kept"),
    "counted from one": Clocked([("P1", 1, *SENT[2:]), ("P2", 1, *RECEIVED[2:])], "kept"),
    "late": Clocked(LATE, "broken", X_IS_LATE),
    "never delivered, though known": Clocked(LATE[:3], "broken", X_IS_LATE),
    "never delivered, and not known": Clocked([SENT, ("P2", 0, "internal", None, None, [0, 1])], "kept"),
    "an exact copy": Clocked([SENT, SENT, RECEIVED], "kept", reasons=["P1 has two events 0, one a copy of the other"]),
    "a copy with another clock": Clocked(
        [*LATE, ("P1", 0, "send", "x", "P2", [0, 0])], "unknown", QUARANTINED, ["P1 has two events 0"] * 2,
        {OF_P1, "P1: events missing: 1", NO_SEND},
    ),
    "a process that is none": Clocked(
        [*LATE[1:], ("P9", 0, *SENT[2:])], "unknown", QUARANTINED, ["'process' is none of the clocks' processes"],
        {"P9: rows of it are in quarantine", "P1: events missing: 1", NO_SEND},
    ),
    "no process": Clocked(
        [*LATE, (None, 0, "internal", None, None, [1, 0])], "unknown", QUARANTINED, ["'process' is missing"],
        {"any process: rows of it are in quarantine"},
    ),
    "a receiver that is none": Clocked(
        [*LATE, ("P1", 2, "send", "z", "P9", [3, 0])], "unknown", QUARANTINED, ["'peer' is none of them"], {OF_P1},
    ),
    "delivered to another": Clocked(
        [SENT, ("P1", 1, "deliver", "x", "P1", [2, 0])], "unknown", NONE_LEFT,
        ["P1 delivers x, which is sent to P2"] * 2, {OF_P1},
    ),
    "of another sender": Clocked(
        [SENT, ("P2", 0, "deliver", "x", "P2", [1, 1])], "unknown", NONE_LEFT,
        ["x is said to be sent by P1 and by P2"] * 2, {OF_P1, OF_P2},
    ),
    "an unknown kind": Clocked(
        [SENT, RECEIVED, ("P2", 1, "dlvr", "y", "P1", [1, 2])], "unknown", QUARANTINED,
        ["unknown kind 'dlvr'"], {OF_P2},
    ),
    "no index, or less than none": Clocked(
        [("P1", None, *SENT[2:]), ("P2", -3, *RECEIVED[2:])], "unknown", NONE_LEFT,
        ["'index' is missing", "'index' is -3"], {OF_P1, OF_P2},
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
    assert row["reason"] == (NO_JSON if odd == "{" else NO_CLOCK)
