"""The vector-pair protocol [SES], with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from overrides import (
    Method,
    Override,
    after_send,
    always,
    changed,
    changes,
    entries_where,
    no_matrix,
    part_where,
    stamped,
)
from planted import breaks, keeps, planted_in

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols import ses
from crownless.impl.protocols.ses import Ses
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message

# -- logical time (§4.1) -----------------------------------------------------------------------------------------------

NeverTicksOnSending = breaks(fifo=(2, 2, 3))(Ses, after_event=lambda self, i, time: time)
TicksAnotherEntry = breaks(pairs_are_of_the_past=(3, 3, 4), causal=(3, 3, 5), delivers_all=(3, 3, 5))(
    Ses, symmetric=False, after_event=lambda self, i, time: Ses.after_event(self, (i + 1) % self.n, time)
)
#: VT(M) is the time just before the event SEND(M), and M is not counted in it.
StampsWithTheTimeBefore = breaks(fifo=(2, 2, 3))(
    Ses,
    send=lambda self, i, state, message: [
        Step(
            ses.State(self.after_event(i, state.time), self.with_pair(state.buffer, message.receiver, state.time)),
            [Packet(i, message.receiver, "message", message, ses.Stamp(state.time, state.buffer))],
            [AppEvent("send", message)],
        )
    ],
)
NeverLearnsTheTime = breaks(delivers_all=(2, 2, 3), pairs_are_of_the_past=(3, 2, 3))(
    Ses, time_after=lambda self, i, time, of_message: self.after_event(i, time)
)
LearnsOnlyTheSendersEntry = breaks(pairs_are_of_the_past=(3, 3, 5), delivers_all=(3, 3, 5))(
    Ses,
    after_delivery=lambda self, i, j, stamp, before, after: after._replace(
        time=self.time_after(i, before.time, entries_where(self, stamp.time, lambda k: k == j))
    ),
)
TakesTheTimeOfTheMessage = breaks(pairs_are_of_the_past=(3, 3, 5), delivers_all=(3, 3, 5))(
    Ses,
    time_after=lambda self, i, time, of_message: Ses.time_after(
        self, i, entries_where(self, time, lambda k: k == i), of_message
    ),
)
AddsTheTimes = breaks(fifo=(2, 4, 7))(
    Ses,
    time_after=lambda self, i, time, of_message: self.ops.vector(
        lambda k: time[k] + of_message[k] + self.ops.one_if(k == i)
    ),
)


class WithHoldBackQueue(NamedTuple):
    site: ses.State
    waiting: frozenset[Packet] = frozenset()

    @property
    def time(self) -> Value:
        return self.site.time

    @property
    def buffer(self) -> Value:
        return self.site.buffer


@breaks(causal=(2, 2, 4))
class LearnsTheTimeOnArrival(Ses):
    """§4.1 literally: "when S_i receives a message". But what has arrived is not yet delivered."""

    rules = {}  # of other stamps or states
    deliverable: Any = always

    def initial(self, i: int) -> Any:
        return WithHoldBackQueue(super().initial(i))

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return changed(super().send(i, state.site, message), lambda site: state._replace(site=site))

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        site = state.site._replace(time=self.time_after(i, state.time, packet.stamp.time))
        return [Step(WithHoldBackQueue(site, state.waiting | {packet}))]

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        steps = []
        for packet in sorted(state.waiting):
            if sender in (None, packet.source) and super().deliverable(i, state.site, packet):
                site = state.site._replace(buffer=self.merged(i, state.buffer, packet.stamp.buffer))
                after = WithHoldBackQueue(site, state.waiting - {packet})
                steps.append(Step(after, (), [AppEvent("deliver", packet.message)]))
        return steps

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        waiting = frozenset(self.renamed_packet(packet, renaming) for packet in state.waiting)
        return WithHoldBackQueue(super().renamed(state.site, renaming), waiting)


# -- emission (§4.2.1) -------------------------------------------------------------------------------------------------

#: The pair (S2, VT(M)) is inserted before the buffer goes with M: M waits for itself.
SendsItsOwnPairAlong = breaks(delivers_all=(2, 1, 1))(
    Ses, stamped=lambda self, packet, before, after: ses.Stamp(after.time, after.buffer)
)


@changes("send")
def pairs_sent(where: Callable[[Value, Value], Value]) -> Override:
    """Of the sender's buffer only the pairs of l go with a message to j for which `where(l, j)`."""
    return stamped(
        lambda self, packet, before, after: packet.stamp._replace(
            buffer=part_where(self, before.buffer, lambda l, k: where(l, packet.destination))
        )
    )


SendsNoPairs = breaks(fifo=(2, 2, 3))(Ses, pairs_sent=lambda l, j: False)
#: The only pair that is looked at on arrival; the others are what the receiver would pass on.
SendsOnlyThePairOfTheReceiver = breaks(causal=(3, 3, 5))(Ses, pairs_sent=lambda l, j: l == j)
NeverInsertsAPair = breaks(fifo=(2, 2, 3))(Ses, with_pair=lambda self, buffer, j, time: buffer)


@changes("send")
def inserting(time: Method) -> Override:
    """`send`, after which a pair with `time(self, message, VT(M))` is inserted for the receiver."""
    return after_send(
        lambda self, message, before, after: after._replace(
            buffer=self.with_pair(before.buffer, message.receiver, time(self, message, after.time))
        )
    )


#: (S1, VT(M)) for (S2, VT(M)).
InsertsAPairForItself = breaks(no_pair_for_itself=(2, 1, 1), fifo=(2, 2, 3))(
    Ses,
    after_send=lambda self, message, before, after: after._replace(
        buffer=self.with_pair(before.buffer, message.sender, after.time)
    ),
)
KeepsTheOlderPair = breaks(fifo=(2, 3, 5))(
    Ses, with_pair=lambda self, buffer, j, time: buffer if any(buffer[j]) else Ses.with_pair(self, buffer, j, time)
)
DiscardsThePairsOfOthers = breaks(fifo=(3, 3, 4))(
    Ses, with_pair=lambda self, buffer, j, time: Ses.with_pair(self, no_matrix(self), j, time)
)
AddsToTheOlderPair = breaks(pairs_are_of_the_past=(2, 2, 2), delivers_all=(2, 3, 5))(
    Ses,
    with_pair=lambda self, buffer, j, time: self.ops.matrix(
        lambda l, k: buffer[l][k] + time[k] * self.ops.one_if(l == j)
    ),
)
InsertsATimeToCome = breaks(pairs_are_of_the_past=(2, 1, 1), delivers_all=(2, 2, 3))(
    Ses, inserting=lambda self, message, time: self.after_event(message.sender, time)
)
WaitsForAnAnswer = breaks(never_blocks=(2, 2, 2))(
    Ses, blocked_if=lambda self, state, message: any(state.buffer[message.receiver])
)

# -- arrival (§4.2.2) --------------------------------------------------------------------------------------------------

DeliversWhatArrives = breaks(fifo=(2, 2, 3), causal=(2, 2, 3))(Ses, deliverable=always)
#: VT[k] ≤ VT(S)[k] for some k instead of all.
ChecksSomeEntry = breaks(fifo=(2, 2, 3))(
    Ses,
    deliverable=lambda self, i, state, packet: any(packet.stamp.buffer[i][k] <= state.time[k] for k in range(self.n)),
)
ChecksOnlyTheSendersEntry = breaks(causal=(3, 3, 5))(
    Ses, deliverable=lambda self, i, state, packet: packet.stamp.buffer[i][packet.source] <= state.time[packet.source]
)
ChecksAllButTheSendersEntry = breaks(fifo=(2, 2, 3))(
    Ses, every=lambda i, j, k, state, m: k == j or m.buffer[i][k] <= state.time[k]
)
ChecksTheMirroredPair = breaks(fifo=(2, 2, 3), delivers_all=(3, 3, 5))(
    Ses, every=lambda i, j, k, state, m: m.buffer[k][i] <= state.time[k]
)
AsksForMoreInEveryEntry = breaks(delivers_all=(2, 2, 3))(
    Ses, every=lambda i, j, k, state, m: not any(m.buffer[i]) or m.buffer[i][k] < state.time[k]
)
AsksForTheVeryTime = breaks(delivers_all=(3, 3, 5))(
    Ses, every=lambda i, j, k, state, m: not any(m.buffer[i]) or k == i or m.buffer[i][k] == state.time[k]
)
ChecksEveryPair = breaks(delivers_all=(3, 2, 3))(
    Ses, deliverable=lambda self, i, state, packet: all(Ses.deliverable(self, j, state, packet) for j in range(self.n))
)
ChecksTheTimeOfTheMessage = breaks(delivers_all=(2, 2, 3))(
    Ses, every_counted=lambda i, j, k, own, state, m: m.time[k] <= state.time[k] + own
)

# -- merging (§4.2.2) --------------------------------------------------------------------------------------------------

NeverMerges = breaks(causal=(3, 3, 5))(Ses, merged=lambda self, i, buffer, carried: buffer)
ReplacesInsteadOfMerging = breaks(fifo=(2, 3, 5))(
    Ses, merged=lambda self, i, buffer, carried: Ses.merged(self, i, no_matrix(self), carried)
)


@changes("merged")
def merged_by(of_two: Callable[[Value, Value], Value]) -> Method:
    """The merge, with this in place of the supremum, of each entry, where there are two pairs for one site."""

    def merged(self: Ses, i: Value, buffer: Value, carried: Value) -> Value:
        usual = Ses.merged(self, i, buffer, carried)
        return tuple(
            tuple(map(of_two, own, its)) if l != i and any(own) and any(its) else usual[l]
            for l, (own, its) in enumerate(zip(buffer, carried, strict=True))
        )

    return merged


KeepsItsOwnOfTwoPairs = breaks(causal=(3, 4, 7))(Ses, merged_by=lambda own, its: own)
TakesTheCarriedOfTwoPairs = breaks(causal=(3, 4, 7))(Ses, merged_by=lambda own, its: its)
TakesTheInfimum = breaks(causal=(3, 4, 6))(Ses, merged_by=min)
TakesTheSum = breaks(delivers_all=(3, 4, 7))(Ses, merged_by=int.__add__)
IntroducesThePairForItself = breaks(no_pair_for_itself=(2, 2, 4))(
    Ses, merged=lambda self, i, buffer, carried: self.ops.maximum(buffer, carried)
)

# -- variations --------------------------------------------------------------------------------------------------------

#: §4.2.2: the pair for S2 need not be introduced, and may be: it holds for good once M is delivered, and S2 carries it
#: to others for nothing. Then a buffer has N pairs, not N − 1.
KnowsThePairForItself = keeps((3, 4, 10073))(IntroducesThePairForItself, invariants={})
#: §4.1: VT(S_i)[i] need not count deliveries. What pairs compare are the numbers of sends.
NeverTicksOnDelivering = keeps((3, 4, 9725))(
    Ses, time_after=lambda self, i, time, of_message: self.ops.maximum(time, of_message)
)
#: §4.1: the case j = i needs no maximum: no message knows more of a site than the site itself.
MaximumBeforeTicking = keeps((3, 4, 9761))(
    Ses, time_after=lambda self, i, time, of_message: self.after_event(i, self.ops.maximum(time, of_message))
)
#: Lemma 2: the new pair is greater than the older one, so that discarding it is the supremum.
MergesWithTheOlderPair = keeps((3, 4, 9761))(
    Ses,
    with_pair=lambda self, buffer, j, time: self.ops.matrix(
        lambda l, k: self.ops.maximum(buffer[l][k], time[k] * self.ops.one_if(l == j))
    ),
)
#: Of VT(M) the pair has only the sender's entry, by Lemma 1 all that shows whether M was received.
#: Lemma 1: VT(M)[i] alone shows whether M or what depends on it was delivered. A pair needs one entry for each message
#: that it stands for, and the proof of liveness is then right that it numbers a message for S.
InsertsOnlyItsOwnEntry = keeps((3, 4, 9731))(
    Ses, inserting=lambda self, message, time: entries_where(self, time, lambda k: k == message.sender)
)
#: §4.1: that < is reflexive is never needed: VT(S2) has counted the delivery itself, which VT has not.
ChecksStrictly = keeps((3, 4, 9761))(
    Ses,
    deliverable=lambda self, i, state, packet: (
        Ses.deliverable(self, i, state, packet)
        and (packet.stamp.buffer[i] != state.time or not any(packet.stamp.buffer[i]))
    ),
)
#: §4.2.2: what a pair says of S2 itself S2 knows.
ChecksAllButItsOwnEntry = keeps((3, 4, 9761))(
    Ses, every=lambda i, j, k, state, m: k == i or m.buffer[i][k] <= state.time[k]
)
#: A site takes the pairs that come with a message for knowledge of the time, besides VT(M).
#: Lemma 2: VT(M) is greater than all pairs that come with M, which name no time that it does not.
LearnsTheTimeFromThePairs = keeps((3, 4, 9761))(
    Ses, learning=lambda self, i, j, stamp: stamp._replace(time=tuple(map(max, stamp.time, *stamp.buffer)))
)

ROWS = planted_in(globals())
