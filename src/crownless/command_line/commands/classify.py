"""`crownless classify`: the orders that a computation or an event log keeps, with a witness for each violation."""

from collections.abc import Iterator
from typing import Any

import click

from crownless.command_line.endings import EXIT_VIOLATED, exit_code, say
from crownless.command_line.file_options import InputFile
from crownless.command_line.log_options import with_log_options
from crownless.command_line.options import Command, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.command_line.request_options import with_limits
from crownless.oracle.log_orders import classification as oracle
from crownless.oracle.log_orders.classification import Classifications, ClassifiedRuns
from crownless.oracle.log_orders.classify_file import classify_file
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.ending import Stopped, look, stoppable
from crownless.spec.orders import Verdict

from . import classify_report as report
from .classify_options import ClassifyOptions, with_classify_options

#: More computations than this are summarized, not shown one by one.
SHOWN_UP_TO = 10


@click.command(cls=Command, everyday="orders form columns order_by skip_bad match max_seconds as_json")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=InputFile())
@with_classify_options
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
      crownless classify log.csv --order-by ts   timestamps instead of an index
      crownless classify log.jsonl --kind recv=deliver
      crownless classify log.parquet --order causal --quiet
      crownless classify --match log.jsonl   a log that does not name its messages
      crownless classify --complete log.jsonl   was each message delivered, and once?

    Exit codes: 0 every requested order is kept (--match: some matching keeps it), 1 one is violated, or --complete
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
    at_work: tuple[NamedComputation, list[Verdict]] | None = None
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
        left_out = {"left_out": report.rows_left_out(skipped)} if options.skip_bad else {}
        print_json((each[0] if len(each) == 1 else {"classifications": each}) | left_out)
    else:
        _print(options, parts, shown if count <= SHOWN_UP_TO or part.reason is None else [])
        report.print_rows_left_out(skipped)
    outcomes = report.deciding(report.counts_of(parts, chosen), options.orders)
    if any(one.rows for one in skipped.values()) or (options.complete and report.unknown_properties(parts)):
        outcomes.add("unknown")
    if part.reason is not None:
        outcomes.add("unknown")
        nothing = "" if out is None or out.exists() else f"; nothing was written to {out}"
        unjudged = [name for name in dict.fromkeys(options.files) if name not in judged]
        say(f"{part.reason}" + f"; not (fully) classified: {', '.join(unjudged)}" * bool(unjudged) + nothing)
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


def _shown(parts: list[ClassifiedRuns], chosen: tuple[str, ...], *, as_json: bool) -> Iterator[oracle.Classification]:
    """The runs printed in full: all, or among many the first that violates each order or property."""
    if as_json or sum(map(len, parts)) <= SHOWN_UP_TO:
        yield from (part.classification(number) for part in parts for number in range(len(part)))
        return
    firsts = [report.first_violated(parts, order) for order in chosen]
    firsts += report.first_violations(parts).values()
    for part, number in dict.fromkeys(first for first in firsts if first is not None):
        yield parts[part].classification(number)
