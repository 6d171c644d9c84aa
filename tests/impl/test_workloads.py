"""Workloads: what the applications want next, when they are done, and what they wait for."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Position, Program, Workload
from crownless.model_check.system.values import key_of
from crownless.runtime.errors import BadInput
from crownless.spec import library, notation
from crownless.spec.computation import Message

X = Message("x", 0, (2,))


def program(text: str) -> Program:
    return Program(notation.parse(text))


def sends(workload: Workload, position: Position) -> list[str]:
    return [pending.message.name for pending in workload.pending_sends(position)]


def send(workload: Workload, position: Position, name: str) -> Position:
    """The position once the message of that name is submitted."""
    (after,) = [pending.after for pending in workload.pending_sends(position) if pending.message.name == name]
    return after


def deliver(workload: Workload, position: Position, name: str, sender: int, receiver: int) -> Position | None:
    return workload.delivered(position, receiver, Message(name, sender, (receiver,)))


def test_nothing_can_be_added_to_a_message() -> None:
    free = Free(3, 2).message(1, 12)
    (of_a_program,) = program("P: send x to Q\nQ: receive").all_messages
    for message in (free, of_a_program):
        assert key_of(message) == message
        with pytest.raises(AttributeError):
            message.number = 1  # type: ignore[attr-defined]
    assert free == pickle.loads(pickle.dumps(free)) == Message("1→3#12", 0, (2,))
    assert Renaming((1, 2, 0)).message(free) == Message("2→1#12", 1, (0,))


# -- free --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "messages"),
    [
        (Free(3, 2), "1→2#1 1→3#1 2→1#1 2→3#1 3→1#1 3→2#1"),
        (Free(2, 1, self_sends=True), "1→1#1 1→2#1 2→1#1 2→2#1"),
        (Free(3, 1, sends="multicast"), "1→2#1 1→3#1 1→23#1 2→1#1 2→3#1 2→13#1 3→1#1 3→2#1 3→12#1"),
    ],
)
def test_at_first_any_process_may_send_to_any_other_or_to_several_or_to_itself(free: Free, messages: str) -> None:
    assert free.processes == ("P1", "P2", "P3")[: len(free.processes)]
    assert sends(free, free.start()) == messages.split()
    for pending in free.pending_sends(free.start()):
        to = pending.message.name.removesuffix("#1").partition("→")[2]
        receivers = tuple(int(number) - 1 for number in to)
        assert pending.message == Message(pending.message.name, pending.process, receivers)


def test_broadcast_to_all_is_broadcast_with_the_sender_among_the_receivers() -> None:
    free = Free(3, 1, sends="broadcast-to-all")
    assert sends(free, free.start()) == ["1→123#1", "2→123#1", "3→123#1"]
    assert (free.sends, free.self_sends) == ("broadcast", True)
    assert free.channels == Free(3, 1, sends="broadcast", self_sends=True).channels


def test_runs_that_differ_in_the_order_of_concurrent_sends_meet_in_one_position() -> None:
    free = Free(2, 2)
    one = send(free, send(free, free.start(), "1→2#1"), "2→1#1")
    other = send(free, send(free, free.start(), "2→1#1"), "1→2#1")
    assert one == other
    hash(one)


@given(
    st.integers(2, 4),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 100), min_size=5, max_size=5),
)
def test_exactly_as_many_messages_are_sent_as_the_budget_says_and_no_two_have_one_name(
    n: int, budget: int, self_sends: bool, multicast: bool, picks: list[int]
) -> None:
    free = Free(n, budget, self_sends=self_sends, sends="multicast" if multicast else "unicast")
    position, sent = free.start(), list[Message]()
    for pick in picks[:budget]:
        assert not free.finished(position)
        pending = free.pending_sends(position)[pick % len(free.pending_sends(position))]
        sent.append(pending.message)
        position = pending.after
    assert free.finished(position)
    assert free.pending_sends(position) == []
    assert len({message.name for message in sent}) == free.messages == budget
    for message in sent:
        assert self_sends or message.sender not in message.receivers
        assert multicast or len(message.receivers) == 1


def test_the_free_workload_says_how_many_sends_were_never_taken() -> None:
    free = Free(3, 4)
    assert free.describe(free.start()) == ["4 of 4 sends were never accepted by the protocol"]
    position = send(free, free.start(), "1→2#1")
    assert free.describe(position) == ["3 of 4 sends were never accepted by the protocol"]


def test_a_process_alone_has_nobody_to_send_to() -> None:
    with pytest.raises(BadInput) as caught:
        Free(1, 2)
    assert str(caught.value) == "1 process has no other process to send to; use two processes or more, or --self-sends"
    assert sends(Free(1, 1, self_sends=True), (0,)) == ["1→1#1"]


# -- programs ----------------------------------------------------------------------------------------------------------


def test_a_program_sends_what_it_says_and_in_its_order() -> None:
    first = program("P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive; receive")
    assert first.processes == ("P1", "P2", "P3")
    assert [message.name for message in first.all_messages] == ["x", "y", "z"]
    assert first.messages == 3
    assert not first.takes_anything
    assert sends(first, first.start()) == ["x"]
    position = send(first, first.start(), "x")
    assert sends(first, position) == ["y"]
    position = send(first, position, "y")
    assert sends(first, position) == []  # P2 receives first
    position = deliver(first, position, "y", 0, 1)
    assert sends(first, position) == ["z"]


def test_a_program_in_between_says_what_each_process_waits_for() -> None:
    first = Program(notation.load(library.path("mf-program-1")))
    assert first.describe(first.start()) == [
        "P1 at its statement 1, send x",
        "P2 at its statement 1, receive",
        "P3 at its statement 1, receive",
    ]
    position = send(first, send(first, first.start(), "x"), "y")
    assert first.describe(position) == ["P2 at its statement 1, receive", "P3 at its statement 1, receive"]


def test_a_program_is_finished_when_every_process_has_done_all_its_statements() -> None:
    short = program("P1: send x to P2\nP2: receive")
    assert not short.finished(short.start())
    position = send(short, short.start(), "x")
    assert not short.finished(position)
    position = deliver(short, position, "x", 0, 1)
    assert short.finished(position)
    assert short.describe(position) == []
    assert sends(short, position) == []
    assert not short.ready_to_receive(position, 1)
    assert deliver(short, position, "x", 0, 1) is None


@given(st.tuples(*[st.integers(0, 2)] * 3), st.none() | st.integers(0, 2))
def test_a_program_is_finished_exactly_if_every_process_but_a_crashed_one_is_at_its_end(
    done: tuple[int, int, int], crashed: int | None
) -> None:
    three = program("P: send x to Q; send y to R\nQ: receive; send z to R\nR: receive; receive")
    unfinished = [p for p, count in enumerate(done) if count < 2 and p != crashed]
    assert three.finished(done, crashed) == (not unfinished)
    assert [wait.split()[0] for wait in three.describe(done, crashed)] == ["PQR"[p] for p in unfinished]


def test_a_plain_receive_takes_any_message_and_a_send_takes_none() -> None:
    two = program("P1: send x to P2\nP2: receive; send y to P1\nP3:")
    start = two.start()
    assert [two.ready_to_receive(start, process) for process in range(3)] == [False, True, False]
    assert two.wanted_sender(start, 1) is None
    assert deliver(two, start, "x", 0, 1) == (0, 1, 0)
    assert deliver(two, start, "anything", 2, 1) == (0, 1, 0)
    assert deliver(two, start, "y", 1, 0) is None  # P1 sends first
    assert deliver(two, start, "z", 1, 2) is None  # P3 receives nothing at all


@pytest.mark.parametrize(
    ("receive", "wanted", "taken"),
    [
        ("receive", None, {"x", "y", "z"}),
        ("receive from P2", 1, {"y"}),
        ("receive x", None, {"x"}),
        ("receive x from P1", 0, {"x"}),
    ],
)
def test_a_receive_takes_only_what_it_selects_by_sender_and_by_message(
    receive: str, wanted: int | None, taken: set[str]
) -> None:
    selective = program(f"P1: send x to P3; send z to P3\nP2: send y to P3\nP3: {receive}; receive")
    start = selective.start()
    assert selective.wanted_sender(start, 2) == wanted
    assert selective.describe(start)[2] == f"P3 at its statement 1, {receive}"
    for name, sender in {"x": 0, "y": 1, "z": 0}.items():
        assert deliver(selective, start, name, sender, 2) == ((0, 0, 1) if name in taken else None)


def test_a_program_may_send_one_message_to_several_named_in_any_order() -> None:
    multicast = program("Alice: send m to Carol, Bob\nBob: receive\nCarol: receive")
    assert multicast.all_messages == [Message("m", 0, (1, 2))]
    assert multicast.processes == ("Alice", "Bob", "Carol")
    assert multicast.describe(multicast.start())[0] == "Alice at its statement 1, send m"
