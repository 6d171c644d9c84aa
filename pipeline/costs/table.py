"""A table of costs on disk: a folder of Parquet files, to which files are only added, each whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crownless.spec.errors import BadInput

from .rows import SCHEMA, Row

if TYPE_CHECKING:
    import pyarrow

_ARROW = {"string": "string", "int": "int32", "bigint": "int64", "double": "float64", "boolean": "bool"}


def read(folder: Path) -> list[Row]:
    """The rows that are there, each once."""
    if not folder.exists():
        return []
    arrow = required()
    from pyarrow import parquet

    rows: dict[str, Row] = {}
    for file in sorted(folder.glob("*.parquet")):
        try:
            table = parquet.read_table(file)
        except arrow.ArrowInvalid as error:
            raise BadInput(f"{file}: no Parquet file ({error})", mend="remove it; its simulations run again") from None
        if missing := {column.split()[0] for column in SCHEMA.split(", ")} - set(table.column_names):
            raise BadInput(f"{file}: no table of costs, without {min(missing)}", mend="name another folder")
        rows |= {row["key"]: row for row in table.to_pylist()}
    return list(rows.values())


def append(folder: Path, rows: Sequence[Row]) -> None:
    """Adds rows in one file, which appears when it is complete."""
    required()
    from pyarrow import parquet

    if not rows:
        return
    folder.mkdir(parents=True, exist_ok=True)
    name = f"part-{uuid.uuid4()}.parquet"
    unfinished = folder / f".{name}.unfinished"
    parquet.write_table(arrow_table(rows), unfinished)
    os.replace(unfinished, folder / name)


def arrow_table(rows: Iterable[Row], schema: str = SCHEMA) -> pyarrow.Table:
    """Rows as an Arrow table of that schema."""
    return required().Table.from_pylist(list(rows), schema=arrow_schema(schema))


def arrow_schema(schema: str = SCHEMA) -> pyarrow.Schema:
    """The schema that Spark would write so, as Arrow has it."""
    arrow = required()
    columns = (column.split() for column in schema.split(", "))
    return arrow.schema([(name, arrow.type_for_alias(_ARROW[kind])) for name, kind in columns])


def required() -> Any:
    """PyArrow; raises `BadInput` if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise BadInput("tables on disk need PyArrow", mend="pip install 'crownless[spark]'") from None
    return pyarrow
