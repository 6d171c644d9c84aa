"""The matrix protocol with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from broken_tables import Broken, Catch, Harmless

from crownless.impl import rst
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.rst import Rst
from crownless.spec.computation import Message

# -- the matrix protocol: sending --------------------------------------------------------------------------------------


class AttachesAfterIncrementing(Rst):
    """The metadata counts the message itself: its receiver waits for it before it delivers it."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, after.sent)], [AppEvent("send", message)])]


class AttachesNothing(Rst):
    def stamp(self, state: rst.State) -> Value:
        return self.ops.matrix(lambda k, l: 0)


class AttachesOnlyTheColumn(Rst):
    """Only the column that is checked travels; what the receiver would pass on does not."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        j = message.receiver
        column = self.ops.matrix(lambda k, l: state.sent[k][l] * self.ops.one_if(l == j))
        packet = Packet(i, j, "message", message, column)
        return [Step(self.after_sending(i, state, j), [packet], [AppEvent("send", message)])]


class NeverIncrementsOnSending(Rst):
    def after_sending(self, i: Value, state: rst.State, j: Value) -> rst.State:
        return state


class IncrementsTheMirroredEntry(Rst):
    """SENT_i[j, i] for SENT_i[i, j]: rows and columns are exchanged."""

    def after_sending(self, i: Value, state: rst.State, j: Value) -> rst.State:
        return super().after_sending(j, state, i)


class WaitsForAnAnswer(Rst):
    """A process sends once, and then waits for an acknowledgement that this protocol does not have."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        return [] if any(state.sent[i]) else super().send(i, state, message)


# -- the matrix protocol: delivering -----------------------------------------------------------------------------------


class DeliversWhatArrives(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return True


class ChecksOnlyTheSender(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return state.deliv[packet.source] >= packet.stamp[packet.source][i]


class ChecksAllButTheSender(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k][i])


class ChecksItsRow(Rst):
    """SENT_m[i, k] for SENT_m[k, i]: the messages that the receiver sent, not those sent to it."""

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[i][k])


class ChecksEveryColumn(Rst):
    """All that causally precedes, whoever it is for: what a causal broadcast would require ([Kup], footnote 1)."""

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] >= sum(packet.stamp[k]))


class AsksForMore(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] > packet.stamp[k][i])


class AsksForExactlyAsMany(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] == packet.stamp[k][i])


# -- the matrix protocol: after delivering -----------------------------------------------------------------------------


class NeverCountsDeliveries(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(deliv=state.deliv)


class NeverCountsTheDeliveredAsSent(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


class NeverMerges(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0))


class ReplacesInsteadOfMerging(Rst):
    """SENT_i becomes SENT_m: what only the receiver knew is forgotten."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(sent=stamp)


class AddsInsteadOfMerging(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        incremented = super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0)).sent
        sent = self.ops.matrix(lambda k, l: incremented[k][l] + stamp[k][l])
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


class MergesOnlyItsOwnColumn(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        column = self.ops.matrix(lambda k, l: stamp[k][l] * self.ops.one_if(l == i))
        return super().after_delivering(i, state, j, column)


# -- the matrix protocol: variations -----------------------------------------------------------------------------------


class LearnsOfItsOwnDeliveriesLate(NeverCountsTheDeliveredAsSent):
    """Without the receiver's extra increment, and checked against the orders and for liveness only."""

    invariants = {}


class MergesBeforeIncrementing(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        merged = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state._replace(sent=merged), j, self.ops.matrix(lambda k, l: 0))


class MergesAllButItsOwnColumn(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        others = self.ops.matrix(lambda k, l: stamp[k][l] * (1 - self.ops.one_if(l == i)))
        return super().after_delivering(i, state, j, others)


class ReadsItsColumnForDeliv(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.sent[k][i] >= packet.stamp[k][i])


class AsksForExactlyAsManyOfTheSender(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        exact = state.deliv[packet.source] == packet.stamp[packet.source][i]
        return exact and super().deliverable(i, state, packet)


class IncrementsBeforeSending(AttachesAfterIncrementing):
    """The matrix protocol as [MF] §2 describes it: increment, send, ask for exactly one more, and only merge."""

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        one_more = stamp[j][i] == state.deliv[j] + 1
        return one_more and self.ops.every(lambda k: k == j or state.deliv[k] >= stamp[k][i])

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    Broken(
        AttachesAfterIncrementing,
        "[Kup] Sending: attach the current SENT_i, before the increment",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(AttachesNothing, "[Kup] Sending: attach the current SENT_i", (Catch("fifo", 2, 2, 3),)),
    Broken(
        AttachesOnlyTheColumn,
        "[Kup] Question on the single column: the rest is what the receiver passes on",
        (Catch("causal", 3, 3, 5),),
    ),
    Broken(NeverIncrementsOnSending, "[Kup] Sending: increment SENT_i[i, j] after sending", (Catch("fifo", 2, 2, 3),)),
    Broken(
        IncrementsTheMirroredEntry,
        "[Kup] Getting started: rows are senders, columns receivers",
        (Catch("deliv-equals-sent-column", 2, 1, 1), Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 3, 5)),
    ),
    Broken(WaitsForAnAnswer, "[Kup] Sending: nothing delays a send", (Catch("never-blocks", 2, 3, 4),)),
    Broken(
        DeliversWhatArrives,
        "[Kup] Delivering: DELIV_i[k] ≥ SENT_m[k, i] for all k",
        (Catch("fifo", 2, 2, 3), Catch("causal", 2, 2, 3), Catch("deliv-equals-sent-column", 2, 3, 4)),
    ),
    Broken(ChecksOnlyTheSender, "[Kup] Delivering: for all k, not only the sender", (Catch("causal", 3, 3, 5),)),
    Broken(ChecksAllButTheSender, "[Kup] Delivering: for all k, the sender too", (Catch("fifo", 2, 2, 3),)),
    Broken(
        ChecksItsRow,
        "[Kup] Delivering: column i, not row i",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(ChecksEveryColumn, "[Kup] Delivering: column i, not the others", (Catch("delivers-all", 2, 2, 3),)),
    Broken(AsksForMore, "[Kup] Delivering: ≥, not >", (Catch("delivers-all", 2, 1, 1),)),
    Broken(AsksForExactlyAsMany, "[Kup] Delivering: ≥, not =", (Catch("delivers-all", 3, 2, 3),)),
    Broken(
        NeverCountsDeliveries,
        "[Kup] After delivering: increment DELIV_i[j]",
        (Catch("deliv-equals-sent-column", 2, 1, 2), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(
        NeverCountsTheDeliveredAsSent,
        "[Kup] After delivering: increment SENT_i[j, i]",
        (Catch("deliv-equals-sent-column", 2, 1, 2),),
    ),
    Broken(NeverMerges, "[Kup] After delivering: take the maximum with SENT_m", (Catch("causal", 3, 3, 5),)),
    Broken(
        ReplacesInsteadOfMerging,
        "[Kup] After delivering: the maximum of itself and SENT_m",
        (Catch("fifo", 2, 3, 5), Catch("deliv-equals-sent-column", 2, 1, 2)),
    ),
    Broken(
        AddsInsteadOfMerging,
        "[Kup] After delivering: the maximum, not the sum",
        (Catch("delivers-all", 2, 3, 5), Catch("deliv-equals-sent-column", 2, 2, 4)),
    ),
    Broken(MergesOnlyItsOwnColumn, "[Kup] After delivering: every entry", (Catch("causal", 3, 3, 5),)),
)

BROKEN_PROGRAMS = ()

HARMLESS = (
    Harmless(
        LearnsOfItsOwnDeliveriesLate,
        "[Kup] After delivering, increment SENT_i[j, i]: neither causal order nor delivery needs it, only DELIV = own "
        "column; what it passes on is about a message already delivered, which delays nobody.",
        3,
        5,
        24731,
    ),
    Harmless(
        MergesBeforeIncrementing,
        "[Kup] After delivering: the order of the second and the third step makes no difference.",
        3,
        4,
        7370,
    ),
    Harmless(
        MergesAllButItsOwnColumn,
        "[Kup] After delivering: a process's own column never learns anything from the maximum.",
        3,
        4,
        7370,
    ),
    Harmless(
        ReadsItsColumnForDeliv,
        "[Kup] Is DELIV redundant? The guard may read the own column of SENT instead.",
        3,
        4,
        7370,
    ),
    Harmless(
        AsksForExactlyAsManyOfTheSender,
        "[Kup] Delivering: of the sender's own messages the receiver has never delivered more than SENT_m says.",
        3,
        4,
        7370,
    ),
    Harmless(
        IncrementsBeforeSending,
        "[Kup] Discussion: increment before sending, ask for exactly one more, drop the receiver's increment.",
        3,
        4,
        7370,
    ),
)
