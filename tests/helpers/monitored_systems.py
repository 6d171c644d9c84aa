"""Systems with monitors, and every node of their spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from event_sequences import (
    Reported,
)

from crownless.impl.channels import CHANNELS
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.system.monitors import (
    Monitor,
)
from crownless.model_check.system.system import MonitorState, State, System
from crownless.spec import library, notation

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "2 processes, 3 messages": lambda: Free(2, 3),
    "3 processes, 2 messages": lambda: Free(3, 2),
    "2 processes, 3 messages, self-sends": lambda: Free(2, 3, self_sends=True),
    "3 processes, 2 messages, multicast": lambda: Free(3, 2, sends="multicast"),
    "2 processes, 2 messages, multicast and self-sends": lambda: Free(2, 2, self_sends=True, sends="multicast"),
    "mf-program-1": lambda: Program(notation.load(library.path("mf-program-1"))),
    "mf-program-1-selective": lambda: Program(notation.load(library.path("mf-program-1-selective"))),
    "mf-program-3": lambda: Program(notation.load(library.path("mf-program-3"))),
    "a multicast and an answer": lambda: Program(
        notation.parse("P1: send x to P2, P3\nP2: receive; send y to P3\nP3: receive; receive")
    ),
}

#: Two processes, since a packet that may come twice multiplies the states.
REPEATED: dict[str, Callable[[], Workload]] = {"2 processes, 2 messages": lambda: Free(2, 2)}


def system_of(protocol: str, channel: str, workload: str, monitors: Callable[[int], Sequence[Monitor]]) -> System:
    work = {**WORKLOADS, **REPEATED}[workload]()
    n = len(work.processes)
    return System(PROTOCOLS[protocol](n), work, CHANNELS[channel], monitors(n))


def walk(system: System) -> Iterator[tuple[State, MonitorState, list[Reported]]]:
    """Every node, distinguished also by what each monitor has reported on the way."""
    nodes = [(system.initial(), system.initial_monitor_state(), (frozenset[str](),) * len(system.monitors))]
    known = set(nodes)
    for state, monitor_state, reported in nodes:
        yield state, monitor_state, list(reported)
        for step, target in system.moves(state):
            monitor_states, reports = list(monitor_state), list(reported)
            for k, observe, code in step.codes:
                monitor_states[k], names = observe(monitor_states[k], code)
                reports[k] |= set(names)
            node = (target, tuple(monitor_states), tuple(reports))
            if node not in known:
                known.add(node)
                nodes.append(node)
