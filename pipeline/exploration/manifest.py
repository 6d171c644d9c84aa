"""What a search on Spark leaves on disk: for each level a manifest (see `saved_directories`), and the files it names.

Several attempts of a task may have written; only what the manifest names counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from crownless.model_check.native import saved_directories
from crownless.model_check.native.saved_directories import Kind, SavedDirectory, digest, held

from .blocks import Written

#: All that a search writes, this one or one that was killed.
LEVELS = Kind(
    "crownless levels 1",
    re.compile(r"(level|found|log)-[\w-]+\.(rows|npy)|tables-[\w-]+\.(npz|partial)"),
    ("crownless checkpoint", "leave out --engine spark"),
)


class Manifest(SavedDirectory):
    """A directory that a search saves itself in."""

    kind = LEVELS

    def __init__(self, directory: Path, question: dict[str, Any], *, resume: bool, made: bool = False) -> None:
        super().__init__(directory, question, made=made)
        #: What a search that goes on starts from.
        self.saved: dict[str, Any] | None = None
        if resume:
            self.saved = self._load()

    def commit(self, facts: dict[str, Any], files: Iterable[Written]) -> None:
        """From now on these files are what there is."""
        self._replace_manifest(facts=facts, files=dict(files))

    def _load(self) -> dict[str, Any]:
        manifest = self._manifest()
        for name, sha256 in manifest["files"].items():
            self._require_whole(name, sha256)
        facts = manifest["facts"]
        assert isinstance(facts, dict)
        facts["files"] = [Written(*entry) for entry in manifest["files"].items()]
        return facts


def drop(directory: Path, but: Container[str] = ()) -> None:
    """Removes what a search wrote, but for some files, and never any others."""
    saved_directories.drop(directory, LEVELS, but)


def write_array(directory: Path, name: str, array: Any) -> Written:
    """An array in a file that lasts."""
    path = directory / name
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return Written(name, digest(path))


@contextmanager
def manifest_in(directory: Path, question: dict[str, Any], *, resume: bool) -> Iterator[Manifest]:
    """A directory that can be written, and that no other search writes to meanwhile. On a cluster all executors must
    have it too.
    """
    with held(directory, LEVELS, resume=resume) as made:
        yield Manifest(directory, question, resume=resume, made=made)
