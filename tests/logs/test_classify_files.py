"""`classify --out`: all verdicts, witnesses and holes, as Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from log_files import Row, in_both_ways, written  # noqa: F401
from log_runs import random_events
from test_classified_logs import by_spec, long_run
from witness_checks import check_witness, from_json

from crownless.oracle.classification import NamedComputation
from crownless.spec.orders import Verdict

EXAMPLES = Path(__file__).parents[2] / "examples" / "logs"


def records(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.dataset

    rows: list[dict[str, Any]] = pyarrow.dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
    return rows


def of_type(rows: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["record_type"] == kind]


@pytest.mark.usefixtures("in_both_ways")
def test_out_has_every_verdict_witness_and_hole(tmp_path: Path, crownless: Crownless) -> None:
    found = random_events(5, 100)
    name = written(tmp_path, found)
    answer = crownless("classify", name, "--out", str(tmp_path / "out"))
    assert answer.code == 1
    assert "all verdicts, witnesses and holes:" in answer.out
    rows = records(tmp_path / "out")
    assert rows[0].keys() == {"run", "order", "verdict", "witness", "because", "row", "rows", "record_type"}
    known = list(by_spec(found, "lost"))
    verdicts = {(row["run"], row["order"]): row for row in of_type(rows, "verdict")}
    assert len(verdicts) == len(of_type(rows, "verdict")) == 7 * len(known)
    for one in known:
        assert isinstance(one.subject, NamedComputation)
        for order, verdict in one.items():
            row = verdicts[one.subject.run or "", order]
            assert row["verdict"] == verdict.outcome
            assert row["because"] == verdict.unknown
            assert (row["witness"] is None) == (verdict.witness is None)
            if row["witness"] is not None:
                shown = from_json(one.subject.computation, json.loads(row["witness"]))
                check_witness(one.subject.computation, Verdict(order, kept=False, witness=shown), "lost")
    holes = [(row["run"], row["because"]) for row in of_type(rows, "hole")]
    assert sorted(holes) == sorted((one.subject.run, hole.text) for one in known for hole in one.subject.holes)
    assert holes
    assert [row["rows"] for row in of_type(rows, "judged")] == [len(found)]
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl", "out"]


@pytest.mark.usefixtures("in_both_ways")
def test_out_of_a_large_run_and_of_a_run_without_a_name(tmp_path: Path, crownless: Crownless) -> None:
    found: list[Row] = [{**event, "run": None} for event in long_run(3, 1_900, disorder=0.1)]
    found += random_events(8, 3, multicasts=False)
    name = written(tmp_path, found)
    assert crownless("classify", name, "--out", str(tmp_path / "new" / "out"), "--order", "fifo", "--json").code == 1
    rows = of_type(records(tmp_path / "new" / "out"), "verdict")
    assert {row["order"] for row in rows} == {"fifo"}
    assert {row["run"] for row in rows} == {"", "run0", "run1", "run2"}
    (large,) = [row for row in rows if row["run"] == ""]
    assert json.loads(large["witness"])["kind"] == "overtaking"


def test_out_takes_a_new_or_an_empty_folder_and_one_log(tmp_path: Path, crownless: Crownless) -> None:
    log = str(EXAMPLES / "events.csv")
    (tmp_path / "empty").mkdir()
    assert crownless("classify", log, "--out", str(tmp_path / "empty")).code == 1
    answer = crownless("classify", log, "--out", str(tmp_path / "empty"))
    assert (answer.code, answer.out) == (2, "")
    assert "the folder exists already; name a new folder" in answer.err
    answer = crownless("classify", log, log, "--out", str(tmp_path / "two"))
    assert (answer.code, answer.out) == (2, "")
    assert "--out takes one log" in answer.err
