"""Rows without an index: `--order-by`, a column or the line, numbers the events of each process."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crownless.runtime.errors import BadInput

from .formats import BY_LINE, LogOptions
from .layout import Numbers, on_lines
from .lines import in_words
from .named_rows import as_numbers
from .reasons import ORDERING, BadField, MissingField

#: Digits of decimals: in all, and after the point.
_DIGITS = (38, 18)


def with_places(table: pa.Table, file: str, options: LogOptions, lines: Iterator[int]) -> pa.Table:
    """Plain rows whose `index` is the value by which the options order them; instead, their places on their processes.

    `lines`: where the rows are in the file. Raises `BadInput` for a row without a usable value, and for two events of a
    process with one value; if the options have a quarantine, it gets the former, and the latter have one place.
    """
    by, quarantine, given = options.order_by, options.quarantine, table["index"]
    assert by is not None, "the rows have indices"
    if by != BY_LINE:
        values = _comparable(given.combine_chunks(), by, file)
        unusable = [row for row, bad in enumerate(values.is_null().to_pylist()) if bad] if values.null_count else []
        at = list(islice(lines, table.num_rows)) if unusable else []
        for row in unusable:
            value = given[row].as_py()
            reason = MissingField(by, ORDERING) if value is None else BadField(by, in_words(value), ORDERING)
            if quarantine is None:
                raise BadInput(reason.text, hint=reason.hint, file=file, line=at[row])
            quarantine.add(at[row], table.slice(row, 1).to_pylist()[0], reason)
        if unusable:
            lines = iter([line for line, is_usable in zip(at, values.is_valid().to_pylist(), strict=True) if is_usable])
            table, values = table.filter(values.is_valid()), values.drop_null()
    if not table.num_rows:
        return _with_index(table, np.zeros(0, np.int64))
    process = _codes(table["process"])
    process = (_codes(table["run"]) + 1) * (len(process) + 2) + process + 1
    ranks = np.arange(1, len(process) + 1) if by == BY_LINE else _ranks(values)
    before, places = on_lines(process, ranks)
    if quarantine is None and (ranks == before).any():
        second = int(np.argmax(ranks == before))
        first = int(np.argmax((process == process[second]) & (ranks == ranks[second])))
        at = list(islice(lines, table.num_rows))
        problem = f"{table['process'][second]} has two events with '{by}' {table['index'][second]}"
        hint = "order by a column that distinguishes them, or by line if each process logs in order"
        one, other = table.take([first, second]).to_pylist()
        hint += "; classify --skip-bad leaves out copies" * (one == other)
        raise BadInput(f"{problem}: lines {at[first]:,} and {at[second]:,}", hint=hint, file=file, line=at[second])
    return _with_index(table, places)


def by_line(table: pa.Table, events: Counter[Any]) -> pa.Table:
    """Plain rows of one run with their places by line; `events` counts those of each process in tables so far."""
    places = np.empty(table.num_rows, np.int64)
    for row, process in enumerate(table["process"].to_pylist()):
        places[row] = events[process]
        events[process] += 1
    return _with_index(table, places)


def _with_index(table: pa.Table, places: Numbers) -> pa.Table:
    return table.set_column(table.schema.get_field_index("index"), "index", pa.array(places))


def _codes(names: pa.ChunkedArray) -> Numbers:
    """The names as numbers."""
    codes: Numbers = as_numbers(names.combine_chunks().dictionary_encode().indices, -1).astype(np.int64)
    return codes


def _ranks(values: pa.Array) -> Numbers:
    ranks: Numbers = np.from_dlpack(pc.rank(values, tiebreaker="dense")).astype(np.int64)
    return ranks


def _comparable(given: pa.Array, by: str, file: str) -> pa.Array:
    """The values of a column as numbers or times; null where one is unusable, or of another type than the first."""
    kind = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_finite(given), given, None)
    if any(is_kind(kind) for is_kind in (pa.types.is_integer, pa.types.is_decimal, pa.types.is_timestamp)):
        return given
    if not pa.types.is_string(kind) and not pa.types.is_large_string(kind) and not pa.types.is_null(kind):
        raise BadInput(f"the column '{by}' is of type {kind}", hint=f"give it as {ORDERING}", file=file)
    # ISO 8601 allows a comma, too, before the fraction of a second.
    texts = pc.replace_substring_regex(given.cast(pa.string()), r"(:\d\d),(\d)", r"\1.\2")
    kinds = [pa.int64(), pa.decimal128(*_DIGITS), pa.timestamp("ns"), pa.timestamp("ns", "UTC")]
    for kind in kinds:
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    first = texts.drop_null()[0]
    kind = next((kind for kind in kinds[1:] if _value(first, kind) is not None), kinds[0])
    return pa.array([_value(text, kind) for text in texts], kind)


def _value(text: pa.Scalar, kind: pa.DataType) -> Any:
    """The value of a text of that type; None if it is of another type."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None
