"""The price of a combination for each message, in numbers: in its stamp, in the sender's state, and computed.

Measured in one simulation of the same messages with the same latencies for every combination. Only numbers other than
zero count as sent or kept: what is always zero need not travel, and may be left out of an encoding.
"""

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, NamedTuple

from crownless.impl.ops import Integers
from crownless.research.costs.encoding import numbers_in
from crownless.research.costs.experiment import Experiment
from crownless.research.costs.simulation import simulate_machine
from crownless.runtime.errors import BadInput

from .combinations import Combination

#: The simulation: processes, and messages in all.
PROCESSES, MESSAGES = 4, 200


class Price(NamedTuple):
    """Averages per message, over one simulation; None where it cannot be simulated, as with timers."""

    stamp: float | None = None  #: numbers other than zero that its packets carry, in all
    state: float | None = None  #: numbers other than zero that its sender keeps
    work: float | None = None  #: entries of vectors and matrices that are computed, if the protocol uses `ops`
    control: float | None = None  #: packets beside the one that each receiver needs


class Counting(Integers):
    """The operations on numbers, counting the entries that they compute."""

    computed = 0

    def vector(self, entry: Any) -> Any:
        self.count(self.n)
        return super().vector(entry)

    def matrix(self, entry: Any) -> Any:
        self.count(self.n**2)
        return super().matrix(entry)

    def every(self, holds: Any) -> bool:
        self.count(self.n)
        return super().every(holds)

    def maximum(self, a: Any, b: Any) -> Any:
        self.count(1 if isinstance(a, int) else sum(1 for _ in numbers_in(a, self.n)))
        return super().maximum(a, b)

    def count(self, entries: int) -> None:
        type(self).computed += entries


def price_of(of: Combination, channel: str) -> Price:
    """The cost of a combination over this channel."""
    stamps: list[int] = []
    states: list[int] = []

    class Measured(of.protocol):  # type: ignore[misc, name-defined]
        """The combination, with the numbers in its packets and states counted."""

        is_known_to_be_pure = True  # so that no call is made twice, and counted twice

        def send(self, i: int, state: Any, message: Any) -> Any:
            steps = super().send(i, state, message)
            for step in steps:
                states.append(_other_than_zero(step.state, self.n))
                stamps.extend(_other_than_zero(packet.stamp, self.n) for packet in step.packets)
            return steps

    class Ops(Counting):
        computed = 0

    if of.of.timers:
        return Price()
    workload = "uniform" if of.of.sends == "unicast" else "broadcast"
    experiment = Experiment("unordered", PROCESSES, workload, messages=MESSAGES, channel=channel)
    try:
        measured = simulate_machine(Measured(PROCESSES, Ops(PROCESSES)), experiment)
    except BadInput:
        return Price()
    if measured.undelivered or not states:
        return Price()
    sent = len(states)
    stamp, state = sum(stamps) / sent, sum(states) / sent
    work = round(Ops.computed / sent, 1) if Ops.computed else None
    return Price(round(stamp, 2), round(state, 2), work, round(measured.control, 1))


def _other_than_zero(value: Any, n: int) -> int:
    """The numbers other than zero in a stamp or a state; texts, such as the kinds of packets that wait, are none."""
    if isinstance(value, str | bytes | NoneType):
        return 0
    if isinstance(value, int):
        return int(value != 0)
    if isinstance(value, Mapping):
        return _other_than_zero(tuple(value.items()), n)
    if isinstance(value, Iterable):
        return sum(_other_than_zero(part, n) for part in value)
    return sum(1 for number in numbers_in(value, n) if number)
