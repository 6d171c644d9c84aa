"""The contents of a file: what is small for the spec to decide, and a log of many lines decided by the monitor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from crownless.model_check.classified_runs import Classifications
from crownless.model_check.event_logs import logged_runs, rows_by_run
from crownless.model_check.oracle import (
    Classification,
    NamedComputation,
    computation_in,
    content_of,
    converted_runs,
    form_by,
    lines_of,
    named_run,
    refuse_patterns,
    runs_in,
)
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy
from crownless.spec.reading import as_text

from .converted import ConvertedLog, LogEvent, convert
from .declared import NOTHING, Declared
from .files import CONVERTED, Format, Progress, read_table
from .kinds import refuse_kinds
from .patterns import Patterns
from .source import Source
from .uncertain import CERTAIN, ORDER_NOT_LOGGED, weakened

if TYPE_CHECKING:
    from .classified import ClassifiedLog
    from .complete import Delivery

#: A log with no more lines than this is read and decided by the spec alone: nothing need be compiled for it.
SMALL_UP_TO = 5_000


def contents(
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    form: Format | None = None,
    columns: Mapping[str, str] | None = None,
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext,
    patterns: Patterns | None = None,
    progress: Progress | None = None,
    kinds: Mapping[str, str] | None = None,
    declared: Declared = NOTHING,
) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """A log of the file of that name (`-`: standard input), classified; what is small enough, to be classified.

    `form`: its format, if the name does not say it; `columns`: what its columns are called there, where that is
    something else, and `kinds`: what its kinds are. `around_monitor`: what is open while the monitor is at work.
    `patterns`: how a ShiViz log is read. `progress`: gets how much is read, and how much decided. `declared`: what its
    lines do not say. Raises `BadInput` for a file that cannot be read.
    """
    content, form = content_of(name, form_by(name, form, patterns), progress)
    if form is None:
        refuse_kinds(kinds, "a computation", name)
        declared.refuse("a computation", name)
        return computation_in(as_text(content, name), name)
    if form in CONVERTED:
        log = convert(content, form, name, columns, patterns, kinds, complete=declared.complete)
        if declared.complete:
            return _complete_converted(log, name, orders, reading, around_monitor, declared.processes)
        return _converted(log, name, orders, reading, around_monitor, declared.processes)
    refuse_patterns(name, patterns)
    if declared.complete:
        lines = lines_of(content, form, name, columns, kinds=kinds)
        source = Source.of(content, form, name, columns, lines)
        return _complete_runs(lines, source, name, orders, reading, around_monitor, progress, declared.processes)
    return runs_of(content, form, name, orders, reading, columns, around_monitor, progress, kinds, declared.processes)


def runs_of(
    content: bytes,
    form: Format,
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    columns: Mapping[str, str] | None = None,
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext,
    progress: Progress | None = None,
    kinds: Mapping[str, str] | None = None,
    processes: Sequence[str] = (),
) -> ClassifiedLog | Iterator[NamedComputation]:
    """The same of the content of a log."""
    table = None
    if form != "jsonl" or columns or _has_more_lines(content, SMALL_UP_TO):
        table = read_table(content, form, name, columns, progress, kinds=kinds)
    if table is not None and not table.num_rows:
        raise BadInput("the log is empty", hint="give one event a row", file=name)
    if table is None or table.num_rows <= SMALL_UP_TO:
        return runs_in(lines_of(content, form, name, columns, kinds=kinds), name, processes)
    from .classified import classified  # which loads what is compiled
    from .context import numbering

    with around_monitor():
        by = numbering(content, form, table.num_rows)
        log = classified(table, name, orders, reading, by, progress, processes)
    # All lines together say where a row contradicts another one.
    return runs_in(lines_of(content, form, name, columns, kinds=kinds), name, processes) if log is None else log


def _complete_runs(
    lines: Sequence[str],
    source: Source,
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    around_monitor: Callable[[], AbstractContextManager[None]],
    progress: Progress | None,
    processes: Sequence[str],
) -> ClassifiedLog | Iterator[NamedComputation]:
    """The runs of a complete log in lines of JSON, each with how it delivers its messages."""
    from .complete import completed

    try:
        runs, deliveries = completed(rows_by_run(lines, name), source=source)
    except BadInput as problem:
        raise problem.at(file=name) from None
    rows = sorted((row for of_run in runs.values() for row in of_run), key=lambda row: row.line)
    table = None
    if len(rows) > SMALL_UP_TO:
        table = read_table(
            "\n".join(json.dumps(row.json(), ensure_ascii=False) for row in rows).encode(), "jsonl", name
        )
    if table is not None:
        from .classified import classified
        from .context import BY_ROW, Numbering

        no_blanks = source.by == "line" and rows[-1].line - rows[0].line < len(rows)
        by = Numbering("line", rows[0].line) if no_blanks else BY_ROW
        with around_monitor():
            log = classified(table, name, orders, reading, by, progress, processes)
        if log is not None:
            log.deliveries = deliveries
            return log
    return map(partial(_with_delivery, deliveries), map(partial(named_run, name), logged_runs(runs, name, processes)))


def _complete_converted(
    log: ConvertedLog,
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    around_monitor: Callable[[], AbstractContextManager[None]],
    processes: Sequence[str],
) -> Classifications | Iterator[NamedComputation]:
    """The same of a log of another format."""
    from .complete import completed

    try:
        runs, deliveries = completed(rows_by_run(log.lines, name, places=log.places), log.to_nobody)
    except BadInput as problem:
        raise problem.at(file=name) from None
    rows = (row for of_run in runs.values() for row in of_run)
    log.events = [LogEvent(row.line, row.run, row.process, row.index, row.kind, row.message, row.peers) for row in rows]
    found = _converted(log, name, orders, reading, around_monitor, processes)
    if isinstance(found, Iterator):
        return map(partial(_with_delivery, deliveries), found)
    return Classifications(one.with_delivery(deliveries[one.subject.run or ""]) for one in found)


def _with_delivery(deliveries: Mapping[str, Delivery], subject: NamedComputation) -> NamedComputation:
    delivery = deliveries[subject.run or ""]
    return replace(subject, delivery=delivery, notes=(*subject.notes, *delivery.notes))


def one_run_of(
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    form: Format | None = None,
    columns: Mapping[str, str] | None = None,
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext,
    progress: Progress | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Classifications:
    """A log of one run, of any size, classified as it is read; the parameters are those of `contents`."""
    from .file_blocks import blocks
    from .large_run import classified_in_blocks  # which loads what is compiled

    with around_monitor():
        rows = blocks(name, form, columns, progress, kinds=kinds)
        found = classified_in_blocks(rows, name, orders, reading)
    return Classifications([found])


def clocked_runs(
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    processes: Sequence[str] = (),
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext,
    kinds: Mapping[str, str] | None = None,
) -> ClassifiedLog | Classifications | Iterator[NamedComputation]:
    """A log in JSON Lines whose events carry vector clocks, as `contents`; `processes`: whose the entries are."""
    from .clocked import read_clocked

    content, form = content_of(name)
    if form != "jsonl":
        raise BadInput("clocks are read from JSON Lines", hint="leave --clocks out, or convert the log", file=name)
    return _converted(read_clocked(content, name, processes, kinds), name, orders, reading, around_monitor)


def _has_more_lines(content: bytes, than: int) -> bool:
    end = -1
    for _ in range(than + 1):
        end = content.find(b"\n", end + 1)
        if end < 0:
            return False
    return True


def _converted(
    log: ConvertedLog,
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    around_monitor: Callable[[], AbstractContextManager[None]],
    processes: Sequence[str] = (),
) -> Classifications | Iterator[NamedComputation]:
    """The runs of a log of another format; a large one classified."""
    if len(log.events) <= SMALL_UP_TO:
        return converted_runs(log, name, processes)
    from .classified import classified

    def by_monitor(events: Iterable[LogEvent]) -> list[Classification]:
        table = read_table("\n".join(event.json() for event in events).encode(), "jsonl", name)
        found = None if table is None else classified(table, name, orders, reading, processes=processes)
        return [] if found is None else [found.classification(number) for number in range(len(found))]

    with around_monitor():
        every = by_monitor(log.events)
        if not every:
            return converted_runs(log, name, processes)
        unordered = any(uncertain.unordered for uncertain in log.uncertain.values())
        certain = by_monitor(log.without_unordered) if unordered else []
    return Classifications(
        _weakened(one, rest, log, reading) for one, rest in zip_longest(every, certain[: len(every)])
    )


def _weakened(
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
    return replace(found, subject=subject, verdicts=verdicts)
