"""A table of costs on disk: a folder of Parquet files, each added whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crownless.model_check.simulation.studies.experiment_rows import MAY_BE_MISSING, SCHEMA, Row
from crownless.spec.errors import BadInput

if TYPE_CHECKING:
    import pyarrow

_ARROW = {"string": "string", "int": "int32", "bigint": "int64", "double": "float64", "boolean": "bool"}

#: No simulation measures more of anything; sums and squares of figures so large still have a floating-point number.
LARGEST_FIGURE = 1e100


def read(folder: Path) -> list[Row]:
    """The rows of the table, each once."""
    if not folder.exists():
        return []
    required()
    rows: dict[str, Row] = {}
    for file in sorted(folder.glob("*.parquet")):
        rows |= {row["key"]: row for row in _rows_in(file)}
    return list(rows.values())


def _rows_in(file: Path) -> list[Row]:
    """The rows of one file, which may be of any origin: checks columns and ranges."""
    arrow = required()
    from pyarrow import parquet

    try:
        table = parquet.read_table(file)
    except (arrow.ArrowException, OSError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise BadInput(f"{file}: not a Parquet file ({problem})", hint="remove it; its simulations run again") from None
    hint = "remove it; its simulations run again"
    try:
        _check_columns(file, table.schema)
        rows: list[Row] = table.select(arrow_schema().names).to_pylist()
    except (arrow.ArrowException, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: unreadable values ({error})", hint=hint) from None
    for row in rows:
        for name, value in row.items():
            is_no_figure = isinstance(value, float) and not abs(value) <= LARGEST_FIGURE
            if (value is None and name not in MAY_BE_MISSING) or is_no_figure:
                raise BadInput(f"{file}: {name} is {'missing' if value is None else value}", hint=hint)
    return rows


def _check_columns(file: Path, found: pyarrow.Schema) -> None:
    """Refuses a file without a column of a table of costs, with two of that name, or with one of another type."""
    hint = "name another folder"
    for column in arrow_schema():
        places = found.get_all_field_indices(column.name)
        if not places:
            raise BadInput(f"{file}: not a table of costs, without {column.name}", hint=hint)
        if len(places) > 1 or found.field(places[0]).type != column.type:
            raise BadInput(f"{file}: not a table of costs: {column.name} is not of {column.type}", hint=hint)


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
    """The Arrow schema of a Spark schema."""
    arrow = required()
    columns = (column.split() for column in schema.split(", "))
    return arrow.schema([(name, arrow.type_for_alias(_ARROW[kind])) for name, kind in columns])


def required() -> Any:
    """Imports and returns PyArrow; raises `BadInput` if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise BadInput("tables on disk need PyArrow", hint="pip install 'crownless[spark]'") from None
    return pyarrow
