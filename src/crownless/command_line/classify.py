"""`crownless classify`: the orders that a computation or an event log keeps, with a witness for each broken one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from crownless.model_check import oracle
from crownless.model_check.classified_runs import Classifications, ClassifiedRuns
from crownless.model_check.logs.classify_file import How, LogRequest, classify_file
from crownless.model_check.logs.declared import Declared
from crownless.model_check.logs.files import Progress
from crownless.runtime.ending import Limits, look, stoppable
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, order_named

from .classify_report import (
    Rate,
    first_broken,
    first_violations,
    print_classification,
    print_delivery_summary,
    print_notes,
    print_summary,
)
from .endings import say
from .file_options import InputFile, OutputFolder, output_folder
from .log_options import LogOptions, with_log_options
from .options import Verb, with_limits, with_output
from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    ended_with_nothing,
    print_json,
    print_line,
    status,
)

#: More computations than this are summed up, not shown one by one.
SHOWN_UP_TO = 10


@dataclass(frozen=True)
class ClassifyOptions:
    """The arguments and options of the verb, as they were given."""

    files: tuple[str, ...]
    orders: tuple[str, ...]
    reading: UnreceivedPolicy
    log: LogOptions
    complete: bool
    takes_part: tuple[str, ...]
    by_process: bool
    match: bool
    engine: str
    master: str | None
    out: Path | None
    one_run: bool
    clocks: bool
    processes: str | None
    live: bool
    checkpoint: str | None
    idle_timeout: float | None
    event_time: str | None
    max_lateness: float | None
    limits: Limits
    as_json: bool
    quiet: bool

    @property
    def chosen(self) -> tuple[str, ...]:
        """The orders to decide, from the weakest to the strongest."""
        return tuple(name for name in ORDERS if not self.orders or name in self.orders)

    @property
    def how(self) -> How:
        return "one-run" if self.one_run else "clocks" if self.clocks else "runs"

    @property
    def clock_entries(self) -> Sequence[str]:
        return self.processes.split(",") if self.processes else ()

    @property
    def of_live(self) -> dict[str, Any]:
        """The options of `--live`, by their names in Python."""
        return {name: getattr(self, name) for name in ("checkpoint", "idle_timeout", "event_time", "max_lateness")}

    def request(self, name: str, progress: Progress | None = None) -> LogRequest:
        """The request to classify the file of that name by the plain engine."""
        return LogRequest(
            name,
            self.chosen,
            self.reading,
            self.how,
            self.log.form,
            self.log.columns,
            self.log.kinds,
            self.log.patterns,
            Declared.of(complete=self.complete, processes=self.takes_part),
            self.clock_entries,
            nullcontext if self.quiet else _compiling,
            progress,
        )

    def check(self) -> None:
        """Raises `BadInput` for options that do not go together."""
        for order in self.orders:
            order_named(order)
        given = [f"--{name.replace('_', '-')}" for name, value in self.of_live.items() if value is not None]
        if self.one_run + self.clocks + self.live > 1:
            raise BadInput("--one-run, --clocks and --live are three ways to judge a log", hint="name one of them")
        if given and not self.live:
            raise BadInput(f"{', '.join(given)}: of --live only", hint="add --live")
        if self.max_lateness is not None and self.event_time is None:
            raise BadInput("--max-lateness: of --event-time only", hint="name the column of time stamps")
        if self.processes is not None and not self.clocks:
            raise BadInput("--processes: of --clocks only", hint="add --clocks")
        Declared.of(processes=self.takes_part)
        if self.complete and self.reading == "pending":
            hint = "leave one of them out: of a complete log nothing is still in flight"
            raise BadInput("--complete does not go with --unreceived pending", hint=hint)
        declared = {"--complete": self.complete, "--process": self.takes_part}
        by_process, match = {"--by-process": self.by_process}, {"--match": self.match}
        patterns = dict.fromkeys(self.log.patterns.given, True)
        out = {"--out": self.out is not None}
        if self.engine == "spark":
            _refuse_beside("--engine spark", {**by_process, **self.log.named, "--kind": self.log.kinds, **match})
            _refuse_beside("--engine spark", declared, "judge the log by the plain engine: leave --engine spark out")
            if len(self.files) != 1:
                raise BadInput("--engine spark takes one dataset", hint="put the files into one folder")
            return
        if self.master or self.live:
            raise BadInput("--master and --live go with --engine spark", hint="add --engine spark")
        if self.one_run:
            _refuse_beside("--one-run", {**match, **out, **by_process, **declared, **patterns})
        if self.clocks:
            _refuse_beside("--clocks", {**match, **declared, **self.log.named})
        if self.out is not None:
            if len(self.files) != 1:
                raise BadInput("--out takes one log", hint="give each log a folder of its own")
            hint = "leave one of them out; --complete --json has all violations"
            _refuse_beside("--out", {"--complete": self.complete}, hint)
            from crownless.pipeline.logs.records import refuse_taken

            refuse_taken(self.out)
        if self.match:
            _refuse_beside("--match", {**patterns, **out, **by_process, **declared})


@click.command(cls=Verb, everyday="orders form_of_log columns by_process match max_seconds as_json")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=InputFile())
@click.option("--order", "orders", multiple=True, help="Decide only this order (repeatable).  [default: all seven]")
@click.option(
    "--unreceived",
    "reading",
    type=click.Choice(["lost", "pending"]),
    default="lost",
    show_default=True,
    help="Messages that are not received: lost for good, or still in flight.",
)
@with_log_options
@click.option(
    "--complete",
    is_flag=True,
    help="Nothing is missing from the log: also decide delivers-once and delivers-all.",
)
@click.option(
    "--process", "takes_part", multiple=True, metavar="NAME", help="A process that may have no events (repeatable)."
)
@click.option("--by-process", is_flag=True, help="Also say of each process how far its deliveries are out of order.")
@click.option(
    "--match",
    is_flag=True,
    help="Event logs that name no messages: which orders can be kept, whichever message each event is of.",
)
@click.option(
    "--engine",
    type=click.Choice(["plain", "spark"]),
    default="plain",
    show_default=True,
    help="spark: one dataset of event logs, Parquet or JSON Lines, of any size.",
)
@click.option("--master", help="With --engine spark: where Spark runs, such as local[2].")
@click.option("--out", type=OutputFolder(), help="A new folder for all verdicts, witnesses and holes, as Parquet.")
@click.option(
    "--one-run", is_flag=True, help="The log is of one run, perhaps larger than memory: it is read in blocks."
)
@click.option(
    "--clocks",
    is_flag=True,
    help="Compare the log with its vector clocks.",
)
@click.option("--processes", help="With --clocks: whose the entries are, such as P1,P2.  [the names, in order]")
@click.option("--live", is_flag=True, help="With --engine spark: FILE is a folder that files are being put into.")
@click.option(
    "--checkpoint",
    metavar="DIR",
    callback=output_folder,
    help="With --live: go on here where an earlier call ended.",
)
@click.option(
    "--idle-timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="With --live: seconds without events after which a run ends.",
)
@click.option("--event-time", help="With --live: the column of time stamps by which runs end, not the machine's clock.")
@click.option(
    "--max-lateness", type=click.FloatRange(min=0), help="With --event-time: how many seconds late an event may be."
)
@with_limits
@with_output
def classify(**given: Any) -> int:
    """Decide which orders computations keep: files in the papers' notation, event logs, or bundled names.

    \b
    Examples:
      crownless classify mf-fig8             a bundled computation
      crownless classify log.jsonl           an event log; - is standard input
      crownless classify log.csv.gz --column message=msg_id
      crownless classify log.jsonl --kind recv=deliver
      crownless classify log.parquet --order causal --quiet
      crownless classify --match log.jsonl   a log that does not name its messages
      crownless classify --complete log.jsonl   was each message delivered, and once?

    Exit codes: 0 every requested order is kept (--match: some matching keeps it), 1 one is broken (impossible), or
    --complete finds a violation, 2 bad usage or input, 3 unknown, such as for a log with holes. Event logs, and
    --engine spark for large ones: docs/event_logs.md.
    """
    options = ClassifyOptions(**given)
    options.check()
    if options.engine == "spark":
        return _classify_on_spark(options)
    if options.match:
        from .classify_match import classify_match

        requests = [options.request(name) for name in options.files]
        return classify_match(requests, options.limits, as_json=options.as_json, quiet=options.quiet)
    return _classify_here(options)


def _classify_on_spark(options: ClassifyOptions) -> int:
    from .classify_spark import classify_live, classify_on_spark

    out = None if options.out is None else str(options.out)
    same: dict[str, Any] = {name: getattr(options, name) for name in ("orders", "reading", "master", "limits")}
    same |= {"out": out, "as_json": options.as_json, "quiet": options.quiet}
    if options.live:
        named = {name: value for name, value in options.of_live.items() if value is not None}
        return classify_live(options.files[0], **named, **same)
    return classify_on_spark(options.files[0], how=options.how, processes=options.clock_entries, **same)


def _classify_here(options: ClassifyOptions) -> int:
    out, chosen, reading = options.out, options.chosen, options.reading
    parts: list[ClassifiedRuns] = []
    shown: list[oracle.Classification] = []
    at_work: tuple[oracle.NamedComputation, list[Verdict]] | None = None
    judged: set[str] = set()
    with status(options.quiet) as line, stoppable(options.limits) as part:
        progress = Rate(None if line is None else line.update)
        for name in options.files:
            progress.file = name
            found = classify_file(options.request(name, progress))
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
        return ended_with_nothing(part, {"classifications": []} if options.as_json else None)
    if options.as_json:
        each = [classification.json() for classification in shown]
        print_json(each[0] if len(each) == 1 else {"classifications": each})
    else:
        if count > SHOWN_UP_TO:
            print_summary(parts, chosen)
            if options.complete:
                print_delivery_summary(parts)
            print_notes(parts)
        for classification in shown if count <= SHOWN_UP_TO or part.reason is None else ():
            if count > SHOWN_UP_TO:
                print_line()
            drawing = not options.quiet or count > SHOWN_UP_TO
            print_classification(classification, drawing=drawing, by_process=options.by_process)
        if out is not None and out.exists():
            print_line(f"all verdicts, witnesses and holes: {out}")
    outcomes = {outcome for one in parts for order in chosen for outcome, n in one.counts(order).items() if n}
    if part.reason is not None:
        outcomes.add("unknown")
        nothing = "" if out is None or out.exists() else f"; nothing was written to {out}"
        left_out = [name for name in dict.fromkeys(options.files) if name not in judged]
        say(f"{part.reason}" + f"; not judged, or not all of it: {', '.join(left_out)}" * bool(left_out) + nothing)
    if options.complete and first_violations(parts):
        return EXIT_VIOLATED
    return EXIT_VIOLATED if "broken" in outcomes else EXIT_UNKNOWN if "unknown" in outcomes else EXIT_HOLDS


def _compiling() -> AbstractContextManager[None]:
    """Says so if the monitor of logs is compiled in here."""
    from crownless.model_check.engines import COMPILES, LONG_TO_COMPILE_FOR_LOGS, compiling

    return compiling(lambda: say(COMPILES), LONG_TO_COMPILE_FOR_LOGS)


def _refuse_beside(option: str, others: Mapping[str, object], hint: str = "leave one of them out") -> None:
    """Raises `BadInput` for the first of the other options that is given."""
    for other, given in others.items():
        if given:
            raise BadInput(f"{other} does not go with {option}", hint=hint)


def _shown(parts: list[ClassifiedRuns], chosen: tuple[str, ...], *, as_json: bool) -> Iterator[oracle.Classification]:
    """What is printed in full: all, or of many the first that breaks each order, or violates a property."""
    if as_json or sum(map(len, parts)) <= SHOWN_UP_TO:
        yield from (part.classification(number) for part in parts for number in range(len(part)))
        return
    firsts = [first_broken(parts, order) for order in chosen]
    firsts += first_violations(parts).values()
    for part, number in dict.fromkeys(first for first in firsts if first is not None):
        yield parts[part].classification(number)
