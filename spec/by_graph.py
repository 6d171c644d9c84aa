"""The graph procedures: one function an order, each returning the smallest witness found, or None if the order is kept.

They work on the graph of immediate steps (next event on the line; send to receives), with the constraints that an
order adds. All but n-n take time linear in events (times processes for causal order), so that they serve logs too.
Smallest witnesses are searched for only where an order is broken.

`pending` is the reading of messages not received (see `orders`): each such copy then gets a node for the receive to
come, after the whole line of its receiver.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import networkx as nx

from .computation import Computation, topological_order
from .crowns import crown_of, smallest_crown
from .witnesses import Crown, Cycle, Link, Overtaking, Unreceived, Witness

#: Up to this many events the crown or cycle of a witness is a smallest one; in larger computations one found quickly.
SMALLEST_CYCLE_UP_TO = 1000


class Procedure(Protocol):
    """Decides one order: None if the computation keeps it."""

    def __call__(self, c: Computation, *, pending: bool) -> Witness | None: ...


def asynchronous(c: Computation, *, pending: bool) -> Witness | None:
    """Every computation is."""
    return None


# -- FIFO and causal order: about pairs of messages
# -----------------------------------------------------------------------


def fifo(c: Computation, *, pending: bool) -> Witness | None:
    """On each channel: the receives are those of the first sends, in order."""
    for sends in _sends_by_channel(c).values():
        for receiver, messages in sends.items():
            received = -1
            overtaken: int | None = None
            for m in messages:
                receive = c.receive_events[m].get(receiver)
                if receive is None:
                    overtaken = m if overtaken is None else overtaken
                elif overtaken is not None:
                    return _overtaking(c, overtaken, m, receiver)
                elif receive < received:
                    late = next(x for x in messages if c.receive_events[x].get(receiver, -1) > receive)
                    return _overtaking(c, late, m, receiver)
                else:
                    received = receive
    return None


def causal(c: Computation, *, pending: bool) -> Witness | None:
    """Whenever a message is received, all sent to that process in the causal past of its send have been.

    The causal past of an event is told by how far into each process's line it reaches (a vector time); the sends from
    k to q that it holds are then the first few of that channel, and it is enough to know how long a run of first
    sends q has received.
    """
    n = len(c.processes)
    reach = _vector_times(c)
    channels = _sends_by_channel(c)
    places = {
        (k, q): [c.send_event[m] - c.first_event[k] for m in ms] for k in channels for q, ms in channels[k].items()
    }
    for q in range(n):
        senders = [k for k in range(n) if (k, q) in places]
        received: set[int] = set()
        run_of_first = dict.fromkeys(senders, 0)
        for event in c.lines[q]:
            if event.kind != "receive":
                continue
            m = event.message
            assert m is not None
            time = reach[c.send_event[m]]
            for k in senders:
                messages = channels[k][q]
                while run_of_first[k] < len(messages) and messages[run_of_first[k]] in received:
                    run_of_first[k] += 1
                needed = bisect_left(places[k, q], time[k])
                if run_of_first[k] < needed:
                    return _overtaking(c, messages[run_of_first[k]], m, q)
            received.add(m)
    return None


def _vector_times(c: Computation) -> list[list[int]]:
    """For each event and process k: how many events of k's line happened before it."""
    n = len(c.processes)
    successors = c.immediate_successors()
    times = [[0] * n for _ in range(c.event_count)]
    for e in c.linearization:
        p = c.process_of[e]
        own = list(times[e])
        own[p] = e - c.first_event[p] + 1
        for f in successors[e]:
            times[f] = [max(a, b) for a, b in zip(times[f], own, strict=True)]
    return times


def _sends_by_channel(c: Computation) -> dict[int, dict[int, list[int]]]:
    """sender → receiver → the messages of that channel in the order sent."""
    channels: dict[int, dict[int, list[int]]] = {}
    for p, line in enumerate(c.lines):
        for event in line:
            if event.kind == "send" and event.message is not None:
                for q in c.messages[event.message].receivers:
                    channels.setdefault(p, {}).setdefault(q, []).append(event.message)
    return channels


def _overtaking(c: Computation, first: int, second: int, receiver: int) -> Overtaking:
    return Overtaking(first, second, receiver, shortest_chain(c, c.send_event[first], c.send_event[second]))


def shortest_chain(c: Computation, start: int, end: int) -> tuple[int, ...]:
    """A chain of fewest events from `start` to `end`, which it happened before; stays on one line cost one step."""
    came_from: dict[int, int] = {start: -1}
    queue = deque([start])
    while queue and end not in came_from:
        e = queue.popleft()
        p = c.process_of[e]
        later = range(e + 1, c.first_event[p + 1])
        message = c.events[e].message
        receives = c.receive_events[message].values() if message is not None and c.events[e].kind == "send" else ()
        for f in (*receives, *later):
            if f not in came_from:
                came_from[f] = e
                queue.append(f)
    chain = [end]
    while came_from[chain[-1]] >= 0:
        chain.append(came_from[chain[-1]])
    return tuple(reversed(chain))


# -- mailbox, one-n, n-n: is there a linearization?
# --------------------------------------------------------------------------


@dataclass(frozen=True)
class Forced:
    """A constraint that an order adds: the edge's head comes after its tail in every linearization that would do."""

    because: str
    #: For a constraint derived from another one (n-n): the two events whose order it mirrors.
    mirrors: tuple[int, int] | None = None


class Constraints:
    """The events of a computation (and, if pending, the receives to come) with what must come before what."""

    def __init__(self, c: Computation, *, pending: bool) -> None:
        self.c = c
        self.successors = c.immediate_successors()
        self.forced: dict[tuple[int, int], Forced] = {}
        self.expected: dict[int, tuple[int, int]] = {}
        self.receives: list[dict[int, int]] = [dict(receives) for receives in c.receive_events]
        if pending:
            for m, q in c.unreceived:
                self._expect(m, q)

    def _expect(self, m: int, q: int) -> None:
        node = len(self.successors)
        self.successors.append([])
        self.expected[node] = (m, q)
        self.receives[m][q] = node
        self.successors[self.c.send_event[m]].append(node)
        if self.c.lines[q]:
            self.successors[self.c.first_event[q + 1] - 1].append(node)

    def force(self, before: int, after: int, because: str, mirrors: tuple[int, int] | None = None) -> None:
        if before != after and (before, after) not in self.forced:
            self.forced[before, after] = Forced(because, mirrors)
            self.successors[before].append(after)

    def cycle(self) -> Cycle | None:
        """The smallest cycle among the constraints, or None if some linearization satisfies them."""
        if topological_order(self.successors) is not None:
            return None
        return self._witness(self._smallest_cycle())

    def _smallest_cycle(self) -> list[int]:
        """Fewest forced edges and messages; steps along a line are free."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        for e, targets in enumerate(self.successors):
            graph.add_weighted_edges_from((e, f, self._weight(e, f)) for f in targets)
        best: tuple[float, list[int]] | None = None
        for e, f in self.forced:
            if not nx.has_path(graph, f, e):
                continue
            path = nx.dijkstra_path(graph, f, e)
            length = nx.path_weight(graph, path, "weight") + 1
            if best is None or length < best[0]:
                best = (length, path)
            if best is not None and len(self.successors) > SMALLEST_CYCLE_UP_TO:
                break
        assert best is not None, "the computation itself is acyclic, so a forced edge is on every cycle"
        return best[1]

    def _weight(self, e: int, f: int) -> int:
        if (e, f) in self.forced:
            return 1
        on_one_line = e < self.c.event_count and f < self.c.event_count and self.c.process_of[e] == self.c.process_of[f]
        return 0 if on_one_line else 1

    def _witness(self, cycle: list[int]) -> Cycle:
        """Runs of happened-before along the cycle are told as one link."""
        turns = [*cycle, cycle[0]]
        derived: list[Link] = []
        links: list[Link] = []
        start = cycle[0]
        for e, f in zip(turns, turns[1:], strict=False):
            if (e, f) in self.forced:
                if start != e:
                    links.append(Link(self.say(start), self.say(e), "happened before"))
                self._explain(e, f, derived)
                links.append(Link(self.say(e), self.say(f), self.forced[e, f].because))
                start = f
        return Cycle(tuple(links), tuple(derived))

    def _explain(self, e: int, f: int, derived: list[Link]) -> None:
        """Lists the constraints that this forced one rests on, the deepest first."""
        mirrors = self.forced[e, f].mirrors
        if mirrors is None or self._happened_before(*mirrors):
            return
        path = nx.shortest_path(self._earlier_than((e, f)), *mirrors)
        for a, b in zip(path, path[1:], strict=False):
            if (a, b) in self.forced:
                self._explain(a, b, derived)
                link = Link(self.say(a), self.say(b), self.forced[a, b].because)
                if link not in derived:
                    derived.append(link)

    def _happened_before(self, e: int, f: int) -> bool:
        return max(e, f) < self.c.event_count and self.c.happened_before(e, f)

    def _earlier_than(self, edge: tuple[int, int]) -> nx.DiGraph[int]:
        """The graph before this constraint and those derived after it were added (dictionaries keep their order)."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_edges_from((e, f) for e, fs in enumerate(self.successors) for f in fs if (e, f) not in self.forced)
        for known in self.forced:
            if known == edge:
                break
            graph.add_edge(*known)
        return graph

    def say(self, node: int) -> str:
        if node in self.expected:
            m, q = self.expected[node]
            return f"{self.c.processes[q]} receives {self.c.messages[m].name} (still to come)"
        return self.c.say(node)


def mailbox(c: Computation, *, pending: bool) -> Witness | None:
    """One queue a receiver: sends to q come in the order in which q receives, and those it does not receive come last.

    The two readings of unreceived messages agree: a receive to come is after all others at q.
    """
    broken = causal(c, pending=pending)
    if broken is not None:
        return broken
    constraints = Constraints(c, pending=False)
    unreceived: dict[int, list[int]] = {}
    for m, q in c.unreceived:
        unreceived.setdefault(q, []).append(m)
    for q, line in enumerate(c.lines):
        at = c.processes[q]
        received = [event.message for event in line if event.kind == "receive" and event.message is not None]
        for m, following in zip(received, received[1:], strict=False):
            because = f"{at} receives {c.messages[m].name} before {c.messages[following].name}"
            constraints.force(c.send_event[m], c.send_event[following], because)
        if received:
            for m in unreceived.get(q, ()):
                because = f"{at} receives {c.messages[received[-1]].name} and not {c.messages[m].name}"
                constraints.force(c.send_event[received[-1]], c.send_event[m], because)
    return constraints.cycle()


def one_n(c: Computation, *, pending: bool) -> Witness | None:
    """One queue a sender: receives of p's messages, at whatever process, come in the order in which p sends.

    Among unicasts a causal overtaking breaks it and is told first; multicasts may overtake each other and keep it.
    """
    if all(len(message.receivers) == 1 for message in c.messages):
        broken = causal(c, pending=pending)
        if broken is not None:
            return broken
    constraints = Constraints(c, pending=pending)
    for p, line in enumerate(c.lines):
        sent = [event.message for event in line if event.kind == "send" and event.message is not None]
        unreceived: int | None = None
        for m in sent:
            if unreceived is not None and constraints.receives[m]:
                return _overtaking(c, unreceived, m, next(iter(constraints.receives[m])))
            if len(constraints.receives[m]) < len(c.messages[m].receivers):
                unreceived = m
        for m, following in zip(sent, sent[1:], strict=False):
            because = f"{c.processes[p]} sends {c.messages[m].name} before {c.messages[following].name}"
            for receive in constraints.receives[m].values():
                for later in constraints.receives[following].values():
                    constraints.force(receive, later, because)
    return constraints.cycle()


def n_n(c: Computation, *, pending: bool) -> Witness | None:
    """One queue for all: sends and receives come in the same order.

    Whether there is a cycle among one round of constraints is not enough ([DFLL23]): where a send must come before
    another, so must the receives, and the other way round; these are added until nothing new follows.
    """
    broken = causal(c, pending=pending)
    if broken is not None:
        return broken
    constraints = Constraints(c, pending=pending)
    for m, q in c.unreceived if not pending else ():
        for other, receives in enumerate(constraints.receives):
            if other != m and receives:
                because = f"{c.messages[other].name} is received, {c.messages[m].name} is not by {c.processes[q]}"
                constraints.force(c.send_event[other], c.send_event[m], because)
    while True:
        cycle = constraints.cycle()
        if cycle is not None:
            return cycle
        known = len(constraints.forced)
        for before, after, because, mirrors in list(_mirrored(c, constraints)):
            constraints.force(before, after, because, mirrors)
        if len(constraints.forced) == known:
            return None


def _mirrored(c: Computation, constraints: Constraints) -> Iterator[tuple[int, int, str, tuple[int, int]]]:
    """The constraints on receives that follow from those on sends, and the other way round."""
    after = _closure(constraints.successors)
    name = [message.name for message in c.messages]
    for m, send in enumerate(c.send_event):
        for other, later in enumerate(c.send_event):
            if m == other:
                continue
            pairs = [(r, s) for r in constraints.receives[m].values() for s in constraints.receives[other].values()]
            if after[send] >> later & 1:
                for r, s in pairs:
                    if not after[r] >> s & 1:
                        yield r, s, f"{name[m]} must be sent before {name[other]}", (send, later)
            else:
                for r, s in pairs:
                    if after[r] >> s & 1:
                        yield send, later, f"{name[m]} must be received before {name[other]}", (r, s)
                        break


def _closure(successors: list[list[int]]) -> list[int]:
    """For each node of an acyclic graph the set of nodes it leads to, as bits."""
    after = [0] * len(successors)
    for e in reversed(topological_order(successors) or ()):
        for f in successors[e]:
            after[e] |= after[f] | 1 << f
    return after


# -- synchronous: are there crowns?
# --------------------------------------------------------------------------------------------


def synchronous(c: Computation, *, pending: bool) -> Witness | None:
    """Draw each message as one point: the lines then order points, and the order is kept iff there is no cycle.

    That is [MG]'s proof of Theorem 2: a cycle of points is a crown.
    """
    points: list[list[int]] = [[] for _ in c.messages]
    for line in c.lines:
        on_line = [event.message for event in line if event.message is not None]
        for m, following in zip(on_line, on_line[1:], strict=False):
            if m != following:
                points[m].append(following)
    if pending:
        for m, q in c.unreceived:
            on_line = [event.message for event in c.lines[q] if event.message is not None]
            if on_line and on_line[-1] != m:
                points[on_line[-1]].append(m)
    if topological_order(points) is None:
        small = c.event_count <= SMALLEST_CYCLE_UP_TO
        return (smallest_crown(c) if small else _some_crown(c, points)) or _crown_to_come(c)
    if c.unreceived and not pending:
        return Unreceived(*c.unreceived[0])
    return None


def _some_crown(c: Computation, points: list[list[int]]) -> Crown | None:
    """A crown of a large computation, short but not surely the smallest: a shortest cycle through some point.

    Each point leads to the next by events on one line, so that its send happened before a receive of the next. A
    message never received is one event, and the points before and after it are so related too: it is left out.
    """
    graph = nx.DiGraph((m, following) for m, targets in enumerate(points) for following in targets)
    through, following = nx.find_cycle(graph)[0][:2]
    cycle = nx.shortest_path(graph, following, through)
    return crown_of(c, [m for m in cycle if c.receive_events[m]])


def _crown_to_come(c: Computation) -> Witness:
    """The messages form a cycle of points, one of them by a receive still to come: tell it as constraints."""
    constraints = Constraints(c, pending=True)
    for m, receives in enumerate(constraints.receives):
        for receive in receives.values():
            constraints.force(receive, c.send_event[m], f"{c.messages[m].name} is to take one instant")
    cycle = constraints.cycle()
    assert cycle is not None
    return cycle
