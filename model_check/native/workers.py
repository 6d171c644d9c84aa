"""The buffers of a worker that expands rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from . import kernels
from .expansion import PREFETCH_BATCH, expand
from .row_set import Incoming

#: The numbers of rows that a worker expands in one round, and of rows in all its outboxes.
BLOCK = 1 << 15
OUTBOX_ROWS = 1 << 17


def _apart(count: int, dtype: Any = np.int64) -> Any:
    """Zeroes in separate cache lines, for data that a worker writes all the time, without slowing others."""
    line = 16
    return np.zeros(count + 2 * line, dtype)[line : line + count]


class Sizes(NamedTuple):
    """The count of numbers in the tables, and maxima: of a process's internal steps, of steps per arrival, and of
    packets that one step puts on the channel.
    """

    monitor_states: int
    cells: int
    packets: int
    actions: int
    most_own: int
    most_of_arrival: int
    most_emitted: int


class Worker:
    """The buffers of one worker: its outboxes, and scratch memory."""

    scratch: kernels.Scratch
    outbox: kernels.Outbox

    def __init__(self, owners: int, *, sleeps: bool = False) -> None:
        self.owners = owners
        self.sleeps = sleeps
        self.outbox_rows = max(OUTBOX_ROWS // owners, 1)
        #: The number of rows that the last expansion reached, and whether it ended at one with too wide successors.
        self.place = 0
        self.narrow = False
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

    def make_room(self, n: int, slots: int, words: int, sizes: Sizes) -> None:
        """Room for rows of n processes with this many slots and words, and for the moves of one row."""
        actions = sizes.actions
        fields = 2 + n + slots + sizes.most_emitted + 2
        moves = n * sizes.most_own + slots * (sizes.most_of_arrival + 3) + 1
        room = (fields, words, moves, actions, self.outbox_rows)
        if room == self._room:
            return
        self._room = room
        self.found = self.found._replace(actions=_apart(actions))
        out = np.zeros((self.owners, self.outbox_rows, words), np.uint64)
        asleep = np.zeros((self.owners, self.outbox_rows if self.sleeps else 0), np.uint32)
        self.outbox = kernels.Outbox(out, np.zeros(out.shape[:2], np.uint64), asleep, self.filled)
        self.scratch = kernels.Scratch(
            numbers=np.zeros((PREFETCH_BATCH, fields), np.int64),
            after=_apart(fields),
            best=_apart(fields),
            trial=_apart(fields),
            base=_apart(words, np.uint64),
            started=_apart(self.owners),
            limit=_apart(fields),
            moves=np.zeros((PREFETCH_BATCH, moves, 4), np.int64),
            steps=np.zeros((PREFETCH_BATCH, moves), np.int64),
            listed=np.zeros((PREFETCH_BATCH, 5), np.int64),
            theirs=_apart(fields),
        )

    def expand(self, rows: Any, is_new: Any, asleep: Any, todo: Any, space: kernels.Space) -> None:
        """Expands the rows of the numbers `todo`, up to `place`."""
        buffers = kernels.Buffers(self.outbox, self.found, self.recent, self.scratch)
        place = int(expand(rows, is_new, asleep, todo, space, buffers))
        self.narrow = place < 0
        self.place = -1 - place if self.narrow else place

    def found_for(self, owner: int) -> Incoming:
        """The rows found for an owner."""
        outbox, found = self.outbox, slice(int(self.filled[owner]))
        return Incoming(outbox.rows[owner, found], outbox.hashes[owner, found], outbox.asleep[owner, found])

    def blocked_cells(self, rows: Any, layout: kernels.Layout, n: int) -> Iterator[Any]:
        """The cells of each of the expanded rows where a program ends unfinished."""
        for r in self.found.blocked[: self.found.used[2]].tolist():
            numbers = np.zeros(len(layout.word), np.int64)
            kernels.unpack(rows[r], layout, numbers)
            yield numbers[1 : 1 + n]

    def empty(self) -> None:
        """Empties the outboxes, and the lists of misses and rows."""
        self.filled[:] = 0
        self.found.used[:3] = 0

    def start_again(self) -> None:
        """Empties all, once the findings are added up; doubles arrays that had too little room."""
        self.outbox_rows *= 1 + int(self.found.used[3])
        self.narrow = False
        found = self.found
        for array in (self.filled, self.tallies, found.counts, found.seen, found.actions, found.used):
            array[:] = 0
