"""The output of `crownless classify`: each classification, and a summary of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from crownless.model_check import oracle
from crownless.model_check.classified_runs import Classifications, ClassifiedRuns
from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.diagrams.text import draw
from crownless.spec.orders import UnreceivedPolicy, Verdict
from crownless.spec.printable import printable, printable_line, printable_name, some

from .classify_delivery import print_delivery
from .classify_details import part_that_breaks, print_by_process, print_context, some_out_of_order
from .output import (
    STYLES,
    print_drawing,
    print_line,
    speaks_unicode,
)
from .tables import Rows

#: Larger computations are drawn by `show` only.
DRAWN_UP_TO = 40
#: Of more holes only the first ones are printed.
HOLES_UP_TO = 20
#: Of many runs only the first notes are printed.
NOTES_UP_TO = 10
#: Of more messages that are not received only the first ones are named.
NAMED_UP_TO = 100


def print_classification(classification: oracle.Classification, *, drawing: bool, by_process: bool) -> None:
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
    _print_verdicts(classification.verdicts)
    if drawing and isinstance(subject, oracle.LargeRun) and subject.context is not None:
        print_context(subject.context)
    large = drawing and isinstance(subject, oracle.LargeRun)
    if by_process or (large and some_out_of_order(subject.by_process or ())):
        _print_by_process(subject, everything=by_process)
    if subject.events > SMALLEST_UP_TO and any(verdict.witness for verdict in classification.verdicts):
        print_line(f"among more than {SMALLEST_UP_TO:,} events the witnesses are genuine, not surely the smallest")
    if subject.delivery is not None:
        print_delivery(subject.delivery)
    if (line := _about_control_messages(subject)) is not None:
        print_line(line)
    for note in subject.notes:
        print_line(f"note: {note}")
    print_holes([hole.text for hole in subject.holes])
    for receiver in dict.fromkeys(receiver for _, receiver in subject.perhaps_received):
        names = _few([name for name, at in subject.perhaps_received if at == receiver])
        print_line(f"{names}: not received, or in a hole of {printable_name(receiver)}")
    if subject.unreceived:
        names = _few(list(dict.fromkeys(name for name, _ in subject.unreceived)))
        how = (
            "lost for good [DFLL23]"
            if classification.reading == "lost"
            else "still to come (can an order be kept yet?)"
        )
        print_line(f"not received: {names}; read as {how}" + "; see --unreceived" * (subject.delivery is None))
    print_line()


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """A table of the orders; behind it what takes more room, or explains several, once for all orders it is about."""
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
        rows.add_row(verdict.order, Text(verdict.outcome, style=STYLES[verdict.outcome]), printable_line(why))
        if details:
            explained.setdefault(details, []).append(verdict.order)
    rows.print()
    for details, orders in explained.items():
        print_line(f"{', '.join(orders)}:")
        for detail in details:
            print_line(f"  {detail}")


def print_holes(holes: Sequence[str]) -> None:
    """The first holes of a run, and how many more there are."""
    for hole in holes[:HOLES_UP_TO]:
        print_line(f"hole: {hole}")
    if len(holes) > HOLES_UP_TO:
        print_line(f"and {some(len(holes) - HOLES_UP_TO, 'hole')} more; --json has them all")


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
    delivery = classification.subject.delivery
    violated = [] if delivery is None else delivery.violated
    parts += [f"violates {', '.join(violated)}"] * bool(violated)
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


def print_notes(parts: list[ClassifiedRuns]) -> None:
    """Of many runs the notes on how they were read, each once."""
    runs = [one.subject for part in parts if isinstance(part, Classifications) for one in part]
    notes = [note for note in dict.fromkeys(note for run in runs for note in run.notes) if note != oracle.FROM_ONE]
    for note in notes[:NOTES_UP_TO]:
        print_line(f"note: {note}")
    if len(notes) > NOTES_UP_TO:
        print_line(f"and {some(len(notes) - NOTES_UP_TO, 'note')} more; --json has them all")


def _where(subject: oracle.Subject) -> str:
    return f"{printable(subject.file)}, run {printable_name(str(subject.run))}"


def first_broken(parts: list[ClassifiedRuns], order: str) -> tuple[int, int] | None:
    """The first that breaks the order: in which part, and its number there."""
    firsts = ((number, part.first_broken(order)) for number, part in enumerate(parts))
    return next(((number, first) for number, first in firsts if first is not None), None)


def print_summary(parts: list[ClassifiedRuns], chosen: tuple[str, ...]) -> None:
    """The number that keep each order, and the first that breaks it."""
    print_line(f"{sum(map(len, parts)):,} computations; --json has each of them")
    rows = Rows("order", "first that breaks it", "kept", "broken", "unknown", right=("kept", "broken", "unknown"))
    for order in chosen:
        first = first_broken(parts, order)
        where = "" if first is None else _where(parts[first[0]].classification(first[1]).subject)
        counts = [sum(part.counts(order).get(kind, 0) for part in parts) for kind in ("kept", "broken", "unknown")]
        rows.add_row(order, where, *(f"{count:,}" for count in counts))
    rows.print()
