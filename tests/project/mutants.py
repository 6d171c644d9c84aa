"""Mutation testing by hand: faults planted in crownless itself, each caught by the tests of the code it is in.

    python tests/project/mutants.py                 plants every fault, one after the other, and runs its tests
    python tests/project/mutants.py orders logs     those of some areas
    python tests/project/mutants.py 7 'a clock'     the seventh of the table, and each whose fault has these words
    python tests/project/mutants.py --list          prints the table, numbered

A mutant replaces a text that stands once in one file. It is *caught* if one of its tests fails, and *lives* otherwise;
the exit code is 0 if all are caught. The project is copied first, so that the checkout stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_suffix(".toml")
#: Seconds after which the tests of a mutant count as hanging, which is caught too.
HANGS_AFTER = 900


class Mutant(NamedTuple):
    """A fault: `new` in place of `old`, in one file; `tests` are files that must catch it."""

    area: str
    fault: str
    file: str
    old: str
    new: str
    tests: list[str]


def mutants() -> list[Mutant]:
    """The table, in its order."""
    return [Mutant(**row) for row in tomllib.loads(TABLE.read_text())["mutant"]]


def files_of_tests(name: str, root: Path) -> list[Path]:
    """The tests of that name in the tiers that CI runs, what takes longer last."""
    at_length = name.replace(".py", "_at_length.py")
    return [*root.glob(f"tests/*/{name}"), *root.glob(f"tests/thorough/*/{name}"), *root.glob(f"tests/**/{at_length}")]


def planted(mutant: Mutant, root: Path) -> str:
    """The file with the fault; raises `ValueError` unless the text to replace stands in it once."""
    text = (root / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file} has {text.count(mutant.old)} places for: {mutant.fault}")
    return text.replace(mutant.old, mutant.new)


def outcome(mutant: Mutant, root: Path) -> str:
    """Plants the fault in the copy at `root`, runs its tests there, and takes it back."""
    path = root / mutant.file
    whole = path.read_text()
    path.write_text(planted(mutant, root))
    tests = [str(file) for name in mutant.tests for file in files_of_tests(name, root)]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=HANGS_AFTER, check=False
        )
    except subprocess.TimeoutExpired:
        return "caught: hangs"
    finally:
        path.write_text(whole)
    if done.returncode == 0:
        return "LIVES"
    if done.returncode != 1:
        return f"caught: pytest exits with {done.returncode}"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return f"caught by {failed[1].removeprefix('tests/')}" if failed else "caught"


def chosen(names: list[str]) -> dict[int, Mutant]:
    """number → mutant, of these areas, numbers or words of a fault; without a name, of all."""
    numbered = dict(enumerate(mutants(), 1))
    areas = {mutant.area for mutant in numbered.values()}

    def is_named(name: str, number: int, mutant: Mutant) -> bool:
        if name.isdigit() or name in areas:
            return name in (str(number), mutant.area)
        return name in mutant.fault

    return {k: one for k, one in numbered.items() if not names or any(is_named(name, k, one) for name in names)}


def main(arguments: list[str]) -> int:
    """Runs the mutants that are named, or all."""
    named = chosen([argument for argument in arguments if argument != "--list"])
    if "--list" in arguments:
        for number, mutant in named.items():
            print(f"{number} {mutant.area}: {mutant.file}: {mutant.fault}")
        return 0
    lives = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "crownless"
        shutil.copytree(ROOT, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", "site", "build"))
        for number, mutant in named.items():
            started = time.monotonic()
            what = outcome(mutant, root)
            lives += what == "LIVES"
            print(f"{number} {mutant.area}: {mutant.fault}: {what} ({time.monotonic() - started:.0f} s)", flush=True)
    print(f"{len(named)} mutants, {lives} of them live")
    return int(lives > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
