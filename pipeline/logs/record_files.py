"""The records of classified runs as Parquet files: every verdict, witness and hole, in the columns of `records`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crownless.model_check.classified_runs import ClassifiedRuns
from crownless.model_check.logs.classified import ClassifiedLog
from crownless.model_check.oracle import Classification
from crownless.spec.errors import BadInput
from crownless.spec.printable import as_json

from .records import HOLE, JUDGED, RECORD_SCHEMA, VERDICT, verdicts_by_monitor

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: The column for the type of a record; each type has a folder of its own.
TYPE = "record_type"
#: Records that are written at a time.
AT_A_TIME = 10_000


def refuse_taken(out: Path) -> None:
    """Raises `BadInput` if there is something in the folder."""
    if out.exists() and any(out.iterdir()):
        raise BadInput("the folder exists already", hint="name a new folder", file=str(out))


def write_records(out: Path, runs: ClassifiedRuns, orders: Sequence[str]) -> None:
    """Writes the records of these runs; the folder is there when all of them are in it, and not before."""
    import pyarrow as pa

    with _finished_folder(out) as folder, _Writers(folder) as writers:
        judged = 0
        left = np.arange(len(runs))
        if isinstance(runs, ClassifiedLog):
            left, judged = np.flatnonzero(~runs.by_monitor), len(runs.rows.index)
            which = np.flatnonzero(runs.by_monitor)
            for batch in verdicts_by_monitor(runs.rows, runs.monitor, which, runs.outcomes, runs.orders):
                writers.write(VERDICT, pa.Table.from_batches([batch]).drop_columns([TYPE]))
        for number in left.tolist():
            found = runs.classification(number)
            writers.add(VERDICT, _verdicts(found))
            run = found.subject.run or ""
            writers.add(HOLE, ({"run": run, "because": hole.text} for hole in found.subject.holes))
            judged += 0 if isinstance(runs, ClassifiedLog) else found.subject.events
        writers.add(JUDGED, [{"rows": judged}])


def _verdicts(found: Classification) -> Iterator[dict[str, Any]]:
    for verdict in found.verdicts:
        witness = verdict.json()["witness"]
        yield {
            "run": found.subject.run or "",
            "order": verdict.order,
            "verdict": verdict.outcome,
            "witness": None if witness is None else as_json(witness),
            "because": verdict.unknown,
        }


def _schema() -> pa.Schema:
    import pyarrow as pa

    fields = [part.split() for part in RECORD_SCHEMA.split(", ")]
    return pa.schema([(name, pa.int64() if kind == "long" else pa.string()) for name, kind in fields if name != TYPE])


class _Writers:
    """A Parquet file for each kind of records."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, pq.ParquetWriter] = {}
        self._held: dict[str, list[dict[str, Any]]] = {}

    def add(self, kind: str, records: Iterable[dict[str, Any]]) -> None:
        held = self._held.setdefault(kind, [])
        held += records
        if len(held) >= AT_A_TIME:
            self._flush(kind)

    def _flush(self, kind: str) -> None:
        import pyarrow as pa

        held = self._held.pop(kind)
        if held:
            self.write(kind, pa.Table.from_pylist(held, schema=_schema()))

    def write(self, kind: str, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        if kind not in self._files:
            folder = self._folder / f"{TYPE}={kind}"
            folder.mkdir()
            self._files[kind] = pq.ParquetWriter(folder / "part-0.parquet", _schema())
        self._files[kind].write_table(table)

    def __enter__(self) -> _Writers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            for name in list(self._held):
                self._flush(name)
        for file in self._files.values():
            file.close()


@contextmanager
def _finished_folder(out: Path) -> Iterator[Path]:
    """A folder beside that one, which gets its name at the end, or is removed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.parent / f".{out.name}.{os.getpid()}.unfinished"
    unfinished.mkdir()
    try:
        yield unfinished
        refuse_taken(out)
        unfinished.rename(out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
