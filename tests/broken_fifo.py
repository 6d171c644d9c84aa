"""Sequence numbers, acknowledgements and the rendezvous with one planted fault each, and variations without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from crownless.impl import fifo_ack, fifo_sequence, rendezvous
from crownless.impl.fifo_ack import FifoAck
from crownless.impl.fifo_sequence import FifoSequence
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rendezvous import Rendezvous
from crownless.impl.variants import ProgramCatch, Setup, breaks, changed, keeps, restamped, twice, variants_in
from crownless.spec.computation import Message

#: The rendezvous blocks by itself where processes are free to send; here it need not.
TWO_IN_TURN = "P1: send a to P2; send b to P2\nP2: receive; receive"

#: An acknowledgement of a that comes late and twice is there when that of b is awaited.
TWO_AFTER_ANOTHER = "P1: send a to P2; send b to P3; send c to P3\nP2: receive\nP3: receive; receive"

# -- sequence numbers: sending -----------------------------------------------------------------------------------------

NumbersNothing = breaks("[MF] §2: sequence numbers on each channel", fifo=(2, 2, 3))(
    FifoSequence, after_sending=lambda self, state, j: state
)

NumbersFromZero = breaks("[MF] §2: sender and receiver count from the same number", fifo=(2, 2, 3))(
    FifoSequence,
    send=lambda self, i, state, message: restamped(
        FifoSequence.send(self, i, state, message), lambda packet: packet.stamp - 1
    ),
)


NumbersFromTwo = breaks("[MF] §2: sender and receiver count from the same number", delivers_all=(2, 1, 1))(
    FifoSequence,
    send=lambda self, i, state, message: restamped(
        FifoSequence.send(self, i, state, message), lambda packet: packet.stamp + 1
    ),
)


NumbersAllItSends = breaks("[MF] §2: sequence numbers on each channel, not of each sender", delivers_all=(3, 2, 3))(
    FifoSequence, after_sending=lambda self, state, j: state._replace(sent=self.ops.vector(lambda k: state.sent[k] + 1))
)

NumbersByAnotherChannel = breaks(
    "[MF] §2: sequence numbers on each channel, of that channel", fifo=(2, 2, 3), delivers_all=(3, 3, 5)
)(
    FifoSequence,
    symmetric=False,
    after_sending=lambda self, state, j: FifoSequence.after_sending(self, state, (j + 1) % self.n),
)

HasOneMessageUnderWay = breaks("[MF] §2: this solution blocks no sender", never_blocks=(2, 3, 4))(
    FifoSequence,
    send=lambda self, i, state, message: [] if any(state.sent) else FifoSequence.send(self, i, state, message),
)

# -- sequence numbers: delivering --------------------------------------------------------------------------------------

DeliversInAnyOrder = breaks(
    "[MF] §2: messages with higher sequence numbers, which arrive too early, are delayed", fifo=(2, 2, 3)
)(FifoSequence, deliverable=lambda self, i, state, packet: True)

LetsOneBeMissing = breaks("[MF] §2: until all messages with lower sequence numbers have arrived", fifo=(2, 2, 3))(
    FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp <= state.delivered[packet.source] + 2
)

WaitsForTheMessageItself = breaks(
    "[MF] §2: all messages with lower sequence numbers, and not its own", delivers_all=(2, 1, 1)
)(FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp <= state.delivered[packet.source])

ChecksWhatItSent = breaks(
    "[MF] §2: all messages that have arrived, and not those sent", fifo=(2, 3, 4), delivers_all=(2, 2, 3)
)(FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp <= state.sent[packet.source] + 1)

DropsWhatIsEarly = breaks("[MF] §2: what arrives too early is delayed, not lost", delivers_all=(2, 2, 4))(
    FifoSequence,
    deliverable=lambda self, i, state, packet: True,
    on_packet=lambda self, i, state, packet: (
        FifoSequence.on_packet(self, i, state, packet)
        if FifoSequence.deliverable(self, i, state, packet)
        else [Step(state)]
    ),
)


DeliversEachTwice = breaks("[MF] §2: each message is delivered once", delivers_once=(2, 1, 2))(
    FifoSequence, on_packet=lambda self, i, state, packet: twice(FifoSequence.on_packet(self, i, state, packet))
)


CountsNoDeliveries = breaks("[MF] §2: a message that has arrived delays no other", delivers_all=(2, 2, 3))(
    FifoSequence, after_delivering=lambda self, state, j: state
)


@breaks("[MF] §2: sequence numbers on each channel; another sender's message is no lower number", fifo=(3, 3, 5))
class CountsDeliveriesFromAnybody(FifoSequence):
    def after_delivering(self, state: fifo_sequence.State, j: Value) -> fifo_sequence.State:
        return state._replace(delivered=self.ops.vector(lambda k: state.delivered[k] + 1))


# -- sequence numbers: variations --------------------------------------------------------------------------------------

WaitsForItsTurn = keeps(
    "[MF] §2: where packets are duplicated it does: a copy is never the next, and waits for ever. Sequence numbers "
    "repair that channel too, which the text's condition, that all lower numbers have arrived, does not.",
    (3, 3, 3249),
    Setup("duplicating"),
)(
    keeps(
        "[MF] §2: whether a number is the next or at most the next makes no difference, as each arrives once.",
        (3, 4, 1820),
    )(FifoSequence, deliverable=lambda self, i, state, packet: packet.stamp == state.delivered[packet.source] + 1)
)


@keeps("[MF] §2: a message delivered in its turn is as many as its number says.", (3, 4, 1820))
class TakesTheNumberForTheCount(FifoSequence):
    """What is delivered is as many as the number of the message says."""

    def on_packet(self, i: int, state: fifo_sequence.State, packet: Packet) -> Sequence[Step]:
        count = self.ops.vector(lambda k: packet.stamp if k == packet.source else state.delivered[k])
        return [step._replace(state=state._replace(delivered=count)) for step in super().on_packet(i, state, packet)]


@keeps(
    "[MF] §2: 'on each channel' is needed to know whom a message follows. One sequence a sender does as well, if "
    "the message names its predecessor on the channel; only, it shows how much the sender sent to others.",
    (3, 4, 3329),
)
class NamesItsPredecessor(FifoSequence):
    """One sequence a sender after all: a message also carries the number of the one before it on its channel."""

    rules = {}  # of other stamps or states

    def send(self, i: int, state: fifo_sequence.State, message: Message) -> Sequence[Step]:
        j, number = message.receiver, max(state.sent) + 1
        after = state._replace(sent=self.ops.vector(lambda k: number if k == j else state.sent[k]))
        packet = Packet(i, j, "message", message, (state.sent[j], number))
        return [Step(after, [packet], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        before, _ = packet.stamp
        return state.delivered[packet.source] == before

    def on_packet(self, i: int, state: fifo_sequence.State, packet: Packet) -> Sequence[Step]:
        _, number = packet.stamp
        last = self.ops.vector(lambda k: number if k == packet.source else state.delivered[k])
        return [step._replace(state=state._replace(delivered=last)) for step in super().on_packet(i, state, packet)]


# -- acknowledgements --------------------------------------------------------------------------------------------------

SendsWithoutWaiting = breaks("[MF] §2: block the sender until an acknowledgement", fifo=(2, 2, 3))(
    FifoAck, may_send=lambda self, state: True
)

StaysBlocked = breaks("[MF] §2: until an acknowledgement, and no longer", never_blocks=(2, 3, 6))(
    FifoAck, acknowledged=lambda self, state, j: state
)

NeverAcknowledgesADelivery = breaks("[MF] §2: the destination process acknowledges", never_blocks=(2, 3, 4))(
    FifoAck, acknowledgement=lambda self, i, packet: ()
)


@breaks("[MF] §2: an acknowledgement, and one only: the second is taken for that of the next message", fifo=(2, 3, 7))
class AcknowledgesADeliveryTwice(FifoAck):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


AcknowledgesToTheNextProcess = breaks(
    "[MF] §2: it is the sender who waits for the acknowledgement", never_blocks=(3, 4, 9), fifo=(3, 3, 6)
)(FifoAck, symmetric=False, acknowledgement=lambda self, i, packet: [Packet(i, (i + 1) % self.n, "ack")])


@breaks("[MF] §2: what is acknowledged is delivered", delivers_all=(2, 1, 3))
class AcknowledgesWithoutDelivering(FifoAck):
    def on_packet(self, i: int, state: fifo_ack.State, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=()) for step in super().on_packet(i, state, packet)]


class Buffered(NamedTuple):
    awaits: int | None
    #: What has arrived, is acknowledged and not yet delivered.
    input: tuple[Message, ...] = ()


@breaks("[MF] §2: an acknowledgement from the destination process, and not from its buffer", fifo=(2, 2, 6))
class AcknowledgesOnArrival(FifoAck):
    """Not the process acknowledges but its input, from which it then takes messages in any order."""

    def initial(self, i: int) -> Any:
        return Buffered(None)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        steps = super().send(i, fifo_ack.State(state.awaits), message)
        return [step._replace(state=Buffered(step.state.awaits, state.input)) for step in steps]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return [Step(state._replace(awaits=self.acknowledged(fifo_ack.State(state.awaits), packet.source).awaits))]
        assert packet.message is not None
        return [Step(state._replace(input=(*state.input, packet.message)), self.acknowledgement(i, packet))]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        steps = []
        for place in self.places(state):
            rest = state.input[:place] + state.input[place + 1 :]
            step = Step(state._replace(input=rest), (), [AppEvent("deliver", state.input[place])])
            steps.append((f"take {place + 1}", step))
        return steps

    def places(self, state: Any) -> Sequence[int]:
        return range(len(state.input))

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return Buffered(renaming.process(state.awaits), renaming.messages(state.input))


RefusesWhileBlocked = breaks(
    "[MF] §2: block the sender in its sends, not in its receives (the reading chosen)",
    never_blocks=(2, 3, 2),
    delivers_all=(2, 2, 2),
)(FifoAck, deliverable=lambda self, i, state, packet: packet.kind == "ack" or state.awaits is None)

StopsWaitingOnceItDelivers = breaks("[MF] §2: until an acknowledgement; no other message is one", fifo=(2, 3, 5))(
    FifoAck,
    on_packet=lambda self, i, state, packet: changed(
        FifoAck.on_packet(self, i, state, packet), lambda after: self.acknowledged(after, packet.source)
    ),
)

# -- acknowledgements: variations --------------------------------------------------------------------------------------

TakesAnyAcknowledgement = keeps(
    "[MF] §2: 'from the destination process' need not be checked: a blocked sender awaits one acknowledgement, and "
    "none comes that it does not await, unless the channel repeats it.",
    (3, 4, 3010),
)(
    breaks(
        "[MF] §2: an acknowledgement from the destination process, where the channel repeats one of another",
        ProgramCatch("fifo", TWO_AFTER_ANOTHER, 8, Setup("duplicating")),
    )(FifoAck, acknowledged=lambda self, state, j: fifo_ack.State(None))
)

AcknowledgesInTheOrderOfItsInput = keeps(
    "[MF] §2: an acknowledgement from a queue before the destination process is enough, if the process takes from "
    "it in order. That is the input buffer of §3.",
    (3, 3, 3863),
)(AcknowledgesOnArrival, places=lambda self, state: range(min(1, len(state.input))))

WaitsOnEachChannel = keeps(
    "[MF] §2: FIFO order needs nobody blocked but sends to the process that has not yet acknowledged. What is lost "
    "is causal order, which the text gives as the reason why blocking works.",
    (3, 4, 4258),
)(
    FifoAck,
    rules={},
    witnesses={"a-sender-is-blocked": lambda machine, i, state: bool(state)},
    initial=lambda self, i: frozenset(),
    send=lambda self, i, state, message: (
        []
        if message.receiver in state
        else [
            Step(
                state | {message.receiver},
                [Packet(i, message.receiver, "message", message)],
                [AppEvent("send", message)],
            )
        ]
    ),
    on_packet=lambda self, i, state, packet: (
        [Step(state - {packet.source})]
        if packet.kind == "ack"
        else [Step(state, self.acknowledgement(i, packet), [AppEvent("deliver", packet.message)])]
    ),
    renamed=lambda self, state, renaming: renaming.processes(state),
)

# -- the rendezvous ----------------------------------------------------------------------------------------------------

AcceptsWhileItWaits = breaks(
    "[MF] §3.1: each waits for the delivery of its own message before accepting the other", synchronous=(2, 2, 4)
)(Rendezvous, deliverable=lambda self, i, state, packet: True)


@breaks("[MF] §3.1: before accepting the other message: that of the process waited for too", synchronous=(2, 2, 4))
class AcceptsOnlyTheOther(Rendezvous):
    """While it waits it accepts a message of the very process that it waits for: nobody deadlocks in Fig. 1."""

    def deliverable(self, i: int, state: rendezvous.State, packet: Packet) -> bool:
        return super().deliverable(i, state, packet) or (
            state.sending is not None and state.sending.receiver == packet.source
        )


@breaks("[MF] §3.1: before accepting any other message: those of third processes too", synchronous=(3, 3, 6))
class AcceptsAllButTheOther(Rendezvous):
    """While it waits it accepts messages of third processes."""

    def deliverable(self, i: int, state: rendezvous.State, packet: Packet) -> bool:
        return super().deliverable(i, state, packet) or (
            state.sending is not None and state.sending.receiver != packet.source
        )


SendsAndGoesOn = breaks("[MF] §2: block the sender", synchronous=(2, 2, 2))(
    Rendezvous,
    send=lambda self, i, state, message: [
        step._replace(state=state, events=[AppEvent("send", message)])
        for step in Rendezvous.send(self, i, state, message)
    ],
)

SendsAgainWhileItWaits = breaks("[MF] §2: block the sender, its further sends too", synchronous=(2, 2, 4))(
    Rendezvous, send=lambda self, i, state, message: Rendezvous.send(self, i, rendezvous.State(None), message)
)

NeverAcknowledgesAMessage = breaks("[MF] §2: wait and acknowledge", never_blocks=(2, 1, 2))(
    Rendezvous, acknowledgement=lambda self, i, packet: ()
)


@breaks("[MF] §2: wait and acknowledge, once: the second is taken for that of the next message", synchronous=(2, 3, 7))
class AcknowledgesAMessageTwice(Rendezvous):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


@breaks("[MF] §2: what is acknowledged is delivered", delivers_all=(2, 1, 3), synchronous=(2, 2, 6))
class AcknowledgesAMessageThatItDrops(Rendezvous):
    def on_packet(self, i: int, state: rendezvous.State, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        return [step._replace(events=[event for event in step.events if event.kind == "send"]) for step in steps]


DeliversAMessageTwice = breaks("[MF] §2: each message is delivered once", delivers_once=(2, 1, 2))(
    Rendezvous, on_packet=lambda self, i, state, packet: twice(Rendezvous.on_packet(self, i, state, packet))
)


NeverSaysThatItSent = breaks("[MF] §2: until an acknowledgement is received; then it is sent", never_blocks=(2, 1, 3))(
    Rendezvous, acknowledged=lambda self, state, j: Rendezvous.acknowledged(self, state, j)._replace(events=())
)

WaitsOnAfterTheAcknowledgement = breaks(
    "[MF] §2: block the sender until an acknowledgement is received, and no longer",
    ProgramCatch("completes", TWO_IN_TURN, 3),
)(Rendezvous, acknowledged=lambda self, state, j: Rendezvous.acknowledged(self, state, j)._replace(state=state))


@breaks(
    "[MF] §2: an acknowledgement from the destination process, where the channel repeats one of another",
    ProgramCatch("synchronous", TWO_AFTER_ANOTHER, 8, Setup("duplicating")),
)
class TakesAnAcknowledgementOfAnybody(Rendezvous):
    def acknowledged(self, state: rendezvous.State, j: int) -> Step:
        return super().acknowledged(state, j if state.sending is None else state.sending.receiver)


class Received(NamedTuple):
    sending: Message | None
    #: What is acknowledged and not yet delivered.
    input: tuple[Message, ...] = ()


@breaks("[MF] §2: an acknowledgement from the destination process, and not from its buffer", synchronous=(2, 2, 6))
class AcknowledgesBeforeItDelivers(Rendezvous):
    """The acknowledgement says that the message arrived; it is delivered some time later."""

    def initial(self, i: int) -> Any:
        return Received(None)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        steps = super().send(i, rendezvous.State(state.sending), message)
        return [step._replace(state=Received(step.state.sending, state.input)) for step in steps]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            step = self.acknowledged(rendezvous.State(state.sending), packet.source)
            return [step._replace(state=Received(step.state.sending, state.input))]
        assert packet.message is not None
        return [Step(state._replace(input=(*state.input, packet.message)), self.acknowledgement(i, packet))]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if state.sending is not None or not state.input:
            return []
        return [("take", Step(state._replace(input=state.input[1:]), (), [AppEvent("deliver", state.input[0])]))]

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        sending = super().renamed(rendezvous.State(state.sending), renaming).sending
        return Received(sending, renaming.messages(state.input))


ROWS = variants_in(globals())
