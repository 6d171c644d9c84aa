"""Crowns and strong crowns ([CMT96]; [MG] §2.3).

A crown is a sequence of k ≥ 2 distinct messages with send 0 → receive 1, …, send k-1 → receive 0. It is strong if
each of these pairs is at one process ([MG] writes ≺ for →). [MG]'s definition does not exclude k = 1, by which every
message would be a crown, nor repeated messages; a crown here has at least two, all distinct, as its figures have.

A complete computation is synchronous iff it has no crown ([MG] Theorem 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .computation import Computation
from .witnesses import Crown

if TYPE_CHECKING:
    import networkx as nx


def crown_graph(c: Computation, *, strong: bool = False) -> nx.DiGraph[int]:
    """Messages; m → m' if the send of m happened before a receive of m', which the edge names."""
    import networkx as nx  # it takes a while to import

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(c.messages)))
    for m, send in enumerate(c.send_event):
        for other, receives in enumerate(c.receive_events):
            if other == m:
                continue
            for receive in receives.values():
                at_one_process = c.process_of[send] == c.process_of[receive]
                if c.happened_before(send, receive) and (at_one_process or not strong):
                    graph.add_edge(m, other, receive=receive)
                    break
    return graph


def crowns(c: Computation, *, strong: bool = False) -> Iterator[Crown]:
    """Every crown (every strong crown), each once; there can be exponentially many."""
    import networkx as nx  # it takes a while to import

    graph = crown_graph(c, strong=strong)
    for messages in nx.simple_cycles(graph):
        yield _named(c, graph, messages)


def smallest_crown(c: Computation, *, strong: bool = False) -> Crown | None:
    """A crown (a strong crown) of least size, or None if there is none."""
    import networkx as nx  # it takes a while to import

    graph = crown_graph(c, strong=strong)
    shortest: list[int] | None = None
    for component in nx.strongly_connected_components(graph):
        if len(component) < 2:
            continue
        part = graph.subgraph(component)
        for m in sorted(component):
            for successor in sorted(part.successors(m)):
                path = nx.shortest_path(part, successor, m)
                if shortest is None or len(path) < len(shortest):
                    shortest = path
            if shortest is not None and len(shortest) == 2:
                return _named(c, graph, shortest)
    return None if shortest is None else _named(c, graph, shortest)


def crown_of(c: Computation, messages: list[int]) -> Crown | None:
    """The crown that these messages are in this order, or None if they are none."""
    links = []
    for m, following in zip(messages, [*messages[1:], *messages[:1]], strict=True):
        receives = [r for r in c.receive_events[following].values() if c.leads_to(c.send_event[m], r)]
        if not receives:
            return None
        links.append((c.send_event[m], receives[0]))
    return Crown(tuple(messages), tuple(links)) if len(set(messages)) == len(messages) >= 2 else None


def _named(c: Computation, graph: nx.DiGraph[int], messages: list[int]) -> Crown:
    """The crown of this cycle, from its least message on."""
    least = messages.index(min(messages))
    messages = [*messages[least:], *messages[:least]]
    following = [*messages[1:], messages[0]]
    links = tuple((c.send_event[m], graph.edges[m, n]["receive"]) for m, n in zip(messages, following, strict=True))
    return Crown(tuple(messages), links)
