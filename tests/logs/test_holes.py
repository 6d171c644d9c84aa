"""What is certain of a run with holes: the columns of a large run say what the rows of a small one say."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_runs import random_run

from crownless.oracle.event_logs import certain_rows
from crownless.oracle.logs.layout import INTERNAL, NONE, SEND, Rows
from crownless.oracle.logs.rows import Row, rows_of_lines
from crownless.runtime.errors import BadInput

pytest.importorskip("pyarrow")

from crownless.oracle.log_orders.holes import CertainColumns, certain_columns
from crownless.oracle.log_orders.monitor import ASYNCHRONOUS, UNDECIDED, Monitor
from crownless.oracle.logs.columns import table_of_rows
from crownless.oracle.logs.named_rows import NamedRows, by_run

#: What is changed of some events, which may contradict others then, or which make further holes.
OTHER: dict[str, list[str] | list[int]] = {
    "process": ["P1", "P2", "P9"],
    "index": [0, 1, 2, (1 << 63) - 1],
    "message": ["m0", "m1"],
    "peer": ["P1", "P2"],
}


def with_losses(chance: Random) -> list[Row]:
    """A random run in random order that has lost some events, and of which a few are changed."""
    events = random_run(chance, "", multicasts=chance.random() < 0.5)
    events = chance.sample(events, chance.randint(1, len(events)) if chance.random() < 0.5 else len(events))
    for event in chance.sample(events, chance.choice([0, 0, 0, 1])):
        field = chance.choice(list(OTHER))
        event[field] = chance.choice(OTHER[field])
    return list(rows_of_lines(map(json.dumps, events)))


def by_columns(named: NamedRows) -> CertainColumns | None:
    """What is certain, if the monitor can use it: if not, the rows contradict each other, or are in a cycle."""
    found = certain_columns(named)
    usable = found is not None and Monitor(found.rows).outcomes()[0, ASYNCHRONOUS] != UNDECIDED
    return found if usable else None


def event_of(named: NamedRows, rows: Rows, row: int) -> tuple[str, int, str, str, list[str]]:
    """The process of a row, its place, its kind, its message and its receivers."""
    process, kind, peer = named.processes[rows.process[row]], rows.kind[row], rows.peer[row]
    if kind == INTERNAL:
        return process, int(rows.place[row]), "internal", "", []
    message = str(named.named["message"].names[rows.message[row]].as_py())
    if kind != SEND:
        assert peer == NONE
        return process, int(rows.place[row]), "deliver", message, []
    receivers = rows.receiver[rows.first_receiver[peer] : rows.first_receiver[peer + 1]].tolist()
    return process, int(rows.place[row]), "send", message, [named.processes[q] for q in receivers]


@settings(max_examples=500)
@given(st.randoms(use_true_random=False))
def test_columns_say_what_rows_say(chance: Random) -> None:
    rows = with_losses(chance)
    named = by_run(table_of_rows(rows))
    try:
        expected = certain_rows(rows)
    except BadInput:
        assert by_columns(named) is None
        return
    found = certain_columns(named)
    assert found is not None
    assert (found.holes, found.perhaps_received) == (expected.holes, expected.perhaps_received)
    assert {*found.processes} == {*expected.lines}
    assert found.messages == sum(row.kind == "send" for row in rows)
    certain = {
        row.line: (process, place, row.kind, row.message, list(row.peers) if row.kind == "send" else [])
        for process, line in expected.lines.items()
        for place, row in enumerate(line)
    }
    assert [event_of(named, found.rows, k) for k in range(len(rows))] == [certain[row.line] for row in rows]
