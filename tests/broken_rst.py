"""The matrix protocol with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.impl import rst
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.rst import Rst
from crownless.impl.variants import breaks, keeps, variants_in
from crownless.spec.computation import Message

# -- the matrix protocol: sending --------------------------------------------------------------------------------------


@breaks("[Kup] Sending: attach the current SENT_i, before the increment", delivers_all=(2, 1, 1))
class AttachesAfterIncrementing(Rst):
    """The metadata counts the message itself: its receiver waits for it before it delivers it."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, after.sent)], [AppEvent("send", message)])]


AttachesNothing = breaks("[Kup] Sending: attach the current SENT_i", fifo=(2, 2, 3))(
    Rst, stamp=lambda self, state: self.ops.matrix(lambda k, l: 0)
)


@breaks("[Kup] Question on the single column: the rest is what the receiver passes on", causal=(3, 3, 5))
class AttachesOnlyTheColumn(Rst):
    """Only the column that is checked travels; what the receiver would pass on does not."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        j = message.receiver
        column = self.ops.matrix(lambda k, l: state.sent[k][l] * self.ops.one_if(l == j))
        packet = Packet(i, j, "message", message, column)
        return [Step(self.after_sending(i, state, j), [packet], [AppEvent("send", message)])]


NeverIncrementsOnSending = breaks("[Kup] Sending: increment SENT_i[i, j] after sending", fifo=(2, 2, 3))(
    Rst, after_sending=lambda self, i, state, j: state
)

#: SENT_i[j, i] for SENT_i[i, j]: rows and columns are exchanged.
IncrementsTheMirroredEntry = breaks(
    "[Kup] Getting started: rows are senders, columns receivers",
    deliv_equals_sent_column=(2, 1, 1),
    fifo=(2, 2, 3),
    delivers_all=(2, 3, 5),
)(Rst, after_sending=lambda self, i, state, j: Rst.after_sending(self, j, state, i))

WaitsForAnAnswer = breaks("[Kup] Sending: nothing delays a send", never_blocks=(2, 3, 4))(
    Rst, send=lambda self, i, state, message: [] if any(state.sent[i]) else Rst.send(self, i, state, message)
)

# -- the matrix protocol: delivering -----------------------------------------------------------------------------------

DeliversWhatArrives = breaks(
    "[Kup] Delivering: DELIV_i[k] ≥ SENT_m[k, i] for all k",
    fifo=(2, 2, 3),
    causal=(2, 2, 3),
    deliv_equals_sent_column=(2, 3, 4),
)(Rst, deliverable=lambda self, i, state, packet: True)

ChecksOnlyTheSender = breaks("[Kup] Delivering: for all k, not only the sender", causal=(3, 3, 5))(
    Rst, deliverable=lambda self, i, state, packet: state.deliv[packet.source] >= packet.stamp[packet.source][i]
)


@breaks("[Kup] Delivering: for all k, the sender too", fifo=(2, 2, 3))
class ChecksAllButTheSender(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k][i])


#: SENT_m[i, k] for SENT_m[k, i]: the messages that the receiver sent, not those sent to it.
ChecksItsRow = breaks("[Kup] Delivering: column i, not row i", fifo=(2, 2, 3), delivers_all=(2, 2, 3))(
    Rst, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.deliv[k] >= packet.stamp[i][k])
)

#: All that causally precedes, whoever it is for: what a causal broadcast would require ([Kup], footnote 1).
ChecksEveryColumn = breaks("[Kup] Delivering: column i, not the others", delivers_all=(2, 2, 3))(
    Rst, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.deliv[k] >= sum(packet.stamp[k]))
)

AsksForMore = breaks("[Kup] Delivering: ≥, not >", delivers_all=(2, 1, 1))(
    Rst, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.deliv[k] > packet.stamp[k][i])
)

AsksForExactlyAsMany = breaks("[Kup] Delivering: ≥, not =", delivers_all=(3, 2, 3))(
    Rst, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.deliv[k] == packet.stamp[k][i])
)

# -- the matrix protocol: after delivering -----------------------------------------------------------------------------


@breaks("[Kup] After delivering: increment DELIV_i[j]", deliv_equals_sent_column=(2, 1, 2), delivers_all=(2, 2, 3))
class NeverCountsDeliveries(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(deliv=state.deliv)


@breaks("[Kup] After delivering: increment SENT_i[j, i]", deliv_equals_sent_column=(2, 1, 2))
class NeverCountsTheDeliveredAsSent(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


@breaks("[Kup] After delivering: take the maximum with SENT_m", causal=(3, 3, 5))
class NeverMerges(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0))


@breaks("[Kup] After delivering: the maximum of itself and SENT_m", fifo=(2, 3, 5), deliv_equals_sent_column=(2, 1, 2))
class ReplacesInsteadOfMerging(Rst):
    """SENT_i becomes SENT_m: what only the receiver knew is forgotten."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(sent=stamp)


@breaks("[Kup] After delivering: the maximum, not the sum", delivers_all=(2, 3, 5), deliv_equals_sent_column=(2, 2, 4))
class AddsInsteadOfMerging(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        incremented = super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0)).sent
        sent = self.ops.matrix(lambda k, l: incremented[k][l] + stamp[k][l])
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


@breaks("[Kup] After delivering: every entry", causal=(3, 3, 5))
class MergesOnlyItsOwnColumn(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        column = self.ops.matrix(lambda k, l: stamp[k][l] * self.ops.one_if(l == i))
        return super().after_delivering(i, state, j, column)


# -- the matrix protocol: variations -----------------------------------------------------------------------------------

LearnsOfItsOwnDeliveriesLate = keeps(
    "[Kup] After delivering, increment SENT_i[j, i]: neither causal order nor delivery needs it, only DELIV = own "
    "column; what it passes on is about a message already delivered, which delays nobody.",
    (3, 5, 24731),
)(NeverCountsTheDeliveredAsSent, invariants={})


@keeps("[Kup] After delivering: the order of the second and the third step makes no difference.", (3, 4, 7370))
class MergesBeforeIncrementing(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        merged = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state._replace(sent=merged), j, self.ops.matrix(lambda k, l: 0))


@keeps("[Kup] After delivering: a process's own column never learns anything from the maximum.", (3, 4, 7370))
class MergesAllButItsOwnColumn(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        others = self.ops.matrix(lambda k, l: stamp[k][l] * (1 - self.ops.one_if(l == i)))
        return super().after_delivering(i, state, j, others)


ReadsItsColumnForDeliv = keeps(
    "[Kup] Is DELIV redundant? The guard may read the own column of SENT instead.", (3, 4, 7370)
)(Rst, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.sent[k][i] >= packet.stamp[k][i]))


@keeps(
    "[Kup] Delivering: of the sender's own messages the receiver has never delivered more than SENT_m says.",
    (3, 4, 7370),
)
class AsksForExactlyAsManyOfTheSender(Rst):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        exact = state.deliv[packet.source] == packet.stamp[packet.source][i]
        return exact and super().deliverable(i, state, packet)


#: The matrix protocol as [MF] §2 describes it: increment, send, ask for exactly one more, and only merge.
IncrementsBeforeSending = keeps(
    "[Kup] Discussion: increment before sending, ask for exactly one more, drop the receiver's increment.", (3, 4, 7370)
)(
    AttachesAfterIncrementing,
    deliverable=lambda self, i, state, packet: (
        packet.stamp[packet.source][i] == state.deliv[packet.source] + 1
        and self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k][i])
    ),
    after_delivering=lambda self, i, state, j, stamp: AttachesAfterIncrementing.after_delivering(
        self, i, state, j, stamp
    )._replace(sent=self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))),
)

ROWS = variants_in(globals())
