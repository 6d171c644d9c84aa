"""Deliveries out of order: by the definition, and by the compiled pass over large runs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from unittest.mock import patch

import pytest
from log_rows import random_computation, rows_of
from small_computations import computation

from crownless.oracle.log_orders.disorder import CAUSAL_FROM, DELIVERIES, FIFO_FROM
from crownless.oracle.log_orders.monitor import Monitor
from crownless.spec.computation import Computation
from crownless.spec.delivery_disorder import Disorder, ProcessSummary, summaries
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import decide


def found_by_the_pass(monitor: Monitor, number: int) -> dict[int, tuple[int, Disorder, Disorder]]:
    """By process: deliveries, and both disorders."""
    figures = monitor.disorder(number).tolist()
    return {
        p: (row[DELIVERIES], Disorder(*row[FIFO_FROM : FIFO_FROM + 4]), Disorder(*row[CAUSAL_FROM : CAUSAL_FROM + 4]))
        for p, row in zip(monitor.processes().tolist(), figures, strict=True)
    }


def agree(found: Sequence[Computation], chance: Random | None = None) -> None:
    monitor = Monitor(rows_of(found, chance))
    for number, c in enumerate(found):
        defined = summaries(c)
        assert defined is not None
        measured = found_by_the_pass(monitor, number)
        nothing = (0, Disorder(), Disorder())
        for p, of in enumerate(defined):
            assert measured.get(p, nothing) == (of.deliveries, of.fifo, of.causal), (str(c), p)
            assert of.events == len(c.lines[p])


def test_a_delivery_out_of_order_by_the_definition() -> None:
    c = computation(
        "P1: send a to P2; send b to P2; send c to P2; send d to P3; send e to P2\n"
        "P2: receive c; receive f; receive a; receive b\n"
        "P3: receive d; send f to P2"
    )
    found = summaries(c)
    assert found is not None
    # c overtakes a by 2, and b by 3; so does f by causal order, later; e is not delivered, and overtaken by nothing.
    assert found[1] == ProcessSummary("P2", 4, 4, Disorder(2, 3, 5, 0), Disorder(2, 3, 5, 0))
    assert found[1].fifo.mean == 2.5
    assert found[0] == ProcessSummary("P1", 5, 0, Disorder(), Disorder())
    assert found[2].deliveries == 1


def test_a_message_overtaken_for_good_and_one_by_way_of_another_process() -> None:
    c = computation(
        "P1: send x to P3; send y to P2; send z to P3\nP2: receive y; send w to P3\nP3: receive w; receive z"
    )
    found = summaries(c)
    assert found is not None
    assert found[2] == ProcessSummary("P3", 2, 2, Disorder(0, 0, 0, 1), Disorder(0, 0, 0, 1))
    c = computation("P1: send x to P3; send y to P2\nP2: receive y; send w to P3\nP3: receive w; receive x")
    found = summaries(c)
    assert found is not None
    assert found[2] == ProcessSummary("P3", 2, 2, Disorder(), Disorder(1, 1, 1, 0))


SMALL: list[tuple[int, int, bool, bool, Sends]] = [
    (2, 3, False, True, "unicast"),
    (3, 3, False, False, "unicast"),
    (3, 2, False, True, "multicast"),
]


@pytest.mark.parametrize(("n", "m", "complete", "self_sends", "sends"), SMALL)
def test_small_computations(n: int, m: int, complete: bool, self_sends: bool, sends: Sends) -> None:
    found = list(computations(n, m, complete=complete, self_sends=self_sends, sends=sends))
    agree(found, Random(1))
    for c in found:
        defined = summaries(c)
        assert defined is not None
        for order in ("fifo", "causal"):
            none = all(getattr(one, order) == Disorder() for one in defined)
            assert decide(c, order).kept == none, (str(c), order)


@pytest.mark.parametrize("several", [0.0, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.1])
@pytest.mark.parametrize("disorder", [0.02, 0.3, 1.0])
def test_random_computations(disorder: float, loss: float, several: float) -> None:
    chance = Random(hash((disorder, loss, several)))
    found = [
        random_computation(chance, chance.randint(2, 6), 25, disorder=disorder, loss=loss, several=several)
        for _ in range(60)
    ]
    agree(found)
    agree(found, chance)


def test_times_in_flight_get_the_room_they_need() -> None:
    chance = Random(2)
    found = [random_computation(chance, 6, 60, disorder=1.0, loss=0.5, several=0.2)]
    with patch("crownless.oracle.log_orders.monitor.ENTRIES", 8):
        agree(found)
