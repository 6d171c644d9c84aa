"""One Spark session for all tests of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from crownless.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """On two processors of this machine, with four partitions a shuffle."""
    started = session("local[2]", rows_in_java=False, spark_sql_shuffle_partitions="4")
    yield started
    started.stop()
