"""n-n order of one run: linearizations in which all messages go through one queue.

The constraints of single lines are not enough ([DFLL23]): if a receive must come before another one, so must the sends,
and vice versa. Consequences are derived only where needed. All events are walked as by one queue: a send puts its
message at the end, and only the message at the front is received. If nothing can be walked, the front's receive waits
for some receive behind it; then its send must come after that one's send, a constraint that holds in every suitable
linearization. That receive is walked out of turn, and so on to the end. Then the walk begins again with the new
constraints, until

- all events are walked in turn: the walk is a suitable linearization, and the order is kept; or
- some nodes wait for each other in a cycle of constraints, and it is violated.

A walk takes time linear in events and constraints (times the logarithm of the sends that can be walked at once). Each
but the last adds a new constraint between two messages, so that there are at most as many walks as pairs of messages.
Among messages that can be sent at once the one received first in the log goes first: a log in the order of a single
queue takes one walk.
"""

from typing import Any

from crownless.model_check.native.compiled import called_by_kernels
from crownless.oracle.logs.layout import COPIES, EVENTS, MESSAGES, NONE, Run

from .constraints import EDGES, NODES, Graph, count_waits, force, message_at, release, sort_edges
from .cycles import earlier


@called_by_kernels
def is_one_queue(run: Run, graph: Graph) -> Any:
    """1 if the constraints allow one queue, 0 if not, NONE if there is no room for more constraints."""
    for m in range(run.sizes[MESSAGES]):
        graph.turn[m] = run.sizes[EVENTS] + m
    for k in range(run.sizes[EVENTS] - 1, -1, -1):
        e = run.order[k]
        if run.copy[e] != NONE:
            graph.turn[run.message[e]] = k
    while True:
        known = graph.sizes[EDGES]
        sort_edges(graph)
        if not _walk(run, graph):
            return 0
        if graph.sizes[EDGES] == known:
            return 1
        if graph.sizes[EDGES] >= len(graph.tail) - 1:
            return NONE


@called_by_kernels
def _walk(run: Run, graph: Graph) -> Any:
    """One walk, which adds the constraints that it finds; False if some nodes wait for each other."""
    events, nodes = run.sizes[EVENTS], graph.sizes[NODES]
    for m in range(run.sizes[MESSAGES]):
        graph.left[m], graph.ready[m] = 0, 0
    for copy in range(run.sizes[COPIES]):
        receive = graph.receive[copy]
        if receive != NONE:
            graph.left[run.of_copy[copy]] += 1
    front, past, can_be_sent, walked = 0, 0, 0, 0
    new = count_waits(run, graph)
    while True:
        # Nodes between groups are walked at once; the others are put where they belong.
        while new:
            new -= 1
            node = graph.queue[new]
            if node < events and run.copy[node] == NONE:
                can_be_sent = _push(graph, run.message[node], can_be_sent)
            elif message_at(run, graph, node) != NONE:
                graph.ready[message_at(run, graph, node)] += 1
            else:
                walked += 1
                new = release(run, graph, node, new)
        while front < past and not graph.left[graph.line_up[front]]:
            front += 1
        if front < past and graph.ready[graph.line_up[front]]:
            new = _receive(run, graph, graph.line_up[front])
        elif can_be_sent:
            m = graph.heap[0]
            can_be_sent = _pop(graph, can_be_sent)
            if graph.left[m]:
                graph.line_up[past] = m
                past += 1
            new = release(run, graph, run.send[m], 0)
        elif front < past:
            m = graph.line_up[front]
            waiting = NONE
            for copy in range(run.first_copy[m], run.first_copy[m + 1]):
                if graph.receive[copy] != NONE and graph.waits[graph.receive[copy]] > 0:
                    waiting = graph.receive[copy]
            node, steps = waiting, 0
            while graph.waits[node] > 0:
                node = earlier(run, graph, node)
                steps += 1
                if steps > nodes:
                    return False
            behind = message_at(run, graph, node)
            if graph.sizes[EDGES] < len(graph.tail) - 1:
                edge = graph.sizes[EDGES]
                force(graph, run.send[behind], run.send[m])
                graph.first_mirrored[edge], graph.second_mirrored[edge] = node, waiting
            new = _receive(run, graph, behind)
        else:
            return walked == nodes
        walked += 1


@called_by_kernels
def _receive(run: Run, graph: Graph, m: Any) -> Any:
    """Walks a receive of the message that can be walked; returns the number of nodes that can be walked then."""
    copy = run.first_copy[m]
    while graph.receive[copy] == NONE or graph.waits[graph.receive[copy]] != 0:
        copy += 1
    graph.left[m] -= 1
    graph.ready[m] -= 1
    return release(run, graph, graph.receive[copy], 0)


@called_by_kernels
def _push(graph: Graph, m: Any, size: Any) -> Any:
    k = size
    while k:
        parent = (k - 1) // 2
        if graph.turn[graph.heap[parent]] <= graph.turn[m]:
            break
        graph.heap[k] = graph.heap[parent]
        k = parent
    graph.heap[k] = m
    return size + 1


@called_by_kernels
def _pop(graph: Graph, size: Any) -> Any:
    """Takes the first message off the heap."""
    size -= 1
    m = graph.heap[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and graph.turn[graph.heap[child + 1]] < graph.turn[graph.heap[child]]:
            child += 1
        if graph.turn[m] <= graph.turn[graph.heap[child]]:
            break
        graph.heap[k] = graph.heap[child]
        k = child
    graph.heap[k] = m
    return size
