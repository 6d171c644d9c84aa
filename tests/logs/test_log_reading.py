"""Every format, and every way to judge a log, on the same rows; and files that are no log, or none that can be used."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Crownless
from hypothesis import given
from hypothesis import strategies as st
from log_files import COLUMNS, OTHERS, PATTERN, SUFFIXES, Row, content_of, event, rows_of, written
from log_rows import random_computation

import crownless as cr
from crownless.oracle.logs.columns import table_of_rows
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.json_lines import read_json_lines, read_plain_lines
from crownless.oracle.logs.lines import rows_of_lines
from crownless.oracle.logs.reader import subjects
from crownless.runtime.errors import BadInput
from crownless.runtime.reading import as_text
from crownless.spec.orders import ORDERS, decide

LOGS = Path(__file__).parents[2] / "examples" / "logs"
SEND, DELIVER = event("P1", 0, "send", "x", "P2"), event("P2", 0, "deliver", "x", "P1")
GOOD = [SEND, event("P1", 1, "send", "y", "P2"), DELIVER, event("P2", 1, "deliver", "y", "P1")]
WAYS: list[list[str]] = [[], ["--one-run"], ["--match"], ["--complete"]]


def verdicts(answer: Any) -> dict[str, str]:
    return {order: found["verdict"] for order, found in answer.json["orders"].items()}


@pytest.mark.parametrize("suffix", [*SUFFIXES, *OTHERS])
def test_the_runs_of_a_log_in_any_format_are_the_computations(suffix: str, tmp_path: Path) -> None:
    chance = Random(suffix)
    for _ in range(15):
        c = random_computation(chance, chance.randint(2, 4), 6, disorder=0.3, loss=0, several=0.3)
        options = LogOptions(pattern=PATTERN if suffix == ".shiviz" else None)
        (found,) = subjects(written(tmp_path, rows_of(c), suffix), options)
        for order in ORDERS:
            assert decide(found.computation, order).kept == decide(c, order).kept, (order, str(c))
        assert not found.holes


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_log_may_have_names_of_its_own_for_columns_and_kinds(
    crownless: Crownless, tmp_path: Path, suffix: str, way: list[str]
) -> None:
    if way == ["--one-run"] and suffix == ".parquet":
        pytest.skip("read as any table is")
    theirs = {"process": "node", "message": "msg_id", "kind": "what"}
    kinds = {"send": "snd", "deliver": "send"}  # exchanged in part: each is mapped once
    rows = [{theirs.get(key, key): value for key, value in row.items()} for row in GOOD]
    rows = [{**row, "what": kinds[row["what"]]} for row in rows]
    options = [part for ours, name in theirs.items() for part in ("--column", f"{ours}={name}")]
    options += [part for kind, name in kinds.items() for part in ("--kind", f"{name}={kind}")]
    usual = crownless("classify", *way, written(tmp_path, GOOD, suffix, "usual"), "--json")
    other = crownless("classify", *way, written(tmp_path, rows, suffix), *options, "--json")
    assert (other.code, verdicts(other)) == (usual.code, verdicts(usual))
    assert crownless("classify", *way, written(tmp_path, rows, suffix)).code == 2


def test_names_of_its_own_in_an_itf_trace_with_clocks_and_in_python(crownless: Crownless, tmp_path: Path) -> None:
    text = (LOGS / "events.itf.json").read_text("utf-8")
    (tmp_path / "log.itf.json").write_text(text.replace('"kind": "deliver"', '"kind": "recv"'), "utf-8")
    renamed = crownless("classify", str(tmp_path / "log.itf.json"), "--kind", "recv=deliver", "--json")
    assert verdicts(renamed) == verdicts(crownless("classify", str(LOGS / "events.itf.json"), "--json"))
    clocked = [{**SEND, "clock": [1, 0]}, {**DELIVER, "kind": "recv", "clock": [1, 1]}]
    log = written(tmp_path, clocked)
    assert crownless("classify", "--clocks", log, "--kind", "recv=deliver").code == 0
    lines = [json.dumps({**row, "msg": row["message"], "message": None}) for row in clocked]
    (run,) = cr.read_log(lines, columns={"message": "msg"}, kinds={"recv": "deliver"})
    assert cr.classify(run)["causal"].kept
    with pytest.raises(BadInput, match="unknown kind 'delivr'"):
        cr.read_log(["{}"], kinds={"recv": "delivr"})


@pytest.mark.parametrize(
    "file",
    [
        "events.csv",
        "events.arrow",
        "events.parquet",
        "events.jsonl.gz",
        "events.otlp",
        "events.itf.json",
        f"events.shiviz --pattern {PATTERN.replace(' ', '.')}",
        "other_names.tsv --column process=node --column index=seq --column message=msg_id --column peer=to_or_from",
    ],
)
def test_the_examples_are_classified_shown_and_piped(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    name, *options = file.split()
    answer = crownless("classify", str(LOGS / name), *options, "--json")
    first = answer.json.get("classifications", [answer.json])[0]
    assert [order for order, found in first["orders"].items() if found["verdict"] == "kept"] == [
        "asynchronous",
        "fifo",
    ]
    shown = crownless("show", str(LOGS / name), *options)
    assert (shown.code, shown.err, "●" in shown.out) == (0, "", True)
    form = ["--format", "csv"] if name.endswith((".csv", ".tsv")) else []
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((LOGS / name).read_bytes())))
    piped = crownless("classify", "-", *options, *form, "--json")
    assert piped.out.replace('"file": "-"', "") == answer.out.replace(f'"file": "{LOGS / name}"', "")


def test_one_run_of_several_is_shown(crownless: Crownless, tmp_path: Path) -> None:
    days = ("fri", "mon", "sun", "tue", "wed")
    runs = written(tmp_path, [{**row, "run": day} for day in days for row in (SEND, DELIVER)], ".csv")
    shown = crownless("show", runs, "--run", "mon")
    assert (shown.code, shown.out.count("run "), "run mon" in shown.out) == (0, 1, True)
    assert "it has no run 'thu'; it has fri, mon, sun and 2 more" in crownless("show", runs, "--run", "thu").err
    alone = crownless("show", "mf-fig8", "--run", "mon").err
    assert "it has no run 'mon'; leave it out: this is one computation" in alone


# -- rows that cannot be used ------------------------------------------------------------------------------------------

BAD_ROWS: dict[str, tuple[Mapping[str, Any], str]] = {
    "an unknown kind": ({"kind": "recv"}, "unknown kind 'recv'; known: send, deliver, receive, internal; map it"),
    "a negative index": ({"index": -1}, "'index' is -1; count the events of a process from 0"),
    "a name that does not show": ({"process": "P\x1b[2J"}, "'process' cannot be"),
    "a receiver twice": ({"peer": ["P2", "P2"]}, "P1 sends y to P2 twice"),
    "an empty name": ({"peer": ["P2", ""]}, "'peer' cannot be"),
    "the separator of receivers": ({"peer": ["P2", "P3\x1fP4"]}, "'peer' cannot be"),
    "two events": ({"index": 0}, "P1 has two events 0"),
    "sent twice": ({"message": "x"}, "x is sent twice"),
    **{f"no {name}": ({name: None}, f"'{name}' is missing") for name in ("process", "index", "message", "peer")},
}


@pytest.mark.parametrize("way", [[], ["--one-run"], ["--complete"]], ids=str)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("bad", BAD_ROWS)
def test_a_bad_row_is_refused_in_every_format_and_way(
    crownless: Crownless, tmp_path: Path, suffix: str, way: list[str], bad: str
) -> None:
    changes, said = BAD_ROWS[bad]
    rows = [GOOD[0], {**GOOD[1], **changes}, *GOOD[2:]]
    answer = crownless("classify", *way, written(tmp_path, rows, suffix))
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    if way != ["--one-run"] or bad not in ("an empty name", "the separator of receivers"):
        assert said in answer.err
    if way == []:
        assert f"log{suffix}:{3 if suffix == '.csv' else 2}: " in answer.err


# -- files that are no log ---------------------------------------------------------------------------------------------

LINE = json.dumps(SEND)
REFUSED: list[tuple[str, bytes, str, str]] = [
    ("a.jsonl", b"", "", "the log is empty; give at least one event"),
    ("a.jsonl", b"\n \n", "", "the log is empty; give at least one event"),
    ("a.csv", b"", "", "cannot be read as CSV"),
    ("a.parquet", b"", "", "cannot be read as Parquet"),
    ("a.csv", b"process,index,kind,message,peer\n", "", "the log is empty; give at least one event"),
    ("a.csv.gz", b"process,index", "", "this is not gzip, or is cut off"),
    ("a.txt", content_of(GOOD, ".csv"), "", "this looks like CSV, not like a computation"),
    ("a.txt", b"process,kind\nP1,send\n", "", "this looks like CSV, not like a computation"),
    ("a.log", b"process,kind\nP1,send\n", "", "this looks like CSV, not like JSON; give --format csv"),
    ("a.csv", b"process,index,kind,message,peer\n", "--one-run", "the log is empty; give at least one event"),
    (
        "a.csv",
        b"process,index,kind,message,peer\nP1,0,send\n",
        "--skip-bad",
        "a.csv:2: none of its lines is usable; the first one: it has 3 cells, not 5; give each line a cell",
    ),
    ("a.csv", content_of(GOOD, ".parquet"), "", "this looks like Parquet, not like CSV; give --format parquet"),
    ("a.json", content_of(GOOD, ".csv"), "", "this looks like CSV, not like JSON; give --format csv"),
    (
        "a.jsonl",
        json.dumps(GOOD, indent=1).encode(),
        "",
        "a.jsonl:1:2: not JSON: Expecting value; give one event per line, as a JSON object, as jq -c",
    ),
    ("a.jsonl", f"{LINE}\n\xff".encode("latin-1"), "", "a.jsonl:2: this is not UTF-8"),
    ("a.csv", "process,index\n\xff,1\n".encode("latin-1"), "", "a.csv:2: this is not UTF-8"),
    ("a.jsonl", f"{LINE}\n{LINE[:-1]}\n".encode(), "", "not JSON: Expecting ',' delimiter"),
    ("a.jsonl", f"{LINE}\n".encode() + b"[" * 100_000, "", "a.jsonl:2: not JSON: a number is too long, or"),
    ("a.jsonl", f"{LINE}\n7\n".encode(), "", "a.jsonl:2: 7 is not an event"),
    (
        "a.csv",
        b"process,index,kind,peer\nP1,0,send,P2\n",
        "",
        "'message' is missing; it has 'process', 'index', 'kind'",
    ),
    ("a.csv", b"process,index,kind,message,peer,peer\nP1,0,send,x,P2,P3\n", "", "it has two columns 'peer'"),
    ("a.csv", b"process,index,kind,message,peer\nP1,--5,send,x,P2\n", "", "a.csv:2: 'index' cannot be '--5'"),
    ("a.csv", b"process,index\nP1\n", "", "cannot be read as CSV: CSV parse error: Row #2: Expected 2 columns, got 1"),
    (
        "a.csv",
        b"process;index;kind\n",
        "",
        "'message' and 'peer' are missing; it has 'process', 'index', 'kind'; map them with --column message=",
    ),
    ("a.csv", b"node,message,peer\n", "", "--column process=THAT --order-by THAT --column kind=THAT"),
    ("a.csv", b"process,kind,message,peer,row_index\n", "", "map them with --column index=row_index"),
    ("a.jsonl", LINE.encode(), "--order-by TYPO", "no line has 'TYPO'; name another column"),
    ("a.csv", ",".join(map(str, range(99))).encode() + b"\n", "", "'18', '19' and 79 more; map them with"),
    ("a.csv", b"\xef\xbb\xbfprocess\x00,index\n", "", "map them with --column process=process\\x00"),
    ("a.jsonl", b"\x1f\x8b\x08\x00\x00", "", "this is not gzip, or is cut off: "),
    ("a.pq", b"process\tindex\tkind\n", "", "this looks like CSV, not like Parquet; give --format csv, or"),
    (
        "a.csv",
        content_of(GOOD, ".csv"),
        "--column message=msg",
        "there is no column 'msg'; did you mean 'message'?",
    ),
    ("a.csv", content_of(GOOD, ".csv"), "--column message=peer", "'message' and 'peer' are both to be the column"),
    ("a.jsonl", LINE.encode(), "--column message=msg", "no line has 'msg'; say what is called 'message' there"),
    ("a.jsonl", LINE.encode(), "--one-run --column run=TYPO", "no line has 'TYPO'; say what is called 'run' there"),
    ("a.jsonl", LINE.encode(), "--column mesage=msg", "unknown column 'mesage'; did you mean 'message'?"),
    ("a.jsonl", LINE.encode(), "--column message", "--column message is not NAME=THEIRS; such as --column"),
    ("a.jsonl", LINE.encode(), "--kind recv=delivr", "unknown kind 'delivr'; did you mean 'deliver'?"),
    ("a.jsonl", LINE.encode(), "--kind =deliver", "is not THEIRS=KIND; such as --kind recv=deliver"),
    ("a.jsonl", LINE.encode(), "--kind r=deliver --kind r=send", "--kind: 'r' is mapped to both deliver and send"),
    ("a.jsonl", LINE.encode(), "--pattern x", "--pattern has no group 'send'"),
    ("a.csv", content_of(GOOD, ".csv"), "--pattern x", "--pattern cannot be combined with --format csv"),
    ("a.txt", b"P1: send x to P2\nP2: receive x\n", "--kind r=deliver", "--kind cannot be combined with a computation"),
    ("a.otlp", content_of(GOOD, ".otlp"), "--kind r=deliver", "--kind cannot be combined with --format otlp"),
    (
        "a.itf",
        content_of(GOOD, ".itf.json"),
        "--column index=id",
        "--column index cannot be combined with --format itf",
    ),
    ("a.shiviz", content_of(GOOD, ".shiviz"), "--match", "--match cannot be combined with --format shiviz"),
    ("a.shiviz", content_of(GOOD, ".shiviz"), "--one-run", "shiviz cannot be read in blocks here"),
    ("a.shiviz", content_of(GOOD, ".shiviz"), "--engine spark --pattern x", "cannot be combined with --engine"),
    ("a.jsonl.gz", content_of(GOOD, ".jsonl.gz"), "--format parquet", "this looks like JSON, not like Parquet"),
]


@pytest.mark.parametrize(("name", "content", "options", "said"), REFUSED, ids=[one[3][:40] for one in REFUSED])
def test_a_file_that_cannot_be_used_is_refused_in_a_line(
    crownless: Crownless, tmp_path: Path, name: str, content: bytes, options: str, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = crownless("classify", str(tmp_path / name), *options.split())
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1), answer.err
    assert said in answer.err
    assert "; " in answer.err


@pytest.mark.parametrize("name", ["", "x" * 300, "a\nb", "\x1b[31m.txt", "\udcff.txt", ".", "nowhere/x"])
@pytest.mark.parametrize("command", [["classify"], ["classify", "--one-run"], ["show"], ["check", "rst", "--program"]])
def test_a_file_that_cannot_be_read_is_named(crownless: Crownless, command: list[str], name: str) -> None:
    answer = crownless(*command, name)
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert answer.err[:-1].isprintable()


def test_a_pipe_is_read_to_its_end(crownless: Crownless) -> None:
    read, write = os.pipe()
    os.write(write, (LOGS / "events.csv").read_bytes())
    os.close(write)
    answer = crownless("classify", f"/dev/fd/{read}", "--format", "csv", "--json")
    assert [one["run"] for one in answer.json["classifications"]] == ["monday", "tuesday"]


@pytest.mark.parametrize("options", [(), ("--one-run",), ("--complete",)], ids=str)
@pytest.mark.parametrize("heading", ['"a\nnote"', '"a ""\nnote"', '"a, note"', '"index\n"', "12"])
def test_names_and_cells_of_csv_are_texts_and_may_hold_what_quotes_allow(
    tmp_path: Path, crownless: Crownless, heading: str, options: tuple[str, ...]
) -> None:
    heads = f"{heading},process,index,kind,message,peer\nx,01,0,send,7,2\nx,2,0,deliver,7,01\n"
    (tmp_path / "log.csv").write_text(heads, "utf-8")
    (tmp_path / "plain.csv").write_text("process,index,kind,message,peer\n01,0,send,7,2\n2,0,deliver,7,01\n", "utf-8")
    answer, plain = (
        crownless("classify", str(tmp_path / name), *options, "--json") for name in ("log.csv", "plain.csv")
    )
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.replace("log.csv", "plain.csv") == plain.out


# -- the compiled loop -------------------------------------------------------------------------------------------------

PLAIN = (
    LINE,
    f"\n \t{LINE} \r\n\n{LINE}\r\n",
    '{"peer":null,"message" : -17 ,\t"index":-3, "kind":"","run":7}',
    '{"process": "Pé", "index": 123456789012345678, "message": 0, "of no column": "x", "at": -0.50, "n": null}',
    '{"index": 10, "inde": 1, "indexes": 2, "Index": 3}',
)
NOT_PLAIN = (
    '{"process": "P\\u0031"}',
    '{"process": "P\t"}',
    '{"process": "P1}',
    '{"process": "P1", }',
    '{"process" "P1"}',
    '{"process": "P1"',
    '{"process": "P1", "process": "P1"}',
    '{"process": 1}',
    '{"kind": nul}',
    '{"kind": true}',
    '{"index": "1"}',
    '{"index": 01}',
    '{"index": 1.0}',
    '{"index": 1234567890123456789}',
    '{"message": -0}',
    '{"at": 1.}',
    '{"clock": {"P1": 1}}',
    '{"peer": ["P1"]}',
    f"{LINE} {LINE}",
    f"[{LINE}]",
)


PIECES = (*'{}[]":,\\\n\t 019-.eun', "null", '"P1"', '"run": 3, ')


def by_the_loop(content: bytes) -> list[Row] | None:
    table = read_plain_lines(content)
    if table is not None:
        table.validate(full=True)
    return None if table is None else table.to_pylist()


def as_json_says(content: bytes) -> Iterator[Row]:
    for line in content.decode().split("\n"):
        if line.strip():
            fields = json.loads(line)
            row = {name: None if fields.get(name) is None else str(fields[name]) for name in (*COLUMNS, "text")}
            yield {**row, "run": row["run"] or "", "index": fields.get("index"), "text": None}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_lines_are_read_by_the_loop_as_json_says(text: str) -> None:
    assert by_the_loop(text.encode()) == [*as_json_says(text.encode())]


@pytest.mark.parametrize("text", NOT_PLAIN)
@pytest.mark.parametrize("after", ["", f"{LINE}\n"])
def test_other_lines_are_left_by_the_loop(text: str, after: str) -> None:
    assert by_the_loop((after + text).encode()) is None


@given(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3), st.data())
def test_lines_that_the_loop_reads_are_read_as_json_says(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text)))
        past = at + data.draw(st.integers(0, 1))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[past:]
    found = by_the_loop(text.encode())
    if found is not None:
        assert found == [*as_json_says(text.encode())]


@pytest.mark.parametrize("odd", [{}, {"peer": ["P2", "P3"]}, {"run": "r\u00e9\n"[:2]}, {"clock": {"P1": 1}}], ids=str)
def test_large_logs_are_read_as_small_ones_line_by_line(odd: dict[str, Any]) -> None:
    """In blocks; a block with a line that is not plain is read line by line."""
    rows = [event("P1", k, "send", f"m{k}", "P2", padding="x" * 900) for k in range(9_000)]
    content = content_of([*rows[:8_000], {**rows[8_000], **odd}, *rows[8_001:]], ".jsonl")
    large = read_json_lines(content, "log.jsonl", LogOptions())
    small = table_of_rows([*rows_of_lines(as_text(content, "log.jsonl").split("\n"))])
    assert large.to_pylist() == small.to_pylist()
    with pytest.raises(BadInput, match=r"log.jsonl:9001:2: not JSON"):
        read_json_lines(content + b"{\n", "log.jsonl", LogOptions())
