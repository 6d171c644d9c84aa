"""How rows are cut into rounds, shares and buffers changes nothing that the native engine finds."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from native_engine_setup import question, reported, small_rounds

from crownless.model_check.native import kernels, levels_in_memory
from crownless.model_check.native.layout import layout
from crownless.model_check.native.levels_in_memory import LevelsInMemory
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.native.workers import Worker

#: Graded and not, over all channels, with buffers and without, with monitor states of all kinds, a program.
SAMPLE: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("rst", 3, 2, {}),
    ("rst", 3, 2, {"channel": "fifo"}),
    ("unordered", 2, 3, {"channel": "lossy"}),
    ("fifo-ack", 2, 2, {"channel": "duplicating"}),
    ("rendezvous", 3, 2, {}),
    ("murty-garg", 3, 2, {}),
    ("buffer", 2, 2, {"channel": "fifo"}),
    ("isis", 3, 2, {"sends": "multicast"}),
    ("unordered", 3, 2, {"orders": ("n-n", "synchronous")}),
)


@pytest.mark.parametrize(("protocol", "n", "m", "facts"), SAMPLE, ids=str)
def test_rounds_and_shares_of_a_few_rows_change_nothing(protocol: str, n: int, m: int, facts: dict[str, Any]) -> None:
    both = question(protocol, n, m, **facts)
    plain, full = both.plain(), {}
    for reductions in ((), ("symmetry",), ("order",), ("symmetry", "order")):
        if both.admits(*reductions):
            full[reductions] = reported(both.native(reductions=reductions))
    assert full[()] == reported(plain)
    for block, share, workers in ((1, 1, 1), (4, 8, 2), (3, 2, 3), (1000, 1, 2)):
        for reductions, expected in full.items():
            with small_rounds(block, share):
                assert reported(both.native(workers, reductions)) == expected, (block, share, workers, reductions)


class Widened(LevelsInMemory):
    """Counts how often rows are laid out anew."""

    times = 0

    def _widen(self) -> None:
        self.times += 1
        super()._widen()


class Narrow(NativeSearch):
    """Its rows have room for what there is, and no more."""

    levels: Widened

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options, levels=Widened)

    def layout(self, slots: int) -> kernels.Layout:
        monitor_states, cells, packets = len(self.monitor_states), len(self.tables.cells), len(self.tables.packets)
        return layout(self.n, slots, monitor_states=monitor_states, cells=cells, packets=max(1, packets))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("protocol", "n", "m", "facts"), SAMPLE, ids=str)
def test_rows_that_must_be_widened_often_change_nothing(
    protocol: str, n: int, m: int, facts: dict[str, Any], workers: int
) -> None:
    both = question(protocol, n, m, **facts)
    for reductions in ((), ("symmetry",), ("symmetry", "order")):
        if both.admits(*reductions):
            expected = both.native(workers, reductions)
            with patch("native_engine_setup.NativeSearch", Narrow), patch.object(levels_in_memory, "BLOCK", 7):
                made = both.search(workers, reductions)
                assert isinstance(made, Narrow)
                assert reported(made.explore()) == reported(expected)
                assert made.levels.times > 2


class Cramped(Worker):
    """Has room for one row that a process makes of another."""

    made: list[Cramped] = []

    def __init__(self, owners: int, *, sleeps: bool) -> None:
        super().__init__(owners, sleeps=sleeps)
        self.reached = 1
        self.made.append(self)


@pytest.mark.parametrize("channel", ["unordered", "fifo"])
@pytest.mark.parametrize("protocol", ["unordered", "buffer", "isis"])
def test_little_room_for_what_one_process_makes_of_a_row_changes_nothing(protocol: str, channel: str) -> None:
    both = question(protocol, 3, 2, channel)
    for reductions in (("order",), ("symmetry", "order")):
        expected = both.native(reductions=reductions)
        Cramped.made.clear()
        with patch.object(levels_in_memory, "Worker", Cramped):
            assert reported(both.native(2, reductions)) == reported(expected)
        assert max(worker.reached for worker in Cramped.made) > 1


class Counts(LevelsInMemory):
    """Counts the successors that it makes, and the rounds in which Python had something to work out meanwhile."""

    made = overlapping = 0

    def _take_stock(self) -> Any:
        self.made += sum(int(worker.filled.sum()) for worker in self.worker_buffers)
        return super()._take_stock()

    def _round(self, todo: list[Any], misses: Any) -> tuple[list[Any], Any]:
        self.overlapping += len(misses) > 0
        return super()._round(todo, misses)


@pytest.mark.parametrize("protocol", ["rst", "buffer", "rendezvous", "murty-garg", "unordered"])
def test_moves_that_sleep_are_counted_and_not_made(protocol: str) -> None:
    both = question(protocol, 3, 3)
    expected = reported(both.plain())
    made = []
    for sleeps in (True, False):
        with patch("native_engine_setup.NativeSearch", COUNTING), patch.object(NativeSearch, "commutes", sleeps):
            searched = both.search()
            assert isinstance(searched.levels, Counts)
            assert reported(searched.explore()) == expected
            made.append(searched.levels.made)
    assert made[0] < 0.9 * made[1]


#: A search whose levels count.
COUNTING = partial(NativeSearch, levels=Counts)


class PutsAllToSleep(Counts):
    """Takes what sleeps in any way that a row is reached for what sleeps in all."""

    def _take_in(self, w: int) -> None:
        super()._take_in(w)
        self.next[w].asleep[:] |= 0b111


def test_what_sleeps_matters() -> None:
    both = question("rst", 3, 3)
    with patch("native_engine_setup.NativeSearch", partial(NativeSearch, levels=PutsAllToSleep)):
        assert reported(both.native()) != reported(both.plain())


def test_python_works_out_what_is_missing_while_the_workers_go_on() -> None:
    both = question("rst", 3, 4)
    with patch("native_engine_setup.NativeSearch", COUNTING), small_rounds(64, 1 << 10):
        searched = both.search(2)
        assert isinstance(searched.levels, Counts)
        assert reported(searched.explore()) == reported(both.plain())
        assert searched.levels.overlapping > 10
