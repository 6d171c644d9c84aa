"""The manifest of each level of a search on Spark, and the files that it names (see `saved_directories`).

Several attempts of a task may have written files; only those that the manifest names count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crownless.model_check.native import saved_directories
from crownless.model_check.native.saved_directories import Kind, SavedDirectory, digest, held
from crownless.model_check.native.saved_facts import SavedTables

from .blocks import Block, Shape, Written

#: The files that a search writes, this one or one that was killed.
LEVELS = Kind(
    "crownless levels 3",
    re.compile(r"(level|found|log)-[\w-]+\.(rows|npy)|tables-[\w-]+\.(npz|partial)"),
    ("crownless checkpoint", "leave out --engine spark"),
)


class SavedShape(msgspec.Struct, array_like=True):
    """A `Shape`."""

    slots: int
    monitor_states: int
    cells: int
    packets: int


class SavedBlock(msgspec.Struct, array_like=True):
    """A `Block`."""

    file: str
    start: int
    size: int
    shape: SavedShape
    sleeps: bool

    def block(self) -> Block:
        shape = Shape(self.shape.slots, self.shape.monitor_states, self.shape.cells, self.shape.packets)
        return Block(self.file, self.start, self.size, shape, self.sleeps)


class SavedSearchOnSpark(SavedTables):
    """The facts saved at each level."""

    parts: list[SavedBlock]
    earlier: list[list[SavedBlock]]
    logs: list[str]


class SavedLevels(msgspec.Struct):
    """The manifest without its head."""

    facts: SavedSearchOnSpark
    files: dict[str, str]


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
        saved = msgspec.convert(self._manifest(), SavedLevels)
        for name, sha256 in saved.files.items():
            self._whole(name, sha256)
        return saved

    def log(self, saved: SavedLevels) -> Any:
        """The tables' log, in order."""
        parts = [np.zeros(0, np.uint64)]
        parts += [np.load(self.directory / name) for name in saved.facts.logs]
        return np.concatenate(parts)


def drop(directory: Path, but: Container[str] = ()) -> None:
    """Removes the files that a search wrote, except those in `but`; never other files."""
    saved_directories.drop(directory, LEVELS, but)


def write_array(directory: Path, name: str, array: Any) -> Written:
    """Writes an array to a lasting file."""
    with (directory / name).open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return Written(name, digest(directory, name))


@contextmanager
def manifest_in(directory: Path, check_key: dict[str, Any], *, resume: bool) -> Iterator[Manifest]:
    """Opens a writable directory, locked against other searches. On a cluster all executors must share it."""
    with held(directory, LEVELS, resume=resume) as made:
        yield Manifest(directory, check_key, resume=resume, made=made)
