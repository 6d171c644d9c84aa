"""The moves of a row, and its canonical form, compiled by Numba.

A move is a step of a process's own, the arrival of a packet, or an action of the channel.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled, inlined
from .kernels import (
    ARRIVAL,
    CELL_FLAGS,
    CELL_SEEN,
    DELIVERED,
    DELIVERS,
    DUPLICATE,
    DUPLICATING,
    EMITS_COUNT,
    EMITS_START,
    ENDS_BLOCKED,
    ENDS_COMPLETE,
    ENDS_OWING,
    FIFO,
    FINISHED,
    FLAGS,
    HANDS,
    LOSE,
    LOSSY,
    LOW_BITS,
    MISS_ARRIVAL,
    MISS_MONITOR_STATE,
    MISS_OWN,
    ORBIT,
    OWN_COUNT,
    OWN_START,
    OWN_STEP,
    PROCESS,
    PROCESS_BITS,
    READY_TO_RECEIVE,
    RULES_HIGH,
    RULES_LOW,
    TO_CELL,
    WAIT,
    Found,
    MonitorStates,
    SearchConstants,
    Tables,
    look_up,
    spread,
)

_32 = np.uint64(32)


@inlined
def queue_of(slot: int, channel: int, n: int, source: Any) -> int:
    """Slots are sorted by this, and those that are equal in it are a queue."""
    if channel != FIFO:
        return slot
    mark = (slot - 1) & 1
    rest = (slot - 1) >> 1
    destination = rest & PROCESS
    return ((destination * n + (destination + source[rest >> PROCESS_BITS]) % n) << 1) | mark


@inlined
def take(numbers: Any, first: int, used: int, place: int) -> None:
    for s in range(first + place, first + used - 1):
        numbers[s] = numbers[s + 1]
    numbers[first + used - 1] = 0


@inlined
def put(numbers: Any, first: int, used: int, slot: int, channel: int, n: int, source: Any) -> None:
    group = queue_of(slot, channel, n, source)
    s = first + used
    while s > first and queue_of(numbers[s - 1], channel, n, source) > group:
        numbers[s] = numbers[s - 1]
        s -= 1
    numbers[s] = slot


@compiled
def sort_slots(numbers: Any, first: int, used: int, channel: int, n: int, source: Any) -> None:
    """Brings slots into the order in which a row has them; those of one queue stay in theirs."""
    for s in range(1, used):
        slot = numbers[first + s]
        numbers[first + s] = 0
        put(numbers, first, s, slot, channel, n, source)


@compiled
def canonical(
    numbers: Any,
    fields: int,
    best: Any,
    trial: Any,
    system: SearchConstants,
    tables: Tables,
    monitor_states: MonitorStates,
    first: int,
) -> int:
    """Brings a row into canonical form: `numbers` becomes the least of its renamings.

    Least first by the cells, renamed to their orbits' least, then by the cells themselves, the slots and the monitor
    state. Returns -1, or the permutation by which the monitor state's renaming is missing.
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
            put(trial, first, s, renamed, system.channel, n, tables.source)
        for s in range(first, size):
            if verdict:
                break
            if trial[s] != best[s]:
                verdict = -1 if trial[s] < best[s] else 1
        if verdict > 0:
            continue
        if q:
            monitor_state = look_up(monitor_states.renamed, numbers[0], q)
            if monitor_state < 0:
                return q
        else:
            monitor_state = numbers[0]
        trial[0] = monitor_state
        if verdict < 0 or monitor_state < best[0]:
            for f in range(size):
                best[f] = trial[f]
            found = True
    for f in range(size):
        numbers[f] = best[f]
    return -1


@compiled
def note(misses: Any, used: Any, recent: Any, kind: int, major: int, minor: int) -> None:
    """Notes a miss, unless it was noted lately."""
    miss = (np.uint64(kind) << np.uint64(62)) | (np.uint64(major) << _32) | np.uint64(minor)
    place = spread(miss) & np.uint64(recent.shape[0] - 1)
    if recent[place] != miss and used[0] < misses.shape[0]:
        recent[place] = miss
        misses[used[0]] = miss
        used[0] += 1


@inlined
def list_moves(
    numbers: Any,
    used: int,
    handing: bool,
    system: SearchConstants,
    tables: Tables,
    found: Found,
    recent: Any,
    moves: Any,
) -> tuple[int, int, bool]:
    """Lists what may happen next, in the rows of `moves`: kind, outcome, slot, process. Returns how many there are;
    bit 0: may something be handed over, bit 1: is anything obliged to happen; and whether an entry was missed.
    `handing`: true if the applications may hand over anything.
    """
    n, channel, takes_anything = system.n, system.channel, system.takes_anything
    cells, outcomes, arrivals, source = tables.cells, tables.outcomes, tables.arrivals, tables.source
    misses, noted = found.misses, found.used
    first = 1 + n
    count = 0
    what = 0
    missed = False
    for p in range(n):
        cell = numbers[1 + p]
        own = cells[cell, OWN_COUNT]
        if own < 0:
            note(misses, noted, recent, MISS_OWN, cell, 0)
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
        group = 0
        if channel == FIFO:
            group = queue_of(slot + 1, channel, n, source)
            if not mark and s and queue_of(numbers[first + s - 1], channel, n, source) == group:
                continue  # not the first on its link
        elif s and numbers[first + s - 1] == slot + 1:
            continue  # the same once more
        cell = numbers[1 + p]
        entry = look_up(arrivals, cell, packet)
        if entry < 0:
            note(misses, noted, recent, MISS_ARRIVAL, cell, packet)
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
                    if queue_of(numbers[first + b], channel, n, source) != group | 1:
                        continue
                    packet_behind = (numbers[first + b] - 1) >> (1 + PROCESS_BITS)
                    behind = look_up(arrivals, cell, packet_behind)
                    if behind < 0:
                        note(misses, noted, recent, MISS_ARRIVAL, cell, packet_behind)
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
def step_of(monitor_state: int, events: int, steps: Any, misses: Any, noted: Any, recent: Any) -> int:
    """The effect of events on the monitors: monitor state afterwards · 2¹⁶ + properties broken, or -1 if that
    was missed.
    """
    value = look_up(steps, monitor_state, events)
    if value < 0:
        note(misses, noted, recent, MISS_MONITOR_STATE, monitor_state, events)
    return value


@inlined
def seen_of(outcome: Any, cells: Any) -> int:
    """The properties that a local step breaks or reaches by itself."""
    seen = cells[outcome[TO_CELL], CELL_SEEN] | outcome[RULES_LOW] | np.int64(outcome[RULES_HIGH]) << LOW_BITS
    return seen | DELIVERS if outcome[FLAGS] & DELIVERED else seen


@inlined
def make(
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
    """Makes a move in `after`, a copy of the row, but for the monitor state; returns how many slots are used then."""
    first = 1 + n
    left = used
    if kind != OWN_STEP:
        slot = after[first + s]
        take(after, first, left, s)
        left -= 1
        if kind in (WAIT, DUPLICATE):
            put(after, first, left, slot + 1, channel, n, source)
            left += 1
            if kind == DUPLICATE:
                put(after, first, left, slot + 1, channel, n, source)
                left += 1
    if kind <= ARRIVAL:
        after[1 + p] = outcomes[o, TO_CELL]
        start, count = outcomes[o, EMITS_START], outcomes[o, EMITS_COUNT]
        for e in range(start, start + count):
            destination = p + (emitted[e] & PROCESS)
            if destination >= n:
                destination -= n
            slot = (((emitted[e] & ~PROCESS) | destination) << 1) + 1
            put(after, first, left, slot, channel, n, source)
            left += 1
    return left


@compiled
def evaluate_end(
    numbers: Any,
    total: int,
    handing: bool,
    system: SearchConstants,
    tables: Tables,
    monitor_states: MonitorStates,
    found: Found,
    r: int,
) -> int:
    """Judges a run that ends here, in bits `ENDS_…`."""
    owed = monitor_states.owed[numbers[0]]
    if system.takes_anything:
        finished = total == system.bound
    else:
        finished = True
        for p in range(system.n):
            finished &= tables.cells[numbers[1 + p], CELL_FLAGS] & FINISHED != 0
    if (not finished and not handing) or owed >> 32 != 0:
        verdict = ENDS_BLOCKED
        if not system.takes_anything:
            found.blocked[found.used[2]] = r
            found.used[2] += 1
    else:
        verdict = ENDS_COMPLETE
    for p in range(system.n):
        if owed >> p & 1 and tables.cells[numbers[1 + p], CELL_FLAGS] & READY_TO_RECEIVE:
            verdict |= ENDS_OWING
    found.seen[1] |= verdict
    return verdict
