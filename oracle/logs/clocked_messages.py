"""Named messages of a run whose events carry vector clocks: what they say, compared with what the clocks show."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crownless.oracle.log_orders.uncertain import all_but
from crownless.spec.errors import BadInput

from .converted import NOT_COMPLETE, ConvertedLog, few, once_each
from .rows import Row
from .vector_clocks import Causes, ClockedEvent, EventId, name_of

#: What an event is: its kind, its message, and its peers.
Meaning = tuple[str, str, tuple[str, ...]]
UNEXPLAINED = "the clocks show that more happened before than the named messages say"


def add_named_messages(
    log: ConvertedLog,
    run: str,
    lines: Mapping[str, list[ClockedEvent]],
    causes: Mapping[EventId, Causes],
    meaning: Callable[[ClockedEvent], Meaning],
    hint: str,
    *,
    complete: bool = False,
) -> list[Row]:
    """Adds the events of a run to the log; returns them as they were before receivers of messages were looked up.

    Raises `BadInput` if a clock does not know the send of what it delivers. If the clocks show more than the messages,
    only asynchronous and FIFO order can be said to be kept. `hint`: what may be done about messages that do not go with
    the clocks. `complete`: a process may deliver a message twice, and no event that a clock knows may be missing.
    """
    rows: list[Row] = []
    sends: dict[str, ClockedEvent] = {}
    delivers: list[tuple[ClockedEvent, str]] = []
    delivered: dict[EventId, str] = {}
    for host, line in lines.items():
        more = 0
        for event in line:
            kind, message, peers = meaning(event)
            index = event.number - 1 + more
            rows.append(Row(event.line, run, host, index, kind, message, peers))
            if kind == "send":
                sends[message] = event
            elif kind == "deliver":
                delivers.append((event, message))
                delivered[event.id] = message
            for cause in causes[event.id].missing:  # a hole in the line of its host
                if complete:
                    problem = f"the log is not complete: the clock of {host} knows event {cause[1]} of {cause[0]}"
                    raise BadInput(problem, hint=NOT_COMPLETE, line=event.line)
                more += 1
                rows.append(Row(event.line, run, host, index + more, "deliver", name_of(cause), (cause[0],)))
    once_each(rows, hint, complete=complete)
    for event, message in delivers:
        send = sends.get(message)
        if send is not None and event.clock.get(send.host, 0) < send.number:
            problem = f"the clock of {event.host}, which delivers {message}, does not know its send on line {send.line}"
            otherwise = f"messages are named otherwise than the clocks say; {hint}"
            raise BadInput(problem, hint=otherwise, line=event.line)
    unexplained = [
        name_of(event)
        for event, found in causes.items()
        for cause in found.logged
        if (send := sends.get(delivered.get(event, ""))) is None or send.id != cause
    ]
    log.doubt(run, all_but(["asynchronous", "fifo"], UNEXPLAINED) if unexplained else {})
    if unexplained:
        at = few(dict.fromkeys(unexplained), "event")
        log.note(run, f"{at} received, by the clocks, what no named message says; {hint}")
    log.add_with_receivers(rows)
    return rows
