"""The worked example of CONTRIBUTING.md, built: a new protocol by one file and one registry line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("spec", "impl", "model_check", "proofs", "src")
Run = Callable[[tuple[str, ...]], str]


@contextmanager
def with_the_example() -> Iterator[Run]:
    """A copy of the packages with the example's file and line added, and nothing else; runs `crownless` there."""
    file, line = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for package in PACKAGES:
            shutil.copytree(ROOT / package, copy / package, symlinks=True, ignore=shutil.ignore_patterns("*.egg-info"))
        (copy / "impl" / "protocols" / "hub.py").write_text(file, "utf-8")
        registry = copy / "impl" / "registry.py"
        text = registry.read_text("utf-8")
        last = '    "murty-garg": "murty_garg.MurtyGarg",\n'
        assert text.count(last) == 1
        registry.write_text(text.replace(last, last + line), "utf-8")

        def run(arguments: tuple[str, ...]) -> str:
            environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}
            command = [sys.executable, "-m", "crownless", *arguments]
            done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, encoding="utf-8")
            return done.stdout + done.stderr

        yield run
