"""The two deciders of each order agree on a few random computations; the thorough tests have more."""

from __future__ import annotations

from random import Random

from orders_compared import by_graph, by_search
from small_computations import random_small_computation

from crownless.spec.notation import of_computation


def test_the_graph_procedures_agree_with_the_search() -> None:
    random = Random(77)
    for _ in range(150):
        c = random_small_computation(random)
        assert by_graph(c) == by_search(c), of_computation(c).print()
