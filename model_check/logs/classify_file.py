"""The runs of a file: those of a small log are left to the spec, those of a large one are classified by the monitor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from crownless.model_check.classified_runs import Classifications
from crownless.model_check.event_logs import checked_rows, rows_by_run
from crownless.model_check.oracle import (
    Classification,
    NamedComputation,
    computation_in,
    content_of,
    converted_runs,
    form_by,
    lines_of,
    refuse_patterns,
    runs_in,
)
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy
from crownless.spec.reading import as_text

from .clocked import read_clocked
from .complete import completed
from .converted import ConvertedLog, convert
from .declared import NOTHING, Declared
from .files import CONVERTED, Format, Progress, read_table
from .kinds import refuse_kinds
from .patterns import Patterns
from .rows import Row
from .source import NO_LINES, Source
from .uncertain import CERTAIN, ORDER_NOT_LOGGED, weakened

if TYPE_CHECKING:
    from .classified import ClassifiedLog

#: A log with no more lines than this is read and decided by the spec alone: nothing need be compiled for it.
SMALL_UP_TO = 5_000

#: Run by run; as one run of any size, while it is read; or run by run, compared with the log's vector clocks.
How = Literal["runs", "one-run", "clocks"]


@dataclass(frozen=True)
class LogRequest:
    """A file to classify (`-`: standard input), the orders to decide, and how the file is read.

    `form`: its format, if the name does not say it; `columns` and `kinds`: the file's own names of columns and kinds;
    `patterns`: the expressions of a ShiViz log; `declared`: facts about the log that its lines do not say;
    `clock_entries`: the processes whose entries the clocks have. `around_monitor` is open while the monitor works;
    `progress` gets the amounts read and decided.
    """

    name: str
    orders: Sequence[str]
    reading: UnreceivedPolicy
    how: How = "runs"
    form: Format | None = None
    columns: Mapping[str, str] | None = None
    kinds: Mapping[str, str] | None = None
    patterns: Patterns | None = None
    declared: Declared = NOTHING
    clock_entries: Sequence[str] = ()
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext
    progress: Progress | None = None


def classify_file(request: LogRequest) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """Classifies the runs of a file. Of a small log it returns the computations, for the spec to classify.

    Raises `BadInput` for a file that cannot be read.
    """
    if request.how == "one-run":
        return _one_run(request)
    name, columns, kinds, declared = request.name, request.columns, request.kinds, request.declared
    content, form = content_of(name, form_by(name, request.form, request.patterns), request.progress)
    if request.how == "clocks":
        if form != "jsonl":
            raise BadInput("clocks are read from JSON Lines", hint="leave --clocks out, or convert the log", file=name)
        return _classify_events(read_clocked(content, name, request.clock_entries, kinds), request)
    if form is None:
        refuse_kinds(kinds, "a computation", name)
        declared.refuse("a computation", name)
        return computation_in(as_text(content, name), name)
    if form in CONVERTED:
        log = convert(content, form, name, columns, request.patterns, kinds, complete=declared.complete)
        if declared.complete:
            _complete(log, checked_rows(log.events, name), name)
        return _classify_events(log, request)
    refuse_patterns(name, request.patterns)
    if declared.complete:
        return _classify_events(_complete_log(content, form, request), request)
    return classify_content(content, form, request)


def classify_content(content: bytes, form: Format, request: LogRequest) -> ClassifiedLog | Iterator[NamedComputation]:
    """The runs of a log with the columns of a log; the content is that of the requested file."""
    name, columns, kinds = request.name, request.columns, request.kinds
    table = None
    if form != "jsonl" or columns or _has_more_lines(content, SMALL_UP_TO):
        table = read_table(content, form, name, columns, request.progress, kinds=kinds)
    if table is not None and not table.num_rows:
        raise BadInput("the log is empty", hint="give one event a row", file=name)
    log = None
    if table is not None and table.num_rows > SMALL_UP_TO:
        from .classified import classified  # which loads what is compiled
        from .context import numbering

        with request.around_monitor():
            by, processes = numbering(content, form, table.num_rows), request.declared.processes
            log = classified(table, name, request.orders, request.reading, by, request.progress, processes)
    if log is not None:
        return log
    # All lines together say where a row contradicts another one.
    return runs_in(lines_of(content, form, name, columns, kinds=kinds), name, request.declared.processes)


def _one_run(request: LogRequest) -> Classifications:
    """A log of one run, of any size, classified as it is read."""
    from .file_blocks import blocks
    from .large_run import classified_in_blocks  # which loads what is compiled

    with request.around_monitor():
        rows = blocks(request.name, request.form, request.columns, request.progress, kinds=request.kinds)
        return Classifications([classified_in_blocks(rows, request.name, request.orders, request.reading)])


def _complete_log(content: bytes, form: Format, request: LogRequest) -> ConvertedLog:
    """The events of a complete log with the columns of a log, in the order of its lines."""
    lines = lines_of(content, form, request.name, request.columns, kinds=request.kinds)
    source = Source.of(content, form, request.name, request.columns, lines)
    log = ConvertedLog([])
    _complete(log, rows_by_run(lines, request.name), request.name, source)
    log.events.sort(key=lambda row: row.line)
    first, last = log.events[0].line, log.events[-1].line
    if source.by == "line" and last - first < len(log.events):
        log.first_line = first
    return log


def _complete(log: ConvertedLog, runs: Mapping[str, list[Row]], name: str, source: Source = NO_LINES) -> None:
    """Sets the events to those of these runs, without the deliveries that violate `delivers-once`."""
    try:
        rest, log.deliveries = completed(runs, log.to_nobody, source)
    except BadInput as problem:
        raise problem.at(file=name) from None
    log.events = [row for rows in rest.values() for row in rows]


def _has_more_lines(content: bytes, than: int) -> bool:
    end = -1
    for _ in range(than + 1):
        end = content.find(b"\n", end + 1)
        if end < 0:
            return False
    return True


def _classify_events(
    log: ConvertedLog, request: LogRequest
) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """The runs of these events, with what the log adds to each: notes, deliveries, and what is uncertain."""
    name, processes = request.name, request.declared.processes
    if len(log.events) <= SMALL_UP_TO:
        return converted_runs(log, name, processes)
    from .classified import classified
    from .context import BY_ROW, Numbering

    by = BY_ROW if log.first_line is None else Numbering("line", log.first_line)

    def by_monitor(events: Iterable[Row]) -> ClassifiedLog | None:
        lines = "\n".join(json.dumps(event.json(), ensure_ascii=False) for event in events)
        table = read_table(lines.encode("utf-8", "surrogatepass"), "jsonl", name)
        if table is None:
            return None
        return classified(table, name, request.orders, request.reading, by, request.progress, processes)

    with request.around_monitor():
        every = by_monitor(log.events)
        if every is None:
            return converted_runs(log, name, processes)
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
    """The classification as far as it is certain, with notes; `certain`: of the events whose order is known."""
    run = found.subject.run or ""
    uncertain = log.uncertain.get(run, CERTAIN)
    subject = replace(found.subject, notes=(*found.subject.notes, *log.notes.get(run, ())), uncertain=uncertain)
    verdicts = tuple(weakened(verdict, uncertain, None, reading) for verdict in found.verdicts)
    if certain is not None:
        broken = {verdict.order: verdict for verdict in certain.verdicts if verdict.outcome == "broken"}
        verdicts = tuple(
            broken.get(verdict.order, verdict) if verdict.unknown == ORDER_NOT_LOGGED else verdict
            for verdict in verdicts
        )
    classification = replace(found, subject=subject, verdicts=verdicts)
    return classification.with_delivery(log.deliveries[run]) if run in log.deliveries else classification
