"""What takes longer of the tests in `test_conform.py`."""

from __future__ import annotations

from typing import Any

import pytest
from command_line_runner import Crownless
from judged_orders import CAUSAL, JUDGED
from relays import Numbers, Relay
from tiers import slow

import crownless as cr
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.conformance_result import DISTINGUISHED_AT
from crownless.oracle.conformance.conforming import conform
from crownless.oracle.conformance.in_process import InProcess
from crownless.runtime.ending import Limits
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "order", "messages", "computations"),
    [
        (Relay, "asynchronous", 3, 416),
        (Numbers, "fifo", 3, 284),
        (f"{CAUSAL}:Matrix", "causal", 3, 278),
        slow((f"{CAUSAL}:Matrix", "causal", 4, 2136)),
    ],
)
def test_nodes_generate_what_a_protocol_of_their_order_generates(
    node: Any, order: str, messages: int, computations: int
) -> None:
    found = cr.conform(node, 3, messages, replies=0)
    assert found.realization is not None
    assert (found.realization.computations, found.realization.equals) == (computations, order)
    assert found.verdict == "holds"


def test_a_relay_breaks_all_orders_by_shortest_runs() -> None:
    found = cr.conform(Relay, 3, 3)
    assert (found.kept, found.verdict) == (["asynchronous"], "holds")
    assert {name: len(found[name].run or ()) for name in JUDGED} == {**dict.fromkeys(JUDGED, 3), "synchronous": 2}
    assert cr.conform(Relay, 2, 2, orders=["fifo"]).verdict == "violated"
    assert cr.conform(Relay, 2, 2, orders=["fifo"], channel="fifo").verdict == "holds"
    assert cr.conform(Relay, 2, 2, channel="duplicating").violated == ["delivers-once"]


def test_only_replies_from_inside_a_delivery_show_a_clock_that_is_set_after_it(crownless: Crownless) -> None:
    node = f"{CAUSAL}:ClockAfterCallback"
    assert cr.conform(node, 3, 3, orders=["causal"], replies=0)
    answer = crownless("conform", node, "--order", "causal")
    kept = "keeps causal order within the bound, and delivers everything"
    assert answer.code == 1
    assert answer.err.startswith(f"crownless: with free sends, {node} {kept}; still searching…\n")
    assert "shortest run: 5 actions, replies from inside deliveries" in answer.out
    assert "replies from inside deliveries, up to 3 messages: violate causal" in answer.out
    assert "(3 messages, all delivered), exactly those of causal order" in answer.out
    assert "replies from inside deliveries, which are not counted, violate causal" in answer.out
    assert answer.out.endswith(f"{node} violates causal\n")


@pytest.mark.parametrize("sends", ["unicast", "broadcast"])
def test_the_larger_bound_distinguishes_the_orders(sends: Any) -> None:
    compared = 0
    for order in ("causal", "mailbox", "one-n", "n-n"):
        n, m = DISTINGUISHED_AT[sends][order]
        same = cr.conform(Relay, 3, 2, replies=0, sends=sends, orders=[order]).same_as(order)
        for weak in same if (n, m) != (4, 4) else ():
            compared += 1
            assert any(
                c.complete and decide(c, weak).kept and not decide(c, order).kept
                for c in computations(n, m, sends=sends)
            ), (weak, order)
    assert compared


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [False, True])
def test_runs_of_orders_that_are_not_claimed_come_last_and_no_verdict_waits_for_them(ends: bool) -> None:
    others: list[str] = []

    class EndsThere(Limits):
        def after(self, seconds: float) -> Limits:
            return Limits(seconds=0.0) if ends and others else self

    def on_input(search: str, _: int) -> None:
        others.extend([search] * (search == "runs that violate other orders"))

    request = Request(3, 3, channel="fifo", orders=("fifo",))
    found = conform(InProcess(Relay, 3), request, EndsThere(), on_input=on_input)
    assert (found.verdict, found.ended_by, len(others)) == ("holds", None, 1)
    assert {found[name].verdict for name in JUDGED} == {"holds", "violated"}
    assert (found["mailbox"].run is None) == ends


@pytest.mark.parametrize(
    ("name", "breaks"), [("ClockAfterCallback", "causal"), ("OwnColumn", "causal"), ("OverwritingMerge", "fifo")]
)
def test_a_replayed_schedule_breaks_what_it_broke(name: str, breaks: str) -> None:
    found = cr.conform(f"{CAUSAL}:{name}", 3, 3, orders=[breaks])
    schedule = found.schedule(breaks)
    assert schedule is not None
    again = cr.replay(f"{CAUSAL}:{name}", schedule.json())
    assert not again
    assert again.run == found[breaks].run
    assert (again.differs, breaks in again.violated) == (None, True)
    assert cr.replay(f"{CAUSAL}:Matrix", schedule.json())
