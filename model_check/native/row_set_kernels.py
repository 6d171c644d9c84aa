"""Sets of rows, each with a hash table of them, compiled by Numba; and rows laid out anew."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled, fetch
from .kernels import Layout, hash_of, owner_of, pack, unpack

#: Rows are prefetched so many ahead.
AHEAD = 8

_1 = np.uint64(1)


@compiled
def insert(
    incoming: Any,
    hashes: Any,
    incoming_asleep: Any,
    count: int,
    layout: Layout,
    rows: Any,
    is_new: Any,
    asleep: Any,
    table: Any,
    level_start: int,
    used: int,
    tallies: Any,
) -> int:
    """Adds the rows that are not there yet to ``rows[used:]``; returns how many there are then. There must be room.
    Of `asleep` those bits remain that a row has whenever it comes in.

    `tallies` counts: new states, states met again that belong to an earlier level. An entry of the table is the upper
    half of the hash and, plus one, where the row is.
    """
    mask = np.uint64(table.shape[0] - 1)
    words = layout.words
    low = np.uint64(0xFFFFFFFF)
    sleeps = asleep.shape[0] > 0
    for k in range(count):
        if k + 2 * AHEAD < count:
            fetch(table, np.int64(hashes[k + 2 * AHEAD] & mask))
            entry = table[hashes[k + AHEAD] & mask]
            if entry:
                fetch(rows, np.int64(entry & low) - 1)
                if sleeps:
                    fetch(asleep, np.int64(entry & low) - 1)
        h = hashes[k]
        tag = h & ~low
        place = h & mask
        known_state = False
        duplicate = False
        while table[place]:
            entry = table[place]
            if entry & ~low == tag:
                at = np.int64(entry & low) - 1
                same_state = True
                same = True
                for w in range(words):
                    difference = rows[at, w] ^ incoming[k, w]
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
                            asleep[at] &= incoming_asleep[k]
                        break
            place = (place + _1) & mask
        if duplicate:
            continue
        table[place] = tag | np.uint64(used + 1)
        for w in range(words):
            rows[used, w] = incoming[k, w]
        is_new[used] = not known_state
        if sleeps:
            asleep[used] = incoming_asleep[k]
        tallies[0] += not known_state
        used += 1
    return used


@compiled
def which_are_there(some: Any, hashes: Any, count: int, layout: Layout, rows: Any, table: Any, answers: Any) -> None:
    """Of each of some rows: is its state, with whatever monitor state, among `rows`?"""
    mask = np.uint64(table.shape[0] - 1)
    low = np.uint64(0xFFFFFFFF)
    for k in range(count):
        h = hashes[k]
        place = h & mask
        answers[k] = False
        while table[place] and not answers[k]:
            entry = table[place]
            if entry & ~low == h & ~low:
                at = np.int64(entry & low) - 1
                same = True
                for w in range(layout.words):
                    if (rows[at, w] ^ some[k, w]) & ~layout.monitor_state_bits[w]:
                        same = False
                        break
                answers[k] = same
            place = (place + _1) & mask


@compiled
def owners_of(rows: Any, layout: Layout, n: int, owners: int, numbers: Any, out: Any) -> None:
    """Whose each row is; `numbers` is room for the numbers of a row."""
    for k in range(rows.shape[0]):
        unpack(rows[k], layout, numbers)
        out[k] = owner_of(numbers, n, owners)


@compiled
def rehash(rows: Any, start: int, end: int, layout: Layout, table: Any) -> None:
    """Enters rows, all different, into an empty table."""
    mask = np.uint64(table.shape[0] - 1)
    low = np.uint64(0xFFFFFFFF)
    for k in range(start, end):
        h = hash_of(rows[k], layout)
        place = h & mask
        while table[place]:
            place = (place + _1) & mask
        table[place] = (h & ~low) | np.uint64(k + 1)


@compiled
def repack(rows: Any, count: int, before: Layout, after: Layout, out: Any, numbers: Any) -> None:
    """The same rows in another layout, of as many slots or more; `numbers` are zeroes, one a field."""
    for k in range(count):
        unpack(rows[k], before, numbers)
        pack(numbers, after, out[k])
