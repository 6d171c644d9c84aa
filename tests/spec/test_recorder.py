"""The recorder: sends and deliveries of anything, judged."""

from __future__ import annotations

import pytest
from hypothesis import given

import crownless as cr
from crownless.spec.notation import of_computation
from crownless.testing import computations


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


@given(computations(processes=(1, 3), messages=6, receivers=2, self_sends=True))
def test_it_has_the_computation_that_happened(c: cr.Computation) -> None:
    r = cr.Recorder(c.processes)
    for e in c.linearization:
        process, (kind, m) = c.processes[c.process_of[e]], c.events[e]
        assert m is not None
        message = c.messages[m]
        if kind == "send":
            r.send(process, message.name, to=[c.processes[q] for q in message.receivers])
        else:
            r.deliver(process, message.name)
    assert of_computation(r.computation) == of_computation(c)
