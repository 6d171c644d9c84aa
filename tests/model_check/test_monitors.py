"""The compact monitors say what the spec says: at every node of full explorations, and on any sequence of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

import pytest
from event_sequences import (
    Reported,
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
from native_engine_setup import monitors_for

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.search.explorer import explore
from crownless.model_check.system import open_points
from crownless.model_check.system.clocks import Clocks
from crownless.model_check.system.monitors import (
    DeliveryMonitor,
    FifoAndCausal,
    History,
    Monitor,
    Observation,
    TotalOrder,
    keeps,
)
from crownless.model_check.system.open_points import OpenPoints
from crownless.model_check.system.system import MonitorState, State, System
from crownless.spec import library, notation
from crownless.spec.clocks import LamportClock, VectorClock
from crownless.spec.computation import Message
from crownless.spec.orders import ORDERS, causal, fifo, total
from crownless.spec.orders import keeps as keeps_by_search

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "2 processes, 3 messages": lambda: Free(2, 3),
    "3 processes, 2 messages": lambda: Free(3, 2),
    "2 processes, 3 messages, self-sends": lambda: Free(2, 3, self_sends=True),
    "3 processes, 2 messages, multicast": lambda: Free(3, 2, sends="multicast"),
    "2 processes, 2 messages, multicast and self-sends": lambda: Free(2, 2, self_sends=True, sends="multicast"),
    "mf-program-1": lambda: Program(notation.load(library.path("mf-program-1"))),
    "mf-program-1-selective": lambda: Program(notation.load(library.path("mf-program-1-selective"))),
    "mf-program-3": lambda: Program(notation.load(library.path("mf-program-3"))),
    "a multicast and an answer": lambda: Program(
        notation.parse("P1: send x to P2, P3\nP2: receive; send y to P3\nP3: receive; receive")
    ),
}

#: Two processes, since a packet that may come twice multiplies the states.
REPEATED: dict[str, Callable[[], Workload]] = {"2 processes, 2 messages": lambda: Free(2, 2)}


def admitted(kind: type[ProtocolMachine], workload: Workload) -> bool:
    """Does the protocol's text admit the messages of this workload?"""
    if isinstance(workload, Free):
        messages = [Message("", sender, receivers) for sender, receivers in workload.channels]
    else:
        assert isinstance(workload, Program)
        messages = workload.all_messages
    return all(
        (kind.admits_self_sends or message.sender not in message.receivers)
        and (kind.admits_multicast or len(message.receivers) == 1)
        for message in messages
    )


#: What a monitor sees differs with these: sends and deliveries in one step or more, several deliveries in one step,
#: sends after the delivery, deadlocks, multicasts.
KINDS = {
    name: PROTOCOLS[name]
    for name in ("unordered", "rst", "buffer", "murty-garg", "rendezvous", "isis", "ses-multicast")
}

EXPLORED = [
    (protocol, channel, name)
    for protocol, kind in KINDS.items()
    for channel, workloads in (("unordered", WORKLOADS), ("fifo", WORKLOADS), ("duplicating", REPEATED))
    for name, workload in workloads.items()
    if admitted(kind, workload())
]


def system_of(protocol: str, channel: str, workload: str, monitors: Callable[[int], Sequence[Monitor]]) -> System:
    work = {**WORKLOADS, **REPEATED}[workload]()
    n = len(work.processes)
    return System(PROTOCOLS[protocol](n), work, CHANNELS[channel], monitors(n))


def walk(system: System) -> Iterator[tuple[State, MonitorState, list[Reported]]]:
    """Every node, distinguished also by what each monitor has reported on the way."""
    nodes = [(system.initial(), system.initial_monitor_state(), (frozenset[str](),) * len(system.monitors))]
    known = set(nodes)
    for state, monitor_state, reported in nodes:
        yield state, monitor_state, list(reported)
        for step, target in system.moves(state):
            monitor_states, reports = list(monitor_state), list(reported)
            for k, observe, code in step.codes:
                monitor_states[k], names = observe(monitor_states[k], code)
                reports[k] |= set(names)
            node = (target, tuple(monitor_states), tuple(reports))
            if node not in known:
                known.add(node)
                nodes.append(node)


# -- full explorations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "channel", "workload"),
    [combination for combination in EXPLORED if PROTOCOLS[combination[0]].sends_before_delivery],
)
def test_fifo_and_causal_reports_what_history_reports_at_every_node(protocol: str, channel: str, workload: str) -> None:
    system = system_of(
        protocol, channel, workload, lambda n: [FifoAndCausal(n), History(n, "fifo"), History(n, "causal")]
    )
    nodes = 0
    for _, _, (compact, by_fifo, by_causal) in walk(system):
        assert compact == by_fifo | by_causal
        nodes += 1
    assert nodes > 3


@pytest.mark.parametrize("order", open_points.WATCHED)
@pytest.mark.parametrize(("protocol", "channel", "workload"), EXPLORED)
def test_open_points_report_what_history_reports_at_every_node(
    protocol: str, channel: str, workload: str, order: str
) -> None:
    """History waits with its judgement while a message is delivered and not yet sent."""
    system = system_of(protocol, channel, workload, lambda n: [OpenPoints(n, order), History(n, order)])
    judged = 0
    for _, monitor_state, (compact, whole) in walk(system):
        assert whole <= compact
        events = set(chain.from_iterable(monitor_state[1]))
        if all(("send", message) in events for _, message in events):
            assert compact == whole
            judged += 1
    assert judged > 1


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


# -- renamed ---------------------------------------------------------------------------------------------------------

#: With three processes.
MONITORS: dict[str, Callable[[], Monitor]] = {
    "DeliveryMonitor": DeliveryMonitor,
    "DeliveryMonitor, deliveries after the send": lambda: DeliveryMonitor(sends_before_delivery=True),
    "FifoAndCausal": lambda: FifoAndCausal(3),
    **{f"OpenPoints of {order}": partial(OpenPoints, 3, order) for order in open_points.WATCHED},
    "History of n-n": lambda: History(3, "n-n"),
    "Lamport's clocks": lambda: Clocks(3, LamportClock()),
    "vector clocks": lambda: Clocks(3, VectorClock()),
}


@st.composite
def runs_of_three(draw: st.DrawFn) -> list[tuple[Observation, ...]]:
    """What happens for the applications in the first steps of a run of the free workload."""
    protocol = draw(st.sampled_from(sorted(KINDS)))
    channel = draw(st.sampled_from(["unordered", "duplicating"]))
    free = Free(3, 4, sends="multicast" if KINDS[protocol].admits_multicast else "unicast")
    system = System(KINDS[protocol](3), free, CHANNELS[channel], [DeliveryMonitor()])
    state, steps = system.initial(), []
    for _ in range(draw(st.integers(0, 14))):
        moves = system.moves(state)
        if not moves:
            break
        step, state = draw(st.sampled_from(moves))
        steps.append(step.observations)
    return steps


@pytest.mark.parametrize("kind", MONITORS)
@given(runs_of_three(), st.permutations(range(3)), st.booleans())
def test_a_monitor_state_renamed_is_the_monitor_state_of_the_run_renamed(
    kind: str, run: list[tuple[Observation, ...]], image: list[int], seen_before: bool
) -> None:
    monitor, renaming = MONITORS[kind](), Renaming(tuple(image))
    renamed_run = [
        [Observation(kind, image[process], renaming.message(message)) for kind, process, message in step]
        for step in run
    ]
    if seen_before:  # then the copies are numbered in another order
        for step in renamed_run:
            monitor.encode_all(step)
    monitor_state, other = monitor.initial(), monitor.initial()
    for before, after in zip(run, renamed_run, strict=True):
        for code, code_after in zip(monitor.encode_all(before), monitor.encode_all(after), strict=True):
            monitor_state, reported = monitor.observe(monitor_state, code)
            other, reported_after = monitor.observe(other, code_after)
            assert reported == reported_after
        assert monitor.renamed(monitor_state, renaming) == other


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
