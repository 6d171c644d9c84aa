"""Orders, verdicts and witnesses by their names, in words and in JSON."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from small_computations import CAUSAL_BROKEN, CROWN, MAILBOX_BROKEN, computation

from crownless.runtime.errors import BadInput
from crownless.spec import orders
from crownless.spec.bibliography import BIBLIOGRAPHY
from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy, Verdict, decide, order_named
from crownless.spec.witnesses import say


def test_each_order_has_a_function_of_its_name() -> None:
    crossing = computation("P1: send x to P2; receive y\nP2: send y to P1; receive x")
    for order in ORDERS:
        function: Callable[[Computation, UnreceivedPolicy], Verdict] = getattr(orders, order.replace("-", "_"))
        assert function(crossing, "lost") == decide(crossing, order)
        assert function(crossing, "pending") == decide(crossing, order, "pending")


def test_an_unknown_order_is_reported_with_the_nearest_name() -> None:
    known = "known: asynchronous, fifo, causal, mailbox, one-n, n-n, synchronous, total"
    with pytest.raises(BadInput) as caught:
        order_named("casual")
    assert str(caught.value) == f"unknown order 'casual'; did you mean 'causal'? {known}"
    with pytest.raises(BadInput, match="unknown order 'zzz'; known"):
        decide(computation("P1:"), "zzz")


def test_every_order_says_what_it_demands_and_cites_its_source() -> None:
    for order in ORDERS.values():
        keys = set(re.findall(r"\[(\w+)\]", order.source))
        assert order.demands
        assert keys
        assert keys <= set(BIBLIOGRAPHY)


@pytest.mark.parametrize(
    ("order", "text", "line"),
    [
        (
            "fifo",
            "P1: send x to P2; send y to P2\nP2: receive y; receive x",
            "P2 receives y before x, which was sent earlier: P1 sends x → P1 sends y",
        ),
        (
            "causal",
            CAUSAL_BROKEN,
            "P3 receives z before x, which was sent earlier: P1 sends x → P1 sends y → P2 receives y → P2 sends z",
        ),
        (
            "causal",
            "P1: send x to P2; send y to P2\nP2: receive y",
            "P2 receives y and not x, which was sent earlier: P1 sends x → P1 sends y",
        ),
        (
            "mailbox",
            MAILBOX_BROKEN,
            (
                "no linearization exists: these constraints form a cycle: P1 sends m1 → P1 sends m2: happened "
                "before; P1 sends m2 → P4 sends m3: P3 receives m2 before m3; P4 sends m3 → P4 sends m4: happened "
                "before; P4 sends m4 → P1 sends m1: P2 receives m4 before m1"
            ),
        ),
        ("synchronous", CROWN, "crown of size 2: P1 sends x → P1 receives y; P2 sends y → P2 receives x"),
        ("synchronous", "P1: send x to P2\nP2:", "x is never received by P2"),
        ("synchronous", "P1: send x to P1; send y to P1; receive x", "y is never received by P1"),
    ],
)
def test_a_witness_is_printed_in_one_line(order: str, text: str, line: str) -> None:
    c = computation(text)
    witness = decide(c, order).witness
    assert witness is not None
    assert say(witness, c) == line


def test_a_verdict_is_printed_in_json_with_names_for_numbers() -> None:
    c = computation("P1: send x to P2; send y to P2\nP2: receive y")
    assert decide(c, "asynchronous").json(c) == {"verdict": "kept", "witness": None}
    assert decide(c, "fifo").json(c) == {
        "verdict": "violated",
        "witness": {
            "kind": "overtaking",
            "first": "x",
            "second": "y",
            "receiver": "P2",
            "first_received": False,
            "chain": [
                {"process": "P1", "event": "send", "message": "x"},
                {"process": "P1", "event": "send", "message": "y"},
            ],
        },
    }
    assert decide(computation("P1: send x to P2\nP2:"), "synchronous").json(c)["witness"] == {
        "kind": "unreceived",
        "message": "x",
        "receiver": "P2",
    }
    crossing = computation(CROWN)
    assert decide(crossing, "synchronous").json(crossing)["witness"] == {
        "kind": "crown",
        "messages": ["x", "y"],
        "links": [
            [{"process": p, "event": "send", "message": s}, {"process": p, "event": "receive", "message": r}]
            for p, s, r in (("P1", "x", "y"), ("P2", "y", "x"))
        ],
    }
    circle = computation(MAILBOX_BROKEN)
    witness = decide(circle, "mailbox").json(circle)["witness"]
    assert (witness["kind"], len(witness["cycle"]), witness["derived"]) == ("cycle", 4, [])
    assert witness["cycle"][1] == {
        "before": "P1 sends m2",
        "after": "P4 sends m3",
        "because": "P3 receives m2 before m3",
    }
