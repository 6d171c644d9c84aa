"""Logs as tables of plain rows: JSON Lines, CSV, Parquet and Arrow, in one piece or block by block.

In CSV several receivers are separated by semicolons, and an empty cell counts as missing.
"""

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from crownless.runtime.ending import look
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.reading import as_text

from . import formats
from .columns import check_columns, our_columns, plain_table, rows_of_table
from .formats import BY_LINE, FORMATS, Format, LogOptions, Progress
from .lines import in_words, our_fields
from .reasons import CUT_OFF, KINDS, MAX_NAMED, BadField, OtherCells, by_another
from .rows import Row

#: Separates receivers in a CSV cell.
SEVERAL = ";"
#: Bytes of text, and rows of a table, that are read at a time.
BYTES, ROWS = 1 << 26, 1 << 19
#: Bytes of CSV that have the line of column names.
HEAD = 1 << 14
#: Bytes of CSV that Arrow reads at a time, the longest possible line.
CSV_BLOCK = 1 << 24


def rows_of_content(content: bytes, form: Format, name: str, options: LogOptions) -> Iterator[Row]:
    """The events of a log that is read as a table, each with its line in the file; raises `BadInput`."""
    table = read_table(content, form, name, options)
    return rows_of_table(table, name, _lines_of_rows(content, form, options), options)


def read_table(content: bytes, form: Format, name: str, options: LogOptions) -> pa.Table:
    """The plain rows of a log."""
    if form == "jsonl":
        from .json_lines import read_json_lines  # which loads what is compiled

        formats.refuse_unknown_columns(content, name, options)
        table = read_json_lines(content, name, options)
    else:
        if form == "csv" and options.quarantine is None:
            as_text(content, name)  # to report where a byte is not UTF-8
        table = pa.concat_tables(table for _, table in _tables(pa.BufferReader(content), form, name, options))
    if options.order_by is None:
        return table
    from .order_by import with_places

    return with_places(table, name, options, _lines_of_rows(content, form, options))


def _lines_of_rows(content: bytes, form: Format, options: LogOptions) -> Iterator[int]:
    """The lines of the rows that are not in quarantine so far, or their numbers where a format has no lines."""
    left_out = set() if options.quarantine is None else {line for line, _ in options.quarantine.rows}
    numbers: Iterable[int] = count(2 if form == "csv" else 1)
    if form == "jsonl":
        numbers = (number for number, line in enumerate(content.split(b"\n"), 1) if line.strip())
    yield from (number for number in numbers if number not in left_out)


# -- tables ------------------------------------------------------------------------------------------------------------


def _tables(file: Any, form: Format, name: str, options: LogOptions) -> Iterator[tuple[int, pa.Table]]:
    """The plain rows in CSV, Parquet or Arrow, batch by batch, each with the number of its first line or row."""
    row = 1
    try:
        schema, batches = {"csv": _csv, "parquet": _parquet, "arrow": _arrow}[form](file, name, options)
        none = pa.RecordBatch.from_pylist([], schema=schema)  # so that its columns are checked
        for batch in chain([next(batches, none)], batches):
            look()
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            plain = _as_plain_rows(table, form, name, options, row)
            yield row + (form == "csv"), plain
            row += plain.num_rows
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        hint = "write it again, or name its format with --format"
        if form == "csv":
            hint = f"give a line of column names, then one line per event with a cell for each column; {CUT_OFF}"
        problem = f"it cannot be read as {FORMATS[form].called}: {formats.first_line(error)}"
        raise BadInput(problem, hint=hint, file=name) from None


def _as_plain_rows(table: pa.Table, form: Format, name: str, options: LogOptions, first: int) -> pa.Table:
    """The rows of a table as plain rows; its first row has this number."""
    has = table.schema.names
    several = [given for given, count in Counter(has).items() if count > 1]
    if several:
        raise BadInput(f"it has two columns {several[0]!r}", hint="give each column its own name", file=name)
    given = [options.order_by] if options.order_by not in (None, BY_LINE) else []
    given += [part for column in options.columns for part in options.parts.get(column, ())]
    for theirs in given:
        if theirs not in has:
            hint = unknown_name("column", theirs, has[:MAX_NAMED]).hint
            raise BadInput(f"there is no column {theirs!r}", hint=hint, file=name)
    ordered = options.order_by is not None
    try:
        table = our_columns(table, options)
        if form == "csv" and "index" in table.schema.names and not ordered:
            table = _with_numbers(table, name, first, options)
        check_columns(table.schema, name, has, options)
        if form == "csv" and options.names_receivers:
            table = _with_several_receivers(table)
        return plain_table(table, options.kinds, ordered=ordered)
    except BadInput as problem:
        raise problem.at(file=name) from None


Batches = tuple["pa.Schema", Iterator["pa.RecordBatch"]]


def _csv(file: Any, name: str, options: LogOptions) -> Batches:
    """Reads the cells of the log's columns as text, whatever they look like."""
    if isinstance(file, pa.BufferReader):
        head = file.read(HEAD)
        file.seek(0)
    else:
        file = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)
        head = file.peek(HEAD)
    separator = _separator_in(head, options)
    reader = pa_csv.open_csv(
        file,
        pa_csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK),
        pa_csv.ParseOptions(
            delimiter=separator, newlines_in_values=True, invalid_row_handler=_skipping(head, separator, options)
        ),
        pa_csv.ConvertOptions(
            column_types=dict.fromkeys(options.theirs, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
            quoted_strings_can_be_null=True,
        ),
    )
    return reader.schema, iter(reader)


def _skipping(head: bytes, separator: str, options: LogOptions) -> Callable[[pa_csv.InvalidRow], str] | None:
    """Leaves out lines with too few or too many cells, if the options do.

    The run and the process of such a line count only if it looks cut off behind them. If cells are missing before its
    kind, that would be another text.
    """
    quarantine = options.quarantine
    if quarantine is None:
        return None
    names = _cells(head, separator)
    naming = {part for name in ("run", "process") for part in options.parts[name]} & {*names}

    def skip(row: pa_csv.InvalidRow) -> str:
        cells = next(csv.reader([row.text], delimiter=separator), [])
        fields = our_fields(dict(zip(names, cells, strict=False)), options.parts, options.kinds)
        begins_kind = any(kind.startswith(fields["kind"] or "") for kind in (*KINDS, *options.kinds))
        is_cut_off = row.actual_columns < row.expected_columns and naming <= {*names[: len(cells) - 1]} and begins_kind
        quarantine.add(row.number, fields if is_cut_off else {}, OtherCells(row.actual_columns, row.expected_columns))
        return "skip"

    return skip


def _separator_in(head: bytes, options: LogOptions) -> str:
    """What separates the cells of the first line: it gives the most names of columns, or else the most cells."""

    def cells(separator: str) -> tuple[int, int]:
        names = _cells(head, separator)
        return len({*options.theirs} & {*names}), len(names)

    return max(",\t;|", key=cells)


def _cells(head: bytes, separator: str) -> list[str]:
    """The cells of the first line."""
    heading = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    return [cell.strip(' "') for cell in next(csv.reader(heading, delimiter=separator), [])]


def _with_numbers(table: pa.Table, name: str, first: int, options: LogOptions) -> pa.Table:
    """The column `index` as numbers; the first row has this number, and is on the line after it.

    With a quarantine, it gets the rows with other values; otherwise they raise `BadInput`.
    """
    column, hint = table["index"], by_another(options.named["index"])
    usable = pc.fill_null(pc.match_substring_regex(column, r"^-?[0-9]{1,18}$"), False)
    if options.quarantine is not None:
        usable = pc.or_(usable, pc.is_null(column))  # rows without a value are refused when they are read
        lines = islice(_lines_of_rows(b"", "csv", options), first - 1, first - 1 + table.num_rows)
        unusable = pc.invert(usable)
        at = pc.filter(pa.array(lines, pa.int64()), unusable.combine_chunks())
        for line, row in zip(at.to_pylist(), table.filter(unusable).to_pylist(), strict=True):
            options.quarantine.add(line, row, BadField("index", in_words(row["index"]), hint))
        table = table.filter(usable)
        column = table["index"]
    elif not pc.all(usable, min_count=0).as_py():
        number = usable.to_pylist().index(False)
        given = column[number].as_py()
        problem = "'index' is missing" if given is None else f"'index' cannot be {given[:40]!r}"
        raise BadInput(problem, hint=hint, file=name, line=first + number + 1)
    return table.set_column(table.schema.get_field_index("index"), "index", column.cast(pa.int64()))


def _with_several_receivers(table: pa.Table) -> pa.Table:
    """Cells with several receivers as plain rows have them."""
    as_lists = pc.split_pattern(table["peer"], SEVERAL)
    if not pc.any(pc.greater(pc.list_value_length(as_lists), 1)).as_py():
        return table
    return table.set_column(table.schema.get_field_index("peer"), "peer", as_lists.cast(pa.list_(pa.string())))


def _parquet(file: Any, name: str, options: LogOptions) -> Batches:
    """Keeps texts dictionary-encoded where the file has them so."""
    reader = pq.ParquetFile(file)
    encoded = _in_dictionaries(reader.metadata)
    texts = [field.name for field in reader.schema_arrow if pa.types.is_string(field.type) and field.name in encoded]
    reader = pq.ParquetFile(file, read_dictionary=texts, metadata=reader.metadata)
    return reader.schema_arrow, reader.iter_batches(ROWS)


def _in_dictionaries(metadata: pq.FileMetaData) -> set[str]:
    """The columns that are probably dictionary-encoded: plain texts take at least four bytes each."""
    size, values = Counter[str](), Counter[str]()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            size[column.path_in_schema] += column.total_uncompressed_size
            values[column.path_in_schema] += column.num_values
    return {name for name in size if size[name] < 4 * values[name]}


def _arrow(file: Any, name: str, options: LogOptions) -> Batches:
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    if not is_file:
        stream = pa.ipc.open_stream(file)
        return stream.schema, iter(stream)
    reader = pa.ipc.open_file(file)
    return reader.schema, map(reader.get_batch, range(reader.num_record_batches))


# -- block by block ----------------------------------------------------------------------------------------------------


def blocks(
    name: str, options: LogOptions, progress: Progress | None = None, size: int = BYTES
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a log (`-`: standard input), block by block, each with the number of its first line or row.

    The log may be larger than memory. Raises `BadInput` for a file that cannot be read, or is not a log.
    """
    path = formats.path_of(name)
    form = options.form or formats.format_of(path)
    compression = formats.compression_of(path)
    if form not in ("jsonl", "csv", None) and (form not in ("parquet", "arrow") or path is None or compression):
        files = form in ("parquet", "arrow")
        hint = "leave --one-run out" + ", or give it as an uncompressed file" * files
        raise BadInput(f"{form} cannot be read in blocks here", hint=hint, file=name)
    try:
        opened = sys.stdin.buffer if path is None else path.open("rb")
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", hint="name a text file or a log", file=name) from error
    with opened:
        file: Any = opened if compression is None else pa.CompressedInputStream(opened, compression)
        head = b"" if form else _read(file, size, name)
        form = form or formats.format_in(head) or (None if head.strip() else "jsonl")
        if form == "jsonl":
            found = _of_lines(head, file, name, options, progress, size)
        elif form in ("csv", "parquet", "arrow") and not head:
            found = (block for block in _tables(file, form, name, options) if block[1].num_rows)
        else:
            problem = f"{form} cannot be read in blocks here" if form else "this is not an event log"
            raise BadInput(problem, hint="give it as a file; if it is CSV: --format csv", file=name)
        if options.order_by is None:
            yield from found
            return
        from .order_by import by_line

        events = Counter[Any]()
        for first, table in found:
            yield first, by_line(table, events)


def _read(file: Any, size: int, name: str) -> bytes:
    try:
        return bytes(file.read(size))
    except (OSError, pa.ArrowException) as error:
        hint = "compress it again, or name the file without that suffix"
        raise BadInput(f"it cannot be read: {error}", hint=hint, file=name) from None


def _of_lines(
    head: bytes, file: Any, name: str, options: LogOptions, progress: Progress | None, size: int
) -> Iterator[tuple[int, pa.Table]]:
    """Blocks of JSON Lines: whole lines."""
    from .json_lines import read_json_lines  # which loads what is compiled

    rest, line, done, is_last = head, 1, len(head), False
    while not is_last:
        block = _read(file, size, name)
        done, is_last = done + len(block), not block
        if progress is not None:
            progress("read", done, None, "bytes")
        text = rest + block
        past = len(text) if is_last else text.rfind(b"\n") + 1
        lines, rest = text[:past], text[past:]
        if lines.strip():
            if line == 1:
                formats.refuse_unknown_columns(lines, name, options)
            yield line, read_json_lines(lines, name, options, first=line)
        line += lines.count(b"\n")
