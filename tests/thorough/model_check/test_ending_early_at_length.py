"""What takes longer of the tests in `test_ending_early.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any
from unittest.mock import patch

import pytest
import z3
from command_line_runner import Crownless
from long_waits import LONG

from crownless.runtime.ending import (
    Limits,
)

#: Seconds within which what is interrupted must have ended; it takes less than two on a machine that is not busy.
SOON = 20.0


#: A call that never looks; it gets SIGTERM after each of these seconds.
DEAF = """
import os, signal, sys, threading, time
from crownless.runtime import ending
ending.GRACE = ending.HINT_AFTER = 0.3
with ending.stoppable(ending.Limits(seconds=float(sys.argv[1]))):
    for seconds in map(float, sys.argv[2:]):
        threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    time.sleep(100)
"""


HINT = "interrupted; stopping (Ctrl-C again to stop at once)"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["0.2"], 3, ["time limit of 0.2 s reached, in the middle of a call that does not return"]),
        (["60", "0.1", "0.2"], 130, ["interrupted"]),
        (["60", "0.1", "1.5"], 130, [HINT, "interrupted"]),
    ],
)
def test_what_never_looks_is_ended_at_a_limit_or_by_a_second_signal(
    arguments: list[str], code: int, said: list[str]
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", DEAF, *arguments], capture_output=True, text=True, check=False, timeout=LONG
    )
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.splitlines() == [f"crownless: {line}" for line in said]


# -- commands ----------------------------------------------------------------------------------------------------------


#: Commands that take long, and what each prints when it is interrupted.
LONG_COMMANDS = {
    "check rst -n 4 -m 9 --quiet --workers 1": "interrupted",
    "check rst -n 4 -m 9 --engine plain --quiet": "interrupted",
    "count -n 5 -m 6": "unknown: at least this many",
    "realize rst -n 4 -m 7 --quiet": "unknown: interrupted",
    "cost unordered rst --seeds 9999 -m 50": "mean and 95% confidence interval",
    "prove rst --why": "rst",
}


@pytest.mark.parametrize("command", LONG_COMMANDS)
def test_a_signal_gives_what_is_known_soon(crownless: Crownless, command: str) -> None:
    began: list[float] = []
    over = Limits.over

    def interrupts(limits: Limits, seconds: float) -> str | None:
        if not began:  # signals are watched from now on
            began.append(time.monotonic())
            number = signal.SIGTERM if "count" in command else signal.SIGINT
            threading.Timer(0.6, lambda: os.kill(os.getpid(), number)).start()
        return over(limits, seconds)

    with patch.object(Limits, "over", interrupts):
        answer = crownless(*command.split())
    assert (answer.code, LONG_COMMANDS[command] in " ".join(answer.out.split())) == (3, True), answer.err
    assert time.monotonic() - began[0] < SOON


@pytest.mark.parametrize(
    ("command", "code"),
    [("prove rst", 3), ("prove rst --discover", 130), ("prove rst --program mf-fig1", 130), ("claims KU5", 130)],
)
def test_one_interrupt_ends_whatever_z3_is_at(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch, command: str, code: int
) -> None:
    """Each query is one that has no end of its own: sums of three cubes."""
    check = z3.Solver.check
    begun: list[bool] = []

    def never_ends(solver: Any, *_: Any) -> Any:
        if not begun:
            begun.append(True)
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        x, y, z = z3.Ints("x y z", solver.ctx)
        solver.reset()
        solver.add(x * x * x + y * y * y + z * z * z == 114, x > y, y > z)
        solver.set(rlimit=0)
        return check(solver)

    monkeypatch.setattr(z3.Solver, "check", never_ends)
    answer = crownless(*command.split())
    assert (answer.code, answer.err) == (code, f"crownless: interrupted{'; no results yet' * (code == 130)}\n")


#: z3 at work while another thread drops its terms, as the thread does that happens to collect garbage.
DROPS = """
import threading
from crownless.proofs import z3
x = z3.Int("x")
dropped = [x * k + k > 3 for k in range(20_000)]
thread = threading.Thread(target=dropped.clear)
thread.start()
made = 10
while thread.is_alive():
    made += 1
    [x * k + k > made for k in range(50)]
"""


def test_terms_that_another_thread_drops_do_not_break_z3_at_work() -> None:
    done = subprocess.run([sys.executable, "-c", DROPS], capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr[-500:]
