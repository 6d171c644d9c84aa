"""The worked example of CONTRIBUTING.md: a new protocol by one file and one registry line."""

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

import pytest
from goldens import blocks, timeless

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


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with with_the_example() as run:
        yield run


def test_the_example_prints_what_contributing_says(run: Run) -> None:
    shown = list(blocks("CONTRIBUTING.md"))
    assert len(shown) == 2
    for block in shown:
        assert timeless(run(block.arguments)) == timeless(block.output)


def test_the_example_is_listed_and_covered_by_every_verb_that_takes_a_protocol(run: Run) -> None:
    assert re.search(r"^hub +causal", run(("list", "protocols")), re.MULTILINE)
    checked = run(("check", "hub", "-m", "2", "--channel", "fifo"))
    assert checked.startswith("hub: 3 processes, up to 2 messages")
    assert re.search(r"^fifo +always +holds", checked, re.MULTILINE)
