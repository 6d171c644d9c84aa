"""Monitor states on bit masks are those of the plain monitors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import permutations

import numpy as np
import pytest
from native_engine_setup import monitors_for

from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free
from crownless.model_check.native.monitor_states import (
    MonitorStates,
    PlainMonitorStates,
    Unforeseen,
    monitor_states_for,
)
from crownless.model_check.system.monitors import Monitor
from crownless.model_check.system.open_points import WATCHED
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends

NAMES = ("delivers-once", *WATCHED)
BIT = {name: 1 << k for k, name in enumerate(NAMES)}


class Both:
    """Two ways to hold the monitor states of the same monitors, driven side by side."""

    def __init__(self, workload: Free, monitors: Callable[[], Sequence[Monitor]]) -> None:
        n = len(workload.processes)
        self.parts: tuple[MonitorStates, MonitorStates] = (
            PlainMonitorStates(monitors(), BIT, n - 1),
            monitor_states_for(monitors(), workload, BIT, n - 1),
        )
        assert not isinstance(self.parts[1], PlainMonitorStates)
        self.renamings = [Renaming(image) for image in permutations(range(n))]
        #: Which monitor state of the one is which of the other.
        self.same: tuple[dict[int, int], dict[int, int]] = ({0: 0}, {0: 0})
        self.check((0, 0))

    def check(self, pair: tuple[int, int]) -> tuple[int, int]:
        """The two are the same, and the same as ever; and report the same of what is owed."""
        assert self.same[0].setdefault(pair[0], pair[1]) == pair[1]
        assert self.same[1].setdefault(pair[1], pair[0]) == pair[0]
        plain, mask = (int(part.owed()[monitor_state]) for part, monitor_state in zip(self.parts, pair, strict=True))
        assert plain == mask
        return pair

    def observe(self, pair: tuple[int, int], observed: Sequence[tuple[str, int, Message]]) -> tuple[int, int]:
        values = []
        for part, monitor_state in zip(self.parts, pair, strict=True):
            code = part.code(observed)
            if not code:  # nothing to observe
                values.append(monitor_state << 16)
                continue
            key = np.array([monitor_state << 32 | code], np.uint64)
            if part.steps.values(key) < 0:
                part.fill(key)
            values.append(part.steps.values(key).item())
        assert values[0] & 0xFFFF == values[1] & 0xFFFF
        return self.check((values[0] >> 16, values[1] >> 16))

    def rename(self, pair: tuple[int, int], by: int) -> tuple[int, int]:
        after = []
        for part, monitor_state in zip(self.parts, pair, strict=True):
            key = np.array([monitor_state << 32 | by], np.uint64)
            part.rename(key, self.renamings)
            after.append(part.renamed.values(key).item())
        return self.check((after[0], after[1]))


def happenings(
    chance: random.Random, workload: Free, length: int, *, wild: bool, early: bool = False
) -> Iterator[list[tuple[str, int, Message]]]:
    """What may happen in the free workload, step by step; `wild`: and what only faulty protocols let happen; `early`:
    and deliveries before the send.
    """
    position = workload.start()
    handed: list[Message] = []
    owed: list[tuple[Message, int]] = []
    for _ in range(length):
        pending_sends = workload.pending_sends(position)
        if pending_sends and (not owed or chance.random() < 0.55):
            _, message, position = chance.choice(pending_sends)
            hand, send = ("hand", message.sender, message), ("send", message.sender, message)
            if wild and chance.random() < 0.3:
                handed.append(message)
                yield [hand]
            else:
                yield [hand, send]
            owed += [(message, q) for q in message.receivers]
        elif handed and chance.random() < 0.5:
            message = handed.pop(chance.randrange(len(handed)))
            yield [("send", message.sender, message)]
        elif owed:
            copies = [owed.pop(chance.randrange(len(owed)))]
            more = [copy for copy in owed if copy[1] == copies[0][1]]
            if more and chance.random() < 0.2:  # several in one step
                copies += more
                owed = [copy for copy in owed if copy not in more]
            if not early:
                unsent = [copy for copy in copies if copy[0] in handed]
                owed += unsent
                copies = [copy for copy in copies if copy not in unsent]
            if copies:
                yield [("deliver", q, message) for message, q in copies]


@pytest.mark.parametrize(
    ("orders", "first", "at"),
    [
        ((), False, None),
        (("fifo", "causal"), True, None),
        (("fifo", "causal"), True, frozenset({0})),
        (("fifo", "causal", "synchronous"), True, None),
        (WATCHED, True, None),
        (WATCHED, False, None),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("n", "m", "sends", "self_sends"),
    [
        (1, 3, "unicast", True),
        (2, 9, "unicast", True),
        (3, 4, "unicast", False),
        (3, 2, "multicast", True),
        (4, 3, "broadcast", False),
        (4, 8, "unicast", False),  # 96 copies: two words
    ],
    ids=str,
)
def test_monitor_states_on_bit_masks_are_those_of_the_monitors(
    n: int, m: int, sends: Sends, self_sends: bool, orders: tuple[str, ...], first: bool, at: frozenset[int] | None
) -> None:
    workload = Free(n, m, self_sends=self_sends, sends=sends)
    both = Both(workload, lambda: monitors_for(n, orders, sends_before_delivery=first, at=at))
    for wild in (False, True):
        chance = random.Random(f"{n} {m} {sends} {self_sends} {orders} {wild}")
        for _ in range(8 if n == 4 else 25):
            monitor_states = [(0, 0)]
            for step in happenings(chance, workload, 4 * m, wild=wild, early=wild and not first):
                monitor_states.append(both.observe(monitor_states[-1], step))
                assert both.observe(monitor_states[-2], step) == monitor_states[-1]
            for _ in range(6 if n > 1 else 0):
                monitor_state, by = chance.choice(monitor_states), chance.randrange(1, len(both.renamings))
                image = both.rename(monitor_state, by)
                inverse = both.renamings.index(Renaming(both.renamings[by].inverse))
                assert both.rename(image, inverse) == monitor_state
    assert len(both.same[0]) == len(both.same[1]) > 2 * m


@pytest.mark.parametrize(
    ("lines", "foreseen"),
    [
        (("hand 0", "send 0", "deliver 1"), (True, False)),
        (("hand 0", "deliver 1", "send 0"), (False,)),
        (("deliver 1",), ()),
        (("hand 0", "send 0", "deliver 1", "deliver 1"), ()),
        (("hand 0", "send 0", "deliver 0"), ()),
        (("hand 0", "send 0", "send 0"), ()),
    ],
)
def test_what_faulty_protocols_alone_let_happen_is_left_to_the_plain_monitors(
    lines: tuple[str, ...], foreseen: tuple[bool, ...]
) -> None:
    workload = Free(2, 1)
    (_, message, _), *_ = workload.pending_sends(workload.start())
    events = [(kind, int(process), message) for kind, process in map(str.split, lines)]
    for first in (True, False):
        orders = ("causal",) if first else ()
        monitor_states = monitor_states_for(monitors_for(2, orders, sends_before_delivery=first), workload, BIT, None)
        with nullcontext() if first in foreseen else pytest.raises(Unforeseen):
            monitor_states.fill(np.array([monitor_states.code(events)], np.uint64))
