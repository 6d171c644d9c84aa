"""The spec's verdict on one run with damaged rows; unusable rows are left out.

`crownless classify` rejects a log with an unusable row. If a log may have millions of other runs, or is still growing,
the row is left out with the reason, and the other rows decide. As after any lost event, the remaining rows can show
that an order is violated, but not that it is kept: the row's process counts as having a hole (every process, if the row
names none). Rows that contradict each other are all left out, since it is unknown which is right. An exact copy of a
row is left out without a hole.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from crownless.oracle.logs.event_logs import logged_run
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.lines import rows_of_lines
from crownless.oracle.logs.lost_events import Hole
from crownless.oracle.logs.reader import converted_runs, named_run
from crownless.oracle.logs.reasons import ByClock, Cyclic, Reason
from crownless.oracle.logs.rows import Row
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy, Verdict

from .classification import classify
from .clocked import read_clocked

NO_ROW = "no row of it can be used"
ROWS_SKIPPED = "rows that belong or may belong to this run were left out"


@dataclass
class RunResult:
    """The verdicts of a run. Each of its lines is either judged or in quarantine, with the reason."""

    verdicts: Sequence[Verdict]
    quarantine: list[tuple[str, Reason]]
    holes: Sequence[Hole] = ()
    judged: int = 0


def judge_run(
    run: str,
    lines: Iterable[str],
    orders: Sequence[str],
    reading: UnreceivedPolicy = "lost",
    *,
    clock_entries: Sequence[str] | None = None,
    torn: Collection[str | None] = (),
) -> RunResult:
    """The verdicts on the run of these JSON lines. Their order matters only between equal lines: the later one is the
    copy. `torn`: processes that may have further rows, None for any.

    `clock_entries`: messages are compared with the lines' vector clocks, which have entries for these processes or else
    for all. A run with unusable rows is then unknown.
    """
    texts = list(lines)
    rows, processes_with_gaps, quarantine = usable_rows(texts)
    processes_with_gaps.update(torn)
    clocked = clock_entries is not None
    if not rows or (clocked and processes_with_gaps):
        because = ROWS_SKIPPED if rows else NO_ROW
        return RunResult(unknown(orders, because), quarantine, judged=len(rows))
    try:
        if clock_entries is not None:
            log = read_clocked("\n".join(texts[row.line] for row in rows).encode(), "", clock_entries)
            (subject,) = converted_runs(log, "")
        else:  # the lines are not those of a file
            subject = named_run("", logged_run("", [replace(row, line=0) for row in rows], processes_with_gaps))
    except BadInput as problem:
        reason = (ByClock if clocked else Cyclic)(problem.message)
        quarantine += [(texts[row.line], reason) for row in rows]
        return RunResult(unknown(orders, reason.text), quarantine)
    found = classify(replace(subject, run=run), orders, reading)
    return RunResult(found.verdicts, quarantine, subject.holes, len(rows))


def unknown(orders: Sequence[str], because: str) -> list[Verdict]:
    """Unknown verdicts on all these orders, for this reason."""
    return [Verdict(order, kept=False, unknown=because) for order in orders]


def usable_rows(texts: Sequence[str]) -> tuple[list[Row], set[str | None], list[tuple[str, Reason]]]:
    """The usable rows without contradictions, with their positions here as line numbers; the processes of the other
    rows (None if a row names none); and these other rows, with the reasons.
    """
    left_out = Quarantine()
    rows = rows_of_lines(texts, options=LogOptions(quarantine=left_out), first=0)
    usable = left_out.without_conflicts("", list(rows))
    processes_with_gaps = left_out.of_any_run.union(*left_out.processes.values())
    return usable, processes_with_gaps, [(texts[line], reason) for line, reason in left_out.rows]
