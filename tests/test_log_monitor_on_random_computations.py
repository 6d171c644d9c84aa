"""The monitor of logs on random computations that break an order by few messages: it decides what the spec decides."""

from random import Random

import pytest
from small_computations import random_small_computation
from test_log_monitor import READINGS, agree

from crownless.spec.orders import UnreceivedPolicy


@pytest.mark.parametrize("reading", READINGS)
def test_random_computations_that_are_nearly_ordered(reading: UnreceivedPolicy) -> None:
    random = Random(0)
    agree([random_small_computation(random) for _ in range(2_000)], reading, random)
