"""The expansion of rows with reductions, compiled by Numba: symmetry, and moves only just before they matter."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled
from .full_kernels import MISSES
from .kernels import (
    ACTION,
    ARRIVAL,
    CELL_FLAGS,
    CODE,
    EMITS_COUNT,
    ENDS_BLOCKED,
    ENDS_COMPLETE,
    ENDS_OWING,
    FLAGS,
    HANDS,
    MADE,
    MISS_RENAMED_MONITOR_STATE,
    MIX,
    READY_TO_RECEIVE,
    REFUSED,
    WAIT,
    Found,
    Layout,
    MonitorStates,
    Scratch,
    SearchConstants,
    Tables,
    canonical,
    evaluate_end,
    hash_of,
    list_moves,
    make,
    note,
    owner_of,
    pack,
    seen_of,
    spread,
    step_of,
    unpack,
)


@compiled
def expand_reduced(
    rows: Any,
    is_new: Any,
    asleep: Any,
    todo: Any,
    layout: Layout,
    layout_after: Layout,
    system: SearchConstants,
    tables: Tables,
    monitor_states: MonitorStates,
    out: Any,
    out_hashes: Any,
    out_asleep: Any,
    filled: Any,
    found: Found,
    recent: Any,
    scratch: Scratch,
) -> int:
    """Like `full_kernels.expand`, with the reductions that `SearchConstants` enables; no move sleeps.

    In order (`SearchConstants.in_order`) the successors are what a row becomes by steps of one process alone, the last
    of which, and no other, puts a packet on the channel or takes a message from the application. What is left out is
    the same up to the order of commuting steps. With permutations, successors are brought into canonical form.
    """
    n, channel, in_order = system.n, system.channel, system.in_order
    cells, outcomes, arrivals, source = tables.cells, tables.outcomes, tables.arrivals, tables.source
    emitted, code_at, known_steps = tables.emitted, tables.code_at, monitor_states.steps
    misses, noted = found.misses, found.used
    first = 1 + n
    slots, slots_after = layout.slots, layout_after.slots
    fields = first + slots_after
    owners = filled.shape[0]
    reached, after, best, trial = scratch.reached, scratch.after, scratch.best, scratch.trial
    row, started, limit = scratch.row, scratch.started, scratch.limit
    moves, steps, acts, places = scratch.moves[0], scratch.steps[0], scratch.acts, scratch.places
    stamp = scratch.stamp[0]
    scratch.stamp[0] += n * todo.shape[0]
    for f in range(fields):
        limit[f] = np.int64(layout_after.mask[f])
    renames = system.permutations.shape[0] > 1
    numbers = reached[0]
    for t in range(todo.shape[0]):
        if noted[0] + MISSES > misses.shape[0]:
            return t
        r = todo[t]
        unpack(rows[r], layout, numbers)
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
        for only in range(n if in_order else 1):
            # The rows reached by steps of this process alone: `known` of them.
            known = 1
            done = 0
            if in_order:
                stamp += 1  # of the places taken for this process
                h = np.uint64(numbers[0])
                for f in range(1, first + most):
                    h = h * MIX + np.uint64(numbers[f])
                places[np.int64(spread(h) & np.uint64(places.shape[0] - 1))] = stamp << 32
            ends = False
            ends_idle = False
            while done < known and not (missed or full or narrow or crowded):
                here = reached[done]
                done += 1
                used = 0
                while here[first + used]:
                    used += 1
                count, what, missed = list_moves(
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
                for m in range(count):
                    at = outcomes[moves[m, 1], CODE] if moves[m, 0] <= ARRIVAL else 0
                    steps[m] = here[0] << 16
                    if at:
                        at = code_at[at * n + moves[m, 3]]
                        steps[m] = step_of(here[0], at, known_steps, misses, noted, recent)
                        missed |= steps[m] < 0
                if missed:
                    break
                if handing:
                    for p in range(n):
                        seen |= cells[here[1 + p], REFUSED]
                if not what & 2:
                    ends = True
                    ends_idle |= not what & 1
                    if in_order:
                        owed = monitor_states.owed[here[0]]
                        if owed >> only & 1 and cells[here[1 + only], CELL_FLAGS] & READY_TO_RECEIVE:
                            verdict |= ENDS_OWING
                        if owed >> (32 + only) & 1:
                            verdict |= ENDS_BLOCKED
                for m in range(count):
                    kind, o = moves[m, 0], moves[m, 1]
                    seen |= steps[m] & 0xFFFF
                    emits = 0
                    if kind <= ARRIVAL:
                        emits = outcomes[o, EMITS_COUNT]
                        seen |= seen_of(outcomes[o], cells)
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
                    left = make(target, used, kind, o, moves[m, 2], moves[m, 3], n, channel, outcomes, emitted, source)
                    target[0] = steps[m] >> 16
                    target[first + left] = 0
                    if not matters:
                        h = np.uint64(target[0])
                        for f in range(1, first + most):
                            h = h * MIX + np.uint64(target[f])
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
                        q = canonical(after, fields, best, trial, system, tables, monitor_states, first)
                        if q >= 0:
                            note(misses, noted, recent, MISS_RENAMED_MONITOR_STATE, after[0], q)
                            missed = True
                            break
                    for f in range(first + left):
                        narrow |= after[f] > limit[f]
                    if narrow:
                        break
                    pack(after, layout_after, row)
                    owner = 0 if owners == 1 else owner_of(after, n, owners)
                    place = filled[owner]
                    if place == out.shape[1]:
                        full = True
                        break
                    for w in range(layout_after.words):
                        out[owner, place, w] = row[w]
                    out_hashes[owner, place] = hash_of(row, layout_after)
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
                    verdict |= ENDS_BLOCKED
                found.seen[1] |= verdict if verdict & ENDS_BLOCKED else verdict | ENDS_COMPLETE
        elif may_end:
            verdict = evaluate_end(numbers, total, not idle, system, tables, monitor_states, found, r)
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
