"""Sequence numbers, acknowledgements and the rendezvous with one planted fault each, and variations without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl import fifo_ack, fifo_sequence, rendezvous
from crownless.impl.fifo_ack import FifoAck
from crownless.impl.fifo_sequence import FifoSequence
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rendezvous import Rendezvous
from crownless.spec.computation import Message

# -- sequence numbers: sending -----------------------------------------------------------------------------------------


class NumbersNothing(FifoSequence):
    def after_sending(self, state: fifo_sequence.State, j: Value) -> fifo_sequence.State:
        return state


class NumbersFromZero(FifoSequence):
    """The number before the increment, while the receiver goes on to count from 1."""

    def send(self, i: int, state: fifo_sequence.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        packets = [packet._replace(stamp=packet.stamp - 1) for packet in step.packets]
        return [step._replace(packets=packets)]


class NumbersFromTwo(FifoSequence):
    def send(self, i: int, state: fifo_sequence.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        packets = [packet._replace(stamp=packet.stamp + 1) for packet in step.packets]
        return [step._replace(packets=packets)]


class NumbersAllItSends(FifoSequence):
    """One sequence a sender: whom else it sends to leaves gaps."""

    def after_sending(self, state: fifo_sequence.State, j: Value) -> fifo_sequence.State:
        return state._replace(sent=self.ops.vector(lambda k: state.sent[k] + 1))


class NumbersByAnotherChannel(FifoSequence):
    """The number is that of the channel to the next process."""

    symmetric = False

    def after_sending(self, state: fifo_sequence.State, j: Value) -> fifo_sequence.State:
        return super().after_sending(state, (j + 1) % self.n)


class HasOneMessageUnderWay(FifoSequence):
    """A process sends once, and then waits for an acknowledgement that this protocol does without."""

    def send(self, i: int, state: fifo_sequence.State, message: Message) -> Sequence[Step]:
        return [] if any(state.sent) else super().send(i, state, message)


# -- sequence numbers: delivering --------------------------------------------------------------------------------------


class DeliversInAnyOrder(FifoSequence):
    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        return True


class LetsOneBeMissing(FifoSequence):
    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        return packet.stamp <= state.delivered[packet.source] + 2


class WaitsForTheMessageItself(FifoSequence):
    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        return packet.stamp <= state.delivered[packet.source]


class ChecksWhatItSent(FifoSequence):
    """The number of messages to the sender, not from it."""

    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        return packet.stamp <= state.sent[packet.source] + 1


class DropsWhatIsEarly(FifoSequence):
    """A message that arrives too early is not delayed but thrown away."""

    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        return True

    def on_packet(self, i: int, state: fifo_sequence.State, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet) if super().deliverable(i, state, packet) else [Step(state)]


class DeliversEachTwice(FifoSequence):
    def on_packet(self, i: int, state: fifo_sequence.State, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(i, state, packet)]


class CountsNoDeliveries(FifoSequence):
    def after_delivering(self, state: fifo_sequence.State, j: Value) -> fifo_sequence.State:
        return state


class CountsDeliveriesFromAnybody(FifoSequence):
    def after_delivering(self, state: fifo_sequence.State, j: Value) -> fifo_sequence.State:
        return state._replace(delivered=self.ops.vector(lambda k: state.delivered[k] + 1))


# -- sequence numbers: variations --------------------------------------------------------------------------------------


class WaitsForItsTurn(FifoSequence):
    """Exactly the next number: a second copy of a message is never the next."""

    def deliverable(self, i: int, state: fifo_sequence.State, packet: Packet) -> Value:
        return packet.stamp == state.delivered[packet.source] + 1


class TakesTheNumberForTheCount(FifoSequence):
    """What is delivered is as many as the number of the message says."""

    def on_packet(self, i: int, state: fifo_sequence.State, packet: Packet) -> Sequence[Step]:
        count = self.ops.vector(lambda k: packet.stamp if k == packet.source else state.delivered[k])
        return [step._replace(state=state._replace(delivered=count)) for step in super().on_packet(i, state, packet)]


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


class SendsWithoutWaiting(FifoAck):
    def may_send(self, state: fifo_ack.State) -> bool:
        return True


class StaysBlocked(FifoAck):
    def acknowledged(self, state: fifo_ack.State, j: int) -> fifo_ack.State:
        return state


class NeverAcknowledgesADelivery(FifoAck):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()


class AcknowledgesADeliveryTwice(FifoAck):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


class AcknowledgesToTheNextProcess(FifoAck):
    """Not to whom the message came from."""

    symmetric = False

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [Packet(i, (i + 1) % self.n, "ack")]


class AcknowledgesWithoutDelivering(FifoAck):
    def on_packet(self, i: int, state: fifo_ack.State, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=()) for step in super().on_packet(i, state, packet)]


class Buffered(NamedTuple):
    awaits: int | None
    #: What has arrived, is acknowledged and not yet delivered.
    input: tuple[Message, ...] = ()


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


class RefusesWhileBlocked(FifoAck):
    """The stricter reading: a blocked process accepts no message either."""

    def deliverable(self, i: int, state: fifo_ack.State, packet: Packet) -> bool:
        return packet.kind == "ack" or state.awaits is None


class StopsWaitingOnceItDelivers(FifoAck):
    """A message from the destination is taken for its acknowledgement."""

    def on_packet(self, i: int, state: fifo_ack.State, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        return [step._replace(state=self.acknowledged(step.state, packet.source)) for step in steps]


# -- acknowledgements: variations --------------------------------------------------------------------------------------


class TakesAnyAcknowledgement(FifoAck):
    def acknowledged(self, state: fifo_ack.State, j: int) -> fifo_ack.State:
        return fifo_ack.State(None)


class AcknowledgesInTheOrderOfItsInput(AcknowledgesOnArrival):
    """The input is a queue: half of the buffer protocol, with the process still blocked instead of an output buffer."""

    def places(self, state: Any) -> Sequence[int]:
        return range(min(1, len(state.input)))


class WaitsOnEachChannel(FifoAck):
    """Blocked are only sends to a process whose acknowledgement is still awaited."""

    rules = {}  # of other stamps or states

    witnesses = {"a-sender-is-blocked": lambda machine, i, state: bool(state)}

    def initial(self, i: int) -> Any:
        return frozenset()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        if message.receiver in state:
            return []
        packet = Packet(i, message.receiver, "message", message)
        return [Step(state | {message.receiver}, [packet], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return [Step(state - {packet.source})]
        assert packet.message is not None
        return [Step(state, self.acknowledgement(i, packet), [AppEvent("deliver", packet.message)])]

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return renaming.processes(state)


# -- the rendezvous ----------------------------------------------------------------------------------------------------


class AcceptsWhileItWaits(Rendezvous):
    def deliverable(self, i: int, state: rendezvous.State, packet: Packet) -> bool:
        return True


class AcceptsOnlyTheOther(Rendezvous):
    """While it waits it accepts a message of the very process that it waits for: nobody deadlocks in Fig. 1."""

    def deliverable(self, i: int, state: rendezvous.State, packet: Packet) -> bool:
        return super().deliverable(i, state, packet) or (
            state.sending is not None and state.sending.receiver == packet.source
        )


class AcceptsAllButTheOther(Rendezvous):
    """While it waits it accepts messages of third processes."""

    def deliverable(self, i: int, state: rendezvous.State, packet: Packet) -> bool:
        return super().deliverable(i, state, packet) or (
            state.sending is not None and state.sending.receiver != packet.source
        )


class SendsAndGoesOn(Rendezvous):
    """The send event is the beginning of a wait that there is not."""

    def send(self, i: int, state: rendezvous.State, message: Message) -> Sequence[Step]:
        steps = super().send(i, state, message)
        return [step._replace(state=state, events=[AppEvent("send", message)]) for step in steps]


class SendsAgainWhileItWaits(Rendezvous):
    """And forgets what it was waiting for."""

    def send(self, i: int, state: rendezvous.State, message: Message) -> Sequence[Step]:
        return super().send(i, rendezvous.State(None), message)


class NeverAcknowledgesAMessage(Rendezvous):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()


class AcknowledgesAMessageTwice(Rendezvous):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


class AcknowledgesAMessageThatItDrops(Rendezvous):
    def on_packet(self, i: int, state: rendezvous.State, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        return [step._replace(events=[event for event in step.events if event.kind == "send"]) for step in steps]


class DeliversAMessageTwice(Rendezvous):
    def on_packet(self, i: int, state: rendezvous.State, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        return [step._replace(events=[*step.events, *step.events]) for step in steps]


class NeverSaysThatItSent(Rendezvous):
    def acknowledged(self, state: rendezvous.State, j: int) -> Step:
        return super().acknowledged(state, j)._replace(events=())


class WaitsOnAfterTheAcknowledgement(Rendezvous):
    def acknowledged(self, state: rendezvous.State, j: int) -> Step:
        return super().acknowledged(state, j)._replace(state=state)


class TakesAnAcknowledgementOfAnybody(Rendezvous):
    def acknowledged(self, state: rendezvous.State, j: int) -> Step:
        return super().acknowledged(state, j if state.sending is None else state.sending.receiver)


class Received(NamedTuple):
    sending: Message | None
    #: What is acknowledged and not yet delivered.
    input: tuple[Message, ...] = ()


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


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    # sequence numbers
    Broken(NumbersNothing, "[MF] §2: sequence numbers on each channel", (Catch("fifo", 2, 2, 3),)),
    Broken(NumbersFromZero, "[MF] §2: sender and receiver count from the same number", (Catch("fifo", 2, 2, 3),)),
    Broken(
        NumbersFromTwo, "[MF] §2: sender and receiver count from the same number", (Catch("delivers-all", 2, 1, 1),)
    ),
    Broken(
        NumbersAllItSends,
        "[MF] §2: sequence numbers on each channel, not of each sender",
        (Catch("delivers-all", 3, 2, 3),),
    ),
    Broken(
        NumbersByAnotherChannel,
        "[MF] §2: sequence numbers on each channel, of that channel",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(HasOneMessageUnderWay, "[MF] §2: this solution blocks no sender", (Catch("never-blocks", 2, 3, 4),)),
    Broken(
        DeliversInAnyOrder,
        "[MF] §2: messages with higher sequence numbers, which arrive too early, are delayed",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        LetsOneBeMissing,
        "[MF] §2: until all messages with lower sequence numbers have arrived",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        WaitsForTheMessageItself,
        "[MF] §2: all messages with lower sequence numbers, and not its own",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(
        ChecksWhatItSent,
        "[MF] §2: all messages that have arrived, and not those sent",
        (Catch("fifo", 2, 3, 4), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(DropsWhatIsEarly, "[MF] §2: what arrives too early is delayed, not lost", (Catch("delivers-all", 2, 2, 4),)),
    Broken(DeliversEachTwice, "[MF] §2: each message is delivered once", (Catch("delivers-once", 2, 1, 2),)),
    Broken(
        CountsNoDeliveries, "[MF] §2: a message that has arrived delays no other", (Catch("delivers-all", 2, 2, 3),)
    ),
    Broken(
        CountsDeliveriesFromAnybody,
        "[MF] §2: sequence numbers on each channel; another sender's message is no lower number",
        (Catch("fifo", 3, 3, 5),),
    ),
    # acknowledgements
    Broken(SendsWithoutWaiting, "[MF] §2: block the sender until an acknowledgement", (Catch("fifo", 2, 2, 3),)),
    Broken(StaysBlocked, "[MF] §2: until an acknowledgement, and no longer", (Catch("never-blocks", 2, 3, 6),)),
    Broken(
        NeverAcknowledgesADelivery,
        "[MF] §2: the destination process acknowledges",
        (Catch("never-blocks", 2, 3, 4),),
    ),
    Broken(
        AcknowledgesADeliveryTwice,
        "[MF] §2: an acknowledgement, and one only: the second is taken for that of the next message",
        (Catch("fifo", 2, 3, 7),),
    ),
    Broken(
        AcknowledgesToTheNextProcess,
        "[MF] §2: it is the sender who waits for the acknowledgement",
        (Catch("never-blocks", 3, 4, 9), Catch("fifo", 3, 3, 6)),
    ),
    Broken(
        AcknowledgesWithoutDelivering,
        "[MF] §2: what is acknowledged is delivered",
        (Catch("delivers-all", 2, 1, 3),),
    ),
    Broken(
        AcknowledgesOnArrival,
        "[MF] §2: an acknowledgement from the destination process, and not from its buffer",
        (Catch("fifo", 2, 2, 6),),
    ),
    Broken(
        RefusesWhileBlocked,
        "[MF] §2: block the sender in its sends, not in its receives (the reading chosen)",
        (Catch("never-blocks", 2, 3, 2), Catch("delivers-all", 2, 2, 2)),
    ),
    Broken(
        StopsWaitingOnceItDelivers,
        "[MF] §2: until an acknowledgement; no other message is one",
        (Catch("fifo", 2, 3, 5),),
    ),
    # the rendezvous
    Broken(
        AcceptsWhileItWaits,
        "[MF] §3.1: each waits for the delivery of its own message before accepting the other",
        (Catch("synchronous", 2, 2, 4),),
    ),
    Broken(
        AcceptsOnlyTheOther,
        "[MF] §3.1: before accepting the other message: that of the process waited for too",
        (Catch("synchronous", 2, 2, 4),),
    ),
    Broken(
        AcceptsAllButTheOther,
        "[MF] §3.1: before accepting any other message: those of third processes too",
        (Catch("synchronous", 3, 3, 6),),
    ),
    Broken(SendsAndGoesOn, "[MF] §2: block the sender", (Catch("synchronous", 2, 2, 2),)),
    Broken(
        SendsAgainWhileItWaits, "[MF] §2: block the sender, its further sends too", (Catch("synchronous", 2, 2, 4),)
    ),
    Broken(NeverAcknowledgesAMessage, "[MF] §2: wait and acknowledge", (Catch("never-blocks", 2, 1, 2),)),
    Broken(
        AcknowledgesAMessageTwice,
        "[MF] §2: wait and acknowledge, once: the second is taken for that of the next message",
        (Catch("synchronous", 2, 3, 7),),
    ),
    Broken(
        AcknowledgesAMessageThatItDrops,
        "[MF] §2: what is acknowledged is delivered",
        (Catch("delivers-all", 2, 1, 3), Catch("synchronous", 2, 2, 6)),
    ),
    Broken(DeliversAMessageTwice, "[MF] §2: each message is delivered once", (Catch("delivers-once", 2, 1, 2),)),
    Broken(
        NeverSaysThatItSent,
        "[MF] §2: until an acknowledgement is received; then it is sent",
        (Catch("never-blocks", 2, 1, 3),),
    ),
    Broken(
        AcknowledgesBeforeItDelivers,
        "[MF] §2: an acknowledgement from the destination process, and not from its buffer",
        (Catch("synchronous", 2, 2, 6),),
    ),
)

#: The rendezvous blocks by itself where processes are free to send; here it need not.
TWO_IN_TURN = "P1: send a to P2; send b to P2\nP2: receive; receive"
#: An acknowledgement of a that comes late and twice is there when that of b is awaited.
TWO_AFTER_ANOTHER = "P1: send a to P2; send b to P3; send c to P3\nP2: receive\nP3: receive; receive"

BROKEN_PROGRAMS = (
    BrokenProgram(
        TakesAnyAcknowledgement,
        "[MF] §2: an acknowledgement from the destination process, where the channel repeats one of another",
        TWO_AFTER_ANOTHER,
        "fifo",
        8,
        Setup("duplicating"),
    ),
    BrokenProgram(
        TakesAnAcknowledgementOfAnybody,
        "[MF] §2: an acknowledgement from the destination process, where the channel repeats one of another",
        TWO_AFTER_ANOTHER,
        "synchronous",
        8,
        Setup("duplicating"),
    ),
    BrokenProgram(
        WaitsOnAfterTheAcknowledgement,
        "[MF] §2: block the sender until an acknowledgement is received, and no longer",
        TWO_IN_TURN,
        "completes",
        3,
    ),
)

HARMLESS = (
    Harmless(
        WaitsForItsTurn,
        "[MF] §2: whether a number is the next or at most the next makes no difference, as each arrives once.",
        3,
        4,
        1820,
    ),
    Harmless(
        WaitsForItsTurn,
        "[MF] §2: where packets are duplicated it does: a copy is never the next, and waits for ever. Sequence numbers "
        "repair that channel too, which the text's condition, that all lower numbers have arrived, does not.",
        3,
        3,
        3249,
        Setup("duplicating"),
    ),
    Harmless(
        TakesTheNumberForTheCount,
        "[MF] §2: a message delivered in its turn is as many as its number says.",
        3,
        4,
        1820,
    ),
    Harmless(
        NamesItsPredecessor,
        "[MF] §2: 'on each channel' is needed to know whom a message follows. One sequence a sender does as well, if "
        "the message names its predecessor on the channel; only, it shows how much the sender sent to others.",
        3,
        4,
        3329,
    ),
    Harmless(
        TakesAnyAcknowledgement,
        "[MF] §2: 'from the destination process' need not be checked: a blocked sender awaits one acknowledgement, and "
        "none comes that it does not await, unless the channel repeats it.",
        3,
        4,
        3010,
    ),
    Harmless(
        AcknowledgesInTheOrderOfItsInput,
        "[MF] §2: an acknowledgement from a queue before the destination process is enough, if the process takes from "
        "it in order. That is the input buffer of §3.",
        3,
        3,
        3863,
    ),
    Harmless(
        WaitsOnEachChannel,
        "[MF] §2: FIFO order needs nobody blocked but sends to the process that has not yet acknowledged. What is lost "
        "is causal order, which the text gives as the reason why blocking works.",
        3,
        4,
        4258,
    ),
)
