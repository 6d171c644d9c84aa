"""`crownless classify`: the orders that a computation or an event log keeps, with a witness for each broken one."""

# ruff: noqa: RUF009  (the fields of the options are made by a function)
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from crownless.command_line.endings import EXIT_VIOLATED, exit_code, say
from crownless.command_line.file_options import InputFile, OutputFolder, output_folder
from crownless.command_line.log_options import with_log_options
from crownless.command_line.options import Verb, with_limits, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.oracle import classification as oracle
from crownless.oracle.classification import Classifications, ClassifiedRuns
from crownless.oracle.log_orders.classify_file import How, LogRequest, classify_file
from crownless.oracle.logs.formats import BY_LINE, LogOptions, Progress
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.ending import Limits, Stopped, look, stoppable
from crownless.runtime.errors import BadInput
from crownless.spec import orders as spec
from crownless.spec.orders import UnreceivedPolicy, Verdict

from . import classify_report as report

#: More computations than this are summarized, not shown one by one.
SHOWN_UP_TO = 10
#: Options that require another one.
NEEDS = {
    "--master": "--engine spark",
    "--live": "--engine spark",
    "--checkpoint": "--live",
    "--idle-timeout": "--live",
    "--event-time": "--live",
    "--max-lateness": "--event-time",
    "--processes": "--clocks",
}
_DECLARED = ("--complete", "--process", "--skip-bad")
#: Options that exclude each other: with Spark, and without.
NOT_ON_SPARK = {
    "--engine spark": ("--by-process", "--format", "--column", "--pattern", "--kind", "--match", *_DECLARED),
    "--one-run": ("--clocks", "--live", "--order-by"),
    "--clocks": ("--live", "--order-by"),
    "--live": ("--order-by",),
}
NOT_BESIDE = {
    "--one-run": ("--clocks", "--match", "--out", "--by-process", "--pattern", *_DECLARED),
    "--clocks": ("--match", "--format", "--column", "--pattern", "--order-by", *_DECLARED),
    "--out": ("--complete", "--skip-bad"),
    "--match": ("--pattern", *_DECLARED),
}


def option(*names: str, **how: Any) -> Any:
    """A field of `ClassifyOptions` that is an option of the verb."""
    default = how.get("default", () if how.get("multiple") else False if how.get("is_flag") else None)
    return field(default=default, metadata={"option": click.option(*names, **how)})


@dataclass(frozen=True)
class ClassifyOptions:
    """The arguments and options of the verb, as they were given."""

    files: tuple[str, ...]
    log: LogOptions
    limits: Limits
    as_json: bool
    quiet: bool
    orders: tuple[str, ...] = option(
        "--order", "orders", multiple=True, help="Decide only this order (repeatable).  [default: all]"
    )
    reading: UnreceivedPolicy = option(
        "--unreceived",
        "reading",
        type=click.Choice(["lost", "pending"]),
        default="lost",
        show_default=True,
        help="Messages that are not received: lost for good, or still in flight.",
    )
    complete: bool = option(
        "--complete",
        is_flag=True,
        help="Nothing is missing from the log: also decide delivers-once and delivers-all.",
    )
    skip_bad: bool = option(
        "--skip-bad",
        is_flag=True,
        help="Leave out lines that cannot be used, or contradict each other, and say how many (exit code 3).",
    )
    takes_part: tuple[str, ...] = option(
        "--process", "takes_part", multiple=True, metavar="NAME", help="A process that may have no events (repeatable)."
    )
    by_process: bool = option(
        "--by-process", is_flag=True, help="Also print for each process how far its deliveries are out of order."
    )
    match: bool = option(
        "--match",
        is_flag=True,
        help="Event logs that name no messages: match deliveries with sends, in the order of sending.",
    )
    out: Path | None = option(
        "--out", type=OutputFolder(), help="A new folder for all verdicts, witnesses and holes, as Parquet."
    )
    engine: str = option(
        "--engine",
        type=click.Choice(["plain", "spark"]),
        default="plain",
        show_default=True,
        help="spark: one dataset of event logs, Parquet or JSON Lines, of any size.",
    )
    one_run: bool = option(
        "--one-run",
        is_flag=True,
        help="The log is of one run, perhaps larger than memory: it is read in blocks.",
    )
    clocks: bool = option("--clocks", is_flag=True, help="Compare the log with its vector clocks.")
    processes: str | None = option(
        "--processes", help="With --clocks: the processes of the entries, such as P1,P2.  [the names, in order]"
    )
    master: str | None = option("--master", help="With --engine spark: where Spark runs, such as local[2].")
    live: bool = option(
        "--live", is_flag=True, help="With --engine spark: FILE is a folder that files are being put into."
    )
    checkpoint: str | None = option(
        "--checkpoint",
        metavar="DIR",
        callback=output_folder,
        help="With --live: resume here where an earlier call ended.",
    )
    idle_timeout: float | None = option(
        "--idle-timeout",
        type=click.FloatRange(min=0, min_open=True),
        help="With --live: seconds without events after which a run ends.",
    )
    event_time: str | None = option(
        "--event-time",
        help="With --live: the column of time stamps by which runs end, not the machine's clock.",
    )
    max_lateness: float | None = option(
        "--max-lateness",
        type=click.FloatRange(min=0),
        help="With --event-time: how many seconds late an event may be.",
    )

    @property
    def chosen(self) -> tuple[str, ...]:
        """The orders to decide, from the weakest to the strongest."""
        return spec.chosen(self.orders)

    @property
    def how(self) -> How:
        return "one-run" if self.one_run else "clocks" if self.clocks else "match" if self.match else "runs"

    @property
    def clock_entries(self) -> tuple[str, ...]:
        """The processes whose entries clocks have, if they are named."""
        return tuple(self.processes.split(",")) if self.processes else ()

    def request(self, name: str, progress: Progress | None = None) -> LogRequest:
        """The request to classify the file of that name by the plain engine."""
        log = replace(
            self.log,
            complete=self.complete,
            processes=tuple(dict.fromkeys(self.takes_part)),
            quarantine=Quarantine() if self.skip_bad else None,
        )
        around = nullcontext if self.quiet else _compiling()
        return LogRequest(name, self.chosen, self.reading, self.how, log, self.clock_entries, around, progress)

    def check(self) -> None:
        """Raises `BadInput` for options that do not go together."""
        for order in self.orders:
            spec.order_named(order)
        values = {f"--{one.name.replace('_', '-')}": getattr(self, one.name) for one in fields(self)}
        values["--process"] = self.takes_part
        given = {name for name, value in values.items() if value not in (None, False, ())}
        given |= {*self.log.given.values(), *["--engine spark"] * (self.engine == "spark")}
        for name, needed in NEEDS.items():
            if name in given and needed not in given:
                raise BadInput(f"{name} is only for {needed}", hint=f"add {needed}, or leave {name} out")
        for name, others in (NOT_ON_SPARK if self.engine == "spark" else NOT_BESIDE).items():
            if name in given and (clash := [other for other in others if other in given]):
                raise BadInput(f"{clash[0]} does not go with {name}", hint="leave one of them out")
        if self.engine == "spark" and self.log.order_by == BY_LINE:
            hint = "name a column; Spark does not keep the order of lines"
            raise BadInput("--order-by line does not go with --engine spark", hint=hint)
        if self.complete and self.reading == "pending":
            hint = "leave one of them out: of a complete log nothing is still in flight"
            raise BadInput("--complete does not go with --unreceived pending", hint=hint)
        for name in ("--engine spark", "--out"):
            if name in given and len(self.files) != 1:
                raise BadInput(f"{name} takes one log", hint="put the files into one folder, or give each its own call")
        if self.out is not None and self.engine == "plain":
            from crownless.pipeline.logs.records import refuse_taken

            refuse_taken(self.out)


def _with_options(verb: Any) -> Any:
    """Gives the verb the options that `ClassifyOptions` declares."""
    for one in reversed(fields(ClassifyOptions)):
        if "option" in one.metadata:
            verb = one.metadata["option"](verb)
    return verb


@click.command(cls=Verb, everyday="orders form columns order_by skip_bad match max_seconds as_json")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=InputFile())
@_with_options
@with_log_options
@with_limits
@with_output
def classify(**given: Any) -> int:
    """Decide which orders computations keep: files in the papers' notation, event logs, or bundled names.

    \b
    Examples:
      crownless classify mf-fig8             a bundled computation
      crownless classify log.jsonl           an event log; - is standard input
      crownless classify log.csv.gz --column message=msg_id
      crownless classify log.csv --order-by ts   time stamps, and no index
      crownless classify log.jsonl --kind recv=deliver
      crownless classify log.parquet --order causal --quiet
      crownless classify --match log.jsonl   a log that does not name its messages
      crownless classify --complete log.jsonl   was each message delivered, and once?

    Exit codes: 0 every requested order is kept (--match: some matching keeps it), 1 one is broken, or --complete
    finds a violation, 2 bad usage or input, 3 unknown, such as for a log with holes. Event logs, --engine spark for
    large ones, and the options for both (--one-run, --clocks, --live, ...): docs/event_logs.md.
    """
    options = ClassifyOptions(**given)
    options.check()
    if options.engine == "plain":
        return _classify_here(options)
    from .classify_spark import classify_live, classify_on_spark

    return classify_live(options) if options.live else classify_on_spark(options)


def _classify_here(options: ClassifyOptions) -> int:
    out, chosen, reading = options.out, options.chosen, options.reading
    parts: list[ClassifiedRuns] = []
    shown: list[oracle.Classification] = []
    at_work: tuple[oracle.NamedComputation, list[Verdict]] | None = None
    judged: set[str] = set()
    skipped: dict[str, Quarantine] = {}
    with status(options.quiet) as line, stoppable(options.limits) as part:
        for name in options.files:
            request = options.request(name, report.reporting(name, None if line is None else line.update))
            if request.options.quarantine is not None:
                skipped[name] = request.options.quarantine
            found = classify_file(request)
            if not isinstance(found, Iterator):
                parts.append(found)
            else:
                parts.append(several := Classifications())
                for subject in found:
                    at_work = (subject, [])
                    for verdict in oracle.verdicts(subject, chosen, reading):
                        at_work[1].append(verdict)
                    several.append(oracle.classified(*at_work, reading))
                    at_work = None
            judged.add(name)
        for classification in _shown(parts, chosen, as_json=options.as_json):
            look()
            shown.append(classification)
        if out is not None:
            from crownless.pipeline.logs.records import write_records

            write_records(out, parts[0])
    if at_work is not None:
        last = oracle.classified(*at_work, reading, chosen, part.reason or "")
        parts.append(Classifications([last]))
    if part.reason is not None:
        small = (one for one in parts if isinstance(one, Classifications))
        shown = shown or [classification for several in small for classification in several]
    count = sum(map(len, parts))
    if part.reason is not None and not count:
        raise Stopped(part.reason)
    if options.as_json:
        each = [classification.json() for classification in shown]
        left_out = {"skipped": report.skipped_rows(skipped)} if options.skip_bad else {}
        print_json((each[0] if len(each) == 1 else {"classifications": each}) | left_out)
    else:
        _print(options, parts, shown if count <= SHOWN_UP_TO or part.reason is None else [])
        report.print_skipped(skipped)
    outcomes = {outcome for one in parts for order in chosen for outcome, n in one.counts(order).items() if n}
    if any(one.rows for one in skipped.values()) or (options.complete and report.unknown_properties(parts)):
        outcomes.add("unknown")
    if part.reason is not None:
        outcomes.add("unknown")
        nothing = "" if out is None or out.exists() else f"; nothing was written to {out}"
        unjudged = [name for name in dict.fromkeys(options.files) if name not in judged]
        say(f"{part.reason}" + f"; not judged, or not all of it: {', '.join(unjudged)}" * bool(unjudged) + nothing)
    return EXIT_VIOLATED if options.complete and report.first_violations(parts) else exit_code(outcomes)


def _print(options: ClassifyOptions, parts: list[ClassifiedRuns], shown: list[oracle.Classification]) -> None:
    """A summary of many runs, and the classifications that are shown."""
    many = sum(map(len, parts)) > SHOWN_UP_TO
    if many:
        report.print_summary(parts, options.chosen)
        if options.complete:
            report.print_delivery_summary(parts)
        report.print_notes(parts)
    for classification in shown:
        if many:
            print_line()
        report.print_classification(classification, drawing=many or not options.quiet, by_process=options.by_process)
    if options.out is not None and options.out.exists():
        print_line(f"all verdicts, witnesses and holes: {options.out}")


def _compiling() -> Callable[[], AbstractContextManager[None]]:
    """Returns a context that reports a compilation, once."""
    from crownless.model_check.search.engines import COMPILES, LONG_TO_COMPILE_FOR_LOGS, compiling

    return partial(compiling, cache(partial(say, COMPILES)), LONG_TO_COMPILE_FOR_LOGS)


def _shown(parts: list[ClassifiedRuns], chosen: tuple[str, ...], *, as_json: bool) -> Iterator[oracle.Classification]:
    """The runs printed in full: all, or among many the first that violates each order or property."""
    if as_json or sum(map(len, parts)) <= SHOWN_UP_TO:
        yield from (part.classification(number) for part in parts for number in range(len(part)))
        return
    firsts = [report.first_broken(parts, order) for order in chosen]
    firsts += report.first_violations(parts).values()
    for part, number in dict.fromkeys(first for first in firsts if first is not None):
        yield parts[part].classification(number)
