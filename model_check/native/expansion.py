"""The expansion of rows by all moves of each, compiled by Numba.

Most of the time is spent waiting for memory. So a few rows are processed together: first the entries that each of them
will look up are prefetched into the cache, then they are read. With symmetry reduction successors are brought into
canonical form.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from . import kernels
from .compiled import compiled, fetch, inlined
from .moves import canonical, evaluate_end, list_moves, make, note, seen_of, step_of

#: The number of rows processed together, and the maximum number of entries that one row misses.
PREFETCH_BATCH = 8
MISSES = 256

#: Why a row is not expanded now: it misses an entry; the outbox is full; its successors are too wide.
MISSED, FULL, NARROW = 1, 2, 4


@inlined
def send_made(numbers: Any, n: int, cells: Any) -> int:
    total = 0
    for p in range(n):
        total += cells[numbers[1 + p], kernels.MADE]
    return total


@inlined
def canonicalize(after: Any, left: int, space: kernels.Space, buffers: kernels.Buffers) -> int:
    """Brings a successor with `left` slots into canonical form; returns why it cannot be packed, or 0."""
    layout_after, scratch = space.layout_after, buffers.scratch
    first = 1 + space.system.n
    problem = NARROW if left > layout_after.slots else 0
    if not problem and space.system.permutations.shape[0] > 1:
        q = canonical(after, first + layout_after.slots, space, scratch.best, scratch.trial)
        if q >= 0:
            note(buffers, kernels.MISS_RENAMED_MONITOR_STATE, after[0], q)
            problem = MISSED
    if not problem:
        for f in range(first + left):
            if after[f] > scratch.limit[f]:
                problem = NARROW
    return problem


@compiled
def expand(rows: Any, is_new: Any, asleep: Any, todo: Any, space: kernels.Space, buffers: kernels.Buffers) -> int:
    """Writes the successors of ``rows[todo]`` to the outbox of their owner; returns how far it got, or -1 minus that if
    the successors' layout is too narrow.

    It stops early if an outbox or the list of misses is full.

    Moves *sleep* (`SearchConstants.sleeps`) if their rows are reached by another order of moves: of two moves possible
    at different processes, the one listed first need not follow the other. ``asleep[row]`` has a bit for each process,
    meaning that its own steps sleep, and then one for each slot. A row reached in several ways keeps the bits common to
    all of them: its level is complete before it is expanded. All rows are reached, and sleeping moves are counted;
    their violations were found earlier. This holds if moves of different processes commute, for the monitors too. After
    a move that does more than the usual (`make`) nothing sleeps: over FIFO channels two processes might put packets on
    one link, in an order that matters.
    """
    layout, layout_after, system, tables = space.layout, space.layout_after, space.system, space.tables
    outbox, found, scratch = buffers.outbox, buffers.found, buffers.scratch
    n, channel = system.n, system.channel
    cells, outcomes, arrivals = tables.cells, tables.outcomes, tables.arrivals
    emitted, code_at, known_steps = tables.emitted, tables.code_at, space.monitor_states.steps
    shift, word = layout_after.shift, layout_after.word
    words = layout_after.words
    first = 1 + n
    slots_after = layout_after.slots
    fields = first + slots_after
    owners, room = outbox.filled.shape[0], outbox.rows.shape[1]
    after, base, limit = scratch.after, scratch.base, scratch.limit
    theirs, listed, moves, steps = scratch.theirs, scratch.listed, scratch.moves, scratch.steps
    for f in range(fields):
        limit[f] = np.int64(layout_after.mask[f])
    sleeps = system.sleeps and n + slots_after < 32
    renames = system.permutations.shape[0] > 1
    for start in range(0, todo.shape[0], PREFETCH_BATCH):
        if found.used[0] + PREFETCH_BATCH * MISSES > found.misses.shape[0]:
            return start
        some = min(PREFETCH_BATCH, todo.shape[0] - start)
        for k in range(some):
            numbers = scratch.numbers[k]
            kernels.unpack(rows[todo[start + k]], layout, numbers)
            for f in range(first + layout.slots, fields):
                numbers[f] = 0
            s = first
            while numbers[s]:
                rest = (numbers[s] - 1) >> 1
                cell, packet = numbers[1 + (rest & kernels.PROCESS)], rest >> kernels.PROCESS_BITS
                fetch(arrivals, kernels.home_of(arrivals, cell, packet))
                s += 1
            listed[k, 0] = s - first
        for k in range(some):
            numbers = scratch.numbers[k]
            total = send_made(numbers, n, cells)
            count, what, missed = list_moves(numbers, listed[k, 0], total < system.bound, space, buffers, moves[k])
            listed[k, 1], listed[k, 2], listed[k, 3], listed[k, 4] = total, count, what, missed
            sleeping = np.int64(asleep[todo[start + k]]) if sleeps else 0
            for m in range(count):
                kind, o, p = moves[k, m, 0], moves[k, m, 1], moves[k, m, 3]
                at = outcomes[o, kernels.CODE] if kind <= kernels.ARRIVAL else 0
                if sleeping and sleeping >> (p if kind == kernels.OWN_STEP else n + moves[k, m, 2]) & 1:
                    at = -1
                elif at:
                    at = code_at[at * n + p]
                    fetch(known_steps, kernels.home_of(known_steps, numbers[0], at))
                steps[k, m] = at
        for k in range(some):
            r = todo[start + k]
            numbers = scratch.numbers[k]
            used, total, count, what = listed[k, 0], listed[k, 1], listed[k, 2], listed[k, 3]
            problem = MISSED if listed[k, 4] else 0
            sleeping = np.int64(0)  # moves that need not follow the later ones
            if sleeps:
                sleeping = np.int64(asleep[r])
                for p in range(n):
                    theirs[p] = 1 << p
                for s in range(used):
                    theirs[((numbers[first + s] - 1) >> 1) & kernels.PROCESS] |= 1 << (n + s)
            for m in range(count):
                if steps[k, m] > 0:
                    steps[k, m] = step_of(numbers[0], steps[k, m], space, buffers)
                    if steps[k, m] < 0:
                        problem = MISSED
                elif not steps[k, m]:
                    steps[k, m] = numbers[0] << 16
            for owner in range(owners):
                scratch.started[owner] = outbox.filled[owner]
            seen = np.int64(0)
            if total < system.bound:
                for p in range(n):
                    seen |= cells[numbers[1 + p], kernels.REFUSED]
            if not problem and not renames:
                for f in range(first + used):
                    if f >= fields or numbers[f] > limit[f]:
                        problem = NARROW
                if not problem:
                    kernels.pack(numbers, layout_after, base)
            for m in range(count):
                if problem:
                    break
                if steps[k, m] < 0:
                    continue
                kind, o, p = moves[k, m, 0], moves[k, m, 1], moves[k, m, 3]
                monitor_state = steps[k, m] >> 16
                later = np.int64(0)  # the moves that sleep after this one
                seen |= steps[k, m] & 0xFFFF
                emits = 0
                if kind <= kernels.ARRIVAL:
                    emits = outcomes[o, kernels.EMITS_COUNT]
                    seen |= seen_of(outcomes[o])
                if kind + emits <= 1 and (not emits or channel != kernels.FIFO) and not renames:
                    # Nearly all moves: only a cell and the monitor state change, and the slots from one place on. So
                    # what changes is changed in the packed row.
                    cell = numbers[1 + p]
                    cell_after = np.int64(outcomes[o, kernels.TO_CELL])
                    if cell_after > limit[1 + p] or monitor_state > limit[0] or used + emits > slots_after:
                        problem = NARROW
                        break
                    owner = 0
                    if owners > 1:
                        numbers[1 + p] = cell_after
                        owner = kernels.owner_of(numbers, n, owners)
                        numbers[1 + p] = cell
                    place = outbox.filled[owner]
                    if place == room:
                        problem = FULL
                        break
                    row = outbox.rows[owner, place]
                    for w in range(words):
                        row[w] = base[w]
                    row[word[0]] ^= np.uint64(numbers[0] ^ monitor_state) << shift[0]
                    row[word[1 + p]] ^= np.uint64(cell ^ cell_after) << shift[1 + p]
                    if sleeps:
                        later = sleeping & ~theirs[p]
                    if kind == kernels.ARRIVAL:
                        below = (1 << (n + moves[k, m, 2])) - 1
                        later = (later & below) | (later >> 1 & ~below)
                        for f in range(first + moves[k, m, 2], first + used):
                            row[word[f]] ^= np.uint64(numbers[f] ^ numbers[f + 1]) << shift[f]
                    elif emits:
                        sent = emitted[outcomes[o, kernels.EMITS_START]]
                        destination = p + (sent & kernels.PROCESS)
                        if destination >= n:
                            destination -= n
                        slot = (((sent & ~kernels.PROCESS) | destination) << 1) + 1
                        f = first + used
                        if slot > limit[f]:
                            problem = NARROW
                            break
                        while f > first and numbers[f - 1] > slot:
                            row[word[f]] ^= np.uint64(numbers[f] ^ numbers[f - 1]) << shift[f]
                            f -= 1
                        row[word[f]] ^= np.uint64(numbers[f] ^ slot) << shift[f]
                        below = (1 << (n + f - first)) - 1
                        later = (later & below) | (later & ~below) << 1
                else:
                    for f in range(first + used):
                        after[f] = numbers[f]
                    for f in range(first + used, fields):
                        after[f] = 0
                    left = make(after, used, kind, o, moves[k, m, 2], p, space)
                    after[0] = monitor_state
                    after[first + left] = 0
                    problem = canonicalize(after, left, space, buffers)
                    owner = 0 if owners == 1 else kernels.owner_of(after, n, owners)
                    place = outbox.filled[owner]
                    if not problem and place == room:
                        problem = FULL
                    if problem:
                        break
                    kernels.pack(after, layout_after, outbox.rows[owner, place])
                outbox.hashes[owner, place] = kernels.hash_of(outbox.rows[owner, place], layout_after)
                if outbox.asleep.shape[1]:
                    outbox.asleep[owner, place] = later
                if found.origins.shape[0]:
                    found.origins[owner, place] = r
                outbox.filled[owner] = place + 1
                if sleeps:
                    sleeping |= 1 << (p if kind == kernels.OWN_STEP else n + moves[k, m, 2])
            if problem:
                # Its output is undone; it is expanded again once its missing entries, or room, are there.
                for owner in range(owners):
                    outbox.filled[owner] = scratch.started[owner]
                if problem & NARROW:
                    return -1 - (start + k)
                if problem & FULL:
                    found.used[3] = start + k == 0
                    return start + k
                found.again[found.used[1]] = r
                found.used[1] += 1
                continue
            found.seen[0] |= seen
            verdict = 0
            if not what & 2:
                verdict = evaluate_end(numbers, total, what & 1 != 0, space, found, r)
            if found.marks.shape[0]:
                found.marks[r, 0] = seen
                found.marks[r, 1] = verdict
            if is_new[r]:
                found.counts[0] += count
                found.counts[1] += count == 0
                for m in range(count):
                    o = moves[k, m, 1]
                    kind = moves[k, m, 0]
                    found.actions[outcomes[o, kernels.ACTION] if kind <= kernels.ARRIVAL else kind - kernels.WAIT] += 1
    return todo.shape[0]
