"""Orders without a monitor, in large logs: their procedures decide them on the whole computation of a run."""

from collections.abc import Collection
from itertools import count

import pyarrow as pa

from crownless.oracle.logs.columns import rows_of_table
from crownless.oracle.logs.event_logs import logged_run
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation
from crownless.spec.orders import UnreceivedPolicy, Verdict, decide, earned

from .classification import not_decided
from .monitor import COLUMN

#: The most events of a computation that is held in memory whole.
EVENTS_UP_TO = 200_000


def without_monitor(orders: Collection[str]) -> list[str]:
    """The orders among these that the compiled loops do not know."""
    return [order for order in orders if order not in COLUMN]


class WholeRun:
    """A run that is held whole, row by row, unless it has too many of them."""

    def __init__(self, file: str, reading: UnreceivedPolicy) -> None:
        self.file, self.reading = file, reading
        self._rows: list[pa.Table] = []
        self._count = 0
        self._computation: Computation | None = None

    def add(self, rows: pa.Table) -> None:
        """Takes further rows."""
        self._count += rows.num_rows
        self._rows = [*self._rows, rows] if self._count <= EVENTS_UP_TO else []

    def verdict(self, order: str) -> Verdict:
        """The verdict on an order, or that it is unknown in a run of this size."""
        if self._count > EVENTS_UP_TO:
            because = f"it has no monitor, and a run of more than {EVENTS_UP_TO:,} events is not held whole"
            return not_decided(order, because)
        try:
            c = self._whole()
        except BadInput as problem:
            return not_decided(order, f"it has no monitor, and the run is no computation: {problem.message}")
        return earned(decide(c, order, self.reading), len(c.messages), unicasts=c.unicasts)

    def _whole(self) -> Computation:
        if self._computation is None:
            numbers = count(1)
            rows = [row for table in self._rows for row in rows_of_table(table, self.file, numbers)]
            self._computation = logged_run(self.file, rows).computation
        return self._computation
