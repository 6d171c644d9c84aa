"""Causal broadcast, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl.cbcast import Cbcast
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.spec.computation import Message

# -- broadcasting ------------------------------------------------------------------------------------------------------


class NeverCountsItsBroadcasts(Cbcast):
    def after_sending(self, i: Value, state: Value) -> Value:
        return state


class CountsOnePerReceiver(Cbcast):
    """As if a broadcast were so many unicasts."""

    def after_sending(self, i: Value, state: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + (self.n - 1) * self.ops.one_if(k == i))


class CountsForItsReceivers(Cbcast):
    """The entries of the others, not its own."""

    def after_sending(self, i: Value, state: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k != i))


class AttachesTheVectorBefore(Cbcast):
    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[packet._replace(stamp=state) for packet in step.packets])]


class AttachesItsOwnEntryAlone(Cbcast):
    """A number, not a vector: what the sender has delivered does not travel."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        own = self.ops.vector(lambda k: step.state[k] * self.ops.one_if(k == i))
        return [step._replace(packets=[packet._replace(stamp=own) for packet in step.packets])]


class NumbersItsPackets(Cbcast):
    """A number more for each receiver."""

    symmetric = False

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        after, packets = state, []
        for j in message.receivers:
            after = self.after_sending(i, after)
            packets.append(Packet(i, j, "message", message, after))
        return [Step(after, packets, [AppEvent("send", message)])]


class LeavesTheLastOut(Cbcast):
    symmetric = False

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        return [step._replace(packets=step.packets[:-1]) for step in super().send(i, state, message)]


class WaitsToHearFromAll(Cbcast):
    """A process broadcasts again only once it has delivered as many from each other."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        return [] if any(state[k] < state[i] for k in range(self.n)) else super().send(i, state, message)


# -- delivering --------------------------------------------------------------------------------------------------------


class DeliversBroadcastsAsTheyArrive(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return True


class AsksOnlyTheSender(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return packet.stamp[packet.source] == state[packet.source] + 1


class AsksOnlyTheOthers(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or packet.stamp[k] <= state[k])


class LetsOneOfTheSenderBeMissing(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k] <= state[k] + 2 * self.ops.one_if(k == j)) and stamp[j] > state[j]


class LetsOneOfOthersBeMissing(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k] <= state[k] + 1) and stamp[j] == state[j] + 1


class AsksTheSenderForNoMore(Cbcast):
    """The sender is no special case, although it incremented before."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp[k] <= state[k])


class AsksTheOthersForLess(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: k == j or stamp[k] < state[k]) and stamp[j] == state[j] + 1


class AsksTheOthersForExactlyAsMany(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k] == state[k] + self.ops.one_if(k == j))


class AsksTheSenderForAtMostOneMore(Cbcast):
    """A copy of a message that is delivered already waits for nothing."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp[k] <= state[k] + self.ops.one_if(k == packet.source))


class ThrowsAwayWhatIsEarly(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return True

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet) if super().deliverable(i, state, packet) else [Step(state)]


class DeliversBroadcastsTwice(Cbcast):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(i, state, packet)]


# -- after delivering --------------------------------------------------------------------------------------------------


class NeverTakesTheMaximum(Cbcast):
    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return state


class TakesTheVectorOver(Cbcast):
    """What the message does not know the process forgets, its own broadcasts included."""

    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return stamp


class AddsTheVector(Cbcast):
    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + stamp[k])


class CountsADeliveryForItself(Cbcast):
    """The receiver's entry is incremented with every delivery too, as vector time would have it."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [step._replace(state=self.after_sending(i, step.state)) for step in super().on_packet(i, state, packet)]


# -- variations --------------------------------------------------------------------------------------------------------


class CountsTheDelivery(Cbcast):
    """The sender's entry is incremented; of all others the process knows already."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        counted = self.ops.vector(lambda k: state[k] + self.ops.one_if(k == packet.source))
        return [step._replace(state=counted) for step in super().on_packet(i, state, packet)]


class AsksNotForItsOwn(Cbcast):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return stamp[j] == state[j] + 1 and self.ops.every(lambda k: k in (i, j) or stamp[k] <= state[k])


class CountsAfterBroadcasting(AttachesTheVectorBefore):
    """As the matrix protocol does it: attach, increment, and let the receiver increment too."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp[k] <= state[k])

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        after = self.after_sending(packet.source, state)
        return [step._replace(state=after) for step in super().on_packet(i, state, packet)]


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    # broadcasting
    Broken(NeverCountsItsBroadcasts, "[BSS91] Sending: increment the own entry", (Catch("delivers-all", 2, 1, 1),)),
    Broken(CountsOnePerReceiver, "[BSS91] Sending: by one a broadcast", (Catch("delivers-all", 3, 1, 1),)),
    Broken(CountsForItsReceivers, "[BSS91] Sending: the own entry", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        AttachesTheVectorBefore,
        "[BSS91] Sending: increment before attaching ([Kup], Discussion: CBCAST does)",
        (Catch("delivers-all", 2, 1, 1), Catch("fifo", 2, 2, 3)),
    ),
    Broken(AttachesItsOwnEntryAlone, "[BSS91] Sending: attach all of the vector", (Catch("causal", 3, 2, 4),)),
    Broken(NumbersItsPackets, "[BSS91] Sending: one vector for all receivers", (Catch("delivers-all", 3, 1, 2),)),
    Broken(
        LeavesTheLastOut,
        "[BSS91] Sending: to all others ([Kup]: every message will eventually arrive at every recipient)",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    # delivering
    Broken(
        DeliversBroadcastsAsTheyArrive,
        "[BSS91] Delivering: delayed until it is the next one, and all that precede are delivered",
        (Catch("causal", 2, 2, 3), Catch("fifo", 2, 2, 3)),
    ),
    Broken(
        AsksOnlyTheSender,
        "[BSS91] Delivering: VT(m)[k] ≤ VT(p_i)[k] for all others k",
        (Catch("causal", 3, 2, 4), Catch("delivers-all", 3, 2, 5), Catch("fifo", 3, 3, 6)),
    ),
    Broken(
        AsksOnlyTheOthers, "[BSS91] Delivering: VT(m)[j] = VT(p_i)[j] + 1 for the sender j", (Catch("fifo", 2, 2, 3),)
    ),
    Broken(
        LetsOneOfTheSenderBeMissing,
        "[BSS91] Delivering: one more of the sender, not two",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(
        LetsOneOfOthersBeMissing,
        "[BSS91] Delivering: one more of the sender alone",
        (Catch("causal", 3, 2, 4), Catch("delivers-all", 3, 2, 5), Catch("fifo", 3, 3, 6)),
    ),
    Broken(
        AsksTheSenderForNoMore,
        "[BSS91] Delivering: one more of the sender ([Kup], Discussion: as it increments before)",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(AsksTheOthersForLess, "[BSS91] Delivering: ≤, not <", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        AsksTheOthersForExactlyAsMany,
        "[BSS91] Delivering: ≤, not =: the receiver may know more of others",
        (Catch("delivers-all", 2, 2, 2),),
    ),
    Broken(
        AsksTheSenderForAtMostOneMore,
        "[BSS91] Delivering: = and not ≤ of the sender, which only a channel that duplicates can show",
        (Catch("delivers-once", 2, 1, 4, Setup("duplicating")),),
    ),
    Broken(
        ThrowsAwayWhatIsEarly,
        "[BSS91] Delivering: what may not be delivered yet is delayed, not lost",
        (Catch("delivers-all", 2, 2, 4),),
    ),
    Broken(DeliversBroadcastsTwice, "[BSS91] Delivering: once", (Catch("delivers-once", 2, 1, 2),)),
    # after delivering
    Broken(
        NeverTakesTheMaximum,
        "[BSS91] After delivering: take the maximum",
        (Catch("delivers-all", 2, 2, 3), Catch("causal", 3, 2, 4)),
    ),
    Broken(
        TakesTheVectorOver,
        "[BSS91] After delivering: the maximum, not the vector of the message",
        (Catch("delivers-all", 2, 3, 5), Catch("fifo", 2, 3, 5)),
    ),
    Broken(
        AddsTheVector,
        "[BSS91] After delivering: the maximum, not the sum",
        (Catch("delivers-all", 2, 3, 5), Catch("fifo", 2, 4, 7)),
    ),
    Broken(
        CountsADeliveryForItself,
        "[BSS91] Sending: the own entry counts broadcasts, not deliveries",
        (Catch("delivers-all", 2, 2, 3),),
    ),
)

BROKEN_PROGRAMS = (
    BrokenProgram(
        WaitsToHearFromAll,
        "[BSS91] Sending: nothing delays a broadcast",
        "P1: send a to P2, P3; send b to P2, P3\nP2: receive; receive\nP3: receive; receive",
        "completes",
        3,
    ),
)

HARMLESS = (
    Harmless(
        CountsTheDelivery,
        "[BSS91] After delivering: the maximum is an increment for the sender: of the others the receiver knows as "
        "much as the message, or it would not deliver it.",
        3,
        3,
        923,
    ),
    Harmless(
        AsksNotForItsOwn,
        "[BSS91] Delivering: 'all others k' may leave the receiver out. Nobody knows more of its broadcasts than it.",
        3,
        3,
        923,
    ),
    Harmless(
        CountsAfterBroadcasting,
        "[BSS91] It does not have to do the 'one greater' check ([Kup], Discussion): increment after sending, ask for "
        "as many of everybody, let the receiver increment too, as the matrix protocol does.",
        3,
        3,
        923,
        never_reaches=frozenset({"a-merge-raises-an-entry"}),
    ),
    Harmless(
        AsksTheSenderForAtMostOneMore,
        "[BSS91] Delivering: = and ≤ of the sender are the same where every packet arrives once.",
        3,
        3,
        923,
    ),
)
