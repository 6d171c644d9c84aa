"""Runs that never end: these exist only if the state space has cycles, which the explorer reports.

Under the fairness stated in `properties` an endless run stays, from some point on, in a set of states that it cannot
leave and visits infinitely often: a bottom strongly connected component. A live property is violated if it is never
met in one of these.
"""

from collections.abc import Callable

from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import LocalStep, System
from crownless.spec.computation import topological_order

from .explorer import live_properties_broken
from .reachable import Node, Reached, Walk


class Lassos:
    """The nodes from which a run may go on for ever, found once for all live properties.

    `progress` is called occasionally with the number of nodes.
    """

    def __init__(self, system: System, progress: Callable[[int], None] = lambda nodes: None) -> None:
        self.system = system
        self.walk = Walk(system, monitored=True)
        must_lead_to: list[list[Node]] = []
        for number, node in enumerate(self.walk):
            if not number % 4096:
                progress(number)
            owed = [move for move in node.moves if not system.may_end([move])]
            must_lead_to.append([self.walk.after(node, *move) for move in owed])
        self.nodes = list(self.walk.came_from)
        number_of = {node: number for number, node in enumerate(self.nodes)}
        successors = [[number_of[node] for node in targets] for targets in must_lead_to]
        self.components: list[set[int]] = []
        if topological_order(successors) is not None:
            return
        import networkx as nx  # it takes a while to import

        graph: nx.DiGraph[int] = nx.DiGraph((node, to) for node, targets in enumerate(successors) for to in targets)
        for members in nx.attracting_components(graph):
            # A single node without a path back to itself is a terminal state: the explorer has judged it.
            if len(members) > 1 or any(graph.has_edge(node, node) for node in members):
                self.components.append(members)

    def without(self, live: Property) -> tuple[list[LocalStep], list[LocalStep], Node] | None:
        """The steps of a shortest path to a component in which the property is never met, those of a loop there, and
        the node where it begins; None if there is none.
        """
        broken = [members for members in self.components if all(self._breaks(live, member) for member in members)]
        if not broken:
            return None
        members = min(broken, key=min)
        start = self.nodes[min(members)]
        return self.walk.steps_to(start), self._loop(start, {self.nodes[member] for member in members}), start

    def _loop(self, start: Node, members: set[Node]) -> list[LocalStep]:
        """The steps of a loop through a component that takes each action possible there: going round is fair."""
        moves: dict[Node, list[tuple[LocalStep, Node]]] = {}
        for state, monitor_state, history in members:
            now = Reached(self.system, state, monitor_state, 0, self.system.moves(state), history)
            owed = [move for move in now.moves if not self.system.may_end([move])]
            moves[now.node] = [(step, self.walk.after(now, step, target)) for step, target in owed]
        left = {step.action for options in moves.values() for step, _ in options}
        loop: list[LocalStep] = []
        here = start
        while left or here != start:
            steps_to: dict[Node, list[LocalStep]] = {here: []}
            reached = [here]  # grows, the nearest first
            for node in reached:
                wanted = [(s, after) for s, after in moves[node] if s.action in left or (not left and after == start)]
                if wanted:
                    step, after = wanted[0]
                    loop += [*steps_to[node], step]
                    left.difference_update(taken.action for taken in loop)
                    here = after
                    break
                for step, after in moves[node]:
                    if after not in steps_to:
                        steps_to[after] = [*steps_to[node], step]
                        reached.append(after)
        return loop

    def _breaks(self, live: Property, number: int) -> bool:
        state, monitor_state, _ = self.nodes[number]
        return live.name in live_properties_broken(self.system, state, monitor_state, self.system.moves(state))
