"""The local invariants: each holds, and fails, on small examples."""

from __future__ import annotations

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


# [Kup]: Alice (0) sends m1 to Carol (2) and m2 to Bob (1), who sends m3 to Carol; the stamp of m3 names m1.
SENT_OF_M1 = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
SENT_OF_M3 = ((0, 1, 1), (0, 0, 0), (0, 0, 0))


def test_a_message_is_deliverable_when_all_that_its_stamp_names_is_delivered() -> None:
    assert deliverable([0, 0, 0], SENT_OF_M1, 2)
    assert not deliverable([0, 0, 0], SENT_OF_M3, 2)
    assert deliverable([1, 0, 0], SENT_OF_M3, 2)


def test_a_message_is_deliverable_when_more_is_delivered_than_its_stamp_names() -> None:
    assert deliverable([2, 1, 0], SENT_OF_M3, 2)


@pytest.mark.parametrize("k", range(3))
def test_a_message_waits_for_a_message_of_any_sender(k: int) -> None:
    sent = [[int(row == k and column == 1) for column in range(3)] for row in range(3)]
    assert not deliverable([0, 0, 0], sent, 1)
    assert deliverable([int(row == k) for row in range(3)], sent, 1)


def test_whether_a_message_is_deliverable_depends_on_the_column_of_its_receiver_alone() -> None:
    assert deliverable([0, 0, 0], SENT_OF_M3, 0)
    assert not deliverable([0, 0, 0], SENT_OF_M3, 1)


def test_deliv_equals_its_processs_column_of_sent() -> None:
    sent = ((0, 1, 2), (3, 0, 4), (5, 6, 0))
    assert deliv_equals_sent_column(sent, [0, 3, 5], 0)
    assert deliv_equals_sent_column(sent, [2, 4, 0], 2)
    assert not deliv_equals_sent_column(sent, [0, 1, 2], 0), "that is its row"
    assert not deliv_equals_sent_column(sent, [0, 3, 4], 0)
    assert not deliv_equals_sent_column(sent, [0, 3, 6], 0)


def test_an_output_buffer_holds_messages_of_its_own_process() -> None:
    assert all_sent_by(0, [])
    assert all_sent_by(0, [X, Y])
    assert not all_sent_by(0, [X, Z])
    assert not all_sent_by(1, [X])


def test_an_input_buffer_holds_messages_for_its_own_process() -> None:
    assert all_sent_to(1, [])
    assert all_sent_to(1, [X, Y])
    assert all_sent_to(2, [Y])
    assert not all_sent_to(2, [X, Y])
    assert not all_sent_to(0, [X])


def test_sends_and_acknowledgements_are_queued_only_while_passive() -> None:
    assert queued_only_while_passive(True, [], [])
    assert queued_only_while_passive(False, [], [])
    assert queued_only_while_passive(False, [X], [2])
    assert not queued_only_while_passive(True, [X], [])
    assert not queued_only_while_passive(True, [], [2])


def test_only_bigger_processes_are_acknowledged() -> None:
    assert all_bigger(1, [])
    assert all_bigger(1, [2, 3])
    assert not all_bigger(1, [2, 1])
    assert not all_bigger(1, [0, 2])
