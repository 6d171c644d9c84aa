"""The columns of an event log: their names and types, and its rows as text that a log may hold in many ways.

A log's columns are those of `TYPES`; others are ignored. As *plain* rows, which all else works on, all are strings but
the index; the receivers of a message to several are one string, divided by a character that no name may hold; and a row
that could not be read as columns keeps its `text`, which only Spark has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crownless.runtime.ending import look
from crownless.spec.errors import BadInput

from .reasons import LargeIndex
from .rows import Row, row_of

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("run", "process", "index", "kind", "message", "peer", "text")
#: Separates the receivers of a message to several in `peer`; no name contains it, since it is not printable.
PEER_SEPARATOR = "\x1f"
#: Stands for the separator within a name, which is no name then.
_NOT_IN_NAMES = "\x1e"

_WHOLE = ("bigint", "int", "smallint", "tinyint")
#: The types that a column may have, in Spark's words; signed integers of any width are alike.
TYPES: dict[str, tuple[str, ...]] = {
    "run": ("string", *_WHOLE, "void"),
    "process": ("string",),
    "index": _WHOLE,
    "kind": ("string",),
    "message": ("string", *_WHOLE),
    "peer": ("string", "array<string>"),
}
#: The same in plain words.
_MEANT = {
    "run": "texts or whole numbers",
    "process": "texts",
    "index": "whole numbers",
    "kind": "texts",
    "message": "texts or whole numbers",
    "peer": "texts, or lists of texts",
}
#: At most this many columns of a file are named.
MOST_NAMED = 20


def check_columns(schema: pa.Schema, file: str, has: Sequence[str] = (), *, named: bool = True) -> None:
    """Raises `BadInput` if the columns of a file are not those of a log; it has these, if not those of the schema.

    `named`: messages have names, in the column `message`.
    """
    import pyarrow as pa

    optional = ("run",) if named else ("run", "message")

    def has_type(kind: pa.DataType, name: str) -> bool:
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        whole = pa.types.is_integer(kind)
        names = name == "peer" and pa.types.is_list(kind) and pa.types.is_string(kind.value_type)
        none = name in optional and pa.types.is_null(kind)
        allowed = TYPES[name]
        return (text and "string" in allowed) or (whole and "bigint" in allowed) or names or none

    for name in TYPES:
        if name not in schema.names:
            if name in optional:
                continue
            theirs = shortened(has or schema.names)
            hint = f"the file has {theirs}; if one is the '{name}', say so: --column {name}=THAT"
            raise BadInput(f"there is no column '{name}'", hint=hint, file=file)
        kind = schema.field(name).type
        if not has_type(kind, name):
            hint = f"give it as {_MEANT[name]}"
            raise BadInput(f"the column '{name}' is of type {kind}", hint=hint, file=file)


def shortened(names: Sequence[str]) -> str:
    """The names of the columns of a file, the first of them if they are many."""
    first = ", ".join(map(repr, names[:MOST_NAMED]))
    return f"{first} and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else first or "no columns"


def plain_table(table: pa.Table, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """The rows of a table with the columns of a log as plain rows; names may stay encoded in dictionaries.

    `kinds`: what the log calls kinds of events.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: table[name] for name in TYPES if name in table.schema.names}
    columns["peer"] = _plain_peers(columns["peer"].combine_chunks())
    for name, column in columns.items():
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
        columns["run"] = pa.array([""] * table.num_rows, pa.string())
    elif columns["run"].null_count:
        columns["run"] = columns["run"].cast(pa.string()).fill_null("")
    nothing = pa.nulls(table.num_rows, pa.string())
    return pa.table({name: _in_chunks(columns.get(name, nothing)) for name in COLUMNS})


def _plain_peers(peers: pa.Array) -> pa.Array:
    """The receivers of each row as one string."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = pa.types.is_list(peers.type)
    names = peers.values if lists else peers.dictionary if pa.types.is_dictionary(peers.type) else peers
    if pc.any(pc.match_substring(names, PEER_SEPARATOR)).as_py():
        if not lists:
            peers = peers.cast(pa.string())
        names = pc.replace_substring(names if lists else peers, PEER_SEPARATOR, _NOT_IN_NAMES)
        peers = peers if lists else names
    if not lists:
        return peers
    return pc.binary_join(
        pa.ListArray.from_arrays(peers.offsets, names.fill_null(""), mask=peers.is_null()), PEER_SEPARATOR
    )


def _in_chunks(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def table_of_rows(rows: Sequence[Row]) -> pa.Table:
    """Rows as plain rows of a table."""
    import pyarrow as pa

    columns = {
        "run": [row.run for row in rows],
        "process": [row.process for row in rows],
        "index": [row.index for row in rows],
        "kind": [row.kind for row in rows],
        "message": [row.message or None for row in rows],
        "peer": [PEER_SEPARATOR.join(row.peers) if row.peers else None for row in rows],
        "text": [None] * len(rows),
    }
    return pa.table({name: pa.array(columns[name], pa.int64() if name == "index" else pa.string()) for name in COLUMNS})


def rows_of_table(table: pa.Table, file: str, first: int = 1, *, named: bool = True) -> Iterator[Row]:
    """Plain rows as events, the first one on the line of this number; raises `BadInput` with the file and the line."""
    for line, fields in enumerate(_plain_fields(table), first):
        try:
            yield row_of(line, fields, named=named)
        except BadInput as problem:
            raise problem.at(file=file, line=line) from None


def _plain_fields(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=1 << 12):
        look()
        for row in batch.to_pylist():
            if PEER_SEPARATOR in (row["peer"] or ""):
                row["peer"] = row["peer"].split(PEER_SEPARATOR)
            yield row


def json_line(row: dict[str, Any]) -> str:
    """A plain row as a line of a JSON Lines log: its original text, if kept."""
    if row["text"] is not None:
        return str(row["text"])
    fields = {name: row[name] for name in TYPES if row[name] is not None and (name, row[name]) != ("run", "")}
    if PEER_SEPARATOR in (row["peer"] or ""):
        fields["peer"] = row["peer"].split(PEER_SEPARATOR)
    return json.dumps(fields, ensure_ascii=False)
