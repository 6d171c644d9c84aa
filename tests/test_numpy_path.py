"""The native engine where Numba is absent: on whole arrays, with the same answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from in_order import bound
from native_engine_setup import Question, question, small_rounds, told

from crownless.impl.protocol import Packet, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.unordered import Unordered
from crownless.model_check import check as checking
from crownless.model_check.check import run_check
from crownless.model_check.engines import why_not_applicable
from crownless.model_check.native import vectorized
from crownless.model_check.native.layout import layout
from crownless.model_check.request import Check, load_program
from crownless.spec import library
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

HERE = Path(__file__).parent

#: Asks the questions of this file where `import numba` fails.
WITHOUT_NUMBA = """
import json, sys
sys.modules["numba"] = None
sys.path.insert(0, sys.argv[1])
from test_numpy_path import ASKED
json.dump({ask.__name__: ask() for ask in ASKED}, sys.stdout)
"""

#: Programs, and protocols that are asked about them where they can be.
PROGRAMS = library.names()[::2]
FOR_PROGRAMS = ("unordered", "fifo-ack", "rst", "ses", "buffer", "murty-garg", "optimal")


class AfterOwnSends(Unordered):
    """Refuses what arrives until it has sent something itself; then takes the even ones of a link, and later all."""

    def initial(self, i: int) -> Any:
        return 0

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(state=state + 1) for step in super().send(i, state, message)]

    def accepts(self, i: int, state: Any, packet: Packet) -> bool:
        assert packet.message is not None
        return state > 1 or (state == 1 and int(packet.message.name.split("#")[1]) % 2 == 0)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return state


class SendsTwo(AfterOwnSends):
    """Takes two messages at each process."""

    rules = {"a-send-is-refused": lambda machine, t: t.action == "send" and t.refused}

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) if state < 2 else []


#: Free workloads beyond the smallest: broadcasts, sends to oneself, long queues, clocks, orders of their own.
OTHERS: dict[str, dict[str, Any]] = {
    "rst, deeper": {"protocol": "rst", "n": 3, "messages": 4},
    "rst, more processes": {"protocol": "rst", "n": 4, "messages": 3},
    "no protocol, long queues": {"protocol": "unordered", "n": 2, "messages": 5, "channel": "fifo"},
    "no protocol, copies": {"protocol": "unordered", "n": 2, "messages": 3, "channel": "duplicating"},
    "no protocol, losses": {"protocol": "unordered", "n": 3, "messages": 3, "channel": "lossy"},
    "no protocol, multicasts": {"protocol": "unordered", "n": 3, "messages": 2, "sends": "multicast"},
    "sends to oneself": {"protocol": "unordered", "n": 2, "messages": 3, "self_sends": True},
    "clocks": {"protocol": "unordered", "n": 2, "messages": 3, "clocks": ("lamport-times", "vector-times")},
    "refused ones wait": {"protocol": "buffer", "n": 3, "messages": 3, "channel": "fifo"},
    "in the mail room": {"protocol": AfterOwnSends, "n": 2, "messages": 5, "channel": "fifo"},
    "no send left to refuse": {"protocol": SendsTwo, "n": 2, "messages": 2},
    "a send refused": {"protocol": SendsTwo, "n": 2, "messages": 3},
    "not graded": {"protocol": "fifo-ack", "n": 2, "messages": 3, "channel": "fifo"},
}

IN_SMALL_ROUNDS = ("fifo-ack, fifo", "rst, unordered", "buffer, fifo", "unordered, duplicating", "unordered, lossy")


def questions() -> Iterator[tuple[str, Question]]:
    for name in PROTOCOLS:
        for channel in ("unordered", "fifo", "lossy", "duplicating"):
            n, messages = bound(name, 3 if channel in ("unordered", "fifo") else 2, 2, channel)
            yield f"{name}, {channel}", question(name, n, messages, channel)
    for name in PROGRAMS:
        script = load_program(name)
        for protocol in FOR_PROGRAMS:
            if why_not_applicable(Check(protocol, program=script)) is None:
                yield f"{protocol}, program {name}", question(protocol, program=script)
    for name, asked in OTHERS.items():
        yield name, question(**asked)


def differences() -> dict[str, Any]:
    """Of each question: in what the answers of the two engines differ."""
    return {name: _difference(asked) for name, asked in questions()}


def _difference(asked: Question) -> dict[str, str]:
    plain, native = told(asked.plain()), told(asked.native())
    return {name: f"{plain[name]} != {native[name]}" for name in plain if plain[name] != native[name]}


def differences_in_small_rounds() -> dict[str, Any]:
    """Likewise, where hardly anything fits and nearly everything is done again."""
    with small_rounds(), patch.multiple(vectorized, SOME=3, MANY=5):
        return {name: _difference(asked) for name, asked in questions() if name in IN_SMALL_ROUNDS}


def shown_runs() -> dict[str, Any]:
    """What `run_check` says with each engine, and the run that it shows."""
    found = {}
    few = patch.object(checking, "FEW_STATES", 0)  # else the levels are not walked back
    for name, channel in (("fifo-sequence", "unordered"), ("fifo-ack", "unordered"), ("unordered", "lossy")):
        asked = Check(name, 3 if channel == "unordered" else 2, 3, channel=channel, orders=("causal",))
        with few:
            results = [run_check(asked, engine=engine).json()["properties"] for engine in ("plain", "native")]
        found[f"{name}, {channel}"] = results
    return found


def refusals() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for reductions in (("symmetry",), ("all",)):
        try:
            run_check(Check("rst", messages=1), reductions=reductions)
        except BadInput as error:
            found[reductions[0]] = str(error)
    found["scope"] = run_check(Check("rst", messages=1), workers=2).scope
    return found


#: All that is asked without Numba, in one process: it takes a while to start.
ASKED = (differences, differences_in_small_rounds, shown_runs, refusals)


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-W", "error", "-c", WITHOUT_NUMBA, str(HERE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def test_the_answers_are_those_of_the_plain_explorer(answers: dict[str, dict[str, Any]]) -> None:
    found = answers["differences"]
    assert len(found) > 4 * len(PROTOCOLS) + 12 + len(OTHERS)
    assert {name: difference for name, difference in found.items() if difference} == {}


def test_so_they_are_where_hardly_anything_fits(answers: dict[str, dict[str, Any]]) -> None:
    found = answers["differences_in_small_rounds"]
    assert found.keys() == set(IN_SMALL_ROUNDS)
    assert {name: difference for name, difference in found.items() if difference} == {}


def test_the_runs_shown_are_the_same(answers: dict[str, dict[str, Any]]) -> None:
    found = answers["shown_runs"]
    for plain, native in found.values():
        assert plain == native
    verdicts = [known["verdict"] for plain, _ in found.values() for known in plain]
    assert {"holds", "violated"} <= set(verdicts)


def test_reductions_and_further_workers_need_numba(answers: dict[str, dict[str, Any]]) -> None:
    found = answers["refusals"]
    assert found["symmetry"] == "rst: --reduce symmetry: needs numba, and numba is not installed; pip install numba"
    assert found["all"] == "rst: --reduce symmetry: needs numba, and numba is not installed; pip install numba"
    assert found["scope"].endswith("; native engine, 1 worker, no reductions")


@pytest.mark.parametrize("words", [1, 2, 3])
def test_rows_with_one_state_are_found_whatever_their_ghost(words: int) -> None:
    """`insert` against a dictionary, with many rows in few places of the table."""
    laid = layout(words, 3 * (words - 1) + 1, ghosts=4, cells=3, packets=1 << 16)
    generator = np.random.default_rng(words)
    states = generator.integers(0, 3, (400, len(laid.word)))
    states[:, -1] += generator.integers(0, 1 << 20, 400)
    states[:, 0] = generator.integers(0, 4, 400)
    states = np.concatenate([states, states[:200], states[:100]])
    states[600:, 0] = (states[600:, 0] + 1) % 4
    rows = np.zeros((len(states), laid.words), np.uint64)
    for numbers, row in zip(states, rows, strict=True):
        vectorized.pack(numbers, laid, row)
        back = np.zeros_like(numbers)
        vectorized.unpack(row, laid, back)
        assert back.tolist() == numbers.tolist()
    hashes = np.array([vectorized.hash_of(row, laid) for row in rows], np.uint64)
    # As if many rows hashed alike.
    hashes &= np.uint64(0xFFFFFFFF00000007)
    shelf, is_new = np.zeros((1000, laid.words), np.uint64), np.zeros(1000, np.bool_)
    table, tallies = np.zeros(2048, np.uint64), np.zeros(2, np.int64)
    used, none = 0, np.zeros(0, np.uint32)
    for start in range(0, len(rows), 150):
        some = slice(start, start + 150)
        count = len(rows[some])
        used = vectorized.insert(
            rows[some], hashes[some], none, count, laid, shelf, is_new, none, table, min(start, 1), used, tallies
        )
    nodes = {tuple(numbers) for numbers in states.tolist()}
    assert {tuple(row) for row in shelf[:used].tolist()} == {tuple(row) for row in rows.tolist()}
    assert used == len(nodes)
    found = np.zeros((used, len(laid.word)), np.int64)
    for row, numbers in zip(shelf[:used], found, strict=True):
        vectorized.unpack(row, laid, numbers)
    new = [tuple(numbers[1:]) for numbers in found[is_new[:used]].tolist()]
    assert sorted(new) == sorted({numbers[1:] for numbers in nodes})
    assert tallies[0] == len(new)
    assert tallies[1] > 0
    there = np.zeros(len(rows), np.bool_)
    vectorized.which_are_there(rows, hashes, len(rows), laid, shelf, table, there)
    assert there.all()
