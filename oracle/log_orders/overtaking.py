"""FIFO and causal order of one run, in one pass over its events.

The time of a process is the number of events of each line that it knows; a message carries its sender's time before the
send. For each channel the pass knows the first copy that is still missing. A deliver violates FIFO order if it is not
of the first missing copy of its channel, and causal order if a first missing copy of any channel to the process was
sent within the message's time. Time and memory are proportional to the number of events times the number of processes.
"""

from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native.compiled import called_by_kernels, compiled
from crownless.oracle.logs.layout import EVENTS, LINES, NONE, Numbers, Run, zeros

#: Greater than the place of any event.
NOTHING_MISSING = (1 << 31) - 1
#: The most lines: more have too many channels for memory.
LINES_UP_TO = 4096


class Channels(NamedTuple):
    """The state of a pass, by line and channel; `stamps` holds the times of the messages in flight."""

    #: For each copy, the next one on its channel; and true if it was delivered.
    following: Numbers
    delivered: Numbers
    #: For each channel, by receiver and sender, the first missing copy and its place; and the last copy.
    missing: Numbers
    place: Numbers
    last: Numbers
    #: By line and line.
    times: Numbers
    #: For each message, where its time is in `stamps`, and how many copies are in flight.
    slot: Numbers
    in_flight: Numbers
    #: Times of messages; the free slots; the number of slots used, and of free ones among them.
    stamps: Numbers
    free: Numbers
    slots: Numbers


def channels(run: Run, lines: int, entries: int) -> Channels:
    """Arrays for runs with this number of lines, and of entries of times in flight."""
    copies, messages = len(run.of_copy), len(run.send)
    following, *others = zeros(copies, *[lines * lines] * 4, messages, messages, entries, entries)
    return Channels(*(following, np.zeros(copies, np.bool_), *others, np.zeros(2, np.int64)))


@compiled
def overtakings(run: Run, by: Channels, fed: Any, found: Any) -> Any:
    """Writes into `found` the first copies that overtake: by FIFO order the overtaken and the overtaking copy, then by
    causal order. Orders with an entry in `found` are not decided again. False if there is no room.

    The first `fed` events were processed before: `times` has their results, and the used `slots` the times of the
    messages in flight.
    """
    n = run.sizes[LINES]
    if n * n > len(by.missing):
        return False
    by.slots[0], by.slots[1] = by.slots[0] if fed else 0, 0
    for entry in range(n * n):
        by.missing[entry], by.place[entry] = NONE, NOTHING_MISSING
        if not fed:
            by.times[entry] = 0
    for number in range(run.sizes[EVENTS]):
        e = run.order[number]
        p, m, copy = run.line[e], run.message[e], run.copy[e]
        own = p * n
        times = by.times[own : own + n]
        if copy == NONE:
            for sent in range(run.first_copy[m], run.first_copy[m + 1]):
                put_on_channel(by, sent, run.receiver[sent] * n + p, e - run.begin[p])
            if number < fed:
                continue
            if found[2] == NONE and not keep_time(run, by, p, m):
                return False
        else:
            channel = own + run.line[run.send[m]]
            if number < fed:
                _deliver(run, by, copy, channel)
                continue
            if found[0] == NONE and by.missing[channel] != copy:
                found[0], found[1] = by.missing[channel], copy
            if found[2] == NONE:
                if learn(run, by, p, m):
                    stamp = by.slot[m] * n
                    for l in range(n):
                        if found[2] == NONE and by.place[own + l] < by.stamps[stamp + l]:
                            found[2], found[3] = by.missing[own + l], copy
            elif found[0] != NONE:
                break
            _deliver(run, by, copy, channel)
        times[p] = e - run.begin[p] + 1
    return True


@called_by_kernels
def keep_time(run: Run, by: Channels, p: Any, m: Any) -> Any:
    """Keeps the time of a process as that of the message it sends; False if there is no room for it."""
    n = run.sizes[LINES]
    if by.slots[1]:
        by.slots[1] -= 1
        slot = by.free[by.slots[1]]
    else:
        slot = by.slots[0]
        by.slots[0] += 1
        if by.slots[0] * n > len(by.stamps):
            return False
    stamp, times = by.stamps[slot * n : slot * n + n], by.times[p * n : p * n + n]
    for l in range(n):
        stamp[l] = times[l]
    by.slot[m] = slot
    by.in_flight[m] = run.first_copy[m + 1] - run.first_copy[m]
    return True


@called_by_kernels
def learn(run: Run, by: Channels, p: Any, m: Any) -> Any:
    """Adds the sender's knowledge, and the send, to that of the delivering process. True if some first missing copy to
    the process was sent within the message's time.
    """
    n, own, slot = run.sizes[LINES], p * run.sizes[LINES], by.slot[m]
    send = run.send[m]
    sender = run.line[send]
    stamp, times = by.stamps[slot * n : slot * n + n], by.times[own : own + n]
    place = by.place[own : own + n]
    overtakes = False
    for l in range(n):
        overtakes |= place[l] < stamp[l]
        times[l] = max(times[l], stamp[l])
    times[sender] = max(times[sender], send - run.begin[sender] + 1)
    by.in_flight[m] -= 1
    if not by.in_flight[m]:
        by.free[by.slots[1]] = slot
        by.slots[1] += 1
    return overtakes


@called_by_kernels
def _deliver(run: Run, by: Channels, copy: Any, channel: Any) -> Any:
    """Takes a copy from its channel."""
    by.delivered[copy] = True
    if by.missing[channel] == copy:
        while copy != NONE and by.delivered[copy]:
            copy = by.following[copy]
        by.missing[channel] = copy
        by.place[channel] = NOTHING_MISSING if copy == NONE else place_of_send(run, copy)


@called_by_kernels
def place_of_send(run: Run, copy: Any) -> Any:
    """The place of a copy's send on its line."""
    send = run.send[run.of_copy[copy]]
    return send - run.begin[run.line[send]]


@called_by_kernels
def put_on_channel(by: Channels, copy: Any, channel: Any, place: Any) -> Any:
    """Puts a copy sent at that place behind all others on its channel."""
    by.following[copy], by.delivered[copy] = NONE, False
    if by.missing[channel] == NONE:
        by.missing[channel], by.place[channel] = copy, place
    else:
        by.following[by.last[channel]] = copy
    by.last[channel] = copy
