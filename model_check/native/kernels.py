"""Parts that the inner loops share, compiled by Numba: tables, slots, canonical form, hashes.

A *row* is a node of the search: `Layout` gives the bits of its 64-bit words that hold each of its numbers. They are, in
this order: the monitor state; the cell of each process (its local state and its application's position); the packets
in flight, one per slot, empty slots last. A slot is ``((packet · 16 + destination) · 2 + mark) + 1``: the mark means
that it waits in the hold-back queue (FIFO) or is a copy (duplicating). Slots are sorted by `queue_of`, and slots of one
queue are in its order.

Everything here reads tables that `tables` and `monitor_states` fill, in Python, when an entry is missed: a row that
misses an entry is put aside whole, and expanded again once the entry is there.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.search.engines import NATIVE_CHANNELS

from .compiled import compiled, fetch, inlined

UNORDERED, FIFO, LOSSY, DUPLICATING = range(len(NATIVE_CHANNELS))

#: The kinds of moves: an internal step of a process, the receipt of a packet; and actions of the channel.
OWN_STEP, ARRIVAL, WAIT, LOSE, DUPLICATE = range(5)

#: The kinds of missing entries, in the upper two bits of a miss; then come the key's 30 and 32 bits.
MISS_OWN, MISS_ARRIVAL, MISS_MONITOR_STATE, MISS_RENAMED_MONITOR_STATE = range(4)

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xBF58476D1CE4E5B9)
LOW = np.uint64(0xFFFFFFFF)  #: the lower half of a word
_32 = np.uint64(32)
_29 = np.uint64(29)
_0 = np.uint64(0)
_1 = np.uint64(1)
_7 = np.uint64(7)
_3 = np.uint64(3)

#: In a slot and in what is emitted, the lowest bits (above the mark) name a process.
PROCESS_BITS = 4
PROCESS = (1 << PROCESS_BITS) - 1

#: Bits for the observations of a search, above those of the properties.
DELIVERS = 1 << 62

#: Flags of an outcome.
HANDS, DELIVERED, CRASHES = 1, 2, 4

#: Flags of a cell.
READY_TO_RECEIVE, FINISHED, CRASHED = 1, 2, 4

#: Facts about a run that ends in a row: it blocks; something is never delivered; it completes.
ENDS_BLOCKED, ENDS_OWING, ENDS_COMPLETE = 1, 2, 4


class Layout(NamedTuple):
    """The place of each number in a row."""

    word: Any  #: of each field: which word
    shift: Any  #: its lowest bit there
    mask: Any  #: its bits, shifted down
    monitor_state_bits: Any  #: of each word: the bits that belong to the monitor state
    words: int
    slots: int


class SearchConstants(NamedTuple):
    """The constants of a search."""

    n: int
    channel: int
    bound: int  #: sends in all
    takes_anything: bool
    sleeps: bool  #: leave out moves that are explored in another order; see `expansion.expand`
    permutations: Any  #: those of the processes, if rows are brought into canonical form; else the identity alone
    frame: Any  #: [permutation, process]: which renaming of its own frame that is
    frames: int  #: how many of those there are
    may_crash: int  #: the process that may crash, or -1


#: Columns of the cells …
MADE, CELL_FLAGS, ORBIT, OWN_START, OWN_COUNT, REFUSED = range(6)
CELL_COLUMNS = 6

#: … and of the outcomes of local transitions.
TO_CELL, FLAGS, CODE, ACTION, EMITS_START, EMITS_COUNT, SEEN_LOW, SEEN_HIGH = range(8)
#: The number of bits of what an outcome violates or reaches in the first of the two columns.
LOW_BITS = 31
OUTCOME_COLUMNS = 8  # of 32 bits: then two outcomes fill a cache line


class Tables(NamedTuple):
    """The local transitions known so far."""

    #: sends made; flags; least renaming; own outcomes: where, how many or -1; the rules that refused sends exercise
    cells: Any
    cell_renamed: Any  #: [cell · frames + frame]
    source: Any  #: of each packet: how far before its destination its source is
    packet_renamed: Any
    arrivals: Any  #: (cell, packet) → start of the outcomes · 2²¹ + how many · 2 + is it accepted
    outcomes: Any  #: see above; the events that monitors observe are numbered as seen from process 0 of the tables
    emitted: Any  #: packet · 16 + how far its destination is
    code_at: Any  #: [code · n + process]: the same, from that process's point of view


class MonitorStates(NamedTuple):
    """The steps of the monitors known so far."""

    steps: Any  #: (monitor state, code) → monitor state afterwards · 2¹⁶ + properties broken
    #: of each monitor state: to which processes a delivery is owed; from bit 16: by another than the process that may
    #: crash; from bit 32: whose sends have not happened
    owed: Any
    renamed: Any  #: (monitor state, permutation) → the monitor state renamed


class Space(NamedTuple):
    """All that an expansion of rows reads, apart from the rows."""

    layout: Layout
    layout_after: Layout  #: of the successors
    system: SearchConstants
    tables: Tables
    monitor_states: MonitorStates


class Outbox(NamedTuple):
    """The successors that a worker writes, for each owner."""

    rows: Any  #: [owner, place, word]
    hashes: Any
    asleep: Any  #: which moves sleep; no columns if none do
    filled: Any  #: of each owner: how many


class Found(NamedTuple):
    """The results of a worker, added up."""

    counts: Any  #: transitions, terminal states
    seen: Any  #: properties broken or reached by a transition; live properties broken at an end
    actions: Any  #: of each name: how often
    blocked: Any  #: rows where a program ends unfinished
    misses: Any
    again: Any  #: rows to be expanded again
    origins: Any  #: [owner, place]: the row that a row in an outbox comes from; empty if not requested
    marks: Any  #: of each row: properties that a step from it breaks, live properties that it breaks; likewise
    used: Any  #: how many of: misses, again, blocked; 1 if an outbox has too little room for one row


class Scratch(NamedTuple):
    """Scratch memory of a worker."""

    numbers: Any  #: [row, field]: rows that are looked at together
    after: Any
    best: Any
    trial: Any
    base: Any
    started: Any
    limit: Any
    moves: Any  #: [row, move, 4]
    steps: Any  #: [row, move]
    listed: Any  #: of each row: slots in use, sends made, moves, what may happen, was an entry missed
    theirs: Any  #: of each process: the bits of its moves


class Buffers(NamedTuple):
    """All that an expansion of rows writes."""

    outbox: Outbox
    found: Found
    recent: Any  #: hash table of misses that were noted lately
    scratch: Scratch


@inlined
def spread(key: np.uint64) -> np.uint64:
    h = key * _GOLDEN
    h ^= h >> _29
    h *= MIX
    return h ^ (h >> _32)


@inlined
def home(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The first place to probe for a key (major · 2³² + minor): keys of one major share a cache line or two."""
    return (spread(key >> _3) + (key & _7)) & mask


@inlined
def home_of(table: Any, major: int, minor: int) -> int:
    """The first place that `look_up` probes in a table."""
    return np.int64(home((np.uint64(major) << _32) | np.uint64(minor), np.uint64(table.shape[0] - 1)))


@inlined
def look_up(table: Any, major: int, minor: int) -> int:
    """The value of a key in an open hash table of [key + 1, value + 1], or -1: empty entries are zeroes."""
    key = (np.uint64(major) << _32) | np.uint64(minor)
    mask = np.uint64(table.shape[0] - 1)
    place = home(key, mask)
    while table[place, 0] != key + _1 and table[place, 0] != _0:
        place = (place + _1) & mask
    return np.int64(table[place, 1]) - 1


@compiled
def look_up_all(table: Any, keys: Any, values: Any) -> None:
    """The values of keys (major · 2³² + minor), or -1."""
    for k in range(keys.shape[0]):
        values[k] = look_up(table, np.int64(keys[k] >> _32), np.int64(keys[k] & np.uint64(0xFFFFFFFF)))


@compiled
def enter(table: Any, keys: Any, values: Any) -> int:
    """Enters keys, but for `EMPTY`, and their values; returns how many are new. There must be room."""
    mask = np.uint64(table.shape[0] - 1)
    added = 0
    for k in range(keys.shape[0]):
        key = keys[k]
        fetch(table, np.int64(home(keys[min(k + 16, keys.shape[0] - 1)], mask)))
        if key == EMPTY:
            continue
        place = home(key, mask)
        while table[place, 0] != _0 and table[place, 0] != key + _1:
            place = (place + _1) & mask
        added += table[place, 0] == _0
        table[place, 0], table[place, 1] = key + _1, values[k] + _1
    return added


@inlined
def shift_of(table: Any) -> np.uint64:
    """How far a hash is shifted down to give its home in a table of the upper halves of hashes."""
    shift = np.uint64(64)
    size = table.shape[0]
    while size > 1:
        size >>= 1
        shift -= _1
    return shift


@inlined
def put(entry: np.uint64, table: Any, shift: np.uint64) -> None:
    """Puts a new entry, the upper half of a hash and a number plus one, into a table with room."""
    place = entry >> shift
    while table[place]:
        place = (place + _1) & np.uint64(table.shape[0] - 1)
    table[place] = entry


@compiled
def rehash(before: Any, table: Any) -> None:
    """Puts the entries of a smaller table into an empty one, nearly in its order."""
    shift = shift_of(table)
    for entry in before:
        if entry:
            put(entry, table, shift)


@inlined
def unpack(row: Any, layout: Layout, numbers: Any) -> None:
    for f in range(layout.word.shape[0]):
        numbers[f] = np.int64((row[layout.word[f]] >> layout.shift[f]) & layout.mask[f])


@inlined
def pack(numbers: Any, layout: Layout, row: Any) -> None:
    for w in range(layout.words):
        row[w] = _0
    for f in range(layout.word.shape[0]):
        row[layout.word[f]] |= np.uint64(numbers[f]) << layout.shift[f]


@inlined
def hash_of(row: Any, layout: Layout) -> np.uint64:
    """A hash of all but the monitor state: nodes with one state are neighbours."""
    h, factor = _0, _GOLDEN
    for w in range(layout.words):
        word = row[w] & ~layout.monitor_state_bits[w]
        h += (word ^ word >> _32) * factor
        factor += MIX + MIX
    return spread(h)


@inlined
def owner_of(numbers: Any, n: int, owners: int) -> int:
    """The owner of a row: determined by the cells, so that it does not depend on the layout."""
    h = _0
    for p in range(n):
        h = h * MIX + np.uint64(numbers[1 + p])
    return np.int64(((spread(h) >> _32) * np.uint64(owners)) >> _32)  # evenly, and no division
