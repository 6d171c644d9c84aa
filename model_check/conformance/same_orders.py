"""Orders that are the same within the bound of a check, and a larger bound that distinguishes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from crownless.model_check.realizing import Realization
from crownless.spec.computation import Computation
from crownless.spec.diagrams.between_orders import SMALLEST, smallest_between
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import ORDERS, decide, weaker

#: Of larger bounds so many computations are looked at.
MOST = 3_000
#: The sizes in which broadcasts distinguish two orders that differ, by processes and messages.
SIZES_OF_BROADCASTS = ((3, 2), (3, 3), (3, 4))


class SameOrders(NamedTuple):
    """An order that has no fewer computations than these weaker ones within a bound, and a bound in which it has."""

    order: str
    weaker: list[str]
    processes: int
    messages: int

    def json(self) -> dict[str, Any]:
        return self._asdict()


def same_orders(found: Realization, order: str) -> SameOrders | None:
    """The weaker orders with the same complete computations within a bound as this one; None: there are none."""
    sends = found.workload.sends
    count = found.orders[order].computations
    names = weaker(order, unicasts=sends == "unicast")
    same = [name for name in ORDERS if name in names and found.orders[name].computations == count]
    bounds = {name: _bound(name, order, sends, found.processes, found.messages) for name in same}
    known = {name: bound for name, bound in bounds.items() if bound is not None}
    if not known:
        return None
    return SameOrders(order, list(known), max(n for n, _ in known.values()), max(m for _, m in known.values()))


def _bound(weak: str, strong: str, sends: Sends, n: int, m: int) -> tuple[int, int] | None:
    """A bound of no fewer processes and messages in which the two differ; None: none is known, as where they are one
    among complete computations of unicasts."""
    for c in _between(sends, n, m):
        if c.complete and decide(c, weak).kept and not decide(c, strong).kept:
            return max(n, len(c.processes)), max(m, len(c.messages))
    return None


def _between(sends: Sends, n: int, m: int) -> Iterable[Computation]:
    """Computations that may keep one order and break another, the smallest first."""
    if sends != "broadcast":
        return sorted(map(smallest_between, SMALLEST), key=lambda c: (len(c.messages), len(c.processes)))
    return _broadcasts(n, m)


def _broadcasts(n: int, m: int) -> Iterator[Computation]:
    sizes = sorted({(max(n, processes), max(m, messages)) for processes, messages in SIZES_OF_BROADCASTS})
    for processes, messages in sizes:
        if (processes, messages) != (n, m):
            yield from islice(computations(processes, messages, sends="broadcast"), MOST)
