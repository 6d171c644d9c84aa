"""Event logs of millions of runs: which orders does each run keep, which not, and why not?

The answers are those of `crownless classify` (`model_check.oracle`), run by run; the tests hold them to it. Where
`classify` refuses a log for one bad row, that row goes to quarantine with the reason (see `runs`).

The rows are packed by bucket of run (`blocks`), so that all rows of a run meet in one task, wherever in the log
they are. There the runs of a bucket are judged all at once by compiled loops (`kernels`). The spec itself judges
what those leave to it: runs with a hole, a multicast or a row that cannot be used. It gives all witnesses, too.

On a cluster the executors need crownless too: install its wheel there, or ship it with ``--py-files``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crownless.spec.errors import BadInput
from crownless.spec.orders import Reading

from .answers import HOLE, JUDGED, QUARANTINE, TOLD, VERDICT, Question, answers
from .blocks import BLOCKS, packed, unpacked
from .rows import COLUMNS, plain, plain_lines

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: How many buckets the runs are dealt to; one is held in memory at a time.
BUCKETS = 64


class Account(NamedTuple):
    """Where the rows of a log have gone."""

    rows: int
    judged: int
    quarantined: int


@dataclass(frozen=True)
class Judged:
    """What is known of a log; `everything` holds all of it (persist or write that one, to compute it once)."""

    events: DataFrame
    everything: DataFrame

    @property
    def verdicts(self) -> DataFrame:
        """run, order, verdict (kept, broken, unknown), witness (JSON, if broken), because (if unknown)."""
        return self._about(VERDICT, "run", "order", "verdict", "witness", "because")

    @property
    def quarantine(self) -> DataFrame:
        """run (null if the row names none), row (JSON), reason."""
        from pyspark.sql import functions as f

        return self._about(QUARANTINE, "run", "row", f.col("because").alias("reason"))

    @property
    def holes(self) -> DataFrame:
        """run, hole: what shows that the log has lost events."""
        from pyspark.sql import functions as f

        return self._about(HOLE, "run", f.col("because").alias("hole"))

    def _about(self, about: str, *columns: Any) -> DataFrame:
        return self.everything.where(self.everything.about == about).select(*columns)

    def account(self) -> Account:
        """Counts the rows again: each was judged or is in quarantine, or this raises `AssertionError`."""
        from pyspark.sql import functions as f

        counted = self.everything.where(f.col("about").isin(JUDGED, QUARANTINE)).groupBy("about")
        sums = {row["about"]: int(row["n"]) for row in counted.agg(f.sum("rows").alias("n")).collect()}
        account = Account(self.events.count(), sums.get(JUDGED, 0), sums.get(QUARANTINE, 0))
        assert account.rows == account.judged + account.quarantined, f"rows were dropped: {account}"
        return account


def judge(
    events: DataFrame,
    orders: Sequence[str] = (),
    reading: Reading = "lost",
    *,
    witnesses: bool = True,
    buckets: int = BUCKETS,
) -> Judged:
    """Judges every run of a DataFrame of events; all seven orders unless some are named.

    `buckets`: more of them, less memory. Raises `BadInput` if the columns are not those of a log.
    """
    question = Question.of(orders, reading, witnesses)
    rows = plain(events)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return packed(batches, buckets)

    return Judged(rows, _told(rows.mapInArrow(pack, BLOCKS), question))


def judge_parquet(
    spark: SparkSession,
    path: str,
    orders: Sequence[str] = (),
    reading: Reading = "lost",
    *,
    witnesses: bool = True,
    buckets: int = BUCKETS,
) -> Judged:
    """The same of a Parquet dataset on a file system that all executors see under this path.

    They read the files themselves, one row group after the other, which is several times cheaper than to have Spark
    turn columns to rows and back.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    question = Question.of(orders, reading, witnesses)
    events = read(spark, path)
    root = Path(path)
    files = sorted(file for file in root.rglob("*.parquet") if _is_data(file, root)) if root.is_dir() else [root]
    in_folders = any("=" in part for file in files for part in file.relative_to(root).parts[:-1])
    if in_folders or any(pa.types.is_nested(pq.read_schema(file).field("peer").type) for file in files):
        return judge(events, orders, reading, witnesses=witnesses, buckets=buckets)
    groups = [(str(file.resolve()), k) for file in files for k in range(pq.ParquetFile(file).metadata.num_row_groups)]

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return packed(_row_groups(groups, batches), buckets)

    tasks = min(len(groups), 4 * spark.sparkContext.defaultParallelism)
    blocks = spark.range(0, len(groups), 1, max(tasks, 1)).mapInArrow(pack, BLOCKS)
    return Judged(events, _told(blocks, question))


def read(spark: SparkSession, path: str) -> DataFrame:
    """The events of a Parquet dataset, or of JSON Lines (a file or folder), as plain rows (see `rows`)."""
    from pyspark.errors import AnalysisException

    root = Path(path)
    names = [file.name for file in root.rglob("*") if _is_data(file, root)] if root.is_dir() else [root.name]
    try:
        if any(name.endswith((".parquet", ".pq")) for name in names):
            return plain(spark.read.parquet(path))
        return plain_lines(spark.read.text(path))
    except AnalysisException as problem:
        if "PATH_NOT_FOUND" in str(problem):
            raise BadInput(
                "there is no such file or folder", mend="name a Parquet or JSON Lines log", file=path
            ) from None
        raise


def _is_data(file: Path, root: Path) -> bool:
    return file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(root).parts)


def _row_groups(groups: list[tuple[str, int]], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """These row groups, as plain rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for batch in batches:
        for k in batch["id"].to_pylist():
            path, group = groups[k]
            schema = pq.read_schema(path)
            there = [name for name in COLUMNS[:-1] if name in schema.names]
            named = [name for name in there if pa.types.is_string(schema.field(name).type)]
            table = pq.ParquetFile(path, read_dictionary=named).read_row_group(group, columns=there, use_threads=False)
            columns = {name: table[name] for name in there}
            for name, column in columns.items():
                if name == "index":
                    columns[name] = column.cast(pa.int64())
                elif not pa.types.is_dictionary(column.type):
                    columns[name] = column.cast(pa.string())
            if "run" not in columns:
                columns["run"] = pa.chunked_array([pa.array([""] * table.num_rows)])
            elif columns["run"].null_count:
                columns["run"] = columns["run"].cast(pa.string()).fill_null("")
            columns["text"] = pa.chunked_array([pa.nulls(table.num_rows, pa.string())])
            yield pa.table({name: columns[name] for name in COLUMNS})


def _told(blocks: DataFrame, question: Question) -> DataFrame:
    """What is told of the runs in these blocks."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for held in _by_bucket(batches):
            yield from answers(unpacked(held), question)

    # A partition is sorted, so that a bucket's blocks follow each other, if need be from one batch to the next.
    return (
        blocks.repartition("bucket").sortWithinPartitions("bucket").select("bucket", "block").mapInArrow(answer, TOLD)
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
