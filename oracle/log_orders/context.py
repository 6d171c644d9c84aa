"""The events around a violation in a large run, with their places in the log."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from crownless.oracle.logs.formats import Numbering
from crownless.oracle.logs.layout import EVENTS, NONE, Numbers, Run
from crownless.oracle.logs.named_rows import NamedRows

#: The number of events before and after the last one that shows the violation.
BEFORE, AFTER = 10, 10
#: The most violating events that are listed, the last ones.
SHOWING_UP_TO = 20
#: The most receivers that are named in a line, the first ones.
NAMED_UP_TO = 5


@dataclass(frozen=True)
class ContextEvent:
    """An event of the log, and its number there; `skipped` events of these processes are left out before it."""

    number: int
    process: str
    index: int
    kind: Literal["send", "deliver"]
    message: str
    #: The receivers of a send; the sender of a delivery.
    peers: tuple[str, ...]
    shows_violation: bool
    skipped: int

    @property
    def text(self) -> str:
        named = ", ".join(self.peers[:NAMED_UP_TO])
        more = f" and {len(self.peers) - NAMED_UP_TO:,} more" if len(self.peers) > NAMED_UP_TO else ""
        does, toward = ("sends", "to") if self.kind == "send" else ("receives", "from")
        return f"{does} {self.message} {toward} {named}{more}"


@dataclass(frozen=True)
class Context:
    """The events of the processes involved, around the last event that shows that the run violates these orders."""

    orders: tuple[str, ...]
    numbered_by: Literal["line", "row"]
    events: tuple[ContextEvent, ...]

    def json(self) -> dict[str, Any]:
        return {
            "orders": list(self.orders),
            "events": [
                {
                    self.numbered_by: event.number,
                    "process": event.process,
                    "index": event.index,
                    "kind": event.kind,
                    "message": event.message,
                    "peers": list(event.peers),
                    "shows_violation": event.shows_violation,
                }
                for event in self.events
            ],
        }


def context(
    run: Run, processes: Numbers, messages: Numbers, rows: NamedRows, first: int, numbers: Numbering
) -> tuple[ContextEvent, ...]:
    """The events around the last event of these messages of the run, and all of theirs.

    `processes`: the process number of each line; `first`: the first row of the run.
    """
    order = run.order[: run.sizes[EVENTS]]
    showing = np.flatnonzero(_of_messages(run, messages))[-SHOWING_UP_TO:]
    involved = np.flatnonzero(np.isin(run.line[order], np.unique(run.line[order[showing]])))
    middle = int(np.searchsorted(involved, showing[-1]))
    near = np.arange(max(0, middle - BEFORE), min(len(involved), middle + AFTER + 1))
    chosen = np.union1d(near, np.searchsorted(involved, showing))
    shows = set(showing.tolist())
    events = []
    for before, k in zip([NONE, *chosen.tolist()], chosen.tolist(), strict=False):
        e = int(order[involved[k]])
        m = int(run.message[e])
        row = first + int(run.row[e])
        line, is_send = int(run.line[e]), int(run.copy[e]) == NONE
        copies = run.receiver[run.first_copy[m] : run.first_copy[m + 1]]
        peers = copies.tolist() if is_send else [int(run.line[run.send[m]])]
        events.append(
            ContextEvent(
                numbers.first + (row if rows.place is None else int(rows.place[row])),
                rows.processes[processes[line]],
                int(rows.index[row]),
                "send" if is_send else "deliver",
                str(rows.named["message"].name(row)),
                tuple(rows.processes[processes[peer]] for peer in peers),
                int(involved[k]) in shows,
                k - before - 1,
            )
        )
    return tuple(events)


def _of_messages(run: Run, messages: Numbers) -> Numbers:
    """For each event, in the order of the run, whether it belongs to one of these messages."""
    is_chosen = np.zeros(len(run.send), bool)
    is_chosen[messages] = True
    chosen: Numbers = is_chosen[run.message[run.order[: run.sizes[EVENTS]]]]
    return chosen
