"""The buffers of a worker that expands rows."""

from typing import Any

import numpy as np

from . import kernels
from .expansion import PREFETCH_BATCH, expand
from .row_set import Incoming

#: The maximum number of rows in one call of `expand`, and the number of rows in all outboxes of a worker.
BLOCK = 1 << 15
OUTBOX_ROWS = 1 << 17


def _padded_zeros(count: int, dtype: Any = np.int64) -> Any:
    """Zeroes in separate cache lines, for data that a worker writes all the time, without slowing others."""
    line = 32
    return np.zeros(count + 2 * line, dtype)[line : line + count]


class Worker:
    """The buffers of one worker: its outboxes, and scratch memory."""

    scratch: kernels.Scratch
    outbox: kernels.Outbox

    def __init__(self, owners: int, *, sleeps: bool = False) -> None:
        self.owners = owners
        self.sleeps = sleeps
        self.outbox_rows = max(OUTBOX_ROWS // owners, 1)
        #: The number of rows that the last expansion reached.
        self.place = 0
        self.filled = _padded_zeros(owners)
        self.recent = np.full(1 << 12, kernels.EMPTY, np.uint64)
        self.tallies = _padded_zeros(2)
        self.found = kernels.Found(
            counts=_padded_zeros(2),
            seen=_padded_zeros(2),
            actions=np.zeros(0, np.int64),
            blocked=np.zeros(BLOCK, np.int64),
            misses=np.zeros(1 << 15, np.uint64),
            again=np.zeros(BLOCK, np.int64),
            origins=np.zeros((0, 0), np.int64),
            marks=np.zeros((0, 2), np.int64),
            used=_padded_zeros(4),
        )
        self._room: tuple[Any, ...] = ()

    def make_room(self, n: int, actions: int, most_moves: int) -> None:
        """Room for rows of n processes, given the number of names of actions, and the most moves of a site."""
        room = (n, actions, most_moves, self.outbox_rows)
        if room == self._room:
            return
        self._room = room
        rows = np.zeros((self.owners, self.outbox_rows, n + 1), np.int32)
        asleep = np.zeros((self.owners, self.outbox_rows if self.sleeps else 0), np.uint32)
        self.outbox = kernels.Outbox(rows, np.zeros(rows.shape[:2], np.uint64), asleep, self.filled)
        self.found = self.found._replace(actions=_padded_zeros(actions))
        self.scratch = kernels.Scratch(
            after=_padded_zeros(n + 1, np.int32),
            best=_padded_zeros(n + 1, np.int32),
            trial=_padded_zeros(n + 1, np.int32),
            started=_padded_zeros(self.owners),
            moves=np.zeros((PREFETCH_BATCH, n * most_moves + 1, 3), np.int64),
            listed=np.zeros((PREFETCH_BATCH, 5), np.int64),
            first_slot=np.zeros((PREFETCH_BATCH, n + 1), np.int64),
        )

    def expand(self, rows: Any, is_new: Any, asleep: Any, todo: Any, space: kernels.Space) -> None:
        """Expands the rows of the numbers `todo`, up to `place`."""
        buffers = kernels.Buffers(self.outbox, self.found, self.recent, self.scratch)
        self.place = int(expand(rows, is_new, asleep, todo, space, buffers))

    def found_for(self, owner: int) -> Incoming:
        """The rows found for an owner."""
        outbox, found = self.outbox, slice(int(self.filled[owner]))
        return Incoming(outbox.rows[owner, found], outbox.hashes[owner, found], outbox.asleep[owner, found])

    def blocked(self, rows: Any) -> Any:
        """Those of the expanded rows where a program ends unfinished."""
        return rows[self.found.blocked[: self.found.used[2]]]

    def empty(self) -> None:
        """Empties the outboxes, and the lists of misses and rows."""
        self.filled[:] = 0
        self.found.used[:3] = 0

    def start_again(self) -> None:
        """Empties all, once the findings are added up; doubles arrays that had too little room."""
        self.recent[:] = kernels.EMPTY
        self.outbox_rows *= 1 + int(self.found.used[3])
        found = self.found
        for array in (self.filled, self.tallies, found.counts, found.seen, found.actions, found.used):
            array[:] = 0
