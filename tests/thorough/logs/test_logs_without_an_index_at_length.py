"""What takes longer of the tests in `test_logs_without_an_index.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Crownless
from log_files import Row, event, rows_of, written
from log_rows import random_computation
from tabular_logs import GOOD, STAMPED, TABULAR, verdicts

import crownless as cr
from crownless.oracle.logs.formats import LOST_UNSEEN

#: From the number of a row in the order of its process to a value that orders it.
VALUES: dict[str, Callable[[int], Any]] = {
    "whole numbers": lambda k: 1_700_000_000_000_000_000 + 7 * k,
    "decimals": lambda k: 1_700_000_000 + k / 8,
    "decimals as texts": lambda k: f"1700000000.{k:012}",
    "times": lambda k: f"2024-02-{1 + k // 86_400:02}T{k // 3600 % 24:02}:{k // 60 % 60:02}:{k % 60:02}.5Z",
    "times of Python's logging": lambda k: f"2024-02-01 00:00:{k // 1000 % 60:02},{k % 1000:03}",
}


def without_index(rows: Sequence[Row], value: Callable[[int], Any]) -> list[Row]:
    """The rows with a timestamp `ts` instead of an index; stamps of one process are unlike those of another one."""
    names = sorted({row["process"] for row in rows})
    stamped = [{**row, "ts": value(3 * row["index"] + names.index(row["process"]))} for row in rows]
    return [{name: of for name, of in row.items() if name != "index"} for row in stamped]


def a_log(messages: int, seed: object) -> list[Row]:
    chance = Random(f"{seed}")
    return rows_of(random_computation(chance, 3, messages, disorder=0.2, loss=0.02, several=0.2))


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("suffix", [*TABULAR, ".csv.gz"])
def test_a_column_orders_the_events_of_each_process(
    crownless: Crownless, tmp_path: Path, suffix: str, values: str
) -> None:
    rows = a_log(20, values + suffix)
    known = crownless("classify", written(tmp_path, rows, name="known"), "--json")
    ordered = without_index(rows, VALUES[values])
    shuffled = Random(values).sample(ordered, len(ordered))
    found = crownless("classify", written(tmp_path, shuffled, suffix), "--order-by", "ts", "--json")
    assert verdicts(found) == verdicts(known), found.err
    for way in (["--order-by", "line"], ["--order-by", "line", "--one-run"]):
        in_order = crownless("classify", written(tmp_path, ordered, suffix, "in-order"), *way, "--json")
        assert verdicts(in_order) == verdicts(known), in_order.err


@pytest.mark.parametrize("suffix", TABULAR)
def test_so_it_does_in_a_large_log(crownless: Crownless, tmp_path: Path, suffix: str) -> None:
    rows = [{**row, "padding": "x" * 90} for row in a_log(3_000, suffix)]
    known = crownless("classify", written(tmp_path, rows, suffix, name="known"), "--json")
    ordered = without_index(rows, VALUES["decimals as texts"])
    shuffled = Random(suffix).sample(ordered, len(ordered))
    log = written(tmp_path, shuffled, suffix)
    assert len(rows) > 5_000
    assert verdicts(crownless("classify", log, "--order-by", "ts", "--json")) == verdicts(known)
    tied = [*shuffled, {**shuffled[9], "message": "another"}]
    lines = [10 + (suffix == ".csv"), len(tied) + (suffix == ".csv")]
    refused = crownless("classify", written(tmp_path, tied, suffix), "--order-by", "ts")
    assert f": lines {lines[0]:,} and {lines[1]:,}; order by a column" in refused.err


COPY = dict(GOOD[1])
#: More rows, and the reason of each that is left out; the orders besides asynchronous are then kept or unknown.
BAD: dict[str, tuple[list[Row], list[str], str]] = {
    "nothing": ([], [], "kept"),
    "a copy": ([COPY], ["P1 has two events 1, one a copy of the other"], "kept"),
    "an odd kind": ([event("P2", 2, "odd", "z")], ["unknown kind 'odd'"], "unknown"),
    "no process": ([{**COPY, "process": None}], ["'process' is missing"], "unknown"),
    "delivered twice": ([event("P2", 2, "deliver", "x")], ["P2 delivers x twice"] * 2, "unknown"),
    "one place": (
        [event("P3", 0, "internal", ""), event("P3", 0, "send", "z", "P1")], ["P3 has two events 0"] * 2, "unknown"
    ),
}  # fmt: skip


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("suffix", TABULAR)
@pytest.mark.parametrize("bad", BAD)
def test_bad_lines_are_left_out_and_counted(
    crownless: Crownless, tmp_path: Path, bad: str, suffix: str, many: bool
) -> None:
    more, reasons, others = BAD[bad]
    rows = [{name: value for name, value in row.items() if value is not None} for row in (*GOOD, *more)]
    if many:
        if suffix == ".arrow":
            pytest.skip("as Parquet is read")
        rows += [event("P1" if k % 2 else "P4", k // 2 + 2 * (k % 2), "internal", "") for k in range(5_200)]
    log = written(tmp_path, rows, suffix)
    answer = crownless("classify", "--skip-bad", "--json", log)
    found = verdicts(answer)
    assert found.pop("asynchronous") == "kept"
    assert found.pop("total") == ("nothing" if others == "kept" else others)
    assert set(found.values()) == {others}
    (skipped,) = answer.json["left_out"]
    assert sorted(one["reason"] for one in skipped["first"]) == sorted(reasons)
    assert skipped["count"] == len(reasons)
    assert answer.code == (3 if reasons else 0)
    text = crownless("classify", "--skip-bad", "--quiet", log).out
    assert (f"{len(reasons)} line{'s' * (len(reasons) > 1)} left out" in text) == bool(reasons)
    refused = crownless("classify", log)
    assert (refused.code, reasons[0] in refused.err) == (2, True) if reasons else refused.code == 0


def test_without_an_index_a_note_says_that_lost_lines_cannot_be_seen(crownless: Crownless, tmp_path: Path) -> None:
    for runs in (1, 11, 2_000):
        log = written(tmp_path, [{**row, "run": f"r{k}"} for k in range(runs) for row in STAMPED])
        assert ("lost lines cannot be seen" in crownless("classify", log, "--order-by", "ts").out) is True
        assert "lost lines cannot be seen" not in crownless("classify", log).out
        with_notes = {run.notes for run in cr.read_log(log, order_by="ts")}
        assert with_notes == {(LOST_UNSEEN,)}
        every = crownless("classify", log, "--order-by", "ts", "--order", "fifo", "--json").json
        assert all(one["notes"] == [LOST_UNSEEN] for one in every.get("classifications", [every]))
    log = written(tmp_path, [{"peer": "P1", **row} for row in STAMPED])
    for options in (("--one-run",), ("--match",), ("--complete",), ("--skip-bad",), ("--column", "peer=-")):
        facts = crownless("classify", log, "--order-by", "line", *options, "--json").json
        assert facts["notes"].count(LOST_UNSEEN) == 1
