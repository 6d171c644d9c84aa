"""How rows are cut into rounds, outboxes and buffers changes nothing that the native engine finds."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from native_engine_setup import question, reported, small_rounds

from crownless.model_check.native.search import NativeSearch
from crownless.model_check.native.workers import Worker

#: Graded and not, over all channels, with buffers and without, with monitor states of all kinds.
SAMPLE: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("rst", 3, 2, {"channel": "fifo"}),
    ("unordered", 2, 3, {"channel": "lossy"}),
    ("fifo-ack", 2, 2, {"channel": "duplicating"}),
    ("rendezvous", 3, 2, {}),
    ("buffer", 2, 2, {"channel": "fifo"}),
    ("isis", 3, 2, {"sends": "multicast"}),
    ("unordered", 3, 2, {"orders": ("n-n", "synchronous")}),
)


@pytest.mark.parametrize(("protocol", "n", "m", "options"), SAMPLE, ids=str)
def test_small_rounds_change_nothing(protocol: str, n: int, m: int, options: dict[str, Any]) -> None:
    both = question(protocol, n, m, **options)
    for symmetry in (False, True) if both.admits_symmetry() else (False,):
        expected = reported(both.native(symmetry=True) if symmetry else both.plain())
        for block, outbox, workers in ((1, 1, 1), (4, 8, 2), (1000, 1, 2)):
            with small_rounds(block, outbox):
                assert reported(both.native(workers, symmetry=symmetry)) == expected, (block, outbox, workers)


class Counting(NativeSearch):
    """Counts the successors that it makes."""

    made = 0

    def _insert_found(self, worker: Worker, owner: int) -> None:
        self.made += int(worker.filled[owner])
        super()._insert_found(worker, owner)


@pytest.mark.parametrize("protocol", ["rst", "buffer", "murty-garg"])
def test_moves_that_sleep_are_counted_and_not_made(protocol: str) -> None:
    both = question(protocol, 3, 3)
    expected = reported(both.plain())
    made = []
    for sleeps in (True, False):
        with patch("native_engine_setup.NativeSearch", Counting), patch.object(NativeSearch, "commutes", sleeps):
            search = both.search()
            assert isinstance(search, Counting)
            assert reported(search.explore()) == expected
            made.append(search.made)
    assert made[0] < 0.9 * made[1]
