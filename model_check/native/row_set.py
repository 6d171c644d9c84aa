"""The set of rows of one owner, and a hash table of them; its loops are compiled by Numba."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any, NamedTuple

import numpy as np

from .compiled import compiled, fetch
from .kernels import LOW, Layout, hash_of, owner_of, pack, put, rehash, shift_of, unpack

#: The number of rows to prefetch ahead.
AHEAD = 8

_1 = np.uint64(1)


class Incoming(NamedTuple):
    """Rows that were found, their hashes, and which of their moves sleep, if any do."""

    rows: Any
    hashes: Any
    asleep: Any


class Known(NamedTuple):
    """The arrays of a `RowSet`."""

    rows: Any
    is_new: Any
    asleep: Any
    table: Any


@compiled
def insert(incoming: Incoming, layout: Layout, known: Known, level_start: int, used: int, tallies: Any) -> int:
    """Adds new rows to ``rows[used:]``; returns how many there are then. There must be room. `asleep` keeps the bits
    that a row has every time it comes in.

    `tallies` counts: new states, states met again that belong to an earlier level. An entry of the table is the upper
    half of the hash, whose first bits give its home, and the row's place plus one.
    """
    found, hashes, found_asleep = incoming
    rows, is_new, asleep, table = known
    mask, shift = np.uint64(table.shape[0] - 1), shift_of(table)
    words, count = layout.words, found.shape[0]
    sleeps = asleep.shape[0] > 0
    for k in range(count):
        if k + 2 * AHEAD < count:
            fetch(table, np.int64(hashes[k + 2 * AHEAD] >> shift))
            entry = table[hashes[k + AHEAD] >> shift]
            if entry:
                fetch(rows, np.int64(entry & LOW) - 1)
                if sleeps:
                    fetch(asleep, np.int64(entry & LOW) - 1)
        h = hashes[k]
        tag = h & ~LOW
        place = h >> shift
        known_state = False
        duplicate = False
        while table[place]:
            entry = table[place]
            if entry & ~LOW == tag:
                at = np.int64(entry & LOW) - 1
                same_state = True
                same = True
                for w in range(words):
                    difference = rows[at, w] ^ found[k, w]
                    if difference:
                        same = False
                        if difference & ~layout.monitor_state_bits[w]:
                            same_state = False
                            break
                if same_state:
                    known_state = True
                    if at < level_start:
                        tallies[1] += 1
                    if same:
                        duplicate = True
                        if sleeps:
                            asleep[at] &= found_asleep[k]
                        break
            place = (place + _1) & mask
        if duplicate:
            continue
        table[place] = tag | np.uint64(used + 1)
        for w in range(words):
            rows[used, w] = found[k, w]
        is_new[used] = not known_state
        if sleeps:
            asleep[used] = found_asleep[k]
        tallies[0] += not known_state
        used += 1
    return used


@compiled
def which_are_there(some: Any, hashes: Any, layout: Layout, rows: Any, table: Any, answers: Any) -> None:
    """For each of some rows: true if its state, with any monitor state, is among `rows`."""
    mask, shift = np.uint64(table.shape[0] - 1), shift_of(table)
    for k in range(some.shape[0]):
        h = hashes[k]
        place = h >> shift
        answers[k] = False
        while table[place] and not answers[k]:
            entry = table[place]
            if entry & ~LOW == h & ~LOW:
                at = np.int64(entry & LOW) - 1
                same = True
                for w in range(layout.words):
                    if (rows[at, w] ^ some[k, w]) & ~layout.monitor_state_bits[w]:
                        same = False
                        break
                answers[k] = same
            place = (place + _1) & mask


@compiled
def owners_of(rows: Any, layout: Layout, n: int, owners: int, numbers: Any, out: Any) -> None:
    """The owner of each row; `numbers` is room for the numbers of a row."""
    for k in range(rows.shape[0]):
        unpack(rows[k], layout, numbers)
        out[k] = owner_of(numbers, n, owners)


@compiled
def hashes_of(rows: Any, layout: Layout, hashes: Any) -> None:
    """Fills `hashes` with the hash of each row, its monitor state excepted."""
    for k in range(rows.shape[0]):
        hashes[k] = hash_of(rows[k], layout)


@compiled
def enter(rows: Any, start: int, end: int, layout: Layout, table: Any) -> None:
    """Enters rows, all different, into a table that has none of them."""
    for k in range(start, end):
        put(hash_of(rows[k], layout) & ~LOW | np.uint64(k + 1), table, shift_of(table))


@compiled
def repack(rows: Any, count: int, before: Layout, after: Layout, out: Any, numbers: Any) -> None:
    """The same rows in another layout, with as many slots or more; `numbers` are zeroes, one per field."""
    for k in range(count):
        unpack(rows[k], before, numbers)
        pack(numbers, after, out[k])


class RowSet:
    """The rows of one owner, and a hash table of them."""

    def __init__(self, words: int, *, sleeps: bool = False) -> None:
        self.rows = np.zeros((1 << 10, words), np.uint64)
        self.is_new = np.zeros(1 << 10, np.bool_)
        #: Which moves of each row sleep, if any do; see `expansion.expand`.
        self.asleep = np.zeros(1 << 10 if sleeps else 0, np.uint32)
        self.table = np.zeros(1 << 11, np.uint64)
        self.used = 0

    def clear(self, words: int) -> None:
        """Removes all rows; the next ones have that many words."""
        if self.rows.shape[1] != words:
            self.rows = np.zeros((len(self.rows) * self.rows.shape[1] // words + 1, words), np.uint64)
            self.is_new = np.zeros(len(self.rows), np.bool_)
            if len(self.asleep):
                self.asleep = np.zeros(len(self.rows), np.uint32)
        self.table[:] = 0
        self.used = 0

    def make_room(self, more: int) -> None:
        """Makes room for `more` rows."""
        needed = self.used + more
        if needed > len(self.rows):
            size = max(needed, len(self.rows) * 9 // 8)
            # In place: the system moves pages, and copies nothing. The rows last: if there is no memory, no thread
            # takes the others to be as long.
            self.is_new.resize(size, refcheck=False)
            if len(self.asleep):
                self.asleep.resize(size, refcheck=False)
            self.rows.resize((size, self.rows.shape[1]), refcheck=False)
        if needed * 3 > len(self.table) * 2:
            size = len(self.table)
            while needed * 3 > size * 2:
                size *= 2
            before, self.table = self.table, np.zeros(size, np.uint64)
            rehash(before, self.table)

    def add(self, rows: Any, layout: Layout, is_new: Any = False) -> None:
        """Adds rows that differ from one another, and from all rows in the set."""
        first, end = self.used, self.used + len(rows)
        self.make_room(len(rows))
        self.rows[first:end] = rows
        self.is_new[first:end] = is_new
        enter(self.rows, first, end, layout, self.table)
        self.used = end

    def insert(self, incoming: Incoming, layout: Layout, level_start: int, tallies: Any) -> None:
        """Adds the incoming rows that are new; see the function `insert`."""
        self.make_room(len(incoming.rows))
        known = Known(self.rows, self.is_new, self.asleep, self.table)
        self.used = insert(incoming, layout, known, level_start, self.used, tallies)

    def repack(self, before: Layout, after: Layout) -> None:
        rows = np.zeros((len(self.rows), after.words), np.uint64)
        repack(self.rows, self.used, before, after, rows, np.zeros(len(after.word), np.int64))
        self.rows = rows
        self.table[:] = 0
        enter(self.rows, 0, self.used, after, self.table)
