"""`crownless classify --match`: the orders that some matching of a log keeps that names no messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from crownless.model_check.logs.classify_file import LogRequest
from crownless.model_check.logs.matching import MATCH_OUTCOMES, MatchedLog, MatchedRun, matched
from crownless.model_check.logs.rows import Row
from crownless.runtime.ending import Limits, look, stoppable
from crownless.spec.diagrams.text import draw
from crownless.spec.printable import as_json, printable, printable_line, printable_name, some

from .classify_report import print_counts, print_holes, total_counts
from .endings import say
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

#: Larger runs are not drawn.
DRAWN_UP_TO = 40
#: More runs than this are summed up, not shown one by one.
SHOWN_UP_TO = 10
#: Of more holes, or lines of a minimal part, only the first ones are printed.
LINES_UP_TO = 20
NAMES = "messages are called by their payload, if they have one, and by the line of their send"


def classify_match(requests: Sequence[LogRequest], limits: Limits, *, as_json: bool, quiet: bool) -> int:
    """Decides the requested orders for each run of these logs; the exit code."""
    orders = requests[0].orders
    logs: list[MatchedLog] = []
    shown: list[MatchedRun] = []
    with stoppable(limits) as part:
        for request in requests:
            logs.append(matched(request))
        for run in _shown(logs, orders, as_json=as_json):
            look()
            shown.append(run)
    count = sum(map(len, logs))
    if part.reason is not None and not shown:
        return ended_with_nothing(part, {"matched": []} if as_json else None)
    if as_json:
        each = [run.json() for run in shown]
        print_json(each[0] if len(each) == 1 else {"matched": each})
    else:
        if count > SHOWN_UP_TO:
            _summarize(logs, orders)
        for number, run in enumerate(shown):
            if count > SHOWN_UP_TO or number:
                print_line()
            _print(run, drawing=not quiet)
    outcomes = {outcome for log in logs for order in orders for outcome, n in log.counts(order).items() if n}
    if part.reason is not None:
        outcomes.add("unknown")
        say(f"{part.reason}; not all of it is judged or shown")
    return EXIT_VIOLATED if "impossible" in outcomes else EXIT_UNKNOWN if "unknown" in outcomes else EXIT_HOLDS


def _shown(logs: Sequence[MatchedLog], orders: Sequence[str], *, as_json: bool) -> Iterator[MatchedRun]:
    """What is printed in full: all runs, or of many the first for which each order is impossible."""
    if as_json or sum(map(len, logs)) <= SHOWN_UP_TO:
        yield from (log.run(number) for log in logs for number in range(len(log)))
        return
    firsts = (_first_impossible(logs, order) for order in orders)
    for log, number in dict.fromkeys(first for first in firsts if first is not None):
        yield logs[log].run(number)


def _first_impossible(logs: Sequence[MatchedLog], order: str) -> tuple[int, int] | None:
    """The first run for which the order is impossible: in which log, and its number there."""
    firsts = ((number, log.first_impossible(order)) for number, log in enumerate(logs))
    return next(((number, first) for number, first in firsts if first is not None), None)


def _summarize(logs: Sequence[MatchedLog], orders: Sequence[str]) -> None:
    """The number of runs with each verdict, and the first for which an order is impossible."""
    print_line(f"{sum(map(len, logs)):,} runs; --json has each of them")
    each = []
    for order in orders:
        first = _first_impossible(logs, order)
        where = ""
        if first is not None:
            log = logs[first[0]]
            where = f"{printable(log.file)}, run {printable_name(log.matchings[first[1]].run)}"
        each.append((order, where, total_counts(logs, order)))
    print_counts("order", "first that is impossible", MATCH_OUTCOMES, each)


def _print(run: MatchedRun, *, drawing: bool) -> None:
    matching = run.matching
    name = f", run {printable_name(matching.run)}" if matching.run else ""
    counts = f"{some(run.number('send'), 'send')}, {some(run.number('deliver'), 'deliver')}"
    print_line(f"{run.file}{name}: {some(run.processes, 'process')}, {counts}")
    print_line(_conclusion(run))
    c = run.computation
    if drawing and c is not None and c.event_count <= DRAWN_UP_TO:
        print_line()
        print_line(f"matched in the order of sending; {NAMES}")
        unreceived = "is never received by" if run.reading == "lost" else "is not received yet by"
        print_drawing(draw(c, unicode=speaks_unicode(), unreceived=unreceived))
    elif drawing and not matching.holes and not matching.cycle:
        print_line(f"not drawn: more than {DRAWN_UP_TO} events")
    rows = Rows("order", "verdict", "because")
    for verdict in run.verdicts:
        rows.add_row(
            verdict.order, Text(verdict.outcome, style=STYLES[verdict.outcome]), printable_line(verdict.because)
        )
    rows.print()
    if matching.other is not None and any(verdict.outcome == "possible" for verdict in run.verdicts):
        print_line(f"another matching: {matching.other.text}")
    _print_parts(run)
    for note in run.notes:
        print_line(f"note: {note}")
    print_holes([hole.text for hole in matching.holes])
    if matching.unreceived:
        how = "lost for good [DFLL23]" if run.reading == "lost" else "still to come"
        print_line(f"not received: {some(matching.unreceived, 'message')}; read as {how}; see --unreceived")


def _print_parts(run: MatchedRun) -> None:
    """The minimal parts of the log that show that orders are impossible, each once."""
    several = {row.line: len(row.peers) for row in run.matching.rows if len(row.peers) > 1}
    parts: dict[tuple[Row, ...], dict[tuple[str, ...], list[str]]] = {}
    for verdict in run.verdicts:
        if verdict.lines:
            parts.setdefault(verdict.lines, {}).setdefault(verdict.details, []).append(verdict.order)
    for lines, by_details in parts.items():
        orders = [order for some_orders in by_details.values() for order in some_orders]
        print_line(f"{', '.join(orders)}: impossible by these lines alone, and not without any one of their messages")
        for row in lines[:LINES_UP_TO]:
            print_line(
                f"  line {row.line}: {as_json({key: value for key, value in row.json().items() if key != 'run'})}"
            )
            if row.line in several and len(row.peers) < several[row.line]:
                print_line(f"    of its receivers {', '.join(row.peers)} alone")
        if len(lines) > LINES_UP_TO:
            print_line(f"  and {some(len(lines) - LINES_UP_TO, 'line')} more; --json has them all")
        for details, some_orders in by_details.items():
            if details and len(by_details) > 1:
                print_line(f"  {', '.join(some_orders)}:")
            for detail in details:
                print_line(f"  {detail}" if len(by_details) == 1 else f"    {detail}")


def _conclusion(run: MatchedRun) -> str:
    """The orders by verdict."""
    parts = []
    for outcome in MATCH_OUTCOMES:
        orders = [verdict.order for verdict in run.verdicts if verdict.outcome == outcome]
        parts += [f"{outcome}: {', '.join(orders)}"] * bool(orders)
    return "; ".join(parts)
