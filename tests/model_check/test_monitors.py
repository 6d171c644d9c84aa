"""The compact monitors say what the spec says: at every node of full explorations, and on any sequence of events."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import chain, permutations
from random import Random

import pytest
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
from crownless.spec import by_search, library, notation
from crownless.spec.clocks import LamportClock, VectorClock
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import ORDERS, causal, decide, fifo, total

#: What a monitor has reported on the way to a node.
Reported = frozenset[str]

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


@pytest.mark.parametrize("order", open_points.ORDERS)
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


def sends(message: Message) -> Observation:
    return Observation("send", message.sender, message)


def delivers(message: Message) -> Observation:
    return Observation("deliver", message.receiver, message)


@st.composite
def sequences(
    draw: st.DrawFn, *, self_sends: bool = True, early: bool = False, again: Sequence[str] = ()
) -> tuple[int, list[Observation]]:
    """Application events of n processes in any order that makes sense.

    `early`: a message may be delivered before it is sent. `again`: kinds of events that may be repeated.
    """
    n = draw(st.integers(2, 4))
    messages = []
    for k in range(draw(st.integers(1, 4))):
        sender = draw(st.integers(0, n - 1))
        others = [q for q in range(n) if q != sender or self_sends]
        receivers = draw(st.sets(st.sampled_from(others), min_size=1, max_size=2))
        messages.append(Message(f"m{k + 1}", sender, tuple(sorted(receivers))))
    happened: list[Observation] = []
    length = draw(st.integers(0, 3 * len(messages)))
    while len(happened) < length:
        possible = list(map(sends, messages))
        for message in messages:
            if early or sends(message) in happened:
                possible += [Observation("deliver", q, message) for q in message.receivers]
        possible = [event for event in possible if event not in happened or event.kind in again]
        if not possible:
            break
        happened.append(draw(st.sampled_from(possible)))
    return n, happened


def lines_of(n: int, happened: Sequence[Observation]) -> list[list[tuple[str, Message]]]:
    """The first occurrence of every event, on its process's line."""
    lines: list[list[tuple[str, Message]]] = [[] for _ in range(n)]
    for kind, process, message in happened:
        event = ("send" if kind == "send" else "receive", message)
        if event not in lines[process]:
            lines[process].append(event)
    return lines


def computation_of(n: int, happened: Sequence[Observation]) -> Computation:
    return Computation.of_message_lines(lines_of(n, happened))


def reported_by(monitor: Monitor, happened: Sequence[Observation]) -> list[Reported]:
    """What the monitor has reported so far, after each event. Each message is handed over before its first one."""
    monitor_state, reported, after = monitor.initial(), frozenset[str](), []
    handed = {observation.message for observation in happened if observation.kind == "hand"}
    for observation in happened:
        message = observation.message
        before = [] if message in handed else [Observation("hand", message.sender, message)]
        handed.add(message)
        for each in (*before, observation):
            code = monitor.encode(each)
            if code is not None:
                monitor_state, names = monitor.observe(monitor_state, code)
                reported |= set(names)
        after.append(reported)
    return after


def crown_can_be_avoided(n: int, happened: Sequence[Observation]) -> bool:
    """By definition: can each message be given one moment at which all its events take place, those to come as well?

    Moments do not decrease along a line, and what is to come there comes after all the rest.
    """
    lines = [[message for _, message in line] for line in lines_of(n, happened)]
    messages = sorted({message for line in lines for message in line})
    to_come = [
        (process, message)
        for message in messages
        for process, kind in ((message.sender, "send"), *((q, "receive") for q in message.receivers))
        if (kind, message) not in lines_of(n, happened)[process]
    ]
    for order in permutations(messages):
        moment = {message: k for k, message in enumerate(order)}
        moments = [[moment[message] for message in line] for line in lines]
        if all(line == sorted(line) for line in moments) and all(
            not moments[process] or moments[process][-1] <= moment[message] for process, message in to_come
        ):
            return True
    return False


A, B = Message("a", 0, (1,)), Message("b", 1, (0,))


@given(sequences(again=["deliver"]))
def test_fifo_and_causal_reports_exactly_what_the_spec_finds_broken(run: tuple[int, list[Observation]]) -> None:
    n, happened = run
    for length, reported in enumerate(reported_by(FifoAndCausal(n), happened), 1):
        c = computation_of(n, happened[:length])
        kept = {verdict.order for verdict in (fifo(c, "pending"), causal(c, "pending")) if verdict.kept}
        assert reported == {"fifo", "causal"} - kept
        assert kept == {order for order in ("fifo", "causal") if by_search.keeps(c, order, pending=True)}


@given(sequences())
def test_history_reports_exactly_what_a_search_by_definition_finds_broken(run: tuple[int, list[Observation]]) -> None:
    n, happened = run
    c = computation_of(n, happened)
    for order in ORDERS:
        reported = reported_by(History(n, order), happened)
        assert not reported or (order in reported[-1]) != by_search.keeps(c, order, pending=True)


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


def test_a_message_that_its_sender_receives_before_it_sends_it_keeps_no_order() -> None:
    self_send = Message("a", 0, (0,))
    for order in open_points.ORDERS:
        assert reported_by(OpenPoints(1, order), [delivers(self_send)])[-1] == {order}


@given(sequences(self_sends=False, early=True, again=["send", "deliver"]))
def test_open_points_report_a_crown_exactly_as_soon_as_it_cannot_be_avoided(run: tuple[int, list[Observation]]) -> None:
    n, happened = run
    for length, reported in enumerate(reported_by(OpenPoints(n, "synchronous"), happened), 1):
        assert bool(reported) != crown_can_be_avoided(n, happened[:length])


@pytest.mark.parametrize("order", open_points.ORDERS)
@given(sequences(again=["deliver"]))
def test_open_points_report_exactly_what_a_search_by_definition_finds_broken(
    order: str, run: tuple[int, list[Observation]]
) -> None:
    n, happened = run
    for length, reported in enumerate(reported_by(OpenPoints(n, order), happened), 1):
        c = computation_of(n, happened[:length])
        assert bool(reported) != decide(c, order, "pending").kept
        assert bool(reported) != by_search.keeps(c, order, pending=True)


@pytest.mark.parametrize("order", [order for order in open_points.ORDERS if order != "synchronous"])
@given(sequences(early=True))
def test_open_points_report_no_violation_that_sends_to_come_can_avoid(
    order: str, run: tuple[int, list[Observation]]
) -> None:
    """Where messages are received before they are sent; once they are sent, exactly what is violated. Of synchronous
    order, where sending at last may be too early, see the test of crowns.
    """
    n, happened = run
    for length, reported in enumerate(reported_by(OpenPoints(n, order), happened), 1):
        lines = lines_of(n, happened[:length])
        unsent = [m for m in dict.fromkeys(e.message for e in happened[:length]) if ("send", m) not in lines[m.sender]]
        ways = []
        for sends_to_come in permutations(unsent):
            then = [list(line) for line in lines]
            for message in sends_to_come:
                then[message.sender].append(("send", message))
            ways.append(keeps(tuple(map(tuple, then)), order))
        assert not (reported and any(ways))
        assert unsent or bool(reported) != any(ways)


def a_long_run(seed: int) -> tuple[int, list[Observation]]:
    """Up to nine messages, most of them delivered soon after the send, so that long ones come to be forgotten."""
    random = Random(seed)
    n, open_copies, happened = random.randint(2, 4), list[Observation](), list[Observation]()
    sent, most = 0, random.randint(4, 9)
    while sent < most or open_copies:
        if sent < most and (not open_copies or random.random() < 0.5):
            sent += 1
            sender, many = random.randrange(n), random.choice((1, 1, 1, 2))
            receivers = random.sample([q for q in range(n) if q != sender], min(many, n - 1))
            message = Message(f"m{sent}", sender, tuple(sorted(receivers)))
            happened.append(sends(message))
            open_copies += [Observation("deliver", q, message) for q in message.receivers]
        else:
            happened.append(open_copies.pop(random.randrange(-min(3, len(open_copies)), 0)))
    return n, happened


@pytest.mark.parametrize("order", open_points.ORDERS)
def test_open_points_report_what_the_spec_finds_broken_in_long_runs(order: str) -> None:
    """What is forgotten never matters later."""
    for seed in range(1000):
        n, happened = a_long_run(seed)
        for length, reported in enumerate(reported_by(OpenPoints(n, order), happened), 1):
            lines = tuple(map(tuple, lines_of(n, happened[:length])))
            assert bool(reported) != keeps(lines, order), (seed, length)
            if reported:
                break


@pytest.mark.parametrize("order", open_points.ORDERS)
@given(sequences(early=True), st.randoms())
def test_the_open_points_do_not_depend_on_the_order_of_events_at_different_processes(
    order: str, run: tuple[int, list[Observation]], random: Random
) -> None:
    """Sleep sets rely on it."""
    n, happened = run
    happened = list(chain.from_iterable(with_handing(happened)))
    monitor = OpenPoints(n, order)
    assert after_all(monitor, happened) == after_all(monitor, reordered(happened, random))


def with_handing(happened: Sequence[Observation]) -> Iterator[list[Observation]]:
    """Each message is handed over before its first event."""
    handed = set[Message]()
    for observation in happened:
        message = observation.message
        yield [observation] if message in handed else [Observation("hand", message.sender, message), observation]
        handed.add(message)


def reordered(happened: Sequence[Observation], random: Random) -> list[Observation]:
    """The same events in another order, the same at each process, each delivery after the message is handed over."""
    left, after, handed = list(happened), list[Observation](), set[Message]()
    while left:
        first = {event.process: event for event in reversed(left)}
        possible = [event for event in first.values() if event.kind == "hand" or event.message in handed]
        event = random.choice(sorted(possible))
        left.remove(event)
        after.append(event)
        handed.add(event.message)
    return after


def after_all(monitor: Monitor, happened: Sequence[Observation]) -> Hashable:
    monitor_state: Hashable = monitor.initial()
    for observation in happened:
        monitor_state, _ = monitor.observe(monitor_state, monitor.encode(observation))
    return monitor_state


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
        assert bool(reported) != by_search.keeps(c, "total", pending=True)


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
    **{f"OpenPoints of {order}": partial(OpenPoints, 3, order) for order in open_points.ORDERS},
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
