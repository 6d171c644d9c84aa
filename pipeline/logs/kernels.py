"""The orders of many small runs at once, decided by loops over numbers, compiled by Numba where it is installed.

Each decides what `spec.by_graph` decides, for well-formed runs of unicasts; other runs and all witnesses are left to
the spec. The lines of a run are walked along together, each event waiting for at most two others:

- a deliver waits for its send;
- *mailbox*: a send waits for the send of the message that its receiver delivers just before; if its message is never
  delivered, for the sends of all that are;
- *one-n*: a deliver waits for the deliver of the message that its sender sends just before;
- *synchronous*: a send waits for the event just before its deliver, so that both can be at one instant.

The linearization that defines the order exists iff all lines are walked to their ends. *FIFO* and *causal order* are
decided during a walk: at each deliver, the first message still missing on each channel to the receiver is compared with
the vector time of the send. Internal events are left out first: no order depends on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crownless.model_check.native.compiled import compiled

from .wait_queue import NONE, enqueue_all, notify, wait

#: The outcome for a run and order.
KEPT, BROKEN, UNDECIDED = 0, 1, 2
#: Kinds of rows by number.
SEND, DELIVER, INTERNAL, NO_KIND = 0, 1, 2, 3
#: The orders that are decided here, by column; n-n follows from the others, or is left to the spec.
FIFO, CAUSAL, MAILBOX, ONE_N, SYNCHRONOUS = range(5)
#: A run with more channels, or more vector entries, is left to the spec.
CHANNELS_UP_TO = 1 << 20
ENTRIES_UP_TO = 1 << 22


def decide_runs(
    first: np.ndarray[Any, Any], rows: dict[str, np.ndarray[Any, Any]], *, pending: bool, queues: bool = True
) -> np.ndarray[Any, Any]:
    """For each run and order KEPT, BROKEN or UNDECIDED (one row a run).

    `first`: the first row of each run, and the end of the last run. `rows`: `process`, `index`, `kind`, `message`,
    `peer`, integers; processes and peers share their numbers; a number is negative if the name is missing or invalid.
    Without `queues` mailbox and one-n are decided only where that takes no walk.
    """
    runs = len(first) - 1
    found = np.full((runs, 5), UNDECIDED, np.int8)
    if not runs:
        return found
    longest = int(np.max(np.diff(first)))
    names = int(max(rows["process"].max(initial=0), rows["peer"].max(initial=0))) + 1
    messages = int(rows["message"].max(initial=0)) + 1
    whole = np.int32
    _decide_all(
        first,
        rows["process"],
        rows["index"],
        rows["kind"],
        rows["message"],
        rows["peer"],
        pending,
        queues,
        found,
        np.full(names, NONE, np.int64),  # the run that last numbered a name
        np.zeros(names, whole),
        np.full(messages, NONE, np.int64),
        np.zeros(messages, whole),
        np.zeros((7, 2 * longest + 2), whole),  # by process of the run
        np.zeros((10, longest + 1), whole),  # by event or message of the run
        np.zeros((2, CHANNELS_UP_TO), whole),
        np.zeros(ENTRIES_UP_TO, whole),
    )
    return found


@compiled
def _decide_all(
    first: Any,
    process: Any,
    index: Any,
    kind: Any,
    message: Any,
    peer: Any,
    pending: Any,
    queues: Any,
    found: Any,
    name_seen: Any,
    name_number: Any,
    message_seen: Any,
    message_number: Any,
    lines: Any,
    events: Any,
    channels: Any,
    entries: Any,
) -> Any:
    for run in range(len(first) - 1):
        start, end = first[run], first[run + 1]
        n, m = _read(
            run, start, end, process, index, kind, message, peer, name_seen, name_number, message_seen,
            message_number, lines, events,
        )  # fmt: skip
        if n < 0 or n * n > CHANNELS_UP_TO or n * (m + n) > ENTRIES_UP_TO:
            continue
        _decide(run, n, m, pending, queues, found, lines, events, channels, entries)


@compiled
def _read(
    run: Any,
    start: Any,
    end: Any,
    process: Any,
    index: Any,
    kind: Any,
    message: Any,
    peer: Any,
    name_seen: Any,
    name_number: Any,
    message_seen: Any,
    message_number: Any,
    lines: Any,
    events: Any,
) -> Any:
    """Numbers the run's processes and messages and lays its events line after line; (-1, 0) if the run is not
    well-formed.

    Leaves in `lines`: 0 where each line begins (and ends: the next one's begin). In `events`: 0 the message of each
    event, 1 whether it is a deliver, 2 its process; and of each message 3 the send, 4 the deliver, 5 the sender, 6 the
    receiver.
    """
    begin, length = lines[0], lines[1]
    n = 0
    least = index[start]
    for row in range(start, end):
        p = process[row]
        if p < 0 or index[row] < 0 or kind[row] == NO_KIND:
            return -1, 0
        if kind[row] != INTERNAL and message[row] < 0:
            return -1, 0
        if kind[row] == SEND and peer[row] < 0:
            return -1, 0
        if kind[row] == DELIVER and peer[row] < NONE:
            return -1, 0
        least = min(least, index[row])
        if name_seen[p] != run:
            name_seen[p] = run
            name_number[p] = n
            length[n] = 0
            n += 1
        length[name_number[p]] += 1
    for row in range(start, end):
        if kind[row] == SEND and name_seen[peer[row]] != run:
            name_seen[peer[row]] = run
            name_number[peer[row]] = n
            length[n] = 0
            n += 1
    least = 1 if least == 1 else 0
    begin[0] = 0
    for p in range(n):
        begin[p + 1] = begin[p] + length[p]
    place_of = events[7]
    for e in range(end - start):
        place_of[e] = NONE
    for row in range(start, end):
        p = name_number[process[row]]
        place = index[row] - least
        if place < 0 or place >= length[p] or place_of[begin[p] + place] != NONE:
            return -1, 0  # a gap, or two events in one place
        place_of[begin[p] + place] = row - start
    # Each line without its internal events, and the messages as they occur.
    of_event, delivers, line_of, sent_at, delivered_at, sender, receiver = (
        events[0], events[1], events[2], events[3], events[4], events[5], events[6],
    )  # fmt: skip
    m, e = 0, 0
    for p in range(n):
        first_place, past_place = begin[p], begin[p] + length[p]
        begin[p] = e
        for place in range(first_place, past_place):
            row = start + place_of[place]
            if kind[row] == INTERNAL:
                continue
            x = message[row]
            if message_seen[x] != run:
                message_seen[x] = run
                message_number[x] = m
                sent_at[m], delivered_at[m], sender[m], receiver[m] = NONE, NONE, NONE, NONE
                m += 1
            k = message_number[x]
            if kind[row] == SEND:
                if sent_at[k] != NONE:
                    return -1, 0
                sent_at[k] = e
                to = name_number[peer[row]]
                if (receiver[k] != NONE and receiver[k] != to) or (sender[k] != NONE and sender[k] != p):
                    return -1, 0
                sender[k], receiver[k] = p, to
            else:
                if delivered_at[k] != NONE or (receiver[k] != NONE and receiver[k] != p):
                    return -1, 0
                delivered_at[k], receiver[k] = e, p
                if peer[row] >= 0:
                    if name_seen[peer[row]] != run:
                        return -1, 0  # its sender has no event, so the send is missing
                    by = name_number[peer[row]]
                    if sender[k] != NONE and sender[k] != by:
                        return -1, 0
                    sender[k] = by
            of_event[e], delivers[e], line_of[e] = k, kind[row] == DELIVER, p
            e += 1
    begin[n] = e
    for k in range(m):
        if sent_at[k] == NONE:
            return -1, 0
    return n, m


@compiled
def _decide(
    run: Any,
    n: Any,
    m: Any,
    pending: Any,
    queues: Any,
    found: Any,
    lines: Any,
    events: Any,
    channels: Any,
    entries: Any,
) -> Any:
    sent_at, delivered_at = events[3], events[4]
    first_wait, second_wait = events[8], events[9]
    total = lines[0, n]
    complete = True
    for k in range(m):
        complete = complete and delivered_at[k] != NONE
    for e in range(total):
        first_wait[e], second_wait[e] = NONE, NONE
        if events[1, e]:
            first_wait[e] = sent_at[events[0, e]]
    fifo, causal = _fifo_and_causal(n, m, lines, events, channels, entries)
    if fifo == UNDECIDED:
        return
    found[run, FIFO], found[run, CAUSAL] = fifo, causal
    if causal == BROKEN:
        found[run, MAILBOX], found[run, ONE_N], found[run, SYNCHRONOUS] = BROKEN, BROKEN, BROKEN
        return
    found[run, SYNCHRONOUS] = BROKEN
    if complete or pending:
        for e in range(total):
            first_wait[e] = sent_at[events[0, e]] if events[1, e] else NONE
        for k in range(m):
            # A pending delivery comes after all events of its receiver.
            after_all = lines[0, events[6, k] + 1]
            before = (after_all if delivered_at[k] == NONE else delivered_at[k]) - 1
            if before >= lines[0, events[6, k]] and before != sent_at[k]:
                first_wait[sent_at[k]] = before
        if _is_linearizable(n, lines, events):
            found[run, SYNCHRONOUS] = KEPT
    if complete and found[run, SYNCHRONOUS] == KEPT:
        found[run, MAILBOX], found[run, ONE_N] = KEPT, KEPT
        return
    if queues:
        _mailbox(run, n, m, found, lines, events)
        _one_n(run, n, pending, complete, found, lines, events)


@compiled
def _mailbox(
    run: Any,
    n: Any,
    m: Any,
    found: Any,
    lines: Any,
    events: Any,
) -> Any:
    begin, of_event, delivers = lines[0], events[0], events[1]
    sent_at, delivered_at, receiver = events[3], events[4], events[6]
    first_wait, second_wait = events[8], events[9]
    last = lines[5]  # of each receiver, the send of the message delivered last
    for e in range(begin[n]):
        first_wait[e] = sent_at[of_event[e]] if delivers[e] else NONE
    for q in range(n):
        last[q] = NONE
        for e in range(begin[q], begin[q + 1]):
            if delivers[e]:
                send = sent_at[of_event[e]]
                first_wait[send] = last[q]
                last[q] = send
    for k in range(m):
        if delivered_at[k] == NONE:
            first_wait[sent_at[k]] = last[receiver[k]]
    found[run, MAILBOX] = KEPT if _is_linearizable(n, lines, events) else BROKEN
    for e in range(begin[n]):
        second_wait[e] = NONE


@compiled
def _one_n(
    run: Any,
    n: Any,
    pending: Any,
    complete: Any,
    found: Any,
    lines: Any,
    events: Any,
) -> Any:
    if pending and not complete:
        return  # pending receives are events too: left to the spec
    begin, of_event, delivers = lines[0], events[0], events[1]
    sent_at, delivered_at = events[3], events[4]
    first_wait, second_wait = events[8], events[9]
    for e in range(begin[n]):
        first_wait[e] = sent_at[of_event[e]] if delivers[e] else NONE
        second_wait[e] = NONE
    for p in range(n):
        before, missing = NONE, False
        for e in range(begin[p], begin[p + 1]):
            if delivers[e]:
                continue
            deliver = delivered_at[of_event[e]]
            if deliver == NONE:
                missing = True
            elif missing:
                found[run, ONE_N] = BROKEN
                return
            else:
                second_wait[deliver] = before
                before = deliver
    found[run, ONE_N] = KEPT if _is_linearizable(n, lines, events) else BROKEN


@compiled
def _is_linearizable(
    n: Any,
    lines: Any,
    events: Any,
) -> Any:
    """True if all lines can be walked to their ends, each event after the two that it waits for."""
    begin, at, next_waiter, waiters, queue = lines[0], lines[2], lines[3], lines[4], lines[6]
    line_of, first_wait, second_wait = events[2], events[8], events[9]
    for p in range(n):
        at[p] = begin[p]
    waiting, left = enqueue_all(n, waiters, queue), begin[n]
    while waiting:
        waiting -= 1
        p = queue[waiting]
        moved = False
        while at[p] < begin[p + 1]:
            e = at[p]
            blocked = NONE
            if first_wait[e] != NONE and at[line_of[first_wait[e]]] <= first_wait[e]:
                blocked = line_of[first_wait[e]]
            elif second_wait[e] != NONE and at[line_of[second_wait[e]]] <= second_wait[e]:
                blocked = line_of[second_wait[e]]
            if blocked != NONE:
                wait(p, blocked, next_waiter, waiters)
                break
            at[p] += 1
            left -= 1
            moved = True
        if moved:
            waiting = notify(p, next_waiter, waiters, queue, waiting)
    return left == 0


@compiled
def _fifo_and_causal(
    n: Any,
    m: Any,
    lines: Any,
    events: Any,
    channels: Any,
    entries: Any,
) -> Any:
    """Walks the lines with vector times; decides FIFO and causal order. (UNDECIDED, UNDECIDED) if the logged run is
    cyclic.

    The time of a process is the number of events of each line that it knows; a message carries its sender's time before
    the send.
    """
    begin, at, next_waiter, waiters, queue = lines[0], lines[2], lines[3], lines[4], lines[6]
    of_event, delivers = events[0], events[1]
    sent_at, sender, receiver, following = events[3], events[5], events[6], events[7]
    head = channels[0]
    tail = channels[1]
    for c in range(n * n):
        head[c] = NONE
    for p in range(n):
        for e in range(begin[p], begin[p + 1]):
            if not delivers[e]:
                k = of_event[e]
                following[k] = NONE
                c = p * n + receiver[k]
                if head[c] == NONE:
                    head[c] = k
                else:
                    following[tail[c]] = k
                tail[c] = k
        at[p] = begin[p]
        for l in range(n):
            entries[(m + p) * n + l] = 0
    fifo, causal = KEPT, KEPT
    waiting, left = enqueue_all(n, waiters, queue), begin[n]
    while waiting:
        waiting -= 1
        p = queue[waiting]
        own = (m + p) * n
        moved = False
        while at[p] < begin[p + 1]:
            e = at[p]
            k = of_event[e]
            if delivers[e]:
                by = sender[k]
                if at[by] <= sent_at[k]:
                    wait(p, by, next_waiter, waiters)
                    break
                stamp = k * n
                if fifo == KEPT:
                    if head[by * n + p] != k:
                        fifo, causal = BROKEN, BROKEN
                    else:
                        for l in range(n):
                            missing = head[l * n + p]
                            if missing != NONE and sent_at[missing] - begin[l] < entries[stamp + l]:
                                causal = BROKEN
                        head[by * n + p] = following[k]
                for l in range(n):
                    if entries[stamp + l] > entries[own + l]:
                        entries[own + l] = entries[stamp + l]
                if entries[own + by] < sent_at[k] - begin[by] + 1:
                    entries[own + by] = sent_at[k] - begin[by] + 1
            else:
                for l in range(n):
                    entries[k * n + l] = entries[own + l]
            at[p] += 1
            entries[own + p] = at[p] - begin[p]
            left -= 1
            moved = True
        if moved:
            waiting = notify(p, next_waiter, waiters, queue, waiting)
    if left:
        return UNDECIDED, UNDECIDED
    return fifo, causal


@compiled
def order_by(
    numbers: Any,
    how_many: Any,
    first: Any,
    place: Any,
) -> Any:
    """Sorts `numbers`, each below `how_many`, stably: fills `first` with the start of each number, `place` with the
    rows in order.
    """
    for k in range(how_many + 1):
        first[k] = 0
    for row in range(len(numbers)):
        first[numbers[row] + 1] += 1
    for k in range(how_many):
        first[k + 1] += first[k]
    for row in range(len(numbers)):
        place[first[numbers[row]]] = row
        first[numbers[row]] += 1
    for k in range(how_many, 0, -1):
        first[k] = first[k - 1]
    first[0] = 0


@compiled
def compact(
    codes: Any,
    seen: Any,
    number: Any,
    mark: Any,
    used: Any,
) -> Any:
    """Renumbers `codes` in place by first occurrence (negative ones stay); fills `used` with the old codes; returns
    their number.
    """
    count = 0
    for row in range(len(codes)):
        code = codes[row]
        if code < 0:
            continue
        if seen[code] != mark:
            seen[code] = mark
            number[code] = count
            used[count] = code
            count += 1
        codes[row] = number[code]
    return count
