"""The monitor of event logs: the verdicts on all seven orders of each run, by compiled loops over numbers.

It decides what `spec.by_graph` decides, of complete runs and of runs with messages that are not received, to one
receiver or to several. FIFO and causal order are decided in one pass over the events (`overtaking`); mailbox, one-n and
synchronous order by a walk under constraints (`constraints`); n-n by a few such walks (`one_queue`). A run that is not
well-formed (see `layout`) stays undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from crownless.model_check.native.compiled import compiled
from crownless.oracle.logs.layout import (
    COPIES,
    LAID_OUT,
    LINES,
    MESSAGES,
    NONE,
    Names,
    Numbers,
    Rows,
    Run,
    lay_out,
    read_only,
    room,
)
from crownless.spec.orders import Outcome

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
    sort_edges,
)
from .cycles import path, short_cycle
from .disorder import FIGURES, marks, measure
from .one_queue import Queue, is_one_queue, queue
from .overtaking import LINES_UP_TO, Channels, channels, overtakings

#: The outcome for a run and an order.
KEPT, BROKEN, UNDECIDED = 0, 1, 2
OUTCOMES: dict[int, Outcome] = {KEPT: "kept", BROKEN: "broken", UNDECIDED: "unknown"}
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
#: Rows that are decided between two reports, and between two looks at whether to end.
ROWS_AT_A_TIME = 1 << 19


@dataclass
class Monitor:
    """The monitor of these rows. What is not received is `pending`, or lost."""

    rows: Rows
    pending: bool = False

    def __post_init__(self) -> None:
        self.rows = read_only(self.rows)
        self._run, self._names = room(self.rows)
        self._graph = graph(self._run)
        self._queue = queue(self._run)
        self._channels = channels(self._run, 16, ENTRIES)
        self._found = np.full(4, NONE, np.int32)
        #: The run that is laid out, and its witnesses by the copies of which one overtakes the other.
        self._number = NONE
        self._by_overtaking: dict[tuple[int, int], list[int]] = {}

    def outcomes(self, orders: Collection[str] = tuple(COLUMN), report: Callable[[int], None] | None = None) -> Numbers:
        """For each run a row: of each order in `COLUMN` KEPT, BROKEN or UNDECIDED, as are orders not asked for.

        Asynchronous order is UNDECIDED only of a run that is not well-formed. `report` gets the number of rows that are
        decided, now and then.
        """
        runs = len(self.rows.first) - 1
        found = np.full((runs, len(COLUMN)), UNDECIDED, np.int8)
        asked = np.array([order in orders for order in COLUMN], np.bool_)
        number, self._number = 0, NONE
        while number < runs:
            if report is not None:
                report(int(self.rows.first[number]))
            end = int(np.searchsorted(self.rows.first, self.rows.first[number] + ROWS_AT_A_TIME))
            end = min(runs, max(number + 1, end))
            number = _decide_runs(
                number, end, self.rows, self._run, self._names, self._channels, self._graph, self._queue, self._found,
                self.pending, asked, found,
            )  # fmt: skip
            if number < end:
                self.grow()
        if runs and found[-1, ASYNCHRONOUS] != UNDECIDED:
            self._number, self._by_overtaking = runs - 1, {}  # it is still laid out
        asked[ASYNCHRONOUS] = True
        found[:, ~asked] = UNDECIDED
        return found

    def grow(self) -> None:
        """Makes room for more lines, or for more times of messages in flight."""
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
        if number != self._number:
            lay_out(number, self.rows, self._run, self._names)
            self._found[:] = NONE
            while not has_room(self._run, self._channels) or not overtakings(self._run, self._channels, 0, self._found):
                self._found[:] = NONE
                self.grow()
            self._number = number
            self._by_overtaking = {}
        return self._run

    def disorder(self, number: int) -> Numbers:
        """For each line of the run of that number, which is well-formed, the figures of `disorder`."""
        run = self.lay_out(number)
        figures, marked = np.zeros((int(run.sizes[LINES]), FIGURES), np.int64), marks(run)
        while not measure(run, self._channels, marked, figures):
            self.grow()
        return figures

    def processes(self) -> Numbers:
        """Of each line of the run that is laid out the number of its process."""
        known = np.flatnonzero(self._names.process_seen == self._run.sizes[LAID_OUT])
        processes = np.empty(len(known), np.int64)
        processes[self._names.process[known]] = known
        return processes

    def witness(self, number: int, order: str) -> list[int]:
        """The rows of the sends whose messages show that the run breaks the order, which it does."""
        run, column = self.lay_out(number), COLUMN[order]
        at = shown_by(column, run, self._found)
        if at == NONE:
            sends = np.zeros(len(run.send), np.bool_)
            show(column, run, self._graph, self._queue, self.pending, sends)
            return self._rows_of(sends)
        overtaken, overtaking = self._found[at : at + 2].tolist()
        if (overtaken, overtaking) not in self._by_overtaking:  # by which other orders are broken, too
            sends = np.zeros(len(run.send), np.bool_)
            show_overtaking(run, self._graph, overtaken, overtaking, sends)
            self._by_overtaking[overtaken, overtaking] = self._rows_of(sends)
        return self._by_overtaking[overtaken, overtaking]

    def _rows_of(self, sends: Numbers) -> list[int]:
        messages = np.flatnonzero(sends[: self._run.sizes[MESSAGES]])
        rows: list[int] = sorted((self.rows.first[self._number] + self._run.row[self._run.send[messages]]).tolist())
        return rows


@compiled
def has_room(run: Run, channels: Channels) -> Any:
    return run.sizes[LINES] * run.sizes[LINES] <= len(channels.missing)


@compiled
def _decide_runs(
    number: Any,
    end: Any,
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
    """Decides the runs from that number to the end; returns the first for which there is no room, or the end."""
    for run_number in range(number, end):
        if not lay_out(run_number, rows, run, names):
            continue
        if run.sizes[LINES] > LINES_UP_TO:
            continue
        for k in range(len(found)):
            found[k] = NONE
        if not has_room(run, channels) or not overtakings(run, channels, 0, found):
            return run_number
        _decide_one(run, graph, queue, found, pending, asked, outcomes[run_number])
    return end


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
        if (complete or pending) and keeps(run, graph, SYNCHRONOUS, pending):
            outcome[SYNCHRONOUS] = KEPT
            outcome[MAILBOX], outcome[ONE_N], outcome[N_N] = KEPT, KEPT, KEPT
            return
    if (asked[MAILBOX] or asked[ONE_N] or asked[N_N]) and not broken:
        outcome[MAILBOX] = KEPT if keeps(run, graph, MAILBOX, pending) else BROKEN
        if unicasts and (complete or pending):  # the two are one then
            outcome[ONE_N] = outcome[MAILBOX]
    if (asked[ONE_N] or asked[N_N]) and outcome[ONE_N] == UNDECIDED:
        outcome[ONE_N] = KEPT if keeps(run, graph, ONE_N, pending) else BROKEN
    if asked[N_N] and outcome[N_N] == UNDECIDED:
        outcome[N_N] = BROKEN
        if outcome[MAILBOX] == KEPT and outcome[ONE_N] == KEPT:
            one_queue = keeps_one_queue(run, graph, queue, pending)
            outcome[N_N] = KEPT if one_queue == 1 else BROKEN if one_queue == 0 else UNDECIDED


@compiled
def keeps(run: Run, graph: Graph, order: Any, pending: Any) -> Any:
    """True if the run keeps mailbox, one-n or synchronous order, given that it keeps the orders that these imply."""
    constrain(run, graph, order, pending)
    if order == ONE_N and not pending and behind_an_unreceived_one(run, graph) != NONE:
        return False
    return is_linearizable(run, graph)


@compiled
def constrain(run: Run, graph: Graph, order: Any, pending: Any) -> Any:
    """Puts the constraints of mailbox, one-n or synchronous order on the run."""
    begin(run, graph, pending)
    if order == MAILBOX:
        demand_mailbox(run, graph)
    elif order == ONE_N:
        demand_one_n(run, graph)
    else:
        demand_instants(run, graph)


@compiled
def keeps_one_queue(run: Run, graph: Graph, queue: Queue, pending: Any) -> Any:
    """As `one_queue.is_one_queue`: whether the run keeps n-n order, given that it keeps mailbox and one-n order."""
    begin(run, graph, pending)
    demand_one_queue(run, graph, pending)
    return is_one_queue(run, graph, queue)


# -- what shows a violation --------------------------------------------------------------------------------------------


@compiled
def shown_by(order: Any, run: Run, found: Any) -> Any:
    """Where the overtaking stands in `found` that shows that the run breaks the order; NONE if none shows it."""
    at, unicasts = 0 if order == FIFO else 2, run.sizes[COPIES] == run.sizes[MESSAGES]
    return NONE if found[at] == NONE or (order == ONE_N and not unicasts) else at


@compiled
def show(order: Any, run: Run, graph: Graph, queue: Queue, pending: Any, shows: Any) -> Any:
    """Marks the messages that show that the run breaks the order, though none is overtaken."""
    if order == ONE_N and not pending:
        begin(run, graph, pending)
        both = behind_an_unreceived_one(run, graph)
        if both != NONE:
            shows[both >> 32], shows[both & ((1 << 32) - 1)] = True, True
            return
    if order == N_N:
        begin(run, graph, pending)
        demand_one_queue(run, graph, pending)
        if is_one_queue(run, graph, queue) == 0 and not is_linearizable(run, graph):
            _show_cycle(run, graph, shows)
        return
    if not keeps(run, graph, order, pending):
        _show_cycle(run, graph, shows)
        return
    for copy in range(run.sizes[COPIES]):
        if run.deliver[copy] == NONE and not graph.to_come[run.of_copy[copy]]:
            shows[run.of_copy[copy]] = True
            return


@compiled
def show_overtaking(run: Run, graph: Graph, overtaken: Any, overtaking: Any, shows: Any) -> Any:
    """Marks the messages of a shortest chain from the send of one copy to that of another."""
    begin(run, graph, False)
    sort_edges(graph)
    send, later = run.send[run.of_copy[overtaken]], run.send[run.of_copy[overtaking]]
    length = path(run, graph, send, later, 0, False)
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
