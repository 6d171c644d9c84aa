"""The directory in which a search saves itself, with any engine.

`manifest.json` holds the request, how far the search is and which files belong to it, each with its SHA-256, and its
own. It is replaced in one step, after all that it names is safely written: so there is always one whole manifest,
whenever the process is killed, and a file that it does not name is nobody's.

A digest shows damage, and the code's own digest in the request that another version wrote it: either is refused in a
line. Beyond that a saved directory is trusted to be what a search wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crownless.spec.errors import BadInput

from .saved_requests import differences

MANIFEST = "manifest.json"
START_OVER_HINT = "start anew with --checkpoint and another directory"

#: A search that came to its end leaves nothing, and nor does one that was killed before it was first saved.
_NONE_THERE = "start with --checkpoint; a check that came to its end, or was killed at once, leaves none"


@dataclass(frozen=True)
class Kind:
    """The kind of directory that an engine writes: `format` says it in the manifest, `parts` are the names of its
    files; `others` says what as a hint where another engine left what is there, by that one's format without its
    number.
    """

    format: str
    parts: re.Pattern[str]
    others: tuple[str, str]

    def is_ours(self, name: str) -> bool:
        """May a search have left this file: this one, or one that was killed while it wrote?"""
        return name == f"{MANIFEST}.partial" or self.parts.fullmatch(name) is not None


class SavedDirectory:
    """A directory of one kind; `request` distinguishes checks, and `made` is whether it was made for this search."""

    kind: Kind

    def __init__(self, directory: Path, request: dict[str, Any], *, made: bool) -> None:
        self.directory = directory
        self.request = json.loads(json.dumps(request))
        self._made = made
        #: Which file is being written.
        self._writing = directory

    @property
    def exists(self) -> bool:
        """True if a search can go on from there."""
        return (self.directory / MANIFEST).exists()

    def remove(self) -> None:
        """Once nothing is left to go on with: its files, and the directory if it was made for them."""
        with suppress(OSError):
            (self.directory / MANIFEST).unlink(missing_ok=True)
            drop(self.directory, self.kind)
            if self._made:
                self.directory.rmdir()

    def _replace_manifest(self, **facts: Any) -> None:
        """From now on this is what is saved."""
        manifest = {
            "format": self.kind.format,
            "version": _version(),
            "made": self._made,
            "question": self.request,
            **facts,
        }
        manifest["sha256"] = _digest_of(manifest)
        partial = self._writing = self.directory / f"{MANIFEST}.partial"
        with partial.open("wb") as file:
            file.write(json.dumps(manifest, indent=1).encode())
            file.flush()
            os.fsync(file.fileno())
        self._writing = self.directory / MANIFEST
        partial.replace(self._writing)
        opened = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(opened)  # the names, too
        finally:
            os.close(opened)

    def _manifest(self) -> dict[str, Any]:
        """The manifest; refused if it is of another check."""
        manifest = manifest_in(self.directory, self.kind)
        self._made = manifest["made"]
        differing = list(differences(manifest["question"], self.request))
        if differing:
            raise BadInput(
                f"--resume {self.directory}: is of another check: {'; '.join(differing)}",
                hint=f"request the same check as then, or {START_OVER_HINT}",
            )
        return manifest

    def _whole(self, name: str, sha256: str) -> Path:
        """The path of a file that the manifest names, which must be what it was."""
        try:
            if digest(self.directory, name) == sha256:
                return self.directory / name
        except OSError:
            pass
        raise BadInput(f"--resume {self.directory}: {name}: damaged or missing", hint=START_OVER_HINT)


@contextmanager
def held(directory: Path, kind: Kind, *, resume: bool) -> Iterator[bool]:
    """Holds a directory that can be written, so that no other search writes to it meanwhile; was it made for this?"""
    option = f"{'--resume' if resume else '--checkpoint'} {directory}"
    made = False
    try:
        if resume:
            manifest_in(directory, kind)
        elif directory.exists():
            refuse_contents(directory, kind)
        else:
            directory.mkdir(parents=True)
            made = True
        probe = directory / f"{MANIFEST}.partial"
        probe.touch()
        # The lock goes with the process, however that ends.
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        hint = "name a directory that can be written"
        raise BadInput(f"{option}: cannot be written: {error.strerror}", hint=hint) from None
    try:
        if not _locked(lock):
            raise BadInput(f"{option}: another search is saving there", hint="wait for its end, or name another")
        with suppress(OSError):
            probe.unlink()
        yield made
    finally:
        os.close(lock)
        if made and not (directory / MANIFEST).exists():
            with suppress(OSError):
                drop(directory, kind)
                directory.rmdir()


def manifest_in(directory: Path, kind: Kind) -> dict[str, Any]:
    """The manifest of a directory, known to be undamaged, and of this kind and version."""
    where = f"--resume {directory}"
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes())
        form, by, sha256 = manifest["format"], manifest["version"], manifest.pop("sha256")
    except FileNotFoundError:
        raise BadInput(f"{where}: no checkpoint there", hint=_NONE_THERE) from None
    except OSError as error:
        hint = "name the directory given to --checkpoint"
        raise BadInput(f"{where}: cannot be read: {error.strerror or error}", hint=hint) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{where}: {MANIFEST}: damaged", hint=START_OVER_HINT) from None
    others, hint = kind.others
    if isinstance(form, str) and form.startswith(others):
        raise BadInput(f"{where}: saved by another engine", hint=hint)
    if form != kind.format or by != _version():
        problem = f"{where}: written by another version (crownless {by}, {form})"
        raise BadInput(problem, hint=f"use that version, or {START_OVER_HINT}")
    if sha256 != _digest_of(manifest):
        raise BadInput(f"{where}: {MANIFEST}: damaged", hint=START_OVER_HINT)
    assert isinstance(manifest, dict)
    return manifest


def refuse_contents(directory: Path, kind: Kind) -> None:
    """A search may be saved to a new or an empty directory only."""
    where = f"--checkpoint {directory}"
    if not directory.is_dir():
        raise BadInput(f"{where}: not a directory", hint="name a new directory, or an empty one")
    for path in sorted(directory.iterdir()):
        if path.name == MANIFEST:
            hint = f"go on with it by --resume {shlex.quote(str(directory))}, or name another directory"
            raise BadInput(f"{where}: holds a checkpoint already", hint=hint)
        if not kind.is_ours(path.name):
            hint = "name a new directory, or an empty one"
            raise BadInput(f"{where}: holds other files, such as {path.name}", hint=hint)


def drop(directory: Path, kind: Kind, but: Container[str] = ()) -> None:
    """Removes the files that searches of this kind write, but for some, and never any others, nor the manifest."""
    for path in list(directory.iterdir()):
        if kind.is_ours(path.name) and path.name not in but:
            path.unlink(missing_ok=True)


def digest(directory: Path, name: str) -> str:
    """The SHA-256 of a file of the directory."""
    with (directory / name).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


@cache
def _version() -> str:
    """The version of crownless, which its installation says in a file: each level saved would read it again."""
    return version("crownless")


def _digest_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
