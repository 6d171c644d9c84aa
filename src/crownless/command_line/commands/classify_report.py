"""The output of `crownless classify`: its progress, each classification, and a summary of many."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from crownless.command_line.output import STYLES, print_drawing, print_line, speaks_unicode
from crownless.command_line.tables import Rows
from crownless.drawing.text import draw
from crownless.oracle.log_orders import classification as oracle
from crownless.oracle.log_orders.classification import Classifications, ClassifiedRuns
from crownless.oracle.logs.delivery import PROPERTIES, Delivery
from crownless.oracle.logs.formats import Progress
from crownless.oracle.logs.named_computation import FROM_ONE, NamedComputation
from crownless.oracle.logs.reasons import DeliveredTwice
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.ending import look
from crownless.runtime.printable import printable, printable_line, printable_name, some
from crownless.spec import library
from crownless.spec.computation import Computation, project, without_idle_processes
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.delivery_disorder import Disorder, ProcessSummary
from crownless.spec.orders import UnreceivedPolicy, Verdict, decide, in_words, is_of_several
from crownless.spec.witnesses import messages_of

if TYPE_CHECKING:
    from crownless.oracle.log_orders.context import Context

#: Only `show` draws larger computations.
DRAWN_UP_TO = 40
#: Maximum number of holes printed.
HOLES_UP_TO = 20
#: Maximum number of notes printed for many runs.
NOTES_UP_TO = 10
#: Maximum number of unreceived messages named.
NAMED_UP_TO = 100
#: Maximum number of rows that were left out and are printed.
LEFT_OUT_UP_TO = 10
#: Maximum number of violations printed per property.
VIOLATIONS_UP_TO = 20
#: Without --by-process, at most this many processes are listed: those with the most deliveries out of order.
PROCESSES_UP_TO = 10
#: The orders for which it is measured how far deliveries are out of order.
MEASURED = ("fifo", "causal")
#: Marks an event that shows the violation.
MARK = ">"


def print_classification(classification: oracle.Classification, *, drawing: bool, by_process: bool) -> None:
    subject = classification.subject
    run = f", run {printable_name(subject.run)}" if subject.run else ""
    print_line(f"{subject.file}{run}: {some(subject.processes, 'process')}, {some(subject.messages, 'message')}")
    print_line(_conclusion(classification))
    if drawing and isinstance(subject, NamedComputation) and subject.events <= DRAWN_UP_TO:
        print_line()
        _draw(subject.computation, classification.reading)
    elif drawing:
        if isinstance(subject, NamedComputation):
            from crownless.oracle.log_orders.matching import IN_ORDER  # it needs numpy, which takes a while to import

            # `show` reads only logs that name their messages.
            shows = "" if IN_ORDER in subject.notes else "; crownless show draws it all the same"
            print_line(f"not drawn: more than {DRAWN_UP_TO} events{shows}")
        _draw_violations(classification)
    _print_verdicts(classification.verdicts)
    if drawing and isinstance(subject, oracle.LargeRun) and subject.context is not None:
        _print_context(subject.context)
    large = drawing and isinstance(subject, oracle.LargeRun)
    summaries = subject.by_process if by_process or large else ()
    if summaries is None:
        if by_process:
            print_line("too large to say of each process how far its deliveries are out of order")
    else:
        decided = [verdict.order for verdict in classification.verdicts]
        measured = [order for order in MEASURED if order in decided] or (MEASURED if by_process else ())
        if by_process or any(getattr(one, order) != Disorder() for one in summaries for order in measured):
            _print_processes(summaries, measured, everything=by_process)
    if subject.events > SMALLEST_UP_TO and any(verdict.witness for verdict in classification.verdicts):
        print_line(f"among more than {SMALLEST_UP_TO:,} events the witnesses are genuine, not necessarily the smallest")
    if subject.delivery is not None:
        _print_delivery(subject.delivery)
    if (line := _about_control_messages(subject)) is not None:
        print_line(line)
    for note in subject.notes:
        print_line(f"note: {note}")
    _print_first(HOLES_UP_TO, [f"hole: {hole.text}" for hole in subject.holes], "hole")
    for receiver in dict.fromkeys(receiver for _, receiver in subject.perhaps_received):
        names = _few([name for name, at in subject.perhaps_received if at == receiver])
        print_line(f"{names}: not received, or in a hole of {printable_name(receiver)}")
    if subject.unreceived:
        to_one = subject.unicasts and not subject.perhaps_received
        by = [name if to_one else f"{name} by {receiver}" for name, receiver in subject.unreceived]
        names = _few(list(dict.fromkeys(by)))
        how = (
            "lost for good [DFLL23]"
            if classification.reading == "lost"
            else "still in flight (can an order still be kept?)"
        )
        print_line(f"not received: {names}; read as {how}" + "; see --unreceived" * (subject.delivery is None))
    print_line()


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Prints a table of the orders, then longer explanations, each once for all orders that it is about."""
    reasons = Counter(verdict.unknown for verdict in verdicts)
    rows = Rows("order", "verdict", "because")
    explained: dict[tuple[str, ...], list[str]] = {}
    for verdict in verdicts:
        c, witness, unknown = verdict.computation, verdict.witness, verdict.unknown
        why, details = unknown or "", tuple[str, ...]()
        if unknown is not None and reasons[unknown] > 1:
            why, details = "", (printable_line(unknown),)
        elif witness is not None and c is not None:
            why, details = witness.headline(c), tuple(witness.details(c))
        outcome = Text(verdict.outcome, style=STYLES[verdict.outcome])
        rows.add_row(verdict.order, outcome, printable_line(why))
        if details:
            explained.setdefault(details, []).append(verdict.order)
    rows.print()
    for details, orders in explained.items():
        print_line(f"{', '.join(orders)}:")
        for detail in details:
            print_line(f"  {detail}")


def _print_first(up_to: int, lines: Sequence[str], thing: str, indent: str = "") -> None:
    """Prints the first of these lines, and the number of the others."""
    for line in lines[:up_to]:
        print_line(f"{indent}{line}")
    if len(lines) > up_to:
        print_line(f"{indent}and {some(len(lines) - up_to, thing)} more; --json has them all")


def _few(names: list[str]) -> str:
    """Names in a line: the first ones, and the number of the others."""
    more = f" and {len(names) - NAMED_UP_TO:,} more" if len(names) > NAMED_UP_TO else ""
    return ", ".join(names[:NAMED_UP_TO]) + more


def _draw(c: Computation, reading: UnreceivedPolicy) -> None:
    unreceived = "is never received by" if reading == "lost" else "is not received yet by"
    print_drawing(draw(c, unicode=speaks_unicode(), unreceived=unreceived))


def _draw_violations(classification: oracle.Classification) -> None:
    """Draws only the messages that show a violation, once for all orders that they violate, if not all is drawn."""
    drawn: dict[str, tuple[Computation, list[str]]] = {}
    for verdict in classification.verdicts:
        c = verdict.computation
        if not isinstance(classification.subject, oracle.LargeRun):
            c = part_that_violates(verdict, classification.reading)
        if verdict.witness is not None and c is not None and c.event_count <= DRAWN_UP_TO:
            drawn.setdefault(str(c), (c, []))[1].append(verdict.order)
    for c, orders in drawn.values():
        print_line()
        print_line(f"{', '.join(orders)}: only the messages that show the violation")
        _draw(c, classification.reading)


def _conclusion(classification: oracle.Classification) -> str:
    """The kept orders, and the strongest among them; then the violated ones, and the unknown ones."""
    outcomes = {verdict.order: verdict.outcome for verdict in classification.verdicts}

    def those(outcome: str) -> str:
        return ", ".join(name for name, found in outcomes.items() if found == outcome)

    strongest = ", ".join(classification.strongest)
    nothing = {verdict.order: verdict.unknown for verdict in classification.verdicts if verdict.outcome == "nothing"}
    only_nothing = len(nothing) == len(outcomes)
    kept = f"keeps {those('kept') or 'none of these orders'}" + f" (strongest: {strongest})" * bool(strongest)
    parts = [kept] if those("kept") or not (only_nothing or those("unknown")) else []
    parts += [f"violates {those('violated')}"] * bool(those("violated"))
    parts += [f"unknown: {those('unknown')}"] * bool(those("unknown"))
    if nothing:
        parts.append(f"nothing to judge: {next(iter(nothing.values())) if only_nothing else ', '.join(nothing)}")
    delivery = classification.subject.delivery
    violated = [] if delivery is None else delivery.violated
    parts += [f"violates {', '.join(violated)}"] * bool(violated)
    return "; ".join(parts)


def _about_control_messages(subject: oracle.Subject) -> str | None:
    """A note on the control messages of a bundled counterexample; None if there are none."""
    if isinstance(subject, oracle.LargeRun):
        return None
    if subject.file not in library.counterexamples() or library.is_file_name(subject.file):
        return None
    control = [message.name for message in subject.computation.messages if library.is_control(message)]
    if not control:
        return None
    application = f"{subject.file}-application"
    where = f"; as the application sees it: {application}" if application in library.counterexamples() else ""
    return f"note: control messages ({', '.join(control)}) count as messages here{where}"


def print_notes(parts: Sequence[ClassifiedRuns]) -> None:
    """Prints each note once: the notes on all runs first, and for each other note the number of runs it concerns."""
    of_all = [note for part in parts for note in part.notes]
    runs = [one.subject for part in parts if isinstance(part, Classifications) for one in part]
    of_runs = Counter(note for run in runs for note in dict.fromkeys(run.notes) if note not in of_all)
    of_some = {note: f" ({some(number, 'run')})" for note, number in of_runs.items() if number < sum(map(len, parts))}
    notes = [f"{note}{of_some.get(note, '')}" for note in dict.fromkeys([*of_all, *of_runs]) if note != FROM_ONE]
    _print_first(NOTES_UP_TO, [f"note: {note}" for note in notes], "note")


def rows_left_out(skipped: Mapping[str, Quarantine]) -> list[dict[str, Any]]:
    """The rows of each file that were left out: how many, and the first, with the reasons."""
    return [
        {
            "file": file,
            "count": len(one.rows),
            "first": [
                {"line": line, "reason": reason.text}
                for line, reason in sorted(one.rows, key=itemgetter(0))[:LEFT_OUT_UP_TO]
            ],
        }
        for file, one in skipped.items()
    ]


def print_rows_left_out(skipped: Mapping[str, Quarantine]) -> None:
    """Prints how many rows of each file were left out, and the first reasons."""
    for of_file in rows_left_out(skipped):
        if of_file["count"]:
            print_line(f"{of_file['file']}: {some(of_file['count'], 'line')} left out")
        for row in of_file["first"]:
            print_line(f"  line {row['line']:,}: {printable_line(row['reason'])}")
        if of_file["count"] > len(of_file["first"]):
            print_line(f"  and {of_file['count'] - len(of_file['first']):,} more")
        if any(reason.kind is DeliveredTwice for _, reason in skipped[of_file["file"]].rows):
            print_line(f"  some are delivered twice: {DeliveredTwice.hint}")


def first_violated(parts: Sequence[ClassifiedRuns], order: str) -> tuple[int, int] | None:
    """The first run that violates the order: its part, and its number there."""
    firsts = ((number, part.first_violated(order)) for number, part in enumerate(parts))
    return next(((number, first) for number, first in firsts if first is not None), None)


def counts_of(parts: Sequence[ClassifiedRuns], orders: Sequence[str]) -> dict[str, Counter[str]]:
    """How many runs have each outcome, by order."""
    return {order: sum((Counter(part.counts(order)) for part in parts), Counter[str]()) for order in orders}


def print_summary(parts: Sequence[ClassifiedRuns], chosen: Sequence[str]) -> None:
    """Prints the number of runs that keep each order, and the first that violates it."""
    print_line(f"{sum(map(len, parts)):,} computations; --json has each of them")
    counts = counts_of(parts, chosen)
    each = ((order, _where(parts, first_violated(parts, order)), counts[order]) for order in chosen)
    print_counts("order", "first that violates it", outcomes_in(counts.values()), each)


def outcomes_in(counts: Iterable[Mapping[str, int]], good: str = "kept", bad: str = "violated") -> tuple[str, ...]:
    """The outcomes to count: `nothing` only if it occurs."""
    return (good, bad, "unknown", *["nothing"] * any(one.get("nothing", 0) for one in counts))


def deciding(counts: Mapping[str, Mapping[str, int]], requested: Collection[str]) -> set[str]:
    """The outcomes by which a log is judged, given how many runs have each, by order. That an order says nothing of
    messages with one receiver each is an outcome only if that order is requested.
    """
    return {
        outcome
        for order, of_order in counts.items()
        for outcome, runs in of_order.items()
        if runs and (outcome != "nothing" or order in requested or not is_of_several(order))
    }


def print_counts(
    heading: str, first: str, outcomes: Sequence[str], each: Iterable[tuple[str, str, Mapping[str, int]]]
) -> None:
    """A table of orders or properties: each with the first run of interest, and the number of runs by outcome."""
    rows = Rows(heading, first, *outcomes, right=outcomes)
    for name, where, counts in each:
        rows.add_row(name, where, *(f"{counts.get(outcome, 0):,}" for outcome in outcomes))
    rows.print()


def _where(parts: Sequence[ClassifiedRuns], first: tuple[int, int] | None) -> str:
    """The file and the run of that part and number."""
    if first is None:
        return ""
    subject = parts[first[0]].classification(first[1]).subject
    return f"{printable(subject.file)}, run {printable_name(str(subject.run))}"


# -- the details of a run ----------------------------------------------------------------------------------------------


def part_that_violates(verdict: Verdict, reading: UnreceivedPolicy) -> Computation | None:
    """Only the messages that show the violation of the order; None if the witness lacks some of them."""
    c, witness = verdict.computation, verdict.witness
    messages = None if c is None or witness is None else messages_of(witness, c)
    if c is None or messages is None:
        return None
    part = without_idle_processes(project(c, messages))
    return None if decide(part, verdict.order, reading).kept else part


def _print_processes(summaries: Sequence[ProcessSummary], orders: Sequence[str], *, everything: bool) -> None:
    """Prints how far the deliveries of each process are out of these orders; for many processes the worst, or all."""

    def disorders(one: ProcessSummary) -> list[Disorder]:
        return [getattr(one, order) for order in orders]

    most = sorted(summaries, key=lambda one: -max(of.out_of_order for of in disorders(one)))
    listed = set(most if everything else most[:PROCESSES_UP_TO])
    of_order = ("max", "mean", "never")
    headings = ("process", "events", "deliveries", *(name for order in orders for name in (order, *of_order)))
    rows = Rows(*headings, right=headings[1:])
    for one in summaries:
        if one in listed:
            cells = [f"{one.events:,}", f"{one.deliveries:,}"]
            for of in disorders(one):
                cells += [f"{of.out_of_order:,}", f"{of.farthest:,}", f"{of.mean:.1f}", f"{of.never_delivered:,}"]
            rows.add_row(one.process, *cells)
    rows.print()
    if len(summaries) > len(listed):
        print_line(f"and {some(len(summaries) - len(listed), 'process')} more; --by-process has them all")
    print_line(
        f"{', '.join(orders)}: deliveries out of that order, and by how many deliveries they are late; never: messages "
        "overtaken and not delivered"
    )


def _print_context(context: "Context") -> None:
    """Prints the events around the first violation, and marks the events that show it."""
    print_line(f"{', '.join(context.orders)}: where in the log; {MARK} marks the events that show it")
    rows = Rows("", context.numbered_by, "process", "index", "event", right=(context.numbered_by, "index"))
    for event in context.events:
        if event.skipped:
            rows.add_row("", "…", "", "", f"{some(event.skipped, 'event')} of these processes")
        cells = (f"{event.number:,}", event.process, f"{event.index:,}", event.text)
        style = STYLES["violated"] if event.shows_violation else ""
        mark = MARK if event.shows_violation else ""
        rows.add_row(*(Text(cell, style=style) for cell in (mark, *cells)))
    rows.print()


# -- the deliveries of complete logs -----------------------------------------------------------------------------------


def _print_delivery(delivery: Delivery) -> None:
    """Prints each property with its verdict, followed by its violations."""
    for name, found in delivery.json().items():
        print_line(f"{name}: {in_words(found['verdict'])}")
        lines = [printable_line(one.text) for one in delivery.of(name)]
        _print_first(VIOLATIONS_UP_TO, lines, "violation", indent="  ")


def unknown_properties(parts: Sequence[ClassifiedRuns]) -> bool:
    """True if some property of a run is unknown, or has nothing to judge."""
    undecided = {"unknown", "nothing"}
    return any(undecided & {*map(delivery.outcome, delivery.json())} for _, _, delivery in _deliveries(parts))


def first_violations(parts: Sequence[ClassifiedRuns]) -> dict[str, tuple[int, int]]:
    """For each violated property the first run that violates it: its part, and its number there."""
    found: dict[str, tuple[int, int]] = {}
    for part, number, delivery in _deliveries(parts):
        for name in delivery.violated:
            found.setdefault(name, (part, number))
    return found


def print_delivery_summary(parts: Sequence[ClassifiedRuns]) -> None:
    """Prints how many runs have and violate each property, and the first that violates it."""
    deliveries = [delivery for _, _, delivery in _deliveries(parts)]
    firsts = first_violations(parts)
    counts = {name: Counter[str](one.outcome(name) for one in deliveries) for name in PROPERTIES}
    each = ((name, _where(parts, firsts.get(name)), counts[name]) for name in PROPERTIES)
    outcomes = outcomes_in(counts.values(), "holds", "violated")
    print_counts("property", "first that violates it", outcomes, each)


def _deliveries(parts: Sequence[ClassifiedRuns]) -> Iterator[tuple[int, int, Delivery]]:
    for number, part in enumerate(parts):
        for run in range(len(part)):
            delivery = part.delivery(run)
            if delivery is not None:
                yield number, run, delivery


# -- progress ----------------------------------------------------------------------------------------------------------


def reporting(file: str, update: Callable[[str], None] | None) -> Progress:
    """Reports how much of a file is read or decided, if there is a progress line; and ends early if requested."""

    def report(doing: str, done: int, of: int | None, unit: str) -> None:
        look()
        so_far = f"{done:,}" if of is None else f"{done:,} of {of:,}"
        if update is not None:
            update(f"{printable_name(file)}: {doing} {so_far} {unit}")

    return report
