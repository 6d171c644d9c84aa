"""The monitors of logs decide what the spec decides of a few computations; the thorough tests have more."""

from __future__ import annotations

from random import Random

import pytest
from log_rows import random_computation
from monitors_compared import READINGS, agree
from parts_compared import agree_in_parts
from small_computations import random_small_computation

from crownless.spec.orders import UnreceivedPolicy


@pytest.mark.parametrize("reading", READINGS)
def test_of_all_lines_at_once(reading: UnreceivedPolicy) -> None:
    chance = Random(3)
    agree([random_small_computation(chance) for _ in range(150)], reading, chance)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("disorder", "loss"), [(0.0, 0.05), (0.02, 0.0), (0.3, 0.05)])
def test_of_lines_that_come_in_parts(reading: UnreceivedPolicy, disorder: float, loss: float) -> None:
    chance = Random(4)
    for _ in range(8):
        c = random_computation(chance, chance.randint(2, 5), 8, disorder=disorder, loss=loss, several=0.3)
        agree_in_parts(c, reading, chance)
