"""The pages of `docs/` do what they say: every block is run, every claim is the ledger's, and the site is built."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import ERRORS, PAGES, ROOT, errors_table, importable_from, page, run_page
from goldens import table_shown, timeless


@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_print_what_it_says(name: str, tmp_path: Path) -> None:
    with importable_from(tmp_path):
        for block, now, _ in run_page(page(name).read_text("utf-8"), tmp_path):
            assert timeless(now) == timeless(block)


@pytest.mark.parametrize(
    "block",
    [
        "```console\n$ python -c 'print(1)'\n2\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```pycon\n>>> for k in range(2):\n...     print(k)\n0\n```",
    ],
)
def test_a_page_that_prints_something_else_is_noticed(block: str, tmp_path: Path) -> None:
    ((old, now, _),) = run_page(f"# A page\n\n{block}\n", tmp_path)
    assert old == block
    assert timeless(now) != timeless(old)


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        list(run_page("```python\n1 / 0\n```\n", tmp_path))


def test_the_errors_shown_are_those_of_the_ledger() -> None:
    assert table_shown(*ERRORS) == errors_table()


@pytest.mark.thorough
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed; pip install -e '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "tutorial" / "index.html").exists()
