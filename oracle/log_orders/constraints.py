"""The constraints that an order adds to one run, and the walk that decides whether a linearization satisfies them.

Nodes are the events of a run; with `pending` also a future receive for each undelivered copy, after its receiver's
whole line; and auxiliary nodes between two groups of events. The layout gives the steps of a line, and from a send to
its delivers; every other constraint is an edge here. An order is kept iff all nodes can be walked; otherwise there is a
cycle.
"""

from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native.compiled import called_by_kernels
from crownless.oracle.logs.layout import COPIES, EVENTS, LINES, MESSAGES, NONE, Numbers, Run, zeros


class Graph(NamedTuple):
    """The constraints of one order on the run that is laid out."""

    #: The numbers of nodes and edges.
    sizes: Numbers
    #: The tail and head of each edge.
    tail: Numbers
    head: Numbers
    #: The edges by tail: ``by_tail[first_out[node]:first_out[node + 1]]``; and by head.
    first_out: Numbers
    by_tail: Numbers
    first_in: Numbers
    by_head: Numbers
    #: The receive node of each copy: the deliver, or the receive to come, or NONE.
    receive: Numbers
    #: The message of each node that is not an event, or NONE if it stands between groups.
    message: Numbers
    #: The number of nodes still to be walked before each node; and the nodes that can be walked.
    waits: Numbers
    queue: Numbers
    #: For each edge derived from others (see `one_queue`) the two receives whose order it mirrors, or NONE; and
    #: whether a violation rests on it.
    first_mirrored: Numbers
    second_mirrored: Numbers
    is_used: Numbers
    #: For searches: the predecessor of each node; by line how far its events are known to be reached; the path
    #: that was found, and the shortest so far.
    came_from: Numbers
    reached: Numbers
    path: Numbers
    shortest: Numbers
    #: Whether each message shows the violation.
    shows: Numbers
    #: For the one-queue walk, for each message: when it is first received in the log; how many receives are left, and
    #: how many can be walked. The messages in the queue; those that can be sent, as a heap by turn.
    turn: Numbers
    left: Numbers
    ready: Numbers
    line_up: Numbers
    heap: Numbers


NODES, EDGES = range(2)
#: The number of nodes of a first cycle that are tried for a shorter cycle.
TRIES = 16


def graph(run: Run) -> Graph:
    """Arrays for the constraints of any order on any run that fits these."""
    events, copies, messages, lines = len(run.line), len(run.of_copy), len(run.send), len(run.at)
    nodes = events + copies + 2 * messages + 2
    edges = 2 * events + 8 * copies + 4 * messages + 1000  # unused entries take no memory
    lengths = (
        edges, edges, nodes, edges, nodes, edges, copies, nodes, nodes, nodes, edges, edges, edges, nodes, lines, nodes,
        nodes + TRIES, *[messages] * 6,
    )  # fmt: skip
    return Graph(np.zeros(2, np.int64), *zeros(*(length + 1 for length in lengths)))


@called_by_kernels
def begin(run: Run, graph: Graph, pending: Any) -> Any:
    """No constraints yet; receives to come are nodes if pending."""
    graph.sizes[NODES], graph.sizes[EDGES] = run.sizes[EVENTS], 0
    for copy in range(run.sizes[COPIES]):
        graph.receive[copy] = run.deliver[copy]
        if pending and run.deliver[copy] == NONE:
            node = new_node(graph)
            graph.receive[copy], graph.message[node] = node, run.of_copy[copy]
            force(graph, run.send[run.of_copy[copy]], node)
            q = run.receiver[copy]
            if run.begin[q] < run.begin[q + 1]:
                force(graph, run.begin[q + 1] - 1, node)


@called_by_kernels
def new_node(graph: Graph) -> Any:
    node = graph.sizes[NODES]
    graph.message[node] = NONE
    graph.sizes[NODES] += 1
    return node


@called_by_kernels
def message_at(run: Run, graph: Graph, node: Any) -> Any:
    """The message of a node, or NONE."""
    return run.message[node] if node < run.sizes[EVENTS] else graph.message[node]


@called_by_kernels
def force(graph: Graph, before: Any, after: Any) -> Any:
    """One node must come before another one."""
    if before != after:
        edge = graph.sizes[EDGES]
        graph.tail[edge], graph.head[edge] = before, after
        graph.first_mirrored[edge] = NONE
        graph.sizes[EDGES] += 1


@called_by_kernels
def force_groups(run: Run, graph: Graph, m: Any, later: Any) -> Any:
    """All receives of one message must come before all of another one."""
    first, past = run.first_copy[m], run.first_copy[m + 1]
    first_later, past_later = run.first_copy[later], run.first_copy[later + 1]
    if past - first == 1 or past_later - first_later == 1:
        for copy in range(first, past):
            for other in range(first_later, past_later):
                if graph.receive[copy] != NONE and graph.receive[other] != NONE:
                    force(graph, graph.receive[copy], graph.receive[other])
        return
    between = new_node(graph)
    for copy in range(first, past):
        if graph.receive[copy] != NONE:
            force(graph, graph.receive[copy], between)
    for other in range(first_later, past_later):
        if graph.receive[other] != NONE:
            force(graph, between, graph.receive[other])


# -- demands of the orders ---------------------------------------------------------------------------------------------


@called_by_kernels
def demand_mailbox(run: Run, graph: Graph) -> Any:
    """Sends to a receiver come in the order in which it receives, and those that it does not receive come last."""
    n = run.sizes[LINES]
    last = run.at
    for q in range(n):
        last[q] = NONE
        for e in range(run.begin[q], run.begin[q + 1]):
            if run.copy[e] != NONE:
                send = run.send[run.message[e]]
                if last[q] != NONE:
                    force(graph, last[q], send)
                last[q] = send
    for copy in range(run.sizes[COPIES]):
        q = run.receiver[copy]
        if run.deliver[copy] == NONE and last[q] != NONE:
            force(graph, last[q], run.send[run.of_copy[copy]])


@called_by_kernels
def demand_one_n(run: Run, graph: Graph) -> Any:
    """Receives of a process's messages come in the order in which it sends."""
    for p in range(run.sizes[LINES]):
        last = NONE
        for e in range(run.begin[p], run.begin[p + 1]):
            if run.copy[e] == NONE and has_receive(run, graph, run.message[e]):
                if last != NONE:
                    force_groups(run, graph, last, run.message[e])
                last = run.message[e]


@called_by_kernels
def has_receive(run: Run, graph: Graph, m: Any) -> Any:
    found = False
    for copy in range(run.first_copy[m], run.first_copy[m + 1]):
        found |= graph.receive[copy] != NONE
    return found


@called_by_kernels
def is_received(run: Run, m: Any) -> Any:
    """True if every copy of the message is delivered."""
    received = True
    for copy in range(run.first_copy[m], run.first_copy[m + 1]):
        received &= run.deliver[copy] != NONE
    return received


@called_by_kernels
def behind_an_unreceived_one(run: Run, graph: Graph) -> Any:
    """A received message whose sender sent an earlier one that is never received, or not by all: the two messages as
    one number, or NONE. With one queue per sender there is none.
    """
    for p in range(run.sizes[LINES]):
        lacking = NONE
        for e in range(run.begin[p], run.begin[p + 1]):
            if run.copy[e] != NONE:
                continue
            m = run.message[e]
            if lacking != NONE and has_receive(run, graph, m):
                return np.int64(lacking) << 32 | np.int64(m)
            if lacking == NONE and not is_received(run, m):
                lacking = m
    return NONE


@called_by_kernels
def demand_instants(run: Run, graph: Graph) -> Any:
    """A send comes after all events before its receives on the receivers' lines: then all are at one instant."""
    events = run.sizes[EVENTS]
    for copy in range(run.sizes[COPIES]):
        receive, q = graph.receive[copy], run.receiver[copy]
        if receive == NONE:
            continue
        before = receive - 1 if receive < events else run.begin[q + 1] - 1
        if before >= run.begin[q]:
            force(graph, before, run.send[run.of_copy[copy]])


@called_by_kernels
def demand_one_queue(run: Run, graph: Graph, pending: Any) -> Any:
    """Sends and receives of all messages come in one order, as far as single lines show (see `one_queue`)."""
    demand_one_n(run, graph)
    demand_mailbox(run, graph)
    if not pending:
        _after_all_received(run, graph)


@called_by_kernels
def _after_all_received(run: Run, graph: Graph) -> Any:
    """A message that is never received, or not by all, is sent after all others that are received."""
    lacking = 0
    for m in range(run.sizes[MESSAGES]):
        lacking += not is_received(run, m)
    if not lacking:
        return
    received, partly, past = new_node(graph), new_node(graph), NONE
    for m in range(run.sizes[MESSAGES]):
        whole = is_received(run, m)
        some = whole or has_receive(run, graph, m)
        if whole:
            force(graph, run.send[m], received)
        elif not some:
            force(graph, received, run.send[m])
            force(graph, partly, run.send[m])
        else:
            # Two such messages would each have to be sent before the other.
            force(graph, received, run.send[m])
            force(graph, run.send[m], partly)
            if past != NONE:
                force(graph, past, run.send[m])
                force(graph, run.send[m], past)
            past = run.send[m]


@called_by_kernels
def demand_agreement(run: Run, graph: Graph) -> Any:
    """Messages come in the order in which each process delivers them, and those that it does not deliver come last.

    Each message is a node of its own, so that neither sends nor happened-before matter.
    """
    first, last = graph.sizes[NODES], run.at
    for m in range(run.sizes[MESSAGES]):
        graph.message[new_node(graph)] = m
    for q in range(run.sizes[LINES]):
        last[q] = NONE
        for e in range(run.begin[q], run.begin[q + 1]):
            if run.copy[e] != NONE:
                if last[q] != NONE:
                    force(graph, last[q], first + run.message[e])
                last[q] = first + run.message[e]
    for copy in range(run.sizes[COPIES]):
        q = run.receiver[copy]
        if run.deliver[copy] == NONE and last[q] != NONE:
            force(graph, last[q], first + run.of_copy[copy])


# -- is there a linearization? -----------------------------------------------------------------------------------------


@called_by_kernels
def sort_edges(graph: Graph) -> Any:
    """Finds the edges out of and into each node."""
    nodes, edges = graph.sizes[NODES], graph.sizes[EDGES]
    _by_node(nodes, edges, graph.tail, graph.first_out, graph.by_tail)
    _by_node(nodes, edges, graph.head, graph.first_in, graph.by_head)


@called_by_kernels
def _by_node(nodes: Any, edges: Any, of: Any, first: Any, sorted_edges: Any) -> Any:
    for node in range(nodes + 1):
        first[node] = 0
    for edge in range(edges):
        first[of[edge]] += 1
    total = 0
    for node in range(nodes + 1):
        total += first[node]
        first[node] = total
    # Each `first` is now the end of its node's edges.
    for edge in range(edges - 1, -1, -1):
        first[of[edge]] -= 1
        sorted_edges[first[of[edge]]] = edge


@called_by_kernels
def count_waits(run: Run, graph: Graph) -> Any:
    """Counts the immediate predecessors of each node; returns the number of nodes without any, which are in `queue`."""
    events, ready = run.sizes[EVENTS], 0
    for node in range(graph.sizes[NODES]):
        waits = graph.first_in[node + 1] - graph.first_in[node]
        if node < events:
            waits += node > run.begin[run.line[node]]
            waits += run.copy[node] != NONE
        graph.waits[node] = waits
        if not waits:
            graph.queue[ready] = node
            ready += 1
    return ready


@called_by_kernels
def is_linearizable(run: Run, graph: Graph) -> Any:
    """True if some linearization satisfies the constraints."""
    sort_edges(graph)
    ready, walked = count_waits(run, graph), 0
    while ready:
        ready -= 1
        ready = release(run, graph, graph.queue[ready], ready)
        walked += 1
    return walked == graph.sizes[NODES]


@called_by_kernels
def release(run: Run, graph: Graph, node: Any, ready: Any) -> Any:
    """Walks a node: nodes that waited only for it are put into `queue`; returns its new length."""
    graph.waits[node] = NONE
    for k in range(graph.first_out[node], graph.first_out[node + 1]):
        ready = _wait_less(graph, graph.head[graph.by_tail[k]], ready)
    if node < run.sizes[EVENTS]:
        if node + 1 < run.begin[run.line[node] + 1]:
            ready = _wait_less(graph, node + 1, ready)
        if run.copy[node] == NONE:
            m = run.message[node]
            for copy in range(run.first_copy[m], run.first_copy[m + 1]):
                if run.deliver[copy] != NONE:
                    ready = _wait_less(graph, run.deliver[copy], ready)
    return ready


@called_by_kernels
def _wait_less(graph: Graph, node: Any, ready: Any) -> Any:
    graph.waits[node] -= 1
    if not graph.waits[node]:
        graph.queue[ready] = node
        ready += 1
    return ready
