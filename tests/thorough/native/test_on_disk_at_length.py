"""What takes longer of the tests in `test_on_disk.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from native_engine_setup import REDUCED, Question, question, reported, small_rounds

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.on_disk import search as on_disk
from crownless.model_check.on_disk import tasks
from crownless.model_check.on_disk.search import SearchOnDisk
from crownless.model_check.search.engines import engine_for
from crownless.model_check.system.request import load_program
from crownless.runtime.ending import Limits
from crownless.spec import notation

#: Graded and not, with rows that are all kept, with symmetry reduction, programs, crashes, and plain monitors.
SAMPLE: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"protocol": "rst", "n": 3, "messages": 4}, False),
    ({"protocol": "rst", "n": 3, "messages": 4}, True),
    ({"protocol": "kearns", "n": 3, "messages": 2, "channel": "fifo"}, False),
    ({"protocol": "fifo-ack", "n": 2, "messages": 2, "channel": "duplicating"}, False),
    ({"protocol": "unordered", "n": 3, "messages": 3, "orders": ("n-n", "synchronous")}, False),
    ({"protocol": "ses", "n": 3, "messages": 3, "crash": "P1"}, False),
    ({"protocol": "rendezvous", "program": load_program("mf-program-3")}, False),
)


def goes_on(case: Question, after: int, directory: Path, *, symmetry: bool = False, workers: int = 2) -> Any:
    """The findings of a search that is in memory up to this number of states, and then on disk."""
    engine = engine_for(case.check, engine="native", workers=workers, reductions=REDUCED if symmetry else ())
    search = NativeSearch(case.check, engine)
    assert search.explore(Limits(states=after)).stopped
    return SearchOnDisk.going_on_from(search, case.check, engine, directory).explore()


@pytest.mark.parametrize(("options", "symmetry"), SAMPLE, ids=str)
def test_a_search_goes_on_from_any_level(options: dict[str, Any], symmetry: bool, tmp_path: Path) -> None:
    case = question(**options)
    whole = case.native(symmetry=symmetry)
    for share in (20, 2):
        found = goes_on(case, whole.states // share, tmp_path, symmetry=symmetry)
        assert reported(found) == reported(whole)
        assert (found.levels, found.acyclic) == (whole.levels, whole.acyclic)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_goes_on_in_parts_that_miss_entries(protocol: str, tmp_path: Path) -> None:
    case = question(protocol, 2, 3)
    whole = case.native()
    with patch.multiple(tasks, BLOCK=8, MISSES_TO_STOP_AT=2), patch.object(on_disk, "PARTS", 3):
        assert reported(goes_on(case, whole.states // 3, tmp_path)) == reported(whole)


@pytest.mark.parametrize(
    ("options", "symmetry"),
    [({"protocol": "rst", "n": 3, "messages": 3}, True), *SAMPLE[2:3], *SAMPLE[4:5], *SAMPLE[6:]],
    ids=str,
)
def test_no_row_is_forgotten_however_small_the_outboxes_and_blocks(
    options: dict[str, Any], symmetry: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A row whose successors find no room is expanded again, whatever else is left to expand then."""
    case = question(**options)
    whole = reported(case.native(symmetry=True) if symmetry else case.plain())

    @given(outbox=st.integers(12, 160), block=st.integers(6, 40), misses=st.integers(0, 12), parts=st.integers(1, 3))
    @settings(max_examples=5, derandomize=True, phases=[Phase.generate])
    def agrees(outbox: int, block: int, misses: int, parts: int) -> None:
        with (
            patch.multiple(tasks, BLOCK=block, MISSES_TO_STOP_AT=misses),
            small_rounds(block, outbox),
            patch.object(on_disk, "PARTS", parts),
        ):
            found = goes_on(case, whole["states"] // 20, tmp_path_factory.mktemp("levels"), symmetry=symmetry)
        assert reported(found) == whole

    agrees()


#: P3 waits in the end, for one of two messages.
WAITS = notation.parse("""
P1: send a to P2; send b to P3; send c to P3
P2: send d to P1; receive; send e to P3
P3: receive from P1; receive; receive from P1
""")


def findings(result: tasks.ExpandResult, task: tasks.ExpandTask) -> list[Any]:
    """All that a task reports, without what depends on its division into blocks."""
    rows = set()
    for file in result.found:
        for owner in range(task.owners):
            found, asleep = tasks.read_found(task.directory, file, owner, task.system.n)
            rows |= {(owner, sleeping, *row) for row, sleeping in zip(found.tolist(), asleep.tolist(), strict=True)}
    counts = [array.tolist() for array in (result.counts, result.seen, result.actions)]
    again = [] if result.left is None else sorted(result.left.again.tolist())
    return [again, result.misses.tolist(), *counts, sorted(result.blocked.tolist()), rows]


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "unordered", "n": 3, "messages": 3, "orders": ("n-n", "fifo")},
        {"protocol": "ses", "n": 2, "messages": 3, "crash": "P1"},
        {"protocol": "unordered", "program": WAITS},
    ],
    ids=str,
)
@pytest.mark.parametrize(("block", "outbox"), [(5, 40), (3, 1 << 17), (1 << 15, 24)])
def test_a_task_finds_in_small_blocks_what_it_finds_in_one(
    options: dict[str, Any], block: int, outbox: int, tmp_path: Path
) -> None:
    """Violations, waits, counts and successors, of whichever block they are."""
    sizes = []

    def in_blocks(task: tasks.ExpandTask, view: tasks.View) -> tasks.ExpandResult:
        whole = tasks.expand(task, view)
        with patch.object(tasks, "BLOCK", block), small_rounds(block, outbox):
            assert findings(tasks.expand(task, view), task) == findings(whole, task)
        sizes.append(task.part.size)
        return whole

    case = question(**options)
    with patch.object(on_disk, "expand", in_blocks), patch.object(on_disk, "PARTS", 1):
        assert reported(goes_on(case, 5, tmp_path, workers=1)) == reported(case.plain())
    assert max(sizes) > 5
