"""Crowns and strong crowns ([CMT96]; [MG] §2.3).

A crown is a sequence of k ≥ 2 distinct messages with send 0 → receive 1, …, send k-1 → receive 0. It is strong if each
of these pairs is at one process ([MG] writes ≺ for →). [MG]'s definition does not exclude k = 1, which would make every
message a crown, nor repeated messages; a crown here has at least two, all distinct, as in [MG]'s figures.

A complete computation is synchronous iff it has no crown ([MG] Theorem 2).
"""

from collections.abc import Iterator

from .computation import Computation
from .graphs import shortest_path, strong_components
from .witnesses import Crown

#: The successors of each message, each with the receive that leads there.
CrownGraph = list[dict[int, int]]


def crown_graph(c: Computation, *, strong: bool = False) -> CrownGraph:
    """m leads to m' if the send of m happened before a receive of m', which labels the edge."""
    graph: CrownGraph = [{} for _ in c.messages]
    for m, send in enumerate(c.send_event):
        for other, receives in enumerate(c.receive_events):
            if other == m:
                continue
            for receive in receives.values():
                at_one_process = c.process_of[send] == c.process_of[receive]
                if c.happened_before(send, receive) and (at_one_process or not strong):
                    graph[m][other] = receive
                    break
    return graph


def crowns(c: Computation, *, strong: bool = False) -> Iterator[Crown]:
    """Every crown (every strong crown), each once; there can be exponentially many."""
    import networkx as nx  # it takes a while to import

    graph = crown_graph(c, strong=strong)
    edges: nx.DiGraph[int] = nx.DiGraph((m, following) for m, targets in enumerate(graph) for following in targets)
    for messages in nx.simple_cycles(edges):
        yield _named(c, graph, messages)


def smallest_crown(c: Computation, *, strong: bool = False) -> Crown | None:
    """A crown (a strong crown) of least size, or None if there is none."""
    graph = crown_graph(c, strong=strong)
    component = strong_components(graph)
    within = [[n for n in sorted(targets) if component[n] == component[m]] for m, targets in enumerate(graph)]
    shortest: list[int] | None = None
    for m, successors in enumerate(within):
        for successor in successors:
            path = shortest_path(within, successor, m)
            if shortest is None or len(path) < len(shortest):
                shortest = path
            if len(shortest) == 2:
                return _named(c, graph, shortest)
    return None if shortest is None else _named(c, graph, shortest)


def crown_of(c: Computation, messages: list[int]) -> Crown | None:
    """The crown that these messages form in this order, or None."""
    links = []
    for m, following in zip(messages, [*messages[1:], *messages[:1]], strict=True):
        receives = [r for r in c.receive_events[following].values() if c.happened_before_by_search(c.send_event[m], r)]
        if not receives:
            return None
        links.append((c.send_event[m], receives[0]))
    return Crown(tuple(messages), tuple(links)) if len(set(messages)) == len(messages) >= 2 else None


def _named(c: Computation, graph: CrownGraph, messages: list[int]) -> Crown:
    """The crown of this cycle, from its least message on."""
    least = messages.index(min(messages))
    messages = [*messages[least:], *messages[:least]]
    following = [*messages[1:], messages[0]]
    links = tuple((c.send_event[m], graph[m][n]) for m, n in zip(messages, following, strict=True))
    return Crown(tuple(messages), links)
