"""What takes longer of the tests in `test_docs.py`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from doc_pages import PAGES, ROOT, importable_from, page, printed_in, run_page
from goldens import timeless

if TYPE_CHECKING:
    pass


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
