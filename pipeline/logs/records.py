"""Verdicts on the runs of a bucket: by the kernels, and by the spec where they leave one open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crownless.spec.orders import ORDERS, UnreceivedPolicy, order_named

from . import kernels
from .blocks import Named, Numbers, Rows
from .rows import UNKNOWN_RUN, json_line
from .runs import RunResult, judge_run
from .wait_queue import NONE

if TYPE_CHECKING:
    import pyarrow as pa

#: All records of a log are one table; `record_type` says what a row reports.
RECORD_SCHEMA = (
    "record_type string, run string, order string, verdict string, witness string, because string, "
    "row string, rows long"
)
VERDICT, QUARANTINE, HOLE, JUDGED = "verdict", "quarantine", "hole", "judged"

_COLUMN = {
    "fifo": kernels.FIFO,
    "causal": kernels.CAUSAL,
    "mailbox": kernels.MAILBOX,
    "one-n": kernels.ONE_N,
    "synchronous": kernels.SYNCHRONOUS,
}
_VERDICTS = {kernels.KEPT: "kept", kernels.BROKEN: "broken"}
_KINDS = {"send": kernels.SEND, "deliver": kernels.DELIVER, "receive": kernels.DELIVER, "internal": kernels.INTERNAL}


@dataclass(frozen=True)
class Query:
    """The orders to decide for each run. Without `witnesses` the spec does not search for witnesses, which is most of
    the work.
    """

    orders: tuple[str, ...]
    reading: UnreceivedPolicy
    witnesses: bool

    @classmethod
    def of(cls, orders: Sequence[str], reading: UnreceivedPolicy, witnesses: bool) -> Query:
        """A query of the named orders, by default of all."""
        for order in orders:
            order_named(order)
        return cls(tuple(order for order in ORDERS if not orders or order in orders), reading, witnesses)


def records_of_runs(rows: Rows, query: Query) -> Iterator[pa.RecordBatch]:
    """The records of these runs, and the number of their rows that were judged."""
    found = _by_kernels(rows, query)
    left = np.zeros(len(found), bool)
    for order in query.orders:
        left |= found[:, query.orders.index(order)] == kernels.UNDECIDED
        if query.witnesses:
            left |= found[:, query.orders.index(order)] == kernels.BROKEN
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


def _by_kernels(rows: Rows, query: Query) -> Numbers:
    """For each run and order of the query KEPT, BROKEN or UNDECIDED."""
    numbers = _numbers(rows)
    queues = any(order in query.orders for order in ("mailbox", "one-n", "n-n"))
    decided = kernels.decide_runs(rows.first, numbers, pending=query.reading == "pending", queues=queues)
    usable = _usable(rows.named["run"], empty=True)
    decided[~usable] = kernels.UNDECIDED
    columns = {order: decided[:, k] for order, k in _COLUMN.items()}
    clean = columns["fifo"] != kernels.UNDECIDED
    columns["asynchronous"] = np.where(clean, kernels.KEPT, kernels.UNDECIDED).astype(np.int8)
    # n-n lies between synchronous order and both others.
    n_n = np.full(len(decided), kernels.UNDECIDED, np.int8)
    n_n[columns["synchronous"] == kernels.KEPT] = kernels.KEPT
    n_n[(columns["mailbox"] == kernels.BROKEN) | (columns["one-n"] == kernels.BROKEN)] = kernels.BROKEN
    columns["n-n"] = n_n
    return np.stack([columns[order] for order in query.orders], axis=1)


def _numbers(rows: Rows) -> dict[str, Numbers]:
    """The columns in the form of the kernels."""
    empty = np.full(len(rows.index), NONE, np.int32)
    process, peer, message = rows.named.get("process"), rows.named.get("peer"), rows.named.get("message")
    number: dict[str, int] = {}
    kind = rows.named.get("kind")
    kinds = np.full(len(rows.index), kernels.NO_KIND, np.int32) if kind is None else _kinds(kind)
    if "text" in rows.named:
        kinds[rows.named["text"].codes >= 0] = kernels.NO_KIND
    return {
        "process": empty if process is None else _in_common(process, number),
        "index": rows.index,
        "kind": kinds,
        "message": empty if message is None else np.where(_marked(_usable(message), message), message.codes, -2),
        "peer": empty if peer is None else _in_common(peer, number),
    }


def _in_common(column: Named, number: dict[str, int]) -> Numbers:
    """The common numbers of names of processes and peers; -2 for an invalid name."""
    usable = _usable(column).tolist()
    names = column.names.to_pylist()
    new = [number.setdefault(name, len(number)) if ok else -2 for name, ok in zip(names, usable, strict=True)]
    return _by_code(np.array(new, np.int32), column, NONE)


def _kinds(column: Named) -> Numbers:
    kinds = [_KINDS.get(name, kernels.NO_KIND) for name in column.names.to_pylist()]
    return _by_code(np.array(kinds, np.int32), column, kernels.NO_KIND)


def _by_code(table: Numbers, column: Named, otherwise: int) -> Numbers:
    return np.append(table, np.int32(otherwise))[column.codes]  # a missing value has the code -1, the last


def _marked(table: Numbers, column: Named) -> Numbers:
    return np.append(table, False)[column.codes]


def _usable(column: Named, *, empty: bool = False) -> Numbers:
    """For each name, whether it is valid (see `model_check.event_logs`)."""
    names = column.names.to_pylist()
    return np.fromiter((name.isprintable() and (empty or name != "") for name in names), bool, len(names))


def _judge_by_spec(rows: Rows, run: int, found: Numbers, query: Query, records: list[dict[str, Any]]) -> int:
    """Decides one run by the spec; returns the number of its rows that could be judged."""
    name = rows.named["run"].names[run].as_py()
    lines = [json_line(rows.row(row)) for row in range(int(rows.first[run]), int(rows.first[run + 1]))]
    by_spec = judge_run(name, lines, query.orders, query.reading)
    for k, (order, verdict, witness, because) in enumerate(by_spec.order_verdicts):
        decided = _VERDICTS.get(int(found[k]))
        assert decided in (None, verdict), f"run {name}, {order}: {decided} by the kernels, {verdict} by the spec"
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
        yield {"record_type": QUARANTINE, "run": run, "row": text, "because": reason, "rows": 1}
    for hole in by_spec.holes:
        yield {"record_type": HOLE, "run": run, "because": hole}


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
