"""Each order is contained in the weaker ones, and a smallest computation shows that it is not the same."""

from __future__ import annotations

import pytest
from small_computations import acyclic_after_one_round, computation, kept
from witness_checks import check_witness

from crownless.spec.enumeration import computations
from crownless.spec.notation import of_computation
from crownless.spec.orders import ORDERS, decide, keeps, weaker
from crownless.spec.witnesses import Cycle, Overtaking


def test_the_orders_are_listed_from_the_weakest_to_the_strongest() -> None:
    chain = [name for name in ORDERS if name != "total"]
    for k, order in enumerate(chain):
        assert weaker(order) - {"total"} == set(chain[:k])
    assert [order for order in ORDERS if "total" in weaker(order)] == ["mailbox", "one-n", "n-n", "synchronous"]
    assert weaker("total") == {"asynchronous"}


def test_with_multicasts_one_n_implies_only_fifo() -> None:
    assert weaker("one-n", unicasts=False) == {"asynchronous", "fifo"}
    assert weaker("mailbox", unicasts=False) == {"asynchronous", "fifo", "causal", "total"}
    assert weaker("n-n", unicasts=False) == {"asynchronous", "fifo", "causal", "mailbox", "one-n", "total"}


#: The smallest computation that keeps one order and violates another: why, and where it is from.
SMALLEST: dict[tuple[str, str, str], str] = {
    ("asynchronous", "fifo", ""): """\
P1: send m1 to P2; send m2 to P2
P2: receive m2; receive m1""",
    # A triangle: [MF] Fig. 4, with P2 and P3 exchanged.
    ("fifo", "causal", ""): """\
P1: send m1 to P2; send m2 to P3
P2: receive m3; receive m1
P3: receive m2; send m3 to P2""",
    # [DFLL23]'s example: each sender sends to both receivers, and each receiver takes another one's message first.
    ("causal", "mailbox", ""): """\
P1: send m1 to P2; send m2 to P3
P2: receive m4; receive m1
P3: receive m2; receive m3
P4: send m3 to P3; send m4 to P2""",
    ("causal", "mailbox", "self-sends"): """\
P1: send m1 to P1; send m2 to P2; receive m4; receive m1
P2: send m3 to P2; send m4 to P1; receive m2; receive m3""",
    ("mailbox", "one-n", "incomplete"): """\
P1: send m1 to P2; send m2 to P3
P2:
P3: receive m2""",
    # Of complete ones. m1 is sent before m2, so received before it, so before m4 is sent, which is received before m3,
    # so sent before it; yet m3 is sent before m1 is received.
    ("one-n", "n-n", ""): """\
P1: send m1 to P2; send m2 to P3; receive m4; receive m3
P2: send m3 to P1; receive m1
P3: receive m2; send m4 to P1""",
    # Two messages that cross.
    ("n-n", "synchronous", ""): """\
P1: send m1 to P2; receive m2
P2: send m2 to P1; receive m1""",
    # Two senders' copies are received crosswise: m1 waits for P3 in P1's queue, behind nothing.
    ("one-n", "causal", "multicasts"): """\
P1: send m1 to P2, P3
P2: receive m1; send m2 to P3
P3: receive m2; receive m1""",
    ("one-n", "mailbox", "multicasts"): """\
P1: send m1 to P2, P3
P2: receive m1; send m2 to P3
P3: receive m2; receive m1""",
}


@pytest.mark.parametrize(("keeping", "breaking", "among"), SMALLEST)
def test_the_smallest_computation_that_keeps_one_order_and_breaks_another(
    keeping: str, breaking: str, among: str
) -> None:
    """The first one, by messages and then by processes: among unicasts m messages connect at most m + 1 processes, and
    what breaks an order is connected.
    """
    first = next(
        c
        for m in range(1, 5)
        for n in range(1, m + 2)
        for c in computations(
            n, m, complete=among != "incomplete", self_sends=among == "self-sends",
            sends="multicast" if among == "multicasts" else "unicast",
        )
        if ORDERS[breaking].procedure(c, pending=False) and not ORDERS[keeping].procedure(c, pending=False)
    )  # fmt: skip
    assert of_computation(first).print() == SMALLEST[keeping, breaking, among]


def test_three_processes_need_more_than_five_messages_to_be_causal_and_not_mailbox() -> None:
    """Six are enough: [MF] Fig. 8, whose nested crowns the buffer protocol cannot generate."""
    for c in computations(3, 5):
        if not len(c.lines[0]) >= len(c.lines[1]) >= len(c.lines[2]):
            continue  # the same with its processes renamed is not passed over
        witness = decide(c, "mailbox").witness
        assert witness is None or isinstance(witness, Overtaking), "an overtaking violates causal order"
    fig8 = computation(
        """\
        P1: send e to P2; send d to P3; receive b; receive a
        P2: send c to P3; send b to P1; receive f; receive e
        P3: send a to P1; send f to P2; receive d; receive c"""
    )
    assert kept(fig8) == {"asynchronous", "fifo", "causal", "total"}


def test_one_round_of_constraints_is_not_enough_for_n_n() -> None:
    """u is received before v, so sent before it, so n is received before m; x is sent before y, so received before it,
    so m is sent before n: each of the two is one round, and that they contradict each other takes another.
    """
    c = computation(
        """\
        P1: send m to P3; receive x; receive n; send u to P2
        P2: receive y; send n to P1; receive u; receive v
        P3: send x to P1; send y to P2; send v to P2; receive m"""
    )
    assert acyclic_after_one_round(c)
    assert not keeps(c, "n-n")
    verdict = decide(c, "n-n")
    assert isinstance(verdict.witness, Cycle)
    assert verdict.witness.derived
    check_witness(c, verdict, "lost")
