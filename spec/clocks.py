"""Logical clocks, and what they reveal about causal order ([SES] §4.1).

Every event advances the clock of its process; a message carries the time just after its send event. A message is *late*
if the local time at its arrival is already greater than its own. [SES] Proposition 1: if causal order is violated, some
message is late by Lamport's clocks [Lam78]; the converse fails (Fig. 3). Proposition 2: causal order is violated iff
some message is late by vector clocks.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from crownless.runtime.errors import unknown_name

from .computation import Computation


class Clock:
    """One kind of logical clock. A time is hashable."""

    name: str
    source: str

    def start(self, n: int) -> Any:
        """The time before any event, in a system of n processes."""
        raise NotImplementedError

    def after_event(self, time: Any, p: int) -> Any:
        """The time of process p after one event more."""
        raise NotImplementedError

    def after_receiving(self, time: Any, p: int, stamp: Any) -> Any:
        """The time of process p after it received a message with that stamp, which is an event too."""
        raise NotImplementedError

    def is_stale(self, stamp: Any, time: Any) -> bool:
        """True if the local time is greater than that of the message."""
        raise NotImplementedError


class LamportClock(Clock):
    """A number: increased by one at each event, and greater than any stamp received."""

    name = "lamport-times"
    source = "[SES] Proposition 1, [Lam78]"

    def start(self, n: int) -> int:
        return 0

    def after_event(self, time: int, p: int) -> int:
        return time + 1

    def after_receiving(self, time: int, p: int, stamp: int) -> int:
        return max(time, stamp) + 1

    def is_stale(self, stamp: int, time: int) -> bool:
        """T(M) < T(S)."""
        return stamp < time


class VectorClock(Clock):
    """The number of known events of each process: VT(S_i)[i] + 1 at each event, the maximum of the others."""

    name = "vector-times"
    source = "[SES] Proposition 2"

    def start(self, n: int) -> tuple[int, ...]:
        return (0,) * n

    def after_event(self, time: tuple[int, ...], p: int) -> tuple[int, ...]:
        return (*time[:p], time[p] + 1, *time[p + 1 :])

    def after_receiving(self, time: tuple[int, ...], p: int, stamp: tuple[int, ...]) -> tuple[int, ...]:
        known = [max(own, other) for own, other in zip(time, stamp, strict=True)]
        known[p] = time[p] + 1
        return tuple(known)

    def is_stale(self, stamp: tuple[int, ...], time: tuple[int, ...]) -> bool:
        """VT(M) ≤ VT(S), entry by entry (the text writes <)."""
        return all(own >= other for own, other in zip(time, stamp, strict=True))


CLOCKS: Mapping[str, Clock] = MappingProxyType({clock.name: clock for clock in (LamportClock(), VectorClock())})


def clock_named(name: str) -> Clock:
    """The clock of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in CLOCKS:
        raise unknown_name("clock", name, CLOCKS)
    return CLOCKS[name]


class ClockReading(NamedTuple):
    """The time just after an event; for a receive also the local time just before, and whether the message is late."""

    time: Any
    before: Any
    is_stale: bool


def readings(c: Computation, clock: Clock) -> list[ClockReading]:
    """The clock values at each event, by event number."""
    local = [clock.start(len(c.processes)) for _ in c.processes]
    stamps: dict[int, Any] = {}
    shown: dict[int, ClockReading] = {}
    for e in c.linearization:
        p, event = c.process_of[e], c.events[e]
        before, is_stale = local[p], False
        if event.kind == "receive" and event.message is not None:
            is_stale = clock.is_stale(stamps[event.message], before)
            local[p] = clock.after_receiving(before, p, stamps[event.message])
        else:
            local[p] = clock.after_event(before, p)
        if event.kind == "send" and event.message is not None:
            stamps[event.message] = local[p]
        shown[e] = ClockReading(local[p], before, is_stale)
    return [shown[e] for e in range(c.event_count)]


def stale_messages(c: Computation, clock: Clock) -> list[tuple[int, int]]:
    """Every (message, receiver) such that the message arrives there late, in the order of events."""
    return [
        (event.message, c.process_of[e])
        for e, (event, reading) in enumerate(zip(c.events, readings(c, clock), strict=True))
        if reading.is_stale and event.message is not None
    ]
