"""What takes longer of the tests in `test_log_matching.py`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
from log_files import in_both_ways  # noqa: F401
from log_rows import random_computation
from logs_without_names import (
    Log,
    agree,
)
from tiers import slow

from crownless.spec.computation import Computation
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import UnreceivedPolicy

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def without_names(c: Computation, payloads: Sequence[str] = ()) -> Log:
    """The computation as a log, in which messages have payloads at most."""
    events = []
    for p, line in enumerate(c.lines):
        for event in line:
            assert event.message is not None
            message = c.messages[event.message]
            peers = message.receivers if event.kind == "send" else (message.sender,)
            payload = payloads[event.message] if payloads else ""
            kind = "send" if event.kind == "send" else "deliver"
            events.append((c.processes[p], kind, payload, tuple(c.processes[q] for q in peers)))
    return tuple(events)


def all_logs(n: int, m: int, payloads: int, *, self_sends: bool = False, sends: Sends = "unicast") -> list[Log]:
    """Every computation of that size without its names, each log once: without payloads, or with all of so many."""
    logs: dict[Log, None] = {}
    for c in computations(n, m, complete=False, self_sends=self_sends, sends=sends):
        for given in product("ab"[:payloads], repeat=m) if payloads else [()]:
            logs[without_names(c, given)] = None
    return list(logs)


BOUNDS: list[tuple[int, int, int, bool, Sends]] = [
    (2, 2, 2, True, "unicast"),
    (2, 3, 2, False, "unicast"),
    (3, 2, 0, False, "multicast"),
    (3, 3, 0, False, "unicast"),
    (3, 2, 2, False, "multicast"),
]
#: What takes up to a minute each.
LARGER_BOUNDS: list[tuple[int, int, int, bool, Sends]] = [
    (2, 4, 2, False, "unicast"),
    (4, 3, 0, False, "unicast"),
]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("n", "m", "payloads", "self_sends", "sends"),
    [*BOUNDS, *map(slow, LARGER_BOUNDS)],
)
def test_every_small_log_has_the_verdicts_of_all_its_matchings(
    n: int, m: int, payloads: int, self_sends: bool, sends: Sends, reading: UnreceivedPolicy
) -> None:
    assert "forced" in agree(all_logs(n, m, payloads, self_sends=self_sends, sends=sends), reading)


@pytest.mark.parametrize("several", [0.0, 0.5])
def test_random_logs_have_the_verdicts_of_all_their_matchings(several: float) -> None:
    chance = Random(f"{several}")
    logs = []
    for _ in range(120):
        c = random_computation(chance, chance.randint(2, 4), 5, disorder=0.3, loss=0.1, several=several)
        logs.append(without_names(c, chance.choice([[], [chance.choice("abc") for _ in range(5)]])))
    assert agree(logs, "lost") - {"total perhaps"} == {"forced", "possible", "impossible"}
