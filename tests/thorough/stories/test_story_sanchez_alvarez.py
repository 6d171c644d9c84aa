"""[SA], replayed on the machines: what its §3 says of constraints and matrices, its claims, and what it leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from broken_extra_messages import AllowsK
from broken_optimal import (
    DropsEveryDestinationOnSending,
    ForgetsNothingInMerging,
    KeepsNoEmptyEntries,
    KeepsTheReceiver,
    KeepsWhatIsImplied,
    MergesDestinations,
    OneStampForAll,
)
from overrides import changed, restamped
from replay import over
from tiers import slow

from crownless.impl.channels import Unordered
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols import optimal
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.optimal import Optimal
from crownless.impl.protocols.rst import Rst
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.search.generating import Form, generate
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.system import System
from crownless.research.claims.thresholds import FOUR_ENTRIES
from crownless.spec import notation
from crownless.spec.computation import Message


def running(machine: ProtocolMachine, program: str) -> System:
    return over(machine, Program(notation.parse(program)))


# -- §3: extra messages ------------------------------------------------------------------------------------------------


def generated(machine: ProtocolMachine, m: int) -> frozenset[Form]:
    return generate(machine, Free(machine.n, m), Unordered).forms


@pytest.mark.parametrize(
    ("n", "m", "ks", "count"),
    [(3, 4, (2, 3), 2460), (4, 3, (2,), 1815), slow((3, 5, (1, 2, 3, 4), 19890))],
)
def test_the_stronger_constraints_delay_deliveries_and_exclude_no_computation(
    n: int, m: int, ks: tuple[int, ...], count: int
) -> None:
    # An extra message waits only for what later messages to the same process wait for as well: it may always be fast.
    causal = generated(Rst(n), m)
    assert len(causal) == count
    for k in ks:
        assert generated(ExtraMessages(n, parameters={"k": k}), m) == causal


def test_two_readings_of_the_threshold_differ_by_one() -> None:
    assert [largest(running(kind(3), FOUR_ENTRIES)) for kind in (ExtraMessages, AllowsK)] == [
        Largest(kept=3, carried=3, extra=2),
        Largest(kept=4, carried=4, extra=0),
    ]
    assert largest(running(AllowsK(3, parameters={"k": 3}), FOUR_ENTRIES)).kept == 3


class Largest(NamedTuple):
    """The most entries that any process keeps, any user message carries, any extra message carries."""

    kept: int
    carried: int
    extra: int


def largest(system: System) -> Largest:
    """In all reachable states."""
    machine = system.machine
    assert isinstance(machine, ExtraMessages)
    kept, carried, extra = [0], [0], [0]
    known: set[int] = set()
    for now in reachable(system):
        for number in set(now.state[: system.n]) - known:
            known.add(number)
            kept.append(len(machine.entries(system.local_state(number).matrix)))
        for step, _ in now.moves:
            for packet in system.transmitted(step):
                (carried if packet.message else extra).append(len(packet.stamp))
    return Largest(max(kept), max(carried), max(extra))


#: A k that no matrix of three or four processes reaches.
NEVER = 100


class Sent(NamedTuple):
    """A message in somebody's causal past: the c-th of its sender, and the messages sent in its own causal past."""

    sender: int
    clock: int
    dests: frozenset[int]
    after: frozenset[tuple[int, int]]


class Past(NamedTuple):
    """The causal past of a process or a message. `delivered`: sender, clock, where."""

    sent: frozenset[Sent] = frozenset()
    delivered: frozenset[tuple[int, int, int]] = frozenset()


class Remembering(ProtocolMachine):
    """A protocol, and with it everything that has happened before, which no guard uses."""

    promises = "causal"
    admits_multicast = True

    def __init__(self, inner: ProtocolMachine) -> None:
        super().__init__(inner.n)
        self.inner = inner

    def initial(self, i: int) -> Any:
        return self.inner.initial(i), Past()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        inner, past = state
        clock = 1 + sum(one.sender == i for one in past.sent)
        before = frozenset((one.sender, one.clock) for one in past.sent)
        sent = Sent(i, clock, frozenset(message.receivers), before)
        after = past._replace(sent=past.sent | {sent})
        steps = restamped(self.inner.send(i, inner, message), lambda packet: (packet.stamp, sent, past))
        return changed(steps, lambda now: (now, after))

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return bool(self.inner.deliverable(i, state[0], packet._replace(stamp=packet.stamp[0])))

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        (stamp, sent, theirs), (inner, past) = packet.stamp, state
        if sent is not None:
            delivered = {(sent.sender, sent.clock, i)}
            past = Past(past.sent | theirs.sent | {sent}, past.delivered | theirs.delivered | delivered)
        steps = self.inner.on_packet(i, inner, packet._replace(stamp=stamp))
        return changed(restamped(steps, lambda more: (more.stamp, None, None)), lambda now: (now, past))


def necessary(past: Past, sent: Sent, j: int) -> set[tuple[int, int, int]]:
    """What the copy to j must carry: every (sender, clock, destination) of a message before it for which no delivery
    there is known, nor a later message there, this one included unless the destination is j.
    """
    return {
        (first.sender, first.clock, d)
        for first in past.sent
        for d in first.dests
        if (first.sender, first.clock, d) not in past.delivered
        and not any((first.sender, first.clock) in second.after and d in second.dests for second in past.sent)
        and (d == j or d not in sent.dests)
    }


def stamps(inner: ProtocolMachine, workload: Workload) -> Iterator[tuple[Any, Past, Sent, int]]:
    """The stamp of every copy of a user message in every run, the past of its send, the message and the receiver."""
    system = over(Remembering(inner), workload)
    known: set[Packet] = set()
    for now in reachable(system):
        for step, _ in now.moves:
            for packet in system.transmitted(step):
                if packet.message is not None and packet not in known:
                    known.add(packet)
                    stamp, sent, past = packet.stamp
                    yield stamp, past, sent, packet.destination


def log_entries(stamp: optimal.Stamp) -> list[tuple[int, int, int]]:
    """The log that travels, destination by destination."""
    return [(k, clock, d) for (k, clock), left in stamp.log for d in left]


WORKLOADS = [Free(3, 4), Free(3, 3, sends="multicast")]


@pytest.mark.parametrize("workload", WORKLOADS, ids=["unicast", "multicast"])
def test_the_optimal_algorithm_carries_exactly_what_is_necessary(workload: Workload) -> None:
    for stamp, past, sent, j in stamps(Optimal(3), workload):
        assert set(log_entries(stamp)) == necessary(past, sent, j)


@pytest.mark.parametrize(
    "kind", [KeepsWhatIsImplied, KeepsTheReceiver, MergesDestinations, KeepsNoEmptyEntries, OneStampForAll]
)
def test_with_a_rule_less_it_is_as_safe_and_carries_more_than_is_necessary(kind: type[Optimal]) -> None:
    more = 0
    for stamp, past, sent, j in stamps(kind(3), Free(3, 3, sends="multicast")):
        assert set(log_entries(stamp)) >= necessary(past, sent, j)
        more += set(log_entries(stamp)) > necessary(past, sent, j)
    assert more


#: P3 knows of a to P2, and then hears from P1, which has sent to P2 again and has dropped a from its log.
OUT_OF_DATE = """
P1: send a to P2; send b to P3; send c to P2; send d to P3
P2:
P3: receive; receive; send e to P1
"""


def test_what_one_side_of_a_merge_has_dropped_comes_back_only_in_the_fifth_message() -> None:
    def too_much(kind: type[Optimal], workload: Workload) -> list[set[tuple[int, int, int]]]:
        surplus = (
            set(log_entries(stamp)) - necessary(past, sent, j) for stamp, past, sent, j in stamps(kind(3), workload)
        )
        return [more for more in surplus if more]

    for workload in WORKLOADS:
        assert too_much(ForgetsNothingInMerging, workload) == []
    program = Program(notation.parse(OUT_OF_DATE))
    assert too_much(ForgetsNothingInMerging, program) == [{(0, 1, 1)}]
    assert too_much(Optimal, program) == []


def test_what_drops_too_much_carries_less_than_is_necessary() -> None:
    assert any(
        not necessary(past, sent, j) <= set(log_entries(stamp))
        for stamp, past, sent, j in stamps(DropsEveryDestinationOnSending(3), Free(3, 3))
    )


def test_an_extra_message_makes_stamps_smaller_than_the_so_called_optimal_ones() -> None:
    # The optimum is that of algorithms which send no messages of their own. Of the last message of P1:
    program = Program(notation.parse(FOUR_ENTRIES))

    def sizes(machine: ProtocolMachine) -> set[int]:
        found = set()
        for stamp, past, sent, _ in stamps(machine, program):
            if sent.sender == 0 and sent.clock == 3:
                found.add(len(log_entries(stamp)) if isinstance(stamp, optimal.Stamp) else len(stamp))
                assert len(necessary(past, sent, 1)) == 4
        return found

    assert sizes(Optimal(3)) == {4}
    assert sizes(ExtraMessages(3, parameters={"k": NEVER})) == {4}
    assert sizes(ExtraMessages(3)) == {3}
    assert sizes(ExtraMessages(3, parameters={"k": 3})) == {2}
