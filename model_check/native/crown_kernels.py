"""The monitor of synchronous order on bit masks, compiled by Numba.

The same as `monitors.Crowns`, which says what it means; a set of messages is a few 64-bit words, and a monitor state a
stretch of a pool of words:

    messages finished, for each process the unfinished ones on its line, for each process the last point of its line if
    unfinished (its number plus one), and for each unfinished message, in order: its number, those before it, and the
    events that it still expects (bit 0 its send, bit k the delivery of its k-th copy).
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled, inlined
from .kernels import EMPTY
from .mask_kernels import SEND, Pool, Universe, clear, has, number_of, put

_0 = np.uint64(0)
_1 = np.uint64(1)


@inlined
def _entry_of(content: Any, first: int, end: int, size: int, m: int) -> int:
    """The place of a message's entry, present or not."""
    place = first
    while place < end and content[place] < np.uint64(m):
        place += size
    return place


@compiled
def observe(
    keys: Any,
    values: Any,
    pool: Pool,
    known: int,
    universe: Universe,
    starts: Any,
    kinds: Any,
    whose: Any,
    what: Any,
    synchronous: int,
    room: Any,
) -> int:
    """As `mask_kernels.observe`; `synchronous` is the bit of the property, `room` is for a set of messages and one
    word for each entry.
    """
    n, words = universe.n, universe.message_words
    content = pool.content
    size = words + 2
    most = room.shape[0] // words - 2  # so many messages are unfinished at once, if each was handed over
    for k in range(keys.shape[0]):
        key = keys[k]
        if key == EMPTY:
            continue
        monitor_state = np.int64(key >> np.uint64(32))
        code = np.int64(key & np.uint64(0xFFFFFFFF))
        broken = 0
        unforeseen = False
        start, begin = pool.offset[known], pool.offset[monitor_state]
        end = start + pool.offset[monitor_state + 1] - begin
        for w in range(end - start):
            content[start + w] = content[begin + w]
        lines = start + words
        last = lines + n * words
        entries = last + n
        for o in range(starts[code], starts[code + 1]):
            kind, p, m = kinds[o], whose[o], what[o]
            event = -1
            if kind == SEND:
                event = 0
            else:
                for c in range(universe.first[m], universe.first[m + 1]):
                    if universe.receiver[c] == p:
                        event = 1 + c - universe.first[m]
            if event < 0 or has(content[start:lines], m):
                continue
            place = _entry_of(content, entries, end, size, m)
            if place == end or content[place] != np.uint64(m):
                unforeseen |= (end - entries) // size == most
                if unforeseen:
                    break
                for w in range(end - 1, place - 1, -1):
                    content[w + size] = content[w]
                end += size
                content[place] = np.uint64(m)
                for w in range(words):
                    content[place + 1 + w] = _0
                content[place + 1 + words] = (_1 << np.uint64(1 + universe.first[m + 1] - universe.first[m])) - _1
            if not (content[place + 1 + words] >> np.uint64(event)) & _1:
                continue
            content[place + 1 + words] &= ~(_1 << np.uint64(event))
            if content[last + p] != np.uint64(m + 1):
                for w in range(words):
                    room[w] = content[lines + p * words + w]
                clear(room, m)
                for at in range(entries, end, size):
                    after = at == place or has(content[at + 1 : at + 1 + words], m)
                    if after:
                        for w in range(words):
                            content[at + 1 + w] |= room[w]
                        clear(content[at + 1 : at + 1 + words], np.int64(content[at]))
                for q in range(n):
                    line = content[lines + q * words : lines + (q + 1) * words]
                    if has(line, m):
                        for w in range(words):
                            line[w] |= room[w]
            for w in range(words):
                content[lines + p * words + w] = content[place + 1 + w]
            put(content[lines + p * words : lines + (p + 1) * words], m)
            content[last + p] = np.uint64(m + 1)
            if not content[place + 1 + words]:
                put(content[start:lines], m)
                for w in range(place, end - size):
                    content[w] = content[w + size]
                end -= size
                for at in range(entries, end, size):
                    clear(content[at + 1 : at + 1 + words], m)
                for q in range(n):
                    clear(content[lines + q * words : lines + (q + 1) * words], m)
                    if content[last + q] == np.uint64(m + 1):
                        content[last + q] = _0
            if _no_way_out(content, start, end, universe, room):
                broken |= synchronous
        if unforeseen:
            values[k] = -1
            continue
        after_all = number_of(start, end, pool, known)
        if after_all == known:
            known += 1
        values[k] = (after_all << 16) | broken
    return known


@compiled
def _no_way_out(content: Any, start: int, end: int, universe: Universe, room: Any) -> bool:
    """Do the unfinished messages form a cycle, once the events still expected are at the ends of their lines?

    `room`: a set of messages, then for each entry the set of those that will be before it.
    """
    n, words = universe.n, universe.message_words
    size = words + 2
    lines = start + words
    last = lines + n * words
    entries = last + n
    left = room[:words]
    for w in range(words):
        left[w] = _0
    count = 0
    for at in range(entries, end, size):
        m = np.int64(content[at])
        put(left, m)
        count += 1
        before = room[count * words : (count + 1) * words]
        for w in range(words):
            before[w] = content[at + 1 + w]
        expected = content[at + 1 + words]
        for event in range(1 + universe.first[m + 1] - universe.first[m]):
            if not (expected >> np.uint64(event)) & _1:
                continue
            place = universe.receiver[universe.first[m] + event - 1] if event else universe.sender[m]
            line = content[lines + place * words : lines + (place + 1) * words]
            if has(line, m) and content[last + place] != np.uint64(m + 1):
                return True  # it has been there before, with other points since
            for w in range(words):
                before[w] |= line[w]
            clear(before, m)
    remain = count
    while remain:
        gone = 0
        number = 0
        for at in range(entries, end, size):
            number += 1
            m = np.int64(content[at])
            if not has(left, m):
                continue
            first = True
            for w in range(words):
                first &= room[number * words + w] & left[w] == _0
            if first:
                clear(left, m)
                gone += 1
        if not gone:
            return True
        remain -= gone
    return False


@compiled
def rename(
    keys: Any, values: Any, pool: Pool, known: int, universe: Universe, images: Any, copies: Any, messages: Any
) -> int:
    """For each key (monitor state · 2³² + renaming) the renamed monitor state; returns how many are known then."""
    n, words = universe.n, universe.message_words
    content = pool.content
    size = words + 2
    for k in range(keys.shape[0]):
        key = keys[k]
        if key == EMPTY:
            continue
        monitor_state = np.int64(key >> np.uint64(32))
        q = np.int64(key & np.uint64(0xFFFFFFFF))
        start, begin = pool.offset[known], pool.offset[monitor_state]
        end = start + pool.offset[monitor_state + 1] - begin
        for w in range(start, end):
            content[w] = _0
        lines = words
        last = lines + n * words
        entries = last + n
        for m in range(universe.sender.shape[0]):
            for part in range(n + 1):
                # the finished messages, then the lines of the processes
                old = begin + part * words
                new = start + (images[q, part - 1] + 1 if part else 0) * words
                if has(content[old : old + words], m):
                    put(content[new : new + words], messages[q, m])
        for p in range(n):
            point = np.int64(content[begin + last + p])
            if point:
                content[start + last + images[q, p]] = np.uint64(messages[q, point - 1] + 1)
        used = start + entries
        for at in range(begin + entries, pool.offset[monitor_state + 1], size):
            old_number = np.int64(content[at])
            m = messages[q, old_number]
            place = _entry_of(content, start + entries, used, size, m)
            for w in range(used - 1, place - 1, -1):
                content[w + size] = content[w]
            used += size
            content[place] = np.uint64(m)
            for w in range(words):
                content[place + 1 + w] = _0
            for other in range(universe.sender.shape[0]):
                if has(content[at + 1 : at + 1 + words], other):
                    put(content[place + 1 : place + 1 + words], messages[q, other])
            expected = content[at + 1 + words] & _1
            for c in range(universe.first[old_number], universe.first[old_number + 1]):
                if (content[at + 1 + words] >> np.uint64(1 + c - universe.first[old_number])) & _1:
                    expected |= _1 << np.uint64(1 + copies[q, c] - universe.first[m])
            content[place + 1 + words] = expected
        after = number_of(start, end, pool, known)
        if after == known:
            known += 1
        values[k] = after
    return known
