"""What is not received is lost, or pending: how each order treats it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest
from small_computations import INCOMPLETE, Bound, computation, decide_all, kept, nameless
from witness_checks import check_witness

from crownless.spec.computation import Computation, Event
from crownless.spec.orders import ORDERS, decide


@pytest.mark.parametrize(
    "bound",
    [
        *(bound for bound in INCOMPLETE if bound.reading == "pending"),
        Bound(2, 3, complete=False, self_sends=True, reading="pending"),
        Bound(3, 2, complete=False, multicast=True, reading="pending"),
    ],
    ids=str,
)
def test_pending_is_kept_exactly_when_some_completion_keeps_the_order(bound: Bound) -> None:
    complete = decide_all(bound._replace(complete=True)).kept()
    for c in bound.computations():
        by_some = frozenset[str]().union(*(complete[nameless(completed)] for completed in completions(c)))
        assert kept(c, "pending") == by_some


def completions(c: Computation) -> Iterator[Computation]:
    """Every computation in which the messages not received yet are received, at the ends of the lines."""
    to_come = [[Event("receive", m) for m, q in c.unreceived if q == p] for p in range(len(c.lines))]
    for ends in product(*(list(permutations(events)) for events in to_come)):
        lines = (line + end for line, end in zip(c.lines, ends, strict=True))
        yield Computation(c.processes, c.messages, tuple(lines))


@pytest.mark.parametrize(
    "bound",
    [Bound(3, 2, complete=False), Bound(2, 3, complete=False), Bound(3, 2, complete=False, multicast=True)],
    ids=str,
)
def test_the_readings_differ_for_one_n_n_n_and_synchronous_only(bound: Bound) -> None:
    differ = set()
    for c in bound.computations():
        lost, pending = kept(c, "lost"), kept(c, "pending")
        assert lost <= pending
        differ |= pending - lost
    assert differ == ({"synchronous"} if bound.n == 2 else {"one-n", "n-n", "synchronous"})


def test_the_readings_agree_on_complete_computations() -> None:
    for bound in (Bound(3, 3), Bound(2, 3, self_sends=True), Bound(3, 2, multicast=True)):
        for c in bound.computations():
            assert kept(c, "lost") == kept(c, "pending")


def test_a_lost_message_forbids_to_receive_what_is_queued_behind_it() -> None:
    same_receiver = computation("P1: send x to P2; send y to P2\nP2: receive y")
    assert kept(same_receiver) == kept(same_receiver, "pending") == {"asynchronous", "total"}
    other_receiver = computation("P1: send x to P2; send y to P3\nP2:\nP3: receive y")
    assert kept(other_receiver) == {"asynchronous", "fifo", "causal", "mailbox", "total"}
    assert kept(other_receiver, "pending") == set(ORDERS)
    last = computation("P1: send x to P2; send y to P2\nP2: receive x")
    assert kept(last) == set(ORDERS) - {"synchronous"}
    assert kept(last, "pending") == set(ORDERS)


def test_the_witness_against_a_multicast_received_in_part_is_genuine() -> None:
    """P3 receives x and y in order: it is P2's copy that y may not come before, under one-n."""
    c = computation("P1: send x to P2, P3; send y to P3\nP2:\nP3: receive x; receive y")
    verdict = decide(c, "one-n")
    assert not verdict.kept
    check_witness(c, verdict, "lost")


def test_the_witness_against_a_synchrony_to_come_is_a_circle_through_several_messages() -> None:
    c = computation("P1: send x to P2; receive y\nP2: send y to P1")
    verdict = decide(c, "synchronous", "pending")
    assert not verdict.kept
    check_witness(c, verdict, "pending")
