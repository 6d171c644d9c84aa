"""Logs of many lines: what the monitor says of them, and of holes in them, is what the spec says, in any format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Crownless
from hypothesis import given, settings
from hypothesis import strategies as st
from log_files import SUFFIXES, Row, by_the_monitor, classified, rows_of, written  # noqa: F401
from log_runs import random_events, random_run
from long_logs import by_spec, log_of, long_run
from tiers import slow

from crownless.oracle.log_orders import classify_file as opening
from crownless.oracle.log_orders.classification import LargeRun
from crownless.oracle.log_orders.holes import CertainColumns, certain_columns
from crownless.oracle.log_orders.monitor import ASYNCHRONOUS, OUTCOMES, UNDECIDED, Monitor
from crownless.oracle.logs.columns import table_of_rows
from crownless.oracle.logs.event_logs import certain_rows
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.layout import INTERNAL, NONE, SEND, Rows
from crownless.oracle.logs.lines import rows_of_lines
from crownless.oracle.logs.named_rows import NamedRows, by_run
from crownless.oracle.logs.rows import Row as LoggedRow
from crownless.runtime.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy

pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.usefixtures("by_the_monitor")

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


@pytest.mark.parametrize("reading", READINGS)
def test_every_run_has_the_verdicts_of_the_spec(tmp_path: Path, reading: UnreceivedPolicy) -> None:
    found = random_events(5, 400)
    log = log_of(written(tmp_path, found), reading)
    expected = list(by_spec(found, reading))
    assert len(log) == len(expected) == 400
    for number, known in enumerate(expected):
        assert log.name(number) == known.subject.run
        outcomes = dict(zip(log.orders, log.outcomes[number].tolist(), strict=True))
        assert {order: OUTCOMES[k] for order, k in outcomes.items()} == known.outcomes
        shown = log.classification(number)
        assert shown.outcomes == known.outcomes
        for of in ("holes", "perhaps_received", "messages"):
            assert getattr(shown.subject, of) == getattr(known.subject, of), of
    for order in ORDERS:
        assert log.counts(order) == {
            outcome: sum(known.outcomes[order] == outcome for known in expected)
            for outcome in ("kept", "violated", "unknown", "nothing")
        }
        firsts = [number for number, known in enumerate(expected) if known.outcomes[order] == "violated"]
        assert log.first_violated(order) == (firsts[0] if firsts else None)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("disorder", "loss", "lost"),
    [
        (0.3, 0.01, 0), (0.0, 0.01, 1), (0.001, 0.0, 9), (0.1, 0.0, 5), (0.1, 0.01, 100),
        slow((0.0, 0.0, 0)), slow((0.0, 0.001, 0)), slow((0.001, 0.0, 0)), slow((0.001, 0.01, 30)),
    ],
)  # fmt: skip
def test_a_long_run_has_the_verdicts_of_the_spec_shown_by_few_messages(
    tmp_path: Path, disorder: float, loss: float, lost: int, reading: UnreceivedPolicy
) -> None:
    chance = Random(str((disorder, loss, lost)))
    whole = long_run(3, 1_900, disorder=disorder, loss=loss)
    out = {*range(lost)} if lost == 100 else {*chance.sample(range(1_900), lost)}
    found = [event for k, event in enumerate(whole) if k not in out]
    for event in found:
        if lost and event["kind"] == "deliver" and chance.random() < 0.5:
            del event["peer"]
    if lost > 5:
        chance.shuffle(found)
    shown = log_of(written(tmp_path, found), reading).classification(0)
    (known,) = by_spec(found, reading)
    assert isinstance(shown.subject, LargeRun)
    assert shown.outcomes == known.outcomes
    assert shown.strongest == known.strongest
    assert [verdict.unknown for verdict in shown.verdicts] == [verdict.unknown for verdict in known.verdicts]
    assert bool(shown.subject.holes) == bool(lost)
    for of in ("holes", "perhaps_received", "messages"):
        assert getattr(shown.subject, of) == getattr(known.subject, of), of
    assert sorted(shown.subject.unreceived) == sorted(known.subject.unreceived)
    for verdict in shown.verdicts:
        assert (verdict.outcome == "violated") == (verdict.witness is not None)
        assert verdict.computation is None or len(verdict.computation.messages) < 60


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_has_the_same_verdicts(tmp_path: Path, suffix: str, renamed: bool) -> None:
    """Also of messages to several, whose names are numbers, and of columns with other names."""
    found = random_events(9, 60)
    for event in found:
        if "message" in event and suffix != ".parquet":
            event["message"] = int(event["message"].removeprefix("m"))
    assert any(isinstance(event.get("peer"), list) for event in found)
    expected = {one.subject.run: one.outcomes for one in by_spec(found, "lost")}
    other = [{"msg_id" if renamed and name == "message" else name: of for name, of in e.items()} for e in found]
    options = LogOptions(columns={"message": "msg_id"} if renamed else {})
    log = log_of(written(tmp_path, other, suffix), options=options)
    assert {log.name(k): log.classification(k).outcomes for k in range(len(log))} == expected


def test_of_many_holes_the_first_are_printed(tmp_path: Path, crownless: Crownless) -> None:
    found = [event for k, event in enumerate(long_run(1, 3_000, disorder=0.0)) if k % 50 != 7]
    name = written(tmp_path, found)
    answer = crownless("classify", name, "--order", "causal", "--order", "synchronous")
    printed = answer.out.splitlines()
    holes = len(log_of(name).classification(0).subject.holes)
    assert answer.code == 1
    first = next(line for line in printed if line.startswith("hole: ")).removeprefix("hole: ")
    because = f"not violated by what is logged; {first}, and {holes - 1} more holes"
    assert f"causal unknown {because} " in " ".join(answer.out.split())  # which may be wrapped
    assert sum(line.startswith("hole: ") for line in printed) == 20
    assert f"and {holes - 20} holes more; --json has them all" in printed


def rows(count: int = 20) -> dict[str, list[Any]]:
    """The columns of a run in which one process sends to another, which delivers at once."""
    kinds = ["send", "deliver"] * (count // 2)
    return {
        "run": ["a"] * count,
        "process": ["P", "Q"] * (count // 2),
        "index": [k // 2 for k in range(count)],
        "kind": kinds,
        "message": [f"m{k // 2}" for k in range(count)],
        "peer": ["Q", "P"] * (count // 2),
    }


def dictionary(codes: Sequence[int | None], names: Sequence[Any]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))


ODD_COLUMNS: dict[str, tuple[dict[str, Any], str]] = {
    "a category that no row has": ({"run": dictionary([1] * 20, ["unused", "a"])}, ""),
    "categories in another order": ({"run": dictionary([1] * 10 + [0] * 10, ["b", "a"])}, ""),
    "one name twice": ({"run": dictionary([0, 1] * 10, ["a", "a"])}, ""),
    "a category that is null": (
        {"message": dictionary([0] * 20, pa.array([None], pa.string()))},
        "'message' is missing",
    ),
    "categories that are numbers": ({"message": dictionary([k // 2 for k in range(20)], list(range(10)))}, ""),
    "runs that are numbers": ({"run": pa.array([7] * 20)}, ""),
    "no peer": ({"peer": pa.array([None] * 20, pa.string())}, "'peer' is missing"),
    "peers without a name": ({"peer": [""] * 20}, "'peer' cannot be"),
    "bytes that are not UTF-8": (
        {"message": pa.Array.from_buffers(pa.string(), 20, pa.array([b"\xff"] * 20, pa.binary()).buffers())},
        "it cannot be read as Arrow: Column 4",
    ),
    "indices without a sign": ({"index": pa.array([k // 2 for k in range(20)], pa.uint64())}, ""),
    "small indices and messages without a sign": (
        {
            "index": pa.array([k // 2 for k in range(20)], pa.uint8()),
            "message": pa.array([k // 2 for k in range(20)], pa.uint32()),
        },
        "",
    ),
    "an index that is too large": (
        {"index": pa.array([*range(19), 1 << 63], pa.uint64())},
        "log.arrow: 'index' is more than 9,223,372,036,854,775,807; count the events",
    ),
    "a wrong type": ({"index": pa.array([0.5] * 20)}, "the column 'index' is of type double"),
}


@pytest.mark.parametrize("case", ODD_COLUMNS)
def test_odd_columns_are_read_as_their_rows_are(tmp_path: Path, case: str) -> None:
    odd, refused = ODD_COLUMNS[case]
    table = pa.table(rows() | odd)
    name = str(tmp_path / "log.arrow")
    with pa.ipc.new_file(name, table.schema) as file:
        file.write_table(table)
    if refused:
        with pytest.raises(BadInput, match=refused):
            classified(name)
        return
    lines = [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]
    expected = [(one.subject.run, one.outcomes) for one in by_spec(lines, "lost")]
    assert [(one.subject.run, one.outcomes) for one in classified(name)] == expected


def test_the_command_line_sums_up_and_shows_the_first_run_that_breaks_each(
    tmp_path: Path, crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written(tmp_path, random_events(5, 400))
    by_monitor = crownless("classify", name)
    assert by_monitor.code == 1
    assert by_monitor.out.startswith("400 computations; --json has each of them\n")
    first = log_of(name).first_violated("fifo")
    assert first is not None
    assert f"{name}, {log_of(name).name(first)}" in by_monitor.out.replace(", run run", ", run")
    monkeypatch.setattr(opening, "SMALL_UP_TO", 100_000)
    assert crownless("classify", name) == by_monitor


# -- holes -------------------------------------------------------------------------------------------------------------


#: What is changed of some events, which may contradict others then, or which make further holes.
OTHER: dict[str, list[str] | list[int]] = {
    "process": ["P1", "P2", "P9"],
    "index": [0, 1, 2, (1 << 63) - 1],
    "message": ["m0", "m1"],
    "peer": ["P1", "P2"],
}


def with_losses(chance: Random) -> list[LoggedRow]:
    """A random run in random order that has lost some events, and of which a few are changed."""
    events = random_run(chance, "", multicasts=chance.random() < 0.5)
    events = chance.sample(events, chance.randint(1, len(events)) if chance.random() < 0.5 else len(events))
    for event in chance.sample(events, chance.choice([0, 0, 0, 1])):
        field = chance.choice(list(OTHER))
        event[field] = chance.choice(OTHER[field])
    return list(rows_of_lines(map(json.dumps, events)))


def by_columns(named: NamedRows) -> CertainColumns | None:
    """What is certain, if the monitor can use it: if not, the rows contradict each other, or are in a cycle."""
    found = certain_columns(named)
    usable = found is not None and Monitor(found.rows).outcomes()[0, ASYNCHRONOUS] != UNDECIDED
    return found if usable else None


def event_of(named: NamedRows, rows: Rows, row: int) -> tuple[str, int, str, str, list[str]]:
    """The process of a row, its place, its kind, its message and its receivers."""
    process, kind, peer = named.processes[rows.process[row]], rows.kind[row], rows.peer[row]
    if kind == INTERNAL:
        return process, int(rows.place[row]), "internal", "", []
    message = str(named.named["message"].names[rows.message[row]].as_py())
    if kind != SEND:
        assert peer == NONE
        return process, int(rows.place[row]), "deliver", message, []
    receivers = rows.receiver[rows.first_receiver[peer] : rows.first_receiver[peer + 1]].tolist()
    return process, int(rows.place[row]), "send", message, [named.processes[q] for q in receivers]


@settings(max_examples=500)
@given(st.randoms(use_true_random=False))
def test_columns_say_what_rows_say(chance: Random) -> None:
    rows = with_losses(chance)
    named = by_run(table_of_rows(rows))
    try:
        expected = certain_rows(rows)
    except BadInput:
        assert by_columns(named) is None
        return
    found = certain_columns(named)
    assert found is not None
    assert (found.holes, found.perhaps_received) == (expected.holes, expected.perhaps_received)
    assert {*found.processes} == {*expected.lines}
    assert found.messages == sum(row.kind == "send" for row in rows)
    certain = {
        row.line: (process, place, row.kind, row.message, list(row.peers) if row.kind == "send" else [])
        for process, line in expected.lines.items()
        for place, row in enumerate(line)
    }
    assert [event_of(named, found.rows, k) for k in range(len(rows))] == [certain[row.line] for row in rows]
