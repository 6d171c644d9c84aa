"""The orders on random computations, larger than those that are enumerated: the two deciders agree."""

from __future__ import annotations

from random import Random

import pytest
from orders_compared import READINGS, by_graph, by_search
from small_computations import computation, random_small_computation
from tiers import slow_where
from witness_checks import check_witness

from crownless.spec.notation import of_computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy, decide, keeps, weaker


@pytest.mark.parametrize("seed", slow_where(lambda seed: seed > 2, range(10)))
def test_the_graph_procedures_agree_with_the_search_on_random_computations(seed: int) -> None:
    random = Random(seed)
    for _ in range(300):
        c = random_small_computation(random)
        assert by_graph(c) == by_search(c), of_computation(c).print()


def test_random_computations_break_every_order_by_itself() -> None:
    """Each order is violated, with all weaker ones kept, often enough that a fault of its procedure shows."""
    random = Random(0)
    seen = dict.fromkeys([(order, reading) for order in ORDERS if order != "asynchronous" for reading in READINGS], 0)
    several = incomplete = 0
    for _ in range(3_000):
        c = random_small_computation(random)
        unicasts = all(len(message.receivers) == 1 for message in c.messages)
        several += not unicasts
        incomplete += not c.complete
        for reading in READINGS:
            kept = {order for order in ORDERS if decide(c, order, reading).kept}
            for order in ORDERS:
                if order not in kept and weaker(order, unicasts=unicasts) <= kept:
                    seen[order, reading] += 1
    assert min(seen.values()) >= 10, str(seen)
    assert several >= 500
    assert incomplete >= 500


PINNED = {
    # c is lost, so it is sent after b, the last message that P4 receives; b is sent after e, and e after d.
    "mailbox": """\
P1: send c to P4; send d to P5
P2: send e to P5; send b to P4
P3: send a to P4
P4: receive a; receive b
P5: receive d; receive e""",
    # By constraints that follow from mirrored ones.
    "n-n": """\
P1: send m0 to P3, P2; receive m3; receive m2
P2: receive m0; receive m1; send m3 to P1; receive m2
P3: send m1 to P2; send m2 to P1, P2; receive m0""",
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("order", PINNED)
def test_a_violation_that_random_computations_rarely_have_is_found(order: str, reading: UnreceivedPolicy) -> None:
    c = computation(PINNED[order])
    assert not keeps(c, order, pending=reading == "pending")
    verdict = decide(c, order, reading)
    assert not verdict.kept
    check_witness(c, verdict, reading)
