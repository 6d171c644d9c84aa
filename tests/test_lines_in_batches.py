"""On Spark lines are read batch by batch by the compiled loop, and where it cannot read one as that line by itself."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_plain_lines import EVENT, NOT_PLAIN, PLAIN

from crownless.model_check.logs.columns import COLUMNS, json_line
from crownless.model_check.logs.reasons import UnusableRow
from crownless.model_check.logs.rows import Row, read_row
from crownless.pipeline.logs.sources import UNREADABLE, plain_line, read_lines

INTERNAL = '{"process": "P1", "index": 2, "kind": "internal"}'
#: Plain to the loop, and no events or not quite.
ODD = (
    INTERNAL.replace("}", ', "message": "m"}'),
    INTERNAL.replace("}", ', "peer": "P2"}'),
    EVENT.replace(', "message": "m1"', ""),
    EVENT.replace('"send"', "null"),
    EVENT.replace('"P1"', "null"),
    EVENT.replace('"index": 0, ', ""),
    EVENT.replace('"P2"', '["P2", "P3"]'),
    EVENT.replace('"P2"', '"P\x1f2"'),
    "",
    " ",
    "null",
    "{}",
)


def read(lines: Sequence[bytes | None]) -> list[Row | str]:
    """The events of a batch of lines, or for what is none the reason."""
    batch = pa.RecordBatch.from_arrays([pa.array(lines, pa.binary())], names=["value"])
    return [as_event(row) for table in read_lines([batch]) for row in table.to_pylist()]


def one_by_one(lines: Sequence[bytes]) -> list[Row | str]:
    return [as_event(dict(zip(COLUMNS, plain_line(line), strict=True))) for line in lines if line.strip()]


def as_event(row: dict[str, Any]) -> Row | str:
    try:
        return read_row(0, json_line(row))
    except UnusableRow as unusable:
        return unusable.reason.text


@pytest.mark.parametrize("text", [*PLAIN, *NOT_PLAIN, *ODD])
def test_a_batch_is_read_as_its_lines(text: str) -> None:
    for lines in (text.splitlines(), [EVENT, *text.splitlines(), INTERNAL]):
        content = [line.encode() for line in lines]
        assert read(content) == one_by_one(content)


@given(
    st.lists(st.sampled_from([EVENT, INTERNAL, *ODD[-6:]]), max_size=5),
    st.integers(0, 4),
    st.integers(0, 90),
    st.sampled_from('{}",:\\ 0n'),
    st.integers(0, 1),
)
def test_random_batches_are_read_as_their_lines(lines: list[str], k: int, at: int, put: str, left_out: int) -> None:
    if k < len(lines):
        lines[k] = lines[k][:at] + put + lines[k][at + left_out :]
    content = [line.encode() for line in lines]
    assert read(content) == one_by_one(content)


def test_lines_that_are_no_text_or_several_in_one_are_no_events() -> None:
    lines = [EVENT.encode(), EVENT.encode().replace(b"P1", b"P\xff")]
    assert read(lines) == one_by_one(lines)
    several = f"{EVENT}\n{INTERNAL}".encode()
    assert plain_line(several)[3] == UNREADABLE
    assert read([several, b"oops"]) == one_by_one([several, b"oops"])
    assert read([EVENT.encode(), None]) == read([EVENT.encode(), b""])
