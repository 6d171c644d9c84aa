"""The sources of event logs in Spark: data frames, lines of JSON, and Parquet files.

Tasks read the rows in Arrow batches, as plain rows (`oracle.logs.columns`), with the functions that read a log in
memory. A row that could not be read as columns keeps its `text`, and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from crownless.oracle.logs.columns import check_columns, json_line, plain_table, plain_types, table_of_rows
from crownless.oracle.logs.formats import FORMATS, format_of
from crownless.oracle.logs.json_lines import read_plain_lines
from crownless.oracle.logs.lines import object_in, read_row
from crownless.oracle.logs.rows import COLUMNS, UNREADABLE, Row, is_name
from crownless.runtime.errors import BadInput, unknown_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The plain columns, for Spark.
PLAIN = "run string, process string, index long, kind string, message string, peer string, text string"
#: The parts of a time in ISO 8601.
DAY, CLOCK, ZONE = r"\d{4}-\d\d-\d\d", r"[T ]\d\d:\d\d(:\d\d(\.\d+)?)?", r"(Z|[+-]\d\d(:?\d\d)?)"
#: The run of a row whose run is unknown.
UNKNOWN_RUN = "\x1e"

_INPUT_HINT = "name a Parquet or JSON Lines log"
_PARQUET = (".parquet", ".pq")

Batches = Iterable["pa.RecordBatch"]


@dataclass(frozen=True)
class Source:
    """The rows of a log, made by `read`, in a task, from the batches of a frame.

    `count` recounts the rows; `with_clocks` makes rows that all keep their `text`, which contains their clocks.
    """

    frame: DataFrame
    read: Callable[[Batches], Iterator[pa.Table]]
    with_clocks: Callable[[Batches], Iterator[pa.Table]]
    count: Callable[[], int]

    def plain(self) -> DataFrame:
        """The plain rows as a data frame."""
        read = self.read

        def batches(held: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for table in read(held):
                yield from table.cast(pa.schema(plain_types())).to_batches()

        return self.frame.mapInArrow(batches, PLAIN)


def source_of(events: Source | DataFrame) -> Source:
    """The rows of a data frame with the columns of a log; raises `BadInput` if one is missing or of another type."""
    if isinstance(events, Source):
        return events
    from pyspark.sql.pandas.types import to_arrow_schema

    check_columns(to_arrow_schema(events.schema), "data frame")
    return Source(events, _plain_tables, _rows_as_text, events.count)


def read(spark: SparkSession, path: str, order_by: str | None = None) -> Source:
    """The rows of Parquet, or of JSON Lines: a file, or a folder of files.

    `order_by`: in Parquet, the column of numbers or times that orders the events of each process, instead of `index`;
    events with the same value have the same place.

    If all executors see Parquet files under this path, they read them directly, row group by row group, which is
    several times cheaper than Spark's conversion of columns to rows and back. Raises `BadInput` if a file cannot be
    read, or lacks the columns of a log.
    """
    if not is_parquet(path):
        if order_by is not None:
            hint = "convert it to Parquet, or number the events of each process in 'index'"
            raise BadInput("--order-by with --engine spark is for Parquet", hint=hint, file=path)
        return lines_of(_opened(spark.read.text, path))
    if order_by is not None:
        return source_of(_with_places(_opened(spark.read.parquet, path), order_by, path))
    files = () if "://" in path else data_files(path)
    in_partitions = any("=" in part for file in files for part in file.relative_to(path).parts[:-1])
    if not files or in_partitions:
        return source_of(_opened(spark.read.parquet, path))
    return _parquet_files(spark, files)


def _with_places(frame: DataFrame, by: str, path: str) -> DataFrame:
    """The rows with their places on their processes, by a column, as indices; a row without a usable value has none.

    The values of most rows are of one kind: numbers, times with a zone, or times without one. Others are unusable.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if by not in frame.columns:
        raise unknown_name("column", by, frame.columns).at(file=path)
    given = f.col(f"`{by}`")
    text = f.regexp_replace(given.cast("string"), r"(:\d\d),(\d)", "$1.$2")
    zoned, local = text.rlike(f"^{DAY}{CLOCK}{ZONE}$"), text.rlike(f"^{DAY}({CLOCK})?$")
    kinds = [
        text.try_cast("decimal(38, 18)"),
        f.when(zoned, text.try_cast("timestamp")),
        f.when(local, text.try_cast("timestamp_ntz")),
    ]
    if frame.schema[by].dataType.typeName().startswith("timestamp"):
        kinds = [given]
    (counts,) = frame.agg(*map(f.count, kinds)).collect()
    value = kinds[counts.index(max(counts))]
    of_process = Window.partitionBy([name for name in ("run", "process") if name in frame.columns])
    place = f.dense_rank().over(of_process.orderBy(value.asc_nulls_last())) - 1
    return frame.withColumn("index", f.when(value.isNotNull(), place).cast("long"))


def lines_of(lines: DataFrame) -> Source:
    """The rows in the lines of JSON of a data frame (`spark.read.text`); empty lines are skipped."""
    from pyspark.sql import functions as f

    frame = lines.select(f.col("value").cast("binary").alias("value"))  # a line of a file may not be valid UTF-8
    return Source(frame, read_lines, _lines_as_text, lines.where(lines.value.rlike(r"\S")).count)


def _opened(reader: Callable[[str], DataFrame], path: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        return reader(path)
    except AnalysisException as problem:
        if "PATH_NOT_FOUND" in str(problem):
            raise BadInput("there is no such file or folder", hint=_INPUT_HINT, file=path) from None
        raise


# -- files -------------------------------------------------------------------------------------------------------------


def is_parquet(path: str) -> bool:
    """True if the file names are those of Parquet; for a remote dataset its own name decides.

    Raises `BadInput` if a folder mixes both kinds, or has files of another format.
    """
    if "://" in path:
        return path.rstrip("/").endswith(_PARQUET)
    files = data_files(path)
    for file in files:
        form = format_of(file)
        if form not in (None, "jsonl", "parquet"):
            hint = "leave --engine spark out, or convert it"
            raise BadInput(f"Spark reads Parquet and JSON Lines, not {FORMATS[form].called}", hint=hint, file=str(file))
    kinds = {file.suffix in _PARQUET for file in files}
    if len(kinds) == 2:
        hint = "put the Parquet files into a separate folder"
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


def _parquet_files(spark: SparkSession, files: Iterable[Path]) -> Source:
    rows = 0
    groups: list[tuple[str, int]] = []
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

    def plain(batches: Batches) -> Iterator[pa.Table]:
        return map(plain_table, _row_groups(groups, batches))

    def as_text(batches: Batches) -> Iterator[pa.Table]:
        tables = _row_groups(groups, batches, all_columns=True)
        return _rows_as_text(batch for table in tables for batch in table.to_batches())

    tasks = min(len(groups), 4 * spark.sparkContext.defaultParallelism)
    return Source(spark.range(0, len(groups), 1, max(tasks, 1)), plain, as_text, lambda: rows)


def _row_groups(groups: list[tuple[str, int]], batches: Batches, *, all_columns: bool = False) -> Iterator[pa.Table]:
    """The row groups with these numbers, with the columns of a log, or all columns."""
    for batch in batches:
        for k in batch["id"].to_pylist():
            path, group = groups[k]
            schema = pq.read_schema(path)
            present = [name for name in schema.names if all_columns or name in COLUMNS]
            texts = [name for name in present if name in COLUMNS and pa.types.is_string(schema.field(name).type)]
            file = pq.ParquetFile(path, read_dictionary=texts)
            yield file.read_row_group(group, columns=present, use_threads=False)


# -- batches of rows, in tasks -----------------------------------------------------------------------------------------


def _plain_tables(batches: Batches) -> Iterator[pa.Table]:
    return (plain_table(pa.Table.from_batches([batch])) for batch in batches)


def _rows_as_text(batches: Batches) -> Iterator[pa.Table]:
    for batch in batches:
        table = pa.Table.from_batches([batch])
        clocks = table["clock"].to_pylist() if "clock" in table.schema.names else [None] * len(table)
        lines = map(json_line, plain_table(table).to_pylist())
        with_clocks = (
            f'{line[:-1]}, "clock": {json.dumps(clock)}}}' for line, clock in zip(lines, clocks, strict=True)
        )
        yield texts_as_rows(line.encode() for line in with_clocks)


def _lines_as_text(batches: Batches) -> Iterator[pa.Table]:
    for batch in batches:
        yield texts_as_rows(_lines(batch))


def texts_as_rows(lines: Iterable[bytes]) -> pa.Table:
    """Lines as plain rows with only the run read."""
    return table_of_rows([_unread(line) for line in lines])


def read_lines(batches: Batches) -> Iterator[pa.Table]:
    """Batches of lines as plain rows."""
    for batch in batches:
        lines = _lines(batch)
        table = read_plain_lines(b"\n".join(lines))
        is_whole = table is not None and table.num_rows == len(lines)  # no value of a data frame has several lines
        yield table if is_whole else table_of_rows([plain_line(line) for line in lines])


def _lines(batch: pa.RecordBatch) -> list[bytes]:
    return [line for line in batch["value"].to_pylist() if line and line.strip()]


def plain_line(line: bytes) -> Row:
    """One line of JSON as a row. A line that is not an event keeps its text."""
    try:
        return read_row(0, line.decode())
    except (BadInput, UnicodeDecodeError):
        return _unread(line)


def _unread(line: bytes) -> Row:
    """The line as a row with only the run read; bytes that are not UTF-8 are shown in hexadecimal."""
    return Row(0, run_of(line), "", 0, UNREADABLE, text=line.decode(errors="backslashreplace"))


def run_of(line: bytes) -> str:
    """The run named in a line, as in `read_row`."""
    fields = object_in(line)
    run = UNKNOWN_RUN if fields is None else fields.get("run")
    return "" if run is None else str(run) if type(run) is int or run == "" or is_name(run) else UNKNOWN_RUN
