"""The formats of event logs: by the suffix of a file, by what its content begins with, or named.

`.jsonl`, `.ndjson`, `.json` and `.log` are JSON Lines, `.csv` and `.tsv` text with a line of column names, `.parquet`
and `.pq` Parquet, `.arrow`, `.arrows` and `.feather` Arrow. `.gz`, `.bz2`, `.zst` and `.lz4` may follow. `.shiviz`,
`.otlp` and `.itf` are logs of other tools, without the columns of a log; so is JSON that begins as OTLP or ITF does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from crownless.model_check.runs.named_files import path_of
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.printable import printable_name
from crownless.spec.reading import read_bytes

from .columns import TYPES
from .reasons import KINDS
from .rows import is_name

Format = Literal["jsonl", "csv", "parquet", "arrow", "shiviz", "otlp", "itf"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Formats without the columns of a log, which are converted to its rows.
CONVERTED: tuple[Format, ...] = ("shiviz", "otlp", "itf")
#: Gets what is done ("read"), how much of it, of how much if that is known, and the unit.
Progress = Callable[[str, int, "int | None", str], None]

_SUFFIXES: dict[Format, str] = {
    "jsonl": ".jsonl .ndjson .json .log",
    "csv": ".csv .tsv",
    "parquet": ".parquet .pq",
    "arrow": ".arrow .arrows .feather",
    "shiviz": ".shiviz",
    "otlp": ".otlp .otlp.json",
    "itf": ".itf .itf.json",
}
SUFFIXES: dict[str, Format] = {suffix: form for form, several in _SUFFIXES.items() for suffix in several.split()}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
#: The names of the formats, for people.
CALLED: dict[Format, str] = {
    "jsonl": "JSON",
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "shiviz": "a log of ShiViz",
    "otlp": "OpenTelemetry spans",
    "itf": "an ITF trace",
}
#: How a content begins that has no name.
_BEGINNINGS: tuple[tuple[re.Pattern[bytes], Format], ...] = (
    (re.compile(rb"PAR1"), "parquet"),
    (re.compile(rb"ARROW1|\xff\xff\xff\xff"), "arrow"),
    (re.compile(rb'\s*\{\s*"resourceSpans"'), "otlp"),
    (re.compile(rb'\s*\{\s*"(#meta|vars|states)"'), "itf"),
    (re.compile(rb"\s*\{"), "jsonl"),
    (re.compile(rb'[^\n]*\(\?P?<host>|\s*[^\s{]\S* \{"[^"\n]*" ?: ?[0-9]'), "shiviz"),
)
#: The bytes that tell the format of a content.
_HEAD = 1 << 12


@dataclass(frozen=True)
class LogOptions:
    """How a log is read, as far as its file does not say it, and facts that its lines do not hold.

    `columns` and `kinds`: what the log calls its columns (`{"message": "msg_id"}`), and kinds of events
    (`{"recv": "deliver"}`); `pattern`: the expression that finds messages in the events of a ShiViz log; `complete`: no
    event is missing; `processes`: some that take part in each run, also without events. Raises `BadInput` for names
    that are none.
    """

    form: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    pattern: str | None = None
    complete: bool = False
    processes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in self.columns:
            if column not in TYPES:
                raise unknown_name("column", column, TYPES)
        for kind in self.kinds.values():
            if kind not in KINDS:
                raise unknown_name("kind", kind, KINDS)
        known: dict[str, str] = {}
        for name, theirs in self.named.items():
            if known.setdefault(theirs, name) != name:
                hint = f"name another column for '{known[theirs]}' or '{name}', or leave one out"
                raise BadInput(f"'{known[theirs]}' and '{name}' are both to be the column {theirs!r}", hint=hint)
        for process in self.processes:
            if not is_name(process):
                hint = "give a text that shows, as the log has it in 'process'"
                raise BadInput(f"--process '{printable_name(process)}' is no name of a process", hint=hint)

    @property
    def named(self) -> dict[str, str]:
        """The name of each column in the file."""
        return {name: self.columns.get(name, name) for name in TYPES}

    @property
    def given(self) -> dict[str, str]:
        """Which of them were given, by the names of the options on the command line."""
        options = {
            "form": "--format",
            "columns": "--column",
            "kinds": "--kind",
            "pattern": "--pattern",
            "complete": "--complete",
            "processes": "--process",
        }
        return {name: option for name, option in options.items() if getattr(self, name)}

    def refuse_all_but(self, allowed: Collection[str], of: str, file: str) -> None:
        """Raises `BadInput` if further ones were given."""
        for name, option in self.given.items():
            if name not in ("form", *allowed):
                raise BadInput(f"{option} does not go with {of}", hint="leave it out", file=file)


def content_of(name: str, options: LogOptions) -> tuple[bytes, Format | None]:
    """What is in a file (`-`: standard input) or bundled file, decompressed, and its format; None: a computation.

    Raises `BadInput` for a file that cannot be read, or is of another format than it should be, and for options that
    do not go with its format.
    """
    path = path_of(name)
    content = read_bytes(path, name)
    if path is not None and compression_of(path) is not None:
        content = decompressed(content, name)
    elif content.startswith(b"\x1f\x8b"):
        hint = "give the file a name that ends in .gz, or decompress it first: zcat FILE | crownless classify -"
        raise BadInput("this is compressed", hint=hint, file=name)
    form = options.form or (None if path is None else format_of(path.name))
    if options.form is None and options.pattern and form in (None, "jsonl"):
        form = "shiviz"
    found = format_in(content)
    if form == "jsonl" and found in CONVERTED and options.form is None:
        form = found
    form = form or found
    _refuse_other_format(content, form, found, name)
    allowed = {
        None: (),
        "shiviz": ("pattern", "complete", "processes"),
        "otlp": ("complete", "processes"),
        "itf": ("columns", "kinds", "complete", "processes"),
    }
    others = ("columns", "kinds", "complete", "processes")
    of = "a computation" if form is None else f"--format {form}"
    options.refuse_all_but(allowed.get(form, others), of, name)
    return content, form


class Numbering(NamedTuple):
    """How the rows of a log are numbered for its reader: by the lines of the file, or one row after the other."""

    by: Literal["line", "row"] = "row"
    first: int = 1


BY_ROW = Numbering()


def numbering(content: bytes, form: Format, rows: int) -> Numbering:
    """By lines where each row of a text is on a line of its own."""
    heading = 1 if form == "csv" else 0
    lines = content.count(b"\n") + (not content.endswith(b"\n")) if form in ("jsonl", "csv") else 0
    return Numbering("line", 1 + heading) if lines == rows + heading else BY_ROW


def compression_of(path: Path) -> str | None:
    """The compression of a file by its name, or None."""
    return COMPRESSIONS.get(path.suffix.lower())


def format_of(name: str) -> Format | None:
    """The format of a file by its name, or None."""
    path = Path(name.lower())
    path = path if compression_of(path) is None else Path(path.stem)
    return SUFFIXES.get("".join(path.suffixes[-2:]), SUFFIXES.get(path.suffix))


def format_in(content: bytes) -> Format | None:
    """The format of a content without a name; None if it is no log, or CSV."""
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    return next((form for beginning, form in _BEGINNINGS if beginning.match(head)), None)


def _refuse_other_format(content: bytes, form: Format | None, found: Format | None, name: str) -> None:
    """Raises `BadInput` if the content is plainly of another format than this one; None: a computation."""
    if found is None and form is None and _looks_like_csv(content):
        hint = f"if it is an event log: crownless classify {name} --format csv"
        raise BadInput("this looks like CSV, not like a computation", hint=hint, file=name)
    if found is None and form in ("jsonl", "parquet", "arrow") and _looks_like_csv(content):
        found = "csv"
    if form in CONVERTED and found == "jsonl":  # whose readers know more
        return
    if form is not None and found is not None and found != form:
        hint = f"give --format {found}, or name the file for what it is"
        raise BadInput(f"this looks like {CALLED[found]}, not like {CALLED[form]}", hint=hint, file=name)


def _looks_like_csv(content: bytes) -> bool:
    """True if the first line is no process with events, as a computation has, and has several cells."""
    heading = content[:_HEAD].lstrip().split(b"\n", 1)[0]
    others = {*b":#[]{}", *range(9)} & {*heading}
    return not others and max(map(heading.count, (b",", b"\t", b";"))) >= 2


def decompressed(content: bytes, name: str) -> bytes:
    """The content of a file whose suffix is that of a compression, as it was before."""
    import pyarrow as pa

    compression = compression_of(Path(name))
    try:
        with pa.CompressedInputStream(pa.BufferReader(content), compression) as stream:
            return bytes(stream.read())
    except OSError as error:
        hint = "compress it again, or name the file without that suffix"
        raise BadInput(f"this is not {compression}, or is cut off: {first_line(error)}", hint=hint, file=name) from None


def first_line(error: Exception) -> str:
    """The first sentence of an error of Arrow."""
    return str(error).splitlines()[0].split(". ")[0] if str(error) else type(error).__name__
