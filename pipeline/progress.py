"""Progress reports of Spark's jobs while they run."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds between polls.
POLL_INTERVAL = 0.5


@contextmanager
def task_progress(spark: "SparkSession", report: Callable[[str], None] | None) -> Iterator[None]:
    """Within it `report` receives, every `POLL_INTERVAL`, the number of finished tasks of the running stages.

    Without a status tracker, as in a Spark Connect session, there are no reports.
    """
    try:
        tracker = spark.sparkContext.statusTracker()
    except Exception:  # of several kinds
        tracker = None
    if report is None or tracker is None:
        yield
        return
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(POLL_INTERVAL):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None]
            if known:
                done, tasks = sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known)
                report(f"{done:,} of {tasks:,} tasks")

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
