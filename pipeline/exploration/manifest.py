"""The manifest of each level of a search on Spark, and the files that it names (see `saved_directories`).

Several attempts of a task may have written files; only those that the manifest names count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from crownless.model_check.native import saved_directories
from crownless.model_check.native.saved_directories import MANIFEST, START_OVER_HINT, Kind, SavedDirectory, digest, held
from crownless.model_check.native.saved_facts import SavedTables, Sha256, Size, Slots, convert
from crownless.model_check.native.saved_files import create, map_array

from .blocks import Block, Shape, Written

#: The files that a search writes, this one or one that was killed.
LEVELS = Kind(
    "crownless levels 3",
    re.compile(r"(level|found|log)-[\w-]+\.(rows|npy)|tables-[\w-]+\.(npz|partial)"),
    ("crownless checkpoint", "leave out --engine spark"),
)


class SavedShape(msgspec.Struct, array_like=True):
    """A `Shape`."""

    slots: Slots
    monitor_states: Size
    cells: Size
    packets: Size


class SavedBlock(msgspec.Struct, array_like=True):
    """A `Block`."""

    file: str
    start: Size
    size: Size
    shape: SavedShape
    sleeps: bool

    def block(self) -> Block:
        shape = Shape(self.shape.slots, self.shape.monitor_states, self.shape.cells, self.shape.packets)
        return Block(self.file, self.start, self.size, shape, self.sleeps)


class SavedSearchOnSpark(SavedTables):
    """The facts saved at each level."""

    parts: Annotated[list[SavedBlock], msgspec.Meta(min_length=1, max_length=1 << 16)]
    earlier: list[list[SavedBlock]]
    logs: list[str]

    def blocks(self) -> Iterator[SavedBlock]:
        yield from self.parts
        for blocks in self.earlier:
            yield from blocks


class SavedLevels(msgspec.Struct):
    """The manifest without its head."""

    facts: SavedSearchOnSpark
    files: dict[str, Sha256]


class Manifest(SavedDirectory):
    """The directory in which a search is saved."""

    kind = LEVELS

    def __init__(self, directory: Path, check_key: dict[str, Any], *, resume: bool, made: bool = False) -> None:
        super().__init__(directory, check_key, made=made)
        #: The saved level from which a resumed search starts.
        self.saved: SavedLevels | None = None
        if resume:
            self.saved = self._load()

    def commit(self, facts: dict[str, Any], files: Iterable[Written]) -> None:
        """Makes these files the saved state."""
        self._replace_manifest(facts=facts, files=dict(files))

    def _load(self) -> SavedLevels:
        saved = convert(self._manifest(), SavedLevels, f"--resume {self.directory}: {MANIFEST}", START_OVER_HINT)
        for name, sha256 in saved.files.items():
            self._open_whole(name, sha256).close()
        named = {*saved.facts.logs, *(block.file for block in saved.facts.blocks())}
        self.refuse_if(None if named == saved.files.keys() else "it names other files than it has")
        self.refuse_if(None if len(set(saved.facts.logs)) == len(saved.facts.logs) else "it names a log twice")
        return saved

    def log(self, saved: SavedLevels) -> Any:
        """The tables' log, in order."""
        parts = [np.zeros(0, np.uint64)]
        for name in saved.facts.logs:
            with self._open_whole(name, saved.files[name]) as file:
                try:
                    parts.append(map_array(file, np.uint64, 1))
                except (OSError, ValueError):
                    self.refuse_if(f"{name} is not a log")
        return np.concatenate(parts)


def drop(directory: Path, but: Container[str] = ()) -> None:
    """Removes the files that a search wrote, except those in `but`; never other files."""
    saved_directories.drop(directory, LEVELS, but)


def write_array(directory: Path, name: str, array: Any) -> Written:
    """Writes an array to a lasting file."""
    with create(directory, name) as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return Written(name, digest(directory, name))


@contextmanager
def manifest_in(directory: Path, check_key: dict[str, Any], *, resume: bool) -> Iterator[Manifest]:
    """Opens a writable directory, locked against other searches. On a cluster all executors must share it."""
    with held(directory, LEVELS, resume=resume) as made:
        yield Manifest(directory, check_key, resume=resume, made=made)
