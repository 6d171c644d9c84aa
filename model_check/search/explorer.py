"""The plain explorer: every state within the bound, level by level, in plain Python.

It is the reference implementation: short enough to be read and believed; any faster engine must agree with it. A node
is a global state and a monitor state; the dictionary of states counts, monitor states never split a state. The levels
are those of breadth-first search, so the level of the first violation of a property is the length of a shortest run
that violates it.
"""

import time
from collections import Counter
from collections.abc import Iterable, Sequence

from crownless.model_check.system.exploration import FIRST_VIOLATION, Exploration, Progress
from crownless.model_check.system.properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ALL,
    DELIVERS_SOMETHING,
    NEVER_BLOCKS,
    Property,
)
from crownless.model_check.system.system import MonitorState, Move, State, System
from crownless.runtime.ending import Limits, look, state_limit_reached, stoppable
from crownless.runtime.memory import collector_off

#: The number of nodes between two checks of the limits.
NODES_A_LOOK = 256

NOTHING: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


class LocalProperties:
    """A protocol's invariants and witnesses, evaluated once for each process and local state."""

    def __init__(self, system: System) -> None:
        self.system = system
        #: For each process: local state → the result of `of`. A step without a local state of its own is numbered -1.
        self.known: list[dict[int, tuple[tuple[str, ...], tuple[str, ...]]]] = [{-1: NOTHING} for _ in range(system.n)]

    def of(self, process: int, local: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(invariants that this local state violates, witnesses that it satisfies)."""
        known = self.known[process].get(local)
        if known is None:
            calls, state = self.system.calls, self.system.local_state(local)
            violated, reached = calls.invariants_violated(process, state), calls.witnesses_met(process, state)
            known = self.known[process][local] = (violated, reached) if violated or reached else NOTHING
        return known


def live_properties_violated(
    system: System, state: State, monitor_state: MonitorState, moves: Sequence[Move]
) -> list[str]:
    """The live properties violated by a run that ends in this state, with these moves left undone.

    Of the processes that can send no more those are judged that send in some state, which must be known, or all if no
    process does.
    """
    violated = _unmet_at_end(system, state, monitor_state)
    if system.judged_senders & system.blocked(state, moves):
        violated.append(NEVER_BLOCKS.name)
    return violated


def _unmet_at_end(system: System, state: State, monitor_state: MonitorState) -> list[str]:
    """The live properties violated by a run that ends in this state, whatever the processes could still send."""
    violated = []
    if system.unsent(monitor_state, system.crashed(state)):
        violated += [NEVER_BLOCKS.name, COMPLETES.name]
    elif not system.workload.takes_anything and not system.finished(state):
        violated.append(COMPLETES.name)
    if system.undelivered(monitor_state, state):
        violated.append(DELIVERS_ALL.name)
    return violated


def completed(system: System, state: State, monitor_state: MonitorState) -> bool:
    """True if every process is at the end of its program, and every message that was submitted has its send event."""
    return system.finished(state) and not system.unsent(monitor_state, system.crashed(state))


def explore(
    system: System,
    properties: Iterable[Property],
    limits: Limits | None = None,
    progress: Progress | None = None,
    *,
    first: bool = False,
) -> Exploration:
    """Searches all of the system, or until a limit is reached; with `first`, up to the level with the first violation.
    A signal or lack of memory also ends it, with what was established."""
    result = Exploration()
    names = {known.name for known in properties}
    limits = limits or Limits()
    started = time.monotonic()
    with stoppable(limits) as part, collector_off():
        _search(system, result, limits, started, progress, names if first else set())
    result.stopped = result.stopped or part.reason
    result.seconds = time.monotonic() - started
    result.violated = {name: depth for name, depth in result.violated.items() if name in names}
    result.reached |= system.exercised.reached
    return result


def _search(
    system: System, result: Exploration, limits: Limits, started: float, progress: Progress | None, until: set[str]
) -> None:
    """Searches level by level; it ends after the level in which one of the properties `until` is violated."""
    local_properties = LocalProperties(system)
    first_monitor_state: dict[State, MonitorState] = {}
    more_monitor_states: dict[State, set[MonitorState]] = {}
    level: list[tuple[State, MonitorState, bool]] = []

    def break_(names: tuple[str, ...] | list[str], depth: int) -> None:
        for name in names:
            result.violated.setdefault(name, depth)

    def end(state: State, moves: Sequence[Move], violated: list[str], depth: int) -> None:
        break_(violated, depth)
        for process in system.blocked(state, moves):
            result.blocked_at.setdefault(process, depth)
        if COMPLETES.name not in violated:
            result.reached.add(CAN_COMPLETE.name)
        elif not system.workload.takes_anything:
            result.blocked.add(tuple(system.workload.describe(system.position(state), system.crashed(state))))

    initial, monitor_state = system.initial(), system.initial_monitor_state()
    for process in range(system.n):
        invariants, witnesses = local_properties.of(process, initial[process])
        break_(invariants, 0)
        result.reached.update(witnesses)
    first_monitor_state[initial] = monitor_state
    level.append((initial, monitor_state, True))
    result.states = result.nodes = 1
    result.levels = [1]
    known_locals = local_properties.known
    delivered, is_program = False, not system.workload.takes_anything
    actions: Counter[str] = Counter()
    result.actions = actions
    depth = 0
    while level:
        following: list[tuple[State, MonitorState, bool]] = []
        new_states: set[State] = set()
        for done, (state, monitor_state, is_new) in enumerate(level):
            if not done % NODES_A_LOOK:
                result.seconds = time.monotonic() - started
                if progress is not None:
                    progress(result, depth)
                look()
            moves = system.moves(state)
            if is_new:
                for step, _ in moves:
                    actions[step.action.name] += 1
                result.transitions += len(moves)
                result.terminal_states += not moves
            if system.may_end(moves):
                end(state, moves, _unmet_at_end(system, state, monitor_state), depth)
            if is_program and CAN_COMPLETE.name not in result.reached and completed(system, state, monitor_state):
                result.reached.add(CAN_COMPLETE.name)
            for step, target in moves:
                monitor_state_after, violated = system.evaluate(monitor_state, step)
                if violated:
                    break_(violated, depth + 1)
                process, local = step.action.process, step.local
                found = known_locals[process].get(local) or local_properties.of(process, local)
                if found is not NOTHING:
                    break_(found[0], depth + 1)
                    result.reached.update(found[1])
                if step.delivered and not delivered:
                    delivered = True
                    result.reached.add(DELIVERS_SOMETHING.name)
                states = len(first_monitor_state)
                known = first_monitor_state.setdefault(target, monitor_state_after)
                if len(first_monitor_state) != states:
                    if limits.states is not None and result.states >= limits.states:
                        result.stopped = state_limit_reached(limits.states)
                        return
                    new_states.add(target)
                    following.append((target, monitor_state_after, True))
                    result.states += 1
                else:
                    if target not in new_states:
                        result.graded = False
                    if known == monitor_state_after or monitor_state_after in more_monitor_states.get(target, ()):
                        continue
                    more_monitor_states.setdefault(target, set()).add(monitor_state_after)
                    following.append((target, monitor_state_after, False))
                result.nodes += 1
        result.senders |= system.senders
        result.note_blocked()
        depth += 1
        result.levels.append(len(new_states))
        if new_states:
            result.depth = depth
        if until & result.violated.keys():
            result.stopped = FIRST_VIOLATION
            return
        level = following
    result.note_blocked(at_end=True)
