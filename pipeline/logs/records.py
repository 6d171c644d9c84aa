"""Verdicts on the runs of a bucket, with witnesses: by the monitor, and by the spec where it leaves one open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crownless.model_check.logs.columns import json_line
from crownless.model_check.logs.layout import Numbers
from crownless.model_check.logs.monitor import BROKEN, COLUMN, KEPT, UNDECIDED, Monitor
from crownless.model_check.logs.named_rows import NamedRows, are_names
from crownless.model_check.logs.shapes import WitnessesByShape
from crownless.spec.orders import ORDERS, UnreceivedPolicy, order_named

from .rows import UNKNOWN_RUN
from .runs import RunResult, judge_run

if TYPE_CHECKING:
    import pyarrow as pa

#: All records of a log are one table; `record_type` says what a row reports.
RECORD_SCHEMA = (
    "record_type string, run string, order string, verdict string, witness string, because string, "
    "row string, rows long"
)
VERDICT, QUARANTINE, HOLE, JUDGED = "verdict", "quarantine", "hole", "judged"

#: Runs of which the witnesses are held at a time.
RUNS_AT_A_TIME = 20_000

#: True: of all runs that break an order.
Witnesses = bool | Literal["first"]

_VERDICTS = {KEPT: "kept", BROKEN: "broken"}


@dataclass(frozen=True)
class Query:
    """The orders to decide for each run.

    `witnesses`: of every violation; with "first" of each order that of the first run alone, by name, of those decided
    together; or none.
    """

    orders: tuple[str, ...]
    reading: UnreceivedPolicy
    witnesses: Witnesses

    @classmethod
    def of(cls, orders: Sequence[str], reading: UnreceivedPolicy, witnesses: Witnesses) -> Query:
        """A query of the named orders, by default of all."""
        for order in orders:
            order_named(order)
        return cls(tuple(order for order in ORDERS if not orders or order in orders), reading, witnesses)


def records_of_runs(rows: NamedRows, query: Query) -> Iterator[pa.RecordBatch]:
    """The records of these runs, and the number of their rows that were judged."""
    monitor = Monitor(rows.numbers(), query.reading == "pending")
    found = _by_monitor(rows, monitor, query)
    left = (found == UNDECIDED).any(axis=1)
    records: list[dict[str, Any]] = []
    judged = int(np.diff(rows.first)[~left].sum())
    for run in np.flatnonzero(left).tolist():
        judged += _judge_by_spec(rows, run, found[run], query, records)
    records.append({"record_type": JUDGED, "rows": judged})
    yield _batch(records)
    yield from verdicts_by_monitor(rows, monitor, np.flatnonzero(~left), found, query.orders, query.witnesses)


def verdicts_by_monitor(
    rows: NamedRows,
    monitor: Monitor,
    runs: Numbers,
    outcomes: Numbers,
    orders: Sequence[str],
    witnesses: Witnesses = True,
) -> Iterator[pa.RecordBatch]:
    """The records of the verdicts on these runs, all of which the monitor has decided, by run and order."""
    names = rows.named["run"].names
    if witnesses == "first":
        shown = np.where(_first_by_name(names, runs, outcomes), outcomes, KEPT)
    else:
        shown = outcomes if witnesses else np.full_like(outcomes, KEPT)
    by_shape = WitnessesByShape(rows, monitor)
    for begin in range(0, len(runs), RUNS_AT_A_TIME):
        some = runs[begin : begin + RUNS_AT_A_TIME]
        broken = some[(shown[some] == BROKEN).any(axis=1)]
        made = {(run, order): text for run, order, text in by_shape.of(broken, shown[broken], orders)}
        for k, order in enumerate(orders):
            for outcome, verdict in _VERDICTS.items():
                which = some[outcomes[some, k] == outcome]
                if len(which):
                    texts = [made.get((run, order)) for run in which.tolist()] if made else [None] * len(which)
                    yield _verdicts(names.take(which), order, verdict, texts)


def _first_by_name(names: pa.StringArray, runs: Numbers, outcomes: Numbers) -> Numbers:
    """For each run and order, whether it is the one with the least name, of these runs that break the order."""
    first = np.zeros(outcomes.shape, bool)
    for k in range(outcomes.shape[1]):
        broken = runs[outcomes[runs, k] == BROKEN].tolist()
        if broken:
            first[min(broken, key=lambda run: str(names[run].as_py())), k] = True
    return first


def _by_monitor(rows: NamedRows, monitor: Monitor, query: Query) -> Numbers:
    """For each run and order of the query KEPT, BROKEN or UNDECIDED."""
    decided = monitor.outcomes(query.orders)
    decided[~are_names(rows.named["run"].names, empty=True)] = UNDECIDED
    return decided[:, [COLUMN[order] for order in query.orders]]


def _judge_by_spec(rows: NamedRows, run: int, found: Numbers, query: Query, records: list[dict[str, Any]]) -> int:
    """Decides one run by the spec; returns the number of its rows that could be judged."""
    name = rows.named["run"].names[run].as_py()
    lines = [json_line(rows.row(row)) for row in range(int(rows.first[run]), int(rows.first[run + 1]))]
    by_spec = judge_run(name, lines, query.orders, query.reading)
    for k, (order, verdict, witness, because) in enumerate(by_spec.order_verdicts):
        decided = _VERDICTS.get(int(found[k]))
        assert decided in (None, verdict), f"run {name}, {order}: {decided} by the monitor, {verdict} by the spec"
        if name != UNKNOWN_RUN:
            shown = witness if query.witnesses else None
            records.append(
                {
                    "record_type": VERDICT,
                    "run": name,
                    "order": order,
                    "verdict": verdict,
                    "witness": shown,
                    "because": because,
                }
            )
    records += data_quality_records(None if name == UNKNOWN_RUN else name, by_spec)
    return by_spec.judged


def data_quality_records(run: str | None, by_spec: RunResult) -> Iterator[dict[str, Any]]:
    """The records of a run's quarantined rows and holes."""
    for text, reason in by_spec.quarantine:
        yield {"record_type": QUARANTINE, "run": run, "row": text, "because": reason.text, "rows": 1}
    for hole in by_spec.holes:
        yield {"record_type": HOLE, "run": run, "because": hole.text}


def _batch(records: list[dict[str, Any]]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(records, schema=_schema())


def _verdicts(runs: pa.StringArray, order: str, verdict: str, witnesses: Sequence[str | None]) -> pa.RecordBatch:
    import pyarrow as pa

    count = len(runs)
    same = {"record_type": VERDICT, "order": order, "verdict": verdict}
    columns: dict[str, pa.Array] = {name: pa.repeat(value, count) for name, value in same.items()}
    columns |= {"run": runs, "witness": pa.array(witnesses, pa.string())}
    return pa.RecordBatch.from_arrays(
        [columns.get(field.name, pa.nulls(count, field.type)) for field in _schema()], schema=_schema()
    )


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [(part.split()[0], pa.int64() if "long" in part else pa.string()) for part in RECORD_SCHEMA.split(", ")]
    )
