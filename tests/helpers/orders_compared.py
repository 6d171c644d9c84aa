"""The orders that a computation keeps, by the search of the definition and by the graph procedures."""

from __future__ import annotations

from typing import get_args

from witness_checks import check_witness

from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy, decide, keeps

READINGS: tuple[UnreceivedPolicy, ...] = get_args(UnreceivedPolicy)


def by_search(c: Computation) -> dict[UnreceivedPolicy, set[str]]:
    """For each reading the orders that the computation keeps, by definition."""
    lost = {order for order in ORDERS if keeps(c, order)}
    pending = lost if c.complete else {order for order in ORDERS if keeps(c, order, pending=True)}
    return {"lost": lost, "pending": pending}


def by_graph(c: Computation) -> dict[UnreceivedPolicy, set[str]]:
    """The same by the graph procedures, whose witnesses are genuine."""
    verdicts = {reading: [decide(c, order, reading) for order in ORDERS] for reading in READINGS}
    for reading, of_reading in verdicts.items():
        for verdict in of_reading:
            check_witness(c, verdict, reading)
    return {reading: {one.order for one in of_reading if one.kept} for reading, of_reading in verdicts.items()}
