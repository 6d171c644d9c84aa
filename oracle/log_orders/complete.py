"""Complete logs: nothing is missing from them, so a delivery that does not go with the sends is the system's doing.

What is a contradiction or a hole in a log that may lack events violates a property of the system here, of those that a
check decides too (`model_check.properties`):

- `delivers-once`: a process delivers a message twice, or one that nobody has sent, or that was not sent to it;
- `delivers-all`: a message is not delivered at one of its receivers by the end of the log.

The orders are judged without those deliveries: of several by one process the first stays, every other such event is
internal. All other contradictions are refused as ever, and so is a gap, which shows that the log is not complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE
from crownless.oracle.event_logs import lines_of_processes, rows_and_gaps
from crownless.oracle.logs.converted import NOT_COMPLETE
from crownless.oracle.logs.reasons import (
    DeliveredTwice,
    NeverDelivered,
    NeverDeliveredAnywhere,
    NeverSent,
    NotAReceiver,
    Reason,
)
from crownless.oracle.logs.rows import Row, all_conflicts, refuse
from crownless.spec.errors import BadInput

#: The properties that are decided of a run of a complete log.
PROPERTIES = (DELIVERS_ONCE.name, DELIVERS_ALL.name)
LEFT_OUT = (
    "orders are judged without the deliveries that violate delivers-once; of several by one process the first counts"
)
#: Of more lines that show one violation only the first ones are named in a sentence.
LINES_UP_TO = 10


@dataclass(frozen=True)
class DeliveryViolation:
    """What one process does with one message, against which property, and the lines of the log that show it.

    `process` is None of a message that names no receiver and is delivered nowhere; `by`: what the numbers count.
    """

    violates: str
    reason: Reason
    message: str
    process: str | None
    lines: tuple[int, ...]
    by: Literal["line", "row"] = "line"

    @property
    def text(self) -> str:
        *rest, last = [f"{line:,}" for line in self.lines[:LINES_UP_TO]]
        if len(self.lines) > LINES_UP_TO:
            rest, last = [*rest, last], f"{len(self.lines) - LINES_UP_TO:,} more"
        where = f"{self.by}s {', '.join(rest)} and {last}" if rest else f"{self.by} {last}"
        return f"{self.reason.text}: {where}"

    def json(self) -> dict[str, Any]:
        return {
            "reason": self.reason.kind.name,
            "message": self.message,
            "process": self.process,
            f"{self.by}s": list(self.lines),
            "text": self.text,
        }


@dataclass(frozen=True)
class Delivery:
    """How a run of a complete log delivers its messages: all that violates one of `PROPERTIES`."""

    violations: tuple[DeliveryViolation, ...] = ()

    def of(self, name: str) -> tuple[DeliveryViolation, ...]:
        """What violates the property of that name."""
        return tuple(one for one in self.violations if one.violates == name)

    @property
    def violated(self) -> list[str]:
        """The names of the properties that are violated."""
        return [name for name in PROPERTIES if self.of(name)]

    @property
    def notes(self) -> tuple[str, ...]:
        """On how the orders were judged."""
        return (LEFT_OUT,) if self.of(DELIVERS_ONCE.name) else ()

    def json(self) -> dict[str, Any]:
        return {
            name: {
                "verdict": "violated" if self.of(name) else "holds",
                "violations": [one.json() for one in self.of(name)],
            }
            for name in PROPERTIES
        }


def completed(
    runs: Mapping[str, list[Row]], to_nobody: Mapping[str, Sequence[Row]], by: Literal["line", "row"]
) -> tuple[dict[str, list[Row]], dict[str, Delivery]]:
    """The rows of each run without what violates `delivers-once`, and how it delivers its messages.

    `to_nobody`: by run the sends that name no receiver, and whose messages nobody delivers; `by`: what the numbers
    of rows count. Raises `BadInput` for rows that contradict each other in other ways, and for a gap.
    """
    rest: dict[str, list[Row]] = {}
    found: dict[str, Delivery] = {}
    for run, rows in runs.items():
        _refuse_gaps(run, rows)
        invented, out = _not_once(rows)
        rest[run] = [row.as_internal() if id(row) in out else row for row in rows]
        left_over = [*_never_delivered(rest[run]), *map(_to_nobody, to_nobody.get(run, ()))]
        violations = sorted([*invented, *left_over], key=lambda one: (PROPERTIES.index(one.violates), one.lines))
        found[run] = Delivery(tuple(replace(one, by=by) for one in violations))
    return rest, found


def _refuse_gaps(run: str, rows: list[Row]) -> None:
    for row, gap in rows_and_gaps(lines_of_processes(rows)):
        if gap is not None:
            where = f"run {run}: " if run else ""
            raise BadInput(f"{where}the log is not complete: {gap.text}", hint=NOT_COMPLETE, line=row.line)


def _not_once(rows: list[Row]) -> tuple[list[DeliveryViolation], set[int]]:
    """What violates `delivers-once`, and the rows that are left out for it, by identity."""
    sends = {row.message: row for row in rows if row.kind == "send"}
    delivers: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.kind == "deliver":
            delivers.setdefault((row.process, row.message), []).append(row)
    for conflict in all_conflicts(rows):
        if conflict.reason.kind not in (DeliveredTwice, NotAReceiver):
            refuse([conflict])
    found: list[DeliveryViolation] = []
    out: set[int] = set()
    for (process, message), several in delivers.items():
        several = sorted(several, key=lambda row: row.index)
        send = sends.get(message)
        reason: Reason | None = None
        if send is None:
            reason = NeverSent(process, message)
        elif process not in send.peers:
            reason = NotAReceiver(process, message, tuple(sorted(send.peers)))
        if reason is not None:
            out |= {id(row) for row in several}
            about = several if send is None else [send, *several]
            found.append(_violation(DELIVERS_ONCE.name, reason, message, process, about))
        if len(several) > 1:
            out |= {id(row) for row in several[1:]}
            twice = DeliveredTwice(process, message)
            found.append(_violation(DELIVERS_ONCE.name, twice, message, process, several))
    return found, out


def _never_delivered(rows: Iterable[Row]) -> Iterable[DeliveryViolation]:
    delivered = {(row.process, row.message) for row in rows if row.kind == "deliver"}
    for row in rows:
        for receiver in row.peers if row.kind == "send" else ():
            if (receiver, row.message) not in delivered:
                reason = NeverDelivered(row.process, row.message, receiver)
                yield _violation(DELIVERS_ALL.name, reason, row.message, receiver, [row])


def _to_nobody(event: Row) -> DeliveryViolation:
    reason = NeverDeliveredAnywhere(event.process, event.message)
    return DeliveryViolation(DELIVERS_ALL.name, reason, event.message, None, (event.line,))


def _violation(name: str, reason: Reason, message: str, process: str, rows: Iterable[Row]) -> DeliveryViolation:
    return DeliveryViolation(name, reason, message, process, tuple(sorted({row.line for row in rows})))
