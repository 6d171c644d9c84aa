"""A synchronous protocol in which receivers poll, unprompted; [MG] Theorem 3 excludes it only by assumption 1.

It shows what [MG] Theorem 3 rests on. By the theorem's proof no send with an empty past can be put off; here each is
put off until its receiver asks for it. By assumption 1 of [MG] §3 two processes exchange packets only for a message
between them; here a process also asks those that have nothing for it.

A process polls the others in turn and commits nothing while it waits for the answer. The answer is a message, committed
by its sender in that step and by its receiver on arrival; or that there is none; or *busy*. A process that is polled
while it waits itself keeps a smaller process waiting, and sends away a bigger one; then it polls nobody until that one
has asked again. So a message is committed by both while nothing else happens at its receiver, nor, since its poll was
answered, is anything else on its way to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.workloads import Free, Program, Workload
from crownless.spec.computation import Message
from crownless.spec.notation import parse

from .evidence import explored
from .vector_time_evidence import ended


class Polling(NamedTuple):
    wanted: tuple[Message, ...]  #: messages of the application, not sent yet
    awaits: int | None  #: who has been polled and has not answered
    turn: int  #: whose turn it is to be polled, among the others
    deferred: tuple[int, ...]  #: who has polled meanwhile, and waits
    sent_away: frozenset[int]  #: who was answered *busy*, and has not asked again


class ReceiversAsk(ProtocolMachine):
    promises = "synchronous"

    def initial(self, i: int) -> Polling:
        return Polling((), None, 0, (), frozenset())

    def send(self, i: int, state: Polling, message: Message) -> Sequence[Step]:
        return [Step(state._replace(wanted=(*state.wanted, message)))]

    def internal(self, i: int, state: Polling) -> Sequence[tuple[str, Step]]:
        if state.awaits is not None or state.sent_away:
            return []
        polled = [j for j in range(self.n) if j != i][state.turn]
        return [("poll", Step(state._replace(awaits=polled), [Packet(i, polled, "poll")]))]

    def on_packet(self, i: int, state: Polling, packet: Packet) -> Sequence[Step]:
        j = packet.source
        if packet.kind == "poll":
            return [self.polled(i, state, j)]
        delivered = [AppEvent("deliver", packet.message)] if packet.message is not None else []
        turn = state.turn if packet.kind == "busy" else (state.turn + 1) % (self.n - 1)
        step = Step(state._replace(awaits=None, turn=turn, deferred=()), (), delivered)
        for asked in state.deferred:
            answer = self.answer(i, step.state, asked)
            step = Step(answer.state, [*step.packets, *answer.packets], [*step.events, *answer.events])
        return [step]

    def polled(self, i: int, state: Polling, j: int) -> Step:
        """Answer at once, or, while waiting, keep j waiting or send it away."""
        if state.awaits is None:
            return self.answer(i, state, j)
        if self.keeps_waiting(i, j):
            return Step(state._replace(deferred=(*state.deferred, j)))
        return Step(state._replace(sent_away=state.sent_away | {j}), [Packet(i, j, "busy")])

    def keeps_waiting(self, i: int, j: int) -> bool:
        return j < i

    def answer(self, i: int, state: Polling, j: int) -> Step:
        """With the first message for j, committed by that; or that there is none."""
        after = state._replace(sent_away=state.sent_away - {j})
        message = next((message for message in state.wanted if message.receiver == j), None)
        if message is None:
            return Step(after, [Packet(i, j, "none")])
        rest = tuple(other for other in state.wanted if other != message)
        return Step(after._replace(wanted=rest), [Packet(i, j, "message", message)], [AppEvent("send", message)])


class Polled(NamedTuple):
    """Findings on such a protocol in every run of a workload."""

    receives_at_once: bool  #: True if each message is committed by the step in which it arrives
    broken: frozenset[str]  #: of synchronous order, and that everything is delivered at last
    asks_in_vain: bool  #: True if a process is polled that has nothing for who polls
    states: int

    @property
    def refutes(self) -> bool:
        """True if the protocol is one that Theorem 3 would exclude, were packets for no message admitted."""
        return self.receives_at_once and not self.broken and self.asks_in_vain


@cache
def polled(workload: Workload, kind: type[ProtocolMachine] = ReceiversAsk) -> Polled:
    machine = kind(len(workload.processes))
    if isinstance(workload, Program):
        found = ended(machine, workload, orders=("synchronous",))
    else:
        found = explored(machine, workload, orders=("synchronous",))
    at_once, in_vain = True, False
    for now in found.states():
        for step, _ in now.moves:
            packet = step.action.packet
            if packet is not None and packet.message is not None:
                at_once &= packet.message in step.delivered
            in_vain |= packet is not None and packet.kind == "none"
    return Polled(at_once, frozenset(found.violations), in_vain, found.exploration.states)


#: The messages of the ring, and those where P1's is late and P3's next one goes to P2 ([MG] Fig. 4(b)).
RING = """
P1: send m1 to P2; receive
P2: send m2 to P3; receive
P3: send m3 to P1; receive
"""
CUT_SHORT = """
P1: send m1 to P2; receive
P2: receive; receive
P3: send m3 to P1; send next to P2
"""


def workloads(quick: bool) -> list[Workload]:
    ring, cut_short = (Program(parse(text)) for text in (RING, CUT_SHORT))
    return [ring] if quick else [ring, cut_short, Free(2, 3), Free(3, 3)]


#: The bound up to which the polls are explored, in a quick run and in a full one, in words.
POLLED = {
    True: "three processes that send to each other in a ring",
    False: "three processes in a ring, also where one goes on; any sends of 2 processes and up to 3 messages, 3 and 3",
}
