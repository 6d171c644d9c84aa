"""The loops of `kernels` on whole arrays, by NumPy alone: what the engine runs where Numba is absent.

The functions have the names, arguments and contracts of those in `kernels`. Rows are unpacked to one array, a field a
line, and the moves of many rows are made at once. There is one worker and no reduction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels
from .kernels import ARRIVAL, DUPLICATE, FIFO, LOSE, OWN_STEP, PROCESS, PROCESS_BITS, WAIT, Layout

#: Rows that are expanded at once, and rows that are looked at once otherwise: what they are made to should fit a cache.
SOME = 1 << 12
MANY = 1 << 16

#: Within `expand` a slot has its group above these bits, and an empty one is beyond all.
SLOT_BITS = 40
SLOT = (1 << SLOT_BITS) - 1
BEYOND = 1 << 62

_GOLDEN, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_29, _32 = np.uint64(29), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _spread(keys: Any) -> Any:
    h = keys * _GOLDEN
    h ^= h >> _29
    h *= _MIX
    h ^= h >> _32
    return h


def _hashes(rows: Any, layout: Layout) -> Any:
    """Of all but the ghost, of each row."""
    h = np.zeros(len(rows), np.uint64)
    for w in range(layout.words):
        h = _spread((h ^ (rows[:, w] & ~layout.ghost_bits[w])) + _GOLDEN)
    return h


def _unpacked(rows: Any, layout: Layout) -> Any:
    """The numbers of each row, as [field, row]."""
    numbers = np.empty((len(layout.word), len(rows)), np.int64)
    for f, word in enumerate(layout.word.tolist()):
        numbers[f] = (rows[:, word] >> layout.shift[f]) & layout.mask[f]
    return numbers


def _pack(numbers: Any, layout: Layout, out: Any) -> None:
    """Packs [field, row] into rows; fields that are not given are 0."""
    for w in range(layout.words):
        word = np.zeros(len(out), np.uint64)
        for f in np.flatnonzero(layout.word[: len(numbers)] == w).tolist():
            word |= numbers[f].astype(np.uint64) << layout.shift[f]
        out[:, w] = word


def unpack(row: Any, layout: Layout, numbers: Any) -> None:
    numbers[: len(layout.word)] = _unpacked(row[None, :], layout)[:, 0]


def pack(numbers: Any, layout: Layout, row: Any) -> None:
    _pack(numbers[: len(layout.word), None], layout, row[None, :])


def hash_of(row: Any, layout: Layout) -> Any:
    return _hashes(row[None, :], layout)[0]


def owners_of(rows: Any, layout: Layout, n: int, owners: int, numbers: Any, out: Any) -> None:
    assert owners == 1
    out[:] = 0


def repack(rows: Any, count: int, before: Layout, after: Layout, out: Any, numbers: Any) -> None:
    for start in range(0, count, MANY):
        end = min(start + MANY, count)
        _pack(_unpacked(rows[start:end], before), after, out[start:end])


# -- hash tables of numbers --------------------------------------------------------------------------------------------


def _homes(keys: Any, size: int) -> Any:
    """Where keys are first looked for: anywhere, since all go on until the last one is found."""
    return (_spread(keys) & np.uint64(size - 1)).view(np.int64)


def look_up(table: Any, majors: Any, minors: Any) -> Any:
    """The value of each key in an open hash table of [key, value], or -1."""
    keys = (majors.astype(np.uint64) << _32) | minors.astype(np.uint64)
    places = _homes(keys, len(table))
    entries = table[places]
    values = entries[:, 1].astype(np.int64)
    # What is empty has the value -1.
    left = np.flatnonzero((entries[:, 0] != keys) & (entries[:, 0] != kernels.EMPTY))
    while len(left):
        places[left] = (places[left] + 1) & (len(table) - 1)
        entries = table[places[left]]
        values[left] = entries[:, 1].astype(np.int64)
        left = left[(entries[:, 0] != keys[left]) & (entries[:, 0] != kernels.EMPTY)]
    return values


def enter(table: Any, keys: Any, values: Any) -> int:
    there = keys != kernels.EMPTY
    keys, values = keys[there], values[there]
    places = _homes(keys, len(table))
    added = 0
    while len(keys):
        empty = np.unique(places[table[places, 0] == kernels.EMPTY])
        added += len(empty)
        claims = table[places, 0] == kernels.EMPTY
        # Of several that claim one place, one gets it.
        table[places[claims], 0] = keys[claims]
        settled = table[places, 0] == keys
        table[places[settled], 1] = values[settled]
        keys, values, places = keys[~settled], values[~settled], (places[~settled] + 1) & (len(table) - 1)
    return added


# -- shelves -----------------------------------------------------------------------------------------------------------


def insert(
    incoming: Any,
    hashes: Any,
    incoming_asleep: Any,
    count: int,
    layout: Layout,
    rows: Any,
    is_new: Any,
    asleep: Any,
    table: Any,
    level_start: int,
    used: int,
    tallies: Any,
) -> int:
    for start in range(0, count, MANY):
        end = min(start + MANY, count)
        used = _insert(incoming[start:end], hashes[start:end], layout, rows, is_new, table, level_start, used, tallies)
    return used


def _insert(
    incoming: Any,
    hashes: Any,
    layout: Layout,
    rows: Any,
    is_new: Any,
    table: Any,
    level_start: int,
    used: int,
    tallies: Any,
) -> int:
    """All look at their places at once and go on from there together. Rows of one state look at the same places, so
    that none can miss another one: whoever claims an empty place in vain looks at it again.
    """
    mask = len(table) - 1
    tags = hashes & ~_LOW
    places = (hashes & np.uint64(mask)).astype(np.int64)
    known = np.zeros(len(incoming), np.bool_)
    left = np.arange(len(incoming))
    while len(left):
        at = places[left]
        entries = table[at]
        # Those that find a row with their tag are compared with it.
        alike = np.flatnonzero((entries & ~_LOW == tags[left]) & (entries != 0))
        stay = np.ones(len(left), np.bool_)
        if len(alike):
            others = (entries[alike] & _LOW).astype(np.int64) - 1
            same_state, same = _compared(rows, others, incoming, left[alike], layout)
            known[left[alike[same_state]]] = True
            tallies[1] += int((others[same_state] < level_start).sum())
            stay[alike[same]] = False
        empty = np.flatnonzero(entries == 0)
        at[entries != 0] += 1
        if len(empty):
            claims = left[empty].astype(np.uint64)
            table[at[empty]] = claims
            won = empty[table[at[empty]] == claims]
            there = np.arange(used, used + len(won))
            who = left[won]
            rows[there] = incoming[who]
            is_new[there] = ~known[who]
            tallies[0] += int((~known[who]).sum())
            table[at[won]] = tags[who] | (there + 1).astype(np.uint64)
            used += len(won)
            stay[won] = False
        places[left] = at & mask
        left = left[stay]
    return used


def _compared(rows: Any, at: Any, others: Any, which: Any, layout: Layout) -> tuple[Any, Any]:
    """Of pairs of rows: have they the same state, are they the same?"""
    same_state = np.ones(len(at), np.bool_)
    same = np.ones(len(at), np.bool_)
    for w in range(layout.words):
        difference = rows[at, w] ^ others[which, w]
        same &= difference == 0
        same_state &= difference & ~layout.ghost_bits[w] == 0
    return same_state, same


def which_are_there(some: Any, hashes: Any, count: int, layout: Layout, rows: Any, table: Any, answers: Any) -> None:
    answers[:count] = False
    places = (hashes[:count] & np.uint64(len(table) - 1)).astype(np.int64)
    left = np.arange(count)
    while len(left):
        entries = table[places[left]]
        left, entries = left[entries != 0], entries[entries != 0]
        alike = np.flatnonzero(entries & ~_LOW == hashes[left] & ~_LOW)
        same_state, _ = _compared(rows, (entries[alike] & _LOW).astype(np.int64) - 1, some, left[alike], layout)
        answers[left[alike[same_state]]] = True
        left = left[~answers[left]]
        places[left] = (places[left] + 1) & (len(table) - 1)


def rehash(rows: Any, start: int, end: int, layout: Layout, table: Any) -> None:
    for first in range(start, end, MANY):
        last = min(first + MANY, end)
        hashes = _hashes(rows[first:last], layout)
        entries = (hashes & ~_LOW) | np.arange(first + 1, last + 1, dtype=np.uint64)
        places = (hashes & np.uint64(len(table) - 1)).astype(np.int64)
        while len(entries):
            empty = table[places] == 0
            table[places[empty]] = entries[empty]
            left = table[places] != entries
            entries, places = entries[left], (places[left] + 1) & (len(table) - 1)


# -- expansion ---------------------------------------------------------------------------------------------------------


def expand(
    rows: Any,
    is_new: Any,
    asleep: Any,
    todo: Any,
    layout: Layout,
    layout_after: Layout,
    system: kernels.System,
    tables: kernels.Tables,
    ghosts: kernels.Ghosts,
    out: Any,
    out_hashes: Any,
    out_asleep: Any,
    filled: Any,
    found: kernels.Found,
    recent: Any,
    scratch: Any,
) -> int:
    assert not system.in_order
    assert not system.sleeps
    assert len(system.permutations) == len(filled) == 1
    for start in range(0, len(todo), SOME):
        some = todo[start : start + SOME]
        expansion = _Expansion(rows[some], layout, system, tables, ghosts)
        begin = int(filled[0])
        end = begin + expansion.successors
        if end > out.shape[1]:
            found.used[3] |= 2 * (start == 0)
            return start
        _note(expansion.misses, found)
        fields = expansion.make()
        if not _fits(fields, layout_after):
            return -1 - start
        _pack(fields[: len(layout_after.word)], layout_after, out[0, begin:end])
        out_hashes[0, begin:end] = _hashes(out[0, begin:end], layout_after)
        filled[0] = end
        if len(found.origins):
            found.origins[0, begin:end] = some[expansion.row]
        _tell(expansion, some, is_new[some], found)
    return len(todo)


def _note(misses: Any, found: kernels.Found) -> None:
    """Notes misses; those that there is no room for will be missed again."""
    used = int(found.used[0])
    misses = misses[: len(found.misses) - used]
    found.misses[used : used + len(misses)] = misses
    found.used[0] += len(misses)


def _fits(fields: Any, layout: Layout) -> bool:
    if fields[len(layout.word) :].any():
        return False
    return all(fields[f].max(initial=0) <= int(layout.mask[f]) for f in range(min(len(fields), len(layout.word))))


def _tell(expansion: _Expansion, todo: Any, is_new: Any, found: kernels.Found) -> None:
    """Adds up what an expansion found."""
    again = todo[expansion.missed]
    found.again[found.used[1] : found.used[1] + len(again)] = again
    found.used[1] += len(again)
    seen = expansion.seen()
    refused = expansion.refused()
    found.seen[0] |= np.bitwise_or.reduce(seen, initial=0) | np.bitwise_or.reduce(refused, initial=0)
    verdicts = expansion.verdicts()
    found.seen[1] |= np.bitwise_or.reduce(verdicts, initial=0)
    if not expansion.system.takes_anything:
        blocked = todo[verdicts & 1 != 0]
        found.blocked[found.used[2] : found.used[2] + len(blocked)] = blocked
        found.used[2] += len(blocked)
    if len(found.marks):
        done = ~expansion.missed
        marks = np.zeros(len(todo), np.int64)
        np.bitwise_or.at(marks, expansion.row, seen)
        marks |= refused
        found.marks[todo[done], 0] = marks[done]
        found.marks[todo[done], 1] = verdicts[done]
    steps = is_new[expansion.row]
    found.counts[0] += int(steps.sum())
    has_any = np.zeros(len(todo), np.bool_)
    has_any[expansion.row] = True
    found.counts[1] += int((is_new & ~expansion.missed & ~has_any).sum())
    found.actions[:] += np.bincount(expansion.action()[steps], minlength=len(found.actions))


class _Expansion:
    """Some rows and their moves. Those of the rows that miss an entry are left out."""

    def __init__(
        self, rows: Any, layout: Layout, system: kernels.System, tables: kernels.Tables, ghosts: kernels.Ghosts
    ) -> None:
        self.system, self.tables, self.ghosts = system, tables, ghosts
        numbers = _unpacked(rows, layout)
        n, self.count = system.n, len(rows)
        self.ghost, self.cells, slots = numbers[0], numbers[1 : 1 + n], numbers[1 + n :]
        self.total = tables.cells[self.cells, kernels.MADE].sum(axis=0)
        #: Of each row: misses it anything; may something be handed over; is anything obliged to happen?
        self.missed, self.handing, self.obliged = (np.zeros(self.count, np.bool_) for _ in range(3))
        self._missed_keys = [np.zeros(0, np.uint64)]
        # Moves as [what, move]: row, process, outcome, slot.
        own = self._own_steps()
        arrivals, by_channel = self._arrivals(slots[: int(slots.any(axis=1).sum())])
        steps = self._steps(own, arrivals)
        self.misses = np.unique(np.concatenate(self._missed_keys))
        if self.missed.any():
            steps = steps[~self.missed[np.concatenate([own[0], arrivals[0]])]]
            own, arrivals = own[:, ~self.missed[own[0]]], arrivals[:, ~self.missed[arrivals[0]]]
            by_channel = [(kind, moves[:, ~self.missed[moves[0]]]) for kind, moves in by_channel]
        moves = np.concatenate([own, arrivals, *(moves for _, moves in by_channel)], axis=1)
        self._kinds = [(OWN_STEP, own.shape[1]), (ARRIVAL, arrivals.shape[1])]
        self._kinds += [(kind, moves.shape[1]) for kind, moves in by_channel]
        self.row, self._process, self._outcome, self._slot = moves
        self._local = own.shape[1] + arrivals.shape[1]
        self._ghosts_after = np.concatenate([steps >> 16, self.ghost[self.row[self._local :]]])
        self._broken = steps & 0xFFFF
        self.successors = len(self.row)

    # -- which moves there are -----------------------------------------------------------------------------------------

    def _miss(self, kind: int, row: Any, major: Any, minor: Any = 0) -> None:
        self.missed[row] = True
        keys = (major.astype(np.uint64) << _32) | np.uint64(kind << 62)
        self._missed_keys.append(np.unique(keys | np.asarray(minor).astype(np.uint64)))

    def _own_steps(self) -> Any:
        known = self.tables
        counts = known.cells[self.cells, kernels.OWN_COUNT]
        process, row = np.nonzero(counts < 0)
        if len(row):
            self._miss(kernels.MISS_OWN, row, self.cells[process, row])
            counts = np.maximum(counts, 0)
        places, outcome = _each(known.cells[self.cells, kernels.OWN_START].ravel(), counts.ravel())
        process, row = np.divmod(places, self.count)
        hands = known.outcomes[outcome, kernels.FLAGS] & kernels.HANDS != 0
        may = ~hands | (self.total < self.system.bound)[row]
        process, row, outcome, hands = process[may], row[may], outcome[may], hands[may]
        self.handing[row[hands]] = True
        self.obliged[row if not self.system.takes_anything else row[~hands]] = True
        return np.stack([row, process, outcome, np.zeros_like(row)])

    def _arrivals(self, slots: Any) -> tuple[Any, list[tuple[int, Any]]]:
        """The arrivals, and what the channel may do."""
        channel = self.system.channel
        #: The slots as they are held here; see `SLOT_BITS`.
        self._slots = np.where(slots == 0, BEYOND, self._grouped(slots))
        there = slots != 0
        marked = (slots - 1) & 1 != 0
        first = there.copy()
        if channel == FIFO:
            group = self._slots >> SLOT_BITS
            first[1:] &= marked[1:] | (group[1:] != group[:-1])  # else it is not the first on its link
        else:
            first[1:] &= slots[1:] != slots[:-1]  # else it is the same once more
        slot, row = np.nonzero(first)
        content = (slots[slot, row] - 1) >> 1
        process, packet = content & PROCESS, content >> PROCESS_BITS
        cell = self.cells[process, row]
        entry = look_up(self.tables.arrivals, cell, packet)
        lacks = entry < 0
        if lacks.any():
            self._miss(kernels.MISS_ARRIVAL, row[lacks], cell[lacks], packet[lacks])
            slot, row, process, entry = slot[~lacks], row[~lacks], process[~lacks], entry[~lacks]
        counts = np.where(entry & 1 != 0, (entry >> 1) & 0xFFFFF, 0)
        if channel == FIFO:
            counts[self._overtakes(slot, row, entry & 1 != 0, marked, group >> 1)] = 0
        places, outcome = _each(entry >> 21, counts)
        arrivals = np.stack([row[places], process[places], outcome, slot[places]])
        self.obliged[arrivals[0]] = True
        others = np.stack([row, process, np.full_like(row, -1), slot])
        unmarked = ~marked[slot, row]
        if channel == FIFO:
            waits = others[:, unmarked & (counts == 0)]
            self.obliged[waits[0]] = True
            return arrivals, [(WAIT, waits)]
        if channel == kernels.LOSSY:
            return arrivals, [(LOSE, others)]
        if channel == kernels.DUPLICATING:
            return arrivals, [(DUPLICATE, others[:, unmarked])]
        return arrivals, []

    def _overtakes(self, slot: Any, row: Any, accepted: Any, marked: Any, link: Any) -> Any:
        """Of each packet that might arrive: was another one of its link there earlier, in the mail room, and could it
        be taken in now? On each link those that are under way stand before those in the mail room.
        """
        inviting = np.zeros_like(marked)
        inviting[slot, row] = accepted
        inviting &= marked
        earlier, here_or_later = np.zeros_like(marked), inviting.copy()
        for s in range(1, len(marked)):
            earlier[s] = (link[s - 1] == link[s]) & (earlier[s - 1] | inviting[s - 1])
        for s in range(len(marked) - 2, -1, -1):
            here_or_later[s] |= (link[s] == link[s + 1]) & here_or_later[s + 1]
        return np.where(marked, earlier, here_or_later)[slot, row]

    def _steps(self, own: Any, arrivals: Any) -> Any:
        """What the observers make of the local steps: ghost afterwards · 2¹⁶ + properties broken."""
        known, n = self.tables, self.system.n
        row, process, outcome = np.concatenate([own[:3], arrivals[:3]], axis=1)
        ghost = self.ghost[row]
        steps = ghost << 16
        code = known.outcomes[outcome, kernels.CODE]
        told = np.flatnonzero(code)
        if len(told):
            codes = known.code_at[code[told] * n + process[told]]
            values = look_up(self.ghosts.steps, ghost[told], codes)
            lacks = values < 0
            if lacks.any():
                self._miss(kernels.MISS_GHOST, row[told[lacks]], ghost[told[lacks]], codes[lacks])
            steps[told] = values
        return steps

    # -- what they lead to ---------------------------------------------------------------------------------------------

    def make(self) -> Any:
        """The successors as [field, successor]."""
        known, n = self.tables, self.system.n
        local, own = self._local, self._kinds[0][1]
        outcomes = known.outcomes[self._outcome[:local]]
        cells = self.cells[:, self.row]
        cells[self._process[:local], np.arange(local)] = outcomes[:, kernels.TO_CELL]
        emits = outcomes[:, kernels.EMITS_COUNT]
        width = len(self._slots) + max(int(emits.max(initial=0)), 1 + (self.system.channel == kernels.DUPLICATING))
        slots = np.full((width, self.successors), BEYOND)
        slots[: len(self._slots)] = self._slots[:, self.row]
        taken = self._slot[own:]
        for s in range(len(self._slots)):
            slots[s, own:] = np.where(taken <= s, slots[s + 1, own:], slots[s, own:])
        start = local
        for kind, count in self._kinds[2:]:
            if count and kind != LOSE:
                here = slice(start, start + count)
                marked = self._grouped((self._slots[self._slot[here], self.row[here]] & SLOT) + 1)
                for _ in range(1 + (kind == DUPLICATE)):
                    self._put(slots[:, here], marked)
            start += count
        for here in (slice(0, own), slice(own, local)):
            for k in range(int(emits[here].max(initial=0))):
                emitted = known.emitted[np.minimum(outcomes[here, kernels.EMITS_START] + k, len(known.emitted) - 1)]
                destination = (self._process[here] + (emitted & PROCESS)) % n
                put = self._grouped((((emitted & ~PROCESS) | destination) << 1) + 1)
                self._put(slots[:, here], np.where(emits[here] > k, put, BEYOND))
        slots &= SLOT
        return np.concatenate([self._ghosts_after[None, :], cells, slots])

    def _grouped(self, slots: Any) -> Any:
        """Slots with their group above them; see `kernels.queue_of`."""
        if self.system.channel != FIFO:
            return slots
        n, content = self.system.n, (slots - 1) >> 1
        destination = content & PROCESS
        link = destination * n + (destination + self.tables.source[content >> PROCESS_BITS]) % n
        return (((link << 1) | ((slots - 1) & 1)) << SLOT_BITS) | slots

    def _put(self, slots: Any, put: Any) -> None:
        """Puts one more slot into each row of slots, behind those of its group; `BEYOND` changes nothing."""
        if self.system.channel != FIFO:
            for s in range(len(slots)):
                here = slots[s].copy()
                np.minimum(here, put, out=slots[s])
                put = np.maximum(here, put)
            return
        last = put | SLOT  # of its group
        for s in range(len(slots)):
            behind = slots[s] > last
            slots[s], put = np.where(behind, put, slots[s]), np.where(behind, slots[s], put)

    # -- what is told of them ------------------------------------------------------------------------------------------

    def seen(self) -> Any:
        """Of each move: the properties that it breaks or reaches."""
        seen = np.zeros(self.successors, np.int64)
        local = self._local
        outcomes = self.tables.outcomes[self._outcome[:local]]
        delivers = np.where(outcomes[:, kernels.FLAGS] & kernels.DELIVERED, kernels.DELIVERS, 0)
        rules = outcomes[:, kernels.RULES_LOW] | outcomes[:, kernels.RULES_HIGH].astype(np.int64) << kernels.LOW_BITS
        seen[:local] = (
            self._broken | self.tables.cells[outcomes[:, kernels.TO_CELL], kernels.CELL_SEEN] | delivers | rules
        )
        return seen

    def refused(self) -> Any:
        """Of each row: the rules that the sends exercise which are refused in it."""
        rules = np.bitwise_or.reduce(self.tables.cells[self.cells, kernels.REFUSED], axis=0)
        return np.where(~self.missed & (self.total < self.system.bound), rules, 0)

    def action(self) -> Any:
        """Of each move: the number of its name."""
        kinds = np.repeat([kind for kind, _ in self._kinds], [count for _, count in self._kinds])
        action = kinds - WAIT
        action[: self._local] = self.tables.outcomes[self._outcome[: self._local], kernels.ACTION]
        return action

    def verdicts(self) -> Any:
        """Of each row, as `kernels` judges the end of a run; 0 where none ends."""
        known, system = self.tables, self.system
        verdicts = np.zeros(self.count, np.int64)
        ends = np.flatnonzero(~self.missed & ~self.obliged)
        if not len(ends):
            return verdicts
        owed = self.ghosts.owed[self.ghost[ends]]
        flags = known.cells[self.cells[:, ends], kernels.CELL_FLAGS]
        if system.takes_anything:
            finished = self.total[ends] == system.bound
        else:
            finished = (flags & kernels.FINISHED != 0).all(axis=0)
        blocks = (~finished & ~self.handing[ends]) | (owed >> 32 != 0)
        lacks = ((owed >> np.arange(system.n)[:, None] & 1 != 0) & (flags & kernels.ASKS != 0)).any(axis=0)
        verdicts[ends] = np.where(blocks, 1, 4) | np.where(lacks, 2, 0)
        return verdicts


def _each(starts: Any, counts: Any) -> tuple[Any, Any]:
    """The numbers from each start on, so many of them; before each its place among the starts."""
    places = np.repeat(np.arange(len(counts)), counts)
    before = np.cumsum(counts) - counts
    return places, np.arange(len(places)) + (starts - before)[places]
