"""[MF], footnotes 2 and 4: what bounds and pipelines do to the buffer protocol."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from broken_buffer_variants import TWO_AND_A_THIRD, WaitsForOneAcknowledgement
from replay import check, endings, violations

from crownless.impl.buffer import Buffer
from crownless.impl.buffer_bounded import BufferBounded
from crownless.impl.buffer_pipelined import BufferPipelined
from crownless.impl.channels import Fifo
from crownless.impl.protocol import Setting
from crownless.impl.workloads import Free, Program
from crownless.model_check.generating import Clock, generate
from crownless.spec import library, notation

# -- [MF] footnote 4: posting on without waiting -----------------------------------------------------------------------


def test_posting_on_needs_a_transport_that_does_not_reorder() -> None:
    assert violations(check(BufferPipelined, 2, 2)) == {"fifo": 6, "causal": 6}
    for n, m in ((2, 4), (3, 3)):
        assert violations(check(BufferPipelined, n, m, channel="fifo")) == {}


def test_all_outstanding_acknowledgements_are_awaited_before_a_message_to_another_receiver() -> None:
    assert violations(check(BufferPipelined, program=TWO_AND_A_THIRD, channel="fifo")) == {}
    assert violations(check(WaitsForOneAcknowledgement, program=TWO_AND_A_THIRD, channel="fifo")) == {"causal": 15}


def test_posting_on_generates_no_other_computation_than_waiting() -> None:
    clock = Clock()
    for n, m in ((2, 4), (3, 3)):
        waiting = generate(Buffer(n), Free(n, m), Fifo, clock).forms
        assert generate(BufferPipelined(n), Free(n, m), Fifo, clock).forms == waiting


# -- [MF] footnote 2: too small buffers --------------------------------------------------------------------------------


def each_way(first: int, second: int) -> str:
    """Two processes that send to each other so many messages before they receive any."""

    def sends(count: int, name: str, to: str) -> str:
        return "; ".join(f"send {name}{number} to {to}" for number in range(1, count + 1))

    return f"P1: {sends(first, 'x', 'P2')}{'; receive' * second}\nP2: {sends(second, 'y', 'P1')}{'; receive' * first}"


def test_buffers_of_one_place_deadlock_where_each_sends_four_messages_before_it_receives() -> None:
    program = notation.load(library.path("mf-footnote-2"))
    result = check(BufferBounded, program=program)
    assert (violations(result), result.completes) == ({"completes": 14}, "never")
    assert check(Buffer, program=program).completes == "always"
    assert check(BufferBounded, program=each_way(4, 4)).exploration.blocked == {
        ("P1 at its statement 4, send x4", "P2 at its statement 4, send y4")
    }
    assert check(BufferBounded, program=each_way(3, 3)).completes == "always"


@pytest.mark.parametrize(("output", "places"), [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (3, 2)])
def test_each_way_there_is_room_for_what_both_buffers_hold_and_one_message_between_them(
    output: int, places: int
) -> None:
    room = output + places + 1
    parameters: Mapping[str, Setting] = {"output": output, "input": places}
    assert check(BufferBounded, program=each_way(room, room), parameters=parameters).completes == "always"
    result = check(BufferBounded, program=each_way(room + 1, room + 1), parameters=parameters)
    # To fill the buffers: room sends, and for each message that gets in a post, a get and an acknowledgement.
    assert violations(result) == {"completes": 2 * (room + 1 + 3 * places)}
    assert result.completes == "never"


def test_one_process_that_sends_less_is_enough_to_go_on() -> None:
    for first in (4, 5):
        assert check(BufferBounded, program=each_way(first, 3)).completes == "always"


def test_whoever_receives_what_is_there_never_deadlocks() -> None:
    for parameters in ({"output": 1, "input": 1}, {"output": 2, "input": 1}, {"output": 1, "input": 2}):
        assert check(BufferBounded, 2, 4, parameters=parameters).verdict == "holds"


def test_where_it_completes_a_program_has_the_computations_of_unlimited_buffers() -> None:
    program = Program(notation.parse(each_way(2, 2)))
    assert {ending.computation for ending in endings(BufferBounded, program)} == {
        ending.computation for ending in endings(Buffer, program)
    }
