"""What a search on Spark leaves on disk: a manifest for each level, and the files that it names.

`manifest.json` tells what was asked, how far the search is, and which files belong to it, each with its SHA-256, and
its own. It is replaced in one step, after all that it names is safely written: so there is always one whole manifest,
whenever the driver is killed, and a file that it does not name is nobody's, whichever attempt of a task wrote it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from crownless.spec.errors import BadInput

from .blocks import Written, digest

MANIFEST = "manifest.json"
FORMAT = "crownless levels 1"
#: All that a search writes, this one or one that was killed.
_OURS = re.compile(rf"(level|found|log)-[\w-]+\.(rows|npy)|tables-[\w-]+\.(npz|partial)|{re.escape(MANIFEST)}\.partial")

_ANEW = "start anew with --checkpoint and another directory"


class Manifest:
    """A directory that a search saves itself in; `question` tells checks apart."""

    def __init__(self, directory: Path, question: dict[str, Any], *, resume: bool, made: bool = False) -> None:
        self.directory = directory
        self.question = json.loads(json.dumps(question))
        self._made = made
        #: What a search that goes on starts from.
        self.saved: dict[str, Any] | None = None
        if resume:
            self.saved = self._load()

    @property
    def exists(self) -> bool:
        """Is there something to go on from?"""
        return (self.directory / MANIFEST).exists()

    def commit(self, facts: dict[str, Any], files: Iterable[Written]) -> None:
        """From now on these files are what there is."""
        manifest = {
            "format": FORMAT,
            "version": version("crownless"),
            "made": self._made,
            "question": self.question,
            "facts": facts,
            "files": dict(files),
        }
        manifest["sha256"] = _digest_of(manifest)
        partial = self.directory / f"{MANIFEST}.partial"
        with partial.open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.directory / MANIFEST)
        opened = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(opened)  # the names, too
        finally:
            os.close(opened)

    def remove(self) -> None:
        """Once nothing is left to go on with: its files, and the directory if it was made for them."""
        with suppress(OSError):
            (self.directory / MANIFEST).unlink(missing_ok=True)
            drop(self.directory)
            if self._made:
                self.directory.rmdir()

    def _load(self) -> dict[str, Any]:
        manifest = _read(self.directory)
        self._made = manifest["made"]
        if manifest["question"] != self.question:
            then, now = manifest["question"], self.question
            keys = [key for key in dict.fromkeys([*now, *then]) if then.get(key) != now.get(key)]
            said = "; ".join(f"{key} {_told(then.get(key))}, not {_told(now.get(key))}" for key in keys)
            raise BadInput(
                f"--resume {self.directory}: is of another check: {said}",
                mend="ask as it was asked then, or start anew with --checkpoint and another directory",
            )
        for name, sha256 in manifest["files"].items():
            try:
                whole = digest(self.directory / name) == sha256
            except OSError:
                whole = False
            if not whole:
                raise BadInput(f"--resume {self.directory}: {name}: damaged or missing", mend=_ANEW)
        facts = manifest["facts"]
        assert isinstance(facts, dict)
        facts["files"] = [Written(*entry) for entry in manifest["files"].items()]
        return facts


def drop(directory: Path, but: Container[str] = ()) -> None:
    """Removes what a search wrote, but for some files, and never any others."""
    for path in list(directory.iterdir()):
        if _OURS.fullmatch(path.name) and path.name not in but:
            path.unlink(missing_ok=True)


def write_array(directory: Path, name: str, array: Any) -> Written:
    """An array in a file that lasts."""
    path = directory / name
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return Written(name, digest(path))


def question_in(directory: Path) -> dict[str, Any]:
    """What was asked of the search that is saved there."""
    question = _read(directory)["question"]
    assert isinstance(question, dict)
    return question


@contextmanager
def manifest_in(directory: Path, question: dict[str, Any], *, resume: bool) -> Iterator[Manifest]:
    """A directory that can be written, and that no other search writes to meanwhile. On a cluster all executors must
    have it too.
    """
    option = f"{'--resume' if resume else '--checkpoint'} {directory}"
    made = False
    try:
        if resume:
            _read(directory)
        elif directory.exists():
            _refuse_contents(directory)
        else:
            directory.mkdir(parents=True)
            made = True
        probe = directory / f"{MANIFEST}.partial"
        probe.touch()
        # The lock goes with the process, however that ends.
        lock = os.open(directory, os.O_RDONLY)
    except OSError as error:
        mend = "name a directory that can be written"
        raise BadInput(f"{option}: cannot be written: {error.strerror}", mend=mend) from None
    try:
        if not _locked(lock):
            raise BadInput(f"{option}: another search is saving there", mend="wait for its end, or name another")
        with suppress(OSError):
            probe.unlink()
        yield Manifest(directory, question, resume=resume, made=made)
    finally:
        os.close(lock)
        if made and not (directory / MANIFEST).exists():
            with suppress(OSError):
                drop(directory)
                directory.rmdir()


def _read(directory: Path) -> dict[str, Any]:
    """The manifest that is there, known to be undamaged and of this version."""
    where = f"--resume {directory}"
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        form, by, sha256 = manifest["format"], manifest["version"], manifest.pop("sha256")
    except FileNotFoundError:
        mend = "start with --checkpoint; a check that came to its end, or was killed at once, leaves none"
        raise BadInput(f"{where}: no search saved there", mend=mend) from None
    except OSError as error:
        mend = "name the directory given to --checkpoint"
        raise BadInput(f"{where}: cannot be read: {error.strerror}", mend=mend) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{where}: {MANIFEST}: damaged", mend=_ANEW) from None
    if form != FORMAT or by != version("crownless"):
        told = f"{where}: written by another version or engine (crownless {by}, {form})"
        raise BadInput(told, mend=f"use that one, or {_ANEW}")
    if sha256 != _digest_of(manifest):
        raise BadInput(f"{where}: {MANIFEST}: damaged", mend=_ANEW)
    assert isinstance(manifest, dict)
    return manifest


def _refuse_contents(directory: Path) -> None:
    """A search may be saved to a new or an empty directory only."""
    where = f"--checkpoint {directory}"
    if not directory.is_dir():
        raise BadInput(f"{where}: not a directory", mend="name a new directory, or an empty one")
    for path in sorted(directory.iterdir()):
        if path.name == MANIFEST:
            mend = f"go on with it by --resume {shlex.quote(str(directory))}, or name another directory"
            raise BadInput(f"{where}: holds a saved search already", mend=mend)
        if not _OURS.fullmatch(path.name):
            mend = "name a new directory, or an empty one"
            raise BadInput(f"{where}: holds other files, such as {path.name}", mend=mend)


def _locked(directory: int) -> bool:
    """Takes the lock of an open directory; false if another process has it."""
    import fcntl

    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # not every file system has locks
    return True


def _digest_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _told(value: Any) -> str:
    return "none" if value in (None, [], {}) else json.dumps(value)
