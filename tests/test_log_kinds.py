"""`--kind recv=deliver`: a log may call kinds of events otherwise, in every format and every way to judge it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.model_check.logs import classify_file as opening
from crownless.model_check.logs.files import read_table
from crownless.model_check.logs.kinds import lines_with_kinds, table_with_kinds
from crownless.spec.errors import BadInput

EXAMPLES = Path(__file__).parent.parent / "examples"
THEIRS = {"send": "snd", "deliver": "recv"}
OPTIONS = ("--kind", "snd=send", "--kind", "recv=deliver")
COLUMNS = ("run", "process", "index", "kind", "message", "peer")


def one_run(*, called: bool) -> list[dict[str, Any]]:
    """The first run of the example, with its own kinds or with other ones."""
    rows = [json.loads(line) for line in (EXAMPLES / "events.jsonl").read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["run"] == "monday"]
    return [{**row, "kind": THEIRS[row["kind"]]} for row in rows] if called else rows


def written(folder: Path, suffix: str, rows: Sequence[dict[str, Any]]) -> str:
    path = folder / f"log{suffix}"
    table = pa.table({name: [row.get(name) for row in rows] for name in COLUMNS})
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif suffix == ".csv":
        pc.write_csv(table, path)
    elif suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    return str(path)


def verdicts(answer: Any) -> dict[str, Any]:
    return {order: facts["verdict"] for order, facts in answer.json["orders"].items()}


@pytest.mark.parametrize("way", [[], ["--one-run"], ["--match"]])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".arrow"])
def test_verdicts_are_those_of_the_log_with_the_usual_kinds(
    crownless: Crownless, tmp_path: Path, suffix: str, way: list[str]
) -> None:
    usual, other = tmp_path / "usual", tmp_path / "other"
    usual.mkdir()
    other.mkdir()
    known = crownless("classify", *way, written(usual, suffix, one_run(called=False)), "--json")
    log = written(other, suffix, one_run(called=True))
    assert verdicts(crownless("classify", *way, log, *OPTIONS, "--json")) == verdicts(known)
    refused = crownless("classify", *way, log)
    assert refused.code == 2
    assert "unknown kind 'snd'" in refused.err
    assert "if the log calls one of them so: --kind snd=THAT" in refused.err


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_a_log_that_the_monitor_decides_is_read_so_too(
    crownless: Crownless, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = verdicts(crownless("classify", written(tmp_path, suffix, one_run(called=False)), "--json"))
    monkeypatch.setattr(opening, "SMALL_UP_TO", 3)
    assert verdicts(crownless("classify", written(tmp_path, suffix, one_run(called=True)), *OPTIONS, "--json")) == known


def test_lines_in_several_forms_are_read_so_in_blocks_too(crownless: Crownless, tmp_path: Path) -> None:
    rows = one_run(called=True)
    rows.append({"run": "monday", "process": "web", "index": 2, "kind": "act", "peer": {"ignored": "there"}})
    options = (*OPTIONS, "--kind", "act=internal")
    log = str(tmp_path / "log.jsonl")
    Path(log).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert read_table(Path(log).read_bytes(), "jsonl", log) is None
    known = verdicts(crownless("classify", log, *options, "--json"))
    assert verdicts(crownless("classify", "--one-run", log, *options, "--json")) == known


def test_with_clocks_and_with_columns_of_other_names(crownless: Crownless, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"process": "P1", "index": 0, "kind": "snd", "message": "x", "peer": "P2", "clock": [1, 0]},
        {"process": "P2", "index": 0, "kind": "recv", "message": "x", "clock": [1, 1]},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert crownless("classify", "--clocks", str(log), *OPTIONS).code == 0
    assert crownless("classify", "--clocks", str(log)).code == 2
    log.write_text("\n".join(json.dumps(row).replace('"kind"', '"what"') for row in rows), "utf-8")
    assert crownless("classify", str(log), *OPTIONS, "--column", "kind=what").code == 0


def test_in_an_itf_trace(crownless: Crownless, tmp_path: Path) -> None:
    text = (EXAMPLES / "logs" / "events.itf.json").read_text("utf-8")
    log = tmp_path / "log.itf.json"
    log.write_text(text.replace('"kind": "deliver"', '"kind": "recv"'), "utf-8")
    known = crownless("classify", str(EXAMPLES / "logs" / "events.itf.json"), "--json")
    assert verdicts(crownless("classify", str(log), "--kind", "recv=deliver", "--json")) == verdicts(known)
    assert "--kind recv=THAT" in crownless("classify", str(log)).err


def test_in_python(tmp_path: Path) -> None:
    log = written(tmp_path, ".csv", one_run(called=True))
    known = cr.classify(cr.read_log(written(tmp_path, ".jsonl", one_run(called=False)))[0]).outcomes
    kinds = {"snd": "send", "recv": "deliver"}
    assert cr.classify(cr.read_log(log, kinds=kinds)[0]).outcomes == known
    lines = [json.dumps(row) for row in one_run(called=True)]
    assert cr.classify(cr.read_log(lines, kinds=kinds)[0]).outcomes == known
    with pytest.raises(BadInput, match="if the log calls one of them so: `kinds` snd=THAT"):
        cr.read_log(lines)


def test_kinds_may_be_exchanged_and_are_mapped_once() -> None:
    swap = {"send": "deliver", "deliver": "send"}
    lines = ['{"kind": "send"}', '{"kind": "deliver"}', '{"kind": 1}', "no event", "", "[" * 100_000]
    assert [*lines_with_kinds(lines, swap)] == ['{"kind": "deliver"}', '{"kind": "send"}', *lines[2:]]
    table = pa.table({"kind": pa.chunked_array([["send"], ["deliver", None, "internal"]])})
    for column in (table, table.set_column(0, "kind", table["kind"].dictionary_encode())):
        assert table_with_kinds(column, swap)["kind"].to_pylist() == ["deliver", "send", None, "internal"]


def test_an_error_names_the_line_of_the_file(crownless: Crownless, tmp_path: Path) -> None:
    rows = one_run(called=True)
    rows[2]["kind"] = "odd"
    answer = crownless("classify", written(tmp_path, ".jsonl", rows), *OPTIONS)
    assert "log.jsonl:3: unknown kind 'odd'" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("events.csv", "--kind", "recv=delivr"), "unknown kind 'delivr'; did you mean 'deliver'?"),
        (("events.csv", "--kind", "recv"), "--kind recv is not THEIRS=KIND; such as --kind recv=deliver"),
        (("events.csv", "--kind", "=deliver"), "is not THEIRS=KIND"),
        (("events.csv", "--kind", "r=deliver", "--kind", "r=send"), "--kind: 'r' is to be deliver and send"),
        (("events.shiviz", "--kind", "r=deliver"), "--kind does not go with --format shiviz"),
        (("events.otlp", "--kind", "r=deliver"), "--kind does not go with --format otlp"),
        (("computation.txt", "--kind", "r=deliver"), "--kind does not go with a computation"),
        (
            ("events.csv", "--engine", "spark", "--kind", "r=deliver"),
            "--kind does not go with --engine spark",
        ),
    ],
)
def test_what_means_nothing_is_refused_in_a_line(
    crownless: Crownless, arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (tmp_path / "computation.txt").write_text("P1: send x to P2\nP2: receive x\n", "utf-8")
    file = tmp_path / "computation.txt" if arguments[0] == "computation.txt" else EXAMPLES / "logs" / arguments[0]
    answer = crownless("classify", str(file), *arguments[1:])
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_unknown_kinds_are_refused_in_python() -> None:
    with pytest.raises(BadInput, match="unknown kind 'delivr'"):
        cr.read_log(["{}"], kinds={"recv": "delivr"})
    with pytest.raises(BadInput, match=r"`kinds` .*: not strings by name"):
        cr.read_log(["{}"], kinds=["recv"])  # type: ignore[arg-type]
