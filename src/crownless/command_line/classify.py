"""`crownless classify`: the orders that a computation or an event log keeps, with a witness for each broken one."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from crownless.model_check import oracle
from crownless.model_check.limits import Limits
from crownless.model_check.stopping import stoppable
from crownless.spec import library
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.diagram import draw
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, order_named
from crownless.spec.printable import printable, printable_line, printable_name, some

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
)
from .tables import Rows

#: Larger computations are drawn by `show` only.
DRAWN_UP_TO = 40
#: More computations than this are summed up, not shown one by one.
SHOWN_UP_TO = 10


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
    "--engine",
    type=click.Choice(["plain", "spark"]),
    default="plain",
    show_default=True,
    help="spark: one dataset of event logs, Parquet or JSON Lines, of any size.",
)
@click.option("--master", help="With --engine spark: where Spark runs, such as local[2].")
@click.option("--out", type=Folder(), help="With --engine spark: a new folder for all verdicts, as Parquet.")
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
    """Decide which orders computations keep: files in the papers' notation, JSON Lines event logs, or bundled names.

    \b
    Examples:
      crownless classify mf-fig8             a bundled computation
      crownless classify log.jsonl           an event log; - is standard input
      crownless classify log.jsonl --order causal --quiet

    Exit codes: 0 every requested order is kept, 1 one is broken, 2 bad usage or input, 3 unknown, such as for a log
    with holes. Event logs, and --engine spark for large ones: docs/event_logs.md.
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
    if master or out or one_run or clocks or live:
        raise BadInput(
            "--master, --out, --one-run, --clocks and --live go with --engine spark", hint="add --engine spark"
        )
    chosen = tuple(name for name in ORDERS if not orders or name in orders)
    decided: list[tuple[oracle.NamedComputation, list[Verdict]]] = []
    judged: set[str] = set()
    with stoppable(limits) as part:
        for name in files:
            for subject in oracle.subjects(name):
                decided.append((subject, []))
                for verdict in oracle.verdicts(subject, chosen, reading):
                    decided[-1][1].append(verdict)
            judged.add(name)
    if part.reason is not None and not decided:
        return ended_with_nothing(part, {"classifications": []} if as_json else None)
    found = [oracle.classified(*known, reading, chosen, part.reason or "") for known in decided]
    if as_json:
        each = [classification.json() for classification in found]
        print_json(each[0] if len(each) == 1 else {"classifications": each})
    elif len(found) > SHOWN_UP_TO:
        _summarize(found, chosen)
    else:
        for classification in found:
            _print(classification, drawing=not quiet)
    outcomes = {outcome for classification in found for outcome in classification.outcomes.values()}
    if part.reason is not None:
        outcomes.add("unknown")
        left_out = [name for name in dict.fromkeys(files) if name not in judged]
        say(f"{part.reason}" + f"; not judged, or not all of it: {', '.join(left_out)}" * bool(left_out))
    return EXIT_VIOLATED if "broken" in outcomes else EXIT_UNKNOWN if "unknown" in outcomes else EXIT_HOLDS


def _print(classification: oracle.Classification, *, drawing: bool) -> None:
    subject = classification.subject
    c = subject.computation
    run = f", run {printable_name(subject.run)}" if subject.run else ""
    print_line(f"{subject.file}{run}: {some(len(c.processes), 'process')}, {some(len(c.messages), 'message')}")
    print_line(_conclusion(classification))
    if drawing and c.event_count <= DRAWN_UP_TO:
        print_line()
        unreceived = "is never received by" if classification.reading == "lost" else "is not received yet by"
        print_drawing(draw(c, unicode=speaks_unicode(), unreceived=unreceived))
    elif drawing:
        print_line(f"not drawn: more than {DRAWN_UP_TO} events; crownless show draws it all the same")
    rows = Rows("order", "verdict", "because")
    for verdict in classification.verdicts:
        why = "" if verdict.witness is None else verdict.witness.headline(c)
        why = printable_line(why if verdict.unknown is None else verdict.unknown)
        rows.add_row(verdict.order, Text(verdict.outcome, style=STYLES[verdict.outcome]), why)
    rows.print()
    explained: dict[tuple[str, ...], list[str]] = {}
    for verdict in classification.verdicts:
        if verdict.witness is not None:
            explained.setdefault(tuple(verdict.witness.details(c)), []).append(verdict.order)
    for details, broken in explained.items():
        if details:
            print_line(f"{', '.join(broken)}:")
        for detail in details:
            print_line(f"  {detail}")
    if c.event_count > SMALLEST_UP_TO and any(verdict.witness for verdict in classification.verdicts):
        print_line(f"among more than {SMALLEST_UP_TO:,} events the witnesses are genuine, not surely the smallest")
    if (line := _about_control_messages(subject)) is not None:
        print_line(line)
    for note in subject.notes:
        print_line(f"note: {note}")
    for hole in subject.holes:
        print_line(f"hole: {hole.text}")
    if c.unreceived:
        names = ", ".join(dict.fromkeys(c.messages[m].name for m, _ in c.unreceived))
        how = (
            "lost for good [DFLL23]"
            if classification.reading == "lost"
            else "still to come (can an order be kept yet?)"
        )
        print_line(f"not received: {names}; read as {how}; see --unreceived")
    print_line()


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


def _about_control_messages(subject: oracle.NamedComputation) -> str | None:
    """Of a bundled counterexample with control messages, that they are there; None of all else."""
    if subject.file not in library.counterexamples() or library.is_file_name(subject.file):
        return None
    control = [message.name for message in subject.computation.messages if library.is_control(message)]
    if not control:
        return None
    application = f"{subject.file}-application"
    where = f"; what the application sees: {application}" if application in library.counterexamples() else ""
    return f"note: control messages ({', '.join(control)}) count as messages here{where}"


def _where(subject: oracle.NamedComputation) -> str:
    return f"{printable(subject.file)}, run {printable_name(str(subject.run))}"


def _summarize(found: list[oracle.Classification], chosen: tuple[str, ...]) -> None:
    """The number that keep each order, and the first that breaks it."""
    print_line(f"{len(found):,} computations; --json has each of them")
    rows = Rows("order", "first that breaks it", "kept", "broken", "unknown", right=("kept", "broken", "unknown"))
    for order in chosen:
        outcomes = [classification[order].outcome for classification in found]
        first = outcomes.index("broken") if "broken" in outcomes else None
        where = "" if first is None else _where(found[first].subject)
        rows.add_row(order, where, *(f"{outcomes.count(kind):,}" for kind in ("kept", "broken", "unknown")))
    rows.print()
    shown: list[oracle.Classification] = []
    for order in chosen:
        first_broken = next((one for one in found if one[order].outcome == "broken"), None)
        if first_broken is not None and first_broken not in shown:
            shown.append(first_broken)
    for classification in shown:
        print_line()
        _print(classification, drawing=True)
