"""Hostile tables of costs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from fuzz_mutations import NAMES, Mutator
from fuzz_readers import MEMORY, Reader
from fuzz_verdicts import Input, run


class CostTables(Reader):
    """Tables of costs, as `cost --out` goes on with them."""

    name = "costs"
    arguments = ["cost", "rst", "-n", "2", "-m", "10", "--seeds", "2", "--quiet", *MEMORY, "--out"]

    def prepare(self, directory: Path) -> None:
        there = directory / "base"
        code, _, err = run(Input([*self.arguments, str(there)]))
        assert code == 0, err
        (file,) = there.glob("*.parquet")
        self.content, self.called = file.read_bytes(), file.name

    def sound(self, directory: Path) -> Iterator[Input]:
        there = directory / "table"
        there.mkdir()
        (there / self.called).write_bytes(self.content)
        yield Input([*self.arguments, str(there)])

    def make(self, random: Mutator, directory: Path) -> Input:
        from pyarrow import ArrowException, BufferReader, array, parquet

        there = directory / "table"
        there.mkdir()
        path = there / self.called
        what = random.randrange(6)
        if what == 0:
            path.mkdir()
        elif what < 3:
            path.write_bytes(random.mangled(self.content))
        else:
            table = parquet.read_table(BufferReader(self.content))
            for _ in range(random.choice((1, 2))):
                at = random.randrange(table.num_columns)
                name = random.choice((table.column_names[at], table.column_names[at], random.choice(NAMES)))
                value = random.value()
                try:
                    column = array([value] * table.num_rows)
                    column = column.cast(table.schema.field(at).type) if random.random() < 0.6 else column
                    table = table.set_column(at, name, column)
                except (ArrowException, OverflowError, UnicodeEncodeError):
                    table = table.remove_column(at)
            try:
                parquet.write_table(table, path)
            except (ArrowException, UnicodeEncodeError):
                path.write_bytes(random.mangled(self.content))
        return Input([*self.arguments, str(there), *["--json"] * random.randrange(2)], violated=("breaks", "broken"))

    def cleanup(self, directory: Path) -> None:
        shutil.rmtree(directory / "table", ignore_errors=True)
