"""The records of judged runs: verdicts with witnesses, rows that were left out, holes; as Arrow batches, and in files.

The monitor decides most runs, many at once; the specification decides the others: those with holes or unusable rows.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from crownless.oracle.log_orders.classification import ClassifiedRuns
from crownless.oracle.log_orders.classified import ClassifiedLog, decided
from crownless.oracle.log_orders.damaged_runs import RunResult, judge_run
from crownless.oracle.log_orders.monitor import BROKEN, KEPT, NOTHING, OUTCOMES, UNDECIDED, Monitor
from crownless.oracle.log_orders.witnesses import WitnessesByShape
from crownless.oracle.logs.columns import json_line
from crownless.oracle.logs.formats import BY_ROW
from crownless.oracle.logs.layout import Numbers
from crownless.oracle.logs.lines import process_of
from crownless.oracle.logs.named_rows import NamedRows
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import as_json
from crownless.spec.orders import UnreceivedPolicy, Verdict, chosen, nothing_to_judge

from .blocks import OF_ANY_RUN
from .sources import UNKNOWN_RUN

#: All records of a log are one table; `record_type` says what a row reports. In files each type has a folder.
RECORD_SCHEMA = (
    "record_type string, run string, order string, verdict string, witness string, because string, "
    "row string, rows long"
)
RECORD_FIELDS = [part.split()[0] for part in RECORD_SCHEMA.split(", ")]
VERDICT, LEFT_OUT, HOLE, JUDGED = "verdict", "left_out", "hole", "judged"

#: Runs of which the witnesses are held at a time; and records that are written at a time.
RUNS_AT_A_TIME = 20_000
RECORDS_AT_A_TIME = 10_000

Record = dict[str, Any]
#: True: of all runs that violate an order.
Witnesses = bool | Literal["first"]


@dataclass(frozen=True)
class Query:
    """The orders to decide for each run.

    `witnesses`: of every violation; or with "first", for each order only that of the first run, by name, of those
    decided together; or none.
    """

    orders: tuple[str, ...]
    reading: UnreceivedPolicy
    witnesses: Witnesses = True

    @classmethod
    def of(cls, orders: Sequence[str], reading: UnreceivedPolicy, witnesses: Witnesses = True) -> "Query":
        """A query of the named orders, by default of all."""
        return cls(chosen(orders), reading, witnesses)


def record(record_type: str, run: str | None, **fields: Any) -> Record:
    """A record, with null for the fields that are not given."""
    known = {"record_type": record_type, "run": None if run == UNKNOWN_RUN else run}
    return dict[str, Any].fromkeys(RECORD_FIELDS) | known | fields


def quarantined(run: str | None, row: str, because: str) -> Record:
    """The record of a row that cannot be used."""
    return record(LEFT_OUT, run, row=row, because=because, rows=1)


def verdict_records(run: str, verdicts: Iterable[Verdict], *, witnesses: bool = True) -> Iterator[Record]:
    """The records of verdicts on a run."""
    for one in verdicts:
        witness = one.json()["witness"] if witnesses else None
        text = None if witness is None else as_json(witness)
        yield record(VERDICT, run, order=one.order, verdict=one.outcome, witness=text, because=one.unknown)


def data_quality_records(run: str | None, found: RunResult) -> Iterator[Record]:
    """The records of a run's rows that were left out and holes."""
    for text, reason in found.quarantine:
        yield quarantined(run, text, reason.text)
    for hole in found.holes:
        yield record(HOLE, run, because=hole.text)


def batch_of(records: Sequence[Record]) -> pa.RecordBatch:
    """The records as one batch."""
    return pa.RecordBatch.from_pylist(list(records), schema=_schema())


def _schema() -> pa.Schema:
    return pa.schema([(name, pa.int64() if name == "rows" else pa.string()) for name in RECORD_FIELDS])


# -- many runs ---------------------------------------------------------------------------------------------------------


def records_of_runs(rows: NamedRows, query: Query) -> Iterator[pa.RecordBatch]:
    """The records of these runs, and the number of their rows that were judged."""
    log, torn = decided(rows, rows.numbers(), "", query.orders, query.reading, BY_ROW), of_any_run(rows)
    if torn:
        log.is_regular[:], log.outcomes[:] = False, UNDECIDED
    found, left = log.outcomes, ~log.by_monitor
    judged = int(np.diff(rows.first)[~left].sum())
    records: list[Record] = []
    for run in np.flatnonzero(left).tolist():
        name = rows.named["run"].names[run].as_py()
        if name == OF_ANY_RUN:
            continue
        by_spec = judge_run(name, lines_of(rows, run), query.orders, query.reading, torn=torn)
        for known, one in zip(found[run].tolist(), by_spec.verdicts, strict=True):
            by_monitor = OUTCOMES[known]
            both = f"{by_monitor} by the monitor, {one.outcome} by the spec"
            assert known == UNDECIDED or by_monitor == one.outcome, f"run {name}, {one.order}: {both}"
        if name != UNKNOWN_RUN:
            records += verdict_records(name, by_spec.verdicts, witnesses=bool(query.witnesses))
        records += data_quality_records(name, by_spec)
        judged += by_spec.judged
    yield batch_of([*records, record(JUDGED, None, rows=judged)])
    yield from _verdicts_by_monitor(rows, log.monitor, np.flatnonzero(~left), found, query)


def lines_of(rows: NamedRows, run: int) -> list[str]:
    """The rows of the run of that number as lines of JSON."""
    return [json_line(rows.row(row)) for row in range(int(rows.first[run]), int(rows.first[run + 1]))]


def of_any_run(rows: NamedRows) -> set[str | None]:
    """The processes of the rows that name no run, None for an unknown one: any run may lack them."""
    names = rows.named["run"].names.to_pylist()
    return {process_of(line) for run, name in enumerate(names) if name == OF_ANY_RUN for line in lines_of(rows, run)}


def _verdicts_by_monitor(
    rows: NamedRows, monitor: Monitor, runs: Numbers, outcomes: Numbers, query: Query
) -> Iterator[pa.RecordBatch]:
    """The records of the verdicts on these runs, all decided by the monitor, by run and order."""
    names = rows.named["run"].names
    if query.witnesses == "first":
        shown = np.where(_first_by_name(names, runs, outcomes), outcomes, KEPT)
    else:
        shown = outcomes if query.witnesses else np.full_like(outcomes, KEPT)
    by_shape = WitnessesByShape(rows, monitor)
    for begin in range(0, len(runs), RUNS_AT_A_TIME):
        some = runs[begin : begin + RUNS_AT_A_TIME]
        broken = some[(shown[some] == BROKEN).any(axis=1)]
        made = {(run, order): text for run, order, text in by_shape.of(broken, shown[broken], query.orders)}
        for k, order in enumerate(query.orders):
            for outcome in (KEPT, BROKEN, NOTHING):
                which = some[outcomes[some, k] == outcome]
                texts = [made.get((run, order)) for run in which.tolist()] if made else [None] * len(which)
                same = {"record_type": VERDICT, "order": order, "verdict": OUTCOMES[outcome]}
                columns = {name: pa.repeat(value, len(which)) for name, value in same.items()}
                columns |= {"run": names.take(which), "witness": pa.array(texts, pa.string())}
                if outcome == NOTHING:
                    columns["because"] = pa.repeat(nothing_to_judge(order).unknown, len(which))
                nulls = {field.name: pa.nulls(len(which), field.type) for field in _schema()}
                if len(which):
                    yield pa.RecordBatch.from_pydict({**nulls, **columns}, schema=_schema())


def _first_by_name(names: pa.StringArray, runs: Numbers, outcomes: Numbers) -> Numbers:
    """For each run and order, whether the run has the least name among those that violate the order."""
    first = np.zeros(outcomes.shape, bool)
    for k in range(outcomes.shape[1]):
        broken = runs[outcomes[runs, k] == BROKEN].tolist()
        if broken:
            first[min(broken, key=lambda run: str(names[run].as_py())), k] = True
    return first


# -- files -------------------------------------------------------------------------------------------------------------


def refuse_taken(out: Path) -> None:
    """Raises `BadInput` if the folder is not empty."""
    if out.exists() and any(out.iterdir()):
        raise BadInput("the folder exists already", hint="name a new folder", file=str(out))


def write_records(out: Path, runs: ClassifiedRuns) -> None:
    """Writes the records of these runs as Parquet; the folder appears only when complete."""
    by_type = ds.partitioning(pa.schema([("record_type", pa.string())]), flavor="hive")
    with _finished_folder(out) as folder:
        ds.write_dataset(
            _records_of(runs),
            folder,
            schema=_schema(),
            format="parquet",
            partitioning=by_type,
            basename_template="part-{i}.parquet",
            use_threads=False,
        )


def _records_of(runs: ClassifiedRuns) -> Iterator[pa.RecordBatch]:
    judged, held = 0, list[Record]()
    left = np.arange(len(runs))
    by_monitor = isinstance(runs, ClassifiedLog)
    if isinstance(runs, ClassifiedLog):
        left, judged = np.flatnonzero(~runs.by_monitor), len(runs.rows.index)
        query = Query(tuple(runs.orders), runs.reading)
        yield from _verdicts_by_monitor(runs.rows, runs.monitor, np.flatnonzero(runs.by_monitor), runs.outcomes, query)
    for number in left.tolist():
        found = runs.classification(number)
        run = found.subject.run or ""
        held += verdict_records(run, found.verdicts)
        held += (record(HOLE, run, because=hole.text) for hole in found.subject.holes)
        judged += 0 if by_monitor else found.subject.events
        if len(held) >= RECORDS_AT_A_TIME:
            yield batch_of(held)
            held = []
    yield batch_of([*held, record(JUDGED, None, rows=judged)])


@contextmanager
def _finished_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside that one, which is renamed to it at the end, or removed on failure."""
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.parent / f".{out.name}.{os.getpid()}.unfinished"
    unfinished.mkdir()
    try:
        yield unfinished
        refuse_taken(out)
        unfinished.rename(out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
