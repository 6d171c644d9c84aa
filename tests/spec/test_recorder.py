"""The recorder: sends and deliveries of anything, judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crownless as cr
from crownless.spec.notation import of_computation


def test_what_is_recorded_is_judged() -> None:
    r = cr.Recorder()
    r.send("Alice", "m1", to="Carol")
    r.send("Alice", "m2", to="Bob")
    r.deliver("Bob", "m2")
    r.send("Bob", "m3", to="Carol")
    r.deliver("Carol", "m3")
    r.deliver("Carol", "m1")
    assert r.verdict("fifo")
    assert not r.verdict("causal")
    assert r.verdict("causal").because == "Carol receives m3 before m1, which was sent earlier"
    assert [name for name, verdict in r.verdicts().items() if verdict] == ["asynchronous", "fifo"]
    assert repr(r) == "<recorder: 3 sends, 3 deliveries>"


def test_processes_are_shown_in_the_order_given_and_then_as_they_are_named() -> None:
    r = cr.Recorder(["C"])
    r.send("A", "x", to=["B", "C"])
    r.internal("B")
    assert r.computation.processes == ("C", "A", "B")
    assert r.computation.messages[0].receivers == (0, 2)


def test_a_delivery_may_be_recorded_before_its_send_but_needs_it() -> None:
    r = cr.Recorder()
    r.deliver("B", "x")
    with pytest.raises(cr.BadInput, match="B delivers x, which was never sent; record its send"):
        r.verdict("causal")
    r.send("A", "x", to="B")
    assert r.verdict("causal")


def test_a_message_that_is_still_to_come_is_lost_or_pending_as_requested() -> None:
    r = cr.Recorder()
    r.send("A", "x", to="B")
    assert not r.verdict("synchronous")
    assert r.verdict("synchronous", "pending")


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ("s A x B, s C x B", "C sends x, which A has sent"),
        ("s A x", "A sends x without a receiver"),
        ("s A x B, d B x, d B x", "B delivers x twice"),
        ("s A x B, d C x", "C receives x, which is not sent to it"),
    ],
)
def test_what_cannot_have_happened_is_refused(events: str, problem: str) -> None:
    with pytest.raises(cr.BadInput, match=problem):
        recorded(events).verdict("causal")


def recorded(events: str) -> cr.Recorder:
    r = cr.Recorder()
    for kind, process, message, *to in map(str.split, events.split(", ")):
        r.send(process, message, to=to) if kind == "s" else r.deliver(process, message)
    return r


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6), st.lists(st.integers(0, 3)))
def test_it_has_the_computation_that_happened(channels: list[tuple[int, int]], picks: list[int]) -> None:
    """Runs at random: the recorder's computation is the one built event by event."""
    r = cr.Recorder(["P1", "P2", "P3"])
    lines: list[list[str]] = [[], [], []]
    on_the_way: list[tuple[int, int]] = []
    for m, (sender, receiver) in enumerate(channels):
        r.send(f"P{sender + 1}", f"m{m}", to=f"P{receiver + 1}")
        lines[sender].append(f"send m{m} to P{receiver + 1}")
        on_the_way.append((m, receiver))
        while picks and picks.pop() < len(on_the_way):
            m_next, q = on_the_way.pop(0 if m % 2 else -1)
            r.deliver(f"P{q + 1}", f"m{m_next}")
            lines[q].append(f"receive m{m_next}")
    text = "\n".join(f"P{p + 1}: {'; '.join(line)}" for p, line in enumerate(lines))
    assert of_computation(r.computation) == of_computation(cr.parse(text))
