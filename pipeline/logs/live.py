"""Live event logs on Spark: a verdict as soon as a run breaks an order, and all others when the run has ended.

Events may arrive late, twice, and in any order; `live_run` has the records of a run, and the reasons to withdraw them.
A log does not mark the end of a run. There are two ways to determine it.

*By the clock of the machine.* A run ends when no event of it has arrived for some time (`idle_timeout`). Only time in
which the stream runs counts: after a start, or a batch that takes longer than the timeout, counting begins again, since
events may be waiting in the source. So no run ends while every batch takes longer than that. A quiet run cannot be
distinguished from a source that is behind for longer than the timeout with short batches: where that may happen, name
an `event_time`.

*By the time in the log* (`event_time`, the name of a column of time stamps). A run ends when the log has passed its
last event by more than `idle_timeout`. Events may be late by as much as `max_lateness`: Spark's *watermark* is the
latest time in the log less that. Clocks, stops and backlogs do not matter. But while no event at all arrives, no run
ends; and a time stamp from far in the future ends them all.

An event of an ended run is quarantined for as long as the end is remembered (`retention`, by the same clock). An event
after that begins a new run, with a hole. A row that names no run is quarantined at once.

Spark keeps the runs in the folder of the query's checkpoint; another start with the same checkpoint resumes there.
Spark needs a state store that can exceed memory (RocksDB, which it includes), and in Python the package `protobuf`
(``pip install 'crownless[spark]'`` has it). `pipeline.session` makes a session with these settings. In a session of
your own set `spark.sql.streaming.stateStore.providerClass`, and before it starts the environment variable
`PYSPARK_PYTHON` to the Python that has crownless: its workers take ``python3`` otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from crownless.model_check.logs.columns import COLUMNS, PEER_SEPARATOR
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy

from .live_run import (
    LATER,
    POLLS_TO_END,
    RECORD_FIELDS,
    WITHDRAWN,
    LiveRun,
    Record,
    RunState,
    add_events,
    end_run,
    on_batch,
    on_poll,
)
from .records import RECORD_SCHEMA, Query
from .rows import UNKNOWN_RUN, plain, plain_line

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.stateful_processor import MapState

__all__ = ["LATER", "WITHDRAWN", "LiveRun", "add_events", "end_run", "judge_live", "read_live", "stop"]

#: In seconds: the time without events after which a run ends; how long its end is remembered; the greatest lateness of
#: events.
IDLE_TIMEOUT, RETENTION, MAX_LATENESS = 60.0, 3600.0, 10.0

_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def read_live(spark: SparkSession, folder: str, *, files_at_once: int = 100) -> DataFrame:
    """A stream of the files put into a folder: Parquet if the folder has a Parquet file now, JSON Lines otherwise.

    A file must appear whole: write it elsewhere on the same disk, or under a name that begins with a dot, and move it.
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadInput("there is no such folder", hint="make it, and put files into it", file=folder)
    files = [
        file for file in sorted(root.rglob("*")) if file.suffix in (".parquet", ".pq") and file.name[0] not in "._"
    ]
    stream = spark.readStream.option("maxFilesPerTrigger", files_at_once).option("recursiveFileLookup", True)
    if not files:
        return stream.text(folder)
    return stream.schema(spark.read.parquet(str(files[0])).schema).parquet(folder)


def judge_live(
    events: DataFrame,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    idle_timeout: float = IDLE_TIMEOUT,
    retention: float = RETENTION,
    first: int = 0,
    event_time: str | None = None,
    max_lateness: float = MAX_LATENESS,
) -> DataFrame:
    """The stream of records of a stream of events: a table as `judging.LogResult.records`, in append mode.

    `events` has the columns of a log, or one column `value` of lines of JSON (`read_live`). `first` is the index of the
    first event of a line. `event_time` names a column of the log (of lines, a key): time stamps, ISO 8601 texts, or
    seconds since 1970. An event without a time belongs to its run and does not prolong it.

    While runs have not ended the stream triggers itself, to poll for their end: give it a trigger shorter than
    `idle_timeout` (``trigger(processingTime="5 seconds")``), and do not wait for it to have processed all. End it with
    `stop`. Raises `BadInput` if the column, or a requirement of Spark, is missing.
    """
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    _require_state_store(events.sparkSession)
    query = Query.of(orders, reading, witnesses=True)

    class Runs(StatefulProcessor):
        """The stateful processor: state and timers of each run."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.state = handle.getValueState("state", "state string")
            self.rows = handle.getMapState("rows", "key string", "text string")
            self.messages = handle.getMapState("messages", "key string", "text string")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            live, latest = self._live(), None
            lines = []
            for row in rows:
                lines.append(row.line)
                latest = row.at if latest is None else max(latest, row.at or latest)
            yield from map(_row, add_events(live, key[0], lines, query, first=first))
            if key[0] == UNKNOWN_RUN:
                return
            if not live.state.ended:
                on_batch(live.state, _start(), latest)
                self._set_timer(self._next_poll(live.state, timerValues))
            self._keep(live)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
            live, now = self._live(), _now(timerValues, event_time)
            if live.state.ended:
                self.state.clear()
                return
            if event_time is None:
                overdue = (now - expiredTimerInfo.getExpiryTimeInMs()) / 1000
                ended = on_poll(live.state, _start(), overdue, idle_timeout)
            else:
                ended = live.state.latest is not None
                live.state.latest = now if live.state.latest is None else live.state.latest
            if ended:
                yield from map(_row, end_run(live, key[0], query))
            self._set_timer(now + int(1000 * retention) if ended else self._next_poll(live.state, timerValues))
            self._keep(live)

        def _next_poll(self, state: RunState, timers: Any) -> int:
            """The time of the next poll for the end of the run; without known times, the next watermark."""
            now = _now(timers, event_time)
            if event_time is None:
                return now + int(1000 * idle_timeout / POLLS_TO_END)
            return now + 1 if state.latest is None else state.latest + int(1000 * idle_timeout)

        def _set_timer(self, milliseconds: int) -> None:
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(milliseconds)

        def _live(self) -> LiveRun:
            kept = self.state.get()
            state = RunState() if kept is None else RunState(**json.loads(kept[0]))
            return LiveRun(state, _BufferedState(self.rows), _BufferedState(self.messages))

        def _keep(self, live: LiveRun) -> None:
            for store in (live.rows, live.messages):
                assert isinstance(store, _BufferedState)
                store.keep()
            self.state.update((json.dumps(vars(live.state)),))

        def close(self) -> None:
            pass

    mode = "ProcessingTime" if event_time is None else "EventTime"
    runs = _lines(events, event_time, max_lateness).groupBy("run")
    return runs.transformWithState(Runs(), RECORD_SCHEMA, outputMode="Append", timeMode=mode)


def stop(query: StreamingQuery, within: float = 30.0) -> None:
    """Stops a stream between two batches: within a batch Spark would fail to write its state."""
    until, last = monotonic() + within, _batch(query)
    while query.isActive and query.status["isTriggerActive"] and _batch(query) == last and monotonic() < until:
        sleep(0.02)
    query.stop()


def _batch(query: StreamingQuery) -> Any:
    """The number of the last finished batch."""
    progress = query.lastProgress
    return None if progress is None else progress["batchId"]


def _require_state_store(spark: SparkSession) -> None:
    """Checks that the session has a state store; sets it in a session made by `pipeline.session`."""
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise BadInput("PySpark keeps state by protobuf, which is missing", hint="pip install protobuf")
    if spark.conf.get(_STORE, "") == _ROCKS_DB:
        return
    if spark.conf.get("spark.app.name", "") != "crownless":
        hint = f'spark.conf.set("{_STORE}", "{_ROCKS_DB}")'
        raise BadInput("this session has no state store for live runs", hint=hint)
    spark.conf.set(_STORE, _ROCKS_DB)


class _BufferedState:
    """A store in Spark's state that reads and writes each text once a batch."""

    def __init__(self, state: MapState) -> None:
        self.state = state
        self.read: dict[str, str | None] = {}
        self.written: set[str] = set()

    def get(self, key: str, /) -> str | None:
        if key not in self.read:
            found = self.state.getValue((key,))
            self.read[key] = None if found is None else found[0]
        return self.read[key]

    def __setitem__(self, key: str, text: str, /) -> None:
        self.read[key] = text
        self.written.add(key)

    def values(self) -> Iterable[str]:
        self.keep()
        return [text for (text,) in self.state.values()]

    def clear(self) -> None:
        self.read, self.written = {}, set()
        self.state.clear()

    def keep(self) -> None:
        for key in self.written:
            self.state.updateValue((key,), (self.read[key],))
        self.written = set()


def _now(timers: Any, event_time: str | None) -> int:
    """The current time in milliseconds, by the clock that ends runs."""
    now = timers.getCurrentProcessingTimeInMs() if event_time is None else timers.getCurrentWatermarkInMs()
    return int(now)


def _start() -> str:
    """A name for this start of the stream."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return "" if task is None else task.getLocalProperty("spark.jobGroup.id") or ""


def _row(record: Record) -> Row:
    from pyspark.sql import Row

    return Row(**{name: record[name] for name in RECORD_FIELDS})


# -- rows as lines -----------------------------------------------------------------------------------------------------


def _lines(events: DataFrame, event_time: str | None, max_lateness: float) -> DataFrame:
    """run, line (of JSON), at (milliseconds since 1970, null if unknown) of each event.

    Spark drops rows behind the watermark if it knows their times; here times are numbers, so it keeps them.
    """
    from pyspark.sql import functions as f

    as_text = events.columns == ["value"]
    if event_time is not None:
        events = events.withColumn(_AT, _time(events, event_time, as_text)).withWatermark(
            _AT, f"{int(1000 * max_lateness)} milliseconds"
        )
    at = (f.lit(None).cast("long") if event_time is None else f.unix_millis(_AT)).alias("at")
    if as_text:
        return events.select(f.col("value").cast("binary").alias("value"), at).mapInArrow(_read, _LINES)
    rows = plain(events.drop(_AT))  # raises if the columns are not those of a log
    of = {name: f.col(f"`{name}`") for name in COLUMNS[:-1] if name in events.columns}
    line = _as_json(of)
    if "text" in events.columns and events.schema["text"].metadata == rows.schema["text"].metadata:  # plain already
        several = f.col("peer").contains(PEER_SEPARATOR)
        line = f.when(several, _as_json(of | {"peer": f.split("peer", PEER_SEPARATOR)})).otherwise(line)
        line = f.coalesce(f.col("text"), line)
    run = f.coalesce(of["run"].cast("string"), f.lit("")) if "run" in of else f.lit("")
    return events.select(run.alias("run"), line.alias("line"), at)


_AT = "crownless_at"
_LINES = "run string, line string, at long"
#: Times outside the years 0 to 9999 are ignored; in seconds since 1970.
_EARLIEST, _LATEST = -62e9, 253e9


def _as_json(columns: dict[str, Column]) -> Column:
    from pyspark.sql import functions as f

    return f.to_json(f.struct(*(column.alias(name) for name, column in columns.items())))


def _time(events: DataFrame, name: str, as_text: bool) -> Column:
    """The time of each event, null where there is none."""
    from pyspark.sql import functions as f

    if as_text:
        text = f.get_json_object("value", f"$['{name}']")
    elif name not in events.columns:
        raise BadInput(f"the events have no column '{name}'", hint=f"name one of {', '.join(events.columns)}")
    elif dict(events.dtypes)[name].startswith("timestamp"):
        return f.col(f"`{name}`").cast("timestamp")
    else:
        text = f.col(f"`{name}`").cast("string")
    seconds = text.try_cast("double")
    return f.when(seconds.between(_EARLIEST, _LATEST), f.timestamp_seconds(seconds)).otherwise(f.try_to_timestamp(text))


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The run, line and time of lines of JSON; empty lines are skipped."""
    import pyarrow as pa

    for batch in batches:
        values, at = batch["value"].to_pylist(), batch["at"].to_pylist()
        rows = [(plain_line(line)[0], line, time) for line, time in zip(values, at, strict=True) if line.strip()]
        runs = pa.array([run for run, _, _ in rows], pa.string())
        lines = pa.array([line.decode(errors="backslashreplace") for _, line, _ in rows], pa.string())
        times = pa.array([time for _, _, time in rows], pa.int64())
        yield pa.RecordBatch.from_arrays([runs, lines, times], names=["run", "line", "at"])
