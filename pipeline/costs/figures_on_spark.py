"""The figures of repeated simulations, computed on Spark as `studies.figures` does in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crownless.model_check.simulation.estimates import student
from crownless.model_check.simulation.studies.figures import AVERAGED, FIELDS_BUT_SEED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Student's t for this many repetitions is used for more, too: intervals are then a little too wide.
MOST_REPETITIONS = 200


def figures(frame: DataFrame) -> DataFrame:
    """One row for each experiment and figure: its mean, and half the width of its confidence interval, as in `points`.

    `stuck` and `broken` are figures too: the share of the repetitions. Where one is stuck the others have no values.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    students = f.create_map(*[f.lit(entry) for k in range(2, MOST_REPETITIONS + 1) for entry in (k, student(k - 1))])
    undelivered = f.max("undelivered").over(Window.partitionBy(*FIELDS_BUT_SEED))
    values = [
        *[f.when(undelivered == 0, f.col(name).cast("double")).alias(name) for name in AVERAGED],
        (f.col("undelivered") > 0).cast("double").alias("stuck"),
        (~f.col("kept")).cast("double").alias("broken"),
    ]
    long = frame.select(*FIELDS_BUT_SEED, *values).unpivot(
        [*FIELDS_BUT_SEED], [*AVERAGED, "stuck", "broken"], "figure", "value"
    )
    grouped = long.groupBy(*FIELDS_BUT_SEED, "figure").agg(
        f.count("value").alias("values"), f.mean("value").alias("mean"), f.stddev_samp("value").alias("deviation")
    )
    t = students[f.least("values", f.lit(MOST_REPETITIONS)).cast("int")]
    return grouped.withColumn("error", t * f.col("deviation") / f.sqrt("values")).drop("deviation")
