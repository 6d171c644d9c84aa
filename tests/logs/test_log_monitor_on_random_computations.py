"""The monitor of logs on computations that break an order by few messages: it decides what the spec decides."""

from itertools import permutations
from random import Random

import pytest
from small_computations import computation, random_small_computation
from test_log_monitor import READINGS, agree

from crownless.spec.computation import Computation
from crownless.spec.orders import UnreceivedPolicy


@pytest.mark.parametrize("reading", READINGS)
def test_random_computations_that_are_nearly_ordered(reading: UnreceivedPolicy) -> None:
    random = Random(0)
    agree([random_small_computation(random) for _ in range(800)], reading, random)


def overtaken_by_a_chain(way: tuple[int, ...], *, in_order: bool) -> Computation:
    """x goes from the first process to the last, and a chain through all others overtakes it, unless in order."""
    *others, last = way
    lines = [""] * len(way)
    for k, p in enumerate(others):
        before = f"receive c{k}" if k else f"send x to P{last + 1}"
        lines[p] = f"{before}; send c{k + 1} to P{way[k + 1] + 1}"
    lines[last] = f"receive x; receive c{len(others)}" if in_order else f"receive c{len(others)}; receive x"
    return computation("\n".join(f"P{p + 1}: {line}" for p, line in enumerate(lines)))


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_chain_through_any_processes_that_overtakes_is_found(n: int) -> None:
    ways = permutations(range(n))
    found = [overtaken_by_a_chain(way, in_order=in_order) for way in ways for in_order in (False, True)]
    agree(found, "lost", Random(0))
