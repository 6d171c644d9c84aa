"""Runs that never end: only where the state space has cycles, which the explorer reports.

Under the fairness stated in `properties` an endless run stays, from some point on, in a set of states that it cannot
leave and all of which it visits again and again: a bottom strongly connected component. A live property is broken if
in one of these it is never met.
"""

from __future__ import annotations

from collections.abc import Callable

from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import LocalStep, MonitorState, State, System
from crownless.spec.computation import topological_order

from .explorer import live_properties_broken

Node = tuple[State, MonitorState]


class Lassos:
    """The nodes from which a run may go on for ever, found once for all live properties.

    `tick` is called now and then with the number of nodes; it may raise `Stopped`.
    """

    def __init__(self, system: System, tick: Callable[[int], None] = lambda nodes: None) -> None:
        self.system = system
        self.nodes, successors, self.came_by = _graph(system, tick)
        self.components: list[set[int]] = []
        if topological_order(successors) is not None:
            return
        import networkx as nx  # it takes a while to import

        graph: nx.DiGraph[int] = nx.DiGraph((node, to) for node, targets in enumerate(successors) for to in targets)
        for members in nx.attracting_components(graph):
            # One node without a way back to itself is a terminal state: the explorer has judged it.
            if len(members) > 1 or any(graph.has_edge(node, node) for node in members):
                self.components.append(members)

    def without(self, live: Property) -> list[LocalStep] | None:
        """The steps to a component in which the property is never met, by a shortest way; None if there is none."""
        nearest: int | None = None
        for members in self.components:
            if all(_broken_at(self.system, live, *self.nodes[node]) for node in members):
                nearest = min(members) if nearest is None else min(nearest, *members)
        if nearest is None:
            return None
        steps: list[LocalStep] = []
        while nearest:
            nearest, step = self.came_by[nearest]
            steps.append(step)
        return list(reversed(steps))


def _graph(
    system: System, tick: Callable[[int], None]
) -> tuple[list[Node], list[list[int]], dict[int, tuple[int, LocalStep]]]:
    """All nodes, numbered in breadth-first order; where each must lead; and from where, by which step, each was first
    reached.
    """
    nodes: list[Node] = [(system.initial(), system.initial_monitor_state())]
    numbers = {nodes[0]: 0}
    successors: list[list[int]] = []
    came_by: dict[int, tuple[int, LocalStep]] = {}
    for number, (state, monitor_state) in enumerate(nodes):
        if not number % 4096:
            tick(number)
        targets = []
        for step, target in system.moves(state):
            node = (target, system.evaluate(monitor_state, step)[0])
            if node not in numbers:
                numbers[node] = len(nodes)
                came_by[numbers[node]] = (number, step)
                nodes.append(node)
            if not system.may_end([(step, target)]):
                targets.append(numbers[node])
        successors.append(targets)
    return nodes, successors, came_by


def _broken_at(system: System, live: Property, state: State, monitor_state: MonitorState) -> bool:
    return live.name in live_properties_broken(system, state, monitor_state, system.moves(state))
