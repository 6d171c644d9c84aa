"""A space-time diagram before rendering: the drawn parts of a computation, and the rows of its events.

There is one column per process, and time flows down: every arrow leads from a row to a later one. Its slope shows the
number of rows between, not a duration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from crownless.runtime.printable import printable_line, printable_name
from crownless.spec.computation import Computation

#: The receivers that a short remark names; a single further one is named, too.
NAMED = 2
#: The number of columns for which an arrow leads one more row down.
FAR = (1, 5)


class Arrow(NamedTuple):
    """A message on its way to one receiver: from its send event to its receive event, if it has one."""

    message: int
    sender: int
    receiver: int
    send: int
    receive: int | None
    lost: bool = False
    #: Whether it is a copy of a message received before.
    copy: bool = False

    @property
    def received(self) -> bool:
        """True if it arrives."""
        return self.receive is not None


class Variable(NamedTuple):
    """A local variable after an event, as printed: a matrix, one row, or one value. `changed`: the places, by row and
    column, where it differs from before; places of removed entries lie beyond its rows.
    """

    name: str
    rows: tuple[tuple[str, ...], ...]
    changed: frozenset[tuple[int, int]] = frozenset()

    def __str__(self) -> str:
        marked = (
            " ".join(f"{cell}*" if (r, k) in self.changed else cell for k, cell in enumerate(row))
            for r, row in enumerate(self.rows)
        )
        return f"{self.name} = {' / '.join(marked)}{' (entries removed)*' if self.removed else ''}"

    @property
    def removed(self) -> bool:
        """True if it had more entries before."""
        return any(r >= len(self.rows) or k >= len(self.rows[r]) for r, k in self.changed)


class Wait(NamedTuple):
    """A message held back at a process, from the event of its arrival to that of its delivery; None: to the end."""

    message: str
    arrival: int
    delivery: int | None


class Emphasis(NamedTuple):
    """The emphasis of a diagram: in words, by messages, and by pairs of events, one happening before the other. `legs`:
    pairs of message and receiver; None: all receivers of all messages. `because`: constraints that cannot be drawn, one
    in a line.
    """

    says: str
    messages: frozenset[int]
    pairs: tuple[tuple[int, int], ...] = ()
    legs: frozenset[tuple[int, int]] | None = None
    because: tuple[str, ...] = ()

    def has(self, message: int, receiver: int) -> bool:
        """True if the message on its way to that receiver is emphasized."""
        return message in self.messages and (self.legs is None or (message, receiver) in self.legs)


@dataclass(frozen=True)
class Diagram:
    """The drawn parts of a computation. Events and messages are its numbers.

    `order` is a linearization (all event numbers) that gives each event a row of its own. `remarks` are short, on
    events. `unreceived` describes the fate of unreceived messages; those in `lost`, by number and receiver, are
    described as lost. `control` are the protocol's own messages. `silent` are events in the channel, not at the
    process. `copies` are events that receive a message once more. `crashes` are events after which their process does
    nothing. `undone` are messages whose send is undone. `variables` are those of the process after an event.
    """

    computation: Computation
    order: Sequence[int] | None = None
    title: str = ""
    remarks: Mapping[int, str] = field(default_factory=dict)
    unreceived: str = "is never received by"
    lost: frozenset[tuple[int, int]] = frozenset()
    control: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    copies: tuple[tuple[int, int], ...] = ()
    crashes: frozenset[int] = frozenset()
    undone: frozenset[int] = frozenset()
    waits: tuple[Wait, ...] = ()
    emphasis: Emphasis | None = None
    variables: Mapping[int, tuple[Variable, ...]] = field(default_factory=dict)
    #: The omitted parts, in words.
    left_out: str = ""

    def __post_init__(self) -> None:
        c, rank_of = self.computation, self.rank_of
        assert sorted(self.linearization) == list(range(c.event_count)), "the order has every event once"
        assert all(rank_of[e] < rank_of[f] for e, after in enumerate(c.immediate_successors()) for f in after), (
            "the order keeps happened-before"
        )

    @cached_property
    def linearization(self) -> tuple[int, ...]:
        """The events in an order in which each may be drawn in a row of its own."""
        return self.computation.linearization if self.order is None else tuple(self.order)

    @cached_property
    def rank_of(self) -> Mapping[int, int]:
        """The place of each event in that order."""
        return {event: rank for rank, event in enumerate(self.linearization)}

    @cached_property
    def row_of(self) -> Mapping[int, int]:
        """The row of each event, with several events in a row where possible: as early as possible, but sends as late
        as possible. With a given order each event has its own row.
        """
        if self.order is not None:
            return self.rank_of
        c = self.computation
        successors = c.immediate_successors()

        def rows_between(e: int, f: int) -> int:
            """More rows for distant processes, so that the arrow can pass the events in between."""
            across = abs(c.process_of[e] - c.process_of[f])
            return 1 + sum(across > each for each in FAR)

        row = dict.fromkeys(self.linearization, 0)
        for e in self.linearization:
            for f in successors[e]:
                row[f] = max(row[f], row[e] + rows_between(e, f))
        for e in reversed(self.linearization):
            if successors[e] and c.events[e].kind == "send":
                row[e] = min(row[f] - rows_between(e, f) for f in successors[e])
        return row

    @cached_property
    def by_row(self) -> tuple[int, ...]:
        """The events from top to bottom, and in a row from left to right: a linearization, too."""
        c = self.computation
        return tuple(sorted(range(c.event_count), key=lambda event: (self.row_of[event], c.process_of[event])))

    @cached_property
    def row_count(self) -> int:
        """The number of these rows."""
        return max(self.row_of.values(), default=-1) + 1

    @cached_property
    def waits_from(self) -> Mapping[int, list[Wait]]:
        """The messages held back from an event on, by their arrival."""
        waits: dict[int, list[Wait]] = {}
        for wait in self.waits:
            waits.setdefault(wait.arrival, []).append(wait)
        return waits

    @cached_property
    def _taking(self) -> frozenset[int | None]:
        """The internal events in which a message is delivered, or received once more."""
        return frozenset([wait.delivery for wait in self.waits] + [event for _, event in self.copies])

    def is_plain(self, event: int) -> bool:
        """True if nothing but an internal event of the application happens there."""
        internal = self.computation.events[event].message is None
        return internal and event not in self.silent and event not in self.crashes and event not in self._taking

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """An arrow for each message and receiver, in the order of the messages; copies come last."""
        c = self.computation
        arrows = []
        for m, message in enumerate(c.messages):
            for q in message.receivers:
                receive = c.receive_events[m].get(q)
                arrows.append(Arrow(m, message.sender, q, c.send_event[m], receive, (m, q) in self.lost))
        for m, event in self.copies:
            copy = Arrow(m, c.messages[m].sender, c.process_of[event], c.send_event[m], event, copy=True)
            arrows.append(copy)
        return tuple(arrows)

    @cached_property
    def process_names(self) -> list[str]:
        """The names of the processes as printed."""
        return [printable_name(name) for name in self.computation.processes]

    @cached_property
    def message_names(self) -> list[str]:
        """The names of the messages as printed."""
        return [printable_name(message.name) for message in self.computation.messages]

    @cached_property
    def shown_remarks(self) -> Mapping[int, str]:
        """The remark on each event that has one, including unreceived messages."""
        return self._remarks(named=len(self.process_names))

    @cached_property
    def short_remarks(self) -> Mapping[int, str]:
        """These remarks, with at most a few of many receivers."""
        return self._remarks(NAMED)

    def _remarks(self, named: int) -> Mapping[int, str]:
        said = {event: [printable_line(remark)] for event, remark in self.remarks.items()}
        for m, missing in groupby(self.computation.unreceived, key=lambda pair: pair[0]):
            by_fate: dict[str, list[str]] = {}
            for _, q in missing:
                how = "is lost on the way to" if (m, q) in self.lost else self.unreceived
                by_fate.setdefault(how, []).append(self.process_names[q])
            said.setdefault(self.computation.send_event[m], []).extend(
                f"{self.message_names[m]} {how} {_listed(processes, named)}" for how, processes in by_fate.items()
            )
        return {event: "; ".join(remarks) for event, remarks in said.items()}


def _listed(names: list[str], most: int) -> str:
    """The names, or the first of them and how many others there are."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} others"
