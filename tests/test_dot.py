"""State graphs in DOT."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.model_check.dot import dot


@pytest.mark.parametrize("protocol", ["unordered", "rst", "buffer"])
def test_the_graph_has_every_state_and_move(protocol: str) -> None:
    result = cr.check(protocol, 2, 2)
    lines = dot(result).splitlines()
    assert lines[0] == f'digraph "{protocol}" {{'
    assert lines[-1] == "}"
    nodes = [line for line in lines if re.match(r"  \d+ \[", line)]
    moves = [line for line in lines if re.match(r"  \d+ -> \d+ \[", line)]
    assert (len(nodes), len(moves)) == (result.exploration.states, result.exploration.transitions)
    assert '[label="P1: send"]' in moves[0]


def test_the_local_variables_are_in_the_nodes() -> None:
    first = dot(cr.check("rst", 2, 1)).splitlines()[2]
    assert first == r'  0 [label="P1: sent = 0 0 / 0 0; deliv = 0 0\lP2: sent = 0 0 / 0 0; deliv = 0 0\l"];'


def test_what_is_too_large_or_not_known_is_said_and_not_written(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "graph.dot"
    for arguments, said in (
        ("check rst -n 3 -m 4", "a graph of 7,370 states cannot be drawn; choose fewer"),
        ("check unordered -n 2 -m 2 --first", "not all states are known: only the first violation was requested"),
        ("check rst fifo-ack -n 2 -m 1", "2 checks have a graph each; name one protocol"),
    ):  # fmt: skip
        answer = crownless(*arguments.split(), "--quiet", "--dot", str(file))
        assert f"{file} is not written: {said}" in answer.err
        assert not file.exists()
    assert crownless("check", "rst", "-n", "2", "-m", "1", "--dot", str(file)).code == 0
    assert file.read_text("utf-8").startswith("digraph")
