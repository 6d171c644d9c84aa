"""Where memory runs out: no thread is waited for without end, the watch goes on, and what is said takes none."""

from __future__ import annotations

import _thread
import errno
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import patch

import pytest

from crownless.command_line import endings
from crownless.model_check import threads
from crownless.model_check.limits import NO_MEMORY, Limits
from crownless.model_check.threads import Beside, Repeatedly
from crownless.runtime.ending import stoppable, watching
from crownless.spec.errors import BadInput
from crownless.spec.memory import keep_reserve, lacks_memory, release_reserve

#: Seconds; they only bound how long a failing test takes.
LONG = 60.0


def test_a_thread_that_cannot_be_had_is_a_lack_of_memory() -> None:
    with patch.object(_thread, "start_new_thread", side_effect=RuntimeError("can't start new thread")):
        with pytest.raises(MemoryError):
            Beside(lambda: None)
        with pytest.raises(MemoryError), watching():
            raise AssertionError("never reached")
    assert threading.stack_size() == 0
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_a_thread_that_gives_no_sign_is_not_waited_for_without_end() -> None:
    """`threading.Thread.start` waits for ever."""
    started, patience = patch.object(_thread, "start_new_thread"), patch.object(threads, "BEGINS_WITHIN", 0.05)
    with started, patience, pytest.raises(MemoryError):
        Beside(lambda: None)


def test_what_is_run_again_after_a_lack_of_memory_is_done() -> None:
    calls: list[int] = []
    done = threading.Event()

    def fails_once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError
        done.set()

    thread = Repeatedly(fails_once)
    until = time.monotonic() + LONG
    while not done.wait(0.01) and time.monotonic() < until:
        thread.request()
    assert done.is_set()
    assert thread.end(LONG)


def test_a_function_that_does_not_return_is_not_waited_for() -> None:
    goes_on = threading.Event()

    def waits() -> None:
        goes_on.wait(LONG)

    thread = Repeatedly(waits)
    thread.request()
    time.sleep(0.05)
    assert not thread.end(0.05)
    goes_on.set()
    assert thread.end(LONG)


def test_the_watch_survives_a_lack_of_memory_and_ends_the_part() -> None:
    with patch.object(Limits, "reached", side_effect=MemoryError), stoppable() as part:
        time.sleep(LONG)
    assert (part.reason, part.out_of_memory) == (NO_MEMORY, True)


def test_a_thread_that_a_part_cannot_start_ends_it() -> None:
    with stoppable() as part:
        raise RuntimeError("can't start new thread")
    assert part.out_of_memory


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("x.so: failed to map segment from shared object"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("other"), False),
        (BadInput("other", hint="another"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_errors_of_several_kinds_say_that_memory_has_run_out(error: BaseException, lacks: bool) -> None:
    assert lacks_memory(error) == lacks
    if lacks:
        assert endings.code_of(error) == 71


def test_the_reserve_is_there_once_and_given_back() -> None:
    from crownless.spec import memory

    keep_reserve()
    keep_reserve()
    assert [len(block) for block in memory._reserve] == [memory.SIZE]
    release_reserve()
    assert memory._reserve == []


#: As z3 does in the midst of a query when the process is to end: it has a thread of its own at work at the end.
STILL_AT_WORK = """
import atexit, sys, time
from crownless import start
from crownless.command_line import endings
class Slow:
    def __del__(self):
        time.sleep(60)
endings.keep_to_the_end(Slow())
sys.argv = ["crownless", "list"]
start.main()
"""


def test_nothing_is_freed_at_the_end_and_all_is_written() -> None:
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", STILL_AT_WORK], capture_output=True, text=True, check=False, timeout=2 * LONG
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "rst" in ended.stdout
    assert time.monotonic() - began < LONG


@pytest.mark.parametrize("mebibytes", [10, 25])
def test_proofs_end_in_a_line_where_z3_cannot_begin_or_go_on(mebibytes: int) -> None:
    from test_limits import narrowly

    ended = narrowly(mebibytes, "prove", "buffer")
    assert ended.returncode in (3, 71), ended.stderr
    assert len(ended.stderr.splitlines()) == 1
