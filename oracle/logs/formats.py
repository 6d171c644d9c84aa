"""The formats of event logs, identified by file suffix, by the start of the content, or by name.

A new format is an entry of `FORMATS`. It has either the columns of a log and a reader in `tables`, or a module of its
name here, whose function `read` converts a content to the rows of a log.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import printable_name
from crownless.runtime.reading import read_bytes, read_text
from crownless.spec import library

from .reasons import KINDS
from .rows import COLUMNS, is_name
from .skipped import Quarantine

#: Gets the activity ("read"), the amount done, the total if known, and the unit.
Progress = Callable[[str, int, "int | None", str], None]
#: The name of a format.
Format = str


class LogFormat(NamedTuple):
    """A format: its display name, its file suffixes, and a pattern for the beginning of a content.

    `options`: the `LogOptions` that it supports; `is_converted`: it does not have the columns of a log, and its events
    are numbered `by` lines or rows.
    """

    called: str
    suffixes: str
    beginning: bytes | None = None
    options: tuple[str, ...] = ("columns", "kinds", "complete", "processes", "order_by", "quarantine")
    is_converted: bool = False
    by: Literal["line", "row"] = "row"


FORMATS: dict[Format, LogFormat] = {
    "csv": LogFormat("CSV", ".csv .tsv"),
    "parquet": LogFormat("Parquet", ".parquet .pq", rb"PAR1"),
    "arrow": LogFormat("Arrow", ".arrow .arrows .feather", rb"ARROW1|\xff\xff\xff\xff"),
    "otlp": LogFormat(
        "OpenTelemetry spans", ".otlp .otlp.json", rb'\s*\{\s*"resourceSpans"', ("complete", "processes"), True
    ),
    "itf": LogFormat(
        "an ITF trace",
        ".itf .itf.json",
        rb'\s*\{\s*"(#meta|vars|states)"',
        ("columns", "kinds", "complete", "processes"),
        is_converted=True,
    ),
    "jsonl": LogFormat("JSON", ".jsonl .ndjson .json .log", rb"\s*\{"),
    "shiviz": LogFormat(
        "a log of ShiViz",
        ".shiviz",
        rb'[^\n]*\(\?P?<host>|\s*[^\s{]\S* \{"[^"\n]*" ?: ?[0-9]',
        ("pattern", "complete", "processes"),
        is_converted=True,
        by="line",
    ),
}
CONVERTED = tuple(name for name, form in FORMATS.items() if form.is_converted)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_BY_SUFFIX = {suffix: name for name, form in FORMATS.items() for suffix in form.suffixes.split()}
#: The number of bytes that identify the format of a content.
_HEAD = 1 << 12
#: Instead of a column: events are ordered by the line they are on; no column has the receivers of a send.
BY_LINE, NO_COLUMN = "line", "-"
#: The note on each run whose events are ordered without an index.
LOST_UNSEEN = "without an index lost lines cannot be seen: the verdicts are about the lines that are there"
#: Between the columns that make up a name.
PLUS = "+"


@dataclass(frozen=True)
class LogOptions:
    """How a log is read, where its file does not say, and facts that its lines do not contain.

    `columns` and `kinds`: the log's own names of columns (`{"message": "msg_id"}`) and of event kinds
    (`{"recv": "deliver"}`), where `topic+offset` is a name made of two columns, and `-` for `peer` says that sends do
    not name their receivers; `pattern`: the expression that finds messages in the events of a ShiViz log; `complete`:
    no event is missing; `processes`: participants of each run, even without events; `unnamed`: messages have no names,
    and `message` is a payload; `order_by`: instead of `index`, the column that orders the events of each process, or
    `line`; `quarantine` gets the rows that cannot be used, which are otherwise refused. Raises `BadInput` for invalid
    names.
    """

    form: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    pattern: str | None = None
    complete: bool = False
    processes: tuple[str, ...] = ()
    unnamed: bool = False
    order_by: str | None = None
    quarantine: Quarantine | None = None

    def __post_init__(self) -> None:
        for column, theirs in self.columns.items():
            if column not in COLUMNS:
                raise _unknown("column", column, COLUMNS, theirs, f"--column {theirs}={column}")
        for theirs, kind in self.kinds.items():
            if kind not in KINDS:
                raise _unknown("kind", kind, KINDS, theirs, f"--kind {kind}={theirs}")
        if self.order_by is not None and "index" in self.columns:
            hint = "leave one of them out; --order-by needs no index"
            raise BadInput("the column 'index' and --order-by both order the events", hint=hint)
        known: dict[str, str] = {}
        for name, theirs in self.named.items():
            if known.setdefault(theirs, name) != name:
                hint = f"name another column for '{known[theirs]}' or '{name}', or leave one out"
                raise BadInput(f"'{known[theirs]}' and '{name}' are both to be the column {theirs!r}", hint=hint)
        for process in self.processes:
            if not is_name(process):
                hint = "give a non-empty printable name, as in the log's 'process'"
                raise BadInput(f"--process '{printable_name(process)}' is not a process name", hint=hint)

    @property
    def named(self) -> dict[str, str]:
        """The name of each column in the file that is read; that of the column to order by as `index`."""
        names = {name: self.columns.get(name, name) for name in COLUMNS}
        if self.order_by is not None:
            names["index"] = self.order_by
        if self.order_by == BY_LINE:
            del names["index"]
        if not self.names_receivers:
            del names["peer"]
        return names

    @property
    def parts(self) -> dict[str, list[str]]:
        """The columns of the file that each column is made of."""
        return {name: theirs.split(PLUS) for name, theirs in self.named.items()}

    @property
    def theirs(self) -> list[str]:
        """The columns of the file that are read."""
        return list(dict.fromkeys(theirs for parts in self.parts.values() for theirs in parts))

    @property
    def names_receivers(self) -> bool:
        """False if sends do not name their receivers."""
        return self.columns.get("peer") != NO_COLUMN

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on each run of a log that is read so."""
        return () if self.order_by is None else (LOST_UNSEEN,)

    @property
    def given(self) -> dict[str, str]:
        """The options given, by their names on the command line."""
        options = {
            "form": "--format",
            "columns": "--column",
            "kinds": "--kind",
            "pattern": "--pattern",
            "complete": "--complete",
            "processes": "--process",
            "order_by": "--order-by",
            "quarantine": "--skip-bad",
        }
        return {name: option for name, option in options.items() if getattr(self, name) not in (None, False, (), {})}


def read_mapping(name: str) -> LogOptions:
    """The options in a file, in TOML or JSON, with the names of `crownless.read_log`; raises `BadInput`."""
    text = read_text(Path(name), name)
    hint = 'such as: order_by = "ts", and below it the tables [columns] message = "msg_id", [kinds] recv = "deliver"'
    try:
        given = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as problem:
        raise BadInput(f"it is neither TOML nor JSON: {problem}", hint=hint, file=name) from None
    fields = {"columns": dict, "kinds": dict, "order_by": str}
    for key, value in given.items():
        if key not in fields:
            raise unknown_name("key", key, fields).at(file=name)
        texts = value.values() if isinstance(value, dict) else [value]
        if not isinstance(value, fields[key]) or not all(isinstance(text, str) for text in texts):
            raise BadInput(f"'{key}' cannot be {value!r}", hint=hint, file=name)
    try:
        return LogOptions(**given)
    except BadInput as problem:
        raise problem.at(file=name) from None


def _unknown(thing: str, name: str, known: Collection[str], theirs: str, reversed_option: str) -> BadInput:
    """The error for an unknown column or kind, with a hint if it stands where the log's own name belongs."""
    error = unknown_name(thing, name, known)
    return BadInput(error.message, hint=f"it is {reversed_option}") if theirs in known else error


def path_of(name: str) -> Path | None:
    """The file to read, of that name or bundled; None is standard input."""
    if name == "-":
        return None
    path = Path(name)
    if path.suffix == ".py":
        hint = f"check the protocol in it: crownless check {name} --json > runs.json; that can be shown"
        raise BadInput("a Python file is not a computation, run or log", hint=hint, file=name)
    found = library.located(name)
    if found is not None and found.suffix == ".json" and name in library.counterexamples(".json"):
        hint = f"crownless show {name}"
        raise BadInput(f"{name} is a run of a protocol, not a computation alone", hint=hint)
    if found is None and "/" not in name and "." not in name:
        known = ", ".join(library.names())
        raise BadInput(
            f"there is no file or bundled computation '{printable_name(name)}'",
            hint=f"bundled: {known}; counterexamples: crownless list counterexamples",
        )
    return found or path


def content_of(name: str, options: LogOptions) -> tuple[bytes, Format | None]:
    """The content of a file (`-`: standard input) or bundled file, decompressed, and its format; None: a computation.

    Raises `BadInput` for a file that cannot be read, or has another format than expected, and for options that its
    format does not support.
    """
    path = path_of(name)
    content = read_bytes(path, name)
    compression = compression_of(path) or ("gzip" if content.startswith(b"\x1f\x8b") else None)
    if compression is not None:
        content = _decompressed(content, compression, name)
    form = options.form or format_of(path)
    if options.form is None and options.pattern and form in (None, "jsonl"):
        form = "shiviz"
    found = format_in(content)
    if form is None or (form == "jsonl" and found in CONVERTED and options.form is None):
        form = found
    if form is None and not content.strip():
        raise BadInput("the input is empty", hint="give an event log, or a computation", file=name)
    _refuse_other_format(content, form, found, name)
    allowed: Collection[str] = () if form is None else FORMATS[form].options
    for option, flag in options.given.items():
        if option not in ("form", *allowed):
            of = "a computation" if form is None else f"--format {form}"
            raise BadInput(f"{flag} cannot be combined with {of}", hint="leave it out", file=name)
    return content, form


def refuse_unknown_columns(content: bytes, name: str, options: LogOptions) -> None:
    """Raises `BadInput` if no line of JSON has the column names of the options."""
    for column, parts in options.parts.items():
        given = column in options.columns or (column == "index" and options.order_by is not None)
        for theirs in parts if given else ():
            if theirs.isascii() and theirs.isalnum() and f'"{theirs}"'.encode() not in content:
                meant = f"say what is called '{column}' there" if column in options.columns else "name another column"
                raise BadInput(f"no line has {theirs!r}", hint=meant, file=name)


class Numbering(NamedTuple):
    """How the rows of a log are numbered for the user: by the lines of the file, or consecutively."""

    by: Literal["line", "row"] = "row"
    first: int = 1


BY_ROW = Numbering()


def numbering(content: bytes, form: Format, rows: int) -> Numbering:
    """By lines if each row of a text is on a line of its own."""
    heading = 1 if form == "csv" else 0
    lines = content.count(b"\n") + (not content.endswith(b"\n")) if form in ("jsonl", "csv") else 0
    return Numbering("line", 1 + heading) if lines == rows + heading else BY_ROW


def compression_of(path: Path | None) -> str | None:
    """The compression of a file by its name, or None."""
    return None if path is None else COMPRESSIONS.get(path.suffix.lower())


def format_of(path: Path | None) -> Format | None:
    """The format of a file by its name, or None."""
    if path is None:
        return None
    suffixes = path.name.lower().split(".")[1:]
    if compression_of(path) is not None:
        suffixes.pop()
    return next((_BY_SUFFIX[end] for k in (-2, -1) if (end := "." + ".".join(suffixes[k:])) in _BY_SUFFIX), None)


def format_in(content: bytes) -> Format | None:
    """The format of a content without a name; None if it is not a log, or is CSV."""
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    beginnings = ((name, form.beginning) for name, form in FORMATS.items() if form.beginning is not None)
    return next((name for name, beginning in beginnings if re.match(beginning, head)), None)


def _refuse_other_format(content: bytes, form: Format | None, found: Format | None, name: str) -> None:
    """Raises `BadInput` if the content clearly has another format than this one; None: a computation."""
    if found is None and form in (None, "jsonl", "parquet", "arrow") and _looks_like_csv(content):
        if form is None:
            hint = f"if it is an event log: crownless classify {name} --format csv"
            raise BadInput("this looks like CSV, not like a computation", hint=hint, file=name)
        found = "csv"
    if form in CONVERTED and found == "jsonl":  # whose readers know more
        return
    if form is not None and found is not None and found != form:
        hint = f"give --format {found}, or name the file for what it is"
        raise BadInput(
            f"this looks like {FORMATS[found].called}, not like {FORMATS[form].called}", hint=hint, file=name
        )


def _looks_like_csv(content: bytes) -> bool:
    """True if the first line is not a computation's process with events, and has three cells, or two like the next."""
    heading, *rows = content[:_HEAD].lstrip().splitlines()[:2] or [b""]
    others = {*b":#[]{}", *range(9)} & {*heading}
    cells = [[1 + line.count(separator) for line in (heading, *rows)] for separator in (b",", b"\t", b";")]
    return not others and any(first > 2 or (first == 2 and after == [2]) for first, *after in cells)


def _decompressed(content: bytes, compression: str, name: str) -> bytes:
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(content), compression) as stream:
            return bytes(stream.read())
    except OSError as error:
        hint = "compress it again, or name the file without that suffix"
        raise BadInput(f"this is not {compression}, or is cut off: {first_line(error)}", hint=hint, file=name) from None


def first_line(error: Exception) -> str:
    """The first sentence of an Arrow error."""
    return str(error).splitlines()[0].split(". ")[0] if str(error) else type(error).__name__
