"""The expansion of rows in order (`--reduce order`), compiled by Numba: moves only just before they matter."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled, inlined
from .expansion import CROWDED, MISSED, MISSES, pack_successor, put_aside, send_made, write
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
    MIX,
    READY_TO_RECEIVE,
    REFUSED,
    WAIT,
    Found,
    Layout,
    MonitorStates,
    Outbox,
    Scratch,
    SearchConstants,
    Tables,
    owner_of,
    spread,
    unpack,
)
from .moves import list_moves, make, seen_of, step_of


@compiled
def expand_in_order(
    rows: Any,
    is_new: Any,
    asleep: Any,
    todo: Any,
    layout: Layout,
    layout_after: Layout,
    system: SearchConstants,
    tables: Tables,
    monitor_states: MonitorStates,
    outbox: Outbox,
    found: Found,
    recent: Any,
    scratch: Scratch,
) -> int:
    """Like `expand`, but the successors are what a row becomes by steps of one process alone, the last of which, and no
    other, puts a packet on the channel or takes a message from the application: these steps *matter*. What is left out
    is the same up to the order of commuting steps. No move sleeps.
    """
    n, channel = system.n, system.channel
    cells, outcomes, source = tables.cells, tables.outcomes, tables.source
    emitted, code_at, known_steps = tables.emitted, tables.code_at, monitor_states.steps
    first = 1 + n
    fields = first + layout_after.slots
    owners = outbox.filled.shape[0]
    reached, after = scratch.reached, scratch.after
    moves, steps, acts, places = scratch.moves[0], scratch.steps[0], scratch.acts, scratch.places
    stamp = scratch.stamp[0]
    scratch.stamp[0] += n * todo.shape[0]
    for f in range(fields):
        scratch.limit[f] = np.int64(layout_after.mask[f])
    numbers = reached[0]
    for t in range(todo.shape[0]):
        if found.used[0] + MISSES > found.misses.shape[0]:
            return t
        r = todo[t]
        unpack(rows[r], layout, numbers)
        for f in range(first + layout.slots, fields):
            numbers[f] = 0
        handing = send_made(numbers, n, cells) < system.bound
        for owner in range(owners):
            scratch.started[owner] = outbox.filled[owner]
        for a in range(acts.shape[0]):
            acts[a] = 0
        problem = 0
        seen = np.int64(0)
        transitions = 0
        may_end = True
        idle = True  # at every process there is an end at which its application cannot hand over anything
        verdict = 0
        most = 0  # slots, used by the row: no step that does not matter takes more
        while numbers[first + most]:
            most += 1
        for only in range(n):
            # The rows reached by steps of this process alone: `known` of them.
            known = 1
            done = 0
            stamp += 1  # of the places taken for this process
            places[_place_of(numbers, first + most, places)] = stamp << 32
            ends = False
            ends_idle = False
            while done < known and not problem:
                here = reached[done]
                done += 1
                used = 0
                while here[first + used]:
                    used += 1
                count, what, missed = list_moves(here, used, only, handing, system, tables, found, recent, moves)
                if missed:
                    problem = MISSED
                for m in range(count):
                    at = outcomes[moves[m, 1], CODE] if moves[m, 0] <= ARRIVAL else 0
                    steps[m] = here[0] << 16
                    if at:
                        at = code_at[at * n + moves[m, 3]]
                        steps[m] = step_of(here[0], at, known_steps, found.misses, found.used, recent)
                        if steps[m] < 0:
                            problem = MISSED
                if problem:
                    break
                if handing:
                    for p in range(n):
                        seen |= cells[here[1 + p], REFUSED]
                if not what & 2:
                    ends = True
                    ends_idle |= not what & 1
                    owed = monitor_states.owed[here[0]]
                    if owed >> only & 1 and cells[here[1 + only], CELL_FLAGS] & READY_TO_RECEIVE:
                        verdict |= ENDS_OWING
                    if owed >> (32 + only) & 1:
                        verdict |= ENDS_BLOCKED
                for m in range(count):
                    kind, o = moves[m, 0], moves[m, 1]
                    seen |= steps[m] & 0xFFFF
                    matters = False
                    if kind <= ARRIVAL:
                        seen |= seen_of(outcomes[o], cells)
                        matters = outcomes[o, EMITS_COUNT] > 0 or outcomes[o, FLAGS] & HANDS != 0
                    acts[outcomes[o, ACTION] if kind <= ARRIVAL else kind - WAIT] += 1
                    if not matters and known == reached.shape[0]:
                        problem = CROWDED
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
                        place = _place_of(target, first + most, places)
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
                    problem = pack_successor(
                        after, left, layout_after, system, tables, monitor_states, found, recent, scratch
                    )
                    if not problem:
                        owner = 0 if owners == 1 else owner_of(after, n, owners)
                        problem = write(scratch.row, owner, r, 0, layout_after, outbox, found)
                    if problem:
                        break
                    transitions += 1
            may_end &= ends
            idle &= ends_idle
        if problem:
            answer = put_aside(problem, t, r, outbox, found, scratch)
            if answer > -1 << 62:
                return answer
            continue
        found.seen[0] |= seen
        if may_end:
            if handing and idle:
                verdict |= ENDS_BLOCKED
            found.seen[1] |= verdict if verdict & ENDS_BLOCKED else verdict | ENDS_COMPLETE
        if found.marks.shape[0]:
            found.marks[r, 0] = seen
            found.marks[r, 1] = verdict
        if is_new[r]:
            found.counts[0] += transitions
            found.counts[1] += transitions == 0
            for a in range(acts.shape[0]):
                found.actions[a] += acts[a]
    return todo.shape[0]


@inlined
def _place_of(numbers: Any, count: int, places: Any) -> int:
    """The place in a hash table where a row of `count` numbers is first looked for."""
    h = np.uint64(numbers[0])
    for f in range(1, count):
        h = h * MIX + np.uint64(numbers[f])
    return np.int64(spread(h) & np.uint64(places.shape[0] - 1))
