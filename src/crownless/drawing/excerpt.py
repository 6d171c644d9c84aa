"""A readable part of a large diagram, with a note on the omitted parts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from crownless.runtime.printable import listed, some
from crownless.spec.computation import Computation, Event

from .diagram import Diagram

#: The most messages that are drawn, arrows of them, events, and processes.
MESSAGES, ARROWS, EVENTS, PROCESSES = 200, 400, 800, 30


def excerpt(diagram: Diagram, messages: int = MESSAGES) -> Diagram:
    """The diagram itself, or a part with a readable number of messages, arrows, events and processes: those nearest to
    the emphasis, or the first. Diagrams of runs are drawn whole.
    """
    c = diagram.computation
    if diagram.order is not None or (
        len(c.messages) <= messages
        and len(diagram.arrows) <= ARROWS
        and c.event_count <= EVENTS
        and len(c.processes) <= PROCESSES
    ):
        return diagram
    nearest = sorted(range(len(c.messages)), key=_distance(diagram))
    processes = _processes(diagram, nearest)
    kept = _messages(diagram, nearest, processes, messages)
    part = _with(diagram, kept, processes)
    said = [
        f"{there:,} of {some(whole, thing)}"
        for there, whole, thing in (
            (len(kept), len(c.messages), "message"),
            (len(part.computation.processes), len(c.processes), "process"),
        )
        if there < whole
    ]
    if not said or part.computation.event_count == EVENTS:
        said.append(f"{part.computation.event_count:,} of {some(c.event_count, 'event')}")
    shown = diagram.emphasis is not None and bool(diagram.emphasis.messages)
    which = "nearest to the violation" if shown else "that come first"
    return replace(part, left_out=f"An excerpt: {listed(said)}, those {which}.")


def _processes(diagram: Diagram, nearest: list[int]) -> set[int]:
    """The processes of the nearest messages; for each message, those between which it is emphasized come first."""
    c, emphasis = diagram.computation, diagram.emphasis
    if len(c.processes) <= PROCESSES:
        return set(range(len(c.processes)))
    legs = [] if emphasis is None else sorted(emphasis.legs or ())
    one_each = dict(reversed(legs))  # of each message the first
    ends = [p for m, q in [*one_each.items(), *legs] for p in (c.messages[m].sender, q)]
    ends += [p for m in nearest for p in (c.messages[m].sender, *c.messages[m].receivers)]
    ends += range(len(c.processes))
    return set(list(dict.fromkeys(ends))[:PROCESSES])


def _messages(diagram: Diagram, nearest: list[int], processes: set[int], most: int) -> list[int]:
    """As many of the nearest messages between these processes as fit; at least one."""
    c = diagram.computation
    kept: list[int] = []
    arrows = 0
    for m in nearest:
        receivers = sum(q in processes for q in c.messages[m].receivers)
        if c.messages[m].sender not in processes or not receivers:
            continue
        arrows += receivers
        if kept and (len(kept) == most or arrows > ARROWS):
            break
        kept.append(m)
    return sorted(kept)


def _distance(diagram: Diagram) -> Callable[[int], tuple[int, int]]:
    """The distance of a message from the emphasized ones, by the places of events in the linearization."""
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


def _events(diagram: Diagram, kept: set[int], processes: set[int]) -> set[int]:
    """The events of these messages on these processes, and as many of the first events without a message in between as
    fit.
    """
    c, rank = diagram.computation, diagram.rank_of
    here = [e for e in diagram.linearization if c.process_of[e] in processes]
    events = {e for e in here if c.events[e].message in kept}
    first, last = min((rank[e] for e in events), default=0), max((rank[e] for e in events), default=len(here))
    between = [e for e in here if c.events[e].message is None and first <= rank[e] <= last]
    return events | set(between[: max(EVENTS - len(events), 0)])


def _with(diagram: Diagram, kept: list[int], processes: set[int]) -> Diagram:
    """The diagram of only these messages, as far as they concern these processes, of these processes' events without a
    message, and of the processes with any of these.
    """
    c = diagram.computation
    events = sorted(_events(diagram, set(kept), processes))  # by process, in the order of its line
    used = {c.process_of[e] for e in events} | {q for m in kept for q in c.messages[m].receivers if q in processes}
    process_of = {p: k for k, p in enumerate(sorted(used))}
    number_of = {m: k for k, m in enumerate(kept)}
    event_of = {e: k for k, e in enumerate(events)}
    lines: list[list[Event]] = [[] for _ in process_of]
    for e in events:
        event = c.events[e]
        message = None if event.message is None else number_of[event.message]
        lines[process_of[c.process_of[e]]].append(event._replace(message=message))
    messages = [
        c.messages[m]._replace(
            sender=process_of[c.messages[m].sender],
            receivers=tuple(process_of[q] for q in c.messages[m].receivers if q in process_of),
        )
        for m in kept
    ]
    emphasis = diagram.emphasis
    if emphasis is not None:
        legs = None if emphasis.legs is None else frozenset(_renumbered(emphasis.legs, number_of, process_of))
        pairs = tuple(_renumbered(emphasis.pairs, event_of, event_of))
        shown = frozenset(number_of[m] for m in emphasis.messages if m in number_of)
        emphasis = emphasis._replace(messages=shown, pairs=pairs, legs=legs)
    names = tuple(c.processes[p] for p in sorted(used))
    return replace(
        diagram, computation=Computation(names, tuple(messages), tuple(map(tuple, lines))), emphasis=emphasis
    )


def _renumbered(
    pairs: Iterable[tuple[int, int]], first: Mapping[int, int], second: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    return ((first[a], second[b]) for a, b in pairs if a in first and b in second)
