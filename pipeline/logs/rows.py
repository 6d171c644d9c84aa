"""The plain rows of event logs (`model_check.logs.columns`) in Spark, whatever they come from.

A row that could not be read as columns keeps its `text`, which goes to quarantine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crownless.model_check.logs.columns import COLUMNS, PEER_SEPARATOR, TYPES, plain_table
from crownless.model_check.logs.json_lines import read_plain_lines
from crownless.model_check.logs.reasons import MOST_INDEX
from crownless.spec.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

#: The plain columns, for Spark.
PLAIN = "run string, process string, index long, kind string, message string, peer string, text string"
#: The kind of a row that could not be read as columns; the run of a row whose run is unknown.
UNREADABLE = "?"
UNKNOWN_RUN = "\x1e"

#: Of indices that a column holds; the number below stands for a missing one (`model_check.logs.named_rows`).
_LEAST_INDEX = 1 - (1 << 62)
#: On the column `text` of rows that are plain already: a log may have a column of that name for its own purposes.
_MARK = {"crownless": "plain rows"}


def plain(events: DataFrame) -> DataFrame:
    """A DataFrame of events with all columns plain; raises `BadInput` if one is missing or of another type."""
    from pyspark.sql import functions as f

    if "text" in events.columns and events.schema["text"].metadata == _MARK:
        return events.select(*COLUMNS)
    types = dict(events.dtypes)
    for name, allowed in TYPES.items():
        if name not in types:
            if name == "run":
                continue
            raise BadInput(f"the events have no column '{name}'", hint=f"columns are: {', '.join(TYPES)}")
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
    has_separator = has_separator & ~f.col("kind").eqNullSafe("internal")
    kept = f.when(has_separator, f.to_json(f.struct(*columns))).otherwise(none).alias("text", metadata=_MARK)
    return events.select(run, text("process"), index, text("kind"), text("message"), peer, kept)


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
    for batch in batches:
        rows = _read_at_once(batch["value"])
        yield from [_read_one_by_one(batch["value"])] if rows is None else rows.to_batches()


def _read_at_once(lines: pa.BinaryArray) -> pa.Table | None:
    """Lines as plain rows by the compiled loop; None if a line is not plain enough for it, or no event."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        lines.cast(pa.string())
    except pa.ArrowInvalid:
        return None  # not UTF-8
    if lines.null_count:
        return None
    values = lines.to_pylist()
    content = b"\n".join(values)
    if content.count(b"\n") != len(values) - 1:
        return None  # several lines in one
    table = read_plain_lines(content, {name: name for name in TYPES})
    if table is None or any(table[name].null_count for name in ("process", "index", "kind")):
        return None
    internal, has_message = pc.equal(table["kind"], "internal"), table["message"].is_valid()
    if pc.any(pc.equal(internal, has_message)).as_py() or pc.any(pc.and_(internal, table["peer"].is_valid())).as_py():
        return None
    return plain_table(table)


def _read_one_by_one(lines: pa.BinaryArray) -> pa.RecordBatch:
    import pyarrow as pa

    rows = [plain_line(line) for line in lines.to_pylist() if line and line.strip()]
    columns = [pa.array([row[k] for row in rows], kind) for k, kind in enumerate(plain_types())]
    return pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))


def plain_types() -> list[pa.DataType]:
    import pyarrow as pa

    return [pa.int64() if name == "index" else pa.string() for name in COLUMNS]


Plain = tuple[str, str | None, int | None, str, str | None, str | None, str | None]


def plain_line(line: str | bytes) -> Plain:
    """One line of JSON as a plain row. A line that cannot be read as columns keeps its text; bytes that are
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
        and _LEAST_INDEX <= index <= MOST_INDEX
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
