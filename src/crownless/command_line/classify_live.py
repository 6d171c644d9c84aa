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
from crownless.pipeline.logs.live import IDLE_TIMEOUT, LATER, MAX_LATENESS, WITHDRAWN, judge_live, read_live, stop
from crownless.pipeline.logs.records import HOLE, JUDGED, QUARANTINE, VERDICT
from crownless.pipeline.session import session, spark_errors_as_bad_input
from crownless.spec.orders import UnreceivedPolicy

from .endings import say
from .output import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, print_json, print_line, status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The interval of polls for new files and ended runs: at most this many seconds, and at least this often in an idle
#: timeout.
POLL_INTERVAL, POLLS_A_TIMEOUT = 5.0, 5
#: The interval of checks for an interrupt, in seconds.
INTERRUPT_INTERVAL = 0.2
PARTITIONS_A_PROCESSOR = 2


class _Standing:
    """Prints records, batch by batch, and keeps the verdicts that stand."""

    def __init__(self, print_record: Callable[[dict[str, Any]], None]) -> None:
        self._print = print_record
        self._verdicts: dict[tuple[str | None, str | None], str] = {}
        self._odd = False

    def take(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            record_type, key = row["record_type"], (row["run"], row["order"])
            if record_type == VERDICT:
                self._verdicts[key] = row["verdict"]
            elif record_type == WITHDRAWN:
                self._verdicts.pop(key, None)
            elif record_type in (QUARANTINE, HOLE):
                self._odd = True
            if record_type != JUDGED:
                self._print(row)

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
    idle_timeout: float = IDLE_TIMEOUT,
    event_time: str | None = None,
    max_lateness: float = MAX_LATENESS,
    limits: Limits | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Reports verdicts on the runs in a folder as files are put into it, until interrupted; returns the exit code.

    `out`: a folder to which all records are appended, as Parquet. `checkpoint`: a folder from which a later call
    resumes. The other parameters are those of `judge_live`.
    """
    limits = limits or Limits()
    with ExitStack() as stack:
        with status(quiet) as line:
            if line is not None:
                line.update("starting Spark")
            # Each partition maintains a store of its own in each batch.
            partitions = str(PARTITIONS_A_PROCESSOR * (os.cpu_count() or 1))
            spark = session(master, spark_sql_shuffle_partitions=partitions)
        stack.enter_context(spark_errors_as_bad_input())
        events = read_live(spark, folder)
        records = judge_live(
            events, orders, reading, idle_timeout=idle_timeout, event_time=event_time, max_lateness=max_lateness
        )
        standing = _Standing(_print_json if as_json else _print)

        def keep(batch: DataFrame, _: int) -> None:
            rows = batch.persist()
            if out is not None:
                rows.write.mode("append").parquet(out)
            standing.take([row.asDict() for row in rows.orderBy("run", "record_type", "order").toLocalIterator()])
            rows.unpersist()

        where = checkpoint or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="crownless-", ignore_cleanup_errors=True)
        )
        seconds = min(POLL_INTERVAL, idle_timeout / POLLS_A_TIMEOUT)
        stream = records.writeStream.foreachBatch(keep).option("checkpointLocation", where)
        query = stream.trigger(processingTime=f"{int(1000 * seconds)} milliseconds").start()
        if not quiet:
            say(f"judging what is put into {folder}; Ctrl-C ends it")
        began = time_now()
        # An interrupt raised during a call to Java would break the connection.
        with deferred() as interrupted:
            while query.isActive and not interrupted() and not limits.reached(time_now() - began):
                sleep(INTERRUPT_INTERVAL)
            stop(query)
        failed = query.exception()
        if failed is not None:
            raise failed
    return standing.exit_code


#: The columns whose keys in `--json` are named otherwise.
_JSON_KEYS = {"record_type": "about"}


def _print_json(row: dict[str, Any]) -> None:
    facts = {_JSON_KEYS.get(name, name): value for name, value in row.items() if value is not None}
    if "witness" in facts:
        facts["witness"] = json.loads(facts["witness"])
    print_json({"update": facts}, indent=None)


def _print(row: dict[str, Any]) -> None:
    run = f"run {row['run']}: " if row["run"] else ""
    because = f": {row['because']}" if row["because"] else ""
    if row["record_type"] == VERDICT:
        said = f"{row['order']} {row['verdict']}{because}"
    elif row["record_type"] == WITHDRAWN:
        said = f"{row['order']}: withdrawn{because}"
    elif row["record_type"] == LATER:
        said = f"{row['order']}: reported when the run has ended{because}"
    elif row["record_type"] == QUARANTINE:
        said = f"quarantine{because}: {row['row']}"
    else:
        said = f"{row['record_type']}{because}"
    print_line(f"{run}{said}")
