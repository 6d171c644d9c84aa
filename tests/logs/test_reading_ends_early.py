"""Reading and checking the rows of a log ends between two batches of rows when it is to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crownless.oracle.logs.columns import table_of_rows
from crownless.oracle.logs.complete import complete
from crownless.oracle.logs.converted import ConvertedLog, with_receivers
from crownless.oracle.logs.event_logs import certain_rows, rows_of
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.rows import by_run, conflicts, without_conflicts
from crownless.oracle.logs.tables import read_table
from crownless.runtime import ending
from crownless.runtime.ending import Limits, looked_at, stoppable

EVENTS = [(p, kind, f"m{k}", (q,)) for k in range(9) for p, kind, q in (("a", "send", "b"), ("b", "deliver", "a"))]
ROWS = rows_of(EVENTS)


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table_of_rows(ROWS).select(["process", "index", "kind", "message", "peer"]), sink)
    return bytes(sink.getvalue())


def csv() -> bytes:
    lines = (f"{row.process},{row.index},{row.kind},{row.message},{row.peers[0]}" for row in ROWS)
    return "\n".join(["process,index,kind,message,peer", *lines]).encode()


WORK: dict[str, Callable[[], Any]] = {
    "parquet": lambda: read_table(parquet(), "parquet", "log", LogOptions()),
    "csv": lambda: read_table(csv(), "csv", "log", LogOptions()),
    "rows by run": lambda: by_run(ROWS),
    "contradictions": lambda: [*conflicts(ROWS)],
    "skipped rows": lambda: without_conflicts(ROWS),
    "receivers": lambda: with_receivers({"": ROWS}, "log"),
    "holes": lambda: certain_rows(ROWS),
    "a complete log": lambda: complete(ConvertedLog(ROWS), "log", "line", {}),
    "a table": lambda: table_of_rows(ROWS),
}


@pytest.mark.parametrize("name", WORK)
def test_it_ends_when_it_is_to_end(name: str) -> None:
    with stoppable() as part:
        WORK[name]()
    assert part.reason is None
    with stoppable(Limits(seconds=0)) as part:
        WORK[name]()
    assert part.reason is not None


def test_the_ending_is_looked_at_between_batches_of_items(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(ending, "look", lambda: seen.append(len(taken)))
    taken: list[int] = []
    for item in looked_at(range(10), 4):
        taken.append(item)
    assert taken == [*range(10)]
    assert seen == [0, 4, 8]
