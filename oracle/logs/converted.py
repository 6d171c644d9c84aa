"""Logs of other formats as the rows of a log, and notes on how they were read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crownless.oracle.log_orders.uncertain import Uncertain, copies_left_out
from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name, some

from .rows import Row

if TYPE_CHECKING:
    from crownless.oracle.log_orders.complete import Delivery

#: Of more things only the first ones are named in a note.
NAMED_UP_TO = 3
#: The hint for a log that is declared complete, and is not.
NOT_COMPLETE = "leave --complete out, or give the whole log"


@dataclass
class ConvertedLog:
    """The events of a log, each with its number in the file; by run notes, what is uncertain, and deliveries."""

    events: list[Row] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    uncertain: dict[str, Uncertain] = field(default_factory=dict)
    #: By run the sends that name no receiver, and whose messages nobody delivers; they are internal events here.
    to_nobody: dict[str, list[Row]] = field(default_factory=dict)
    #: Of a complete log by run how it delivers its messages.
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    #: The line of the first event, where each following line is the next event.
    first_line: int | None = None

    @property
    def without_unordered(self) -> list[Row]:
        """The events without copies of messages, so that of no two events the order is unknown."""
        left_out = {run: copies_left_out(uncertain.unordered) for run, uncertain in self.uncertain.items()}
        found = []
        for event in self.events:
            out = left_out.get(event.run, frozenset())
            if event.kind == "send":
                peers = tuple(peer for peer in event.peers if (event.message, peer) not in out)
                found.append(replace(event, peers=peers) if peers else event.as_internal())
            else:
                found.append(event.as_internal() if (event.message, event.process) in out else event)
        return found

    def note(self, run: str, text: str) -> None:
        """Adds a note on the run."""
        self.notes.setdefault(run, []).append(text)

    def doubt(self, run: str, reasons: Mapping[str, str]) -> None:
        """Adds reasons why orders of the run cannot be said to be kept, by order."""
        known = self.uncertain.get(run, Uncertain())
        self.uncertain[run] = replace(known, reasons={**known.reasons, **reasons})

    def add_with_receivers(self, rows: Iterable[Row]) -> None:
        """Adds rows; a send that names no receiver gets those that deliver the message, or becomes internal."""
        rows = list(rows)
        delivered: dict[tuple[str, str], dict[str, None]] = {}
        for row in rows:
            if row.kind == "deliver":
                delivered.setdefault((row.run, row.message), {})[row.process] = None
        for row in rows:
            if row.kind == "send" and not row.peers:
                peers = tuple(delivered.get((row.run, row.message), ()))
                if not peers:
                    self.to_nobody.setdefault(row.run, []).append(row)
                self.events.append(replace(row, peers=peers) if peers else row.as_internal())
            else:
                self.events.append(row)


def once_each(events: Iterable[Row], hint: str, *, complete: bool, by: str = "line") -> None:
    """Raises `BadInput` if one process sends a message of a run twice, or delivers it twice.

    `complete`: it may deliver it twice. `by`: what the numbers of events count.
    """
    seen: dict[tuple[str, str, str, str], Row] = {}
    for event in events:
        if event.kind == "internal" or (complete and event.kind == "deliver"):
            continue
        earlier = seen.setdefault((event.run, event.process, event.kind, event.message), event)
        if earlier is not event:
            does = f"{event.process} {event.kind}s {event.message} twice: {by}s {earlier.line} and {event.line}"
            raise BadInput(does, hint=hint, line=event.line if by == "line" else None)


def few(things: Collection[str], thing: str) -> str:
    """How many things there are, with the names of the first ones: ``2 events (a, b)``."""
    first = [printable_name(name) for _, name in zip(range(NAMED_UP_TO), things, strict=False)]
    return f"{some(len(things), thing)} ({', '.join(first)}{', …' if len(things) > NAMED_UP_TO else ''})"
