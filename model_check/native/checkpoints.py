"""What a search leaves on disk so that it can go on after an interruption, or after its process was killed.

A checkpoint is a saved directory (see `saved_directories`). The rows of a level are numbers that only the tables give a
meaning; of the tables just the list of entries is kept that were worked out, in order, since working them out again
numbers everything as before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from crownless.spec.errors import BadInput

from .saved_directories import ANEW, Kind, SavedDirectory, digest, drop, held, refuse_contents

#: The files of its arrays are of its own, each save's with a number of their own.
CHECKPOINT = Kind(
    "crownless checkpoint 1", re.compile(r"part-\d+-[\w-]+\.npy"), ("crownless levels", "add --engine spark")
)


class Checkpoint(SavedDirectory):
    """A directory to which a search saves itself; `tell` is told in a line if saving fails."""

    kind = CHECKPOINT

    def __init__(
        self,
        directory: Path,
        question: dict[str, Any],
        *,
        resume: bool,
        made: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(directory, question, made=made)
        self._serial = 0
        self._tell = tell
        self._failed = False
        #: The files that the manifest names.
        self._parts: set[str] = set()
        #: What a search that goes on starts from: facts, and arrays by name.
        self.saved: tuple[dict[str, Any], dict[str, Any]] | None = None
        if resume:
            self.saved = self._load()
        elif directory.exists():
            refuse_contents(directory, self.kind)

    def save(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Replaces what was saved before. Where that fails, what was saved before stays, and nothing more is saved."""
        if self._failed:
            return
        self._serial += 1
        try:
            self._write(facts, arrays)
        except (OSError, MemoryError) as error:
            self._failed = True
            if self._tell is not None:
                why = "no memory" if isinstance(error, MemoryError) else error.strerror or error
                self._tell(
                    f"cannot save to {self._writing}: {why}; the search goes on without saving"
                    + ", and what was saved before stays" * self.exists
                )
            with suppress(OSError):
                drop(self.directory, self.kind, self._parts)

    def _write(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        files = {}
        for name, array in arrays.items():
            path = self._writing = self.directory / f"part-{self._serial}-{name}.npy"
            with path.open("wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            files[name] = {"file": path.name, "sha256": digest(path)}
        self._replace_manifest(serial=self._serial, facts=facts, files=files)
        self._parts = {entry["file"] for entry in files.values()}
        drop(self.directory, self.kind, self._parts)

    def _load(self) -> tuple[dict[str, Any], dict[str, Any]]:
        manifest = self._manifest()
        self._serial = manifest["serial"]
        self._parts = {entry["file"] for entry in manifest["files"].values()}
        arrays = {}
        for name, entry in manifest["files"].items():
            self._require_whole(entry["file"], entry["sha256"])
            part = self.directory / entry["file"]
            try:
                # Read where it is needed: the rows would else be twice in memory. What is written to it stays here.
                arrays[name] = np.asarray(np.load(part, mmap_mode="c", allow_pickle=False))
            except (OSError, ValueError):
                raise BadInput(f"--resume {self.directory}: {part.name}: damaged or missing", mend=ANEW) from None
        return manifest["facts"], arrays


@contextmanager
def checkpoint_in(
    directory: Path, question: dict[str, Any], *, resume: bool, tell: Callable[[str], None] | None = None
) -> Iterator[Checkpoint]:
    """A checkpoint in a directory that can be written, and that no other search writes to meanwhile."""
    with held(directory, CHECKPOINT, resume=resume) as made:
        yield Checkpoint(directory, question, resume=resume, made=made, tell=tell)
