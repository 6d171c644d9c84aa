"""The moves of a row, and its canonical form, compiled by Numba.

A move is an internal step of a process, the arrival of a packet, or an action of the channel.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from . import kernels
from .compiled import compiled, inlined

_32 = np.uint64(32)


@inlined
def queue_of(slot: int, channel: int, n: int, source: Any) -> int:
    """The sort key of slots; slots with equal keys form a queue."""
    if channel != kernels.FIFO:
        return slot
    mark = (slot - 1) & 1
    rest = (slot - 1) >> 1
    destination = rest & kernels.PROCESS
    return ((destination * n + (destination + source[rest >> kernels.PROCESS_BITS]) % n) << 1) | mark


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
    """Brings slots into the order of a row; slots of one queue keep theirs."""
    for s in range(1, used):
        slot = numbers[first + s]
        numbers[first + s] = 0
        put(numbers, first, s, slot, channel, n, source)


@compiled
def canonical(numbers: Any, fields: int, space: kernels.Space, best: Any, trial: Any) -> int:
    """Brings a row into canonical form: `numbers` becomes the least of its renamings.

    Compared first by the cells, renamed to their orbits' least, then by the cells themselves, the slots and the monitor
    state. Returns -1, or the permutation for which the monitor state's renaming is missing.
    """
    system, tables = space.system, space.tables
    n, permutations = system.n, system.permutations
    first = 1 + n
    used = 0
    while first + used < fields and numbers[first + used]:
        used += 1
    size = first + used
    found = False
    for q in range(permutations.shape[0]):
        fits = True
        # permutations[q, n + place]: the process that takes that place
        for place in range(1, n):
            before = tables.cells[numbers[1 + permutations[q, n + place - 1]], kernels.ORBIT]
            if before > tables.cells[numbers[1 + permutations[q, n + place]], kernels.ORBIT]:
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
            p = rest & kernels.PROCESS
            packet = tables.packet_renamed[(rest >> kernels.PROCESS_BITS) * system.frames + system.frame[q, p]]
            renamed = ((((packet << kernels.PROCESS_BITS) | permutations[q, p]) << 1) | mark) + 1
            put(trial, first, s, renamed, system.channel, n, tables.source)
        for s in range(first, size):
            if verdict:
                break
            if trial[s] != best[s]:
                verdict = -1 if trial[s] < best[s] else 1
        if verdict > 0:
            continue
        if q:
            monitor_state = kernels.look_up(space.monitor_states.renamed, numbers[0], q)
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
def note(buffers: kernels.Buffers, kind: int, major: int, minor: int) -> None:
    """Records a miss, unless it was recorded lately."""
    misses, used, recent = buffers.found.misses, buffers.found.used, buffers.recent
    miss = (np.uint64(kind) << np.uint64(62)) | (np.uint64(major) << _32) | np.uint64(minor)
    place = kernels.spread(miss) & np.uint64(recent.shape[0] - 1)
    if recent[place] != miss and used[0] < misses.shape[0]:
        recent[place] = miss
        misses[used[0]] = miss
        used[0] += 1


@inlined
def added(moves: Any, count: int, kind: int, o: int, s: int, p: int) -> int:
    """Appends a move; returns how many there are now."""
    moves[count, 0], moves[count, 1], moves[count, 2], moves[count, 3] = kind, o, s, p
    return count + 1


@inlined
def crashed_in(numbers: Any, space: kernels.Space) -> int:
    """The process that has crashed, or -1."""
    p = space.system.may_crash
    return p if p >= 0 and space.tables.cells[numbers[1 + p], kernels.CELL_FLAGS] & kernels.CRASHED else -1


@inlined
def list_moves(
    numbers: Any, used: int, handing: bool, space: kernels.Space, buffers: kernels.Buffers, moves: Any
) -> tuple[int, int, bool]:
    """Lists the possible moves, in the rows of `moves`: kind, outcome, slot, process. Returns their number; bit 0: some
    message may be handed over, bit 1: some move is obligatory; and whether an entry was missed. `handing`: true if the
    applications may hand over anything.
    """
    n, channel, takes_anything = space.system.n, space.system.channel, space.system.takes_anything
    tables = space.tables
    cells, outcomes, arrivals, source = tables.cells, tables.outcomes, tables.arrivals, tables.source
    first = 1 + n
    count = 0
    what = 0
    missed = False
    for p in range(n):
        cell = numbers[1 + p]
        own = cells[cell, kernels.OWN_COUNT]
        if own < 0:
            note(buffers, kernels.MISS_OWN, cell, 0)
            missed = True
            continue
        start = cells[cell, kernels.OWN_START]
        for o in range(start, start + own):
            if outcomes[o, kernels.FLAGS] & kernels.HANDS:
                if not handing:
                    continue
                what |= 1 if takes_anything else 3
            elif not outcomes[o, kernels.FLAGS] & kernels.CRASHES:
                what |= 2
            count = added(moves, count, kernels.OWN_STEP, o, 0, p)
    crashed = crashed_in(numbers, space)
    for s in range(used):
        slot = numbers[first + s] - 1
        mark, rest = slot & 1, slot >> 1
        packet = rest >> kernels.PROCESS_BITS
        p = rest & kernels.PROCESS
        group = 0
        if channel == kernels.FIFO:
            group = queue_of(slot + 1, channel, n, source)
            if not mark and s and queue_of(numbers[first + s - 1], channel, n, source) == group:
                continue  # not the first on its link
        elif s and numbers[first + s - 1] == slot + 1:
            continue  # the same once more
        cell = numbers[1 + p]
        entry = kernels.look_up(arrivals, cell, packet)
        if entry < 0:
            note(buffers, kernels.MISS_ARRIVAL, cell, packet)
            missed = True
            continue
        taken_in = False
        if entry & 1:
            overtakes = False
            if channel == kernels.FIFO:
                # Those of its link that reached the process earlier must be refused.
                for b in range(used):
                    if b == s:
                        if mark:
                            break
                        continue
                    if queue_of(numbers[first + b], channel, n, source) != group | 1:
                        continue
                    packet_behind = (numbers[first + b] - 1) >> (1 + kernels.PROCESS_BITS)
                    behind = kernels.look_up(arrivals, cell, packet_behind)
                    if behind < 0:
                        note(buffers, kernels.MISS_ARRIVAL, cell, packet_behind)
                        missed = True
                    elif behind & 1:
                        overtakes = True
                        break
            if not overtakes:
                for o in range(entry >> 21, (entry >> 21) + ((entry >> 1) & 0xFFFFF)):
                    taken_in = True
                    what |= 2
                    count = added(moves, count, kernels.ARRIVAL, o, s, p)
        if channel == kernels.FIFO and not mark and not taken_in:
            what |= 2
            count = added(moves, count, kernels.WAIT, -1, s, p)
        if channel == kernels.LOSSY:
            count = added(moves, count, kernels.LOSE, -1, s, p)
        if crashed >= 0 and (p + source[packet]) % n == crashed and not (mark and channel == kernels.FIFO):
            count = added(moves, count, kernels.LOSE, -1, s, p)
        if channel == kernels.DUPLICATING and not mark:
            count = added(moves, count, kernels.DUPLICATE, -1, s, p)
    return count, what, missed


@inlined
def step_of(monitor_state: int, events: int, space: kernels.Space, buffers: kernels.Buffers) -> int:
    """The effect of events on the monitors: monitor state afterwards · 2¹⁶ + properties broken, or -1 if that
    was missed.
    """
    value = kernels.look_up(space.monitor_states.steps, monitor_state, events)
    if value < 0:
        note(buffers, kernels.MISS_MONITOR_STATE, monitor_state, events)
    return value


@inlined
def seen_of(outcome: Any) -> int:
    """The properties that a local step violates or reaches by itself."""
    seen = outcome[kernels.SEEN_LOW] | np.int64(outcome[kernels.SEEN_HIGH]) << kernels.LOW_BITS
    return seen | kernels.DELIVERS if outcome[kernels.FLAGS] & kernels.DELIVERED else seen


@inlined
def make(after: Any, used: int, kind: int, o: int, s: int, p: int, space: kernels.Space) -> int:
    """Makes a move in `after`, a copy of the row, except for the monitor state; returns the number of used slots."""
    n, channel, source = space.system.n, space.system.channel, space.tables.source
    outcomes, emitted = space.tables.outcomes, space.tables.emitted
    first = 1 + n
    left = used
    if kind != kernels.OWN_STEP:
        slot = after[first + s]
        take(after, first, left, s)
        left -= 1
        if kind in (kernels.WAIT, kernels.DUPLICATE):
            put(after, first, left, slot + 1, channel, n, source)
            left += 1
            if kind == kernels.DUPLICATE:
                put(after, first, left, slot + 1, channel, n, source)
                left += 1
    if kind <= kernels.ARRIVAL:
        after[1 + p] = outcomes[o, kernels.TO_CELL]
        start, count = outcomes[o, kernels.EMITS_START], outcomes[o, kernels.EMITS_COUNT]
        for e in range(start, start + count):
            destination = p + (emitted[e] & kernels.PROCESS)
            if destination >= n:
                destination -= n
            slot = (((emitted[e] & ~kernels.PROCESS) | destination) << 1) + 1
            put(after, first, left, slot, channel, n, source)
            left += 1
    return left


@compiled
def evaluate_end(numbers: Any, total: int, handing: bool, space: kernels.Space, found: kernels.Found, r: int) -> int:
    """Judges a run that ends here, in bits `ENDS_…`."""
    system, cells = space.system, space.tables.cells
    owed = space.monitor_states.owed[numbers[0]]
    unsent = owed >> 32
    crashed = crashed_in(numbers, space)
    if crashed >= 0:
        owed >>= 16
        unsent &= ~(1 << crashed)
    if system.takes_anything:
        finished = total == system.bound
    else:
        finished = True
        for p in range(system.n):
            finished &= cells[numbers[1 + p], kernels.CELL_FLAGS] & kernels.FINISHED != 0
    if (not finished and not handing) or unsent != 0:
        verdict = kernels.ENDS_BLOCKED
        if not system.takes_anything:
            found.blocked[found.used[2]] = r
            found.used[2] += 1
    else:
        verdict = kernels.ENDS_COMPLETE
    for p in range(system.n):
        if owed >> p & 1 and cells[numbers[1 + p], kernels.CELL_FLAGS] & kernels.READY_TO_RECEIVE:
            verdict |= kernels.ENDS_OWING
    found.seen[1] |= verdict
    return verdict
