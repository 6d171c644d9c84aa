"""What takes longer of the tests in `test_docs.py`."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

import pytest
from command_line_runner import Crownless
from doc_pages import PAGES, ROOT, importable_from, page, printed_in, run_page
from goldens import timeless


@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_print_what_it_says(name: str, tmp_path: Path) -> None:
    with importable_from(tmp_path):
        for block, now, _ in run_page(page(name).read_text("utf-8"), tmp_path):
            assert timeless(now) == timeless(block)


@pytest.mark.slow
def test_the_example_of_a_test_suite_passes(tmp_path: Path) -> None:
    for file in (ROOT / "examples").glob("test_*.py"):
        shutil.copy(file, tmp_path)
    assert re.search(r"^4 passed$", printed_in(tmp_path, "pytest -q"), re.MULTILINE)


def test_the_commands_of_the_workflow_pass(crownless: Crownless, tmp_path: Path) -> None:
    list(run_page(page("ci").read_text("utf-8"), tmp_path))
    text = (tmp_path / "crownless.yml").read_text("utf-8")
    commands = [command.split() for command in re.findall(r"^ +- run: (crownless .*|pytest .*)$", text, re.MULTILINE)]
    assert [program for program, *_ in commands] == ["crownless", "pytest"]
    with importable_from(tmp_path), contextlib.chdir(tmp_path):
        assert crownless(*commands[0][1:]).code == 0
    assert "2 passed" in printed_in(tmp_path, " ".join(commands[1]))
