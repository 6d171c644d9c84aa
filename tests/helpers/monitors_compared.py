"""The monitor of logs compared with the spec."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from log_rows import of_messages, outcome_of, rows_of

from crownless.oracle.log_orders.monitor import BROKEN, COLUMN, OUTCOMES, Monitor
from crownless.spec.computation import Computation
from crownless.spec.orders import UnreceivedPolicy, decide

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def agree(found: Sequence[Computation], reading: UnreceivedPolicy, chance: Random | None = None) -> None:
    """The verdicts on all these computations are those of the spec; what shows a violation is one."""
    rows = rows_of(found, chance)
    monitor = Monitor(rows, reading == "pending")
    outcomes = monitor.outcomes()
    for number, c in enumerate(found):
        for order, column in COLUMN.items():
            found_so = OUTCOMES[int(outcomes[number, column])]
            assert found_so == outcome_of(c, order, reading), (str(c), order, reading)
    violations = list(monitor.violations(np.arange(len(found)), outcomes == BROKEN))
    assert len(violations) == (outcomes == BROKEN).sum()
    for number, order, events in violations:
        c, shown = found[number], sorted({int(rows.message[row]) for row in events})
        assert not decide(of_messages(c, shown), order, reading).kept, (str(c), order, reading, shown)
