"""`crownless classify --engine spark --live`: event logs that are still being written."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic as time_now
from time import sleep
from typing import TYPE_CHECKING, Any

from crownless.model_check.limits import Limits
from crownless.model_check.stopping import deferred
from crownless.pipeline.logs.answers import HOLE, JUDGED, QUARANTINE, VERDICT
from crownless.pipeline.logs.live import DELAY, LATER, PATIENCE, WITHDRAWN, judge_live, read_live, stop
from crownless.pipeline.session import session, told_in_a_line
from crownless.spec.orders import UnreceivedPolicy

from .endings import say
from .output import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, print_json, print_line, status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: How often is looked for new files, and for runs that have ended: in seconds, and in this part of the patience.
EVERY, OF_THE_PATIENCE = 5.0, 5
#: How often is looked for an interrupt.
LOOKED_FOR = 0.2
PARTITIONS_A_PROCESSOR = 2


class _Standing:
    """The rows reported, batch by batch, and which verdicts stand."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self._report = report
        self._verdicts: dict[tuple[str | None, str | None], str] = {}
        self._odd = False

    def take(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            about, key = row["about"], (row["run"], row["order"])
            if about == VERDICT:
                self._verdicts[key] = row["verdict"]
            elif about == WITHDRAWN:
                self._verdicts.pop(key, None)
            elif about in (QUARANTINE, HOLE):
                self._odd = True
            if about != JUDGED:
                self._report(row)

    @property
    def exit_code(self) -> int:
        outcomes = set(self._verdicts.values())
        if "broken" in outcomes:
            return EXIT_VIOLATED
        return EXIT_UNKNOWN if "unknown" in outcomes or self._odd or not outcomes else EXIT_HOLDS


def classify_live(
    folder: str,
    *,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    master: str | None = None,
    out: str | None = None,
    checkpoint: str | None = None,
    patience: float = PATIENCE,
    time: str | None = None,
    delay: float = DELAY,
    limits: Limits | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Reports what is known of the runs in a folder as files are put into it, until it is interrupted; the exit code.

    `out`: a folder to which all reported rows are added, as Parquet. `checkpoint`: a folder from which another call
    goes on where this one ended. The rest is as of `judge_live`.
    """
    limits = limits or Limits()
    with ExitStack() as stack:
        with status(quiet) as line:
            if line is not None:
                line.update("starting Spark")
            # Each partition has a store of its own, and looks after it with each batch.
            partitions = str(PARTITIONS_A_PROCESSOR * (os.cpu_count() or 1))
            spark = session(master, spark_sql_shuffle_partitions=partitions)
        stack.enter_context(told_in_a_line())
        events = read_live(spark, folder)
        verdicts = judge_live(events, orders, reading, patience=patience, time=time, delay=delay)
        standing = _Standing(_print_json if as_json else _print)

        def keep(batch: DataFrame, _: int) -> None:
            rows = batch.persist()
            if out is not None:
                rows.write.mode("append").parquet(out)
            standing.take([row.asDict() for row in rows.orderBy("run", "about", "order").toLocalIterator()])
            rows.unpersist()

        where = checkpoint or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="crownless-", ignore_cleanup_errors=True)
        )
        seconds = min(EVERY, patience / OF_THE_PATIENCE)
        stream = verdicts.writeStream.foreachBatch(keep).option("checkpointLocation", where)
        query = stream.trigger(processingTime=f"{int(1000 * seconds)} milliseconds").start()
        if not quiet:
            say(f"judging what is put into {folder}; Ctrl-C ends it")
        began = time_now()
        # An interrupt that is raised in the midst of a talk with Java would break it off.
        with deferred() as asked_to_end:
            while query.isActive and not asked_to_end() and not limits.reached(time_now() - began):
                sleep(LOOKED_FOR)
            stop(query)
        failed = query.exception()
        if failed is not None:
            raise failed
    return standing.exit_code


def _print_json(row: dict[str, Any]) -> None:
    facts = {name: value for name, value in row.items() if value is not None}
    if "witness" in facts:
        facts["witness"] = json.loads(facts["witness"])
    print_json({"update": facts}, indent=None)


def _print(row: dict[str, Any]) -> None:
    run = f"run {row['run']}: " if row["run"] else ""
    because = f": {row['because']}" if row["because"] else ""
    if row["about"] == VERDICT:
        said = f"{row['order']} {row['verdict']}{because}"
    elif row["about"] == WITHDRAWN:
        said = f"{row['order']}: withdrawn{because}"
    elif row["about"] == LATER:
        said = f"{row['order']}: reported when the run has ended{because}"
    elif row["about"] == QUARANTINE:
        said = f"quarantine{because}: {row['row']}"
    else:
        said = f"{row['about']}{because}"
    print_line(f"{run}{said}")
