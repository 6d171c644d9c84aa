"""Variants of [MG] Fig. 8, and checks of their orders, commits, costs and timed runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.workloads import Free, Program
from crownless.model_check.monitors import Monitor, Observation
from crownless.model_check.properties import Property
from crownless.model_check.reachable import HistoryVariable, reachable
from crownless.model_check.runs import Run, run_of
from crownless.model_check.system import LocalStep, System
from crownless.spec.computation import Message
from crownless.spec.notation import parse

from .evidence import broken_by, explored, system_of


class CommitsAtAcknowledgement(MurtyGarg):
    """A message to a smaller process is committed by its sender when the acknowledgement comes (§4.1)."""

    def initial(self, i: int) -> Any:
        return (super().initial(i), None)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [self.later(i, state[1], step) for step in super().send(i, state[0], message)]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        inner, uncommitted = state
        committed = [AppEvent("send", uncommitted)] if packet.kind == "ack" and uncommitted is not None else []
        rest = None if packet.kind == "ack" else uncommitted
        steps = [self.later(i, rest, step) for step in super().on_packet(i, inner, packet)]
        return [step._replace(events=[*committed, *step.events]) for step in steps]

    def later(self, i: int, uncommitted: Message | None, step: Step) -> Step:
        """The step without the commit of what goes out to a smaller process, which is kept for later."""
        out = {packet.message for packet in step.packets if packet.kind == "message"}
        kept = [event for event in step.events if event.kind == "send" and event.message in out]
        events = [event for event in step.events if event not in kept]
        return step._replace(state=(step.state, kept[0].message if kept else uncommitted), events=events)

    invariants = {}
    witnesses = {}


class SendsWhenWanted(MurtyGarg):
    """A send is taken to happen when the application hands its message over, not when it is committed."""

    sends_before_delivery = True

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        wanted = AppEvent("send", message)
        return [step._replace(events=[wanted, *_deliveries(step)]) for step in super().send(i, state, message)]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=_deliveries(step)) for step in super().on_packet(i, state, packet)]


def _deliveries(step: Step) -> list[AppEvent]:
    return [event for event in step.events if event.kind == "deliver"]


class AcknowledgesAtOnce(MurtyGarg):
    """Receives are done with in bounded time."""

    def may_acknowledge(self, state: Any) -> bool:
        return True


class SendsAtOnce(MurtyGarg):
    """Sends are done with in bounded time."""

    def may_send(self, state: Any) -> bool:
        return True


class IntendedOrder(Monitor):
    """A process's sends happen in the order in which it handed the messages over; or those to one receiver do."""

    watches = ("in-order",)

    def __init__(self, *, to_one_receiver: bool) -> None:
        self.to_one_receiver = to_one_receiver

    def initial(self) -> tuple[Message, ...]:
        return ()

    def observe(self, monitor_state: Any, code: Observation) -> tuple[Any, tuple[str, ...]]:
        message = code.message
        if code.kind == "hand":
            return (*monitor_state, message), ()
        if code.kind != "send":
            return monitor_state, ()
        rivals = [
            other
            for other in monitor_state
            if other.sender == message.sender and (not self.to_one_receiver or other.receivers == message.receivers)
        ]
        after = tuple(other for other in monitor_state if other != message)
        return after, ("in-order",) if rivals[0] != message else ()


@cache
def first_run_that_breaks(
    name: str, kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered"
) -> Run | None:
    """A shortest run, of the free workload, that breaks `synchronous`, `causal`, `fifo`, `in-order` (of intents) or
    `in-order-to-one` (receiver).
    """
    of_intents = name.startswith("in-order")
    monitors = (IntendedOrder(to_one_receiver=name == "in-order-to-one"),) if of_intents else ()
    known = Property(name.removesuffix("-to-one"), "always", name)
    orders = ("asynchronous",) if of_intents else (name,)
    found = explored(kind(n), Free(n, m), channel=channel, orders=orders, monitors=monitors, properties=(known,))
    return broken_by(found, known.name)


class Commits(NamedTuple):
    """The commits that the steps of a machine make."""

    asked: int  #: of messages that went out first as requests: the application's to a bigger process
    sent: int  #: of the others
    wrong: tuple[str, ...]  #: steps whose commits do not go with a packet from a bigger to a smaller process


def commits(n: int, m: int, kind: type[MurtyGarg] = MurtyGarg) -> Commits:
    """Every commit in every state, up to so many processes and messages."""
    system = system_of(kind(n), Free(n, m))
    asked = sent = 0
    wrong = []
    for now in reachable(system):
        for step, _ in now.moves:
            moved = [(packet, packet.source) for packet in system.transmitted(step)]
            moved += [(step.action.packet, step.action.process)] if step.action.packet is not None else []
            carried = {(at, packet.message) for packet, at in moved if packet.kind == "message"}
            committed = [(seen.process, seen.message) for seen in step.observations if seen.kind != "hand"]
            downhill = all(packet.source > packet.destination for packet, _ in moved if packet.kind == "message")
            upward = sum(message.sender < message.receiver for _, message in committed)
            asked, sent = asked + upward, sent + len(committed) - upward
            if sorted(committed) != sorted(carried) or not downhill:
                wrong.append(str(step.action))
    return Commits(asked, sent, tuple(wrong))


class Cost(NamedTuple):
    """Of a run: messages to bigger and to smaller processes, and control packets transmitted."""

    up: int
    down: int
    control: int


def costs(n: int, m: int) -> set[Cost]:
    """The costs of the runs of Fig. 8 at whose end nothing is in flight or waits, m messages in each."""
    workload = Free(n, m)
    ends = set()
    for now in reachable(system_of(MurtyGarg(n), workload), history=CONTROL_PACKETS):
        if not now.moves:
            position = now.system.position(now.state)
            up = sum(k for k, (p, (q,)) in zip(position, workload.channels, strict=True) if p < q)
            ends.add(Cost(up, m - up, now.history))
    return ends


def _counted(system: System, control: int, step: LocalStep) -> int:
    return control + sum(packet.kind != "message" for packet in system.transmitted(step))


#: How many control packets have been transmitted.
CONTROL_PACKETS = HistoryVariable(0, _counted)


# -- a run in time -----------------------------------------------------------------------------------------------------


class Timed(NamedTuple):
    """A run of a program of Fig. 8, and when each of its actions happened, in ticks."""

    run: Run
    times: tuple[int, ...]

    def when(self, process: str, action: str, message: str | None = None) -> int:
        """The time of the first such action."""
        return next(
            time
            for time, known in zip(self.times, self.run.actions, strict=True)
            if (known.process, known.action) == (process, action) and message in (None, known.message)
        )


def timed(program: str, sends: Mapping[str, int], delays: Mapping[str, int], delay: int) -> Timed:
    """The run in which messages are handed over at these times, and packets take these delays, all others the same."""
    workload = Program(parse(program))
    system = system_of(MurtyGarg(len(workload.processes)), workload)
    agenda: list[tuple[int, int, Packet | None, str]] = [
        (time, k, None, name) for k, (name, time) in enumerate(sends.items())
    ]
    heapify(agenda)
    state, steps, times, number = system.initial(), [], [], len(agenda)
    while agenda:
        time, _, packet, name = heappop(agenda)
        step, state = next(
            (step, target)
            for step, target in system.moves(state)
            if (step.action.packet == packet and packet is not None)
            or (packet is None and step.action.message is not None and step.action.message.name == name)
        )
        steps.append(step)
        times.append(time)
        for sent in system.transmitted(step):
            number += 1
            known = sent.message.name if sent.message is not None else ""
            heappush(agenda, (time + delays.get(known, delay), number, sent, known))
    return Timed(run_of(system, steps, keep_names=True), tuple(times))
