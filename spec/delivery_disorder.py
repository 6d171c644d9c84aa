"""Deliveries out of FIFO and out of causal order, per process: how many, and by how far.

A message is *overtaken* at one of its receivers that delivers a later message before it, or without it: later by the
same sender (FIFO order), or after it by happened-before (causal order). A delivery of an overtaken message is out of
order; its distance is the number of the process's deliveries since the first one that overtook it. A computation keeps
FIFO, or causal, order if no message is overtaken in this sense.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .computation import Computation
from .result import Result

#: Larger computations are not compared pair by pair.
PAIRS_UP_TO = 5_000


@dataclass(frozen=True)
class Disorder(Result):
    """For one process and order: the number of deliveries out of order, their greatest distance, the sum of distances,
    and the number of overtaken messages never delivered.
    """

    json_keys = "out_of_order farthest mean=rounded_mean never_delivered"

    out_of_order: int = 0
    farthest: int = 0
    total: int = 0
    never_delivered: int = 0

    @property
    def mean(self) -> float:
        """The mean distance of the deliveries out of order; 0 if there are none."""
        return self.total / self.out_of_order if self.out_of_order else 0.0

    @property
    def rounded_mean(self) -> float:
        """The mean, to two places."""
        return round(self.mean, 2)


@dataclass(frozen=True)
class ProcessSummary(Result):
    """The events of a process (including internal ones), its deliveries, and how far these are out of order."""

    json_keys = "process events deliveries fifo causal"

    process: str
    events: int
    deliveries: int
    fifo: Disorder
    causal: Disorder


def summaries(c: Computation) -> tuple[ProcessSummary, ...] | None:
    """Each process of the computation; None if it is too large."""
    if c.event_count > PAIRS_UP_TO:
        return None

    def is_sent_after(m: int, other: int) -> bool:
        return c.happened_before(c.send_event[m], c.send_event[other])

    def is_sent_after_by_one_sender(m: int, other: int) -> bool:
        return c.messages[m].sender == c.messages[other].sender and c.send_event[m] < c.send_event[other]

    found = []
    for p, line in enumerate(c.lines):
        delivered = [m for kind, m in line if kind == "receive" and m is not None]
        missing = [m for m, receiver in c.unreceived if receiver == p]
        fifo = _disorder(delivered, missing, is_sent_after_by_one_sender)
        causal = _disorder(delivered, missing, is_sent_after)
        found.append(ProcessSummary(c.processes[p], len(line), len(delivered), fifo, causal))
    return tuple(found)


def _disorder(delivered: list[int], missing: list[int], is_sent_after: Callable[[int, int], bool]) -> Disorder:
    distances = []
    for place, m in enumerate(delivered):
        overtaking = (earlier for earlier in range(place) if is_sent_after(m, delivered[earlier]))
        first = next(overtaking, None)
        distances += [] if first is None else [place - first]
    never = sum(any(is_sent_after(m, other) for other in delivered) for m in missing)
    return Disorder(len(distances), max(distances, default=0), sum(distances), never)
