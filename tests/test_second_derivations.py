"""Every protocol that `test_pinned_explorations` does not count is counted here, by both derivations.

What is pinned is what `explore` finds. `second_derivations` must find the same from the texts alone: the counts, and
the lengths of the shortest runs that break FIFO or causal order, deliver twice, or end with a message undelivered.
"""

from __future__ import annotations

from typing import Any

import pytest
import test_pinned_explorations
from pinned_counts import Counts, Pin
from second_derivations import TEXTS, Moves, search

from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.model_check.check import run_check
from crownless.model_check.request import Check

PINS = (
    Pin("fifo-sequence", "unordered", 2, 3, Counts(35, 60, 6, 4), {}),
    Pin("fifo-sequence", "unordered", 3, 2, Counts(91, 156, 4, 21), {}),
    Pin("fifo-sequence", "unordered", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("fifo-sequence", "fifo", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("fifo-ack", "unordered", 2, 3, Counts(46, 72, 9, 4), {}),
    Pin("fifo-ack", "unordered", 3, 2, Counts(160, 270, 6, 21), {}),
    Pin("fifo-ack", "unordered", 3, 3, Counts(820, 1800, 9, 56), {}),
    Pin("fifo-ack", "fifo", 3, 3, Counts(886, 1836, 9, 56), {}),
    Pin("rendezvous", "unordered", 2, 3, Counts(43, 54, 9, 7), {"delivers-all": 2, "never-blocks": 2}),
    Pin("rendezvous", "unordered", 3, 2, Counts(157, 240, 6, 24), {"delivers-all": 2, "never-blocks": 2}),
    Pin("rendezvous", "unordered", 3, 3, Counts(785, 1452, 9, 82), {"delivers-all": 2, "never-blocks": 2}),
    Pin("rendezvous", "fifo", 2, 3, Counts(52, 66, 9, 7), {"delivers-all": 4, "never-blocks": 4}),
    Pin("rendezvous", "fifo", 3, 2, Counts(184, 282, 6, 24), {"delivers-all": 4, "never-blocks": 4}),
    Pin("rendezvous", "fifo", 3, 3, Counts(1114, 2088, 9, 82), {"delivers-all": 4, "never-blocks": 4}),
    Pin("isis", "unordered", 2, 3, Counts(89, 140, 6, 14), {}),
    Pin("isis", "unordered", 3, 2, Counts(136, 192, 4, 39), {}),
    Pin("isis", "unordered", 3, 3, Counts(1400, 2436, 6, 278), {}),
    Pin("isis", "fifo", 3, 3, Counts(1232, 2034, 6, 278), {}),
    Pin("isis", "unordered", 2, 3, Counts(89, 140, 6, 14), {}, sends="broadcast"),
    Pin("isis", "unordered", 3, 2, Counts(169, 327, 6, 15), {}, sends="broadcast"),
    Pin("isis", "unordered", 3, 3, Counts(2538, 6555, 9, 101), {}, sends="broadcast"),
    Pin("isis", "fifo", 3, 3, Counts(1701, 3768, 9, 101), {}, sends="broadcast"),
    Pin("isis-gc", "fifo", 2, 3, Counts(2686, 4844, 12, 76), {}),
    Pin("isis-gc", "fifo", 3, 2, Counts(1029, 2000, 9, 58), {}, settings={"rounds": (0, 1, 0)}),
    Pin("isis-gc", "fifo", 3, 2, Counts(83866, 273072, 19, 105), {}, slow=True),
    Pin("isis-gc", "unordered", 2, 3, Counts(7722, 18002, 12, 322), {"causal": 6, "fifo": 6, "delivers-once": 7}),
    Pin(
        "isis-gc",
        "unordered",
        3,
        2,
        Counts(1391, 3138, 9, 66),
        {"causal": 8, "fifo": 8, "delivers-once": 9},
        settings={"rounds": (0, 1, 0)},
    ),
    Pin(
        "isis-gc",
        "unordered",
        3,
        2,
        Counts(77092, 304698, 19, 147),
        {"causal": 8, "fifo": 8, "delivers-once": 9},
        slow=True,
    ),
    Pin("isis-gc", "fifo", 3, 3, Counts(14523, 32870, 11, 586), {"causal": 10}, settings={"rounds": (0, 1, 0)}),
    Pin(
        "isis-gc",
        "unordered",
        2,
        2,
        Counts(1233, 2616, 16, 12),
        {"causal": 6, "fifo": 6, "delivers-once": 7},
        settings={"rounds": 2},
    ),
    Pin("isis-gc-waits", "fifo", 2, 3, Counts(2686, 4844, 12, 76), {}),
    Pin("isis-gc-waits", "fifo", 3, 2, Counts(1029, 1994, 9, 58), {}, settings={"rounds": (0, 1, 0)}),
    Pin("isis-gc-waits", "fifo", 3, 2, Counts(88906, 291888, 20, 105), {}, slow=True),
    Pin("isis-gc-waits", "unordered", 2, 3, Counts(5774, 12522, 12, 274), {"delivers-once": 7}),
    Pin(
        "isis-gc-waits",
        "unordered",
        3,
        2,
        Counts(1113, 2242, 9, 64),
        {"delivers-once": 9},
        settings={"rounds": (0, 1, 0)},
    ),
    Pin("isis-gc-waits", "unordered", 3, 2, Counts(64204, 243894, 19, 141), {"delivers-once": 9}, slow=True),
    Pin("isis-gc-waits", "fifo", 3, 3, Counts(14555, 32806, 12, 584), {}, settings={"rounds": (0, 1, 0)}),
    Pin("isis-gc-waits", "unordered", 2, 2, Counts(951, 1876, 16, 12), {"delivers-once": 7}, settings={"rounds": 2}),
    Pin("cbcast", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("cbcast", "unordered", 3, 2, Counts(118, 225, 6, 6), {}),
    Pin("cbcast", "unordered", 3, 3, Counts(923, 2262, 9, 10), {}),
    Pin("cbcast", "fifo", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("cbcast", "fifo", 3, 2, Counts(142, 273, 6, 6), {}),
    Pin("cbcast", "fifo", 3, 3, Counts(1409, 3558, 9, 10), {}),
    Pin("cbcast", "unordered", 2, 3, Counts(49, 80, 6, 4), {}, sends="unicast"),
    Pin("cbcast", "unordered", 3, 2, Counts(103, 156, 4, 30), {"delivers-all": 3}, sends="unicast"),
    Pin("cbcast", "unordered", 3, 3, Counts(647, 1224, 6, 146), {"delivers-all": 3}, sends="unicast"),
    Pin("cbcast", "fifo", 3, 3, Counts(965, 1842, 6, 146), {"delivers-all": 4}, sends="unicast"),
    Pin("kearns", "unordered", 2, 3, Counts(58, 111, 6, 4), {"causal": 3, "fifo": 3}),
    Pin("kearns", "unordered", 3, 2, Counts(111, 180, 4, 25), {"causal": 3, "fifo": 3}),
    Pin("kearns", "unordered", 3, 3, Counts(803, 1778, 6, 82), {"causal": 3, "fifo": 3}),
    Pin("kearns", "fifo", 2, 3, Counts(42, 70, 6, 4), {}),
    Pin("kearns", "fifo", 3, 2, Counts(105, 168, 4, 25), {}),
    Pin("kearns", "fifo", 3, 3, Counts(689, 1468, 6, 82), {}),
    Pin("kearns", "fifo", 3, 3, Counts(689, 1468, 6, 82), {}, settings={"server": 3}),
    Pin("rst-before", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst-before", "unordered", 3, 2, Counts(121, 180, 4, 30), {}),
    Pin("rst-before", "unordered", 3, 3, Counts(983, 1878, 6, 134), {}),
    Pin("rst-before", "fifo", 3, 3, Counts(995, 1896, 6, 134), {}),
    Pin("rst-sent-alone", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst-sent-alone", "unordered", 3, 2, Counts(121, 180, 4, 30), {}),
    Pin("rst-sent-alone", "unordered", 3, 3, Counts(983, 1878, 6, 134), {}),
    Pin("rst-sent-alone", "fifo", 3, 3, Counts(995, 1896, 6, 134), {}),
    Pin("rst-column", "unordered", 2, 3, Counts(35, 60, 6, 4), {}),
    Pin("rst-column", "unordered", 3, 2, Counts(91, 156, 4, 21), {}),
    Pin("rst-column", "unordered", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("rst-column", "fifo", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("ses", "unordered", 2, 3, Counts(65, 90, 6, 12), {}),
    Pin("ses", "unordered", 3, 2, Counts(127, 180, 4, 36), {}),
    Pin("ses", "unordered", 3, 3, Counts(1133, 1974, 6, 218), {}),
    Pin("ses", "fifo", 3, 3, Counts(1145, 1992, 6, 218), {}),
    Pin("ses-delete", "unordered", 2, 3, Counts(65, 90, 6, 12), {}),
    Pin("ses-delete", "unordered", 3, 2, Counts(127, 180, 4, 36), {}),
    Pin("ses-delete", "unordered", 3, 3, Counts(1139, 1974, 6, 224), {}),
    Pin("ses-delete", "fifo", 3, 3, Counts(1151, 1992, 6, 224), {}),
    Pin("ses", "unordered", 3, 3, Counts(2707, 5423, 7, 578), {"delivers-all": 6}, crash="P1"),
    Pin("ses-multicast", "unordered", 2, 3, Counts(65, 90, 6, 12), {}),
    Pin("ses-multicast", "unordered", 3, 2, Counts(484, 801, 6, 90), {}),
    Pin("ses-multicast", "unordered", 3, 3, Counts(8652, 17598, 9, 948), {}),
    Pin("ses-multicast", "fifo", 3, 2, Counts(520, 867, 6, 90), {}),
    Pin("ses-rollback", "unordered", 2, 3, Counts(166, 296, 9, 14), {}),
    Pin("ses-rollback", "unordered", 3, 2, Counts(262, 414, 6, 39), {}),
    Pin("ses-rollback", "unordered", 3, 3, Counts(3244, 6660, 9, 278), {}),
    Pin("ses-rollback", "fifo", 3, 3, Counts(3058, 6156, 9, 278), {}),
    Pin("ses-rollback", "unordered", 2, 3, Counts(399, 807, 10, 55), {}, crash="P1"),
    Pin("ses-rollback", "unordered", 3, 2, Counts(538, 1031, 8, 84), {}, crash="P1"),
    Pin("ses-rollback", "unordered", 3, 3, Counts(6957, 16210, 11, 704), {}, crash="P1"),
    Pin("ses-rollback", "fifo", 3, 2, Counts(569, 1071, 8, 82), {}, crash="P1"),
    Pin("buffer-pipelined", "unordered", 2, 3, Counts(773, 2042, 15, 4), {"causal": 6, "fifo": 6}),
    Pin("buffer-pipelined", "unordered", 3, 2, Counts(745, 1566, 10, 21), {"causal": 6, "fifo": 6}),
    Pin("buffer-pipelined", "unordered", 3, 3, Counts(10987, 32094, 15, 56), {"causal": 6, "fifo": 6}),
    Pin("buffer-pipelined", "fifo", 2, 3, Counts(487, 1228, 15, 4), {}),
    Pin("buffer-pipelined", "fifo", 3, 2, Counts(697, 1458, 10, 21), {}),
    Pin("buffer-pipelined", "fifo", 3, 3, Counts(8929, 25902, 15, 56), {}),
    Pin("buffer-bounded", "unordered", 2, 3, Counts(227, 544, 15, 4), {}),
    Pin("buffer-bounded", "unordered", 3, 2, Counts(601, 1260, 10, 21), {}),
    Pin("buffer-bounded", "unordered", 3, 3, Counts(5785, 16674, 15, 56), {}),
    Pin("buffer-bounded", "fifo", 3, 3, Counts(7189, 20106, 16, 56), {}),
    Pin("buffer-bounded", "unordered", 2, 4, Counts(635, 1780, 20, 5), {}, settings={"output": 2, "input": 1}),
    Pin("buffer-bounded", "fifo", 2, 4, Counts(848, 2252, 21, 5), {}, settings={"output": 1, "input": 2}),
    Pin("extra-messages", "unordered", 3, 2, Counts(103, 168, 4, 24), {}, settings={"k": 2}),
    Pin("extra-messages", "unordered", 3, 3, Counts(671, 1440, 7, 86), {}, settings={"k": 2}),
    Pin("extra-messages", "unordered", 3, 4, Counts(4025, 10152, 10, 285), {}, settings={"k": 2}),
    Pin("extra-messages", "fifo", 3, 3, Counts(695, 1476, 7, 86), {}, settings={"k": 2}),
    Pin("extra-messages", "unordered", 3, 2, Counts(103, 168, 4, 24), {}, settings={"k": 3}),
    Pin("extra-messages", "unordered", 3, 3, Counts(665, 1434, 6, 86), {}, settings={"k": 3}),
    Pin("extra-messages", "unordered", 3, 4, Counts(3899, 9966, 10, 279), {}, settings={"k": 3}),
    Pin("extra-messages", "fifo", 3, 3, Counts(677, 1452, 6, 86), {}, settings={"k": 3}),
    Pin("extra-messages", "unordered", 3, 2, Counts(103, 168, 4, 24), {}, settings={"k": 4}),
    Pin("extra-messages", "unordered", 3, 3, Counts(665, 1434, 6, 86), {}, settings={"k": 4}),
    Pin("extra-messages", "unordered", 3, 4, Counts(3860, 9906, 8, 279), {}, settings={"k": 4}),
    Pin("extra-messages", "fifo", 3, 3, Counts(677, 1452, 6, 86), {}, settings={"k": 4}),
    Pin("extra-messages", "unordered", 3, 4, Counts(3872, 9924, 9, 279), {}, settings={"k": (3, 4, 9)}),
    Pin("optimal", "unordered", 2, 3, Counts(59, 88, 6, 8), {}),
    Pin("optimal", "unordered", 3, 2, Counts(127, 180, 4, 36), {}),
    Pin("optimal", "unordered", 3, 3, Counts(1115, 1968, 6, 206), {}),
    Pin("optimal", "fifo", 3, 3, Counts(1127, 1986, 6, 206), {}),
    Pin("optimal", "unordered", 2, 4, Counts(165, 288, 8, 11), {}),
    Pin("optimal", "unordered", 2, 3, Counts(59, 88, 6, 8), {}, sends="multicast"),
    Pin("optimal", "unordered", 3, 2, Counts(484, 801, 6, 90), {}, sends="multicast"),
    Pin("optimal", "unordered", 3, 3, Counts(8400, 17448, 9, 822), {}, sends="multicast"),
    Pin("optimal", "fifo", 3, 2, Counts(520, 867, 6, 90), {}, sends="multicast"),
)

#: The properties that the second derivation judges; for the protocol that takes events back, none.
JUDGED = ("fifo", "causal", "delivers-once", "delivers-all")


def parameter(pin: Pin) -> Any:
    """A pin for pytest."""
    settings = [f"{key}={value}".replace(" ", "") for key, value in pin.settings.items()]
    crash = [f"crash={pin.crash}"] if pin.crash else []
    name = "-".join([pin.protocol, pin.channel, str(pin.n), str(pin.m), *filter(None, [pin.sends]), *settings, *crash])
    return pytest.param(pin, id=name, marks=[pytest.mark.slow] if pin.slow else [])


pins = pytest.mark.parametrize("pin", [parameter(pin) for pin in PINS])


@pins
def test_an_exploration_has_the_pinned_counts_and_shortest_violations(pin: Pin) -> None:
    check = Check(
        pin.protocol,
        pin.n,
        pin.m,
        channel=pin.channel,
        sends=pin.sends,
        parameters=pin.settings,
        crash=pin.crash,
        orders=("fifo", "causal") if protocol_named(pin.protocol).sends_before_delivery else (),
    )
    found = run_check(check).exploration
    assert found.stopped is None
    assert Counts(found.states, found.transitions, found.depth, found.terminal_states) == pin.counts
    assert found.broken == pin.broken


@pins
def test_the_second_derivations_have_the_pinned_counts_and_shortest_violations(pin: Pin) -> None:
    text = TEXTS[pin.protocol](pin.n, **pin.settings)
    crash = None if pin.crash is None else int(pin.crash[1:]) - 1
    sends = pin.sends or protocol_named(pin.protocol).sends
    found = search(Moves(text, pin.channel, pin.m, sends, crash))
    assert found.counts == pin.counts
    assert found.broken == {name: length for name, length in pin.broken.items() if name in JUDGED}


def test_every_protocol_is_counted_by_both_derivations() -> None:
    counted_there = {pin.protocol for pin in test_pinned_explorations.PINS}
    assert counted_there == set(test_pinned_explorations.TEXTS)
    assert {pin.protocol for pin in PINS} == set(TEXTS)
    assert counted_there | set(TEXTS) == set(PROTOCOLS)
    assert {pin.protocol for pin in PINS if pin.channel == protocol_named(pin.protocol).needs_channel} == set(TEXTS)
    assert {pin.protocol for pin in PINS if pin.channel == "unordered"} == set(TEXTS)
