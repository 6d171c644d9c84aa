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
from .compiled import compiled, fetch
from .row_kernels import bit_of, canonical, crashed_in, evaluate_end, has_completed, look_up, note

#: The number of rows processed together, and the room for what each of them misses; more is noted when it is expanded
#: again.
PREFETCH_BATCH = 16
MISSES = 128
#: At most this many moves of a row can be noted as sleeping.
MAX_BITS = 31

#: Why a row is not expanded now: it misses an entry; the outbox is full.
MISSED, FULL = 1, 2


@compiled
def expand(rows: Any, is_new: Any, asleep: Any, todo: Any, space: kernels.Space, buffers: kernels.Buffers) -> int:
    """Writes the successors of ``rows[todo]`` to the outbox of their owner; returns how far it got.

    It stops early if an outbox or the list of misses is full.

    Moves *sleep* (`SearchConstants.sleeps`) if their rows are reached by another order of moves: of two moves possible
    at different processes, the one listed first need not follow the other. ``asleep[row]`` has a bit for each process,
    meaning that its own steps sleep, and then one for each slot. A row reached in several ways keeps the bits common to
    all of them: its level is complete before it is expanded. All rows are reached, and sleeping moves are counted;
    their violations were found earlier. This holds if moves of different processes commute, for the monitors too. After
    an action of the channel, or one that emits several packets, nothing sleeps.
    """
    system, tables = space.system, space.tables
    outbox, found, scratch = buffers.outbox, buffers.found, buffers.scratch
    sites, moves, code_at, known_steps = tables.sites, tables.moves, tables.code_at, space.monitor_states.steps
    n, after, listed, first_slot = system.n, scratch.after, scratch.listed, scratch.first_slot
    owners, room = outbox.filled.shape[0], outbox.rows.shape[1]
    renames = system.permutations.shape[0] > 1
    for start in range(0, todo.shape[0], PREFETCH_BATCH):
        if found.used[0] + PREFETCH_BATCH * MISSES > found.misses.shape[0]:
            return start
        some = min(PREFETCH_BATCH, todo.shape[0] - start)
        for k in range(some):
            row = rows[todo[start + k]]
            for p in range(n):
                fetch(sites, np.int64(row[1 + p]))
        for k in range(some):
            row = rows[todo[start + k]]
            total, bit = np.int64(0), n
            for p in range(n):
                site = sites[row[1 + p]]
                total += site[kernels.SENDS_MADE]
                first_slot[k, p] = bit
                bit += site[kernels.SLOTS]
                if site[kernels.MOVES] > 0:
                    fetch(moves, np.int64(site[kernels.MOVES_START]))
                    fetch(moves, np.int64(site[kernels.MOVES_START] + site[kernels.MOVES]) - 1)
            first_slot[k, n] = bit
            listed[k, 0] = total
        for k in range(some):
            r = todo[start + k]
            row, of_row = rows[r], scratch.moves[k]
            may_send, crashed = listed[k, 0] < system.bound, crashed_in(row, space) >= 0
            sleeping = np.int64(asleep[r]) if system.sleeps and first_slot[k, n] <= MAX_BITS else np.int64(0)
            count, what, missed = 0, 0, False
            for p in range(n):
                site = sites[row[1 + p]]
                if site[kernels.MOVES] < 0 or (may_send and site[kernels.SENDS] < 0):
                    note(buffers, kernels.MISS_MOVES, row[1 + p], np.int64(may_send))
                    missed = True
                    continue
                what |= site[kernels.SITE_FLAGS]
                begin = np.int64(site[kernels.MOVES_START])
                end = begin + site[kernels.MOVES] - (0 if crashed else site[kernels.LOSSES])
                if not may_send:
                    begin += max(site[kernels.SENDS], 0)
                for m in range(begin, end):
                    move = moves[m]
                    at = np.int64(move[kernels.OBSERVED])
                    if sleeping >> bit_of(move, p, first_slot[k]) & 1:
                        at = -1
                    else:
                        if at:
                            at = code_at[at * n + p]
                            fetch(known_steps, kernels.home_of(known_steps, row[0], at))
                        if move[kernels.EMITS] > 0:
                            q = kernels.at_distance(p, np.int64(move[kernels.EMITS]) - 1, n)
                            packet = (move[kernels.EMITS] - 1) >> kernels.DISTANCE_BITS
                            fetch(tables.sent_to, kernels.home_of(tables.sent_to, row[1 + q], packet))
                    of_row[count, 0], of_row[count, 1], of_row[count, 2] = m, p, at
                    count += 1
            listed[k, 1], listed[k, 2], listed[k, 3], listed[k, 4] = count, what, missed, sleeping
        for k in range(some):
            r = todo[start + k]
            row, of_row = rows[r], scratch.moves[k]
            total, count, what = listed[k, 0], listed[k, 1], listed[k, 2]
            may_send = total < system.bound
            problem = MISSED if listed[k, 3] else 0
            sleeps = system.sleeps and first_slot[k, n] <= MAX_BITS
            sleeping = listed[k, 4]  # moves that need not follow the later ones
            for m in range(count):
                if of_row[m, 2] > 0:
                    of_row[m, 2] = look_up(known_steps, kernels.MISS_MONITOR_STATE, row[0], of_row[m, 2], buffers)
                    if of_row[m, 2] < 0:
                        problem = MISSED
                elif not of_row[m, 2]:
                    of_row[m, 2] = np.int64(row[0]) << 16
            for owner in range(owners):
                scratch.started[owner] = outbox.filled[owner]
            seen = np.int64(0)
            for m in range(count):
                if problem:
                    break
                if of_row[m, 2] < 0:
                    continue
                move, p = moves[of_row[m, 0]], of_row[m, 1]
                kind, bit = move[kernels.WHAT] & 7, bit_of(move, p, first_slot[k])
                emits = np.int64(move[kernels.EMITS])
                for f in range(1, n + 1):
                    after[f] = row[f]
                after[0], seen = of_row[m, 2] >> 16, seen | of_row[m, 2] & 0xFFFF
                after[1 + p] = move[kernels.TO_SITE]
                later = np.int64(0)  # the moves that sleep after this one
                if sleeps and kind <= kernels.ARRIVAL and emits >= 0:
                    of_p = (np.int64(1) << first_slot[k, p + 1]) - (np.int64(1) << first_slot[k, p])
                    later = sleeping & ~(of_p | np.int64(1) << p)
                    if kind == kernels.ARRIVAL:
                        below = (np.int64(1) << bit) - 1
                        later = (later & below) | (later >> 1 & ~below)
                first, packets = np.int64(0), np.int64(emits > 0)
                if emits < 0:
                    first = np.int64(tables.outcomes[-1 - emits, kernels.EMITS_START])
                    packets = np.int64(tables.outcomes[-1 - emits, kernels.EMITS_COUNT])
                for e in range(first, first + packets):
                    emitted = emits - 1 if emits > 0 else np.int64(tables.emitted[e])
                    q = kernels.at_distance(p, emitted, n)
                    packet = emitted >> kernels.DISTANCE_BITS
                    value = look_up(tables.sent_to, kernels.MISS_SENT_TO, after[1 + q], packet, buffers)
                    if value < 0:
                        problem = MISSED
                        break
                    after[1 + q] = value >> 16
                    place = first_slot[k, q] + (value & 0xFFFF) - (kind == kernels.ARRIVAL and q > p)
                    below = (np.int64(1) << min(place, 62)) - 1
                    later = (later & below) | (later & ~below) << 1
                if problem:
                    break
                if renames:
                    renaming = canonical(after, space, scratch.best, scratch.trial)
                    if renaming >= 0:
                        note(buffers, kernels.MISS_RENAMED_MONITOR_STATE, after[0], renaming)
                        problem = MISSED
                        break
                h = kernels.hash_of(after)
                owner = kernels.owner_of(h, owners)
                place = outbox.filled[owner]
                if place == room:
                    problem = FULL
                    break
                for f in range(n + 1):
                    outbox.rows[owner, place, f] = after[f]
                outbox.hashes[owner, place] = h
                if outbox.asleep.shape[1]:
                    outbox.asleep[owner, place] = later
                if found.origins.shape[0]:
                    found.origins[owner, place] = r
                outbox.filled[owner] = place + 1
                if sleeps:
                    sleeping |= np.int64(1) << bit
            if problem:
                # Its output is undone; it is expanded again once its missing entries, or room, are there.
                for owner in range(owners):
                    outbox.filled[owner] = scratch.started[owner]
                if problem == FULL:
                    found.used[3] = start + k == 0
                    return start + k
                found.again[found.used[1]] = r
                found.used[1] += 1
                continue
            for p in range(n):
                of_site = tables.seen[sites[row[1 + p], kernels.SEEN]]
                seen |= of_site[0] | (of_site[1] if may_send else 0)
            found.seen[0] |= seen
            verdict = 0
            if not what & kernels.MUST_MOVE and not (may_send and what & kernels.MUST_SEND):
                verdict = evaluate_end(row, total, space, found, r)
            elif not system.takes_anything and has_completed(row, space):
                found.seen[1] |= kernels.ENDS_COMPLETE
            if found.marks.shape[0]:
                found.marks[r, 0] = seen
                found.marks[r, 1] = verdict
            if is_new[r]:
                found.counts[0] += count
                found.counts[1] += count == 0
                for m in range(count):
                    found.actions[moves[of_row[m, 0], kernels.WHAT] >> 16] += 1
    return todo.shape[0]
