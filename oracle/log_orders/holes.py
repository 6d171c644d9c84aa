"""Runs with holes: what is certain of them, as the rows of a run that has none.

What that is says `oracle.event_logs`: a deliver whose send is not in the log becomes internal, and a message that
is not delivered at a receiver whose line lacks events does not count as sent to it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crownless.oracle.logs.layout import DELIVER, INTERNAL, NO_KIND, NONE, SEND, Numbers, Rows


class Certain(NamedTuple):
    """What is certain of a run with holes."""

    #: The rows of the run, as many as before: places without gaps, and only certain receivers.
    rows: Rows
    #: The numbers of its processes.
    processes: Numbers
    #: Of each gap the process, and the first and the last place that is missing.
    gaps: Numbers
    #: The rows of delivers whose sends are missing.
    unsent: Numbers
    #: Of each copy that may have been delivered in a hole the message and the receiver.
    perhaps_received: Numbers


def certain_of(rows: Rows, number: int) -> Certain | None:
    """What is certain of the run of that number; None if a row is no event, or some contradict each other."""
    first, past = int(rows.first[number]), int(rows.first[number + 1])
    process, place, kind, message, peer = (column[first:past] for column in rows[1:6])
    sends, delivers = kind == SEND, kind == DELIVER
    no_event = (process < 0) | (place < 0) | (kind == NO_KIND) | ((kind != INTERNAL) & (message < 0))
    if (no_event | (sends & (peer < 0)) | (delivers & (peer < NONE))).any():
        return None
    names = int(max(process.max(), rows.receiver.max(initial=0))) + 1
    at_receiver = message.astype(np.int64) * names + process
    if _some_twice(message[sends]) or _some_twice(at_receiver[delivers]) or _two_at_a_place(process, place):
        return None
    send_rows, deliver_rows = np.flatnonzero(sends), np.flatnonzero(delivers)
    count = rows.first_receiver[peer[send_rows] + 1] - rows.first_receiver[peer[send_rows]]
    of_copy = np.repeat(send_rows, count)
    receiver = rows.receiver[_ranges(rows.first_receiver[peer[send_rows]], count)]
    copies = message[of_copy].astype(np.int64) * names + receiver
    is_sent = np.isin(message[deliver_rows], message[send_rows])
    if not np.isin(at_receiver[deliver_rows[is_sent]], copies).all():
        return None
    sender = _senders(rows, process, message, peer, send_rows, deliver_rows)
    if sender is None:
        return None
    mentioned = [process, receiver, sender[sender >= 0]]
    processes = np.unique(np.concatenate(mentioned))
    # Where lines lack events.
    order = np.lexsort((place, process))
    starts = np.append(True, np.diff(process[order]) != 0)
    least = 1 if place.min() == 1 else 0
    before = np.where(starts, least - 1, np.append(least - 1, place[order][:-1]))
    torn_at = np.flatnonzero(place[order] > before + 1)
    gaps = np.stack([process[order][torn_at], before[torn_at] + 1, place[order][torn_at] - 1], axis=1)
    lacks = np.zeros(names, bool)
    lacks[gaps[:, 0]] = True
    unsent = deliver_rows[~is_sent]
    for m in np.unique(message[unsent]).tolist():
        known = sender[message[deliver_rows] == m]
        if known.max() >= 0:
            lacks[known.max()] = True
        else:
            here = process[deliver_rows[message[deliver_rows] == m]]
            lacks[np.setdiff1d(processes, here)] = True
    # What is left when only what is certain counts.
    kept = np.isin(copies, at_receiver[deliver_rows]) | ~lacks[receiver]
    kinds, peers, places = kind.copy(), np.full(len(kind), NONE, np.int32), np.empty(len(kind), np.int64)
    kinds[unsent] = INTERNAL
    left = np.bincount(np.searchsorted(send_rows, of_copy[kept]), minlength=len(send_rows))
    kinds[send_rows[left == 0]] = INTERNAL
    peers[send_rows] = np.arange(len(send_rows), dtype=np.int32)
    line_starts = np.flatnonzero(starts)
    places[order] = np.arange(len(order)) - np.repeat(line_starts, np.diff(np.append(line_starts, len(order))))
    certain = Rows(
        np.array([0, len(kind)], np.int64),
        process,
        places,
        kinds,
        message,
        peers,
        np.append(0, np.cumsum(left)).astype(np.int32),
        receiver[kept].astype(np.int32),
    )
    perhaps_received = np.stack([message[of_copy[~kept]], receiver[~kept]], axis=1)
    return Certain(certain, processes, gaps, unsent, perhaps_received)


def _some_twice(numbers: Numbers) -> bool:
    return len(np.unique(numbers)) < len(numbers)


def _two_at_a_place(process: Numbers, place: Numbers) -> bool:
    order = np.lexsort((place, process))
    return bool(((np.diff(process[order]) == 0) & (np.diff(place[order]) == 0)).any())


def _ranges(starts: Numbers, counts: Numbers) -> Numbers:
    """From each start so many numbers, one after the other."""
    ends = np.cumsum(counts)
    ranges: Numbers = np.arange(int(counts.sum())) + np.repeat(starts - (ends - counts), counts)
    return ranges


def _senders(
    rows: Rows, process: Numbers, message: Numbers, peer: Numbers, send_rows: Numbers, deliver_rows: Numbers
) -> Numbers | None:
    """Of each deliver the sender that the rows name, or NONE; None if they disagree."""
    named = np.full(len(deliver_rows), NONE, np.int64)
    has = peer[deliver_rows] >= 0
    start = rows.first_receiver[peer[deliver_rows[has]]]
    if (rows.first_receiver[peer[deliver_rows[has]] + 1] != start + 1).any():
        return None
    named[has] = rows.receiver[start]
    messages = np.concatenate([message[send_rows], message[deliver_rows]])
    senders = np.concatenate([process[send_rows].astype(np.int64), named])
    known = np.flatnonzero(senders >= 0)
    order = known[np.argsort(messages[known], kind="stable")]
    same = np.diff(messages[order]) == 0
    if (same & (np.diff(senders[order]) != 0)).any():
        return None
    # Of messages whose sends are missing another deliver may name the sender.
    firsts = np.searchsorted(messages[order], message[deliver_rows])
    firsts = np.minimum(firsts, max(len(order) - 1, 0))
    if not len(order):
        return named
    found = messages[order][firsts] == message[deliver_rows]
    return np.where(found, senders[order][firsts], NONE)
