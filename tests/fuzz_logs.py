"""Hostile event logs that are not JSON Lines: CSV, TSV, Parquet, Arrow, and compressed files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzz_mutations import DEEP, HUGE, Mutator
from fuzz_readers import MEMORY, Reader, figures
from fuzz_verdicts import Input

COLUMNS = ("run", "process", "index", "kind", "message", "peer")
#: So that the monitor decides, which is compiled, and not the spec alone.
FEW = 3
#: A sound log with these says another thing, or nothing.
KINDS = ["--kind", "send=deliver", "--kind", "deliver=send", "--kind", "odd=internal"]
Row = dict[str, Any]


class LogFiles(Reader):
    """Logs in files of one of these suffixes: rows with cells changed, or bytes."""

    name = "csv logs"
    suffixes: Sequence[str] = (".csv", ".tsv")

    def prepare(self, directory: Path) -> None:
        logs = [[json.loads(line) for line in text.splitlines()] for text in figures(".jsonl")]
        self.logs = [self._with_all_columns(rows) for rows in logs]
        self.logs += [[{**row, "run": f"{k}"} for k in range(2) for row in rows] for rows in self.logs[:2]]

    def _with_all_columns(self, rows: Sequence[Row]) -> list[Row]:
        def name(value: Any) -> str | None:
            return ";".join(map(str, value)) if isinstance(value, list) else None if value is None else str(value)

        return [{c: row.get(c) if c == "index" else name(row.get(c)) for c in COLUMNS} for row in rows]

    def sound(self, directory: Path) -> Iterator[Input]:
        from crownless.model_check.logs import classify_file

        for few in (FEW, classify_file.SMALL_UP_TO):
            for rows in self.logs:
                for suffix in self.suffixes:
                    classify_file.SMALL_UP_TO = few
                    yield self.classify(self.content(rows, suffix), suffix, directory, [])

    def make(self, random: Mutator, directory: Path) -> Input:
        from crownless.model_check.logs import classify_file

        classify_file.SMALL_UP_TO = random.choice((FEW, classify_file.SMALL_UP_TO))
        suffix = random.choice(self.suffixes)
        rows = random.choice(self.logs)
        if random.random() < 0.5:
            content = random.mangled(self.content(rows, suffix))
        else:
            try:
                content = self.content(self.changed(rows, random), suffix)
            except (ValueError, TypeError, OverflowError, NotImplementedError):  # no such file can be written
                content = random.mangled(self.content(rows, suffix))
        options = random.choice(([], ["--json"], ["--by-process"], ["--column", "message=peer"], ["--match"], KINDS))
        return self.classify(content, suffix, directory, options)

    def changed(self, rows: Sequence[Row], random: Mutator) -> list[Row]:
        """The rows with some cells, rows or columns changed."""
        changed = [dict(row) for row in rows]
        for _ in range(random.choice((1, 1, 2, 4))):
            row, column = random.randrange(len(changed)), random.choice(COLUMNS)
            what = random.randrange(7)
            if what == 0 and len(changed) > 1:
                del changed[row]
            elif what == 1:
                changed.insert(row, dict(random.choice(changed)))
            elif what == 2:
                random.shuffle(changed)
            elif what == 3:
                for one in changed:
                    one.pop(column, None)
            elif what == 4:
                value = random.value()
                for one in changed:
                    one[column] = value
            elif what == 5:
                changed[row][column] = random.choice(changed).get(column)
            else:
                changed[row][column] = random.value()
        return changed

    def content(self, rows: Sequence[Row], suffix: str) -> bytes:
        out = io.StringIO()
        columns = list(dict.fromkeys(column for row in rows for column in row))
        writer = csv.DictWriter(out, columns, delimiter="\t" if "tsv" in suffix else ",")
        writer.writeheader()
        writer.writerows(rows)
        text = out.getvalue().replace(HUGE, "9" * 5_000).replace(DEEP, "[" * 20_000)
        return text.encode("utf-8", "surrogatepass")

    def classify(self, content: bytes, suffix: str, directory: Path, options: list[str]) -> Input:
        path = directory / f"log{suffix}"
        path.write_bytes(content)
        return Input(["classify", str(path), *MEMORY, *options], violated=("broken", "impossible"))

    def cleanup(self, directory: Path) -> None:
        from crownless.model_check.logs import classify_file

        classify_file.SMALL_UP_TO = 5_000
        for path in directory.glob("log.*"):
            path.unlink()


class TableFiles(LogFiles):
    name = "table logs"
    suffixes: Sequence[str] = (".parquet", ".arrow", ".arrows")

    def content(self, rows: Sequence[Row], suffix: str) -> bytes:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist(list(rows))
        if len(rows) % 2:  # so that dictionaries are met, too
            for column in ("process", "message", "kind"):
                at = table.schema.get_field_index(column)
                if at >= 0 and pa.types.is_string(table.schema.field(at).type):
                    table = table.set_column(at, column, table[column].dictionary_encode())
        sink = pa.BufferOutputStream()
        if suffix == ".parquet":
            plain = len(rows) % 3 == 0  # damage to what is not compressed is not seen by decompression
            version = "2.0" if len(rows) % 4 < 2 else "1.0"
            pq.write_table(
                table, sink, compression="NONE" if plain else "SNAPPY", row_group_size=4, data_page_version=version
            )
        else:
            new = pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream
            with new(sink, table.schema) as file:
                file.write_table(table)
        return bytes(sink.getvalue().to_pybytes())


class CompressedFiles(LogFiles):
    name = "compressed logs"
    suffixes = (".csv.gz", ".csv.zst", ".jsonl.gz", ".jsonl.zst", ".tsv.bz2", ".jsonl.lz4")

    def content(self, rows: Sequence[Row], suffix: str) -> bytes:
        import pyarrow as pa

        from crownless.model_check.logs.files import COMPRESSIONS

        if "jsonl" in suffix:
            text = "\n".join(json.dumps(row) for row in rows).encode()
        else:
            text = super().content(rows, suffix)
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, COMPRESSIONS["." + suffix.rpartition(".")[2]]) as stream:
            stream.write(text)
        return bytes(sink.getvalue().to_pybytes())
