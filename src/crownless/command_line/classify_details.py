"""Details of a run that `crownless classify` prints: its processes, and the events around a violation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from crownless.spec.computation import Computation, project, without_idle_processes
from crownless.spec.delivery_disorder import Disorder, ProcessSummary
from crownless.spec.orders import UnreceivedPolicy, Verdict, decide
from crownless.spec.printable import some
from crownless.spec.witnesses import messages_of

from .output import STYLES, print_line
from .tables import Rows

if TYPE_CHECKING:
    from crownless.model_check.logs.context import Context

#: Without --by-process only so many processes are listed, those with most deliveries out of order.
PROCESSES_UP_TO = 10
#: Marks an event that shows the violation.
MARK = ">"


def part_that_breaks(verdict: Verdict, reading: UnreceivedPolicy) -> Computation | None:
    """The messages alone that show that the order is broken; None where the witness does not have all of them."""
    c, witness = verdict.computation, verdict.witness
    messages = None if c is None or witness is None else messages_of(witness, c)
    if c is None or messages is None:
        return None
    part = without_idle_processes(project(c, messages))
    return None if decide(part, verdict.order, reading).kept else part


def print_by_process(summaries: Sequence[ProcessSummary], *, everything: bool) -> None:
    """How far the deliveries of each process are out of order; of many processes the worst, or all."""
    most = sorted(summaries, key=lambda one: -max(one.fifo.out_of_order, one.causal.out_of_order))
    listed = set(most if everything else most[:PROCESSES_UP_TO])
    of_order = ("max", "mean", "never")
    headings = ("process", "events", "deliveries", "fifo", *of_order, "causal", *of_order)
    rows = Rows(*headings, right=headings[1:])
    for one in summaries:
        if one in listed:
            cells = [f"{one.events:,}", f"{one.deliveries:,}"]
            for of in (one.fifo, one.causal):
                cells += [f"{of.out_of_order:,}", f"{of.farthest:,}", f"{of.mean:.1f}", f"{of.never_delivered:,}"]
            rows.add_row(one.process, *cells)
    rows.print()
    if len(summaries) > len(listed):
        print_line(f"and {some(len(summaries) - len(listed), 'process')} more; --by-process has them all")
    print_line(
        "fifo, causal: deliveries out of that order, and by how many deliveries they are late; never: messages "
        "overtaken and not delivered"
    )


def some_out_of_order(summaries: Sequence[ProcessSummary]) -> bool:
    """True if a message is overtaken at one of these processes."""
    return any(of != Disorder() for one in summaries for of in (one.fifo, one.causal))


def print_context(context: Context) -> None:
    """The events around the first violation, those that show it marked."""
    print_line(f"{', '.join(context.orders)}: where in the log; {MARK} marks the events that show it")
    rows = Rows("", context.numbered_by, "process", "index", "event", right=(context.numbered_by, "index"))
    for event in context.events:
        if event.skipped:
            rows.add_row("", "…", "", "", f"{some(event.skipped, 'event')} of these processes")
        cells = (f"{event.number:,}", event.process, f"{event.index:,}", event.text)
        style = STYLES["broken"] if event.shows_violation else ""
        mark = MARK if event.shows_violation else ""
        rows.add_row(*(Text(cell, style=style) for cell in (mark, *cells)))
    rows.print()
