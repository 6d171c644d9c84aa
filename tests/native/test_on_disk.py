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
from native_engine_setup import reported

from crownless.model_check.check.check import run_check
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.on_disk import search as on_disk
from crownless.model_check.on_disk import tasks
from crownless.model_check.on_disk.search import SearchOnDisk
from crownless.model_check.system.request import Check
from crownless.runtime import ending
from crownless.runtime.ending import Limits


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
