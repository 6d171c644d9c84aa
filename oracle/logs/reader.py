"""The contents of a file as computations: one in the papers' notation, or the runs of an event log in any format."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module

from crownless.runtime.errors import BadInput
from crownless.runtime.reading import as_text
from crownless.spec import notation

from .converted import ConvertedLog, with_receivers
from .event_logs import NOTHING, LoggedRun, logged_runs
from .formats import CONVERTED, Format, LogOptions, content_of, refuse_unknown_columns
from .lines import row_of, rows_of_lines, text_of_lines
from .named_computation import FROM_ONE, NO_INDEX, NamedComputation
from .rows import Row, by_run
from .uncertain import CERTAIN


def subjects(name: str, options: LogOptions | None = None) -> Iterator[NamedComputation]:
    """The contents of a file (`-`: standard input) or bundled file of that name: one computation, or a log's runs."""
    options = options or LogOptions()
    content, form = content_of(name, options)
    if form is None:
        return computation_in(as_text(content, name), name)
    return runs_in(content, form, name, options)


def runs_in(content: bytes, form: Format, name: str, options: LogOptions) -> Iterator[NamedComputation]:
    """The runs of the log in a content of that format."""
    if form in CONVERTED:
        return converted_runs(convert(content, form, name, options), name, options)
    if not options.names_receivers:
        runs = by_run(rows_in(content, form, name, options), name)
        return converted_runs(with_receivers(runs, name), name, options)
    return runs_of(rows_in(content, form, name, options), name, options)


def rows_in(content: bytes, form: Format, name: str, options: LogOptions) -> Iterator[Row]:
    """The events of a log, each with its line in the file; raises `BadInput` for an unusable one."""
    if form != "jsonl" or options.order_by is not None:
        from .tables import rows_of_content  # Arrow takes a while to import

        return rows_of_content(content, form, name, options)
    refuse_unknown_columns(content, name, options)
    return rows_of_lines(text_of_lines(content, name, options).split("\n"), name, options)


def runs_of(rows: Iterable[Row], name: str, options: LogOptions) -> Iterator[NamedComputation]:
    """The runs of the log of that name. The quarantine of the options gets the rows of impossible runs."""
    quarantine = options.quarantine
    torn, leave_out = (NOTHING, None) if quarantine is None else (quarantine.processes, quarantine.add_run)
    logged = logged_runs(by_run(rows, name), name, options.processes, torn, leave_out)
    return (named_run(name, of_run, options.notes) for of_run in logged)


def named_run(name: str, logged: LoggedRun, more: Sequence[str] = ()) -> NamedComputation:
    """A run of the log of that name, to be classified, with more notes."""
    notes = (
        *[FROM_ONE] * logged.from_one,
        *[NO_INDEX] * logged.like_time_stamps,
        *more,
    )
    return NamedComputation(
        name, logged.run, logged.computation, logged.holes, notes,
        perhaps_received=logged.perhaps_received, event_lines=logged.event_lines,
    )  # fmt: skip


def computation_in(content: str, name: str) -> Iterator[NamedComputation]:
    """The computation in a text in the papers' notation."""
    script = notation.parse(content, name)
    try:
        yield NamedComputation(name, None, notation.to_computation(script))
    except BadInput as error:
        if script.names_receives:
            raise
        hint = f"{error.hint}; if it is a program: crownless check PROTOCOL --program {name}"
        raise BadInput(error.message, hint=hint, file=error.file, line=error.line, column=error.column) from None


# -- logs of other tools -----------------------------------------------------------------------------------------------


def convert(content: bytes, form: Format, name: str, options: LogOptions | None = None) -> ConvertedLog:
    """The log in a content of one of the formats `CONVERTED`; raises `BadInput`."""
    try:
        log: ConvertedLog = import_module(f".{form}", __package__).read(content, name, options or LogOptions())
        log.events = [row_of(row.line, row.json()) for row in log.events]
    except BadInput as problem:
        raise problem.at(file=name) from None
    return log


def converted_runs(log: ConvertedLog, name: str, options: LogOptions | None = None) -> Iterator[NamedComputation]:
    """The runs of a log of another format, each with its notes and uncertainties."""
    for found in runs_of(log.events, name, options or LogOptions()):
        run = found.run or ""
        delivery = log.deliveries.get(run)
        notes = (*found.notes, *log.notes.get(run, ()), *(() if delivery is None else delivery.notes))
        uncertain = log.uncertain.get(run, CERTAIN)
        yield replace(found, notes=notes, uncertain=uncertain, delivery=delivery)
