"""The inner loops of the native engine, compiled by Numba: all that is done once a global state or transition.

A *row* is a node of the search: `Layout` says in which bits of its 64-bit words each of its numbers stands. They are,
in this order: the ghost; the cell of each process (its local state and how far its application has got); the packets in
flight, one a slot, empty slots last. A slot is ``((packet · 16 + destination) · 2 + mark) + 1``: the mark says that it
waits in the mail room (FIFO) or is a copy (duplicating). Slots are sorted by `_group`; within a group the order is that
of the queue.

Everything here reads tables that `tables` and `ghosts` fill, in Python, where an entry is missed: a row that misses an
entry is put aside whole, and expanded again once the entry is there.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compiled import compiled, inlined

UNORDERED, FIFO, LOSSY, DUPLICATING = range(4)

#: The kinds of moves: a step of a process's own, the taking in of a packet; and what the channel does.
OWN_STEP, ARRIVAL, WAIT, LOSE, DUPLICATE = range(5)

#: The kinds of missing entries, in the upper two bits of a miss; then come 30 bits and 32 of what is looked up.
MISS_OWN, MISS_ARRIVAL, MISS_GHOST, MISS_RENAMED_GHOST = range(4)

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_32 = np.uint64(32)
_29 = np.uint64(29)
_0 = np.uint64(0)
_1 = np.uint64(1)
_7 = np.uint64(7)
_3 = np.uint64(3)

#: In a slot and in what is emitted, the lowest bits (above the mark) name a process.
PROCESS_BITS = 4
PROCESS = (1 << PROCESS_BITS) - 1

#: Bits of what a search sees, beside those of the properties: they stand above them.
DELIVERS = 1 << 62

#: Flags of an outcome.
HANDS, DELIVERED = 1, 2

#: Flags of a cell.
ASKS, FINISHED = 1, 2


class Layout(NamedTuple):
    """Where each number of a row stands."""

    word: Any  #: of each field: which word
    shift: Any  #: its lowest bit there
    mask: Any  #: its bits, shifted down
    ghost_bits: Any  #: of each word: the bits that belong to the ghost
    words: int
    slots: int
    ghosts: int  #: how many ghosts, cells and packets it has room for
    cells: int
    packets: int


class System(NamedTuple):
    """What stays as it is throughout a search."""

    n: int
    channel: int
    bound: int  #: sends in all
    takes_anything: bool
    in_order: bool  #: explore steps that do not matter only just before one that does; see `expand`
    permutations: Any  #: those of the processes, if rows are brought into canonical form; else the identity alone
    frame: Any  #: [permutation, process]: which renaming of its own frame that is
    frames: int  #: how many of those there are


#: Columns of the cells …
MADE, CELL_FLAGS, CELL_SEEN, ORBIT, OWN_START, OWN_COUNT = range(6)
CELL_COLUMNS = 6

#: … and of the outcomes of local transitions.
TO_CELL, FLAGS, CODE, ACTION, EMITS_START, EMITS_COUNT, OUTCOME_SEEN = range(7)
OUTCOME_COLUMNS = 8


class Tables(NamedTuple):
    """The local transitions known so far."""

    cells: Any  #: sends made; flags; properties broken or reached; least renaming; own outcomes: where, how many or -1
    cell_renamed: Any  #: [cell · frames + frame]
    source: Any  #: of each packet: how far before its destination its source is
    packet_renamed: Any
    arrivals: Any  #: (cell, packet) → start of the outcomes · 2²¹ + how many · 2 + is it accepted
    outcomes: Any  #: see above; what the observers are told is numbered as seen from process 0 of the tables
    emitted: Any  #: packet · 16 + how far its destination is
    code_at: Any  #: [code · n + process]: the same, told of that process


class Ghosts(NamedTuple):
    """The steps of the observers known so far."""

    steps: Any  #: (ghost, code) → ghost afterwards · 2¹⁶ + properties broken
    owed: Any  #: of each ghost: to which processes a delivery is owed; from bit 32: whose sends have not happened
    renamed: Any  #: (ghost, permutation) → the ghost renamed


class Found(NamedTuple):
    """What a worker tells, added up."""

    counts: Any  #: transitions, terminal states
    seen: Any  #: properties broken or reached by a transition; live properties broken at an end
    actions: Any  #: of each name: how often
    blocked: Any  #: rows where a program ends unfinished
    misses: Any
    again: Any  #: rows to be expanded again
    origins: Any  #: [owner, place]: the row that a row in a share comes from; empty if nobody asks
    marks: Any  #: of each row: properties that a step from it breaks, live properties that it breaks; likewise
    used: Any  #: how many of: misses, again, blocked; bit 0: too little room in `reached`, bit 1: in a share


class Scratch(NamedTuple):
    """Room that a worker computes in."""

    reached: Any  #: [row, field]: the row itself, and what one process makes of it
    after: Any
    best: Any
    trial: Any
    base: Any
    row: Any
    started: Any
    limit: Any
    moves: Any
    steps: Any
    acts: Any  #: of each action: how often, in this row
    places: Any  #: hash table of the rows in `reached`: stamp · 2³² + row; what has another stamp is empty
    stamp: Any  #: the last stamp that was used


@inlined
def spread(key: np.uint64) -> np.uint64:
    h = key * _GOLDEN
    h ^= h >> _29
    h *= _MIX
    return h ^ (h >> _32)


@inlined
def _home(key: np.uint64, mask: np.uint64) -> np.uint64:
    """Where a key (major · 2³² + minor) is first looked for: those of one major lie in one cache line or two."""
    return (spread(key >> _3) + (key & _7)) & mask


@inlined
def look_up(table: Any, major: int, minor: int) -> int:
    """The value of a key in an open hash table of [key, value], or -1."""
    key = (np.uint64(major) << _32) | np.uint64(minor)
    mask = np.uint64(table.shape[0] - 1)
    place = _home(key, mask)
    while table[place, 0] != key and table[place, 0] != EMPTY:
        place = (place + _1) & mask
    # What is empty has the value -1.
    return np.int64(table[place, 1])


@compiled
def look_up_all(table: Any, keys: Any, values: Any) -> None:
    """The values of keys (major · 2³² + minor), or -1."""
    for k in range(keys.shape[0]):
        values[k] = look_up(table, np.int64(keys[k] >> _32), np.int64(keys[k] & np.uint64(0xFFFFFFFF)))


@compiled
def enter(table: Any, keys: Any, values: Any) -> int:
    """Enters keys with their values, in place of what they had; returns how many are new. There must be room."""
    mask = np.uint64(table.shape[0] - 1)
    added = 0
    for k in range(keys.shape[0]):
        key = keys[k]
        if key == EMPTY:
            continue
        place = _home(key, mask)
        while table[place, 0] != EMPTY and table[place, 0] != key:
            place = (place + _1) & mask
        if table[place, 0] == EMPTY:
            table[place, 0] = key
            added += 1
        table[place, 1] = values[k]
    return added


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
    """Of all but the ghost: nodes with one state are neighbours."""
    h = _0
    for w in range(layout.words):
        h = spread((h ^ (row[w] & ~layout.ghost_bits[w])) + _GOLDEN)
    return h


@inlined
def owner_of(numbers: Any, n: int, owners: int) -> int:
    """Whose row it is: told by the cells, so that it does not depend on the layout."""
    h = _0
    for p in range(n):
        h = h * _MIX + np.uint64(numbers[1 + p])
    return np.int64(((spread(h) >> _32) * np.uint64(owners)) >> _32)  # evenly, and no division


@inlined
def _group(slot: int, channel: int, n: int, source: Any) -> int:
    """Slots are sorted by this, and those that are equal in it are a queue."""
    if channel != FIFO:
        return slot
    mark = (slot - 1) & 1
    rest = (slot - 1) >> 1
    destination = rest & PROCESS
    return ((destination * n + (destination + source[rest >> PROCESS_BITS]) % n) << 1) | mark


@inlined
def _take(numbers: Any, first: int, used: int, place: int) -> None:
    for s in range(first + place, first + used - 1):
        numbers[s] = numbers[s + 1]
    numbers[first + used - 1] = 0


@inlined
def _put(numbers: Any, first: int, used: int, slot: int, channel: int, n: int, source: Any) -> None:
    group = _group(slot, channel, n, source)
    s = first + used
    while s > first and _group(numbers[s - 1], channel, n, source) > group:
        numbers[s] = numbers[s - 1]
        s -= 1
    numbers[s] = slot


@compiled
def sort_slots(numbers: Any, first: int, used: int, channel: int, n: int, source: Any) -> None:
    """Brings slots into the order in which a row has them; those of one queue stay in theirs."""
    for s in range(1, used):
        slot = numbers[first + s]
        numbers[first + s] = 0
        _put(numbers, first, s, slot, channel, n, source)


@compiled
def canonical(
    numbers: Any, fields: int, best: Any, trial: Any, system: System, tables: Tables, ghosts: Ghosts, first: int
) -> int:
    """Brings a row into canonical form: `numbers` becomes the least of its renamings.

    Least first by the cells, renamed to their orbits' least, then by the cells themselves, the slots and the ghost.
    Returns -1, or the permutation by which the ghost's renaming is missing.
    """
    n, permutations = system.n, system.permutations
    used = 0
    while first + used < fields and numbers[first + used]:
        used += 1
    size = first + used
    found = False
    for q in range(permutations.shape[0]):
        fits = True
        # permutations[q, n + place]: who takes that place
        for place in range(1, n):
            before = tables.cells[numbers[1 + permutations[q, n + place - 1]], ORBIT]
            if before > tables.cells[numbers[1 + permutations[q, n + place]], ORBIT]:
                fits = False
                break
        if not fits:
            continue
        verdict = 0 if found else -1  # of the trial against the best: -1 less, 1 greater
        for place in range(n):
            p = permutations[q, n + place]
            cell = tables.cell_renamed[numbers[1 + p] * system.frames + system.frame[q, p]]
            trial[1 + place] = cell
            if not verdict and cell != best[1 + place]:
                verdict = -1 if cell < best[1 + place] else 1
            if verdict > 0:
                break
        if verdict > 0:
            continue
        for s in range(used):
            slot = numbers[first + s] - 1
            mark = slot & 1
            rest = slot >> 1
            p = rest & PROCESS
            packet = tables.packet_renamed[(rest >> PROCESS_BITS) * system.frames + system.frame[q, p]]
            renamed = ((((packet << PROCESS_BITS) | permutations[q, p]) << 1) | mark) + 1
            _put(trial, first, s, renamed, system.channel, n, tables.source)
        for s in range(first, size):
            if verdict:
                break
            if trial[s] != best[s]:
                verdict = -1 if trial[s] < best[s] else 1
        if verdict > 0:
            continue
        if q:
            ghost = look_up(ghosts.renamed, numbers[0], q)
            if ghost < 0:
                return q
        else:
            ghost = numbers[0]
        trial[0] = ghost
        if verdict < 0 or ghost < best[0]:
            for f in range(size):
                best[f] = trial[f]
            found = True
    for f in range(size):
        numbers[f] = best[f]
    return -1


@compiled
def _note(misses: Any, used: Any, recent: Any, kind: int, major: int, minor: int) -> None:
    """Notes a miss, unless it was noted lately."""
    miss = (np.uint64(kind) << np.uint64(62)) | (np.uint64(major) << _32) | np.uint64(minor)
    place = spread(miss) & np.uint64(recent.shape[0] - 1)
    if recent[place] != miss and used[0] < misses.shape[0]:
        recent[place] = miss
        misses[used[0]] = miss
        used[0] += 1


@inlined
def _list_moves(
    numbers: Any,
    used: int,
    only: int,
    handing: bool,
    n: int,
    channel: int,
    takes_anything: bool,
    cells: Any,
    outcomes: Any,
    arrivals: Any,
    source: Any,
    misses: Any,
    noted: Any,
    recent: Any,
    moves: Any,
) -> tuple[int, int, bool]:
    """Lists what may happen next, at the process `only` or at all (-1), in the rows of `moves`: kind, outcome, slot,
    process. Returns how many there are; bit 0: may something be handed over, bit 1: is anything obliged to happen;
    and whether an entry was missed. `handing`: may the applications hand over anything?
    """
    first = 1 + n
    count = 0
    what = 0
    missed = False
    for p in range(n):
        if only >= 0 and only != p:
            continue
        cell = numbers[1 + p]
        own = cells[cell, OWN_COUNT]
        if own < 0:
            _note(misses, noted, recent, MISS_OWN, cell, 0)
            missed = True
            continue
        start = cells[cell, OWN_START]
        for o in range(start, start + own):
            if outcomes[o, FLAGS] & HANDS:
                if not handing:
                    continue
                what |= 1 if takes_anything else 3
            else:
                what |= 2
            moves[count, 0] = OWN_STEP
            moves[count, 1] = o
            moves[count, 2] = 0
            moves[count, 3] = p
            count += 1
    for s in range(used):
        slot = numbers[first + s] - 1
        mark, rest = slot & 1, slot >> 1
        packet = rest >> PROCESS_BITS
        p = rest & PROCESS
        if only >= 0 and only != p:
            continue
        group = 0
        if channel == FIFO:
            group = _group(slot + 1, channel, n, source)
            if not mark and s and _group(numbers[first + s - 1], channel, n, source) == group:
                continue  # not the first on its link
        elif s and numbers[first + s - 1] == slot + 1:
            continue  # the same once more
        cell = numbers[1 + p]
        entry = look_up(arrivals, cell, packet)
        if entry < 0:
            _note(misses, noted, recent, MISS_ARRIVAL, cell, packet)
            missed = True
            continue
        taken_in = False
        if entry & 1:
            overtakes = False
            if channel == FIFO:
                # Those of its link that reached the process earlier must be refused.
                for b in range(used):
                    if b == s:
                        if mark:
                            break
                        continue
                    if _group(numbers[first + b], channel, n, source) != group | 1:
                        continue
                    packet_behind = (numbers[first + b] - 1) >> (1 + PROCESS_BITS)
                    behind = look_up(arrivals, cell, packet_behind)
                    if behind < 0:
                        _note(misses, noted, recent, MISS_ARRIVAL, cell, packet_behind)
                        missed = True
                    elif behind & 1:
                        overtakes = True
                        break
            if not overtakes:
                for o in range(entry >> 21, (entry >> 21) + ((entry >> 1) & 0xFFFFF)):
                    taken_in = True
                    what |= 2
                    moves[count, 0] = ARRIVAL
                    moves[count, 1] = o
                    moves[count, 2] = s
                    moves[count, 3] = p
                    count += 1
        if channel == FIFO and not mark and not taken_in:
            what |= 2
            moves[count, 0] = WAIT
            moves[count, 1] = -1
            moves[count, 2] = s
            moves[count, 3] = p
            count += 1
        if channel == LOSSY:
            moves[count, 0] = LOSE
            moves[count, 1] = -1
            moves[count, 2] = s
            moves[count, 3] = p
            count += 1
        if channel == DUPLICATING and not mark:
            moves[count, 0] = DUPLICATE
            moves[count, 1] = -1
            moves[count, 2] = s
            moves[count, 3] = p
            count += 1
    return count, what, missed


@inlined
def _step_of(
    ghost: int,
    kind: int,
    o: int,
    p: int,
    n: int,
    outcomes: Any,
    code_at: Any,
    steps: Any,
    misses: Any,
    noted: Any,
    recent: Any,
) -> int:
    """What the observers make of a move: ghost afterwards · 2¹⁶ + properties broken, or -1 if that was missed."""
    value = ghost << 16
    if kind <= ARRIVAL:
        code = outcomes[o, CODE]
        if code:
            at = code_at[code * n + p]
            value = look_up(steps, ghost, at)
            if value < 0:
                _note(misses, noted, recent, MISS_GHOST, ghost, at)
    return value


@inlined
def _make(
    after: Any,
    used: int,
    kind: int,
    o: int,
    s: int,
    p: int,
    n: int,
    channel: int,
    outcomes: Any,
    emitted: Any,
    source: Any,
) -> int:
    """Makes a move in `after`, a copy of the row, but for the ghost; returns how many slots are used then."""
    first = 1 + n
    left = used
    if kind != OWN_STEP:
        slot = after[first + s]
        _take(after, first, left, s)
        left -= 1
        if kind in (WAIT, DUPLICATE):
            _put(after, first, left, slot + 1, channel, n, source)
            left += 1
            if kind == DUPLICATE:
                _put(after, first, left, slot + 1, channel, n, source)
                left += 1
    if kind <= ARRIVAL:
        after[1 + p] = outcomes[o, TO_CELL]
        start, count = outcomes[o, EMITS_START], outcomes[o, EMITS_COUNT]
        for e in range(start, start + count):
            destination = p + (emitted[e] & PROCESS)
            if destination >= n:
                destination -= n
            slot = (((emitted[e] & ~PROCESS) | destination) << 1) + 1
            _put(after, first, left, slot, channel, n, source)
            left += 1
    return left


@compiled
def expand(
    rows: Any,
    is_new: Any,
    todo: Any,
    layout: Layout,
    layout_after: Layout,
    system: System,
    tables: Tables,
    ghosts: Ghosts,
    out: Any,
    out_hashes: Any,
    filled: Any,
    found: Found,
    recent: Any,
    scratch: Scratch,
) -> int:
    """Writes the successors of ``rows[todo]`` to ``out[owner]``; returns how far it got, -1 - that if the layout
    afterwards is too narrow.

    An owner's share ends where ``filled[owner]`` says. It stops early where a share or the list of misses is full.

    In order (`System.in_order`) the successors are what a row becomes by steps of one process alone, the last of which,
    and no other, puts a packet on the channel or takes a message from the application. What is left out is the same up
    to the order of steps that cannot tell.
    """
    n, channel, in_order = system.n, system.channel, system.in_order
    cells, outcomes, arrivals, source = tables.cells, tables.outcomes, tables.arrivals, tables.source
    emitted, code_at, known_steps = tables.emitted, tables.code_at, ghosts.steps
    misses, noted = found.misses, found.used
    shift, word, bits = layout_after.shift, layout_after.word, layout_after.ghost_bits
    words = layout_after.words
    first = 1 + n
    slots, slots_after = layout.slots, layout_after.slots
    fields = first + slots_after
    owners = filled.shape[0]
    reached, after, best, trial = scratch.reached, scratch.after, scratch.best, scratch.trial
    base, row, started, limit = scratch.base, scratch.row, scratch.started, scratch.limit
    moves, steps, acts, places = scratch.moves, scratch.steps, scratch.acts, scratch.places
    stamp = scratch.stamp[0]
    scratch.stamp[0] += n * todo.shape[0]
    for f in range(fields):
        limit[f] = np.int64(layout_after.mask[f])
    renames = system.permutations.shape[0] > 1
    whole = not renames and not in_order  # rows change in few places
    numbers = reached[0]
    for t in range(todo.shape[0]):
        if noted[0] + 256 > misses.shape[0]:
            return t
        r = todo[t]
        for f in range(layout.word.shape[0]):
            numbers[f] = np.int64((rows[r, layout.word[f]] >> layout.shift[f]) & layout.mask[f])
        for f in range(first + slots, fields):
            numbers[f] = 0
        total = 0
        for p in range(n):
            total += cells[numbers[1 + p], MADE]
        handing = total < system.bound
        for owner in range(owners):
            started[owner] = filled[owner]
        missed = False
        full = False
        crowded = False
        narrow = False
        seen = np.int64(0)
        transitions = 0
        if in_order:
            for a in range(acts.shape[0]):
                acts[a] = 0
        may_end = True
        most = 0  # slots, used by the row: no step that does not matter takes more
        while numbers[first + most]:
            most += 1
        idle = True  # at every process there is an end at which its application cannot hand over anything
        verdict = 0
        if whole:
            for f in range(first + slots):
                narrow |= f >= fields and numbers[f] > 0
                narrow |= f < fields and numbers[f] > limit[f]
            if not narrow:
                pack(numbers, layout_after, base)
        for only in range(n if in_order else 1):
            # The rows reached by steps of this process alone: `known` of them.
            known = 1
            done = 0
            if in_order:
                stamp += 1  # of the places taken for this process
                h = np.uint64(numbers[0])
                for f in range(1, first + most):
                    h = h * _MIX + np.uint64(numbers[f])
                places[np.int64(spread(h) & np.uint64(places.shape[0] - 1))] = stamp << 32
            ends = False
            ends_idle = False
            while done < known and not (missed or full or narrow or crowded):
                here = reached[done]
                done += 1
                used = 0
                while here[first + used]:
                    used += 1
                count, what, missed = _list_moves(
                    here,
                    used,
                    only if in_order else -1,
                    handing,
                    n,
                    channel,
                    system.takes_anything,
                    cells,
                    outcomes,
                    arrivals,
                    source,
                    misses,
                    noted,
                    recent,
                    moves,
                )
                # All at once: so that the memory that one waits for is fetched while the others go on.
                for m in range(count):
                    steps[m] = _step_of(
                        here[0],
                        moves[m, 0],
                        moves[m, 1],
                        moves[m, 3],
                        n,
                        outcomes,
                        code_at,
                        known_steps,
                        misses,
                        noted,
                        recent,
                    )
                    missed |= steps[m] < 0
                if missed:
                    break
                if not what & 2:
                    ends = True
                    ends_idle |= not what & 1
                    if in_order:
                        owed = ghosts.owed[here[0]]
                        if owed >> only & 1 and cells[here[1 + only], CELL_FLAGS] & ASKS:
                            verdict |= 2
                        if owed >> (32 + only) & 1:
                            verdict |= 1
                for m in range(count):
                    kind, o = moves[m, 0], moves[m, 1]
                    seen |= steps[m] & 0xFFFF
                    emits = 0
                    if kind <= ARRIVAL:
                        emits = outcomes[o, EMITS_COUNT]
                        seen |= outcomes[o, OUTCOME_SEEN]
                    if whole and kind + emits <= 1 and (not emits or channel != FIFO):
                        # Nearly all moves: only a cell and the ghost change, and the slots from one place on. So what
                        # changes is changed in the packed row.
                        p, ghost = moves[m, 3], steps[m] >> 16
                        cell = numbers[1 + p]
                        cell_after = outcomes[o, TO_CELL]
                        narrow |= cell_after > limit[1 + p] or ghost > limit[0] or used + emits > slots_after
                        if narrow:
                            break
                        for w in range(words):
                            row[w] = base[w]
                        row[word[0]] ^= np.uint64(numbers[0] ^ ghost) << shift[0]
                        row[word[1 + p]] ^= np.uint64(cell ^ cell_after) << shift[1 + p]
                        if kind == ARRIVAL:
                            for f in range(first + moves[m, 2], first + used):
                                row[word[f]] ^= np.uint64(numbers[f] ^ numbers[f + 1]) << shift[f]
                        elif emits:
                            sent = emitted[outcomes[o, EMITS_START]]
                            destination = p + (sent & PROCESS)
                            if destination >= n:
                                destination -= n
                            slot = (((sent & ~PROCESS) | destination) << 1) + 1
                            f = first + used
                            narrow |= slot > limit[f]
                            while f > first and numbers[f - 1] > slot:
                                row[word[f]] ^= np.uint64(numbers[f] ^ numbers[f - 1]) << shift[f]
                                f -= 1
                            row[word[f]] ^= np.uint64(numbers[f] ^ slot) << shift[f]
                            if narrow:
                                break
                        owner = 0
                        if owners > 1:
                            numbers[1 + p] = cell_after
                            owner = owner_of(numbers, n, owners)
                            numbers[1 + p] = cell
                    else:
                        matters = not in_order or emits > 0
                        if kind <= ARRIVAL:
                            matters |= outcomes[o, FLAGS] & HANDS != 0
                        if in_order:
                            acts[outcomes[o, ACTION] if kind <= ARRIVAL else kind - WAIT] += 1
                        if not matters and known == reached.shape[0]:
                            crowded = True
                            break
                        target = after if matters else reached[known]
                        for f in range(first + used):
                            target[f] = here[f]
                        for f in range(first + used, fields):
                            target[f] = 0
                        left = _make(
                            target, used, kind, o, moves[m, 2], moves[m, 3], n, channel, outcomes, emitted, source
                        )
                        target[0] = steps[m] >> 16
                        target[first + left] = 0
                        if not matters:
                            h = np.uint64(target[0])
                            for f in range(1, first + most):
                                h = h * _MIX + np.uint64(target[f])
                            place = np.int64(spread(h) & np.uint64(places.shape[0] - 1))
                            same = False
                            while places[place] >> 32 == stamp and not same:
                                same = True
                                for f in range(first + most):
                                    if reached[places[place] & 0xFFFFFFFF, f] != target[f]:
                                        same = False
                                        place = (place + 1) & (places.shape[0] - 1)
                                        break
                            if not same:
                                places[place] = (stamp << 32) | known
                                known += 1
                            continue
                        if left > slots_after:
                            narrow = True
                            break
                        if renames:
                            q = canonical(after, fields, best, trial, system, tables, ghosts, first)
                            if q >= 0:
                                _note(misses, noted, recent, MISS_RENAMED_GHOST, after[0], q)
                                missed = True
                                break
                        for f in range(first + left):
                            narrow |= after[f] > limit[f]
                        if narrow:
                            break
                        pack(after, layout_after, row)
                        owner = 0 if owners == 1 else owner_of(after, n, owners)
                    h = _0
                    for w in range(words):
                        h = spread((h ^ (row[w] & ~bits[w])) + _GOLDEN)
                    place = filled[owner]
                    if place == out.shape[1]:
                        full = True
                        break
                    for w in range(words):
                        out[owner, place, w] = row[w]
                    out_hashes[owner, place] = h
                    if found.origins.shape[0]:
                        found.origins[owner, place] = r
                    filled[owner] = place + 1
                    transitions += 1
            may_end &= ends
            idle &= ends_idle
        if missed or full or narrow or crowded:
            for owner in range(owners):
                filled[owner] = started[owner]
            if crowded:
                noted[3] |= 1
                return t
            if narrow:
                return -1 - t
            if full:
                if not t:
                    noted[3] |= 2
                return t
            found.again[noted[1]] = r
            noted[1] += 1
            continue
        found.seen[0] |= seen
        if in_order:
            if may_end:
                if handing and idle:
                    verdict |= 1
                found.seen[1] |= verdict if verdict & 1 else verdict | 4
        elif may_end:
            verdict = _judge_end(numbers, total, not idle, system, tables, ghosts, found, r)
        if found.marks.shape[0]:
            found.marks[r, 0] = seen
            found.marks[r, 1] = verdict
        if is_new[r]:
            found.counts[0] += transitions
            found.counts[1] += transitions == 0
            if in_order:
                for a in range(acts.shape[0]):
                    found.actions[a] += acts[a]
            else:
                for m in range(transitions):
                    o = moves[m, 1]
                    found.actions[outcomes[o, ACTION] if moves[m, 0] <= ARRIVAL else moves[m, 0] - WAIT] += 1
    return todo.shape[0]


@compiled
def _judge_end(
    numbers: Any, total: int, handing: bool, system: System, tables: Tables, ghosts: Ghosts, found: Found, r: int
) -> int:
    """Judges a run that ends here: bit 0, it blocks; bit 1, something is never delivered; bit 2, it completes."""
    owed = ghosts.owed[numbers[0]]
    if system.takes_anything:
        finished = total == system.bound
    else:
        finished = True
        for p in range(system.n):
            finished &= tables.cells[numbers[1 + p], CELL_FLAGS] & FINISHED != 0
    if (not finished and not handing) or owed >> 32 != 0:
        verdict = 1
        if not system.takes_anything:
            found.blocked[found.used[2]] = r
            found.used[2] += 1
    else:
        verdict = 4
    for p in range(system.n):
        if owed >> p & 1 and tables.cells[numbers[1 + p], CELL_FLAGS] & ASKS:
            verdict |= 2
    found.seen[1] |= verdict
    return verdict


@compiled
def insert(
    incoming: Any,
    hashes: Any,
    count: int,
    layout: Layout,
    rows: Any,
    is_new: Any,
    table: Any,
    level_start: int,
    used: int,
    tallies: Any,
) -> int:
    """Adds the rows that are not there yet to ``rows[used:]``; returns how many there are then. There must be room.

    `tallies` counts: new states, states met again that belong to an earlier level. An entry of the table is the upper
    half of the hash and, plus one, where the row is.
    """
    mask = np.uint64(table.shape[0] - 1)
    words = layout.words
    low = np.uint64(0xFFFFFFFF)
    for k in range(count):
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
                        if difference & ~layout.ghost_bits[w]:
                            same_state = False
                            break
                if same_state:
                    known_state = True
                    if at < level_start:
                        tallies[1] += 1
                    if same:
                        duplicate = True
                        break
            place = (place + _1) & mask
        if duplicate:
            continue
        table[place] = tag | np.uint64(used + 1)
        for w in range(words):
            rows[used, w] = incoming[k, w]
        is_new[used] = not known_state
        tallies[0] += not known_state
        used += 1
    return used


@compiled
def which_are_there(some: Any, hashes: Any, count: int, layout: Layout, rows: Any, table: Any, answers: Any) -> None:
    """Of each of some rows: is its state, with whatever ghost, among `rows`?"""
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
                    if (rows[at, w] ^ some[k, w]) & ~layout.ghost_bits[w]:
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
