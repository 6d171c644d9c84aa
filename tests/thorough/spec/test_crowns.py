"""Crowns: what [MG] says of them, on every small computation, and that the one listed is a smallest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, permutations

import pytest
from small_computations import computation

from crownless.spec.computation import Computation, project
from crownless.spec.crowns import crown_of, crowns, smallest_crown
from crownless.spec.enumeration import computations
from crownless.spec.notation import of_computation
from crownless.spec.orders import decide
from crownless.spec.witnesses import Crown

COMPLETE = [(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3)]


# -- by definition -----------------------------------------------------------------------------------------------------

#: Does one event come before the other, in the sense that the crown requires?
Before = Callable[[Computation, int, int], bool]


def happened_before(c: Computation, e: int, f: int) -> bool:
    """[MG]'s →."""
    return c.happened_before(e, f)


def on_one_line(c: Computation, e: int, f: int) -> bool:
    """[MG]'s ≺."""
    return c.process_of[e] == c.process_of[f] and e < f


def is_crown(c: Computation, messages: tuple[int, ...], before: Before = happened_before) -> bool:
    """[MG] §2.3, with at least two messages, all distinct; of a multicast any receive will do."""
    circle = pairwise((*messages, messages[0]))
    return len(set(messages)) == len(messages) >= 2 and all(
        any(before(c, c.send_event[m], receive) for receive in c.receive_events[following].values())
        for m, following in circle
    )


def all_crowns(c: Computation, before: Before = happened_before) -> Iterator[tuple[int, ...]]:
    """Every crown from its least message on, by size."""
    for size in range(2, len(c.messages) + 1):
        for messages in permutations(range(len(c.messages)), size):
            if messages[0] == min(messages) and is_crown(c, messages, before):
                yield messages


def synchronous_by_timestamps(c: Computation) -> bool:
    """[MG]'s SYNC: natural numbers for messages that increase along every line.

    If any will do, then so will distinct ones: messages with equal ones have no process in common.
    """
    lines = [[event.message for event in line if event.message is not None] for line in c.lines]
    pairs = [pair for line in lines for pair in pairwise(line)]
    return any(
        all(times[m] < times[following] for m, following in pairs) for times in permutations(range(len(c.messages)))
    )


@cache
def small_computations() -> tuple[Computation, ...]:
    return (
        *(c for m in range(5) for c in computations(2, m)),
        *(c for m in range(4) for c in computations(3, m)),
        *computations(3, 3, complete=False),
        *computations(2, 3, complete=False, self_sends=True),
        *computations(3, 2, complete=False, sends="multicast"),
        *computations(3, 2, self_sends=True, sends="multicast"),
    )


# -- what [MG] says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), COMPLETE)
def test_a_computation_is_synchronous_iff_it_has_no_crown(n: int, m: int) -> None:
    """[MG] Theorem 2."""
    for c in computations(n, m):
        synchronous = synchronous_by_timestamps(c)
        assert synchronous == (smallest_crown(c) is None) == (next(crowns(c), None) is None)
        assert synchronous == decide(c, "synchronous").kept


def test_a_computation_may_have_a_crown_and_only_larger_strong_ones() -> None:
    """The smallest one. [MG] Lemma 4 finds a strong crown no larger only under the conditions of its algorithm."""
    first = next(
        c
        for n, m in COMPLETE
        for c in computations(n, m)
        if (weak := smallest_crown(c)) and (strong := smallest_crown(c, strong=True)) and weak.size < strong.size
    )
    assert of_computation(first).print().splitlines() == [
        "P1: send m1 to P2; send m2 to P2; receive m4",
        "P2: receive m2; send m3 to P3; receive m1",
        "P3: send m4 to P1; receive m3",
    ]


def test_a_crown_has_at_least_two_distinct_messages() -> None:
    """By the letter of [MG]'s definition, s(m) → r(m) would make every message a crown of size 1."""
    alone = computation("P1: send x to P2\nP2: receive x")
    assert alone.happened_before(alone.send_event[0], alone.receive_events[0][1])
    assert smallest_crown(alone) is None
    assert list(crowns(alone)) == []
    assert crown_of(alone, [0]) is None
    assert crown_of(alone, []) is None


# -- what is listed ----------------------------------------------------------------------------------------------------


def check_links(c: Computation, crown: Crown, before: Before) -> None:
    assert len(crown.links) == crown.size
    circle = pairwise((*crown.messages, crown.messages[0]))
    for (m, following), (send, receive) in zip(circle, crown.links, strict=True):
        assert send == c.send_event[m]
        assert receive in c.receive_events[following].values()
        assert before(c, send, receive)


@pytest.mark.parametrize("strong", [False, True])
def test_every_crown_is_listed_once_and_nothing_else(strong: bool) -> None:
    before = on_one_line if strong else happened_before
    for c in small_computations():
        listed = list(crowns(c, strong=strong))
        assert sorted(crown.messages for crown in listed) == sorted(all_crowns(c, before))
        for crown in listed:
            check_links(c, crown, before)


@pytest.mark.parametrize("strong", [False, True])
def test_the_smallest_crown_is_a_smallest_one(strong: bool) -> None:
    before = on_one_line if strong else happened_before
    for c in (*small_computations(), *computations(3, 4)):
        crown = smallest_crown(c, strong=strong)
        if crown is None:
            assert next(all_crowns(c, before), None) is None
        else:
            assert crown.size == len(next(all_crowns(c, before)))
            assert is_crown(c, crown.messages, before)


def test_a_crown_is_made_of_its_messages_in_order_if_they_are_one() -> None:
    for c in small_computations():
        if len(c.messages) <= 3:
            for size in (2, 3):
                for messages in permutations(range(len(c.messages)), size):
                    crown = crown_of(c, list(messages))
                    assert (crown is not None) == is_crown(c, messages)
                    if crown is not None:
                        assert crown.messages == messages
                        check_links(c, crown, happened_before)


def test_a_ring_of_messages_is_one_crown_of_their_number() -> None:
    """Each process sends to the next one and then receives from the one before."""
    for n in range(2, 9):
        lines = (f"P{p}: send m{p} to P{p % n + 1}; receive m{(p - 2) % n + 1}" for p in range(1, n + 1))
        c = computation("\n".join(lines))
        (crown,) = crowns(c)
        assert crown == smallest_crown(c) == smallest_crown(c, strong=True)
        assert crown.size == n
        assert all(smallest_crown(project(c, set(range(n)) - {m})) is None for m in range(n))
