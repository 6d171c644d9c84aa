"""The vector-pair protocol, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crownless.impl import ses
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.ses import Ses, Stamp
from crownless.impl.variants import breaks, changed, keeps, variants_in
from crownless.spec.computation import Message

# -- logical time (§4.1) -----------------------------------------------------------------------------------------------

NeverTicksOnSending = breaks("[SES] §4.1: a local event increments VT(S_i)[i]", fifo=(2, 2, 3))(
    Ses, after_event=lambda self, i, time: time
)

TicksAnotherEntry = breaks(
    "[SES] §4.1: the i-th entry is incremented at S_i, no other",
    pairs_are_of_the_past=(3, 3, 4),
    causal=(3, 3, 5),
    delivers_all=(3, 3, 5),
)(Ses, symmetric=False, after_event=lambda self, i, time: Ses.after_event(self, (i + 1) % self.n, time))


@breaks("[SES] §4.2.1: VT(M) is the logical time of emission, the sending counted", fifo=(2, 2, 3))
class StampsWithTheTimeBefore(Ses):
    """VT(M) is the time just before the event SEND(M), and M is not counted in it."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        time = self.after_event(i, state.time)
        packet = Packet(i, message.receiver, "message", message, Stamp(state.time, state.buffer))
        after = ses.State(time, self.with_pair(state.buffer, message.receiver, state.time))
        return [Step(after, [packet], [AppEvent("send", message)])]


NeverLearnsTheTime = breaks(
    "[SES] §4.2.2: on delivery update the logical time", delivers_all=(2, 2, 3), pairs_are_of_the_past=(3, 2, 3)
)(Ses, time_after=lambda self, i, time, of_message: self.after_event(i, time))


@breaks("[SES] §4.1: the maximum with VT(M) for every j ≠ i", pairs_are_of_the_past=(3, 3, 5), delivers_all=(3, 3, 5))
class LearnsOnlyTheSendersEntry(Ses):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        its = self.ops.vector(lambda k: stamp.time[k] * self.ops.one_if(k == j))
        return (
            super()
            .after_delivering(i, state, j, stamp._replace(time=its))
            ._replace(buffer=self.merged(i, state.buffer, stamp.buffer))
        )


TakesTheTimeOfTheMessage = breaks(
    "[SES] §4.1: the maximum of VT(S_i)[j] and VT(M)[j], not VT(M)[j]",
    pairs_are_of_the_past=(3, 3, 5),
    delivers_all=(3, 3, 5),
)(
    Ses,
    time_after=lambda self, i, time, of_message: Ses.time_after(
        self, i, self.ops.vector(lambda k: time[k] * self.ops.one_if(k == i)), of_message
    ),
)


@breaks("[SES] §4.1: the maximum of VT(S_i)[j] and VT(M)[j], not their sum", fifo=(2, 4, 7))
class AddsTheTimes(Ses):
    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return self.ops.vector(lambda k: time[k] + of_message[k] + self.ops.one_if(k == i))


class WithHoldBackQueue(NamedTuple):
    site: ses.State
    waiting: frozenset[Packet]

    @property
    def time(self) -> Value:
        return self.site.time

    @property
    def buffer(self) -> Value:
        return self.site.buffer


@breaks("[SES] §4.2.2: the time is updated when a message can be delivered, not when it arrives", causal=(2, 2, 4))
class LearnsTheTimeOnArrival(Ses):
    """§4.1 literally: "when S_i receives a message". But what has arrived is not yet delivered."""

    rules = {}  # of other stamps or states

    def initial(self, i: int) -> WithHoldBackQueue:  # type: ignore[override]
        return WithHoldBackQueue(super().initial(i), frozenset())

    def send(self, i: int, state: WithHoldBackQueue, message: Message) -> Sequence[Step]:  # type: ignore[override]
        (step,) = super().send(i, state.site, message)
        return [step._replace(state=state._replace(site=step.state))]

    def deliverable(self, i: int, state: WithHoldBackQueue, packet: Packet) -> Value:  # type: ignore[override]
        return True

    def on_packet(self, i: int, state: WithHoldBackQueue, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        site = state.site._replace(time=self.time_after(i, state.time, packet.stamp.time))
        return [Step(WithHoldBackQueue(site, state.waiting | {packet}))]

    def receive(self, i: int, state: WithHoldBackQueue, sender: int | None) -> Sequence[Step]:
        steps = []
        for packet in sorted(state.waiting):
            if sender in (None, packet.source) and super().deliverable(i, state.site, packet):
                assert packet.message is not None
                site = state.site._replace(buffer=self.merged(i, state.buffer, packet.stamp.buffer))
                after = WithHoldBackQueue(site, state.waiting - {packet})
                steps.append(Step(after, (), [AppEvent("deliver", packet.message)]))
        return steps

    def renamed(self, state: WithHoldBackQueue, renaming: Renaming) -> WithHoldBackQueue:  # type: ignore[override]
        waiting = frozenset(self.renamed_packet(packet, renaming) for packet in state.waiting)
        return WithHoldBackQueue(super().renamed(state.site, renaming), waiting)


# -- emission (§4.2.1) -------------------------------------------------------------------------------------------------


@breaks("[SES] §4.2.1: the pair (S2, VT(M)) is not sent with M", delivers_all=(2, 1, 1))
class SendsItsOwnPairAlong(Ses):
    """The pair (S2, VT(M)) is inserted before the buffer goes with M: M waits for itself."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        time = self.after_event(i, state.time)
        buffer = self.with_pair(state.buffer, message.receiver, time)
        packet = Packet(i, message.receiver, "message", message, Stamp(time, buffer))
        return [Step(ses.State(time, buffer), [packet], [AppEvent("send", message)])]


def with_some_pairs(machine: Ses, step: Step, goes_along: Callable[[Value, Value], bool]) -> Step:
    """Of the sender's buffer only the pairs for some sites, depending on the receiver, go with the message."""
    (packet,) = step.packets
    stamp, j = packet.stamp, packet.destination
    buffer = machine.ops.matrix(lambda l, k: stamp.buffer[l][k] * machine.ops.one_if(goes_along(l, j)))
    return step._replace(packets=[packet._replace(stamp=stamp._replace(buffer=buffer))])


@breaks("[SES] §4.2.1: the contents of ORD_BUFF_S1 are sent along", fifo=(2, 2, 3))
class SendsNoPairs(Ses):
    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [with_some_pairs(self, step, lambda l, j: False)]


@breaks("[SES] §4.2.1: all of ORD_BUFF_S1 is sent along, pairs for other sites too", causal=(3, 3, 5))
class SendsOnlyThePairOfTheReceiver(Ses):
    """The only pair that is looked at on arrival; the others are what the receiver would pass on."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [with_some_pairs(self, step, lambda l, j: l == j)]


@breaks("[SES] §4.2.1: all of ORD_BUFF_S1 is sent along, the pair for the receiver too", fifo=(2, 2, 3))
class SendsAllButThePairOfTheReceiver(Ses):
    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [with_some_pairs(self, step, lambda l, j: l != j)]


NeverInsertsAPair = breaks("[SES] §4.2.1: after sending, the pair (S2, VT(M)) is inserted", fifo=(2, 2, 3))(
    Ses, with_pair=lambda self, buffer, j, time: buffer
)


@breaks("[SES] §4.2.1: the pair is for the receiver S2", no_pair_for_itself=(2, 1, 1), fifo=(2, 2, 3))
class InsertsAPairForItself(Ses):
    """(S1, VT(M)) for (S2, VT(M))."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        time = step.state.time
        return [step._replace(state=ses.State(time, self.with_pair(state.buffer, i, time)))]


KeepsTheOlderPair = breaks("[SES] §4.2.1: the older pair is discarded, not the new one", fifo=(2, 3, 5))(
    Ses, with_pair=lambda self, buffer, j, time: buffer if any(buffer[j]) else Ses.with_pair(self, buffer, j, time)
)

DiscardsThePairsOfOthers = breaks("[SES] §4.2.1: only a pair for the same site is discarded", fifo=(3, 3, 4))(
    Ses, with_pair=lambda self, buffer, j, time: Ses.with_pair(self, self.ops.matrix(lambda l, k: 0), j, time)
)


@breaks("[SES] §4.2.1: the older pair is discarded, not added", pairs_are_of_the_past=(2, 2, 2), delivers_all=(2, 3, 5))
class AddsToTheOlderPair(Ses):
    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return self.ops.matrix(lambda l, k: buffer[l][k] + time[k] * self.ops.one_if(l == j))


@breaks("[SES] §4.2.1: the time of the pair is VT(M), which the delivery of M brings to S2", delivers_all=(2, 2, 3))
class InsertsInAnEventOfItsOwn(Ses):
    """The insertion is a local event after the sending, and the pair has its time: M does not mention it."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        time = self.after_event(i, step.state.time)
        return [step._replace(state=ses.State(time, self.with_pair(state.buffer, message.receiver, time)))]


InsertsATimeToCome = breaks(
    "[SES] Lemma 2: VT ≤ VT(S) for every pair in ORD_BUFF_S", pairs_are_of_the_past=(2, 1, 1), delivers_all=(2, 2, 3)
)(
    Ses,
    send=lambda self, i, state, message: changed(
        Ses.send(self, i, state, message),
        lambda after: after._replace(
            buffer=self.with_pair(state.buffer, message.receiver, self.after_event(i, after.time))
        ),
    ),
)


WaitsForAnAnswer = breaks("[SES] §4.2.1: nothing delays a message, whatever pairs there are", never_blocks=(2, 3, 4))(
    Ses,
    send=lambda self, i, state, message: (
        [] if any(state.buffer[message.receiver]) else Ses.send(self, i, state, message)
    ),
)

# -- arrival (§4.2.2) --------------------------------------------------------------------------------------------------

DeliversWhatArrives = breaks(
    "[SES] §4.2.2: M cannot be delivered as long as VT ≤ VT(S2) is not true", fifo=(2, 2, 3), causal=(2, 2, 3)
)(Ses, deliverable=lambda self, i, state, packet: True)

#: VT[k] ≤ VT(S)[k] for some k instead of all.
ChecksSomeEntry = breaks("[SES] §4.1: VT1 ≤ VT2 iff that is so for all i", fifo=(2, 2, 3))(
    Ses,
    deliverable=lambda self, i, state, packet: any(packet.stamp.buffer[i][k] <= state.time[k] for k in range(self.n)),
)

ChecksOnlyTheSendersEntry = breaks(
    "[SES] §4.2.2: all entries of the pair, not only that of the sender of M", causal=(3, 3, 5)
)(Ses, deliverable=lambda self, i, state, packet: packet.stamp.buffer[i][packet.source] <= state.time[packet.source])


@breaks("[SES] §4.2.2: all entries of the pair, that of the sender of M too", fifo=(2, 2, 3))
class ChecksAllButTheSendersEntry(Ses):
    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        pair = packet.stamp.buffer[i]
        return self.ops.every(lambda k: k == packet.source or pair[k] <= state.time[k])


ChecksTheMirroredPair = breaks(
    "[SES] §4.2.2: the pair for S2, not what all pairs say of S2", fifo=(2, 2, 3), delivers_all=(3, 3, 5)
)(Ses, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: packet.stamp.buffer[k][i] <= state.time[k]))

AsksForAPair = breaks("[SES] §4.2.2: without a pair for S2 it can be delivered", delivers_all=(2, 1, 1))(
    Ses,
    deliverable=lambda self, i, state, packet: any(packet.stamp.buffer[i]) and Ses.deliverable(self, i, state, packet),
)

AsksForMoreInEveryEntry = breaks("[SES] §4.1: the relation written < is reflexive", delivers_all=(2, 2, 3))(
    Ses,
    deliverable=lambda self, i, state, packet: (
        not any(packet.stamp.buffer[i]) or self.ops.every(lambda k: packet.stamp.buffer[i][k] < state.time[k])
    ),
)

AsksForTheVeryTime = breaks("[SES] §4.2.2: ≤, not =, for S2 may know more than the pair", delivers_all=(3, 3, 5))(
    Ses,
    deliverable=lambda self, i, state, packet: (
        not any(packet.stamp.buffer[i])
        or self.ops.every(lambda k: k == i or packet.stamp.buffer[i][k] == state.time[k])
    ),
)

ChecksEveryPair = breaks("[SES] §4.2.2: the pair for S2, no pair for another site", delivers_all=(3, 2, 3))(
    Ses,
    deliverable=lambda self, i, state, packet: all(Ses.deliverable(self, j, state, packet) for j in range(self.n)),
)

ChecksTheTimeOfTheMessage = breaks(
    "[SES] §4.2.2: what is compared is the pair, not VT(M), which counts messages to others and deliveries",
    delivers_all=(2, 2, 3),
)(
    Ses,
    deliverable=lambda self, i, state, packet: self.ops.every(
        lambda k: packet.stamp.time[k] <= state.time[k] + self.ops.one_if(k == packet.source)
    ),
)

# -- merging (§4.2.2) --------------------------------------------------------------------------------------------------

NeverMerges = breaks("[SES] §4.2.2: (1) merge the accompanying buffer", causal=(3, 3, 5))(
    Ses, merged=lambda self, i, buffer, carried: buffer
)

ReplacesInsteadOfMerging = breaks("[SES] §4.2.2: merge with the site's own buffer", fifo=(2, 3, 5))(
    Ses, merged=lambda self, i, buffer, carried: Ses.merged(self, i, self.ops.matrix(lambda l, k: 0), carried)
)


def merged_by(
    machine: Ses, i: Value, buffer: Value, carried: Value, of_two: Callable[[Value, Value], Value]
) -> tuple[Value, ...]:
    """The merge, with something other than the supremum where there are two pairs for one site."""
    usual = Ses.merged(machine, i, buffer, carried)
    pairs = zip(buffer, carried, strict=True)
    return tuple(
        of_two(own, its) if l != i and any(own) and any(its) else usual[l] for l, (own, its) in enumerate(pairs)
    )


KeepsItsOwnOfTwoPairs = breaks("[SES] §4.2.2: of two pairs the supremum, not its own", causal=(3, 4, 7))(
    Ses, merged=lambda self, i, buffer, carried: merged_by(self, i, buffer, carried, lambda own, its: own)
)

TakesTheCarriedOfTwoPairs = breaks("[SES] §4.2.2: of two pairs the supremum, not the carried one", causal=(3, 4, 7))(
    Ses, merged=lambda self, i, buffer, carried: merged_by(self, i, buffer, carried, lambda own, its: its)
)


@breaks("[SES] §4.2.2: of two pairs the supremum, not the infimum", causal=(3, 4, 6))
class TakesTheInfimum(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return merged_by(self, i, buffer, carried, lambda own, its: self.ops.vector(lambda k: min(own[k], its[k])))


@breaks("[SES] §4.2.2: the supremum is the smallest vector with VT1 ≤ and VT ≤, not any", delivers_all=(3, 4, 7))
class TakesTheSum(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return merged_by(self, i, buffer, carried, lambda own, its: self.ops.vector(lambda k: own[k] + its[k]))


IntroducesThePairForItself = breaks(
    "[SES] §4.2.2: a pair for S2 itself need not be introduced", no_pair_for_itself=(2, 2, 4)
)(
    Ses,
    merged=lambda self, i, buffer, carried: self.ops.matrix(lambda l, k: self.ops.maximum(buffer[l][k], carried[l][k])),
)

# -- variations --------------------------------------------------------------------------------------------------------

KnowsThePairForItself = keeps(
    "[SES] §4.2.2: the pair for S2 need not be introduced, and may be: it holds for good once M is delivered, and "
    "S2 carries it to others for nothing. Then a buffer has N pairs, not N − 1.",
    (3, 4, 10073),
)(IntroducesThePairForItself, invariants={})

NeverTicksOnDelivering = keeps(
    "[SES] §4.1: VT(S_i)[i] need not count deliveries. What pairs compare are the numbers of sends.", (3, 4, 9725)
)(Ses, time_after=lambda self, i, time, of_message: self.ops.vector(lambda k: self.ops.maximum(time[k], of_message[k])))


@keeps(
    "[SES] §4.1: the case j = i needs no maximum: no message knows more of a site than the site itself.", (3, 4, 9761)
)
class MaximumBeforeTicking(Ses):
    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return self.after_event(i, self.ops.vector(lambda k: self.ops.maximum(time[k], of_message[k])))


@keeps(
    "[SES] Lemma 2: the new pair is greater than the older one, so that discarding it is the supremum.", (3, 4, 9761)
)
class MergesWithTheOlderPair(Ses):
    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return self.ops.matrix(lambda l, k: self.ops.maximum(buffer[l][k], time[k] * self.ops.one_if(l == j)))


@keeps(
    "[SES] Lemma 1: VT(M)[i] alone shows whether M or what depends on it was delivered. A pair needs one entry for "
    "each message that it stands for, and the proof of liveness is then right that it numbers a message for S.",
    (3, 4, 9731),
)
class InsertsOnlyItsOwnEntry(Ses):
    """Of VT(M) the pair has only the sender's entry, by Lemma 1 all that shows whether M was received."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        own = self.ops.vector(lambda k: step.state.time[k] * self.ops.one_if(k == i))
        return [step._replace(state=step.state._replace(buffer=self.with_pair(state.buffer, message.receiver, own)))]


ChecksStrictly = keeps(
    "[SES] §4.1: that < is reflexive is never needed: VT(S2) has counted the delivery itself, which VT has not.",
    (3, 4, 9761),
)(
    Ses,
    deliverable=lambda self, i, state, packet: (
        Ses.deliverable(self, i, state, packet)
        and (packet.stamp.buffer[i] != state.time or not any(packet.stamp.buffer[i]))
    ),
)


@keeps("[SES] §4.2.2: what a pair says of S2 itself S2 knows.", (3, 4, 9761))
class ChecksAllButItsOwnEntry(Ses):
    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == i or packet.stamp.buffer[i][k] <= state.time[k])


@keeps(
    "[SES] Lemma 2: VT(M) is greater than all pairs that come with M, which name no time that it does not.",
    (3, 4, 9761),
)
class LearnsTheTimeFromThePairs(Ses):
    """A site takes the pairs that come with a message for knowledge of the time, besides VT(M)."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        known = self.ops.vector(lambda k: max(stamp.time[k], *(pair[k] for pair in stamp.buffer)))
        return super().after_delivering(i, state, j, stamp._replace(time=known))


ROWS = variants_in(globals())
