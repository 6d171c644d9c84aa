"""A shortest run to a violation (ties: fewest switches between processes).

The explorer has found the length of a shortest such run. This walks the levels again up to there, remembering for each
node and each process that may have acted last the fewest switches that reach it, and the predecessor. Steps of the
channel itself (a loss) do not count as switches.
"""

from collections.abc import Callable, Iterable

from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import LocalStep, MonitorState, State, System

from .explorer import LocalProperties, live_properties_violated

#: A node, and the process that acted last (-1: none yet).
Key = tuple[State, MonitorState, int]
#: The fewest switches, where from, and by which step.
Reached = tuple[int, Key | None, LocalStep | None]


class NoSuchRun(LookupError):
    """No run of that length violates the property, contrary to a search or a forged checkpoint."""


def shortest_run(
    system: System,
    violated: Property,
    length: int,
    on_the_way: Callable[[int, State], bool] | None = None,
    tick: Callable[[], None] | None = None,
) -> tuple[list[LocalStep], State, MonitorState]:
    """The steps of a shortest run, of that length, that violates the property; and the node where it ends.

    `on_the_way` may be false for a state, at some depth, that is on no such run, so that it is skipped. `tick` is
    called for each node; an exception from it ends the search.
    """
    start: Key = (system.initial(), system.initial_monitor_state(), -1)
    layers: list[dict[Key, Reached]] = [{start: (0, None, None)}]
    visited = {start[:2]}
    for depth in range(length):
        layer: dict[Key, Reached] = {}
        breaking: dict[Key, Reached] = {}
        for key, (switches, _, _) in layers[-1].items():
            state, monitor_state, last = key
            if tick is not None:
                tick()
            for step, target in system.moves(state):
                monitor_state_after, names = system.evaluate(monitor_state, step)
                if (target, monitor_state_after) in visited and depth + 1 < length:
                    continue
                if on_the_way is not None and not on_the_way(depth + 1, target):
                    continue
                process = last if step.action.by_channel else step.action.process
                cost = switches + (process != last and last != -1)
                after: Key = (target, monitor_state_after, process)
                if after not in layer or cost < layer[after][0]:
                    layer[after] = (cost, key, step)
                breaks = violated.kind == "always" and depth + 1 == length and _breaks(system, violated, step, names)
                if breaks and (after not in breaking or cost < breaking[after][0]):
                    breaking[after] = (cost, key, step)
        layers.append(breaking if violated.kind == "always" and depth + 1 == length else layer)
        visited.update((state, monitor_state) for state, monitor_state, _ in layer)
    ends: Iterable[Key] = layers[-1]
    if violated.kind == "live":
        ends = (key for key in layers[-1] if _ends_there(system, violated, key))
    last_layer = layers[-1]
    ends = list(ends)
    if not ends:
        raise NoSuchRun(f"no run of {length} actions violates {violated.name}")
    end = min(ends, key=lambda key: last_layer[key][0])
    return _walk_back(layers, end), end[0], end[1]


def _ends_there(system: System, violated: Property, key: Key) -> bool:
    state, monitor_state, _ = key
    moves = system.moves(state)
    return system.may_end(moves) and violated.name in live_properties_violated(system, state, monitor_state, moves)


def _breaks(system: System, violated: Property, step: LocalStep, names: tuple[str, ...]) -> bool:
    if violated.name in names:
        return True
    return violated.name in LocalProperties(system).of(step.action.process, step.local)[0]


def _walk_back(layers: list[dict[Key, Reached]], end: Key) -> list[LocalStep]:
    steps: list[LocalStep] = []
    for layer in reversed(layers[1:]):
        _, before, step = layer[end]
        assert before is not None
        assert step is not None
        steps.append(step)
        end = before
    return list(reversed(steps))
