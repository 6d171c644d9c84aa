"""Every state that a system can reach, nearest first; and shortest paths to states with a given property."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.system.system import LocalStep, MonitorState, Move, State, System
from crownless.runtime.ending import look
from crownless.spec.printable import printable

if TYPE_CHECKING:
    import networkx as nx

    from crownless.impl.protocol import Packet

#: A state, the monitor states beside it, and the value of the history variable; those that are not requested are empty.
Node = tuple[State, MonitorState, Hashable]


class HistoryVariable(NamedTuple):
    """A history variable: memory of a run beside its states. Unlike a monitor it sees all of a step: packets, and the
    channel.

    `after` gives the value after a step, of the system, the value before and the step.
    """

    initial: Hashable
    after: Callable[[System, Any, LocalStep], Hashable]


class Reached(NamedTuple):
    """A state as it is first reached: what a predicate sees of it."""

    system: System
    state: State
    monitor_state: MonitorState
    depth: int  #: how many actions lead there
    moves: Sequence[Move]  #: what can happen next
    history: Any = None  #: the value of the history variable

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


#: Nodes between two looks whether the search is to end.
NODES_A_LOOK = 256
#: Whether a move may be taken from a state, in a search that leaves some out.
Allowed = Callable[[Reached, LocalStep], bool]


def reachable(
    system: System,
    *,
    monitored: bool = False,
    history: HistoryVariable | None = None,
    allowed: Allowed | None = None,
    depth: int | None = None,
) -> Iterator[Reached]:
    """Every state, the nearest first. `monitored`: a state counts once for each state of the monitors beside it.

    `history`: a state counts once for each of its values. `allowed`: moves for which it is false are not taken.
    `depth`: no further than so many actions.
    """
    for node, _ in _search(system, monitored, history, allowed, depth):
        yield node


def shortest_path(
    system: System,
    wanted: Callable[[Reached], bool],
    *,
    monitored: bool = False,
    history: HistoryVariable | None = None,
    allowed: Allowed | None = None,
) -> list[LocalStep] | None:
    """The steps of a shortest run to a state that is wanted; None if there is none."""
    for node, came_from in _search(system, monitored, history, allowed, None):
        if wanted(node):
            return _steps_to(node, came_from)
    return None


def shortest_run_to(
    system: System,
    wanted: Callable[[Reached], bool],
    *,
    monitored: bool = False,
    history: HistoryVariable | None = None,
    allowed: Allowed | None = None,
) -> Run | None:
    """The same as a run that can be shown."""
    steps = shortest_path(system, wanted, monitored=monitored, history=history, allowed=allowed)
    return None if steps is None else run_of(system, steps, keep_names=not system.workload.takes_anything)


def state_graph(system: System) -> nx.MultiDiGraph[int]:
    """All states and moves: nodes are numbered as they are reached, 0 is the initial state.

    A node has `locals` and `depth`, an edge the `process` and the name of the `action`.
    """
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    number: dict[State, int] = {}
    for reached in reachable(system):
        node = number.setdefault(reached.state, len(number))
        graph.add_node(node, locals=reached.locals, depth=reached.depth)
        for step, target in reached.moves:
            process = system.workload.processes[step.action.process]
            graph.add_edge(node, number.setdefault(target, len(number)), process=process, action=step.action.name)
    return graph


#: How each node was first reached: from which, and by which step.
_CameFrom = dict[Node, tuple[Node, LocalStep] | None]


def _search(
    system: System, monitored: bool, history: HistoryVariable | None, allowed: Allowed | None, depth: int | None
) -> Iterator[tuple[Reached, _CameFrom]]:
    monitor_state_at_start = system.initial_monitor_state() if monitored else ()
    start: Node = (system.initial(), monitor_state_at_start, None if history is None else history.initial)
    came_from: _CameFrom = {start: None}
    level = [start]
    done = 0
    while level:
        following: list[Node] = []
        for number, node in enumerate(level):
            if not number % NODES_A_LOOK:
                look()
            state, monitor_state, value = node
            reached = Reached(system, state, monitor_state, done, system.moves(state), value)
            yield reached, came_from
            if depth is not None and done >= depth:
                continue
            for step, target in reached.moves:
                monitor_state_after = system.evaluate(monitor_state, step)[0] if monitored else ()
                after = (target, monitor_state_after, None if history is None else history.after(system, value, step))
                if after not in came_from and (allowed is None or allowed(reached, step)):
                    came_from[after] = (node, step)
                    following.append(after)
        level = following
        done += 1


def _steps_to(reached: Reached, came_from: _CameFrom) -> list[LocalStep]:
    steps = []
    before = came_from[reached.state, reached.monitor_state, reached.history]
    while before is not None:
        node, step = before
        steps.append(step)
        before = came_from[node]
    return steps[::-1]
