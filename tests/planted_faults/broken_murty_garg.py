"""Murty & Garg's algorithm [MG] with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from typing import Any

from overrides import Method, changes, with_state
from planted import ProgramCatch, breaks, keeps, planted_in

from crownless.impl.protocol import Step
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.research.variants.for_murty_garg import CommitsAtAcknowledgement

#: While P2 is passive it receives from P3 and from P4, and owes both an acknowledgement before they can send to P1.
TWO_DEBTS = """
P1: receive; receive; receive
P2: send a to P1; receive; receive
P3: send b to P2; send d to P1
P4: send c to P2; send e to P1
"""

# -- the priority rule (§4.2.1 PR): the smaller process requests, the bigger one sends ---------------------------------

NobodyAsks = breaks(synchronous=(2, 2, 2), acknowledges_only_bigger_processes=(2, 2, 3), delivers_all=(2, 3, 5))(
    MurtyGarg, must_request=lambda self, i, j: False
)
EverybodyAsks = breaks(synchronous=(2, 2, 4), delivers_all=(2, 3, 8))(MurtyGarg, must_request=lambda self, i, j: True)
#: The smaller process commits at its request, not when the message comes back.
CommitsWhenItAsks = breaks(synchronous=(2, 2, 2))(
    MurtyGarg,
    send=lambda self, i, state, message: [
        step._replace(events=[self.commit(i, message)]) if self.must_request(i, message.receiver) else step
        for step in MurtyGarg.send(self, i, state, message)
    ],
    each_step=lambda packet, step: (
        step._replace(events=()) if packet.message is not None and packet.message.sender == packet.destination else step
    ),
)
#: The bigger process executes what is requested at once, not when "in a position to commit".
CommitsARequestWhilePassive = breaks(synchronous=(2, 2, 4))(
    MurtyGarg,
    on_packet=lambda self, i, state, packet: MurtyGarg.on_packet(
        self, i, state._replace(active=state.active or packet.kind == "request"), packet
    ),
)
IgnoresRequests = breaks(delivers_all=(2, 1, 2))(
    MurtyGarg,
    on_packet=lambda self, i, state, packet: (
        [Step(state)] if packet.kind == "request" else MurtyGarg.on_packet(self, i, state, packet)
    ),
)


@changes("commit_and_send")
def committing(change: Method) -> Method:
    """`commit_and_send`, whose steps become `change(i, step, message)`."""
    return lambda self, i, state, message: change(i, MurtyGarg.commit_and_send(self, i, state, message), message)


#: The bigger process sends a requested message back and does not commit it.
SendsBackUncommitted = breaks(delivers_all=(2, 1, 4))(
    MurtyGarg, committing=lambda i, step, message: step if message.sender == i else step._replace(events=())
)
#: The sender of a message to a smaller process commits it at the acknowledgement (§4.1: "either").
CommitsOnAcknowledgement = breaks(synchronous=(3, 3, 7))(CommitsAtAcknowledgement)

# -- sends and acknowledgements (§4.3: passive on sending, active on an acknowledgement) -------------------------------

SendsWhilePassive = breaks(synchronous=(2, 2, 3))(MurtyGarg, may_send=lambda self, state: True)
StaysActiveOnSending = breaks(synchronous=(2, 2, 3))(
    MurtyGarg,
    send_to_smaller=lambda self, i, state, message: with_state(
        MurtyGarg.send_to_smaller(self, i, state, message), active=state.active
    ),
)
SendsTwice = breaks(delivers_once=(2, 1, 3), synchronous=(2, 3, 8))(
    MurtyGarg, committing=lambda i, step, message: step._replace(packets=[*step.packets] * 2)
)
AcknowledgesWhilePassive = breaks(synchronous=(3, 3, 6))(MurtyGarg, may_acknowledge=lambda self, state: True)
NeverAcknowledges = breaks(delivers_all=(2, 2, 3))(
    MurtyGarg, commit_and_acknowledge=lambda self, i, state, j, message: Step(state, (), [self.commit(i, message)])
)
NeverWithholdsTheDebt = breaks(delivers_all=(3, 3, 6))(
    MurtyGarg,
    commit_and_acknowledge=lambda self, i, state, j, message: MurtyGarg.commit_and_acknowledge(
        self, i, state, j, message
    )._replace(state=state),
)

# -- an acknowledgement (Fig. 8): active again, send the queued acknowledgements, then the next queued message ---------


def sends_no_more(queue: str, most: int) -> Method:
    """`acknowledged`, where of that queue so many are sent at most, and the others are kept."""

    def acknowledged(self: MurtyGarg, i: int, state: Any) -> Step:
        queued = getattr(state, queue)
        step = MurtyGarg.acknowledged(self, i, state._replace(**{queue: queued[:most]}))
        return with_state(step, **{queue: queued[most:]})

    return acknowledged


StaysPassive = breaks(delivers_all=(2, 2, 4))(
    MurtyGarg, acknowledged=lambda self, i, state: with_state(MurtyGarg.acknowledged(self, i, state), active=False)
)
KeepsItsAcknowledgements = breaks(nothing_queued_while_active=(3, 2, 5), delivers_all=(3, 3, 6))(
    MurtyGarg, acknowledged=sends_no_more("acks", 0)
)
#: `if (notEmpty(ackQueue))` for `while`: the others are kept.
SendsOneAcknowledgement = breaks(ProgramCatch("completes", TWO_DEBTS, 12), nothing_queued_while_active=(4, 3, 7))(
    MurtyGarg, acknowledged=sends_no_more("acks", 1)
)
KeepsItsMessages = breaks(nothing_queued_while_active=(2, 2, 4), delivers_all=(2, 2, 4))(
    MurtyGarg, acknowledged=sends_no_more("messages", 0)
)
StaysActiveOnSendingAQueuedMessage = breaks(synchronous=(2, 3, 6), nothing_queued_while_active=(2, 3, 5))(
    MurtyGarg, acknowledged=lambda self, i, state: with_state(MurtyGarg.acknowledged(self, i, state), active=True)
)


@breaks(synchronous=(2, 3, 6))
class SendsAllItsMessages(MurtyGarg):
    """`while (notEmpty(messageQueue))` for `if`: all that wait are sent at once."""

    def acknowledged(self, i: int, state: Any) -> Step:
        step = super().acknowledged(i, state)
        for message in state.messages[1:]:
            more = self.commit_and_send(i, step.state._replace(messages=()), message)
            step = Step(more.state, [*step.packets, *more.packets], [*step.events, *more.events])
        return step


# -- variations --------------------------------------------------------------------------------------------------------

#: PR: any total order of the processes serves.
ReversesTheRanks = keeps((3, 3, 2491), never_reaches=["several-withheld-acknowledgements-are-sent"])(
    MurtyGarg,
    invariants={name: holds for name, holds in MurtyGarg.invariants.items() if "bigger" not in name},
    must_request=lambda self, i, j: i > j,
)
#: messageQueue need not be a queue; sends are not kept in the order intended anyway.
SendsTheNewestMessage = keeps((3, 3, 2521), never_reaches=["several-withheld-acknowledgements-are-sent"])(
    MurtyGarg,
    acknowledged=lambda self, i, state: MurtyGarg.acknowledged(
        self, i, state._replace(messages=state.messages[-1:] + state.messages[:-1])
    ),
)
#: A send to a smaller process may as well block: only requests must be queued (SP).
RefusesToSendWhilePassive = keeps((3, 3, 2033), never_reaches=["several-withheld-acknowledgements-are-sent"])(
    MurtyGarg,
    blocked_if=lambda self, state, message: (
        not state.active and not self.must_request(message.sender, message.receiver)
    ),
)
#: Receiving only while active is as safe and live, and less concurrent (RP).
CommitsOnlyWhileActive = keeps(
    (3, 3, 2351),
    never_reaches=[
        "a-withheld-acknowledgement-and-a-waiting-message-are-sent-in-one-step",
        "a-withheld-acknowledgement-is-sent",
        "several-withheld-acknowledgements-are-sent",
    ],
)(
    MurtyGarg,
    witnesses={"a-send-waits-for-an-acknowledgement": lambda machine, i, state: bool(state.messages)},
    deliverable=lambda self, i, state, packet: packet.kind != "message" or state.active,
)
#: With the priority rule even the blocking algorithm does not deadlock (§1).
Blocks = keeps(
    (3, 3, 1376),
    never_reaches=[
        "a-request-waits",
        "a-waiting-message-is-sent-on-an-acknowledgement",
        "a-withheld-acknowledgement-and-a-waiting-message-are-sent-in-one-step",
        "a-withheld-acknowledgement-is-sent",
        "several-withheld-acknowledgements-are-sent",
    ],
)(
    MurtyGarg,
    witnesses={},
    blocked_if=lambda self, state, message: not state.active,
    deliverable=lambda self, i, state, packet: packet.kind == "ack" or state.active,
)

ROWS = planted_in(globals())
