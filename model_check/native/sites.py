"""The sites of a search, numbered, and their moves, tabulated."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from crownless.model_check.system.values import Interner

from . import kernels, site_kernels
from .columns import Column, Map, distinct
from .pool import Pool, Sequences

#: The number of sites computed at a time.
BATCH = 1 << 12


class Sites:
    """All known sites; see `kernels.SiteTables`."""

    def __init__(self, channel: int, then: Sequence[Sequence[int]]) -> None:
        self._channel, self._frames = channel, len(then)
        self.bits = (self._frames - 1).bit_length()
        self._then = np.array(then, np.uint16)
        self._inverse = np.argmin(self._then, axis=1).astype(np.uint16)
        #: The least sites of the orbits.
        self._sequences = Sequences()
        #: The number of words of the longest one.
        self._longest = 1
        self._sites = Column(kernels.SITE_COLUMNS, np.int32)
        #: Of each site: 0, its moves are not listed; 1, without its sends; 2, with them.
        self._listed_so_far = Column(dtype=np.int8)
        self._seen = Interner()
        self._same = Column(self._frames, np.uint16)
        self._moves = Column(kernels.MOVE_COLUMNS, np.int32)
        self._sent_to = Map()
        #: The processes of the tables with a site that lists a send.
        self.senders: set[int] = set()
        #: The maximum number of moves of a site.
        self.most_moves = 0
        #: What is known since `arrays`: sites whose moves were listed, and their lines; entries of `sent_to`.
        self._listed: list[tuple[Any, Any]] = []
        self._sent: list[tuple[Any, Any]] = []

    def __len__(self) -> int:
        """One more than the largest number that a site can have."""
        return len(self._sequences) << self.bits

    def cell_of(self, site: int) -> int:
        """The cell of a site, without symmetry reduction."""
        content, offset = self._sequences.pool
        return int(content[int(offset[site])])  # another thread may resize both in place meanwhile

    def number(self, cell: int, slots: Sequence[int], local: kernels.LocalTables) -> int:
        """The number of a site; each queue of slots in its order."""
        slots = sorted(slots, key=lambda slot: site_kernels.queue_of(slot, self._channel, local.source))
        room = self._sequences.room(1, 1 + len(slots))
        room.content[: 1 + len(slots)], room.offset[1] = [cell, *slots], 1 + len(slots)
        return int(self._numbers(room, 1, local)[0])

    def _numbers(self, room: Pool, count: int, local: kernels.LocalTables) -> Any:
        """The numbers of the sites that are in this room; new ones are added to the tables."""
        known, sequences = len(self._sequences), self._sequences
        renamings = np.zeros((count, self._frames), np.bool_)
        if self._frames > 1 and count:
            some = Pool(room.content[: room.offset[count]].copy(), room.offset[: count + 1].copy())
            room = sequences.room(count + 1, int(np.diff(some.offset).max()))
            site_kernels.least(some, room, renamings, local)
        numbers = sequences.numbers(count)
        self._same.add(np.zeros((len(sequences) - known, self._frames), np.uint16))
        if self._frames > 1:
            site_kernels.place_in_orbits(numbers, known, renamings, self._orbits)
        if len(sequences) > known:
            self._add_lines(known, local)
        return numbers

    @property
    def _orbits(self) -> kernels.Orbits:
        return kernels.Orbits(self._frames, self.bits, self._then, self._inverse, self._same.array)

    def _add_lines(self, begin: int, local: kernels.LocalTables) -> None:
        """Adds the lines of new sites, from this orbit on, to the tables."""
        end = len(self._sequences)
        lengths = self._sequences.lengths(begin, end)[:, np.newaxis]
        self._longest = max(self._longest, int(lengths.max()))
        cells = self._sequences.firsts(begin, end).astype(np.int64)[:, np.newaxis] * local.frames
        of_cells = local.cells[local.cell_renamed[cells + np.arange(self._frames)]]
        facts = np.full((end - begin, 1 << self.bits, kernels.SITE_COLUMNS), -1, np.int32)
        there = facts[:, : self._frames]
        there[:, :, kernels.SLOTS] = lengths - 1
        there[:, :, kernels.SENDS_MADE] = of_cells[:, :, kernels.MADE]
        there[:, :, kernels.SITE_FLAGS] = of_cells[:, :, kernels.CELL_FLAGS]
        self._sites.add(facts.reshape(-1, kernels.SITE_COLUMNS))
        self._listed_so_far.add(np.zeros((end - begin) << self.bits, np.int8))

    def send_to(self, keys: Any, local: kernels.LocalTables) -> None:
        """Computes missing sites to which a packet is sent (site · 2³² + packet)."""
        for start in range(0, len(keys), BATCH):
            some = keys[start : start + BATCH]
            places, room = np.zeros(len(some), np.int64), self._sequences.room(BATCH, self._longest + 1)
            site_kernels.send_to(some, places, self._sequences.pool, room, local)
            self._sent.append((some, self._numbers(room, len(some), local) << 16 | places))

    def list_moves(
        self,
        keys: Any,
        system: kernels.SearchConstants,
        local_tables: Callable[[], kernels.LocalTables],
        fill: Callable[[Any], None],
        most_moves: Callable[[int], int],
    ) -> None:
        """Lists the moves of sites (site · 2³² + 1: its sends, too). `fill` computes missing entries of the local
        tables; `most_moves` gives the maximum number of moves of a site, by its number of slots.
        """
        numbers, wanted = (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(1)).astype(np.int8) + 1
        keys = keys[self._listed_so_far.array[numbers] < wanted]
        # Of equal sites the last one counts, which wants most.
        self._listed_so_far[numbers] = np.maximum(wanted, self._listed_so_far.array[numbers])
        for start in range(0, len(keys), BATCH):
            some = keys[start : start + BATCH]
            numbers = (some >> np.uint64(32)).astype(np.int64)
            facts, seen = self._sites.array[numbers], np.zeros((len(some), 2), np.int64)
            behind = self._longest if self._channel == kernels.FIFO else 1
            missing = np.zeros(len(some) * (1 + self._longest * behind), np.uint64)
            site = np.zeros(self._longest + 1, np.int64)
            while True:
                local, most = local_tables(), len(some) * most_moves(self._longest - 1)
                moves = np.zeros((most, kernels.MOVE_COLUMNS), np.int32)
                room, pool = self._sequences.room(most, self._longest + 1), self._sequences.pool
                count, lacking = site_kernels.list_moves(
                    some, facts, seen, pool, moves, room, system, local, missing, site
                )
                if not lacking:
                    break
                fill(distinct(missing[:lacking]))
            moves[:count, kernels.TO_SITE] = self._numbers(room, count, local)
            facts[:, kernels.MOVES_START] += len(self._moves)
            self._moves.add(moves[:count])
            facts[:, kernels.SEEN] = [self._seen.number(tuple(pair)) for pair in seen.tolist()]
            self._listed.append((numbers, facts))
            content, offset = self._sequences.pool
            sending = content[offset[numbers[facts[:, kernels.SENDS] > 0] >> self.bits]]
            self.senders.update(distinct(local.cells[sending.astype(np.int64), kernels.PROCESS]).tolist())
            self.most_moves = max(self.most_moves, int(facts[:, kernels.MOVES].max()))

    def arrays(self, outcomes: Any, emitted: Any, code_at: Any) -> kernels.SiteTables:
        """The tables in the form that kernels read, given those of local steps; unchanged until the next call."""
        sites = self._sites.array
        for numbers, facts in self._listed:
            sites[numbers] = facts
        self._listed.clear()
        for keys, values in self._sent:
            self._sent_to.enter(keys, values)
        self._sent.clear()
        sent_to, seen = self._sent_to.table, np.array(self._seen.values, np.int64).reshape(-1, 2)
        return kernels.SiteTables(sites, seen, self._moves.array, sent_to, outcomes, emitted, code_at, self._orbits)
