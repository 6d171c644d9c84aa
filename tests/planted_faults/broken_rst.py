"""The matrix protocol [Kup] with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from overrides import always, matrix_sum, no_matrix
from planted import breaks, keeps, planted_in

from crownless.impl.ops import Value
from crownless.impl.protocols.rst import Rst, State


def merged_alone(self: Rst, i: Value, j: Value, stamp: Value, before: State, after: State) -> State:
    """After a delivery SENT is only the maximum, and the message itself is not counted."""
    return after._replace(sent=self.ops.maximum(before.sent, stamp))


# -- the matrix protocol: sending --------------------------------------------------------------------------------------

#: The metadata counts the message itself: its receiver waits for it before it delivers it.
AttachesAfterIncrementing = breaks(delivers_all=(2, 1, 1))(Rst, stamped=lambda self, packet, before, after: after.sent)
AttachesNothing = breaks(fifo=(2, 2, 3))(Rst, stamp=lambda self, state: no_matrix(self))
#: Only the column that is checked travels; what the receiver would pass on does not.
AttachesOnlyTheColumn = breaks(causal=(3, 3, 5))(Rst, part_sent=lambda i, j, k, l: l == j)
NeverIncrementsOnSending = breaks(fifo=(2, 2, 3))(Rst, after_sending=lambda self, i, state, j: state)
#: SENT_i[j, i] for SENT_i[i, j]: rows and columns are exchanged.
IncrementsTheMirroredEntry = breaks(deliv_equals_sent_column=(2, 1, 1), fifo=(2, 2, 3), delivers_all=(2, 3, 5))(
    Rst, after_sending=lambda self, i, state, j: Rst.after_sending(self, j, state, i)
)
WaitsForAnAnswer = breaks(never_blocks=(2, 2, 2))(
    Rst, blocked_if=lambda self, state, message: any(state.sent[message.sender])
)

# -- the matrix protocol: delivering -----------------------------------------------------------------------------------

DeliversWhatArrives = breaks(fifo=(2, 2, 3), causal=(2, 2, 3), deliv_equals_sent_column=(2, 3, 4))(
    Rst, deliverable=always
)
ChecksOnlyTheSender = breaks(causal=(3, 3, 5))(
    Rst, deliverable=lambda self, i, state, packet: state.deliv[packet.source] >= packet.stamp[packet.source][i]
)
ChecksAllButTheSender = breaks(fifo=(2, 2, 3))(Rst, every=lambda i, j, k, state, m: k == j or state.deliv[k] >= m[k][i])
#: SENT_m[i, k] for SENT_m[k, i]: the messages that the receiver sent, not those sent to it.
ChecksItsRow = breaks(fifo=(2, 2, 3), delivers_all=(2, 2, 3))(
    Rst, every=lambda i, j, k, state, m: state.deliv[k] >= m[i][k]
)
#: All that causally precedes, whoever it is for: what a causal broadcast would require (footnote 1).
ChecksEveryColumn = breaks(delivers_all=(2, 2, 3))(Rst, every=lambda i, j, k, state, m: state.deliv[k] >= sum(m[k]))
AsksForMore = breaks(delivers_all=(2, 1, 1))(Rst, every=lambda i, j, k, state, m: state.deliv[k] > m[k][i])
AsksForExactlyAsMany = breaks(delivers_all=(3, 2, 3))(Rst, every=lambda i, j, k, state, m: state.deliv[k] == m[k][i])

# -- the matrix protocol: after delivering -----------------------------------------------------------------------------

NeverCountsDeliveries = breaks(deliv_equals_sent_column=(2, 1, 2), delivers_all=(2, 2, 3))(
    Rst, deliv_after=lambda self, state, j: state.deliv
)
NeverCountsTheDeliveredAsSent = breaks(deliv_equals_sent_column=(2, 1, 2))(Rst, after_delivery=merged_alone)
NeverMerges = breaks(causal=(3, 3, 5))(Rst, part_read=lambda i, k, l: False)
#: SENT_i becomes SENT_m: what only the receiver knew is forgotten.
ReplacesInsteadOfMerging = breaks(fifo=(2, 3, 5), deliv_equals_sent_column=(2, 1, 2))(
    Rst, after_delivery=lambda self, i, j, stamp, before, after: after._replace(sent=stamp)
)
AddsInsteadOfMerging = breaks(delivers_all=(2, 3, 5), deliv_equals_sent_column=(2, 2, 4))(
    Rst,
    after_delivery=lambda self, i, j, stamp, before, after: after._replace(
        sent=matrix_sum(self, self.ops.incremented(before.sent, j, i), stamp)
    ),
)
MergesOnlyItsOwnColumn = breaks(causal=(3, 3, 5))(Rst, part_read=lambda i, k, l: l == i)

# -- the matrix protocol: variations -----------------------------------------------------------------------------------

#: After delivering, increment SENT_i[j, i]: neither causal order nor delivery needs it, only DELIV = own column; what
#: it passes on is about a message already delivered, which delays nobody.
LearnsOfItsOwnDeliveriesLate = keeps((3, 5, 24731))(NeverCountsTheDeliveredAsSent, invariants={})
#: After delivering: the order of the second and the third step makes no difference.
MergesBeforeIncrementing = keeps((3, 4, 7370))(
    Rst,
    after_delivering=lambda self, i, state, j, stamp: Rst.after_delivering(
        self, i, state._replace(sent=self.ops.maximum(state.sent, stamp)), j, no_matrix(self)
    ),
)
#: After delivering: a process's own column never learns anything from the maximum.
MergesAllButItsOwnColumn = keeps((3, 4, 7370))(Rst, part_read=lambda i, k, l: l != i)
#: Is DELIV redundant? The guard may read the own column of SENT instead.
ReadsItsColumnForDeliv = keeps((3, 4, 7370))(Rst, every=lambda i, j, k, state, m: state.sent[k][i] >= m[k][i])
#: Delivering: of the sender's own messages the receiver has never delivered more than SENT_m says.
AsksForExactlyAsManyOfTheSender = keeps((3, 4, 7370))(
    Rst,
    deliverable=lambda self, i, state, packet: (
        state.deliv[packet.source] == packet.stamp[packet.source][i] and Rst.deliverable(self, i, state, packet)
    ),
)
#: The matrix protocol as [MF] §2 describes it: increment, send, ask for exactly one more, and only merge.
#: Discussion: increment before sending, ask for exactly one more, drop the receiver's increment.
IncrementsBeforeSending = keeps((3, 4, 7370))(
    AttachesAfterIncrementing,
    deliverable=lambda self, i, state, packet: (
        packet.stamp[packet.source][i] == state.deliv[packet.source] + 1
        and self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k][i])
    ),
    after_delivery=merged_alone,
)

ROWS = planted_in(globals())
