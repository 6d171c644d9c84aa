"""The texts' own examples, bundled: programs and computations in the notation, and one event log.

Each file opens with comments that say what it is, where it comes from, and what in it had to be recovered, since the
drawings of the texts are lost.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from .errors import unknown_name

# The package is installed as files, so that its resources have paths.
_FIGURES = Path(str(files(__package__))) / "figures"


def names(suffix: str = ".txt") -> tuple[str, ...]:
    """What is bundled, by name and in order: texts in the notation, or event logs with the suffix `.jsonl`."""
    return tuple(sorted(file.stem for file in _FIGURES.glob(f"*{suffix}")))


def path(name: str, suffix: str = ".txt") -> Path:
    """The file of that name."""
    if name not in names(suffix):
        raise unknown_name("figure", name, names(suffix))
    return _FIGURES / f"{name}{suffix}"
