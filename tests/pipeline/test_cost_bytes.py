"""The bytes of stamps and packets are those that the texts say."""

from __future__ import annotations

import pytest

from crownless.impl.protocol import Packet
from crownless.model_check.simulation.encoding import HEADER, numbers_in, size_of, varint_bytes
from crownless.model_check.simulation.experiment import Experiment
from crownless.model_check.simulation.simulation import simulate
from crownless.spec.computation import Message


@pytest.mark.parametrize(
    ("name", "numbers"), [("fifo-sequence", 1), ("rst", 25), ("rst-column", 5), ("kearns", 5), ("ses", 30)]
)
def test_stamps_have_the_numbers_that_the_texts_say(name: str, numbers: int) -> None:
    run = simulate(Experiment(name, 5, messages=100))
    assert run.numbers == numbers
    assert run.bytes == 4 * numbers


def test_an_acknowledgement_is_a_header_and_a_request_carries_its_message() -> None:
    assert simulate(Experiment("buffer", messages=100, load=0.001)).bytes == pytest.approx(HEADER, abs=1)
    up = simulate(Experiment("murty-garg", workload="upward", messages=100, load=0.001))
    assert up.bytes == pytest.approx(HEADER + HEADER + 100, abs=3)


def test_the_encoding_counts_numbers_and_lengths() -> None:
    message = Message("300", 1, (2,))
    assert list(numbers_in(((1, 2), (3, 4)), 2)) == [1, 2, 3, 4]
    assert list(numbers_in(((0, 1, 7), (0, 2, 8)), 4)) == [2, 0, 1, 7, 0, 2, 8]
    assert list(numbers_in(frozenset({5}), 4)) == [1, 5]
    assert list(numbers_in((message,), 4)) == [1, 1, 300, 2]
    assert size_of(Packet(0, 1, "message", None, (127, 128, 16384)), 3) == (3, 12, 1 + 2 + 3, 0)
    assert size_of(Packet(0, 1, "packet", Message("1", 0, (1,)), (message,)), 3).carried == 1
    assert [varint_bytes(each) for each in (0, 127, 128, 16383, 16384)] == [1, 1, 2, 2, 3]
