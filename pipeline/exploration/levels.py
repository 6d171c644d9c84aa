"""The executors' part of a search: expanding rows of a level, and collecting the successors of an owner.

A task carries all its inputs and returns all its results; between tasks an executor keeps only the tables, which are
the same for every process at that version. So a task may run anywhere, again, or twice at once.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native import kernels, row_set_kernels
from crownless.model_check.native.row_set import RowSet
from crownless.model_check.native.workers import BLOCK, Worker

from .blocks import Block, Shape, Written, append, fsync_and_digest, new_file, read, whole
from .hashing import hashes_of
from .published import Replica, Version, View

#: A task leaves the rest of its rows for the next round once this many, and one in this many, miss a table entry: the
#: driver fills the entries first.
MISSES_TO_STOP_AT = 1 << 17
STOP_AT_ONE_IN = 8


class Places(NamedTuple):
    """The rows of a level's block left to expand: those listed by number in a file, and all rows from `fresh` on."""

    again: Block | None
    fresh: int


class ExpandTask(NamedTuple):
    """A task: expand rows of one owner."""

    directory: str
    version: Version
    system: kernels.SearchConstants
    owners: int
    reduces: bool
    owner: int
    block: Block
    places: Places
    shape: Shape  #: of the successors, at least


class ExpandResult(NamedTuple):
    """The result of an `ExpandTask`."""

    owner: int
    places: Places | None  #: the rows left to expand
    misses: Any
    counts: Any
    seen: Any
    actions: Any
    waits: Any  #: cells of rows where a program ends unfinished, each once
    found: list[tuple[int, Block]]  #: successors by owner
    shape: Shape


class MergeTask(NamedTuple):
    """A task: merge all rows found for one owner into its partition."""

    directory: str
    n: int
    owner: int
    earlier: list[Block]  #: its rows of the levels before, if these are kept
    found: list[Block]
    shape: Shape
    sleeps: bool
    name: str
    lasting: bool


class MergeResult(NamedTuple):
    """The result of a `MergeTask`: the new rows."""

    owner: int
    block: Block
    written: Written
    states: int
    met_again: int  #: states that belong to an earlier level


def expand(task: ExpandTask, view: View) -> ExpandResult:
    """Expands rows until too many miss a table entry."""
    return _Expansion(task, view).run()


class _Expansion:
    def __init__(self, task: ExpandTask, view: View) -> None:
        self.task, self.view = task, view
        self.n = task.system.n
        self.directory = Path(task.directory)
        self.layout = task.block.shape.layout(self.n)
        self.rows, self.asleep, self.is_new = read(
            whole(self.directory, task.block.file), task.block, self.layout.words, of_level=True
        )
        self._lay_out(task.shape)
        self.worker = Worker(task.owners, sleeps=task.system.sleeps)
        self.counts, self.seen = np.zeros(2, np.int64), np.zeros(2, np.int64)
        self.actions = np.zeros(view.facts.actions, np.int64)
        self.misses: list[Any] = []
        self.waits: list[Any] = []
        self.found: list[tuple[int, Block]] = []

    def _lay_out(self, shape: Shape) -> None:
        self.shape, self.layout_after = shape, shape.layout(self.n)

    def run(self) -> ExpandResult:
        task = self.task
        old = np.zeros(0, np.int64)
        if task.places.again is not None:
            again = task.places.again
            rows, _, _ = read(whole(self.directory, again.file), again, 1)
            old = rows[:, 0].astype(np.int64)
        fresh, count = task.places.fresh, task.block.size
        missed: list[Any] = []
        missing = expanded = 0
        with new_file(self.directory, f"found-{task.owner}") as (name, file):
            while len(old) or fresh < count:
                todo, old = old[:BLOCK], old[BLOCK:]
                if not len(todo):
                    todo = np.arange(fresh, min(fresh + BLOCK, count))
                    fresh += len(todo)
                place, again_ = self._expand(todo)
                self._keep(name, file)
                if place < len(todo):
                    old = np.concatenate([todo[place:], old])
                missed.append(again_)
                missing += len(again_)
                expanded += place
                if missing > MISSES_TO_STOP_AT and missing * STOP_AT_ONE_IN > expanded:
                    break
            left = np.concatenate([*missed, old])
            places = None
            if len(left) or fresh < count:
                numbers = left.astype(np.uint64).reshape(-1, 1)
                again_block = append(file, name, self.shape, numbers, np.zeros(0, np.uint32)) if len(left) else None
                places = Places(again_block, fresh)
        none = np.zeros(0, np.uint64)
        return ExpandResult(
            task.owner,
            places,
            np.unique(np.concatenate([none, *self.misses])),
            self.counts,
            self.seen,
            self.actions,
            np.unique(np.concatenate([np.zeros((0, self.n), np.int64), *self.waits]), axis=0),
            self.found,
            self.shape,
        )

    def _expand(self, todo: Any) -> tuple[int, Any]:
        """Expands some rows; returns the number processed, and those that missed an entry."""
        worker, view, facts = self.worker, self.view, self.view.facts
        slots = max(self.layout.slots, self.layout_after.slots)
        worker.make_room(self.n, slots, self.layout_after.words, facts.actions, facts)
        worker.expand(
            self.rows,
            self.is_new,
            self.asleep,
            todo,
            self.layout,
            self.layout_after,
            self.task.system,
            view.tables,
            view.monitor_states,
            reduces=self.task.reduces,
        )
        found = worker.found
        again = found.again[: found.used[1]].copy()
        self.misses.append(np.unique(found.misses[: found.used[0]]))
        self.waits.extend(cells[np.newaxis] for cells in worker.blocked_cells(self.rows, self.layout, self.n))
        self.counts += found.counts
        self.seen |= found.seen
        self.actions += found.actions
        return worker.place, again

    def _keep(self, name: str, file: Any) -> None:
        """Writes the successors to the file, and makes room for more."""
        worker = self.worker
        for owner, count in enumerate(worker.filled.tolist()):
            if count:
                asleep = worker.asleep[owner, :count] if worker.sleeps else worker.asleep[owner]
                self.found.append((owner, append(file, name, self.shape, worker.out[owner, :count], asleep)))
        worker.filled[:] = 0
        worker.grow()
        if worker.narrow:
            facts = self.view.facts
            wider = Shape(self.shape.slots + 1, 2 * facts.monitor_states, 2 * facts.cells, 2 * facts.packets)
            self._lay_out(self.shape.joined(wider))
        worker.clear_found()


def merge_into_partition(task: MergeTask) -> MergeResult:
    """Merges the rows found for an owner with its earlier ones, each row once, and writes the new ones."""
    directory, layout = Path(task.directory), task.shape.layout(task.n)
    row_set = RowSet(layout.words, sleeps=task.sleeps)
    for block in task.earlier:
        rows, _, _ = read(whole(directory, block.file), block, block.shape.layout(task.n).words, of_level=True)
        row_set.add(_laid_out(rows, block.shape, task), layout)
    start = row_set.used
    # About half of the rows found are new: this much room at once avoids most of the growing.
    row_set.make_room(sum(block.size for block in task.found) // 2, layout)
    tallies = np.zeros(2, np.int64)
    contents: dict[str, Any] = {}
    for block in task.found:
        if block.file not in contents:
            contents[block.file] = whole(directory, block.file)
        rows, asleep, _ = read(contents[block.file], block, block.shape.layout(task.n).words)
        rows = _laid_out(rows, block.shape, task)
        hashes = np.zeros(len(rows), np.uint64)
        hashes_of(rows, layout, hashes)
        row_set.insert(rows, hashes, asleep, len(rows), layout, start, tallies)
    new = slice(start, row_set.used)
    with new_file(directory, f"{task.name}-{task.owner}") as (name, file):
        asleep = row_set.asleep[new] if task.sleeps else row_set.asleep
        block = append(file, name, task.shape, row_set.rows[new], asleep, row_set.is_new[new])
        written = fsync_and_digest(file, directory, name, lasting=task.lasting)
    return MergeResult(task.owner, block, written, int(tallies[0]), int(tallies[1]))


def _laid_out(rows: Any, shape: Shape, task: MergeTask) -> Any:
    """The rows in the layout of the task."""
    if shape == task.shape:
        return rows
    before, after = shape.layout(task.n), task.shape.layout(task.n)
    out = np.zeros((len(rows), after.words), np.uint64)
    row_set_kernels.repack(rows, len(rows), before, after, out, np.zeros(len(after.word), np.int64))
    return out


# -- on executors ------------------------------------------------------------------------------------------------------

#: The tables of this process, by search; those of the last search only.
_replicas: dict[str, Replica] = {}


def view_of(directory: str, version: Version) -> View:
    """The tables of that version in this process."""
    replica = _replicas.get(version.of)
    if replica is None or replica.version > version.number:
        _replicas.clear()
        replica = Replica()
    else:
        del _replicas[version.of]
    view = replica.follow(Path(directory), version)
    # Kept only after it was followed without an error.
    _replicas[version.of] = replica
    return view


def expand_on_executor(task: ExpandTask) -> ExpandResult:
    answer = expand(task, view_of(task.directory, task.version))
    _freeze_loaded_objects("expand")
    return answer


def merge_on_executor(task: MergeTask) -> MergeResult:
    answer = merge_into_partition(task)
    _freeze_loaded_objects("take in")
    return answer


_done_before: set[str] = set()


def _freeze_loaded_objects(task: str) -> None:
    """Exempts the objects loaded by the first task of a kind from the garbage collection that Spark runs after each
    task.
    """
    if task not in _done_before:
        _done_before.add(task)
        gc.freeze()
