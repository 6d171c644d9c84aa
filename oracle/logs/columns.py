"""The rows of an event log as text columns, independent of the file format.

A log's columns are `COLUMNS`; others are ignored. In *plain* rows, which all other code uses, all columns but the index
are strings; several receivers are one string, separated by a character that no name may contain; and a row that could
not be read as columns keeps its `text` (Spark only).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crownless.runtime.ending import look, looked_at
from crownless.runtime.errors import BadInput

from .formats import LogOptions
from .lines import JOINED_BY, PARTS, row_of
from .reasons import LargeIndex, by_another, missing_columns, reason_of
from .rows import COLUMNS, Row

PLAIN_COLUMNS = (*COLUMNS, "text")
#: Separates the receivers of a message to several in `peer`; no name contains it, since it is not printable.
PEER_SEPARATOR = "\x1f"
#: The number of rows that become a part of a table, between two looks at whether to end.
ROWS_AT_A_TIME = 1 << 16
#: Replaces the separator within a name, which is then invalid.
_NOT_IN_NAMES = "\x1e"
#: The allowed types of columns.
_TYPES = {
    "run": ("strings", "whole numbers"),
    "process": ("strings",),
    "index": ("whole numbers",),
    "kind": ("strings",),
    "message": ("strings", "whole numbers"),
    "peer": ("strings", "lists of strings"),
}


def check_columns(schema: pa.Schema, file: str, has: Sequence[str] = (), options: LogOptions | None = None) -> None:
    """Raises `BadInput` if the columns of a file are not those of a log; `has` names them, if not the schema."""
    theirs = dict(zip(COLUMNS, COLUMNS, strict=True)) if options is None else options.named
    needed = [name for name in theirs if name != "index" or options is None or options.order_by is None]
    optional = ("run",) if options is None or not options.unnamed else ("run", "message")
    missing = [name for name in needed if name not in schema.names and name not in optional]
    if missing:
        names, hint = missing_columns(missing, has or schema.names, theirs.values())
        raise BadInput(f"{names} missing", hint=hint, file=file)
    for name in needed:
        kind, types = schema.field(name).type if name in schema.names else pa.null(), _TYPES[name]
        if _in_words(kind) not in (*types, *["nothing"] * (name in optional)):
            hint = by_another(theirs[name]) if name == "index" else f"give it as {' or '.join(types)}"
            raise BadInput(f"the column '{name}' is of type {kind}", hint=hint, file=file)


def _in_words(kind: pa.DataType) -> str:
    is_text = (pa.types.is_string, pa.types.is_large_string)
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if any(has_type(kind) for has_type in is_text):
        return "strings"
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        return "lists of strings"
    return "whole numbers" if pa.types.is_integer(kind) else "nothing" if pa.types.is_null(kind) else str(kind)


def plain_table(table: pa.Table, kinds: Mapping[str, str] | None = None, *, ordered: bool = False) -> pa.Table:
    """A table with the columns of a log as plain rows; names may stay dictionary-encoded.

    `kinds`: the log's own names for kinds of events; `ordered`: `index` is to be replaced (`order_by`), and kept as is.
    """
    columns = {name: table[name] for name in COLUMNS if name in table.schema.names}
    if "peer" in columns:
        columns["peer"] = _plain_peers(columns["peer"].combine_chunks())
    for name, column in columns.items():
        if name == "index" and ordered:
            continue
        if name == "index":
            try:
                columns[name] = column.cast(pa.int64())
            except pa.ArrowInvalid:
                raise BadInput(LargeIndex().text, hint=LargeIndex().hint) from None
        elif not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
            columns[name] = column.cast(pa.string())
    if kinds:
        given = columns["kind"].cast(pa.string()).combine_chunks()
        found = pc.index_in(given, value_set=pa.array(kinds, pa.string()))
        columns["kind"] = pc.coalesce(pa.array(kinds.values(), pa.string()).take(found), given)
    if "run" not in columns:
        columns["run"] = pa.repeat("", table.num_rows)
    elif columns["run"].null_count:
        columns["run"] = columns["run"].cast(pa.string()).fill_null("")
    nothing = pa.nulls(table.num_rows, pa.string())
    return pa.table({name: columns.get(name, nothing) for name in PLAIN_COLUMNS})


def _plain_peers(peers: pa.Array) -> pa.Array:
    """The receivers of each row as one string."""
    if pa.types.is_list(peers.type):
        names = pc.replace_substring(peers.values, PEER_SEPARATOR, _NOT_IN_NAMES).fill_null("")
        return pc.binary_join(pa.ListArray.from_arrays(peers.offsets, names, mask=peers.is_null()), PEER_SEPARATOR)
    names = peers.dictionary if pa.types.is_dictionary(peers.type) else peers
    if not pc.any(pc.match_substring(names.cast(pa.string()), PEER_SEPARATOR)).as_py():
        return peers
    return pc.replace_substring(peers.cast(pa.string()), PEER_SEPARATOR, _NOT_IN_NAMES)


def our_columns(table: pa.Table, options: LogOptions) -> pa.Table:
    """The columns of a log, by our names, in a table with the names of the file; raises `BadInput`."""
    has, found = table.schema.names, {}
    for name, parts in options.parts.items():
        if len(parts) > 1 and all(part in has for part in parts):
            for part in parts:
                if _in_words(table[part].type) not in ("strings", "whole numbers", "nothing"):
                    raise BadInput(f"the column '{part}' is of type {table[part].type}", hint=f"give {PARTS}")
            texts = [table[part].cast(pa.string()) for part in parts]
            found[name] = pc.binary_join_element_wise(*texts, JOINED_BY)
        elif len(parts) == 1 and parts[0] in has:
            found[name] = table[parts[0]]
    return pa.table(found) if found else table.select([])


def table_of_rows(rows: Sequence[Row], values: Sequence[str | None] | None = None) -> pa.Table:
    """Rows as plain rows of a table; `values`: instead of their indices."""
    starts = range(0, max(len(rows), 1), ROWS_AT_A_TIME)
    of_rows = (rows[start : start + ROWS_AT_A_TIME] for start in looked_at(starts, 1))
    of_values = (None if values is None else values[start : start + ROWS_AT_A_TIME] for start in starts)
    return pa.concat_tables(map(_table_of_rows, of_rows, of_values))


def _table_of_rows(rows: Sequence[Row], values: Sequence[str | None] | None) -> pa.Table:
    columns = {
        "run": [row.run for row in rows],
        "process": [row.process or None for row in rows],
        "index": [row.index if row.text is None else None for row in rows],
        "kind": [row.kind for row in rows],
        "message": [row.message or None for row in rows],
        "peer": [PEER_SEPARATOR.join(row.peers) if row.peers else None for row in rows],
        "text": [row.text for row in rows],
    }
    types = dict(plain_types())
    if values is not None:
        columns["index"], types["index"] = list(values), pa.string()
    return pa.table(columns, schema=pa.schema(types.items()))


def plain_types() -> list[tuple[str, pa.DataType]]:
    """The columns of plain rows without dictionary encoding, with their types."""
    return [(name, pa.int64() if name == "index" else pa.string()) for name in PLAIN_COLUMNS]


def rows_of_table(table: pa.Table, file: str, lines: Iterator[int], options: LogOptions | None = None) -> Iterator[Row]:
    """Plain rows as events, which are on these lines; raises `BadInput` with the file and the line."""
    for batch in table.to_batches(max_chunksize=1 << 12):
        look()
        for row, line in zip(batch.to_pylist(), lines, strict=False):
            try:
                yield row_of(line, fields_of_row(row), options, COLUMNS)
            except BadInput as problem:
                if options is None or options.quarantine is None:
                    raise problem.at(file=file, line=line) from None
                options.quarantine.add(line, row, reason_of(problem))


def fields_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plain row as in a JSON object, without missing ones."""
    fields = {name: row[name] for name in COLUMNS if row[name] is not None and (name, row[name]) != ("run", "")}
    if PEER_SEPARATOR in fields.get("peer", ""):
        fields["peer"] = fields["peer"].split(PEER_SEPARATOR)
    return fields


def json_line(row: Mapping[str, Any]) -> str:
    """A plain row as a line of a JSON Lines log: its original text, if kept."""
    return str(row["text"]) if row["text"] is not None else json.dumps(fields_of_row(row), ensure_ascii=False)
