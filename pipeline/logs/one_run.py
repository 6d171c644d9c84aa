"""One run too large for one executor: the orders of hundreds of millions of events.

Spark does the work on single rows, lines, channels or messages: contradictions between rows, holes in lines, the send
of each deliver, the order of deliveries (`checked_rows`). Then one task feeds all events, the lines at about the same
pace, to the monitor (`model_check.logs.streaming`), which holds those that may still matter. If they are more than
`most_held`, the verdicts still open are `unknown`.

Verdicts are those of `crownless classify`, and unusable rows are reported as there (see `runs`). Witnesses are genuine,
but may not be the smallest. Once the monitor has forgotten events, n-n is decided as far as the other orders settle it.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from crownless.model_check.event_logs import logged_run, rows_of
from crownless.model_check.logs.columns import PEER_SEPARATOR
from crownless.model_check.logs.lost_events import Hole, not_broken
from crownless.model_check.logs.reasons import Cyclic
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy

from .checked_rows import SMALL, Processes, checked, processes_of, quarantined
from .judging import LogResult
from .records import HOLE, JUDGED, RECORD_SCHEMA, VERDICT, Query
from .rows import UNKNOWN_RUN, plain
from .runs import OrderVerdict
from .witnesses import NamedEvent, witness

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The monitor gives up orders for which it would have to hold more events than these.
MOST_HELD = 2_000_000
#: The number of events that the monitor is fed at once.
STRETCH = 200_000

#: Receives the current step, the number of events walked, and their total (0 until counted). During the walk it is
#: called from another thread.
Progress = Callable[[str, int, int], None]

_GAVE_UP = "given up: too many events were waiting for others, or too many messages in flight, or processes"
_TOO_LARGE = "not decided at this size unless other orders settle it"


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
        processes = processes_of(checked_rows)
        rows.unpersist()
        return _decide_run(checked_rows, processes, run, query, most_held, stretch, report)
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


# -- events ------------------------------------------------------------------------------------------------------------


def _events(checked_rows: DataFrame, processes: Processes) -> DataFrame:
    """The sends and delivers that certainly happened: message, id, p, place, sends, receivers.

    By numbers of processes, and places on their lines; a message has as `id` the number and the place of its send.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    number = f.create_map(*(f.lit(part) for name_number in processes.numbers.items() for part in name_number))
    sends, delivers = f.col("kind") == "send", f.col("kind") == "deliver"
    usable = checked_rows.where(f.col("reason").isNull() & (f.col("kind") != "internal"))
    about = Window.partitionBy("message_key")
    receivers = f.split("peer", PEER_SEPARATOR)
    if processes.with_gaps:
        # A message to a process with missing events may have been delivered in the gap: it does not count as sent.
        usable = usable.withColumn("deliverers", f.collect_set(f.when(delivers, f.col("process"))).over(about))
        gaps = sorted(processes.with_gaps)
        receivers = f.filter(receivers, lambda name: ~name.isin(gaps) | f.array_contains("deliverers", name))
    usable = usable.withColumn("receivers", f.when(sends, f.transform(receivers, lambda name: number[name])))
    usable = usable.where((sends & (f.size("receivers") > 0)) | (delivers & f.col("sent")))
    line = Window.partitionBy("process").orderBy("index")
    events = usable.select(
        "message",
        "message_key",
        number[f.col("process")].alias("p"),
        (f.row_number().over(line) - 1).cast("long").alias("place"),
        sends.alias("sends"),
        "receivers",
    )
    of_send = f.when(f.col("sends"), f.shiftleft(f.col("p").cast("long"), PLACES) + f.col("place"))
    return events.withColumn("id", f.max(of_send).over(about)).drop("message_key")


#: Bits for the place of an event.
PLACES = 44


# -- the run -----------------------------------------------------------------------------------------------------------


def _decide_run(
    checked_rows: DataFrame,
    processes: Processes,
    run: str,
    query: Query,
    most_held: int,
    stretch: int,
    report: Progress,
) -> OneRunResult:
    from pyspark.sql import functions as f

    if not processes.judged:
        because = "no row of it can be used"
        return _finished(checked_rows, processes, run, [_unknown(order, because) for order in query.orders])
    events = _events(checked_rows, processes).persist()
    try:
        report("ordering the events", 0, 0)
        lengths = {row["p"]: row["count"] for row in events.groupBy("p").count().collect()}
        found = _monitored(events, len(processes.numbers), lengths, query, most_held, stretch, report)
        report("looking up witnesses", found.events, found.events)
        verdicts = _Verdicts(found, _of_messages(events, found.shown), list(processes.numbers), query, processes.holes)
        order_verdicts = [verdicts.order_verdict(order) for order in query.orders]
    finally:
        events.unpersist()
    if found.cycle:
        cyclic = Cyclic(verdicts.describe_cycle())
        checked_rows = checked_rows.withColumn("reason", f.coalesce("reason", f.lit(cyclic.json())))
        processes = replace(processes, judged=0, quarantined=processes.judged + processes.quarantined)
        order_verdicts = [_unknown(order, cyclic.text) for order in query.orders]
    return _finished(checked_rows, processes, run, order_verdicts, found.most_held)


def _unknown(order: str, because: str) -> OrderVerdict:
    return OrderVerdict(order, "unknown", None, because)


def _finished(
    checked_rows: DataFrame, processes: Processes, run: str, order_verdicts: Sequence[OrderVerdict], most_held: int = 0
) -> OneRunResult:
    rows: list[tuple[str | int | None, ...]] = [
        (VERDICT, run, order, verdict, witness, because, None, None)
        for order, verdict, witness, because in order_verdicts
    ]
    rows += [(HOLE, run, None, None, None, hole.text, None, None) for hole in processes.holes]
    rows.append((JUDGED, run, None, None, None, None, None, processes.judged))
    records = checked_rows.sparkSession.createDataFrame(rows, RECORD_SCHEMA)
    if processes.quarantined:
        # The checked rows are not held any longer than this takes.
        records = records.unionByName(quarantined(checked_rows)).localCheckpoint()
    count = processes.judged + processes.quarantined
    return OneRunResult(
        count, records, tuple(order_verdicts), count, processes.judged, processes.quarantined, most_held
    )


# -- the monitor, in one task ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """What the monitor found: by order KEPT, BROKEN or UNDECIDED; the messages that show violations, by their ids, and
    the receiver if one overtakes another; the delivers that wait for each other in a cycle, as (process, id).
    """

    outcomes: Mapping[str, str]
    violations: Mapping[str, tuple[tuple[int, ...], int | None]] = field(default_factory=dict)
    cycle: Sequence[tuple[int, int]] = ()
    given_up: Collection[str] = ()
    most_held: int = 0
    events: int = 0

    @property
    def shown(self) -> set[int]:
        """All these messages."""
        return {message for messages, _ in self.violations.values() for message in messages} | {
            m for _, m in self.cycle
        }


def _monitored(
    events: DataFrame,
    n: int,
    lengths: Mapping[int, int],
    query: Query,
    most_held: int,
    stretch: int,
    report: Progress,
) -> _Found:
    from pyspark.sql import functions as f

    doing, count = "walking along the lines", sum(lengths.values())
    report(doing, 0, count)
    if not count:
        return _Found(dict.fromkeys(ORDERS, "kept"))
    length = [lengths.get(p, 0) for p in range(n)]
    with _receive_progress(
        events.sparkSession, lambda walked: report(doing, walked, count), report is not _no_progress
    ) as progress_address:

        def monitor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            with _send_progress(progress_address) as report_fed:
                found = monitored(batches, length, query, most_held, stretch, report_fed)
            yield pa.RecordBatch.from_arrays([pa.array([json.dumps(asdict(found))])], names=["found"])

        # All lines advance at about the same pace, so that few events are held: sorted by the fraction of the line
        # walked.
        of_all = f.create_map(*(f.lit(part) for p_length in lengths.items() for part in p_length))
        share = (f.col("place") / of_all[f.col("p")]).alias("share")
        in_turn = events.select("p", "place", "sends", "id", "receivers", share).orderBy("share", "p", "place")
        (row,) = in_turn.drop("share", "place").coalesce(1).mapInArrow(monitor, "found string").collect()
    return _Found(**json.loads(row["found"]))


def monitored(
    batches: Iterable[pa.RecordBatch],
    lengths: Sequence[int],
    query: Query,
    most_held: int,
    stretch: int,
    report: Callable[[int], None],
) -> _Found:
    """What the monitor finds of these events, in columns p, sends, id and receivers; those of each process in order."""
    from crownless.model_check.logs.events import Events
    from crownless.model_check.logs.monitor import COLUMN, OUTCOMES  # which loads what is compiled
    from crownless.model_check.logs.streaming import StreamingMonitor

    monitor = StreamingMonitor(
        len(lengths), query.orders, query.reading == "pending", np.array(lengths, np.int64), most_held
    )
    held, fed = Events.none(), 0
    for batch in batches:
        held += Events.of(*(batch[name] for name in ("p", "sends", "id", "receivers")))
        if len(held) >= stretch:
            fed += len(held)
            monitor.feed(held, at_once=False)
            held = Events.none()
            report(fed)
    monitor.feed(held, at_once=False)
    fed += len(held)
    report(fed)
    monitor.finish()
    return _Found(
        {order: OUTCOMES[monitor.outcomes[column]] for order, column in COLUMN.items()},
        {order: monitor.violations[column][:2] for order, column in COLUMN.items() if column in monitor.violations},
        monitor.cycle(),
        [order for order, column in COLUMN.items() if column in monitor.given_up],
        monitor.most_held,
        fed,
    )


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


# -- verdicts and witnesses --------------------------------------------------------------------------------------------


def _of_messages(events: DataFrame, messages: Collection[int]) -> list[Any]:
    """The events of these messages, line by line."""
    from pyspark.sql import functions as f

    if not messages:
        return []
    rows: list[Any] = events.where(f.col("id").isin(sorted(messages))).collect()
    return sorted(rows, key=lambda row: (row["p"], row["place"]))


@dataclass
class _Verdicts:
    found: _Found
    #: The events of the messages that the witnesses name.
    events: Sequence[Any]
    names: Sequence[str]
    query: Query
    holes: Sequence[Hole]

    def order_verdict(self, order: str) -> OrderVerdict:
        outcome = self.found.outcomes[order]
        if outcome == "broken":
            return OrderVerdict(order, outcome, self._witness(order), None)
        if outcome == "unknown":
            return _unknown(order, _TOO_LARGE if order == "n-n" else _GAVE_UP)
        return _unknown(order, not_broken(self.holes)) if self.holes else OrderVerdict(order, outcome, None, None)

    def _witness(self, order: str) -> str:
        messages, receiver = self.found.violations[order]
        events = self._events_of(messages)
        named = [self._name(message) for message in messages]
        return witness(order, events, named, None if receiver is None else self.names[receiver], self.query.reading)

    def _events_of(self, messages: Collection[int]) -> list[NamedEvent]:
        return [
            (
                self.names[row["p"]],
                "send" if row["sends"] else "deliver",
                row["message"],
                [self.names[q] for q in row["receivers"] or ()],
            )
            for row in self.events
            if row["id"] in messages
        ]

    def _name(self, message: int) -> str:
        return str(next(row["message"] for row in self.events if row["id"] == message))

    def describe_cycle(self) -> str:
        """The cycle as `crownless classify` says it of the messages on it alone."""
        rows = rows_of(self._events_of({message for _, message in self.found.cycle}))
        try:
            logged_run("", [replace(row, line=0) for row in rows])  # which have no lines
        except BadInput as problem:
            return problem.message
        raise AssertionError("the messages of a cycle are a computation")
