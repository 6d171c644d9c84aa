"""A search that reaches its limit of memory goes on with its levels on disk, and finds what it would have found."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from native_engine_setup import REDUCED, Question, question, reported, small_rounds

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.on_disk import search as on_disk
from crownless.model_check.on_disk import tasks
from crownless.model_check.on_disk.search import SearchOnDisk
from crownless.model_check.search.engines import engine_for
from crownless.model_check.system.request import Check, load_program
from crownless.runtime import ending
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


@pytest.fixture
def memory_runs_short() -> Iterator[list[int]]:
    """The limit of memory is reached while a search in memory is at its fourth level, and never on disk."""
    used = [0]
    begins, resume = NativeSearch.level_begins, SearchOnDisk._resume

    def at_level(search: NativeSearch) -> None:
        begins(search)
        used[0] = 1 << 60 if search.level >= 4 else 0

    def on_disk_now(search: SearchOnDisk) -> None:
        used[0] = 0
        resume(search)

    with (
        patch.object(NativeSearch, "level_begins", at_level),
        patch.object(SearchOnDisk, "_resume", on_disk_now),
        patch.object(ending, "memory_in_use", lambda: used[0]),
    ):
        yield used


def test_a_check_that_needs_more_memory_goes_on_and_says_so(memory_runs_short: list[int], tmp_path: Path) -> None:
    said: list[str] = []
    saved = tmp_path / "saved"
    check = Check("unordered", 3, 3)
    limits = Limits(memory=1 << 40)
    result = run_check(check, limits, engine="native", report=said.append, checkpoint=saved)
    assert said == [f"memory limit of {1 << 20} MiB reached: the search continues on disk, in {saved}"]
    assert not saved.exists()
    plain = run_check(check, engine="plain")
    assert reported(result.exploration) == reported(plain.exploration)
    assert [known.verdict for known in result.properties] == [known.verdict for known in plain.properties]
    assert result.seconds >= result.exploration.seconds > 0


def test_a_full_disk_ends_the_search_with_what_was_found(memory_runs_short: list[int]) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with patch.object(tasks, "write_found", side_effect=full):
        result = run_check(Check("unordered", 3, 3), Limits(memory=1 << 40), engine="native")
    assert result.exploration.stopped is not None
    assert result.exploration.stopped.endswith(": No space left on device")
    assert result.exploration.stopped.startswith("cannot write to ")
    verdicts = {known.property.name: known.verdict for known in result.properties}
    assert (verdicts["fifo"], verdicts["never-blocks"]) == ("violated", "unknown")


@pytest.fixture
def found(tmp_path: Path) -> tasks.FoundRows:
    """Rows found for two owners, written to a file."""
    rows = [np.arange(3 * n, dtype=np.int32).reshape(n, 3) for n in (3, 2)]
    asleep = [np.arange(n, dtype=np.uint32) for n in (3, 2)]
    return tasks.write_found(tmp_path, rows, asleep)


def test_rows_found_are_read_as_they_were_written(found: tasks.FoundRows, tmp_path: Path) -> None:
    for owner, n in enumerate((3, 2)):
        rows, asleep = tasks.read_found(tmp_path, found, owner, 2)
        assert rows.tolist() == [[3 * k, 3 * k + 1, 3 * k + 2] for k in range(n)]
        assert asleep.tolist() == list(range(n))


@pytest.mark.parametrize("missing", [1, 20, 70])
def test_a_file_of_rows_that_is_cut_short_is_noticed(found: tasks.FoundRows, tmp_path: Path, missing: int) -> None:
    path = tmp_path / found.file
    os.truncate(path, path.stat().st_size - missing)
    with pytest.raises(OSError, match="cut short"):
        tasks.read_found(tmp_path, found, 1, 2)


def test_a_full_disk_is_noticed_where_rows_are_written(tmp_path: Path) -> None:
    (tmp_path / "found-0.rows").symlink_to("/dev/full")
    with patch.object(tasks, "uuid4", lambda: Mock(hex="0")), pytest.raises(OSError, match="No space left"):
        tasks.write_found(tmp_path, [np.zeros((3, 3), np.int32)], [])


def test_a_search_that_needs_too_much_memory_on_disk_too_ends(memory_runs_short: list[int]) -> None:
    with patch.object(SearchOnDisk, "level_begins", lambda _: memory_runs_short.__setitem__(0, 1 << 60)):
        result = run_check(Check("rst", 3, 3), Limits(memory=1 << 40), engine="native")
    assert result.exploration.stopped == f"memory limit of {1 << 20} MiB reached, even with the levels on disk"
    assert 0 < result.exploration.states < 983


def test_slow_writing_is_no_call_that_does_not_return(memory_runs_short: list[int]) -> None:
    """The thread that ends a process that no longer checks sees that others are at work."""

    def slow(*arguments: Any, **arrays: Any) -> str:
        time.sleep(0.02)
        return tasks.write(*arguments, **arrays)

    with (
        patch.object(on_disk, "write", slow),
        patch.multiple(ending, GRACE=0.1, WATCH_EVERY=0.01),
        patch.object(on_disk, "WAIT", 0.02),
        patch.object(ending, "_end", side_effect=AssertionError) as ended,
    ):
        result = run_check(Check("rst", 3, 3), Limits(memory=1 << 40), engine="native", workers=2)
    assert not ended.called
    assert result.verdict == "holds"


def test_a_limit_ends_a_level_on_disk(memory_runs_short: list[int]) -> None:
    def slow(task: Any, view: Any) -> Any:
        time.sleep(0.1)
        return tasks.expand(task, view)

    with patch.object(on_disk, "expand", slow), patch.object(on_disk, "WAIT", 0.02):
        result = run_check(Check("rst", 3, 3), Limits(memory=1 << 40, seconds=0.5), engine="native")
    assert result.exploration.stopped == "time limit of 0.5 s reached"
