"""The bundled computations: the papers' own examples, counterexamples to their claims, and exercises.

The examples are programs and computations in the notation, and one event log. Each file opens with comments on its
content, its source, and the parts that had to be recovered, since the drawings of the papers are lost.

The counterexamples come from `crownless claims`, which reports when one differs from its findings: computations and
programs in the notation, and runs in the format of `crownless check --json`.

The exercises are programs, not from the papers, in which a protocol rule makes a difference that the free workload
shows only at a bound that takes too long.
"""

import re
from importlib.resources import files
from pathlib import Path

from crownless.runtime import research_parts
from crownless.runtime.errors import unknown_name

from .computation import Message

#: The end of a sentence: not after "Fig.".
SENTENCE = re.compile(r"(?<!Fig)\. (?=[A-Z\[])")

#: The initial of control messages in bundled counterexamples.
CONTROL = "c"

# The package is installed as files, so that its resources have paths.
_FIGURES = Path(str(files(__package__))) / "figures"
COUNTEREXAMPLES = research_parts.counterexamples()
_EXERCISES = Path(str(files(__package__))) / "exercises"


def names(suffix: str = ".txt") -> tuple[str, ...]:
    """The papers' examples, by name and in order: texts in the notation, or event logs with the suffix `.jsonl`."""
    return _names(_FIGURES, suffix)


def counterexamples(suffix: str = ".txt") -> tuple[str, ...]:
    """The counterexamples, likewise: texts in the notation, or runs with the suffix `.json`."""
    return _names(COUNTEREXAMPLES, suffix)


def exercises() -> tuple[str, ...]:
    """The exercises, by name and in order."""
    return _names(_EXERCISES, ".txt")


def _names(folder: Path, suffix: str) -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in folder.glob(f"*{suffix}")))


def path(name: str, suffix: str = ".txt") -> Path:
    """The file of that name, an example, a counterexample or an exercise."""
    if suffix == ".txt" and name in exercises():
        return _EXERCISES / f"{name}{suffix}"
    if name in counterexamples(suffix):
        return COUNTEREXAMPLES / f"{name}{suffix}"
    if name not in names(suffix):
        raise unknown_name("figure", name, names(suffix))
    return _FIGURES / f"{name}{suffix}"


def located(name: str) -> Path | None:
    """The file that a name means: one of the user's or, failing that, the bundled text, log (`NAME.jsonl`) or run of
    that name; None if there is neither.
    """
    if is_file_name(name):
        return Path(name)
    bundled = {path.name: path for folder in (_FIGURES, COUNTEREXAMPLES, _EXERCISES) for path in folder.glob("*")}
    found = [bundled[f"{name}{suffix}"] for suffix in (".txt", ".json") if f"{name}{suffix}" in bundled]
    return found[0] if found else bundled.get(name) if name.endswith(".jsonl") else None


def is_file_name(name: str) -> bool:
    """True if the name exists on disk; false for a name that no file can have."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def is_control(message: Message) -> bool:
    """True if it is a control message: in the bundled counterexamples exactly those are called c1, c2, …."""
    return message.name[0] == CONTROL


def comment(name: str) -> str:
    """The description of a bundled text: the first sentence of its opening comment."""
    lines = path(name).read_text("utf-8").splitlines()
    return SENTENCE.split(" ".join(line.lstrip("# ") for line in lines if line[0] == "#"))[0].rstrip(".")
