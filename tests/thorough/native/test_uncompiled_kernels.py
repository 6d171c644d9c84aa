"""The native engine and the monitor of logs where Numba compiles nothing: the kernels as plain Python, with the same
answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from native_engine_setup import question, reported, same_verdicts, small_rounds

FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "helpers")]

ENVIRONMENT = {**os.environ, "NUMBA_DISABLE_JIT": "1"}

#: Compares the engines on the checks of this file.
UNCOMPILED = """
import json, sys
sys.path[:0] = sys.argv[1:]
from test_uncompiled_kernels import differences
from crownless.model_check.native import compiled
assert compiled.NOT_COMPILED
json.dump(differences(), sys.stdout)
"""


#: Free workloads of every kind: broadcasts, sends to oneself, long queues, clocks, faults, holding back.
CHECKS: dict[str, dict[str, Any]] = {
    "causal order": {"protocol": "rst", "n": 3, "messages": 2},
    "synchronous order": {"protocol": "murty-garg", "n": 2, "messages": 2},
    "no protocol, long queues": {"protocol": "unordered", "n": 2, "messages": 4, "channel": "fifo"},
    "no protocol, copies": {"protocol": "unordered", "n": 2, "messages": 2, "channel": "duplicating"},
    "no protocol, losses": {"protocol": "unordered", "n": 3, "messages": 2, "channel": "lossy"},
    "clocks": {"protocol": "unordered", "n": 2, "messages": 3, "clocks": ("lamport-times", "vector-times")},
    "refused ones wait": {"protocol": "buffer", "n": 3, "messages": 2, "channel": "fifo"},
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


def test_the_kernels_as_plain_python_agree_with_the_plain_explorer() -> None:
    command = [sys.executable, "-W", "error", "-c", UNCOMPILED, *FOLDERS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert [line for line in done.stderr.splitlines() if "still searching…" not in line] == []
    assert json.loads(done.stdout) == {name: {} for name in CHECKS}


def test_the_monitor_of_logs_as_plain_python_agrees_with_the_spec() -> None:
    test = Path(__file__).parents[1] / "logs/test_streaming_monitor.py::test_small_computations[lost]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout
