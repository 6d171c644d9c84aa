"""Walks along the lines of a run too large for memory, while its events arrive in any order.

Each line's events that arrived and are not walked yet are held; of the walked part only its end is kept (the
*frontier*). An event waits for at most one event of another line (see `kernels`, which has the same walks for small
runs). A line that waits for an event that has not arrived is resumed with the next events. If lines wait for each other
in a cycle, they do so for ever: the cycle is a witness, and later events cannot undo it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crownless.model_check.native.compiled import compiled

from .wait_queue import NONE, enqueue_all, notify, wait

Numbers = np.ndarray[Any, Any]

#: Columns of walked events: process and place; the event it waits for; 1 for a deliver; the send and the receiver of
#: its message.
PROCESS, PLACE, WAITS_P, WAITS_AT, DELIVERS, SENDER, SENT_AT, RECEIVER = range(8)


@dataclass
class Walk:
    """A walk along n lines. `cycle` is not empty once lines wait for each other."""

    n: int
    frontier: Numbers = field(init=False)
    held: Numbers = field(init=False)
    cycle: list[tuple[int, int]] = field(default_factory=list)
    most_held: int = 0

    def __post_init__(self) -> None:
        self.frontier = np.zeros(self.n, np.int64)
        self.held = np.empty((0, 8), np.int64)

    def feed(self, events: Numbers) -> None:
        """Adds events, those of each line in order."""
        if self.cycle:
            return
        held = np.concatenate([self.held, events])
        held = held[np.lexsort((held[:, PLACE], held[:, PROCESS]))]
        first = np.searchsorted(held[:, PROCESS], np.arange(self.n + 1)).astype(np.int64)
        at = first[:-1].copy()
        self._walk(held, first, at)
        walked = np.zeros(len(held), bool)
        for p in range(self.n):
            walked[first[p] : at[p]] = True
        self.cycle = self._find_cycle(held, first, at)
        self.held = held[~walked]
        self.most_held = max(self.most_held, len(self.held))

    def finished(self) -> bool:
        return not len(self.held)

    def _walk(self, held: Numbers, first: Numbers, at: Numbers) -> None:
        _advance(self.n, held, first, at, self.frontier, np.zeros((3, self.n), np.int64))

    def _find_cycle(self, held: Numbers, first: Numbers, at: Numbers) -> list[tuple[int, int]]:
        """A cycle of lines whose next events have arrived and wait each for the next line: (process, place)."""
        stands = [p for p in range(self.n) if at[p] < first[p + 1] and held[at[p], PLACE] == self.frontier[p]]
        next_waiter = {p: int(held[at[p], WAITS_P]) for p in stands}
        checked: set[int] = set()
        for start in stands:
            path: list[int] = []
            p = start
            while p in next_waiter and p not in checked:
                checked.add(p)
                path.append(p)
                p = next_waiter[p]
            if p in path:
                return [(q, int(self.frontier[q])) for q in path[path.index(p) :]]
        return []


@dataclass
class TimedWalk(Walk):
    """A walk with vector times, which decides FIFO and causal order.

    The time of a message is kept until it is delivered; the missing messages of each channel are kept in order. `fifo`
    and `causal` are the first violation found: (first sender, place of the send, second sender, place, receiver).
    """

    fifo: tuple[int, ...] | None = None
    causal: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.times = np.zeros((self.n, self.n), np.int64)
        self.keys = np.empty(0, np.int64)
        self.stamps = np.empty((0, self.n), np.int64)
        self.following = np.empty(0, np.int64)
        self.delivered = np.empty(0, bool)
        self.ends = np.full((2, self.n * self.n), NONE, np.int64)

    def _walk(self, held: Numbers, first: Numbers, at: Numbers) -> None:
        key = held[:, SENDER] << 44 | held[:, SENT_AT]
        # A slot for the time of each message that is in flight or sent by these events.
        new = key[held[:, DELIVERS] == 0]
        self._make_room(new)
        order = np.argsort(self.keys)
        found = np.searchsorted(self.keys, key, sorter=order)
        slot = order[np.minimum(found, len(order) - 1)] if len(order) else np.zeros(len(key), np.int64)
        known = self.keys[slot] == key if len(order) else np.zeros(len(key), bool)
        slots = np.where(known, slot, NONE)
        broken = np.full((2, 5), NONE, np.int64)
        _advance_with_times(
            self.n, held, first, at, self.frontier, np.zeros((3, self.n), np.int64), slots, self.times, self.keys,
            self.stamps, self.following, self.delivered, self.ends, broken, self.fifo is None, self.causal is None,
        )  # fmt: skip
        if self.fifo is None and broken[0, 0] != NONE:
            self.fifo = tuple(broken[0].tolist())
        if self.causal is None and broken[1, 0] != NONE:
            self.causal = tuple(broken[1].tolist())
        self._clear()

    def _make_room(self, new: Numbers) -> None:
        there = np.isin(new, self.keys)
        more = new[~there]
        self.keys = np.concatenate([self.keys, more])
        self.stamps = np.concatenate([self.stamps, np.zeros((len(more), self.n), np.int64)])
        self.following = np.concatenate([self.following, np.full(len(more), NONE, np.int64)])
        self.delivered = np.concatenate([self.delivered, np.zeros(len(more), bool)])

    def _clear(self) -> None:
        """Forgets delivered messages that are no longer needed to find their successors."""
        needed = ~self.delivered
        for end in self.ends:
            needed[end[end != NONE]] = True
        kept = np.flatnonzero(needed)
        number = np.full(len(needed) + 1, NONE, np.int64)  # the last is that of NONE
        number[kept] = np.arange(len(kept))
        self.keys, self.stamps = self.keys[kept], self.stamps[kept]
        self.following, self.delivered = number[self.following[kept]], self.delivered[kept]
        self.ends = number[self.ends]

    @property
    def in_flight(self) -> int:
        return len(self.keys)


@compiled
def _advance(
    n: Any,
    held: Any,
    first: Any,
    at: Any,
    frontier: Any,
    scratch: Any,
) -> Any:
    """Walks as far as possible; moves `at` and `frontier`."""
    next_waiter, waiters, queue = scratch[0], scratch[1], scratch[2]
    waiting = enqueue_all(n, waiters, queue)
    while waiting:
        waiting -= 1
        p = queue[waiting]
        moved = False
        while at[p] < first[p + 1] and held[at[p], PLACE] == frontier[p]:
            q = held[at[p], WAITS_P]
            if q != NONE and frontier[q] <= held[at[p], WAITS_AT]:
                wait(p, q, next_waiter, waiters)
                break
            at[p] += 1
            frontier[p] += 1
            moved = True
        if moved:
            waiting = notify(p, next_waiter, waiters, queue, waiting)


@compiled
def _advance_with_times(
    n: Any,
    held: Any,
    first: Any,
    at: Any,
    frontier: Any,
    scratch: Any,
    slots: Any,
    times: Any,
    keys: Any,
    stamps: Any,
    following: Any,
    delivered: Any,
    ends: Any,
    broken: Any,
    decide_fifo: Any,
    decide_causal: Any,
) -> Any:
    next_waiter, waiters, queue = scratch[0], scratch[1], scratch[2]
    head, tail = ends[0], ends[1]
    waiting = enqueue_all(n, waiters, queue)
    while waiting:
        waiting -= 1
        p = queue[waiting]
        moved = False
        while at[p] < first[p + 1] and held[at[p], PLACE] == frontier[p]:
            row = at[p]
            slot = slots[row]
            if held[row, DELIVERS]:
                by, sent_at = held[row, SENDER], held[row, SENT_AT]
                if frontier[by] <= sent_at:
                    wait(p, by, next_waiter, waiters)
                    break
                for l in range(n):
                    # The first missing message of each channel to this process; delivered ones are skipped.
                    c = l * n + p
                    while head[c] != NONE and delivered[head[c]] and following[head[c]] != NONE:
                        head[c] = following[head[c]]
                    missing = head[c]
                    if missing in (NONE, slot) or delivered[missing]:
                        continue
                    place = keys[missing] & ((1 << 44) - 1)
                    if place < stamps[slot, l]:
                        if decide_causal and broken[1, 0] == NONE:
                            broken[1, 0], broken[1, 1], broken[1, 2], broken[1, 3] = l, place, by, sent_at
                            broken[1, 4] = p
                        if l == by and decide_fifo and broken[0, 0] == NONE:
                            broken[0, 0], broken[0, 1], broken[0, 2], broken[0, 3] = l, place, by, sent_at
                            broken[0, 4] = p
                delivered[slot] = True
                for l in range(n):
                    times[p, l] = max(times[p, l], stamps[slot, l])
                times[p, by] = max(times[p, by], sent_at + 1)
            else:
                for l in range(n):
                    stamps[slot, l] = times[p, l]
                c = p * n + held[row, RECEIVER]
                if head[c] == NONE:
                    head[c] = slot
                else:
                    following[tail[c]] = slot
                tail[c] = slot
            at[p] += 1
            frontier[p] += 1
            times[p, p] = frontier[p]
            moved = True
        if moved:
            waiting = notify(p, next_waiter, waiters, queue, waiting)
