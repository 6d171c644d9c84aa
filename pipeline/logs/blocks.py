"""Rows on their way to the task that judges their run, packed by bucket, many rows per block.

A run's bucket is a hash of its name; runs that share a bucket are distinguished by name. A block holds one bucket's
rows from one stretch of the log, as indices into the few names that occur there (an Arrow stream with minimal
dictionaries). So Spark moves thousands of large rows instead of millions of small ones, and a task holds one bucket at
a time. A row that names no run may be of any: besides its own bucket, each bucket gets a copy of one such row of each
process.
"""

import zlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from crownless.oracle.logs.columns import json_line, table_of_rows
from crownless.oracle.logs.layout import NONE, Numbers
from crownless.oracle.logs.lines import process_of
from crownless.oracle.logs.named_rows import MISSING, NAMED, Named, NamedRows, are_names, as_numbers, compact, order_by
from crownless.oracle.logs.rows import UNREADABLE, Row

from .sources import UNKNOWN_RUN

#: The columns of blocks, for Spark, including the part of the log and the block's number there.
BLOCKS = "bucket int, part int, number int, block binary"
_COLUMNS = [column.split()[0] for column in BLOCKS.split(", ")]
#: The number of rows packed at once.
STRETCH = 1 << 20
#: The run of copies of rows that name no run: they may be of any run, and so every bucket has them.
OF_ANY_RUN = UNKNOWN_RUN * 2


def packed(batches: Iterable[pa.RecordBatch | pa.Table], buckets: int, part: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows of these batches, which are one part of a log, as blocks."""
    for number, (bucket, block) in enumerate(_by_stretch(batches, buckets)):
        columns = [pa.array([value], pa.int32()) for value in (bucket, part, number)]
        yield pa.RecordBatch.from_arrays([*columns, pa.array([block], pa.binary())], names=_COLUMNS)


def _by_stretch(batches: Iterable[pa.RecordBatch | pa.Table], buckets: int) -> Iterator[tuple[int, bytes]]:
    """Blocks with their buckets, stretch by stretch."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held += batch.to_batches(max_chunksize=STRETCH) if isinstance(batch, pa.Table) else [batch]
        if sum(map(len, held)) >= STRETCH:
            yield from _blocks(pa.Table.from_batches(held), buckets)
            held = []
    if held:
        yield from _blocks(pa.Table.from_batches(held), buckets)


def _of_any_run(table: pa.Table) -> pa.Table:
    """Of the rows that name no run, one of each process, as rows of the run `OF_ANY_RUN`."""
    named = Named.of(table["run"])
    names_a_run = are_names(named.names, empty=True)[named.codes]
    texts = [json_line(row) for row in table.filter(pa.array(~names_a_run)).to_pylist()]
    one_of_each = {process_of(text): text for text in texts}.values()
    rows = table_of_rows([Row(0, OF_ANY_RUN, "", 0, UNREADABLE, text=text) for text in one_of_each])
    return pa.table([rows[field.name].cast(field.type) for field in table.schema], schema=table.schema)


def bucket_of(run: str, buckets: int) -> int:
    return zlib.crc32(run.encode()) % buckets


def _blocks(table: pa.Table, buckets: int) -> Iterator[tuple[int, bytes]]:
    rows, torn = table.num_rows, _of_any_run(table)
    table = pa.concat_tables([table, *[torn] * buckets]) if torn.num_rows else table
    named = {name: Named.of(table[name]) for name in NAMED if table[name].null_count < table.num_rows}
    index = as_numbers(table["index"].combine_chunks(), MISSING)
    runs = named["run"]
    of_run = np.fromiter((bucket_of(name, buckets) for name in runs.names.to_pylist()), np.int32, len(runs.names))
    bucket = np.append(of_run[runs.codes[:rows]], np.repeat(np.arange(buckets, dtype=np.int32), torn.num_rows))
    first, place = np.empty(buckets + 1, np.int64), np.empty(len(bucket), np.int64)
    order_by(bucket, buckets, first, place)
    index = index[place]
    for column in named.values():
        column.codes = column.codes[place]
    seen = {name: np.full(len(column.names), NONE, np.int32) for name, column in named.items()}
    number = {name: np.empty(len(column.names), np.int32) for name, column in named.items()}
    used = {name: np.empty(len(column.names), np.int32) for name, column in named.items()}
    for k in range(buckets):
        start, end = int(first[k]), int(first[k + 1])
        if start == end:
            continue
        columns: dict[str, pa.Array] = {"index": pa.array(_narrow(index[start:end]))}
        for name, column in named.items():
            codes = column.codes[start:end]
            count = compact(codes, seen[name], number[name], k, used[name])
            names = column.names.take(pa.array(used[name][:count]))
            missing = codes < 0
            there = pa.array(_narrow(codes), mask=missing if missing.any() else None)
            columns[name] = pa.DictionaryArray.from_arrays(there, names)
        batch = pa.RecordBatch.from_pydict(columns)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield k, sink.getvalue().to_pybytes()


def _narrow(numbers: Numbers) -> Numbers:
    """The numbers in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(min(-1, int(numbers.min()), -1 - int(numbers.max()))))


def unpacked(blocks: Iterable[pa.Buffer]) -> NamedRows:
    """The rows of a bucket's blocks, in order of runs; within a run in the order of the blocks."""
    batches = [pa.ipc.open_stream(block).read_next_batch() for block in blocks]
    named = {name: _merged(batches, name) for name in NAMED if any(name in batch.schema.names for batch in batches)}
    index = np.concatenate([batch["index"].to_numpy().astype(np.int64) for batch in batches])
    return NamedRows.by_run(named, index)


def _merged(batches: list[pa.RecordBatch], name: str) -> Named:
    """A column of several blocks, whose numbers differ."""
    kind = pa.dictionary(pa.int32(), pa.string())
    columns = [
        batch[name].cast(kind) if name in batch.schema.names else pa.nulls(len(batch), kind) for batch in batches
    ]
    return Named.of(pa.chunked_array(columns))
