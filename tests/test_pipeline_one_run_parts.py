"""The parts of what judges one large run on Spark: names, the numbering of events, and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from one_run_logs import (
    OVERTAKEN,
    _without_compiling,  # noqa: F401
    frame,
    log,
)

from crownless.model_check.logs.columns import PEER_SEPARATOR
from crownless.pipeline.logs.checked_rows import (
    ALONE,
    _sentence,
    _unprintable_characters,
    checked,
    is_no_name,
    processes_of,
    quarantined,
)
from crownless.pipeline.logs.one_run import PLACES, _events
from crownless.pipeline.logs.rows import plain

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
from spark_session import spark  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:pyspark"),
    pytest.mark.usefixtures("_without_compiling"),
]


def test_a_name_is_what_python_can_print(spark: SparkSession) -> None:  # noqa: F811
    """Of all characters, but for halves of them, which no string of Spark holds."""
    from pyspark.sql import functions as f

    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    stretches = ["".join(every[k : k + 4096]) for k in range(0, len(every), 4096)]
    printed = f.regexp_replace("name", _unprintable_characters(), "")
    rows = spark.createDataFrame([(stretch,) for stretch in stretches], "name string").select(printed).collect()
    assert [row[0] for row in rows] == ["".join(filter(str.isprintable, stretch)) for stretch in stretches]
    some = ["P 1", "P\u00e9", "\U0001f600", "", None, "P\n", "\nP", "P\u00a0", "P\u0085", "P\x7f", "\U000e0001"]
    found = spark.createDataFrame([(name,) for name in some], "name string").select(is_no_name(f.col("name"))).collect()
    assert [row[0] for row in found] == [False] * 3 + [True] * 8


def test_the_events_are_numbered_along_the_lines(spark: SparkSession) -> None:  # noqa: F811
    # Internal events, the message that P3 may have received in its hole, and the unsent one are left out.
    lines = log("P1: - x>P2 l>P2 y>P4+P3 h>P3", "P4: y z>P2", "P2: z x s", "P3: ? -")
    found = checked(frame(spark, lines))
    processes = processes_of(found)
    assert processes.numbers == {"P1": 0, "P2": 1, "P3": 2, "P4": 3}
    # The send of s may have been of anybody but P2.
    assert processes.with_gaps == {"P1", "P3", "P4"}
    assert (processes.judged, processes.quarantined) == (11, 0)
    rows = {
        (row["message"], row["p"], row["place"], row["sends"], row["id"], tuple(row["receivers"] or ()))
        for row in _events(found, processes).collect()
    }
    x, l, y, z = 0, 1, 2, (3 << PLACES) + 1
    assert rows == {
        ("x", 0, 0, True, x, (1,)),
        ("l", 0, 1, True, l, (1,)),  # P2 has no hole, so that it is lost
        ("y", 0, 2, True, y, (3,)),
        ("y", 3, 0, False, y, ()),
        ("z", 3, 1, True, z, (1,)),
        ("z", 1, 0, False, z, ()),
        ("x", 1, 1, False, x, ()),
    }


def test_few_rows_stay_in_one_task(spark: SparkSession) -> None:  # noqa: F811
    found = checked(frame(spark, OVERTAKEN))
    events = _events(found, processes_of(found))
    assert "Exchange" not in events._jdf.queryExecution().executedPlan().toString()


def test_the_peer_of_an_internal_event_is_ignored_whatever_it_holds(spark: SparkSession) -> None:  # noqa: F811
    rows = [("P1", 0, "internal", None, f"a{PEER_SEPARATOR}b"), ("P1", 1, "send", "x", f"a{PEER_SEPARATOR}b")]
    events = spark.createDataFrame(rows, "process string, index long, kind string, message string, peer string")
    found = checked(plain(events))
    assert [row["reason"] is None for row in found.orderBy("index").collect()] == [True, False]
    (bad,) = quarantined(found).collect()
    assert bad["because"] == "'peer' cannot be \"a\\u001fb\""


def test_a_row_that_spark_takes_for_unusable_by_mistake_is_noticed() -> None:
    row = {"run": "", "process": "P1", "index": 0, "kind": "internal", "message": None, "peer": None, "text": None}
    with pytest.raises(AssertionError, match="Spark takes an event for unusable"):
        _sentence({**row, "reason": ALONE})
