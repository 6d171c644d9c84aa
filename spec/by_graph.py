"""The graph procedures: one function per order, returning the smallest witness found, or None if the order is kept.

They work on the graph of immediate steps (next event on the line; send to receives), with the constraints that an
order adds. On unicasts all but n-n take time linear in events times processes, so they also suit logs; a smallest
witness is searched for only if an order is violated, and only up to `constraints.SMALLEST_UP_TO` events.

With `pending` (see `orders`) each unreceived copy gets a node for its future receive, after its receiver's whole line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise, permutations, product
from typing import Protocol

from .computation import Computation, topological_order
from .constraints import SMALLEST_UP_TO, Constraints
from .crowns import crown_of, smallest_crown
from .graphs import shortest_path, strong_components
from .witnesses import Crown, Cycle, Link, Overtaking, Unreceived, Witness


class Procedure(Protocol):
    """Decides one order: None if the computation keeps it."""

    def __call__(self, c: Computation, *, pending: bool) -> Witness | None: ...


def asynchronous(c: Computation, *, pending: bool) -> Witness | None:
    """Every computation is asynchronous."""
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

    The causal past of an event is determined by how far into each process's line it reaches (a vector time). It
    contains an initial run of the sends from k to q, so it suffices to know how many of the channel's first sends q has
    received.
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
                    if c.event_count <= SMALLEST_UP_TO:
                        return _overtaking_of_shortest_chain(c)
                    return _overtaking(c, messages[run_of_first[k]], m, q)
            received.add(m)
    return None


def _vector_times(c: Computation) -> list[list[int]]:
    """For each event and process k: the number of events of k's line that happened before it."""
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


def _overtaking_of_shortest_chain(c: Computation) -> Overtaking:
    """A pair that violates causal order with the shortest chain of events; there must be one."""
    pairs = (
        _overtaking(c, first, second, q)
        for first, second in permutations(range(len(c.messages)), 2)
        if c.happened_before(c.send_event[first], c.send_event[second])
        for q in c.receive_events[second]
        if q in c.messages[first].receivers and c.overtakes(second, first, q)
    )
    return min(pairs, key=lambda overtaking: len(overtaking.chain))


def _overtaking(c: Computation, first: int, second: int, receiver: int) -> Overtaking:
    return Overtaking(first, second, receiver, shortest_chain(c, c.send_event[first], c.send_event[second]))


def shortest_chain(c: Computation, start: int, end: int) -> tuple[int, ...]:
    """A chain of fewest events from `start` to the later `end`; any distance along a line is one step."""
    came_from: dict[int, int] = {start: -1}
    reached = list(c.first_event[1:])  # by line, from where on its events are known to be reached
    queue = deque([start])
    while queue and end not in came_from:
        e = queue.popleft()
        p = c.process_of[e]
        message = c.events[e].message
        receives = c.receive_events[message].values() if message is not None and c.events[e].kind == "send" else ()
        for f in (*receives, *range(e + 1, reached[p])):
            if f not in came_from:
                came_from[f] = e
                queue.append(f)
        reached[p] = min(reached[p], e + 1)
    chain = [end]
    while came_from[chain[-1]] >= 0:
        chain.append(came_from[chain[-1]])
    return tuple(reversed(chain))


# -- mailbox, one-n, n-n: is there a linearization?
# --------------------------------------------------------------------------


#: The constrained pairs of a sequence of messages: neighbours, which suffice, or all, for a smallest witness.
Pairs = Callable[[list[int]], Iterable[tuple[int, int]]]


def all_pairs(messages: list[int]) -> Iterable[tuple[int, int]]:
    return combinations(messages, 2)


def _circle(c: Computation, constrain: Callable[[Pairs], Constraints]) -> Cycle | None:
    """A cycle of constraints, a smallest one unless the computation is large; None if there is none."""
    constraints = constrain(pairwise)
    if c.event_count <= SMALLEST_UP_TO and not constraints.satisfiable():
        constraints = constrain(all_pairs)
    return constraints.cycle()


def mailbox(c: Computation, *, pending: bool) -> Witness | None:
    """One queue per receiver: sends to q come in the order in which q receives, unreceived ones last.

    The two readings of unreceived messages agree: a future receive is after all others at q.
    """
    name = [message.name for message in c.messages]
    unreceived: dict[int, list[int]] = {}
    for m, q in c.unreceived:
        unreceived.setdefault(q, []).append(m)

    def constrain(pairs: Pairs) -> Constraints:
        constraints = Constraints(c, pending=False)
        for q, line in enumerate(c.lines):
            at = c.processes[q]
            received = [event.message for event in line if event.kind == "receive" and event.message is not None]
            for m, later in pairs(received):
                constraints.force(c.send_event[m], c.send_event[later], f"{at} receives {name[m]} before {name[later]}")
            for m in received if pairs is all_pairs else received[-1:]:
                for never in unreceived.get(q, ()):
                    because = f"{at} receives {name[m]} and not {name[never]}"
                    constraints.force(c.send_event[m], c.send_event[never], because)
        return constraints

    return causal(c, pending=pending) or _circle(c, constrain)


def one_n(c: Computation, *, pending: bool) -> Witness | None:
    """One queue per sender: receives of p's messages, at whatever process, come in the order in which p sends.

    Among unicasts a causal overtaking violates it and is reported first; multicasts may overtake each other and keep
    it.
    """
    if c.unicasts:
        broken = causal(c, pending=pending)
        if broken is not None:
            return broken
    name = [message.name for message in c.messages]
    sent_by = [
        [event.message for event in line if event.kind == "send" and event.message is not None] for line in c.lines
    ]
    if not pending:
        for sent in sent_by:
            stuck = _received_behind_an_unreceived_one(c, sent)
            if stuck is not None:
                return stuck

    def constrain(pairs: Pairs) -> Constraints:
        constraints = Constraints(c, pending=pending)
        for p, sent in enumerate(sent_by):
            for m, later in pairs(sent):
                because = f"{c.processes[p]} sends {name[m]} before {name[later]}"
                for first, second in product(constraints.receives[m].values(), constraints.receives[later].values()):
                    constraints.force(first, second, because)
        return constraints

    return _circle(c, constrain)


def _received_behind_an_unreceived_one(c: Computation, sent: list[int]) -> Witness | None:
    """In one queue per sender, a copy that is never received blocks all later messages."""
    unreceived: tuple[int, int] | None = None
    for m in sent:
        receives = c.receive_events[m]
        if unreceived is not None and receives:
            never, lacking = unreceived
            elsewhere = next((q for q in receives if q not in c.receive_events[never]), None)
            if elsewhere is not None:
                return _overtaking(c, never, m, elsewhere)
            constraints = Constraints(c, pending=False)
            because = f"{c.messages[m].name} is received, {c.messages[never].name} is not by {c.processes[lacking]}"
            constraints.force(c.send_event[m], c.send_event[never], because)
            return constraints.cycle()
        lacks = [q for q in c.messages[m].receivers if q not in receives]
        if lacks and unreceived is None:
            unreceived = (m, lacks[0])
    return None


def n_n(c: Computation, *, pending: bool) -> Witness | None:
    """One queue for all: sends and receives come in the same order.

    Searching one round of constraints for a cycle is not enough ([DFLL23]): if a send must come before another, so must
    the receives, and vice versa; such constraints are added until nothing new follows.
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
    """The constraints on receives that follow from those on sends, and vice versa."""
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
    """For each node of an acyclic graph, the set of nodes it leads to, as bits."""
    after = [0] * len(successors)
    for e in reversed(topological_order(successors) or ()):
        for f in successors[e]:
            after[e] |= after[f] | 1 << f
    return after


# -- total order of broadcasts: do all receivers agree?
# --------------------------------------------------------------------------------------------


def total(c: Computation, *, pending: bool) -> Witness | None:
    """One sequence of messages from which no process deviates in what it delivers; unreceived ones come last.

    The two readings of unreceived messages agree, as for mailbox: a future receive is after all others at q.
    """
    before = _received_before(c, pairwise)
    if topological_order([list(targets) for targets in before]) is not None:
        return None
    exhaustive = c.event_count <= SMALLEST_UP_TO
    before = _received_before(c, all_pairs) if exhaustive else before
    cycle = _short_cycle(before, exhaustive=exhaustive)
    links, events = [], set()
    for m, later in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        q = next(p for p, receive in c.receive_events[m].items() if receive == before[m][later][0])
        received = q in c.receive_events[later]
        first, second = c.messages[m].name, c.messages[later].name
        because = f"{c.processes[q]} delivers {first} {'before' if received else 'and not'} {second}"
        links.append(Link(first, second, because))
        events |= {c.receive_events[each].get(q, c.send_event[each]) for each in (m, later)}
    return Cycle(tuple(links), events=frozenset(events), lacks="common order of the messages")


def _received_before(c: Computation, pairs: Pairs) -> Points:
    """For each message, those that some process receives later, or has yet to receive, with its two events there."""
    before: Points = [{} for _ in c.messages]
    for q, line in enumerate(c.lines):
        received = [event.message for event in line if event.kind == "receive" and event.message is not None]
        for m, later in pairs(received):
            before[m].setdefault(later, (c.receive_events[m][q], c.receive_events[later][q]))
        latest = received if pairs is all_pairs else received[-1:]
        for m in latest:
            for number, (never, at) in enumerate(c.unreceived):
                if at == q:
                    before[m].setdefault(never, (c.receive_events[m][q], c.event_count + number))
    return before


# -- synchronous: are there crowns?
# --------------------------------------------------------------------------------------------


def synchronous(c: Computation, *, pending: bool) -> Witness | None:
    """Each message is one point: the lines then order points, and the order is kept iff there is no cycle.

    This is [MG]'s proof of Theorem 2: a cycle of points is a crown.
    """
    points = _points(c, pending=pending)
    if topological_order([list(targets) for targets in points]) is None:
        crown = smallest_crown(c) if c.event_count <= SMALLEST_UP_TO else _some_crown(c, points)
        if crown is not None:
            return crown
        if pending:
            return _crown_to_come(c, points)
    if c.unreceived and not pending:
        return Unreceived(*c.unreceived[0])
    return None


#: For each message, the next messages on some line, with the two events there (see `Constraints` on numbers).
Points = list[dict[int, tuple[int, int]]]


def _points(c: Computation, *, pending: bool) -> Points:
    points: Points = [{} for _ in c.messages]
    for p, line in enumerate(c.lines):
        on_line = [(event.message, c.first_event[p] + k) for k, event in enumerate(line) if event.message is not None]
        for (m, e), (following, f) in pairwise(on_line):
            if m != following:
                points[m].setdefault(following, (e, f))
        if pending and on_line:
            m, e = on_line[-1]
            for number, (following, q) in enumerate(c.unreceived):
                if q == p and following != m:
                    points[m].setdefault(following, (e, c.event_count + number))
    return points


def _some_crown(c: Computation, points: Points) -> Crown | None:
    """A crown of a large computation, short but not necessarily the smallest.

    A message that overtakes another forms a crown with it. Otherwise it is a cycle of points: each leads to the next by
    events on one line, so that its send happened before a receive of the next. A message never received is one event;
    the points before and after it are related directly, so it is left out.
    """
    overtaking = causal(c, pending=False)
    if isinstance(overtaking, Overtaking):
        crown = crown_of(c, [overtaking.first, overtaking.second])
        if crown is not None:
            return crown
    return crown_of(c, [m for m in _short_cycle(points, exhaustive=False) if c.receive_events[m]])


def _crown_to_come(c: Computation, points: Points) -> Cycle:
    """A cycle of points closed only by future receives, rendered as events that cannot all be at one instant."""
    say = Constraints(c, pending=True).say
    cycle = _short_cycle(points, exhaustive=c.event_count <= SMALLEST_UP_TO)
    steps = [points[m][following] for m, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
    links = []
    for m, (_, arrives), (e, f) in zip(cycle, [steps[-1], *steps[:-1]], steps, strict=True):
        send = c.send_event[m]
        if arrives not in (e, send):
            links.append(Link(say(arrives), say(send), f"{c.messages[m].name} is to take one instant"))
        if e not in (arrives, send):
            links.append(Link(say(send), say(e), "happened before"))
        links.append(Link(say(e), say(f), "happened before"))
    return Cycle(tuple(links), events=frozenset(c.send_event[m] for m in cycle))


def _short_cycle(points: Points, *, exhaustive: bool) -> list[int]:
    """A cycle of points, a shortest one if searched exhaustively."""
    component = strong_components(points)
    within = [[n for n in targets if component[n] == component[m]] for m, targets in enumerate(points)]
    paths = (shortest_path(within, n, m) for m, targets in enumerate(within) for n in targets)
    return min(paths, key=len) if exhaustive else next(paths)
