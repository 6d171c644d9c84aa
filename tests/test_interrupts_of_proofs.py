"""One interrupt ends whatever puts something to z3: z3 by itself takes it for a request to give up on one query."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import z3

from crownless.proofs import asking
from crownless.proofs.interrupts import AT_ITS_LIMIT, INTERRUPTED, reason_for_giving_up, stoppable_proof
from crownless.proofs.theorem import theorem

#: Seconds; they only bound how long a failing test takes.
LONG = 120

#: What has no end of its own: sums of three cubes. It says when it starts.
NEVER_ENDS = """
import signal
import sys
import time
from crownless.proofs.asking import ask
import z3
from crownless.proofs.interrupts import stoppable_proof
x, y, z = z3.Ints("x y z")
given = [x * x * x + y * y * y + z * z * z == 114, x > y, y > z]

def solver():
    for solver in iter(z3.Solver, None):
        solver.add(*given)
        ask(solver)

def optimize():
    for times in iter(z3.Optimize, None):
        times.add(*given)
        times.minimize(x)
        ask(times)

def half_made():
    # the signal comes while an object of z3 is made, whose destructor needs what is not there yet
    make = z3.z3.Z3_mk_optimize
    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)  # it is looked at in vain meanwhile, and not again before the query has begun
        return make(*given)
    z3.z3.Z3_mk_optimize = interrupted
    z3.Optimize()
    solver()

def finite():
    for solver in iter(lambda: z3.SolverFor("QF_NIA"), None):
        solver.add(*given)
        ask(solver)

def keeps_it_to_itself():
    while True:
        try:
            solver()
        except KeyboardInterrupt:
            return

def fails_of_it():
    try:
        solver()
    except KeyboardInterrupt as error:
        raise ValueError("half done") from error

try:
    with stoppable_proof() as part:
        print("started", flush=True)
        globals()[sys.argv[1]]()
    if part.reason is not None:
        raise KeyboardInterrupt
except KeyboardInterrupt:
    sys.exit(130)
"""


def interrupted(*arguments: str, by_itself: bool = False) -> tuple[int, str]:
    """Runs Python so, and interrupts it once when it says that it has started, unless it does so `by_itself`; exit code
    and errors.
    """
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background may ignore interrupts, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "started\n"
            if not by_itself:
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=LONG)
        except BaseException:
            process.kill()
            raise
    return process.returncode, errors


@pytest.mark.parametrize("what", ["solver", "optimize", "finite", "keeps_it_to_itself", "fails_of_it"])
def test_one_interrupt_ends_a_query_without_end(what: str) -> None:
    assert interrupted("-c", NEVER_ENDS, what) == (130, "")


def test_an_interrupt_waits_until_an_object_of_z3_is_made_and_ends_the_query_that_has_begun_since() -> None:
    """The destructor of what is half made would fail, and say so."""
    assert interrupted("-c", NEVER_ENDS, "half_made", by_itself=True) == (130, "")


#: The command line, with a query that has no end wherever one is put to a solver.
VERB = """
import sys
import z3
from crownless import command_line

check = z3.Solver.check
started = []

def never_ends(solver, *assumptions):
    if not started:
        started.append(True)
        print("started", flush=True)
    x, y, z = z3.Ints("x y z", solver.ctx)
    solver.reset()
    solver.add(x * x * x + y * y * y + z * z * z == 114, x > y, y > z)
    solver.set(rlimit=0)
    return check(solver)

z3.Solver.check = never_ends
command_line.main(sys.argv[1:])
"""


#: What has put nothing to z3 by then that it could report, and the others.
NOTHING = (130, "crownless: interrupted; nothing is known yet\n")
SOMETHING = (3, "crownless: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["prove", "rst"], SOMETHING),
        (["prove", "rst", "--why"], SOMETHING),
        (["prove", "rst", "--discover"], NOTHING),
        (["prove", "rst", "--program", "mf-fig1"], NOTHING),
        (["claims", "KU5"], NOTHING),
    ],
    ids=str,
)
def test_one_interrupt_ends_a_verb(arguments: list[str], expected: tuple[int, str]) -> None:
    assert interrupted("-c", VERB, *arguments) == expected


def test_no_theorem_is_tried_again_after_an_interrupt() -> None:
    """Also where no caller wants it to end the whole run: what z3 takes for itself is passed on."""
    passed_on = []

    def unknown(_: Any) -> Any:
        passed_on.append(True)
        return z3.unknown

    x = z3.Int("x")
    reason = patch.object(z3.Solver, "reason_unknown", lambda _: INTERRUPTED)
    with patch.object(z3.Solver, "check", unknown), reason, pytest.raises(KeyboardInterrupt):
        theorem("some", {}, x == x, attempts=5)
    assert len(passed_on) == 1


def test_a_limit_is_no_interrupt() -> None:
    for reason in (AT_ITS_LIMIT, "canceled", "push canceled"):
        assert reason_for_giving_up(reason) == AT_ITS_LIMIT
    assert reason_for_giving_up("incomplete quantifiers") == "incomplete quantifiers"


class _Query:
    """A solver and its context in one, that does something else when it is asked."""

    def __init__(self, during: Callable[[], object]) -> None:
        self.ctx, self.check, self.interrupted = self, during, 0

    def interrupt(self) -> None:
        self.interrupted += 1


def test_a_query_can_be_interrupted_when_one_of_another_thread_has_ended() -> None:
    begins, ends = threading.Event(), threading.Event()

    def until_the_end() -> None:
        begins.set()
        ends.wait(LONG)

    other = threading.Thread(target=asking.ask, args=[_Query(until_the_end)])
    other.start()
    begins.wait(LONG)

    def during() -> None:
        ends.set()
        other.join(LONG)
        asking.interrupt()

    query = _Query(during)
    asking.ask(query)
    assert query.interrupted == 1
    asking.interrupt()
    assert query.interrupted == 1


def _threaded(what: Callable[[], None]) -> None:
    thread = threading.Thread(target=what)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()


def test_no_garbage_is_collected_during_a_query() -> None:
    collects: list[bool] = []

    class Watched(z3.Solver):  # type: ignore[misc]
        def check(self, *given: Any) -> Any:
            collects.append(gc.isenabled())
            return super().check(*given)

    x = z3.Int("x")
    with patch.object(z3, "Solver", Watched):
        assert theorem("any", {"greater": x > 3}, x > 2)
    assert collects == [False]
    assert gc.isenabled()


def test_all_is_as_before_when_it_is_left() -> None:
    before = signal.getsignal(signal.SIGINT), z3.get_param("ctrl_c"), threading.active_count()
    with stoppable_proof():
        pass
    with pytest.raises(ValueError, match="of its own"), stoppable_proof():
        raise ValueError("of its own")
    assert (signal.getsignal(signal.SIGINT), z3.get_param("ctrl_c"), threading.active_count()) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_outside_the_main_thread_it_changes_nothing() -> None:
    seen = []

    def entered() -> None:
        with stoppable_proof():
            seen.append(z3.get_param("ctrl_c"))

    _threaded(entered)
    assert seen == ["true"]


DROPS = """
import threading
from crownless.proofs import z3

x = z3.Int("x")
dropped = [x * k + k > 3 for k in range(20_000)]

def drops():
    while dropped:
        dropped.pop()

thread = threading.Thread(target=drops)
thread.start()
made = 10
while thread.is_alive():
    made += 1
    [x * k + k > made for k in range(50)]
"""


def test_terms_that_another_thread_drops_do_not_break_z3_at_work() -> None:
    """Garbage is dropped so, in the thread that collects it. Without what `crownless.proofs` tells z3, it breaks."""
    done = subprocess.run([sys.executable, "-c", DROPS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
