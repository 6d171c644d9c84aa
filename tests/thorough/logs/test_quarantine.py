"""Small logs whose verdicts, witnesses and unusable rows are known by hand, judged in each way.

Whole (`judge_run`); among other runs by the tasks on Spark (`records_of_runs`); live, in batches; and block by block,
which refuses rows that contradict each other, and judges no event behind a hole.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from log_runs import Known, agree, by_classify, event, known_of, log, random_log

from crownless.oracle.log_orders.damaged_runs import judge_run
from crownless.oracle.log_orders.large_run import RunMonitor
from crownless.oracle.logs.event_logs import read_log
from crownless.oracle.logs.reasons import KINDS_OF_REASONS, AfterEnd, BeforeFirst, ByClock, OtherCells
from crownless.runtime.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy, telling

pa = pytest.importorskip("pyarrow")

from crownless.pipeline.logs.blocks import packed, unpacked  # noqa: E402
from crownless.pipeline.logs.live import LiveRun  # noqa: E402
from crownless.pipeline.logs.records import Query, Record, Witnesses, records_of_runs  # noqa: E402
from crownless.pipeline.logs.sources import read_lines  # noqa: E402

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


OVERTAKEN = log("P1: x>P2 y>P2", "P2: y x")


def lines_as_batch(lines: Sequence[str]) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([line.encode() for line in lines], pa.binary())], names=["value"])


def records_of_tasks(
    lines: Sequence[str], reading: UnreceivedPolicy, *, witnesses: Witnesses = True, at_once: int = 700
) -> list[Record]:
    """The records that the tasks make on Spark, of a log that is read and packed part by part."""
    blocks = defaultdict(list)
    for part in range(0, len(lines), at_once):
        for batch in packed(read_lines([lines_as_batch(lines[part : part + at_once])]), 5, part):
            blocks[batch["bucket"][0].as_py()].append(batch["block"][0].as_buffer())
    query = Query.of((), reading, witnesses)
    return [
        row for held in blocks.values() for batch in records_of_runs(unpacked(held), query)
        for row in batch.to_pylist()
    ]  # fmt: skip


def verdicts_in(records: Sequence[Record]) -> Known:
    return {
        (row["run"], row["order"]): (row["verdict"], row["witness"], row["because"])
        for row in records
        if row["record_type"] == "verdict"
    }


def unusable(records: Sequence[Record]) -> list[tuple[str, str]]:
    return sorted((same_json(row["row"]), row["because"]) for row in records if row["record_type"] == "left_out")


def same_json(text: str) -> str:
    """A row however its JSON is written."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def live_records(lines: Sequence[str], reading: UnreceivedPolicy, first: int) -> tuple[list[Record], str | None]:
    """The records of a live run, and why its verdicts are withdrawn."""
    live = LiveRun("r", Query.of((), reading), first)
    records = [new for line in lines for new in live.add([line])]
    return [*records, *live.end()], live.invalid_because


def in_blocks(lines: Sequence[str], reading: UnreceivedPolicy, size: int, first: int | None = None) -> Known | str:
    """The verdicts block by block, or why the log is refused."""
    monitor = RunMonitor("", tuple(ORDERS), reading, first_index=first)
    try:
        for k in range(0, len(lines), size):
            for table in read_lines([lines_as_batch(lines[k : k + size])]):
                monitor.add(table, k + 1)
        found = monitor.classification()
    except BadInput as problem:
        return problem.message
    return known_of("r", found.verdicts)


class Small(NamedTuple):
    """A log; the violated orders, the unknown ones; holes; why rows are unusable; the outcome of all other orders."""

    lines: list[str]
    violated: str = ""
    unknown: str = ""
    holes: set[str] = set()
    reasons: list[str] = []
    reading: UnreceivedPolicy = "lost"
    otherwise: str = "kept"


FROM_MAILBOX = "mailbox one-n n-n synchronous"
FROM_CAUSAL, FROM_FIFO, NOTHING = f"causal {FROM_MAILBOX}", f"fifo causal {FROM_MAILBOX}", " ".join(ORDERS)
#: What a hole may hide: no event violates asynchronous order.
ALL = f"{FROM_FIFO} total"
#: a from P1 is not received, b from P1 is; then these are violated, and if anything is missing the others unknown.
LOST = log("P1: a>P3 b>P2", "P2: b", "P3: -")
BEHIND_A, BESIDE = "one-n n-n synchronous", "fifo causal mailbox total"
OF_P1, OF_P2, OF_P3 = (f"P{p}: rows left out" for p in (1, 2, 3))
GAP_OF_P1, OF_ANY = "P1: event 1 is missing", "any process: rows left out"
P1_AGAIN = "P1 has two events 0"
NO_SEND_OF_Y = "P2 delivers y, whose send is not in the log"
NO_SEND_OF_X = "P2 delivers x, whose send is not in the log"

SMALL = {
    "nothing but a message": Small(log("P1: x>P2", "P2: x<P1")),
    "lines that count from one": Small(log("P1: x>P2", "P2: x", first=1)),
    "no message at all": Small(log("P1: - -"), otherwise="nothing"),
    "the second of a channel overtakes": Small(OVERTAKEN, FROM_FIFO),
    "and the first is never received": Small(log("P1: x>P2 y>P2", "P2: y"), FROM_FIFO),
    "a message overtakes one from which it comes": Small(log("P1: x>P3 y>P2", "P2: y z>P3", "P3: z x"), FROM_CAUSAL),
    "two messages cross": Small(log("P1: x>P2 y", "P2: y>P1 x"), "synchronous"),
    "three messages go round": Small(log("P1: x>P2 z", "P2: y>P3 x", "P3: z>P1 y"), "synchronous"),
    "a message to oneself encloses another": Small(log("P1: x>P1 y>P2 x", "P2: y"), "synchronous"),
    "two senders' messages are received crosswise": Small(
        log("P1: x>P3 a>P4", "P2: b>P4 y>P3", "P3: y x", "P4: a b"), FROM_MAILBOX
    ),
    "what is behind a lost message": Small(LOST, BEHIND_A),
    "what is behind one that may still come": Small(LOST, reading="pending"),
    "a gap in a line": Small(log("P1: x>P2 ? -", "P2: x"), "", ALL, {GAP_OF_P1}),
    "a gap hides a deliver": Small(log("P1: a>P3 b>P2", "P2: b", "P3: ? -"), "", ALL, {"P3: event 0 is missing"}),
    "a gap elsewhere hides nothing": Small(
        [*LOST, *log("P4: ? ? -")], BEHIND_A, BESIDE, {"P4: events 0 to 1 are missing"}
    ),
    "a send is missing, of a named sender": Small(
        [*LOST, *log("P4: z<P3")], "", ALL, {"P4 delivers z, whose send is not in the log"}
    ),
    "a send is missing, of an unnamed sender": Small(
        [*LOST, *log("P4: z")], "", ALL, {"P4 delivers z, whose send is not in the log"}
    ),
    "a send is missing, of another named sender": Small(
        [*LOST, *log("P4: z<P2")], BEHIND_A, BESIDE, {"P4 delivers z, whose send is not in the log"}
    ),
    "a send is missing, not of its own receiver": Small(
        log("P1: a>P3 b>P2", "P2: b", "P3: z"), BEHIND_A, BESIDE, {"P3 delivers z, whose send is not in the log"}
    ),
    "a line twice": Small([*LOST, LOST[0]], BEHIND_A, reasons=[f"{P1_AGAIN}, one a copy of the other"]),
    "a line that is no JSON": Small(
        [*LOST, "{"], "", ALL, {OF_ANY}, ["not JSON: Expecting property name enclosed in double quotes"]
    ),
    "a bad line of one that has no other": Small(
        [*OVERTAKEN[:3], event("P9", 0, "odd", "v"), '{"run": "r", "process": "P9", "index": "?"}'],
        FROM_FIFO,
        "total",
        {"P9: rows left out"},
        ["'index' cannot be \"?\"", "unknown kind 'odd'"],
    ),
    "a bad line of a receiver": Small(
        [*OVERTAKEN[:3], event("P2", 1, "odd")], "", ALL, {OF_P2}, ["unknown kind 'odd'"]
    ),
    "two events at one place": Small(
        [*OVERTAKEN[1:], event("P1", 0, "send", "x", "P2"), event("P1", 0, "send", "w", "P2")],
        "", ALL, {"P1: event 0 is missing", OF_P1, NO_SEND_OF_X}, [P1_AGAIN] * 2,
    ),
    "a message sent twice": Small(
        log("P1: x>P2 y>P2 x>P2", "P2: y x"),
        "", ALL, {"P1: event 0 is missing", OF_P1, NO_SEND_OF_X}, ["x is sent twice"] * 2,
    ),
    "a message delivered twice": Small(
        log("P1: x>P2 y>P2", "P2: y x x"), "", ALL, {OF_P2}, ["P2 delivers x twice"] * 2
    ),
    "a deliver that names another sender": Small(
        log("P1: x>P2 y>P2", "P2: y x<P3"),
        "", ALL, {"P1: event 0 is missing", OF_P1, OF_P2}, ["the sender of x is given as P1 and by P3"] * 2,
    ),
    "a deliver of what goes to another": Small(
        log("P1: x>P2 y>P2", "P2: y", "P3: x"),
        "", ALL, {"P1: event 0 is missing", OF_P1, OF_P3}, ["P3 delivers x, which is sent to P2"] * 2,
    ),
    "a deliver with an empty peer": Small(
        [*LOST, event("P2", 1, "deliver", "z", "")], BEHIND_A, BESIDE, {OF_P2}, ["'peer' cannot be \"\""]
    ),
    "names that cannot be printed": Small(
        [*LOST, event("P\u00a0", 0, "internal", None), event("P2", 1, "send", "x\u0085", "P1"),
         event("P2", 2, "send", "v", "P\u2028"), event("P2", 3, "deliver", "v", "\u200b")],
        "", ALL, {OF_ANY, OF_P2},
        ["'message' cannot be \"x\\u0085\"", "'peer' cannot be \"P\\u2028\"", "'peer' cannot be \"\\u200b\"",
         "'process' cannot be \"P\\u00a0\""],
    ),
    "nothing that can be used": Small([event("P1", 0, "odd", "v")], "", NOTHING, set(), ["unknown kind 'odd'"]),
    "a cyclic log": Small(
        log("P1: x y>P2", "P2: y x>P1"), "", NOTHING, set(),
        ["the computation is cyclic: P1 receives x → P1 sends y → P2 receives y → P2 sends x → P1 receives x"] * 4,
    ),
    "every other kind of line that is no event": Small(
        [*LOST, "9" * 10_000, "[1]", event("P2", 1, "internal", run=0.5), event("P2", -1, "internal"),
         event("P2", 1, "send", "v"), event("P2", 1, "send", "v", []), event("P2", 1, "send", "v", ["P1", "P1"]),
         event("P2", 1 << 70, "internal"), '{"run": "r", "process": "P2"}'],
        "", ALL, {OF_ANY, OF_P2},
        ["not JSON: a number is too long, or the nesting too deep", "a list is not an event",
         "'run' cannot be 0.5", "'index' is -1", "'peer' is missing",
         "'index', 'kind', 'message' and 'peer' are missing",
         "P2 sends v without a receiver", "P2 sends v to P1 twice",
         "'index' is more than 9,223,372,036,854,775,807"],
    ),
    "an index as large as can be": Small(
        [*LOST, event("P2", (1 << 63) - 1, "internal")], BEHIND_A, BESIDE,
        {"P2: events 1 to 9223372036854775806 are missing"},
    ),
}  # fmt: skip


def names_several_receivers(lines: Sequence[str]) -> bool:
    return any('"peer": [' in line and ", " in line.partition('"peer": [')[2].partition("]")[0] for line in lines)


@pytest.mark.parametrize("name", SMALL)
def test_a_small_log(name: str) -> None:
    small = SMALL[name]
    whole = judge_run("r", small.lines, tuple(ORDERS), small.reading)
    known = {one.order: one.outcome for one in whole.verdicts}
    violated, unknown = small.violated.split(), small.unknown.split()
    expected = {
        order: "violated" if order in violated else "unknown" if order in unknown else small.otherwise
        for order in ORDERS
    }
    if expected["total"] == "kept" and not names_several_receivers(small.lines):
        expected["total"] = "nothing"
    assert known == expected
    for one in whole.verdicts:
        shown = one.unknown is not None, one.witness is not None
        assert shown == (one.outcome in ("unknown", "nothing"), one.outcome == "violated")
    assert sorted(reason.text for _, reason in whole.quarantine) == sorted(small.reasons)
    assert {hole.text for hole in whole.holes} == small.holes
    assert whole.judged + len(whole.quarantine) == len(small.lines)
    quarantine = sorted((same_json(row), reason.text) for row, reason in whole.quarantine)

    by_tasks = records_of_tasks(small.lines, small.reading)
    of_run = {order: verdict for (run, order), (verdict, _, _) in verdicts_in(by_tasks).items() if run == "r"}
    assert of_run == known  # a row that names no run may be of any run
    assert unusable(by_tasks) == quarantine

    live, withdrawn = live_records(small.lines, small.reading, int(name == "lines that count from one"))
    assert {order: verdict for (_, order), (verdict, _, _) in verdicts_in(live).items()} == known
    assert unusable(live) == quarantine
    assert withdrawn is None or withdrawn in [reason for _, reason in quarantine]

    blocks = in_blocks(small.lines, small.reading, 3)
    if isinstance(blocks, str):  # a copy may come after what it copies is forgotten
        others = ["no linearization exists", "of several runs"]  # of a cycle, and of rows that name no run
        assert any(reason.partition(", one a copy")[0] in blocks for reason in [*small.reasons, *others])
        return
    for (_, order), (verdict, _, _) in blocks.items():
        assert verdict == known[order] or (small.holes and verdict == "unknown") or order == "n-n"


@pytest.mark.parametrize("torn", ['{"process": "P2", "index"', '{"index": 9, "process": "P2", "run": 0.5}'])
def test_a_row_that_names_no_run_leaves_every_run_of_every_task_unknown(torn: str) -> None:
    """As `classify --skip-bad` has it: a message that no row receives may be received in the torn one."""
    runs = {f"r{k}": [{**json.loads(line), "run": f"r{k}"} for line in log("P1: x>P2 y>P2", "P2: y")] for k in range(9)}
    lines = [json.dumps(row) for rows in runs.values() for row in rows]
    found = verdicts_in(records_of_tasks(lines, "lost"))
    assert {found[run, "fifo"][0] for run in runs} == {"violated"}
    records = records_of_tasks([*lines, torn], "lost", at_once=10)
    found = verdicts_in(records)
    for run, rows in runs.items():
        known = judge_run(run, [*map(json.dumps, rows), torn], tuple(ORDERS)).verdicts
        assert {order: found[run, order][0] for order in ORDERS} == {one.order: one.outcome for one in known}
        assert found[run, "fifo"][0] == "unknown"
    assert [row for row, _ in unusable(records)] == [torn]
    judged = sum(row["rows"] for row in records if row["record_type"] == "judged")
    assert judged == len(lines)


@pytest.mark.parametrize("name", [name for name, small in SMALL.items() if small.reasons])
def test_an_unusable_row_is_refused_by_classify_with_the_same_reason(name: str) -> None:
    with pytest.raises(BadInput) as refused:
        list(read_log(SMALL[name].lines))
    text = re.sub(r" \(line [0-9]+\)", "", refused.value.message.removeprefix("run r: "))
    assert any(text.startswith(reason) for reason in SMALL[name].reasons)


def test_small_logs_have_each_kind_of_reason() -> None:
    """But for the reasons that only some ways have: clocks, runs that have not ended, CSV, and complete logs."""
    reasons = [why for small in SMALL.values() for _, why in judge_run("r", small.lines, ()).quarantine]
    others = {ByClock, BeforeFirst, AfterEnd, OtherCells}
    assert {why.kind for why in reasons} >= {
        kind for kind in KINDS_OF_REASONS if kind not in others and not kind.name.startswith("Never")
    }


# -- random logs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", READINGS)
def test_every_verdict_and_witness_of_many_runs_is_that_of_classify(reading: UnreceivedPolicy) -> None:
    lines = random_log(1, 600)
    records = records_of_tasks(lines, reading)
    known = agree(verdicts_in(records), lines, reading)
    assert sum(row["rows"] for row in records if row["record_type"] == "judged") == len(lines)
    assert not unusable(records)
    for order in telling(unicasts=True):
        outcomes = [verdict for (_, of), (verdict, _, _) in known.items() if of == order]
        assert outcomes.count("kept") > 10
        assert all(outcomes.count(verdict) > 10 for verdict in ("violated", "unknown")) or order == "asynchronous"


def test_without_witnesses_the_verdicts_are_the_same_and_the_first_run_has_one() -> None:
    lines = random_log(9, 300, holes=False)
    known = {key: verdict for key, (verdict, _, _) in by_classify(lines, "lost").items()}
    for witnesses in (False, "first"):
        found = verdicts_in(records_of_tasks(lines, "lost", witnesses=witnesses))
        assert {key: verdict for key, (verdict, _, _) in found.items()} == known
        for order in ORDERS:
            violated = sorted(run for (run, of), verdict in known.items() if of == order and verdict == "violated")
            shown = [run for run in violated if found[run, order][1] is not None]
            # Of each bucket of runs the first has its witness, hence that of all.
            assert (violated[:1] == shown[:1] and len(shown) <= 5) if witnesses else not shown
