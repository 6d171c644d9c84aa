"""Causal order of logs that carry vector clocks: decided row by row, for runs of any size.

[SES] Proposition 2: causal order is violated iff some message is stale: its vector time is below the local time at its
delivery (`spec.clocks`). Both times are in the log: that of the send, and that of the event before the deliver. So no
walk is needed, and a run may be of any size. One case is added to the text, whose messages all arrive: a message that
is never delivered is overtaken iff its receiver learns of it.

The clocks are not trusted. Each is compared, row by row, with the one before on its line and with that of the message.
A further row-by-row check is that no message knows of later events of its receiver: then every clock is below those of
the events after it, and the log has no cycle. The verdict is unknown if a clock does not follow, or the log has a hole
or an unusable row (`checked_rows`), since staleness rests on the clocks before. It is unknown too for messages to
several receivers, and for messages to oneself, which the text does not have (they are stale by definition).

Of the other orders, clocks show only that FIFO order is kept where causal order is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crownless.model_check.logs.columns import COLUMNS, PEER_SEPARATOR
from crownless.model_check.logs.reasons import ByClock
from crownless.spec.errors import BadInput

from .checked_rows import SMALL, checked, json_of, quarantined
from .judging import LogResult, is_parquet
from .records import HOLE, JUDGED, RECORD_SCHEMA, VERDICT
from .rows import PLAIN, UNKNOWN_RUN, plain, plain_line, plain_lines, plain_types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

#: The orders that clocks can decide.
BY_CLOCKS = ("fifo", "causal")

#: Entries of clocks are less than this, so that their successors fit into a column.
_ENTRIES_BELOW = 1 << 62
_FIFO_UNDECIDED = "clocks show that FIFO order is kept only where causal order is"


def judge_by_clocks(events: DataFrame, processes: Sequence[str] = (), orders: Sequence[str] = ()) -> LogResult:
    """Judges every run of these events by their clocks: causal and FIFO order, unless one of them is named.

    `events` has a column `clock`, an array: the number of events of each process, in the order of `processes`, known
    after the event, itself included. By default the processes are all those named in the log, P2 before P10. The
    witness names a stale message. Raises `BadInput` if the columns are not those of a log with clocks, or for any other
    order.
    """
    for order in orders:
        if order not in BY_CLOCKS:
            raise BadInput(f"clocks do not decide {order} order", hint=f"request {' or '.join(BY_CLOCKS)}")
    if len(set(processes)) < len(processes):
        raise BadInput("a process of the clocks is named twice", hint="name each once, in the order of the clocks")
    requested = [order for order in BY_CLOCKS if not orders or order in orders]
    rows = _with_clocks(events).persist()
    checked_rows: DataFrame | None = None
    by_line: DataFrame | None = None
    try:
        facts = _facts(rows)
        names = list(processes) or facts["names"]
        one = rows.coalesce(1) if facts["rows"] <= SMALL else rows
        checked_rows = checked(one, _row_problem(names)).persist()
        by_line = _by_line(checked_rows, names).persist()
        parts = (
            _verdicts(checked_rows, by_line, requested, facts["unattributed"]),
            _holes(by_line),
            _judged(by_line),
            quarantined(checked_rows),
        )
        records = parts[0]
        for part in parts[1:]:
            records = records.unionByName(part)
        # The checked rows are unpersisted right after this.
        return LogResult(facts["rows"], records.localCheckpoint())
    finally:
        for held in (by_line, checked_rows, rows):
            if held is not None:
                held.unpersist()


# -- rows with clocks --------------------------------------------------------------------------------------------------


def read_with_clocks(spark: SparkSession, path: str) -> DataFrame:
    """The events of a Parquet dataset, or of JSON Lines, with their clocks (null where there is none)."""
    from pyspark.sql import functions as f

    if is_parquet(path):
        return spark.read.parquet(path)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            lines = [line for line in batch["value"].to_pylist() if line.strip()]
            rows = [plain_line(line) for line in lines]
            columns = [pa.array([row[k] for row in rows], kind) for k, kind in enumerate(plain_types())]
            clocks = [None if row[-1] is not None else _clock(line) for line, row in zip(lines, rows, strict=True)]
            columns.append(pa.array(clocks, pa.list_(pa.int64())))
            yield pa.RecordBatch.from_arrays(columns, names=[*COLUMNS, "clock"])

    lines = spark.read.text(path)
    mark = plain_lines(lines).schema["text"].metadata
    found = lines.select(f.col("value").cast("binary").alias("value"))
    found = found.mapInArrow(read, f"{PLAIN}, clock array<long>")
    return found.withColumn("text", f.col("text").alias("text", metadata=mark))


def _clock(line: bytes) -> list[int] | None:
    clock = json.loads(line).get("clock")
    whole = isinstance(clock, list) and all(type(entry) is int and abs(entry) < _ENTRIES_BELOW for entry in clock)
    return clock if whole else None


def _with_clocks(events: DataFrame) -> DataFrame:
    """Plain rows (see `rows`), and their clocks."""
    from pyspark.sql import functions as f

    types = dict(events.dtypes)
    if types.get("clock") not in ("array<bigint>", "array<int>"):
        raise BadInput("the events have no column 'clock' of whole numbers", hint="give vector clocks as arrays")
    mark = plain(events).schema["text"].metadata
    clock = f.col("clock").cast("array<bigint>").alias("clock")
    if "text" in types and events.schema["text"].metadata == mark:
        return events.select(*COLUMNS, clock)
    text = {name: f.col(f"`{name}`").cast("string") for name in COLUMNS[:-1] if name in types}
    if types["peer"] == "array<string>":
        text["peer"] = f.array_join(f.transform("peer", lambda name: f.coalesce(name, f.lit(""))), PEER_SEPARATOR)
    columns = {
        **text,
        "run": f.coalesce(text.get("run", f.lit("")), f.lit("")),
        "index": f.col("`index`").cast("long"),
        "text": f.lit(None).cast("string"),
    }
    return events.select(*(columns[name].alias(name) for name in COLUMNS), clock)


def _facts(rows: DataFrame) -> dict[str, Any]:
    """The number of rows, all processes, and `unattributed`: true if a row names no run, and the log has only one."""
    from pyspark.sql import functions as f

    run = f.when(f.col("run") != UNKNOWN_RUN, f.col("run"))
    peers = f.when(f.col("kind") == "send", f.split("peer", PEER_SEPARATOR))
    found = rows.agg(
        f.count("*").alias("rows"),
        f.count_if(f.col("run") == UNKNOWN_RUN).alias("of_no_run"),
        (f.min(run) == f.max(run)).alias("one_run"),
        f.collect_set("process").alias("processes"),
        f.flatten(f.collect_set(peers)).alias("peers"),
    ).collect()[0]
    names = {name for name in (*found["processes"], *found["peers"]) if name and name.isprintable()}
    unattributed = bool(found["of_no_run"] and found["one_run"])
    return {"rows": found["rows"], "names": sorted(names, key=_natural), "unattributed": unattributed}


def _natural(name: str) -> tuple[list[object], str]:
    """A sort key by which P2 comes before P10."""
    parts = re.split("([0-9]+)", name)
    return [int(part) if k % 2 else part for k, part in enumerate(parts)], name


def _row_problem(processes: Sequence[str]) -> Column:
    """The reason why a row's clock or names are invalid, as JSON; null if they are valid."""
    from pyspark.sql import functions as f

    there = list(processes)
    right = (f.size("clock") == len(there)) & f.forall("clock", lambda entry: f.coalesce(entry >= 0, f.lit(False)))
    named = (f.col("kind") != "internal") & f.col("peer").isNotNull()
    problem = (
        f.when(~f.col("process").isin(there), "'process' is none of the clocks' processes")
        .when(
            named & f.exists(f.split("peer", PEER_SEPARATOR), lambda name: ~name.isin(there)), "'peer' is none of them"
        )
        .when(~f.coalesce(right, f.lit(False)), f"'clock' has not one count for each of {len(there)} processes")
    )
    return f.when(problem.isNotNull(), json_of(ByClock, problem=problem))


# -- lines, and runs ---------------------------------------------------------------------------------------------------


def _by_line(checked_rows: DataFrame, processes: Sequence[str]) -> DataFrame:
    """A row for each line of each run: facts about its events and its clocks."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    used = f.col("reason").isNull()
    sends, delivers = used & (f.col("kind") == "send"), used & (f.col("kind") == "deliver")
    line = Window.partitionBy("run", "process", used).orderBy("index")
    of = Window.partitionBy("run", "message_key")
    names = f.array(*(f.lit(name) for name in processes))
    zeros = f.array(*(f.lit(0).cast("long") for _ in processes))
    rows = checked_rows.withColumns(
        {
            "stamp": f.first(f.when(sends, f.col("clock")), ignorenulls=True).over(of),
            "p": (f.array_position(names, f.col("process")) - 1).cast("int"),
        }
    ).withColumn("before", f.coalesce(f.lag("clock").over(line), zeros))
    follows = f.expr(
        """CASE WHEN kind = 'deliver'
            THEN transform(before, (x, i) -> IF(i = p, x + 1, greatest(x, stamp[cast(i AS int)])))
            ELSE transform(before, (x, i) -> IF(i = p, x + 1, x)) END"""
    )
    lost = delivers & ~f.col("sent")
    from_later = delivers & f.expr("stamp[p] > before[p]")
    wrong = used & ~lost & f.coalesce((f.col("clock") != follows) | from_later, f.lit(True))
    late = delivers & ~lost & f.expr("forall(sequence(0, size(before) - 1), i -> before[i] >= stamp[i])")
    first = f.min("a").over(Window.partitionBy("run"))
    lines = rows.groupBy("run", "process").agg(
        f.count_if(used).alias("n"),
        f.min(f.when(used, f.col("index"))).alias("a"),
        f.max(f.when(used, f.col("index"))).alias("z"),
        f.count_if(~used & ~f.col("copy")).alias("unusable"),
        f.count_if(lost).alias("lost"),
        f.min(f.when(wrong, f.col("index"))).alias("wrong_at"),
        f.count_if(sends & f.col("peer").contains(PEER_SEPARATOR)).alias("to_several"),
        f.count_if(sends & (f.col("peer") == f.col("process"))).alias("to_self"),
        f.min(f.when(late, f.struct("message", f.col("process").alias("receiver")))).alias("late"),
        f.max_by(f.when(used, f.col("clock")), f.when(used, f.col("index"))).alias("last"),
    )
    missing = f.col("z") - f.col("n") + f.when(first == 1, 0).otherwise(1)
    return lines.withColumn("missing", f.coalesce(missing, f.lit(0)))


def _verdicts(checked_rows: DataFrame, by_line: DataFrame, orders: Sequence[str], unattributed: bool) -> DataFrame:
    from pyspark.sql import functions as f

    by_run = (
        by_line.where(f.col("run") != UNKNOWN_RUN)
        .groupBy("run")
        .agg(
            *(f.sum(name).alias(name) for name in ("n", "unusable", "missing", "lost", "to_several", "to_self")),
            f.count("wrong_at").alias("wrong"),
            f.min("late").alias("late"),
        )
    )
    never = checked_rows.where("reason IS NULL AND kind = 'send' AND NOT coalesce(delivered, false)")
    never = never.select("run", "message", f.col("peer").alias("receiver"), f.col("clock").alias("stamp"))
    known = never.join(by_line.select("run", f.col("process").alias("receiver"), "last"), ["run", "receiver"])
    known = known.where("forall(sequence(0, size(last) - 1), i -> last[i] >= stamp[i])")
    never_late = known.groupBy("run").agg(f.min(f.struct("message", "receiver")).alias("never"))
    because = (
        f.when(f.col("n") == 0, "no row of it can be used")
        .when((f.col("unusable") > 0) | f.lit(unattributed), "rows of it are in quarantine")
        .when(f.col("missing") > 0, "events of it are missing")
        .when(f.col("lost") > 0, "a send is not in the log")
        .when(f.col("wrong") > 0, "a clock does not follow from those before it")
        .when(f.col("to_several") > 0, "messages to several receivers are not decided by clocks")
        .when(f.col("to_self") > 0, "messages to oneself are not decided by clocks")
    )
    found = by_run.join(never_late, "run", "left").withColumns(
        {"because": because, "found": f.coalesce("late", "never")}
    )
    broken = f.col("because").isNull() & f.col("found").isNotNull()
    witness = f.to_json(f.struct(f.lit("late").alias("kind"), "found.message", "found.receiver"))
    unknown = f.when(f.col("because").isNotNull(), "unknown")
    of = {
        "fifo": (
            unknown.when(broken, "unknown"),
            f.lit(None),
            f.when(broken, _FIFO_UNDECIDED).otherwise(f.col("because")),
        ),
        "causal": (unknown.when(broken, "broken"), f.when(broken, witness), f.col("because")),
    }
    verdicts = f.array(
        *(
            f.struct(
                f.lit(order).alias("order"),
                of[order][0].otherwise("kept").alias("verdict"),
                of[order][1].cast("string").alias("witness"),
                of[order][2].alias("because"),
            )
            for order in orders
        )
    )
    return _as_records(found.select("run", f.explode(verdicts).alias("of")).select("run", "of.*"), VERDICT)


def _holes(by_line: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    name = f.coalesce("process", f.lit("any process"))
    holes = f.array(
        f.when(f.col("missing") > 0, f.concat(name, f.lit(": events missing: "), "missing")),
        f.when(f.col("unusable") > 0, f.concat(name, f.lit(": rows of it are in quarantine"))),
        f.when(f.col("lost") > 0, f.concat(name, f.lit(" delivers messages whose sends are not in the log: "), "lost")),
    )
    run = f.when(f.col("run") != UNKNOWN_RUN, f.col("run")).alias("run")
    return _as_records(by_line.select(run, f.explode(f.array_compact(holes)).alias("because")), HOLE)


def _judged(by_line: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return _as_records(by_line.agg(f.coalesce(f.sum("n"), f.lit(0)).alias("rows")), JUDGED)


def _as_records(rows: DataFrame, record_type: str) -> DataFrame:
    """The columns of `records.RECORD_SCHEMA`; missing ones are null."""
    from pyspark.sql import functions as f

    rows = rows.withColumn("record_type", f.lit(record_type))
    columns = (part.split() for part in RECORD_SCHEMA.split(", "))
    return rows.select(
        *((f.col(name) if name in rows.columns else f.lit(None)).cast(kind).alias(name) for name, kind in columns)
    )
