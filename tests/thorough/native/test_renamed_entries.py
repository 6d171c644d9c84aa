"""Table entries derived by renaming are those that the protocol itself computes."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from native_engine_setup import Question, question, reported
from random_machines import random_machine
from tiers import slow_where

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.native import kernels, symmetry
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.search.engines import NATIVE_CHANNELS

#: `isis-gc` has too many states with more than two processes, which have no renamings but exchanges.
SYMMETRIC = [name for name, kind in PROTOCOLS.items() if kind.symmetric and not name.startswith("isis-gc")]


def tabulated(search: NativeSearch) -> tuple[int, ...]:
    """The numbers of cells, of packets, and of entries by arrival."""
    return len(search.tables.cells), len(search.tables.packets), len(search.tables.arrivals)


def different_entries(search: NativeSearch) -> int:
    """The number of entries that are not renamings of one another: own steps of cells, and arrivals."""
    tables = search.tables
    known = np.flatnonzero(tables._cells.array[: len(tables.cells), kernels.OWN_COUNT] >= 0)
    keys = tables.arrivals.table[:, 0]
    arrivals = (keys[keys != 0] - np.uint64(1)).astype(np.int64)
    return len({tables._cell_numbers.first[cell] for cell in known}) + len(
        set(tables._renamed_arrivals(arrivals).min(axis=1).tolist())
    )


@pytest.mark.parametrize(
    ("protocol", "n", "m", "options"),
    [
        *((name, 4, 2, {}) for name in SYMMETRIC),
        *((name, 5, 1, {"channel": "fifo"}) for name in SYMMETRIC),
        ("rst", 4, 3, {}),
        ("ses", 3, 3, {"channel": "lossy"}),
        ("optimal", 4, 2, {"sends": "multicast"}),
        ("buffer", 4, 2, {"channel": "duplicating"}),
    ],
    ids=str,
)
def test_entries_given_by_renaming_are_those_computed(protocol: str, n: int, m: int, options: dict[str, Any]) -> None:
    compare(question(protocol, n, m, **options))


@pytest.mark.parametrize("seed", slow_where(lambda seed: seed >= 10, range(30)))
def test_entries_given_by_renaming_are_those_that_random_machines_give(seed: int) -> None:
    compare(question(random_machine(seed, symmetric=True), 4, 2, NATIVE_CHANNELS[seed % len(NATIVE_CHANNELS)]))


def compare(both: Question) -> None:
    """Asserts that a search finds and tabulates the same with renamed entries and without."""
    search = both.search()
    found = reported(search.explore())
    with patch.object(symmetry, "MAX_FRAMES", 0):
        computed = both.search()
        assert reported(computed.explore()) == found
    assert search.asymmetry is None is computed.asymmetry
    assert tabulated(search) == tabulated(computed)
    assert search.symmetry.entries == different_entries(search) < computed.symmetry.entries


@pytest.mark.parametrize(("n", "others"), [(2, 1), (3, 2), (4, 6), (5, 24), (6, 1)])
def test_few_processes_have_few_renamings(n: int, others: int) -> None:
    assert len(symmetry.Renamings(n, shared=True, symmetric=False).frames) == others
