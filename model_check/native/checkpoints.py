"""What a search leaves on disk so that it can go on after an interruption, or after its process was killed.

A checkpoint is a directory. `manifest.json` tells what was asked, how far the search is and which files belong to it,
each with its SHA-256, and its own; it is replaced in one step, after the files it names are safely written, so that
there is always one whole checkpoint. The rows of a level are numbers that only the tables give a meaning; of the tables
just the list of entries is kept that were worked out, in order, since working them out again numbers everything as
before.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from crownless.impl.workloads import Free
from crownless.model_check.asking import Asked, Check, sends_of
from crownless.spec import library, notation
from crownless.spec.errors import BadInput
from crownless.spec.notation import Script

from .compiled import HAVE_NUMBA

MANIFEST = "manifest.json"
FORMAT = "crownless checkpoint 1"
#: What else belongs to a checkpoint: the files of its arrays, and what a process left that was killed while it wrote.
_PARTS = re.compile(rf"part-\d+-[\w-]+\.npy|{re.escape(MANIFEST)}\.partial")

#: A search that came to its end leaves nothing, and nor does one that was killed before it was first saved.
NONE_THERE = "start with --checkpoint; a check that came to its end, or was killed at once, leaves none"


class Checkpoint:
    """A directory to which a search saves itself; `question` tells checks apart, and `tell` is told in a line if saving
    fails.
    """

    def __init__(
        self,
        directory: Path,
        question: dict[str, Any],
        *,
        resume: bool,
        made: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.directory = directory
        self.question = json.loads(json.dumps(question))
        self._serial = 0
        self._made = made
        self._tell = tell
        self._failed = False
        #: The files that the manifest names.
        self._parts: set[str] = set()
        #: Which file is being written.
        self._writing = directory
        #: What a search that goes on starts from: facts, and arrays by name.
        self.saved: tuple[dict[str, Any], dict[str, Any]] | None = None
        if resume:
            self.saved = self._load()
        elif directory.exists():
            _refuse_contents(directory)

    @property
    def exists(self) -> bool:
        """Is there something to go on from?"""
        return (self.directory / MANIFEST).exists()

    def save(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Replaces what was saved before. Where that fails, what was saved before stays, and nothing more is saved."""
        if self._failed:
            return
        self._serial += 1
        try:
            self._write(facts, arrays)
        except OSError as error:
            self._failed = True
            if self._tell is not None:
                self._tell(
                    f"cannot save to {self._writing}: {error.strerror or error}; the search goes on without saving"
                    + ", and what was saved before stays" * self.exists
                )
            with suppress(OSError):
                _drop_parts(self.directory, self._parts)

    def _write(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        files = {}
        for name, array in arrays.items():
            path = self._writing = self.directory / f"part-{self._serial}-{name}.npy"
            with path.open("wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            files[name] = {"file": path.name, "sha256": _digest(path)}
        manifest = {
            "format": FORMAT,
            "version": version("crownless"),
            "serial": self._serial,
            "made": self._made,
            "question": self.question,
            "facts": facts,
            "files": files,
        }
        manifest["sha256"] = _digest_of_manifest(manifest)
        partial = self._writing = self.directory / f"{MANIFEST}.partial"
        with partial.open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        self._writing = self.directory / MANIFEST
        partial.replace(self._writing)
        _make_lasting(self.directory)
        self._parts = {entry["file"] for entry in files.values()}
        _drop_parts(self.directory, self._parts)

    def remove(self) -> None:
        """Once nothing is left to go on with: its files, and the directory if it was made for them."""
        with suppress(OSError):
            (self.directory / MANIFEST).unlink(missing_ok=True)
            _drop_parts(self.directory)
            if self._made:
                self.directory.rmdir()

    def _load(self) -> tuple[dict[str, Any], dict[str, Any]]:
        manifest = _manifest_in(self.directory)
        self._serial, self._made = manifest["serial"], manifest["made"]
        self._parts = {entry["file"] for entry in manifest["files"].values()}
        differences = list(_differences(manifest["question"], self.question))
        if differences:
            raise BadInput(
                f"--resume {self.directory}: is of another check: {'; '.join(differences)}",
                mend="ask as it was asked then, or start anew with --checkpoint and another directory",
            )
        arrays = {}
        for name, entry in manifest["files"].items():
            part = self.directory / entry["file"]
            try:
                if _digest(part) != entry["sha256"]:
                    raise ValueError
                # Read where it is needed: the rows would else be twice in memory. What is written to it stays here.
                arrays[name] = np.asarray(np.load(part, mmap_mode="c", allow_pickle=False))
            except (OSError, ValueError):
                mend = "start anew with --checkpoint and another directory"
                raise BadInput(f"--resume {self.directory}: {part.name}: damaged or missing", mend=mend) from None
        return manifest["facts"], arrays


def _drop_parts(directory: Path, but: Container[str] = ()) -> None:
    """Removes the files of a checkpoint, but for some, and never any others."""
    for path in list(directory.iterdir()):
        if _PARTS.fullmatch(path.name) and path.name not in but:
            path.unlink()


def _manifest_in(directory: Path) -> dict[str, Any]:
    """The manifest of a checkpoint, known to be undamaged and of this version."""
    where = f"--resume {directory}"
    anew = "start anew with --checkpoint and another directory"
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        form, by, digest = manifest["format"], manifest["version"], manifest.pop("sha256")
    except FileNotFoundError:
        raise BadInput(f"{where}: no checkpoint there", mend=NONE_THERE) from None
    except OSError as error:
        mend = "name the directory given to --checkpoint"
        raise BadInput(f"{where}: cannot be read: {error.strerror}", mend=mend) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{where}: {MANIFEST}: damaged", mend=anew) from None
    if form != FORMAT or by != version("crownless"):
        told = f"{where}: written by another version (crownless {by}, {form})"
        raise BadInput(told, mend=f"use that version, or {anew}")
    if digest != _digest_of_manifest(manifest):
        raise BadInput(f"{where}: {MANIFEST}: damaged", mend=anew)
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
            raise BadInput(f"{where}: holds a checkpoint already", mend=mend)
        if not _PARTS.fullmatch(path.name):
            mend = "name a new directory, or an empty one"
            raise BadInput(f"{where}: holds other files, such as {path.name}", mend=mend)


@contextmanager
def checkpoint_in(
    directory: Path, question: dict[str, Any], *, resume: bool, tell: Callable[[str], None] | None = None
) -> Iterator[Checkpoint]:
    """A checkpoint in a directory that can be written, and that no other search writes to meanwhile."""
    option = f"{'--resume' if resume else '--checkpoint'} {directory}"
    made = False
    try:
        if resume:
            _manifest_in(directory)
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
        yield Checkpoint(directory, question, resume=resume, made=made, tell=tell)
    finally:
        os.close(lock)
        if made and not (directory / MANIFEST).exists():
            with suppress(OSError):
                _drop_parts(directory)
                directory.rmdir()


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


def _make_lasting(directory: Path) -> None:
    """Waits until the directory's own entries are on the disk."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of_manifest(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


# -- what was asked ----------------------------------------------------------------------------------------------------


def question_of(check: Check, asked: Asked, reductions: Sequence[str]) -> dict[str, Any]:
    """All that determines a search, defaults filled in, and how to ask it again. Not the number of workers: a search
    may go on with another.
    """
    free = isinstance(asked.workload, Free)
    return {
        "protocol": check.protocol,
        "processes": len(asked.workload.processes),
        "messages": asked.workload.messages,
        "program": None if check.program is None else _told_of_program(check.program, check.program_name),
        "channel": asked.channel_name,
        "orders": asked.orders,
        "sends": sends_of(check, type(asked.machine)) if free else None,
        "self_sends": check.self_sends,
        "parameters": dict(asked.machine.settings),
        "clocks": tuple(dict.fromkeys(check.clocks)),
        "reductions": list(reductions),
        # Without it ghosts have numbers of their own.
        "numba": HAVE_NUMBA,
    }


def saved_check(directory: Path) -> tuple[Check, tuple[str, ...]]:
    """The check that is saved there, and its reductions; a program is read anew."""
    return check_of(_manifest_in(directory)["question"])


def check_of(asked: dict[str, Any]) -> tuple[Check, tuple[str, ...]]:
    """The check of a question (`question_of`), and its reductions."""
    check = Check(
        asked["protocol"],
        channel=asked["channel"],
        orders=tuple(asked["orders"]),
        parameters={
            name: tuple(value) if isinstance(value, list) else value for name, value in asked["parameters"].items()
        },
        clocks=tuple(asked["clocks"]),
    )
    known = asked["program"]
    if known is None:
        free = {name: asked[name] for name in ("processes", "messages", "sends", "self_sends")}
        return replace(check, **free), tuple(asked["reductions"])
    path = library.path(known["name"]) if known["file"] is None else Path(known["file"])
    return replace(check, program=notation.load(path), program_name=known["name"]), tuple(asked["reductions"])


def _told_of_program(script: Script, name: str | None) -> dict[str, Any]:
    """Its name, where it is, and what it says: comments and spaces left aside."""
    bundled = name in library.names() and script.file == str(library.path(name))
    lines = zip(script.processes, script.statements, strict=True)
    says = "\n".join(f"{process}: {'; '.join(map(str, statements))}" for process, statements in lines)
    return {
        "name": name,
        "file": None if bundled or script.file is None else str(Path(script.file).resolve()),
        "sha256": hashlib.sha256(says.encode()).hexdigest(),
    }


def _differences(then: dict[str, Any], now: dict[str, Any]) -> Iterable[str]:
    """In what two questions differ, in words. Two programs are the same if they say the same, wherever they are."""
    for key in dict.fromkeys([*now, *then]):
        before, after = then.get(key), now.get(key)
        if key == "program" and before is not None and after is not None:
            if before["sha256"] == after["sha256"]:
                continue
            if before["name"] == after["name"]:
                yield f"program {before['name']} as it was then, and it has changed"
                continue
        if before != after:
            yield f"{key} {_told(before)}, not {_told(after)}"


def _told(value: Any) -> str:
    if isinstance(value, dict) and "sha256" in value:
        return str(value["name"])
    if isinstance(value, dict):
        return _told([f"{name}={_told(one)}" for name, one in value.items()])
    if isinstance(value, list):
        return ",".join(map(_told, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
