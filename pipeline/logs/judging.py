"""Verdicts and witnesses for event logs of millions of runs, or of one run that is larger than memory.

The verdicts are those of `crownless classify`, run by run; the tests compare them. Where `classify` rejects a log for
one bad row, that row is left out with the reason (`oracle.log_orders.damaged_runs`).

The rows are packed by bucket of run (`blocks`), so that all rows of a run meet in one task, wherever they are in the
log; there the monitor decides all runs of a bucket at once (`records`). One large run is sorted, and one task feeds it
to the streaming monitor.

On a cluster the executors need crownless too: install its wheel there, or ship it with ``--py-files``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from crownless.oracle.log_orders.damaged_runs import NO_ROW, judge_run, unknown
from crownless.oracle.logs.columns import json_line
from crownless.oracle.logs.lines import process_of, read_row
from crownless.oracle.logs.lost_events import quarantined_rows
from crownless.oracle.logs.named_rows import Named, NamedRows, are_names, by_run
from crownless.oracle.logs.reasons import Copy, UnusableRow
from crownless.oracle.logs.rows import COLUMNS, UNREADABLE
from crownless.runtime.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy

from .blocks import BLOCKS, OF_ANY_RUN, packed, unpacked
from .records import (
    HOLE,
    JUDGED,
    LEFT_OUT,
    RECORD_SCHEMA,
    VERDICT,
    Query,
    Record,
    Witnesses,
    batch_of,
    data_quality_records,
    lines_of,
    of_any_run,
    quarantined,
    record,
    records_of_runs,
    verdict_records,
)
from .sources import PLAIN, UNKNOWN_RUN, Batches, Source, read, source_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LogResult", "judge", "judge_by_clocks", "judge_one_run", "read"]

#: The number of buckets of runs; a task holds one in memory at a time.
BUCKETS = 64
#: The number of events of one run fed to the monitor at once.
STRETCH = 200_000
#: The record of a task that rejects the rows of its run.
REFUSED = "refused"


class Account(NamedTuple):
    """The numbers of rows of a log: total, judged, and left out."""

    rows: int
    judged: int
    left_out: int


@dataclass(frozen=True)
class LogResult:
    """The result for a log; `records` holds all of it (persist or write it to compute it only once)."""

    #: Counts the rows of the log.
    count: Callable[[], int]
    records: DataFrame

    @property
    def verdicts(self) -> DataFrame:
        """run, order, verdict (kept, violated, unknown), witness (JSON, if violated), because (if unknown)."""
        return self._of_type(VERDICT, "run", "order", "verdict", "witness", "because")

    @property
    def left_out(self) -> DataFrame:
        """run (null if the row names none), row (JSON), reason."""
        from pyspark.sql import functions as f

        return self._of_type(LEFT_OUT, "run", "row", f.col("because").alias("reason"))

    @property
    def holes(self) -> DataFrame:
        """run, hole: the evidence that the log has lost events."""
        from pyspark.sql import functions as f

        return self._of_type(HOLE, "run", f.col("because").alias("hole"))

    def _of_type(self, record_type: str, *columns: Any) -> DataFrame:
        return self.records.where(self.records.record_type == record_type).select(*columns)

    def account(self) -> Account:
        """Recounts the rows; raises `AssertionError` unless each was judged or left out."""
        from pyspark.sql import functions as f

        counted = self.records.where(f.col("record_type").isin(JUDGED, LEFT_OUT)).groupBy("record_type")
        sums = {row["record_type"]: int(row["n"]) for row in counted.agg(f.sum("rows").alias("n")).collect()}
        account = Account(self.count(), sums.get(JUDGED, 0), sums.get(LEFT_OUT, 0))
        assert account.rows == account.judged + account.left_out, f"rows were dropped: {account}"
        return account


# -- many runs ---------------------------------------------------------------------------------------------------------


def judge(
    events: Source | DataFrame,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    witnesses: Witnesses = True,
    buckets: int = BUCKETS,
) -> LogResult:
    """Judges every run of a log (`read`), or of a DataFrame of events; all orders unless some are named.

    `witnesses`: of each violation, or with "first" at least that of the first run, by name, that violates each order;
    without them, a log with mostly violating runs takes a fraction of the time. `buckets`: more of them need less
    memory. Raises `BadInput` if the columns are not those of a log.
    """
    source, query = source_of(events), Query.of(orders, reading, witnesses)
    return _by_bucket(source, source.read, lambda rows: records_of_runs(rows, query), buckets)


def judge_by_clocks(
    events: Source | DataFrame,
    processes: Sequence[str] = (),
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
) -> LogResult:
    """Judges every run like `crownless classify --clocks`: its messages are compared with the clocks of its events.

    The column `clock` is an array: the number of events of each process, in the order of `processes`, known after the
    event, itself included; or an object of processes and numbers.
    """
    source, query = source_of(events), Query.of(orders, reading)

    def records(rows: NamedRows) -> Iterator[pa.RecordBatch]:
        torn = of_any_run(rows)
        for run, name in enumerate(rows.named["run"].names.to_pylist()):
            if name == OF_ANY_RUN:
                continue
            lines = lines_of(rows, run)
            found = judge_run(name, lines, query.orders, query.reading, clock_entries=processes, torn=torn)
            verdicts = () if name == UNKNOWN_RUN else found.verdicts
            of_run = [*verdict_records(name, verdicts), *data_quality_records(name, found)]
            yield batch_of([*of_run, record(JUDGED, None, rows=found.judged)])

    return _by_bucket(source, source.with_clocks, records, BUCKETS)


def _by_bucket(
    source: Source,
    tables: Callable[[Batches], Iterator[pa.Table]],
    judged: Callable[[NamedRows], Iterator[pa.RecordBatch]],
    buckets: int,
) -> LogResult:
    """One task's records for the runs of a bucket."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        return packed(tables(batches), buckets, 0 if task is None else task.partitionId())

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for held in _blocks_by_bucket(batches):
            yield from judged(unpacked(held))

    # A partition is sorted, so a bucket's blocks are adjacent, possibly across batches, and in the order of the log.
    blocks = source.frame.mapInArrow(pack, BLOCKS).repartition("bucket")
    blocks = blocks.sortWithinPartitions("bucket", "part", "number").select("bucket", "block")
    return LogResult(source.count, blocks.mapInArrow(answer, RECORD_SCHEMA))


def _blocks_by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.Buffer]]:
    now: int | None = None
    held: list[pa.Buffer] = []
    for batch in batches:
        for bucket, block in zip(batch["bucket"].to_pylist(), batch["block"], strict=True):
            if bucket != now and held:
                yield held
                held = []
            now = bucket
            held.append(block.as_buffer())
    if held:
        yield held


# -- one run -----------------------------------------------------------------------------------------------------------


def judge_one_run(
    events: Source | DataFrame,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    stretch: int = STRETCH,
) -> LogResult:
    """Judges the one run of these events; all orders unless some are named.

    Spark sorts the rows; one task feeds them to the monitor (`oracle.log_orders.large_run`), which holds those that may
    still matter. Copies of rows, and rows that are not events, are left out. Raises `BadInput` if the columns are
    not those of a log, or if the rows are of several runs or contradict each other.
    """
    from pyspark.sql import functions as f

    source, query = source_of(events), Query.of(orders, reading)
    rows = source.plain().mapInArrow(_unusable_as_text, PLAIN).persist()
    try:
        names = f.when(f.col("run") != UNKNOWN_RUN, f.col("run"))
        count, least, most = rows.agg(f.count("*"), f.min(names), f.max(names)).collect()[0]
        if least != most:
            several = f"the events are of several runs, such as {least!r} and {most!r}"
            raise BadInput(several, hint="give the events of one run, or classify all runs separately")
        run = least or ""
        records = [
            quarantined(run if row["run"] == run else None, row["text"], _reason(row["text"]))
            for row in rows.where("text IS NOT NULL").collect()
        ]
        lost = sorted({process_of(one["row"]) or "" for one in records})
        usable = rows.where("text IS NULL").drop("text").replace("receive", "deliver", ["kind"])
        for row in usable.groupBy(*usable.columns).count().where("count > 1").collect():
            text = json_line({**row.asDict(), "text": None})
            records += [quarantined(run, text, Copy(row["process"], row["index"]).text)] * (row["count"] - 1)
        judged = count - len(records)
        if judged:
            records += _judged_in_one_task(usable.dropDuplicates(), query, lost, stretch)
        else:
            records += verdict_records(run, unknown(query.orders, NO_ROW))
        records.append(record(JUDGED, run, rows=judged))
        frame = source.frame.sparkSession.createDataFrame([tuple(one.values()) for one in records], RECORD_SCHEMA)
        return LogResult(lambda: count, frame)
    finally:
        rows.unpersist()


def _unusable_as_text(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Plain rows; those that are not events keep only their text."""
    from crownless.oracle.logs.layout import no_events

    for batch in batches:
        runs = Named.of(batch["run"])
        of_one_run = batch.set_column(0, "run", pa.repeat("", len(batch)))  # so that the rows keep their order
        bad = no_events(by_run(pa.Table.from_batches([of_one_run])).numbers())
        plain = pa.array(~bad & are_names(runs.names, empty=True)[runs.codes])
        yield batch.filter(plain)
        texts = [
            {"run": row["run"], "kind": UNREADABLE, "text": json_line(row)}
            for row in batch.filter(pc.invert(plain)).to_pylist()
        ]
        yield pa.RecordBatch.from_pylist(texts, schema=batch.schema)


def _reason(text: str) -> str:
    """Why this line is not an event."""
    try:
        read_row(0, text)
    except UnusableRow as unusable:
        return unusable.reason.text
    raise AssertionError(f"an event is taken for unusable: {text}")


def _judged_in_one_task(usable: DataFrame, query: Query, lost: Sequence[str], stretch: int) -> list[Record]:
    """The records of the run of these rows; `lost`: processes with unusable rows, an empty name if of any process."""
    from pyspark.sql import functions as f

    # All processes advance at about the same pace, so that few events are held: sorted by the part of its line that is
    # before an event.
    last = usable.groupBy("process").agg(f.max("index").alias("last"))
    share = (f.col("index") / (f.col("last") + 1)).alias("share")
    in_turn = usable.join(f.broadcast(last), "process").orderBy(share, "process", "index")
    holes = [quarantined_rows(name or None) for name in lost]

    def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from crownless.oracle.log_orders.large_run import RunMonitor  # which loads what is compiled

        monitor, held = RunMonitor("", query.orders, query.reading), list[pa.RecordBatch]()
        try:
            for batch in batches:
                held.append(batch)
                if sum(map(len, held)) >= stretch:
                    monitor.add(pa.Table.from_batches(held))
                    held = []
            if held:
                monitor.add(pa.Table.from_batches(held))
            found = monitor.classification(holes)
        except BadInput as problem:
            yield batch_of([record(REFUSED, None, because=problem.message, row=problem.hint)])
            return
        run = found.subject.run or ""
        records = list(verdict_records(run, found.verdicts))
        yield batch_of([*records, *(record(HOLE, run, because=hole.text) for hole in found.subject.holes)])

    texts = in_turn.select(*COLUMNS, f.lit(None).cast("string").alias("text"))
    records = [row.asDict() for row in texts.coalesce(1).mapInArrow(judged, RECORD_SCHEMA).collect()]
    for one in records:
        if one["record_type"] == REFUSED:
            raise BadInput(one["because"], hint=one["row"])
    return records
