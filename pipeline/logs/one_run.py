"""One run too large for one executor: FIFO, causal, mailbox, one-n and synchronous order of millions of events.

Spark does the work on single rows, lines, channels or messages: contradictions between rows, holes in lines, the send
of each deliver, the order of deliveries. The walk along the lines (`walks`) cannot be cut into independent parts: one
task reads the events as numbers, stretch by stretch of all lines, and holds the events not walked yet, the vector time
of each process, and the messages in flight. If these exceed `most_held` rows, the verdicts still open are `unknown`.

Verdicts are those of `crownless classify`, and unusable rows are reported as there (see `runs`). Witnesses are genuine,
but may not be the smallest. n-n is decided only as far as the other orders settle it. Runs of multicasts are not
decided, nor synchronous and one-n order of a run with unreceived messages that count as `pending`.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from crownless.model_check.logs.columns import COLUMNS, PEER_SEPARATOR, json_line
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy

from .judging import LogResult
from .records import HOLE, JUDGED, QUARANTINE, RECORD_SCHEMA, VERDICT, Query
from .rows import UNKNOWN_RUN, plain
from .runs import OrderVerdict, process_of
from .walks import TimedWalk, Walk

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

#: A walk is given up beyond this many events that cannot be walked yet, or this many messages in flight.
MOST_HELD = 2_000_000
#: The number of events walked at once.
STRETCH = 200_000
#: Up to this many rows one task is quicker than a shuffle.
SMALL = 100_000

#: Receives the current step, the number of events walked, and their total (0 until counted). During the walk it is
#: called from another thread.
Progress = Callable[[str, int, int], None]

_HOLES = "nothing in the log breaks it, but the log has holes"


@dataclass(frozen=True)
class OneRunResult(LogResult):
    """The result for one run, as `LogResult` for many; the further fields need no Spark job."""

    order_verdicts: tuple[OrderVerdict, ...]
    rows: int
    judged: int
    quarantined: int
    #: The most events held at once, waiting for others.
    most_held: int = 0


def judge_one_run(
    events: DataFrame,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    most_held: int = MOST_HELD,
    stretch: int = STRETCH,
    progress: Progress | None = None,
) -> OneRunResult:
    """Judges the one run of these events; all seven orders unless some are named.

    Raises `BadInput` if the columns are not those of a log, or the rows are of several runs.
    """
    query = Query.of(orders, reading, witnesses=True)
    report = progress or _no_progress
    rows = plain(events).persist()
    checked_rows: DataFrame | None = None
    try:
        report("reading the rows", 0, 0)
        run, count = _single_run(rows)
        checked_rows = checked(rows.coalesce(1) if count <= SMALL else rows).persist()
        report("comparing the rows", 0, 0)
        lines = _lines(checked_rows)
        rows.unpersist()
        return _decide_run(checked_rows, lines, run, query, most_held, stretch, report)
    finally:
        rows.unpersist()
        if checked_rows is not None:
            checked_rows.unpersist()


def _no_progress(doing: str, walked: int, of: int) -> None:
    pass


def _single_run(rows: DataFrame) -> tuple[str, int]:
    """The run of these rows, and their number; raises `BadInput` if there are several runs."""
    from pyspark.sql import functions as f

    run = f.when(f.col("run") != UNKNOWN_RUN, f.col("run"))
    found = rows.agg(f.count("*").alias("rows"), f.min(run).alias("least"), f.max(run).alias("most")).collect()[0]
    if found["least"] != found["most"]:
        several = f"the events are of several runs, such as {found['least']!r} and {found['most']!r}"
        raise BadInput(several, hint="give the events of one, or have all judged run by run")
    return found["least"] or "", found["rows"]


# -- rows compared with each other -------------------------------------------------------------------------------------


def checked(rows: DataFrame, extra_problem: Column | None = None) -> DataFrame:
    """Plain rows with the `reason` why each is unusable (null for usable rows).

    `copy`: true for a copy of another row, whose loss makes no hole. For the message of a row, by the usable rows:
    `sent` and `delivered` (true if there is such a row), `sender` (as named by delivers), `first_deliverer`. Rows of
    one run with the same `message_key` are those about one message. `extra_problem` is a further reason against single
    rows. Further columns are kept; a copy must agree in them, too.
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
    reason = f.coalesce(_row_problem(), extra_problem) if extra_problem is not None else _row_problem()
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


def _row_problem() -> Column:
    from pyspark.sql import functions as f

    sends, on_message = f.col("kind") == "send", f.col("kind") != "internal"
    peers = f.split("peer", PEER_SEPARATOR)
    no_peer = f.col("peer").isNull() | f.exists(peers, is_no_name)
    return (
        f.when(f.col("text").isNotNull(), "it cannot be read as an event")
        .when(is_no_name(f.col("process")), "'process' is missing or no name")
        .when(f.col("index").isNull() | (f.col("index") < 0), "'index' is missing or negative")
        .when(f.col("kind").isNull() | ~f.col("kind").isin("send", "deliver", "internal"), "unknown kind")
        .when(is_no_name(f.col("run")) & (f.col("run") != ""), "'run' is not a name")
        .when(on_message & is_no_name(f.col("message")), "'message' is missing or no name")
        .when(sends & no_peer, "'peer' is missing or no name")
        .when(sends & (f.size(peers) > f.size(f.array_distinct(peers))), "'peer' names a receiver twice")
        .when(on_message & f.col("peer").isNotNull() & ~sends & is_no_name(f.col("peer")), "'peer' is not a name")
    )


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

    of, here = Window.partitionBy("run", "message_key"), Window.partitionBy("run", "message_key", "receiver")
    sends, delivers = counted & (f.col("kind") == "send"), counted & (f.col("kind") == "deliver")
    one_receiver = ~f.col("peer").contains(PEER_SEPARATOR)
    rows = rows.withColumn("receiver", f.when(sends, f.col("peer")).when(delivers, f.col("process")))
    said_to_send = f.when(sends, f.col("process")).when(delivers, f.col("peer"))
    rows = rows.withColumns(
        {
            "sends": f.sum(sends.cast("int")).over(of),
            "to_one": f.coalesce(f.min(f.when(sends, one_receiver)).over(of), f.lit(False)),
            "sends_here": f.sum(sends.cast("int")).over(here),
            "delivers_here": f.sum(delivers.cast("int")).over(here),
            "senders_differ": f.min(said_to_send).over(of) != f.max(said_to_send).over(of),
        }
    )
    elsewhere = delivers & f.col("to_one") & (f.col("sends_here") == 0)
    rows = rows.withColumn("elsewhere", f.max(elsewhere).over(of))
    on_message = f.col("kind") != "internal"
    does = f.concat("process", f.lit(" delivers "), "message")
    reason = (
        f.when(f.col("reason").isNotNull(), f.col("reason"))
        .when(f.col("copy"), "a copy of another line")
        .when(f.col("at_place") > 1, f.concat("process", f.lit(" has two events "), "index"))
        .when((f.col("kind") == "send") & (f.col("sends") > 1), f.concat("message", f.lit(" is sent twice")))
        .when((f.col("kind") == "deliver") & (f.col("delivers_here") > 1), f.concat(does, f.lit(" twice")))
        .when(on_message & f.col("senders_differ"), f.concat(f.lit("rows differ in who sends "), "message"))
        .when(on_message & f.col("elsewhere"), f.concat(f.lit("rows differ in who receives "), "message"))
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
            rows = [_with_clock(json_line(row), row) for row in batch.to_pylist()]
            columns = [pa.array(rows, pa.string()), batch["run"], batch["reason"]]
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


def _with_clock(line: str, row: dict[str, Any]) -> str:
    if row["text"] is not None or row.get("clock") is None:
        return line
    return f'{line[:-1]}, "clock": {row["clock"]}}}'


def _further(rows: DataFrame) -> list[str]:
    """The log's columns besides `COLUMNS`."""
    return [name for name in rows.columns if name not in (*COLUMNS, *_CHECK_COLUMNS)]


# -- lines and events --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lines:
    """The processes by number; those whose events may be missing; the evidence; the numbers of rows.

    `multicasts`: true if there is a message to several receivers.
    """

    numbers: dict[str, int]
    processes_with_gaps: set[str]
    holes: list[str]
    judged: int
    quarantined: int
    multicasts: bool


def _lines(checked_rows: DataFrame) -> _Lines:
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
        f.count_if(sends & f.col("peer").contains(PEER_SEPARATOR)).alias("multicasts"),
        f.collect_set(f.when(sends, f.col("peer"))).alias("peers"),
    )
    rows = by_process.collect()
    lines = {row["process"]: row for row in rows if row["n"]}
    names = sorted({*lines, *(peer for row in rows for peer in row["peers"])})
    first = 1 if min((row["a"] for row in lines.values()), default=0) == 1 else 0
    missing = {name: row["z"] - first + 1 - row["n"] for name, row in sorted(lines.items())}
    processes_with_gaps = {name for name, lost in missing.items() if lost}
    holes = [
        f"{name}: {lost:,} {'event is' if lost == 1 else 'events are'} missing"
        for name, lost in missing.items()
        if lost
    ]
    with_unusable_rows: set[str | None] = set()
    for row in rows:
        if row["process"] is None and row["unreadable"]:
            with_unusable_rows |= _processes_of_texts(checked_rows)
        if row["unusable"] > (row["unreadable"] if row["process"] is None else 0):
            with_unusable_rows.add(row["process"] if _is_name(row["process"]) else None)
    processes_with_gaps |= (
        set(names) if None in with_unusable_rows else {name for name in with_unusable_rows if name is not None}
    )
    holes += [
        f"{name or 'any process'}: rows of it are in quarantine"
        for name in sorted(with_unusable_rows, key=lambda name: name or "")
    ]
    messages_of_nobody = sum(row["messages_of_nobody"] for row in rows)
    for row in sorted(lines.values(), key=lambda row: str(row["process"])):
        if row["unsent"]:
            some = "a message whose send is" if row["unsent"] == 1 else f"{row['unsent']:,} messages whose sends are"
            holes.append(f"{row['process']} delivers {some} not in the log")
        processes_with_gaps |= set(row["senders"])
    # A process that delivers its own message has sent it earlier on its line, so not past the end of it.
    processes_with_gaps |= {
        name for name in names if messages_of_nobody > (lines[name]["of_nobody"] if name in lines else 0)
    }
    judged = sum(row["n"] for row in rows)
    return _Lines(
        {name: k for k, name in enumerate(names)}, processes_with_gaps, holes, judged,
        sum(row["rows"] for row in rows) - judged, any(row["multicasts"] for row in rows),
    )  # fmt: skip


def _is_name(name: str | None) -> bool:
    return name is not None and name != "" and name.isprintable()


def _processes_of_texts(checked_rows: DataFrame) -> set[str | None]:
    """The processes of rows that could not be read as columns; None if one may belong to any process."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            names = {process_of(text) for text in batch["text"].to_pylist()}
            yield pa.RecordBatch.from_arrays([pa.array(list(names), pa.string())], names=["process"])

    texts = checked_rows.where("text IS NOT NULL AND process IS NULL").select("text")
    return {row["process"] for row in texts.mapInArrow(read, "process string").distinct().collect()}


def _messages(checked_rows: DataFrame, lines: _Lines) -> DataFrame:
    """The messages that were certainly sent, by number of process and place on its line: message, p, s, q, r.

    Each goes from the s-th event of process p to the r-th of q (null if not delivered). The events just before it:
    `before`, the send of the message that q delivers just before; `earlier`, the last delivery of a message that p sent
    before. `behind_lost`: the message is delivered, and an earlier one of p is not.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    number = f.create_map(*(f.lit(part) for name_number in lines.numbers.items() for part in name_number))
    sends, delivers = f.col("kind") == "send", f.col("kind") == "deliver"
    # A message to a process with missing events may have been delivered in the gap: it does not count as sent.
    certain = f.col("delivered") | ~f.col("peer").isin(sorted(lines.processes_with_gaps))
    walked = checked_rows.where(f.col("reason").isNull()).where((sends & certain) | (delivers & f.col("sent")))
    line = Window.partitionBy("process").orderBy("index")
    place = (f.row_number().over(line) - 1).cast("long").alias("place")
    walked = walked.select(
        "message", sends.alias("sends"), number[f.col("process")].alias("p"), number[f.col("peer")].alias("q"), place
    )
    sent, got = f.col("sends"), ~f.col("sends")
    messages = walked.groupBy("message").agg(
        f.max(f.when(sent, f.col("p"))).alias("p"),
        f.max(f.when(sent, f.col("place"))).alias("s"),
        f.max(f.when(sent, f.col("q"))).alias("q"),
        f.max(f.when(got, f.col("place"))).alias("r"),
    )
    at_receiver = (
        Window.partitionBy("q").orderBy(f.coalesce("r", f.lit(1 << 62))).rowsBetween(Window.unboundedPreceding, -1)
    )
    from_sender = Window.partitionBy("p").orderBy("s").rowsBetween(Window.unboundedPreceding, -1)
    is_there = f.col("r").isNotNull()
    before = f.last(f.when(is_there, f.struct("p", "s")), ignorenulls=True).over(at_receiver)
    earlier = f.last(f.when(is_there, f.struct(f.col("q").alias("p"), f.col("r").alias("s"))), ignorenulls=True)
    lost = f.coalesce(f.sum((~is_there).cast("int")).over(from_sender), f.lit(0))
    return messages.withColumns(
        {"before": before, "earlier": earlier.over(from_sender), "behind_lost": is_there & (lost > 0)}
    )


def _events(messages: DataFrame) -> DataFrame:
    """The events of the messages, as rows of a walk."""
    from pyspark.sql import functions as f

    def event(process: str, place: str, delivers: int, m: str | None, o: str | None) -> Column:
        values = {
            "process": f.col(process), "place": f.col(place), "delivers": f.lit(delivers),
            "p": f.col("p"), "s": f.col("s"), "q": f.col("q"), "r": f.col("r"),
            "m_p": f.col(f"{m}.p") if m else f.lit(None), "m_s": f.col(f"{m}.s") if m else f.lit(None),
            "o_p": f.col(f"{o}.p") if o else f.lit(None), "o_s": f.col(f"{o}.s") if o else f.lit(None),
        }  # fmt: skip
        return f.struct(*(f.coalesce(value, f.lit(-1)).cast("long").alias(name) for name, value in values.items()))

    sent, got = event("p", "s", 0, "before", None), event("q", "r", 1, None, "earlier")
    both = f.when(f.col("r").isNull(), f.array(sent)).otherwise(f.array(sent, got))
    return messages.select(f.explode(both).alias("event")).select("event.*")


# -- the run -----------------------------------------------------------------------------------------------------------


def _decide_run(
    checked_rows: DataFrame, lines: _Lines, run: str, query: Query, most_held: int, stretch: int, report: Progress
) -> OneRunResult:
    from pyspark.sql import functions as f

    def undecided(because: str) -> OneRunResult:
        order_verdicts = [OrderVerdict(order, "unknown", None, because) for order in query.orders]
        return _finished(checked_rows, lines, run, order_verdicts)

    if not lines.judged:
        return undecided("no row of it can be used")
    if lines.multicasts:
        return undecided("a run of multicasts is not decided at this size")
    messages = _messages(checked_rows, lines).persist()
    try:
        unreceived = f.when(f.col("r").isNull(), f.struct("p", "s", "message", "q"))
        behind_unreceived = f.when(f.col("behind_lost"), f.struct("p", "s", "message", "q"))
        report("ordering the events", 0, 0)
        facts = messages.agg(
            (f.count("*") + f.count("r")).alias("events"),
            f.min(unreceived).alias("r"),
            f.min(behind_unreceived).alias("behind"),
        ).collect()[0]
        found = _walked(messages, len(lines.numbers), facts["events"], query, most_held, stretch, report)
        report("looking up witnesses", facts["events"], facts["events"])
        names = sorted(lines.numbers, key=lines.numbers.__getitem__)
        verdicts = _Verdicts(found, _at_places(messages, found), facts["r"], facts["behind"], names, query, lines)
    finally:
        messages.unpersist()
    if found.get(_TIMES):
        cyclic = f"the log is cyclic: {verdicts.describe_cycle(found[_TIMES])}"
        checked_rows = checked_rows.withColumn("reason", f.coalesce("reason", f.lit(cyclic)))
        none = _Lines(lines.numbers, lines.processes_with_gaps, lines.holes, 0, lines.judged + lines.quarantined, False)
        order_verdicts = [OrderVerdict(order, "unknown", None, cyclic) for order in query.orders]
        return _finished(checked_rows, none, run, order_verdicts, found["held"][0])
    return _finished(
        checked_rows, lines, run, [verdicts.order_verdict(order) for order in query.orders], found["held"][0]
    )


def _finished(
    checked_rows: DataFrame, lines: _Lines, run: str, order_verdicts: Sequence[OrderVerdict], most_held: int = 0
) -> OneRunResult:
    rows: list[tuple[str | int | None, ...]] = [
        (VERDICT, run, order, verdict, witness, because, None, None)
        for order, verdict, witness, because in order_verdicts
    ]
    rows += [(HOLE, run, None, None, None, hole, None, None) for hole in lines.holes]
    rows.append((JUDGED, run, None, None, None, None, None, lines.judged))
    records = checked_rows.sparkSession.createDataFrame(rows, RECORD_SCHEMA)
    if lines.quarantined:
        # The checked rows are not held any longer than this takes.
        records = records.unionByName(quarantined(checked_rows)).localCheckpoint()
    return OneRunResult(
        lines.judged + lines.quarantined, records, tuple(order_verdicts), lines.judged + lines.quarantined,
        lines.judged, lines.quarantined, most_held,
    )  # fmt: skip


# -- the walk, in one task ---------------------------------------------------------------------------------------------

_WALKED = "what string, numbers array<long>"
_TIMES, _MAILBOX, _ONE_N, _SYNCHRONOUS = "times", "mailbox", "one-n", "synchronous"
_Found = dict[str, list[int]]


def _walked(
    messages: DataFrame, n: int, count: int, query: Query, most_held: int, stretch: int, report: Progress
) -> _Found:
    """The findings of the walks, by name; a walk that was given up is absent."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    walks = [name for name in (_MAILBOX, _ONE_N, _SYNCHRONOUS) if name in query.orders or "n-n" in query.orders]
    doing = "walking along the lines"
    report(doing, 0, count)
    with _receive_progress(
        messages.sparkSession, lambda walked: report(doing, walked, count), report is not _no_progress
    ) as progress_address:

        def walk(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            with _send_progress(progress_address) as report_walked:
                found = _walk(map(_columns, batches), n, walks, most_held, stretch, report_walked)
            columns = [pa.array(list(found), pa.string()), pa.array(list(found.values()), pa.list_(pa.int64()))]
            yield pa.RecordBatch.from_arrays(columns, names=["what", "numbers"])

        # All lines advance at about the same pace, so that few events are held: sorted by the fraction of the line
        # walked.
        share = (f.col("place") / f.count("*").over(Window.partitionBy("process"))).alias("share")
        in_turn = _events(messages).select("*", share).orderBy("share", "process", "place").drop("share")
        rows = in_turn.coalesce(1).mapInArrow(walk, _WALKED).collect()
    # Without events there is no task, hence no findings.
    found = {row["what"]: list(row["numbers"]) for row in rows}
    return found or {name: [] for name in (_TIMES, "fifo", "causal", *walks)} | {"held": [0]}


#: The address for the task's progress: host, port, and a secret that begins each datagram.
_ProgressAddress = tuple[str, int, bytes]


@contextmanager
def _receive_progress(
    spark: SparkSession, on_progress: Callable[[int], None], wanted: bool
) -> Iterator[_ProgressAddress | None]:
    """Receives the progress of the task, wherever it runs. A lost datagram does not matter: later ones follow."""
    host = spark.conf.get("spark.driver.host", None) if wanted else None
    try:
        here = None if host is None else _bound(host)
    except OSError:
        here = None
    if host is None or here is None:
        yield None
        return
    with here:
        here.settimeout(0.2)
        word, done = secrets.token_bytes(16), Event()

        def listen() -> None:
            while not done.is_set():
                with suppress(TimeoutError):
                    datagram = here.recv(64)
                    if datagram.startswith(word):
                        on_progress(int.from_bytes(datagram[len(word) :], "big"))

        thread = Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield host, here.getsockname()[1], word
        finally:
            done.set()
            thread.join()


def _bound(host: str) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)[0]
    here = socket.socket(family, socket.SOCK_DGRAM)
    try:
        here.bind(address)
    except OSError:
        here.close()
        raise
    return here


@contextmanager
def _send_progress(progress_address: _ProgressAddress | None) -> Iterator[Callable[[int], None]]:
    if progress_address is None:
        yield lambda walked: None
        return
    host, port, word = progress_address
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as there:

        def report(walked: int) -> None:
            with suppress(OSError):
                there.sendto(word + walked.to_bytes(8, "big"), address)

        yield report


def _columns(batch: pa.RecordBatch) -> np.ndarray[Any, Any]:
    return np.stack([column.to_numpy() for column in batch.columns], axis=1)


def _walk(
    batches: Iterator[np.ndarray[Any, Any]],
    n: int,
    walks: Sequence[str],
    most_held: int,
    stretch: int,
    report: Callable[[int], None] = lambda walked: None,
) -> _Found:
    open_walks: dict[str, Walk] = {_TIMES: TimedWalk(n), **{name: Walk(n) for name in walks}}
    found: _Found = {}
    most = walked = 0

    def feed(rows: np.ndarray[Any, Any]) -> None:
        nonlocal most, walked
        for name, walk in list(open_walks.items()):
            walk.feed(_as_walked(name, rows))
            most = max(most, walk.most_held)
            if walk.cycle:
                twice = 2 if name == _ONE_N else 1
                found[name] = [number for p, at in walk.cycle for number in (p, at // twice)]
            elif isinstance(walk, TimedWalk) and walk.in_flight > most_held:
                pass
            elif len(walk.held) <= most_held:
                continue
            del open_walks[name]
        walked += len(rows)
        report(walked)

    held: list[np.ndarray[Any, Any]] = []
    waiting = 0
    for rows in batches:
        held.append(rows)
        waiting += len(rows)
        if waiting >= stretch:
            feed(np.concatenate(held))
            held, waiting = [], 0
    if held:
        feed(np.concatenate(held))
    for name, walk in open_walks.items():
        assert walk.finished(), f"{name}: a line waits for a missing event"
        found[name] = []
        if isinstance(walk, TimedWalk):
            found |= {"fifo": list(walk.fifo or ())} | {"causal": list(walk.causal or ())}
    return {**found, "held": [most]}


#: The columns of the events as they come from Spark.
_P, _AT, _DELIVERS, _S_P, _S_AT, _R_P, _R_AT, _M_P, _M_AT, _O_P, _O_AT = range(11)


def _as_walked(walk: str, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The events, each with the event that it waits for in that walk."""
    delivers = rows[:, _DELIVERS] == 1
    waits_p, waits_at = np.where(delivers, rows[:, _S_P], -1), rows[:, _S_AT].copy()
    if walk == _MAILBOX:
        waits_p = np.where(delivers, waits_p, rows[:, _M_P])
        waits_at = np.where(delivers, waits_at, rows[:, _M_AT])
    if walk == _SYNCHRONOUS:
        before = rows[:, _R_AT] - 1
        own = (rows[:, _R_P] == rows[:, _S_P]) & (before == rows[:, _S_AT])
        waits_p = np.where(delivers, waits_p, np.where((before < 0) | own, -1, rows[:, _R_P]))
        waits_at = np.where(delivers, waits_at, before)
    walked = np.stack(
        [rows[:, _P], rows[:, _AT], waits_p, waits_at, delivers, rows[:, _S_P], rows[:, _S_AT], rows[:, _R_P]], axis=1
    ).astype(np.int64)
    if walk != _ONE_N:
        return walked
    # A deliver waits for two events: it is walked as two, one after the other.
    again = walked.copy()
    again[:, 2], again[:, 3] = np.where(delivers, rows[:, _O_P], -1), rows[:, _O_AT]
    walked[:, 1] *= 2
    again[:, 1] = 2 * again[:, 1] + 1
    both = np.concatenate([walked, again])
    both[:, 3] = 2 * both[:, 3] + 1
    return both


# -- verdicts and witnesses --------------------------------------------------------------------------------------------

#: The place of an event: the number of its process, and its index among the walked events.
_Place = tuple[int, int]


def _places(found: _Found) -> set[_Place]:
    """The places of the events named in witnesses."""
    places: set[_Place] = set()
    for name in (_TIMES, _MAILBOX, _ONE_N, _SYNCHRONOUS):
        cycle = found.get(name, [])
        places |= set(zip(cycle[::2], cycle[1::2], strict=True))
    for name in ("fifo", "causal"):
        if found.get(name):
            l, place, by, sent_at, _ = found[name]
            places |= {(l, place), (by, sent_at)}
    cycle = found.get(_SYNCHRONOUS, [])
    return places | ({_after(cycle)} if len(cycle) == 2 else set())


def _after(cycle: list[int]) -> _Place:
    return cycle[0], cycle[1] + 1


@dataclass(frozen=True)
class _WitnessEvent:
    sends: bool
    message: str
    delivered: bool


def _at_places(messages: DataFrame, found: _Found) -> dict[_Place, _WitnessEvent]:
    """The events named in witnesses."""
    places = _places(found)
    if not places:
        return {}
    some = ", ".join(f"({p}L, {at}L)" for p, at in sorted(places))
    rows = messages.where(f"(bigint(p), s) IN ({some}) OR (bigint(q), r) IN ({some})").collect()
    events = {(row["p"], row["s"]): _WitnessEvent(True, row["message"], row["r"] is not None) for row in rows}
    return events | {
        (row["q"], row["r"]): _WitnessEvent(False, row["message"], True) for row in rows if row["r"] is not None
    }


_Outcome = tuple[str, dict[str, Any] | None, str | None]


@dataclass
class _Verdicts:
    found: _Found
    events: dict[_Place, _WitnessEvent]
    #: The first unreceived message, and the first received one that its process sent after an unreceived one.
    unreceived: Any
    behind_unreceived: Any
    names: Sequence[str]
    query: Query
    lines: _Lines

    def order_verdict(self, order: str) -> OrderVerdict:
        outcome, witness, because = self._outcome(order)
        if outcome == "kept" and self.lines.holes:
            outcome, because = "unknown", _HOLES
        as_json = None if witness is None else json.dumps(witness, ensure_ascii=False)
        return OrderVerdict(order, outcome, as_json, because)

    def _outcome(self, order: str) -> _Outcome:
        if order == "asynchronous":
            return ("kept", None, None) if _TIMES in self.found else self._not_decided()
        if order in ("fifo", "causal"):
            return self._overtaking(order)
        causal = self._overtaking("causal")
        if causal[0] == "broken":
            return causal
        if order == "n-n":
            return self._n_n()
        if self.unreceived is not None and order != "mailbox":
            if self.query.reading == "pending":
                return "unknown", None, "not decided at this size while messages may still be received"
            if order == "synchronous":
                return "broken", {"kind": "unreceived", **self._message(self.unreceived)}, None
            if self.behind_unreceived is not None:
                return "broken", {"kind": "behind an unreceived one", **self._message(self.behind_unreceived)}, None
        if order not in self.found:
            return self._not_decided()
        cycle = self.found[order]
        if not cycle:
            return ("kept", None, None) if causal[0] == "kept" else causal
        if order == _SYNCHRONOUS:
            return "broken", self._crown(cycle), None
        return "broken", {"kind": "cycle", "cycle": self.describe_cycle(cycle)}, None

    def _n_n(self) -> _Outcome:
        """The verdict on n-n, which lies between synchronous order and both mailbox and one-n."""
        if self._outcome("synchronous")[0] == "kept":
            return "kept", None, None
        for weaker in ("mailbox", "one-n"):
            outcome = self._outcome(weaker)
            if outcome[0] == "broken":
                return outcome
        return "unknown", None, "not decided at this size unless other orders settle it"

    def _not_decided(self) -> _Outcome:
        return "unknown", None, "given up: too many events were waiting for others, or too many messages in flight"

    def _overtaking(self, order: str) -> _Outcome:
        if order not in self.found:
            return self._not_decided()
        if not self.found[order]:
            return "kept", None, None
        l, place, by, sent_at, q = self.found[order]
        first, second = self.events[l, place], self.events[by, sent_at]
        witness = {
            "kind": "overtaking",
            "first": first.message,
            "second": second.message,
            "receiver": self.names[q],
            "first_received": first.delivered,
        }
        return "broken", witness, None

    def _crown(self, cycle: list[int]) -> dict[str, Any]:
        """The crown of a cycle of waiting lines.

        Each message has an event before one of the next message on some line, so its send is before that one's receive.
        """
        round_ = list(zip(cycle[::2], cycle[1::2], strict=True))
        if len(round_) == 1:
            # A message to oneself, which waits for the events between its send and its receive.
            round_.append(_after(cycle))
        # A line waits for the next one to move: the event of the next one comes first.
        messages = [self.events[place].message for place in reversed(round_)]
        return {"kind": "crown", "messages": [name for k, name in enumerate(messages) if name != messages[k - 1]]}

    def describe_cycle(self, cycle: list[int]) -> str:
        events = []
        for p, at in zip(cycle[::2], cycle[1::2], strict=True):
            event = self.events[p, at]
            events.append(f"{self.names[p]} {'sends' if event.sends else 'receives'} {event.message}")
        return " waits for ".join([*events, events[0]])

    def _message(self, row: Any) -> dict[str, Any]:
        return {"message": row["message"], "receiver": self.names[row["q"]]}
