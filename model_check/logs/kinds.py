"""Kinds of events that a log calls otherwise: `{"recv": "deliver"}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from crownless.spec.errors import BadInput, unknown_name

from .reasons import KINDS
from .rows import object_in

if TYPE_CHECKING:
    import pyarrow as pa

#: The kinds that are deliveries.
DELIVERS = ("deliver", "receive")


def check_kinds(kinds: Mapping[str, str]) -> None:
    """Raises `BadInput` if one of them is to be what is no kind."""
    for kind in kinds.values():
        if kind not in KINDS:
            raise unknown_name("kind", kind, KINDS)


def refuse_kinds(kinds: Mapping[str, str] | None, of: str, name: str) -> None:
    """Raises `BadInput` where events have no column for their kind."""
    if kinds:
        raise BadInput(f"--kind does not go with {of}", hint="leave it out", file=name)


def lines_with_kinds(lines: Iterable[str], kinds: Mapping[str, str] | None) -> Iterator[str]:
    """Lines of JSON with the kinds of this project; a line that is no event stays as it is."""
    for line in lines:
        yield _with_kind(line, kinds) if kinds else line


def _with_kind(line: str, kinds: Mapping[str, str]) -> str:
    fields = object_in(line) or {}
    kind = fields.get("kind")
    return json.dumps({**fields, "kind": kinds[kind]}) if isinstance(kind, str) and kind in kinds else line


def table_with_kinds(table: pa.Table, kinds: Mapping[str, str] | None) -> pa.Table:
    """Rows in the columns of a log, likewise."""
    if not kinds:
        return table
    import pyarrow as pa
    import pyarrow.compute as pc

    at = table.schema.get_field_index("kind")
    column = table["kind"].cast(pa.string())
    found = pc.index_in(column, value_set=pa.array(kinds, pa.string()))
    known = pa.chunked_array([pa.array(kinds.values(), pa.string()).take(found.combine_chunks())])
    return table.set_column(at, "kind", pc.coalesce(known, column.combine_chunks()))
