"""Uncertainty of logs of other formats: orders that cannot be reported as kept, and events of unknown order.

Some formats do not show everything. Messages inferred from vector clocks lack late ones; two spans may begin at the
same time. A verdict is then weakened:

- `kept` becomes `unknown` for the orders that unlogged events may violate, and `violated` for those that another
  reading of the log may keep;
- `violated` stands if it follows however the events of unknown order are ordered. It does if no more than one of the
  events of each unordered group takes part in it: an order that some of the messages violate is violated by all of
  them, so copies of messages are left out, one after the other, while the rest still violates the order. If no two of a
  group remain, the rest is the violation to be shown. Otherwise the verdict is `unknown`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide

#: A message and one of its receivers.
Copy = tuple[str, str]
#: Events of one process in unknown order, each given by the copies that it sends or delivers.
Unordered = Sequence[frozenset[Copy]]

#: With more copies in unordered events, a violation without two of a group is searched for in one way only.
SEARCHED_UP_TO = 100
ORDER_NOT_LOGGED = "violated only by an order of events that the log does not show"


@dataclass(frozen=True)
class Uncertain:
    """The unknowns of a run: by order why it cannot be reported as kept, and why not as violated; and the unordered
    events.
    """

    reasons: Mapping[str, str] = field(default_factory=dict)
    unordered: tuple[Unordered, ...] = ()
    perhaps_kept: Mapping[str, str] = field(default_factory=dict)


#: Nothing is unknown.
CERTAIN = Uncertain()


def all_but(known: Collection[str], reason: str) -> dict[str, str]:
    """The reason for each order but the known ones."""
    return {order: reason for order in ORDERS if order not in known}


def copies_left_out(unordered: Sequence[Unordered]) -> frozenset[Copy]:
    """All copies but those of the first event of each group: without them no order is unknown."""
    return frozenset[Copy]().union(*(event for group in unordered for event in group[1:]))


def weakened(verdict: Verdict, uncertain: Uncertain, c: Computation | None, reading: UnreceivedPolicy) -> Verdict:
    """The certain part of the verdict on a computation."""
    if verdict.kept and verdict.order in uncertain.reasons:
        return Verdict(verdict.order, kept=False, unknown=uncertain.reasons[verdict.order])
    if verdict.outcome == "violated" and verdict.order in uncertain.perhaps_kept:
        return Verdict(verdict.order, kept=False, unknown=uncertain.perhaps_kept[verdict.order])
    c = verdict.computation if verdict.computation is not None else c
    if verdict.outcome != "violated" or not uncertain.unordered or c is None:
        return verdict
    shown = _without_unordered(c, verdict.order, uncertain.unordered, reading)
    return Verdict(verdict.order, kept=False, unknown=ORDER_NOT_LOGGED) if shown is None else shown


def _without_unordered(
    c: Computation, order: str, unordered: Sequence[Unordered], reading: UnreceivedPolicy
) -> Verdict | None:
    """A violation by messages, no two from one unordered group; None if none is found."""
    present = {(m.name, c.processes[q]) for m in c.messages for q in m.receivers}
    groups = [[event & present for event in group] for group in unordered]
    groups = [group for group in groups if sum(map(bool, group)) > 1]
    events = list(dict.fromkeys(event for group in groups for event in group if event))
    if not events:
        return decide(c, order, reading)
    if sum(map(len, events)) > SEARCHED_UP_TO:
        found = decide(_without(c, copies_left_out(groups)), order, reading)
        return None if found.kept else found
    for turns in (events, events[::-1]):
        left_out = frozenset[Copy]()
        for event in turns:
            if not decide(_without(c, left_out | event), order, reading).kept:
                left_out |= event
        clash = any(a - left_out and b - left_out for group in groups for a, b in combinations(group, 2))
        if not clash:
            return decide(_without(c, left_out), order, reading)
    return None


def _without(c: Computation, left_out: Collection[Copy]) -> Computation:
    """The computation without some copies of messages; their events are internal."""
    receivers = [
        tuple(q for q in message.receivers if (message.name, c.processes[q]) not in left_out) for message in c.messages
    ]
    number = {old: new for new, old in enumerate(m for m, stay in enumerate(receivers) if stay)}

    def event(p: int, e: Event) -> Event:
        m = e.message
        if m is None or not receivers[m] or (e.kind == "receive" and p not in receivers[m]):
            return Event("internal", None)
        return Event(e.kind, number[m])

    messages = tuple(Message(c.messages[m].name, c.messages[m].sender, receivers[m]) for m in number)
    return Computation(c.processes, messages, tuple(tuple(event(p, e) for e in line) for p, line in enumerate(c.lines)))
