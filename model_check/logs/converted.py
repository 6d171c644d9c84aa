"""Logs of other formats as lines of JSON in the columns of a log: the one form whose validity `event_logs` defines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name, some

from .files import CONVERTED, Format
from .kinds import refuse_kinds
from .patterns import Patterns
from .rows import Row
from .uncertain import Uncertain, copies_left_out

if TYPE_CHECKING:
    from .complete import Delivery

#: Of more things only the first ones are named in a note.
NAMED_UP_TO = 3
#: What may be done about a log that is said to be complete, and is not.
NOT_COMPLETE = "leave --complete out, or give the whole log"


@dataclass
class ConvertedLog:
    """The events of a log, each with its line in the file; by run notes, what is uncertain, and deliveries."""

    events: list[Row]
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
                stays = bool(peers)
            else:
                peers, stays = event.peers, (event.message, event.process) not in out
            found.append(
                replace(event, peers=peers) if stays else replace(event, kind="internal", message="", peers=())
            )
        return found

    def note(self, run: str, text: str) -> None:
        """Adds a note on the run."""
        self.notes.setdefault(run, []).append(text)


def convert(
    content: bytes,
    form: Format,
    name: str,
    columns: Mapping[str, str] | None = None,
    patterns: Patterns | None = None,
    kinds: Mapping[str, str] | None = None,
    *,
    complete: bool = False,
) -> ConvertedLog:
    """The log in a content of one of the formats `CONVERTED`; raises `BadInput`.

    `complete`: nothing is missing from it (`complete`). A process may then deliver a message twice, and what the log
    leaves open about deliveries is refused.
    """
    assert form in CONVERTED
    patterns = patterns or Patterns()
    if form != "shiviz" and patterns.given:
        raise BadInput(f"{patterns.given[0]} goes with --format shiviz", hint="leave it out", file=name)
    if form != "itf" and columns:
        hint = "name the groups of --pattern host, clock and event" if form == "shiviz" else "leave it out"
        raise BadInput(f"--column does not go with --format {form}", hint=hint, file=name)
    if form != "itf":
        refuse_kinds(kinds, f"--format {form}", name)
    try:
        if form == "shiviz":
            from .shiviz import read_shiviz

            return read_shiviz(content, name, patterns, complete)
        if form == "otlp":
            from .otlp import read_otlp

            return read_otlp(content, name, complete)
        from .itf import read_itf

        return read_itf(content, name, columns or {}, kinds or {}, complete)
    except BadInput as problem:
        raise problem.at(file=name) from None


def with_receivers(events: Iterable[Row]) -> tuple[list[Row], dict[str, list[Row]]]:
    """Sends that name no receiver get those that deliver the message. Those of which there is none become internal;
    these by run, as they were.
    """
    events = list(events)
    delivered: dict[tuple[str, str], dict[str, None]] = {}
    for event in events:
        if event.kind == "deliver":
            delivered.setdefault((event.run, event.message), {})[event.process] = None
    found: list[Row] = []
    to_nobody: dict[str, list[Row]] = {}
    for event in events:
        if event.kind == "send" and not event.peers:
            peers = tuple(delivered.get((event.run, event.message), ()))
            if not peers:
                to_nobody.setdefault(event.run, []).append(event)
            kind = "send" if peers else "internal"
            event = replace(event, kind=kind, message=event.message if peers else "", peers=peers)
        found.append(event)
    return found, to_nobody


def once_each(events: Iterable[Row], hint: str, kinds: Collection[str] = ("send", "deliver")) -> None:
    """Raises `BadInput` if one process sends, or delivers, a message of a run twice; `kinds`: which of the two."""
    seen: dict[tuple[str, str, str, str], Row] = {}
    for event in events:
        if event.kind not in kinds:
            continue
        earlier = seen.setdefault((event.run, event.process, event.kind, event.message), event)
        if earlier is not event:
            does = f"{event.process} {event.kind}s {event.message} twice: lines {earlier.line} and {event.line}"
            raise BadInput(does, hint=hint, line=event.line)


def few(things: Collection[str], thing: str) -> str:
    """How many things there are, with the names of the first ones: ``2 events (a, b)``."""
    first = [printable_name(name) for _, name in zip(range(NAMED_UP_TO), things, strict=False)]
    return f"{some(len(things), thing)} ({', '.join(first)}{', …' if len(things) > NAMED_UP_TO else ''})"
