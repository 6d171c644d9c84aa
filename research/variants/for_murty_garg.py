"""Variants of [MG] Fig. 8, systems by the letter of its formulas, and protocols that Theorem 3 barely excludes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.variant import variant
from crownless.spec.computation import Message

# -- Fig. 8 with a rule changed ----------------------------------------------------------------------------------------

#: Receives are completed in bounded time.
AcknowledgesAtOnce = variant(MurtyGarg, "AcknowledgesAtOnce", may_acknowledge=lambda self, state: True)
#: Sends are completed in bounded time.
SendsAtOnce = variant(MurtyGarg, "SendsAtOnce", may_send=lambda self, state: True)


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
        """The step without the commit of messages to a smaller process, which is kept for later."""
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


# -- [MG] §4.3 by the letter -------------------------------------------------------------------------------------------


class Owed(NamedTuple):
    """An owed acknowledgement: its receiver, and whether it must wait for that of the send open at the receive."""

    to: int
    waits: bool


class ByTheLetter(ProtocolMachine):
    """Any system with SP and RP as their formulas have them: s1 ≺ s2 ⇒ s1.ack ≺ s2, and s1 ≺ r2 ⇒ s1.ack ≺ r2.ack.

    A message is sent while no other is unacknowledged. It is received when it arrives, and acknowledged at any time
    after that, but not before what was open at the receive is acknowledged.
    """

    sends_before_delivery = True
    promises = "synchronous"

    def initial(self, i: int) -> Any:
        return (True, ())

    def may_send_to(self, i: int, j: int) -> bool:
        return True

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        active, owed = state
        if not active or not self.may_send_to(i, message.receiver):
            return []
        return [Step((False, owed), [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        active, owed = state
        if packet.kind == "ack":
            return [Step((True, tuple(one._replace(waits=False) for one in owed)))]
        assert packet.message is not None
        after = tuple(sorted([*owed, Owed(packet.source, waits=not active)]))
        return [Step((active, after), (), [AppEvent("deliver", packet.message)])]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        active, owed = state
        return [
            ("acknowledge", Step((active, (*owed[:k], *owed[k + 1 :])), [Packet(i, one.to, "ack")]))
            for k, one in enumerate(owed)
            if not one.waits
        ]


class ByTheLetterWithRanks(ByTheLetter):
    """And PR: to smaller processes only."""

    def may_send_to(self, i: int, j: int) -> bool:
        return i > j


class NeverAcknowledges(ByTheLetterWithRanks):
    """The formulas of SP, RP and PR hold, and nothing is ever acknowledged."""

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return []


# -- what [MG] Theorem 3 excludes by its assumptions only --------------------------------------------------------------


class Polling(NamedTuple):
    wanted: tuple[Message, ...]  #: messages of the application, not sent yet
    awaits: int | None  #: the process that has been polled and has not answered
    turn: int  #: the process to poll next, among the others
    deferred: tuple[int, ...]  #: the processes that have polled meanwhile, and wait
    sent_away: frozenset[int]  #: the process that was answered *busy*, and has not polled again


class ReceiversAsk(ProtocolMachine):
    """A synchronous protocol in which receivers poll, unprompted; [MG] Theorem 3 excludes it only by assumption 1.

    It shows what [MG] Theorem 3 rests on. By the theorem's proof no send with an empty past can be put off; here each
    is put off until its receiver polls for it. By assumption 1 of [MG] §3 two processes exchange packets only for a
    message between them; here a process also polls those that have nothing for it.

    A process polls the others in turn and commits nothing while it waits for the answer. The answer is a message,
    committed by its sender in that step and by its receiver on arrival; or that there is none; or *busy*. A process
    that is polled while it waits itself keeps a smaller process waiting, and sends away a bigger one; then it polls no
    process until that one has polled again. So both commit a message while nothing else happens at its receiver, and,
    since its poll was answered, nothing else is on its way to it.
    """

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
