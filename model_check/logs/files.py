"""Files of event logs: JSON Lines, CSV, Parquet and Arrow, also compressed, read into the columns of a log.

By suffix, or by the name of the format: ``.jsonl``, ``.ndjson``, ``.json`` and ``.log`` are JSON Lines, ``.csv`` and
``.tsv`` text with a line of column names, ``.parquet`` and ``.pq`` Parquet, ``.arrow``, ``.arrows`` and ``.feather``
Arrow (files and streams). ``.gz``, ``.bz2``, ``.zst`` and ``.lz4`` may follow. In CSV the receivers of a message to
several are separated by semicolons, and an empty cell is as good as none. ``.shiviz``, ``.otlp`` and ``.itf`` are
logs of other tools, without these columns (`converted`); so is JSON that begins as OTLP or ITF does.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from crownless.spec.errors import BadInput

from .columns import COLUMNS, OPTIONAL, TYPES, check_columns, json_line, plain_table, shortened
from .kinds import DELIVERS, table_with_kinds
from .patterns import is_parser
from .rows import object_in

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Format = Literal["jsonl", "csv", "parquet", "arrow", "shiviz", "otlp", "itf"]
FORMATS: tuple[Format, ...] = get_args(Format)
#: Formats without the columns of a log: `converted` has them as lines of JSON.
CONVERTED: tuple[Format, ...] = ("shiviz", "otlp", "itf")
#: Gets what is done ("read"), how much of it, of how much if that is known, and the unit.
Progress = Callable[[str, int, "int | None", str], None]

SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".log": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".shiviz": "shiviz",
    ".otlp": "otlp",
    ".itf": "itf",
    ".otlp.json": "otlp",
    ".itf.json": "itf",
}
#: How a log of GoVector begins: a host and its clock.
_GOVECTOR = re.compile(rb'\s*[^\s{]\S* \{"[^"\n]*" ?: ?[0-9]')
#: How a file begins that is no JSON Lines log, though its name says JSON.
_BEGINNINGS: tuple[tuple[re.Pattern[bytes], Format], ...] = (
    (re.compile(rb'\s*\{\s*"resourceSpans"'), "otlp"),
    (re.compile(rb'\s*\{\s*"(#meta|vars|states)"'), "itf"),
)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
#: As much of a file is looked at to find its format.
_HEAD = 1 << 12
#: What separates receivers in a cell of a CSV file.
SEVERAL = ";"
#: Bytes that Arrow reads of JSON Lines at a time: no line may be longer.
BLOCK = 1 << 24
#: Bytes of JSON Lines for which the compiled loop is loaded.
WORTH_A_LOOP = 1 << 19


def compression_of(path: Path) -> str | None:
    """The compression of a file by its name, or None."""
    return COMPRESSIONS.get(path.suffix.lower())


def format_of(name: str) -> Format | None:
    """The format of a file by its name, or None."""
    path = Path(name.lower())
    path = path if compression_of(path) is None else Path(path.stem)
    twofold = "".join(path.suffixes[-2:])
    return SUFFIXES.get(twofold, SUFFIXES.get(path.suffix))


def format_in(content: bytes) -> Format | None:
    """The format of a content without a name; None if it is no log."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if is_parser(content[:_HEAD].split(b"\n", 1)[0].decode(errors="replace")) or _GOVECTOR.match(content[:_HEAD]):
        return "shiviz"
    return json_format(content) if content.lstrip().startswith(b"{") else None


def json_format(content: bytes) -> Format:
    """The format of JSON by how it begins: JSON Lines, unless it is one of another tool."""
    head = content[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    return next((form for beginning, form in _BEGINNINGS if beginning.match(head)), "jsonl")


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


def refuse_other_format(content: bytes, form: Format | None, name: str) -> None:
    """Raises `BadInput` if the content is plainly of another format; None: a computation."""
    found = format_in(content)
    if found is None and form is None and _looks_like_csv(content):
        hint = f"if it is an event log: crownless classify {name} --format csv"
        raise BadInput("this looks like CSV, not like a computation", hint=hint, file=name)
    if form in CONVERTED and found == "jsonl":  # whose readers know more
        return
    if found is None and form in ("jsonl", "parquet", "arrow") and _looks_like_csv(content):
        found = "csv"
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


def read_table(
    content: bytes,
    form: Format,
    name: str,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    optional: Sequence[str] = OPTIONAL,
    kinds: Mapping[str, str] | None = None,
) -> pa.Table | None:
    """The plain rows of a log; None if lines of JSON are not all events in one form, and must be read one by one.

    `columns`: what the columns of a log are called in the file, where that is something else;
    `optional`: those that it may lack; `kinds`: what it calls kinds (`kinds`).
    """
    named = _named(columns, name)
    if form == "jsonl":
        table = _read_json(content, named, progress, kinds)
        if table is None:
            return None
        for column, given in (columns or {}).items():
            if table[column].null_count == table.num_rows:
                raise BadInput(f"no line has {given!r}", hint=f"say what is called '{column}' there", file=name)
        return plain_table(table_with_kinds(table, kinds))
    if form == "csv":
        table = _read_csv(content, name, named.values(), progress)
    else:
        table = {"parquet": _read_parquet, "arrow": _read_arrow}[form](content, name)
    return as_plain_rows(table, form, name, columns, optional, kinds)


def _named(columns: Mapping[str, str] | None, name: str) -> dict[str, str]:
    """What each column of a log is called in the file."""
    named = {column: (columns or {}).get(column, column) for column in TYPES}
    for column, given in named.items():
        other = next(known for known, theirs in named.items() if theirs == given)
        if other != column:
            hint = f"name another column for '{other}' or '{column}', or leave one out"
            raise BadInput(f"'{other}' and '{column}' are both to be the column {given!r}", hint=hint, file=name)
    return named


def as_plain_rows(
    table: pa.Table,
    form: Format,
    name: str,
    columns: Mapping[str, str] | None = None,
    optional: Sequence[str] = OPTIONAL,
    kinds: Mapping[str, str] | None = None,
) -> pa.Table:
    """Rows as they are in a file that is not JSON, as plain rows; the parameters are those of `read_table`."""
    named, has = _named(columns, name), table.schema.names
    several = [given for given, count in Counter(table.schema.names).items() if count > 1]
    if several:
        raise BadInput(f"it has two columns {several[0]!r}", hint="give each column a name of its own", file=name)
    missing = [given for given in (columns or {}).values() if given not in table.schema.names]
    if missing:
        raise BadInput(f"there is no column {missing[0]!r}", hint=f"the file has {shortened(has)}", file=name)
    table = table.select([given for given in dict.fromkeys(named.values()) if given in table.schema.names])
    table = table.rename_columns([next(k for k, v in named.items() if v == given) for given in table.schema.names])
    if form == "csv" and "index" in table.schema.names:
        table = _with_numbers(table, name)
    check_columns(table.schema, name, optional, has)
    if form == "csv":
        table = _with_several_receivers(table)
    try:
        return plain_table(table_with_kinds(table, kinds))
    except BadInput as problem:
        raise problem.at(file=name) from None


def _source(content: bytes, progress: Progress | None) -> pa.NativeFile:
    """The content to be read by Arrow; its lines are counted as they are read, if anybody wants to know."""
    import pyarrow as pa

    if progress is None or len(content) <= BLOCK:
        return pa.BufferReader(content)
    return pa.PythonFile(_CountedLines(content, progress), mode="r")


class _CountedLines(io.BytesIO):
    """A text whose reader reports how many lines it has read."""

    def __init__(self, content: bytes, progress: Progress) -> None:
        super().__init__(content)
        self._progress, self._lines, self._of = progress, 0, content.count(b"\n")

    def read(self, size: int | None = -1, /) -> bytes:
        block = super().read(size)
        self._lines += block.count(b"\n")
        self._progress("read", self._lines, self._of, "lines")
        return block


def first_line(error: Exception) -> str:
    """What an error of Arrow says first."""
    return str(error).splitlines()[0].split(". ")[0] if str(error) else type(error).__name__


# -- JSON Lines --------------------------------------------------------------------------------------------------------


def _read_json(
    content: bytes, named: Mapping[str, str], progress: Progress | None = None, kinds: Mapping[str, str] | None = None
) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.json as pj

    content = content.removeprefix(b"\xef\xbb\xbf")
    if not _is_utf_8(content):
        return None
    if len(content) > WORTH_A_LOOP:
        from .plain_lines import read_plain_lines  # which loads what is compiled

        plain = read_plain_lines(content, named, progress)
        if plain is not None:
            return plain
    end = content.find(b"\n", len(content) - len(content.lstrip()))
    fields = object_in(content[: end if end >= 0 else len(content)])
    lines = _lines_with_objects(content)
    if fields is None or lines is None:
        return None
    types = {"index": pa.int64(), **{name: pa.string() for name in ("process", "kind", "peer")}}
    for name in ("run", "message"):
        types[name] = pa.int64() if type(fields.get(named[name])) is int else pa.string()
    schema = pa.schema([(named[name], types[name]) for name in TYPES])
    try:
        table = pj.read_json(
            _source(content, progress),
            read_options=pj.ReadOptions(block_size=BLOCK),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return _read_json_of_several_types(content, named, kinds or {})
    if table.num_rows != lines:
        return None  # several objects on a line
    return table.rename_columns(list(TYPES))


def _is_utf_8(content: bytes) -> bool:
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False


def _lines_with_objects(content: bytes) -> int | None:
    """The number of lines that are not blank; None unless each begins and ends as an object, so that none is split."""
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if content.startswith(b"{") and content.endswith((b"}", b"}\n")) and content.count(b"}\n{") == lines - 1:
        return lines
    parts = [part for line in content.split(b"\n") if (part := line.strip())]
    return len(parts) if all(part.startswith(b"{") and part.endswith(b"}") for part in parts) else None


def _read_json_of_several_types(content: bytes, named: Mapping[str, str], kinds: Mapping[str, str]) -> pa.Table | None:
    """The same where a name is a number in one line and a text in another, or some messages have several receivers."""
    import msgspec
    import pyarrow as pa

    types: dict[str, Any] = {
        "run": str | int | None,
        "process": str,
        "index": int,
        "kind": str,
        "message": str | int | None,
        "peer": str | list[str] | None,
    }
    event = msgspec.defstruct(
        "Event",
        [(name, kind) if name in ("process", "index", "kind") else (name, kind, None) for name, kind in types.items()],
        rename=dict(named),
        kw_only=True,
    )
    kinds = {"index": pa.int64(), "peer": pa.list_(pa.string())}
    try:
        events: list[Any] = msgspec.json.Decoder(event).decode_lines(content)
        if any(isinstance(one.peer, list) and kinds.get(one.kind, one.kind) in DELIVERS for one in events):
            return None
        columns = {name: [getattr(one, name) for one in events] for name in TYPES}
        columns["peer"] = [[peer] if isinstance(peer, str) else peer for peer in columns["peer"]]
        for name in ("run", "message"):
            columns[name] = [str(value) if type(value) is int else value for value in columns[name]]
        return pa.table(
            [pa.array(columns[name], kinds.get(name, pa.string())) for name in TYPES],
            names=list(TYPES),
        )
    except (msgspec.MsgspecError, pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError, RecursionError):
        return None


# -- other formats -----------------------------------------------------------------------------------------------------


def _read_csv(content: bytes, name: str, texts: Iterable[str], progress: Progress | None) -> pa.Table:
    """The cells of a CSV file; those of the columns `texts` as texts, whatever they look like."""
    import pyarrow as pa
    import pyarrow.csv as pc

    path = Path(name.lower())
    separator = "\t" if ".tsv" in (path.suffix, Path(path.stem).suffix) or (name == "-" and _has_tabs(content)) else ","
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput("this is not UTF-8", hint="save the file as UTF-8 text", file=name, line=line) from None
    types = dict.fromkeys(texts, pa.string())

    def read(source: pa.NativeFile, **how: bool) -> pa.Table:
        return pc.read_csv(
            source,
            read_options=pc.ReadOptions(block_size=BLOCK, **how),
            parse_options=pc.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=pc.ConvertOptions(
                column_types=types,
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        )

    try:
        return read(_source(content, progress))
    except pa.ArrowException:
        pass  # so many threads do not say where
    try:
        return read(pa.BufferReader(content), use_threads=False)
    except pa.ArrowException as error:
        said = first_line(error)
    hint = "give a line of column names, and each event on a line with a cell for each column"
    raise BadInput(f"it cannot be read as CSV: {said}", hint=hint, file=name)


def _has_tabs(content: bytes) -> bool:
    """True if the column names are separated by tabs."""
    heading = content.split(b"\n", 1)[0]
    return b"\t" in heading and b"," not in heading


def _with_numbers(table: pa.Table, name: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    column, hint = table["index"], "number the events of a process 0, 1, 2, …"
    if column.null_count:
        number = column.to_pylist().index(None) + 1
        raise BadInput("'index' is missing", hint=hint, file=name, line=number + 1)
    usable = pc.match_substring_regex(column, r"^-?[0-9]{1,18}$")
    if not pc.all(usable, min_count=0).as_py():
        number = usable.to_pylist().index(False) + 1
        said = column[number - 1].as_py()
        said = said if len(said) <= 40 else said[:39] + "…"
        raise BadInput(f"'index' cannot be {said!r}", hint=hint, file=name, line=number + 1)
    numbers = column.cast(pa.int64())
    return table.set_column(table.schema.get_field_index("index"), "index", numbers)


def _with_several_receivers(table: pa.Table) -> pa.Table:
    """Cells with several receivers as plain rows have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "peer" not in table.schema.names:
        return table
    as_lists = pc.split_pattern(table["peer"], SEVERAL)
    if not pc.any(pc.greater(pc.list_value_length(as_lists), 1)).as_py():
        return table
    return table.set_column(table.schema.get_field_index("peer"), "peer", as_lists.cast(pa.list_(pa.string())))


def _read_parquet(content: bytes, name: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(pa.BufferReader(content))
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        encoded = _in_dictionaries(pq.read_metadata(pa.BufferReader(content)))
        texts = [name for name in texts if name in encoded]
        table = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read()
        table.validate(full=True)
        return table
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        hint = "write it again, or name its format by --format"
        raise BadInput(f"it cannot be read as Parquet: {first_line(error)}", hint=hint, file=name) from None


def _in_dictionaries(metadata: pq.FileMetaData) -> set[str]:
    """The columns that may well be of numbers into dictionaries: texts as they are take four bytes and more each."""
    size, values = Counter[str](), Counter[str]()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            size[column.path_in_schema] += column.total_uncompressed_size
            values[column.path_in_schema] += column.num_values
    return {name for name in size if size[name] < 4 * values[name]}


def _read_arrow(content: bytes, name: str) -> pa.Table:
    import pyarrow as pa

    try:
        if content.startswith(b"ARROW1"):
            table = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        else:
            table = pa.ipc.open_stream(pa.BufferReader(content)).read_all()
        table.validate(full=True)
        return table
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        hint = "write it again, or name its format by --format"
        raise BadInput(f"it cannot be read as Arrow: {first_line(error)}", hint=hint, file=name) from None


def json_lines(table: pa.Table) -> Iterator[str]:
    """Plain rows as lines of JSON."""
    for batch in table.to_batches(max_chunksize=1 << 16):
        for row in batch.to_pylist():
            yield json_line({name: row[name] for name in COLUMNS})
