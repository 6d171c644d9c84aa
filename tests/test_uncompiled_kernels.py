"""The native engine where Numba compiles nothing: the kernels as plain Python, with the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from native_engine_setup import question, reported, same_verdicts, small_rounds

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.unordered import Unordered
from crownless.model_check.native import compiled
from crownless.spec.computation import Message

HERE = Path(__file__).parent

#: Compares the engines on the checks of this file.
UNCOMPILED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_uncompiled_kernels import compiled, differences
assert compiled.NOT_COMPILED
json.dump(differences(), sys.stdout)
"""


class AfterOwnSends(Unordered):
    """Refuses what arrives until it has sent something itself; then takes the even ones of a link, and later all."""

    def initial(self, i: int) -> Any:
        return 0

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(state=state + 1) for step in super().send(i, state, message)]

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        assert isinstance(packet.message, FreeMessage)
        return state > 1 or (state == 1 and packet.message.number % 2 == 0)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return state


class SendsTwo(AfterOwnSends):
    """Takes two messages at each process."""

    rules = {"a-send-is-refused": lambda machine, t: t.action == "send" and t.refused}

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) if state < 2 else []


#: Free workloads of every kind: broadcasts, sends to oneself, long queues, clocks, faults, holding back.
CHECKS: dict[str, dict[str, Any]] = {
    "causal order": {"protocol": "rst", "n": 3, "messages": 2},
    "synchronous order": {"protocol": "murty-garg", "n": 2, "messages": 2},
    "no protocol, long queues": {"protocol": "unordered", "n": 2, "messages": 4, "channel": "fifo"},
    "no protocol, copies": {"protocol": "unordered", "n": 2, "messages": 2, "channel": "duplicating"},
    "no protocol, losses": {"protocol": "unordered", "n": 3, "messages": 2, "channel": "lossy"},
    "clocks": {"protocol": "unordered", "n": 2, "messages": 3, "clocks": ("lamport-times", "vector-times")},
    "refused ones wait": {"protocol": "buffer", "n": 3, "messages": 2, "channel": "fifo"},
    "in the hold-back queue": {"protocol": AfterOwnSends, "n": 2, "messages": 5, "channel": "fifo"},
    "no send left to refuse": {"protocol": SendsTwo, "n": 2, "messages": 2},
    "a send refused": {"protocol": SendsTwo, "n": 2, "messages": 3},
    "not graded": {"protocol": "fifo-ack", "n": 2, "messages": 3, "channel": "fifo"},
    "reduced": {"protocol": "unordered", "n": 3, "messages": 2},
}


def differences() -> dict[str, dict[str, str]]:
    """Of each check: where the native engine differs from the plain explorer."""
    return {name: _difference(facts) for name, facts in CHECKS.items()}


def _difference(facts: dict[str, Any]) -> dict[str, str]:
    both = question(**facts)
    with small_rounds():
        if facts == CHECKS["reduced"]:
            reduced = both.native(workers=2, symmetry=True)
            return {} if same_verdicts(both.plain(), reduced) else {"reduced": "other verdicts"}
        native = reported(both.native(workers=2))
    plain = reported(both.plain())
    return {name: f"{plain[name]} != {native[name]}" for name in plain if plain[name] != native[name]}


@pytest.mark.parametrize("name", CHECKS)
def test_the_compiled_kernels_agree_with_the_plain_explorer(name: str) -> None:
    assert not compiled.NOT_COMPILED
    assert _difference(CHECKS[name]) == {}


def test_so_do_the_kernels_as_plain_python() -> None:
    assert _output([sys.executable, "-W", "error", "-c", UNCOMPILED, str(HERE)]) == json.dumps(
        {name: {} for name in CHECKS}
    )


def _output(command: list[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}
    )
    assert [line for line in done.stderr.splitlines() if not line.endswith("still searching…")] == []
    return done.stdout
