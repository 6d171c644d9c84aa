"""Computations: messages, events, happened-before and consistent cuts, as applications see them.

A computation is a set of processes, each with a line of events: *send*, *receive* and *internal* ones. A message has
one send event and at most one receive event at each of its receivers (one receiver for a unicast, several for a
multicast). The happened-before relation is the transitive closure of the order on each line and of
send-before-receive ([Lam78]; [MF] §1 writes ≺ for it, [MG] §2.1 and [SES] §2 write →).

A computation may be incomplete: a message sent and not (yet) received. `orders` says how each order treats it.

Processes and messages are numbered from 0 in the code, and printed by name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import error_line, in_brackets

from .dataframes import DataFrame, Graph, data_frame
from .drawn import Drawn, drawing
from .graphs import lightest_path, strong_components

Kind = Literal["send", "receive", "internal"]


class Message(NamedTuple):
    """A message: its name, its sender, and its receivers in ascending order."""

    name: str
    sender: int
    receivers: tuple[int, ...]

    @property
    def receiver(self) -> int:
        """The only receiver of a unicast message."""
        if len(self.receivers) != 1:
            raise ValueError(f"a message to {len(self.receivers)} processes has no one receiver: use message.receivers")
        return self.receivers[0]


class Event(NamedTuple):
    """One event on a process line; `message` counts into `Computation.messages` (None for an internal event)."""

    kind: Kind
    message: int | None


#: The most sends on cycles for which shortest cycles are compared; and the most steps of a cycle that are printed.
CYCLES_TRIED, STEPS_SAID = 8, 8


class Cyclic(BadInput):
    """Events that happen before themselves: in words, and each by its process and place on the line."""

    def __init__(self, steps: Sequence[str], places: Sequence[tuple[int, int]]) -> None:
        said = [*steps, steps[0]] if len(steps) <= STEPS_SAID else [*steps[:STEPS_SAID], f"… ({len(steps)} events)"]
        hint = "no message can be received before it is sent"
        super().__init__(f"the computation is cyclic: {' → '.join(said)}", hint=hint)
        self.steps, self.places = tuple(steps), tuple(places)


@dataclass(frozen=True, repr=False)
class Computation(Drawn):
    """A validated computation; raises `BadInput` when built from invalid lines.

    Events are numbered line after line: event `e` of process `p` at index `i` is ``first_event[p] + i``.
    """

    processes: tuple[str, ...]
    messages: tuple[Message, ...]
    lines: tuple[tuple[Event, ...], ...]

    def __post_init__(self) -> None:
        try:
            _validate(self)
        except (TypeError, AttributeError) as error:  # a part of another type
            hint = "`processes` are names, `messages` are Messages, `lines` are sequences of Events; or use cr.parse"
            raise BadInput(f"Computation: a part is of another type: {error_line(error)}", hint=hint) from error

    @classmethod
    def of_lines(cls, n: int, messages: Sequence[Message], lines: Iterable[Iterable[Event]]) -> "Computation":
        """A computation of processes called P1 … Pn."""
        return cls(process_names(n), tuple(messages), tuple(tuple(line) for line in lines))

    @classmethod
    def of_message_lines(cls, lines: Sequence[Iterable[tuple[str, Message]]]) -> "Computation":
        """The computation of these events, each with its message: ``send``, or any other word for a receive."""
        messages = sorted({message for line in lines for _, message in line})
        number = {message: m for m, message in enumerate(messages)}
        events = [
            [Event("send" if kind == "send" else "receive", number[message]) for kind, message in line]
            for line in lines
        ]
        return cls.of_lines(len(events), messages, events)

    def __str__(self) -> str:
        return str(drawing().in_text(self))

    def __repr__(self) -> str:
        return in_brackets(" | ".join(text_of(self).split("\n")))

    def to_networkx(self) -> Graph:
        """The graph of immediate steps: nodes are events, with `process`, `kind` and `message`; edges lead from each
        event to the next on its line, and from a send to its receives. Happened-before is its transitive closure.
        """
        import networkx as nx

        graph: Graph = nx.DiGraph()
        for e, row in enumerate(self._rows()):
            graph.add_node(e, **row)
        graph.add_edges_from((e, f) for e, targets in enumerate(self.immediate_successors()) for f in targets)
        return graph

    def to_pandas(self) -> DataFrame:
        """One row per event, in an order that happened-before allows: `process`, `index`, `kind`, `message`."""
        rows = self._rows()
        return data_frame({**rows[e], "index": e - self.first_event[self.process_of[e]]} for e in self.linearization)[
            ["process", "index", "kind", "message"]
        ]

    def _rows(self) -> list[dict[str, str | None]]:
        return [
            {
                "process": self.processes[self.process_of[e]],
                "kind": event.kind,
                "message": None if event.message is None else self.messages[event.message].name,
            }
            for e, event in enumerate(self.events)
        ]

    # -- events by number ------------------------------------------------------------------------------------------

    @cached_property
    def first_event(self) -> tuple[int, ...]:
        """For each process the number of its first event; a last entry is the number of all events."""
        first = [0]
        for line in self.lines:
            first.append(first[-1] + len(line))
        return tuple(first)

    @property
    def event_count(self) -> int:
        return self.first_event[-1]

    @cached_property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for line in self.lines for event in line)

    @cached_property
    def process_of(self) -> tuple[int, ...]:
        """The process of each event."""
        return tuple(p for p, line in enumerate(self.lines) for _ in line)

    @cached_property
    def send_event(self) -> tuple[int, ...]:
        """The number of each message's send event."""
        sends = [-1] * len(self.messages)
        for number, event in enumerate(self.events):
            if event.kind == "send" and event.message is not None:
                sends[event.message] = number
        return tuple(sends)

    @cached_property
    def receive_events(self) -> tuple[Mapping[int, int], ...]:
        """For each message: receiver → number of the receive event there; receivers without one are absent."""
        receives: list[dict[int, int]] = [{} for _ in self.messages]
        for number, event in enumerate(self.events):
            if event.kind == "receive" and event.message is not None:
                receives[event.message][self.process_of[number]] = number
        return tuple(receives)

    @cached_property
    def unreceived(self) -> tuple[tuple[int, int], ...]:
        """Every (message, receiver) that was sent and not received."""
        return tuple(
            (m, q)
            for m, message in enumerate(self.messages)
            for q in message.receivers
            if q not in self.receive_events[m]
        )

    @property
    def complete(self) -> bool:
        """True if every message sent is received, by every receiver."""
        return not self.unreceived

    @property
    def unicasts(self) -> bool:
        """True if each message has one receiver."""
        return all(len(message.receivers) == 1 for message in self.messages)

    # -- happened-before ---------------------------------------------------------------------------------------------

    def immediate_successors(self) -> list[list[int]]:
        """For each event, the next one on its line and, for a send, the receives of its message."""
        successors: list[list[int]] = [[] for _ in range(self.event_count)]
        for p, line in enumerate(self.lines):
            for number in range(self.first_event[p], self.first_event[p] + len(line) - 1):
                successors[number].append(number + 1)
        for send, receives in zip(self.send_event, self.receive_events, strict=True):
            successors[send].extend(receives.values())
        return successors

    @cached_property
    def linearization(self) -> tuple[int, ...]:
        """One order of all events that happened-before allows (the least by process, then index)."""
        order = topological_order(self.immediate_successors())
        assert order is not None, "a validated computation is acyclic"
        return tuple(order)

    def linearization_by(self, rank: Sequence[int]) -> list[int]:
        """The order of all events that takes the event of the lowest rank wherever happened-before allows several."""
        by_rank = sorted(range(self.event_count), key=lambda e: (rank[e], e))
        place = {e: k for k, e in enumerate(by_rank)}
        successors = self.immediate_successors()
        order = topological_order([[place[f] for f in successors[e]] for e in by_rank])
        assert order is not None, "a validated computation is acyclic"
        return [by_rank[k] for k in order]

    @cached_property
    def past(self) -> tuple[int, ...]:
        """For each event the set of events that happened before it, as bits: ``past[f] >> e & 1``."""
        past = [0] * self.event_count
        successors = self.immediate_successors()
        for e in self.linearization:
            closed = past[e] | 1 << e
            for f in successors[e]:
                past[f] |= closed
        return tuple(past)

    def happened_before(self, e: int, f: int) -> bool:
        """e ≺ f ([Lam78])."""
        return bool(self.past[f] >> e & 1)

    def overtakes(self, second: int, first: int, q: int) -> bool:
        """True if process q received the second message before the first, or without it."""
        earlier, later = self.receive_events[first].get(q), self.receive_events[second].get(q)
        return later is not None and (earlier is None or later < earlier)

    def happened_before_by_search(self, e: int, f: int) -> bool:
        """e ≺ f, found by search along the lines and messages: for computations too large for `past`."""
        earliest = {self.process_of[e]: e}
        stack = [e]
        while stack:
            start = stack.pop()
            p = self.process_of[start]
            if self.process_of[f] == p and start < f:
                return True
            for event in range(start, self.first_event[p + 1]):
                message = self.events[event].message
                if self.events[event].kind != "send" or message is None:
                    continue
                for q, receive in self.receive_events[message].items():
                    if receive < earliest.get(q, self.event_count):
                        earliest[q] = receive
                        stack.append(receive)
                        if receive == f:
                            return True
        return False

    def concurrent(self, e: int, f: int) -> bool:
        """True if they are two events and neither happened before the other."""
        return e != f and not self.happened_before(e, f) and not self.happened_before(f, e)

    # -- words -------------------------------------------------------------------------------------------------------

    def say(self, e: int) -> str:
        """An event in words: ``P2 receives y``."""
        event = self.events[e]
        process = self.processes[self.process_of[e]]
        if event.message is None:
            return f"internal event at {process}"
        return f"{process} {event.kind}s {self.messages[event.message].name}"


def process_names(n: int) -> tuple[str, ...]:
    """P1 … Pn, the papers' names."""
    return tuple(f"P{p + 1}" for p in range(n))


def topological_order(successors: Sequence[Sequence[int]]) -> list[int] | None:
    """The topological order that always takes the smallest number possible; None if there is a cycle."""
    missing = [0] * len(successors)
    for targets in successors:
        for target in targets:
            missing[target] += 1
    ready = [node for node in range(len(successors)) if not missing[node]]
    order = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for target in successors[node]:
            missing[target] -= 1
            if not missing[target]:
                heappush(ready, target)
    return order if len(order) == len(successors) else None


def _validate(c: Computation) -> None:
    n = len(c.processes)
    if len(c.lines) != n:
        raise BadInput(f"{len(c.lines)} lines for {n} processes", hint="give each process one line, empty if need be")
    for message in c.messages:
        for p in (message.sender, *message.receivers):
            if not 0 <= p < n:
                raise BadInput(f"message {message.name} names process number {p}", hint=f"use 0 to {n - 1}")
        if not message.receivers:
            raise BadInput(f"message {message.name} has no receiver", hint="name a receiver")
        if len(set(message.receivers)) < len(message.receivers):
            raise BadInput(f"message {message.name} names a receiver twice", hint="name each receiver once")
        if list(message.receivers) != sorted(message.receivers):
            raise BadInput(f"message {message.name} names its receivers out of order", hint="name them in order")
    seen: set[tuple[str, int, int]] = set()
    for p, line in enumerate(c.lines):
        for event in line:
            if (event.message is None) != (event.kind == "internal"):
                what = "no message" if event.message is None else "a message"
                raise BadInput(
                    f"{c.processes[p]} has an event of kind {event.kind} with {what}",
                    hint="internal events have no message, all others have one",
                )
            if event.message is None:
                continue
            if not 0 <= event.message < len(c.messages):
                hint = f"there are {len(c.messages)} messages, counted from 0"
                raise BadInput(f"{c.processes[p]} {event.kind}s message number {event.message}", hint=hint)
            message = c.messages[event.message]
            key = (event.kind, event.message, p if event.kind == "receive" else -1)
            if key in seen:
                raise BadInput(f"{c.processes[p]} {event.kind}s {message.name} twice", hint="name each message once")
            seen.add(key)
            if event.kind == "send" and p != message.sender:
                raise BadInput(
                    f"{c.processes[p]} sends {message.name}, which is {c.processes[message.sender]}'s message"
                )
            if event.kind == "receive" and p not in message.receivers:
                raise BadInput(
                    f"{c.processes[p]} receives {message.name}, which is not sent to it",
                    hint=f"{message.name} is for {', '.join(c.processes[q] for q in message.receivers)}",
                )
    for m, message in enumerate(c.messages):
        if ("send", m, -1) not in seen:
            raise BadInput(f"{message.name} is never sent", hint=f"add 'send {message.name} to …' or drop its receive")
    if topological_order(c.immediate_successors()) is None:
        cycle = _short_cycle(c)
        raise Cyclic([c.say(e) for e in cycle], [(c.process_of[e], e - c.first_event[c.process_of[e]]) for e in cycle])


def _short_cycle(c: Computation) -> list[int]:
    """Sends and receives of a cycle of few messages (not necessarily the fewest), from the least event on."""
    successors = c.immediate_successors()
    component = strong_components(successors)
    sizes = Counter(component)
    starts = [e for e in c.send_event if sizes[component[e]] > 1]

    def is_message(e: int, f: int) -> bool:
        return c.events[e].kind == "send" and c.events[f] == Event("receive", c.events[e].message)

    cycles = []
    for send in starts[:: -(-len(starts) // CYCLES_TRIED)]:
        receives = [e for e in successors[send] if is_message(send, e)]
        paths = (lightest_path(successors, e, send, lambda e, f: int(is_message(e, f))) for e in receives)
        cycles += [path[1] for path in paths if path is not None]
    cycle = min(cycles, key=lambda nodes: (sum(map(is_message, nodes, nodes[1:])), len(nodes)))
    around = zip([cycle[-1], *cycle], cycle, [*cycle[1:], cycle[0]], strict=False)
    ends = [e for before, e, after in around if is_message(before, e) or is_message(e, after)]
    least = ends.index(min(ends))
    return ends[least:] + ends[:least]


def project(c: Computation, messages: Iterable[int]) -> Computation:
    """The computation with only these messages; their events keep their places on the lines."""
    kept = sorted(set(messages))
    renumbered = {m: k for k, m in enumerate(kept)}
    lines = tuple(
        tuple(Event(event.kind, renumbered[event.message]) for event in line if event.message in renumbered)
        for line in c.lines
    )
    return Computation(c.processes, tuple(c.messages[m] for m in kept), lines)


def without_idle_processes(c: Computation) -> Computation:
    """The computation without the processes that have no event and to which no message is sent."""
    receivers = {q for message in c.messages for q in message.receivers}
    busy = [p for p, line in enumerate(c.lines) if line or p in receivers]
    number = {p: k for k, p in enumerate(busy)}
    messages = tuple(Message(m.name, number[m.sender], tuple(number[q] for q in m.receivers)) for m in c.messages)
    return Computation(tuple(c.processes[p] for p in busy), messages, tuple(c.lines[p] for p in busy))


def consistent_cuts(c: Computation) -> Iterator[int]:
    """Every set of events closed under happened-before (every consistent cut), as bits, each once."""
    predecessors = [0] * c.event_count
    for e, targets in enumerate(c.immediate_successors()):
        for f in targets:
            predecessors[f] |= 1 << e
    seen = {0}
    stack = [0]
    while stack:
        cut = stack.pop()
        yield cut
        for e in range(c.event_count):
            if not cut >> e & 1 and predecessors[e] & ~cut == 0:
                larger = cut | 1 << e
                if larger not in seen:
                    seen.add(larger)
                    stack.append(larger)


def text_of(c: Computation) -> str:
    """The computation as text, with its names unchanged, including names that the notation cannot express."""

    def say(event: Event) -> str:
        if event.message is None:
            return "..."
        message = c.messages[event.message]
        receivers = ", ".join(c.processes[q] for q in message.receivers)
        return f"send {message.name} to {receivers}" if event.kind == "send" else f"receive {message.name}"

    lines = (f"{process}: {'; '.join(map(say, events))}" for process, events in zip(c.processes, c.lines, strict=True))
    return "\n".join(lines).replace("...; ", "... ")
