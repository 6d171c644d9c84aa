"""The columns of an event log: their names and types, and rows as text that a log may hold in many ways.

A log's columns are those of `model_check.event_logs`: `run` (may be missing), `process`, `index`, `kind`, `message`,
`peer` (a name, or a list of names); others are ignored. As *plain* rows, which all else works on, all are strings but
the index; the receivers of a message to several are one string, divided by a character that no name may hold; and a row
that could not be read as columns keeps its `text`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crownless.spec.errors import BadInput

from .reasons import BadIndex

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("run", "process", "index", "kind", "message", "peer", "text")
#: Separates the receivers of a message to several in `peer`; no name contains it, since it is not printable.
PEER_SEPARATOR = "\x1f"

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
#: So many columns of a file are named at most.
MOST_NAMED = 20
#: The columns that a log may lack; where messages have no names, `message` is their payload.
OPTIONAL = ("run",)
OPTIONAL_WITHOUT_NAMES = ("run", "message")


def check_columns(schema: pa.Schema, file: str, optional: Sequence[str] = OPTIONAL, has: Sequence[str] = ()) -> None:
    """Raises `BadInput` if the columns of a file are not those of a log; it has these, if not those of the schema."""
    import pyarrow as pa

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


def plain_table(table: pa.Table) -> pa.Table:
    """The rows of a table with the columns of a log as plain rows; names may stay encoded in dictionaries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: table[name] for name in COLUMNS[:-1] if name in table.schema.names}
    lists = pa.types.is_list(columns["peer"].type)
    peers = columns["peer"].combine_chunks()
    names = peers.values if lists else peers.dictionary if pa.types.is_dictionary(peers.type) else peers
    text = pa.nulls(table.num_rows, pa.string())
    if pc.any(pc.match_substring(names, PEER_SEPARATOR)).as_py():
        text = pa.array([_json_if_separator_in_name(row) for row in table.to_pylist()], pa.string())
    if lists:
        of = pa.ListArray.from_arrays(peers.offsets, names.fill_null(""), mask=peers.is_null())
        columns["peer"] = pa.chunked_array([pc.binary_join(of, PEER_SEPARATOR)])
    for name, column in columns.items():
        if name == "index":
            try:
                columns[name] = column.cast(pa.int64())
            except pa.ArrowInvalid:
                reason = BadIndex(pc.max(column).as_py())
                raise BadInput(reason.text, hint=reason.hint) from None
        elif not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
            columns[name] = column.cast(pa.string())
    if "run" not in columns:
        columns["run"] = pa.chunked_array([pa.array([""] * table.num_rows, pa.string())])
    elif columns["run"].null_count:
        columns["run"] = columns["run"].cast(pa.string()).fill_null("")
    columns.setdefault("message", pa.chunked_array([pa.nulls(table.num_rows, pa.string())]))
    columns["text"] = pa.chunked_array([text])
    return pa.table({name: columns[name] for name in COLUMNS})


def _json_if_separator_in_name(row: dict[str, Any]) -> str | None:
    """The row as JSON if a name in it contains the separator, else None."""
    peers = row["peer"] if isinstance(row["peer"], list) else [row["peer"]]
    if not any(PEER_SEPARATOR in (name or "") for name in peers):
        return None
    return json.dumps({name: value for name, value in row.items() if value is not None})


def json_line(row: dict[str, Any]) -> str:
    """A plain row as a line of a JSON Lines log: its original text, if kept."""
    if row["text"] is not None:
        return str(row["text"])
    fields = {name: row[name] for name in COLUMNS[:-1] if row[name] is not None and (name, row[name]) != ("run", "")}
    if PEER_SEPARATOR in (row["peer"] or ""):
        fields["peer"] = row["peer"].split(PEER_SEPARATOR)
    return json.dumps(fields, ensure_ascii=False)
