"""JSON Lines in their plainest form are read as any JSON is, and all others are left to that."""

from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from crownless.model_check.logs import files
from crownless.model_check.logs.columns import TYPES, plain_table
from crownless.model_check.logs.plain_lines import read_plain_lines

NAMES = {name: name for name in TYPES}
EVENT = '{"run": "r", "process": "P1", "index": 0, "kind": "send", "message": "m1", "peer": "P2"}'
PLAIN = (
    EVENT,
    f"{EVENT}\n",
    f"\n \t{EVENT} \r\n\n{EVENT}\r\n",
    f"{EVENT}\n{{}}\n",
    '{"peer":null,"message" : -17 ,\t"index":-3, "kind":"","run":7}',
    '{"process": "Pé", "index": 123456789012345678, "message": 0, "of no column": "x", "at": -0.50, "n": null}',
    '{"kind": "send", "process": "P1"}\n{"process": "P2", "kind": "deliver", "index": 1}\n{"index": null}',
    '{"index": 10, "inde": 1, "indexes": 2, "Index": 3}',
)
NOT_PLAIN = (
    '{"process": "P\\u0031"}',
    '{"proces\\u0073": "P1"}',
    '{"process": "P\t"}',
    '{"process": "P1}',
    '{"process": "P1", }',
    '{"process": "P1" "index": 1}',
    '{"process" "P1"}',
    '{"process": "P1"',
    '{"process": "P1", "process": "P1"}',
    '{"process": null, "process": "P1"}',
    '{"process": 1}',
    '{"kind": nul}',
    '{"kind": true}',
    '{"index": "1"}',
    '{"index": 01}',
    '{"index": -}',
    '{"index": 1.0}',
    '{"index": 1e3}',
    '{"index": 1234567890123456789}',
    '{"index": +1}',
    '{"message": -0}',
    '{"message": 1.5}',
    '{"at": 1.}',
    '{"at": 1.5e3}',
    '{"clock": {"P1": 1}}',
    '{"peer": ["P1"]}',
    f"{EVENT} {EVENT}",
    EVENT.replace(", ", ",\n"),
    f"[{EVENT}]",
)


def read_by_arrow(content: bytes) -> list[dict[str, Any]] | None:
    with patch.object(files, "WORTH_A_LOOP", 1 << 40):
        table = files._read_json(content, NAMES)
    return None if table is None else plain_table(table).to_pylist()


def read_by_the_loop(content: bytes, block: int = 1 << 20) -> list[dict[str, Any]] | None:
    table = read_plain_lines(content, NAMES, block=block)
    if table is not None:
        table.validate(full=True)
    return None if table is None else plain_table(table).to_pylist()


@pytest.mark.parametrize("text", PLAIN)
def test_plain_lines_are_read_as_by_arrow(text: str) -> None:
    found = read_by_the_loop(text.encode())
    assert found is not None
    assert found == read_by_arrow(text.encode())


@pytest.mark.parametrize("text", NOT_PLAIN)
@pytest.mark.parametrize("after", ["", f"{EVENT}\n"])
def test_others_are_left(text: str, after: str) -> None:
    content = (after + text).encode()
    assert read_by_the_loop(content) is None


def test_whatever_is_read_is_read_as_by_arrow() -> None:
    chance, read = Random(7), 0
    letters = [*'{}[]":,\\\n\t 019-.eunl', "null", "é", '"P1"', '"index": ', ', "at": 1.5', "}\n{", '"run": 3, ']
    for _ in range(3_000):
        text = "\n".join(chance.choice(PLAIN) for _ in range(chance.randrange(1, 4)))
        for _ in range(chance.randrange(3)):
            at, past = sorted(chance.choices(range(len(text) + 1), k=2))
            text = text[:at] + chance.choice(letters) + text[chance.choice((at, min(at + 1, past), past)) :]
        content = text.encode()
        found = read_by_the_loop(content, chance.choice((200, 300, 1 << 20)))
        if found is not None:
            read += 1
            by_arrow = read_by_arrow(content)
            # Of several types, without what each event has: that is said of each line in the end.
            lacks = any(row[name] is None for row in found for name in ("process", "index", "kind"))
            assert found == by_arrow or (by_arrow is None and lacks), text
    assert read > 500


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b" "])
def test_without_events_nothing_is_read(content: bytes) -> None:
    assert read_by_the_loop(content) is None


def test_lines_are_read_block_by_block_and_none_longer_than_a_block() -> None:
    content = "".join(f'{EVENT[:-1]}, "n": {"1" * (k % 18 + 1)}}}\n' for k in range(50)).encode()
    table = read_plain_lines(content, NAMES, block=300)
    assert table is not None
    assert table["run"].num_chunks > 10
    assert plain_table(table).to_pylist() == read_by_arrow(content)
    assert read_plain_lines(content, NAMES, block=90) is None


def test_columns_may_be_called_something_else() -> None:
    named = {**NAMES, "message": "msg_id", "index": "ä"}
    table = read_plain_lines('{"msg_id": "m", "ä": 3, "message": 1.5, "index": "x"}'.encode(), named)
    assert table is not None
    assert table.to_pylist() == [{**dict.fromkeys(TYPES), "message": "m", "index": 3}]


def test_large_contents_are_read_by_the_loop() -> None:
    content = f"{EVENT}\n".encode() * (files.WORTH_A_LOOP // len(EVENT))
    with patch("pyarrow.json.read_json", side_effect=AssertionError):
        table = files._read_json(content, NAMES)
    assert table is not None
    assert table.num_rows == files.WORTH_A_LOOP // len(EVENT)
