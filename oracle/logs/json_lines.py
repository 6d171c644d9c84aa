"""JSON Lines as plain rows: by a compiled loop for lines in the simplest form, otherwise line by line.

A line has this form if it is one object whose keys and texts have no escapes, and whose values are texts, whole numbers
or null (in ignored columns also decimals). The loop is several times as fast as any JSON reader.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crownless.model_check.native.compiled import called_by_kernels, compiled
from crownless.runtime.ending import look

from .columns import our_columns, plain_table, table_of_rows
from .formats import LogOptions
from .layout import NONE
from .lines import rows_of_lines, text_of_lines
from .rows import COLUMNS

#: Bytes that the loop reads at a time.
BLOCK = 1 << 22
#: Bytes of JSON Lines for which the loop is loaded.
WORTH_A_LOOP = 1 << 19
#: The column of whole numbers; and the text columns in which whole numbers count as texts.
INDEX, RUN, MESSAGE = (COLUMNS.index(name) for name in ("index", "run", "message"))
#: The first of the other columns, of texts and numbers.
OTHERS = len(COLUMNS)
#: No key, since it does not show.
NOT_A_KEY = "\0"
#: More digits may not fit into a number.
DIGITS = 18

SPACE, TAB, RETURN, NEWLINE, QUOTE, ESCAPE = b' \t\r\n"\\'
OPENS, CLOSES, COLON, COMMA, MINUS, POINT, ZERO, NINE = b"{}:,-.09"
N, U, L = b"nul"


def read_json_lines(content: bytes, name: str, options: LogOptions, first: int = 1) -> pa.Table:
    """The plain rows of a log, whose first line has this number; raises `BadInput` for a line that is not an event.

    If the options order the events, `index` is the value by which they do.
    """
    content = content if content.isascii() else text_of_lines(content, name, options).encode()
    loop = PlainLines(options, min(BLOCK, len(content) + 1)) if len(content) > WORTH_A_LOOP else None
    tables: list[pa.Table] = []
    for begin, past in _blocks_of_lines(content, BLOCK if loop else len(content)):
        look()
        batch = loop.read(memoryview(content)[begin:past]) if loop else None
        if batch is not None:
            tables.append(_plain(batch, options))
            continue
        line = first + content.count(b"\n", 0, begin)
        text = content[begin:past].decode().split("\n")
        values: list[str | None] | None = [] if options.order_by is not None else None
        tables.append(table_of_rows([*rows_of_lines(text, name, options, line, values)], values))
    return pa.concat_tables(tables) if tables else table_of_rows([], None if options.order_by is None else [])


def _blocks_of_lines(content: bytes, size: int) -> Iterator[tuple[int, int]]:
    """The bounds of blocks of whole lines, each of at most `size` bytes unless a line is longer."""
    begin = 0
    while begin < len(content):
        past = content.rfind(b"\n", begin, begin + size) + 1 if len(content) - begin > size else len(content)
        past = past or content.find(b"\n", begin) + 1 or len(content)
        yield begin, past
        begin = past


def read_plain_lines(content: bytes) -> pa.Table | None:
    """The rows in lines of a log; None if they are not UTF-8, or one is not in the simplest form."""

    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    options = LogOptions()
    batch = PlainLines(options, len(content) + 1).read(content)
    return None if batch is None else _plain(batch, options)


def _plain(batch: pa.RecordBatch, options: LogOptions) -> pa.Table:
    ours = our_columns(pa.Table.from_batches([batch]), options)
    return plain_table(ours, options.kinds, ordered=options.order_by is not None)


class PlainLines:
    """The compiled loop, with room for blocks of up to `size` bytes.

    It reads the columns of a log, under the names of the file; as texts those that order events, or make up others.
    """

    def __init__(self, options: LogOptions, size: int) -> None:
        plain = {name: theirs[0] for name, theirs in options.parts.items() if len(theirs) == 1}
        if options.order_by is not None:
            plain.pop("index", None)
        others = [theirs for theirs in options.theirs if theirs not in plain.values()]
        #: The columns that make up names; decimals are no parts of a name.
        self.parts = {part for parts in options.parts.values() if len(parts) > 1 for part in parts}
        self.columns = [*(plain.get(name, NOT_A_KEY) for name in COLUMNS), *others]
        keys = [name.encode() for name in self.columns]
        self.first_key = np.cumsum([0, *map(len, keys)])
        self.keys = np.frombuffer(b"".join(keys), np.uint8)
        self.size = size
        self.index = np.empty(size // 2 + 1, np.int64)
        self.offsets = np.zeros((len(keys), size // 2 + 2), np.int32)
        self.letters = np.empty((len(keys), size), np.uint8)
        self.has_value = np.empty((len(keys), size // 2 + 1), np.bool_)

    def read(self, lines: bytes | memoryview) -> pa.RecordBatch | None:
        """The rows in these lines; None if one is not in the simplest form, or there is not enough room."""
        content = np.frombuffer(lines, np.uint8)
        if not len(content) or content[-1] != NEWLINE:
            content = np.append(content, np.uint8(NEWLINE))
        if len(content) > self.size:
            return None
        room = (self.index, self.offsets, self.letters, self.has_value)
        content.flags.writeable = False
        rows = _read(content, self.keys, self.first_key, *room)
        if rows == NONE:
            return None
        columns = []
        for column, has_value in enumerate(self.has_value[:, :rows]):
            mask = [None if has_value.all() else pa.py_buffer(np.packbits(has_value, bitorder="little"))]
            of = self.offsets[column, : rows + 1]
            parts: list[Any] = [self.index[:rows]] if column == INDEX else [of, self.letters[column, : of[-1]]]
            kind = pa.int64() if column == INDEX else pa.string()
            columns.append(pa.Array.from_buffers(kind, rows, mask + [pa.py_buffer(part.tobytes()) for part in parts]))
        named = [(name, column) for name, column in zip(self.columns, columns, strict=True) if name != NOT_A_KEY]
        batch = pa.record_batch([column for _, column in named], [name for name, _ in named])
        decimals = (pc.match_substring_regex(batch[part], r"^-?[0-9]+\.[0-9]+$") for part in self.parts)
        return None if any(pc.any(column).as_py() for column in decimals) else batch


@compiled
def _read(lines: Any, keys: Any, first_key: Any, index: Any, offsets: Any, letters: Any, has_value: Any) -> Any:
    """Reads whole lines into the columns; returns the number of rows, or NONE."""
    columns = len(first_key) - 1
    at, row, column = 0, 0, NONE
    while at < len(lines):
        at = _past_space(lines, at)
        if lines[at] == NEWLINE:
            at += 1
            continue
        if lines[at] != OPENS:
            return NONE
        for c in range(columns):
            has_value[c, row], offsets[c, row + 1] = False, offsets[c, row]
        seen, at = 0, _past_space(lines, at + 1)
        more = lines[at] != CLOSES
        while more:
            if lines[at] != QUOTE:
                return NONE
            past = _past_text(lines, at + 1)
            if past == NONE:
                return NONE
            column = _column(lines, at + 1, past, keys, first_key, column)
            if column != NONE:
                if seen & 1 << column:
                    return NONE
                seen |= 1 << column
            at = _past_space(lines, past + 1)
            if lines[at] != COLON:
                return NONE
            begin = _past_space(lines, at + 1)
            at = past = _past_value(lines, begin, column)
            if at == NONE:
                return NONE
            if lines[begin] == QUOTE:
                begin, past = begin + 1, past - 1
            if column == INDEX:
                has_value[column, row] = lines[begin] != N
                index[row] = _number(lines, begin, past)
            elif column != NONE and (lines[begin] != N or lines[begin - 1] == QUOTE):
                has_value[column, row] = True
                to = offsets[column, row] - begin
                for k in range(begin, past):
                    letters[column, to + k] = lines[k]
                offsets[column, row + 1] = to + past
            at = _past_space(lines, at)
            more = lines[at] == COMMA
            if more:
                at = _past_space(lines, at + 1)
        if lines[at] != CLOSES:
            return NONE
        at = _past_space(lines, at + 1)
        if lines[at] != NEWLINE:
            return NONE
        at += 1
        row += 1
    return row


@called_by_kernels
def _past_space(lines: Any, at: Any) -> Any:
    while lines[at] == SPACE or lines[at] == TAB or lines[at] == RETURN:
        at += 1
    return at


@called_by_kernels
def _past_text(lines: Any, at: Any) -> Any:
    """The closing quote of the text that begins here; NONE if missing, or if a character is not plain."""
    while lines[at] != QUOTE:
        if lines[at] < SPACE or lines[at] == ESCAPE:
            return NONE
        at += 1
    return at


@called_by_kernels
def _column(lines: Any, begin: Any, past: Any, keys: Any, first_key: Any, before: Any) -> Any:
    """The column of that name, or NONE; the one after the column `before` is tried first."""
    columns = len(first_key) - 1
    for k in range(1, columns + 1):
        column = before + k if before + k < columns else before + k - columns
        if first_key[column + 1] - first_key[column] == past - begin:
            at = begin
            while at < past and lines[at] == keys[first_key[column] + at - begin]:
                at += 1
            if at == past:
                return column
    return NONE


@called_by_kernels
def _past_value(lines: Any, at: Any, column: Any) -> Any:
    """The end of the value that begins here; NONE if it is not plain, or not of the column's type."""
    if lines[at] == N:
        return at + 4 if lines[at + 1] == U and lines[at + 2] == L and lines[at + 3] == L else NONE
    if lines[at] == QUOTE:
        past = _past_text(lines, at + 1)
        return NONE if past == NONE or column == INDEX else past + 1
    if column != INDEX and column != RUN and column != MESSAGE and column != NONE and column < OTHERS:
        return NONE
    if lines[at] == MINUS:
        at += 1
        if lines[at] == ZERO and column != NONE:
            return NONE  # as text it would differ
    past = _past_digits(lines, at)
    if past == at or (past - at > DIGITS and column < OTHERS) or (lines[at] == ZERO and past - at > 1):
        return NONE
    if (column == NONE or column >= OTHERS) and lines[past] == POINT:
        at = past + 1
        past = _past_digits(lines, at)
        return NONE if past == at else past
    return past


@called_by_kernels
def _past_digits(lines: Any, at: Any) -> Any:
    while lines[at] >= ZERO and lines[at] <= NINE:
        at += 1
    return at


@called_by_kernels
def _number(lines: Any, at: Any, past: Any) -> Any:
    """The whole number at that place; 0 for null."""
    number, is_negative = np.int64(0), lines[at] == MINUS
    for k in range(at + is_negative, past):
        number = 10 * number + np.int64(lines[k]) - ZERO
    return 0 if lines[at] == N else -number if is_negative else number
