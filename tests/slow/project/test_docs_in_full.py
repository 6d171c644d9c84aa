"""What takes long of the tests in `test_docs.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from doc_pages import PAGES_ON_SPARK, page, run_page
from goldens import timeless

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("name", PAGES_ON_SPARK)
def test_the_blocks_of_a_page_on_spark_print_what_it_says(name: str, spark: SparkSession, tmp_path: Path) -> None:
    for block, now, _ in run_page(page(name).read_text("utf-8"), tmp_path):
        assert timeless(now) == timeless(block)
