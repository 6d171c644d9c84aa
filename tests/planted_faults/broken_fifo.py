"""Sequence numbers, acknowledgements and the rendezvous [MF] with one planted fault each, and variations without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overrides import DOUBLE, LOST, TWICE, HoldsBack, always, changed, none_sent
from planted import ProgramCatch, Setup, breaks, keeps, planted_in

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols import fifo_ack, fifo_sequence, rendezvous
from crownless.impl.protocols.fifo_ack import FifoAck
from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.protocols.rendezvous import Rendezvous
from crownless.spec.computation import Message

#: The rendezvous blocks by itself where processes are free to send; here it need not.
TWO_IN_TURN = "P1: send a to P2; send b to P2\nP2: receive; receive"

#: An acknowledgement of a that comes late and twice is there when that of b is awaited.
TWO_AFTER_ANOTHER = "P1: send a to P2; send b to P3; send c to P3\nP2: receive\nP3: receive; receive"


def delivered_up_to(number: int, packet: Packet, state: fifo_sequence.State) -> fifo_sequence.State:
    """The state in which so many of the packet's sender are delivered."""
    counts = (number if k == packet.source else count for k, count in enumerate(state.delivered))
    return state._replace(delivered=tuple(counts))


# -- sequence numbers: sending -----------------------------------------------------------------------------------------

NumbersNothing = breaks(fifo=(2, 2, 3))(FifoSequence, after_sending=lambda self, state, j: state)
NumbersAllItSends = breaks(delivers_all=(3, 2, 3))(
    FifoSequence, after_sending=lambda self, state, j: state._replace(sent=self.ops.vector(lambda k: state.sent[k] + 1))
)
NumbersByAnotherChannel = breaks(fifo=(2, 2, 3), delivers_all=(3, 3, 5))(
    FifoSequence,
    symmetric=False,
    after_sending=lambda self, state, j: FifoSequence.after_sending(self, state, (j + 1) % self.n),
)
HasOneMessageUnderWay = breaks(never_blocks=(2, 2, 2))(
    FifoSequence, blocked_if=lambda self, state, message: any(state.sent)
)

# -- sequence numbers: delivering --------------------------------------------------------------------------------------

DeliversInAnyOrder = breaks(fifo=(2, 2, 3))(FifoSequence, deliverable=always)
LetsOneBeMissing = breaks(fifo=(2, 2, 3))(
    FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp <= state.delivered[packet.source] + 2
)
WaitsForTheMessageItself = breaks(delivers_all=(2, 1, 1))(
    FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp <= state.delivered[packet.source]
)
ChecksWhatItSent = breaks(fifo=(2, 3, 4), delivers_all=(2, 2, 3))(
    FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp <= state.sent[packet.source] + 1
)
DropsWhatIsEarly = breaks(delivers_all=(2, 2, 4))(FifoSequence, **LOST)
DeliversEachTwice = breaks(delivers_once=(2, 1, 2))(FifoSequence, on_packet=TWICE)
CountsNoDeliveries = breaks(delivers_all=(2, 2, 3))(FifoSequence, after_delivering=lambda self, state, j: state)
CountsDeliveriesFromAnybody = breaks(fifo=(3, 3, 5))(
    FifoSequence,
    after_delivering=lambda self, state, j: state._replace(delivered=self.ops.vector(lambda k: state.delivered[k] + 1)),
)

# -- sequence numbers: variations --------------------------------------------------------------------------------------

#: §2: where packets are duplicated it does: a copy is never the next, and waits for ever. Sequence numbers repair that
#: channel too, which the text's condition, that all lower numbers have arrived, does not.
#: §2: whether a number is the next or at most the next makes no difference, as each arrives once.
WaitsForItsTurn = keeps((3, 3, 3249), Setup("duplicating"))(
    keeps((3, 4, 1820))(
        FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp == state.delivered[packet.source] + 1
    )
)
#: What is delivered is as many as the number of the message says.
#: §2: a message delivered in its turn is as many as its number says.
TakesTheNumberForTheCount = keeps((3, 4, 1820))(
    FifoSequence, after_packet=lambda self, packet, before, after: delivered_up_to(packet.stamp, packet, before)
)


#: §2: 'on each channel' is needed to know whom a message follows. One sequence a sender does as well, if the message
#: names its predecessor on the channel; only, it shows how much the sender sent to others.
@keeps((3, 4, 3329))
class NamesItsPredecessor(FifoSequence):
    """One sequence a sender after all: a message also carries the number of the one before it on its channel."""

    rules = {}  # of other stamps or states

    def send(self, i: int, state: fifo_sequence.State, message: Message) -> Sequence[Step]:
        j, number = message.receiver, max(state.sent) + 1
        after = state._replace(sent=self.ops.vector(lambda k: number if k == j else state.sent[k]))
        packet = Packet(i, j, "message", message, (state.sent[j], number))
        return [Step(after, [packet], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> bool:
        before, _ = packet.stamp
        return bool(state.delivered[packet.source] == before)

    def on_packet(self, i: int, state: fifo_sequence.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        _, number = packet.stamp
        return [step._replace(state=delivered_up_to(number, packet, state))]


# -- acknowledgements --------------------------------------------------------------------------------------------------

SendsWithoutWaiting = breaks(fifo=(2, 2, 3))(FifoAck, may_send=lambda self, state: True)
StaysBlocked = breaks(never_blocks=(2, 2, 3))(FifoAck, acknowledged=lambda self, state, j: state)
NeverAcknowledgesADelivery = breaks(never_blocks=(2, 2, 2))(FifoAck, acknowledgement=none_sent)
AcknowledgesADeliveryTwice = breaks(fifo=(2, 3, 7))(FifoAck, acknowledgement=DOUBLE)
AcknowledgesToTheNextProcess = breaks(never_blocks=(3, 2, 3), fifo=(3, 3, 6))(
    FifoAck, symmetric=False, acknowledgement=lambda self, i, packet: [Packet(i, (i + 1) % self.n, "ack")]
)
AcknowledgesWithoutDelivering = breaks(delivers_all=(2, 1, 3))(
    FifoAck, each_step=lambda packet, step: step._replace(events=())
)


class AcknowledgesInput(HoldsBack):
    """Not the process acknowledges but its input, from which it then takes messages in any order."""

    def arrived(self, i: int, usual: Any, packet: Packet) -> Step:
        return Step(usual, self.acknowledgement(i, packet))


@breaks(fifo=(2, 2, 6))
class AcknowledgesOnArrival(AcknowledgesInput, FifoAck):
    """The acknowledgement says that the message arrived; it is delivered some time later."""


RefusesWhileBlocked = breaks(never_blocks=(2, 3, 2), delivers_all=(2, 2, 2))(
    FifoAck, deliverable=lambda self, i, state, packet: packet.kind == "ack" or state.awaits is None
)
StopsWaitingOnceItDelivers = breaks(fifo=(2, 3, 5))(
    FifoAck, after_packet=lambda self, packet, before, after: self.acknowledged(after, packet.source)
)

# -- acknowledgements: variations --------------------------------------------------------------------------------------

#: §2: 'from the destination process' need not be checked: a blocked sender awaits one acknowledgement, and none comes
#: that it does not await, unless the channel repeats it.
TakesAnyAcknowledgement = keeps((3, 4, 3010))(
    breaks(ProgramCatch("fifo", TWO_AFTER_ANOTHER, 8, Setup("duplicating")))(
        FifoAck, acknowledged=lambda self, state, j: fifo_ack.State(None)
    )
)
#: §2: an acknowledgement from a queue before the destination process is enough, if the process takes from it in order.
#: That is the input buffer of §3.
AcknowledgesInTheOrderOfItsInput = keeps((3, 3, 3863))(
    AcknowledgesOnArrival,
    taken=lambda self, i, state, packet: HoldsBack.taken(self, i, state, packet) if packet == state.waiting[0] else [],
)
#: §2: FIFO order needs nobody blocked but sends to the process that has not yet acknowledged. What is lost is causal
#: order, which the text gives as the reason why blocking works.
WaitsOnEachChannel = keeps((3, 4, 4258))(
    FifoAck,
    rules={},
    witnesses={"a-sender-is-blocked": lambda machine, i, state: bool(state)},
    initial=lambda self, i: frozenset(),
    send=lambda self, i, state, message: (
        changed(FifoAck.send(self, i, fifo_ack.State(None), message), lambda after: state | {after.awaits})
        if message.receiver not in state
        else []
    ),
    acknowledged=lambda self, state, j: state - {j},
    renamed=lambda self, state, renaming: renaming.processes(state),
)

# -- the rendezvous ----------------------------------------------------------------------------------------------------

AcceptsWhileItWaits = breaks(synchronous=(2, 2, 4))(Rendezvous, deliverable=always)
#: While it waits it accepts a message of the very process that it waits for: nobody deadlocks in Fig. 1.
AcceptsOnlyTheOther = breaks(synchronous=(2, 2, 4))(
    Rendezvous,
    deliverable=lambda self, i, state, packet: (
        Rendezvous.deliverable(self, i, state, packet) or state.sending.receiver == packet.source
    ),
)
#: While it waits it accepts messages of third processes.
AcceptsAllButTheOther = breaks(synchronous=(3, 3, 6))(
    Rendezvous,
    deliverable=lambda self, i, state, packet: (
        Rendezvous.deliverable(self, i, state, packet) or state.sending.receiver != packet.source
    ),
)
SendsAndGoesOn = breaks(synchronous=(2, 2, 2))(
    Rendezvous,
    send=lambda self, i, state, message: [
        step._replace(state=state, events=[AppEvent("send", message)])
        for step in Rendezvous.send(self, i, state, message)
    ],
)
SendsAgainWhileItWaits = breaks(synchronous=(2, 2, 4))(
    Rendezvous, send=lambda self, i, state, message: Rendezvous.send(self, i, rendezvous.State(None), message)
)
NeverAcknowledgesAMessage = breaks(never_blocks=(2, 1, 2))(Rendezvous, acknowledgement=none_sent)
AcknowledgesAMessageTwice = breaks(synchronous=(2, 3, 7))(Rendezvous, acknowledgement=DOUBLE)
AcknowledgesAMessageThatItDrops = breaks(delivers_all=(2, 1, 3), synchronous=(2, 2, 6))(
    Rendezvous, each_step=lambda packet, step: step if packet.kind == "ack" else step._replace(events=())
)
DeliversAMessageTwice = breaks(delivers_once=(2, 1, 2))(Rendezvous, on_packet=TWICE)
NeverSaysThatItSent = breaks(never_blocks=(2, 1, 3))(
    Rendezvous, acknowledged=lambda self, state, j: Rendezvous.acknowledged(self, state, j)._replace(events=())
)
WaitsOnAfterTheAcknowledgement = breaks(ProgramCatch("completes", TWO_IN_TURN, 3))(
    Rendezvous, acknowledged=lambda self, state, j: Rendezvous.acknowledged(self, state, j)._replace(state=state)
)
TakesAnAcknowledgementOfAnybody = breaks(ProgramCatch("synchronous", TWO_AFTER_ANOTHER, 8, Setup("duplicating")))(
    Rendezvous,
    acknowledged=lambda self, state, j: Rendezvous.acknowledged(
        self, state, j if state.sending is None else state.sending.receiver
    ),
)


@breaks(synchronous=(2, 2, 6))
class AcknowledgesBeforeItDelivers(AcknowledgesInput, Rendezvous):
    """The process takes messages from its input in order, while it does not wait."""

    deliverable = Rendezvous.deliverable

    def taken(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().taken(i, state, packet) if packet == state.waiting[0] and state.sending is None else []


ROWS = planted_in(globals())
