"""Vector clocks, each a mapping of hosts to numbers: consistency, and the immediate causes of an event.

A host's own entry numbers its events 1, 2, …; any other entry is the number of that host's events that happened before.
So an event whose clock has an entry that the event before it at its host lacks has learnt of that event, and its
*immediate causes* are those events of other hosts that no other one of them knows. Happened-before is what the order on
each line and all messages generate; an immediate cause therefore has sent a message that the event received.

An immediate cause that is not in the log may itself know the other ones, and then nothing is certain of these: they
are left out.

Where events name their messages, these are compared with what the clocks show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from crownless.oracle.log_orders.uncertain import all_but
from crownless.runtime.errors import BadInput

from .converted import NOT_COMPLETE, ConvertedLog, few
from .reasons import MOST_INDEX
from .rows import Row

#: A host and the number of an event there, from 1.
EventId = tuple[str, int]
Clock = Mapping[str, int]
#: What an event is: its kind, its message, and its peers.
Meaning = tuple[str, str, tuple[str, ...]]
UNEXPLAINED = "the clocks show that more happened before than the named messages say"


def name_of(event: EventId) -> str:
    return f"{event[0]}:{event[1]}"


class ClockedEvent(NamedTuple):
    """An event of a host as logged; `line` is where it is in the file."""

    line: int
    host: str
    clock: Clock
    text: str

    @property
    def number(self) -> int:
        """The host's own entry."""
        return self.clock[self.host]

    @property
    def id(self) -> EventId:
        return self.host, self.number


class Causes(NamedTuple):
    """The immediate causes of an event: in the log, and not in the log."""

    logged: tuple[EventId, ...]
    missing: tuple[EventId, ...]


def lines_by_host(events: Iterable[ClockedEvent], several_runs_hint: str) -> dict[str, list[ClockedEvent]]:
    """The events of each host in order; raises `BadInput` if two have one number, or a clock goes back."""
    lines: dict[str, list[ClockedEvent]] = {}
    for event in events:
        lines.setdefault(event.host, []).append(event)
    for host, line in lines.items():
        line.sort(key=lambda event: event.number)
        for earlier, later in zip(line, line[1:], strict=False):
            if earlier.number == later.number:
                both = sorted((earlier.line, later.line))
                problem = f"{host} has two events {later.number}: lines {both[0]} and {both[1]}"
                raise BadInput(problem, hint=several_runs_hint, line=both[1])
            for known, number in earlier.clock.items():
                if later.clock.get(known, 0) < number:
                    problem = f"the clock of {host}'s event {later.number} lacks {known}:{number}"
                    hint = f"its event {earlier.number} knows it, on line {earlier.line}; a clock never goes back"
                    raise BadInput(problem, hint=hint, line=later.line)
    return lines


def immediate_causes(lines: Mapping[str, list[ClockedEvent]]) -> dict[EventId, Causes]:
    """Of each event; raises `BadInput` if a clock lacks what the clock of a cause has."""
    logged = {event.id: event for line in lines.values() for event in line}
    causes: dict[EventId, Causes] = {}
    for host, line in lines.items():
        before: Clock = {}
        for event in line:
            new = [(p, k) for p, k in event.clock.items() if p != host and k > before.get(p, 0)]
            before = event.clock
            if not new:
                causes[event.id] = Causes((), ())
                continue
            known = [logged[cause] for cause in new if cause in logged]
            for cause in known:
                _check(event, cause)
            immediate = [(p, k) for p, k in new if not any(c.host != p and c.clock.get(p, 0) >= k for c in known)]
            missing = tuple(cause for cause in immediate if cause not in logged)
            causes[event.id] = Causes(() if missing else tuple(immediate), missing)
    return causes


def _check(event: ClockedEvent, cause: ClockedEvent) -> None:
    hint = "the clock of an event contains the clocks of all events before it"
    if cause.clock.get(event.host, 0) >= event.number:
        problem = f"{event.host}'s event {event.number} and {cause.host}'s event {cause.number} know of each other"
        raise BadInput(f"{problem}: lines {event.line} and {cause.line}", hint=hint, line=event.line)
    for host, number in cause.clock.items():
        if event.clock.get(host, 0) < number:
            problem = f"the clock of {event.host}'s event {event.number} lacks {host}:{number}"
            where = f"{cause.host}'s event {cause.number} on line {cause.line} has it"
            raise BadInput(f"{problem}, and {where}", hint=hint, line=event.line)


def clock_problem(host: str, clock: object) -> str | None:
    """Why this cannot be the clock of an event of the host; None if it can."""
    if not isinstance(clock, dict):
        return "the clock is no JSON object"
    for name, number in clock.items():
        if type(number) is not int or not 0 <= number <= MOST_INDEX:
            return f"the entry of {name} in the clock is no whole number from 0"
    if not clock.get(host):
        return f"the clock has no entry of {host}, at which the event is"
    return None


# -- rows --------------------------------------------------------------------------------------------------------------


def received(causes: Iterable[EventId]) -> list[Meaning]:
    """The deliveries of messages of these events, which are called by them."""
    return [("deliver", name_of(cause), (cause[0],)) for cause in causes]


def rows_of_events(
    run: str, lines: Mapping[str, list[ClockedEvent]], meanings: Callable[[ClockedEvent], Sequence[Meaning]]
) -> list[Row]:
    """The rows of a run, host by host; an event may have several, one after the other."""
    rows: list[Row] = []
    for host, line in lines.items():
        more = 0  # rows than events, so far
        for event in line:
            several = meanings(event)
            rows += [
                Row(event.line, run, host, event.number - 1 + more + k, *meaning) for k, meaning in enumerate(several)
            ]
            more += len(several) - 1
    return rows


def add_named_messages(
    log: ConvertedLog,
    run: str,
    lines: Mapping[str, list[ClockedEvent]],
    causes: Mapping[EventId, Causes],
    meaning: Callable[[ClockedEvent], Meaning],
    hint: str,
    *,
    complete: bool = False,
) -> set[str]:
    """Adds the events of a run to the log; returns the kinds of its events.

    Raises `BadInput` if a clock does not know the send of what it delivers. If the clocks show more than the messages,
    only asynchronous and FIFO order can be said to be kept. `hint`: what may be done about messages that do not go with
    the clocks. `complete`: a process may deliver a message twice, and no event that a clock knows may be missing.
    """
    events = {event.id: event for line in lines.values() for event in line}
    meanings = {name: meaning(event) for name, event in events.items()}
    for name, event in events.items():
        for host, number in causes[name].missing if complete else ():
            problem = f"the log is not complete: the clock of {event.host} knows event {number} of {host}"
            raise BadInput(problem, hint=NOT_COMPLETE, line=event.line)
    # A cause that is not in the log is a hole in the line of its host.
    rows = rows_of_events(run, lines, lambda event: [meanings[event.id], *received(causes[event.id].missing)])
    log.add(run, rows, hint, complete=complete)
    sends = {message: events[name] for name, (kind, message, _) in meanings.items() if kind == "send"}
    unexplained: dict[str, None] = {}
    for name, (kind, message, _) in meanings.items():
        event, send = events[name], sends.get(message) if kind == "deliver" else None
        if send is not None and event.clock.get(send.host, 0) < send.number:
            problem = f"the clock of {event.host}, which delivers {message}, does not know its send on line {send.line}"
            otherwise = f"messages are named otherwise than the clocks say; {hint}"
            raise BadInput(problem, hint=otherwise, line=event.line)
        if any(send is None or send.id != cause for cause in causes[name].logged):
            unexplained[name_of(name)] = None
    if unexplained:
        log.doubt(run, all_but(["asynchronous", "fifo"], UNEXPLAINED))
        log.note(run, f"{few(unexplained, 'event')} received, by the clocks, what no named message says; {hint}")
    return {kind for kind, _, _ in meanings.values()}
