"""Every state that a system can reach, nearest first; and shortest paths to states with a given property."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from crownless.impl.protocol import Packet
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.system.system import LocalStep, MonitorState, Move, State, System
from crownless.runtime.ending import look
from crownless.runtime.printable import printable
from crownless.spec.dataframes import StateGraph

#: A state, the monitor states beside it, and the value of the history variable; both are empty unless requested.
Node = tuple[State, MonitorState, Hashable]


class HistoryVariable(NamedTuple):
    """A history variable: memory of a run beside its states. Unlike a monitor it sees all of a step: packets, and the
    channel.

    `after` maps the system, the value before a step and the step to the value after it.
    """

    initial: Hashable
    after: Callable[[System, Any, LocalStep], Hashable]


class Reached(NamedTuple):
    """A state as it is first reached, in the form that predicates get."""

    system: System
    state: State
    monitor_state: MonitorState
    depth: int  #: the number of actions that lead there
    moves: Sequence[Move]  #: the moves that are possible next
    history: Any = None  #: the value of the history variable

    @property
    def node(self) -> Node:
        """The node: the state with its monitor states and history variable."""
        return self.state, self.monitor_state, self.history

    @property
    def locals(self) -> list[Any]:
        """The protocol's own state at each process."""
        return self.system.local_states(self.state)

    @property
    def in_flight(self) -> list[Packet]:
        """The packets that have not been received yet."""
        return self.system.in_flight(self.state)

    def may(self, action: str) -> bool:
        """True if an action of that name can happen next."""
        return any(step.action.name == action for step, _ in self.moves)

    def __repr__(self) -> str:
        return f"<state after {self.depth} actions: {len(self.in_flight)} in flight, {len(self.moves)} moves>"

    def __str__(self) -> str:
        states = "; ".join(f"{p}: {s}" for p, s in zip(self.system.workload.processes, self.locals, strict=True))
        return printable(f"after {self.depth} actions: {states}; {len(self.in_flight)} in flight")


#: The number of nodes between two checks whether to end.
NODES_A_LOOK = 256
#: True if a move may be taken from a state, in a search that leaves some out.
Allowed = Callable[[Reached, LocalStep], bool]


class Walk:
    """Every node of a system, the nearest first; and, once it is reached, how it was first reached.

    `monitored`: a state counts once for each state of the monitors beside it. `history`: it counts once for each value
    of this variable. `allowed`: moves for which it is false are not taken. `depth`: at most this many actions.
    """

    def __init__(
        self,
        system: System,
        *,
        monitored: bool = False,
        history: HistoryVariable | None = None,
        allowed: Allowed | None = None,
        depth: int | None = None,
    ) -> None:
        self.system = system
        self._monitored, self._history, self._allowed, self._depth = monitored, history, allowed, depth
        monitor_state = system.initial_monitor_state() if monitored else ()
        start: Node = (system.initial(), monitor_state, None if history is None else history.initial)
        #: The node and the step by which each node was first reached; in the order of the walk.
        self.came_from: dict[Node, tuple[Node, LocalStep] | None] = {start: None}

    def __iter__(self) -> Iterator[Reached]:
        level = list(self.came_from)
        depth = 0
        while level:
            following: list[Node] = []
            for number, node in enumerate(level):
                if not number % NODES_A_LOOK:
                    look()
                state, monitor_state, value = node
                reached = Reached(self.system, state, monitor_state, depth, self.system.moves(state), value)
                yield reached
                if self._depth is not None and depth >= self._depth:
                    continue
                for step, target in reached.moves:
                    after = self.after(reached, step, target)
                    if after not in self.came_from and (self._allowed is None or self._allowed(reached, step)):
                        self.came_from[after] = (node, step)
                        following.append(after)
            level = following
            depth += 1

    def after(self, reached: Reached, step: LocalStep, target: State) -> Node:
        """The node to which a move leads."""
        monitor_state = self.system.evaluate(reached.monitor_state, step)[0] if self._monitored else ()
        history = self._history
        return target, monitor_state, None if history is None else history.after(self.system, reached.history, step)

    def steps_to(self, node: Node) -> list[LocalStep]:
        """The steps of a shortest run to a node that was reached."""
        steps = []
        while (came := self.came_from[node]) is not None:
            node, step = came
            steps.append(step)
        return steps[::-1]


def reachable(system: System, **scope: Any) -> Iterator[Reached]:
    """Every state, the nearest first; `scope` as in `Walk`."""
    return iter(Walk(system, **scope))


def shortest_path(system: System, wanted: Callable[[Reached], bool], **scope: Any) -> list[LocalStep] | None:
    """The steps of a shortest run to a state that satisfies `wanted`; None if there is none. `scope` as in `Walk`."""
    walk = Walk(system, **scope)
    for reached in walk:
        if wanted(reached):
            return walk.steps_to(reached.node)
    return None


def shortest_run_to(system: System, wanted: Callable[[Reached], bool], **scope: Any) -> Run | None:
    """The same as a run that can be shown."""
    steps = shortest_path(system, wanted, **scope)
    return None if steps is None else run_of(system, steps)


def state_graph(system: System) -> StateGraph:
    """All states and moves: nodes are numbered as they are reached, 0 is the initial state.

    A node has `locals` and `depth`, an edge the `process` and the name of the `action`.
    """
    import networkx as nx

    graph: StateGraph = nx.MultiDiGraph()
    number: dict[State, int] = {}
    for reached in reachable(system):
        node = number.setdefault(reached.state, len(number))
        graph.add_node(node, locals=reached.locals, depth=reached.depth)
        for step, target in reached.moves:
            process = system.workload.processes[step.action.process]
            graph.add_edge(node, number.setdefault(target, len(number)), process=process, action=step.action.name)
    return graph
