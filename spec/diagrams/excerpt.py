"""The part of a large diagram that can still be read, with what is left out in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from crownless.spec.computation import Computation, Event
from crownless.spec.printable import some

from .diagram import Diagram

T = TypeVar("T")

#: The most messages that are drawn.
MESSAGES = 200


def excerpt(diagram: Diagram, messages: int = MESSAGES) -> Diagram:
    """The diagram itself, or a part of it with no more messages: those nearest to what is shown, or the first."""
    c = diagram.computation
    if len(c.messages) <= messages:
        return diagram
    shown = diagram.emphasis is not None and bool(diagram.emphasis.messages)
    kept = sorted(sorted(range(len(c.messages)), key=_distance(diagram))[:messages])
    part = _with(diagram, kept)
    said = [f"{len(kept):,} of {some(len(c.messages), 'message')}"]
    if len(part.computation.processes) < len(c.processes):
        said.append(f"{len(part.computation.processes):,} of {some(len(c.processes), 'process')}")
    which = "nearest to what breaks the order" if shown else "that are sent first"
    return replace(part, left_out=f"An excerpt: {' and '.join(said)}, those {which}.")


def _distance(diagram: Diagram) -> Callable[[int], tuple[int, int]]:
    """How far a message is from the shown ones, by the places of events in the linearization."""
    c, rank = diagram.computation, diagram.rank_of

    def ranks(m: int) -> list[int]:
        return [rank[c.send_event[m]], *(rank[e] for e in c.receive_events[m].values())]

    emphasis = diagram.emphasis
    if emphasis is None or not emphasis.messages:
        return lambda m: (0, rank[c.send_event[m]])
    places = [place for m in emphasis.messages for place in ranks(m)]
    middle = (min(places) + max(places)) // 2

    def distance(m: int) -> tuple[int, int]:
        return (0, 0) if m in emphasis.messages else (1, min(abs(place - middle) for place in ranks(m)))

    return distance


def _with(diagram: Diagram, kept: list[int]) -> Diagram:
    """The diagram of these messages alone, of the events that have none among theirs, and of the processes that have
    any.
    """
    c, rank = diagram.computation, diagram.rank_of
    number_of = {m: k for k, m in enumerate(kept)}
    with_message = [e for e, event in enumerate(c.events) if event.message in number_of]
    places = [rank[e] for e in with_message]
    first, last = min(places), max(places)
    events = {
        e for e, event in enumerate(c.events) if event.message in number_of
        or (event.message is None and first <= rank[e] <= last)
    }  # fmt: skip
    used = {c.process_of[e] for e in events} | {q for m in kept for q in c.messages[m].receivers}
    process_of = {p: k for k, p in enumerate(sorted(used))}
    messages = [
        c.messages[m]._replace(
            sender=process_of[c.messages[m].sender], receivers=tuple(process_of[q] for q in c.messages[m].receivers)
        )
        for m in kept
    ]
    lines: list[list[Event]] = [[] for _ in process_of]
    event_of: dict[int, int] = {}
    for e in sorted(events):  # by process, in the order of its line
        event = c.events[e]
        event_of[e] = len(event_of)
        lines[process_of[c.process_of[e]]].append(
            event if event.message is None else event._replace(message=number_of[event.message])
        )
    part = Computation(
        tuple(c.processes[p] for p in sorted(used)), tuple(messages), tuple(tuple(line) for line in lines)
    )
    return Diagram(
        part,
        None if diagram.order is None else [event_of[e] for e in diagram.order if e in event_of],
        title=diagram.title,
        remarks=_by(diagram.remarks, event_of),
        unreceived=diagram.unreceived,
        lost=frozenset((number_of[m], process_of[q]) for m, q in diagram.lost if m in number_of),
        control=_among(diagram.control, number_of),
        silent=_among(diagram.silent, event_of),
        copies=tuple((number_of[m], event_of[e]) for m, e in diagram.copies if m in number_of and e in event_of),
        crashes=_among(diagram.crashes, event_of),
        undone=_among(diagram.undone, number_of),
        waits=tuple(
            wait._replace(
                arrival=event_of[wait.arrival],
                delivery=None if wait.delivery is None else event_of.get(wait.delivery),
            )
            for wait in diagram.waits
            if wait.arrival in event_of
        ),
        emphasis=diagram.emphasis
        and diagram.emphasis._replace(
            messages=_among(diagram.emphasis.messages, number_of),
            pairs=tuple(
                (event_of[e], event_of[f]) for e, f in diagram.emphasis.pairs if e in event_of and f in event_of
            ),
        ),
        variables=_by(diagram.variables, event_of),
    )


def _by(known: Mapping[int, T], number_of: Mapping[int, int]) -> dict[int, T]:
    return {number_of[e]: value for e, value in known.items() if e in number_of}


def _among(some_of: Iterable[int], number_of: Mapping[int, int]) -> frozenset[int]:
    return frozenset(number_of[one] for one in some_of if one in number_of)
