"""The spec's verdict on one small run with damaged rows; unusable rows go to quarantine.

`crownless classify` refuses a log with a row that it cannot use. Here the log may have millions of other runs, so the
row goes to quarantine with the reason, and the other rows decide. As after any lost event, the remaining rows can show
that an order is broken and cannot show that it is kept: the row's process counts as having a hole (every process does,
if the row names none). Rows that contradict each other all go to quarantine, since it is unknown which of them is
right. An exact copy of a row goes there without a hole.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from crownless.model_check.event_logs import Gap, Hole, LoggedRun, read_log
from crownless.model_check.oracle import NamedComputation, classify
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy
from crownless.spec.printable import as_json

#: An event this far past the end of every line makes a hole in the line for `read_log`.
BEYOND = 10**15


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
    quarantine: list[tuple[str, str]] = field(default_factory=list)
    holes: list[str] = field(default_factory=list)
    judged: int = 0


def judge_run(run: str, lines: Iterable[str], orders: Sequence[str], reading: UnreceivedPolicy = "lost") -> RunResult:
    """The verdicts on the run of these JSON lines. Their order matters only between equal lines: the later one is the
    copy.
    """
    found = RunResult()
    rows, processes_with_gaps = _usable(lines, found)
    found.judged = len(rows)
    if not rows:
        return _all_unknown(found, orders, "no row of it can be used")
    beyond = max(row.place for row in rows) + BEYOND
    try:
        logged = _logged(rows, processes_with_gaps, beyond)
    except BadInput as problem:
        found.quarantine += [(row.text, problem.message) for row in rows]
        found.judged = 0
        return _all_unknown(found, orders, problem.message)
    found.holes = [_describe_hole(hole, beyond) for hole in logged.holes]
    of = classify(NamedComputation("", run, logged.computation, logged.holes), orders, reading)
    for verdict in of.verdicts:
        witness = None if verdict.witness is None else verdict.witness.json(logged.computation)
        text = None if witness is None else as_json(witness)
        found.order_verdicts.append(OrderVerdict(verdict.order, verdict.outcome, text, verdict.unknown))
    return found


def _describe_hole(hole: Hole, beyond: int) -> str:
    """The text of a hole; `_logged` makes one for each process with unusable rows."""
    made = isinstance(hole, Gap) and hole.last == beyond - 1
    return f"{hole.process}: rows of it are in quarantine" if made else hole.text


def _all_unknown(found: RunResult, orders: Sequence[str], because: str) -> RunResult:
    found.order_verdicts = [
        OrderVerdict(order, "kept", None, None)
        if order == "asynchronous" and found.judged
        else OrderVerdict(order, "unknown", None, because)
        for order in orders
    ]
    return found


class _Row(NamedTuple):
    text: str
    process: str
    place: int
    kind: str
    message: str
    peers: tuple[str, ...]


def _usable(lines: Iterable[str], found: RunResult) -> tuple[list[_Row], set[str]]:
    """The rows that can be used and contradict no other; and the processes with missing rows."""
    rows: list[_Row] = []
    processes_with_gaps: set[str] = set()
    every = False
    seen: set[Hashable] = set()
    for text in lines:
        try:
            for _ in read_log([text]):
                pass
        except BadInput as problem:
            found.quarantine.append((text, problem.message))
            process = process_of(text)
            every = every or process is None
            processes_with_gaps |= set() if process is None else {process}
            continue
        row = _row(text)
        if row[1:] in seen:
            found.quarantine.append((text, f"a copy of an earlier line: {row.process} has one event {row.place}"))
            continue
        seen.add(row[1:])
        rows.append(row)
    reasons = _contradictions(rows)
    for row in rows:
        if row in reasons:
            found.quarantine.append((row.text, reasons[row]))
            processes_with_gaps |= {row.process}
    left = [row for row in rows if row not in reasons]
    return left, {
        name for row in left for name in (row.process, *row.peers)
    } | processes_with_gaps if every else processes_with_gaps


def process_of(text: str) -> str | None:
    """The process named in a line that is otherwise unusable; None if there is no name."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    process = fields.get("process") if isinstance(fields, dict) else None
    return process if isinstance(process, str) and process and process.isprintable() else None


def _row(text: str) -> _Row:
    """The fields of a line that `read_log` accepts."""
    fields: dict[str, Any] = json.loads(text)
    kind = "deliver" if fields["kind"] == "receive" else fields["kind"]
    peer = fields.get("peer")
    peers = () if kind == "internal" or peer is None else tuple(peer) if isinstance(peer, list) else (peer,)
    message = "" if kind == "internal" else str(fields["message"])
    return _Row(text, fields["process"], fields["index"], kind, message, peers)


def _contradictions(rows: Sequence[_Row]) -> dict[_Row, str]:
    """The rows that contradict others, with the reasons."""
    reasons: dict[_Row, str] = {}

    def several(rows: Iterable[_Row], key: Callable[[_Row], Hashable], problem: str) -> None:
        by_key: defaultdict[Hashable, list[_Row]] = defaultdict(list)
        for row in rows:
            by_key[key(row)].append(row)
        for same in by_key.values():
            if len(same) > 1:
                for row in same:
                    reasons.setdefault(row, problem.format(row))

    sends = [row for row in rows if row.kind == "send"]
    delivers = [row for row in rows if row.kind == "deliver"]
    several(rows, lambda row: (row.process, row.place), "{0.process} has two events {0.place}")
    several(sends, lambda row: row.message, "{0.message} is sent twice")
    several(delivers, lambda row: (row.message, row.process), "{0.process} delivers {0.message} twice")
    by_message: defaultdict[str, list[_Row]] = defaultdict(list)
    for row in (*sends, *delivers):
        by_message[row.message].append(row)
    for message, same in by_message.items():
        problem = _disagreement(message, same)
        if problem is not None:
            for row in same:
                reasons.setdefault(row, problem)
    return reasons


def _disagreement(message: str, rows: Sequence[_Row]) -> str | None:
    """The reason why the rows about a message disagree about its sender or receivers; None if they agree."""
    senders = {row.process for row in rows if row.kind == "send"}
    senders |= {sender for row in rows if row.kind == "deliver" for sender in row.peers}
    if len(senders) > 1:
        return f"{message} is said to be sent by {' and by '.join(sorted(senders))}"
    receivers = {name for row in rows if row.kind == "send" for name in row.peers}
    for row in rows:
        if receivers and row.kind == "deliver" and row.process not in receivers:
            return f"{row.process} delivers {message}, which is sent to {', '.join(sorted(receivers))}"
    return None


def _logged(rows: Sequence[_Row], processes_with_gaps: Iterable[str], beyond: int) -> LoggedRun:
    lines = [_without_run(row) for row in rows]
    holes = [json.dumps({"process": name, "index": beyond, "kind": "internal"}) for name in sorted(processes_with_gaps)]
    (logged,) = read_log([*lines, *holes])
    return logged


def _without_run(row: _Row) -> str:
    peer = list(row.peers) if row.kind == "send" else row.peers[0] if row.peers else None
    fields = {"process": row.process, "index": row.place, "kind": row.kind, "message": row.message, "peer": peer}
    return json.dumps(fields)
