"""Symmetry reduction leaves out redundant states, and only those: compared with the full search, and with a count of
orbits that uses nothing of the native engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import factorial
from typing import Any
from unittest.mock import patch

import pytest
from broken_protocols import FAULTS, VARIATIONS
from in_order import all_renamings, bound
from native_engine_setup import Question, question, reported, same_verdicts
from planted import Setup

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free
from crownless.model_check.native import search as native_search
from crownless.model_check.search.engines import NATIVE_CHANNELS
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.system import MonitorState, State, System
from crownless.spec.computation import Message

#: For each channel a small bound, and larger ones.
BOUNDS = {
    "unordered": (((3, 2),), ((3, 3), (4, 2))),
    "fifo": (((3, 2),), ((2, 4), (3, 3))),
    "lossy": (((3, 2),), ((2, 4),)),
    "duplicating": (((2, 2),), ((3, 1),)),
}

#: Checks beside the usual: the arguments of `question`.
OTHERS: tuple[tuple[str, int, int, Mapping[str, Any]], ...] = (
    *(
        (protocol, n, m, {"sends": sends})
        for protocol in ("isis", "ses-multicast", "optimal", "cbcast")
        for sends in ("multicast", "broadcast")
        for n, m in ((3, 2),)
    ),
    *(
        (protocol, n, m, {"self_sends": True})
        for protocol, kind in PROTOCOLS.items()
        if kind.admits_self_sends
        for n, m in ((3, 2),)
    ),
    ("unordered", 3, 2, {"self_sends": True, "sends": "multicast"}),
    *(("extra-messages", 3, 3, {"parameters": {"k": k}}) for k in (2, (4, 4, 4))),
    *(("buffer-bounded", 2, 3, {"parameters": {"output": o, "input": i}}) for o, i in ((2, 1), (1, 2))),
    *(("isis-gc", 2, 2, {"parameters": {"rounds": rounds}}) for rounds in (0, 2)),
    *(("rst", 3, 2, {"clocks": (clock,)}) for clock in ("lamport-times", "vector-times")),
    *(
        (protocol, 3, 2, {"orders": orders})
        for protocol in ("unordered", "buffer")
        for orders in (("synchronous",), ("mailbox", "one-n", "n-n"), ("causal",), ("asynchronous",))
    ),
)


def agree_up_to_names(full: Exploration, reduced: Exploration, n: int) -> None:
    """Asserts that this is what symmetry may leave of a search."""
    assert same_verdicts(full, reduced)
    assert (full.depth, full.graded) == (reduced.depth, reduced.graded)
    assert reduced.states <= full.states <= reduced.states * factorial(n)
    assert reduced.nodes <= full.nodes <= reduced.nodes * factorial(n)
    assert reduced.transitions <= full.transitions


def agree(both: Question) -> bool:
    """Asserts that symmetry reduction, if it is admitted, agrees with the full search; returns whether it is."""
    if not both.admits_symmetry():
        return False
    with patch.object(native_search, "MIN_ROWS_FOR_THREADS", 0):  # the workers are threads, however few rows
        agree_up_to_names(both.native(), both.native(2, symmetry=True), both.check.machine.n)
    return True


@pytest.mark.parametrize("size", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["small", "large"])
@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_over_every_channel(protocol: str, channel: str, size: int) -> None:
    for n, m in BOUNDS[channel][size]:
        taken = agree(question(protocol, *bound(protocol, n, m, channel), channel))
        assert taken == PROTOCOLS[protocol].symmetric


@pytest.mark.parametrize(("protocol", "n", "m", "facts"), OTHERS, ids=str)
def test_other_orders_clocks_sends_and_parameters(protocol: str, n: int, m: int, facts: Mapping[str, Any]) -> None:
    assert agree(question(protocol, n, m, **facts))


# -- broken protocols --------------------------------------------------------------------------------------------------


#: Whose buffers grow for ever.
NEVER_END = {"PostsTheSameAgain", "AcknowledgesToEverybody"}


def rows(questions: Mapping[tuple[type[ProtocolMachine], int, int, str], Setup], most: int) -> list[Any]:
    """Those without a crash; not always those with a greater product of processes and messages."""
    return [
        pytest.param(
            machine,
            n,
            m,
            setup,
            id=f"{machine.__module__}-{machine.__name__}-{n}-{m}",
            marks=[pytest.mark.slow] * (n * m > most),
        )
        for (machine, n, m, _), setup in questions.items()
        if setup.crash is None and machine.__name__ not in NEVER_END
    ]


@pytest.mark.parametrize(("machine", "n", "m", "setup"), rows(FAULTS | VARIATIONS, 9))
def test_every_broken_protocol_and_every_variation(
    machine: type[ProtocolMachine], n: int, m: int, setup: Setup
) -> None:
    both = question(machine, n, m, setup.channel, sends=setup.sends, parameters=setup.parameters)
    alike = not any(isinstance(value, tuple) for value in setup.parameters.values())
    assert agree(both) == (machine.symmetric and alike)


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


# -- a user's own protocols --------------------------------------------------------------------------------------------


class Nudges(ProtocolMachine):
    """Each message comes with a packet that says nothing: a process that took one in must look up before it goes on."""

    promises = "asynchronous"
    symmetric = True

    def initial(self, i: int) -> bool:
        return False

    def send(self, i: int, state: bool, message: Message) -> Sequence[Step]:
        packets = [Packet(i, message.receiver, "message", message), Packet(i, message.receiver, "nudge")]
        return [Step(state, packets, [AppEvent("send", message)])]

    def deliverable(self, i: int, state: bool, packet: Packet) -> bool:
        return not state

    def on_packet(self, i: int, state: bool, packet: Packet) -> Sequence[Step]:
        if packet.message is None:
            return [Step(True)]
        return [Step(state, (), [AppEvent("deliver", packet.message)])]

    def internal(self, i: int, state: bool) -> Sequence[tuple[str, Step]]:
        return [("look up", Step(False))] if state else []

    def renamed(self, state: bool, renaming: Renaming) -> bool:
        return state


class CountsAndAnswers(Nudges):
    """Every second packet that a process takes in is answered to all, itself included."""

    def initial(self, i: int) -> Any:
        return 0

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return True

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        events = [] if packet.message is None else [AppEvent("deliver", packet.message)]
        if packet.kind == "answer":
            return [Step(state, (), events)]
        packets = [Packet(i, q, "answer") for q in range(self.n)] if state else []
        return [Step(1 - state, packets, events)]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return []


@pytest.mark.parametrize("channel", ["unordered", "fifo"])
@pytest.mark.parametrize("kind", [Nudges, CountsAndAnswers])
def test_any_protocol_of_a_users_own(kind: type[ProtocolMachine], channel: str) -> None:
    for n, m in ((2, 2), (3, 2)):
        both = question(kind, n, m, channel)
        assert reported(both.native()) == reported(both.plain())
        assert agree(both)
