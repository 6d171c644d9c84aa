"""The spec's verdict on one small run with damaged rows; unusable rows go to quarantine.

`crownless classify` refuses a log with a row that it cannot use. Here the log may have millions of other runs, so the
row goes to quarantine with the reason, and the other rows decide. As after any lost event, the remaining rows can show
that an order is broken and cannot show that it is kept: the row's process counts as having a hole (every process does,
if the row names none). Rows that contradict each other all go to quarantine, since it is unknown which of them is
right. An exact copy of a row goes there without a hole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from crownless.model_check.event_logs import logged_run
from crownless.model_check.logs.lost_events import Hole
from crownless.model_check.logs.reasons import Copy, Cyclic, Reason, UnusableRow
from crownless.model_check.logs.rows import Row, conflicts, process_of, read_row
from crownless.model_check.oracle import NamedComputation, classify
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy
from crownless.spec.printable import as_json


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
    holes: list[Hole] = field(default_factory=list)
    judged: int = 0


def judge_run(run: str, lines: Iterable[str], orders: Sequence[str], reading: UnreceivedPolicy = "lost") -> RunResult:
    """The verdicts on the run of these JSON lines. Their order matters only between equal lines: the later one is the
    copy.
    """
    found = RunResult()
    texts = list(lines)
    rows, with_unusable_rows = _usable(texts, found)
    found.judged = len(rows)
    if not rows:
        return _all_unknown(found, orders, "no row of it can be used")
    try:
        logged = logged_run("", [replace(row, line=0) for row in rows], with_unusable_rows)  # which have no lines
    except BadInput as problem:
        cyclic = Cyclic(problem.message)
        found.quarantine += [(texts[row.line], cyclic) for row in rows]
        found.judged = 0
        return _all_unknown(found, orders, cyclic.text)
    found.holes = list(logged.holes)
    of = classify(NamedComputation("", run, logged.computation, logged.holes), orders, reading)
    for verdict in of.verdicts:
        witness = None if verdict.witness is None else verdict.witness.json(logged.computation)
        text = None if witness is None else as_json(witness)
        found.order_verdicts.append(OrderVerdict(verdict.order, verdict.outcome, text, verdict.unknown))
    return found


def _all_unknown(found: RunResult, orders: Sequence[str], because: str) -> RunResult:
    found.order_verdicts = [
        OrderVerdict(order, "kept", None, None)
        if order == "asynchronous" and found.judged
        else OrderVerdict(order, "unknown", None, because)
        for order in orders
    ]
    return found


def _usable(texts: Sequence[str], found: RunResult) -> tuple[list[Row], set[str | None]]:
    """The rows that can be used and contradict no other, by their places here; and the processes of the other rows,
    None if a row names none.
    """
    rows: list[Row] = []
    with_unusable_rows: set[str | None] = set()
    for number, text in enumerate(texts):
        try:
            rows.append(read_row(number, text))
        except UnusableRow as unusable:
            found.quarantine.append((text, unusable.reason))
            with_unusable_rows.add(process_of(text))
    out: set[int] = set()
    for row, reason, _ in conflicts(rows):
        out.add(row.line)
        found.quarantine.append((texts[row.line], reason))
        if reason.kind is not Copy:
            with_unusable_rows.add(row.process)
    return [row for row in rows if row.line not in out], with_unusable_rows
