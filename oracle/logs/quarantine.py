"""The spec's verdict on one run with damaged rows; unusable rows go to quarantine.

`crownless classify` refuses a log with a row that it cannot use. Where a log may have millions of other runs, or still
grows, the row goes to quarantine with the reason, and the other rows decide. As after any lost event, the remaining
rows can show that an order is broken and cannot show that it is kept: the row's process counts as having a hole (every
process does, if the row names none). Rows that contradict each other all go to quarantine, since it is unknown which of
them is right. An exact copy of a row goes there without a hole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from crownless.oracle.classification import NamedComputation, classify
from crownless.oracle.event_logs import logged_run
from crownless.oracle.log_orders.clocked import read_clocked
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy, Verdict
from crownless.spec.printable import as_json

from .lost_events import Hole
from .reader import converted_runs
from .reasons import ByClock, Copy, Cyclic, Reason, UnusableRow
from .rows import Row, conflicts, process_of, read_row

NO_ROW = "no row of it can be used"


class OrderVerdict(NamedTuple):
    """The outcome for one order: kept, broken (with a witness as JSON) or unknown (with the reason)."""

    order: str
    verdict: str
    witness: str | None
    because: str | None


@dataclass
class RunResult:
    """The verdicts of a run. Each of its lines was either judged or is in quarantine, with the reason."""

    order_verdicts: list[OrderVerdict] = field(default_factory=list)
    quarantine: list[tuple[str, Reason]] = field(default_factory=list)
    holes: Sequence[Hole] = ()
    judged: int = 0


def order_verdicts(verdicts: Iterable[Verdict]) -> list[OrderVerdict]:
    """Verdicts with witnesses as JSON."""
    found = []
    for verdict in verdicts:
        witness = verdict.json()["witness"]
        text = None if witness is None else as_json(witness)
        found.append(OrderVerdict(verdict.order, verdict.outcome, text, verdict.unknown))
    return found


def judge_run(run: str, lines: Iterable[str], orders: Sequence[str], reading: UnreceivedPolicy = "lost") -> RunResult:
    """The verdicts on the run of these JSON lines. Their order matters only between equal lines: the later one is the
    copy.
    """
    texts = list(lines)
    rows, processes_with_gaps, quarantine = usable_rows(texts)
    if not rows:
        return RunResult(unknown(orders, NO_ROW), quarantine)
    try:
        # The lines are not those of a file.
        logged = logged_run("", [replace(row, line=0) for row in rows], processes_with_gaps)
    except BadInput as problem:
        cyclic = Cyclic(problem.message)
        quarantine += [(texts[row.line], cyclic) for row in rows]
        return RunResult(unknown(orders, cyclic.text), quarantine)
    found = classify(NamedComputation("", run, logged.computation, logged.holes), orders, reading)
    return RunResult(order_verdicts(found.verdicts), quarantine, logged.holes, len(rows))


def unknown(orders: Sequence[str], because: str) -> list[OrderVerdict]:
    """All these orders unknown, for this reason."""
    return [OrderVerdict(order, "unknown", None, because) for order in orders]


def usable_rows(texts: Sequence[str]) -> tuple[list[Row], set[str | None], list[tuple[str, Reason]]]:
    """The rows that can be used and contradict no other, by their places here; the processes of the other rows (None
    if a row names none); and these other rows, with the reasons.
    """
    rows: list[Row] = []
    processes_with_gaps: set[str | None] = set()
    quarantine: list[tuple[str, Reason]] = []
    for number, text in enumerate(texts):
        try:
            rows.append(read_row(number, text))
        except UnusableRow as unusable:
            quarantine.append((text, unusable.reason))
            processes_with_gaps.add(process_of(text))
    contradicting: set[int] = set()
    for row, reason, _ in conflicts(rows):
        contradicting.add(row.line)
        quarantine.append((texts[row.line], reason))
        if reason.kind is not Copy:
            processes_with_gaps.add(row.process)
    return [row for row in rows if row.line not in contradicting], processes_with_gaps, quarantine


def judge_clocked_run(
    run: str, lines: Iterable[str], orders: Sequence[str], reading: UnreceivedPolicy, processes: Sequence[str] = ()
) -> RunResult:
    """As `judge_run`, of lines with vector clocks; the messages are compared with these (`clocked`).

    `processes`: whose entries the clocks have. Nothing is known of a run of which some rows cannot be used.
    """
    texts = list(lines)
    rows, processes_with_gaps, quarantine = usable_rows(texts)
    if not rows or processes_with_gaps:
        because = "rows of it are in quarantine" if rows else NO_ROW
        return RunResult(unknown(orders, because), quarantine, judged=len(rows))
    usable = [texts[row.line] for row in rows]
    try:
        log = read_clocked("\n".join(usable).encode(), "", processes)
        (subject,) = converted_runs(log, "")
    except BadInput as problem:
        by_clock = ByClock(problem.message)
        return RunResult(unknown(orders, by_clock.text), [*quarantine, *((text, by_clock) for text in usable)])
    found = classify(replace(subject, run=run), orders, reading)
    return RunResult(order_verdicts(found.verdicts), quarantine, subject.holes, len(rows))
