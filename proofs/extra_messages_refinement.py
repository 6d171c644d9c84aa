"""The extra-message machine compared with the proved abstraction, up to a bound (`OneMessagePerStep`).

What is proved is of matrices as they are, one message a step, and extra messages at any time. The machine keeps its
non-zero entries, and sends extra messages in the step that brought its matrix to k. So each of its steps must be that
of a message, or a delivery, followed by as many extra messages, each to a process and with its column; what a packet
carries must be the matrix, or that column, as it then is; and a packet is accepted in the one form if it is in the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from crownless.impl.channels import Unordered
from crownless.impl.extra_messages import ExtraMessages, State
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet
from crownless.impl.workloads import Free
from crownless.model_check.reachable import reachable
from crownless.model_check.system import System
from crownless.spec.computation import Message
from crownless.spec.printable import error_line

from .extra_messages import OneMessagePerStep
from .refinement import Refinement


def refines_extra_messages(protocol: type[ExtraMessages], n: int, messages: int, k: int) -> Refinement:
    """Compares every step of the machine, in all states of n processes and so many messages with that threshold, with
    what is proved.
    """
    machine = protocol(n, parameters={"k": k})
    #: The updates and the guard that are put to z3, on ints.
    plain = type("Plain", (OneMessagePerStep, protocol), {})(n)
    workload = Free(n, messages)
    system = System(machine, workload, Unordered, ())
    states = transitions = 0
    differs: str | None = None
    for now in reachable(system):
        states, transitions = states + 1, transitions + len(now.moves)
        locals_ = now.locals
        for pending in workload.pending_sends(system.position(now.state)):
            i = pending.process
            differs = differs or _difference(_sent, plain, i, locals_[i], pending.message, machine)
        for packet in {packet for packet, _ in system.flight(now.state)}:
            i = packet.destination
            differs = differs or _difference(_received, plain, i, locals_[i], packet, machine)
        if differs is not None:
            break
    return Refinement(n, messages, states, transitions, None, differs)


def _difference(compare: Callable[..., str | None], plain: OneMessagePerStep, i: int, *given: Any) -> str | None:
    """How a step differs, in words; a step that cannot be read as one of the protocol differs too."""
    try:
        return compare(plain, i, *given)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        return f"P{i + 1} takes a step that cannot be compared: {error_line(error)}"


def _matrix(n: int, entries: Any) -> Value:
    """The matrix that has these entries, and no others."""
    return tuple(
        tuple(sum(v for k, l, v in entries if (k, l) == (row, column)) for column in range(n)) for row in range(n)
    )


def _sent(plain: OneMessagePerStep, i: int, state: State, message: Message, machine: ExtraMessages) -> str | None:
    """How sending differs, in words."""
    (expected,) = plain.send(i, state, message)
    steps = machine.send(i, state, message)
    for step in steps:
        if not step.packets:
            return f"P{i + 1} transmits nothing, not {expected.packets[0]}"
        first, *extra = step.packets
        carried = first._replace(stamp=_matrix(plain.n, first.stamp))
        if carried != expected.packets[0] or list(step.events) != [AppEvent("send", message)]:
            return f"P{i + 1} transmits {first}, not {expected.packets[0]}"
        differs = _extra(plain, i, expected.state, extra, step.state)
        if differs is not None:
            return differs
    return None if steps else f"P{i + 1} has no step that sends {message.name}"


def _received(plain: OneMessagePerStep, i: int, state: State, packet: Packet, machine: ExtraMessages) -> str | None:
    """How accepting or taking in a packet differs, in words."""
    matrix = _matrix(plain.n, packet.stamp)
    deliverable = bool(machine.deliverable(i, state, packet))
    if deliverable != plain.satisfied(i, state, matrix):
        return f"P{i + 1} {'accepts' if deliverable else 'refuses'} {packet}"
    if not deliverable:
        return None
    steps = machine.on_packet(i, state, packet)
    for step in steps:
        if packet.message is None:
            expected, events = plain.after_extra(state, packet.source), []
        else:
            expected, events = (
                plain.after_delivering(i, state, packet.source, matrix),
                [AppEvent("deliver", packet.message)],
            )
        if list(step.events) != events:
            return f"P{i + 1} says that {list(step.events)} happened"
        differs = _extra(plain, i, expected, step.packets, step.state)
        if differs is not None:
            return differs
    return None if steps else f"P{i + 1} has no step that receives {packet}"


def _extra(plain: OneMessagePerStep, i: int, state: State, packets: Sequence[Packet], after: State) -> str | None:
    """How what was sent beside differs from extra messages, in whatever order, that end in that state; in words."""
    if not packets:
        return None if state == after else f"P{i + 1} comes to {after}, not {state}"
    wrong = None
    for place, packet in enumerate(packets):
        j = packet.destination
        column = tuple(tuple(v if l == j else 0 for l, v in enumerate(row)) for row in state.matrix)
        expected = Packet(i, j, "extra", None, column)
        if packet._replace(stamp=_matrix(plain.n, packet.stamp)) == expected:
            wrong = _extra(plain, i, plain.after_sending(i, state, j), [*packets[:place], *packets[place + 1 :]], after)
            if wrong is None:
                return None
    return wrong or f"P{i + 1} sends {packets[0]} beside, which is no extra message"
