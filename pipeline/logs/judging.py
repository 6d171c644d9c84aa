"""Verdicts and witnesses for event logs of millions of runs.

The verdicts are those of `crownless classify` (`model_check.oracle`), run by run; the tests compare them. Where
`classify` refuses a log for one bad row, that row goes to quarantine with the reason (see `runs`).

The rows are packed by bucket of run (`blocks`), so that all rows of a run meet in one task, wherever in the log they
are. There the compiled monitor decides all runs of a bucket at once (`records`). The spec decides the runs that it
leaves: those with a hole or an unusable row.

On a cluster the executors need crownless too: install its wheel there, or ship it with ``--py-files``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crownless.model_check.logs.columns import COLUMNS, check_columns, plain_table
from crownless.model_check.logs.formats import CALLED, format_of
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy

from .blocks import BLOCKS, packed, unpacked
from .records import HOLE, JUDGED, QUARANTINE, RECORD_SCHEMA, VERDICT, Query, Witnesses, records_of_runs
from .rows import as_bytes, plain, plain_lines, read_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The number of buckets of runs; one is held in memory at a time.
BUCKETS = 64


class Account(NamedTuple):
    """The number of rows of a log: all, judged, and in quarantine."""

    rows: int
    judged: int
    quarantined: int


@dataclass(frozen=True)
class LogResult:
    """The result for a log; `records` holds all of it (persist or write `records`, to compute it once).

    `events`: the rows of the log, to be counted again, or their number.
    """

    events: DataFrame | int
    records: DataFrame

    @property
    def verdicts(self) -> DataFrame:
        """run, order, verdict (kept, broken, unknown), witness (JSON, if broken), because (if unknown)."""
        return self._of_type(VERDICT, "run", "order", "verdict", "witness", "because")

    @property
    def quarantine(self) -> DataFrame:
        """run (null if the row names none), row (JSON), reason."""
        from pyspark.sql import functions as f

        return self._of_type(QUARANTINE, "run", "row", f.col("because").alias("reason"))

    @property
    def holes(self) -> DataFrame:
        """run, hole: the evidence that the log has lost events."""
        from pyspark.sql import functions as f

        return self._of_type(HOLE, "run", f.col("because").alias("hole"))

    def _of_type(self, record_type: str, *columns: Any) -> DataFrame:
        return self.records.where(self.records.record_type == record_type).select(*columns)

    def account(self) -> Account:
        """Counts the rows again; raises `AssertionError` unless each was judged or is in quarantine."""
        from pyspark.sql import functions as f

        counted = self.records.where(f.col("record_type").isin(JUDGED, QUARANTINE)).groupBy("record_type")
        sums = {row["record_type"]: int(row["n"]) for row in counted.agg(f.sum("rows").alias("n")).collect()}
        rows = self.events if isinstance(self.events, int) else self.events.count()
        account = Account(rows, sums.get(JUDGED, 0), sums.get(QUARANTINE, 0))
        assert account.rows == account.judged + account.quarantined, f"rows were dropped: {account}"
        return account


def judge(
    events: DataFrame,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    witnesses: Witnesses = True,
    buckets: int = BUCKETS,
) -> LogResult:
    """Judges every run of a DataFrame of events; all seven orders unless some are named.

    `witnesses`: of each violation, or with "first" at least that of the first run that breaks each order, by name;
    without them a log in which most runs break some order takes a small part of the time. `buckets`: more of them, less
    memory. Raises `BadInput` if the columns are not those of a log.
    """
    query = Query.of(orders, reading, witnesses)
    rows = plain(events)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _packed(batches, buckets)

    return LogResult(rows, _records(rows.mapInArrow(pack, BLOCKS), query))


def judge_lines(
    spark: SparkSession,
    path: str,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    witnesses: Witnesses = True,
    buckets: int = BUCKETS,
) -> LogResult:
    """Judges every run of JSON Lines, a file or a folder of files, read and packed in one pass."""
    query = Query.of(orders, reading, witnesses)
    lines = read_text(spark, path)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _packed(read_lines(batches), buckets)

    return LogResult(lines.where(lines.value.rlike(r"\S")), _records(as_bytes(lines).mapInArrow(pack, BLOCKS), query))


def judge_parquet(
    spark: SparkSession,
    path: str,
    orders: Sequence[str] = (),
    reading: UnreceivedPolicy = "lost",
    *,
    witnesses: Witnesses = True,
    buckets: int = BUCKETS,
) -> LogResult:
    """Judges every run of a Parquet dataset (a file, or a folder of files) that all executors see under this path.

    Executors read the files themselves, one row group after the other, which is several times cheaper than Spark's
    conversion of columns to rows and back. Raises `BadInput` if a file is not Parquet, or lacks the columns of a log.
    """
    import pyarrow.parquet as pq

    query = Query.of(orders, reading, witnesses)
    root = Path(path)
    files = data_files(path)
    if any("=" in part for file in files for part in file.relative_to(root).parts[:-1]):
        return judge(read(spark, path), orders, reading, witnesses=witnesses, buckets=buckets)
    rows, groups = 0, []
    for file in files:
        try:
            known = pq.read_metadata(file)
        except (OSError, ValueError) as problem:
            reason = str(problem).split(". ")[0].splitlines()[0]
            hint = "write it again, or remove it from the folder"
            raise BadInput(f"it cannot be read as Parquet: {reason}", hint=hint, file=str(file)) from None
        check_columns(known.schema.to_arrow_schema(), str(file))
        rows += known.num_rows
        groups += [(str(file.resolve()), k) for k in range(known.num_row_groups)]

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _packed(_row_groups(groups, batches), buckets)

    tasks = min(len(groups), 4 * spark.sparkContext.defaultParallelism)
    blocks = spark.range(0, len(groups), 1, max(tasks, 1)).mapInArrow(pack, BLOCKS)
    return LogResult(rows, _records(blocks, query))


def read(spark: SparkSession, path: str) -> DataFrame:
    """The events of a Parquet dataset, or of JSON Lines (a file or folder), as plain rows (see `rows`)."""
    return plain(_opened(spark.read.parquet, path)) if is_parquet(path) else plain_lines(read_text(spark, path))


def read_text(spark: SparkSession, path: str) -> DataFrame:
    """The lines of a text file, or of all files in a folder."""
    return _opened(spark.read.text, path)


def _opened(read: Callable[[str], DataFrame], path: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return read(path)
    except AnalysisException as problem:
        if "PATH_NOT_FOUND" in str(problem):
            raise BadInput("there is no such file or folder", hint=_INPUT_HINT, file=path) from None
        raise


_INPUT_HINT = "name a Parquet or JSON Lines log"
_PARQUET = (".parquet", ".pq")


def is_parquet(path: str) -> bool:
    """True if the names of the files are those of Parquet; of a remote dataset its own name decides.

    Raises `BadInput` if files of both kinds are in one folder, or files of another format.
    """
    if "://" in path:
        return path.rstrip("/").endswith(_PARQUET)
    files = data_files(path)
    for file in files:
        form = format_of(file.name)
        if form not in (None, "jsonl", "parquet"):
            hint = "leave --engine spark out, or convert it"
            raise BadInput(f"Spark does not read {CALLED[form]}, but Parquet and JSON Lines", hint=hint, file=str(file))
    kinds = {file.suffix in _PARQUET for file in files}
    if len(kinds) == 2:
        hint = "put the Parquet files into a folder of their own"
        raise BadInput("it holds Parquet files and others", hint=hint, file=path)
    return True in kinds


def data_files(path: str) -> list[Path]:
    """The files of a dataset on this machine, in order; names that begin with _ or . are skipped, as by Spark.

    Raises `BadInput` if there is none.
    """
    root = Path(path)
    files = [root] if root.is_file() else sorted(file for file in root.rglob("*") if _is_data(file, root))
    if not files:
        problem = "there is no such file or folder" if not root.exists() else "there is no file in it"
        raise BadInput(problem, hint=_INPUT_HINT, file=path)
    return files


def _is_data(file: Path, root: Path) -> bool:
    return file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)


def _row_groups(groups: list[tuple[str, int]], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of these row groups, as plain rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for batch in batches:
        for k in batch["id"].to_pylist():
            path, group = groups[k]
            schema = pq.read_schema(path)
            present = [name for name in COLUMNS[:-1] if name in schema.names]
            named = [name for name in present if pa.types.is_string(schema.field(name).type)]
            file = pq.ParquetFile(path, read_dictionary=named)
            yield plain_table(file.read_row_group(group, columns=present, use_threads=False))


def _packed(batches: Iterable[pa.RecordBatch | pa.Table], buckets: int) -> Iterator[pa.RecordBatch]:
    """The rows of the part of the log that this task reads, as blocks."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return packed(batches, buckets, 0 if task is None else task.partitionId())


def _records(blocks: DataFrame, query: Query) -> DataFrame:
    """The records of the runs in these blocks."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for held in _by_bucket(batches):
            yield from records_of_runs(unpacked(held), query)

    # A partition is sorted, so a bucket's blocks are adjacent, possibly across batches, and in the order of the log.
    return (
        blocks.repartition("bucket")
        .sortWithinPartitions("bucket", "part", "number")
        .select("bucket", "block")
        .mapInArrow(answer, RECORD_SCHEMA)
    )


def _by_bucket(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.Buffer]]:
    now: int | None = None
    held: list[pa.Buffer] = []
    for batch in batches:
        for bucket, block in zip(batch["bucket"].to_pylist(), batch["block"], strict=True):
            if bucket != now and held:
                yield held
                held = []
            now = bucket
            held.append(block.as_buffer())
    if held:
        yield held
