"""A short cycle among the constraints of a run, where no linearization satisfies all."""

from typing import Any

from crownless.model_check.native.compiled import called_by_kernels
from crownless.oracle.logs.layout import EVENTS, LINES, NONE, Run

from .constraints import EDGES, NODES, TRIES, Graph

#: Not reached by a search.
_NOT_REACHED = -2


@called_by_kernels
def short_cycle(run: Run, graph: Graph) -> Any:
    """Puts the nodes of a short cycle into `shortest`; returns how many. The last leads to the first by an edge.

    To be called after `is_linearizable` returned false.
    """
    nodes = graph.sizes[NODES]
    node = 0
    while graph.waits[node] <= 0:
        node += 1
    for other in range(nodes):
        graph.came_from[other] = _NOT_REACHED
    while graph.came_from[node] == _NOT_REACHED:
        before = earlier(run, graph, node)
        graph.came_from[node] = before
        node = before
    # This node is on a cycle, which `came_from` follows backwards.
    length = 0
    start = node
    while length == 0 or node != start:
        graph.shortest[length] = node
        length += 1
        node = graph.came_from[node]
    _reverse(graph.shortest, length)
    # The tried nodes are kept behind, where no shorter cycle is written.
    tries = min(length, TRIES)
    for k in range(tries):
        graph.shortest[length + k] = graph.shortest[k * length // tries]
    best = length
    for k in range(tries):
        node = graph.shortest[length + k]
        for j in range(graph.first_in[node], graph.first_in[node + 1]):
            tail = graph.tail[graph.by_head[j]]
            if graph.waits[tail] > 0:
                found = path(run, graph, node, tail, graph.sizes[EDGES], True)
                if found != NONE and found < best:
                    best = found
                    for i in range(found):
                        graph.shortest[i] = graph.path[i]
                break
    return best


@called_by_kernels
def earlier(run: Run, graph: Graph, node: Any) -> Any:
    """A node that must come before this one, and was not walked either."""
    for k in range(graph.first_in[node], graph.first_in[node + 1]):
        tail = graph.tail[graph.by_head[k]]
        if graph.waits[tail] != NONE:
            return tail
    if node < run.sizes[EVENTS] and run.copy[node] != NONE:
        send = run.send[run.message[node]]
        if graph.waits[send] != NONE:
            return send
    return node - 1


@called_by_kernels
def path(run: Run, graph: Graph, source: Any, target: Any, edges: Any, unwalked: Any) -> Any:
    """Puts the nodes of a shortest path from one node to another into `path`; returns how many, or NONE.

    Any distance along a line is one step. Only the first `edges` edges count; if `unwalked`, only nodes not yet walked.
    """
    nodes, events = graph.sizes[NODES], run.sizes[EVENTS]
    for node in range(nodes):
        graph.came_from[node] = _NOT_REACHED
    for p in range(run.sizes[LINES]):
        graph.reached[p] = run.begin[p + 1]
    graph.came_from[source] = NONE
    graph.queue[0] = source
    first, past = 0, 1
    while first < past and graph.came_from[target] == _NOT_REACHED:
        node = graph.queue[first]
        first += 1
        for k in range(graph.first_out[node], graph.first_out[node + 1]):
            edge = graph.by_tail[k]
            if edge < edges:
                past = _reach(graph, node, graph.head[edge], unwalked, past)
        if node < events:
            if run.copy[node] == NONE:
                m = run.message[node]
                for copy in range(run.first_copy[m], run.first_copy[m + 1]):
                    if run.deliver[copy] != NONE:
                        past = _reach(graph, node, run.deliver[copy], unwalked, past)
            p = run.line[node]
            for event in range(node + 1, graph.reached[p]):
                past = _reach(graph, node, event, unwalked, past)
            graph.reached[p] = min(graph.reached[p], node + 1)
    if graph.came_from[target] == _NOT_REACHED:
        return NONE
    length, node = 0, target
    while node != NONE:
        graph.path[length] = node
        length += 1
        node = graph.came_from[node]
    _reverse(graph.path, length)
    return length


@called_by_kernels
def _reverse(nodes: Any, length: Any) -> Any:
    for k in range(length // 2):
        nodes[k], nodes[length - 1 - k] = nodes[length - 1 - k], nodes[k]


@called_by_kernels
def _reach(graph: Graph, node: Any, following: Any, unwalked: Any, past: Any) -> Any:
    if graph.came_from[following] == _NOT_REACHED and not (unwalked and graph.waits[following] == NONE):
        graph.came_from[following] = node
        graph.queue[past] = following
        past += 1
    return past
