"""The monitor of event logs: the verdicts on the orders of each run, by compiled loops over numbers.

Its verdicts are those of `spec.by_graph`, on complete runs and runs with unreceived messages, to one receiver or
several. FIFO and causal order are decided in one pass over the events (`overtaking`); mailbox, one-n, synchronous and
total order by a walk under constraints (`constraints`); n-n by a few such walks (`one_queue`). A run that is not
well-formed (see `layout`) stays undecided, and so does an order whose relation these loops do not know.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native.compiled import called_by_kernels, compiled
from crownless.oracle.logs.layout import (
    COPIES,
    EVENTS,
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
from crownless.spec.orders import ORDERS, Outcome, Relation

from .constraints import (
    EDGES,
    Graph,
    begin,
    behind_an_unreceived_one,
    demand_agreement,
    demand_instants,
    demand_mailbox,
    demand_one_n,
    demand_one_queue,
    graph,
    is_linearizable,
    is_received,
    message_at,
    sort_edges,
)
from .cycles import path, short_cycle
from .disorder import FIGURES, marks, measure
from .one_queue import is_one_queue
from .overtaking import LINES_UP_TO, Channels, channels, overtakings

#: The outcome for a run and an order.
KEPT, BROKEN, UNDECIDED, NOTHING = 0, 1, 2, 3
OUTCOMES: dict[int, Outcome] = {KEPT: "kept", BROKEN: "violated", UNDECIDED: "unknown", NOTHING: "nothing"}
#: The columns of outcomes, one for each relation; and those of the orders, by column.
COLUMNS = len(Relation)
COLUMN = {order.name: int(relation) for relation in Relation for order in ORDERS.values() if order.relation == relation}
ASYNCHRONOUS, FIFO, CAUSAL = int(Relation.NOTHING), int(Relation.OVERTAKEN_OF_ONE_SENDER), int(Relation.OVERTAKEN)
MAILBOX, ONE_N, N_N = int(Relation.SENDS_AS_RECEIVED), int(Relation.RECEIVES_AS_SENT), int(Relation.ONE_QUEUE)
SYNCHRONOUS, TOTAL = int(Relation.INSTANTS), int(Relation.RECEIVED)
#: Initial room for times in flight, and for the rows that show violations, in entries; it grows as needed.
ENTRIES = 1 << 16
#: Rows that are decided between two progress reports, and between two checks for interrupts.
ROWS_AT_A_TIME = 1 << 19


def columns_of(orders: Collection[str]) -> Numbers:
    """For each column whether it is that of one of these orders."""
    columns = np.zeros(COLUMNS, np.bool_)
    columns[[COLUMN[order] for order in orders if order in COLUMN]] = True
    return columns


class Loops(NamedTuple):
    """The arrays of the compiled loops."""

    run: Run
    names: Names
    channels: Channels
    graph: Graph
    #: The overtaken and the overtaking copy, by FIFO order and by causal order, or NONE.
    found: Numbers


def loops(rows: Rows, lines: int, entries: int) -> Loops:
    """Arrays for any of these runs with this number of lines, and of entries of times in flight."""
    run, names = room(rows)
    return Loops(run, names, channels(run, lines, entries), graph(run), np.full(4, NONE, np.int32))


class Violation(NamedTuple):
    """The rows of the events, line after line, that show the violation of an order by the run of that number."""

    run: int
    order: str
    rows: list[int]


@dataclass
class Monitor:
    """The monitor of these rows. Unreceived messages are `pending`, or lost."""

    rows: Rows
    pending: bool = False

    def __post_init__(self) -> None:
        self.rows = read_only(self.rows)
        self._loops = loops(self.rows, 16, ENTRIES)
        #: The run that is laid out.
        self._number = NONE

    def outcomes(self, orders: Collection[str] = tuple(COLUMN), report: Callable[[int], None] | None = None) -> Numbers:
        """For each run a row: for each column KEPT, BROKEN or UNDECIDED, as are orders not requested; NOTHING for a run
        without messages, and for total order of messages with one receiver each.

        Asynchronous order is UNDECIDED only for a run that is not well-formed. `report` gets the number of decided rows
        from time to time.
        """
        runs = len(self.rows.first) - 1
        found = np.full((runs, COLUMNS), UNDECIDED, np.int8)
        asked = columns_of(orders)
        number, self._number = 0, NONE
        while number < runs:
            if report is not None:
                report(int(self.rows.first[number]))
            end = int(np.searchsorted(self.rows.first, self.rows.first[number] + ROWS_AT_A_TIME))
            end = min(runs, max(number + 1, end))
            number = _decide_runs(number, end, self.rows, self._loops, self.pending, asked, found)
            if number < end:
                self._grow()
        asked[ASYNCHRONOUS] = True  # it says whether a run is well-formed
        found[:, ~asked] = UNDECIDED
        return found

    def violations(self, runs: Numbers, broken: Numbers) -> Iterator[Violation]:
        """The evidence of the violations of these well-formed runs, run by run, from the weakest order on.

        `broken`: for each of these runs a row, in which the violated orders are true, by column.
        """
        self._number, done = NONE, 0
        rows = np.empty(max(ENTRIES, COLUMNS * len(self._loops.run.line)), np.int64)
        ends = np.zeros((len(runs), COLUMNS), np.int64)
        while done < len(runs):
            more = _write_violations(
                runs[done:], broken[done:], self.rows, self._loops, self.pending, rows, ends[done:]
            )
            start, written = 0, rows[: ends[done + more - 1, -1] if more else 0].tolist()
            for k in range(done, done + more):
                for order, column in COLUMN.items():
                    end = int(ends[k, column])
                    if broken[k, column]:
                        assert end > start, f"no message shows {order} broken"
                        yield Violation(int(runs[k]), order, written[start:end])
                    start = end
            done += more
            if not more:
                self._grow()

    def _grow(self) -> None:
        """Makes room for more lines, or for more times of messages in flight."""
        run, by = self._loops.run, self._loops.channels
        lines, known, entries = int(run.sizes[LINES]), int(len(by.missing) ** 0.5), len(by.stamps)
        if lines > known:
            known = min(LINES_UP_TO, max(lines, 2 * known))
        else:
            entries = max(2 * entries, lines)
        self._loops = self._loops._replace(channels=channels(run, known, entries))

    def lay_out(self, number: int) -> Run:
        """The well-formed run of that number, laid out until another one is."""
        if number != self._number:
            lay_out(number, self.rows, self._loops.run, self._loops.names)
            self._number = number
        return self._loops.run

    def disorder(self, number: int) -> Numbers:
        """For each line of the well-formed run of that number, the figures of `disorder`."""
        run = self.lay_out(number)
        figures, marked = np.zeros((int(run.sizes[LINES]), FIGURES), np.int64), marks(run)
        while not measure(run, self._loops.channels, marked, figures):
            self._grow()
        return figures

    def processes(self) -> Numbers:
        """The process number of each line of the laid-out run."""
        names = self._loops.names
        known = np.flatnonzero(names.process_seen == self._loops.run.sizes[LAID_OUT])
        processes = np.empty(len(known), np.int64)
        processes[names.process[known]] = known
        return processes


@compiled
def _decide_runs(number: Any, end: Any, rows: Rows, loops: Loops, pending: Any, asked: Any, outcomes: Any) -> Any:
    """Decides the runs from that number to the end; returns the first without enough room, or the end."""
    run = loops.run
    for run_number in range(number, end):
        if not lay_out(run_number, rows, run, loops.names) or run.sizes[LINES] > LINES_UP_TO:
            continue
        if not run.sizes[MESSAGES]:
            outcomes[run_number] = NOTHING
            continue
        if not _overtakings(loops):
            return run_number
        decide(loops, pending, run.sizes[COPIES] == run.sizes[MESSAGES], asked, outcomes[run_number])
    return end


@called_by_kernels
def _overtakings(loops: Loops) -> Any:
    """Searches the laid-out run for violations of FIFO and causal order; False if there is no room for it."""
    for k in range(len(loops.found)):
        loops.found[k] = NONE
    return overtakings(loops.run, loops.channels, 0, loops.found)


@compiled
def decide(loops: Loops, pending: Any, unicasts: Any, asked: Any, outcome: Any) -> Any:
    """Decides the requested orders, given the overtakings. `unicasts`: each message has one receiver."""
    run, graph, found = loops.run, loops.graph, loops.found
    complete = True
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
            outcome[TOTAL] = NOTHING if unicasts else KEPT
            return
    if (asked[MAILBOX] or asked[ONE_N] or asked[N_N]) and not broken:
        outcome[MAILBOX] = KEPT if _keeps(run, graph, MAILBOX, pending) else BROKEN
        if unicasts and (complete or pending):  # then the two coincide
            outcome[ONE_N] = outcome[MAILBOX]
    if (asked[ONE_N] or asked[N_N]) and outcome[ONE_N] == UNDECIDED:
        outcome[ONE_N] = KEPT if _keeps(run, graph, ONE_N, pending) else BROKEN
    if asked[N_N] and outcome[N_N] == UNDECIDED:
        outcome[N_N] = BROKEN
        if outcome[MAILBOX] == KEPT and outcome[ONE_N] == KEPT:
            constrain(run, graph, N_N, pending)
            one_queue = is_one_queue(run, graph)
            outcome[N_N] = KEPT if one_queue == 1 else BROKEN if one_queue == 0 else UNDECIDED
    if asked[TOTAL] and unicasts:
        outcome[TOTAL] = NOTHING
    elif asked[TOTAL]:
        agree = outcome[MAILBOX] == KEPT or _keeps(run, graph, TOTAL, pending)
        outcome[TOTAL] = KEPT if agree else BROKEN


@called_by_kernels
def _keeps(run: Run, graph: Graph, order: Any, pending: Any) -> Any:
    """True if the run keeps mailbox, one-n, synchronous or total order, given that it keeps the orders they imply."""
    constrain(run, graph, order, pending)
    if order == ONE_N and not pending and behind_an_unreceived_one(run, graph) != NONE:
        return False
    return is_linearizable(run, graph)


@compiled
def constrain(run: Run, graph: Graph, order: Any, pending: Any) -> Any:
    """Puts the constraints of mailbox, one-n, n-n, synchronous or total order on the run."""
    begin(run, graph, pending and order != TOTAL)  # a receive to come is after all others at its process
    if order == TOTAL:
        demand_agreement(run, graph)
    elif order == MAILBOX:
        demand_mailbox(run, graph)
    elif order == ONE_N:
        demand_one_n(run, graph)
    elif order == N_N:
        demand_one_queue(run, graph, pending)
    else:
        demand_instants(run, graph)


# -- what shows a violation --------------------------------------------------------------------------------------------


@compiled
def _write_violations(runs: Any, broken: Any, rows: Rows, loops: Loops, pending: Any, written: Any, ends: Any) -> Any:
    """Writes the rows of the events that show the violations of these runs, and by run and order where they end;
    returns the number of runs written before there is no room.
    """
    run, past = loops.run, 0
    for k in range(len(runs)):
        lay_out(runs[k], rows, run, loops.names)
        if past + len(ends[k]) * run.sizes[EVENTS] > len(written) or not _overtakings(loops):
            return k
        known = NONE
        for order in range(len(ends[k])):
            if broken[k, order]:
                at = shown_by(order, loops.found, run.sizes[COPIES] == run.sizes[MESSAGES])
                if at == NONE or at != known:  # else the same messages show it
                    mark(order, at, loops, pending)
                known = at
                for e in range(run.sizes[EVENTS]):
                    if loops.graph.shows[run.message[e]]:
                        written[past] = rows.first[runs[k]] + run.row[e]
                        past += 1
            ends[k, order] = past
    return len(runs)


@compiled
def shown_by(order: Any, found: Any, unicasts: Any) -> Any:
    """The index in `found` of the overtaking that shows the violation of the order; NONE if none shows it."""
    at = 0 if order == FIFO else 2
    return NONE if found[at] == NONE or order == TOTAL or (order == ONE_N and not unicasts) else at


@compiled
def mark(order: Any, at: Any, loops: Loops, pending: Any) -> Any:
    """Marks in `shows` the messages that show the violation of the order; `at`: the overtaking that shows it."""
    run, graph = loops.run, loops.graph
    for m in range(run.sizes[MESSAGES]):
        graph.shows[m] = False
    if at != NONE:
        _mark_chain(run, graph, loops.found[at], loops.found[at + 1])
        return
    both = NONE
    if order == ONE_N and not pending:
        begin(run, graph, pending)
        both = behind_an_unreceived_one(run, graph)
    if both != NONE:
        graph.shows[both >> 32], graph.shows[both & ((1 << 32) - 1)] = True, True
        return
    constrain(run, graph, order, pending)
    if order == N_N:
        is_one_queue(run, graph)
    if not is_linearizable(run, graph):
        _mark_cycle(run, graph)
        return
    for m in range(run.sizes[MESSAGES]):
        if order == SYNCHRONOUS and not is_received(run, m):
            graph.shows[m] = True
            return


@called_by_kernels
def _mark_chain(run: Run, graph: Graph, overtaken: Any, overtaking: Any) -> Any:
    """Marks the messages of a shortest chain from the send of one copy to that of another."""
    begin(run, graph, False)
    sort_edges(graph)
    send, later = run.send[run.of_copy[overtaken]], run.send[run.of_copy[overtaking]]
    length = path(run, graph, send, later, 0, False)
    for k in range(length):
        graph.shows[run.message[graph.path[k]]] = True


@called_by_kernels
def _mark_cycle(run: Run, graph: Graph) -> Any:
    """Marks the messages of a short cycle, and those on which its derived constraints rest."""
    for edge in range(graph.sizes[EDGES]):
        graph.is_used[edge] = False
    length = short_cycle(run, graph)
    for k in range(length):
        following = graph.shortest[k + 1 if k + 1 < length else 0]
        _mark_step(run, graph, graph.shortest[k], following, graph.sizes[EDGES])
    for edge in range(graph.sizes[EDGES] - 1, -1, -1):
        if graph.is_used[edge] and graph.first_mirrored[edge] != NONE:
            length = path(run, graph, graph.first_mirrored[edge], graph.second_mirrored[edge], edge, False)
            for k in range(length):
                following = graph.path[k + 1] if k + 1 < length else NONE
                _mark_step(run, graph, graph.path[k], following, edge)


@called_by_kernels
def _mark_step(run: Run, graph: Graph, node: Any, following: Any, edges: Any) -> Any:
    """Marks the message of a node, and the earliest constraint by which it leads to the next."""
    if message_at(run, graph, node) != NONE:
        graph.shows[message_at(run, graph, node)] = True
    for k in range(graph.first_out[node], graph.first_out[node + 1]):
        edge = graph.by_tail[k]
        if edge < edges and graph.head[edge] == following:
            graph.is_used[edge] = True
            break
