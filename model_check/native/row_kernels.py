"""The look-ups of the expansion of a row, its canonical form, and the end of a run, compiled by Numba."""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from . import kernels
from .compiled import called_by_kernels, compiled

_32 = np.uint64(32)


@called_by_kernels
def note(buffers: kernels.Buffers, kind: int, major: int, minor: int) -> None:
    """Records a miss, unless it was recorded lately."""
    misses, used, recent = buffers.found.misses, buffers.found.used, buffers.recent
    miss = (np.uint64(kind) << np.uint64(62)) | (np.uint64(major) << _32) | np.uint64(minor)
    place = kernels.spread(miss) & np.uint64(recent.shape[0] - 1)
    if recent[place] != miss and used[0] < misses.shape[0]:
        recent[place] = miss
        misses[used[0]] = miss
        used[0] += 1


@called_by_kernels
def look_up(table: Any, kind: int, major: int, minor: int, buffers: kernels.Buffers) -> int:
    """The value of a key in a table, or -1 if it is missing, which is recorded as a miss of this kind."""
    value = kernels.look_up(table, major, minor)
    if value < 0:
        note(buffers, kind, major, minor)
    return value


@called_by_kernels
def bit_of(move: Any, p: int, first_slot: Any) -> int:
    """The bit that says that a move of process p sleeps."""
    kind, slot = move[kernels.WHAT] & 7, move[kernels.WHAT] >> 3 & 0x1FFF
    return p if kind == kernels.OWN_STEP else first_slot[p] + slot


@called_by_kernels
def crashed_in(row: Any, space: kernels.Space) -> int:
    """The process that has crashed, or -1."""
    p = space.system.may_crash
    return p if p >= 0 and space.tables.sites[row[1 + p], kernels.SITE_FLAGS] & kernels.CRASHED else -1


@compiled
def canonical(row: Any, space: kernels.Space, best: Any, trial: Any) -> int:
    """Brings a row into canonical form: it becomes the least of its renamings.

    Compared first by the orbits of the sites, then by the sites themselves and the monitor state. Returns -1,
    or the permutation for which the monitor state's renaming is missing.
    """
    system, orbits = space.system, space.tables.orbits
    n, permutations, bits = system.n, system.permutations, orbits.bits
    found, ties, rank = False, False, 0
    for p in range(n):
        less = 0  # the number of later processes whose orbits are less
        for other in range(p + 1, n):
            less += row[1 + other] >> bits < row[1 + p] >> bits
            ties |= row[1 + other] >> bits == row[1 + p] >> bits
        rank = rank * (n - p) + less
    # Without ties one permutation sorts them; all are in lexicographic order.
    for q in range(0 if ties else rank, permutations.shape[0] if ties else rank + 1):
        fits = True
        # permutations[q, n + place]: the process that takes that place
        for place in range(1, n):
            before = row[1 + permutations[q, n + place - 1]] >> bits
            if before > row[1 + permutations[q, n + place]] >> bits:
                fits = False
                break
        if not fits:
            continue
        verdict = 0 if found else -1  # of the trial against the best: -1 less, 1 greater
        for place in range(n):
            p = permutations[q, n + place]
            orbit, renaming = row[1 + p] >> bits, row[1 + p] & ((1 << bits) - 1)
            site = orbit << bits | np.int64(orbits.same[orbit, orbits.then[renaming, system.frame[q, p]]])
            trial[1 + place] = site
            if not verdict and site != best[1 + place]:
                verdict = -1 if site < best[1 + place] else 1
            if verdict > 0:
                break
        if verdict > 0:
            continue
        monitor_state = row[0]
        if q:
            monitor_state = kernels.look_up(space.monitor_states.renamed, row[0], q)
            if monitor_state < 0:
                return q
        trial[0] = monitor_state
        if verdict < 0 or monitor_state < best[0]:
            for f in range(n + 1):
                best[f] = trial[f]
            found = True
    for f in range(n + 1):
        row[f] = best[f]
    return -1


@called_by_kernels
def unsent_in(row: Any, space: kernels.Space) -> int:
    """The processes that submitted a message and have not sent it, but for a crashed one, as bits."""
    unsent, crashed = space.monitor_states.owed[row[0]] >> 32, crashed_in(row, space)
    return unsent & ~(1 << crashed) if crashed >= 0 else unsent


@called_by_kernels
def programs_end(row: Any, space: kernels.Space) -> bool:
    """True if every process is at the end of its program."""
    finished = True
    for p in range(space.system.n):
        finished &= space.tables.sites[row[1 + p], kernels.SITE_FLAGS] & kernels.FINISHED != 0
    return finished


@called_by_kernels
def has_completed(row: Any, space: kernels.Space) -> bool:
    """True if every process is at the end of its program, and all that was submitted is sent."""
    return programs_end(row, space) and unsent_in(row, space) == 0


@called_by_kernels
def evaluate_end(row: Any, total: int, space: kernels.Space, found: kernels.Found, r: int) -> int:
    """Judges a run that ends here, in bits `ENDS_…`."""
    system, sites = space.system, space.tables.sites
    owed, unsent = space.monitor_states.owed[row[0]], unsent_in(row, space)
    if crashed_in(row, space) >= 0:
        owed >>= 16
    finished = total == system.bound if system.takes_anything else programs_end(row, space)
    if (not finished and not system.takes_anything) or unsent != 0:
        verdict = kernels.ENDS_BLOCKED
        if not system.takes_anything:
            found.blocked[found.used[2]] = r
            found.used[2] += 1
    else:
        verdict = kernels.ENDS_COMPLETE
    for p in range(system.n):
        flags = sites[row[1 + p], kernels.SITE_FLAGS]
        if owed >> p & 1 and flags & kernels.READY_TO_RECEIVE:
            verdict |= kernels.ENDS_OWING
        if system.takes_anything and not finished and not flags & (kernels.MAY_SEND | kernels.CRASHED):
            verdict |= 1 << kernels.ENDS_BLOCKED_AT + p
    found.seen[1] |= verdict
    return verdict
