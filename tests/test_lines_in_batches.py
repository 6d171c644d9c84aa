"""On Spark lines are read batch by batch by the compiled loop, and where it cannot read one as that line by itself."""

from collections.abc import Sequence
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from test_plain_lines import EVENT, NOT_PLAIN, PLAIN

from crownless.model_check.logs.columns import COLUMNS
from crownless.pipeline.logs import rows
from crownless.pipeline.logs.rows import UNREADABLE, plain_line, read_lines

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


def read(lines: Sequence[bytes | None]) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_arrays([pa.array(lines, pa.binary())], names=["value"])
    found = list(read_lines([batch]))
    assert all(batch.schema.names == list(COLUMNS) for batch in found)
    return [row for batch in found for row in batch.to_pylist()]


def one_by_one(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, plain_line(line), strict=True)) for line in lines if line.strip()]


@pytest.mark.parametrize("text", [*PLAIN, *NOT_PLAIN, *ODD])
def test_a_batch_is_read_as_its_lines(text: str) -> None:
    for lines in (text.splitlines(), [EVENT, *text.splitlines(), INTERNAL]):
        content = [line.encode() for line in lines]
        assert read(content) == one_by_one(content)


def test_bytes_that_are_no_text_are_kept() -> None:
    lines = [EVENT.encode(), EVENT.encode().replace(b"P1", b"P\xff")]
    assert read(lines) == one_by_one(lines)


def test_several_lines_in_one_are_no_event() -> None:
    for end in ("\n", "\r\n", "\n\n"):
        several = f"{EVENT}{end}{INTERNAL}".encode()
        assert [row["kind"] for row in read([several])] == [UNREADABLE]
        assert read([several, b"oops"]) == one_by_one([several, b"oops"])
        assert read([EVENT.encode() + b"\n"]) == read([EVENT.encode()])


def test_no_line_is_an_empty_one() -> None:
    assert read([EVENT.encode(), None]) == read([EVENT.encode(), b""])


def test_random_batches_are_read_as_their_lines() -> None:
    chance = Random(5)
    events = [EVENT, INTERNAL, EVENT.replace("send", "deliver").replace(', "peer": "P2"', ""), *ODD[-6:]]
    for _ in range(1_000):
        lines = [chance.choice(events) for _ in range(chance.randrange(6))]
        if lines and chance.random() < 0.5:
            k = chance.randrange(len(lines))
            at = chance.randrange(len(lines[k]) + 1)
            lines[k] = lines[k][:at] + chance.choice('{}",:\\ 0n') + lines[k][at + chance.randrange(2) :]
        content = [line.encode() for line in lines]
        assert read(content) == one_by_one(content), lines


def test_plain_events_are_read_by_the_loop() -> None:
    lines = [EVENT.encode(), INTERNAL.encode()] * 10
    with patch.object(rows, "plain_line", side_effect=AssertionError):
        assert len(read(lines)) == 20
