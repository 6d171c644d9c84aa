"""What a search leaves on disk so that it can go on after an interruption, or after its process was killed.

A checkpoint is a directory. `manifest.json` tells what was asked, how far the search is and which files belong to it,
each with its SHA-256; it is replaced in one step, after the files it names are safely written, so that there is always
one whole checkpoint. The rows of a level are numbers that only the tables give a meaning; of the tables just the list
of entries is kept that were worked out, in order, since working them out again numbers everything as before.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from crownless.spec.errors import BadInput

MANIFEST = "manifest.json"
FORMAT = "crownless checkpoint 1"


class Checkpoint:
    """A directory to which a search saves itself; `question` tells checks apart."""

    def __init__(self, directory: Path, question: dict[str, Any], *, resume: bool) -> None:
        self.directory = directory
        self.question = json.loads(json.dumps(question))
        self._serial = 0
        #: What a search that goes on starts from: facts, and arrays by name.
        self.saved: tuple[dict[str, Any], dict[str, Any]] | None = None
        if resume:
            self.saved = self._load()
        elif (directory / MANIFEST).exists():
            mend = f"go on with it by --resume {directory}, or name another directory"
            raise BadInput(f"--checkpoint {directory}: holds a checkpoint already", mend=mend)
        elif directory.exists() and not directory.is_dir():
            raise BadInput(f"--checkpoint {directory}: not a directory", mend="name a directory, or a new one")

    def save(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Replaces what was saved before."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._serial += 1
        files = {}
        for name, array in arrays.items():
            path = self.directory / f"{name}-{self._serial}.npy"
            with path.open("wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            files[name] = {"file": path.name, "sha256": _digest(path)}
        manifest = {
            "format": FORMAT,
            "serial": self._serial,
            "question": self.question,
            "facts": facts,
            "files": files,
        }
        partial = self.directory / f"{MANIFEST}.partial"
        with partial.open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.directory / MANIFEST)
        kept = {entry["file"] for entry in files.values()}
        for path in self.directory.glob("*.npy"):
            if path.name not in kept:
                path.unlink()

    def _load(self) -> tuple[dict[str, Any], dict[str, Any]]:
        where = f"--resume {self.directory}"
        path = self.directory / MANIFEST
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            form, asked, files = manifest["format"], manifest["question"], manifest["files"]
            facts, self._serial = manifest["facts"], int(manifest["serial"])
        except OSError:
            raise BadInput(f"{where}: no checkpoint there", mend="name the directory given to --checkpoint") from None
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{path}: damaged, no checkpoint can be read from it", mend="start anew") from None
        if form != FORMAT:
            raise BadInput(f"{path}: written by another version ({form})", mend="start anew, or use that version")
        for key in sorted({*asked, *self.question}):
            if asked.get(key) != self.question.get(key):
                raise BadInput(
                    f"{where}: is of another check: {key} {_told(asked.get(key))}, not {_told(self.question.get(key))}",
                    mend="ask as it was asked then, or start anew with --checkpoint and another directory",
                )
        arrays = {}
        for name, entry in files.items():
            part = self.directory / entry["file"]
            try:
                if _digest(part) != entry["sha256"]:
                    raise ValueError
                arrays[name] = np.load(part, allow_pickle=False)
            except (OSError, ValueError):
                raise BadInput(f"{part}: damaged or missing", mend="start anew with --checkpoint") from None
        return facts, arrays


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _told(value: Any) -> str:
    return "none" if value is None else json.dumps(value)
