"""The variants of the matrix protocol, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl import rst
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rst_before import RstBefore
from crownless.impl.rst_variants import RstColumn, RstSentAlone
from crownless.impl.variants import Setup, breaks, keeps, restamped, twice, variants_in
from crownless.spec.computation import Message

# -- increment before sending: sending ---------------------------------------------------------------------------------

NeverIncrements = breaks("[MF] §2: when i sends to j, it increments M_i[i, j]", delivers_all=(2, 1, 1))(
    RstBefore, after_sending=lambda self, i, state, j: state
)

#: M_i[i, k] for all k: a vector's increment.
IncrementsItsWholeRow = breaks("[MF] §2: M_i[i, j] and no other entry", delivers_all=(3, 2, 3))(
    RstBefore,
    after_sending=lambda self, i, state, j: self.ops.matrix(lambda k, l: state[k][l] + self.ops.one_if(k == i)),
)

#: M_i[j, i] for M_i[i, j].
IncrementsTheReceiversRow = breaks("[MF] §2: row i, column j, not row j, column i", delivers_all=(2, 1, 1))(
    RstBefore, after_sending=lambda self, i, state, j: RstBefore.after_sending(self, j, state, i)
)

AttachesTheMatrixBefore = breaks(
    "[MF] §2: it increments M_i[i, j] and attaches M_i", delivers_all=(2, 1, 1), fifo=(2, 2, 3)
)(RstBefore, stamp=lambda self, before, after: before)


@breaks("[MF] §2: attaches M_i, not only a sequence number", causal=(3, 3, 5))
class AttachesZeroes(RstBefore):
    """All but the one number that the receiver asks its sender for."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        stamp = self.ops.matrix(lambda k, l: step.state[k][l] * self.ops.one_if(k == i, l == message.receiver))
        return [step._replace(packets=[packet._replace(stamp=stamp) for packet in step.packets])]


@breaks("[MF] §2: attaches M_i, other columns too", causal=(3, 3, 5))
class AttachesTheReceiversColumn(RstBefore):
    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        stamp = self.ops.matrix(lambda k, l: step.state[k][l] * self.ops.one_if(l == message.receiver))
        return [step._replace(packets=[packet._replace(stamp=stamp) for packet in step.packets])]


@breaks("[MF] §2: attaches M_i, other rows too", causal=(3, 3, 5))
class AttachesItsRow(RstBefore):
    """What it sent itself: others' messages, of which it heard, it does not pass on."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        stamp = self.ops.matrix(lambda k, l: step.state[k][l] * self.ops.one_if(k == i))
        return [step._replace(packets=[packet._replace(stamp=stamp) for packet in step.packets])]


SendsOnce = breaks("[MF] §2: delayed are deliveries, not sends", never_blocks=(2, 3, 4))(
    RstBefore, send=lambda self, i, state, message: [] if any(state[i]) else RstBefore.send(self, i, state, message)
)

# -- increment before sending: delivering ------------------------------------------------------------------------------

DelaysNothing = breaks(
    "[MF] §2: the message is not delivered until the condition holds", causal=(2, 2, 3), fifo=(2, 2, 3)
)(RstBefore, deliverable=lambda self, j, state, packet: True)

ComparesTheSenderAlone = breaks("[MF] §2: ∀k ≠ i: M[k, j] ≤ M_j[k, j]", causal=(3, 3, 5), delivers_all=(3, 3, 5))(
    RstBefore, deliverable=lambda self, j, state, packet: packet.stamp[packet.source][j] == state[packet.source][j] + 1
)


@breaks("[MF] §2: ∧ M[i, j] = M_j[i, j] + 1", fifo=(2, 2, 3))
class ComparesAllButTheSender(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or packet.stamp[k][j] <= state[k][j])


@breaks("[MF] §2: M[k, j], not M[j, k]", causal=(3, 3, 5), delivers_all=(3, 3, 5))
class ComparesItsRow(RstBefore):
    """M[j, k] ≤ M_j[j, k] for k ≠ i: what it sent, and not what was sent to it."""

    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return stamp[i][j] == state[i][j] + 1 and self.ops.every(lambda k: k == i or stamp[j][k] <= state[j][k])


ComparesEveryColumn = breaks("[MF] §2: column j, not the others", delivers_all=(3, 2, 3))(
    RstBefore,
    deliverable=lambda self, j, state, packet: self.ops.every(
        lambda k: sum(packet.stamp[k]) <= sum(state[k]) + self.ops.one_if(k == packet.source)
    ),
)


@breaks("[MF] §2: ≤, not <", delivers_all=(2, 1, 1))
class ComparesForLess(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return stamp[i][j] == state[i][j] + 1 and self.ops.every(lambda k: k == i or stamp[k][j] < state[k][j])


@breaks("[MF] §2: ≤, not =: of others the receiver may know more", delivers_all=(3, 2, 3))
class ComparesForEquality(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k][j] == state[k][j] + self.ops.one_if(k == i))


#: M[k, j] ≤ M_j[k, j] for k = i too: the message waits for itself.
ComparesTheSenderForAsMany = breaks("[MF] §2: k ≠ i; the message is counted in its own matrix", delivers_all=(2, 1, 1))(
    RstBefore, deliverable=lambda self, j, state, packet: self.ops.every(lambda k: packet.stamp[k][j] <= state[k][j])
)


@breaks("[MF] §2: = M_j[i, j] + 1, not ≥", fifo=(2, 2, 3), delivers_all=(2, 2, 3))
class ComparesTheSenderForMore(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return stamp[i][j] > state[i][j] and self.ops.every(lambda k: k == i or stamp[k][j] <= state[k][j])


@breaks(
    "[MF] §2: = M_j[i, j] + 1, not ≤, which only a channel that duplicates can show",
    delivers_once=(2, 1, 4),
    setup=Setup("duplicating"),
)
@keeps("[MF] §2: = and ≤ are the same of the sender where every packet arrives once.", (3, 3, 983))
class ComparesTheSenderForAtMostOneMore(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k][j] <= state[k][j] + self.ops.one_if(k == i))


LosesWhatIsOutOfOrder = breaks("[MF] §2: messages which have to be delayed remain in a buffer", delivers_all=(2, 2, 4))(
    RstBefore,
    deliverable=lambda self, j, state, packet: True,
    on_packet=lambda self, j, state, packet: (
        RstBefore.on_packet(self, j, state, packet) if RstBefore.deliverable(self, j, state, packet) else [Step(state)]
    ),
)


DeliversWithACopy = breaks("[MF] §2: delivered once", delivers_once=(2, 1, 2))(
    RstBefore, on_packet=lambda self, j, state, packet: twice(RstBefore.on_packet(self, j, state, packet))
)


# -- increment before sending: after delivering ------------------------------------------------------------------------

LearnsNothing = breaks("[MF] §2: M_j is updated", causal=(3, 3, 5), delivers_all=(2, 2, 3))(
    RstBefore, after_delivering=lambda self, state, stamp: state
)

TakesTheMatrixOver = breaks("[MF] §2: to the maximum of M and M_j, not to M", causal=(2, 3, 5), delivers_all=(2, 3, 5))(
    RstBefore, after_delivering=lambda self, state, stamp: stamp
)

AddsTheMatrix = breaks("[MF] §2: to the maximum, not the sum", delivers_all=(2, 3, 5), fifo=(2, 4, 7))(
    RstBefore, after_delivering=lambda self, state, stamp: self.ops.matrix(lambda k, l: state[k][l] + stamp[k][l])
)


@breaks("[MF] §2: componentwise, other columns too", causal=(3, 3, 5))
class LearnsItsColumnAlone(RstBefore):
    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        column = self.ops.matrix(lambda k, l: packet.stamp[k][l] * self.ops.one_if(l == j))
        return super().on_packet(j, state, packet._replace(stamp=column))


@breaks("[MF] §2: componentwise, its own column too: nobody else counts what it delivers", delivers_all=(2, 2, 3))
class LearnsAllButItsColumn(RstBefore):
    """Harmless in `rst`, where the receiver counts its deliveries; here nobody else does."""

    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        others = self.ops.matrix(lambda k, l: packet.stamp[k][l] * (1 - self.ops.one_if(l == j)))
        return super().on_packet(j, state, packet._replace(stamp=others))


class Delaying(NamedTuple):
    matrix: Value
    #: What has arrived, is already learnt from, and not yet delivered.
    delayed: tuple[Packet, ...] = ()


@breaks(
    "[MF] §2: updated when? 'Whenever a process j receives a message' must mean: delivers it",
    delivers_all=(2, 2, 4),
    fifo=(2, 3, 5),
)
class LearnsOnReceipt(RstBefore):
    """To the letter of [MF] §2: "whenever a process j receives a message", whether it delivers or delays it."""

    rules = {}  # of other stamps or states

    def initial(self, i: int) -> Delaying:
        return Delaying(super().initial(i))

    def send(self, i: int, state: Delaying, message: Message) -> Sequence[Step]:
        return [
            step._replace(state=Delaying(step.state, state.delayed)) for step in super().send(i, state.matrix, message)
        ]

    def deliverable(self, j: int, state: Delaying, packet: Packet) -> bool:
        return True

    def on_packet(self, j: int, state: Delaying, packet: Packet) -> Sequence[Step]:
        after = Delaying(self.after_delivering(state.matrix, packet.stamp), state.delayed)
        if super().deliverable(j, state.matrix, packet):
            return [step._replace(state=after) for step in super().on_packet(j, state.matrix, packet)]
        return [Step(after._replace(delayed=(*state.delayed, packet)))]

    def internal(self, j: int, state: Delaying) -> Sequence[tuple[str, Step]]:
        steps = []
        for place, packet in enumerate(state.delayed):
            if super().deliverable(j, state.matrix, packet):
                after = state._replace(delayed=state.delayed[:place] + state.delayed[place + 1 :])
                (step,) = super().on_packet(j, state.matrix, packet)
                steps.append((f"take {place + 1}", step._replace(state=after)))
        return steps

    def renamed(self, state: Delaying, renaming: Renaming) -> Delaying:
        delayed = tuple(self.renamed_packet(packet, renaming) for packet in state.delayed)
        return Delaying(super().renamed(state.matrix, renaming), delayed)


# -- increment before sending: variations ------------------------------------------------------------------------------


@keeps("[MF] §2: the maximum in the own column is one increment, that of the sender's entry.", (3, 3, 983))
class IncrementsOnDelivery(RstBefore):
    """The receiver increments its entry, and takes the maximum of all other columns."""

    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        others = self.ops.matrix(lambda k, l: packet.stamp[k][l] * (1 - self.ops.one_if(l == j)))
        counted = self.after_sending(packet.source, state, j)
        return [
            step._replace(state=self.after_delivering(counted, others)) for step in super().on_packet(j, state, packet)
        ]


# -- SENT alone --------------------------------------------------------------------------------------------------------

AttachesNoMatrix = breaks("[Kup] Sending: attach the current SENT_i", fifo=(2, 2, 3))(
    RstSentAlone, stamp=lambda self, state: self.ops.matrix(lambda k, l: 0)
)


@breaks("[Kup] Sending: attach all of SENT_i", causal=(3, 3, 5))
class AttachesOneColumn(RstSentAlone):
    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        column = self.ops.matrix(lambda k, l: state.sent[k][l] * self.ops.one_if(l == message.receiver))
        return [step._replace(packets=[packet._replace(stamp=column) for packet in step.packets])]


SaysNothingOfWhatItSent = breaks("[Kup] Sending: increment SENT_i[i, j]", fifo=(2, 2, 3))(
    RstSentAlone, after_sending=lambda self, i, state, j: state
)

SendsASingleOne = breaks("[Kup] Sending: nothing delays a send", never_blocks=(2, 3, 4))(
    RstSentAlone,
    send=lambda self, i, state, message: [] if any(state.sent[i]) else RstSentAlone.send(self, i, state, message),
)

ReadsNothing = breaks(
    "[Kup] Is DELIV redundant? It is SENT_i[k, i] ≥ SENT_m[k, i] for all k that is checked",
    causal=(2, 2, 3),
    fifo=(2, 2, 3),
)(RstSentAlone, deliverable=lambda self, i, state, packet: True)


@breaks("[Kup] Is DELIV redundant? With the i column of SENT_i, not the row", fifo=(2, 3, 4), delivers_all=(2, 2, 3))
class ReadsItsOwnRow(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.sent[i][k] >= packet.stamp[k][i])


ReadsTheSenderAlone = breaks("[Kup] Delivering: for all k, not only the sender", causal=(3, 3, 5))(
    RstSentAlone,
    deliverable=lambda self, i, state, packet: state.sent[packet.source][i] >= packet.stamp[packet.source][i],
)


@breaks("[Kup] Delivering: for all k, the sender too", fifo=(2, 2, 3))
class ReadsAllButTheSender(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.sent[k][i] >= packet.stamp[k][i])


ReadsForMore = breaks("[Kup] Delivering: ≥, not >", delivers_all=(2, 1, 1))(
    RstSentAlone,
    deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.sent[k][i] > packet.stamp[k][i]),
)

NeverIncrementsOnDelivering = breaks(
    "[Kup] After delivering: increment SENT_i[j, i], harmless to leave out as long as there is DELIV",
    delivers_all=(2, 2, 3),
)(
    RstSentAlone,
    after_delivering=lambda self, i, state, j, stamp: rst.State(
        self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l])), ()
    ),
)


@breaks("[Kup] After delivering: take the maximum", causal=(3, 3, 5))
class MergesNothing(RstSentAlone):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0))


@breaks("[Kup] After delivering: the maximum, not what the message says", causal=(2, 3, 5), delivers_all=(3, 3, 5))
class ReplacesItsMatrix(RstSentAlone):
    """What only the receiver knew is forgotten: what it has delivered, too."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, rst.State(stamp, ()), j, stamp)


@breaks("[Kup] After delivering: the maximum, not the sum", delivers_all=(2, 3, 5), fifo=(2, 4, 7))
class AddsToItsMatrix(RstSentAlone):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0)).sent
        return rst.State(self.ops.matrix(lambda k, l: sent[k][l] + stamp[k][l]), ())


@breaks(
    "[Kup] Is DELIV redundant? 'In that case, you wouldn't have delivered m′': only if a message in the hold-back "
    "queue teaches nothing",
    fifo=(2, 2, 4),
    causal=(2, 2, 4),
)
class MergesTheHoldBackQueue(RstSentAlone):
    """SENT takes the maximum with the stamp of a message as it arrives, delivered or not: then DELIV is not redundant.

    "You must have learned secondhand of m's existence, via some other message m'. But in that case, you wouldn't have
    delivered m'": right, and so that must be the only way to learn.
    """

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return True

    def on_packet(self, i: int, state: rst.State, packet: Packet) -> Sequence[Step]:
        """In the place of DELIV stand the packets that wait."""
        sent = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], packet.stamp[k][l]))
        return [Step(rst.State(sent, (*state.deliv, packet)))]

    def internal(self, i: int, state: rst.State) -> Sequence[tuple[str, Step]]:
        steps = []
        for place, packet in enumerate(state.deliv):
            if super().deliverable(i, state, packet):
                rest = state.deliv[:place] + state.deliv[place + 1 :]
                after = self.after_delivering(i, state, packet.source, packet.stamp)._replace(deliv=rest)
                steps.append((f"take {place + 1}", Step(after, (), [AppEvent("deliver", packet.message)])))
        return steps

    def renamed(self, state: rst.State, renaming: Renaming) -> rst.State:
        waiting = tuple(self.renamed_packet(packet, renaming) for packet in state.deliv)
        return super().renamed(state, renaming)._replace(deliv=waiting)


DeliversDouble = breaks("[Kup] Delivering: once", delivers_once=(2, 1, 2))(
    RstSentAlone, on_packet=lambda self, i, state, packet: twice(RstSentAlone.on_packet(self, i, state, packet))
)


# -- SENT alone: variations --------------------------------------------------------------------------------------------


@keeps(
    "[Kup] Is DELIV redundant? The own column of SENT is counted exactly as DELIV is: the maximum adds nothing.",
    (3, 3, 983),
)
class MergesNotItsOwnColumn(RstSentAlone):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        others = self.ops.matrix(lambda k, l: stamp[k][l] * (1 - self.ops.one_if(l == i)))
        return super().after_delivering(i, state, j, others)


# -- one column --------------------------------------------------------------------------------------------------------

AttachesItsOwnColumn = breaks(
    "[Kup] After delivering: 'the one column you're actually going to look at' is the receiver's",
    fifo=(2, 2, 3),
    delivers_all=(2, 2, 3),
)(
    RstColumn,
    send=lambda self, i, state, message: restamped(
        RstColumn.send(self, i, state, message), lambda packet: self.column(state, i)
    ),
)

AttachesTheRowForTheColumn = breaks(
    "[Kup] After delivering: the one column, not the row", fifo=(2, 2, 3), delivers_all=(2, 2, 3)
)(RstColumn, column=lambda self, state, j: self.ops.vector(lambda k: state.sent[j][k]))


@breaks("[Kup] Sending: attach before the increment", delivers_all=(2, 1, 1))
class AttachesTheColumnAfter(RstColumn):
    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        column = self.column(step.state, message.receiver)
        return [step._replace(packets=[packet._replace(stamp=column) for packet in step.packets])]


IncrementsNothing = breaks("[Kup] Sending: increment SENT_i[i, j]", fifo=(2, 2, 3))(
    RstColumn, after_sending=lambda self, i, state, j: state
)

SendsNoSecond = breaks("[Kup] Sending: nothing delays a send", never_blocks=(2, 3, 4))(
    RstColumn,
    send=lambda self, i, state, message: [] if any(state.sent[i]) else RstColumn.send(self, i, state, message),
)

ChecksNoEntry = breaks(
    "[Kup] Delivering: DELIV_i[k] ≥ SENT_m[k, i]", fifo=(2, 2, 3), causal=(2, 2, 3), deliv_equals_sent_column=(2, 3, 4)
)(RstColumn, deliverable=lambda self, i, state, packet: True)


@breaks("[Kup] Delivering: for all k, the sender too", fifo=(2, 2, 3), deliv_equals_sent_column=(2, 3, 4))
class ChecksNotTheSendersEntry(RstColumn):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k])


ChecksForMore = breaks("[Kup] Delivering: ≥, not >", delivers_all=(2, 1, 1))(
    RstColumn, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.deliv[k] > packet.stamp[k])
)

CountsNoDelivery = breaks(
    "[Kup] After delivering: increment DELIV_i[j]", delivers_all=(2, 2, 3), deliv_equals_sent_column=(2, 1, 2)
)(RstColumn, deliv_after=lambda self, state, j: state.deliv)

CountsTheDeliveredOnce = breaks("[Kup] After delivering: increment SENT_i[j, i]", deliv_equals_sent_column=(2, 1, 2))(
    RstColumn,
    after_delivering=lambda self, i, state, j, stamp: RstColumn.after_delivering(self, i, state, j, stamp)._replace(
        sent=state.sent
    ),
)


@breaks(
    "[Kup] After delivering: column i, the receiver's own", delivers_all=(2, 2, 3), deliv_equals_sent_column=(2, 1, 2)
)
class CountsInItsNeighboursColumn(RstColumn):
    symmetric = False

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering((i + 1) % self.n, state, j, stamp)


DeliversTheColumnTwice = breaks("[Kup] Delivering: once", delivers_once=(2, 1, 2))(
    RstColumn, on_packet=lambda self, i, state, packet: twice(RstColumn.on_packet(self, i, state, packet))
)


# -- one column: variations --------------------------------------------------------------------------------------------


@keeps(
    "[Kup] After delivering: of the one column that travels only the sender's own entry is ever more than 0, since "
    "nobody learns of messages to third processes. It is a sequence number, and the protocol is that for FIFO.",
    (3, 2, 91),
)
class SendsOneNumber(RstColumn):
    """Of the column only what the sender itself has sent."""

    rules = {}  # of other stamps or states

    def column(self, state: rst.State, j: Value) -> Value:
        raise NotImplementedError

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        j = message.receiver
        packet = Packet(i, j, "message", message, state.sent[i][j])
        return [Step(self.after_sending(i, state, j), [packet], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return state.deliv[packet.source] >= packet.stamp

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, self.ops.vector(lambda k: 0))

    def renamed_stamp(self, kind: str, stamp: Value, renaming: Renaming) -> Value:
        return stamp


ROWS = variants_in(globals())
