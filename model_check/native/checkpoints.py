"""Checkpoints: directories from which a search resumes after an interruption, or after its process was killed.

`checkpoint.npz` has the arrays of one level and a header in JSON: the format and version, the engine, the request with
the digest of the code, and the progress of the search. It is written under another name and renamed: there is always
one whole checkpoint. The files of a level on Spark lie beside it. The rows of a level are numbers that get their
meaning from the tables; of these only the list of computed entries is saved, in order, since computing them again
numbers everything as before.

A checkpoint that is damaged, or of another version, code or request, is refused in a line. Otherwise it is trusted.
A directory is locked by the search that saves to it, as long as its process lives: another search is refused.
"""

import fcntl
import os
import re
import shlex
import time
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crownless.model_check.system.exploration import Exploration
from crownless.runtime.errors import BadInput

from .saved_requests import differences

FORMAT = f"crownless {version('crownless')}, checkpoint 10"
CHECKPOINT, PARTIAL = "checkpoint.npz", "checkpoint.partial"
#: The files that a search writes, this one or one that was killed.
OURS = re.compile(r"(checkpoint|level|found|tables)(-[\w-]+)?\.(npz|npy|rows|partial)")

START_OVER_HINT = "start anew with --checkpoint and another directory"
NEW_DIRECTORY_HINT = "name a new directory, or an empty one"
#: Seconds between two saves; and the divisor of the share of time that saving takes at most.
SAVE_EVERY, SAVING_SHARE = 2.0, 25


@dataclass(frozen=True)
class SavedSearch:
    """The progress of a saved search; `rows` describes how the engine's rows lie in the arrays or files."""

    result: Exploration
    level: int
    keep: bool
    #: The lengths of the lists of table entries that were computed together.
    batches: list[int]
    #: The sizes of the tables, which are the same if the protocol's code is the same.
    sizes: list[int]
    plain_monitor_states: bool
    #: The difference seen between processes that are declared alike.
    asymmetry: str | None
    rows: Any


class Checkpoint:
    """A directory to which a search saves itself; `report` gets a line if saving fails.

    The first level that begins `every` seconds after a save is saved, and with 0 each level.
    """

    def __init__(
        self,
        directory: Path,
        request: dict[str, Any],
        engine: str = "native",
        *,
        resume: bool = False,
        report: Callable[[str], None] | None = None,
        every: float = SAVE_EVERY,
    ) -> None:
        self.directory = directory
        self._request = msgspec.json.decode(msgspec.json.encode(request))
        self._engine = engine
        self._report = report
        self._every = every
        self._due = time.monotonic() + every
        self._failed = False
        #: The saved search to resume.
        self.saved: tuple[SavedSearch, Mapping[str, Any]] | None = None
        if resume:
            self.saved = self._load()

    @property
    def is_due(self) -> bool:
        """True if a level that begins now is to be saved."""
        return not self._failed and time.monotonic() >= self._due

    @property
    def exists(self) -> bool:
        """True if a search can resume from there."""
        return (self.directory / CHECKPOINT).exists()

    def save(self, search: SavedSearch, arrays: Mapping[str, Any]) -> None:
        """Replaces the last save. If that fails, the last save stays, and nothing more is saved."""
        if self._failed:
            return
        started = time.monotonic()
        try:
            self._write(search, arrays)
        except (OSError, MemoryError) as error:
            self._failed = True
            if self._report is not None:
                why = "no memory" if isinstance(error, MemoryError) else error.strerror or error
                stays = ", and what was saved before stays" if self.exists else ""
                self._report(f"cannot save to {self.directory}: {why}; the search continues without saving{stays}")
        now = time.monotonic()
        self._due = now + (max(self._every, SAVING_SHARE * (now - started)) if self._every else 0)

    def _write(self, search: SavedSearch, arrays: Mapping[str, Any]) -> None:
        header = {"format": FORMAT, "engine": self._engine, "request": self._request, "search": search}
        partial = self.directory / PARTIAL
        try:
            with partial.open("wb") as file:
                np.savez(file, **{**arrays, "header": np.frombuffer(msgspec.json.encode(header), np.uint8)})
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.directory / CHECKPOINT)
        finally:
            partial.unlink(missing_ok=True)

    def remove(self) -> None:
        """Once the search is complete, removes its files, and the directory if nothing else is in it."""
        with suppress(OSError):
            drop(self.directory)
            self.directory.rmdir()

    def _load(self) -> tuple[SavedSearch, Mapping[str, Any]]:
        where = f"--resume {self.directory}"
        header = header_in(self.directory, self._engine)
        differing = list(differences(header["request"], self._request))
        if differing:
            raise BadInput(
                f"{where}: saved by a different check: {'; '.join(differing)}",
                hint=f"repeat the original check, or {START_OVER_HINT}",
            )
        with undamaged(where):
            return msgspec.convert(header["search"], SavedSearch, str_keys=True), np.load(self.directory / CHECKPOINT)


@contextmanager
def checkpoint_in(
    directory: Path,
    request: dict[str, Any],
    engine: str = "native",
    *,
    resume: bool,
    report: Callable[[str], None] | None = None,
    every: float = SAVE_EVERY,
) -> Iterator[Checkpoint]:
    """A checkpoint in a writable directory. A search that saved nothing leaves nothing behind."""
    where = f"{'--resume' if resume else '--checkpoint'} {directory}"
    with ExitStack() as stack:
        try:
            if not resume:
                _make(directory, where)
            if directory.is_dir():
                stack.enter_context(locked(directory, where))
            if not resume:
                _check_contents(directory, where)
            checkpoint = Checkpoint(directory, request, engine, resume=resume, report=report, every=every)
            (directory / PARTIAL).touch()
            (directory / PARTIAL).unlink()
        except OSError as error:
            hint = "name a directory that can be written"
            raise BadInput(f"{where}: cannot be written: {error.strerror}", hint=hint) from None
        yield checkpoint
        if not checkpoint.exists:
            checkpoint.remove()


@contextmanager
def locked(directory: Path, where: str) -> Iterator[None]:
    """Holds the lock of the directory; raises `BadInput` if another search does. It ends with the process at the
    latest.
    """
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        hint = "wait until that search has ended, or name another directory"
        raise BadInput(f"{where}: another search is saving there", hint=hint) from None
    except OSError:
        pass  # a file system that locks no directories
    try:
        yield
    finally:
        os.close(descriptor)


class _Header(msgspec.Struct):
    """The header of a checkpoint of any version of this format."""

    format: str
    engine: str
    request: dict[str, Any]
    search: Any


@contextmanager
def undamaged(where: str) -> Iterator[None]:
    """Within it a file whose contents are of another form than searches write is refused as damaged."""
    try:
        yield
    except BadInput:
        raise
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, msgspec.MsgspecError):
        raise BadInput(f"{where}: {CHECKPOINT}: damaged", hint=START_OVER_HINT) from None


def header_in(directory: Path, engine: str) -> dict[str, Any]:
    """The header of the checkpoint in a directory, which is undamaged, and of this version and engine."""
    where = f"--resume {directory}"
    path = directory / CHECKPOINT
    with undamaged(where):
        try:
            damaged(path)
        except FileNotFoundError:
            hint = "start with --checkpoint; a check that came to its end, or was killed at once, leaves none"
            raise BadInput(f"{where}: no checkpoint there", hint=hint) from None
        with np.load(path) as arrays:
            header = msgspec.json.decode(arrays["header"].tobytes(), type=_Header)
    if header.format != FORMAT:
        raise BadInput(f"{where}: written by another version", hint=f"use that version, or {START_OVER_HINT}")
    if header.engine != engine:
        hint = "add --engine spark" if header.engine == "spark" else "leave out --engine spark"
        raise BadInput(f"{where}: saved by another engine", hint=hint)
    return msgspec.structs.asdict(header)


def damaged(path: Path) -> None:
    """Raises an error if a file of arrays is missing or damaged, by its checksums."""
    with zipfile.ZipFile(path) as file:
        if file.testzip() is not None:
            raise zipfile.BadZipFile(path.name)


def drop(directory: Path, but: Container[str] = ()) -> None:
    """Removes the files that searches write, except some, and never any others."""
    for path in list(directory.iterdir()):
        if OURS.fullmatch(path.name) and path.name not in but:
            path.unlink(missing_ok=True)


def _make(directory: Path, where: str) -> None:
    """Makes the directory, unless it exists."""
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"{where}: not a directory", hint=NEW_DIRECTORY_HINT)
    directory.mkdir(parents=True, exist_ok=True)


def _check_contents(directory: Path, where: str) -> None:
    """A directory for a new search may have the files of one that was killed early, and no others."""
    if (directory / CHECKPOINT).exists():
        go_on = f"resume it with --resume {shlex.quote(str(directory))}, or name another directory"
        raise BadInput(f"{where}: already holds a checkpoint", hint=go_on)
    others = sorted(path.name for path in directory.iterdir() if not OURS.fullmatch(path.name))
    if others:
        raise BadInput(f"{where}: holds other files, such as {others[0]}", hint=NEW_DIRECTORY_HINT)
