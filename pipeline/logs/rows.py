"""The rows of event logs as Spark and Arrow hold them, whatever file they come from.

A log's columns are those of `model_check.event_logs`: `run` (may be missing), `process`, `index`, `kind`, `message`,
`peer` (a name, or a list of names); others are ignored. As *plain* rows, which everything here works on, all are
strings but the index; the receivers of a multicast are one string, divided by a character that no name may hold; and
a row that could not be read as columns at all keeps its `text`, to be quarantined with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crownless.spec.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

#: The plain columns, for Spark.
PLAIN = "run string, process string, index long, kind string, message string, peer string, text string"
COLUMNS = ("run", "process", "index", "kind", "message", "peer", "text")
#: Divides the receivers of a multicast in `peer`; no name holds it, since it cannot be printed.
BETWEEN = "\x1f"
#: The kind of a row that could not be read as columns, and the run of one of which nobody knows whose it is.
UNREADABLE = "?"
NOWHERE = "\x1e"

LONGEST = 1 << 62


def plain(events: DataFrame) -> DataFrame:
    """A DataFrame of events with all columns plain; raises `BadInput` if one is missing or of another type."""
    from pyspark.sql import functions as f

    if "text" in events.columns and set(COLUMNS) <= set(events.columns):
        return events.select(*COLUMNS)
    types = dict(events.dtypes)
    for name, allowed in _TYPES.items():
        if name not in types:
            if name == "run":
                continue
            raise BadInput(f"the events have no column '{name}'", mend=f"columns are: {', '.join(_TYPES)}")
        if types[name] not in allowed:
            mend = f"give it as {' or '.join(allowed)}"
            raise BadInput(f"the column '{name}' is of type {types[name]}", mend=mend)

    def text(name: str) -> Column:
        return f.col(f"`{name}`").cast("string").alias(name)

    run = f.coalesce(text("run"), f.lit("")).alias("run") if "run" in types else f.lit("").alias("run")
    peer = text("peer")
    if types["peer"] == "array<string>":
        names = f.transform("peer", lambda name: f.coalesce(name, f.lit("")))
        peer = f.array_join(names, BETWEEN).alias("peer")
    index = f.col("`index`").cast("long").alias("index")
    none = f.lit(None).cast("string").alias("text")
    return events.select(run, text("process"), index, text("kind"), text("message"), peer, none)


_WHOLE = ("bigint", "int", "smallint", "tinyint")
_TYPES: dict[str, tuple[str, ...]] = {
    "run": ("string", *_WHOLE, "void"),
    "process": ("string",),
    "index": _WHOLE,
    "kind": ("string",),
    "message": ("string", *_WHOLE),
    "peer": ("string", "array<string>"),
}


def plain_lines(lines: DataFrame) -> DataFrame:
    """The same of a DataFrame of lines of JSON (`spark.read.text`); empty lines are no events."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            rows = [plain_line(text) for text in batch["value"].to_pylist() if text.strip()]
            columns = [pa.array([row[k] for row in rows], kind) for k, kind in enumerate(plain_types())]
            yield pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))

    return lines.select("value").mapInArrow(read, PLAIN)


def plain_types() -> list[pa.DataType]:
    import pyarrow as pa

    return [pa.int64() if name == "index" else pa.string() for name in COLUMNS]


Plain = tuple[str, str | None, int | None, str, str | None, str | None, str | None]


def plain_line(text: str) -> Plain:
    """One line of JSON as a plain row. What is odd keeps its text, for `runs` to say what is wrong with it."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return NOWHERE, None, None, UNREADABLE, None, None, text
    if not isinstance(fields, dict):
        return NOWHERE, None, None, UNREADABLE, None, None, text
    run = fields.get("run")
    run = "" if run is None else str(run) if type(run) in (str, int) else NOWHERE
    process, index, kind = fields.get("process"), fields.get("index"), fields.get("kind")
    message, peer = fields.get("message"), fields.get("peer")
    if kind == "send" and isinstance(peer, list) and all(type(name) is str and BETWEEN not in name for name in peer):
        peer = BETWEEN.join(peer) or []
    as_columns = (
        run != NOWHERE
        and type(process) is str
        and type(index) is int
        and abs(index) < LONGEST
        and type(kind) is str
        and (kind == "internal" or type(message) in (str, int))
        and (kind == "internal" or peer is None or type(peer) is str)
    )
    if not as_columns:
        return str(run), None, None, UNREADABLE, None, None, text
    if kind == "internal":
        message = peer = None
    as_text = None if message is None else str(message)
    return str(run), process, index, str(kind), as_text, None if peer is None else str(peer), None


def said(row: dict[str, Any]) -> str:
    """A plain row as a line of a JSON Lines log: its text, if it has kept it."""
    if row["text"] is not None:
        return str(row["text"])
    fields = {name: row[name] for name in COLUMNS[:-1] if row[name] not in (None, "")}
    if BETWEEN in (row["peer"] or ""):
        fields["peer"] = row["peer"].split(BETWEEN)
    return json.dumps(fields, ensure_ascii=False)
