"""The graph procedures of the deciders agree with networkx."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.spec.graphs import lightest_path, shortest_path, strong_components

GRAPHS = st.integers(1, 7).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), unique=True), min_size=size, max_size=size)
)


def as_networkx(graph: list[list[int]]) -> nx.DiGraph[int]:
    made: nx.DiGraph[int] = nx.DiGraph()
    made.add_nodes_from(range(len(graph)))
    made.add_weighted_edges_from((e, f, heavy(e, f)) for e, targets in enumerate(graph) for f in targets)
    return made


def heavy(e: int, f: int) -> int:
    return (3 * e + 5 * f) % 2


@given(GRAPHS)
def test_components_are_those_of_networkx_and_numbered_after_those_they_lead_to(graph: list[list[int]]) -> None:
    component = strong_components(graph)
    found = {frozenset(e for e in range(len(graph)) if component[e] == k) for k in component}
    assert found == set(map(frozenset, nx.strongly_connected_components(as_networkx(graph))))
    assert all(component[f] <= component[e] for e, targets in enumerate(graph) for f in targets)


@given(GRAPHS, st.data())
def test_paths_are_as_short_and_as_light_as_those_of_networkx(graph: list[list[int]], data: st.DataObject) -> None:
    start, end = (data.draw(st.integers(0, len(graph) - 1)) for _ in range(2))
    known = as_networkx(graph)
    found = lightest_path(graph, start, end, heavy)
    if not nx.has_path(known, start, end):
        assert found is None
        return
    assert found is not None
    weight, path = found
    assert (path[0], path[-1]) == (start, end)
    assert weight == nx.path_weight(known, path, "weight") == nx.dijkstra_path_length(known, start, end)
    assert len(shortest_path(graph, start, end)) == len(nx.shortest_path(known, start, end))


def test_a_path_that_is_not_there_is_no_path() -> None:
    with pytest.raises(AssertionError, match="no path leads from 0 to 1"):
        shortest_path([[], [0]], 0, 1)
