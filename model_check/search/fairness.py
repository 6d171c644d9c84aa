"""Strong fairness in a graph of numbered nodes: the components in which a run can go round fairly for ever.

A run is fair if each action that is possible infinitely often is taken infinitely often, and if each packet that is
lost infinitely often arrives infinitely often. This is decided by components ([EL87]): an action that is possible
somewhere in a strong component, and taken nowhere in it, must not stay possible; so the nodes where it is are removed,
and the components of the others are examined likewise, until each action that is left is taken. Losses of a packet that
does not arrive are removed too.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from crownless.runtime.ending import look
from crownless.spec.graphs import strong_components

#: An action that nothing obliges: a fault of the channel, or an optional send.
OPTIONAL = -1


class Edge(NamedTuple):
    """A move to a numbered node: the action that must be fair, or OPTIONAL; the packet that it loses, or -1."""

    target: int
    action: int
    loses: int = -1


class Component(NamedTuple):
    """Nodes that reach one another, and the edges between them that a run may take."""

    nodes: frozenset[int]
    edges: Mapping[int, Sequence[Edge]]

    @property
    def start(self) -> int:
        """The least node."""
        return min(self.nodes)

    @property
    def taken(self) -> set[int]:
        """The actions that some edge takes."""
        return {edge.action for edges in self.edges.values() for edge in edges if edge.action != OPTIONAL}


class FairGraph:
    """A graph: `edges` of each node, and `arrives`: the packet that arrives by each action, or -1."""

    def __init__(self, edges: Sequence[Sequence[Edge]], arrives: Sequence[int]) -> None:
        self.edges, self.arrives = edges, arrives

    def components(
        self, nodes: Collection[int], edges: Mapping[int, Sequence[Edge]] | None = None
    ) -> Iterator[Component]:
        """The strong components of these nodes, with these edges or all, in which a run can go round."""
        look()
        chosen = dict(zip(nodes, map(self.edges.__getitem__, nodes), strict=True)) if edges is None else edges
        place = {node: k for k, node in enumerate(nodes)}
        successors = [[place[edge.target] for edge in chosen[node] if edge.target in place] for node in nodes]
        members: dict[int, list[int]] = defaultdict(list)
        for node, number in zip(nodes, strong_components(successors), strict=True):
            members[number].append(node)
        for part in members.values():
            inside = frozenset(part)
            within = {node: [edge for edge in chosen[node] if edge.target in inside] for node in part}
            if any(within.values()):
                yield Component(inside, within)

    def fair_components(self, nodes: Collection[int], *, optional: bool = True) -> Iterator[Component]:
        """The largest fair components of these nodes; `optional`: runs may take optional moves in them."""
        return self._fair(
            nodes, {node: [edge for edge in self.edges[node] if optional or edge.action >= 0] for node in nodes}
        )

    def with_few_actions(self, part: Component) -> Component:
        """A fair component within a fair one in which no action can be spared."""
        for action in sorted(part.taken):
            some = [node for node in part.nodes if action not in self._possible(node)]
            smaller = self._fair(some, {node: part.edges[node] for node in some})
            part = min(smaller, key=lambda component: component.start, default=part)
        return part

    def _fair(self, nodes: Collection[int], edges: Mapping[int, Sequence[Edge]]) -> Iterator[Component]:
        left = [(nodes, edges)]
        while left:
            for part in self.components(*left.pop()):
                taken = part.taken
                arriving = {self.arrives[action] for action in taken}
                remain = [node for node in part.nodes if self._possible(node) <= taken]
                kept = {node: [e for e in part.edges[node] if e.loses < 0 or e.loses in arriving] for node in remain}
                if len(remain) == len(part.nodes) and all(len(kept[node]) == len(part.edges[node]) for node in remain):
                    yield part
                elif remain:
                    left.append((remain, kept))

    def _possible(self, node: int) -> set[int]:
        """The actions that are possible at a node."""
        return {edge.action for edge in self.edges[node] if edge.action != OPTIONAL}


def round_trip(part: Component) -> list[tuple[int, Edge]]:
    """A loop from the least node of a component that takes each of its actions: edges, each with where it begins."""
    loop: list[tuple[int, Edge]] = []
    here, left = part.start, part.taken
    while left:
        loop += _nearest(here, part, left, -1)
        left -= {edge.action for _, edge in loop}
        here = loop[-1][1].target
    if here != part.start or not loop:
        loop += _nearest(here, part, (), part.start)
    return loop


def _nearest(here: int, part: Component, actions: Collection[int], target: int) -> list[tuple[int, Edge]]:
    """A shortest path whose last edge takes one of the actions, or leads to the target."""
    came_by: dict[int, tuple[int, Edge] | None] = {here: None}
    reached = [here]  # grows, the nearest first
    for node in reached:
        for edge in part.edges[node]:
            if edge.action in actions or edge.target == target:
                path = [(node, edge)]
                while (before := came_by[path[-1][0]]) is not None:
                    path.append(before)
                return path[::-1]
            if edge.target not in came_by:
                came_by[edge.target] = (node, edge)
                reached.append(edge.target)
    raise AssertionError("the nodes of a component reach one another")
