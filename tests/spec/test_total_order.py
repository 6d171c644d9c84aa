"""Total order of broadcasts: the graph procedure, the definition, and what the other orders say of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import crownless as cr
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import ORDERS, decide, keeps, refuse_where_all_keep
from crownless.spec.witnesses import Cycle

#: Broadcasts to all, and to all others: the bounds that are enumerated in a second or two.
BOUNDS: list[tuple[Sends, int, int]] = [
    *(("broadcast-to-all", n, m) for n, m in ((2, 2), (2, 3), (3, 2))),
    *(("broadcast", n, m) for n, m in ((2, 3), (3, 2), (3, 3), (4, 2))),
]
#: Of broadcasts to all others two messages show it only if they have one sender, or two receivers in common.
CYCLE = """\
P1: send a to P2, P3; receive b; receive c
P2: send b to P1, P3; receive c; receive a
P3: send c to P1, P2; receive a; receive b
"""
#: P2 sends m4 before it has delivered m1, which is the first of all.
SENT_EARLY = """\
P1: send m1 to P1, P2; send m2 to P1, P2; receive m1; receive m2; send m3 to P1, P2; receive m3; receive m4
P2: send m4 to P1, P2; receive m1; receive m2; receive m3; receive m4
"""


def kept_by(sends: Sends, n: int, m: int) -> Iterator[tuple[Computation, set[str]]]:
    for c in computations(n, m, sends=sends):
        yield c, {order for order in ("fifo", "causal", "mailbox", "one-n", "n-n", "total") if decide(c, order).kept}


@pytest.mark.parametrize(("sends", "n", "m"), BOUNDS)
def test_mailbox_order_of_broadcasts_is_causal_and_total_order_at_once(sends: Sends, n: int, m: int) -> None:
    among = set()
    for c, kept in kept_by(sends, n, m):
        assert ("total" in kept) == keeps(c, "total")
        assert ("mailbox" in kept) == ({"causal", "total"} <= kept)
        among.add(frozenset(kept))
    assert {"total"} in among  # it implies not even FIFO order
    if (sends, n) != ("broadcast", 2):
        assert any("one-n" in kept and "total" not in kept for kept in among) == ((sends, n, m) != ("broadcast", 3, 2))


def test_n_n_says_more_than_causal_and_total_order() -> None:
    kept = cr.classify(SENT_EARLY, ORDERS)
    assert [order for order in ORDERS if kept[order]] == [
        *("asynchronous", "fifo", "causal", "mailbox", "one-n", "total")
    ]
    for _, orders in kept_by("broadcast-to-all", 2, 3):
        assert ("n-n" in orders) == ("mailbox" in orders)  # with fewer messages it does not


def test_the_witness_is_a_smallest_cycle_of_messages() -> None:
    verdict = cr.classify(CYCLE, ["total"])["total"]
    assert isinstance(verdict.witness, Cycle)
    assert str(verdict) == (
        "total: violated, no common order of the messages exists: these constraints form a cycle\n"
        "  b → c: P1 delivers b before c\n  c → a: P2 delivers c before a\n  a → b: P3 delivers a before b"
    )
    assert cr.classify(CYCLE, ["causal"])["causal"]


@pytest.mark.parametrize("reading", ["lost", "pending"])
def test_a_message_that_a_process_lacks_comes_after_all_that_it_delivers(reading: cr.UnreceivedPolicy) -> None:
    lacks = "P1: send a to P1, P2; receive a; receive b\nP2: send b to P1, P2; receive b"
    verdict = decide(cr.parse(lacks), "total", reading)
    assert "b → a: P2 delivers b and not a" in str(verdict)
    for c in computations(2, 2, complete=False, sends="broadcast-to-all"):
        assert decide(c, "total", reading).kept == keeps(c, "total", pending=reading == "pending")


def test_it_is_refused_where_it_says_nothing() -> None:
    with pytest.raises(BadInput, match="total order is decided only for messages with several receivers"):
        cr.check("unordered", 2, 2, orders=["total"])
    refuse_where_all_keep(["fifo"], unicasts=True)


UNICASTS = "P1: send x to P2\nP2: receive x"


def test_of_messages_with_one_receiver_each_it_has_nothing_to_judge() -> None:
    found = cr.classify(UNICASTS, ["causal", "total"])
    assert found.outcomes == {"causal": "kept", "total": "nothing"}
    assert found["total"].because == "no message has several receivers"
    with pytest.raises(cr.Undecided):
        assert found
    assert "total" not in cr.classify(UNICASTS)
    assert cr.classify(UNICASTS)
    recorder = cr.Recorder()
    recorder.send("P1", "x", to="P2")
    recorder.deliver("P2", "x")
    assert recorder.verdict("total").outcome == "nothing"
    assert "total" not in recorder.verdicts()
    recorder.send("P1", "y", to=["P2", "P3"])
    assert recorder.verdict("total").outcome == recorder.verdicts()["total"].outcome == "kept"
