"""Parts that the inner loops share, compiled by Numba: what they read and write, tables, rows, hashes.

A *site* is a process with the packets in flight to it: its cell (its local state and its application's position), and
its slots, one for each packet: ``packet · 2 + mark``. The mark means that it waits in the hold-back queue (FIFO) or was
duplicated. A *row* is a node of the search: the numbers of its monitor state and of the site of each process,
of 32 bits each.

Everything here reads tables that `tables`, `sites` and `monitor_states` fill when an entry is missed: a row that
misses an entry is set aside whole, and expanded again once the entry is there.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

import math
from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.search.engines import NATIVE_CHANNELS

from .compiled import called_by_kernels, compiled, fetch

UNORDERED, FIFO, LOSSY, DUPLICATING = range(len(NATIVE_CHANNELS))

#: The kinds of moves: a step of the process itself (of its application, too, or its crash); the arrival of a packet;
#: actions of the channel.
OWN_STEP, ARRIVAL, WAIT, LOSE, DUPLICATE = range(5)

#: The kinds of missing entries. A miss has its kind in two bits, and the two numbers of its key in 30 and 32: a site,
#: and 1 for its sends, too; a site and a packet sent to it; a monitor state and events; a monitor state and a renaming.
MISS_MOVES, MISS_SENT_TO, MISS_MONITOR_STATE, MISS_RENAMED_MONITOR_STATE = range(4)
#: The kinds of entries that the moves of a site need: a cell's own steps; the arrival of a packet.
MISS_OWN, MISS_ARRIVAL = range(2)

#: The number of sites, or of monitor states, that fit into the keys of misses.
MAX_NUMBERS = 1 << 30

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

#: The lowest bits of what is emitted: (destination − sender) mod n.
DISTANCE_BITS = 4
DISTANCE = (1 << DISTANCE_BITS) - 1

#: The bit of a delivery, above those of the properties.
DELIVERS = 1 << 62

#: Flags of an outcome.
SENDS_MESSAGE, DELIVERED, CRASHES = 1, 2, 4

#: Flags of a cell, …
READY_TO_RECEIVE, FINISHED, CRASHED = 1, 2, 4
#: … and of its site: some step is obligatory; while sends remain, a send is obligatory; a send is possible.
MUST_MOVE, MUST_SEND, MAY_SEND = 8, 16, 32

#: Facts about a run that ends in a row: it blocks; something is never delivered; it completes. From the bit of
#: `ENDS_BLOCKED_AT` on: process by process, that it can send no more.
ENDS_BLOCKED, ENDS_OWING, ENDS_COMPLETE = 1, 2, 4
ENDS_BLOCKED_AT = 3


class SearchConstants(NamedTuple):
    """The constants of a search."""

    n: int
    bound: int  #: the maximum number of sends in a run
    takes_anything: bool
    takes_own_steps: bool  #: true if a process may take a step without a packet or a message
    sleeps: bool  #: leave out moves that are explored in another order; see `expansion.expand`
    #: Those of the processes, in lexicographic order, if rows are brought into canonical form; else the identity alone.
    permutations: Any
    frame: Any  #: [permutation, process]: the renaming of its site, which is held as process 0 sees it
    may_crash: int  #: the process that may crash, or -1


#: Columns of the cells, …
MADE, CELL_FLAGS, PROCESS, OWN_START, OWN_COUNT, REFUSED = range(6)
CELL_COLUMNS = 6

#: … of the outcomes of local transitions, …
TO_CELL, FLAGS, CODE, ACTION, EMITS_START, EMITS_COUNT, SEEN_LOW, SEEN_HIGH = range(8)
#: The number of property bits in the first of the two columns.
LOW_BITS = 31
OUTCOME_COLUMNS = 8

#: … of the sites: how many slots; sends made; flags; where its moves start; the number of moves, of the sends
#: among them, which come first (-1: not listed), and of losses after a crash, which come last; `SiteTables.seen`.
SLOTS, SENDS_MADE, SITE_FLAGS, MOVES_START, MOVES, SENDS, LOSSES, SEEN = range(8)
SITE_COLUMNS = 8  # of 32 bits: then two sites fill a cache line

#: … and of their moves: the site afterwards; the events that monitors observe; what is emitted, plus one, or if it is
#: more than one packet, minus the outcome, minus one; the action · 2¹⁶ + the slot · 2³ + the kind of move.
TO_SITE, OBSERVED, EMITS, WHAT = range(4)
MOVE_COLUMNS = 4  # of 32 bits: then four moves fill a cache line


class LocalTables(NamedTuple):
    """The local transitions known so far, from which the moves of sites are made."""

    #: sends made; flags; the process in the tables; own outcomes: where, how many or -1; the rules that refused sends
    #: exercise
    cells: Any
    source: Any  #: of each packet: (its source − its destination) mod n
    arrivals: Any  #: (cell, packet) → start of the outcomes · 2²¹ + how many · 2 + is it accepted
    outcomes: Any  #: see above; the events that monitors observe are numbered as seen from process 0 of the tables
    emitted: Any  #: packet · 16 + how far its destination is
    cell_renamed: Any  #: [cell · frames + frame]
    packet_renamed: Any
    frames: int  #: the renamings; more than in `Orbits` if they serve the tables alone
    channel: int
    bits: int  #: as in `Orbits`


class Orbits(NamedTuple):
    """How sites are renamed."""

    frames: int  #: the renamings that leave process 0 in place; one without symmetry reduction
    bits: int  #: those of the number of a site that give its renaming
    then: Any  #: [renaming, renaming]: the one after the other
    inverse: Any
    same: Any  #: [orbit, renaming]: the first that gives the same site


class SiteTables(NamedTuple):
    """The sites and moves known so far."""

    sites: Any
    seen: Any  #: pairs of sets of properties, violated or reached by moves of a site: by any but sends, and by sends
    moves: Any
    sent_to: Any  #: (site, packet) → the site with it · 2¹⁶ + the place of its slot
    outcomes: Any  #: as in `LocalTables`
    emitted: Any
    code_at: Any  #: [code · n + process]: the same, from that process's point of view
    orbits: Orbits


class MonitorTables(NamedTuple):
    """The steps of the monitors known so far."""

    steps: Any  #: (monitor state, code) → monitor state afterwards · 2¹⁶ + properties violated
    #: of each monitor state: to which processes a delivery is owed; from bit 16: by another than the process that may
    #: crash; from bit 32: whose sends have not happened
    owed: Any
    renamed: Any  #: (monitor state, permutation) → the monitor state renamed


class Space(NamedTuple):
    """All that an expansion of rows reads, apart from the rows."""

    system: SearchConstants
    tables: SiteTables
    monitor_states: MonitorTables


class Outbox(NamedTuple):
    """The successors that a worker writes, for each owner."""

    rows: Any  #: [owner, place, number]
    hashes: Any
    asleep: Any  #: which moves sleep; no columns if none do
    filled: Any  #: of each owner: how many


class Found(NamedTuple):
    """The results of a worker, added up."""

    counts: Any  #: transitions, terminal states
    seen: Any  #: properties violated or reached by a transition; live properties violated at an end
    actions: Any  #: of each name: how often
    blocked: Any  #: rows where a program ends unfinished
    misses: Any
    again: Any  #: rows to be expanded again
    origins: Any  #: [owner, place]: the row that a row in an outbox comes from; empty if not requested
    marks: Any  #: of each row: properties that a step from it breaks, live properties that it breaks; likewise
    used: Any  #: how many of: misses, again, blocked; 1 if an outbox has too little room for one row


class Scratch(NamedTuple):
    """Scratch memory of a worker."""

    after: Any  #: a successor, and its renamings
    best: Any
    trial: Any
    started: Any  #: of each owner: how many rows its outbox had before those of this row
    #: [row, move, 3]: the move; its process; -1 if it sleeps, else what monitors observe, then their step
    moves: Any
    listed: Any  #: of each row: sends made, moves, flags of the sites, was an entry missed, which moves sleep
    first_slot: Any  #: [row, process]: the bit of its first slot


class Buffers(NamedTuple):
    """All that an expansion of rows writes."""

    outbox: Outbox
    found: Found
    recent: Any  #: hash table of misses that were noted lately
    scratch: Scratch


@called_by_kernels
def spread(key: np.uint64) -> np.uint64:
    h = key * _GOLDEN
    h ^= h >> _29
    h *= MIX
    return h ^ (h >> _32)


@called_by_kernels
def home(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The first place to probe for a key (major · 2³² + minor). Those of keys that differ in three bits are near."""
    return (spread(key >> _3) + (key & _7)) & mask


@called_by_kernels
def home_of(table: Any, major: int, minor: int) -> int:
    """The first place that `look_up` probes in a table."""
    return np.int64(home((np.uint64(major) << _32) | np.uint64(minor), np.uint64(table.shape[0] - 1)))


@called_by_kernels
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


@called_by_kernels
def shift_of(table: Any) -> np.uint64:
    """How far a hash is shifted down to give its home in a table of the upper halves of hashes."""
    return np.uint64(64 - round(math.log2(table.shape[0])))


@compiled
def rehash(before: Any, table: Any) -> None:
    """Puts the entries of a smaller table into an empty one, nearly in its order."""
    shift = shift_of(table)
    mask = np.uint64(table.shape[0] - 1)
    for entry in before:
        if entry:
            place = entry >> shift
            while table[place]:
                place = (place + _1) & mask
            table[place] = entry


@called_by_kernels
def hash_of(row: Any) -> np.uint64:
    """A hash of all but the monitor state: nodes with one state are neighbours."""
    h, factor = _0, _GOLDEN
    for f in range(1, row.shape[0]):
        h += np.uint64(row[f]) * factor
        factor += MIX + MIX
    return spread(h)


@called_by_kernels
def at_distance(p: int, emitted: int, n: int) -> int:
    """The process to which something is emitted by process p."""
    q = p + (emitted & DISTANCE)
    return q - n if q >= n else q


@called_by_kernels
def owner_of(h: Any, owners: int) -> Any:
    """The owner of a row with this hash, or of each of many; its upper half gives the place in the owner's table."""
    return (h & LOW) * np.uint64(owners) >> _32  # evenly, and no division
