"""How many computations there are in each order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crownless.spec.enumeration import computations
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, decide, weaker

MOST_PROCESSES = 8
MOST_MESSAGES = 8


@dataclass(frozen=True)
class Count:
    """Complete computations of labelled processes, messages up to renaming."""

    processes: int
    messages: int
    counts: dict[str, int]

    def json(self) -> dict[str, Any]:
        return {"processes": self.processes, "messages": self.messages, "counts": self.counts}


def count(n: int, m: int, *, self_sends: bool = False, progress: Callable[[int], None] | None = None) -> Count:
    """Counts by enumeration. An order is decided on each computation that keeps all orders which contain it."""
    for option, value, most in (("-n", n, MOST_PROCESSES), ("-m", m, MOST_MESSAGES)):
        if not 1 <= value <= most:
            raise BadInput(f"{option} {value}: cannot be enumerated", mend=f"give 1 to {most}")
    counts = dict.fromkeys(ORDERS, 0)
    for number, c in enumerate(computations(n, m, self_sends=self_sends)):
        if progress is not None and not number % 256:
            progress(number)
        kept: set[str] = set()
        for order in ORDERS:
            if weaker(order) <= kept and decide(c, order).kept:
                kept.add(order)
                counts[order] += 1
    return Count(n, m, counts)
