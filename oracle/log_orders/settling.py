"""The countable events of a run in progress, and those that no later event can precede (see `streaming`)."""

from typing import Any

from crownless.model_check.native.compiled import called_by_kernels, compiled
from crownless.oracle.logs.layout import DELIVER, EVENTS, NONE, SEND, Run

from .constraints import Graph, count_waits, is_received, message_at, release, sort_edges


@compiled
def in_happened_before(
    process: Any,
    kind: Any,
    message: Any,
    order: Any,
    following: Any,
    lines: Any,
    ready: Any,
    is_sent: Any,
    first_waiter: Any,
) -> Any:
    """Puts the events into an order that happened-before allows, the given one if possible; returns the number of
    events that do not wait for others, such as for a missing send.
    """
    first, last, next_waiter = lines[0], lines[1], lines[2]
    count = 0
    for event in range(len(process)):
        p = process[event]
        following[event] = NONE
        if first[p] != NONE:
            following[last[p]] = event
            last[p] = event
            continue
        first[p], last[p] = event, event
        ready[0] = p
        waiting = 1
        while waiting:
            waiting -= 1
            p = ready[waiting]
            while first[p] != NONE:
                e = first[p]
                m = message[e]
                if kind[e] == DELIVER and not is_sent[m]:
                    next_waiter[p] = first_waiter[m]
                    first_waiter[m] = p
                    break
                order[count] = e
                count += 1
                first[p] = following[e]
                if kind[e] == SEND:
                    is_sent[m] = True
                    waiter = first_waiter[m]
                    first_waiter[m] = NONE
                    while waiter != NONE:
                        ready[waiting] = waiter
                        waiting += 1
                        waiter = next_waiter[waiter]
    return count


@compiled
def settle(run: Run, graph: Graph, by_message: Any, settled: Any) -> Any:
    """Keeps as settled only the events that can be walked without any future send; or, if messages are nodes themselves
    (`by_message`), those whose message can be walked so.
    """
    sort_edges(graph)
    ready = count_waits(run, graph)
    while ready:
        ready -= 1
        node = graph.queue[ready]
        m = message_at(run, graph, node)
        if m == NONE or is_received(run, m) or (node < run.sizes[EVENTS] and run.copy[node] != NONE):
            ready = release(run, graph, node, ready)
    for e in range(run.sizes[EVENTS]):
        node = run.sizes[EVENTS] + run.message[e] if by_message else e
        settled[e] = settled[e] and graph.waits[node] == NONE


@compiled
def settle_before_all_others(run: Run, graph: Graph, settled: Any) -> Any:
    """Keeps as settled only the events of messages sent and received before all unsettled events."""
    count = 0
    for e in range(run.sizes[EVENTS]):
        if not settled[e]:
            graph.queue[count] = e
            count += 1
    while count:
        count -= 1
        e = graph.queue[count]
        m = run.message[e]
        if e + 1 < run.begin[run.line[e] + 1]:
            count = _unsettle(graph, settled, e + 1, count)
        count = _unsettle(graph, settled, run.send[m], count)
        for copy in range(run.first_copy[m], run.first_copy[m + 1]):
            if run.deliver[copy] != NONE:
                count = _unsettle(graph, settled, run.deliver[copy], count)


@called_by_kernels
def _unsettle(graph: Graph, settled: Any, e: Any, count: Any) -> Any:
    if settled[e]:
        settled[e] = False
        graph.queue[count] = e
        count += 1
    return count
