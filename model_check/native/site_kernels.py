"""The sites of a search and their moves, compiled by Numba; `sites` numbers them.

A site is a sequence of words: its cell, then its slots in the order of `queue_of`. With symmetry reduction sites that
differ by a renaming that leaves process 0 in place have one *orbit*: only the least of them is kept, and the number of
a site is that of its orbit, and in the lowest bits the renaming by which it comes from the least one.

A move is an internal step of its process, the arrival of a packet, or an action of the channel on one of its packets.
It changes this site alone, but for the packets that it emits.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from . import kernels
from .compiled import compiled, inlined
from .kernels import ARRIVAL, DUPLICATE, LOSE, OWN_STEP, WAIT, LocalTables, Orbits
from .pool import Pool

_32 = np.uint64(32)
_1 = np.uint64(1)


@inlined
def queue_of(slot: int, channel: int, source: Any) -> int:
    """The sort key of slots; slots with equal keys form a queue."""
    return source[slot >> 1] << 1 | slot & 1 if channel == kernels.FIFO else slot


@inlined
def put(content: Any, first: int, end: int, slot: int, channel: int, source: Any) -> int:
    """Puts a slot at the end of its queue, among the slots from `first` to `end`; returns its place among them."""
    place, group = end, queue_of(slot, channel, source)
    while place > first and queue_of(np.int64(content[place - 1]), channel, source) > group:
        content[place] = content[place - 1]
        place -= 1
    content[place] = slot
    return place - first


@inlined
def load(content: Any, frame: int, out: Any, at: int, length: int, channel: int, local: LocalTables) -> None:
    """Writes a site of so many words, renamed, to a place of `out`."""
    out[at] = local.cell_renamed[np.int64(content[0]) * local.frames + frame]
    for w in range(1, length):
        slot = np.int64(content[w])
        packet = local.packet_renamed[(slot >> 1) * local.frames + frame]
        put(out, at + 1, at + w, packet << 1 | slot & 1, channel, local.source)


@compiled
def least(some: Pool, count: int, out: Pool, renamings: Any, channel: int, local: LocalTables, orbits: Orbits) -> None:
    """The least renaming of each of some sites; [site, …]: bits: from which renamings of the site it comes."""
    content, frames = out.content, orbits.frames
    for k in range(count):
        begin, length = some.offset[k], some.offset[k + 1] - some.offset[k]
        start = out.offset[k]
        trial = start + length
        for frame in range(frames):
            load(some.content[begin : begin + length], frame, content, trial, length, channel, local)
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
def send_to(keys: Any, places: Any, pool: Pool, out: Pool, channel: int, local: LocalTables, orbits: Orbits) -> None:
    """For each key (site · 2³² + packet) the site with that packet, and the place of its slot."""
    for k in range(keys.shape[0]):
        start = out.offset[k]
        length = content_of(np.int64(keys[k] >> _32), out.content[start:], pool, channel, local, orbits)
        packet = np.int64(keys[k] & kernels.LOW)
        places[k] = put(out.content, start + 1, start + length, packet << 1, channel, local.source)
        out.offset[k + 1] = start + length + 1


@inlined
def content_of(number: int, site: Any, pool: Pool, channel: int, local: LocalTables, orbits: Orbits) -> int:
    """Writes the words of a site; returns their number."""
    orbit, frame = number >> orbits.bits, number & ((1 << orbits.bits) - 1)
    begin, end = pool.offset[orbit], pool.offset[orbit + 1]
    load(pool.content[begin:end], frame, site, 0, end - begin, channel, local)
    return end - begin


@compiled
def make(
    site: Any,
    length: int,
    kind: int,
    slot: int,
    o: int,
    move: Any,
    out: Pool,
    k: int,
    channel: int,
    local: LocalTables,
) -> int:
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
            put(content, start + 1, end, site[1 + slot] | 1, channel, local.source)
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


@inlined
def seen_of(outcome: Any) -> int:
    """The properties that a local step violates or reaches by itself."""
    seen = outcome[kernels.SEEN_LOW] | np.int64(outcome[kernels.SEEN_HIGH]) << kernels.LOW_BITS
    return seen | kernels.DELIVERS if outcome[kernels.FLAGS] & kernels.DELIVERED else seen


@inlined
def note(missing: Any, count: int, kind: int, cell: int, packet: int) -> int:
    """Notes a missing entry; returns how many there are."""
    missing[count] = np.uint64(kind) << np.uint64(62) | np.uint64(cell) << _32 | np.uint64(packet)
    return count + 1


@inlined
def is_next(site: Any, s: int, channel: int, source: Any) -> bool:
    """True if the packet in this slot can be the next to arrive, and no slot before it has the same."""
    if not s:
        return True
    slot, before = site[1 + s], site[s]
    return (channel == kernels.FIFO and slot & 1 != 0) or queue_of(slot, channel, source) != queue_of(
        before, channel, source
    )


@compiled
def list_moves(
    keys: Any,
    facts: Any,
    seen: Any,
    known: int,
    pool: Pool,
    moves: Any,
    out: Pool,
    system: kernels.SearchConstants,
    local: LocalTables,
    orbits: Orbits,
    missing: Any,
    site: Any,
) -> tuple[int, int, int]:
    """Lists the moves of sites, with those that hand over a message if the key (site · 2³² + 0 or 1) is odd, and
    enters them in `facts`, lines of `kernels.Tables`, and in `seen`, of which so many are known; `out` are the sites
    after them. Returns how many moves there are, how many lines of `seen`, and how many entries of the local tables are
    missing; then it must be called again. `site` is room for one site.
    """
    n, channel = system.n, system.channel
    cells, outcomes, arrivals, source = local.cells, local.outcomes, local.arrivals, local.source
    used = count = 0
    for k in range(keys.shape[0]):
        length, hands = content_of(np.int64(keys[k] >> _32), site, pool, channel, local, orbits), keys[k] & _1 != 0
        cell, slots = site[0], length - 1
        started, handing, losses = used, np.int64(0), np.int64(0)
        flags = cells[cell, kernels.CELL_FLAGS]
        by_any, by_handing = np.int64(0), cells[cell, kernels.REFUSED] if hands else np.int64(0)
        if hands or system.takes_own_steps:
            if cells[cell, kernels.OWN_COUNT] < 0:
                count = note(missing, count, kernels.MISS_OWN, cell, 0)
            own = cells[cell, kernels.OWN_START]
            for o in range(own, own + cells[cell, kernels.OWN_COUNT]):
                of_message = outcomes[o, kernels.FLAGS] & kernels.HANDS != 0
                if of_message and not hands:
                    continue
                if of_message:
                    flags |= kernels.MAY_HAND | (0 if system.takes_anything else kernels.MUST_HAND)
                    handing += 1
                    by_handing |= seen_of(outcomes[o])
                else:
                    flags |= 0 if outcomes[o, kernels.FLAGS] & kernels.CRASHES else kernels.MUST_MOVE
                    by_any |= seen_of(outcomes[o])
                used = make(site, length, OWN_STEP, 0, o, moves[used], out, used, channel, local)
        for s in range(slots):
            if not is_next(site, s, channel, source):
                continue
            slot = site[1 + s]
            mark, packet = slot & 1, slot >> 1
            entry = kernels.look_up(arrivals, cell, packet)
            if entry < 0:
                count = note(missing, count, kernels.MISS_ARRIVAL, cell, packet)
                continue
            taken_in = False
            accepted = entry & 1 != 0
            if accepted and channel == kernels.FIFO:
                # Those of its link that reached the process earlier must be refused.
                for b in range(slots):
                    if mark and b == s:
                        break
                    behind = site[1 + b]
                    if b == s or queue_of(behind, channel, source) != queue_of(slot, channel, source) | 1:
                        continue
                    entry_behind = kernels.look_up(arrivals, cell, behind >> 1)
                    if entry_behind < 0:
                        count = note(missing, count, kernels.MISS_ARRIVAL, cell, behind >> 1)
                    elif entry_behind & 1:
                        accepted = False
                        break
            if accepted:
                for o in range(entry >> 21, (entry >> 21) + ((entry >> 1) & 0xFFFFF)):
                    taken_in = True
                    by_any |= seen_of(outcomes[o])
                    used = make(site, length, ARRIVAL, s, o, moves[used], out, used, channel, local)
            waits = channel == kernels.FIFO and not mark and not taken_in
            if taken_in or waits:
                flags |= kernels.MUST_MOVE
            for kind in (WAIT, LOSE, DUPLICATE):
                if (
                    (kind == WAIT and waits)
                    or (kind == LOSE and channel == kernels.LOSSY)
                    or (kind == DUPLICATE and channel == kernels.DUPLICATING and not mark)
                ):
                    used = make(site, length, kind, s, -1, moves[used], out, used, channel, local)
        if system.may_crash >= 0:
            for s in range(slots):
                slot = site[1 + s]
                sender = (cells[cell, kernels.PROCESS] + source[slot >> 1]) % n
                if sender != system.may_crash or not is_next(site, s, channel, source):
                    continue
                if not (slot & 1 and channel == kernels.FIFO):
                    used = make(site, length, LOSE, s, -1, moves[used], out, used, channel, local)
                    losses += 1
        facts[k, kernels.SITE_FLAGS] = flags
        facts[k, kernels.MOVES_START], facts[k, kernels.MOVES] = started, used - started
        facts[k, kernels.HANDING] = handing if hands else -1
        facts[k, kernels.LOSSES] = losses
        place = 0
        while place < known and (seen[place, 0] != by_any or seen[place, 1] != by_handing):
            place += 1
        if place == known:
            seen[known, 0], seen[known, 1] = by_any, by_handing
            known += 1
        facts[k, kernels.SEEN] = place
    return used, known, count
