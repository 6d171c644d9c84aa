"""Computations: how events are numbered, happened-before, consistent cuts, and the lines that are refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations

import networkx as nx
import pytest

from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message, consistent_cuts, process_names, project
from crownless.spec.enumeration import computations
from crownless.spec.notation import parse, to_computation

X = Message("x", 0, (1,))
Y = Message("y", 1, (0,))
SEND_X, RECEIVE_X = Event("send", 0), Event("receive", 0)
SEND_Y, RECEIVE_Y = Event("send", 1), Event("receive", 1)
INTERNAL = Event("internal", None)

SMALL = (
    *computations(3, 3),
    *computations(2, 3, complete=False, self_sends=True),
    *computations(3, 2, complete=False, sends="multicast"),
)


def computation(text: str) -> Computation:
    return to_computation(parse(text))


def bits(events: Iterable[int]) -> int:
    return sum(1 << e for e in events)


# -- events and messages -----------------------------------------------------------------------------------------------


def test_events_are_numbered_line_after_line() -> None:
    c = computation("P1: send x to P2, P3; ...\nP2: ...; receive x; send y to P1\nP3:")
    assert c.first_event == (0, 2, 5, 5)
    assert c.event_count == 5
    assert c.process_of == (0, 0, 1, 1, 1)
    assert c.events == (SEND_X, INTERNAL, INTERNAL, RECEIVE_X, SEND_Y)
    assert c.send_event == (0, 4)
    assert c.receive_events == ({1: 3}, {})


def test_a_message_overtakes_one_that_is_received_after_it_or_not_at_all() -> None:
    c = computation(
        "P1: send x to P2; send y to P2; send z to P2; send w to P3\nP2: receive y; receive x\nP3: receive w"
    )
    x, y, z, w = range(4)
    at_p2 = {(second, first) for second in range(4) for first in range(4) if c.overtakes(second, first, 1)}
    assert at_p2 == {(y, x), (y, z), (x, z), (y, w), (x, w)}
    assert [c.overtakes(w, m, 2) for m in (x, y, z)] == [True] * 3
    assert not any(c.overtakes(second, first, 0) for second in range(4) for first in range(4))


def test_a_computation_is_made_of_events_with_their_messages() -> None:
    lines = [[("send", X), ("deliver", Y)], [("send", Y), ("receive", X)]]
    assert Computation.of_message_lines(lines) == Computation.of_lines(
        2, [X, Y], [[SEND_X, RECEIVE_Y], [SEND_Y, RECEIVE_X]]
    )


def test_a_computation_is_complete_when_every_copy_is_received() -> None:
    incomplete = computation("P1: send x to P2, P3\nP2: receive x; send y to P1\nP3:")
    assert incomplete.unreceived == ((0, 2), (1, 0))
    assert not incomplete.complete
    complete = computation("P1: send x to P2, P3; receive y\nP2: receive x; send y to P1\nP3: receive x")
    assert complete.unreceived == ()
    assert complete.complete


def test_only_a_unicast_has_the_receiver() -> None:
    assert X.receiver == 1
    with pytest.raises(ValueError, match="has no one receiver"):
        _ = Message("x", 0, (1, 2)).receiver


def test_processes_and_events_are_called_by_the_papers_names() -> None:
    c = Computation.of_lines(2, [X], [[SEND_X, INTERNAL], [RECEIVE_X]])
    assert c.processes == process_names(2) == ("P1", "P2")
    assert [c.say(e) for e in range(3)] == ["P1 sends x", "internal event at P1", "P2 receives x"]


def test_a_process_may_have_no_events_and_a_computation_no_messages() -> None:
    assert Computation.of_lines(2, [], [[], []]).complete
    assert Computation.of_lines(0, [], []).linearization == ()


# -- happened-before ---------------------------------------------------------------------------------------------------


@cache
def closure(c: Computation) -> nx.DiGraph[int]:
    """Happened-before from [Lam78]'s definition: the transitive closure of the lines and the messages."""
    steps: nx.DiGraph[int] = nx.DiGraph()
    numbers = iter(range(c.event_count))
    lines = [[next(numbers) for _ in line] for line in c.lines]
    for line in lines:
        steps.add_nodes_from(line)
        steps.add_edges_from(zip(line, line[1:], strict=False))
    events = list(enumerate(event for line in c.lines for event in line))
    for send, (kind, message) in events:
        if kind == "send":
            steps.add_edges_from((send, receive) for receive, event in events if event == ("receive", message))
    closed: nx.DiGraph[int] = nx.transitive_closure(steps)
    return closed


def test_happened_before_is_the_transitive_closure_of_lines_and_messages() -> None:
    for c in SMALL:
        closed = closure(c)
        for e in range(c.event_count):
            assert c.past[e] == bits(closed.predecessors(e))
            for f in range(c.event_count):
                assert c.happened_before(e, f) == c.happened_before_by_search(e, f) == closed.has_edge(e, f)


def test_two_events_are_concurrent_when_neither_happened_before_the_other() -> None:
    for c in SMALL:
        closed = closure(c)
        for e in range(c.event_count):
            assert not c.concurrent(e, e)
            for f in range(e):
                assert c.concurrent(e, f) == c.concurrent(f, e) == (not closed.has_edge(e, f) | closed.has_edge(f, e))


def test_a_linearization_has_every_event_after_all_that_happened_before_it() -> None:
    for c in SMALL:
        place = {e: i for i, e in enumerate(c.linearization)}
        assert sorted(place) == list(range(c.event_count))
        assert all(place[e] < place[f] for e, f in closure(c).edges)


def test_the_linearization_is_the_least_by_process_then_index() -> None:
    for c in SMALL:
        assert c.linearization == tuple(nx.lexicographical_topological_sort(closure(c)))


# -- consistent cuts ---------------------------------------------------------------------------------------------------


def test_down_sets_are_the_consistent_cuts_each_once() -> None:
    for c in SMALL:
        cuts = list(consistent_cuts(c))
        assert len(set(cuts)) == len(cuts)
        subsets = (set(s) for k in range(c.event_count + 1) for s in combinations(range(c.event_count), k))
        edges = list(closure(c).edges)
        assert set(cuts) == {bits(s) for s in subsets if all(e in s for e, f in edges if f in s)}


# -- fewer messages ----------------------------------------------------------------------------------------------------


def test_a_restricted_computation_keeps_the_events_of_its_messages_in_place() -> None:
    c = computation("P1: send x to P2; ...; send y to P2; send z to P3\nP2: receive z2; receive y\nP3: send z2 to P2")
    kept = project(c, (m for m, message in enumerate(c.messages) if message.name in ("y", "z2")))
    assert kept == computation("P1: send y to P2\nP2: receive z2; receive y\nP3: send z2 to P2")


def test_a_restricted_computation_orders_no_events_that_were_unordered() -> None:
    for c in SMALL:
        for m in range(len(c.messages)):
            fewer = project(c, (k for k in range(len(c.messages)) if k != m))
            whole = {c.say(e): e for e in range(c.event_count)}
            pairs = ((e, f) for e in range(fewer.event_count) for f in range(fewer.event_count))
            for e, f in pairs:
                if fewer.happened_before(e, f):
                    assert c.happened_before(whole[fewer.say(e)], whole[fewer.say(f)])


# -- what is refused ---------------------------------------------------------------------------------------------------


def refusal(messages: Sequence[Message], *lines: Sequence[Event]) -> str:
    """The words in which these messages and lines are refused."""
    with pytest.raises(BadInput) as caught:
        Computation.of_lines(len(lines), messages, lines)
    return str(caught.value)


TO_ITSELF, TO_TWO = Message("x", 0, (0,)), Message("x", 0, (1, 2))
CYCLIC = "no message can be received before it is sent"
UNKNOWN = "message x names process number 2; use 0 to 1"


@pytest.mark.parametrize(
    ("messages", "lines", "words"),
    [
        (
            [X, Y],
            [[RECEIVE_Y, SEND_X], [RECEIVE_X, SEND_Y]],
            (
                "the computation is cyclic: "
                f"P1 receives y → P1 sends x → P2 receives x → P2 sends y → P1 receives y; {CYCLIC}"
            ),
        ),
        (
            [TO_ITSELF],
            [[RECEIVE_X, SEND_X]],
            f"the computation is cyclic: P1 receives x → P1 sends x → P1 receives x; {CYCLIC}",
        ),
        ([X], [[], [RECEIVE_X]], "x is never sent; add 'send x to …' or drop its receive"),
        ([X, Y], [[SEND_X], []], "y is never sent; add 'send y to …' or drop its receive"),
        ([X], [[SEND_X, SEND_X], []], "P1 sends x twice; name each message once"),
        ([X], [[SEND_X], [RECEIVE_X, RECEIVE_X]], "P2 receives x twice; name each message once"),
        ([X], [[], [SEND_X]], "P2 sends x, which is P1's message"),
        ([X], [[SEND_X], [], [RECEIVE_X]], "P3 receives x, which is not sent to it; x is for P2"),
        ([TO_TWO], [[SEND_X, RECEIVE_X], [], []], "P1 receives x, which is not sent to it; x is for P2, P3"),
        ([Message("x", 0, ())], [[SEND_X], []], "message x has no receiver; name a receiver"),
        ([Message("x", 0, (1, 1))], [[SEND_X], []], "message x names a receiver twice; name each receiver once"),
        ([Message("x", 0, (2,))], [[SEND_X], []], UNKNOWN),
        ([Message("x", 2, (0,))], [[SEND_X], []], UNKNOWN),
        ([TO_TWO], [[SEND_X], []], UNKNOWN),
        ([Message("x", 0, (-1,))], [[SEND_X], []], "message x names process number -1; use 0 to 1"),
    ],
)
def test_lines_that_are_no_computation_are_refused_in_words(
    messages: Sequence[Message], lines: Sequence[Sequence[Event]], words: str
) -> None:
    assert refusal(messages, *lines) == words


@pytest.mark.parametrize(
    ("messages", "lines", "named"),
    [
        ([Message("x", 0, (2, 1))], [[SEND_X], [], []], "in order"),
        ([X], [[SEND_X], [Event("receive", 1)]], "1"),
        ([X], [[SEND_X], [Event("receive", -1)]], "-1"),
        ([X], [[SEND_X], [Event("send", None)]], "P2"),
        ([X], [[SEND_X], [Event("receive", None)]], "P2"),
        ([X], [[SEND_X], [Event("internal", 0)]], "P2"),
    ],
)
def test_lines_that_no_reader_makes_are_refused(
    messages: Sequence[Message], lines: Sequence[Sequence[Event]], named: str
) -> None:
    assert named in refusal(messages, *lines)


def test_a_multicast_may_be_received_once_by_each_receiver() -> None:
    c = Computation.of_lines(3, [TO_TWO], [[SEND_X], [RECEIVE_X], [RECEIVE_X]])
    assert c.receive_events == ({1: 1, 2: 2},)


def test_a_process_without_a_line_is_refused() -> None:
    with pytest.raises(BadInput) as caught:
        Computation.of_lines(3, [X], [[SEND_X], [RECEIVE_X]])
    assert str(caught.value) == "2 lines for 3 processes; give each process one line, empty if need be"
