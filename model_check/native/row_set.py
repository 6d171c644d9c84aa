"""The set of rows of one owner, and a hash table of them; its loops are compiled by Numba."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any, NamedTuple

import numpy as np

from .compiled import called_by_kernels, compiled, fetch
from .kernels import LOW, hash_of, rehash, shift_of

#: The number of rows to prefetch ahead.
AHEAD = 8

_1 = np.uint64(1)


class Incoming(NamedTuple):
    """Rows that were found, their hashes, and which of their moves sleep, if any do."""

    rows: Any
    hashes: Any
    asleep: Any


@called_by_kernels
def are_one_state(row: Any, other: Any) -> bool:
    """True if they differ in the monitor state at most."""
    same = True
    for f in range(1, row.shape[0]):
        same &= row[f] == other[f]
    return same


@compiled
def insert(
    incoming: Incoming, rows: Any, is_new: Any, asleep: Any, table: Any, level_start: int, used: int, tallies: Any
) -> int:
    """Adds new rows to ``rows[used:]``; returns how many there are then. There must be room. `asleep` keeps the bits
    that a row has each time it arrives.

    `tallies` counts: new states, states met again that belong to an earlier level. An entry of the table is the upper
    half of the hash, whose first bits give its home, and the row's place plus one.
    """
    found, hashes, found_asleep = incoming
    mask, shift = np.uint64(table.shape[0] - 1), shift_of(table)
    count, sleeps = found.shape[0], asleep.shape[0] > 0
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
                if are_one_state(rows[at], found[k]):
                    known_state = True
                    tallies[1] += at < level_start
                    if rows[at, 0] == found[k, 0]:
                        duplicate = True
                        if sleeps:
                            asleep[at] &= found_asleep[k]
                        break
            place = (place + _1) & mask
        if duplicate:
            continue
        table[place] = tag | np.uint64(used + 1)
        for f in range(found.shape[1]):
            rows[used, f] = found[k, f]
        is_new[used] = not known_state
        if sleeps:
            asleep[used] = found_asleep[k]
        tallies[0] += not known_state
        used += 1
    return used


@compiled
def which_are_there(some: Any, hashes: Any, rows: Any, table: Any, answers: Any) -> None:
    """For each of some rows: true if its state, with any monitor state, is among `rows`."""
    mask, shift = np.uint64(table.shape[0] - 1), shift_of(table)
    for k in range(some.shape[0]):
        place = hashes[k] >> shift
        answers[k] = False
        while table[place] and not answers[k]:
            entry = table[place]
            if entry & ~LOW == hashes[k] & ~LOW:
                answers[k] = are_one_state(rows[np.int64(entry & LOW) - 1], some[k])
            place = (place + _1) & mask


@compiled
def hash_all(rows: Any, hashes: Any) -> None:
    for k in range(rows.shape[0]):
        hashes[k] = hash_of(rows[k])


def hashes_of(rows: Any) -> Any:
    """The hash of each row, its monitor state excepted."""
    hashes = np.zeros(len(rows), np.uint64)
    hash_all(rows, hashes)
    return hashes


class RowSet:
    """The rows of one owner, of n processes, and a hash table of them."""

    def __init__(self, n: int, *, sleeps: bool = False) -> None:
        self.rows = np.zeros((1 << 10, 1 + n), np.int32)
        #: True of the first row of each state.
        self.is_new = np.zeros(1 << 10, np.bool_)
        #: Which moves of each row sleep, if any do; see `expansion.expand`.
        self.asleep = np.zeros(1 << 10 if sleeps else 0, np.uint32)
        self.table = np.zeros(1 << 11, np.uint64)
        self.used = 0

    def clear(self) -> None:
        """Removes all rows."""
        self.table[:] = 0
        self.used = 0

    def make_room(self, more: int) -> None:
        """Makes room for `more` rows."""
        needed = self.used + more
        if needed > len(self.rows):
            size = max(needed, len(self.rows) * 9 // 8)
            # In place: the system moves pages, and copies nothing. The rows last: if memory runs out, the other arrays
            # are long enough for them.
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

    def add(self, rows: Any) -> None:
        """Adds rows without sleeping moves."""
        self.insert(Incoming(rows, hashes_of(rows), np.zeros(len(rows), np.uint32)), 0, np.zeros(2, np.int64))

    def insert(self, incoming: Incoming, level_start: int, tallies: Any) -> None:
        """Adds the incoming rows that are new; see the function `insert`."""
        self.make_room(len(incoming.rows))
        arrays = self.rows, self.is_new, self.asleep, self.table
        self.used = insert(incoming, *arrays, level_start, self.used, tallies)

    def has(self, rows: Any) -> Any:
        """For each row: true if its state, with any monitor state, is in the set."""
        answers = np.zeros(len(rows), np.bool_)
        which_are_there(rows, hashes_of(rows), self.rows, self.table, answers)
        return answers
