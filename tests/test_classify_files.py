"""Files of logs that change, are empty, are pipes, or are called what they are not; progress; and `--out`."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from test_classified_logs import Event, by_spec, events, long_run, written
from witness_checks import check_witness, from_json

from crownless.command_line.classify_report import Rate
from crownless.model_check.logs import classify_file as opening
from crownless.model_check.logs import files, monitor
from crownless.model_check.logs.classify_file import LogRequest, classify_file
from crownless.model_check.oracle import NamedComputation
from crownless.spec import reading
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, Verdict
from crownless.spec.reading import read_bytes

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
EXAMPLES = Path(__file__).parents[1] / "examples" / "logs"


@pytest.fixture(params=[10, 5_000])
def small_up_to(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs decided by the monitor, and by the spec."""
    monkeypatch.setattr(opening, "SMALL_UP_TO", request.param)


# -- what is read ------------------------------------------------------------------------------------------------------


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def shrink(path: Path) -> None:
    os.truncate(path, 5)


def rewrite(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(b"x" + content[1:])
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("change", [grow, shrink, rewrite])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(reading, "BLOCK", 4)
    path = tmp_path / "a log.jsonl"
    path.write_bytes(b"0123456789")
    changed: list[int] = []

    def report(read: int) -> None:
        if not changed:
            changed.append(read)
            change(path)

    with pytest.raises(BadInput, match=r"it changed while it was read; give a copy of it: cp '.*a log.jsonl' COPY"):
        read_bytes(path, str(path), report)
    assert changed == [4]
    assert read_bytes(path, str(path)) == path.read_bytes()


@pytest.mark.parametrize(
    "suffix", ["jsonl", "csv", "tsv", "parquet", "arrow", "csv.gz", "jsonl.zst", "parquet.lz4", "txt"]
)
def test_an_empty_file_is_refused_in_one_line(tmp_path: Path, crownless: Crownless, suffix: str) -> None:
    (tmp_path / f"log.{suffix}").touch()
    answer = crownless("classify", str(tmp_path / f"log.{suffix}"))
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1
    assert "; " in answer.err


def test_a_folder_is_refused(tmp_path: Path, crownless: Crownless) -> None:
    (tmp_path / "log.parquet").mkdir()
    answer = crownless("classify", str(tmp_path / "log.parquet"))
    assert (answer.code, answer.out) == (2, "")
    assert "cannot read it: Is a directory; name a text file or a log" in answer.err


def test_a_pipe_is_read_to_its_end_and_one_without_a_writer_is_refused(
    tmp_path: Path, crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "log.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((EXAMPLES / "events.csv").read_bytes()))
    writer.start()
    answer = crownless("classify", str(pipe), "--json")
    writer.join()
    assert answer.code == 1
    assert [one["run"] for one in answer.json["classifications"]] == ["monday", "tuesday"]
    monkeypatch.setattr(reading, "PATIENCE", 0.1)
    answer = crownless("classify", str(pipe))
    assert (answer.code, answer.out) == (2, "")
    assert "this is a pipe without a writer" in answer.err


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("events.csv", "", "if it is an event log: crownless classify - --format csv"),
        ("other_names.tsv", "", "this looks like CSV, not like a computation"),
        ("events.parquet", "--format csv", "this looks like Parquet, not like CSV; give --format parquet"),
        ("events.arrow", "--format jsonl", "this looks like Arrow, not like JSON; give --format arrow"),
        ("lines", "--format csv", "this looks like JSON, not like CSV; give --format jsonl"),
    ],
)  # fmt: skip
def test_a_log_of_another_format_than_said_is_refused_with_the_right_one(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch, name: str, options: str, expected: str
) -> None:
    content = b'{"process": "P1"}\n' if name == "lines" else (EXAMPLES / name).read_bytes()

    class Input(io.TextIOWrapper):
        def fileno(self) -> int:
            return null.fileno()

    with open(os.devnull) as null:
        monkeypatch.setattr("sys.stdin", Input(io.BytesIO(content)))
        answer = crownless("classify", "-", *options.split())
    assert (answer.code, answer.out) == (2, "")
    assert expected in answer.err


def test_columns_on_standard_input_may_be_separated_by_tabs(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input(io.TextIOWrapper):
        def fileno(self) -> int:
            return null.fileno()

    renamed = ("process=node", "index=seq", "message=msg_id", "peer=to_or_from")
    options = [part for one in renamed for part in ("--column", one)]
    with open(os.devnull) as null:
        monkeypatch.setattr("sys.stdin", Input(io.BytesIO((EXAMPLES / "other_names.tsv").read_bytes())))
        answer = crownless("classify", "-", "--format", "csv", *options)
    assert (answer.code, answer.err) == (1, "")


@pytest.mark.parametrize("options", [(), ("--one-run",), ("--complete",)], ids=str)
@pytest.mark.parametrize("heading", ['"a\nnote"', '"a ""\nnote"', '"a, note"', '"index\n"', "12"])
def test_a_column_name_of_csv_may_hold_anything_that_quotes_allow(
    tmp_path: Path, crownless: Crownless, heading: str, options: tuple[str, ...]
) -> None:
    """All names and cells of the log's columns are texts, also where they look like numbers."""
    (tmp_path / "log.csv").write_text(
        f"{heading},process,index,kind,message,peer\nx,01,0,send,7,2\nx,2,0,deliver,7,01\n", "utf-8"
    )
    (tmp_path / "plain.csv").write_text("process,index,kind,message,peer\n01,0,send,7,2\n2,0,deliver,7,01\n", "utf-8")
    answer, plain = (
        crownless("classify", str(tmp_path / name), *options, "--json") for name in ("log.csv", "plain.csv")
    )
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.replace("log.csv", "plain.csv") == plain.out


@pytest.mark.parametrize("options", [(), ("--one-run",), ("--complete",)], ids=str)
@pytest.mark.parametrize(
    "content",
    [
        '"process\n",index,kind,message,peer\n1,0,send,7,2\n',
        '"a\nnote",process,index,kind,message,peer\nx,1,zero,send,7,2\n',
        '"a\nnote,process,index,kind,message,peer\nx,1,0,send,7,2\n',
        '"a\nnote",process,index,kind,message,peer\nx,1\n',
    ],
)
def test_csv_with_a_line_break_in_a_column_name_is_refused_in_one_line_where_it_is_no_log(
    tmp_path: Path, crownless: Crownless, content: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "log.csv").write_text(content, "utf-8")
    answer = crownless("classify", str(tmp_path / "log.csv"), *options)
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1
    assert "; " in answer.err


# -- progress ----------------------------------------------------------------------------------------------------------


def test_the_line_of_progress_has_a_rate() -> None:
    said: list[str] = []
    times = iter([10.0, 12.0, 12.05, 100.0, 110.0])
    rate = Rate(said.append, lambda: next(times))
    rate.file = "log\x1b[2J.jsonl"
    rate("read", 0, 10_000_000, "lines")
    rate("read", 3_200_000, 10_000_000, "lines")
    rate("decided", 5, 7, "events")
    rate("read", 0, None, "bytes")
    rate("read", 900, None, "bytes")
    assert said == [
        "log\\x1b[2J.jsonl: read 0 of 10,000,000 lines",
        "log\\x1b[2J.jsonl: read 3,200,000 of 10,000,000 lines, 1.6 M a second",
        "log\\x1b[2J.jsonl: decided 5 of 7 events",
        "log\\x1b[2J.jsonl: read 0 bytes",
        "log\\x1b[2J.jsonl: read 900 bytes, 90 a second",
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_what_is_read_and_decided_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    import pyarrow.csv

    monkeypatch.setattr(opening, "SMALL_UP_TO", 10)
    monkeypatch.setattr(files, "BLOCK", 1 << 12)
    monkeypatch.setattr(monitor, "ROWS_AT_A_TIME", 100)
    found = events(8, 60, multicasts=False)
    name = written(tmp_path / "log.jsonl", found)
    if suffix == "csv":
        name = str(tmp_path / "log.csv")
        pyarrow.csv.write_csv(pa.Table.from_pylist(found), name)
    said: list[tuple[str, int, int | None, str]] = []
    classify_file(LogRequest(name, tuple(ORDERS), "lost", progress=lambda *one: said.append(one)))
    read = [done for doing, done, of, unit in said if (doing, unit) == ("read", "lines")]
    assert len(read) > 3
    assert read == sorted(read)
    lines = len(found) + (suffix == "csv")
    assert (read[-1], {of for doing, _, of, unit in said if unit == "lines"}) == (lines, {lines})
    decided = [done for doing, done, _, unit in said if (doing, unit) == ("decided", "events")]
    assert decided == sorted(decided)
    assert len(decided) > 3


# -- --out -------------------------------------------------------------------------------------------------------------


def records(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.dataset

    rows: list[dict[str, Any]] = pyarrow.dataset.dataset(folder, partitioning="hive").to_table().to_pylist()
    return rows


def of_type(rows: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["record_type"] == kind]


@pytest.mark.usefixtures("small_up_to")
def test_out_has_every_verdict_witness_and_hole(tmp_path: Path, crownless: Crownless) -> None:
    found = events(5, 100)
    name = written(tmp_path / "log.jsonl", found)
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


@pytest.mark.usefixtures("small_up_to")
def test_out_of_a_large_run_and_of_a_run_without_a_name(tmp_path: Path, crownless: Crownless) -> None:
    found: list[Event] = [{**event, "run": None} for event in long_run(3, 1_900, disorder=0.1)]
    found += events(8, 3, multicasts=False)
    name = written(tmp_path / "log.jsonl", found)
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


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_folder_that_could_not_be_written(
    tmp_path: Path, crownless: Crownless, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        assert any(one.startswith(".out.") for one in os.listdir(tmp_path)), "it is written beside"
        raise error

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail)
    answer = crownless("classify", str(EXAMPLES / "events.csv"), "--out", str(tmp_path / "out"))
    assert answer.code == (74 if isinstance(error, OSError) else 1)
    assert "nothing was written to" in answer.err or isinstance(error, OSError)
    assert os.listdir(tmp_path) == []
