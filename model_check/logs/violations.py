"""The violations of many runs, written down without names: of each the events of the messages that show it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native.compiled import compiled

from .layout import COPIES, EVENTS, LINES, MESSAGES, NONE, SEND, Numbers, Rows, Run, lay_out, zeros
from .monitor import COLUMN, Loops, has_room, show, show_overtaking, shown_by
from .overtaking import overtakings


class Written(NamedTuple):
    """What is written down."""

    #: How many entries, and numbers of shapes, lines and messages.
    sizes: Numbers
    #: For each violation a row: its run, the column of the order, and where its shape, its lines and its messages
    #: begin; all end where those of the next row begin.
    entry: Numbers
    #: Of each message of the run that is laid out whether it shows the violation.
    shows: Numbers
    #: The shapes: line after line the events, `END` after each line. A send of message k is 3 * k, its receivers follow
    #: as 3 * line + 2; a deliver of it is 3 * k + 1.
    shape: Numbers
    #: By line and message of a shape the process, and the message, by their numbers in the rows.
    process: Numbers
    message: Numbers
    #: Of the run that is laid out the process of each line; by line and message its number in the shape, or NONE.
    of_line: Numbers
    number_of_line: Numbers
    number_of_message: Numbers
    #: The lines in the shape.
    lines: Numbers


END = -1
ENTRIES, SHAPE, PROCESSES, MESSAGES_WRITTEN = range(4)
RUN, ORDER, *_ = range(5)
#: The most violations of a run.
ORDERS = len(COLUMN)


def room_for(run: Run, runs: int) -> Written:
    """Room for the violations of so many small runs, or of one that is as large as the largest."""
    events, copies, messages, lines = len(run.line), len(run.of_copy), len(run.send), len(run.at)
    shape, of_lines, of_messages = (
        ORDERS * max(least * runs, one) for least, one in ((64, events + copies + lines), (8, lines), (8, messages))
    )
    return Written(
        np.zeros(4, np.int64),
        np.zeros((ORDERS * runs + 1, 5), np.int64),
        np.zeros(messages, np.bool_),
        *zeros(shape, of_lines, of_messages, lines, lines, messages, lines),
    )


@compiled
def write_violations(
    runs: Any, broken: Any, rows: Rows, loops: Loops, pending: Any, rank: Any, written: Written
) -> Any:
    """Writes down the violations of these runs, by the orders that each has broken; returns of how many runs.

    It ends before a run for which there is no room. `rank`: of each process its place in the order of the lines.
    """
    run, graph, found = loops.run, loops.graph, loops.found
    for k in range(4):
        written.sizes[k] = 0
    for number in range(len(runs)):
        lay_out(runs[number], rows, run, loops.names)
        for k in range(len(found)):
            found[k] = NONE
        if not has_room(run, loops.channels) or not overtakings(run, loops.channels, 0, 0, found):
            return number
        if not _fits(run, written):
            return number
        _name_lines(runs[number], rows, run, loops.names, written)
        known = NONE
        for order in range(len(broken[number])):
            if not broken[number, order]:
                continue
            at = shown_by(order, run, found)
            if at == NONE or at != known:
                for m in range(run.sizes[MESSAGES]):
                    written.shows[m] = False
                if at == NONE:
                    show(order, run, graph, loops.queue, pending, written.shows)
                else:
                    show_overtaking(run, graph, found[at], found[at + 1], written.shows)
                known = at
            _write(runs[number], order, rows, run, rank, written)
    return len(runs)


@compiled
def _fits(run: Run, written: Written) -> Any:
    """True if all violations of the run can be written down after those that are."""
    lines, messages = run.sizes[LINES], run.sizes[MESSAGES]
    shape = run.sizes[EVENTS] + run.sizes[COPIES] + lines  # at most, as `room_for` has it
    return (
        written.sizes[SHAPE] + ORDERS * shape <= len(written.shape)
        and written.sizes[PROCESSES] + ORDERS * lines <= len(written.process)
        and written.sizes[MESSAGES_WRITTEN] + ORDERS * messages <= len(written.message)
    )


@compiled
def _name_lines(number: Any, rows: Rows, run: Run, names: Any, written: Written) -> Any:
    """Notes the process of each line."""
    for row in range(rows.first[number], rows.first[number + 1]):
        p = rows.process[row]
        written.of_line[names.process[p]] = p
        if rows.kind[row] == SEND:
            peer = rows.peer[row]
            for k in range(rows.first_receiver[peer], rows.first_receiver[peer + 1]):
                q = rows.receiver[k]
                written.of_line[names.process[q]] = q


@compiled
def _write(number: Any, order: Any, rows: Rows, run: Run, rank: Any, written: Written) -> Any:
    """Writes down the violation of which the messages are marked."""
    sizes, start = written.sizes, rows.first[number]
    entry = written.entry[sizes[ENTRIES]]
    entry[0], entry[1], entry[2], entry[3], entry[4] = (
        number,
        order,
        sizes[SHAPE],
        sizes[PROCESSES],
        sizes[MESSAGES_WRITTEN],
    )
    n = _order_lines(run, rank, written)
    of_messages = 0
    for k in range(n):
        p = written.lines[k]
        written.process[sizes[PROCESSES] + k] = written.of_line[p]
        for e in range(run.begin[p], run.begin[p + 1]):
            m = run.message[e]
            if written.shows[m] and run.copy[e] == NONE:
                written.number_of_message[m] = of_messages
                written.message[sizes[MESSAGES_WRITTEN] + of_messages] = rows.message[start + run.row[e]]
                of_messages += 1
    past = sizes[SHAPE]
    for k in range(n):
        p = written.lines[k]
        for e in range(run.begin[p], run.begin[p + 1]):
            m = run.message[e]
            if not written.shows[m]:
                continue
            written.shape[past] = 3 * written.number_of_message[m] + (0 if run.copy[e] == NONE else 1)
            past += 1
            if run.copy[e] == NONE:
                for copy in range(run.first_copy[m], run.first_copy[m + 1]):
                    written.shape[past] = 3 * written.number_of_line[run.receiver[copy]] + 2
                    past += 1
        written.shape[past] = END
        past += 1
    sizes[SHAPE] = past
    sizes[PROCESSES] += n
    sizes[MESSAGES_WRITTEN] += of_messages
    sizes[ENTRIES] += 1
    after = written.entry[sizes[ENTRIES]]
    after[2], after[3], after[4] = sizes[SHAPE], sizes[PROCESSES], sizes[MESSAGES_WRITTEN]


@compiled
def _order_lines(run: Run, rank: Any, written: Written) -> Any:
    """Numbers the lines of the marked messages in the order of their processes; returns how many there are."""
    for p in range(run.sizes[LINES]):
        written.number_of_line[p] = NONE
    n = 0
    for m in range(run.sizes[MESSAGES]):
        if written.shows[m]:
            n = _insert(run.line[run.send[m]], n, rank, written)
            for copy in range(run.first_copy[m], run.first_copy[m + 1]):
                n = _insert(run.receiver[copy], n, rank, written)
    for k in range(n):
        written.number_of_line[written.lines[k]] = k
    return n


@compiled
def _insert(line: Any, n: Any, rank: Any, written: Written) -> Any:
    """Puts a line among the first n, if it is not there; returns how many there are then."""
    if written.number_of_line[line] != NONE:
        return n
    written.number_of_line[line] = n
    k = n
    while k and rank[written.of_line[written.lines[k - 1]]] > rank[written.of_line[line]]:
        written.lines[k] = written.lines[k - 1]
        k -= 1
    written.lines[k] = line
    return n + 1
