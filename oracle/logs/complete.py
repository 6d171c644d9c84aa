"""Complete logs: nothing is missing, so a delivery that does not match the sends is the system's fault.

Contradictions and holes of a log that may lack events here violate a property of the system, one of those that a check
decides too (`model_check.system.properties`):

- `delivers-once`: a process delivers a message twice, or one that was never sent, or was not sent to it;
- `delivers-all`: a message is not delivered at one of its receivers by the end of the log.

The orders are judged without those deliveries: of several by one process the first counts, the others become internal.
All other contradictions are rejected as usual, and so are gaps, which show that the log is not complete.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE
from crownless.runtime.ending import looked_at
from crownless.runtime.errors import BadInput

from . import reasons
from .converted import NOT_COMPLETE, ConvertedLog
from .delivery import PROPERTIES, Delivery, DeliveryViolation
from .event_logs import lines_of_processes, rows_and_gaps
from .rows import Row, all_conflicts, by_run, refuse


def complete(
    log: ConvertedLog, name: str, by: Literal["line", "row"], torn: Mapping[str, Collection[str | None]]
) -> None:
    """Notes how each run of the named log delivers its messages; violations of `delivers-once` become internal events.
    If the log has no send at all, it does not record them, and a delivery without one violates nothing.

    `by`: the unit of row numbers; `torn`: by run the processes whose rows were left out, or None for any process.
    Raises `BadInput` for rows that contradict each other in other ways, and for gaps.
    """
    left_out, deliveries = set[int](), dict[str, Delivery]()
    records_sends = any(row.kind == "send" for row in log.events) or any(log.to_nobody.values())
    for run, rows in by_run(log.events, name).items():
        lacks = torn.get(run, ())
        try:
            _refuse_what_is_not_complete(run, rows, lacks)
        except BadInput as problem:
            raise problem.at(file=name) from None

        def violation(
            property_: str, reason: reasons.Reason, process: str | None, of: Sequence[Row]
        ) -> DeliveryViolation:
            lines = tuple(sorted({row.line for row in of}))
            return DeliveryViolation(property_, reason, of[-1].message, process, lines, by)

        found = []
        for reason, several, about in _not_once(rows):
            if lacks and reason.kind is reasons.NeverSent:
                continue
            left_out |= set(map(id, several))
            if reason.kind is reasons.NeverSent and not records_sends:
                continue
            found.append(violation(DELIVERS_ONCE.name, reason, several[0].process, [*about, *several]))
        delivered = {(row.process, row.message) for row in rows if row.kind == "deliver" and id(row) not in left_out}
        for row in looked_at(rows):
            for receiver in row.peers if row.kind == "send" else ():
                if (receiver, row.message) not in delivered and not {receiver, None} & {*lacks}:
                    reason = reasons.NeverDelivered(row.process, row.message, receiver)
                    found.append(violation(DELIVERS_ALL.name, reason, receiver, [row]))
        for row in log.to_nobody.get(run, ()) if not lacks else ():
            reason = reasons.NeverDeliveredAnywhere(row.process, row.message)
            found.append(violation(DELIVERS_ALL.name, reason, None, [row]))
        found.sort(key=lambda one: (PROPERTIES.index(one.violates), one.lines))
        is_empty = not any(row.kind == "send" for row in rows) and not log.to_nobody.get(run)
        not_known = PROPERTIES if lacks else () if log.names_receivers or is_empty else (DELIVERS_ALL.name,)
        deliveries[run] = Delivery(tuple(found), not_known, is_empty)
    log.deliveries = deliveries
    log.events = [row.as_internal() if id(row) in left_out else row for row in log.events]


def _refuse_what_is_not_complete(run: str, rows: list[Row], lacks: Collection[str | None]) -> None:
    """Raises `BadInput` for gaps, and for rows that contradict each other, unless they violate `delivers-once`."""
    for row, gap in rows_and_gaps(lines_of_processes(rows)):
        if gap is not None and not {row.process, None} & {*lacks}:
            where = f"run {run}: " if run else ""
            raise BadInput(f"{where}the log is not complete: {gap.text}", hint=NOT_COMPLETE, line=row.line)
    for conflict in all_conflicts(rows):
        if conflict.reason.kind not in (reasons.DeliveredTwice, reasons.NotAReceiver):
            refuse([conflict])


def _not_once(rows: list[Row]) -> Iterator[tuple[reasons.Reason, list[Row], list[Row]]]:
    """The violations of `delivers-once`: the reason, the deliveries left out, and further rows that show it."""
    sends = {row.message: row for row in rows if row.kind == "send"}
    delivers: dict[tuple[str, str], list[Row]] = {}
    for row in looked_at(sorted(rows, key=lambda row: row.index)):
        if row.kind == "deliver":
            delivers.setdefault((row.process, row.message), []).append(row)
    for (process, message), several in looked_at(delivers.items()):
        send = sends.get(message)
        if send is None:
            yield reasons.NeverSent(process, message), several, []
        elif process not in send.peers:
            yield reasons.NotAReceiver(process, message, tuple(sorted(send.peers))), several, [send]
        if len(several) > 1:
            yield reasons.DeliveredTwice(process, message), several[1:], several[:1]
