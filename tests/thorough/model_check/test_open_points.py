"""The monitor of open points reports what a search by definition finds violated, on any sequence of events."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, permutations
from random import Random

import pytest
from event_sequences import computation_of, crown_can_be_avoided, delivers, lines_of, reported_by, sends, sequences
from hypothesis import given
from hypothesis import strategies as st

from crownless.model_check.system import open_points
from crownless.model_check.system.monitors import Monitor, Observation, keeps
from crownless.model_check.system.open_points import OpenPoints
from crownless.spec.computation import Message
from crownless.spec.orders import decide
from crownless.spec.orders import keeps as keeps_by_search


def test_a_message_that_its_sender_receives_before_it_sends_it_keeps_no_order() -> None:
    self_send = Message("a", 0, (0,))
    for order in open_points.WATCHED:
        assert reported_by(OpenPoints(1, order), [delivers(self_send)])[-1] == {order}


@given(sequences(self_sends=False, early=True, again=["send", "deliver"]))
def test_open_points_report_a_crown_exactly_as_soon_as_it_cannot_be_avoided(run: tuple[int, list[Observation]]) -> None:
    n, happened = run
    for length, reported in enumerate(reported_by(OpenPoints(n, "synchronous"), happened), 1):
        assert bool(reported) != crown_can_be_avoided(n, happened[:length])


@pytest.mark.parametrize("order", open_points.WATCHED)
@given(sequences(again=["deliver"]))
def test_open_points_report_exactly_what_a_search_by_definition_finds_broken(
    order: str, run: tuple[int, list[Observation]]
) -> None:
    n, happened = run
    for length, reported in enumerate(reported_by(OpenPoints(n, order), happened), 1):
        c = computation_of(n, happened[:length])
        assert bool(reported) != decide(c, order, "pending").kept
        assert bool(reported) != keeps_by_search(c, order, pending=True)


@pytest.mark.parametrize("order", [order for order in open_points.WATCHED if order != "synchronous"])
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


@pytest.mark.parametrize("order", open_points.WATCHED)
def test_open_points_report_what_the_spec_finds_broken_in_long_runs(order: str) -> None:
    """What is forgotten never matters later."""
    for seed in range(1000):
        n, happened = a_long_run(seed)
        for length, reported in enumerate(reported_by(OpenPoints(n, order), happened), 1):
            lines = tuple(map(tuple, lines_of(n, happened[:length])))
            assert bool(reported) != keeps(lines, order), (seed, length)
            if reported:
                break


def test_what_comes_before_a_forgotten_message_is_not_lost() -> None:
    """Once a is received, c is closed, and only a, which is closed as well, is before it; but b, whose receive is to
    come and may yet come after that of w, was sent before a was received.
    """
    among = {"a": (0, 1), "b": (1, 0), "c": (2, 0), "d": (2, 3), "z": (3, 2), "w": (2, 0)}
    messages = {name: Message(name, sender, (receiver,)) for name, (sender, receiver) in among.items()}
    steps = ("a", "b", "c", "+c", "+a", "d", "+d", "z", "+z", "w", "+w")
    happened = [(delivers if step[0] == "+" else sends)(messages[step[-1]]) for step in steps]
    reported = list(reported_by(OpenPoints(4, "n-n"), happened))
    assert reported == [frozenset()] * 10 + [{"n-n"}]
    assert decide(computation_of(4, happened), "one-n", "pending").kept
    assert not decide(computation_of(4, happened), "n-n", "pending").kept
    assert decide(computation_of(4, happened[:-1]), "n-n", "pending").kept


@pytest.mark.parametrize("order", open_points.WATCHED)
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
