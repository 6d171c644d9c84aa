"""What symmetry reduction leaves is one state of each orbit, by a count that uses nothing of the native engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from in_order import all_renamings
from native_engine_setup import Question, question, reported

from crownless.impl.protocol import Packet
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free
from crownless.model_check.system.system import MonitorState, State, System

# -- orbits counted without the native engine --------------------------------------------------------------------------

Meaning = tuple[Any, ...]


class Orbits:
    """The orbits of a full search under all renamings of the processes, found by renaming each of its states."""

    def __init__(self, both: Question) -> None:
        self.both = both
        self.system = both.system()
        self.machine = both.check.machine
        workload = both.check.workload
        assert isinstance(workload, Free)
        self.workload = workload
        nodes = self._nodes()
        self.states = self._count({self._state(state): [state] for state, _ in nodes}, self._state)
        by_meaning: dict[Meaning, list[tuple[State, MonitorState]]] = {}
        for node in nodes:
            by_meaning.setdefault(self._node(node), []).append(node)
        self.nodes = self._count(by_meaning, self._node)

    def _nodes(self) -> list[tuple[State, MonitorState]]:
        nodes = [(self.system.initial(), self.system.initial_monitor_state())]
        known = set(nodes)
        for state, monitor_state in nodes:
            for step, target in self.system.moves(state):
                node = (target, self.system.evaluate(monitor_state, step)[0])
                if node not in known:
                    known.add(node)
                    nodes.append(node)
        return nodes

    def _count(self, things: Mapping[Meaning, Sequence[Any]], meaning: Any) -> int:
        """How many classes there are; each renamed thing must be one of the things."""
        seen: set[Meaning] = set()
        orbits = 0
        for meant, (thing, *_) in things.items():
            if meant not in seen:
                orbits += 1
                images = {meaning(thing, renaming) for renaming in all_renamings(self.system.n)}
                assert images <= things.keys(), "the space is not what it would be with other names"
                seen |= images
        return orbits

    def _node(self, node: tuple[State, MonitorState], renaming: Renaming | None = None) -> Meaning:
        state, monitor_state = node
        renaming = renaming or Renaming(tuple(range(self.system.n)))
        parts = zip(self.system.monitors, monitor_state, strict=True)
        return self._state(state, renaming), tuple(monitor.renamed(part, renaming) for monitor, part in parts)

    def _state(self, state: State, renaming: Renaming | None = None) -> Meaning:
        """What a state is made of, once the processes are renamed."""
        renaming = renaming or Renaming(tuple(range(self.system.n)))
        local = renaming.vector([self.machine.renamed(value, renaming) for value in self.system.local_states(state)])
        position = self.workload.renamed(self.system.position(state), renaming)
        return local, self._flight(self.system, state[self.system.n], renaming), position

    def _flight(self, system: System, flight: Any, renaming: Renaming) -> Any:
        def renamed(numbers: Sequence[int]) -> list[Packet]:
            return [self.machine.renamed_packet(system._packets.values[number], renaming) for number in numbers]

        match self.both.check.channel_name:
            case "fifo":  # each link is a queue, and so is each link's part of the hold-back queue
                return tuple(frozenset(tuple(renamed(queue)) for queue in queues) for queues in flight)
            case "duplicating":
                return tuple(frozenset(Counter(renamed(numbers)).items()) for numbers in flight)
            case _:
                return frozenset(Counter(renamed(flight)).items())


@pytest.mark.parametrize(
    ("protocol", "n", "m", "channel", "facts"),
    [
        ("rst", 3, 2, "unordered", {}),
        ("rst", 2, 2, "duplicating", {}),
        ("buffer", 3, 2, "fifo", {}),
        ("unordered", 4, 2, "unordered", {}),
        ("unordered", 3, 2, "fifo", {"orders": ("synchronous", "n-n")}),
        ("unordered", 2, 2, "duplicating", {"clocks": ("vector-times",)}),
        ("unordered", 3, 2, "unordered", {"sends": "multicast", "self_sends": True}),
        ("unordered", 3, 2, "unordered", {"sends": "broadcast-to-all"}),
        ("unordered", 2, 2, "unordered", {"sends": "broadcast-to-all", "orders": ("total",)}),
        ("isis", 2, 3, "unordered", {}),
        ("rendezvous", 3, 2, "unordered", {}),
        ("extra-messages", 3, 2, "unordered", {"parameters": {"k": 2}}),
    ],
    ids=str,
)
def test_what_symmetry_leaves_is_one_state_of_each_orbit(
    protocol: str, n: int, m: int, channel: str, facts: Mapping[str, Any]
) -> None:
    both = question(protocol, n, m, channel, **facts)
    orbits, reduced = Orbits(both), both.native(symmetry=True)
    assert (reduced.states, reduced.nodes) == (orbits.states, orbits.nodes)
    assert orbits.states < both.plain().states


# -- wrong reductions are caught ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "n", "m"), [("murty-garg", 2, 2), ("kearns", 3, 3)])
def test_symmetry_where_processes_are_ranked_is_caught(protocol: str, n: int, m: int) -> None:
    both = question(protocol, n, m)
    assert not both.admits_symmetry()
    for symmetry in (False, True):
        search = both.search(symmetry=symmetry, shared=True, force=True)
        assert reported(search.explore()) == reported(both.plain())
        assert search.asymmetry is not None
    with pytest.raises(AssertionError, match="not what it would be with other names"):
        Orbits(both)
