"""The local invariants: each holds, and fails, on small examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crownless.spec.computation import Message
from crownless.spec.invariants import (
    all_bigger,
    all_sent_by,
    all_sent_to,
    deliv_equals_sent_column,
    deliverable,
    queued_only_while_passive,
)

X = Message("x", 0, (1,))
Y = Message("y", 0, (1, 2))
Z = Message("z", 2, (0,))

#: [Kup]: Alice (0) sends m1 to Carol (2) and m2 to Bob (1), who sends m3 to Carol; the stamp of m3 names m1.
SENT_OF_M1 = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
SENT_OF_M3 = ((0, 1, 1), (0, 0, 0), (0, 0, 0))
SENT = ((0, 1, 2), (3, 0, 4), (5, 6, 0))

#: Each invariant: of what it holds, and of what it does not.
EXAMPLES: list[tuple[Callable[..., bool], list[Any], list[Any]]] = [
    # All that the stamp names in the column of the receiver is delivered, or more.
    (
        deliverable,
        [
            ([0, 0, 0], SENT_OF_M1, 2),
            ([1, 0, 0], SENT_OF_M3, 2),
            ([2, 1, 0], SENT_OF_M3, 2),
            ([0, 0, 0], SENT_OF_M3, 0),
        ],
        [([0, 0, 0], SENT_OF_M3, 2), ([0, 0, 0], SENT_OF_M3, 1)],
    ),
    # The third that fails is its row.
    (
        deliv_equals_sent_column,
        [(SENT, [0, 3, 5], 0), (SENT, [2, 4, 0], 2)],
        [(SENT, [0, 3, 4], 0), (SENT, [0, 3, 6], 0), (SENT, [0, 1, 2], 0)],
    ),
    (all_sent_by, [(0, []), (0, [X, Y])], [(0, [X, Z]), (1, [X])]),
    (all_sent_to, [(1, []), (1, [X, Y]), (2, [Y])], [(2, [X, Y]), (0, [X])]),
    (
        queued_only_while_passive,
        [(True, [], []), (False, [], []), (False, [X], [2])],
        [(True, [X], []), (True, [], [2])],
    ),
    (all_bigger, [(1, []), (1, [2, 3])], [(1, [2, 1]), (1, [0, 2])]),
]


@pytest.mark.parametrize(("invariant", "holds", "fails"), EXAMPLES)
def test_an_invariant_holds_and_fails(invariant: Callable[..., bool], holds: list[Any], fails: list[Any]) -> None:
    for given in holds:
        assert invariant(*given), given
    for given in fails:
        assert not invariant(*given), given


@pytest.mark.parametrize("k", range(3))
def test_a_message_waits_for_a_message_of_any_sender(k: int) -> None:
    sent = [[int(row == k and column == 1) for column in range(3)] for row in range(3)]
    assert not deliverable([0, 0, 0], sent, 1)
    assert deliverable([int(row == k) for row in range(3)], sent, 1)
