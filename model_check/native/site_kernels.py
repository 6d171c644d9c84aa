"""The sites of a search and their moves, compiled by Numba; `sites` numbers them.

A site is a sequence of words: its cell, then its slots in the order of `queue_of`. With symmetry reduction sites that
differ by a renaming that leaves process 0 in place have one *orbit*: only the least of them is kept, and the number of
a site is that of its orbit, and in the lowest bits the renaming by which it comes from the least one.

A move is a step of its process, the arrival of a packet, or an action of the channel on one of its packets.
It changes this site alone, but for the packets that it emits.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from . import kernels
from .compiled import called_by_kernels, compiled
from .kernels import ARRIVAL, DUPLICATE, LOSE, OWN_STEP, WAIT, LocalTables, Orbits
from .pool import Pool

_32 = np.uint64(32)
_1 = np.uint64(1)


@called_by_kernels
def queue_of(slot: int, channel: int, source: Any) -> int:
    """The sort key of slots; slots with equal keys form a queue."""
    return source[slot >> 1] << 1 | slot & 1 if channel == kernels.FIFO else slot


@called_by_kernels
def put(content: Any, first: int, end: int, slot: int, local: LocalTables) -> int:
    """Puts a slot at the end of its queue, among the slots from `first` to `end`; returns its place among them."""
    place, group = end, queue_of(slot, local.channel, local.source)
    while place > first and queue_of(np.int64(content[place - 1]), local.channel, local.source) > group:
        content[place] = content[place - 1]
        place -= 1
    content[place] = slot
    return place - first


@called_by_kernels
def load(content: Any, frame: int, out: Any, length: int, local: LocalTables) -> None:
    """Writes a site of this length, renamed."""
    out[0] = local.cell_renamed[np.int64(content[0]) * local.frames + frame]
    for w in range(1, length):
        slot = np.int64(content[w])
        packet = local.packet_renamed[(slot >> 1) * local.frames + frame]
        put(out, 1, w, packet << 1 | slot & 1, local)


@compiled
def least(some: Pool, out: Pool, renamings: Any, local: LocalTables) -> None:
    """The least renaming of each of some sites; `renamings`, [site, renaming]: whether that gives the least."""
    content, frames = out.content, renamings.shape[1]
    for k in range(renamings.shape[0]):
        begin, length = some.offset[k], some.offset[k + 1] - some.offset[k]
        start = out.offset[k]
        trial = start + length
        for frame in range(frames):
            load(some.content[begin : begin + length], frame, content[trial:], length, local)
            sign = -1 if frame == 0 else 0
            for w in range(length):
                if not sign and content[trial + w] != content[start + w]:
                    sign = -1 if content[trial + w] < content[start + w] else 1
            if sign < 0:
                for w in range(length):
                    content[start + w] = content[trial + w]
                for earlier in range(frame):
                    renamings[k, earlier] = False
            renamings[k, frame] = sign <= 0
        out.offset[k + 1] = trial


@compiled
def place_in_orbits(numbers: Any, known: int, renamings: Any, orbits: Orbits) -> None:
    """Makes the numbers of sites from those of their least renamings; fills `same` for new ones, from `known` on."""
    frames = orbits.frames
    for k in range(numbers.shape[0]):
        orbit, first = numbers[k], np.int64(frames)
        for frame in range(frames):
            if renamings[k, frame]:
                first = min(first, np.int64(orbits.inverse[frame]))
        numbers[k] = orbit << orbits.bits | first
        if orbit < known:
            continue
        for after in range(frames):
            same = after
            for frame in range(frames):
                if renamings[k, frame]:
                    fixing = orbits.then[orbits.inverse[frame], orbits.inverse[first]]  # it leaves the least as it is
                    same = min(same, np.int64(orbits.then[fixing, after]))
            orbits.same[orbit, after] = same


@compiled
def send_to(keys: Any, places: Any, pool: Pool, out: Pool, local: LocalTables) -> None:
    """For each key (site · 2³² + packet) the site with that packet, and the place of its slot."""
    for k in range(keys.shape[0]):
        start = out.offset[k]
        length = content_of(np.int64(keys[k] >> _32), out.content[start:], pool, local)
        packet = np.int64(keys[k] & kernels.LOW)
        places[k] = put(out.content, start + 1, start + length, packet << 1, local)
        out.offset[k + 1] = start + length + 1


@called_by_kernels
def content_of(number: int, site: Any, pool: Pool, local: LocalTables) -> int:
    """Writes the words of a site; returns how many."""
    orbit, frame = number >> local.bits, number & ((1 << local.bits) - 1)
    begin, end = pool.offset[orbit], pool.offset[orbit + 1]
    load(pool.content[begin:end], frame, site, end - begin, local)
    return end - begin


@called_by_kernels
def make(site: Any, length: int, kind: int, slot: int, o: int, move: Any, out: Pool, k: int, local: LocalTables) -> int:
    """Writes a move of a site, by the outcome `o` of a local transition, if it is one, and the site afterwards, as a
    sequence; returns the number of the next one.
    """
    content, start = out.content, out.offset[k]
    end = start
    for w in range(length):
        if kind == OWN_STEP or w != slot + 1:
            content[end] = site[w]
            end += 1
    if kind in (WAIT, DUPLICATE):
        for _ in range(2 if kind == DUPLICATE else 1):
            put(content, start + 1, end, site[1 + slot] | 1, local)
            end += 1
    action, move[kernels.OBSERVED], move[kernels.EMITS] = kind - WAIT, 0, 0
    if kind <= ARRIVAL:
        outcome = local.outcomes[o]
        content[start] = outcome[kernels.TO_CELL]
        action, move[kernels.OBSERVED] = outcome[kernels.ACTION], outcome[kernels.CODE]
        if outcome[kernels.EMITS_COUNT] == 1:
            move[kernels.EMITS] = local.emitted[outcome[kernels.EMITS_START]] + 1
        elif outcome[kernels.EMITS_COUNT]:
            move[kernels.EMITS] = -1 - o
    move[kernels.WHAT] = action << 16 | slot << 3 | kind
    out.offset[k + 1] = end
    return k + 1


@called_by_kernels
def seen_of(outcome: Any) -> int:
    """The properties that a local step violates or reaches by itself."""
    seen = outcome[kernels.SEEN_LOW] | np.int64(outcome[kernels.SEEN_HIGH]) << kernels.LOW_BITS
    return seen | kernels.DELIVERS if outcome[kernels.FLAGS] & kernels.DELIVERED else seen


@called_by_kernels
def miss(missing: Any, count: int, kind: int, cell: int, packet: int) -> int:
    """Records a missing entry; returns how many there are."""
    missing[count] = np.uint64(kind) << np.uint64(62) | np.uint64(cell) << _32 | np.uint64(packet)
    return count + 1


@called_by_kernels
def is_next(site: Any, s: int, local: LocalTables) -> bool:
    """True if the packet in this slot can be the next to arrive, and no slot before it has the same."""
    if not s:
        return True
    before = queue_of(site[s], local.channel, local.source)
    is_waiting = local.channel == kernels.FIFO and site[1 + s] & 1 != 0
    return is_waiting or queue_of(site[1 + s], local.channel, local.source) != before


@called_by_kernels
def follows_accepted(site: Any, length: int, s: int, missing: Any, count: int, local: LocalTables) -> tuple[bool, int]:
    """True if another packet of its link, which reached the process before the one in this slot, is accepted."""
    cell, slot, follows = site[0], site[1 + s], False
    queue = queue_of(slot, local.channel, local.source) | 1
    for b in range(s if slot & 1 else length - 1):
        earlier = site[1 + b]
        if not follows and b != s and queue_of(earlier, local.channel, local.source) == queue:
            entry = kernels.look_up(local.arrivals, cell, earlier >> 1)
            if entry < 0:
                count = miss(missing, count, kernels.MISS_ARRIVAL, cell, earlier >> 1)
            follows = entry >= 0 and entry & 1 != 0
    return follows, count


@compiled
def list_moves(
    keys: Any,
    facts: Any,
    seen: Any,
    pool: Pool,
    moves: Any,
    out: Pool,
    system: kernels.SearchConstants,
    local: LocalTables,
    missing: Any,
    site: Any,
) -> tuple[int, int]:
    """Lists the moves of sites, sends among them if the key (site · 2³² + 0 or 1) is odd: in `moves`, the sites after
    them in `out`, the lines of the sites in `facts` and of `SiteTables.seen` in `seen`. Returns the number of moves and
    of missing entries of the local tables; if there are any, it must be called again. `site` is room for a site.
    """
    n, cells, outcomes = system.n, local.cells, local.outcomes
    is_fifo = local.channel == kernels.FIFO
    used = count = 0
    for k in range(keys.shape[0]):
        length, may_send = content_of(np.int64(keys[k] >> _32), site, pool, local), keys[k] & _1 != 0
        cell, slots = site[0], length - 1
        started, sends, losses = used, np.int64(0), np.int64(0)
        flags = cells[cell, kernels.CELL_FLAGS]
        by_any, by_sends = np.int64(0), cells[cell, kernels.REFUSED] if may_send else np.int64(0)
        if may_send or system.takes_own_steps:
            if cells[cell, kernels.OWN_COUNT] < 0:
                count = miss(missing, count, kernels.MISS_OWN, cell, 0)
            own = cells[cell, kernels.OWN_START]
            for o in range(own, own + cells[cell, kernels.OWN_COUNT]):
                is_send = outcomes[o, kernels.FLAGS] & kernels.SENDS_MESSAGE != 0
                if is_send and not may_send:
                    continue
                if is_send:
                    flags |= kernels.MAY_SEND | (0 if system.takes_anything else kernels.MUST_SEND)
                    sends += 1
                    by_sends |= seen_of(outcomes[o])
                else:
                    flags |= 0 if outcomes[o, kernels.FLAGS] & kernels.CRASHES else kernels.MUST_MOVE
                    by_any |= seen_of(outcomes[o])
                used = make(site, length, OWN_STEP, 0, o, moves[used], out, used, local)
        for s in range(slots):
            if not is_next(site, s, local):
                continue
            is_marked, packet = site[1 + s] & 1 != 0, site[1 + s] >> 1
            entry = kernels.look_up(local.arrivals, cell, packet)
            if entry < 0:
                count = miss(missing, count, kernels.MISS_ARRIVAL, cell, packet)
                continue
            follows = False
            if is_fifo and entry & 1:
                follows, count = follows_accepted(site, length, s, missing, count, local)
            begin, end = entry >> 21, (entry >> 21) + ((entry >> 1) & 0xFFFFF)
            is_received = begin < end and not follows
            if is_received:
                for o in range(begin, end):
                    by_any |= seen_of(outcomes[o])
                    used = make(site, length, ARRIVAL, s, o, moves[used], out, used, local)
            elif is_fifo and not is_marked:
                used = make(site, length, WAIT, s, -1, moves[used], out, used, local)
            if is_received or (is_fifo and not is_marked):
                flags |= kernels.MUST_MOVE
            if local.channel == kernels.LOSSY:
                used = make(site, length, LOSE, s, -1, moves[used], out, used, local)
            if local.channel == kernels.DUPLICATING and not is_marked:
                used = make(site, length, DUPLICATE, s, -1, moves[used], out, used, local)
        if system.may_crash >= 0:
            for s in range(slots):
                sender = (cells[cell, kernels.PROCESS] + local.source[site[1 + s] >> 1]) % n
                if sender == system.may_crash and is_next(site, s, local) and not (is_fifo and site[1 + s] & 1):
                    used = make(site, length, LOSE, s, -1, moves[used], out, used, local)
                    losses += 1
        facts[k, kernels.SITE_FLAGS] = flags
        facts[k, kernels.MOVES_START], facts[k, kernels.MOVES] = started, used - started
        facts[k, kernels.SENDS] = sends if may_send else -1
        facts[k, kernels.LOSSES] = losses
        seen[k, 0], seen[k, 1] = by_any, by_sends
    return used, count
