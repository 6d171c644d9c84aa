"""The monitor of logs decides what the procedures of the spec decide, and shows it by messages that break the order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random

import numpy as np
import pytest
from log_rows import of_messages, random_computation, rows_of
from small_computations import computation, random_small_computation

from crownless.oracle.log_orders.monitor import BROKEN, COLUMN, KEPT, UNDECIDED, Monitor
from crownless.oracle.logs.layout import DELIVER, NONE, SEND, Rows
from crownless.spec.computation import Computation
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import UnreceivedPolicy, decide

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def agree(found: Sequence[Computation], reading: UnreceivedPolicy, chance: Random | None = None) -> None:
    """The verdicts on all these computations are those of the spec; what shows a violation is one."""
    rows = rows_of(found, chance)
    monitor = Monitor(rows, reading == "pending")
    outcomes = monitor.outcomes()
    for number, c in enumerate(found):
        for order, column in COLUMN.items():
            kept = decide(c, order, reading).kept
            assert outcomes[number, column] == (KEPT if kept else BROKEN), (str(c), order, reading)
    violations = list(monitor.violations(np.arange(len(found)), outcomes == BROKEN))
    assert len(violations) == (outcomes == BROKEN).sum()
    for number, order, events in violations:
        c, shown = found[number], sorted({int(rows.message[row]) for row in events})
        assert not decide(of_messages(c, shown), order, reading).kept, (str(c), order, reading, shown)


SMALL: list[tuple[int, int, bool, bool, Sends]] = [
    (2, 3, False, True, "unicast"),
    (3, 3, False, False, "unicast"),
    (3, 2, False, True, "multicast"),
    (3, 3, True, False, "multicast"),
    (4, 3, True, False, "unicast"),
]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("n", "m", "complete", "self_sends", "sends"), SMALL)
def test_all_small_computations(
    n: int, m: int, complete: bool, self_sends: bool, sends: Sends, reading: UnreceivedPolicy
) -> None:
    found = list(computations(n, m, complete=complete, self_sends=self_sends, sends=sends))
    chance = Random(1)
    chance.shuffle(found)
    agree(found, reading, chance)


@pytest.mark.parametrize("several", [0.0, 0.5])
@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("disorder", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("reading", READINGS)
def test_random_computations(reading: UnreceivedPolicy, disorder: float, loss: float, several: float) -> None:
    chance = Random(hash((disorder, loss, several)))
    found = [
        random_computation(chance, chance.randint(2, 6), 14, disorder=disorder, loss=loss, several=several)
        for _ in range(80)
    ]
    agree(found, reading)
    agree(found, reading, chance)


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


def test_a_cyclic_run_is_not_decided_and_does_not_keep_the_others_waiting() -> None:
    """Each of two or three processes delivers what the next one sends only after its own delivery."""
    for n in (2, 3):
        cyclic = [(p, 0, DELIVER, p, NONE) for p in range(n)] + [
            (p, 1, SEND, (p + 1) % n, (p + 1) % n) for p in range(n)
        ]
        fine = [(0, 0, SEND, 0, 1), (1, 0, DELIVER, 0, NONE)]
        columns = np.array([*fine, *cyclic, *fine], np.int64).T
        rows = Rows(
            np.array([0, 2, 2 + 2 * n, 4 + 2 * n], np.int64),
            columns[0].astype(np.int32), columns[1].copy(), columns[2].astype(np.int8),
            columns[3].astype(np.int32), columns[4].astype(np.int32),
            np.arange(n + 1, dtype=np.int32), np.arange(n, dtype=np.int32),
        )  # fmt: skip
        outcomes = Monitor(rows).outcomes()
        assert (outcomes[[0, 2]] == KEPT).all()
        assert (outcomes[1] == UNDECIDED).all()
