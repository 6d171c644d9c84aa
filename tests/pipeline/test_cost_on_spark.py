"""A sweep of simulations on Spark finds what a sweep in one process finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cost_experiments import small

from crownless.pipeline import costs

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def test_spark_finds_the_same(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = costs.sweep(small(2))
    reported: list[int] = []
    monkeypatch.setattr(costs, "ROWS_A_JOB", 4)  # so that there are two jobs
    assert costs.sweep(small(2), engine="spark", out=tmp_path, progress=lambda n, _: reported.append(n)) == plain
    assert reported == list(range(15))
    assert costs.sweep(small(2), out=tmp_path) == plain
