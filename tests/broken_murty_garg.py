"""Murty & Garg's algorithm with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from crownless.impl import murty_garg
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import Packet, Step
from crownless.impl.variants import ProgramCatch, breaks, keeps, variants_in
from crownless.spec.computation import Message

#: While P2 is passive it receives from P3 and from P4, and owes both an acknowledgement before they can send to P1.
TWO_DEBTS = """
P1: receive; receive; receive
P2: send a to P1; receive; receive
P3: send b to P2; send d to P1
P4: send c to P2; send e to P1
"""

# -- Murty & Garg: the priority rule -----------------------------------------------------------------------------------

NobodyAsks = breaks(
    "[MG] §4.2.1 PR, type 2: the smaller process sends a request",
    synchronous=(2, 2, 2),
    acknowledges_only_bigger_processes=(2, 2, 3),
    delivers_all=(2, 3, 5),
)(MurtyGarg, must_request=lambda self, i, j: False)

EverybodyAsks = breaks(
    "[MG] §4.2.1 PR, type 1: the bigger process sends at once", synchronous=(2, 2, 4), delivers_all=(2, 3, 8)
)(MurtyGarg, must_request=lambda self, i, j: True)


@breaks("[MG] §4.2.1 PR, type 2: the smaller process commits on receiving", synchronous=(2, 2, 2))
class CommitsWhenItAsks(MurtyGarg):
    """The smaller process commits at its request, not when the message comes back."""

    def send(self, i: int, state: murty_garg.State, message: Message) -> Sequence[Step]:
        if self.must_request(i, message.receiver):
            return [step._replace(events=[self.commit(i, message)]) for step in super().send(i, state, message)]
        return super().send(i, state, message)

    def on_packet(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        if packet.message is not None and packet.message.sender == i:
            return [step._replace(events=()) for step in steps]
        return steps


@breaks("[MG] §4.2.1 PR, type 2: executed when in a position to commit", synchronous=(2, 2, 4))
class CommitsARequestWhilePassive(MurtyGarg):
    """The bigger process executes what is requested at once, not when "in a position to commit"."""

    def on_packet(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "request":
            assert packet.message is not None
            return [self.commit_and_send(i, state._replace(active=False), packet.message)]
        return super().on_packet(i, state, packet)


@breaks("[MG] §4.2.1 PR, type 2: the bigger process sends it", delivers_all=(2, 1, 2))
class IgnoresRequests(MurtyGarg):
    def on_packet(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        return [Step(state)] if packet.kind == "request" else super().on_packet(i, state, packet)


@breaks("[MG] §4.2.1 PR, type 2: the bigger process commits it at its send", delivers_all=(2, 1, 4))
class SendsBackUncommitted(MurtyGarg):
    """The bigger process sends a requested message back and does not commit it."""

    def commit_and_send(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().commit_and_send(i, state, message)
        return step if message.sender == i else step._replace(events=())


class Uncommitted(NamedTuple):
    """A state of Murty & Garg with the message sent and not yet committed, if there is one."""

    active: bool
    messages: tuple[Message, ...]
    acks: tuple[int, ...]
    message: Message | None


@breaks(
    "[MG] §4.2.1 PR, type 1: committed at the send (§4.1 would also allow the acknowledgement)", synchronous=(3, 3, 7)
)
class CommitsOnAcknowledgement(MurtyGarg):
    """The sender of a message to a smaller process commits it at the acknowledgement ([MG] §4.1: "either")."""

    def initial(self, i: int) -> Any:
        return Uncommitted(True, (), (), None)

    def commit_and_send(self, i: int, state: Any, message: Message) -> Step:
        step = super().commit_and_send(i, state, message)
        return step if message.sender != i else Step(state._replace(message=message), step.packets)

    def acknowledged(self, i: int, state: Any) -> Step:
        committed = [] if state.message is None else [self.commit(i, state.message)]
        packets = [Packet(i, j, "ack") for j in state.acks]
        active = Uncommitted(True, state.messages[1:], (), None)
        if not state.messages:
            return Step(active, packets, committed)
        sent = self.send_to_smaller(i, active, state.messages[0])  # type: ignore[arg-type]
        return Step(sent.state, [*packets, *sent.packets], [*committed, *sent.events])


# -- Murty & Garg: sends and acknowledgements --------------------------------------------------------------------------

SendsWhilePassive = breaks("[MG] §4.3.1 SP: send only while active", synchronous=(2, 2, 3))(
    MurtyGarg, may_send=lambda self, state: True
)


@breaks("[MG] §4.3: on sending become passive", synchronous=(2, 2, 3))
class StaysActiveOnSending(MurtyGarg):
    def send_to_smaller(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().send_to_smaller(i, state, message)
        return step._replace(state=step.state._replace(active=state.active))


@breaks("[MG] Fig. 8: send the message once, for one acknowledgement", delivers_once=(2, 1, 3), synchronous=(2, 3, 8))
class SendsTwice(MurtyGarg):
    def commit_and_send(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().commit_and_send(i, state, message)
        return step._replace(packets=[*step.packets, *step.packets])


AcknowledgesWhilePassive = breaks("[MG] §4.3.2 RP: acknowledge only while active", synchronous=(3, 3, 6))(
    MurtyGarg, may_acknowledge=lambda self, state: True
)

NeverAcknowledges = breaks("[MG] §4.3: on receiving send an acknowledgement", delivers_all=(2, 2, 3))(
    MurtyGarg, commit_and_acknowledge=lambda self, i, state, j, message: Step(state, (), [self.commit(i, message)])
)

NeverWithholdsTheDebt = breaks("[MG] Fig. 8: enqueue the acknowledgement while passive", delivers_all=(3, 3, 6))(
    MurtyGarg,
    commit_and_acknowledge=lambda self, i, state, j, message: MurtyGarg.commit_and_acknowledge(
        self, i, state, j, message
    )._replace(state=state),
)


@breaks("[MG] §4.3: on an acknowledgement become active", delivers_all=(2, 2, 4))
class StaysPassive(MurtyGarg):
    """After an acknowledgement it does all that Fig. 8 says but to become active."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        return step._replace(state=step.state._replace(active=False))


@breaks("[MG] Fig. 8: send the queued acknowledgements", nothing_queued_while_active=(3, 2, 5), delivers_all=(3, 3, 6))
class KeepsItsAcknowledgements(MurtyGarg):
    """Active again, it does not send the acknowledgements that it owes."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state._replace(acks=()))
        return step._replace(state=step.state._replace(acks=state.acks))


@breaks(
    "[MG] Fig. 8: send the queued acknowledgements, while there are any",
    ProgramCatch("completes", TWO_DEBTS, 12),
    nothing_queued_while_active=(4, 3, 7),
)
class SendsOneAcknowledgement(MurtyGarg):
    """`if (notEmpty(ackQueue))` for `while`: the others are kept."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state._replace(acks=state.acks[:1]))
        return step._replace(state=step.state._replace(acks=state.acks[1:]))


@breaks("[MG] Fig. 8: send the next queued message", nothing_queued_while_active=(2, 2, 4), delivers_all=(2, 2, 4))
class KeepsItsMessages(MurtyGarg):
    """Active again, it does not send the message that waits."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state._replace(messages=()))
        return step._replace(state=step.state._replace(messages=state.messages))


@breaks(
    "[MG] Fig. 8: passive again when a queued message is sent",
    synchronous=(2, 3, 6),
    nothing_queued_while_active=(2, 3, 5),
)
class StaysActiveOnSendingAQueuedMessage(MurtyGarg):
    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        return step._replace(state=step.state._replace(active=True))


@breaks("[MG] Fig. 8: send one queued message, not all", synchronous=(2, 3, 6))
class SendsAllItsMessages(MurtyGarg):
    """`while (notEmpty(messageQueue))` for `if`: all that wait are sent at once."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        for message in state.messages[1:]:
            more = self.commit_and_send(i, step.state._replace(messages=()), message)
            step = Step(more.state, [*step.packets, *more.packets], [*step.events, *more.events])
        return step


# -- Murty & Garg: variations ------------------------------------------------------------------------------------------

ReversesTheRanks = keeps(
    "[MG] §4.2.1 PR: any total order of the processes serves.",
    (3, 3, 2491),
    never_reaches=frozenset({"several-withheld-acknowledgements-are-sent"}),
)(
    MurtyGarg,
    invariants={name: holds for name, holds in MurtyGarg.invariants.items() if "bigger" not in name},
    must_request=lambda self, i, j: i > j,
)

SendsTheNewestMessage = keeps(
    "[MG] Fig. 8: messageQueue need not be a queue; sends are not kept in the order intended anyway.",
    (3, 3, 2521),
    never_reaches=frozenset({"several-withheld-acknowledgements-are-sent"}),
)(
    MurtyGarg,
    acknowledged=lambda self, i, state: MurtyGarg.acknowledged(
        self, i, state._replace(messages=state.messages[-1:] + state.messages[:-1])
    ),
)


@keeps(
    "[MG] §4.3.1 SP: a send may as well block; only requests must be queued.",
    (3, 3, 2033),
    never_reaches=frozenset({"several-withheld-acknowledgements-are-sent"}),
)
class RefusesToSendWhilePassive(MurtyGarg):
    """The application's own sends to smaller processes wait outside; only requests are queued."""

    def send(self, i: int, state: murty_garg.State, message: Message) -> Sequence[Step]:
        refused = not state.active and not self.must_request(i, message.receiver)
        return [] if refused else super().send(i, state, message)


CommitsOnlyWhileActive = keeps(
    "[MG] §4.3.2 RP: receiving only while active is as safe and live, and less concurrent.",
    (3, 3, 2351),
    never_reaches=frozenset(
        {
            "a-withheld-acknowledgement-and-a-waiting-message-are-sent-in-one-step",
            "a-withheld-acknowledgement-is-sent",
            "several-withheld-acknowledgements-are-sent",
        }
    ),
)(
    MurtyGarg,
    witnesses={"a-send-waits-for-an-acknowledgement": lambda machine, i, state: bool(state.messages)},
    deliverable=lambda self, i, state, packet: packet.kind != "message" or state.active,
)

Blocks = keeps(
    "[MG] §1: with the priority rule even the blocking algorithm does not deadlock.",
    (3, 3, 1376),
    never_reaches=frozenset(
        {
            "a-request-waits",
            "a-waiting-message-is-sent-on-an-acknowledgement",
            "a-withheld-acknowledgement-and-a-waiting-message-are-sent-in-one-step",
            "a-withheld-acknowledgement-is-sent",
            "several-withheld-acknowledgements-are-sent",
        }
    ),
)(
    MurtyGarg,
    witnesses={},
    send=lambda self, i, state, message: MurtyGarg.send(self, i, state, message) if state.active else [],
    deliverable=lambda self, i, state, packet: packet.kind == "ack" or state.active,
)

ROWS = variants_in(globals())
