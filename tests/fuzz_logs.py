"""Hostile event logs in every format that is read: with records changed, with words changed, or with bytes changed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from fuzz_mutations import DEEP, HUGE, NAMES, Mutator
from fuzz_readers import MEMORY, Reader, figures
from fuzz_verdicts import Input

EXAMPLES = Path(__file__).parent.parent / "examples" / "logs"
COLUMNS = ("run", "process", "index", "kind", "message", "peer")
#: Larger logs are decided by the monitor, which is compiled: after a few rows, or after as many as by default.
FEW, MANY = 3, 5_000
#: A sound log with these says another thing, or nothing.
KINDS = ("--kind", "send=deliver", "--kind", "deliver=send", "--kind", "odd=internal")
#: Raised where no file of a format can hold the changed records.
NOT_WRITABLE = (ValueError, TypeError, OverflowError, NotImplementedError, AttributeError, KeyError)
Record = dict[str, Any]


def by_spec_up_to(rows: int) -> None:
    """Sets the number of rows that are decided by the spec alone."""
    from crownless.model_check.logs import classify_file

    classify_file.SMALL_UP_TO = rows


def in_blocks_of(size: int, rows: int) -> None:
    """Sets the bytes of text, and the rows of a table, that are read at a time."""
    from crownless.model_check.logs import file_blocks

    file_blocks.BYTES, file_blocks.ROWS = size, rows


class Logs(Reader):
    """JSON Lines; other readers of logs differ in the sound logs, in how these are written, and in the options."""

    name = "logs"
    suffixes: Sequence[str] = (".jsonl",)
    #: The options of every input, and of some.
    always: Sequence[str] = ()
    options: Sequence[Sequence[str]] = ((), ("--json",))

    def prepare(self, directory: Path) -> None:
        self.logs: list[list[Record]] = [[json.loads(line) for line in text.splitlines()] for text in figures(".jsonl")]

    def sound(self, directory: Path) -> Iterator[Input]:
        for rows in (FEW, MANY):
            for records in self.logs:
                for suffix in self.suffixes:
                    by_spec_up_to(rows)
                    yield self.classify(self.content(records, suffix), suffix, directory)

    def make(self, random: Mutator, directory: Path) -> Input:
        by_spec_up_to(random.choice((FEW, MANY)))
        suffix, records = random.choice(self.suffixes), random.choice(self.logs)
        try:
            if random.random() < 0.25:
                content = random.text(self.content(records, suffix).decode())
            else:
                content = self.content(self.changed(records, random), suffix)
        except NOT_WRITABLE:
            content = random.mangled(self.content(records, suffix))
        return self.classify(content, suffix, directory, self.chosen_options(random))

    def changed(self, records: Sequence[Record], random: Mutator) -> list[Any]:
        """The records, changed as a log can be, or at any place within them."""
        what = random.random()
        changed: list[Any] = random.records(records) if what < 0.6 else [*records]
        if what >= 0.5:
            changed = random.renamed(changed) if what > 0.9 else random.tree(changed)
        return changed

    def content(self, records: Sequence[Record], suffix: str) -> bytes:
        return content_of(records, suffix)

    def chosen_options(self, random: Mutator) -> list[str]:
        return [*random.choice(self.options)]

    def classify(self, content: bytes, suffix: str, directory: Path, options: Sequence[str] = ()) -> Input:
        path = directory / f"log{suffix}"
        path.write_bytes(content)
        return Input(["classify", str(path), *MEMORY, *options, *self.always], violated=("broken", "impossible"))

    def cleanup(self, directory: Path) -> None:
        by_spec_up_to(MANY)
        for path in directory.glob("log.*"):
            path.unlink()


class LogsWithoutNames(Logs):
    """Logs for `--match`: half of them name payloads, which many messages have in common."""

    name = "logs without names"
    always = ("--match",)

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        senders = [{row["message"]: row["process"] for row in rows if row["kind"] == "send"} for rows in self.logs]
        named = [
            [row if row["kind"] == "send" else {**row, "peer": of[row["message"]]} for row in rows]
            for rows, of in zip(self.logs, senders, strict=True)
        ]
        self.logs = [[{key: row[key] for key in row if key != "message"} for row in rows] for rows in named]
        self.logs += [[{**row, "message": "again"} for row in rows] for rows in named]


# -- logs in columns ---------------------------------------------------------------------------------------------------


class LogFiles(Logs):
    """Rows that all have the same columns, with the receivers of a message in one cell."""

    name = "csv logs"
    suffixes: Sequence[str] = (".csv", ".tsv")
    options: Sequence[Sequence[str]] = (
        (),
        ("--json",),
        ("--by-process",),
        ("--column", "message=peer"),
        ("--match",),
        KINDS,
    )

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        self.logs = [[{column: _cell(row, column) for column in COLUMNS} for row in rows] for rows in self.logs]
        self.logs += [[{**row, "run": f"{k}"} for k in range(2) for row in rows] for rows in self.logs[:2]]


def _cell(row: Record, column: str) -> Any:
    value = row.get(column)
    if column == "index" or value is None:
        return value
    return ";".join(map(str, value)) if isinstance(value, list) else str(value)


class TableFiles(LogFiles):
    name = "table logs"
    suffixes = (".parquet", ".arrow", ".arrows")


class CompressedFiles(LogFiles):
    name = "compressed logs"
    suffixes = (".csv.gz", ".csv.zst", ".jsonl.gz", ".jsonl.zst", ".tsv.bz2", ".jsonl.lz4")


class OneRunLogs(LogFiles):
    """Logs for `--one-run`, in blocks of a few bytes or rows."""

    name = "one-run logs"
    suffixes = (".jsonl", ".csv", ".parquet", ".arrow", ".jsonl.gz", ".tsv")
    always = ("--one-run",)
    options = ((), (), (), ("--json",), ("--quiet",), ("--unreceived", "pending"), ("--column", "message=peer"), KINDS)

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        self.logs = [rows for rows in self.logs if len({row["run"] for row in rows}) == 1]

    def make(self, random: Mutator, directory: Path) -> Input:
        in_blocks_of(*random.choice(((1 << 26, 1 << 19), (200, 2), (64, 1))))
        return super().make(random, directory)

    def cleanup(self, directory: Path) -> None:
        in_blocks_of(1 << 26, 1 << 19)
        super().cleanup(directory)


def content_of(records: Sequence[Record], suffix: str) -> bytes:
    """A log with these rows in the format, and with the compression, of the suffix."""
    import pyarrow as pa

    from crownless.model_check.logs.files import COMPRESSIONS

    _, form, *compression = suffix.split(".")
    if compression:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, COMPRESSIONS[f".{compression[0]}"]) as stream:
            stream.write(content_of(records, f".{form}"))
        return bytes(sink.getvalue().to_pybytes())
    if form == "jsonl":
        text = "\n".join(as_json(_with_several_receivers(row), is_ascii=len(records) % 2 == 0) for row in records)
        return text.encode("utf-8", "surrogatepass")
    return _cells(records, "\t" if form == "tsv" else ",") if form in ("csv", "tsv") else _table(records, form)


def as_json(value: Any, *, is_ascii: bool = True, indent: int | None = None) -> str:
    """The value as JSON, perhaps with a number too long or a nesting too deep."""
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    return text.replace(f'"{HUGE}"', "9" * 5_000).replace(f'"{DEEP}"', "[" * 20_000 + "]" * 20_000)


def _with_several_receivers(row: Any) -> Any:
    peer = row.get("peer") if isinstance(row, dict) else None
    return {**row, "peer": peer.split(";")} if isinstance(peer, str) and ";" in peer else row


def _cells(records: Sequence[Record], delimiter: str) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(column for row in records for column in row)), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(records)
    text = out.getvalue().replace(HUGE, "9" * 5_000).replace(DEEP, "[" * 20_000)
    return text.encode("utf-8", "surrogatepass")


def _table(records: Sequence[Record], form: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(records))
    if len(records) % 2:  # so that dictionaries are met, too
        for column in ("process", "message", "kind"):
            at = table.schema.get_field_index(column)
            if at >= 0 and pa.types.is_string(table.schema.field(at).type):
                table = table.set_column(at, column, table[column].dictionary_encode())
    sink = pa.BufferOutputStream()
    if form == "parquet":
        compression = "NONE" if len(records) % 3 == 0 else "SNAPPY"  # which sees damage by itself
        version = "2.0" if len(records) % 4 < 2 else "1.0"
        pq.write_table(table, sink, compression=compression, row_group_size=4, data_page_version=version)
    else:
        new = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with new(sink, table.schema) as file:
            file.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


# -- logs with clocks --------------------------------------------------------------------------------------------------


class ClockedLogs(Logs):
    """JSON Lines with a vector clock in each, for `--clocks`: objects, or arrays."""

    name = "clocked logs"
    always = ("--clocks",)
    options = ((), (), ("--json",), KINDS, ("--processes", "P1,P2"))

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        small = [rows for rows in self.logs if len(rows) < 20]
        self.logs = [self._with_clocks(rows, as_array) for rows in small for as_array in (False, True)]

    def chosen_options(self, random: Mutator) -> list[str]:
        name = random.choice(NAMES).replace("\0", "") or "P1"
        return ["--processes", name] if random.random() < 0.2 else super().chosen_options(random)

    def _with_clocks(self, rows: Sequence[Record], as_array: bool) -> list[Record]:
        """The rows with the clocks that the messages have."""
        by_line = {(row["process"], row["index"]): row for row in rows}
        known: dict[tuple[str, int], dict[str, int]] = {}
        sends = {row["message"]: (row["process"], row["index"]) for row in rows if row["kind"] == "send"}

        def clock(process: str, index: int) -> dict[str, int]:
            if (process, index) not in by_line:
                return {}
            if (process, index) not in known:
                row = by_line[process, index]
                found = dict(clock(process, index - 1))
                if row["kind"] in ("deliver", "receive") and row["message"] in sends:
                    for other, number in clock(*sends[row["message"]]).items():
                        found[other] = max(found.get(other, 0), number)
                known[process, index] = {**found, process: index + 1}
            return known[process, index]

        names = sorted({row["process"] for row in rows})
        clocks = [clock(row["process"], row["index"]) for row in rows]
        shown = [[one.get(name, 0) for name in names] for one in clocks] if as_array else clocks
        return [{**row, "clock": one} for row, one in zip(rows, shown, strict=True)]


class ShivizLogs(Logs):
    """Texts with clocks, in one execution or two, also with expressions that are changed."""

    name = "shiviz logs"
    suffixes = (".shiviz",)
    delimiter = "^=== (?<trace>.*) ===$"
    expressions = {
        "--send": r"send (?<message>\S+) to (?<to>\S+)",
        "--deliver": r"receive (?<message>\S+) from (?<from>\S+)",
    }

    def prepare(self, directory: Path) -> None:
        text = (EXAMPLES / "events.shiviz").read_text("utf-8")
        self.head, _, body = text.partition("\n\n")
        lines = body.splitlines()
        events: list[Record] = []
        for first, text in zip(lines[::2], lines[1::2], strict=True):
            host, _, clock = first.partition(" ")
            events.append({"host": host, "clock": json.loads(clock), "text": text})
        self.logs = [events, [{**event, "run": run} for run in ("r0", "r1") for event in events]]
        self.options = [(), [part for option in self.expressions.items() for part in option]]

    def sound(self, directory: Path) -> Iterator[Input]:
        yield from super().sound(directory)
        for records in self.logs:
            yield self.classify(self.content(records, ".shiviz"), ".shiviz", directory, self.options[1])

    def content(self, records: Sequence[Record], suffix: str) -> bytes:
        lines = [self.head, self.delimiter if any("run" in event for event in records) else ""]
        for run, events in groupby(records, lambda event: event.get("run")):
            lines += [] if run is None else [f"=== {run} ==="]
            lines += [f"{event.get('host')} {as_json(event.get('clock'))}\n{event.get('text')}" for event in events]
        return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")

    def chosen_options(self, random: Mutator) -> list[str]:
        given = super().chosen_options(random)
        if random.random() < 0.2:
            sound = {"--pattern": self.head, "--delimiter": self.delimiter, **self.expressions}
            option = random.choice([*sound])
            changed = random.text(sound[option]).decode("utf-8", "surrogateescape").replace("\0", "")
            given += [f"{option}={changed}", "--max-seconds", "5"]  # an expression may take for ever
        return given + ["--json"] * random.randrange(2)


# -- logs of other tools -----------------------------------------------------------------------------------------------


class OtlpLogs(Logs):
    """Spans, each with its resource."""

    name = "otlp logs"
    suffixes = (".otlp",)

    def prepare(self, directory: Path) -> None:
        lines = map(json.loads, (EXAMPLES / "events.otlp").read_text("utf-8").splitlines())
        resources = [resource for line in lines for resource in line["resourceSpans"]]
        scopes = [(one["resource"], scope) for one in resources for scope in one["scopeSpans"]]
        self.logs = [[{"resource": resource, **span} for resource, scope in scopes for span in scope["spans"]]]

    def content(self, records: Sequence[Record], suffix: str) -> bytes:
        lines = []
        for resource, spans in groupby(records, lambda span: span.get("resource")):
            scopes = [{"spans": [{key: value for key, value in span.items() if key != "resource"} for span in spans]}]
            lines.append({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]})
        text = "\n".join(as_json(line, is_ascii=len(records) % 2 == 0) for line in lines)
        return text.encode("utf-8", "surrogatepass")


class ItfTraces(Logs):
    """Traces, also with values written as TLA+ has them."""

    name = "itf traces"
    suffixes = (".itf.json",)
    paths = ("message=event.message", "peer=inFlight", "kind=event", "process=a.b.c", "message=", "run=event")
    options = ((), (), (), ("--json",), KINDS, *(("--column", path) for path in paths))

    def prepare(self, directory: Path) -> None:
        self.trace = json.loads((EXAMPLES / "events.itf.json").read_text("utf-8"))
        self.logs = [self.trace["states"]]

    def sound(self, directory: Path) -> Iterator[Input]:
        yield from super().sound(directory)
        content = json.dumps(self.trace, indent=1).encode()
        yield self.classify(content, ".itf.json", directory, ["--column", "message=event.message"])

    def changed(self, records: Sequence[Record], random: Mutator) -> list[Any]:
        events = [state["event"] for state in records]
        states = [{**state, "event": event} for state, event in zip(records, random.records(events), strict=False)]
        what = random.randrange(3)
        if what == 0:
            event = random.choice(states)["event"] if states else {}
            key = random.choice([*event, "kind"])
            event[key] = self.as_in_tla(event.get(key), random)
        return states if what < 2 else super().changed(records, random)

    def as_in_tla(self, old: Any, random: Mutator) -> Any:
        inner = random.choice((old, random.value()))
        kinds = {"#tup": [inner], "#set": [inner, old], "#bigint": str(inner), "#map": [[inner, old]]}
        kind = random.choice([*kinds])
        return random.choice(({kind: kinds[kind]}, {"tag": "Send", "value": inner}, [inner, [old]], {"a": inner}))

    def content(self, records: Sequence[Record], suffix: str) -> bytes:
        loop = {"loop": len(records) - 1} if len(records) % 5 == 0 else {}
        indent = 1 if len(records) % 3 == 0 else None
        return as_json({**self.trace, "states": records, **loop}, indent=indent).encode("utf-8", "surrogatepass")
