"""The exact counts of explorations, as they are pinned: of every protocol, over several channels, at several bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crownless.spec.enumeration import Sends


class Counts(NamedTuple):
    states: int
    transitions: int
    depth: int
    terminal: int


class Pin(NamedTuple):
    """One exploration; `violated`: property → the actions of a shortest run that violates it."""

    protocol: str
    channel: str
    n: int
    m: int
    counts: Counts
    violated: dict[str, int]
    #: None: as the protocol has it.
    sends: Sends | None = None
    settings: Mapping[str, int | tuple[int, ...]] = {}
    crash: str | None = None
    slow: bool = False


ONE_ROUND: Mapping[str, int | tuple[int, ...]] = {"rounds": (0, 1, 0)}
EARLY, LATE = {"causal": 6, "fifo": 6}, {"causal": 8, "fifo": 8}

PINS = (
    Pin("unordered", "unordered", 2, 3, Counts(49, 96, 6, 4), {"fifo": 3, "causal": 3}),
    Pin("unordered", "unordered", 3, 3, Counts(545, 1344, 6, 56), {"fifo": 3, "causal": 3}),
    Pin("unordered", "fifo", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("unordered", "lossy", 3, 2, Counts(97, 258, 4, 21), {"fifo": 3, "causal": 3, "delivers-all": 2}),
    Pin("unordered", "duplicating", 3, 2, Counts(361, 846, 6, 21), {"fifo": 3, "causal": 3, "delivers-once": 4}),
    Pin("unordered", "lossy-fifo", 3, 2, Counts(91, 234, 4, 21), {"fifo": 4, "causal": 4, "delivers-all": 2}),
    Pin(
        *("unordered", "lossy-duplicating-fifo", 3, 2),
        Counts(307, 1116, 6, 21),
        {"fifo": 4, "causal": 4, "delivers-once": 4, "delivers-all": 2},
    ),
    Pin("rst", "lossy-fifo", 3, 2, Counts(238, 402, 4, 99), {"delivers-all": 2}),
    Pin("rst", "lossy-duplicating-fifo", 3, 2, Counts(1306, 3336, 8, 249), {"delivers-once": 4, "delivers-all": 2}),
    Pin("fifo-ack", "lossy-fifo", 2, 3, Counts(79, 150, 9, 13), {"delivers-all": 2, "never-blocks": 2}),
    Pin("rst", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst", "unordered", 3, 4, Counts(7370, 16722, 8, 519), {}),
    Pin("rst", "unordered", 3, 5, Counts(52274, 135228, 10, 1722), {}),
    Pin("rst", "fifo", 3, 3, Counts(995, 1896, 6, 134), {}),
    Pin("rst", "lossy", 3, 2, Counts(238, 414, 4, 93), {"delivers-all": 2}),
    Pin("rst", "duplicating", 2, 3, Counts(860, 1888, 12, 42), {"delivers-once": 4, "fifo": 7, "causal": 7}),
    Pin("buffer", "unordered", 2, 3, Counts(295, 730, 15, 4), {}),
    Pin("buffer", "unordered", 3, 3, Counts(7321, 21378, 15, 56), {}),
    Pin("buffer", "fifo", 3, 2, Counts(661, 1374, 10, 21), {}),
    Pin("buffer", "lossy", 3, 2, Counts(1084, 2700, 10, 81), {"delivers-all": 3}),
    Pin("buffer", "duplicating", 2, 2, Counts(3283, 12644, 20, 3), {"delivers-once": 7}),
    Pin("murty-garg", "unordered", 2, 3, Counts(171, 307, 12, 4), {}),
    Pin("murty-garg", "unordered", 3, 3, Counts(2491, 5552, 12, 56), {}),
    Pin("murty-garg", "fifo", 3, 2, Counts(258, 427, 8, 21), {}),
    Pin("murty-garg", "lossy", 3, 2, Counts(393, 918, 6, 85), {"delivers-all": 2, "never-blocks": 2}),
    Pin("murty-garg", "duplicating", 2, 2, Counts(4848, 17894, 32, 3), {"delivers-once": 4}),
    Pin("fifo-sequence", "unordered", 2, 3, Counts(35, 60, 6, 4), {}),
    Pin("fifo-sequence", "unordered", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("fifo-sequence", "fifo", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("fifo-ack", "unordered", 2, 3, Counts(46, 72, 9, 4), {}),
    Pin("fifo-ack", "unordered", 3, 3, Counts(820, 1800, 9, 56), {}),
    Pin("fifo-ack", "fifo", 3, 3, Counts(886, 1836, 9, 56), {}),
    Pin("rendezvous", "unordered", 2, 3, Counts(43, 54, 9, 7), {"delivers-all": 2, "never-blocks": 2}),
    Pin("rendezvous", "unordered", 3, 3, Counts(785, 1452, 9, 82), {"delivers-all": 2, "never-blocks": 2}),
    Pin("rendezvous", "fifo", 3, 3, Counts(1114, 2088, 9, 82), {"delivers-all": 4, "never-blocks": 4}),
    Pin("isis", "unordered", 2, 3, Counts(89, 140, 6, 14), {}),
    Pin("isis", "unordered", 3, 3, Counts(1400, 2436, 6, 278), {}),
    Pin("isis", "fifo", 3, 3, Counts(1232, 2034, 6, 278), {}),
    Pin("isis", "unordered", 2, 3, Counts(89, 140, 6, 14), {}, sends="broadcast"),
    Pin("isis", "unordered", 3, 2, Counts(169, 327, 6, 15), {}, sends="broadcast"),
    Pin("isis", "unordered", 3, 3, Counts(2538, 6555, 9, 101), {}, sends="broadcast"),
    Pin("isis", "fifo", 3, 3, Counts(1701, 3768, 9, 101), {}, sends="broadcast"),
    Pin("isis-gc", "fifo", 2, 3, Counts(2686, 4844, 12, 76), {}),
    Pin("isis-gc", "fifo", 3, 2, Counts(1029, 2000, 9, 58), {}, settings=ONE_ROUND),
    Pin("isis-gc", "unordered", 2, 3, Counts(7722, 18002, 12, 322), {**EARLY, "delivers-once": 7}),
    Pin("isis-gc", "unordered", 3, 2, Counts(1391, 3138, 9, 66), {**LATE, "delivers-once": 9}, settings=ONE_ROUND),
    Pin("isis-gc", "unordered", 3, 2, Counts(77092, 304698, 19, 147), {**LATE, "delivers-once": 9}, slow=True),
    Pin("isis-gc", "fifo", 3, 3, Counts(14523, 32870, 11, 586), {"causal": 10}, settings=ONE_ROUND),
    Pin(
        "isis-gc", "unordered", 2, 2, Counts(1233, 2616, 16, 12), {**EARLY, "delivers-once": 7}, settings={"rounds": 2}
    ),
    Pin("isis-gc-waits", "fifo", 2, 3, Counts(2686, 4844, 12, 76), {}),
    Pin("isis-gc-waits", "fifo", 3, 2, Counts(1029, 1994, 9, 58), {}, settings=ONE_ROUND),
    Pin("isis-gc-waits", "unordered", 2, 3, Counts(5774, 12522, 12, 274), {"delivers-once": 7}),
    Pin("isis-gc-waits", "unordered", 3, 2, Counts(1113, 2242, 9, 64), {"delivers-once": 9}, settings=ONE_ROUND),
    Pin("isis-gc-waits", "unordered", 3, 2, Counts(64204, 243894, 19, 141), {"delivers-once": 9}, slow=True),
    Pin("isis-gc-waits", "fifo", 3, 3, Counts(14555, 32806, 12, 584), {}, settings=ONE_ROUND),
    Pin("isis-gc-waits", "unordered", 2, 2, Counts(951, 1876, 16, 12), {"delivers-once": 7}, settings={"rounds": 2}),
    Pin("cbcast", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("cbcast", "unordered", 3, 3, Counts(923, 2262, 9, 10), {}),
    Pin("cbcast", "fifo", 3, 3, Counts(1409, 3558, 9, 10), {}),
    Pin("kearns", "unordered", 2, 3, Counts(58, 111, 6, 4), {"causal": 3, "fifo": 3}),
    Pin("kearns", "unordered", 3, 3, Counts(803, 1778, 6, 82), {"causal": 3, "fifo": 3}),
    Pin("kearns", "fifo", 3, 3, Counts(689, 1468, 6, 82), {}),
    Pin("kearns", "fifo", 3, 3, Counts(689, 1468, 6, 82), {}, settings={"server": 3}),
    Pin("rst-before", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst-before", "unordered", 3, 3, Counts(983, 1878, 6, 134), {}),
    Pin("rst-before", "fifo", 3, 3, Counts(995, 1896, 6, 134), {}),
    Pin("rst-sent-alone", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst-sent-alone", "unordered", 3, 3, Counts(983, 1878, 6, 134), {}),
    Pin("rst-sent-alone", "fifo", 3, 3, Counts(995, 1896, 6, 134), {}),
    Pin("rst-column", "unordered", 2, 3, Counts(35, 60, 6, 4), {}),
    Pin("rst-column", "unordered", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("rst-column", "fifo", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("ses", "unordered", 2, 3, Counts(65, 90, 6, 12), {}),
    Pin("ses", "unordered", 3, 3, Counts(1133, 1974, 6, 218), {}),
    Pin("ses", "fifo", 3, 3, Counts(1145, 1992, 6, 218), {}),
    Pin("ses-delete", "unordered", 2, 3, Counts(65, 90, 6, 12), {}),
    Pin("ses-delete", "unordered", 3, 3, Counts(1139, 1974, 6, 224), {}),
    Pin("ses-delete", "fifo", 3, 3, Counts(1151, 1992, 6, 224), {}),
    Pin("ses", "unordered", 3, 3, Counts(2707, 5423, 7, 578), {"delivers-all": 6}, crash="P1"),
    Pin("ses-multicast", "unordered", 2, 3, Counts(65, 90, 6, 12), {}),
    Pin("ses-multicast", "unordered", 3, 3, Counts(8652, 17598, 9, 948), {}),
    Pin("ses-multicast", "fifo", 3, 2, Counts(520, 867, 6, 90), {}),
    Pin("ses-rollback", "unordered", 2, 3, Counts(166, 296, 9, 14), {}),
    Pin("ses-rollback", "unordered", 3, 3, Counts(3244, 6660, 9, 278), {}),
    Pin("ses-rollback", "fifo", 3, 3, Counts(3058, 6156, 9, 278), {}),
    Pin("ses-rollback", "unordered", 2, 3, Counts(399, 807, 10, 55), {}, crash="P1"),
    Pin("ses-rollback", "unordered", 3, 2, Counts(538, 1031, 8, 84), {}, crash="P1"),
    Pin("ses-rollback", "unordered", 3, 3, Counts(6957, 16210, 11, 704), {}, crash="P1"),
    Pin("ses-rollback", "fifo", 3, 2, Counts(569, 1071, 8, 82), {}, crash="P1"),
    Pin("buffer-pipelined", "unordered", 2, 3, Counts(773, 2042, 15, 4), {"causal": 6, "fifo": 6}),
    Pin("buffer-pipelined", "unordered", 3, 3, Counts(10987, 32094, 15, 56), {"causal": 6, "fifo": 6}),
    Pin("buffer-pipelined", "fifo", 3, 3, Counts(8929, 25902, 15, 56), {}),
    Pin("buffer-bounded", "unordered", 2, 3, Counts(227, 544, 15, 4), {}),
    Pin("buffer-bounded", "unordered", 3, 3, Counts(5785, 16674, 15, 56), {}),
    Pin("buffer-bounded", "fifo", 3, 3, Counts(7189, 20106, 16, 56), {}),
    Pin("buffer-bounded", "unordered", 2, 4, Counts(635, 1780, 20, 5), {}, settings={"output": 2, "input": 1}),
    Pin("buffer-bounded", "fifo", 2, 4, Counts(848, 2252, 21, 5), {}, settings={"output": 1, "input": 2}),
    Pin("extra-messages", "unordered", 3, 3, Counts(671, 1440, 7, 86), {}, settings={"k": 2}),
    Pin("extra-messages", "unordered", 3, 4, Counts(4025, 10152, 10, 285), {}, settings={"k": 2}),
    Pin("extra-messages", "fifo", 3, 3, Counts(695, 1476, 7, 86), {}, settings={"k": 2}),
    Pin("extra-messages", "unordered", 3, 3, Counts(665, 1434, 6, 86), {}, settings={"k": 3}),
    Pin("extra-messages", "unordered", 3, 4, Counts(3899, 9966, 10, 279), {}, settings={"k": 3}),
    Pin("extra-messages", "fifo", 3, 3, Counts(677, 1452, 6, 86), {}, settings={"k": 3}),
    Pin("extra-messages", "unordered", 3, 3, Counts(665, 1434, 6, 86), {}, settings={"k": 4}),
    Pin("extra-messages", "unordered", 3, 4, Counts(3860, 9906, 8, 279), {}, settings={"k": 4}),
    Pin("extra-messages", "fifo", 3, 3, Counts(677, 1452, 6, 86), {}, settings={"k": 4}),
    Pin("extra-messages", "unordered", 3, 4, Counts(3872, 9924, 9, 279), {}, settings={"k": (3, 4, 9)}),
    Pin("optimal", "unordered", 3, 3, Counts(1115, 1968, 6, 206), {}),
    Pin("optimal", "fifo", 3, 3, Counts(1127, 1986, 6, 206), {}),
    Pin("optimal", "unordered", 2, 4, Counts(165, 288, 8, 11), {}),
    Pin("optimal", "unordered", 2, 3, Counts(59, 88, 6, 8), {}, sends="multicast"),
    Pin("optimal", "unordered", 3, 2, Counts(484, 801, 6, 90), {}, sends="multicast"),
    Pin("optimal", "unordered", 3, 3, Counts(8400, 17448, 9, 822), {}, sends="multicast"),
    Pin("optimal", "fifo", 3, 2, Counts(520, 867, 6, 90), {}, sends="multicast"),
)
