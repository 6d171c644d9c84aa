"""The monitors of delivery, FIFO and causal order on bit masks, compiled by Numba.

The same as `monitors.DeliveryMonitor` and `monitors.FifoAndCausal`, which define it; here a set of copies (message,
receiver) is a few 64-bit words, and a monitor state a stretch of a pool of words:

    copies owed, messages unsent, copies undelivered, for each process those in its past,
    and for each open message, in order: its number, the undelivered copies in the past of its send.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any, NamedTuple

import numpy as np

from .compiled import called_by_kernels, compiled
from .pool import Pool

HAND, SEND, DELIVER = range(3)
#: The kinds of events that these monitors heed.
HEEDED = (HAND, SEND, DELIVER)
_0 = np.uint64(0)
_1 = np.uint64(1)
_63 = np.uint64(63)


class Universe(NamedTuple):
    """All possible messages, each with its copies as consecutive bits."""

    n: int
    words: int  #: 64-bit words in a set of copies
    message_words: int  #: in a set of messages
    first: Any  #: of each message: its first copy; one more at the end
    receiver: Any  #: of each copy
    sender: Any  #: of each message
    to_receiver: Any  #: [process, word]: the copies to it
    from_sender: Any
    survivors: Any  #: of each word: the copies that the process that may crash does not send
    monitored: Any  #: of each process: true if its deliveries are judged
    orders: bool  #: True if FIFO or causal order is monitored.
    sends_first: bool  #: true if a message must be sent before it is delivered
    fifo: int  #: the bits of the properties
    causal: int
    #: For `point_kernels`: the order, in `open_points`, its bit, and room for two rows.
    order: int = 0
    violated: int = 0
    rows: Any = np.zeros((2, 1), np.int64)


@called_by_kernels
def has(bits: Any, k: int) -> bool:
    return (bits[k >> 6] >> (np.uint64(k) & _63)) & _1 != _0


@called_by_kernels
def put(bits: Any, k: int) -> None:
    bits[k >> 6] |= _1 << (np.uint64(k) & _63)


@called_by_kernels
def clear(bits: Any, k: int) -> None:
    bits[k >> 6] &= ~(_1 << (np.uint64(k) & _63))


@called_by_kernels
def sizes(universe: Universe) -> tuple[int, int]:
    """Words of the empty monitor state, and per open message."""
    words = universe.words
    return (2 + universe.n) * words + universe.message_words, words + 1


@called_by_kernels
def entry_of(content: Any, first: int, end: int, size: int, m: int) -> int:
    """The place of a message's entry among those in order from `first` to `end`, whether it is there or not."""
    place = first
    while place < end and content[place] < np.uint64(m):
        place += size
    return place


@called_by_kernels
def insert_entry(content: Any, place: int, end: int, size: int, m: int) -> None:
    """Makes an entry for a message at its place, with its number only."""
    for w in range(end - 1, place - 1, -1):
        content[w + size] = content[w]
    content[place] = np.uint64(m)
    for w in range(place + 1, place + size):
        content[w] = _0


@compiled
def note_owed(begin: int, end: int, pool: Pool, universe: Universe, all_owed: Any) -> None:
    """Records `kernels.MonitorTables.owed` for monitor states."""
    content = pool.content
    for monitor_state in range(begin, end):
        start, owed = pool.offset[monitor_state], 0
        for p in range(universe.n):
            for w in range(universe.words):
                copies = content[start + w] & universe.to_receiver[p, w]
                if copies:
                    owed |= 1 << p
                if copies & universe.survivors[w]:
                    owed |= 1 << (16 + p)
        for w in range(universe.message_words):
            unsent, m = content[start + universe.words + w], 64 * w
            while unsent:
                if unsent & _1:
                    owed |= 1 << (32 + universe.sender[m])
                unsent, m = unsent >> _1, m + 1
        all_owed[monitor_state] = owed


@compiled
def observe(
    keys: Any,
    violated_by: Any,
    pool: Pool,
    out: Pool,
    universe: Universe,
    starts: Any,
    kinds: Any,
    whose: Any,
    what: Any,
) -> None:
    """For each key (monitor state · 2³² + code) the monitor state afterwards, and the violated properties, or -1 if
    that is unsupported here.

    A code is a stretch of (kind, process, message): ``starts[code]`` to ``starts[code + 1]``.
    """
    n, words, message_words = universe.n, universe.words, universe.message_words
    content = out.content
    head, size = sizes(universe)
    for k in range(keys.shape[0]):
        monitor_state = np.int64(keys[k] >> np.uint64(32))
        code = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        violated = 0
        unforeseen = False
        start, begin = out.offset[k], pool.offset[monitor_state]
        end = start + pool.offset[monitor_state + 1] - begin
        for w in range(end - start):
            content[start + w] = pool.content[begin + w]
        owed = content[start : start + words]
        unsent = content[start + words : start + words + message_words]
        undelivered = content[start + words + message_words : start + 2 * words + message_words]
        pasts = start + 2 * words + message_words
        for o in range(starts[code], starts[code + 1]):
            kind, p, m = kinds[o], whose[o], what[o]
            if kind == HAND:
                for c in range(universe.first[m], universe.first[m + 1]):
                    put(owed, c)
                put(unsent, m)
                continue
            if kind == SEND:
                unforeseen |= not has(unsent, m)  # it happens twice, or was never owed
                if unforeseen:
                    break
                clear(unsent, m)
                if not universe.orders:
                    continue
                place = entry_of(content, start + head, end, size, m)
                insert_entry(content, place, end, size, m)
                end += size
                for w in range(words):
                    content[place + 1 + w] = content[pasts + p * words + w]
                for c in range(universe.first[m], universe.first[m + 1]):
                    put(undelivered, c)
                    put(content[pasts + p * words : pasts + (p + 1) * words], c)
                continue
            copy = -1
            for c in range(universe.first[m], universe.first[m + 1]):
                if universe.receiver[c] == p:
                    copy = c
            # What is not owed may come before it is handed over, or be sent later: then moves do not commute.
            unforeseen |= copy < 0 or not has(owed, copy) or (universe.sends_first and has(unsent, m))
            if unforeseen:
                break
            clear(owed, copy)
            if not universe.orders or not has(undelivered, copy):
                continue
            place = entry_of(content, start + head, end, size, m)
            if universe.monitored[p]:
                overtaken = False
                own = False
                for w in range(words):
                    both = content[place + 1 + w] & universe.to_receiver[p, w]
                    overtaken |= both != _0
                    own |= both & universe.from_sender[universe.sender[m], w] != _0
                if overtaken:
                    violated |= universe.causal
                    if own:
                        violated |= universe.fifo
            clear(undelivered, copy)
            past = content[pasts + p * words : pasts + (p + 1) * words]
            for w in range(words):
                past[w] |= content[place + 1 + w]
            left = False
            for c in range(universe.first[m], universe.first[m + 1]):
                put(past, c)
                left |= has(undelivered, c)
            if not left:
                for w in range(place, end - size):
                    content[w] = content[w + size]
                end -= size
            for w in range(words):
                for q in range(n):
                    content[pasts + q * words + w] &= undelivered[w]
                for at in range(start + head, end, size):
                    content[at + 1 + w] &= undelivered[w]
        violated_by[k] = -1 if unforeseen else violated
        out.offset[k + 1] = end


@compiled
def rename(
    keys: Any, _violated_by: Any, pool: Pool, out: Pool, universe: Universe, images: Any, copies: Any, messages: Any
) -> None:
    """For each key (monitor state · 2³² + renaming) the renamed monitor state."""
    n, words, message_words = universe.n, universe.words, universe.message_words
    before, content = pool.content, out.content
    head, size = sizes(universe)
    for k in range(keys.shape[0]):
        monitor_state = np.int64(keys[k] >> np.uint64(32))
        q = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        start, begin = out.offset[k], pool.offset[monitor_state]
        end = start + pool.offset[monitor_state + 1] - begin
        for w in range(start, end):
            content[w] = _0
        for m in range(universe.sender.shape[0]):
            if has(before[begin + words : begin + words + message_words], m):
                put(content[start + words : start + words + message_words], messages[q, m])
        used = start + head
        for at in range(begin + head, pool.offset[monitor_state + 1], size):
            m = messages[q, before[at]]
            insert_entry(content, entry_of(content, start + head, used, size, m), used, size, m)
            used += size
        undelivered = begin + words + message_words
        for c in range(universe.receiver.shape[0]):
            to = copies[q, c]
            if has(before[begin : begin + words], c):
                put(content[start : start + words], to)
            if not has(before[undelivered : undelivered + words], c):
                continue  # then it is in no past
            for line in range(n + 1):  # the undelivered copies, then the pasts of the processes
                old, new = undelivered + line * words, undelivered - begin + start
                if has(before[old : old + words], c):
                    new += (images[q, line - 1] + 1) * words if line else 0
                    put(content[new : new + words], to)
            for at in range(begin + head, pool.offset[monitor_state + 1], size):
                if has(before[at + 1 : at + 1 + words], c):
                    place = entry_of(content, start + head, used, size, messages[q, before[at]])
                    put(content[place + 1 : place + 1 + words], to)
        out.offset[k + 1] = end
