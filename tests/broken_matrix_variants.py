"""The variants of the matrix protocol, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl import rst
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rst_before import RstBefore
from crownless.impl.rst_variants import RstColumn, RstSentAlone
from crownless.spec.computation import Message

# -- increment before sending: sending ---------------------------------------------------------------------------------


class NeverIncrements(RstBefore):
    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return state


class IncrementsItsWholeRow(RstBefore):
    """M_i[i, k] for all k: a vector's increment."""

    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.matrix(lambda k, l: state[k][l] + self.ops.one_if(k == i))


class IncrementsTheReceiversRow(RstBefore):
    """M_i[j, i] for M_i[i, j]."""

    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return super().after_sending(j, state, i)


class AttachesTheMatrixBefore(RstBefore):
    def stamp(self, before: Value, after: Value) -> Value:
        return before


class AttachesZeroes(RstBefore):
    """All but the one number that the receiver asks its sender for."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        stamp = self.ops.matrix(lambda k, l: step.state[k][l] * self.ops.one_if(k == i, l == message.receiver))
        return [step._replace(packets=[packet._replace(stamp=stamp) for packet in step.packets])]


class AttachesTheReceiversColumn(RstBefore):
    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        stamp = self.ops.matrix(lambda k, l: step.state[k][l] * self.ops.one_if(l == message.receiver))
        return [step._replace(packets=[packet._replace(stamp=stamp) for packet in step.packets])]


class AttachesItsRow(RstBefore):
    """What it sent itself: others' messages, of which it heard, it does not pass on."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        stamp = self.ops.matrix(lambda k, l: step.state[k][l] * self.ops.one_if(k == i))
        return [step._replace(packets=[packet._replace(stamp=stamp) for packet in step.packets])]


class SendsOnce(RstBefore):
    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        return [] if any(state[i]) else super().send(i, state, message)


# -- increment before sending: delivering ------------------------------------------------------------------------------


class DelaysNothing(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        return True


class ComparesTheSenderAlone(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        return packet.stamp[packet.source][j] == state[packet.source][j] + 1


class ComparesAllButTheSender(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or packet.stamp[k][j] <= state[k][j])


class ComparesItsRow(RstBefore):
    """M[j, k] ≤ M_j[j, k] for k ≠ i: what it sent, and not what was sent to it."""

    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return stamp[i][j] == state[i][j] + 1 and self.ops.every(lambda k: k == i or stamp[j][k] <= state[j][k])


class ComparesEveryColumn(RstBefore):
    """All that precedes, whoever it is for."""

    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: sum(stamp[k]) <= sum(state[k]) + self.ops.one_if(k == i))


class ComparesForLess(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return stamp[i][j] == state[i][j] + 1 and self.ops.every(lambda k: k == i or stamp[k][j] < state[k][j])


class ComparesForEquality(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k][j] == state[k][j] + self.ops.one_if(k == i))


class ComparesTheSenderForAsMany(RstBefore):
    """M[k, j] ≤ M_j[k, j] for k = i too: the message waits for itself."""

    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        return self.ops.every(lambda k: packet.stamp[k][j] <= state[k][j])


class ComparesTheSenderForMore(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return stamp[i][j] > state[i][j] and self.ops.every(lambda k: k == i or stamp[k][j] <= state[k][j])


class ComparesTheSenderForAtMostOneMore(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        i, stamp = packet.source, packet.stamp
        return self.ops.every(lambda k: stamp[k][j] <= state[k][j] + self.ops.one_if(k == i))


class LosesWhatIsOutOfOrder(RstBefore):
    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        return True

    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        return super().on_packet(j, state, packet) if super().deliverable(j, state, packet) else [Step(state)]


class DeliversWithACopy(RstBefore):
    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(j, state, packet)]


# -- increment before sending: after delivering ------------------------------------------------------------------------


class LearnsNothing(RstBefore):
    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return state


class TakesTheMatrixOver(RstBefore):
    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return stamp


class AddsTheMatrix(RstBefore):
    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return self.ops.matrix(lambda k, l: state[k][l] + stamp[k][l])


class LearnsItsColumnAlone(RstBefore):
    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        column = self.ops.matrix(lambda k, l: packet.stamp[k][l] * self.ops.one_if(l == j))
        return super().on_packet(j, state, packet._replace(stamp=column))


class LearnsAllButItsColumn(RstBefore):
    """Harmless in `rst`, where the receiver counts its deliveries; here nobody else does."""

    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        others = self.ops.matrix(lambda k, l: packet.stamp[k][l] * (1 - self.ops.one_if(l == j)))
        return super().on_packet(j, state, packet._replace(stamp=others))


class Delaying(NamedTuple):
    matrix: Value
    #: What has arrived, is already learnt from, and not yet delivered.
    delayed: tuple[Packet, ...] = ()


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


class IncrementsOnDelivery(RstBefore):
    """The receiver increments its entry, and takes the maximum of all other columns."""

    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        others = self.ops.matrix(lambda k, l: packet.stamp[k][l] * (1 - self.ops.one_if(l == j)))
        counted = self.after_sending(packet.source, state, j)
        return [
            step._replace(state=self.after_delivering(counted, others)) for step in super().on_packet(j, state, packet)
        ]


# -- SENT alone --------------------------------------------------------------------------------------------------------


class AttachesNoMatrix(RstSentAlone):
    def stamp(self, state: rst.State) -> Value:
        return self.ops.matrix(lambda k, l: 0)


class AttachesOneColumn(RstSentAlone):
    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        column = self.ops.matrix(lambda k, l: state.sent[k][l] * self.ops.one_if(l == message.receiver))
        return [step._replace(packets=[packet._replace(stamp=column) for packet in step.packets])]


class SaysNothingOfWhatItSent(RstSentAlone):
    def after_sending(self, i: Value, state: rst.State, j: Value) -> rst.State:
        return state


class SendsASingleOne(RstSentAlone):
    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        return [] if any(state.sent[i]) else super().send(i, state, message)


class ReadsNothing(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return True


class ReadsItsOwnRow(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.sent[i][k] >= packet.stamp[k][i])


class ReadsTheSenderAlone(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return state.sent[packet.source][i] >= packet.stamp[packet.source][i]


class ReadsAllButTheSender(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.sent[k][i] >= packet.stamp[k][i])


class ReadsForMore(RstSentAlone):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.sent[k][i] > packet.stamp[k][i])


class NeverIncrementsOnDelivering(RstSentAlone):
    """Harmless in `rst`, which has DELIV: here the own column alone records what is delivered."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return rst.State(self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l])), ())


class MergesNothing(RstSentAlone):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0))


class ReplacesItsMatrix(RstSentAlone):
    """What only the receiver knew is forgotten: what it has delivered, too."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, rst.State(stamp, ()), j, stamp)


class AddsToItsMatrix(RstSentAlone):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0)).sent
        return rst.State(self.ops.matrix(lambda k, l: sent[k][l] + stamp[k][l]), ())


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


class DeliversDouble(RstSentAlone):
    def on_packet(self, i: int, state: rst.State, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(i, state, packet)]


# -- SENT alone: variations --------------------------------------------------------------------------------------------


class MergesNotItsOwnColumn(RstSentAlone):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        others = self.ops.matrix(lambda k, l: stamp[k][l] * (1 - self.ops.one_if(l == i)))
        return super().after_delivering(i, state, j, others)


# -- one column --------------------------------------------------------------------------------------------------------


class AttachesItsOwnColumn(RstColumn):
    """Column i, of what was sent to the sender itself, for column j."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        column = self.column(state, i)
        return [step._replace(packets=[packet._replace(stamp=column) for packet in step.packets])]


class AttachesTheRowForTheColumn(RstColumn):
    def column(self, state: rst.State, j: Value) -> Value:
        return self.ops.vector(lambda k: state.sent[j][k])


class AttachesTheColumnAfter(RstColumn):
    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        column = self.column(step.state, message.receiver)
        return [step._replace(packets=[packet._replace(stamp=column) for packet in step.packets])]


class IncrementsNothing(RstColumn):
    def after_sending(self, i: Value, state: rst.State, j: Value) -> rst.State:
        return state


class SendsNoSecond(RstColumn):
    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        return [] if any(state.sent[i]) else super().send(i, state, message)


class ChecksNoEntry(RstColumn):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return True


class ChecksNotTheSendersEntry(RstColumn):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k])


class ChecksForMore(RstColumn):
    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] > packet.stamp[k])


class CountsNoDelivery(RstColumn):
    def deliv_after(self, state: rst.State, j: Value) -> Value:
        return state.deliv


class CountsTheDeliveredOnce(RstColumn):
    """In DELIV and not in SENT."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(sent=state.sent)


class CountsInItsNeighboursColumn(RstColumn):
    symmetric = False

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering((i + 1) % self.n, state, j, stamp)


class DeliversTheColumnTwice(RstColumn):
    def on_packet(self, i: int, state: rst.State, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(i, state, packet)]


# -- one column: variations --------------------------------------------------------------------------------------------


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


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    # increment before sending: sending
    Broken(NeverIncrements, "[MF] §2: when i sends to j, it increments M_i[i, j]", (Catch("delivers-all", 2, 1, 1),)),
    Broken(IncrementsItsWholeRow, "[MF] §2: M_i[i, j] and no other entry", (Catch("delivers-all", 3, 2, 3),)),
    Broken(
        IncrementsTheReceiversRow, "[MF] §2: row i, column j, not row j, column i", (Catch("delivers-all", 2, 1, 1),)
    ),
    Broken(
        AttachesTheMatrixBefore,
        "[MF] §2: it increments M_i[i, j] and attaches M_i",
        (Catch("delivers-all", 2, 1, 1), Catch("fifo", 2, 2, 3)),
    ),
    Broken(AttachesZeroes, "[MF] §2: attaches M_i, not only a sequence number", (Catch("causal", 3, 3, 5),)),
    Broken(AttachesTheReceiversColumn, "[MF] §2: attaches M_i, other columns too", (Catch("causal", 3, 3, 5),)),
    Broken(AttachesItsRow, "[MF] §2: attaches M_i, other rows too", (Catch("causal", 3, 3, 5),)),
    Broken(SendsOnce, "[MF] §2: delayed are deliveries, not sends", (Catch("never-blocks", 2, 3, 4),)),
    # increment before sending: delivering
    Broken(
        DelaysNothing,
        "[MF] §2: the message is not delivered until the condition holds",
        (Catch("causal", 2, 2, 3), Catch("fifo", 2, 2, 3)),
    ),
    Broken(
        ComparesTheSenderAlone,
        "[MF] §2: ∀k ≠ i: M[k, j] ≤ M_j[k, j]",
        (Catch("causal", 3, 3, 5), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(ComparesAllButTheSender, "[MF] §2: ∧ M[i, j] = M_j[i, j] + 1", (Catch("fifo", 2, 2, 3),)),
    Broken(
        ComparesItsRow,
        "[MF] §2: M[k, j], not M[j, k]",
        (Catch("causal", 3, 3, 5), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(ComparesEveryColumn, "[MF] §2: column j, not the others", (Catch("delivers-all", 3, 2, 3),)),
    Broken(ComparesForLess, "[MF] §2: ≤, not <", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        ComparesForEquality,
        "[MF] §2: ≤, not =: of others the receiver may know more",
        (Catch("delivers-all", 3, 2, 3),),
    ),
    Broken(
        ComparesTheSenderForAsMany,
        "[MF] §2: k ≠ i; the message is counted in its own matrix",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(
        ComparesTheSenderForMore,
        "[MF] §2: = M_j[i, j] + 1, not ≥",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(
        ComparesTheSenderForAtMostOneMore,
        "[MF] §2: = M_j[i, j] + 1, not ≤, which only a channel that duplicates can show",
        (Catch("delivers-once", 2, 1, 4, Setup("duplicating")),),
    ),
    Broken(
        LosesWhatIsOutOfOrder,
        "[MF] §2: messages which have to be delayed remain in a buffer",
        (Catch("delivers-all", 2, 2, 4),),
    ),
    Broken(DeliversWithACopy, "[MF] §2: delivered once", (Catch("delivers-once", 2, 1, 2),)),
    # increment before sending: after delivering
    Broken(
        LearnsNothing,
        "[MF] §2: M_j is updated",
        (Catch("causal", 3, 3, 5), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(
        TakesTheMatrixOver,
        "[MF] §2: to the maximum of M and M_j, not to M",
        (Catch("causal", 2, 3, 5), Catch("delivers-all", 2, 3, 5)),
    ),
    Broken(
        AddsTheMatrix,
        "[MF] §2: to the maximum, not the sum",
        (Catch("delivers-all", 2, 3, 5), Catch("fifo", 2, 4, 7)),
    ),
    Broken(LearnsItsColumnAlone, "[MF] §2: componentwise, other columns too", (Catch("causal", 3, 3, 5),)),
    Broken(
        LearnsAllButItsColumn,
        "[MF] §2: componentwise, its own column too: nobody else counts what it delivers",
        (Catch("delivers-all", 2, 2, 3),),
    ),
    Broken(
        LearnsOnReceipt,
        "[MF] §2: updated when? 'Whenever a process j receives a message' must mean: delivers it",
        (Catch("delivers-all", 2, 2, 4), Catch("fifo", 2, 3, 5)),
    ),
    # SENT alone
    Broken(AttachesNoMatrix, "[Kup] Sending: attach the current SENT_i", (Catch("fifo", 2, 2, 3),)),
    Broken(AttachesOneColumn, "[Kup] Sending: attach all of SENT_i", (Catch("causal", 3, 3, 5),)),
    Broken(SaysNothingOfWhatItSent, "[Kup] Sending: increment SENT_i[i, j]", (Catch("fifo", 2, 2, 3),)),
    Broken(SendsASingleOne, "[Kup] Sending: nothing delays a send", (Catch("never-blocks", 2, 3, 4),)),
    Broken(
        ReadsNothing,
        "[Kup] Is DELIV redundant? It is SENT_i[k, i] ≥ SENT_m[k, i] for all k that is checked",
        (Catch("causal", 2, 2, 3), Catch("fifo", 2, 2, 3)),
    ),
    Broken(
        ReadsItsOwnRow,
        "[Kup] Is DELIV redundant? With the i column of SENT_i, not the row",
        (Catch("fifo", 2, 3, 4), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(ReadsTheSenderAlone, "[Kup] Delivering: for all k, not only the sender", (Catch("causal", 3, 3, 5),)),
    Broken(ReadsAllButTheSender, "[Kup] Delivering: for all k, the sender too", (Catch("fifo", 2, 2, 3),)),
    Broken(ReadsForMore, "[Kup] Delivering: ≥, not >", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        NeverIncrementsOnDelivering,
        "[Kup] After delivering: increment SENT_i[j, i], harmless to leave out as long as there is DELIV",
        (Catch("delivers-all", 2, 2, 3),),
    ),
    Broken(MergesNothing, "[Kup] After delivering: take the maximum", (Catch("causal", 3, 3, 5),)),
    Broken(
        ReplacesItsMatrix,
        "[Kup] After delivering: the maximum, not what the message says",
        (Catch("causal", 2, 3, 5), Catch("delivers-all", 3, 3, 5)),
    ),
    Broken(
        AddsToItsMatrix,
        "[Kup] After delivering: the maximum, not the sum",
        (Catch("delivers-all", 2, 3, 5), Catch("fifo", 2, 4, 7)),
    ),
    Broken(
        MergesTheHoldBackQueue,
        "[Kup] Is DELIV redundant? 'In that case, you wouldn't have delivered m′': only if a message in the hold-back "
        "queue teaches nothing",
        (Catch("fifo", 2, 2, 4), Catch("causal", 2, 2, 4)),
    ),
    Broken(DeliversDouble, "[Kup] Delivering: once", (Catch("delivers-once", 2, 1, 2),)),
    # one column
    Broken(
        AttachesItsOwnColumn,
        "[Kup] After delivering: 'the one column you're actually going to look at' is the receiver's",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(
        AttachesTheRowForTheColumn,
        "[Kup] After delivering: the one column, not the row",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(AttachesTheColumnAfter, "[Kup] Sending: attach before the increment", (Catch("delivers-all", 2, 1, 1),)),
    Broken(IncrementsNothing, "[Kup] Sending: increment SENT_i[i, j]", (Catch("fifo", 2, 2, 3),)),
    Broken(SendsNoSecond, "[Kup] Sending: nothing delays a send", (Catch("never-blocks", 2, 3, 4),)),
    Broken(
        ChecksNoEntry,
        "[Kup] Delivering: DELIV_i[k] ≥ SENT_m[k, i]",
        (Catch("fifo", 2, 2, 3), Catch("causal", 2, 2, 3), Catch("deliv-equals-sent-column", 2, 3, 4)),
    ),
    Broken(
        ChecksNotTheSendersEntry,
        "[Kup] Delivering: for all k, the sender too",
        (Catch("fifo", 2, 2, 3), Catch("deliv-equals-sent-column", 2, 3, 4)),
    ),
    Broken(ChecksForMore, "[Kup] Delivering: ≥, not >", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        CountsNoDelivery,
        "[Kup] After delivering: increment DELIV_i[j]",
        (Catch("delivers-all", 2, 2, 3), Catch("deliv-equals-sent-column", 2, 1, 2)),
    ),
    Broken(
        CountsTheDeliveredOnce,
        "[Kup] After delivering: increment SENT_i[j, i]",
        (Catch("deliv-equals-sent-column", 2, 1, 2),),
    ),
    Broken(
        CountsInItsNeighboursColumn,
        "[Kup] After delivering: column i, the receiver's own",
        (Catch("delivers-all", 2, 2, 3), Catch("deliv-equals-sent-column", 2, 1, 2)),
    ),
    Broken(DeliversTheColumnTwice, "[Kup] Delivering: once", (Catch("delivers-once", 2, 1, 2),)),
)

BROKEN_PROGRAMS: tuple[BrokenProgram, ...] = ()

HARMLESS = (
    Harmless(
        ComparesTheSenderForAtMostOneMore,
        "[MF] §2: = and ≤ are the same of the sender where every packet arrives once.",
        3,
        3,
        983,
    ),
    Harmless(
        IncrementsOnDelivery,
        "[MF] §2: the maximum in the own column is one increment, that of the sender's entry.",
        3,
        3,
        983,
    ),
    Harmless(
        MergesNotItsOwnColumn,
        "[Kup] Is DELIV redundant? The own column of SENT is counted exactly as DELIV is: the maximum adds nothing.",
        3,
        3,
        983,
    ),
    Harmless(
        SendsOneNumber,
        "[Kup] After delivering: of the one column that travels only the sender's own entry is ever more than 0, since "
        "nobody learns of messages to third processes. It is a sequence number, and the protocol is that for FIFO.",
        3,
        2,
        91,
    ),
)
