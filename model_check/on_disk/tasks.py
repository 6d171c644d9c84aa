"""The tasks of a search on disk: expanding rows of a level, and merging the successors found for an owner.

A task carries all its inputs or names their files, and returns all its results; no two attempts of a task write to the
same file, and no task reads a file before the driver knows its name. So a task may run anywhere, repeatedly, or
concurrently.
"""

from collections.abc import Sequence
from errno import EIO
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from crownless.model_check.native import kernels
from crownless.model_check.native.columns import distinct
from crownless.model_check.native.row_set import Incoming, RowSet, hashes_of
from crownless.model_check.native.workers import BLOCK, Worker

#: A task leaves its remaining rows for the next round once this many, and one in this many, miss a table entry: the
#: driver fills the entries first.
MISSES_TO_STOP_AT = 1 << 17
STOP_AT_ONE_IN = 8


class View(NamedTuple):
    """The tables in the form that an expansion reads."""

    tables: kernels.SiteTables
    monitor_states: kernels.MonitorTables
    actions: int  #: the number of their names
    most_moves: int  #: of a site


class Block(NamedTuple):
    """A file of rows: an owner's part of a level."""

    file: str
    size: int


class FoundRows(NamedTuple):
    """A file of the rows found by one task, those of one owner after those of another, then what sleeps in each.

    `ends`: where the rows of each owner end.
    """

    file: str
    ends: list[int]


class Left(NamedTuple):
    """The rows of a part still to expand: some that missed an entry or were not reached, and all from `fresh` on."""

    again: Any
    fresh: int


class ExpandTask(NamedTuple):
    """A task: expand rows of one owner."""

    directory: str
    tables: str  #: the beginning of the names of the files of the tables, for an executor
    system: kernels.SearchConstants
    owners: int
    owner: int
    part: Block
    left: Left


class ExpandResult(NamedTuple):
    """The result of an `ExpandTask`."""

    owner: int
    left: Left | None
    misses: Any
    counts: Any
    seen: Any
    actions: Any
    blocked: Any  #: rows where a program ends unfinished
    found: list[FoundRows]


class MergeTask(NamedTuple):
    """A task: merge all rows found for one owner into its part of the next level."""

    directory: str
    n: int
    owner: int
    earlier: list[Block]  #: its parts of the levels before, if these are kept
    found: list[FoundRows]
    sleeps: bool


class MergeResult(NamedTuple):
    """The result of a `MergeTask`: the new rows."""

    part: Block
    states: int
    met_again: int  #: states that belong to an earlier level


def write(directory: str | Path, name: str, **arrays: Any) -> str:
    """Writes arrays to a file of this attempt only; returns its name."""
    file = f"{name}-{uuid4().hex[:12]}.npz"
    np.savez(Path(directory) / file, **arrays)
    return file


def expand(task: ExpandTask, view: View) -> ExpandResult:
    """Expands rows until too many miss a table entry."""
    n = task.system.n
    with np.load(Path(task.directory) / task.part.file) as arrays:
        rows, asleep, is_new = arrays["rows"], arrays["asleep"], arrays["is_new"]
    worker = Worker(task.owners, sleeps=task.system.sleeps)
    counts, seen = np.zeros(2, np.int64), np.zeros(2, np.int64)
    actions = np.zeros(view.actions, np.int64)
    misses, blocked = [np.zeros(0, np.uint64)], [rows[:0]]
    found: list[FoundRows] = []
    old, fresh = task.left
    missed: list[Any] = [np.zeros(0, np.int64)]
    missing = expanded = 0
    while len(old) or fresh < len(rows):
        todo, old = old[:BLOCK], old[BLOCK:]
        if not len(todo):
            todo = np.arange(fresh, min(fresh + BLOCK, len(rows)))
            fresh += len(todo)
        worker.make_room(n, view.actions, view.most_moves)
        space = kernels.Space(task.system, view.tables, view.monitor_states)
        worker.expand(rows, is_new, asleep, todo, space)
        of_worker = worker.found
        missed.append(of_worker.again[: of_worker.used[1]].copy())
        misses.append(distinct(of_worker.misses[: of_worker.used[0]]))
        blocked.append(worker.blocked(rows))
        counts += of_worker.counts
        seen |= of_worker.seen
        actions += of_worker.actions
        if worker.filled.any():
            found.append(_successors(task, worker))
        old = np.concatenate([todo[worker.place :], old])
        expanded += worker.place
        missing += len(missed[-1])
        worker.start_again()
        if missing > MISSES_TO_STOP_AT and missing * STOP_AT_ONE_IN > expanded:
            break
    again = np.concatenate([*missed, old])
    return ExpandResult(
        task.owner,
        Left(again, fresh) if len(again) or fresh < len(rows) else None,
        distinct(np.concatenate(misses)),
        counts,
        seen,
        actions,
        np.concatenate(blocked),
        found,
    )


def _successors(task: ExpandTask, worker: Worker) -> FoundRows:
    """Writes the successors to a file, by owner."""
    found = [worker.found_for(owner) for owner in range(task.owners)]
    return write_found(task.directory, [each.rows for each in found], [each.asleep for each in found])


def write_found(directory: str | Path, rows: Sequence[Any], asleep: Sequence[Any]) -> FoundRows:
    """Writes the rows found for each owner to a file of this attempt only."""
    file = f"found-{uuid4().hex[:12]}.rows"
    ends = np.cumsum([len(each) for each in rows]).tolist()
    with (Path(directory) / file).open("wb") as out:  # unlike an archive, it is read in part, and has no checksums
        for each in [*rows, *(asleep if any(map(len, asleep)) else [np.zeros(ends[-1], np.uint32)])]:
            out.write(each)  # unlike `tofile`, it fails if the disk is full
    return FoundRows(file, ends)


def read_found(directory: str | Path, found: FoundRows, owner: int, n: int) -> tuple[Any, Any]:
    """The rows of n processes found for an owner, and what sleeps in each."""
    path, (begin, end) = Path(directory) / found.file, (0, *found.ends)[owner : owner + 2]
    width = n + 1
    rows = np.fromfile(path, np.int32, (end - begin) * width, offset=begin * width * 4)
    asleep = np.fromfile(path, np.uint32, end - begin, offset=(found.ends[-1] * width + begin) * 4)
    if len(rows) + len(asleep) != (end - begin) * (width + 1):
        raise OSError(EIO, "cut short", str(path))
    return rows.reshape(-1, width), asleep


def merge(task: MergeTask) -> MergeResult:
    """Merges the rows found for an owner with its earlier ones, each row once, and writes the new ones."""
    directory = Path(task.directory)
    row_set = RowSet(task.n, sleeps=task.sleeps)
    for block in task.earlier:
        with np.load(directory / block.file) as arrays:
            row_set.add(arrays["rows"])
    start = row_set.used
    tallies = np.zeros(2, np.int64)
    for found in task.found:
        rows, asleep = read_found(directory, found, task.owner, task.n)
        row_set.insert(Incoming(rows, hashes_of(rows), asleep), start, tallies)
    new = slice(start, row_set.used)
    arrays_of_part = {"rows": row_set.rows[new], "asleep": row_set.asleep[new], "is_new": row_set.is_new[new]}
    file = write(directory, f"level-{task.owner}", **arrays_of_part)
    return MergeResult(Block(file, row_set.used - start), int(tallies[0]), int(tallies[1]))
