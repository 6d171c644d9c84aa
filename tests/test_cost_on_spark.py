"""A sweep of simulations on Spark finds what a sweep in processes finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cost_experiments import small
from spark_session import spark  # noqa: F401

from crownless.model_check.simulation.studies import combinations as cost_studies
from crownless.model_check.simulation.studies import figures as cost_figures
from crownless.pipeline.costs import figures_on_spark
from crownless.pipeline.costs import table as cost_table
from crownless.pipeline.costs.sweeps import sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_finds_the_same(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    plain = sweep(small(2))
    reported: list[int] = []
    assert sweep(small(2), engine="spark", out=tmp_path, progress=lambda done, total: reported.append(done)) == plain
    assert reported == list(range(15))
    assert sweep(small(2), out=tmp_path) == plain
    frame = figures_on_spark.figures(spark.createDataFrame(cost_table.arrow_table(plain)))
    found = {tuple(row[name] for name in (*cost_figures.FIELDS_BUT_SEED, "figure")): row for row in frame.collect()}
    for point in cost_figures.points(plain):
        key = tuple(point.settings.values())
        assert found[*key, "stuck"]["mean"] == found[*key, "broken"]["mean"] == 0
        for name in cost_figures.AVERAGED:
            row, expected = found[*key, name], point[name]
            if expected is None:
                assert row["values"] == 0
            else:
                assert row["values"] == expected.values
                assert row["mean"] == pytest.approx(expected.mean)
                assert row["error"] == pytest.approx(expected.error, abs=1e-9)


def test_on_spark_too_there_are_no_figures_where_a_run_got_stuck(spark: SparkSession) -> None:  # noqa: F811
    experiments = cost_studies.combinations(("rendezvous",), processes=(6,), loads=(0.05,), seeds=4, messages=40)
    rows = sweep(experiments)
    (point,) = cost_figures.points(rows)
    assert 0 < point.stuck < 4
    frame = figures_on_spark.figures(spark.createDataFrame(cost_table.arrow_table(rows)))
    found = {row["figure"]: row for row in frame.collect()}
    assert found["stuck"]["mean"] == point.stuck / 4
    assert {found[name]["values"] for name in cost_figures.AVERAGED} == {0}


def test_a_sweep_on_spark_that_ends_early_keeps_what_is_done(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    first = sweep(small(1), engine="spark", out=tmp_path)
    with pytest.raises(RuntimeError, match="enough"):
        sweep(small(3), engine="spark", out=tmp_path, progress=gives_up_at(len(first) + 2))
    assert len(first) < len(cost_table.read(tmp_path)) < 3 * len(first)
    assert sweep(small(3), engine="spark", out=tmp_path) == sweep(small(3))


def gives_up_at(number: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= number:
            raise RuntimeError("enough")

    return progress
