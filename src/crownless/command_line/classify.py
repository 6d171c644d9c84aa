"""`crownless classify`: the orders that a computation or an event log keeps, with a witness for each broken one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import get_args

import click
from rich.text import Text

from crownless.model_check import oracle
from crownless.model_check.limits import Limits
from crownless.model_check.logs.columns import TYPES
from crownless.model_check.logs.contents import contents
from crownless.model_check.logs.files import CONVERTED, Format, format_of
from crownless.model_check.logs.patterns import Patterns
from crownless.model_check.stopping import stoppable
from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.diagram import draw
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, order_named
from crownless.spec.printable import printable, printable_line, printable_name, some

from .classify_details import part_that_breaks, print_by_process, print_context, some_out_of_order
from .classify_progress import Rate
from .endings import say
from .options import Folder, with_limits, with_output
from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    STYLES,
    ended_with_nothing,
    print_drawing,
    print_json,
    print_line,
    speaks_unicode,
    status,
)
from .tables import Rows

#: Larger computations are drawn by `show` only.
DRAWN_UP_TO = 40
#: More computations than this are summed up, not shown one by one.
SHOWN_UP_TO = 10
#: Of more holes only the first ones are printed.
HOLES_UP_TO = 20
#: Of many runs only the first notes are printed.
NOTES_UP_TO = 10
#: Of more messages that are not received only the first ones are named.
NAMED_UP_TO = 100


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--order", "orders", multiple=True, help="Decide only this order (repeatable).  [default: all seven]")
@click.option(
    "--unreceived",
    "reading",
    type=click.Choice(["lost", "pending"]),
    default="lost",
    show_default=True,
    help="Messages that are not received: lost for good, or still in flight.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Format)),
    help="The format of the logs, where their names do not say it, as of standard input.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=THEIRS",
    help="What a log calls a column, such as message=msg_id (repeatable).",
)
@click.option("--pattern", metavar="REGEX", help="Of ShiViz logs: an event, with the groups host, clock and event.")
@click.option("--delimiter", metavar="REGEX", help="Of ShiViz logs: what separates runs; its group trace names them.")
@click.option("--send", metavar="REGEX", help="Of ShiViz logs: a send in an event's text, with the group message.")
@click.option("--deliver", metavar="REGEX", help="Of ShiViz logs: the same of a deliver.")
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
@click.option("--out", type=Folder(), help="A new folder for all verdicts, witnesses and holes, as Parquet.")
@click.option("--one-run", is_flag=True, help="With --engine spark: the log is of one run, larger than memory.")
@click.option("--clocks", is_flag=True, help="With --engine spark: by the vector clocks in the log, row by row.")
@click.option("--processes", help="With --clocks: whose the entries are, such as P1,P2.  [the names, in order]")
@click.option("--live", is_flag=True, help="With --engine spark: FILE is a folder that files are being put into.")
@click.option("--checkpoint", metavar="DIR", help="With --live: go on here where an earlier call ended.")
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
def classify(
    files: tuple[str, ...],
    orders: tuple[str, ...],
    reading: UnreceivedPolicy,
    form: Format | None,
    columns: tuple[str, ...],
    pattern: str | None,
    delimiter: str | None,
    send: str | None,
    deliver: str | None,
    by_process: bool,
    match: bool,
    engine: str,
    master: str | None,
    out: Path | None,
    one_run: bool,
    clocks: bool,
    processes: str | None,
    live: bool,
    checkpoint: str | None,
    idle_timeout: float | None,
    event_time: str | None,
    max_lateness: float | None,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Decide which orders computations keep: files in the papers' notation, event logs, or bundled names.

    \b
    Examples:
      crownless classify mf-fig8             a bundled computation
      crownless classify log.jsonl           an event log; - is standard input
      crownless classify log.csv.gz --column message=msg_id
      crownless classify log.parquet --order causal --quiet
      crownless classify --match log.jsonl   a log that does not name its messages

    Exit codes: 0 every requested order is kept (--match: some matching keeps it), 1 one is broken (impossible), 2 bad
    usage or input, 3 unknown, such as for a log with holes. Event logs, and --engine spark for large ones:
    docs/event_logs.md.
    """
    for order in orders:
        order_named(order)
    of_live = {
        "checkpoint": checkpoint,
        "idle-timeout": idle_timeout,
        "event-time": event_time,
        "max-lateness": max_lateness,
    }
    given = [name for name, value in of_live.items() if value is not None]
    if one_run + clocks + live > 1:
        raise BadInput("--one-run, --clocks and --live are three ways to judge a log", hint="name one of them")
    if given and not live:
        raise BadInput(f"{', '.join(f'--{name}' for name in given)}: of --live only", hint="add --live")
    if max_lateness is not None and event_time is None:
        raise BadInput("--max-lateness: of --event-time only", hint="name the column of time stamps")
    if processes is not None and not clocks:
        raise BadInput("--processes: of --clocks only", hint="add --clocks")
    named = _columns(columns)
    patterns = Patterns(pattern, delimiter, send, deliver)
    if engine == "spark" and by_process:
        raise BadInput("--by-process does not go with --engine spark", hint="leave one of them out")
    if engine == "spark" and (form is not None or named):
        hint = "leave --engine spark out, or rename the columns"
        raise BadInput("--format and --column do not go with --engine spark", hint=hint)
    if engine == "spark" and (patterns.given or any(format_of(name) in CONVERTED for name in files)):
        hint = "leave --engine spark out"
        raise BadInput(f"--engine spark does not read {', '.join(CONVERTED)}", hint=hint)
    if engine == "spark" and match:
        raise BadInput("--match does not go with --engine spark", hint="leave one of them out")
    if engine == "spark":
        if len(files) != 1:
            raise BadInput("--engine spark takes one dataset", hint="put the files into one folder")
        from crownless.pipeline.logs.live import IDLE_TIMEOUT, MAX_LATENESS

        from .classify_live import classify_live
        from .classify_spark import classify_on_spark

        if live:
            return classify_live(
                files[0],
                orders=orders,
                reading=reading,
                master=master,
                out=None if out is None else str(out),
                checkpoint=checkpoint,
                idle_timeout=IDLE_TIMEOUT if idle_timeout is None else idle_timeout,
                event_time=event_time,
                max_lateness=MAX_LATENESS if max_lateness is None else max_lateness,
                limits=limits,
                as_json=as_json,
                quiet=quiet,
            )
        return classify_on_spark(
            files[0],
            how="one-run" if one_run else "clocks" if clocks else "runs",
            processes=processes.split(",") if processes else (),
            orders=orders,
            reading=reading,
            master=master,
            out=None if out is None else str(out),
            limits=limits,
            as_json=as_json,
            quiet=quiet,
        )
    if master or one_run or clocks or live:
        raise BadInput("--master, --one-run, --clocks and --live go with --engine spark", hint="add --engine spark")
    if out is not None:
        if len(files) != 1:
            raise BadInput("--out takes one log", hint="give each log a folder of its own")
        from .classify_out import refuse_taken, write_records

        refuse_taken(out)
    chosen = tuple(name for name in ORDERS if not orders or name in orders)
    if match and patterns.given:
        raise BadInput(f"{patterns.given[0]} does not go with --match", hint="leave one of them out")
    if match and (out is not None or by_process):
        raise BadInput("--out and --by-process do not go with --match", hint="leave --match out")
    if match:
        from .classify_match import classify_match

        return classify_match(files, chosen, reading, form, named, limits, as_json, quiet, _compiling)
    parts: list[oracle.ClassifiedRuns] = []
    shown: list[oracle.Classification] = []
    at_work: tuple[oracle.NamedComputation, list[Verdict]] | None = None
    judged: set[str] = set()
    with status(quiet) as line, stoppable(limits) as part:
        progress = None if line is None else Rate(line.update)
        for name in files:
            if progress is not None:
                progress.file = name
            around = nullcontext if quiet else _compiling
            found = contents(name, chosen, reading, form, named, around, patterns, progress)
            if not isinstance(found, Iterator):
                parts.append(found)
            else:
                parts.append(several := oracle.Classifications())
                for subject in found:
                    at_work = (subject, [])
                    for verdict in oracle.verdicts(subject, chosen, reading):
                        at_work[1].append(verdict)
                    several.append(oracle.classified(*at_work, reading))
                    at_work = None
            judged.add(name)
        for classification in _shown(parts, chosen, as_json=as_json):
            shown.append(classification)
        if out is not None:
            write_records(out, parts[0], chosen)
    if at_work is not None:
        last = oracle.classified(*at_work, reading, chosen, part.reason or "")
        parts.append(oracle.Classifications([last]))
    if part.reason is not None:
        small = (one for one in parts if isinstance(one, oracle.Classifications))
        shown = shown or [classification for several in small for classification in several]
    count = sum(map(len, parts))
    if part.reason is not None and not count:
        return ended_with_nothing(part, {"classifications": []} if as_json else None)
    if as_json:
        each = [classification.json() for classification in shown]
        print_json(each[0] if len(each) == 1 else {"classifications": each})
    else:
        if count > SHOWN_UP_TO:
            _summarize(parts, chosen)
            _print_notes(parts)
        for classification in shown if count <= SHOWN_UP_TO or part.reason is None else ():
            if count > SHOWN_UP_TO:
                print_line()
            _print(classification, drawing=not quiet or count > SHOWN_UP_TO, by_process=by_process)
        if out is not None and out.exists():
            print_line(f"all verdicts, witnesses and holes: {out}")
    outcomes = {outcome for one in parts for order in chosen for outcome, n in one.counts(order).items() if n}
    if part.reason is not None:
        outcomes.add("unknown")
        nothing = "" if out is None or out.exists() else f"; nothing was written to {out}"
        left_out = [name for name in dict.fromkeys(files) if name not in judged]
        say(f"{part.reason}" + f"; not judged, or not all of it: {', '.join(left_out)}" * bool(left_out) + nothing)
    return EXIT_VIOLATED if "broken" in outcomes else EXIT_UNKNOWN if "unknown" in outcomes else EXIT_HOLDS


def _compiling() -> AbstractContextManager[None]:
    """Says so if the monitor of logs is compiled in here."""
    from crownless.model_check.engines import COMPILES, LONG_TO_COMPILE_FOR_LOGS, compiling

    return compiling(lambda: say(COMPILES), LONG_TO_COMPILE_FOR_LOGS)


def _columns(given: tuple[str, ...]) -> dict[str, str]:
    """What a log calls its columns, from `NAME=THEIRS`."""
    columns: dict[str, str] = {}
    for one in given:
        name, equals, theirs = one.partition("=")
        if not equals or not theirs:
            raise BadInput(f"--column {printable_name(one)} is not NAME=THEIRS", hint="such as --column message=msg_id")
        if name not in TYPES:
            raise unknown_name("column", name, TYPES)
        columns[name] = theirs
    return columns


def _shown(
    parts: list[oracle.ClassifiedRuns], chosen: tuple[str, ...], *, as_json: bool
) -> Iterator[oracle.Classification]:
    """What is printed in full: all, or of many the first that breaks each order."""
    if as_json or sum(map(len, parts)) <= SHOWN_UP_TO:
        yield from (part.classification(number) for part in parts for number in range(len(part)))
        return
    firsts = (_first_broken(parts, order) for order in chosen)
    for part, number in dict.fromkeys(first for first in firsts if first is not None):
        yield parts[part].classification(number)


def _first_broken(parts: list[oracle.ClassifiedRuns], order: str) -> tuple[int, int] | None:
    """The first that breaks the order: in which part, and its number there."""
    firsts = ((number, part.first_broken(order)) for number, part in enumerate(parts))
    return next(((number, first) for number, first in firsts if first is not None), None)


def _print(classification: oracle.Classification, *, drawing: bool, by_process: bool) -> None:
    subject = classification.subject
    run = f", run {printable_name(subject.run)}" if subject.run else ""
    print_line(f"{subject.file}{run}: {some(subject.processes, 'process')}, {some(subject.messages, 'message')}")
    print_line(_conclusion(classification))
    if drawing and isinstance(subject, oracle.NamedComputation) and subject.events <= DRAWN_UP_TO:
        print_line()
        _draw(subject.computation, classification.reading)
    elif drawing:
        if isinstance(subject, oracle.NamedComputation):
            print_line(f"not drawn: more than {DRAWN_UP_TO} events; crownless show draws it all the same")
        _draw_violations(classification)
    rows = Rows("order", "verdict", "because")
    for verdict in classification.verdicts:
        c, witness = verdict.computation, verdict.witness
        why = "" if witness is None or c is None else witness.headline(c)
        why = printable_line(why if verdict.unknown is None else verdict.unknown)
        rows.add_row(verdict.order, Text(verdict.outcome, style=STYLES[verdict.outcome]), why)
    rows.print()
    explained: dict[tuple[str, ...], list[str]] = {}
    for verdict in classification.verdicts:
        if verdict.witness is not None and verdict.computation is not None:
            explained.setdefault(tuple(verdict.witness.details(verdict.computation)), []).append(verdict.order)
    for details, broken in explained.items():
        if details:
            print_line(f"{', '.join(broken)}:")
        for detail in details:
            print_line(f"  {detail}")
    if drawing and isinstance(subject, oracle.LargeRun) and subject.context is not None:
        print_context(subject.context)
    large = drawing and isinstance(subject, oracle.LargeRun)
    if by_process or (large and some_out_of_order(subject.by_process or ())):
        _print_by_process(subject, everything=by_process)
    if subject.events > SMALLEST_UP_TO and any(verdict.witness for verdict in classification.verdicts):
        print_line(f"among more than {SMALLEST_UP_TO:,} events the witnesses are genuine, not surely the smallest")
    if (line := _about_control_messages(subject)) is not None:
        print_line(line)
    for note in subject.notes:
        print_line(f"note: {note}")
    for hole in subject.holes[:HOLES_UP_TO]:
        print_line(f"hole: {hole.text}")
    if len(subject.holes) > HOLES_UP_TO:
        print_line(f"and {some(len(subject.holes) - HOLES_UP_TO, 'hole')} more; --json has them all")
    if subject.unreceived:
        names = _few(list(dict.fromkeys(name for name, _ in subject.unreceived)))
        how = (
            "lost for good [DFLL23]"
            if classification.reading == "lost"
            else "still to come (can an order be kept yet?)"
        )
        print_line(f"not received: {names}; read as {how}; see --unreceived")
    print_line()


def _print_by_process(subject: oracle.Subject, *, everything: bool) -> None:
    summaries = subject.by_process
    if summaries is not None:
        print_by_process(summaries, everything=everything)
    else:
        print_line("too large to say of each process how far its deliveries are out of order")


def _few(names: list[str]) -> str:
    """Names in a line; of very many the first ones, and how many there are."""
    more = f" and {len(names) - NAMED_UP_TO:,} more" if len(names) > NAMED_UP_TO else ""
    return ", ".join(names[:NAMED_UP_TO]) + more


def _draw(c: Computation, reading: UnreceivedPolicy) -> None:
    unreceived = "is never received by" if reading == "lost" else "is not received yet by"
    print_drawing(draw(c, unicode=speaks_unicode(), unreceived=unreceived))


def _draw_violations(classification: oracle.Classification) -> None:
    """Of what is not drawn whole the messages that show a violation, once for all orders that they break."""
    drawn: dict[str, tuple[Computation, list[str]]] = {}
    for verdict in classification.verdicts:
        c = verdict.computation
        if not isinstance(classification.subject, oracle.LargeRun):
            c = part_that_breaks(verdict, classification.reading)
        if verdict.witness is not None and c is not None and c.event_count <= DRAWN_UP_TO:
            drawn.setdefault(str(c), (c, []))[1].append(verdict.order)
    for c, orders in drawn.values():
        print_line()
        print_line(f"{', '.join(orders)}: of all messages only those that show it")
        _draw(c, classification.reading)


def _conclusion(classification: oracle.Classification) -> str:
    """The kept orders, and the strongest of them; then the broken ones, and the unknown ones."""
    outcomes = {verdict.order: verdict.outcome for verdict in classification.verdicts}

    def those(outcome: str) -> str:
        return ", ".join(name for name, found in outcomes.items() if found == outcome)

    strongest = ", ".join(classification.strongest)
    none = "none of these orders" if not those("unknown") else "none for certain"
    parts = [f"keeps {those('kept') or none}" + f" (strongest: {strongest})" * bool(strongest)]
    parts += [f"breaks {those('broken')}"] * bool(those("broken"))
    parts += [f"unknown: {those('unknown')}"] * bool(those("unknown"))
    return "; ".join(parts)


def _about_control_messages(subject: oracle.Subject) -> str | None:
    """Of a bundled counterexample with control messages, that they are there; None of all else."""
    if isinstance(subject, oracle.LargeRun):
        return None
    if subject.file not in library.counterexamples() or library.is_file_name(subject.file):
        return None
    control = [message.name for message in subject.computation.messages if library.is_control(message)]
    if not control:
        return None
    application = f"{subject.file}-application"
    where = f"; what the application sees: {application}" if application in library.counterexamples() else ""
    return f"note: control messages ({', '.join(control)}) count as messages here{where}"


def _print_notes(parts: list[oracle.ClassifiedRuns]) -> None:
    """Of many runs the notes on how they were read, each once."""
    runs = [one.subject for part in parts if isinstance(part, oracle.Classifications) for one in part]
    notes = [note for note in dict.fromkeys(note for run in runs for note in run.notes) if note != oracle.FROM_ONE]
    for note in notes[:NOTES_UP_TO]:
        print_line(f"note: {note}")
    if len(notes) > NOTES_UP_TO:
        print_line(f"and {some(len(notes) - NOTES_UP_TO, 'note')} more; --json has them all")


def _where(subject: oracle.Subject) -> str:
    return f"{printable(subject.file)}, run {printable_name(str(subject.run))}"


def _summarize(parts: list[oracle.ClassifiedRuns], chosen: tuple[str, ...]) -> None:
    """The number that keep each order, and the first that breaks it."""
    print_line(f"{sum(map(len, parts)):,} computations; --json has each of them")
    rows = Rows("order", "first that breaks it", "kept", "broken", "unknown", right=("kept", "broken", "unknown"))
    for order in chosen:
        first = _first_broken(parts, order)
        where = "" if first is None else _where(parts[first[0]].classification(first[1]).subject)
        counts = [sum(part.counts(order).get(kind, 0) for part in parts) for kind in ("kept", "broken", "unknown")]
        rows.add_row(order, where, *(f"{count:,}" for count in counts))
    rows.print()
