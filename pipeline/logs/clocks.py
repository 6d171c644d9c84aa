"""Causal order of logs that carry vector clocks: decided row by row, for runs of any size.

[SES] Proposition 2: causal order is violated iff some message is late: its vector time is below the local time where it
arrives (`spec.clocks`). Both times are in the log: that of the send, and that of the event before the deliver. So
nothing need be walked, and a run may be as large as it likes. To that comes what the text, whose messages all arrive,
need not say: a message that is never delivered is overtaken iff its receiver comes to know of it.

The clocks are not trusted. Whether each follows from the one before on its line, and from that of the message, can be
told row by row too; where one does not, or a send is missing, the verdict is unknown. So it is with messages to
oneself, which the text does not have: they are late by definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crownless.spec.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def causal_by_clocks(events: DataFrame, processes: Sequence[str]) -> DataFrame:
    """run, order, verdict, witness, because: as in `event_logs`, for causal order alone.

    `events` has a column `clock`, an array: how many events of each process, in the order of `processes`, are known
    after the event, itself included. All messages are unicasts. The witness names a late message.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if dict(events.dtypes).get("clock") not in ("array<bigint>", "array<int>"):
        raise BadInput("the events have no column 'clock' of whole numbers", mend="give vector clocks as arrays")
    run = f.coalesce(f.col("run").cast("string"), f.lit("")) if "run" in events.columns else f.lit("")
    names = f.array(*(f.lit(name) for name in processes))
    line = Window.partitionBy("run", "process").orderBy("index")
    nothing = f.array(*(f.lit(0).cast("long") for _ in processes))
    rows = events.select(
        run.alias("run"),
        "process",
        f.col("index").cast("long").alias("index"),
        f.when(f.col("kind") == "receive", "deliver").otherwise(f.col("kind")).alias("kind"),
        f.col("message").cast("string").alias("message"),
        f.col("peer").alias("peer"),
        f.col("clock").cast("array<bigint>").alias("clock"),
        (f.array_position(names, f.col("process")) - 1).cast("long").alias("p"),
    )
    rows = rows.withColumn("before", f.coalesce(f.lag("clock").over(line), nothing))
    sends = rows.where("kind = 'send'").select(
        "run",
        "message",
        f.col("process").alias("sender"),
        f.col("peer").alias("receiver"),
        f.col("clock").alias("stamp"),
    )
    rows = rows.join(sends.withColumn("there", f.lit(True)), ["run", "message"], "left")
    follows = f.expr(
        """CASE WHEN kind = 'deliver'
            THEN transform(before, (x, i) -> IF(i = p, x + 1, greatest(x, stamp[cast(i AS int)])))
            ELSE transform(before, (x, i) -> IF(i = p, x + 1, x)) END"""
    )
    deliver = f.col("kind") == "deliver"
    late = deliver & f.expr("forall(sequence(0, size(before) - 1), i -> before[i] >= stamp[i])")
    rows = rows.withColumns(
        {
            "missing": deliver & f.col("there").isNull(),
            "wrong": f.coalesce(f.col("clock") != follows, f.lit(True)),
            "to_self": (f.col("kind") == "send") & (f.col("peer") == f.col("process")),
            "late": f.coalesce(late, f.lit(False)),
        }
    )
    by_run = rows.groupBy("run").agg(
        f.max("missing").alias("missing"),
        f.max("wrong").alias("wrong"),
        f.max("to_self").alias("to_self"),
        f.min(f.when(f.col("late"), f.struct("message", f.col("process").alias("receiver")))).alias("late"),
    )
    last = rows.groupBy("run", f.col("process").alias("receiver")).agg(f.max_by("clock", "index").alias("last"))
    delivered = rows.where(deliver).select("run", "message").distinct()
    never = sends.join(delivered, ["run", "message"], "left_anti").join(last, ["run", "receiver"])
    known = never.where("forall(sequence(0, size(last) - 1), i -> last[i] >= stamp[i])")
    never_late = known.groupBy("run").agg(f.min(f.struct("message", "receiver")).alias("never"))
    by_run = by_run.join(never_late, "run", "left")
    because = (
        f.when(f.col("missing"), "a send is not in the log")
        .when(f.col("wrong"), "a clock does not follow from those before it")
        .when(f.col("to_self"), "messages to oneself are not decided by clocks")
    )
    witness = f.coalesce("late", "never")
    parts = (f.lit("late").alias("kind"), witness["message"].alias("message"), witness["receiver"].alias("receiver"))
    told = f.to_json(f.struct(*parts))
    verdict = f.when(because.isNotNull(), "unknown").when(witness.isNotNull(), "broken").otherwise("kept")
    return by_run.select(
        "run",
        f.lit("causal").alias("order"),
        verdict.alias("verdict"),
        f.when(verdict == "broken", told).alias("witness"),
        because.alias("because"),
    )
