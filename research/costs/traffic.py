"""Timed workloads for simulations: senders, receivers and times; `impl.workloads` has those without times.

The *load* is the average number of messages that a sending process submits in one mean latency. Most kinds of traffic
are *open*: the protocol does not influence when the next message comes (Poisson, independently at each process). In
`client-server` a client waits for the answer before it thinks about its next request, and the load is the inverse of
the mean thinking time: the number of messages depends on the protocol (the figure `throughput`).
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from crownless.runtime.errors import unknown_name
from crownless.spec.computation import Message

#: Messages of one burst.
BURST = 5
#: The share of messages in `pairs` that go to the partner.
TO_PARTNER = 0.9
#: The process that serves.
SERVER = 0


class Traffic(NamedTuple):
    """One kind of traffic, for any number of processes."""

    meaning: str
    #: (randomness of a process, process, n) → the receivers at one moment; several are separate messages.
    choose: Callable[[random.Random, int, int], Sequence[int]]
    #: The number of messages, each to one receiver, handed over at one moment, in a system of n.
    together: Callable[[int], int] = lambda n: 1
    #: The processes that send of their own accord.
    senders: Callable[[int], Iterable[int]] = range
    #: True if the same is sent to all others. A protocol for broadcasts does that in one message.
    broadcasts: bool = False
    #: True if each message to the server waits for an answer, and the next one for that.
    answered: bool = False


class Intent(NamedTuple):
    """An application will hand over a message: after this delay, at a process, for these receivers."""

    after: float
    sender: int
    receivers: tuple[int, ...]
    #: True if the process goes on to its next moment once it has handed this over.
    goes_on: bool


class Applications:
    """The applications of n processes: the sends that they intend, over time.

    Each has its own random numbers, so that the protocol does not influence the draws.
    """

    def __init__(self, traffic: Traffic, n: int, load: float, seed: int, *, as_one: bool = False) -> None:
        """`as_one`: the sends at one moment are one message to all."""
        self.traffic = traffic
        self.n = n
        self.load = load
        self.as_one = as_one
        self._own = [random.Random(f"{seed} application {p}") for p in range(n)]

    def start(self) -> list[Intent]:
        """The sends that they intend at the beginning."""
        return [intent for p in self.traffic.senders(self.n) for intent in self._next(p)]

    def handed_over(self, intent: Intent) -> list[Intent]:
        """The sends that a process intends once it has submitted those before."""
        return self._next(intent.sender) if intent.goes_on else []

    def delivered(self, message: Message, at: int) -> list[Intent]:
        """The sends that a process intends when a message is delivered there."""
        if not self.traffic.answered:
            return []
        return [Intent(0.0, SERVER, (message.sender,), False)] if at == SERVER else self._next(at)

    def _next(self, p: int) -> list[Intent]:
        """The next moment at which a process sends of its own accord, and what."""
        own, n = self._own[p], self.n
        chosen = self.traffic.choose(own, p, n)
        copies = [tuple(chosen)] if self.as_one else [(q,) for q in chosen]
        wait = own.expovariate(self.load / self.traffic.together(n))
        last = len(copies) - 1
        return [Intent(wait, p, some, k == last and not self.traffic.answered) for k, some in enumerate(copies)]


def _other(own: random.Random, p: int, n: int) -> int:
    q = own.randrange(n - 1)
    return q + (q >= p)


def _partner(p: int, n: int) -> int:
    return p ^ 1 if p ^ 1 < n else p - 1


def _mostly_partner(own: random.Random, p: int, n: int) -> list[int]:
    return [_partner(p, n) if own.random() < TO_PARTNER else _other(own, p, n)]


TRAFFIC: Mapping[str, Traffic] = MappingProxyType(
    {
        "uniform": Traffic("each process sends to any other, all as likely", lambda own, p, n: [_other(own, p, n)]),
        "client-server": Traffic(
            "each client sends a request to P1, waits for the answer, and thinks for 1/load on the average",
            lambda own, p, n: [SERVER],
            senders=lambda n: range(1, n),
            answered=True,
        ),
        "bursts": Traffic(
            f"each process submits {BURST} messages at once, each to any other",
            lambda own, p, n: [_other(own, p, n) for _ in range(BURST)],
            together=lambda n: BURST,
        ),
        "pairs": Traffic(
            f"{TO_PARTNER:.0%} of the messages go to the process's partner, the rest to any other", _mostly_partner
        ),
        "broadcast": Traffic(
            "each message goes to all others at once: as one broadcast where the protocol has them, else one by one",
            lambda own, p, n: [q for q in range(n) if q != p],
            together=lambda n: n - 1,
            broadcasts=True,
        ),
        "downward": Traffic(
            "each process but P1 sends to any smaller one",
            lambda own, p, n: [own.randrange(p)],
            senders=lambda n: range(1, n),
        ),
        "upward": Traffic(
            "each process but the last sends to any bigger one",
            lambda own, p, n: [own.randrange(p + 1, n)],
            senders=lambda n: range(n - 1),
        ),
    }
)


def traffic_named(name: str) -> Traffic:
    """The traffic of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in TRAFFIC:
        raise unknown_name("workload", name, TRAFFIC)
    return TRAFFIC[name]
