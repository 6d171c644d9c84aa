"""Runs and computations that [MG] Theorem 3 is about: two processes in lockstep, and sends placed afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free
from crownless.model_check.generating import Memory, computation_of, form_of
from crownless.model_check.reachable import reachable
from crownless.model_check.system import Action, LocalStep
from crownless.spec.computation import Computation, Message
from crownless.spec.notation import parse, to_computation

from .evidence import system_of

# -- two processes in lockstep -----------------------------------------------------------------------------------------


class Lockstep(NamedTuple):
    """How runs go in which two processes do the same at the same time, each with one message for the other."""

    alike: bool  #: True if their local states stay mirror images
    ends: frozenset[Computation]  #: complete computations at their ends


def lockstep(machine: ProtocolMachine) -> Lockstep:
    """All such runs; a step for which there is no mirror image ends the search as not alike."""
    memory, swap = Memory(2), Renaming((1, 0))
    system = system_of(machine, Free(2, 2), monitors=(memory,))
    start = (system.initial(), system.initial_monitor_state())
    found, nodes, ends, alike = {start}, [start], set(), True
    for state, monitor_state in nodes:
        rounds = [move for move in system.moves(state) if move[0].action.process == 0]
        if not rounds:
            lines = memory.lines[monitor_state[-1]]
            form = None if lines is None else form_of(lines)
            ends |= set() if form is None else {computation_of(form)}
        for step, target in rounds:
            answers = [x for x in system.moves(target) if x[0].action == _mirrored(machine, swap, step)]
            for answer, after in answers:
                first, second = system.local_states(after)
                alike &= second == machine.renamed(first, swap)
                node = (after, system.evaluate(system.evaluate(monitor_state, step)[0], answer)[0])
                if node not in found and alike:
                    found.add(node)
                    nodes.append(node)
            alike &= bool(answers)
    return Lockstep(alike, frozenset(ends))


def _mirrored(machine: ProtocolMachine, swap: Renaming, step: LocalStep) -> Action:
    process, name, message, packet, by_channel = step.action
    return Action(
        1 - process,
        name,
        None if message is None else swap.message(message),
        None if packet is None else machine.renamed_packet(packet, swap),
        by_channel,
    )


class Placing(NamedTuple):
    """A clock, the message whose place is not known yet, and the line in the order of time: (what, message, place)."""

    clock: int
    unplaced: Message | None
    line: tuple[tuple[str, Message, tuple[int, int]], ...]


class PlacedAfterwards(ProtocolMachine):
    """Not [MG]'s: a message is received at once, and its place is the receiver's clock; its sender learns it later.

    One message at a time. The place of a send among the receives that came by then is decided when it is acknowledged.
    """

    sends_before_delivery = False
    promises = "synchronous"

    def initial(self, i: int) -> Placing:
        return Placing(0, None, ())

    def send(self, i: int, state: Placing, message: Message) -> Sequence[Step]:
        if state.unplaced is not None:
            return []
        after = Placing(state.clock, message, (*state.line, ("wants", message, (0, 0))))
        return [Step(after, [Packet(i, message.receiver, "message", message, state.clock)])]

    def on_packet(self, i: int, state: Placing, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        if packet.kind == "ack":
            placed = (*state.line, ("send", packet.message, packet.stamp))
            after = Placing(max(state.clock, packet.stamp[0]), None, placed)
            return [Step(after, (), [AppEvent("send", packet.message)])]
        place = (max(state.clock, packet.stamp) + 1, i)
        after = Placing(place[0], state.unplaced, (*state.line, ("receive", packet.message, place)))
        ack = Packet(i, packet.source, "ack", packet.message, place)
        return [Step(after, [ack], [AppEvent("deliver", packet.message)])]

    @staticmethod
    def in_time(state: Placing) -> bool:
        """True if each send is after what preceded its request, and before what followed its acknowledgement."""
        line = state.line
        events = [(k, place) for k, (what, _, place) in enumerate(line) if what != "wants"]
        return all(
            (place < own or k > line.index(("wants", message, (0, 0)))) and (place > own or k < j)
            for j, (what, message, own) in enumerate(line)
            if what == "send"
            for k, place in events
            if k != j
        )


@cache
def placed_afterwards(n: int, m: int) -> tuple[tuple[Computation, ...], bool]:
    """The computations of its runs to their ends, lines in order of places; and whether each send is placed in time."""
    forms, in_time = set(), True
    for now in reachable(system_of(PlacedAfterwards(n), Free(n, m))):
        local = now.locals
        if not now.in_flight and all(one.unplaced is None for one in local):
            in_time &= all(PlacedAfterwards.in_time(one) for one in local)
            placed = [sorted((place, what, x) for what, x, place in one.line if what != "wants") for one in local]
            forms.add(form_of(tuple(tuple((what, message) for _, what, message in line) for line in placed)))
    return tuple(computation_of(form) for form in forms if form is not None), in_time


# -- the cases of the impossibilities ----------------------------------------------------------------------------------


def crossing() -> Computation:
    """The messages of [MG] Fig. 4(a), sent before anything is received."""
    return _computation([f"P{p + 1}: send m{p + 1} to P{2 - p}; receive m{2 - p}" for p in range(2)])


def ring_cut_short(p: int) -> Computation:
    """What process p of the ring cannot distinguish from it, if it sends first and its message is late: the process
    before it goes on and sends to the one after it.
    """
    before, after = (p - 1) % 3, (p + 1) % 3
    mine, theirs = f"m{p + 1}", f"m{before + 1}"
    lines = {
        p: f"P{p + 1}: send {mine} to P{after + 1}; receive {theirs}",
        before: f"P{before + 1}: send {theirs} to P{p + 1}; send next to P{after + 1}",
        after: f"P{after + 1}: receive next; receive {mine}",
    }
    return _computation([lines[q] for q in range(3)])


def _computation(lines: Sequence[str]) -> Computation:
    return to_computation(parse("\n".join(lines)))
