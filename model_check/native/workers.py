"""The buffers of a worker that expands rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels
from .full_kernels import PREFETCH_BATCH

#: Rows that a worker expands in one round, and rows in all its outboxes.
BLOCK = 1 << 15
OUTBOX_ROWS = 1 << 17
#: Before stamps no longer fit into 32 bits, they start again.
LAST_STAMP = 1 << 30


def _apart(count: int, dtype: Any = np.int64) -> Any:
    """Zeroes in cache lines of their own, for what a worker writes all the time and others must not wait for."""
    line = 16
    return np.zeros(count + 2 * line, dtype)[line : line + count]


class Worker:
    """The buffers of one worker: its outboxes, and scratch memory."""

    scratch: kernels.Scratch

    def __init__(self, owners: int, *, sleeps: bool = False) -> None:
        self.owners = owners
        self.sleeps = sleeps
        self.outbox_rows = max(OUTBOX_ROWS // owners, 1)
        self.reached = 1 << 6
        #: How far the last expansion got.
        self.place = 0
        self.out = np.zeros((owners, 0, 0), np.uint64)
        self.hashes = np.zeros((owners, 0), np.uint64)
        self.asleep = np.zeros((owners, 0), np.uint32)
        self.filled = _apart(owners)
        self.recent = np.full(1 << 12, kernels.EMPTY, np.uint64)
        self.tallies = _apart(2)
        self.found = kernels.Found(
            counts=_apart(2),
            seen=_apart(2),
            actions=np.zeros(0, np.int64),
            blocked=np.zeros(BLOCK, np.int64),
            misses=np.zeros(1 << 15, np.uint64),
            again=np.zeros(BLOCK, np.int64),
            origins=np.zeros((0, 0), np.int64),
            marks=np.zeros((0, 2), np.int64),
            used=_apart(4),
        )
        self._room: tuple[int, ...] = ()

    def make_room(self, fields: int, words: int, moves: int, actions: int) -> None:
        """Room for rows of so many fields and words, for so many moves of one row, and for the names of actions."""
        room = (fields, words, moves, actions, self.outbox_rows, self.reached)
        if room == self._room:
            if self.scratch.stamp[0] > LAST_STAMP:
                self.scratch.stamp[0] = 0
                self.scratch.places[:] = 0
            return
        self._room = room
        self.found = self.found._replace(actions=_apart(actions))
        self.out = np.zeros((self.owners, self.outbox_rows, words), np.uint64)
        self.hashes = np.zeros((self.owners, self.outbox_rows), np.uint64)
        self.asleep = np.zeros((self.owners, self.outbox_rows if self.sleeps else 0), np.uint32)
        self.scratch = kernels.Scratch(
            numbers=np.zeros((PREFETCH_BATCH, fields), np.int64),
            reached=np.zeros((self.reached, fields), np.int64),
            after=_apart(fields),
            best=_apart(fields),
            trial=_apart(fields),
            base=_apart(words, np.uint64),
            row=_apart(words, np.uint64),
            started=_apart(self.owners),
            limit=_apart(fields),
            moves=np.zeros((PREFETCH_BATCH, moves, 4), np.int64),
            steps=np.zeros((PREFETCH_BATCH, moves), np.int64),
            listed=np.zeros((PREFETCH_BATCH, 5), np.int64),
            theirs=_apart(fields),
            acts=_apart(actions),
            places=np.zeros(4 * self.reached, np.int64),
            stamp=_apart(1),
        )
