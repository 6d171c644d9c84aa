"""The monitor of synchronous order on bit masks, compiled by Numba.

The same as `monitors.Crowns`, which defines it. A set of messages is a few 64-bit words, and a monitor state a stretch
of a pool of words:

    messages finished, for each process the unfinished ones on its line, for each process the last point of its line if
    unfinished (its number plus one), and for each unfinished message, in order: its number, the events that it still
    expects (bit 0 its send, bit k the delivery of its k-th copy), and the messages before it.

The monitor beside it, of `mask_kernels`, refuses events that happen twice or to wrong processes, so none comes here.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from .compiled import compiled, inlined
from .mask_kernels import DELIVER, SEND, Pool, Universe, clear, entry_of, has, insert_entry, number_of, put

#: The events that these monitors heed, in their order in `mask_kernels`.
HEEDED = (SEND, DELIVER)
_0 = np.uint64(0)
_1 = np.uint64(1)


def sizes(universe: Universe) -> tuple[int, int, int]:
    """Words of the empty monitor state, and per unfinished message; and temporary words per unfinished message."""
    words = universe.message_words
    return words + universe.n * (words + 1), words + 2, words


@inlined
def join(content: Any, to: int, other: int, words: int) -> None:
    """Adds the other set to one."""
    for w in range(words):
        content[to + w] |= content[other + w]


@compiled
def observe(
    keys: Any, values: Any, pool: Pool, known: int, universe: Universe, starts: Any, kinds: Any, whose: Any, what: Any
) -> int:
    """As `mask_kernels.observe`."""
    n, words = universe.n, universe.message_words
    content = pool.content
    size = words + 2
    for k in range(keys.shape[0]):
        monitor_state = np.int64(keys[k] >> np.uint64(32))
        code = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        broken = 0
        start, begin = pool.offset[known], pool.offset[monitor_state]
        end = start + pool.offset[monitor_state + 1] - begin
        for w in range(end - start):
            content[start + w] = content[begin + w]
        lines = start + words
        last = lines + n * words
        entries = last + n
        for o in range(starts[code], starts[code + 1]):
            p, m = whose[o], what[o]
            event = 0
            if kinds[o] != SEND:
                while universe.receiver[universe.first[m] + event] != p:
                    event += 1
                event += 1
            place = entry_of(content, entries, end, size, m)
            if place == end or content[place] != np.uint64(m):
                insert_entry(content, place, end, size, m)
                end += size
                content[place + 1] = (_1 << np.uint64(1 + universe.first[m + 1] - universe.first[m])) - _1
            content[place + 1] &= ~(_1 << np.uint64(event))
            line = lines + p * words
            if content[last + p] != np.uint64(m + 1):
                # What was on this line is before m, and before all that m is before.
                gained = end
                for w in range(words):
                    content[gained + w] = content[line + w]
                clear(content[gained : gained + words], m)
                for at in range(entries, end, size):
                    if at == place or has(content[at + 2 : at + size], m):
                        join(content, at + 2, gained, words)
                        clear(content[at + 2 : at + size], np.int64(content[at]))
                for q in range(n):
                    if has(content[lines + q * words : lines + (q + 1) * words], m):
                        join(content, lines + q * words, gained, words)
            for w in range(words):
                content[line + w] = content[place + 2 + w]
            put(content[line : line + words], m)
            content[last + p] = np.uint64(m + 1)
            if not content[place + 1]:
                put(content[start:lines], m)
                for w in range(place, end - size):
                    content[w] = content[w + size]
                end -= size
                for at in range(entries, end, size):
                    clear(content[at + 2 : at + size], m)
                for q in range(n):
                    clear(content[lines + q * words : lines + (q + 1) * words], m)
                    if content[last + q] == np.uint64(m + 1):
                        content[last + q] = _0
            if _no_way_out(content, start, end, universe):
                broken = universe.synchronous
        after = number_of(start, end, pool, known)
        known += after == known
        values[k] = (after << 16) | broken
    return known


@compiled
def _no_way_out(content: Any, start: int, end: int, universe: Universe) -> bool:
    """True if the unfinished messages form a cycle, once the expected events are at the ends of their lines."""
    n, words = universe.n, universe.message_words
    size = words + 2
    lines = start + words
    last = lines + n * words
    entries = last + n
    left = end  # a set of messages; behind it, for each, those that will be before it
    for w in range(words):
        content[left + w] = _0
    before = left
    for at in range(entries, end, size):
        m = np.int64(content[at])
        before += words
        put(content[left : left + words], m)
        for w in range(words):
            content[before + w] = content[at + 2 + w]
        for event in range(1 + universe.first[m + 1] - universe.first[m]):
            if content[at + 1] >> np.uint64(event) & _1:
                place = universe.receiver[universe.first[m] + event - 1] if event else universe.sender[m]
                line = lines + place * words
                if has(content[line : line + words], m) and content[last + place] != np.uint64(m + 1):
                    return True  # it has been there before, with other points since
                join(content, before, line, words)
                clear(content[before : before + words], m)
    remain = (end - entries) // size
    while remain:
        gone = 0
        before = left
        for at in range(entries, end, size):
            before += words
            m = np.int64(content[at])
            first = has(content[left : left + words], m)
            for w in range(words):
                first &= content[before + w] & content[left + w] == _0
            if first:
                clear(content[left : left + words], m)
                gone += 1
        if not gone:
            return True
        remain -= gone
    return False


@compiled
def rename(
    keys: Any, values: Any, pool: Pool, known: int, universe: Universe, images: Any, copies: Any, messages: Any
) -> int:
    """As `mask_kernels.rename`."""
    n, words = universe.n, universe.message_words
    content = pool.content
    size = words + 2
    for k in range(keys.shape[0]):
        monitor_state = np.int64(keys[k] >> np.uint64(32))
        q = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        start, begin = pool.offset[known], pool.offset[monitor_state]
        end = start + pool.offset[monitor_state + 1] - begin
        for w in range(start, end):
            content[w] = _0
        last = (1 + n) * words
        for part in range(1 + n):  # the finished messages, then the lines of the processes
            old = begin + part * words
            new = start + (images[q, part - 1] + 1 if part else 0) * words
            for m in range(universe.sender.shape[0]):
                if has(content[old : old + words], m):
                    put(content[new : new + words], messages[q, m])
        for p in range(n):
            point = np.int64(content[begin + last + p])
            if point:
                content[start + last + images[q, p]] = np.uint64(messages[q, point - 1] + 1)
        used = start + last + n
        for at in range(begin + last + n, pool.offset[monitor_state + 1], size):
            before = np.int64(content[at])
            m = messages[q, before]
            place = entry_of(content, start + last + n, used, size, m)
            insert_entry(content, place, used, size, m)
            used += size
            content[place + 1] = content[at + 1] & _1
            for c in range(universe.first[before], universe.first[before + 1]):
                if content[at + 1] >> np.uint64(1 + c - universe.first[before]) & _1:
                    content[place + 1] |= _1 << np.uint64(1 + copies[q, c] - universe.first[m])
            for other in range(universe.sender.shape[0]):
                if has(content[at + 2 : at + size], other):
                    put(content[place + 2 : place + size], messages[q, other])
        after = number_of(start, end, pool, known)
        known += after == known
        values[k] = after
    return known
