"""Sequences of words, numbered; compiled by Numba."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any, NamedTuple

import numpy as np

from .compiled import compiled, fetch
from .kernels import LOW, MIX, rehash, shift_of, spread

#: The number of sequences to prefetch ahead.
AHEAD = 8

_32 = np.uint64(32)


class Pool(NamedTuple):
    """Sequences of words, one after the other."""

    content: Any
    offset: Any  #: of each sequence: where it starts; one more at the end


@compiled
def number_all(some: Pool, count: int, hashes: Any, numbers: Any, pool: Pool, table: Any, known: int) -> int:
    """The numbers of some sequences in a pool of distinct ones, to which new ones are added; returns how many these are
    then. There must be room. An entry of `table` is the upper half of a sequence's hash, and its number plus one.
    """
    mask, shift = np.uint64(table.shape[0] - 1), shift_of(table)
    for k in range(count):
        h, factor = np.uint64(0), MIX
        for w in range(some.offset[k], some.offset[k + 1]):
            h += (some.content[w] ^ some.content[w] >> _32) * factor
            factor += MIX + MIX
        hashes[k] = spread(h)
    for k in range(count):
        if k + 3 * AHEAD < count:
            fetch(table, np.int64(hashes[k + 3 * AHEAD] >> shift))
            entry = table[hashes[k + 2 * AHEAD] >> shift]
            if entry:
                fetch(pool.offset, np.int64(entry & LOW) - 1)
            entry = table[hashes[k + AHEAD] >> shift]
            if entry:
                fetch(pool.content, pool.offset[np.int64(entry & LOW) - 1])
        start, length = some.offset[k], some.offset[k + 1] - some.offset[k]
        tag, place = hashes[k] & ~LOW, hashes[k] >> shift
        number = np.int64(-1)
        while number < 0 and table[place]:
            if table[place] & ~LOW == tag:
                at = np.int64(table[place] & LOW) - 1
                begin = pool.offset[at]
                same = pool.offset[at + 1] - begin == length
                w = 0
                while same and w < length:
                    same = pool.content[begin + w] == some.content[start + w]
                    w += 1
                if same:
                    number = at
            place = (place + np.uint64(1)) & mask
        if number < 0:
            number = known
            table[place] = tag | np.uint64(known + 1)
            begin = pool.offset[known]
            for w in range(length):
                pool.content[begin + w] = some.content[start + w]
            known += 1
            pool.offset[known] = begin + length
        numbers[k] = number
    return known


class Sequences:
    """Distinct sequences of words, numbered from 0 in the order in which they are found."""

    def __init__(self) -> None:
        self._used = 0
        #: The numbered sequences; valid until there are more.
        self.pool = Pool(np.zeros(1 << 12, np.uint64), np.zeros(1 << 8, np.int64))
        self._table = np.zeros(1 << 9, np.uint64)
        self._room = Pool(np.zeros(0, np.uint64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return self._used

    def room(self, count: int, words: int) -> Pool:
        """Room for sequences to be numbered, of at most this many words each; the first starts at 0."""
        if len(self._room.content) < count * words or len(self._room.offset) <= count:
            self._room = Pool(np.zeros(count * words, np.uint64), np.zeros(count + 1, np.int64))
        return self._room

    def numbers(self, count: int) -> Any:
        """The numbers of the sequences that are in the room."""
        content, offset = self.pool
        needed = int(offset[self._used] + self._room.offset[count])
        if needed > len(content):
            content.resize(max(needed, len(content) * 5 // 4), refcheck=False)
        if self._used + count + 1 > len(offset):
            offset.resize(max(self._used + count + 1, 2 * len(offset)), refcheck=False)
        size = len(self._table)
        while 2 * (self._used + count) > size:
            size *= 2
        if size > len(self._table):
            before, self._table = self._table, np.zeros(size, np.uint64)
            rehash(before, self._table)
        hashes, numbers = np.zeros(count, np.uint64), np.zeros(count, np.int64)
        self._used = int(number_all(self._room, count, hashes, numbers, self.pool, self._table, self._used))
        return numbers

    def firsts(self, begin: int, end: int) -> Any:
        """The first words of the sequences with these numbers."""
        return self.pool.content[self.pool.offset[begin:end]]

    def lengths(self, begin: int, end: int) -> Any:
        """The lengths of the sequences with these numbers."""
        return np.diff(self.pool.offset[begin : end + 1])
