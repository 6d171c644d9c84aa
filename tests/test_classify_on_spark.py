"""`crownless classify --engine spark`: one large run, clocks, and live logs by the command; what goes with what."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from spark_session import spark  # noqa: F401

from crownless.command_line import main
from crownless.model_check.logs import classify_file as log_contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark")


def event(process: str, index: int, kind: str, message: str, peer: str, clock: list[int], run: str = "r") -> str:
    fields = {"run": run, "process": process, "index": index, "kind": kind, "message": message, "peer": peer}
    return json.dumps({**fields, "clock": clock})


#: P1 sends x to P2 and y to P3, P3 sends z to P2, where it overtakes x.
OVERTAKEN = [
    event("P1", 0, "send", "x", "P2", [1, 0, 0]),
    event("P1", 1, "send", "y", "P3", [2, 0, 0]),
    event("P3", 0, "deliver", "y", "P1", [2, 0, 1]),
    event("P3", 1, "send", "z", "P2", [2, 0, 2]),
    event("P2", 0, "deliver", "z", "P3", [2, 1, 2]),
    event("P2", 1, "deliver", "x", "P1", [2, 2, 2]),
]


@pytest.fixture
def crownless(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main(["classify", *map(str, arguments)])
        printed = capsys.readouterr()
        return exit_.value.code, printed.out, printed.err

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(OVERTAKEN), "utf-8")
    return file


def outcomes(out: str) -> dict[str, list[str]]:
    return {
        order: [outcome for outcome, n in facts["runs"].items() if n]
        for order, facts in json.loads(out)["summary"]["orders"].items()
    }


def test_one_run_is_judged_as_one_of_many_is(crownless: Any, log: Path, spark: SparkSession) -> None:  # noqa: F811
    code, out, err = crownless(log, "--engine", "spark", "--one-run", "--json")
    assert (code, err) == (1, "")
    assert outcomes(out) == outcomes(crownless(log, "--engine", "spark", "--json")[1])
    assert outcomes(out)["causal"] == ["broken"]
    assert json.loads(out)["summary"]["rows"] == {"read": 6, "judged": 6, "quarantined": 0}
    log.write_text("\n".join([*OVERTAKEN, OVERTAKEN[0].replace('"r"', '"s"')]), "utf-8")
    code, out, err = crownless(log, "--engine", "spark", "--one-run")
    assert (code, out) == (2, "")
    assert err.startswith("crownless: the events are of several runs, such as 'r' and 's'; ")


def test_clocks_decide_causal_order(crownless: Any, log: Path, spark: SparkSession) -> None:  # noqa: F811
    code, out, err = crownless(log, "--engine", "spark", "--clocks", "--json")
    assert (code, err) == (1, "")
    assert outcomes(out) == {"fifo": ["unknown"], "causal": ["broken"]}
    code, out, _ = crownless(log, "--engine", "spark", "--clocks", "--processes", "P2,P1,P3", "--json")
    assert (code, outcomes(out)) == (3, {"fifo": ["unknown"], "causal": ["unknown"]})


def test_a_live_log_is_reported_until_an_interrupt(
    crownless: Any,
    log: Path,
    spark: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    log.rename(folder / "log.jsonl")

    def interrupt() -> None:
        until = time.monotonic() + 120
        while not list(out.glob("_SUCCESS")) and time.monotonic() < until:
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    code, printed, err = crownless(
        folder, "--engine", "spark", "--live", "--idle-timeout", "600", "--out", out, "--json"
    )
    thread.join()
    assert (code, err) == (1, f"crownless: judging what is put into {folder}; Ctrl-C ends it\n")
    records = [json.loads(line)["update"] for line in printed.splitlines()]
    assert {(row["run"], row["order"], row["verdict"]) for row in records} >= {
        ("r", order, "broken") for order in ("causal", "mailbox", "one-n", "n-n", "synchronous")
    }
    assert len(records) == spark.read.parquet(str(out)).where("record_type != 'judged'").count()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--live", "--master and --live go with --engine spark"),
        ("--engine spark --one-run --live", "--one-run, --clocks and --live are three ways to judge a log"),
        ("--engine spark --idle-timeout 3", "--idle-timeout: of --live only"),
        ("--engine spark --live --max-lateness 3", "--max-lateness: of --event-time only"),
        ("--engine spark --processes P1", "--processes: of --clocks only"),
        ("--engine spark --live --idle-timeout 0", "Invalid value for '--idle-timeout'"),
    ],
)
def test_incompatible_options_are_refused(options: str, expected: str, crownless: Any, log: Path) -> None:
    code, out, err = crownless(log, *options.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"crownless: {expected}")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("by_spec_up_to", [3, log_contents.SMALL_UP_TO])
def test_out_of_the_plain_engine_has_the_same_records(
    by_spec_up_to: int, crownless: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow.dataset

    def records(folder: Path) -> tuple[Any, list[str], int]:
        table = pyarrow.dataset.dataset(folder, partitioning="hive").to_table()
        rows = table.to_pylist()
        others = sorted(json.dumps(row, sort_keys=True) for row in rows if row["record_type"] != "judged")
        judged = sum(row["rows"] for row in rows if row["record_type"] == "judged")  # Spark has one of each task
        return sorted(table.schema.names), others, judged

    log = tmp_path / "log.jsonl"
    with_hole = [
        json.dumps({**json.loads(line), "run": "hole"}) for line in OVERTAKEN if '"y", "peer": "P1"' not in line
    ]
    kept = [json.dumps({**json.loads(line), "run": "kept"}) for line in OVERTAKEN[:4]]
    log.write_text("\n".join([*OVERTAKEN, *with_hole, *kept]), "utf-8")
    monkeypatch.setattr(log_contents, "SMALL_UP_TO", by_spec_up_to)
    assert crownless(log, "--engine", "spark", "--out", tmp_path / "spark")[0] == 1
    assert crownless(log, "--out", tmp_path / "plain")[0] == 1
    plain = records(tmp_path / "plain")
    assert plain == records(tmp_path / "spark")
    assert sum('"record_type": "hole"' in row for row in plain[1]) > 0
