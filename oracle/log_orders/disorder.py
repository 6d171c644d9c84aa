"""Deliveries out of FIFO and causal order, per process (`spec.delivery_disorder`), measured in one pass.

For each channel the pass knows the first copy not yet overtaken. A delivery overtakes the copies from there on that
were sent before its own message: these are marked, once, with the delivery's number among those of its process. So the
pass takes as long as that of `overtaking`.
"""

from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native.compiled import called_by_kernels, compiled
from crownless.oracle.logs.layout import COPIES, EVENTS, LINES, NONE, Numbers, Run

from .overtaking import NOTHING_MISSING, Channels, keep_time, learn, place_of_send, put_on_channel

#: The columns of figures: the deliveries; of FIFO order the deliveries out of order, the greatest distance, the sum of
#: distances, and what is overtaken and never delivered; then the same of causal order.
DELIVERIES, FIFO_FROM, CAUSAL_FROM, FIGURES = 0, 1, 5, 9
_OUT_OF_ORDER, _FARTHEST, _TOTAL, _NEVER = range(4)


class Marks(NamedTuple):
    """Which copies are overtaken."""

    #: The first copy of each channel that is not overtaken, by FIFO order.
    first: Numbers
    #: The number of the delivery that first overtakes each copy, from 1; or 0.
    by_fifo: Numbers
    by_causal: Numbers


def marks(run: Run) -> Marks:
    """Marks for the run that is laid out."""
    lines, copies = int(run.sizes[LINES]), int(run.sizes[COPIES])
    first, by_fifo, by_causal = (np.zeros(length, np.int32) for length in (lines * lines, copies, copies))
    return Marks(first, by_fifo, by_causal)


@compiled
def measure(run: Run, by: Channels, marked: Marks, figures: Any) -> Any:
    """Fills the figures of each line; False if there is no room for the channels or the times."""
    n = run.sizes[LINES]
    if n * n > len(by.missing):
        return False
    for channel in range(n * n):
        by.missing[channel], by.place[channel] = NONE, NOTHING_MISSING
    for e in range(run.sizes[EVENTS]):
        if run.copy[e] == NONE:
            m, p = run.message[e], run.line[e]
            for copy in range(run.first_copy[m], run.first_copy[m + 1]):
                put_on_channel(by, copy, run.receiver[copy] * n + p, e - run.begin[p])
    for channel in range(n * n):
        marked.first[channel], by.times[channel] = by.missing[channel], 0
    by.slots[0], by.slots[1] = 0, 0
    for copy in range(run.sizes[COPIES]):
        marked.by_fifo[copy], marked.by_causal[copy] = 0, 0
    for p in range(n):
        for k in range(FIGURES):
            figures[p, k] = 0
    for number in range(run.sizes[EVENTS]):
        e = run.order[number]
        p, m, copy = run.line[e], run.message[e], run.copy[e]
        if copy == NONE:
            if not keep_time(run, by, p, m):
                return False
        else:
            sender = run.line[run.send[m]]
            figures[p, DELIVERIES] += 1
            now = figures[p, DELIVERIES]
            _count(figures[p], FIFO_FROM, marked.by_fifo[copy], now)
            _count(figures[p], CAUSAL_FROM, marked.by_causal[copy], now)
            _mark_by_fifo(run, by, marked, p * n + sender, place_of_send(run, copy), now)
            _mark_by_causal(run, by, marked, p * n, by.slot[m] * n, n, now)
            learn(run, by, p, m)
        by.times[p * n + p] = e - run.begin[p] + 1
    for copy in range(run.sizes[COPIES]):
        if run.deliver[copy] == NONE:
            p = run.receiver[copy]
            figures[p, FIFO_FROM + _NEVER] += 1 if marked.by_fifo[copy] else 0
            figures[p, CAUSAL_FROM + _NEVER] += 1 if marked.by_causal[copy] else 0
    return True


@called_by_kernels
def _count(of_line: Any, order: Any, overtaken: Any, now: Any) -> Any:
    if overtaken:
        of_line[order + _OUT_OF_ORDER] += 1
        of_line[order + _FARTHEST] = max(of_line[order + _FARTHEST], now - overtaken)
        of_line[order + _TOTAL] += now - overtaken


@called_by_kernels
def _mark_by_fifo(run: Run, by: Channels, marked: Marks, channel: Any, place: Any, now: Any) -> Any:
    """Marks the copies of a channel that were sent before that place."""
    copy = marked.first[channel]
    while copy != NONE and place_of_send(run, copy) < place:
        marked.by_fifo[copy] = now
        copy = by.following[copy]
    marked.first[channel] = copy


@called_by_kernels
def _mark_by_causal(run: Run, by: Channels, marked: Marks, own: Any, stamp: Any, n: Any, now: Any) -> Any:
    """Marks the copies to a process that were sent within the time of a message."""
    for sender in range(n):
        channel = own + sender
        copy = by.missing[channel]
        while copy != NONE and place_of_send(run, copy) < by.stamps[stamp + sender]:
            marked.by_causal[copy] = now
            copy = by.following[copy]
        by.missing[channel] = copy
