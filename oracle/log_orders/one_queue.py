"""n-n order of one run: linearizations in which all messages go through one queue.

The constraints of single lines are not enough ([DFLL23]): where a receive must come before another one, so must the
sends, and the other way round. What follows is derived only where it is needed. All events are walked as one queue
would have them: a send puts its message at the end, and only the message at the front is received. If nothing can be
walked, the front's receive waits for some receive behind it; then its send must come after that one's send, which is a
constraint that holds in every linearization that would do. That receive is walked out of turn, and so on to the end.
Then the walk begins again with the new constraints, until

- all is walked in turn: the walk is a linearization as demanded, and the order is kept; or
- some nodes wait for each other in a cycle of constraints, and it is broken.

A walk takes time linear in events and constraints (times the logarithm of the sends that can be walked at once). Each
but the last adds a constraint between two messages that did not follow before, so that there are at most as many walks
as pairs of messages. Of messages that can be sent at once the one received first in the log goes first: a log in the
order in which a single queue passed its messages on takes one walk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from crownless.model_check.native.compiled import compiled
from crownless.oracle.logs.layout import COPIES, EVENTS, MESSAGES, NONE, Numbers, Run, zeros

from .constraints import EDGES, NODES, Graph, count_waits, force, message_at, release, sort_edges
from .cycles import earlier


class Queue(NamedTuple):
    """The one queue, and the messages that can be sent."""

    #: Of each message when it is first received in the log; how many receives are left, and how many can be walked.
    turn: Numbers
    left: Numbers
    ready: Numbers
    #: The messages in the queue; those that can be sent, as a heap by turn.
    line_up: Numbers
    heap: Numbers


def queue(run: Run) -> Queue:
    """Arrays for any run that fits these."""
    return Queue(*zeros(*[len(run.send) + 1] * 5))


@compiled
def is_one_queue(run: Run, graph: Graph, queue: Queue) -> Any:
    """1 if the constraints allow one queue, 0 if not, NONE if there is no room for more constraints."""
    for m in range(run.sizes[MESSAGES]):
        queue.turn[m] = run.sizes[EVENTS] + m
    for k in range(run.sizes[EVENTS] - 1, -1, -1):
        e = run.order[k]
        if run.copy[e] != NONE:
            queue.turn[run.message[e]] = k
    while True:
        known = graph.sizes[EDGES]
        sort_edges(graph)
        if not _walk(run, graph, queue):
            return 0
        if graph.sizes[EDGES] == known:
            return 1
        if graph.sizes[EDGES] >= len(graph.tail) - 1:
            return NONE


@compiled
def _walk(run: Run, graph: Graph, queue: Queue) -> Any:
    """One walk, which adds the constraints that it finds; False if some nodes wait for each other."""
    events, nodes = run.sizes[EVENTS], graph.sizes[NODES]
    for m in range(run.sizes[MESSAGES]):
        queue.left[m], queue.ready[m] = 0, 0
    for copy in range(run.sizes[COPIES]):
        receive = graph.receive[copy]
        if receive != NONE:
            queue.left[run.of_copy[copy]] += 1
    front, past, can_be_sent, walked = 0, 0, 0, 0
    new = count_waits(run, graph)
    while True:
        # What stands between groups is walked at once; the others are put where they belong.
        while new:
            new -= 1
            node = graph.queue[new]
            if node < events and run.copy[node] == NONE:
                can_be_sent = _push(queue, run.message[node], can_be_sent)
            elif message_at(run, graph, node) != NONE:
                queue.ready[message_at(run, graph, node)] += 1
            else:
                walked += 1
                new = release(run, graph, node, new)
        while front < past and not queue.left[queue.line_up[front]]:
            front += 1
        if front < past and queue.ready[queue.line_up[front]]:
            new = _receive(run, graph, queue, queue.line_up[front])
        elif can_be_sent:
            m = queue.heap[0]
            can_be_sent = _pop(queue, can_be_sent)
            if queue.left[m]:
                queue.line_up[past] = m
                past += 1
            new = release(run, graph, run.send[m], 0)
        elif front < past:
            m = queue.line_up[front]
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
            new = _receive(run, graph, queue, behind)
        else:
            return walked == nodes
        walked += 1


@compiled
def _receive(run: Run, graph: Graph, queue: Queue, m: Any) -> Any:
    """Walks a receive of the message, of those that can be; returns how many nodes can be walked then."""
    copy = run.first_copy[m]
    while graph.receive[copy] == NONE or graph.waits[graph.receive[copy]] != 0:
        copy += 1
    queue.left[m] -= 1
    queue.ready[m] -= 1
    return release(run, graph, graph.receive[copy], 0)


@compiled
def _push(queue: Queue, m: Any, size: Any) -> Any:
    k = size
    while k:
        parent = (k - 1) // 2
        if queue.turn[queue.heap[parent]] <= queue.turn[m]:
            break
        queue.heap[k] = queue.heap[parent]
        k = parent
    queue.heap[k] = m
    return size + 1


@compiled
def _pop(queue: Queue, size: Any) -> Any:
    """Takes the first message off the heap."""
    size -= 1
    m = queue.heap[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and queue.turn[queue.heap[child + 1]] < queue.turn[queue.heap[child]]:
            child += 1
        if queue.turn[m] <= queue.turn[queue.heap[child]]:
            break
        queue.heap[k] = queue.heap[child]
        k = child
    queue.heap[k] = m
    return size
