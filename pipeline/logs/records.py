"""Verdicts on the runs of a bucket: by the monitor, and by the spec where it leaves one open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crownless.model_check.logs.columns import json_line
from crownless.model_check.logs.layout import Numbers
from crownless.model_check.logs.monitor import BROKEN, COLUMN, KEPT, UNDECIDED, Monitor
from crownless.model_check.logs.named_rows import NamedRows, are_names
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

#: True: of all runs that break an order.
Witnesses = bool | Literal["first"]

_VERDICTS = {KEPT: "kept", BROKEN: "broken"}


@dataclass(frozen=True)
class Query:
    """The orders to decide for each run.

    With `witnesses` the spec decides every run that breaks an order again, which is most of the work; with "first" of
    each order the first such run alone, by name, of those decided together; without them none.
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
    found = _by_monitor(rows, query)
    left = np.zeros(len(found), bool)
    for outcomes in found.T:
        left |= outcomes == UNDECIDED
        if query.witnesses == "first":
            left[_first_by_name(rows, np.flatnonzero(outcomes == BROKEN))] = True
        elif query.witnesses:
            left |= outcomes == BROKEN
    records: list[dict[str, Any]] = []
    judged = int(np.diff(rows.first)[~left].sum())
    for run in np.flatnonzero(left).tolist():
        judged += _judge_by_spec(rows, run, found[run], query, records)
    records.append({"record_type": JUDGED, "rows": judged})
    yield _batch(records)
    names = rows.named["run"].names
    for k, order in enumerate(query.orders):
        for outcome, verdict in _VERDICTS.items():
            which = np.flatnonzero((found[:, k] == outcome) & ~left)
            if len(which):
                yield _verdicts(names.take(which), order, verdict)


def _first_by_name(rows: NamedRows, runs: Numbers) -> list[int]:
    """The run of these with the least name, if there is one."""
    names = rows.named["run"].names
    return [min(runs.tolist(), key=lambda run: str(names[run].as_py()))] if len(runs) else []


def _by_monitor(rows: NamedRows, query: Query) -> Numbers:
    """For each run and order of the query KEPT, BROKEN or UNDECIDED."""
    decided = Monitor(rows.numbers(), query.reading == "pending").outcomes(query.orders)
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


def _verdicts(runs: pa.StringArray, order: str, verdict: str) -> pa.RecordBatch:
    import pyarrow as pa

    count = len(runs)
    columns = {"record_type": VERDICT, "order": order, "verdict": verdict}
    return pa.RecordBatch.from_arrays(
        [
            runs
            if field.name == "run"
            else pa.repeat(columns[field.name], count)
            if field.name in columns
            else pa.nulls(count, field.type)
            for field in _schema()
        ],
        schema=_schema(),
    )


def _schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [(part.split()[0], pa.int64() if "long" in part else pa.string()) for part in RECORD_SCHEMA.split(", ")]
    )
