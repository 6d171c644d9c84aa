"""The runs of a file: the spec classifies those of a small log, the monitor those of a large one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from crownless.oracle.logs import formats
from crownless.oracle.logs.complete import complete
from crownless.oracle.logs.converted import ConvertedLog, with_receivers
from crownless.oracle.logs.formats import CONVERTED, Format, LogOptions, Numbering, Progress
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.oracle.logs.reader import computation_in, convert, converted_runs, rows_in, runs_of
from crownless.oracle.logs.reasons import DeliveredTwice, NotAReceiver, empty_log
from crownless.oracle.logs.rows import Row, by_run
from crownless.oracle.logs.uncertain import CERTAIN, ORDER_NOT_LOGGED, weakened
from crownless.runtime.errors import BadInput
from crownless.runtime.reading import as_text
from crownless.spec.orders import UnreceivedPolicy

from .classification import Classification, Classifications
from .clocked import read_clocked

if TYPE_CHECKING:
    import pyarrow as pa

    from .classified import ClassifiedLog

#: A log with at most this many lines is read and decided by the spec alone, without compilation.
SMALL_UP_TO = 5_000

#: Run by run; as one run of any size, while reading; run by run, compared with the log's vector clocks; or with names
#: for messages that the log does not name.
How = Literal["runs", "one-run", "clocks", "match"]


@dataclass(frozen=True)
class LogRequest:
    """A file to classify (`-`: standard input), the orders to decide, and how the file is read.

    `options`: how it is read, where the file does not say; `clock_entries`: the processes of the clocks' entries.
    `around_monitor` is open while the monitor works; `progress` gets the amounts read and decided.
    """

    name: str
    orders: Sequence[str]
    reading: UnreceivedPolicy
    how: How = "runs"
    options: LogOptions = field(default_factory=LogOptions)
    clock_entries: Sequence[str] = ()
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext
    progress: Progress | None = None


def classify_file(request: LogRequest) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """Classifies the runs of a file. For a small log it returns the computations, for the spec to classify.

    Raises `BadInput` for a file that cannot be read.
    """
    if request.how == "one-run":
        return _one_run(request)
    content, form = formats.content_of(request.name, request.options)
    if request.how == "runs" and form is None:
        return computation_in(as_text(content, request.name), request.name)
    options = request.options
    by_columns = not options.complete and options.names_receivers
    if request.how == "runs" and form is not None and form not in CONVERTED and by_columns:
        return _of_columns(content, form, request)
    return _of_events(_events(content, form, request), request)


def _events(content: bytes, form: Format | None, request: LogRequest) -> ConvertedLog:
    """The events of a log that is not read as columns, with notes and uncertainties."""
    name, options = request.name, request.options
    if request.how == "clocks":
        if form != "jsonl":
            raise BadInput("clocks are read from JSON Lines", hint="leave --clocks out, or convert the log", file=name)
        return read_clocked(content, name, request.clock_entries, options.kinds)
    if request.how == "match":
        if form is None or form in CONVERTED:
            of = "a computation" if form is None else f"--format {form}"
            hint = "leave out --match: its messages have names"
            raise BadInput(f"--match cannot be combined with {of}", hint=hint, file=name)
        from .matching import matched  # it needs numpy, which takes a while to import

        return matched(by_run(rows_in(content, form, name, replace(options, unnamed=True)), name), name)
    assert form is not None, "a computation is no log"
    if form in CONVERTED:
        log, by = convert(content, form, name, options), Numbering(formats.FORMATS[form].by)
    else:
        log, by = _of_rows(content, form, request)
    if options.complete:
        complete(log, name, by.by, {} if options.quarantine is None else options.quarantine.processes)
    return log


def _of_rows(content: bytes, form: Format, request: LogRequest) -> tuple[ConvertedLog, Numbering]:
    """The events of a log with the columns of a log, row by row, and how they are numbered."""
    name, options = request.name, request.options
    rows = list(rows_in(content, form, name, options))
    by = formats.numbering(content, form, len(rows))
    if by.by == "row" and form == "csv" and options.quarantine is None:  # whose first row has the column names
        rows = [replace(row, line=row.line - 1) for row in rows]
    elif form in ("jsonl", "csv"):
        by = Numbering("line")
    if options.quarantine is None:
        runs = by_run(rows, name)
    else:
        spared = [DeliveredTwice, NotAReceiver] if options.complete else [NotAReceiver] * (not options.names_receivers)
        runs = options.quarantine.usable(rows, name, spared)
    log = ConvertedLog([row for of_run in runs.values() for row in of_run])
    if not options.names_receivers:
        log = with_receivers(runs, name, complete=options.complete)
    log.by = by.by
    return log, by


def _of_columns(
    content: bytes, form: Format, request: LogRequest
) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """The runs of a log with the columns of a log; the content is that of the requested file."""
    name, options = request.name, request.options
    if options.quarantine is not None:
        return _of_events(_of_rows(content, form, request)[0], request)
    if form != "jsonl" or content.count(b"\n") > SMALL_UP_TO:
        from crownless.oracle.logs.tables import read_table  # Arrow takes a while to import

        with request.around_monitor():
            table = read_table(content, form, name, options)
        if not table.num_rows:
            raise empty_log(name)
        log = None
        if table.num_rows > SMALL_UP_TO:
            log = _by_monitor(table, request, formats.numbering(content, form, table.num_rows))
        if log is not None:
            return log
    # Contradictions between rows need all lines.
    return runs_of(rows_in(content, form, name, options), name, options)


def _by_monitor(
    table: pa.Table, request: LogRequest, by: Numbering, lines: Sequence[int] | None = None
) -> ClassifiedLog | None:
    """`lines`: where the rows are in the file, if they are not all of it."""
    from .classified import classified  # which loads what is compiled

    with request.around_monitor():
        of = (request.name, request.orders, request.reading)
        return classified(table, *of, request.options, by, request.progress, lines)


def _one_run(request: LogRequest) -> Classifications:
    """A log of one run, of any size, classified as it is read."""
    from crownless.oracle.logs.tables import blocks

    from .large_run import classified_in_blocks  # which loads what is compiled

    if not request.options.names_receivers:
        hint = "leave --one-run out, or name the receivers"
        raise BadInput("--column peer=- cannot be combined with --one-run", hint=hint, file=request.name)
    by = request.options.order_by
    if by not in (None, formats.BY_LINE):
        hint = f"sort the file by '{by}', and give --order-by line"
        raise BadInput(f"--order-by {by} cannot be combined with --one-run", hint=hint, file=request.name)
    with request.around_monitor():
        rows = blocks(request.name, request.options, request.progress)
        found = classified_in_blocks(rows, request.name, request.orders, request.reading)
        return Classifications([found.with_notes(*request.options.notes)])


def _of_events(log: ConvertedLog, request: LogRequest) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """The runs of these events, with the log's notes, deliveries and uncertainties for each."""
    if len(log.events) <= SMALL_UP_TO:
        return converted_runs(log, request.name, request.options)
    from crownless.oracle.logs.columns import table_of_rows

    def by_monitor(events: Sequence[Row]) -> ClassifiedLog | None:
        if log.by is None:
            return _by_monitor(table_of_rows(events), request, formats.BY_ROW)
        return _by_monitor(table_of_rows(events), request, Numbering(log.by, 0), [row.line for row in events])

    every = by_monitor(log.events)
    if every is None:
        return converted_runs(log, request.name, request.options)
    if not log.notes and not any(uncertain != CERTAIN for uncertain in log.uncertain.values()):
        every.deliveries = log.deliveries
        return every
    unordered = any(uncertain.unordered for uncertain in log.uncertain.values())
    certain = by_monitor(log.without_unordered) if unordered else None
    return Classifications(
        _as_far_as_certain(
            every.classification(number),
            None if certain is None else certain.classification(number),
            log,
            request.reading,
        )
        for number in range(len(every))
    )


def _as_far_as_certain(
    found: Classification, certain: Classification | None, log: ConvertedLog, reading: UnreceivedPolicy
) -> Classification:
    """The certain part of the classification, with notes; `certain`: that of the events with a known order."""
    run = found.subject.run or ""
    uncertain = log.uncertain.get(run, CERTAIN)
    subject = replace(found.subject, notes=(*found.subject.notes, *log.notes.get(run, ())), uncertain=uncertain)
    verdicts = tuple(weakened(verdict, uncertain, None, reading) for verdict in found.verdicts)
    if certain is not None:
        broken = {verdict.order: verdict for verdict in certain.verdicts if verdict.outcome == "violated"}
        verdicts = tuple(
            broken.get(verdict.order, verdict) if verdict.unknown == ORDER_NOT_LOGGED else verdict
            for verdict in verdicts
        )
    classification = replace(found, subject=subject, verdicts=verdicts)
    return classification.with_delivery(log.deliveries[run]) if run in log.deliveries else classification
