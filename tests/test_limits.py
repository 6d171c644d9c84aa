"""Without a limit of its own a search stops at three quarters of the memory that is available, and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest
from native_engine_setup import question, reported

from crownless.model_check import limits as module
from crownless.model_check.check import run_check
from crownless.model_check.counting import count
from crownless.model_check.limits import Available, Limits, free_in_control_groups, memory_in_use
from crownless.model_check.native.checkpoints import Checkpoint
from crownless.model_check.native.row_set import RowSet
from crownless.model_check.realizing import realize
from crownless.model_check.request import Check

MIB = 1 << 20
#: Seconds; they only bound how long a failing test takes.
LONG = 300

#: Runs the command line where so many MiB of address space more than it has by then may be had.
NARROW = """
import resource, sys
import psutil
from crownless import command_line
from crownless.command_line import VERBS
command_line.crownless.get_command(None, sys.argv[2])
if sys.argv[2] == "check":
    from crownless.model_check import suite
    from crownless.model_check.native import search
elif sys.argv[2] == "classify":
    from crownless.proofs import proving
limit = psutil.Process().memory_info().vms + (int(sys.argv[1]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
command_line.main(sys.argv[2:])
"""


def narrowly(mebibytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", NARROW, str(mebibytes), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG)


def group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_the_smallest_of_nested_control_groups_of_version_2_counts(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("0::/outer/inner\n")
    group(tmp_path / "sys" / "outer", memory__max=f"{900 * MIB}\n", memory__current=f"{500 * MIB}\n")
    statistics = f"anon 5\ninactive_file {50 * MIB}\n"
    group(
        tmp_path / "sys" / "outer" / "inner",
        memory__max=f"{300 * MIB}\n",
        memory__current=f"{100 * MIB}\n",
        memory__stat=statistics,
    )
    group(tmp_path / "sys", memory__max="max\n")
    assert list(free_in_control_groups(membership, tmp_path / "sys")) == [250 * MIB, 400 * MIB]


def test_a_control_group_of_version_1_counts_also_where_its_path_is_that_outside_a_container(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("5:cpu:/x\n4:memory:/docker/abc\n")
    folder = tmp_path / "sys" / "memory"
    group(folder, memory__limit_in_bytes=f"{200 * MIB}\n", memory__usage_in_bytes=f"{120 * MIB}\n")
    assert list(free_in_control_groups(membership, tmp_path / "sys")) == [80 * MIB]


def test_a_control_group_without_a_limit_sets_none(tmp_path: Path) -> None:
    membership = tmp_path / "cgroup"
    membership.write_text("4:memory:/\n0::/\n")
    more_than_there_is = psutil.virtual_memory().total * 2
    group(tmp_path / "sys" / "memory", memory__limit_in_bytes=str(more_than_there_is), memory__usage_in_bytes="5")
    group(tmp_path / "sys", memory__max="max\n", memory__current="5\n")
    assert list(free_in_control_groups(membership, tmp_path / "sys")) == []
    assert list(free_in_control_groups(tmp_path / "none", tmp_path / "sys")) == []


def test_by_default_three_quarters_of_what_is_available_may_be_used() -> None:
    with patch.object(module, "available", return_value=[Available("rss", 1000 * MIB, "this machine")]):
        limits = Limits()
    used = memory_in_use()
    for more, over in ((0, False), (700 * MIB, False), (800 * MIB, True)):
        always = patch.object(module, "LOOK_EVERY", 0.0)
        with always, patch.object(module, "_used", return_value={"rss": used + more, "vms": 0, "data": 0}):
            said = limits.memory_is_used()
            assert (said is not None) == over
            if said is not None:
                assert "three quarters of what this machine left; --max-memory SIZE sets another limit" in said


@pytest.mark.parametrize("engine", ["native", "plain"])
def test_a_search_stops_by_itself_where_little_is_available(engine: str) -> None:
    with patch.object(module, "available", return_value=[Available("rss", 0, "this machine")]):
        with patch.object(module, "_used", return_value={"rss": 0, "vms": 0, "data": 0}):
            limits = Limits()
        result = run_check(Check("rst", 3, 4), limits, engine=engine)
    assert result.verdict == "unknown"
    assert "three quarters of what this machine left" in result.scope


@pytest.mark.parametrize(
    ("mebibytes", "arguments"),
    [
        (60, ["check", "rst", "-n", "4", "-m", "8", "--engine", "plain", "--quiet"]),
        (250, ["check", "rst", "-n", "4", "-m", "8", "--workers", "1", "--quiet"]),
        (60, ["realize", "rst", "-n", "4", "-m", "6", "--quiet"]),
    ],
    ids=["plain", "native", "realize"],
)
def test_a_search_ends_with_what_is_known_at_the_limit_of_its_shell(mebibytes: int, arguments: list[str]) -> None:
    ended = narrowly(mebibytes, *arguments)
    assert (ended.returncode, "Traceback" in ended.stderr) == (3, False), ended.stderr
    assert "ulimit -v" in ended.stdout


def test_a_log_too_large_for_memory_is_no_violation(tmp_path: Path) -> None:
    log = tmp_path / "large.jsonl"
    with log.open("w") as out:
        for index in range(60_000):
            line = f'{{"run": "r{index % 999}", "process": "P{index % 7}", "index": {index}, "kind": "send"'
            out.write(f'{line}, "message": "m{index}", "peer": "P{(index + 1) % 7}"}}\n')
    ended = narrowly(25, "classify", str(log), "--quiet")
    assert ended.returncode in (3, 71), ended.stderr
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert "nothing is known yet" in line


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_that_cannot_be_had_in_a_level_leaves_a_checkpoint_to_go_on_from(tmp_path: Path, workers: int) -> None:
    """In a worker, where rows are taken in."""
    both = question("rst", 3, 4)
    there = Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=False)
    room, calls = RowSet.make_room, []

    def no_room(row_set: RowSet, more: int, layout: object) -> None:
        calls.append(more)
        if len(calls) > 12:
            raise MemoryError
        room(row_set, more, layout)  # type: ignore[arg-type]

    with patch.object(RowSet, "make_room", no_room):
        found = both.search(workers=workers).explore(checkpoint=there)
    assert found.stopped is not None
    assert found.stopped.startswith("no more memory could be had")
    again = Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=True)
    assert reported(both.native(checkpoint=again)) == reported(both.plain())


def test_memory_that_cannot_be_had_while_tables_are_filled_leaves_what_was_saved_before(tmp_path: Path) -> None:
    both = question("rst", 3, 4)
    part = both.search().explore(
        Limits(states=900), checkpoint=Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=False)
    )
    assert part.stopped
    before = (tmp_path / "saved" / "manifest.json").read_bytes()
    made = both.search()
    fill = made.tables.fill

    def no_room(misses: object) -> None:
        fill(misses)
        if made.marked is not None:
            raise MemoryError

    with patch.object(made.tables, "fill", no_room):
        found = made.explore(checkpoint=Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=True))
    assert found.stopped is not None
    assert (tmp_path / "saved" / "manifest.json").read_bytes() == before
    again = Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=True)
    assert reported(both.native(checkpoint=again)) == reported(both.plain())


def test_counting_and_realizing_end_at_a_limit_with_what_is_known() -> None:
    counted = count(3, 4, limits=Limits(seconds=0))
    assert counted.stopped == "0 seconds are over"
    assert counted.json()["complete"] is False
    answer = realize(Check("rst", 3, 3), limits=Limits(memory=1))
    assert answer.stopped == "0 MiB of memory are used"


def test_memory_that_cannot_be_had_ends_counting_and_the_plain_explorer() -> None:
    with patch("crownless.model_check.counting.kept_orders", side_effect=MemoryError):
        counted = count(2, 2)
    assert counted.stopped is not None
    assert counted.stopped.startswith("no more memory could be had")
    with patch("crownless.model_check.explorer.live_properties_broken", side_effect=MemoryError):
        result = run_check(Check("rst", 2, 2), engine="plain")
    assert result.verdict == "unknown"
    assert "no more memory could be had" in result.scope
