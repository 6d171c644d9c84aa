"""Ending early: the first signal, limits and a lack of memory give what is known by then; a second signal ends all."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import z3
from long_waits import LONG
from native_engine_setup import question, reported

from crownless.model_check.check.check import run_check
from crownless.model_check.native.checkpoints import Checkpoint
from crownless.model_check.native.row_set import RowSet
from crownless.model_check.search.counting import CountRequest, count
from crownless.model_check.search.realizing import realize
from crownless.model_check.system.request import Check
from crownless.proofs.induction.theorem import theorem
from crownless.proofs.language.z3_query import AT_ITS_LIMIT, reason_for_giving_up
from crownless.runtime import ending
from crownless.runtime.ending import (
    INTERRUPTED,
    Limits,
    Stopped,
    interrupted_by,
    look,
    stop_reason,
    stoppable,
    watching,
)
from crownless.runtime.memory import memory_in_use

MIB = 1 << 20


def looks_for_ever() -> None:
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        look()
        time.sleep(0.01)
    raise AssertionError("it was not stopped")


# -- a part of the work ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "number", "reason"),
    [
        (None, signal.SIGINT, "interrupted"),
        (None, signal.SIGTERM, "interrupted"),
        (Limits(seconds=0.1), None, "time limit of 0.1 s reached"),
        (Limits(seconds=1, spent=0.9), None, "time limit of 1 s reached"),
        (Limits(memory=1), None, "memory limit of 0 MiB reached"),
    ],
)
def test_a_part_that_is_to_end_goes_on_after_its_block(
    limits: Limits | None, number: signal.Signals | None, reason: str
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), threading.active_count()
    with stoppable(limits) as part:
        if number is not None:
            signal.raise_signal(number)
        looks_for_ever()
    assert part.reason == reason
    assert stop_reason() is None
    after = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), threading.active_count()
    assert after == before


def test_a_part_within_another_ends_alone() -> None:
    with stoppable() as outer:
        with stoppable(Limits(seconds=0.05)) as inner:
            looks_for_ever()
        look()
    assert (inner.reason, outer.reason) == ("time limit of 0.05 s reached", None)


def test_no_memory_ends_a_part_and_a_fault_does_not() -> None:
    with stoppable() as part:
        raise MemoryError
    assert part.reason == "no more memory could be had"
    with pytest.raises(ValueError, match="own"), stoppable():
        raise ValueError("own")


def test_whatever_fails_because_it_is_to_end_is_no_fault() -> None:
    with stoppable(Limits(seconds=0)) as part:
        raise ValueError("half done")
    assert part.reason == "time limit of 0 s reached"


def test_what_does_not_look_is_stopped_by_its_own_function() -> None:
    stopped = threading.Event()
    with stoppable(Limits(seconds=0.1)), interrupted_by(stopped.set):
        assert stopped.wait(LONG)


def test_after_an_interrupt_the_search_for_runs_to_show_is_short() -> None:
    limits = Limits(seconds=60)
    assert limits.for_runs_to_show().seconds == 60
    with watching():
        signal.raise_signal(signal.SIGINT)
        until = time.monotonic() + LONG
        while limits.reached(0.0) is None and time.monotonic() < until:
            time.sleep(0.01)
        assert limits.reached(0.0) == INTERRUPTED
        assert limits.for_runs_to_show().seconds == ending.SHOWN_WITHIN
        assert limits.for_runs_to_show().reached(0.0) is None


def test_by_default_three_quarters_of_the_memory_that_is_left_may_be_used() -> None:
    with patch.object(ending, "memory_left", return_value=(1000 * MIB, "the container")):
        limits = Limits()
    used = memory_in_use()
    for more, over in ((0, False), (700 * MIB, False), (800 * MIB, True)):
        with patch.object(ending, "memory_in_use", return_value=used + more):
            reason = limits.reached(0.0)
        assert (reason is not None) == over
    assert reason is not None
    assert reason.endswith("three quarters of what the container left; --max-memory SIZE sets another limit")


def test_no_theorem_is_tried_again_once_it_is_to_end() -> None:
    tried = []

    def unknown(*_: Any) -> Any:
        tried.append(True)
        time.sleep(0.1)
        return z3.unknown

    x = z3.Int("x")
    with patch.object(z3.Solver, "check", unknown), stoppable(Limits(seconds=0.05)) as part:
        theorem("some", {}, x == x, attempts=5)
    assert (len(tried), part.reason) == (1, "time limit of 0.05 s reached")


def test_the_limit_of_z3_itself_is_no_interrupt() -> None:
    for reason in (AT_ITS_LIMIT, "canceled", "push canceled"):
        assert reason_for_giving_up(reason) == AT_ITS_LIMIT
    assert reason_for_giving_up("incomplete quantifiers") == "incomplete quantifiers"


# -- memory ------------------------------------------------------------------------------------------------------------


def test_counting_and_realizing_end_at_a_limit_with_what_is_known() -> None:
    counted = count(CountRequest(3, 4, max_seconds=0))
    assert counted.stopped == "time limit of 0 s reached"
    assert counted.json()["complete"] is False
    assert realize(Check("rst", 3, 3), limits=Limits(memory=1)).stopped == "memory limit of 0 MiB reached"


def fails_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, for which there is no memory after some calls."""
    made: list[object] = []

    def failing(*given: Any) -> Any:
        made.append(given)
        if len(made) > calls:
            raise MemoryError
        return function(*given)

    return failing


def test_memory_that_cannot_be_had_in_a_level_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    both = question("rst", 3, 4)
    (tmp_path / "saved").mkdir()
    with patch.object(RowSet, "make_room", fails_after(12, RowSet.make_room)):
        saved = Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=False, every=0)
        found = both.search(workers=2).explore(checkpoint=saved)
    assert found.stopped == "no more memory could be had"
    again = Checkpoint(tmp_path / "saved", {"ask": "this"}, resume=True)
    assert reported(both.native(checkpoint=again)) == reported(both.plain())


def test_a_level_that_a_node_under_test_ends_is_ended(tmp_path: Path) -> None:
    """What is raised in the middle of a search is caught where the search is."""
    with patch("crownless.model_check.search.explorer._unmet_at_end", side_effect=Stopped("a limit of its own")):
        result = run_check(Check("rst", 2, 2), engine="plain")
    assert (result.verdict, result.exploration.stopped) == ("unknown", "a limit of its own")
