"""The extra-message protocol [SA] §3, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from overrides import UNLEARNED, Method, Override, always, changes, matrix_sum, no_matrix, part_where
from planted import Catch, ProgramCatch, Setup, breaks, keeps, planted_in

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.extra_messages import ExtraMessages, State
from crownless.research.claims.thresholds import FOUR_ENTRIES, SEVEN_ENTRIES
from crownless.research.variants import for_matrices
from crownless.spec.computation import Message

#: With three processes and few messages a matrix never has the four entries at which the text's smallest k clears it.
AT_2 = Setup(parameters={"k": 2})

AT_3 = Setup(parameters={"k": 3})

#: Of three processes no matrix has seven entries.
NEVER_SEVERAL = ["several-extra-messages-are-sent-in-one-step"]

# -- the encoding: a tuple (i, j, n) for every M[i, j] = n with n > 0 --------------------------------------------------

EncodesNoValues = breaks(fifo=(2, 3, 5))(
    ExtraMessages, entries=lambda self, matrix: tuple((k, l, 1) for k, l, _ in ExtraMessages.entries(self, matrix))
)
EncodesOnlyOnes = breaks(fifo=(2, 3, 4))(
    ExtraMessages,
    entries=lambda self, matrix: tuple(entry for entry in ExtraMessages.entries(self, matrix) if entry[2] == 1),
)
DecodesRowsAsColumns = breaks(fifo=(2, 2, 3), delivers_all=(3, 4, 7))(
    ExtraMessages,
    matrix_of=lambda self, entries: ExtraMessages.matrix_of(self, tuple((l, k, value) for k, l, value in entries)),
)

# -- sending: M_i is attached; then column j is set to zeros but for M_i[i, j], which is incremented -------------------


@changes("send")
def attached(stamp: Method) -> Override:
    """`send`, whose user message carries `stamp(self, before, packet)`."""

    def of(base: Any) -> Method:
        def send(self: ExtraMessages, i: int, state: State, message: Message) -> Sequence[Step]:
            return [
                step._replace(
                    packets=[step.packets[0]._replace(stamp=stamp(self, state, step.packets[0])), *step.packets[1:]]
                )
                for step in base.send(self, i, state, message)
            ]

        return send

    return Override(of)


@changes("after_sending")
def sent_entries(entry: Method) -> Method:
    """`after_sending` from i to j, with `entry(of_i, of_j, value)` in place of each value of the matrix: `of_i` is 1
    in row i, `of_j` in column j, otherwise 0.
    """
    return lambda self, i, state, j: state._replace(
        matrix=self.ops.matrix(lambda k, l: entry(self.ops.one_if(k == i), self.ops.one_if(l == j), state.matrix[k][l]))
    )


AttachesNothing = breaks(fifo=(2, 2, 3))(ExtraMessages, attached=lambda self, before, packet: ())
#: A user message carries what an extra message does: the constraints about its receiver.
AttachesOnlyTheColumn = breaks(causal=(3, 3, 5))(
    ExtraMessages, attached=lambda self, before, packet: self.column(before, packet.destination)
)
ClearsTheRow = breaks(fifo=(3, 3, 4))(
    ExtraMessages, sent_entries=lambda of_i, of_j, value: value * (1 - of_i * (1 - of_j)) + of_i * of_j
)
ClearsEveryColumn = breaks(fifo=(3, 3, 4))(
    ExtraMessages, sent_entries=lambda of_i, of_j, value: (value + 1) * of_i * of_j
)


#: Column j is set to zeros when a user message is sent: that keeps matrices small and nothing else.
@keeps((3, 4, 3932), AT_2, never_reaches=NEVER_SEVERAL)
class KeepsTheColumn(ExtraMessages):
    """A user message increments its entry and clears nothing; extra messages clear."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        packet = Packet(i, message.receiver, "message", message, self.entries(state.matrix))
        after = state._replace(matrix=self.ops.incremented(state.matrix, i, message.receiver))
        return [
            Step(cleared, [packet, *extra], [AppEvent("send", message)]) for cleared, extra in self.clearings(i, after)
        ]


#: A process sends no extra messages, and nothing else either, while one entry more would be too much.
WaitsWhileItsMatrixIsFull = breaks(never_blocks=(2, 2, 2), setup=AT_2)(
    ExtraMessages,
    blocked_if=lambda self, state, message: len(self.entries(state.matrix)) == self.setting("k", message.sender) - 1,
)

# -- extra messages: when, and to whom ---------------------------------------------------------------------------------


@changes("clearings")
def clearing(change: Method) -> Override:
    """`clearings`, each of which, `(cleared, extra)`, becomes `change(self, i, state, cleared, extra)`."""
    return Override(
        lambda base: (
            lambda self, i, state: [
                change(self, i, state, cleared, extra) for cleared, extra in base.clearings(self, i, state)
            ]
        )
    )


NeverSendsExtraMessages = breaks(fewer_entries_than_k=(3, 4, 5), setup=AT_3)(
    ExtraMessages, clearings=lambda self, i, state: [(state, [])]
)
#: The other reading of the threshold: k entries are allowed, and k + 1 are cleared.
AllowsK = breaks(ProgramCatch("fewer-entries-than-k", FOUR_ENTRIES, 8))(
    ExtraMessages,
    clearings=lambda self, i, state: (
        [(state, [])]
        if len(self.entries(state.matrix)) == self.setting("k", i)
        else ExtraMessages.clearings(self, i, state)
    ),
)
#: One extra message, however many entries are left.
ClearsOnce = breaks(ProgramCatch("fewer-entries-than-k", SEVEN_ENTRIES, 13))(for_matrices.ClearsOnce)
#: Looks at its matrix when it has sent a message, and not when it has delivered one.
NeverClearsWhenDelivering = breaks(ProgramCatch("fewer-entries-than-k", FOUR_ENTRIES, 8))(
    ExtraMessages,
    on_packet=lambda self, i, state, packet: (
        ExtraMessages.on_packet(self, i, state, packet)
        if packet.message is None
        else [
            Step(
                self.after_delivering(i, state, packet.source, self.matrix_of(packet.stamp)),
                (),
                [AppEvent("deliver", packet.message)],
            )
        ]
    ),
)
#: Looks at its matrix when it has delivered a message, and not when it has sent one.
NeverClearsWhenSending = breaks(fewer_entries_than_k=(3, 4, 5), setup=AT_3)(
    ExtraMessages,
    send=lambda self, i, state, message: [
        step._replace(state=self.after_sending(i, state, message.receiver), packets=step.packets[:1])
        for step in [*ExtraMessages.send(self, i, state, message)][:1]
    ],
)


@breaks(fewer_entries_than_k=(3, 4, 5), setup=AT_3)
class ClearsTheColumnOfOne(ExtraMessages):
    """Picks a column with the fewest entries of those that are not zero, where nothing is gained."""

    def clearings(self, i: int, state: State) -> Iterable[tuple[State, Sequence[Packet]]]:
        sizes = {j: len(self.column(state, j)) for j in range(self.n) if self.column(state, j)}
        if sum(sizes.values()) < self.setting("k", i):
            return [(state, [])]
        fewest = [j for j, size in sizes.items() if size == min(sizes.values())]
        return [(self.after_sending(i, state, j), [self.extra(i, state, j)]) for j in fewest]


def next_but(i: int, j: int, n: int) -> int:
    """The process after j, other than i."""
    following = (j + 1) % n
    return following if following != i else (j + 2) % n


#: The extra message about P_j goes to the next process after it.
SendsExtraMessagesElsewhere = breaks(ProgramCatch("completes", FOUR_ENTRIES, 14))(
    ExtraMessages,
    symmetric=False,
    clearing=lambda self, i, state, cleared, extra: (
        cleared,
        [packet._replace(destination=next_but(i, packet.destination, self.n)) for packet in extra],
    ),
)

# -- extra messages: they carry the column M_i[-, j], which is then deleted but for M_i[i, j], incremented -------------


@changes("clearings")
def carrying(stamp: Method) -> Override:
    """`clearings`, whose extra messages carry `stamp(self, packet, cleared)`."""
    return clearing(
        lambda self, i, state, cleared, extra: (
            cleared,
            [packet._replace(stamp=stamp(self, packet, cleared)) for packet in extra],
        )
    )


def leaving(matrix: Method, sent: bool = True) -> Override:
    """`clearings`, after which process i has `matrix(self, i, columns, before, cleared)`, of the columns cleared; the
    extra messages are sent, or not.
    """
    return clearing(
        lambda self, i, state, cleared, extra: (
            state._replace(
                matrix=matrix(self, i, [packet.destination for packet in extra], state.matrix, cleared.matrix)
            ),
            extra if sent else [],
        )
    )


def plus(machine: ExtraMessages, matrix: Value, i: int, columns: Sequence[int], one: int) -> Value:
    """The matrix with so much added to row i for each of these columns."""
    return machine.ops.matrix(lambda k, l: matrix[k][l] + one * columns.count(l) * (k == i))


ExtraMessagesCarryNothing = breaks(ProgramCatch("causal", FOUR_ENTRIES, 12))(
    ExtraMessages, carrying=lambda self, packet, cleared: ()
)
#: The column is attached as it is after clearing: the extra message waits for itself.
ExtraMessagesCarryTheirOwnEntry = breaks(ProgramCatch("completes", FOUR_ENTRIES, 13))(
    ExtraMessages, carrying=lambda self, packet, cleared: self.column(cleared, packet.destination)
)
#: Of the column only M_i[i, j]: the sender's own messages, and not those that it knows of.
ExtraMessagesCarryOnlyTheSendersEntry = breaks(ProgramCatch("causal", FOUR_ENTRIES, 12))(
    ExtraMessages, carrying=lambda self, packet, cleared: tuple(e for e in packet.stamp if e[0] == packet.source)
)
#: The column is cleared and its entry incremented, for an extra message that is never sent.
ClearsWithoutSending = breaks(delivers_all=(3, 4, 7), setup=AT_2)(
    ExtraMessages, clearings=leaving(lambda self, i, columns, before, cleared: cleared, sent=False)
)
#: What is too much is forgotten, without any message.
ForgetsTheColumn = breaks(ProgramCatch("causal", FOUR_ENTRIES, 11))(
    ExtraMessages,
    clearings=leaving(
        lambda self, i, columns, before, cleared: part_where(self, before, lambda k, l: k == i or l not in columns),
        sent=False,
    ),
)
#: The entry that is left says how many user messages were sent, and the receiver counts them all.
NeverCountsTheExtraMessageAsSent = breaks(ProgramCatch("causal", FOUR_ENTRIES, 11))(
    ExtraMessages, clearings=leaving(lambda self, i, columns, before, cleared: plus(self, cleared, i, columns, -1))
)
#: The column is deleted without the exception: nothing is left that says the extra message must come first.
DropsTheEntryOfTheExtraMessage = breaks(ProgramCatch("fifo", FOUR_ENTRIES, 10))(
    ExtraMessages,
    clearings=leaving(
        lambda self, i, columns, before, cleared: part_where(self, cleared, lambda k, l: l not in columns)
    ),
)
#: Sends the extra message, counts it, and deletes nothing.
KeepsTheColumnOfTheExtraMessage = breaks(ProgramCatch("fewer-entries-than-k", FOUR_ENTRIES, 8))(
    ExtraMessages, clearings=leaving(lambda self, i, columns, before, cleared: plus(self, before, i, columns, 1))
)

# -- delivering: a message waits until all its constraints DELIV_j[i] ≥ M[i, j] are satisfied, extra ones likewise -----

DeliversWhatArrives = breaks(fifo=(2, 2, 3), causal=(2, 2, 3))(ExtraMessages, deliverable=always)
ExtraMessagesNeverWait = breaks(fifo=(3, 4, 7), setup=AT_2)(
    ExtraMessages,
    deliverable=lambda self, i, state, packet: (
        packet.message is None or ExtraMessages.deliverable(self, i, state, packet)
    ),
)
ExtraMessagesWaitForEver = breaks(ProgramCatch("completes", FOUR_ENTRIES, 13))(
    ExtraMessages,
    deliverable=lambda self, i, state, packet: (
        packet.message is not None and ExtraMessages.deliverable(self, i, state, packet)
    ),
)
ChecksOnlyTheSender = breaks(causal=(3, 3, 5))(
    ExtraMessages,
    deliverable=lambda self, i, state, packet: (
        state.deliv[packet.source] >= self.matrix_of(packet.stamp)[packet.source][i]
    ),
)
ChecksAllButTheSender = breaks(fifo=(2, 2, 3))(
    ExtraMessages,
    deliverable=lambda self, i, state, packet: self.satisfied(
        i, state, self.matrix_of(tuple(entry for entry in packet.stamp if entry[0] != packet.source))
    ),
)
ChecksItsRow = breaks(fifo=(2, 2, 3), delivers_all=(3, 3, 5))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] >= matrix[i][k])
)
ChecksEveryColumn = breaks(delivers_all=(3, 2, 3))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] >= sum(matrix[k]))
)
AsksForMore = breaks(delivers_all=(2, 1, 1))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] > matrix[k][i])
)
AsksForExactlyAsMany = breaks(delivers_all=(3, 2, 3))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] == matrix[k][i])
)

# -- after delivering: DELIV_j[i] is incremented, and M_j the maximum of M_m and M_j, but for its own column -----------

NeverCountsDeliveries = breaks(delivers_all=(2, 2, 3))(
    ExtraMessages, after_delivery=lambda self, i, j, matrix, before, after: after._replace(deliv=before.deliv)
)
NeverCountsTheExtraMessageAsDelivered = breaks(ProgramCatch("completes", FOUR_ENTRIES, 14))(
    ExtraMessages,
    on_packet=lambda self, i, state, packet: (
        [Step(state)] if packet.message is None else ExtraMessages.on_packet(self, i, state, packet)
    ),
)
NeverMerges = breaks(causal=(3, 3, 5))(ExtraMessages, after_delivering=UNLEARNED)
ReplacesInsteadOfMerging = breaks(fifo=(2, 3, 5))(
    ExtraMessages,
    after_delivering=lambda self, i, state, j, matrix: ExtraMessages.after_delivering(
        self, i, state._replace(matrix=no_matrix(self)), j, matrix
    ),
)
AddsInsteadOfMerging = breaks(delivers_all=(3, 4, 7))(
    ExtraMessages,
    after_delivery=lambda self, i, j, matrix, before, after: after._replace(
        matrix=part_where(self, matrix_sum(self, before.matrix, matrix), lambda k, l: l != i)
    ),
)
#: A column that the message has entries of is taken from it, as if the message knew all that its receiver knew.
ReplacesColumnsInsteadOfMerging = breaks(fifo=(3, 4, 7))(
    ExtraMessages,
    after_delivery=lambda self, i, j, matrix, before, after: after._replace(
        matrix=self.ops.matrix(
            lambda k, l: matrix[k][l] * (l != i) if any(row[l] for row in matrix) else after.matrix[k][l]
        )
    ),
)
KeepsItsOwnColumn = breaks(Catch("fewer-entries-than-k", 2, 3, 5, AT_2), own_column_is_zero=(2, 2, 4))(
    ExtraMessages,
    after_delivery=lambda self, i, j, matrix, before, after: after._replace(
        matrix=self.ops.maximum(before.matrix, matrix)
    ),
)
#: Takes the maximum with the column of an extra message, which is the receiver's own.
MergesTheExtraMessage = breaks(own_column_is_zero=(3, 3, 7), setup=AT_2)(
    ExtraMessages,
    after_packet=lambda self, packet, before, after: (
        after._replace(matrix=self.ops.maximum(before.matrix, self.matrix_of(packet.stamp)))
        if packet.message is None
        else after
    ),
)
#: Zeroes column j where j is the sender of the message, beside its own.
ClearsTheSendersColumn = breaks(fifo=(2, 3, 5))(
    ExtraMessages,
    after_delivery=lambda self, i, j, matrix, before, after: after._replace(
        matrix=part_where(self, after.matrix, lambda k, l: l != j)
    ),
)

# -- variations --------------------------------------------------------------------------------------------------------

#: With three processes no column has more than two entries, so there is no choice to make: any with two would do.
ClearsAnyColumn = keeps((3, 4, 4025), AT_2, never_reaches=NEVER_SEVERAL)(
    ExtraMessages,
    columns_to_clear=lambda self, i, state: [
        j
        for j in range(self.n)
        if len(self.column(state, j)) > 1 and len(self.entries(state.matrix)) >= self.setting("k", i)
    ],
)


#: The column alone is attached to an extra message: of the rest its receiver would take no notice.
ExtraMessagesCarryEverything = keeps((3, 4, 4025), AT_2, never_reaches=NEVER_SEVERAL)(
    ExtraMessages,
    symmetric=False,
    extra=lambda self, i, state, j: Packet(i, j, "extra", None, self.entries(state.matrix)),
)
#: Messages of size O(k): for that, clearing just before a message is sent is enough, with fewer extra messages. What a
#: process keeps is then not bounded by k.
ClearsBeforeSending = keeps((3, 4, 3908), AT_2, never_reaches=NEVER_SEVERAL)(
    NeverClearsWhenDelivering,
    invariants={name: holds for name, holds in ExtraMessages.invariants.items() if name != "fewer-entries-than-k"},
    send=lambda self, i, state, message: [
        Step(
            self.after_sending(i, cleared, message.receiver),
            [*extra, Packet(i, message.receiver, "message", message, self.entries(cleared.matrix))],
            [AppEvent("send", message)],
        )
        for cleared, extra in self.clearings(i, state)
    ],
)
#: No order and no delivery needs it that the own column is forgotten, since it is satisfied already.
RemembersItsOwnColumn = keeps(
    (3, 4, 4199),
    Setup(parameters={"k": 9}),
    never_reaches=[
        *NEVER_SEVERAL,
        "an-extra-message-is-received",
        "an-extra-message-is-sent",
        "an-extra-message-waits",
    ],
)(KeepsItsOwnColumn, invariants={})

ROWS = planted_in(globals())
