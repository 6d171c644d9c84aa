"""Runs that never end: these exist only if the state space has cycles, which the explorer reports.

A live property is violated by such a run if it is fair, as `properties` says, and the property stays unmet from some
point on: if there is a fair component of the nodes where it is unmet.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import NamedTuple

from crownless.model_check.system.properties import DELIVERS_ALL, NEVER_BLOCKS, Property
from crownless.model_check.system.system import LocalStep, System

from .fairness import OPTIONAL, Component, Edge, FairGraph, round_trip
from .reachable import Node, Walk


class Lasso(NamedTuple):
    """A run that never ends: the steps of a shortest path to a loop, those of the loop, and where it begins."""

    stem: list[LocalStep]
    loop: list[LocalStep]
    start: Node


class Lassos:
    """The nodes of a system, found once for all live properties, and the fair runs that never end.

    `progress` is called occasionally with the number of nodes.
    """

    def __init__(self, system: System, progress: Callable[[int], None] = lambda nodes: None) -> None:
        self.system = system
        self.walk = Walk(system, monitored=True)
        self._actions: dict[Hashable, int] = {}
        self._packets: dict[Hashable, int] = {}
        #: The packet that arrives by each action, or -1.
        self._arrives: list[int] = []
        self._blocked: list[frozenset[int]] = []
        edges: list[list[Edge]] = []
        number_of: dict[Node, int] = {}
        for number, node in enumerate(self.walk):
            if not number % 4096:
                progress(number)
            number_of.setdefault(node.node, number)
            edges.append([])
            for step, target in node.moves:
                after = number_of.setdefault(self.walk.after(node, step, target), len(number_of))
                edges[-1].append(self._edge(step, after, optional=system.may_end([(step, target)])))
            self._blocked.append(frozenset(system.blocked(node.state, node.moves)))
        self.nodes = list(self.walk.came_from)
        self.graph = FairGraph(edges, self._arrives)
        self._cyclic = [part.nodes for part in self.graph.components(range(len(self.nodes)))]

    @property
    def exist(self) -> bool:
        """True if some run never ends, fair or not."""
        return bool(self._cyclic)

    def without(self, live: Property) -> Lasso | None:
        """A fair run on which the property stays unmet; None if there is none. A run whose loop has no faults is
        preferred, and of these one whose loop is reached by few actions.
        """
        for optional in (False, True):
            fair = [
                part
                for nodes in self._cyclic
                for some in self._unmet_in(live, nodes)
                for part in self.graph.fair_components(some, optional=optional)
            ]
            if fair:
                part = self.graph.with_few_actions(min(fair, key=lambda part: part.start))
                return self._lasso(part)
        return None

    def _edge(self, step: LocalStep, target: int, *, optional: bool) -> Edge:
        packet = -1
        if step.action.packet is not None:
            key = self.system.calls.key_of_packet(step.action.packet)
            packet = self._packets.setdefault(key, len(self._packets))
        if optional:
            return Edge(target, OPTIONAL, packet if step.action.name == "lose" else -1)
        number = self._actions.setdefault(fair_action(step, packet), len(self._actions))
        if number == len(self._arrives):
            self._arrives.append(packet)
        return Edge(target, number)

    def _unmet_in(self, live: Property, nodes: Collection[int]) -> Iterator[frozenset[int]]:
        """For each thing that the property demands, the nodes where it is missing; equal sets once."""
        missing: dict[Hashable, list[int]] = defaultdict(list)
        for node in nodes:
            for demand in self._missing(live, node):
                missing[demand].append(node)
        yield from {frozenset(some) for some in missing.values()}

    def _missing(self, live: Property, number: int) -> Collection[Hashable]:
        """The deliveries, sends or ends that the property demands and that are missing at a node."""
        (state, monitor_state, _), system = self.nodes[number], self.system
        if live.name == DELIVERS_ALL.name:
            return system.undelivered(monitor_state, state)
        unsent = system.unsent(monitor_state, system.crashed(state))
        if live.name == NEVER_BLOCKS.name:
            return [*unsent, *(self._blocked[number] & system.judged_senders)]
        return unsent if system.finished(state) else [*unsent, "the end"]

    def _lasso(self, part: Component) -> Lasso:
        start = self.nodes[part.start]
        loop = [self._step(node, edge) for node, edge in round_trip(part)]
        return Lasso(self.walk.steps_to(start), loop, start)

    def _step(self, node: int, edge: Edge) -> LocalStep:
        """The step of an edge."""
        return self.system.moves(self.nodes[node][0])[self.graph.edges[node].index(edge)][0]


def fair_action(step: LocalStep, packet: int = -1) -> Hashable:
    """The action of a process or of a link that a step is part of, whichever its outcome; see `docs/concepts.md`.

    The arrival of a packet, by its number, is one, and its way to the hold-back queue another. A process's own step, or
    its send in a program, is one for its name and the messages that it sends or delivers.
    """
    action = step.action
    if packet >= 0:
        return packet, step.local >= 0
    return action.process, action.name, action.message, step.messages
