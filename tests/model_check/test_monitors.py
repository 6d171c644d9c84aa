"""The compact monitors say what the spec says: at every node of full explorations, and on any sequence of events."""

from __future__ import annotations

import pytest
from event_sequences import (
    computation_of,
    crown_can_be_avoided,
    delivers,
    lines_of,
    reported_by,
    sends,
    sequences,
)
from hypothesis import given
from hypothesis import strategies as st
from monitored_systems import WORKLOADS, system_of, walk
from native_engine_setup import monitors_for

from crownless.impl.channels import CHANNELS
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free
from crownless.model_check.search.explorer import explore
from crownless.model_check.system.monitors import (
    DeliveryMonitor,
    FifoAndCausal,
    History,
    Observation,
    TotalOrder,
    keeps,
)
from crownless.model_check.system.open_points import OpenPoints
from crownless.model_check.system.system import System
from crownless.spec.computation import Message
from crownless.spec.orders import ORDERS, causal, fifo, total
from crownless.spec.orders import keeps as keeps_by_search


@pytest.mark.parametrize("workload", [name for name in WORKLOADS if "multicast" in name])
def test_total_order_reports_what_history_reports_at_every_node(workload: str) -> None:
    system = system_of("unordered", "unordered", workload, lambda n: [TotalOrder(n), History(n, "total")])
    reported = [(compact, whole) for _, _, (compact, whole) in walk(system)]
    assert all(compact == whole for compact, whole in reported)
    assert any(whole for _, whole in reported) == (workload != "a multicast and an answer")


@pytest.mark.parametrize("channel", ["unordered", "fifo", "duplicating"])
@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 2), (4, 2), (3, 3)])
def test_a_monitor_state_never_splits_a_state_of_rst(channel: str, n: int, m: int) -> None:
    if channel == "duplicating" and m == 3:
        n = 2  # three processes take seconds
    monitors = monitors_for(n, ("fifo", "causal"))
    found = explore(System(PROTOCOLS["rst"](n), Free(n, m), CHANNELS[channel], monitors), [])
    assert found.nodes == found.states > n * m


# -- any sequence of events --------------------------------------------------------------------------------------------


A, B = Message("a", 0, (1,)), Message("b", 1, (0,))


@given(sequences(again=["deliver"]))
def test_fifo_and_causal_reports_exactly_what_the_spec_finds_broken(run: tuple[int, list[Observation]]) -> None:
    n, happened = run
    for length, reported in enumerate(reported_by(FifoAndCausal(n), happened), 1):
        c = computation_of(n, happened[:length])
        kept = {verdict.order for verdict in (fifo(c, "pending"), causal(c, "pending")) if verdict.kept}
        assert reported == {"fifo", "causal"} - kept
        assert kept == {order for order in ("fifo", "causal") if keeps_by_search(c, order, pending=True)}


@given(sequences())
def test_history_reports_exactly_what_a_search_by_definition_finds_broken(run: tuple[int, list[Observation]]) -> None:
    n, happened = run
    c = computation_of(n, happened)
    for order in ORDERS:
        reported = reported_by(History(n, order), happened)
        assert not reported or (order in reported[-1]) != keeps_by_search(c, order, pending=True)


@given(sequences(self_sends=False, early=True))
def test_history_waits_with_its_judgement_until_all_that_is_delivered_is_sent(
    run: tuple[int, list[Observation]],
) -> None:
    n, happened = run
    for length in range(1, len(happened) + 1):
        lines = tuple(map(tuple, lines_of(n, happened[:length])))
        sent = {message for line in lines for kind, message in line if kind == "send"}
        if sent < {message for line in lines for _, message in line}:
            assert all(keeps(lines, order) for order in ORDERS)
        else:
            assert keeps(lines, "synchronous") == crown_can_be_avoided(n, happened[:length])


@given(sequences(again=["deliver"]))
def test_total_order_reports_exactly_what_a_search_by_definition_finds_broken(
    run: tuple[int, list[Observation]],
) -> None:
    n, happened = run
    handed_over = [
        Observation("hand", event.process, event.message) if event.kind == "send" else event for event in happened
    ]
    for length, reported in enumerate(reported_by(TotalOrder(n), handed_over), 1):
        c = computation_of(n, happened[:length])
        assert bool(reported) != total(c, "pending").kept
        assert bool(reported) != keeps_by_search(c, "total", pending=True)


@given(sequences(again=["deliver"]), st.data())
def test_the_delivery_monitor_owes_exactly_what_was_submitted_and_not_delivered(
    run: tuple[int, list[Observation]], data: st.DataObject
) -> None:
    _, events = run
    messages = sorted({message for _, _, message in events})
    handed = [Observation("hand", message.sender, message) for message in messages]
    happened = data.draw(st.permutations(handed + events))
    deliveries, owed, unsent = DeliveryMonitor(), set[tuple[Message, int]](), set[str]()
    monitor_state = deliveries.initial()
    for observation in happened:
        kind, process, message = observation
        after, broken = deliveries.observe(monitor_state, deliveries.encode(observation))
        assert isinstance(after, int)
        monitor_state = after
        if kind == "hand":
            owed |= {(message, q) for q in message.receivers}
            unsent.add(message.name)
            assert broken == ()
        elif kind == "send":
            assert broken == (() if message.name in unsent else ("delivers-once",))
            unsent.discard(message.name)
        else:
            assert broken == (() if (message, process) in owed else ("delivers-once",))
            owed.discard((message, process))
        assert set(deliveries.undelivered(monitor_state)) == owed
        assert {message.name for message in deliveries.unsent(monitor_state)} == unsent


def test_a_delivery_where_the_message_was_not_sent_to_is_the_ledgers_business_alone() -> None:
    astray = [sends(A), Observation("deliver", 0, A)]
    assert reported_by(DeliveryMonitor(), [Observation("hand", 0, A), *astray])[-1] == {"delivers-once"}
    assert reported_by(FifoAndCausal(2), astray)[-1] == set()
    assert reported_by(OpenPoints(2, "synchronous"), astray)[-1] == set()


def test_a_delivery_before_the_send_is_reported_where_none_may_be() -> None:
    early = [Observation("hand", A.sender, A), delivers(A)]
    assert reported_by(DeliveryMonitor(sends_before_delivery=True), early)[-1] == {"delivers-once"}
    assert reported_by(DeliveryMonitor(), early)[-1] == set()


def test_a_send_event_at_another_process_or_for_the_second_time_is_reported() -> None:
    handed = Observation("hand", 0, A)
    assert reported_by(DeliveryMonitor(), [handed, sends(A), sends(A)])[-1] == {"delivers-once"}
    assert reported_by(DeliveryMonitor(), [handed, Observation("send", 1, A)])[-1] == {"delivers-once"}


def test_lines_and_messages_in_a_circle_are_no_computation_and_keep_no_order() -> None:
    first, second = (("receive", B), ("send", A)), (("receive", A), ("send", B))
    assert not any(keeps((first, second), order) for order in ORDERS)
    assert all(keeps((first, second[:1]), order) for order in ORDERS)  # b is not sent yet


def test_the_smallest_monitors_that_watch_the_orders_are_chosen() -> None:
    def chosen(*orders: str, sends_before_delivery: bool = True) -> list[str]:
        monitors = monitors_for(3, orders, sends_before_delivery=sends_before_delivery)
        return [f"{type(monitor).__name__} {' '.join(monitor.watches)}" for monitor in monitors]

    deliveries = "DeliveryMonitor delivers-once"
    assert chosen() == chosen("asynchronous") == [deliveries]
    assert chosen("fifo") == chosen("fifo", "causal") == [deliveries, "FifoAndCausal fifo causal"]
    assert chosen("synchronous") == [deliveries, "OpenPoints synchronous"]
    assert chosen("causal", "n-n", "synchronous") == [
        deliveries,
        "FifoAndCausal fifo causal",
        "OpenPoints n-n",
        "OpenPoints synchronous",
    ]
    assert chosen("causal", "mailbox", sends_before_delivery=False) == [
        deliveries,
        "OpenPoints causal",
        "OpenPoints mailbox",
    ]
    assert chosen("fifo", sends_before_delivery=False) == [deliveries, "OpenPoints fifo"]
