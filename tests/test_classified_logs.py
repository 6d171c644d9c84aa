"""Logs of many lines: what the monitor says of them is what the spec says, in whatever format they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from log_runs import random_run

from crownless.command_line import main
from crownless.oracle.classification import Classification, classify
from crownless.oracle.event_logs import read_log
from crownless.oracle.log_orders import classify_file as opening
from crownless.oracle.log_orders.classified import ClassifiedLog
from crownless.oracle.log_orders.classify_file import LogRequest, classify_file
from crownless.oracle.logs.formats import CONVERTED, LogOptions, format_of
from crownless.oracle.logs.reader import named_run, runs_of
from crownless.oracle.logs.rows import rows_of_lines
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy

pa = pytest.importorskip("pyarrow")

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")
Event = dict[str, Any]


@pytest.fixture(autouse=True)
def few_lines_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SMALL_UP_TO", 10)


def events(seed: int, runs: int, **which: bool) -> list[Event]:
    chance = Random(seed)
    found = [event for k in range(runs) for event in random_run(chance, f"run{k}", **which)]
    chance.shuffle(found)
    return found


def long_run(seed: int, steps: int, *, disorder: float, loss: float = 0.0) -> list[Event]:
    chance, index = Random(seed), [0] * 6
    flying: list[tuple[str, int, int]] = []
    found: list[tuple[int, str, str, int]] = []
    for step in range(steps):
        if not flying or (len(flying) < 20 and chance.random() < 0.5):
            p, q = chance.sample(range(6), 2)
            found.append((p, "send", f"m{step}", q))
            if chance.random() >= loss:
                flying.append((f"m{step}", q, p))
        else:
            message, p, q = flying.pop(chance.randrange(len(flying)) if chance.random() < disorder else 0)
            found.append((p, "deliver", message, q))
    as_events = []
    for p, kind, message, q in found:
        names = {"process": f"P{p}", "index": index[p], "kind": kind, "message": message, "peer": f"P{q}"}
        as_events.append({"run": "long", **names})
        index[p] += 1
    return as_events


def written(path: Path, found: Sequence[Event]) -> str:
    path.write_text("".join(json.dumps(event) + "\n" for event in found))
    return str(path)


def log_of(name: str, reading: UnreceivedPolicy = "lost", **how: Any) -> ClassifiedLog:
    found = classify_file(LogRequest(name, tuple(ORDERS), reading, **how))
    assert isinstance(found, ClassifiedLog)
    return found


def everything(name: str, columns: dict[str, str] | None = None) -> list[Classification]:
    found = classify_file(LogRequest(name, tuple(ORDERS), "lost", options=LogOptions(columns=columns or {})))
    if isinstance(found, Iterator):
        return [classify(one) for one in found]
    return [found.classification(number) for number in range(len(found))]


def by_spec(found: Sequence[Event], reading: UnreceivedPolicy) -> Iterator[Classification]:
    for logged in read_log(json.dumps(event) for event in found):
        yield classify(named_run("", logged), tuple(ORDERS), reading)


@pytest.mark.parametrize("reading", READINGS)
def test_every_run_has_the_verdicts_of_the_spec(tmp_path: Path, reading: UnreceivedPolicy) -> None:
    found = events(5, 400)
    log = log_of(written(tmp_path / "log.jsonl", found), reading)
    expected = list(by_spec(found, reading))
    assert len(log) == len(expected) == 400
    for number, known in enumerate(expected):
        assert log.name(number) == known.subject.run
        outcomes = dict(zip(log.orders, log.outcomes[number].tolist(), strict=True))
        assert {order: ["kept", "broken", "unknown"][k] for order, k in outcomes.items()} == known.outcomes
        assert log.classification(number).outcomes == known.outcomes
    for order in ORDERS:
        assert log.counts(order) == {
            outcome: sum(known.outcomes[order] == outcome for known in expected)
            for outcome in ("kept", "broken", "unknown")
        }
        firsts = [number for number, known in enumerate(expected) if known.outcomes[order] == "broken"]
        assert log.first_broken(order) == (firsts[0] if firsts else None)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("disorder", "loss"), [(0.0, 0.0), (0.0, 0.001), (0.001, 0.0), (0.3, 0.01)])
def test_a_long_run_is_shown_by_the_messages_that_break_each_order(
    tmp_path: Path, disorder: float, loss: float, reading: UnreceivedPolicy
) -> None:
    found = long_run(3, 1_900, disorder=disorder, loss=loss)
    log = log_of(written(tmp_path / "log.jsonl", found), reading)
    (known,) = by_spec(found, reading)
    shown = log.classification(0)
    assert shown.outcomes == known.outcomes
    assert shown.strongest == known.strongest
    assert sorted(shown.subject.unreceived) == sorted(known.subject.unreceived)
    for verdict in shown.verdicts:
        assert (verdict.outcome == "broken") == (verdict.witness is not None)
        if verdict.computation is not None:
            assert len(verdict.computation.messages) < 60


def formats(found: Sequence[Event]) -> dict[str, bytes]:
    import io

    import pyarrow.csv
    import pyarrow.parquet

    table = pa.Table.from_pylist(list(found))
    csv, parquet, arrow, stream = (io.BytesIO() for _ in range(4))
    pyarrow.csv.write_csv(table, csv)
    pyarrow.parquet.write_table(table, parquet)
    with pa.ipc.new_file(arrow, table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(stream, table.schema) as file:
        file.write_table(table)
    lines = "".join(json.dumps(event) + "\n" for event in found).encode()
    plain = {
        "log.jsonl": lines,
        "log.csv": csv.getvalue(),
        "log.parquet": parquet.getvalue(),
        "log.arrow": arrow.getvalue(),
        "log.arrows": stream.getvalue(),
    }

    def packed(content: bytes, codec: str) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(content)
        return bytes(sink.getvalue().to_pybytes())

    compressed = {
        f"{name}{suffix}": packed(content, codec)
        for suffix, codec in ((".gz", "gzip"), (".zst", "zstd"), (".bz2", "bz2"), (".lz4", "lz4"))
        for name, content in (("log.jsonl", lines), ("log.csv", csv.getvalue()))
        if pa.Codec.is_available(codec)
    }
    return plain | compressed


@pytest.mark.parametrize("small", [10, 5_000])
def test_every_format_has_the_same_verdicts(tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SMALL_UP_TO", small)
    found = events(8, 60, multicasts=False)
    expected = {one.subject.run: one.outcomes for one in by_spec(found, "lost")}
    for name, content in formats(found).items():
        (tmp_path / name).write_bytes(content)
        log = classify_file(LogRequest(str(tmp_path / name), tuple(ORDERS), "lost"))
        assert isinstance(log, ClassifiedLog) == (small == 10)
        runs = map(classify, log) if isinstance(log, Iterator) else [log.classification(k) for k in range(len(log))]
        assert {one.subject.run: one.outcomes for one in runs} == expected, name


def test_several_receivers_and_names_that_are_numbers(tmp_path: Path) -> None:
    found = events(9, 60)
    for number, event in enumerate(found):
        if event.get("message", "").startswith("m") and number % 2:
            event["message"] = event["message"][1:]  # as text
    for event in found:
        if "message" in event:
            event["message"] = int(event["message"].removeprefix("m"))
    assert any(isinstance(event.get("peer"), list) for event in found)
    expected = [one.outcomes for one in by_spec(found, "lost")]
    log = log_of(written(tmp_path / "log.jsonl", found))
    assert [log.classification(k).outcomes for k in range(len(log))] == expected
    rows = [{**event, "peer": ";".join(p) if isinstance(p := event.get("peer"), list) else p} for event in found]
    table = pa.Table.from_pylist(rows)
    pytest.importorskip("pyarrow.csv").write_csv(table, tmp_path / "log.csv")
    log = log_of(str(tmp_path / "log.csv"))
    assert [log.classification(k).outcomes for k in range(len(log))] == expected


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    found = events(8, 60, multicasts=False)
    other = [{"msg_id" if name == "message" else name: value for name, value in event.items()} for event in found]
    named = {"message": "msg_id"}
    expected = [one.outcomes for one in by_spec(found, "lost")]
    for name, content in formats(other).items():
        (tmp_path / name).write_bytes(content)
        log = log_of(str(tmp_path / name), options=LogOptions(columns=named))
        assert [log.classification(k).outcomes for k in range(len(log))] == expected, name


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[]",
        '{"process": "P1"}',
        '{"process": "P1", "index": -1, "kind": "internal"}',
        '{"process": "P1", "index": 1.0, "kind": "internal"}',
        '{"process": "P1", "index": 0, "kind": "sent", "message": "x", "peer": "P2"}',
        '{"process": "P1", "index": 99, "kind": "send", "message": "x", "peer": []}',
        '{"process": "\\u001b[31mP1", "index": 99, "kind": "internal"}',
        '{"run": "run3", "process": "P1", "index": 0, "kind": "internal"}',
        '{"run": "run3", "process": "P1", "index": 0, "kind": "internal"} {}',
        '{"run": "x", "process": "P1", "index": 0, "kind": "internal"\n} {"process": "P1", "index": 1}',
        '{"run": "x", "process": "P1", "index": 0, "kind": "deliver", "message": "y", "peer": ["P2"]}',
    ],
)
def test_a_bad_line_is_refused_as_in_a_small_log(tmp_path: Path, bad: str) -> None:
    lines = [json.dumps(event) for event in events(5, 40)]
    lines.insert(30, bad)
    name = str(tmp_path / "log.jsonl")
    lines = "\n".join(lines).split("\n")
    Path(name).write_text("\n".join(lines))
    with pytest.raises(BadInput) as small:
        list(runs_of(rows_of_lines(lines, name), name))
    with pytest.raises(BadInput) as large:
        everything(name)
    assert str(large.value) == str(small.value)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("seed", range(6))
def test_a_long_run_with_holes_has_the_verdicts_and_holes_of_the_spec(
    tmp_path: Path, seed: int, reading: UnreceivedPolicy
) -> None:
    chance = Random(seed)
    whole = long_run(seed, 1_700, disorder=chance.choice([0.0, 0.001, 0.1]), loss=chance.choice([0.0, 0.01]))
    lost = {"start": range(chance.randint(1, 200)), "any": chance.sample(range(1_700), chance.randint(1, 30))}
    found = [event for k, event in enumerate(whole) if k not in lost[chance.choice(["start", "any"])]]
    for event in found:
        if event["kind"] == "deliver" and chance.random() < 0.5:
            del event["peer"]
    if chance.random() < 0.5:
        chance.shuffle(found)
    log = log_of(written(tmp_path / "log.jsonl", found), reading)
    assert list(log.with_holes) == [0]
    (known,) = by_spec(found, reading)
    shown = log.classification(0)
    assert shown.outcomes == known.outcomes
    assert shown.subject.holes == known.subject.holes
    assert shown.subject.perhaps_received == known.subject.perhaps_received
    assert shown.subject.messages == known.subject.messages
    assert sorted(shown.subject.unreceived) == sorted(known.subject.unreceived)
    assert [verdict.unknown for verdict in shown.verdicts] == [verdict.unknown for verdict in known.verdicts]


@pytest.mark.parametrize("reading", READINGS)
def test_runs_with_holes_have_the_verdicts_of_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: UnreceivedPolicy
) -> None:
    """However small, here, since what is certain of a run is found in one way for all sizes."""
    monkeypatch.setattr("crownless.oracle.log_orders.classified.SMALLEST_UP_TO", 0)
    found = events(12, 600)
    log = log_of(written(tmp_path / "log.jsonl", found), reading)
    assert len(log.with_holes) > 30
    for number, known in enumerate(by_spec(found, reading)):
        shown = log.classification(number)
        assert shown.outcomes == known.outcomes, known.subject.run
        assert shown.subject.holes == known.subject.holes
        assert shown.subject.perhaps_received == known.subject.perhaps_received
        assert shown.subject.messages == known.subject.messages


def test_of_many_holes_the_first_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = [event for k, event in enumerate(long_run(1, 3_000, disorder=0.0)) if k % 50 != 7]
    name = written(tmp_path / "log.jsonl", found)
    with pytest.raises(SystemExit) as ended:
        main(["classify", name, "--order", "causal", "--order", "synchronous"])
    out = capsys.readouterr().out
    printed = out.splitlines()
    holes = len(log_of(name).classification(0).subject.holes)
    assert ended.value.code == 1
    first = next(line for line in printed if line.startswith("hole: ")).removeprefix("hole: ")
    because = f"not broken by what is logged; {first}, and {holes - 1} more holes"
    assert f"causal unknown {because} " in " ".join(out.split())  # which may be wrapped
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
            everything(name)
        return
    lines = [{key: value for key, value in row.items() if value is not None} for row in table.to_pylist()]
    expected = [(one.subject.run, one.outcomes) for one in by_spec(lines, "lost")]
    assert [(one.subject.run, one.outcomes) for one in everything(name)] == expected


@pytest.mark.parametrize("form", ["arrow", "arrows", "parquet", "csv", "jsonl", "jsonl.gz"])
def test_a_damaged_file_ends_in_verdicts_or_one_line(tmp_path: Path, form: str) -> None:
    whole = formats(events(8, 20, multicasts=False))[f"log.{form}"]
    chance, name = Random(form), str(tmp_path / f"log.{form}")
    refused: list[str] = []
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        Path(name).write_bytes(bytes(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged))])]))
        try:
            everything(name)
        except BadInput as problem:
            refused.append(str(problem))
    assert len(refused) > 20
    assert not any("\n" in problem for problem in refused)


def test_the_command_line_sums_up_and_shows_the_first_run_that_breaks_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = written(tmp_path / "log.jsonl", events(5, 400))
    with pytest.raises(SystemExit) as ended:
        main(["classify", name])
    summary = capsys.readouterr().out
    assert ended.value.code == 1
    assert summary.startswith("400 computations; --json has each of them\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SMALL_UP_TO", 100_000)
        with pytest.raises(SystemExit):
            main(["classify", name])
    assert capsys.readouterr().out == summary


def test_compilation_of_the_monitor_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As Numba reports it of its kernel, here in its stead."""
    from crownless.model_check.search import engines
    from crownless.oracle.log_orders import classified

    name, right = written(tmp_path / "log.jsonl", events(5, 40)), classified.classified

    def compiles(*rows: Any) -> Any:
        import numba.core.event

        event: Any = numba.core.event
        dispatcher = type("Dispatcher", (), {"__name__": engines.LONG_TO_COMPILE_FOR_LOGS[0]})()
        event.broadcast(event.Event("numba:compile", event.EventStatus.START, {"dispatcher": dispatcher}))
        event.broadcast(event.Event("numba:compile", event.EventStatus.END, {"dispatcher": dispatcher}))
        return right(*rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classified, "classified", compiles)
        for arguments, said in (([], f"crownless: {engines.COMPILES}\n"), (["--quiet"], "")):
            capsys.readouterr()
            with pytest.raises(SystemExit):
                main(["classify", name, *arguments])
            assert capsys.readouterr().err == said


EXAMPLES = Path(__file__).parents[1] / "examples"
#: Other examples are of formats without these columns, and have one of the runs: `test_log_formats`.
WITH_COLUMNS = sorted(path.name for path in (EXAMPLES / "logs").iterdir() if format_of(path) not in (None, *CONVERTED))
OTHER_NAMES = ("process=node", "index=seq", "message=msg_id", "peer=to_or_from")


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_the_examples_are_one_log_in_every_format(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            main(["classify", "--json", *arguments])
        found = json.loads(capsys.readouterr().out)["classifications"]
        return json.dumps([{**one, "file": ""} for one in found])

    named = [part for column in OTHER_NAMES for part in ("--column", column)] if name == "other_names.tsv" else []
    assert said(str(EXAMPLES / "logs" / name), *named) == said(str(EXAMPLES / "events.jsonl"))
