"""The monitor of event logs: the verdicts on all seven orders of each run, by compiled loops over numbers.

It decides what `spec.by_graph` decides, of complete runs and of runs with messages that are not received, to one
receiver or to several. FIFO and causal order are decided in one pass over the events (`overtaking`); mailbox, one-n and
synchronous order by a walk under constraints (`constraints`); n-n by a few such walks (`one_queue`). A run that is not
well-formed (see `layout`) stays undecided.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from crownless.model_check.native.compiled import compiled

from .constraints import (
    EDGES,
    Graph,
    begin,
    behind_an_unreceived_one,
    demand_instants,
    demand_mailbox,
    demand_one_n,
    demand_one_queue,
    graph,
    is_linearizable,
    message_at,
)
from .cycles import path, short_cycle
from .layout import COPIES, LAID_OUT, LINES, MESSAGES, NONE, Names, Numbers, Rows, Run, lay_out, room
from .one_queue import Queue, is_one_queue, queue
from .overtaking import LINES_UP_TO, Channels, channels, overtakings

#: The outcome for a run and an order.
KEPT, BROKEN, UNDECIDED = 0, 1, 2
#: The columns of outcomes: the orders as `spec.orders` names them.
ASYNCHRONOUS, FIFO, CAUSAL, MAILBOX, ONE_N, N_N, SYNCHRONOUS = range(7)
COLUMN = {
    "asynchronous": ASYNCHRONOUS,
    "fifo": FIFO,
    "causal": CAUSAL,
    "mailbox": MAILBOX,
    "one-n": ONE_N,
    "n-n": N_N,
    "synchronous": SYNCHRONOUS,
}
#: Room for times in flight at first, in entries; it grows as needed.
ENTRIES = 1 << 16


@dataclass
class Monitor:
    """The monitor of these rows. What is not received is `pending`, or lost."""

    rows: Rows
    pending: bool = False

    def __post_init__(self) -> None:
        self._run, self._names = room(self.rows)
        self._graph = graph(self._run)
        self._queue = queue(self._run)
        self._channels = channels(self._run, 16, ENTRIES)
        self._found = np.full(4, NONE, np.int32)

    def outcomes(self, orders: Collection[str] = tuple(COLUMN)) -> Numbers:
        """For each run a row: of each order in `COLUMN` KEPT, BROKEN or UNDECIDED, as are orders not asked for.

        Asynchronous order is UNDECIDED only of a run that is not well-formed.
        """
        runs = len(self.rows.first) - 1
        found = np.full((runs, len(COLUMN)), UNDECIDED, np.int8)
        asked = np.array([order in orders for order in COLUMN], np.bool_)
        number = 0
        while number < runs:
            number = _decide_runs(
                number, self.rows, self._run, self._names, self._channels, self._graph, self._queue, self._found,
                self.pending, asked, found,
            )  # fmt: skip
            if number < runs:
                self._grow()
        asked[ASYNCHRONOUS] = True
        found[:, ~asked] = UNDECIDED
        return found

    def _grow(self) -> None:
        lines = int(self._run.sizes[LINES])
        known = int(len(self._channels.missing) ** 0.5)
        entries = len(self._channels.stamps)
        if lines > known:
            known = min(LINES_UP_TO, max(lines, 2 * known))
        else:
            entries = max(2 * entries, lines)
        self._channels = channels(self._run, known, entries)

    def lay_out(self, number: int) -> Run:
        """The run of that number, which is well-formed, laid out until another one is."""
        lay_out(number, self.rows, self._run, self._names)
        return self._run

    def processes(self) -> Numbers:
        """Of each line of the run that is laid out the number of its process."""
        known = np.flatnonzero(self._names.process_seen == self._run.sizes[LAID_OUT])
        processes = np.empty(len(known), np.int64)
        processes[self._names.process[known]] = known
        return processes

    def witness(self, number: int, order: str) -> list[int]:
        """The rows of the sends whose messages show that the run breaks the order, which it does."""
        sends = np.zeros(len(self._run.send), np.bool_)
        while not _show(
            number, COLUMN[order], self.rows, self._run, self._names, self._channels, self._graph, self._queue,
            self._found, self.pending, sends,
        ):  # fmt: skip
            self._grow()
        messages = np.flatnonzero(sends[: self._run.sizes[MESSAGES]])
        return sorted((self.rows.first[number] + self._run.row[self._run.send[messages]]).tolist())


@compiled
def _decide_runs(
    number: Any,
    rows: Rows,
    run: Run,
    names: Names,
    channels: Channels,
    graph: Graph,
    queue: Queue,
    found: Any,
    pending: Any,
    asked: Any,
    outcomes: Any,
) -> Any:
    """Decides the runs from this number on; returns the first for which there is too little room, or the end."""
    for run_number in range(number, len(rows.first) - 1):
        if not lay_out(run_number, rows, run, names):
            continue
        n = run.sizes[LINES]
        if n > LINES_UP_TO:
            continue
        if n * n > len(channels.missing) or not overtakings(run, channels, found):
            return run_number
        _decide_one(run, graph, queue, found, pending, asked, outcomes[run_number])
    return len(rows.first) - 1


@compiled
def _decide_one(run: Run, graph: Graph, queue: Queue, found: Any, pending: Any, asked: Any, outcome: Any) -> Any:
    complete, unicasts = True, run.sizes[COPIES] == run.sizes[MESSAGES]
    for copy in range(run.sizes[COPIES]):
        complete = complete and run.deliver[copy] != NONE
    outcome[ASYNCHRONOUS] = KEPT
    outcome[FIFO] = KEPT if found[0] == NONE else BROKEN
    outcome[CAUSAL] = KEPT if found[2] == NONE else BROKEN
    broken = found[2] != NONE
    if broken:
        outcome[MAILBOX], outcome[N_N], outcome[SYNCHRONOUS] = BROKEN, BROKEN, BROKEN
        if unicasts:
            outcome[ONE_N] = BROKEN
    if (asked[SYNCHRONOUS] or asked[N_N]) and not broken:
        outcome[SYNCHRONOUS] = BROKEN
        if (complete or pending) and _keeps(run, graph, SYNCHRONOUS, pending):
            outcome[SYNCHRONOUS] = KEPT
            outcome[MAILBOX], outcome[ONE_N], outcome[N_N] = KEPT, KEPT, KEPT
            return
    if (asked[MAILBOX] or asked[ONE_N] or asked[N_N]) and not broken:
        outcome[MAILBOX] = KEPT if _keeps(run, graph, MAILBOX, pending) else BROKEN
        if unicasts and (complete or pending):  # the two are one then
            outcome[ONE_N] = outcome[MAILBOX]
    if (asked[ONE_N] or asked[N_N]) and outcome[ONE_N] == UNDECIDED:
        outcome[ONE_N] = KEPT if _keeps(run, graph, ONE_N, pending) else BROKEN
    if asked[N_N] and outcome[N_N] == UNDECIDED:
        outcome[N_N] = BROKEN
        if outcome[MAILBOX] == KEPT and outcome[ONE_N] == KEPT:
            begin(run, graph, pending)
            demand_one_queue(run, graph, pending)
            one_queue = is_one_queue(run, graph, queue)
            outcome[N_N] = KEPT if one_queue == 1 else BROKEN if one_queue == 0 else UNDECIDED


@compiled
def _keeps(run: Run, graph: Graph, order: Any, pending: Any) -> Any:
    """True if the run keeps mailbox, one-n or synchronous order, given that it keeps the orders that these imply."""
    begin(run, graph, pending)
    if order == MAILBOX:
        demand_mailbox(run, graph)
    elif order == ONE_N:
        if not pending and behind_an_unreceived_one(run, graph) != NONE:
            return False
        demand_one_n(run, graph)
    else:
        demand_instants(run, graph)
    return is_linearizable(run, graph)


# -- what shows a violation --------------------------------------------------------------------------------------------


@compiled
def _show(
    number: Any,
    order: Any,
    rows: Rows,
    run: Run,
    names: Names,
    channels: Channels,
    graph: Graph,
    queue: Queue,
    found: Any,
    pending: Any,
    shows: Any,
) -> Any:
    """Marks the messages that show that the run breaks the order; False if there is too little room."""
    lay_out(number, rows, run, names)
    n = run.sizes[LINES]
    if n * n > len(channels.missing) or not overtakings(run, channels, found):
        return False
    for m in range(run.sizes[MESSAGES]):
        shows[m] = False
    unicasts = run.sizes[COPIES] == run.sizes[MESSAGES]
    overtaken, overtaking = (found[0], found[1]) if order == FIFO else (found[2], found[3])
    if overtaken != NONE and (order != ONE_N or unicasts):
        _show_overtaking(run, graph, run.of_copy[overtaken], run.of_copy[overtaking], shows)
        return True
    if order == ONE_N and not pending:
        begin(run, graph, pending)
        both = behind_an_unreceived_one(run, graph)
        if both != NONE:
            shows[both >> 32], shows[both & ((1 << 32) - 1)] = True, True
            return True
    if order == N_N:
        begin(run, graph, pending)
        demand_one_queue(run, graph, pending)
        if is_one_queue(run, graph, queue) == 0 and not is_linearizable(run, graph):
            _show_cycle(run, graph, shows)
        return True
    if not _keeps(run, graph, order, pending):
        _show_cycle(run, graph, shows)
        return True
    for copy in range(run.sizes[COPIES]):
        if run.deliver[copy] == NONE:
            shows[run.of_copy[copy]] = True
            return True
    return True


@compiled
def _show_overtaking(run: Run, graph: Graph, overtaken: Any, overtaking: Any, shows: Any) -> Any:
    begin(run, graph, False)
    is_linearizable(run, graph)
    length = path(run, graph, run.send[overtaken], run.send[overtaking], 0, False)
    for k in range(length):
        shows[run.message[graph.path[k]]] = True


@compiled
def _show_cycle(run: Run, graph: Graph, shows: Any) -> Any:
    """Marks the messages of a short cycle, and those that the derived constraints on it rest on."""
    for edge in range(graph.sizes[EDGES]):
        graph.is_used[edge] = False
    length = short_cycle(run, graph)
    for k in range(length):
        following = graph.shortest[k + 1 if k + 1 < length else 0]
        _show_step(run, graph, graph.shortest[k], following, graph.sizes[EDGES], shows)
    for edge in range(graph.sizes[EDGES] - 1, -1, -1):
        if graph.is_used[edge] and graph.first_mirrored[edge] != NONE:
            length = path(run, graph, graph.first_mirrored[edge], graph.second_mirrored[edge], edge, False)
            for k in range(length):
                following = graph.path[k + 1] if k + 1 < length else NONE
                _show_step(run, graph, graph.path[k], following, edge, shows)


@compiled
def _show_step(run: Run, graph: Graph, node: Any, following: Any, edges: Any, shows: Any) -> Any:
    """Marks the message of a node, and the earliest constraint by which it leads to the next."""
    if message_at(run, graph, node) != NONE:
        shows[message_at(run, graph, node)] = True
    for k in range(graph.first_out[node], graph.first_out[node + 1]):
        edge = graph.by_tail[k]
        if edge < edges and graph.head[edge] == following:
            graph.is_used[edge] = True
            break
