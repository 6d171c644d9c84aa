"""Files of event logs read block by block, each as plain rows, so that a log may be larger than memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import IO, TYPE_CHECKING, Any

from crownless.model_check.event_logs import rows_by_run
from crownless.model_check.named_files import path_of
from crownless.spec.errors import BadInput
from crownless.spec.reading import as_text

from .files import (
    CONVERTED,
    Format,
    Progress,
    as_plain_rows,
    compression_of,
    first_line,
    format_in,
    format_of,
    read_table,
)
from .kinds import lines_with_kinds

if TYPE_CHECKING:
    import pyarrow as pa

#: The line of column names of CSV: a quoted one may hold line breaks.
_HEADING = re.compile(rb'(?:(?<![^,\t\xbf])"(?:[^"]|"")*+"|[^\n])*+\n?')
#: Bytes of text, and rows of a table, that are read at a time.
BYTES, ROWS = 1 << 26, 1 << 19


def blocks(
    name: str,
    form: Format | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    size: int | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a log (`-`: standard input), block by block, each with the number of its first line or row.

    Raises `BadInput` for a file that cannot be read, or is no log.
    """
    path = path_of(name)
    form = form or (None if path is None else format_of(path.name))
    if form in CONVERTED:
        raise BadInput(f"{form} is not read block by block", hint="leave --one-run out", file=name)
    compression = None if path is None else compression_of(path)
    if form in ("parquet", "arrow"):
        if path is None or compression is not None:
            hint = "give it as a file, not compressed as a whole"
            raise BadInput(f"{form} is not read block by block here", hint=hint, file=name)
        yield from _of_tables(str(path), form, name, columns, kinds)
        return
    with _opened(name, compression) as file:
        yield from _of_text(file, form, name, columns, progress, size or BYTES, kinds)


def _opened(name: str, compression: str | None) -> AbstractContextManager[IO[bytes]]:
    import pyarrow as pa

    path = path_of(name)
    try:
        if path is None:
            return nullcontext(sys.stdin.buffer)
        opened = path.open("rb")
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", hint="name a text file or a log", file=name) from error
    return opened if compression is None else pa.CompressedInputStream(opened, compression)


def _of_tables(
    path: str, form: Format, name: str, columns: Mapping[str, str] | None, kinds: Mapping[str, str] | None
) -> Iterator[tuple[int, pa.Table]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = 1
    try:
        for batch in pq.ParquetFile(path).iter_batches(ROWS) if form == "parquet" else _batches(path):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            yield row, as_plain_rows(table, form, name, columns, kinds=kinds)
            row += table.num_rows
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        hint = "write it again, or name its format by --format"
        raise BadInput(f"it cannot be read as {form.title()}: {first_line(error)}", hint=hint, file=name) from None


def _batches(path: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with pa.memory_map(path) as file:
        if file.read(6) == b"ARROW1":
            reader = pa.ipc.open_file(file)
            yield from (reader.get_batch(k) for k in range(reader.num_record_batches))
        else:
            file.seek(0)
            yield from pa.ipc.open_stream(file)


def _of_text(
    file: IO[bytes],
    form: Format | None,
    name: str,
    columns: Mapping[str, str] | None,
    progress: Progress | None,
    size: int,
    kinds: Mapping[str, str] | None,
) -> Iterator[tuple[int, pa.Table]]:
    """Of JSON Lines or CSV: whole lines, in CSV behind the line of column names."""
    import pyarrow as pa

    rest, heading, line, done = b"", b"", 1, 0
    while True:
        try:
            block = file.read(size)
        except (OSError, pa.ArrowException) as error:
            hint = "compress it again, or name the file without that suffix"
            raise BadInput(f"it cannot be read: {error}", hint=hint, file=name) from None
        done += len(block)
        if progress is not None:
            progress("read", done, None, "bytes")
        text = rest + block
        form = form or format_in(text) or (None if text.strip() else "jsonl")
        if form is None:
            raise BadInput("this is no event log", hint="if it is CSV: --format csv", file=name)
        if form not in ("jsonl", "csv"):
            raise BadInput(f"{form} is not read block by block here", hint="give it as a file", file=name)
        past = _end_of_lines(text, form) if block else len(text)
        if block and not past:
            if len(text) > 16 * size:
                raise BadInput("a line is too long", hint="give one event a line", file=name, line=line)
            rest = text
            continue
        lines, rest = text[:past], text[past:]
        if form == "csv" and not heading:
            found = _HEADING.match(lines)
            assert found is not None, "the empty text matches"
            heading = found[0]
        elif form == "csv":
            lines = heading + lines
        if lines and not lines.isspace() and len(lines) > len(heading):
            yield line, _rows(lines, form, name, columns, line, kinds)
        line += lines.count(b"\n") - (form == "csv" and line > 1)
        if not block:
            return


def _end_of_lines(text: bytes, form: Format) -> int:
    """Where the last whole line ends: in CSV not within quotes."""
    past = text.rfind(b"\n") + 1
    while form == "csv" and past and text.count(b'"', 0, past) % 2:
        past = text.rfind(b"\n", 0, past - 1) + 1
    return past


def _rows(
    lines: bytes,
    form: Format,
    name: str,
    columns: Mapping[str, str] | None,
    line: int,
    kinds: Mapping[str, str] | None,
) -> pa.Table:
    table = read_table(lines, form, name, columns, kinds=kinds)
    if table is not None:
        return table
    # Lines in several forms: each is read as any log's, by which it is refused if it is no event.
    import pyarrow as pa

    events = lines_with_kinds(as_text(lines, name).split("\n"), kinds)
    by_run = rows_by_run(events, name, first=line)
    rows: list[dict[str, Any]] = [
        {**row.json(), "run": run, "index": row.index} for run, of_run in by_run.items() for row in of_run
    ]
    kinds = {"index": pa.int64(), "peer": pa.list_(pa.string())}
    named = ("run", "process", "index", "kind", "message", "peer")
    values = {key: [row.get(key) for row in rows] for key in named}
    values["peer"] = [[peer] if isinstance(peer, str) else peer for peer in values["peer"]]
    table = pa.table({key: pa.array(column, kinds.get(key, pa.string())) for key, column in values.items()})
    return as_plain_rows(table, "arrow", name)
