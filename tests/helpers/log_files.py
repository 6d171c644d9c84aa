"""Event logs of the same rows in every format that is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from crownless.oracle.log_orders import classify_file
from crownless.oracle.log_orders.classification import Classification, classify
from crownless.oracle.logs.columns import table_of_rows
from crownless.oracle.logs.formats import COMPRESSIONS
from crownless.oracle.logs.lines import rows_of_lines
from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy

COLUMNS = ("run", "process", "index", "kind", "message", "peer")
#: Formats with the columns of a log, by suffix.
SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".arrows", ".jsonl.gz", ".csv.zst")
#: Formats of other tools, which name messages and hold one run.
OTHERS = (".shiviz", ".otlp", ".itf.json")
PATTERN = r"send (?<send>\S+) to (?<to>.*)|receive (?<deliver>\S+) from (?<from>\S+)"
Row = dict[str, Any]


def rows_of(c: Computation, order: Sequence[int] | None = None, chance: Random | None = None, **more: Any) -> list[Row]:
    """The rows of a computation, in this order of events, or in that of a linearization.

    By chance, if it is given, half of the deliveries do not name their sender.
    """
    rows = []
    for e in c.linearization if order is None else order:
        p, event = c.process_of[e], c.events[e]
        row = {**more, "process": c.processes[p], "index": e - c.first_event[p], "kind": "internal"}
        if event.message is not None:
            message = c.messages[event.message]
            sends = event.kind == "send"
            to = [c.processes[q] for q in message.receivers]
            peer: Any = (to if len(to) > 1 else to[0]) if sends else c.processes[message.sender]
            row |= {"kind": "send" if sends else "deliver", "message": message.name}
            if sends or chance is None or chance.random() < 0.5:
                row["peer"] = peer
        rows.append(row)
    return rows


def table_of(rows: Sequence[Row]) -> pa.Table:
    """The rows as a table, as they are read."""
    return table_of_rows([*rows_of_lines(map(json.dumps, rows))])


@pytest.fixture(params=[0, 5_000], ids=["by the monitor", "by the spec"])
def in_both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test is made of logs that the monitor decides, and of the same decided by the spec."""
    monkeypatch.setattr(classify_file, "SMALL_UP_TO", request.param)


@pytest.fixture
def by_the_monitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a log is, the monitor decides it."""
    monkeypatch.setattr(classify_file, "SMALL_UP_TO", 0)


def classified(name: str, reading: UnreceivedPolicy = "lost") -> list[Classification]:
    """The classification of each run of a file."""
    found = classify_file.classify_file(classify_file.LogRequest(name, tuple(ORDERS), reading))
    if isinstance(found, Iterator):
        return [classify(one, tuple(ORDERS), reading) for one in found]
    return [found.classification(number) for number in range(len(found))]


def event(process: str, index: int, kind: str, message: Any = "x", peer: Any = None, **more: Any) -> Row:
    """A row; without what is None."""
    row = {"process": process, "index": index, "kind": kind, "message": message, "peer": peer, **more}
    return {key: value for key, value in row.items() if value is not None}


def content_of(rows: Sequence[Row], suffix: str) -> bytes:
    """A log of these rows, in the format and with the compression of the suffix."""
    if suffix in OTHERS:
        return {".shiviz": shiviz, ".otlp": otlp, ".itf.json": itf}[suffix](rows).encode()
    _, form, *compression = suffix.split(".")
    if compression:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, COMPRESSIONS[f".{compression[0]}"]) as stream:
            stream.write(content_of(rows, f".{form}"))
        return bytes(sink.getvalue().to_pybytes())
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "surrogatepass")
    found = dict.fromkeys(name for row in rows for name in row)
    names = [*(name for name in COLUMNS if name in found), *(name for name in found if name not in COLUMNS)]
    cells = [{name: row.get(name) for name in names} for row in rows]
    lists = any(isinstance(row.get("peer"), list) for row in rows)
    for row in cells:
        peer = row.get("peer")
        if form in ("csv", "tsv"):
            row["peer"] = ";".join(peer) if isinstance(peer, list) else peer
        elif lists:
            row["peer"] = [peer] if isinstance(peer, str) else peer
    table, sink = pa.Table.from_pylist(cells), pa.BufferOutputStream()
    if form in ("csv", "tsv"):
        pc.write_csv(table, sink, pc.WriteOptions(delimiter="\t" if form == "tsv" else ","))
    elif form == "parquet":
        pq.write_table(table, sink)
    else:
        with (pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream)(sink, table.schema) as file:
            file.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def written(folder: Path, rows: Sequence[Row], suffix: str = ".jsonl", name: str = "log") -> str:
    """The path of a log of these rows."""
    path = folder / f"{name}{suffix}"
    path.write_bytes(content_of(rows, suffix))
    return str(path)


def _peers(row: Row) -> list[str]:
    peer = row.get("peer")
    return [] if peer is None else peer if isinstance(peer, list) else [peer]


def clocked(rows: Sequence[Row]) -> list[dict[str, int]]:
    """The vector clock after each row; each send stands before its deliveries."""
    now: dict[str, dict[str, int]] = {}
    sent: dict[str, dict[str, int]] = {}
    clocks = []
    for row in rows:
        known = sent.get(row.get("message", ""), {}) if row["kind"] == "deliver" else {}
        clock = now.get(row["process"], {})
        clock = {p: max(clock.get(p, 0), known.get(p, 0)) for p in {**clock, **known}}
        clock[row["process"]] = clock.get(row["process"], 0) + 1
        now[row["process"]] = clock
        if row["kind"] == "send":
            sent[row["message"]] = clock
        clocks.append(clock)
    return clocks


def shiviz(rows: Sequence[Row]) -> str:
    lines = []
    for row, clock in zip(rows, clocked(rows), strict=True):
        peers = ", ".join(_peers(row))
        texts = {
            "send": f"send {row.get('message')} to {peers}",
            "deliver": f"receive {row.get('message')} from {peers}",
            "internal": "a step",
        }
        lines.append(f"{row['process']} {json.dumps(clock)}\n{texts[row['kind']]}\n")
    return "".join(lines)


def span(id_: str, kind: Any, start: Any, parent: str = "", links: Sequence[str] = (), **more: Any) -> Row:
    """A span as OTLP has it."""
    fields: Row = {"traceId": "t", "spanId": id_, "kind": kind, "startTimeUnixNano": start}
    if parent:
        fields["parentSpanId"] = parent
    return fields | {"links": [{"traceId": "t", "spanId": link} for link in links]} | more


def resource_spans(**services: list[Row]) -> str:
    """The spans of each service, as one object."""

    def resource(name: str) -> Row:
        return {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]}

    parts = [{"resource": resource(name), "scopeSpans": [{"spans": spans}]} for name, spans in services.items()]
    return json.dumps({"resourceSpans": parts}, indent=1)


def otlp(rows: Sequence[Row]) -> str:
    spans: dict[str, list[Row]] = {}
    for k, row in enumerate(rows):
        message = row.get("message", "")
        of = spans.setdefault(row["process"], [])
        if row["kind"] == "send":
            of.append(span(message, 4, str(row["index"] + 1)))
        else:
            kind = 5 if row["kind"] == "deliver" else 1
            of.append(span(f"e{k}", kind, str(row["index"] + 1), links=[message] if kind == 5 else ()))
    return resource_spans(**spans)


def state(process: Any, kind: str, message: Any = None, peer: Any = None) -> Row:
    """A state of a trace whose variable `event` is this event."""
    return {"event": {"process": process, "kind": kind, "message": message, "peer": peer}}


def trace(*states: Row, **more: Any) -> str:
    """A trace in ITF."""
    numbered = [{"#meta": {"index": k}, **one} for k, one in enumerate(states)]
    return json.dumps({"#meta": {"format": "ITF"}, "vars": ["event"], "states": numbered, **more}, indent=1)


def itf(rows: Sequence[Row]) -> str:
    states = []
    for row in rows:
        peer = row.get("peer")
        peer = {"#set": peer} if isinstance(peer, list) else peer
        states.append(state(row["process"], row["kind"], row.get("message"), peer))
    return trace({"event": None}, *states)
