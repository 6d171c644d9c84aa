"""Causal broadcast, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.impl.cbcast import Cbcast
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.variants import ProgramCatch, Setup, breaks, keeps, restamped, twice, variants_in
from crownless.spec.computation import Message

# -- broadcasting ------------------------------------------------------------------------------------------------------

NeverCountsItsBroadcasts = breaks("[BSS91] Sending: increment the own entry", delivers_all=(2, 1, 1))(
    Cbcast, after_sending=lambda self, i, state: state
)

CountsOnePerReceiver = breaks("[BSS91] Sending: by one a broadcast", delivers_all=(3, 1, 1))(
    Cbcast,
    after_sending=lambda self, i, state: self.ops.vector(lambda k: state[k] + (self.n - 1) * self.ops.one_if(k == i)),
)

CountsForItsReceivers = breaks("[BSS91] Sending: the own entry", delivers_all=(2, 1, 1))(
    Cbcast, after_sending=lambda self, i, state: self.ops.vector(lambda k: state[k] + self.ops.one_if(k != i))
)


AttachesTheVectorBefore = breaks(
    "[BSS91] Sending: increment before attaching ([Kup], Discussion: CBCAST does)",
    delivers_all=(2, 1, 1),
    fifo=(2, 2, 3),
)(Cbcast, send=lambda self, i, state, message: restamped(Cbcast.send(self, i, state, message), lambda packet: state))


@breaks("[BSS91] Sending: attach all of the vector", causal=(3, 2, 4))
class AttachesItsOwnEntryAlone(Cbcast):
    """A number, not a vector: what the sender has delivered does not travel."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        own = self.ops.vector(lambda k: step.state[k] * self.ops.one_if(k == i))
        return [step._replace(packets=[packet._replace(stamp=own) for packet in step.packets])]


@breaks("[BSS91] Sending: one vector for all receivers", delivers_all=(3, 1, 2))
class NumbersItsPackets(Cbcast):
    """A number more for each receiver."""

    symmetric = False

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        after, packets = state, []
        for j in message.receivers:
            after = self.after_sending(i, after)
            packets.append(Packet(i, j, "message", message, after))
        return [Step(after, packets, [AppEvent("send", message)])]


@breaks(
    "[BSS91] Sending: to all others ([Kup]: every message will eventually arrive at every recipient)",
    delivers_all=(2, 1, 1),
)
class LeavesTheLastOut(Cbcast):
    symmetric = False

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        return [step._replace(packets=step.packets[:-1]) for step in super().send(i, state, message)]


WaitsToHearFromAll = breaks(
    "[BSS91] Sending: nothing delays a broadcast",
    ProgramCatch("completes", "P1: send a to P2, P3; send b to P2, P3\nP2: receive; receive\nP3: receive; receive", 3),
)(
    Cbcast,
    send=lambda self, i, state, message: (
        [] if any(state[k] < state[i] for k in range(self.n)) else Cbcast.send(self, i, state, message)
    ),
)

# -- delivering --------------------------------------------------------------------------------------------------------

DeliversBroadcastsAsTheyArrive = breaks(
    "[BSS91] Delivering: delayed until it is the next one, and all that precede are delivered",
    causal=(2, 2, 3),
    fifo=(2, 2, 3),
)(Cbcast, deliverable=lambda self, i, state, packet: True)

AsksOnlyTheSender = breaks(
    "[BSS91] Delivering: VT(m)[k] ≤ VT(p_i)[k] for all others k",
    causal=(3, 2, 4),
    delivers_all=(3, 2, 5),
    fifo=(3, 3, 6),
)(Cbcast, deliverable=lambda self, i, state, packet: packet.stamp[packet.source] == state[packet.source] + 1)


@breaks("[BSS91] Delivering: VT(m)[j] = VT(p_i)[j] + 1 for the sender j", fifo=(2, 2, 3))
class AsksOnlyTheOthers(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or packet.stamp[k] <= state[k])


@breaks("[BSS91] Delivering: one more of the sender, not two", fifo=(2, 2, 3), delivers_all=(2, 2, 3))
class LetsOneOfTheSenderBeMissing(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k] <= state[k] + 2 * self.ops.one_if(k == j)) and stamp[j] > state[j]


@breaks("[BSS91] Delivering: one more of the sender alone", causal=(3, 2, 4), delivers_all=(3, 2, 5), fifo=(3, 3, 6))
class LetsOneOfOthersBeMissing(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k] <= state[k] + 1) and stamp[j] == state[j] + 1


AsksTheSenderForNoMore = breaks(
    "[BSS91] Delivering: one more of the sender ([Kup], Discussion: as it increments before)", delivers_all=(2, 1, 1)
)(Cbcast, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: packet.stamp[k] <= state[k]))


@breaks("[BSS91] Delivering: ≤, not <", delivers_all=(2, 1, 1))
class AsksTheOthersForLess(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: k == j or stamp[k] < state[k]) and stamp[j] == state[j] + 1


@breaks("[BSS91] Delivering: ≤, not =: the receiver may know more of others", delivers_all=(2, 2, 2))
class AsksTheOthersForExactlyAsMany(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k] == state[k] + self.ops.one_if(k == j))


@breaks(
    "[BSS91] Delivering: = and not ≤ of the sender, which only a channel that duplicates can show",
    delivers_once=(2, 1, 4),
    setup=Setup("duplicating"),
)
@keeps("[BSS91] Delivering: = and ≤ of the sender are the same where every packet arrives once.", (3, 3, 923))
class AsksTheSenderForAtMostOneMore(Cbcast):
    """A copy of a message that is delivered already waits for nothing."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp[k] <= state[k] + self.ops.one_if(k == packet.source))


@breaks("[BSS91] Delivering: what may not be delivered yet is delayed, not lost", delivers_all=(2, 2, 4))
class ThrowsAwayWhatIsEarly(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return True

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet) if super().deliverable(i, state, packet) else [Step(state)]


DeliversBroadcastsTwice = breaks("[BSS91] Delivering: once", delivers_once=(2, 1, 2))(
    Cbcast, on_packet=lambda self, i, state, packet: twice(Cbcast.on_packet(self, i, state, packet))
)


# -- after delivering --------------------------------------------------------------------------------------------------

NeverTakesTheMaximum = breaks("[BSS91] After delivering: take the maximum", delivers_all=(2, 2, 3), causal=(3, 2, 4))(
    Cbcast, after_delivering=lambda self, state, stamp: state
)

TakesTheVectorOver = breaks(
    "[BSS91] After delivering: the maximum, not the vector of the message", delivers_all=(2, 3, 5), fifo=(2, 3, 5)
)(Cbcast, after_delivering=lambda self, state, stamp: stamp)

AddsTheVector = breaks("[BSS91] After delivering: the maximum, not the sum", delivers_all=(2, 3, 5), fifo=(2, 4, 7))(
    Cbcast, after_delivering=lambda self, state, stamp: self.ops.vector(lambda k: state[k] + stamp[k])
)


@breaks("[BSS91] Sending: the own entry counts broadcasts, not deliveries", delivers_all=(2, 2, 3))
class CountsADeliveryForItself(Cbcast):
    """The receiver's entry is incremented with every delivery too, as vector time would have it."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [step._replace(state=self.after_sending(i, step.state)) for step in super().on_packet(i, state, packet)]


# -- variations --------------------------------------------------------------------------------------------------------

CountsTheDelivery = keeps(
    "[BSS91] After delivering: the maximum is an increment for the sender: of the others the receiver knows as "
    "much as the message, or it would not deliver it.",
    (3, 3, 923),
)(
    Cbcast,
    on_packet=lambda self, i, state, packet: [
        step._replace(state=self.ops.vector(lambda k: state[k] + self.ops.one_if(k == packet.source)))
        for step in Cbcast.on_packet(self, i, state, packet)
    ],
)


@keeps(
    "[BSS91] Delivering: 'all others k' may leave the receiver out. Nobody knows more of its broadcasts than it.",
    (3, 3, 923),
)
class AsksNotForItsOwn(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return stamp[j] == state[j] + 1 and self.ops.every(lambda k: k in (i, j) or stamp[k] <= state[k])


CountsAfterBroadcasting = keeps(
    "[BSS91] It does not have to do the 'one greater' check ([Kup], Discussion): increment after sending, ask for "
    "as many of everybody, let the receiver increment too, as the matrix protocol does.",
    (3, 3, 923),
    never_reaches=frozenset({"a-merge-raises-an-entry"}),
)(
    AttachesTheVectorBefore,
    deliverable=lambda self, i, state, packet: self.ops.every(lambda k: packet.stamp[k] <= state[k]),
    on_packet=lambda self, i, state, packet: [
        step._replace(state=self.after_sending(packet.source, state))
        for step in AttachesTheVectorBefore.on_packet(self, i, state, packet)
    ],
)

ROWS = variants_in(globals())
