"""The vector-pair protocol, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from broken_tables import Broken, BrokenProgram, Catch, Harmless

from crownless.impl import ses
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.ses import Ses, Stamp
from crownless.spec.computation import Message

# -- logical time (§4.1) -----------------------------------------------------------------------------------------------


class NeverTicksOnSending(Ses):
    def after_event(self, i: Value, time: Value) -> Value:
        return time


class TicksAnotherEntry(Ses):
    """The entry of the next site instead of its own."""

    symmetric = False

    def after_event(self, i: Value, time: Value) -> Value:
        return super().after_event((i + 1) % self.n, time)


class StampsWithTheTimeBefore(Ses):
    """VT(M) is the time just before the event SEND(M), and M is not counted in it."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        time = self.after_event(i, state.time)
        packet = Packet(i, message.receiver, "message", message, Stamp(state.time, state.buffer))
        after = ses.State(time, self.with_pair(state.buffer, message.receiver, state.time))
        return [Step(after, [packet], [AppEvent("send", message)])]


class NeverLearnsTheTime(Ses):
    """Delivery is a local event, and no more."""

    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return self.after_event(i, time)


class LearnsOnlyTheSendersEntry(Ses):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        its = self.ops.vector(lambda k: stamp.time[k] * self.ops.one_if(k == j))
        return (
            super()
            .after_delivering(i, state, j, stamp._replace(time=its))
            ._replace(buffer=self.merged(i, state.buffer, stamp.buffer))
        )


class TakesTheTimeOfTheMessage(Ses):
    """What the message does not know the site forgets."""

    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return super().time_after(i, self.ops.vector(lambda k: time[k] * self.ops.one_if(k == i)), of_message)


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


class SendsNoPairs(Ses):
    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [with_some_pairs(self, step, lambda l, j: False)]


class SendsOnlyThePairOfTheReceiver(Ses):
    """The only pair that is looked at on arrival; the others are what the receiver would pass on."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [with_some_pairs(self, step, lambda l, j: l == j)]


class SendsAllButThePairOfTheReceiver(Ses):
    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [with_some_pairs(self, step, lambda l, j: l != j)]


class NeverInsertsAPair(Ses):
    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return buffer


class InsertsAPairForItself(Ses):
    """(S1, VT(M)) for (S2, VT(M))."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        time = step.state.time
        return [step._replace(state=ses.State(time, self.with_pair(state.buffer, i, time)))]


class KeepsTheOlderPair(Ses):
    """If there is a pair for S2 already, the new one is not inserted."""

    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return buffer if any(buffer[j]) else super().with_pair(buffer, j, time)


class DiscardsThePairsOfOthers(Ses):
    """One pair in all, and not one a site."""

    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return super().with_pair(self.ops.matrix(lambda l, k: 0), j, time)


class AddsToTheOlderPair(Ses):
    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return self.ops.matrix(lambda l, k: buffer[l][k] + time[k] * self.ops.one_if(l == j))


class InsertsInAnEventOfItsOwn(Ses):
    """The insertion is a local event after the sending, and the pair has its time: M does not mention it."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        time = self.after_event(i, step.state.time)
        return [step._replace(state=ses.State(time, self.with_pair(state.buffer, message.receiver, time)))]


class InsertsATimeToCome(Ses):
    """The pair has the time of the site's next event, which has not happened."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        next_time = self.after_event(i, step.state.time)
        buffer = self.with_pair(state.buffer, message.receiver, next_time)
        return [step._replace(state=step.state._replace(buffer=buffer))]


class WaitsForAnAnswer(Ses):
    """A site does not send while its buffer has a pair for the receiver, as if that were deleted one day."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        return [] if any(state.buffer[message.receiver]) else super().send(i, state, message)


# -- arrival (§4.2.2) --------------------------------------------------------------------------------------------------


class DeliversWhatArrives(Ses):
    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return True


class ChecksSomeEntry(Ses):
    """VT[k] ≤ VT(S)[k] for some k instead of all."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return any(packet.stamp.buffer[i][k] <= state.time[k] for k in range(self.n))


class ChecksOnlyTheSendersEntry(Ses):
    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return packet.stamp.buffer[i][packet.source] <= state.time[packet.source]


class ChecksAllButTheSendersEntry(Ses):
    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        pair = packet.stamp.buffer[i]
        return self.ops.every(lambda k: k == packet.source or pair[k] <= state.time[k])


class ChecksTheMirroredPair(Ses):
    """Entry i of all pairs instead of all entries of the pair of S_i."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp.buffer[k][i] <= state.time[k])


class AsksForAPair(Ses):
    """A message without a pair for the site is not delivered."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return any(packet.stamp.buffer[i]) and super().deliverable(i, state, packet)


class AsksForMoreInEveryEntry(Ses):
    """< where the text says <, in every entry; no pair, no condition."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        pair = packet.stamp.buffer[i]
        return not any(pair) or self.ops.every(lambda k: pair[k] < state.time[k])


class AsksForTheVeryTime(Ses):
    """VT = VT(S), in all entries but that of the site itself; no pair, no condition."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        pair = packet.stamp.buffer[i]
        return not any(pair) or self.ops.every(lambda k: k == i or pair[k] == state.time[k])


class ChecksEveryPair(Ses):
    """Also pairs for other sites: all that precedes, whoever it is for."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return all(super(ChecksEveryPair, self).deliverable(j, state, packet) for j in range(self.n))


class ChecksTheTimeOfTheMessage(Ses):
    """Without pairs: all events of the sender's past, but for the send itself, must be known."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp.time[k] <= state.time[k] + self.ops.one_if(k == packet.source))


# -- merging (§4.2.2) --------------------------------------------------------------------------------------------------


class NeverMerges(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return buffer


class ReplacesInsteadOfMerging(Ses):
    """What only the receiver knew is forgotten."""

    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return super().merged(i, self.ops.matrix(lambda l, k: 0), carried)


def merged_by(
    machine: Ses, i: Value, buffer: Value, carried: Value, of_two: Callable[[Value, Value], Value]
) -> tuple[Value, ...]:
    """The merge, with something other than the supremum where there are two pairs for one site."""
    usual = Ses.merged(machine, i, buffer, carried)
    pairs = zip(buffer, carried, strict=True)
    return tuple(
        of_two(own, its) if l != i and any(own) and any(its) else usual[l] for l, (own, its) in enumerate(pairs)
    )


class KeepsItsOwnOfTwoPairs(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return merged_by(self, i, buffer, carried, lambda own, its: own)


class TakesTheCarriedOfTwoPairs(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return merged_by(self, i, buffer, carried, lambda own, its: its)


class TakesTheInfimum(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return merged_by(self, i, buffer, carried, lambda own, its: self.ops.vector(lambda k: min(own[k], its[k])))


class TakesTheSum(Ses):
    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return merged_by(self, i, buffer, carried, lambda own, its: self.ops.vector(lambda k: own[k] + its[k]))


class IntroducesThePairForItself(Ses):
    """ "Need not be introduced": here it is."""

    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        return self.ops.matrix(lambda l, k: self.ops.maximum(buffer[l][k], carried[l][k]))


# -- variations --------------------------------------------------------------------------------------------------------


class KnowsThePairForItself(IntroducesThePairForItself):
    """With pairs for itself, and checked against the orders and for liveness only."""

    invariants = {}


class NeverTicksOnDelivering(Ses):
    """The clock counts sends."""

    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return self.ops.vector(lambda k: self.ops.maximum(time[k], of_message[k]))


class MaximumBeforeTicking(Ses):
    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return self.after_event(i, self.ops.vector(lambda k: self.ops.maximum(time[k], of_message[k])))


class MergesWithTheOlderPair(Ses):
    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        return self.ops.matrix(lambda l, k: self.ops.maximum(buffer[l][k], time[k] * self.ops.one_if(l == j)))


class InsertsOnlyItsOwnEntry(Ses):
    """Of VT(M) the pair has only the sender's entry, by Lemma 1 all that shows whether M was received."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        own = self.ops.vector(lambda k: step.state.time[k] * self.ops.one_if(k == i))
        return [step._replace(state=step.state._replace(buffer=self.with_pair(state.buffer, message.receiver, own)))]


class ChecksStrictly(Ses):
    """< as it is written: ≤ in every entry, and not equal."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return super().deliverable(i, state, packet) and (
            packet.stamp.buffer[i] != state.time or not any(packet.stamp.buffer[i])
        )


class ChecksAllButItsOwnEntry(Ses):
    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == i or packet.stamp.buffer[i][k] <= state.time[k])


class LearnsTheTimeFromThePairs(Ses):
    """A site takes the pairs that come with a message for knowledge of the time, besides VT(M)."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        known = self.ops.vector(lambda k: max(stamp.time[k], *(pair[k] for pair in stamp.buffer)))
        return super().after_delivering(i, state, j, stamp._replace(time=known))


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    Broken(NeverTicksOnSending, "[SES] §4.1: a local event increments VT(S_i)[i]", (Catch("fifo", 2, 2, 3),)),
    Broken(
        TicksAnotherEntry,
        "[SES] §4.1: the i-th entry is incremented at S_i, no other",
        (Catch("pairs-are-of-the-past", 3, 3, 4), Catch("causal", 3, 3, 5), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(
        StampsWithTheTimeBefore,
        "[SES] §4.2.1: VT(M) is the logical time of emission, the sending counted",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        NeverLearnsTheTime,
        "[SES] §4.2.2: on delivery update the logical time",
        (Catch("delivers-all", 2, 2, 3), Catch("pairs-are-of-the-past", 3, 2, 3)),
    ),
    Broken(
        LearnsOnlyTheSendersEntry,
        "[SES] §4.1: the maximum with VT(M) for every j ≠ i",
        (Catch("pairs-are-of-the-past", 3, 3, 5), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(
        TakesTheTimeOfTheMessage,
        "[SES] §4.1: the maximum of VT(S_i)[j] and VT(M)[j], not VT(M)[j]",
        (Catch("pairs-are-of-the-past", 3, 3, 5), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(
        AddsTheTimes,
        "[SES] §4.1: the maximum of VT(S_i)[j] and VT(M)[j], not their sum",
        (Catch("fifo", 2, 4, 7),),
    ),
    Broken(
        LearnsTheTimeOnArrival,
        "[SES] §4.2.2: the time is updated when a message can be delivered, not when it arrives",
        (Catch("causal", 2, 2, 4),),
    ),
    Broken(
        SendsItsOwnPairAlong,
        "[SES] §4.2.1: the pair (S2, VT(M)) is not sent with M",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(SendsNoPairs, "[SES] §4.2.1: the contents of ORD_BUFF_S1 are sent along", (Catch("fifo", 2, 2, 3),)),
    Broken(
        SendsOnlyThePairOfTheReceiver,
        "[SES] §4.2.1: all of ORD_BUFF_S1 is sent along, pairs for other sites too",
        (Catch("causal", 3, 3, 5),),
    ),
    Broken(
        SendsAllButThePairOfTheReceiver,
        "[SES] §4.2.1: all of ORD_BUFF_S1 is sent along, the pair for the receiver too",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        NeverInsertsAPair, "[SES] §4.2.1: after sending, the pair (S2, VT(M)) is inserted", (Catch("fifo", 2, 2, 3),)
    ),
    Broken(
        InsertsAPairForItself,
        "[SES] §4.2.1: the pair is for the receiver S2",
        (Catch("no-pair-for-itself", 2, 1, 1), Catch("fifo", 2, 2, 3)),
    ),
    Broken(
        InsertsInAnEventOfItsOwn,
        "[SES] §4.2.1: the time of the pair is VT(M), which the delivery of M brings to S2",
        (Catch("delivers-all", 2, 2, 3),),
    ),
    Broken(
        InsertsATimeToCome,
        "[SES] Lemma 2: VT ≤ VT(S) for every pair in ORD_BUFF_S",
        (Catch("pairs-are-of-the-past", 2, 1, 1), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(KeepsTheOlderPair, "[SES] §4.2.1: the older pair is discarded, not the new one", (Catch("fifo", 2, 3, 5),)),
    Broken(
        DiscardsThePairsOfOthers,
        "[SES] §4.2.1: only a pair for the same site is discarded",
        (Catch("fifo", 3, 3, 4),),
    ),
    Broken(
        AddsToTheOlderPair,
        "[SES] §4.2.1: the older pair is discarded, not added",
        (Catch("pairs-are-of-the-past", 2, 2, 2), Catch("delivers-all", 2, 3, 5)),
    ),
    Broken(
        WaitsForAnAnswer,
        "[SES] §4.2.1: nothing delays a message, whatever pairs there are",
        (Catch("never-blocks", 2, 3, 4),),
    ),
    Broken(
        DeliversWhatArrives,
        "[SES] §4.2.2: M cannot be delivered as long as VT ≤ VT(S2) is not true",
        (Catch("fifo", 2, 2, 3), Catch("causal", 2, 2, 3)),
    ),
    Broken(ChecksSomeEntry, "[SES] §4.1: VT1 ≤ VT2 iff that is so for all i", (Catch("fifo", 2, 2, 3),)),
    Broken(
        ChecksOnlyTheSendersEntry,
        "[SES] §4.2.2: all entries of the pair, not only that of the sender of M",
        (Catch("causal", 3, 3, 5),),
    ),
    Broken(
        ChecksAllButTheSendersEntry,
        "[SES] §4.2.2: all entries of the pair, that of the sender of M too",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        ChecksTheMirroredPair,
        "[SES] §4.2.2: the pair for S2, not what all pairs say of S2",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(AsksForAPair, "[SES] §4.2.2: without a pair for S2 it can be delivered", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        AsksForMoreInEveryEntry, "[SES] §4.1: the relation written < is reflexive", (Catch("delivers-all", 2, 2, 3),)
    ),
    Broken(
        AsksForTheVeryTime,
        "[SES] §4.2.2: ≤, not =, for S2 may know more than the pair",
        (Catch("delivers-all", 3, 3, 5),),
    ),
    Broken(
        ChecksEveryPair, "[SES] §4.2.2: the pair for S2, no pair for another site", (Catch("delivers-all", 3, 2, 3),)
    ),
    Broken(
        ChecksTheTimeOfTheMessage,
        "[SES] §4.2.2: what is compared is the pair, not VT(M), which counts messages to others and deliveries",
        (Catch("delivers-all", 2, 2, 3),),
    ),
    Broken(NeverMerges, "[SES] §4.2.2: (1) merge the accompanying buffer", (Catch("causal", 3, 3, 5),)),
    Broken(
        ReplacesInsteadOfMerging,
        "[SES] §4.2.2: merge with the site's own buffer",
        (Catch("fifo", 2, 3, 5),),
    ),
    Broken(KeepsItsOwnOfTwoPairs, "[SES] §4.2.2: of two pairs the supremum, not its own", (Catch("causal", 3, 4, 7),)),
    Broken(
        TakesTheCarriedOfTwoPairs,
        "[SES] §4.2.2: of two pairs the supremum, not the carried one",
        (Catch("causal", 3, 4, 7),),
    ),
    Broken(TakesTheInfimum, "[SES] §4.2.2: of two pairs the supremum, not the infimum", (Catch("causal", 3, 4, 6),)),
    Broken(
        TakesTheSum,
        "[SES] §4.2.2: the supremum is the smallest vector with VT1 ≤ and VT ≤, not any",
        (Catch("delivers-all", 3, 4, 7),),
    ),
    Broken(
        IntroducesThePairForItself,
        "[SES] §4.2.2: a pair for S2 itself need not be introduced",
        (Catch("no-pair-for-itself", 2, 2, 4),),
    ),
)

BROKEN_PROGRAMS: tuple[BrokenProgram, ...] = ()

HARMLESS = (
    Harmless(
        KnowsThePairForItself,
        "[SES] §4.2.2: the pair for S2 need not be introduced, and may be: it holds for good once M is delivered, and "
        "S2 carries it to others for nothing. Then a buffer has N pairs, not N − 1.",
        3,
        4,
        10073,
    ),
    Harmless(
        NeverTicksOnDelivering,
        "[SES] §4.1: VT(S_i)[i] need not count deliveries. What pairs compare are the numbers of sends.",
        3,
        4,
        9725,
    ),
    Harmless(
        MaximumBeforeTicking,
        "[SES] §4.1: the case j = i needs no maximum: no message knows more of a site than the site itself.",
        3,
        4,
        9761,
    ),
    Harmless(
        MergesWithTheOlderPair,
        "[SES] Lemma 2: the new pair is greater than the older one, so that discarding it is the supremum.",
        3,
        4,
        9761,
    ),
    Harmless(
        InsertsOnlyItsOwnEntry,
        "[SES] Lemma 1: VT(M)[i] alone shows whether M or what depends on it was delivered. A pair needs one entry for "
        "each message that it stands for, and the proof of liveness is then right that it numbers a message for S.",
        3,
        4,
        9731,
    ),
    Harmless(
        ChecksStrictly,
        "[SES] §4.1: that < is reflexive is never needed: VT(S2) has counted the delivery itself, which VT has not.",
        3,
        4,
        9761,
    ),
    Harmless(
        ChecksAllButItsOwnEntry,
        "[SES] §4.2.2: what a pair says of S2 itself S2 knows.",
        3,
        4,
        9761,
    ),
    Harmless(
        LearnsTheTimeFromThePairs,
        "[SES] Lemma 2: VT(M) is greater than all pairs that come with M, which name no time that it does not.",
        3,
        4,
        9761,
    ),
)
