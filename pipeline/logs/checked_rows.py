"""The rows of a log compared with each other in Spark: each is usable, or in quarantine with the reason.

What is unusable, a contradiction, a copy or a hole is as in `model_check.logs.rows`, row by row, message by message and
process by process, so that a run may be of any size. A reason is the JSON of a `Reason`, which has the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from crownless.model_check.logs.columns import COLUMNS, PEER_SEPARATOR, json_line
from crownless.model_check.logs.lost_events import Hole, MissingEvents, QuarantinedRows, UnsentMessages
from crownless.model_check.logs.reasons import (
    Copy,
    DeliveredTwice,
    NotAReceiver,
    ReasonKind,
    SendersDiffer,
    SentTwice,
    TwoEvents,
    UnusableRow,
    reason_in,
)
from crownless.model_check.logs.rows import is_name, process_of, read_row

from .records import QUARANTINE
from .rows import UNKNOWN_RUN

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

#: In the place of a reason: the row is unusable by itself, and reading it gives the reason.
ALONE = ""
#: Up to this many rows one task is quicker than a shuffle.
SMALL = 100_000


def checked(rows: DataFrame, extra_problem: Column | None = None) -> DataFrame:
    """Plain rows with the `reason` why each is unusable: its JSON, or `ALONE`; null for usable rows.

    `copy`: true for a copy of another row, whose loss makes no hole. For the message of a row, by the usable rows:
    `sent` and `delivered` (true if there is such a row), `sender` (as named by delivers), `first_deliverer`. Rows of
    one run with the same `message_key` are those about one message. `extra_problem` is a further reason against single
    rows, as JSON. Further columns are kept; a copy must agree in them, too.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    further = _further(rows)
    kind = f.when(f.col("kind") == "receive", f.lit("deliver")).otherwise(f.col("kind"))
    rows = rows.withColumn("kind", kind).withColumns(
        {
            name: f.when(f.coalesce(f.col("kind") != "internal", f.lit(True)), f.col(name))
            for name in ("message", "peer")
        }
    )
    reason = f.when(_unusable_alone(), ALONE)
    if extra_problem is not None:
        reason = f.coalesce(reason, extra_problem)
    rows = rows.withColumn("reason", reason)
    place = Window.partitionBy("run", "process", "index")
    says = f.struct("reason", "kind", "message", "peer", *further)
    copy = f.col("reason").isNull() & says.eqNullSafe(f.lag(says).over(place.orderBy(says)))
    rows = rows.withColumn("copy", copy)
    counted = f.col("reason").isNull() & ~f.col("copy")
    rows = rows.withColumn("at_place", f.sum(counted.cast("int")).over(place))
    # Rows about one message share a key; every other row has its own.
    rows = rows.withColumn("message_key", f.coalesce("message", f.concat_ws(" ", "process", "index")))
    return _with_conflicts(rows, counted).select(*COLUMNS, *further, *_CHECK_COLUMNS)


_CHECK_COLUMNS = ("message_key", "reason", "copy", "sent", "delivered", "sender", "first_deliverer")


def _unusable_alone() -> Column:
    """True if the row is no event (null or false if it is one), as `model_check.logs.rows` reads it."""
    from pyspark.sql import functions as f

    sends, on_message = f.col("kind") == "send", f.col("kind") != "internal"
    peers = f.split("peer", PEER_SEPARATOR)
    problems = (
        f.col("text").isNotNull(),
        is_no_name(f.col("process")),
        f.col("index").isNull() | (f.col("index") < 0),
        f.col("kind").isNull() | ~f.col("kind").isin("send", "deliver", "internal"),
        is_no_name(f.col("run")) & (f.col("run") != ""),
        on_message & is_no_name(f.col("message")),
        sends & (f.col("peer").isNull() | f.exists(peers, is_no_name)),
        sends & (f.size(peers) > f.size(f.array_distinct(peers))),
        on_message & f.col("peer").isNotNull() & ~sends & is_no_name(f.col("peer")),
    )
    return reduce(or_, problems)


def json_of(kind: ReasonKind, **facts: Column) -> Column:
    """The JSON of a reason of this kind."""
    from pyspark.sql import functions as f

    assert list(facts) == kind.facts.split()
    return f.to_json(f.struct(f.lit(kind.name).alias("reason"), *(fact.alias(name) for name, fact in facts.items())))


def is_no_name(name: Column) -> Column:
    """True if the name is missing, empty or not printable (see `model_check.event_logs`)."""
    plainly = name.rlike(r"\A[ -~]+\z")  # as nearly all are
    return name.isNull() | (name == "") | (~plainly & name.rlike(_unprintable_characters()))


@cache
def _unprintable_characters() -> str:
    """A regular expression of all characters unprintable in Python, for Java, whose Unicode version may differ."""
    ranges: list[list[int]] = []
    for code in range(0x110000):
        if not chr(code).isprintable():
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "[" + "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in ranges) + "]"


def _with_conflicts(rows: DataFrame, counted: Column) -> DataFrame:
    """The rows with the reasons found in other rows, and the facts about their messages."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of, here = Window.partitionBy("run", "message_key"), Window.partitionBy("run", "message_key", "at_process")
    sends, delivers = counted & (f.col("kind") == "send"), counted & (f.col("kind") == "deliver")
    rows = rows.withColumn("at_process", f.when(delivers, f.col("process")))
    said_to_send = f.when(sends, f.col("process")).when(delivers, f.col("peer"))
    rows = rows.withColumns(
        {
            "sends": f.sum(sends.cast("int")).over(of),
            "receivers": f.flatten(f.collect_set(f.when(sends, f.split("peer", PEER_SEPARATOR))).over(of)),
            "delivers_here": f.sum(delivers.cast("int")).over(here),
            "senders": f.collect_set(said_to_send).over(of),
        }
    )
    elsewhere = delivers & (f.col("sends") > 0) & ~f.array_contains("receivers", f.col("process"))
    rows = rows.withColumn("elsewhere", f.min(f.when(elsewhere, f.col("process"))).over(of))
    on_message = f.col("kind") != "internal"
    process, index, message = f.col("process"), f.col("index"), f.col("message")
    senders, receivers = f.array_sort("senders"), f.array_sort(f.array_distinct("receivers"))
    not_there = json_of(NotAReceiver, process=f.col("elsewhere"), message=message, receivers=receivers)
    reason = (
        f.when(f.col("reason").isNotNull(), f.col("reason"))
        .when(f.col("copy"), json_of(Copy, process=process, index=index))
        .when(f.col("at_place") > 1, json_of(TwoEvents, process=process, index=index))
        .when((f.col("kind") == "send") & (f.col("sends") > 1), json_of(SentTwice, message=message))
        .when(
            (f.col("kind") == "deliver") & (f.col("delivers_here") > 1),
            json_of(DeliveredTwice, process=process, message=message),
        )
        .when(on_message & (f.size("senders") > 1), json_of(SendersDiffer, message=message, senders=senders))
        .when(on_message & f.col("elsewhere").isNotNull(), not_there)
    )
    rows = rows.withColumn("reason", reason)
    sends, delivers = (f.col("reason").isNull() & (f.col("kind") == kind) for kind in ("send", "deliver"))
    return rows.withColumns(
        {
            "sent": f.max(sends).over(of),
            "delivered": f.max(delivers).over(of),
            "sender": f.max(f.when(delivers, f.col("peer"))).over(of),
            "first_deliverer": f.min(f.when(delivers, f.col("process"))).over(of),
        }
    )


def quarantined(checked_rows: DataFrame) -> DataFrame:
    """The records of the unusable rows, in the columns of `records.RECORD_SCHEMA`."""

    def as_json(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            held = batch.to_pylist()
            rows = [_with_clock(json_line(row), row) for row in held]
            columns = [pa.array(rows, pa.string()), batch["run"], pa.array(map(_sentence, held), pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=["row", "run", "reason"])

    from pyspark.sql import functions as f

    bad = checked_rows.where(f.col("reason").isNotNull()).select(*COLUMNS, *_further(checked_rows), "reason")
    rows = bad.mapInArrow(as_json, "row string, run string, reason string")
    none = f.lit(None).cast("string")
    return rows.select(
        f.lit(QUARANTINE).alias("record_type"),
        f.when(f.col("run") != UNKNOWN_RUN, f.col("run")).alias("run"),
        none.alias("order"),
        none.alias("verdict"),
        none.alias("witness"),
        f.col("reason").alias("because"),
        "row",
        f.lit(1).cast("long").alias("rows"),
    )


def _sentence(row: dict[str, Any]) -> str:
    """The reason why a row is unusable."""
    if row["reason"] != ALONE:
        return reason_in(row["reason"]).text
    try:
        read_row(0, json_line(row))
    except UnusableRow as unusable:
        return unusable.reason.text
    raise AssertionError(f"Spark takes an event for unusable: {json_line(row)}")


def _with_clock(line: str, row: dict[str, Any]) -> str:
    if row["text"] is not None or row.get("clock") is None:
        return line
    return f'{line[:-1]}, "clock": {row["clock"]}}}'


def _further(rows: DataFrame) -> list[str]:
    """The log's columns besides `COLUMNS`."""
    return [name for name in rows.columns if name not in (*COLUMNS, *_CHECK_COLUMNS)]


# -- processes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Processes:
    """The processes by number; those whose events may be missing; the evidence; the numbers of rows."""

    numbers: dict[str, int]
    with_gaps: set[str]
    holes: list[Hole]
    judged: int
    quarantined: int


def processes_of(checked_rows: DataFrame) -> Processes:
    from pyspark.sql import functions as f

    used = f.col("reason").isNull()
    sends, delivers = used & (f.col("kind") == "send"), used & (f.col("kind") == "deliver")
    unsent = delivers & ~f.col("sent")
    of_nobody = unsent & f.col("sender").isNull()
    unusable = ~used & ~f.col("copy")
    by_process = checked_rows.groupBy("process").agg(
        f.count("*").alias("rows"),
        f.count_if(used).alias("n"),
        f.min(f.when(used, f.col("index"))).alias("a"),
        f.max(f.when(used, f.col("index"))).alias("z"),
        f.count_if(unusable).alias("unusable"),
        f.count_if(unusable & f.col("text").isNotNull()).alias("unreadable"),
        f.count_if(unsent).alias("unsent"),
        f.collect_set(f.when(unsent, f.col("sender"))).alias("senders"),
        f.count_if(of_nobody).alias("of_nobody"),
        f.count_if(of_nobody & (f.col("first_deliverer") == f.col("process"))).alias("messages_of_nobody"),
        f.array_distinct(f.flatten(f.collect_set(f.when(sends, f.split("peer", PEER_SEPARATOR))))).alias("peers"),
    )
    rows = by_process.collect()
    lines = {row["process"]: row for row in rows if row["n"]}
    names = sorted({*lines, *(peer for row in rows for peer in row["peers"])})
    first = 1 if min((row["a"] for row in lines.values()), default=0) == 1 else 0
    missing = {name: row["z"] - first + 1 - row["n"] for name, row in sorted(lines.items())}
    processes_with_gaps = {name for name, lost in missing.items() if lost}
    holes: list[Hole] = [MissingEvents(name, lost) for name, lost in missing.items() if lost]
    with_unusable_rows: set[str | None] = set()
    for row in rows:
        if row["process"] is None and row["unreadable"]:
            with_unusable_rows |= _processes_of_texts(checked_rows)
        if row["unusable"] > (row["unreadable"] if row["process"] is None else 0):
            with_unusable_rows.add(row["process"] if is_name(row["process"]) else None)
    processes_with_gaps |= (
        set(names) if None in with_unusable_rows else {name for name in with_unusable_rows if name is not None}
    )
    holes += [QuarantinedRows(name) for name in sorted(with_unusable_rows, key=lambda name: name or "")]
    messages_of_nobody = sum(row["messages_of_nobody"] for row in rows)
    for row in sorted(lines.values(), key=lambda row: str(row["process"])):
        if row["unsent"]:
            holes.append(UnsentMessages(row["process"], row["unsent"]))
        processes_with_gaps |= set(row["senders"])
    # A process that delivers its own message has sent it earlier on its line, so not past the end of it.
    processes_with_gaps |= {
        name for name in names if messages_of_nobody > (lines[name]["of_nobody"] if name in lines else 0)
    }
    judged = sum(row["n"] for row in rows)
    return Processes(
        {name: k for k, name in enumerate(names)}, processes_with_gaps, holes, judged,
        sum(row["rows"] for row in rows) - judged,
    )  # fmt: skip


def _processes_of_texts(checked_rows: DataFrame) -> set[str | None]:
    """The processes of rows that could not be read as columns; None if one may belong to any process."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            names = {process_of(text) for text in batch["text"].to_pylist()}
            yield pa.RecordBatch.from_arrays([pa.array(list(names), pa.string())], names=["process"])

    texts = checked_rows.where("text IS NOT NULL AND process IS NULL").select("text")
    return {row["process"] for row in texts.mapInArrow(read, "process string").distinct().collect()}
