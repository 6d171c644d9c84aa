"""Computations of the size of a log: decided in steps that grow with their size, with genuine witnesses."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import pytest
from small_computations import CAUSAL_BROKEN, CROWN, MAILBOX_BROKEN, computation
from witness_checks import check_crown, check_witness

from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import UnreceivedPolicy, decide
from crownless.spec.witnesses import Crown, Overtaking

FIFO_BROKEN = "P1: send x to P2; send y to P2\nP2: receive y; receive x\nP3:\nP4:"

LINEAR = ("fifo", "causal", "mailbox", "one-n", "synchronous")


@cache
def long_computation(middle: str = "P1:\nP2:\nP3:\nP4:", *, messages: int = 10_000, queue: int = 0) -> Computation:
    """Four processes and random messages before and after the middle, each received when `queue` more are sent."""
    chance = random.Random(0)
    original = computation(middle)
    all_messages: list[Message] = []
    lines: list[list[Event]] = [[] for _ in original.lines]

    def exchange(count: int) -> None:
        unreceived: list[int] = []
        for _ in range(count):
            sender, receiver = chance.sample(range(len(lines)), 2)
            lines[sender].append(Event("send", len(all_messages)))
            unreceived.append(len(all_messages))
            all_messages.append(Message(f"x{len(all_messages)}", sender, (receiver,)))
            receive_oldest(unreceived, leaving=queue)
        receive_oldest(unreceived, leaving=0)

    def receive_oldest(unreceived: list[int], leaving: int) -> None:
        while len(unreceived) > leaving:
            m = unreceived.pop(0)
            lines[all_messages[m].receiver].append(Event("receive", m))

    exchange(messages // 2)
    for line, events in zip(lines, original.lines, strict=True):
        line.extend(Event(kind, len(all_messages) + (m or 0)) for kind, m in events)
    all_messages.extend(original.messages)
    exchange(messages - messages // 2)
    return Computation.of_lines(len(lines), all_messages, lines)


@contextmanager
def calls_at_most(limit: int) -> Iterator[None]:
    """Gives up a procedure that takes more than linear time, which would go on for minutes: by calls, not by clock."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls > limit:
            sys.setprofile(None)
            raise AssertionError(f"more than {limit} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("order", LINEAR)
def test_twenty_thousand_events_are_decided(order: str) -> None:
    c = long_computation()
    assert c.event_count == 20_000
    with calls_at_most(200 * c.event_count):
        assert decide(c, order).kept


@pytest.mark.parametrize("order", LINEAR[:4])
def test_twenty_thousand_events_with_long_queues_are_decided(order: str) -> None:
    c = long_computation(queue=50)
    with calls_at_most(200 * c.event_count):
        assert decide(c, order).kept


BROKEN_AMONG_MANY = pytest.mark.parametrize(
    ("order", "middle"),
    [
        pytest.param("fifo", FIFO_BROKEN, id="fifo"),
        pytest.param("causal", CAUSAL_BROKEN, id="causal"),
        pytest.param("mailbox", MAILBOX_BROKEN, id="mailbox"),
        pytest.param("one-n", MAILBOX_BROKEN, id="one-n"),
        pytest.param("synchronous", CROWN, id="synchronous"),
        pytest.param("synchronous", CAUSAL_BROKEN, id="synchronous-by-overtaking"),
    ],
)


@BROKEN_AMONG_MANY
def test_among_twenty_thousand_events_a_broken_order_is_found(order: str, middle: str) -> None:
    c = long_computation(middle)
    with calls_at_most(200 * c.event_count):
        verdict = decide(c, order)
    assert verdict.witness is not None
    printed = verdict.witness.headline(c) + " ".join(verdict.witness.details(c))
    assert set(re.findall(r"\b(?:m\d|x\d*|y|z)\b", printed)) <= {
        message.name for message in computation(middle).messages
    }


@BROKEN_AMONG_MANY
@pytest.mark.parametrize("reading", ["lost", "pending"])
def test_in_long_computations_too_a_witness_is_genuine(order: str, middle: str, reading: UnreceivedPolicy) -> None:
    c = long_computation(middle, messages=600)
    verdict = decide(c, order, reading)
    assert not verdict.kept
    check_witness(c, verdict, reading)


@pytest.mark.parametrize(
    ("order", "middle"),
    [
        pytest.param("one-n", "P1: send m to P2; send y to P3\nP2:\nP3: receive y\nP4:", id="one-n"),
        pytest.param(
            "mailbox",
            "P1: send m to P2; send y to P3\nP2: receive z\nP3: receive y; receive v\nP4: send v to P3; send z to P2",
            id="mailbox",
        ),
        pytest.param("synchronous", "P1: send m to P2; receive y\nP2: send y to P1\nP3:\nP4:", id="crossing"),
        pytest.param(
            "synchronous",
            "P1: send m to P2; send y to P3; receive z\nP2: send z to P1\nP3: receive y\nP4:",
            id="crossing-another",
        ),
        pytest.param("synchronous", "P1: send m to P1; send y to P1; receive m\nP2:\nP3:\nP4:", id="self-sends"),
    ],
)
@pytest.mark.parametrize("reading", ["lost", "pending"])
@pytest.mark.parametrize("messages", [0, 600])
def test_in_short_and_long_incomplete_computations_a_witness_is_genuine(
    order: str, middle: str, reading: UnreceivedPolicy, messages: int
) -> None:
    c = long_computation(middle, messages=messages)
    check_witness(c, decide(c, order, reading), reading)


@pytest.mark.parametrize("order", ["causal", "synchronous"])
def test_an_overtaking_across_a_conversation_of_twenty_thousand_events_is_found(order: str) -> None:
    """x is sent before P1 and P3 talk, z after, and P2 receives z first."""
    talk = 10_000
    messages = [Message("x", 0, (1,)), Message("z", 2, (1,))]
    lines = [[Event("send", 0)], [Event("receive", 1), Event("receive", 0)], []]
    for k in range(talk):
        sender, receiver = (0, 2) if k % 2 == 0 else (2, 0)
        lines[sender].append(Event("send", len(messages)))
        lines[receiver].append(Event("receive", len(messages)))
        messages.append(Message(f"y{k}", sender, (receiver,)))
    lines[2].append(Event("send", 1))
    c = Computation.of_lines(3, messages, lines)
    with calls_at_most(200 * c.event_count):
        witness = decide(c, order).witness
    if isinstance(witness, Overtaking):
        assert [c.say(e) for e in witness.chain] == ["P1 sends x", "P1 sends y0", "P3 receives y0", "P3 sends z"]
    else:
        assert isinstance(witness, Crown)
        check_crown(c, witness)
