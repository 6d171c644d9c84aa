"""The transition system: which steps a state has, and which deliveries are owed when a run ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from native_engine_setup import Question, question, reported

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.workloads import Free
from crownless.model_check.search.explorer import explore
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.monitors import DeliveryMonitor, Monitor, Observation
from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import AGREED, CRASHED, LocalStep, System
from crownless.spec import notation
from crownless.spec.computation import Message

# -- several deliveries in one step ------------------------------------------------------------------------------------


class DeliversTogether(ProtocolMachine):
    """Holds what it receives until three messages have come, and delivers them in one step, in that order."""

    promises = "asynchronous"

    def initial(self, i: int) -> tuple[Message, ...]:
        return ()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [Step(state, [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        held = (*state, packet.message)
        if len(held) < 3:
            return [Step(held)]
        return [Step((), (), [AppEvent("deliver", message) for message in held])]


#: Statement of P3 → the messages that it takes; x and y are from P1, z from P2.
TAKES = {
    "receive": "xyz",
    "receive from P1": "xy",
    "receive from P2": "z",
    "receive x": "x",
    "receive y from P1": "y",
    "send back to P2": "",
}
SENDS = ("send back to P2",)
#: Statements that a program may have twice.
REPEATED = ("receive", "receive from P1", "receive from P2")


def expected_of_orders(statements: Sequence[str]) -> set[bool]:
    """For each order in which the three messages can arrive: does P3 come to its end, although it gets all at once?

    It can send before and after that, but not between.
    """
    first, last = (statements[place] in SENDS for place in (0, -1))
    receives = statements[first : len(statements) - last]
    return {
        len(receives) == 3 and all(m in TAKES[statement] for m, statement in zip(order, receives, strict=True))
        for order in permutations("xyz")
    }


def valid(statements: Sequence[str]) -> bool:
    """True if no statement that names a message stands twice."""
    return all(statements.count(one) == 1 for one in statements if one not in REPEATED)


@given(st.lists(st.sampled_from([*TAKES]), min_size=2, max_size=5).filter(lambda some: valid(some)))
@settings(max_examples=40, derandomize=True, phases=[Phase.explicit, Phase.generate])
def test_a_step_delivers_several_messages_exactly_if_the_program_is_at_a_receive_for_each(
    statements: list[str],
) -> None:
    text = f"P1: send x to P3; send y to P3\nP2: send z to P3\nP3: {'; '.join(statements)}"
    case = question(DeliversTogether, program=notation.parse(text))
    found, orders = case.plain(), expected_of_orders(statements)
    assert ("can-complete" in found.reached) == (True in orders)
    assert ("completes" in found.violated) == (False in orders)
    assert reported(case.native()) == reported(found)


def test_the_programs_above_complete_in_each_order_of_arrival_in_some_or_in_none() -> None:
    programs = [statements for statements in permutations([*TAKES, "receive", "receive"], 3) if valid(statements)]
    kinds = {frozenset(expected_of_orders(statements)) for statements in programs}
    assert kinds == {frozenset({True}), frozenset({False}), frozenset({True, False})}


# -- what is owed once a process has crashed ---------------------------------------------------------------------------


@given(st.data())
@settings(derandomize=True)
def test_deliveries_are_owed_exactly_between_processes_that_have_not_crashed_and_sends_by_them(
    data: st.DataObject,
) -> None:
    """Whatever was submitted, sent and delivered, in the free workload."""
    n = data.draw(st.integers(2, 4))
    crash = data.draw(st.none() | st.integers(0, n - 1))
    system = System(Unordered(n), Free(n, 3, sends="multicast"), CHANNELS["unordered"], [DeliveryMonitor()], crash)
    copies = [(m, q) for m in system.workload.universe() for q in m.receivers]
    handed = data.draw(st.sets(st.sampled_from(sorted({m for m, _ in copies})), max_size=4))
    delivered = data.draw(st.sets(st.sampled_from(copies), max_size=4))
    monitor_state: Any = system.initial_monitor_state()
    sent = data.draw(st.sets(st.sampled_from(sorted(handed)))) if handed else set()
    for m in handed:
        events = [Observation("hand", m.sender, m)] + [Observation("send", m.sender, m)] * (m in sent)
        monitor_state = observed(system, monitor_state, *events)
    for m, q in delivered:
        if m in handed:
            monitor_state = observed(system, monitor_state, Observation("deliver", q, m))
    state = system.initial()
    if crash is not None:
        (state,) = [after for step, after in system.moves(state) if step.action.name == "crash"]
        assert system.local_states(state)[crash] is CRASHED
    owed = {(m, q) for m, q in copies if m in handed and (m, q) not in delivered and crash not in (m.sender, q)}
    assert set(system.undelivered(monitor_state, state)) == owed
    unsent = {m.name for m in handed - sent if m.sender != crash}
    assert set(system.unsent(monitor_state, system.crashed(state))) == unsent


def observed(system: System, monitor_state: Any, *observations: Observation) -> Any:
    """The monitor state after these observations."""
    step = LocalStep(None, -1, codes=system._encode(observations))  # type: ignore[arg-type]
    return system.evaluate(monitor_state, step)[0]


class ByP2(ProtocolMachine):
    """P2 passes on what P1 and P3 send each other."""

    promises = "asynchronous"

    def initial(self, i: int) -> tuple[()]:
        return ()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        to = message.receiver if i == 1 else 1
        return [Step(state, [Packet(i, to, "message", message)], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        message = packet.message
        assert message is not None
        if message.receiver == i:
            return [Step(state, (), [AppEvent("deliver", message)])]
        return [Step(state, [Packet(i, message.receiver, "message", message)])]


def with_a_crash(kind: type[ProtocolMachine], process: str, channel: str = "unordered") -> Question:
    return question(kind, 3, 2, channel, crash=process, orders=("asynchronous",))


@pytest.mark.parametrize("process", ["P1", "P2", "P3"])
@pytest.mark.parametrize("channel", ["unordered", "fifo"])
def test_what_is_sent_to_a_crashed_process_or_by_it_is_not_owed(channel: str, process: str) -> None:
    case = with_a_crash(Unordered, process, channel)
    assert "delivers-all" not in case.plain().violated
    assert "delivers-all" not in case.native().violated


def test_what_survivors_send_each_other_is_owed_although_another_process_has_crashed() -> None:
    """Without the crash of P2 everything is delivered; P1 and P3 do not depend on each other."""
    for process in ("P1", "P2", "P3"):
        case = with_a_crash(ByP2, process)
        expected = {"delivers-all"} if process == "P2" else set()
        assert case.plain().violated.keys() & {"delivers-all"} == expected
        assert case.native().violated.keys() & {"delivers-all"} == expected


def after(system: System, *actions: str) -> Any:
    """The state after the first move of each of these names, one after the other."""
    state = system.initial()
    for name in actions:
        state = next(target for step, target in system.moves(state) if step.action.name == name)
    return state


@pytest.mark.parametrize("process", [0, 1, 2])
def test_each_packet_of_a_crashed_process_may_be_lost_and_no_other(process: int) -> None:
    system = System(Unordered(3), Free(3, 5), CHANNELS["unordered"], [DeliveryMonitor()], process)
    state = after(system, *["send"] * 5)
    state = next(target for step, target in system.moves(state) if step.action.name == "crash")
    lost = [step.action.packet for step, _ in system.moves(state) if step.action.name == "lose"]
    assert set(lost) == {packet for packet in system.in_flight(state) if packet.source == process}
    system = System(Unordered(2), Free(2, 3), CHANNELS["unordered"], [DeliveryMonitor()], 0)
    ends = {len(reached.in_flight) for reached in reachable(system) if system.crashed(reached.state) == 0}
    assert ends == {0, 1, 2, 3}


class Agrees(Unordered):
    """The survivors of a crash agree once; each may learn it in two ways."""

    def initial(self, i: int) -> Any:
        return "at first"

    def agree(self, states: Mapping[int, Any], crashed: int) -> Any:
        return "over" if set(states.values()) == {"at first"} else None

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if packet.kind == AGREED:
            return [Step("one way"), Step("another way")]
        return super().on_packet(i, state, packet)


def test_what_survivors_agree_reaches_each_of_them_in_each_way_before_anything_else() -> None:
    system = System(Agrees(3), Free(3, 1), CHANNELS["unordered"], [DeliveryMonitor()], 0)
    state = after(system, "crash", "agree")
    learned = [target for step, target in system.moves(state)]
    assert {step.action.name for step, _ in system.moves(state)} == {"receive agreed"}
    both = {tuple(system.local_states(last)[1:]) for first in learned for _, last in system.moves(first)}
    assert both == {(p, q) for p in ("one way", "another way") for q in ("one way", "another way")}


# -- what one step violates --------------------------------------------------------------------------------------------


class Breaks(Monitor):
    """Any delivery breaks its properties."""

    def __init__(self, *names: str) -> None:
        self.watches = names

    def initial(self) -> int:
        return 0

    def observe(self, monitor_state: int, code: Observation) -> tuple[int, tuple[str, ...]]:
        return monitor_state, self.watches if code.kind == "deliver" else ()


@given(st.lists(st.sets(st.sampled_from("abcd"), max_size=2), max_size=3))
@settings(max_examples=20, derandomize=True)
def test_a_step_violates_what_any_of_the_monitors_reports(properties: list[set[str]]) -> None:
    monitors = [DeliveryMonitor(), *(Breaks(*sorted(names)) for names in properties)]
    system = System(Unordered(2), Free(2, 1), CHANNELS["unordered"], monitors)
    found = explore(system, [Property(name, "always", "") for name in "abcd"])
    assert found.violated == dict.fromkeys(set().union(*properties), 2)


EVENTS = st.lists(st.tuples(st.sampled_from(["send", "deliver"]), st.integers(0, 1)), max_size=4)


@given(EVENTS)
@settings(max_examples=60, derandomize=True)
def test_of_one_step_the_same_deliveries_are_reported_as_of_its_events_one_by_one(
    events: list[tuple[Any, int]],
) -> None:
    """A step that submits a message to its sender and another process, and has these events."""
    m = Message("m", 0, (0, 1))
    step = [Observation("hand", 0, m), *(Observation(kind, process, m) for kind, process in events)]
    monitor = DeliveryMonitor(sends_before_delivery=True)
    assert reported_of(monitor, monitor.encode_all(step)) == reported_of(monitor, map(monitor.encode, step))


def reported_of(monitor: DeliveryMonitor, codes: Iterable[Any]) -> tuple[Any, set[str]]:
    """The monitor state after these codes, and the properties violated on the way."""
    monitor_state: Any = monitor.initial()
    violated: set[str] = set()
    for code in codes:
        monitor_state, names = monitor.observe(monitor_state, code)
        violated |= {*names}
    return monitor_state, violated
