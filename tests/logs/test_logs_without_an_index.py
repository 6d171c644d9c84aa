"""Logs as people have them: timestamps instead of indices, names of their own, copies, and truncated lines."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from hypothesis import given
from hypothesis import strategies as st
from log_files import Row, content_of, event, written
from log_rows import KEPT_BY_UNICASTS
from tabular_logs import GOOD, STAMPED, TABULAR, verdicts

import crownless as cr
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.order_by import with_places
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.errors import BadInput

pa = pytest.importorskip("pyarrow")

LOGS = Path(__file__).parents[2] / "examples" / "logs"
TIE = {**event("P1", 2, "send", "z", "P2"), "ts": 5}
#: More rows, options, and the refusal; `{n}` is the line of row n.
REFUSED: list[tuple[list[Row], str, str]] = [
    ([TIE], "--order-by ts", ":{4}: P1 has two events with 'ts' 5: lines {1} and {4}; order by a column"),
    ([], "--order-by ts --one-run", "combined with --one-run; sort the file by 'ts', and give --order-by line"),
    ([{**TIE, "ts": None}], "--order-by ts", ":{4}: 'ts' is missing; give a whole number, a decimal or an ISO 8601"),
    ([], "--order-by seq", ":{1}: 'seq' cannot be \"a\"; give a whole number, a decimal or an ISO 8601 time"),
    ([], "--order-by tz", "'tz'"),
    ([], "--order-by ts --column index=seq", "the column 'index' and --order-by both order the events; leave one"),
    ([], "--order-by ts --clocks", "--order-by cannot be combined with --clocks; leave one of them out"),
    ([], "--order-by line --engine spark", "--order-by line cannot be combined with --engine spark; name a column"),
    ([], "--skip-bad --match", "--skip-bad cannot be combined with --match"),
    ([], "--column peer=- --one-run", "--column peer=- cannot be combined with --one-run; leave --one-run out"),
    ([TIE], "", "P1"),
    ([], "--column ts=index", "unknown column 'ts'; it is --column index=ts"),
    ([], "--kind deliver=recv", "unknown kind 'recv'; it is --kind recv=deliver"),
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize(("more", "options", "said"), REFUSED, ids=[one[1] or "none" for one in REFUSED])
def test_what_has_no_order_is_refused_in_a_line(
    crownless: Crownless, tmp_path: Path, more: list[Row], options: str, said: str, suffix: str
) -> None:
    rows = [*STAMPED, *more]
    if not options:
        rows = [{**row, "index": 0} for row in rows]
    answer = crownless("classify", written(tmp_path, rows, suffix), *options.split())
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1), answer.err
    heading = suffix == ".csv"
    assert said.replace("{1}", f"{1 + heading}").replace("{4}", f"{4 + heading}") in answer.err


def places(values: Any, quarantine: Quarantine | None = None) -> list[int]:
    """The places of events of one process that have these values."""
    names = {"run": [""] * len(values), "process": ["P1"] * len(values)}
    options = LogOptions(order_by="ts", quarantine=quarantine)
    placed = with_places(pa.table({**names, "index": values}), "log", options, iter(range(1, len(values) + 1)))
    return list(placed["index"].to_pylist())


@pytest.mark.parametrize("value", ["1,000", "x", "2024-13-01", "2024-01-01T00:00:00Z", ""])
def test_values_unlike_the_first_are_refused_or_left_out(value: str) -> None:
    values, left_out = pa.array(["2024-01-01 10:00", value, "2024-01-01 09:00:00,5"]), Quarantine()
    with pytest.raises(BadInput, match="log:2: 'ts' cannot be"):
        places(values)
    assert places(values, left_out) == [1, 0]
    assert [(line, reason.text.startswith("'ts' cannot be")) for line, reason in left_out.rows] == [(2, True)]


def test_events_of_one_process_with_one_value_have_one_place_if_copies_are_left_out() -> None:
    assert places(pa.array([7, 5, 9, 7]), Quarantine()) == [1, 0, 2, 1]


@given(st.lists(st.decimals(-(10**12), 10**12, places=9), min_size=1, max_size=20, unique=True))
def test_places_are_those_of_the_exact_values(values: list[Decimal]) -> None:
    expected = [sorted(values).index(value) for value in values]
    for given_ in (pa.array([f"{value:f}" for value in values]), pa.array(values, pa.decimal128(38, 9))):
        assert places(given_) == expected


@pytest.mark.parametrize(
    ("index", "note"),
    [
        ([100, 101, 102, 103], "'index' looks like a timestamp, not"),
        ([0, 5, 0, 1], None),
    ],
)
@pytest.mark.parametrize("copies", [1, 1_500])
def test_indices_that_are_none_are_noticed(
    crownless: Crownless, tmp_path: Path, index: list[int], note: str | None, copies: int
) -> None:
    log: list[Row] = []
    for k in range(copies):
        at = [one + 4 * k if note else one + (index[p // 2] != 5) * 0 + 6 * k for p, one in enumerate(index)]
        at = [one + 10_000 * (index[0] == 100) for one in at]
        log += [event("P1", at[0], "send", f"x{k}", "P2"), event("P1", at[1], "send", f"y{k}", "P2")]
        log += [event("P2", at[2], "deliver", f"x{k}"), event("P2", at[3], "deliver", f"y{k}")]
    notes = crownless("classify", written(tmp_path, log), "--order", "fifo", "--json").json["notes"]
    assert any(one.startswith(note) for one in notes) if note else not any("looks like" in one for one in notes)
    assert all("--order-by THAT" in one for one in notes if "looks like" in one)


# -- names -------------------------------------------------------------------------------------------------------------

OWN = [
    {"ts": 1, "Process": "a", "event": "snd", "msg_id": "x", "to": "b"},
    {"ts": 2, "Process": "b", "event": "rcv", "msg_id": "x", "to": "a"},
]
MAPPING = {
    "order_by": "ts",
    "columns": {"process": "Process", "kind": "event", "message": "msg_id", "peer": "to"},
    "kinds": {"snd": "send", "rcv": "deliver"},
}
AS_TOML = "\n".join(
    ['order_by = "ts"']
    + [f"[{name}]\n" + "\n".join(f'{a} = "{b}"' for a, b in MAPPING[name].items()) for name in ("columns", "kinds")]  # type: ignore[attr-defined]
)
AS_OPTIONS = [
    *("--order-by", "ts"),
    *[part for a, b in MAPPING["columns"].items() for part in ("--column", f"{a}={b}")],  # type: ignore[attr-defined]
    *[part for a, b in MAPPING["kinds"].items() for part in ("--kind", f"{a}={b}")],  # type: ignore[attr-defined]
]


@pytest.mark.parametrize("suffix", TABULAR)
def test_a_mapping_file_says_what_options_say(crownless: Crownless, tmp_path: Path, suffix: str) -> None:
    log = written(tmp_path, OWN, suffix)
    if suffix == ".csv":  # without the column that every such file of the tests has
        lines = [",".join(map(str, row)) for row in (OWN[0], *(row.values() for row in OWN))]
        (tmp_path / "log.csv").write_text("\n".join(lines))
    (tmp_path / "map.toml").write_text(AS_TOML)
    (tmp_path / "map.json").write_text(json.dumps(MAPPING))
    known = crownless("classify", log, *AS_OPTIONS, "--json")
    assert verdicts(known) == KEPT_BY_UNICASTS
    for name in ("map.toml", "map.json"):
        found = crownless("classify", log, "--mapping", str(tmp_path / name), "--json")
        assert found.out == known.out
        assert crownless("show", log, "--mapping", str(tmp_path / name)).code == 0
    html = str(tmp_path / "page.html")
    assert crownless("explore", log, "--mapping", str(tmp_path / "map.toml"), "--html", html).code == 0
    (run,) = cr.read_log(log, **MAPPING)  # type: ignore[arg-type]
    assert cr.classify(run).outcomes | {"total": "nothing"} == verdicts(known)
    missing = crownless("classify", log)
    assert "'process', 'index', 'kind', 'message' and 'peer' are missing" in missing.err
    assert "--column process=Process --order-by THAT --column kind=THAT --column message=THAT" in missing.err
    assert "map it with --kind snd=send, or =deliver" in crownless("classify", log, *AS_OPTIONS[:-4]).err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns = 3", "'columns' cannot be 3; such as: order_by = "),
        ("colums = 3", "unknown key 'colums'; did you mean 'columns'?"),
        ("[columns]\nproces = 'x'", "unknown column 'proces'; did you mean 'process'?"),
        ("[kinds]\nsend = 'snd'", "unknown kind 'snd'; it is --kind snd=send"),
        ("{", "it is neither TOML nor JSON"),
    ],
)
def test_a_wrong_mapping_is_refused_in_a_line(crownless: Crownless, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "map.toml").write_text(text)
    answer = crownless("classify", written(tmp_path, OWN), "--mapping", str(tmp_path / "map.toml"))
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert f"map.toml: {said}" in answer.err


@pytest.mark.parametrize(
    ("mapping", "options", "lacks_index"),
    [
        ('order_by = "seq"', "--column index=ts", False),
        ('order_by = "ts"', "--order-by seq", True),
        ('[columns]\nindex = "seq"', "--order-by ts", True),
    ],
)
def test_options_win_over_a_mapping_file(
    crownless: Crownless, tmp_path: Path, mapping: str, options: str, lacks_index: bool
) -> None:
    rows = [{**event("P1", 0, "send", "x", "P2"), "ts": 0, "seq": 1}, {**event("P2", 0, "deliver", "x"), "ts": 0}]
    (tmp_path / "map.toml").write_text(mapping)
    log = written(tmp_path, [{**row, "seq": 1} for row in rows])
    answer = crownless("classify", log, "--mapping", str(tmp_path / "map.toml"), *options.split(), "--json")
    assert (answer.code, verdicts(answer)) == (0, KEPT_BY_UNICASTS)
    assert any("lost lines" in note for note in answer.json["notes"]) is lacks_index


@pytest.mark.parametrize("padding", [0, 600])
@pytest.mark.parametrize(
    ("part", "said"), [(1.5, "1.5"), (True, "true"), ({"a": 1}, "an object"), (["a"], "a list"), ("1.5", ""), (-7, "")]
)
def test_names_are_made_of_texts_and_whole_numbers(tmp_path: Path, part: Any, said: str, padding: int) -> None:
    row = {**event("P1", 0, "send", "", "P2"), "topic": "t", "offset": part}
    log = written(tmp_path, [*({**row, "offset": k, "padding": "x" * 1_000} for k in range(padding)), row])
    read = partial(cr.read_log, columns={"message": "topic+offset"}, order_by="line")
    if not said:
        (run,) = read(log)
        assert f"t-{part}" in {message.name for message in run.computation.messages}
        return
    with pytest.raises(BadInput, match=f"'message' cannot be {said}; give the parts of a name as strings or integers"):
        read(log)
    if part in (1.5, True):
        with pytest.raises(
            BadInput, match=r"log.parquet: the column 'offset' is of type (double|bool); give the parts"
        ):
            read(written(tmp_path, [row], ".parquet"))


@pytest.mark.parametrize(("value", "said"), [(True, "true"), ([1], "a list"), ("true", '"true"')])
def test_values_that_do_not_order_events_are_reported_as_json_has_them(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(BadInput, match=f"log.jsonl:4: 'ts' cannot be {said}; give a whole number, a decimal or"):
        cr.read_log(written(tmp_path, [*STAMPED, {**TIE, "ts": value}]), order_by="ts")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.csv.gz"])
def test_the_separator_of_cells_is_found(crownless: Crownless, tmp_path: Path, separator: str, name: str) -> None:
    lines = ["process,index,kind,message,peer", 'P1,0,send,x,"P2;P3"', "P2,0,deliver,x,P1", "P3,0,deliver,x,"]
    content = "\n".join(line.replace(",", separator) for line in lines).encode()
    (tmp_path / name).write_bytes(pa.compress(content, "gzip", asbytes=True) if name.endswith("gz") else content)
    answer = crownless("classify", str(tmp_path / name), "--json")
    assert verdicts(answer) == KEPT_BY_UNICASTS | {"total": "kept"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", content_of(GOOD, ".csv")[:-10], "it has 3 cells, not 5"),
        ("a.jsonl", content_of(GOOD, ".jsonl")[:-10], "not JSON: "),
        ("a.jsonl", content_of([*GOOD[:3], {**GOOD[3], "message": "é"}], ".jsonl")[:-4], "not JSON: "),
    ],
)
def test_a_last_line_that_is_cut_off_is_left_out(
    crownless: Crownless, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = crownless("classify", "--skip-bad", "--json", str(tmp_path / name))
    assert answer.json["left_out"][0]["first"][0]["reason"].startswith(said)
    assert answer.json["left_out"][0]["first"][0]["line"] == 4 + (name == "a.csv")
    assert (answer.code, answer.json["perhaps_received"]) == (3, [{"message": "y", "receiver": "P2"}])
    nothing = [event("P1", 0, "odd"), event("P1", -1, "send")]
    refused = crownless("classify", "--skip-bad", written(tmp_path, nothing)).err
    assert "log.jsonl:1: none of its lines is usable; the first one: unknown kind 'odd'; known: " in refused


RUN_A = ["a,1,P,send,x,Q", "a,2,P,send,y,Q", "a,3,Q,deliver,x,", "a,4,Q,deliver,y,"]
RUN_B = ["b,1,P,send,z,Q", "b,2,Q,deliver,z,"]


@pytest.mark.parametrize(
    ("line", "of_b"),
    [
        ("a,3,Q,deliv", "kept"),
        ("a,3,Q,", "kept"),
        ("a,3,Q", "unknown"),  # perhaps Q2
        ("a", "unknown"),
        ("a,Q,deliver,x,", "unknown"),  # the kind is then a message
        ("a,3,Q,deliver,x,,", "unknown"),
        ('{"run": "a", "process": "Q", "ts": 3, "kind": "deli', "unknown"),
        ('{"run": "a", "process": "Q", "ts": 3, "kind": "odd", "message": "x"}', "kept"),
        ('{"process": "Q", "ts": 3, "kind": "deliver", "run": 0.5, "message": "x"}', "unknown"),
    ],
)
def test_a_line_left_out_is_missing_from_each_run_that_it_may_be_of(
    crownless: Crownless, tmp_path: Path, line: str, of_b: str
) -> None:
    names = ["run", "ts", "process", "kind", "message", "peer"]
    lines = [*RUN_A[:2], line, *RUN_A[3:], *RUN_B]
    log = tmp_path / "log.csv"
    if line.startswith("{"):
        cells = (zip(names, one.split(","), strict=True) for one in lines if one != line)
        objects = [json.dumps({name: cell for name, cell in row if cell}) for row in cells]
        log, lines = tmp_path / "log.jsonl", [*objects[:2], line, *objects[2:]]
    log.write_text("\n".join([",".join(names)] * (log.suffix == ".csv") + lines) + "\n")
    answer = crownless("classify", str(log), "--order-by", "ts", "--skip-bad", "--order", "fifo", "--json")
    assert [one["orders"]["fifo"]["verdict"] for one in answer.json["classifications"]] == ["unknown", of_b]
    assert (answer.code, answer.json["left_out"][0]["count"]) == (3, 1)


def test_a_line_that_is_cut_off_is_of_the_run_that_its_heading_says(crownless: Crownless, tmp_path: Path) -> None:
    rows = ['"a,b",run,ts,process,kind,message,peer', *(f"0,{row}" for row in [*RUN_A, *RUN_B]), "0,a,5,Q,deliv"]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    options = ("--order-by", "ts", "--skip-bad", "--order", "fifo", "--json")
    found = crownless("classify", str(tmp_path / "log.csv"), *options).json["classifications"]
    assert {one["run"]: one["orders"]["fifo"]["verdict"] for one in found} == {"a": "unknown", "b": "kept"}


def test_lines_that_are_left_out_keep_their_numbers(crownless: Crownless, tmp_path: Path) -> None:
    text = "process,ts,kind,message,peer\nP1,5,send,x,P2\nP1,6\nP2,,deliver,x,\nP2,7,deliver,x,\nP2,7,deliver,x,\n"
    (tmp_path / "log.csv").write_text(text)
    answer = crownless("classify", str(tmp_path / "log.csv"), "--order-by", "ts", "--skip-bad", "--json")
    copied = "P2 has two events 0, one a copy of the other"
    assert [(one["line"], one["reason"]) for one in answer.json["left_out"][0]["first"]] == [
        (3, "it has 2 cells, not 5"), (4, "'ts' is missing"), (6, copied)
    ]  # fmt: skip
    text = "process,index,kind,message,peer\nP1,0,send,x,P2\nP1,6\nP2,0,deliver,x,\nP2,1.5,internal,,\nP2,,internal,,\n"
    (tmp_path / "index.csv").write_text(text)
    skipped = crownless("classify", str(tmp_path / "index.csv"), "--skip-bad", "--json").json["left_out"][0]
    assert [(one["line"], one["reason"]) for one in skipped["first"]] == [
        (3, "it has 2 cells, not 5"), (5, "'index' cannot be \"1.5\""), (6, "'index' is missing")
    ]  # fmt: skip
    refused = crownless("classify", str(tmp_path / "log.csv"), "--order-by", "ts").err
    assert "Expected 5 columns, got 2: P1,6; " in refused
    assert "classify --skip-bad leaves out truncated lines" in refused


# -- a log of Kafka clients --------------------------------------------------------------------------------------------

KAFKA = ("classify", str(LOGS / "kafka.jsonl"), "--mapping", str(LOGS / "kafka.toml"))


def test_a_log_of_kafka_clients_is_classified_by_one_command(crownless: Crownless) -> None:
    answer = crownless(*KAFKA, "--complete", "--skip-bad", "--json")
    first, second = answer.json["classifications"]
    assert (answer.code, first["run"], second["run"]) == (1, "orders-0", "orders-1")
    assert first["properties"]["delivers-once"]["verdict"] == "violated"
    assert first["properties"]["delivers-once"]["violations"][0]["lines"] == [6, 7]
    assert (
        first["properties"]["delivers-all"]["verdict"] == second["properties"]["delivers-all"]["verdict"] == "unknown"
    )
    assert {order for order, of in first["orders"].items() if of["verdict"] != "unknown"} == {"asynchronous"}
    assert {order for order, of in second["orders"].items() if of["verdict"] != "unknown"} == {"asynchronous"}
    assert answer.json["left_out"][0]["count"] == 1
    for options, said in (
        ((), "kafka.jsonl:12:84: not JSON: "),
        (("--skip-bad",), ""),
        (("--complete",), "--skip-bad leaves out truncated lines"),
    ):
        refused = crownless(*KAFKA, *options)
        assert said in refused.err


@pytest.mark.parametrize("runs", [1, 11])
def test_without_receivers_delivers_all_is_unknown(crownless: Crownless, tmp_path: Path, runs: int) -> None:
    """A consumer that gets nothing cannot be seen in the log."""
    delivered = [event("P1", 0, "send", "x"), event("P2", 0, "deliver", "x")]
    rows = [{**row, "run": f"r{k}"} for k in range(runs) for row in delivered]
    options = ("--column", "peer=-", "--complete")
    log = written(tmp_path, rows)
    facts, answer = crownless("classify", log, *options, "--json"), crownless("classify", log, *options, "--quiet")
    first = facts.json if runs == 1 else facts.json["classifications"][0]
    assert {name: one["verdict"] for name, one in first["properties"].items()} == {
        "delivers-once": "holds", "delivers-all": "unknown"
    }  # fmt: skip
    assert (facts.code, answer.code) == (3, 3)
    said = "delivers-all: unknown" if runs == 1 else "delivers-all 0 0 11"
    assert said in " ".join(answer.out.split())
    rows = [{**event("P1", 1, "send", "y"), "run": "r0"}, *rows]
    first = crownless("classify", written(tmp_path, rows), *options, "--json").json
    first = first if runs == 1 else first["classifications"][0]
    assert first["properties"]["delivers-all"]["verdict"] == "violated"
    (note,) = [note for note in first["notes"] if "delivers-all" in note]
    assert note.endswith("; delivers-all cannot be reported to hold: the log does not name all receivers")


def test_a_table_is_refused_in_a_line() -> None:
    with pytest.raises(BadInput, match="read_log takes a path or JSON lines, not a DataFrame"):
        cr.read_log(pa.table({"process": ["P1"]}))


@pytest.mark.parametrize(
    ("row", "options", "hint", "not_hint"),
    [
        ({"timestamp": 1, "process": "P1", "kind": "send"}, "timestamp", "give the message's name", "=timestamp"),
        ({"timestamp": 1, "peer": "P2"}, "timestamp", "--column message=THAT", "=timestamp"),
        ({**event("P1", 0, "send", "x"), "ts": 1}, "ts", "if no send names one: --column peer=-", "THAT"),
        ({**event("P1", 0, "send", "x", "P2"), "ts": "2024-01-01T00:00:00"}, "ts", "all with a zone, or all", "THAT"),
    ],
)
def test_a_hint_names_what_helps(
    crownless: Crownless, tmp_path: Path, row: Row, options: str, hint: str, not_hint: str
) -> None:
    zoned = {**event("P2", 0, "internal", ""), "ts": "2024-01-01T00:00:00Z", "timestamp": 0}
    refused = crownless("classify", written(tmp_path, [zoned, row]), "--order-by", options).err
    assert hint in refused
    assert not_hint not in refused


def test_of_two_events_with_one_value_only_copies_are_said_to_be_left_out(crownless: Crownless, tmp_path: Path) -> None:
    for row, copies in ((TIE, False), (STAMPED[0], True)):
        refused = crownless("classify", written(tmp_path, [*STAMPED, row]), "--order-by", "ts").err
        assert ("--skip-bad leaves out copies" in refused) is copies


def test_deliveries_that_are_repeated_name_the_option(crownless: Crownless, tmp_path: Path) -> None:
    log = written(tmp_path, [*GOOD, event("P2", 2, "deliver", "x")])
    assert (
        "if the system really does this: classify --complete" in crownless("classify", log, "--skip-bad", "--quiet").out
    )
    times = written(tmp_path, [{**row, "ts": f"2024-01-0{k + 1}"} for k, row in enumerate(GOOD)], ".csv")
    refused = crownless("classify", times, "--column", "index=ts").err
    assert "or order them by it: --order-by ts" in refused


@pytest.mark.parametrize("padding", [0, 3_000])
@pytest.mark.parametrize(
    ("more", "fifo", "causal"),
    [
        ([], "kept", "kept"),
        ([("P1", "send", "last")], "unknown", "unknown"),
        (
            [("P1", "send", "w"), ("P1", "send", "v"), ("P2", "deliver", "v"), ("P2", "deliver", "w")],
            "violated",
            "violated",
        ),
    ],
)
def test_without_receivers_what_is_not_delivered_leaves_orders_unknown(
    crownless: Crownless, tmp_path: Path, more: list[tuple[str, str, str]], fifo: str, causal: str, padding: int
) -> None:
    rows = [event("P1", 0, "send", "x"), event("P2", 0, "deliver", "x")]
    for k in range(padding):
        rows += [event("P1", 0, "send", f"p{k}"), event("P2", 0, "deliver", f"p{k}")]
    rows += [event(process, 0, kind, message) for process, kind, message in more]
    options = ("--column", "peer=-", "--order-by", "line", "--json")
    found = verdicts(crownless("classify", written(tmp_path, rows, ".csv"), *options))
    assert (found["asynchronous"], found["fifo"], found["causal"]) == ("kept", fifo, causal)
