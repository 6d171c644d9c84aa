"""One run of a log as numbers: its lines, its events, its messages and their copies.

The rows of a run may be in any order. `lay_out` numbers its processes, and its events line after line, without internal
ones, on which no order depends; a message to several receivers has a copy for each. A run that is not well-formed (a
gap, two events in one place, a deliver without a send, contradictions) is not laid out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native.compiled import called_by_kernels, compiled

Numbers = np.ndarray[Any, Any]

NONE = -1
#: Kinds of rows by number.
SEND, DELIVER, INTERNAL, NO_KIND = 0, 1, 2, 3


class Rows(NamedTuple):
    """The rows of a log as numbers, those of a run together; a negative number is a missing or invalid name."""

    #: The first row of each run, and the end of the last.
    first: Numbers
    process: Numbers
    place: Numbers
    kind: Numbers
    message: Numbers
    #: The receivers of a send, as an index into `first_receiver`; the sender of a deliver, likewise.
    peer: Numbers
    #: The processes that a peer names: ``receiver[first_receiver[peer]:first_receiver[peer + 1]]``, each once.
    first_receiver: Numbers
    receiver: Numbers


def no_events(rows: Rows) -> Numbers:
    """True for each row that is not an event."""
    kind, peer = rows.kind, rows.peer
    bad: Numbers = (rows.process < 0) | (rows.place < 0) | (kind == NO_KIND)
    bad |= (kind != INTERNAL) & (rows.message < 0)
    named = np.append(np.diff(rows.first_receiver), 0)[np.maximum(peer, NONE)]
    bad |= ((kind == SEND) & (peer < 0)) | ((kind == DELIVER) & ((peer < NONE) | (named > 1)))
    return bad


def on_lines(line: Numbers, place: Numbers) -> tuple[Numbers, Numbers]:
    """For each row the place of the row before it on its line, and its own place if there were no gaps.

    Rows with one place on one line keep one place. Before the first place there is 0 if the least one of all is 1.
    """
    order = np.lexsort((place, line))
    begins = np.append(True, np.diff(line[order]) != 0)
    before, places = np.empty((2, len(order)), np.int64)
    before[order] = np.where(begins, int(place.min() == 1) - 1, np.roll(place[order], 1))
    number = np.cumsum(place[order] != before[order])
    places[order] = number - np.maximum.accumulate(np.where(begins, number, 0))
    return before, places


def read_only(rows: Rows) -> Rows:
    """The rows as read-only arrays: all then have one type, for which loops are compiled once."""
    views = [column.view() for column in rows]
    for view in views:
        view.flags.writeable = False
    return Rows(*views)


@dataclass(frozen=True)
class Events:
    """Events of one run as numbers, in order of arrival. The peers of a send are its receivers; those of a deliver its
    sender, if known: ``peer[first_peer[event]:first_peer[event + 1]]``.
    """

    process: Numbers
    #: The number of the event on its process.
    place: Numbers
    kind: Numbers
    #: An arbitrary number shared by a send and its delivers.
    message: Numbers
    first_peer: Numbers
    peer: Numbers

    @classmethod
    def none(cls) -> "Events":
        process, place, kind, message = (np.empty(0, of) for of in (np.int32, np.int64, np.int8, np.int64))
        return cls(process, place, kind, message, np.zeros(1, np.int64), np.empty(0, np.int32))

    def rows(self) -> Iterator[tuple[int, bool, int, list[int]]]:
        """The events as rows: process, whether it sends, message, peers."""
        columns = (self.process, self.kind == SEND, self.message, self.first_peer, self.peer)
        process, sends, message, first, peer = (column.tolist() for column in columns)
        for event in range(len(self)):
            yield process[event], sends[event], message[event], peer[first[event] : first[event + 1]]

    def __len__(self) -> int:
        return len(self.process)

    def __add__(self, more: "Events") -> "Events":
        return Events(
            np.concatenate([self.process, more.process]),
            np.concatenate([self.place, more.place]),
            np.concatenate([self.kind, more.kind]),
            np.concatenate([self.message, more.message]),
            np.concatenate([self.first_peer, more.first_peer[1:] + self.first_peer[-1]]),
            np.concatenate([self.peer, more.peer]),
        )

    def some(self, which: Numbers) -> "Events":
        """The events of these numbers, in that order."""
        first, counts = self.first_peer[which], np.diff(self.first_peer)[which]
        ends = np.cumsum(counts)
        at = np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts)
        process, place, kind, message = self.process[which], self.place[which], self.kind[which], self.message[which]
        return Events(process, place, kind, message, np.append(0, ends), self.peer[at])


class Run(NamedTuple):
    """The laid-out run; the arrays fit the largest run."""

    #: The numbers of lines, events, messages, copies; and of runs laid out.
    sizes: Numbers
    #: The first event of each line; and the number of events.
    begin: Numbers
    length: Numbers
    #: For each event: its line, its message, its copy (NONE for a send), and its row in the run.
    line: Numbers
    message: Numbers
    copy: Numbers
    row: Numbers
    #: For each message: its send, and the first of its copies (and the end of the last message's).
    send: Numbers
    first_copy: Numbers
    #: For each copy: its message, its receiver, and its deliver or NONE.
    of_copy: Numbers
    receiver: Numbers
    deliver: Numbers
    #: All events in an order that happened-before allows: the log's order if possible.
    order: Numbers
    #: The event of each row, or NONE; the row of each place of each line.
    event: Numbers
    placed: Numbers
    #: By line, for the walk that finds an order.
    at: Numbers
    next_waiter: Numbers
    waiters: Numbers
    queue: Numbers


class Names(NamedTuple):
    """The number of each name in the run that was laid out when it was last seen."""

    process_seen: Numbers
    process: Numbers
    message_seen: Numbers
    message: Numbers


LINES, EVENTS, MESSAGES, COPIES, LAID_OUT = range(5)


def zeros(*lengths: int) -> list[Numbers]:
    """Arrays of these lengths, in one block of memory, which may use large pages."""
    past = np.cumsum(lengths)
    return np.split(np.zeros(past[-1], np.int32), past[:-1])


def room(rows: Rows) -> tuple[Run, Names]:
    """Arrays for the largest of these runs."""
    most_rows, most_copies = 1, 1
    if len(rows.first) > 1:
        most_rows = max(1, int(np.diff(rows.first).max()))
        several = np.diff(rows.first_receiver)
        copies = np.where((rows.kind == SEND) & (rows.peer >= 0), np.append(several, 0)[np.maximum(rows.peer, NONE)], 0)
        most_copies = max(1, int(np.diff(np.append(0, np.cumsum(copies))[rows.first]).max()))
    lines = most_rows + most_copies
    lengths = [lines] * 2 + [most_rows] * 6 + [most_copies] * 3 + [most_rows] * 3 + [lines] * 4
    run = Run(np.zeros(5, np.int64), *zeros(*(length + 1 for length in lengths)))
    names = int(max(rows.process.max(initial=0), rows.receiver.max(initial=0))) + 1
    messages = int(rows.message.max(initial=0)) + 1
    return run, Names(
        np.full(names, NONE, np.int64), np.zeros(names, np.int32), np.full(messages, NONE, np.int64),
        np.zeros(messages, np.int32),
    )  # fmt: skip


@compiled
def lay_out(number: Any, rows: Any, run: Any, names: Any) -> Any:
    """Lays out the run of that number; False if it is not well-formed."""
    start, end = rows.first[number], rows.first[number + 1]
    run.sizes[LAID_OUT] += 1
    n = _number_lines(start, end, rows, run, names)
    if n < 0 or not _place_rows(start, end, n, rows, run, names):
        return False
    run.sizes[LINES] = n
    return _number_messages(start, end, rows, run, names) and _in_some_order(start, end, run)


@called_by_kernels
def _number_lines(start: Any, end: Any, rows: Any, run: Any, names: Any) -> Any:
    """Numbers the processes, those without events last, and counts the rows of each; NONE if a row is not an event."""
    n, number = 0, run.sizes[LAID_OUT]
    for row in range(start, end):
        p, kind = rows.process[row], rows.kind[row]
        if p < 0 or rows.place[row] < 0 or kind == NO_KIND:
            return NONE
        if kind != INTERNAL and rows.message[row] < 0:
            return NONE
        if (kind == SEND and rows.peer[row] < 0) or (kind == DELIVER and rows.peer[row] < NONE):
            return NONE
        if names.process_seen[p] != number:
            names.process_seen[p] = number
            names.process[p] = n
            run.length[n] = 0
            n += 1
        run.length[names.process[p]] += 1
    for row in range(start, end):
        if rows.kind[row] == SEND:
            peer = rows.peer[row]
            for k in range(rows.first_receiver[peer], rows.first_receiver[peer + 1]):
                q = rows.receiver[k]
                if names.process_seen[q] != number:
                    names.process_seen[q] = number
                    names.process[q] = n
                    run.length[n] = 0
                    n += 1
    return n


@called_by_kernels
def _place_rows(start: Any, end: Any, n: Any, rows: Any, run: Any, names: Any) -> Any:
    """Puts each row in its place; False if there is a gap, or two rows in one place."""
    least = rows.place[start]
    for row in range(start, end):
        least = min(least, rows.place[row])
        run.placed[row - start] = NONE
    least = 1 if least == 1 else 0
    run.begin[0] = 0
    for p in range(n):
        run.begin[p + 1] = run.begin[p] + run.length[p]
    for row in range(start, end):
        p = names.process[rows.process[row]]
        place = rows.place[row] - least
        if place < 0 or place >= run.length[p] or run.placed[run.begin[p] + place] != NONE:
            return False
        run.placed[run.begin[p] + place] = row - start
    e = 0
    for p in range(n):
        first_place, past_place = run.begin[p], run.begin[p] + run.length[p]
        run.begin[p] = e
        for place in range(first_place, past_place):
            row = run.placed[place]
            run.event[row] = NONE
            if rows.kind[start + row] != INTERNAL:
                run.event[row] = e
                run.line[e] = p
                run.row[e] = row
                e += 1
    run.begin[n] = e
    run.sizes[EVENTS] = e
    return True


@called_by_kernels
def _number_messages(start: Any, end: Any, rows: Any, run: Any, names: Any) -> Any:
    """Numbers the messages in the order of the log; False if the rows of a message are inconsistent."""
    m, c, number = 0, 0, run.sizes[LAID_OUT]
    for row in range(start, end):
        if rows.kind[row] != SEND:
            continue
        x, e = rows.message[row], run.event[row - start]
        if names.message_seen[x] == number:
            return False
        names.message_seen[x] = number
        names.message[x] = m
        run.send[m], run.first_copy[m] = e, c
        run.message[e], run.copy[e] = m, NONE
        peer = rows.peer[row]
        for k in range(rows.first_receiver[peer], rows.first_receiver[peer + 1]):
            run.of_copy[c], run.receiver[c], run.deliver[c] = m, names.process[rows.receiver[k]], NONE
            c += 1
        m += 1
    run.first_copy[m] = c
    run.sizes[MESSAGES], run.sizes[COPIES] = m, c
    for row in range(start, end):
        if rows.kind[row] != DELIVER:
            continue
        x, e, peer = rows.message[row], run.event[row - start], rows.peer[row]
        if names.message_seen[x] != number:
            return False
        k = names.message[x]
        if peer != NONE:
            by = rows.receiver[rows.first_receiver[peer]]
            if rows.first_receiver[peer + 1] != rows.first_receiver[peer] + 1 or names.process_seen[by] != number:
                return False
            if names.process[by] != run.line[run.send[k]]:
                return False
        copy = run.first_copy[k]
        while copy < run.first_copy[k + 1] and run.receiver[copy] != run.line[e]:
            copy += 1
        if copy == run.first_copy[k + 1] or run.deliver[copy] != NONE:
            return False
        run.deliver[copy] = e
        run.message[e], run.copy[e] = k, copy
    return True


@called_by_kernels
def _in_some_order(start: Any, end: Any, run: Any) -> Any:
    """Finds an order that happened-before allows; False if there is none."""
    for p in range(run.sizes[LINES]):
        run.at[p] = run.begin[p]
    k = 0
    for row in range(end - start):
        e = run.event[row]
        if e == NONE:
            continue
        p = run.line[e]
        if run.at[p] != e:
            return _by_walking(run)
        if run.copy[e] != NONE:
            send = run.send[run.message[e]]
            if run.at[run.line[send]] <= send:
                return _by_walking(run)
        run.at[p] = e + 1
        run.order[k] = e
        k += 1
    return True


@called_by_kernels
def _by_walking(run: Any) -> Any:
    """Walks along all lines, each deliver after its send."""
    n = run.sizes[LINES]
    for p in range(n):
        run.at[p] = run.begin[p]
        run.waiters[p] = NONE
        run.queue[p] = n - 1 - p
    waiting, k = n, 0
    while waiting:
        waiting -= 1
        p = run.queue[waiting]
        stood = run.at[p]
        while run.at[p] < run.begin[p + 1]:
            e = run.at[p]
            if run.copy[e] != NONE:
                send = run.send[run.message[e]]
                by = run.line[send]
                if run.at[by] <= send:
                    if by != p:
                        run.next_waiter[p] = run.waiters[by]
                        run.waiters[by] = p
                    break
            run.order[k] = e
            k += 1
            run.at[p] = e + 1
        if run.at[p] == stood:  # its waiters keep waiting, or are in a cycle
            continue
        waiter = run.waiters[p]
        run.waiters[p] = NONE
        while waiter != NONE:
            run.queue[waiting] = waiter
            waiting += 1
            waiter = run.next_waiter[waiter]
    return k == run.sizes[EVENTS]
