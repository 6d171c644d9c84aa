"""The plain explorer's verdicts are those of all runs, each remembered whole; no monitor state or move is left out.

All runs are those of `second_derivations`, which calls the methods of the machine and nothing of `model_check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
from derived_protocols import Message as Numbered
from derived_protocols import Outcome, Outcomes, Unordered
from native_engine_setup import monitors_for
from random_machines import random_machine
from second_derivations import Moves

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.workloads import Free
from crownless.model_check.search.explorer import explore
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.monitors import DeliveryMonitor, History, Monitor, Observation
from crownless.model_check.system.properties import Property
from crownless.model_check.system.system import System
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import keeps

# -- a late monitor state ----------------------------------------------------------------------------------------------

WAYS = 6


class SentInManyWays(ProtocolMachine):
    """Way k to send a message has k send events; all ways lead to one state."""

    promises = "asynchronous"

    def initial(self, i: int) -> str:
        return "idle"

    def send(self, i: int, state: str, message: Message) -> Sequence[Step]:
        packets = [Packet(i, message.receiver, "message", message)]
        return [Step("idle", packets, [AppEvent("send", message)] * k) for k in range(WAYS)]

    def on_packet(self, i: int, state: str, packet: Packet) -> Sequence[Step]:
        return [Step("idle", (), [AppEvent("deliver", packet.message)])]


class Counts(Monitor):
    """Counts send events; a delivery after `breaks_at` of them is violated."""

    watches = ("counted",)

    def __init__(self, breaks_at: int) -> None:
        self.breaks_at = breaks_at

    def initial(self) -> int:
        return 0

    def observe(self, monitor_state: int, code: Observation) -> tuple[int, tuple[str, ...]]:
        if code.kind == "send":
            return monitor_state + 1, ()
        return monitor_state, self.watches if (code.kind, monitor_state) == ("deliver", self.breaks_at) else ()


@pytest.mark.parametrize("breaks_at", range(WAYS))
def test_every_monitor_state_of_a_state_is_followed(breaks_at: int) -> None:
    """One state is reached with six monitor states, of which one breaks: whichever it is, it is found."""
    system = System(SentInManyWays(2), Free(2, 1), CHANNELS["unordered"], [DeliveryMonitor(), Counts(breaks_at)])
    found = explore(system, [Property("counted", "always", "")])
    assert found.violated == {"counted": 2}
    assert found.states == 5  # at first; and for either sender, sent and delivered
    assert found.nodes == 1 + 2 * (WAYS + WAYS)


# -- random machines ---------------------------------------------------------------------------------------------------


#: The events at each process.
Lines = tuple[tuple[tuple[str, Message], ...], ...]

ORDERS = ("fifo", "causal", "mailbox", "one-n", "n-n", "synchronous")


class AllRuns(NamedTuple):
    """What all runs have in common: `nodes` are their different ends, each with the events on the way."""

    violated: dict[str, int]
    levels: list[int]
    nodes: int
    transitions: int
    terminal_states: int


@cache
def orders_violated(lines: Lines) -> tuple[str, ...]:
    """The orders that no completion of these events keeps, by definition."""
    c = Computation.of_message_lines(lines)
    return tuple(order for order in ORDERS if not keeps(c, order, pending=True))


class TextOf(Unordered):
    """A machine as a text: what an outcome delivers are the events of a step."""

    def __init__(self, machine: ProtocolMachine) -> None:
        super().__init__(machine.n)
        self.machine = machine

    def start(self, i: int) -> Any:
        return self.machine.initial(i)

    def send(self, i: int, local: Any, m: Numbered) -> Outcomes:
        return self.outcomes(self.machine.send(i, local, Message(f"{i} to {m.to}, {m.number}", i, m.to)))

    def take(self, i: int, local: Any, packet: Any) -> Outcomes:
        taken_in = self.machine.deliverable(i, local, packet[2])
        return self.outcomes(self.machine.on_packet(i, local, packet[2]) if taken_in else ())

    def own(self, i: int, local: Any) -> Outcomes:
        return self.outcomes([step for _, step in self.machine.internal(i, local)])

    def outcomes(self, steps: Sequence[Step]) -> Outcomes:
        for step in steps:
            packets = [(packet.source, packet.destination, packet) for packet in step.packets]
            yield Outcome(step.state, packets, step.events)  # type: ignore[arg-type]


def all_runs(machine: ProtocolMachine, messages: int, channel: str) -> AllRuns:
    """Every run, by its length; two that lead to one state are one if their events are the same at each process."""
    found = AllRuns({}, [], 0, 0, 0)
    moves_of = Moves(TextOf(machine), channel, messages)
    level: dict[tuple[Any, Lines], None] = {(moves_of.start, ((),) * machine.n): None}
    seen, states = set(level), set[Any]()
    transitions = terminal = 0
    senders, blocked = set[int](), dict[int, int]()
    depth = 0
    while level:
        new = {state for state, _ in level} - states
        states |= new
        if new:
            found.levels.append(len(new))
        moves = {state: list(moves_of(state)) for state, _ in level}
        transitions += sum(len(moves[state]) for state in new)
        terminal += sum(not moves[state] for state in new)
        following: dict[tuple[Any, Lines], None] = {}
        for state, lines in level:
            kinds = {move.kind for move in moves[state]}
            sending = {move.process for move in moves[state] if move.kind == "send"}
            senders |= sending
            if kinds <= {"send", "fault"}:
                if sum(state[-1]) < messages:
                    for process in set(range(machine.n)) - sending:
                        blocked.setdefault(process, depth)
                for name in live_properties_violated(lines):
                    found.violated.setdefault(name, depth)
            for move in moves[state]:
                after = list(lines)
                events: Any = move.delivered
                for kind, message in events:
                    event = ("send" if kind == "send" else "receive", message)
                    if event in after[move.process]:
                        found.violated.setdefault("delivers-once", depth + 1)
                    else:
                        after[move.process] = (*after[move.process], event)
                        for order in orders_violated(tuple(after)):
                            found.violated.setdefault(order, depth + 1)
                node = (move.after, tuple(after))
                if node not in seen:
                    seen.add(node)
                    following[node] = None
        level = following
        depth += 1
    lengths = [blocked[process] for process in senders or blocked if process in blocked]
    if lengths:
        found.violated["never-blocks"] = min(lengths)
    return found._replace(nodes=len(seen), transitions=transitions, terminal_states=terminal)


def live_properties_violated(lines: Lines) -> list[str]:
    """Of what is delivered and sent, the live properties that a run breaks by ending here."""
    events = [event for line in lines for event in line]
    sent, received = ({message for kind, message in events if kind == which} for which in ("send", "receive"))
    return ["delivers-all"] * (not sent <= received)


LIVE = ("delivers-all", "never-blocks")
ALL = [Property(name, "always", "") for name in (*ORDERS, "delivers-once", *LIVE)]


def explored(
    machine: ProtocolMachine, messages: int, channel: str, *monitors: Monitor, first: bool = False
) -> Exploration:
    return explore(System(machine, Free(machine.n, messages), CHANNELS[channel], monitors), ALL, first=first)


@pytest.mark.parametrize("channel", ["unordered", "fifo", "lossy", "lossy-fifo"])
@pytest.mark.parametrize(("n", "messages", "seeds"), [(2, 2, 15), (2, 3, 6), (3, 2, 10)])
def test_the_explorer_finds_what_all_runs_of_random_machines_show(
    n: int, messages: int, seeds: int, channel: str
) -> None:
    for seed in range(seeds):
        machine = random_machine(seed)(n)
        expected = all_runs(machine, messages, channel)
        remembering = explored(machine, messages, channel, DeliveryMonitor(), History(n, "asynchronous"))
        assert remembering.nodes == expected.nodes, seed
        assert (remembering.transitions, remembering.terminal_states) == expected[3:], seed
        for orders in (("fifo", "causal"), ("synchronous",), ("n-n",), ORDERS):
            monitors = monitors_for(n, orders)
            watched = {name for monitor in monitors for name in monitor.watches} | {*LIVE}
            violated = {name: depth for name, depth in expected.violated.items() if name in watched}
            found = explored(machine, messages, channel, *monitors)
            assert found.violated == violated, (seed, orders)
            assert [count for count in found.levels if count] == expected.levels, seed
            level = {name: depth - (name not in LIVE) for name, depth in violated.items()}
            first = explored(machine, messages, channel, *monitors, first=True)
            assert first.violated.keys() == {name for name in level if level[name] == min(level.values())}, seed


def test_random_machines_break_every_property_and_reach_states_with_many_monitor_states() -> None:
    violated, most = set[str](), 0
    for seed in range(15):
        machine = random_machine(seed)(2)
        found = explored(machine, 3, "unordered", *monitors_for(2, ORDERS))
        violated |= found.violated.keys()
        histories = [History(2, order) for order in ORDERS if order != "asynchronous"]
        remembering = explored(machine, 3, "unordered", DeliveryMonitor(), *histories)
        most = max(most, remembering.nodes // remembering.states)
    assert violated == {known.name for known in ALL}
    assert most >= 3
