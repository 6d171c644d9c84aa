"""Live event logs: a verdict as soon as a run violates an order, and all others when the run has ended.

Events may arrive in batches, late, twice and in any order. After each batch an order is reported as violated if the
events without a gap before them violate it, read as a run in progress. Two things can undo this: a row that contradicts
another or is unusable, and a row that never arrives (`oracle.logs.event_logs`). Therefore:

- at the first contradicting or unusable row of a run, all its reported verdicts are withdrawn, and there are no more
  reports before the run has ended;
- then the run is judged whole (`oracle.log_orders.damaged_runs`), and a reported verdict that does not hold for all its
  rows is withdrawn.

A log does not mark the end of a run. There are two ways to determine it.

*By the clock of the machine.* A run ends when no event of it has arrived for some time (`idle_timeout`). Only time
while the stream runs counts, so no run ends while every batch takes longer than that. A quiet run cannot be
distinguished from a source that lags by more than the timeout with short batches: if that may happen, name an
`event_time`.

*By the time in the log* (`event_time`, the name of a column of timestamps). A run ends when the latest time in the
log, less `max_lateness`, is past its last event by `idle_timeout`. Clocks, stops and backlogs do not matter. But while
no event at all arrives, no run ends; and a timestamp from far in the future ends them all.

An event of an ended run is left out for as long as the end is remembered (`retention`, by the same clock), and the
verdicts on that run which it could change become unknown. An event after that begins a new run, with a hole. A row that
names no run is left out at once. It may be of any run: of one in progress, of one whose end is remembered, and of
one that begins while the row is remembered, just as long.

Spark delivers the batches; the rows of the runs that have not ended are held in the memory of the driver. With a
checkpoint they are saved after each batch, beside Spark's own checkpoint, and another start resumes there.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crownless.oracle.log_orders.damaged_runs import ROWS_SKIPPED, RunResult, judge_run, unknown
from crownless.oracle.log_orders.large_run import RunMonitor
from crownless.oracle.log_orders.monitor import COLUMN
from crownless.oracle.logs.columns import json_line, plain_table, table_of_rows
from crownless.oracle.logs.lines import object_in, process_of, read_row
from crownless.oracle.logs.reasons import AfterEnd, Copy, TwoEvents, UnusableRow
from crownless.oracle.logs.rows import Row, conflicts
from crownless.runtime.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy

from .records import JUDGED, Query, Record, data_quality_records, quarantined, record, verdict_records
from .sources import UNKNOWN_RUN, plain_line, source_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

#: Record types only of live runs: a verdict is withdrawn; an order will be reported when the run has ended.
WITHDRAWN, LATER = "withdrawn", "later"
#: In seconds: the time without events after which a run ends; how long its end is remembered; the greatest lateness of
#: events.
IDLE_TIMEOUT, RETENTION, MAX_LATENESS = 60.0, 3600.0, 10.0
#: The monitor of a live run holds at most this many events.
HELD_UP_TO = 50_000
#: The most of the idle timeout that counts between two polls: while a poll takes longer, events may be waiting.
COUNTED_A_POLL = 1 / 3
#: Times outside the years 0 to 9999 are ignored; in seconds since 1970.
_EARLIEST, _LATEST = -62e9, 253e9


class LiveRun:
    """A live run: all its rows, and the monitor of those without a gap before them.

    `first`: the index of the first event of each process.
    """

    def __init__(self, name: str, query: Query, first: int = 0, torn: Collection[str | None] = ()) -> None:
        self.name, self.query, self.first = name, query, first
        #: The processes of rows that name no run, None for any: they may be of this one.
        self.torn = {*torn}
        #: After the end, the orders whose verdicts a further row could change.
        self.not_final: tuple[str, ...] = ()
        watched = [order for order in query.orders if order in COLUMN]
        self.monitor = RunMonitor(
            "", watched, query.reading, first_index=first, hold_up_to=HELD_UP_TO, forget_from=0, at_once=True
        )
        self.rows: dict[tuple[str, int], str] = {}
        self.about: dict[str, list[Row]] = {}
        #: Rows without a valid place.
        self.unplaced: list[str] = []
        self.reported: list[str] = []
        self.deferred: list[str] = []
        #: Why nothing is certain of the run before its end.
        self.invalid_because: str | None = ROWS_SKIPPED if torn else None

    def lacks(self, processes: Collection[str | None]) -> Iterator[Record]:
        """Rows of these processes, None for any, may be of this run; yields the withdrawn verdicts."""
        self.torn.update(processes)
        if self.invalid_because is None:
            yield from self._withdrawn(ROWS_SKIPPED)

    def add(self, lines: Iterable[str]) -> Iterator[Record]:
        """Adds events of the run; yields the new records."""
        new: list[Row] = []
        problem: BadInput | None = None
        for line in lines:
            try:
                row = read_row(0, line)
                known = self.rows.get((row.process, row.index))
                if known is not None and read_row(0, known) == row:
                    yield quarantined(self.name, line, Copy(row.process, row.index).text)
                elif known is not None:
                    raise UnusableRow(TwoEvents(row.process, row.index))
                else:
                    self.rows[row.process, row.index] = line
                    new.append(row)
                    problem = problem or self._contradiction(row)
            except UnusableRow as unusable:
                self.unplaced.append(line)
                problem = problem or unusable
        if problem is None and new and self.invalid_because is None:
            try:
                self.monitor.add(table_of_rows([replace(row, run="") for row in new]))
            except BadInput as contradiction:
                problem = contradiction
        if self.invalid_because is None:
            yield from self._violations() if problem is None else self._withdrawn(problem.message)

    def _contradiction(self, row: Row) -> BadInput | None:
        """Why a row contradicts an earlier one about its message, even one that the monitor has forgotten."""
        if row.kind == "internal":
            return None
        about = self.about.setdefault(row.message, [])
        about.append(row)
        return next((UnusableRow(conflict.reason) for conflict in conflicts(about)), None)

    def _withdrawn(self, because: str) -> Iterator[Record]:
        self.invalid_because = because
        for order in self.reported:
            yield record(WITHDRAWN, self.name, order=order, because=because)
        self.reported = []

    def _violations(self) -> Iterator[Record]:
        for order in self.query.orders:
            broken = None if order in self.reported else self.monitor.broken(order)
            if broken is not None:
                self.reported.append(order)
                yield from verdict_records(self.name, [broken])
        for order in self.monitor.given_up:
            if order not in (*self.reported, *self.deferred):
                self.deferred.append(order)
                because = f"more than {HELD_UP_TO:,} events are not settled: reported when the run has ended"
                yield record(LATER, self.name, order=order, because=because)

    def end(self) -> Iterator[Record]:
        """Ends the run; yields the remaining verdicts and the data-quality records."""
        found = self._judged(self.torn)
        outcomes = {one.order: one.outcome for one in found.verdicts}
        again = self._judged({None}).verdicts if "violated" in outcomes.values() else ()
        certain = {"asynchronous", *(one.order for one in again if one.outcome == "violated")}
        self.not_final = tuple(
            order for order, outcome in outcomes.items() if outcome != "unknown" and order not in certain
        )
        for one in found.verdicts:
            reported = one.order in self.reported
            if reported and one.outcome != "violated":
                yield record(WITHDRAWN, self.name, order=one.order, because=one.unknown)
            if not reported or one.outcome != "violated":
                yield from verdict_records(self.name, [one])
        yield from data_quality_records(self.name, found)
        yield record(JUDGED, None, rows=found.judged)

    def _judged(self, torn: Collection[str | None]) -> RunResult:
        """The verdicts on all rows, if these processes may have further ones."""
        lines = [*self.rows.values(), *self.unplaced]
        return judge_run(self.name, lines, self.query.orders, self.query.reading, torn=torn)


# -- many runs ---------------------------------------------------------------------------------------------------------


@dataclass
class _State:
    """The state of a live log: its runs, the time of each one's last event, and when runs ended.

    Times are seconds since 1970 in the log, or seconds of stream running time.
    """

    runs: dict[str, LiveRun] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    #: By ended run the orders whose verdicts a further row could change.
    not_final: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: By process, or None for any, when its last row came that names no run.
    torn: dict[str | None, float] = field(default_factory=dict)
    now: float = 0.0
    #: The last Spark batch included.
    batch: int = -1


class LiveLog:
    """The runs of a live log. `on_records` gets the new records, after each batch and each poll with any.

    `first` is the index of the first event of each process. `event_time` names a column of the log (of lines, a key):
    timestamps, ISO 8601 texts, or seconds since 1970. An event without a time belongs to its run and does not prolong
    it. `checkpoint`: a file for the state. It is read by `pickle`: use only your own.
    """

    def __init__(
        self,
        on_records: Callable[[list[Record]], None],
        orders: Sequence[str] = (),
        reading: UnreceivedPolicy = "lost",
        *,
        idle_timeout: float = IDLE_TIMEOUT,
        retention: float = RETENTION,
        first: int = 0,
        event_time: str | None = None,
        max_lateness: float = MAX_LATENESS,
        checkpoint: Path | None = None,
    ) -> None:
        self.on_records, self.query, self.first = on_records, Query.of(orders, reading), first
        self.idle_timeout, self.retention = idle_timeout, retention
        self.event_time, self.max_lateness = event_time, max_lateness
        self.checkpoint = checkpoint
        self.state = _State()
        if checkpoint is not None and checkpoint.exists():
            self.state = pickle.loads(checkpoint.read_bytes())
        self._polled: float | None = None
        #: Spark adds batches in a thread of its own.
        self._lock = Lock()

    def add(self, number: int, rows: Iterable[tuple[str, str, float | None]]) -> None:
        """Adds the batch of that number, unless it was added before: run, line, and time of each event."""
        with self._lock:
            state, by_run = self.state, dict[str, list[str]]()
            if number <= state.batch:
                return
            self._advance()
            for run, line, time in rows:
                by_run.setdefault(run, []).append(line)
                at = state.now if self.event_time is None else time
                if at is not None:
                    state.last[run] = max(at, state.last.get(run, at))
                    if self.event_time is not None:
                        state.now = max(state.now, at - self.max_lateness)
            unnamed = by_run.pop(UNKNOWN_RUN, [])
            records = [*self._without_run(unnamed)] if unnamed else []
            records += [new for run, lines in by_run.items() for new in self._added(run, lines)]
            state.batch = number
            self._report([*records, *self._ended()])
            self._polled = monotonic()  # the time that the batch took does not count

    def poll(self) -> None:
        """Ends the runs that are due; must be called more often than the idle timeout."""
        with self._lock:
            self._advance()
            records = list(self._ended())
            if records:
                self._report(records)

    def _added(self, run: str, lines: list[str]) -> Iterator[Record]:
        if run in self.state.ended:
            yield from (quarantined(run, line, AfterEnd().text) for line in lines)
            yield from self._undone(run)
            self.state.last.pop(run, None)
        else:
            if run not in self.state.runs:
                self.state.runs[run] = LiveRun(run, self.query, self.first, self.state.torn)
            yield from self.state.runs[run].add(lines)

    def _without_run(self, lines: list[str]) -> Iterator[Record]:
        """Skips lines that name no run: each may be of any run, even of one that has ended, or of which no row came."""
        for line in lines:
            try:
                read_row(0, line)
            except UnusableRow as unusable:
                yield quarantined(None, line, unusable.reason.text)
        self.state.last.pop(UNKNOWN_RUN, None)
        torn = {process_of(line) for line in lines}
        self.state.torn |= dict.fromkeys(torn, self.state.now)
        for live in self.state.runs.values():
            yield from live.lacks(torn)
        for run in [*self.state.not_final]:
            yield from self._undone(run)

    def _undone(self, run: str) -> Iterator[Record]:
        """The verdicts on an ended run that rows which are no longer judged could change: they are unknown."""
        for order in self.state.not_final.pop(run, ()):
            yield record(WITHDRAWN, run, order=order, because=ROWS_SKIPPED)
            yield from verdict_records(run, unknown([order], ROWS_SKIPPED))

    def _advance(self) -> None:
        """Advances the stream's clock, unless the log has event times."""
        now = monotonic()
        if self.event_time is None and self._polled is not None:
            self.state.now += min(now - self._polled, COUNTED_A_POLL * self.idle_timeout)
        self._polled = now

    def _ended(self) -> Iterator[Record]:
        state = self.state
        for run, last in list(state.last.items()):
            if state.now - last >= self.idle_timeout:
                live = state.runs.pop(run)
                yield from live.end()
                del state.last[run]
                state.ended[run], state.not_final[run] = state.now, live.not_final
        state.ended = {run: at for run, at in state.ended.items() if state.now - at < self.retention}
        state.not_final = {run: orders for run, orders in state.not_final.items() if run in state.ended}
        state.torn = {process: at for process, at in state.torn.items() if state.now - at < self.retention}

    def _report(self, records: list[Record]) -> None:
        """Reports records, then saves the state: after an interruption in between, they are reported again."""
        if records:
            self.on_records(records)
        if self.checkpoint is not None:
            unfinished = self.checkpoint.with_suffix(".unfinished")
            unfinished.write_bytes(pickle.dumps(self.state))
            os.replace(unfinished, self.checkpoint)

    def rows_of(self, table: pa.Table) -> Iterator[tuple[str, str, float | None]]:
        """Run, line and time of each event of a batch: lines in a column `value`, or the columns of a log."""
        name = self.event_time
        if table.schema.names == ["value"]:
            for line in table["value"].to_pylist():
                if line and line.strip():
                    content = line.encode() if isinstance(line, str) else line
                    time = None if name is None else (object_in(content) or {}).get(name)
                    yield plain_line(content).run, content.decode(errors="backslashreplace"), _seconds(time)
            return
        times = [None] * len(table) if name is None else table[name].to_pylist()
        for row, time in zip(plain_table(table).to_pylist(), times, strict=True):
            yield row["run"], json_line(row), _seconds(time)


def _seconds(time: object) -> float | None:
    """A time in seconds since 1970; None if invalid, or outside the years 0 to 9999."""
    if isinstance(time, str):
        time = _parsed(time)
    if isinstance(time, datetime):
        return time.timestamp()
    return float(time) if isinstance(time, (int, float)) and _EARLIEST < time < _LATEST else None


def _parsed(text: str) -> float | datetime | None:
    for parse in (float, datetime.fromisoformat):
        with suppress(ValueError):
            return parse(text)
    return None


# -- on Spark ----------------------------------------------------------------------------------------------------------


def read_live(spark: SparkSession, folder: str, *, files_at_once: int = 100) -> DataFrame:
    """A stream of the files put into a folder: Parquet if the folder has a Parquet file now, JSON Lines otherwise.

    A file must appear whole: write it elsewhere on the same disk, or under a name that begins with a dot, and move it.
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadInput("there is no such folder", hint="create it, and add files to it", file=folder)
    files = [
        file for file in sorted(root.rglob("*")) if file.suffix in (".parquet", ".pq") and file.name[0] not in "._"
    ]
    stream = spark.readStream.option("maxFilesPerTrigger", files_at_once).option("recursiveFileLookup", True)
    if not files:
        return stream.text(folder)
    return stream.schema(spark.read.parquet(str(files[0])).schema).parquet(folder)


def start(live: LiveLog, events: DataFrame, checkpoint: str, interval: float = 5.0) -> StreamingQuery:
    """Starts to judge a stream: of events with the columns of a log, or of lines in a column `value` (`read_live`).

    `checkpoint`: Spark's folder for what it has read. Spark looks for new events every `interval` seconds. While it
    runs, call `live.poll()` at least as often; end it with `stop`.
    """
    from pyspark.sql import functions as f

    if events.columns == ["value"]:
        events = events.select(f.col("value").cast("binary").alias("value"))  # a line may not be valid UTF-8
    else:
        source_of(events)  # checks the columns
        if live.event_time is not None and live.event_time not in events.columns:
            hint = f"name one of {', '.join(events.columns)}"
            raise BadInput(f"the events have no column '{live.event_time}'", hint=hint)

    def on_batch(batch: DataFrame, number: int) -> None:
        live.add(number, live.rows_of(batch.toArrow()))

    stream = events.writeStream.foreachBatch(on_batch).option("checkpointLocation", checkpoint)
    return stream.trigger(processingTime=f"{int(1000 * interval)} milliseconds").start()


def stop(query: StreamingQuery, within: float = 30.0) -> None:
    """Stops a stream between two batches."""
    until, last = monotonic() + within, _batch(query)
    while query.isActive and query.status["isTriggerActive"] and _batch(query) == last and monotonic() < until:
        sleep(0.02)
    query.stop()


def _batch(query: StreamingQuery) -> Any:
    """The number of the last finished batch."""
    progress = query.lastProgress
    return None if progress is None else progress["batchId"]
