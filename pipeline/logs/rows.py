"""The rows of event logs as Spark and Arrow hold them, whatever file they come from.

A log's columns are those of `model_check.event_logs`: `run` (may be missing), `process`, `index`, `kind`, `message`,
`peer` (a name, or a list of names); others are ignored. As *plain* rows, which everything here works on, all are
strings but the index; the receivers of a multicast are one string, divided by a character that no name may hold; and a
row that could not be read as columns keeps its `text`, which goes to quarantine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from crownless.spec.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

#: The plain columns, for Spark.
PLAIN = "run string, process string, index long, kind string, message string, peer string, text string"
COLUMNS = ("run", "process", "index", "kind", "message", "peer", "text")
#: Separates the receivers of a multicast in `peer`; no name contains it, since it is not printable.
PEER_SEPARATOR = "\x1f"
#: The kind of a row that could not be read as columns; the run of a row whose run is unknown.
UNREADABLE = "?"
UNKNOWN_RUN = "\x1e"

MAX_INDEX = 1 << 62
#: On the column `text` of rows that are plain already: a log may have a column of that name for its own purposes.
_MARK = {"crownless": "plain rows"}


def plain(events: DataFrame) -> DataFrame:
    """A DataFrame of events with all columns plain; raises `BadInput` if one is missing or of another type."""
    from pyspark.sql import functions as f

    if "text" in events.columns and events.schema["text"].metadata == _MARK:
        return events.select(*COLUMNS)
    types = dict(events.dtypes)
    for name, allowed in _TYPES.items():
        if name not in types:
            if name == "run":
                continue
            raise BadInput(f"the events have no column '{name}'", hint=f"columns are: {', '.join(_TYPES)}")
        if types[name] not in allowed:
            hint = f"give it as {' or '.join(allowed)}"
            raise BadInput(f"the column '{name}' is of type {types[name]}", hint=hint)

    def text(name: str) -> Column:
        return f.col(f"`{name}`").cast("string").alias(name)

    run = f.coalesce(text("run"), f.lit("")).alias("run") if "run" in types else f.lit("").alias("run")
    peer = text("peer")
    index = f.col("`index`").cast("long").alias("index")
    none = f.lit(None).cast("string")
    if types["peer"] == "array<string>":
        names = f.transform("peer", lambda name: f.coalesce(name, f.lit("")))
        has_separator = f.exists("peer", lambda name: name.contains(PEER_SEPARATOR))
        peer = f.array_join(names, PEER_SEPARATOR).alias("peer")
    else:
        has_separator = peer.contains(PEER_SEPARATOR)
    # A row with the separator inside a name keeps its text, as any row that is not an event.
    columns = [f.col(f"`{name}`") for name in COLUMNS[:-1] if name in types]
    kept = f.when(has_separator, f.to_json(f.struct(*columns))).otherwise(none).alias("text", metadata=_MARK)
    return events.select(run, text("process"), index, text("kind"), text("message"), peer, kept)


_WHOLE = ("bigint", "int", "smallint", "tinyint")
_TYPES: dict[str, tuple[str, ...]] = {
    "run": ("string", *_WHOLE, "void"),
    "process": ("string",),
    "index": _WHOLE,
    "kind": ("string",),
    "message": ("string", *_WHOLE),
    "peer": ("string", "array<string>"),
}


def check_columns(schema: pa.Schema, file: str) -> None:
    """Raises `BadInput` if the columns of a Parquet file are not those of a log."""
    import pyarrow as pa

    def has_type(kind: pa.DataType, name: str) -> bool:
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        whole = pa.types.is_signed_integer(kind)
        names = name == "peer" and pa.types.is_list(kind) and pa.types.is_string(kind.value_type)
        none = name == "run" and pa.types.is_null(kind)
        allowed = _TYPES[name]
        return (text and "string" in allowed) or (whole and "bigint" in allowed) or names or none

    for name in _TYPES:
        if name not in schema.names:
            if name == "run":
                continue
            raise BadInput(f"there is no column '{name}'", hint=f"columns are: {', '.join(_TYPES)}", file=file)
        kind = schema.field(name).type
        if not has_type(kind, name):
            hint = f"give it as {' or '.join(_TYPES[name])}"
            raise BadInput(f"the column '{name}' is of type {kind}", hint=hint, file=file)


def plain_table(table: pa.Table) -> pa.Table:
    """The rows of a Parquet file as plain rows; names may stay encoded in dictionaries."""
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
            columns[name] = column.cast(pa.int64())
        elif not pa.types.is_dictionary(column.type):
            columns[name] = column.cast(pa.string())
    if "run" not in columns:
        columns["run"] = pa.chunked_array([pa.array([""] * table.num_rows, pa.string())])
    elif columns["run"].null_count:
        columns["run"] = columns["run"].cast(pa.string()).fill_null("")
    columns["text"] = pa.chunked_array([text])
    return pa.table({name: columns[name] for name in COLUMNS})


def _json_if_separator_in_name(row: dict[str, Any]) -> str | None:
    """The row as JSON if a name in it contains the separator, else None."""
    peers = row["peer"] if isinstance(row["peer"], list) else [row["peer"]]
    if not any(PEER_SEPARATOR in (name or "") for name in peers):
        return None
    return json.dumps({name: value for name, value in row.items() if value is not None})


def plain_lines(lines: DataFrame) -> DataFrame:
    """Plain rows of a DataFrame of lines of JSON (`spark.read.text`); empty lines are skipped."""
    from pyspark.sql import functions as f

    found = as_bytes(lines).mapInArrow(read_lines, PLAIN)
    return found.withColumn("text", f.col("text").alias("text", metadata=_MARK))


def as_bytes(lines: DataFrame) -> DataFrame:
    """Lines as bytes, for `read_lines`: a line of a file may not be valid UTF-8."""
    from pyspark.sql import functions as f

    return lines.select(f.col("value").cast("binary").alias("value"))


def read_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of lines as batches of plain rows."""
    import pyarrow as pa

    for batch in batches:
        rows = [plain_line(line) for line in batch["value"].to_pylist() if line.strip()]
        columns = [pa.array([row[k] for row in rows], kind) for k, kind in enumerate(plain_types())]
        yield pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))


def plain_types() -> list[pa.DataType]:
    import pyarrow as pa

    return [pa.int64() if name == "index" else pa.string() for name in COLUMNS]


Plain = tuple[str, str | None, int | None, str, str | None, str | None, str | None]


def plain_line(line: str | bytes) -> Plain:
    """One line of JSON as a plain row. An unusable line keeps its text, and `runs` reports the reason; bytes that are
    not UTF-8 are shown in hexadecimal.
    """
    text = line if isinstance(line, str) else line.decode(errors="backslashreplace")
    try:
        fields = json.loads(line if isinstance(line, str) else line.decode())
    except (ValueError, RecursionError):
        return UNKNOWN_RUN, None, None, UNREADABLE, None, None, text
    if not isinstance(fields, dict):
        return UNKNOWN_RUN, None, None, UNREADABLE, None, None, text
    run = fields.get("run")
    run = "" if run is None else str(run) if type(run) is int or _is_encodable(run) else UNKNOWN_RUN
    process, index, kind = fields.get("process"), fields.get("index"), fields.get("kind")
    message, peer = fields.get("message"), fields.get("peer")
    if (
        kind == "send"
        and isinstance(peer, list)
        and all(_is_encodable(name) and PEER_SEPARATOR not in name for name in peer)
    ):
        peer = PEER_SEPARATOR.join(peer) or []
    elif type(peer) is str and PEER_SEPARATOR in peer:
        peer = []
    as_columns = (
        run != UNKNOWN_RUN
        and _is_encodable(process)
        and type(index) is int
        and abs(index) < MAX_INDEX
        and _is_encodable(kind)
        and (kind == "internal" or type(message) is int or _is_encodable(message))
        and (kind == "internal" or peer is None or _is_encodable(peer))
    )
    if not as_columns:
        return str(run), None, None, UNREADABLE, None, None, text
    if kind == "internal":
        message = peer = None
    as_text = None if message is None else str(message)
    return str(run), process, index, str(kind), as_text, None if peer is None else str(peer), None


def _is_encodable(value: object) -> bool:
    """True if the value is a string that can be encoded; JSON allows lone surrogates, which cannot."""
    return type(value) is str and not any("\ud800" <= character <= "\udfff" for character in value)


def json_line(row: dict[str, Any]) -> str:
    """A plain row as a line of a JSON Lines log: its original text, if kept."""
    if row["text"] is not None:
        return str(row["text"])
    fields = {name: row[name] for name in COLUMNS[:-1] if row[name] is not None and (name, row[name]) != ("run", "")}
    if PEER_SEPARATOR in (row["peer"] or ""):
        fields["peer"] = row["peer"].split(PEER_SEPARATOR)
    return json.dumps(fields, ensure_ascii=False)
