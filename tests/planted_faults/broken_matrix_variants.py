"""The variants of the matrix protocol, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overrides import LOST, TWICE, Holding, HoldsBack, always, matrix_sum, no_matrix, no_vector, part_where
from planted import Setup, breaks, keeps, planted_in

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols import rst
from crownless.impl.protocols.rst_before import RstBefore
from crownless.impl.protocols.rst_variants import RstColumn, RstSentAlone

# -- increment before sending [MF]: sending ----------------------------------------------------------------------------

NeverIncrements = breaks(delivers_all=(2, 1, 1))(RstBefore, after_sending=lambda self, i, state, j: state)
AttachesTheMatrixBefore = breaks(delivers_all=(2, 1, 1), fifo=(2, 2, 3))(
    RstBefore, stamp=lambda self, before, after: before
)
AttachesTheReceiversColumn = breaks(causal=(3, 3, 5))(RstBefore, part_sent=lambda i, j, k, l: l == j)
#: What it sent itself: others' messages, of which it heard, it does not pass on.
AttachesItsRow = breaks(causal=(3, 3, 5))(RstBefore, part_sent=lambda i, j, k, l: k == i)
SendsOnce = breaks(never_blocks=(2, 2, 2))(
    RstBefore, blocked_if=lambda self, state, message: any(state[message.sender])
)

# -- increment before sending: delivering at j, from i -----------------------------------------------------------------

DelaysNothing = breaks(causal=(2, 2, 3), fifo=(2, 2, 3))(RstBefore, deliverable=always)
ComparesTheSenderAlone = breaks(causal=(3, 3, 5), delivers_all=(3, 3, 5))(
    RstBefore, deliverable=lambda self, j, state, packet: packet.stamp[packet.source][j] == state[packet.source][j] + 1
)
ComparesAllButTheSender = breaks(fifo=(2, 2, 3))(
    RstBefore, every=lambda j, i, k, state, m: k == i or m[k][j] <= state[k][j]
)
ComparesEveryColumn = breaks(delivers_all=(3, 2, 3))(
    RstBefore, every_counted=lambda j, i, k, own, state, m: sum(m[k]) <= sum(state[k]) + own
)
ComparesForEquality = breaks(delivers_all=(3, 2, 3))(
    RstBefore, every_counted=lambda j, i, k, own, state, m: m[k][j] == state[k][j] + own
)
#: M[k, j] ≤ M_j[k, j] for k = i too: the message waits for itself.
ComparesTheSenderForAsMany = breaks(delivers_all=(2, 1, 1))(
    RstBefore, every=lambda j, i, k, state, m: m[k][j] <= state[k][j]
)
ComparesTheSenderForMore = breaks(fifo=(2, 2, 3), delivers_all=(2, 2, 3))(
    RstBefore, every=lambda j, i, k, state, m: m[k][j] <= state[k][j] if k != i else m[i][j] > state[i][j]
)
#: §2: = and ≤ are the same of the sender where every packet arrives once.
ComparesTheSenderForAtMostOneMore = breaks(delivers_once=(2, 1, 4), setup=Setup("duplicating"))(
    keeps((3, 3, 983))(RstBefore, every_counted=lambda j, i, k, own, state, m: m[k][j] <= state[k][j] + own)
)
LosesWhatIsOutOfOrder = breaks(delivers_all=(2, 2, 4))(RstBefore, **LOST)
DeliversWithACopy = breaks(delivers_once=(2, 1, 2))(RstBefore, on_packet=TWICE)

# -- increment before sending: after delivering ------------------------------------------------------------------------

LearnsNothing = breaks(causal=(3, 3, 5), delivers_all=(2, 2, 3))(
    RstBefore, after_delivering=lambda self, state, stamp: state
)
TakesTheMatrixOver = breaks(causal=(2, 3, 5), delivers_all=(2, 3, 5))(
    RstBefore, after_delivering=lambda self, state, stamp: stamp
)
AddsTheMatrix = breaks(delivers_all=(2, 3, 5), fifo=(2, 4, 7))(RstBefore, after_delivering=matrix_sum)
LearnsItsColumnAlone = breaks(causal=(3, 3, 5))(RstBefore, part_read=lambda i, k, l: l == i)
#: Harmless in `rst`, where the receiver counts its deliveries.
LearnsAllButItsColumn = breaks(delivers_all=(2, 2, 3))(RstBefore, part_read=lambda i, k, l: l != i)


@breaks(delivers_all=(2, 2, 4), fifo=(2, 3, 5))
class LearnsOnReceipt(HoldsBack, RstBefore):
    """To the letter of §2: "whenever a process j receives a message", whether it delivers or delays it."""

    rules = {}  # of other stamps or states
    deliverable: Any = always

    def on_packet(self, j: int, state: Any, packet: Packet) -> Sequence[Step]:
        learned = Holding(self.after_delivering(state.usual, packet.stamp), state.waiting)
        if RstBefore.deliverable(self, j, state.usual, packet):
            return [Step(learned, (), [AppEvent("deliver", packet.message)])]
        return [Step(learned._replace(waiting=(*state.waiting, packet)))]

    def taken(self, j: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().taken(j, state, packet) if RstBefore.deliverable(self, j, state.usual, packet) else []


#: The receiver increments its entry, and takes the maximum of all other columns.
#: §2: the maximum in the own column is one increment, that of the sender's entry.
IncrementsOnDelivery = keeps((3, 3, 983))(
    RstBefore,
    after_packet=lambda self, packet, before, after: self.after_delivering(
        self.after_sending(packet.source, before, packet.destination),
        part_where(self, packet.stamp, lambda k, l: l != packet.destination),
    ),
)

# -- SENT alone [Kup] --------------------------------------------------------------------------------------------------

AttachesNoMatrix = breaks(fifo=(2, 2, 3))(RstSentAlone, stamp=lambda self, state: no_matrix(self))
AttachesOneColumn = breaks(causal=(3, 3, 5))(RstSentAlone, part_sent=lambda i, j, k, l: l == j)
SaysNothingOfWhatItSent = breaks(fifo=(2, 2, 3))(RstSentAlone, after_sending=lambda self, i, state, j: state)
SendsASingleOne = breaks(never_blocks=(2, 2, 2))(
    RstSentAlone, blocked_if=lambda self, state, message: any(state.sent[message.sender])
)
ReadsNothing = breaks(causal=(2, 2, 3), fifo=(2, 2, 3))(RstSentAlone, deliverable=always)
ReadsItsOwnRow = breaks(fifo=(2, 3, 4), delivers_all=(2, 2, 3))(
    RstSentAlone, every=lambda i, j, k, state, m: state.sent[i][k] >= m[k][i]
)
ReadsTheSenderAlone = breaks(causal=(3, 3, 5))(
    RstSentAlone,
    deliverable=lambda self, i, state, packet: state.sent[packet.source][i] >= packet.stamp[packet.source][i],
)
ReadsAllButTheSender = breaks(fifo=(2, 2, 3))(
    RstSentAlone, every=lambda i, j, k, state, m: k == j or state.sent[k][i] >= m[k][i]
)
ReadsForMore = breaks(delivers_all=(2, 1, 1))(RstSentAlone, every=lambda i, j, k, state, m: state.sent[k][i] > m[k][i])
NeverIncrementsOnDelivering = breaks(delivers_all=(2, 2, 3))(
    RstSentAlone, after_delivering=lambda self, i, state, j, stamp: rst.State(self.ops.maximum(state.sent, stamp), ())
)
MergesNothing = breaks(causal=(3, 3, 5))(RstSentAlone, part_read=lambda i, k, l: False)
#: What only the receiver knew is forgotten: what it has delivered, too.
ReplacesItsMatrix = breaks(causal=(2, 3, 5), delivers_all=(3, 3, 5))(
    RstSentAlone, after_delivering=lambda self, i, state, j, stamp: rst.State(self.ops.incremented(stamp, j, i), ())
)
AddsToItsMatrix = breaks(delivers_all=(2, 3, 5), fifo=(2, 4, 7))(
    RstSentAlone,
    after_delivering=lambda self, i, state, j, stamp: rst.State(
        matrix_sum(self, self.ops.incremented(state.sent, j, i), stamp), ()
    ),
)


@breaks(fifo=(2, 2, 4), causal=(2, 2, 4))
class MergesTheHoldBackQueue(HoldsBack, RstSentAlone):
    """SENT takes the maximum with the stamp of a message as it arrives, delivered or not: then DELIV is not redundant.

    "You must have learned secondhand of m's existence, via some other message m'. But in that case, you wouldn't have
    delivered m'": right, and so that must be the only way to learn.
    """

    deliverable: Any = always

    def arrived(self, i: int, usual: rst.State, packet: Packet) -> Step:
        return Step(usual._replace(sent=self.ops.maximum(usual.sent, packet.stamp)))

    def taken(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        may_be = RstSentAlone.deliverable(self, i, state, packet)
        return RstSentAlone.on_packet(self, i, state.usual, packet) if may_be else []


DeliversDouble = breaks(delivers_once=(2, 1, 2))(RstSentAlone, on_packet=TWICE)
#: Is DELIV redundant? The own column of SENT is counted exactly as DELIV is: the maximum adds nothing.
MergesNotItsOwnColumn = keeps((3, 3, 983))(RstSentAlone, part_read=lambda i, k, l: l != i)

# -- one column [Kup] --------------------------------------------------------------------------------------------------

AttachesItsOwnColumn = breaks(fifo=(2, 2, 3), delivers_all=(2, 2, 3))(
    RstColumn, stamped=lambda self, packet, before, after: self.column(before, packet.source)
)
AttachesTheRowForTheColumn = breaks(fifo=(2, 2, 3), delivers_all=(2, 2, 3))(
    RstColumn, column=lambda self, state, j: self.ops.vector(lambda k: state.sent[j][k])
)
IncrementsNothing = breaks(fifo=(2, 2, 3))(RstColumn, after_sending=lambda self, i, state, j: state)
SendsNoSecond = breaks(never_blocks=(2, 2, 2))(
    RstColumn, blocked_if=lambda self, state, message: any(state.sent[message.sender])
)
ChecksNoEntry = breaks(fifo=(2, 2, 3), causal=(2, 2, 3), deliv_equals_sent_column=(2, 3, 4))(
    RstColumn, deliverable=always
)
ChecksForMore = breaks(delivers_all=(2, 1, 1))(RstColumn, every=lambda i, j, k, state, m: state.deliv[k] > m[k])
CountsNoDelivery = breaks(delivers_all=(2, 2, 3), deliv_equals_sent_column=(2, 1, 2))(
    RstColumn, deliv_after=lambda self, state, j: state.deliv
)
CountsTheDeliveredOnce = breaks(deliv_equals_sent_column=(2, 1, 2))(
    RstColumn, after_delivery=lambda self, i, j, stamp, before, after: after._replace(sent=before.sent)
)
CountsInItsNeighboursColumn = breaks(delivers_all=(2, 2, 3), deliv_equals_sent_column=(2, 1, 2))(
    RstColumn,
    symmetric=False,
    after_delivering=lambda self, i, state, j, stamp: RstColumn.after_delivering(
        self, (i + 1) % self.n, state, j, stamp
    ),
)
DeliversTheColumnTwice = breaks(delivers_once=(2, 1, 2))(RstColumn, on_packet=TWICE)
#: Of the column only what the sender itself has sent.
#: After delivering: of the one column that travels only the sender's own entry is ever more than 0, since nobody
#: learns of messages to third processes. It is a sequence number, and the protocol is that for FIFO.
SendsOneNumber = keeps((3, 2, 91))(
    RstColumn,
    rules={},  # of other stamps
    stamped=lambda self, packet, before, after: before.sent[packet.source][packet.destination],
    deliverable=lambda self, i, state, packet: state.deliv[packet.source] >= packet.stamp,
    learning=lambda self, i, j, stamp: no_vector(self),
    renamed_stamp=lambda self, kind, stamp, renaming: stamp,
)

ROWS = planted_in(globals())
