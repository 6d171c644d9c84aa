"""Checkpoints: files from which a search can go on after an interruption, or after its process was killed.

A checkpoint is a saved directory (see `saved_directories`). The rows of a level are numbers that only the tables give a
meaning; of the tables just the list of entries is kept that were worked out, in order, since working them out again
numbers everything as before.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from .saved_directories import Kind, SavedDirectory, digest, drop, held, refuse_contents
from .saved_facts import SavedCheckpoint, SavedSearch

#: The files of its arrays are of its own, each save's with a number of their own.
CHECKPOINT = Kind(
    "crownless checkpoint 3", re.compile(r"part-\d+-[\w-]+\.npy"), ("crownless levels", "add --engine spark")
)
#: Seconds between two saves, unless they are given; then saving takes one part in so many of the time at most.
SAVE_EVERY, SAVING_SHARE = 2.0, 25


class Checkpoint(SavedDirectory):
    """A directory to which a search saves itself; `report` gets a line if saving fails.

    The first level that begins `save_every` seconds after a save is saved (0: each level).
    """

    kind = CHECKPOINT

    def __init__(
        self,
        directory: Path,
        request: dict[str, Any],
        *,
        resume: bool,
        made: bool = False,
        report: Callable[[str], None] | None = None,
        save_every: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(directory, request, made=made)
        self._serial = 0
        self._report = report
        self._failed = False
        self._save_every = save_every
        self._clock = clock
        self._due = self._after(0)
        #: The files that the manifest names.
        self._parts: set[str] = set()
        #: What a search that goes on starts from: facts, and arrays by name.
        self.saved: tuple[SavedSearch, dict[str, Any]] | None = None
        if resume:
            self.saved = self._load()
        elif directory.exists():
            refuse_contents(directory, self.kind)

    @property
    def is_due(self) -> bool:
        """True if a level that begins now is to be saved."""
        return self._clock() >= self._due

    def _after(self, cost: float) -> float:
        """The time of the next save, if the last one took so many seconds."""
        every = self._save_every
        return self._clock() + (max(SAVE_EVERY, SAVING_SHARE * cost) if every is None else every)

    def save(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Replaces what was saved before. Where that fails, what was saved before stays, and nothing more is saved."""
        if self._failed:
            return
        self._serial += 1
        started = self._clock()
        try:
            self._write(facts, arrays)
        except (OSError, MemoryError) as error:
            self._failed = True
            if self._report is not None:
                why = "no memory" if isinstance(error, MemoryError) else error.strerror or error
                self._report(
                    f"cannot save to {self._writing}: {why}; the search goes on without saving"
                    + ", and what was saved before stays" * self.exists
                )
            with suppress(OSError):
                drop(self.directory, self.kind, self._parts)
        self._due = self._after(self._clock() - started)

    def _write(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        files = {}
        for name, array in arrays.items():
            path = self._writing = self.directory / f"part-{self._serial}-{name}.npy"
            with path.open("wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            files[name] = {"file": path.name, "sha256": digest(self.directory, path.name)}
        self._replace_manifest(serial=self._serial, facts=facts, files=files)
        self._parts = {entry["file"] for entry in files.values()}
        drop(self.directory, self.kind, self._parts)

    def _load(self) -> tuple[SavedSearch, dict[str, Any]]:
        manifest = msgspec.convert(self._manifest(), SavedCheckpoint)
        self._serial = manifest.serial
        self._parts = {entry.file for entry in manifest.files.values()}
        # Read where it is needed: the rows would else be twice in memory.
        arrays = {
            name: np.load(self._whole(entry.file, entry.sha256), mmap_mode="c")
            for name, entry in manifest.files.items()
        }
        return manifest.facts, arrays


@contextmanager
def checkpoint_in(
    directory: Path,
    request: dict[str, Any],
    *,
    resume: bool,
    report: Callable[[str], None] | None = None,
    save_every: float | None = None,
) -> Iterator[Checkpoint]:
    """A checkpoint in a directory that can be written, and that no other search writes to meanwhile."""
    with held(directory, CHECKPOINT, resume=resume) as made:
        yield Checkpoint(directory, request, resume=resume, made=made, report=report, save_every=save_every)
