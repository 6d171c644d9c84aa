"""Hostile event logs of other tools (ShiViz, OTLP, ITF), with vector clocks, and of one run read block by block."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from fuzz_logs import FEW, KINDS, LogFiles, Row, TableFiles
from fuzz_mutations import DEEP, HUGE, NAMES, Mutator
from fuzz_readers import MEMORY, Logs, Reader
from fuzz_verdicts import Input

EXAMPLES = Path(__file__).parent.parent / "examples" / "logs"
ACTIONS = ("--send", r"send (?<message>\S+) to (?<to>\S+)", "--deliver", r"receive (?<message>\S+) from (?<from>\S+)")
SPANS = ("resourceSpans", "scopeSpans", "spans")


def other_order(things: Sequence[Any], random: Mutator) -> list[Any]:
    """The things with a few dropped, twice there, or in another order."""
    found = list(things)
    for _ in range(random.choice((1, 1, 2, 4))):
        at, what = random.randrange(len(found) + 1), random.randrange(4)
        if what == 0:
            del found[at : at + random.choice((1, 1, 2))]
        elif what == 1 and found:
            found.insert(at, deepcopy(random.choice(found)))
        elif what == 2:
            random.shuffle(found)
        else:
            found[at:] = reversed(found[at:])
    return found


def written(value: Any, random: Mutator, indent: int | None = None) -> bytes:
    """JSON of a value that has been changed already."""
    text = json.dumps(value, indent=indent, ensure_ascii=random.random() < 0.5)
    text = text.replace(f'"{HUGE}"', "9" * 5_000).replace(f'"{DEEP}"', "[" * 20_000 + "]" * 20_000)
    return text.encode("utf-8", "surrogatepass")


def contents_up_to(few: int) -> None:
    """So many rows are decided by the spec alone; with a few, the monitor is met too."""
    from crownless.model_check.logs import classify_file

    classify_file.SMALL_UP_TO = few


class _Converted(Reader):
    """Logs that are read whole, in files of one suffix."""

    suffix: str

    def classify(self, content: bytes, directory: Path, options: Sequence[str] = ()) -> Input:
        path = directory / f"log{self.suffix}"
        path.write_bytes(content)
        return Input(["classify", str(path), *MEMORY, *options], violated=("broken",))

    def cleanup(self, directory: Path) -> None:
        contents_up_to(5_000)
        (directory / f"log{self.suffix}").unlink(missing_ok=True)


class ShivizLogs(_Converted):
    """Texts with clocks: words, lines and entries changed, also with expressions that are."""

    name = "shiviz logs"
    suffix = ".shiviz"

    def prepare(self, directory: Path) -> None:
        text = (EXAMPLES / "events.shiviz").read_text("utf-8")
        self.head, _, body = text.partition("\n\n")
        lines = body.splitlines()
        self.events = [(lines[k], lines[k + 1]) for k in range(0, len(lines), 2)]
        self.delimiter = "^=== (?<trace>.*) ===$"

    def text(self, events: Sequence[Sequence[str]], executions: int = 1) -> str:
        body = "\n".join("\n".join(event) for event in events)
        if executions == 1:
            return f"{self.head}\n\n{body}\n"
        return f"{self.head}\n{self.delimiter}\n" + "".join(f"=== r{k} ===\n{body}\n" for k in range(executions))

    def sound(self, directory: Path) -> Iterator[Input]:
        for few in (FEW, 5_000):
            for executions in (1, 2):
                for options in ((), ACTIONS):
                    contents_up_to(few)
                    yield self.classify(self.text(self.events, executions).encode(), directory, options)

    def make(self, random: Mutator, directory: Path) -> Input:
        contents_up_to(random.choice((FEW, 5_000)))
        executions = random.choice((1, 1, 2))
        what = random.randrange(4)
        if what == 0:
            content = random.text(self.text(self.events, executions))
        elif what == 1:
            lines = other_order(self.text(self.events, executions).splitlines(), random)
            content = "\n".join(lines).encode()
        else:
            events = [list(event) for event in self.events]
            if what == 2:
                events = other_order(events, random)
            for _ in range(random.choice((0, 1, 1, 2)) if events else 0):
                event = random.choice(events)
                host, _, clock = event[0].partition(" ")
                event[0] = f"{host} {self.clock(clock, random)}"
            content = self.text(events, executions).encode("utf-8", "surrogatepass")
        return self.classify(content, directory, self.options(random))

    def clock(self, clock: str, random: Mutator) -> str:
        try:
            entries = json.loads(clock)
        except (ValueError, RecursionError):
            return clock
        if not isinstance(entries, dict):
            return clock
        host = random.choice([*entries, "web", "stock", random.choice(NAMES)])
        entries[host] = random.choice((1, 2, 3, 5, 0, 2**62, random.value()))
        return written(entries, random).decode("utf-8", "surrogatepass")

    def options(self, random: Mutator) -> list[str]:
        given = list(random.choice(((), ACTIONS)))
        if random.random() < 0.2:
            sound = random.choice(("--pattern", "--delimiter", "--send", "--deliver"))
            of = {"--pattern": self.head, "--delimiter": self.delimiter, "--send": ACTIONS[1], "--deliver": ACTIONS[3]}
            changed = random.text(of[sound]).decode("utf-8", "surrogateescape").replace("\0", "")
            given += [f"{sound}={changed}", "--max-seconds", "5"]  # an expression may take for ever
        return given + ["--json"] * random.randrange(2)


class OtlpLogs(_Converted):
    """Spans with their ids, times and parents exchanged, with values of other types, and text."""

    name = "otlp logs"
    suffix = ".otlp"

    def prepare(self, directory: Path) -> None:
        text = (EXAMPLES / "events.otlp").read_text("utf-8")
        self.lines = [json.loads(line) for line in text.splitlines() if line.strip()]

    def sound(self, directory: Path) -> Iterator[Input]:
        for few in (FEW, 5_000):
            contents_up_to(few)
            yield self.classify("\n".join(map(json.dumps, self.lines)).encode(), directory)

    def make(self, random: Mutator, directory: Path) -> Input:
        contents_up_to(random.choice((FEW, 5_000)))
        lines, what = self.lines, random.randrange(4)
        if what == 0:
            content = random.text("\n".join(map(json.dumps, lines)))
        elif what == 1:
            encoded = [json.dumps(line).encode() for line in lines]
            encoded[random.randrange(len(lines))] = random.json(random.choice(lines), random.choice((None, None, 2)))
            content = b"\n".join(other_order(encoded, random) if random.random() < 0.3 else encoded)
        else:
            changed = json.loads(json.dumps(lines))
            self.exchange(changed, random)
            content = b"\n".join(written(line, random) for line in changed)
        return self.classify(content, directory, ["--json"] * random.randrange(2))

    def exchange(self, lines: list[Any], random: Mutator) -> None:
        """Changes lists of spans, and fields of spans, mostly for those of other spans."""
        holders = [scope for line in lines for one in line[SPANS[0]] for scope in one[SPANS[1]]]
        spans = [span for holder in holders for span in holder[SPANS[2]]]
        for _ in range(random.choice((1, 1, 2, 4))):
            one, other = random.choice(spans), random.choice(spans)
            what = random.randrange(6)
            if what == 0:
                holder = random.choice(holders)
                holder[SPANS[2]] = other_order(holder[SPANS[2]], random)
            elif what == 1:
                one["parentSpanId"] = other["spanId"]
            elif what == 2:
                key = random.choice(("startTimeUnixNano", "kind", "traceId", "spanId", "attributes"))
                if key in other:
                    one[key] = deepcopy(other[key])
            elif what == 3:
                one["links"] = [{key: random.choice(spans)[key] for key in ("traceId", "spanId")} for _ in range(2)]
            elif what == 4:
                one.pop(random.choice(list(one)))
                one.setdefault("spanId", random.choice(NAMES))
                one.setdefault("traceId", random.choice(NAMES))
            else:
                one[random.choice(list(one))] = random.value()


class ItfTraces(_Converted):
    """Traces with states exchanged, values written as TLA+ has them, of other types, and text."""

    name = "itf traces"
    suffix = ".itf.json"

    def prepare(self, directory: Path) -> None:
        self.trace = json.loads((EXAMPLES / "events.itf.json").read_text("utf-8"))

    def sound(self, directory: Path) -> Iterator[Input]:
        for few in (FEW, 5_000):
            contents_up_to(few)
            yield self.classify(json.dumps(self.trace).encode(), directory)
        yield self.classify(json.dumps(self.trace, indent=1).encode(), directory, ["--column", "message=event.message"])

    def make(self, random: Mutator, directory: Path) -> Input:
        contents_up_to(random.choice((FEW, 5_000)))
        what = random.randrange(4)
        indent = random.choice((None, 1))
        if what == 0:
            content = random.text(json.dumps(self.trace, indent=indent))
        elif what == 1:
            content = random.json(self.trace, indent)
        else:
            trace = deepcopy(self.trace)
            for _ in range(random.choice((1, 1, 2, 4))):
                if random.random() < 0.4:
                    trace["states"] = other_order(trace["states"], random)
                elif trace["states"]:
                    event = random.choice(trace["states"]).get("event")
                    if isinstance(event, dict) and event:
                        key = random.choice(list(event))
                        event[key] = self.value(event[key], random)
            if random.random() < 0.1:
                trace["loop"] = random.value()
            content = written(trace, random, indent)
        paths = ("message=event.message", "peer=inFlight", "kind=event", "process=a.b.c", "message=", "run=event")
        options = ["--column", random.choice(paths)] if random.random() < 0.15 else random.choice(([], [], [], KINDS))
        return self.classify(content, directory, [*options, *["--json"] * random.randrange(2)])

    def value(self, old: Any, random: Mutator) -> Any:
        inner = random.choice((old, random.value()))
        return random.choice(
            (
                {"#tup": [inner]},
                {"#set": [inner, old]},
                {"#bigint": str(inner)},
                {"#map": [[inner, old]]},
                {"tag": "Send", "value": inner},
                [inner, [old]],
                {"a": inner},
                random.value(),
                random.choice(("send", "deliver", "receive", "internal", "none", "web", "stock", "billing")),
            )
        )


class ClockedLogs(Logs):
    """JSON Lines with a vector clock in each, for `--clocks`: objects, or arrays."""

    name = "clocked logs"

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        self.logs = [
            self._with_clocks(rows, as_array) for rows in self.logs for as_array in (False, True) if len(rows) < 20
        ]

    def _with_clocks(self, rows: Sequence[Row], as_array: bool) -> list[Row]:
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

    def sound(self, directory: Path) -> Iterator[Input]:
        for few in (FEW, 5_000):
            for rows in self.logs:
                contents_up_to(few)
                yield self.classify(b"\n".join(json.dumps(row).encode() for row in rows), directory, [])

    def make(self, random: Mutator, directory: Path) -> Input:
        contents_up_to(random.choice((FEW, 5_000)))
        if random.random() < 0.6:
            return super().make(random, directory)
        rows = deepcopy(random.choice(self.logs))
        for _ in range(random.choice((1, 1, 2, 4))):
            row, what = random.choice(rows), random.randrange(5)
            if what == 0:
                rows = other_order(rows, random) or rows
            elif what == 1:
                row["clock"] = deepcopy(random.choice(rows).get("clock"))
            elif what == 2 and row["clock"]:
                keys = list(row["clock"]) if isinstance(row["clock"], dict) else range(len(row["clock"]))
                row["clock"][random.choice(keys)] = random.choice((0, 1, 2, 3, 7, 2**62, random.value()))
            elif what == 3:
                row["run"] = random.choice(("a", "b", random.choice(NAMES)))
            else:
                row["message"] = random.choice(rows)["message"]
        content = b"\n".join(written(row, random) for row in rows)
        options = random.choice(
            ([], [], KINDS, ["--processes", "P1,P2"], ["--processes", random.choice(NAMES) or "P1"])
        )
        return self.classify(content, directory, [*options, *["--json"] * random.randrange(2)])

    def classify(self, content: bytes, directory: Path, options: list[str]) -> Input:
        given = super().classify(content, directory, [option.replace("\0", "") for option in options])
        return Input([*given.arguments, "--clocks"], violated=given.violated)

    def cleanup(self, directory: Path) -> None:
        contents_up_to(5_000)
        (directory / "log.jsonl").unlink(missing_ok=True)


def in_blocks_of(size: int, rows: int) -> None:
    """So many bytes of text, and rows of a table, are read at a time."""
    from crownless.model_check.logs import file_blocks

    file_blocks.BYTES, file_blocks.ROWS = size, rows


class OneRunLogs(TableFiles):
    """Logs for `--one-run`, in blocks of a few bytes or rows: of one run, of two, with holes, and broken."""

    name = "one-run logs"
    suffixes = (".jsonl", ".csv", ".parquet", ".arrow", ".jsonl.gz", ".tsv")

    def content(self, rows: Sequence[Row], suffix: str) -> bytes:
        if ".jsonl" in suffix:
            content = b"\n".join(_line(row) for row in rows)
            if suffix.endswith(".gz"):
                import gzip

                return gzip.compress(content, mtime=0)
            return content
        if suffix in (".csv", ".tsv"):
            return LogFiles.content(self, rows, suffix)
        return super().content(rows, suffix)

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        self.logs = [rows for rows in self.logs if len({row["run"] for row in rows}) == 1]

    def make(self, random: Mutator, directory: Path) -> Input:
        in_blocks_of(*random.choice(((1 << 26, 1 << 19), (200, 2), (64, 1))))
        if random.random() < 0.2:
            return super().make(random, directory)
        rows = self.changed(random.choice(self.logs), random)
        suffix = random.choice(self.suffixes)
        try:
            content = self.content(rows, suffix)
        except (ValueError, TypeError, OverflowError, NotImplementedError):  # no such file can be written
            content = random.mangled(self.content(random.choice(self.logs), suffix))
        options = random.choice(([], [], [], ["--json"], ["--quiet"], ["--unreceived", "pending"], KINDS))
        return self.classify(content, suffix, directory, options)

    def changed(self, rows: Sequence[Row], random: Mutator) -> list[Row]:
        what = random.randrange(4)
        if what == 0:
            return other_order(rows, random) or list(rows)
        if what == 1:
            return super().changed(rows, random)
        found = [dict(row) for row in rows]
        for _ in range(random.choice((1, 1, 2, 4))):
            one, other, change = random.choice(found), random.choice(found), random.randrange(6)
            if change == 0:  # a hole
                one["index"] = random.choice((0, 1, 2, 3, 9, 2**40, 2**63 - 1))
            elif change == 1:
                one["message"], other["message"] = other["message"], one["message"]
            elif change == 2:
                one["index"], other["index"] = other["index"], one["index"]
            elif change == 3:
                one["process"] = random.choice((other["process"], random.choice(NAMES)))
            elif change == 4:
                one["kind"] = random.choice(("send", "deliver", "receive", "internal", random.choice(NAMES)))
            else:
                one[random.choice(("peer", "message", "run"))] = random.choice((None, *NAMES, other["peer"]))
        return found if random.random() < 0.7 else other_order(found, random) or found

    def classify(self, content: bytes, suffix: str, directory: Path, options: list[str]) -> Input:
        options = [option for option in options if option not in ("--by-process", "--match")]
        given = super().classify(content, suffix, directory, options)
        return Input([*given.arguments, "--one-run"], violated=given.violated)

    def cleanup(self, directory: Path) -> None:
        in_blocks_of(1 << 26, 1 << 19)
        super().cleanup(directory)


def _line(row: Row) -> bytes:
    """A row as a line of JSON: what is missing left out, several receivers as a list."""
    fields = {key: value for key, value in row.items() if value is not None}
    if isinstance(fields.get("peer"), str) and ";" in fields["peer"]:
        fields["peer"] = fields["peer"].split(";")
    text = json.dumps(fields).replace(f'"{HUGE}"', "9" * 5_000).replace(f'"{DEEP}"', "[" * 20_000 + "]" * 20_000)
    return text.encode()
