"""The extra-message protocol, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from crownless.impl import extra_messages
from crownless.impl.extra_messages import Entries, ExtraMessages
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.variants import Catch, ProgramCatch, Setup, breaks, keeps, variants_in
from crownless.spec.computation import Message

#: With three processes and few messages a matrix never has the four entries at which the text's smallest k clears it.
AT_2 = Setup(parameters={"k": 2})

AT_3 = Setup(parameters={"k": 3})

#: Where P1 has heard from both, its matrix has four entries, which is the text's k = n + 1, and one column is cleared.
#: Four messages in the free workload show the same faults, with k = 2 or 3 and in many more states.
FOUR_ENTRIES = """
P1: send a to P2; send b to P3; receive; receive; send c to P2
P2: send d to P3; send e to P1; receive; receive; receive
P3: send f to P2; send g to P1; receive; receive
"""

#: P1 learns of four messages at once, and its matrix has seven entries: to have fewer than five it clears two columns.
SEVEN_ENTRIES = """
P1: send a to P3; send b to P4; send c to P2; receive
P2: send d to P3; send e to P4; receive h; receive j; send f to P1
P3: send g to P4; send h to P2
P4: send i to P3; send j to P2
"""

State = extra_messages.State

# -- the encoding ------------------------------------------------------------------------------------------------------

EncodesNoValues = breaks("[SA] §3: a tuple (i, j, n) for M[i, j] = n", fifo=(2, 3, 5))(
    ExtraMessages, entries=lambda self, matrix: tuple((k, l, 1) for k, l, _ in ExtraMessages.entries(self, matrix))
)

EncodesOnlyOnes = breaks("[SA] §3: a tuple for every M[i, j] = n with n > 0", fifo=(2, 3, 4))(
    ExtraMessages,
    entries=lambda self, matrix: tuple(entry for entry in ExtraMessages.entries(self, matrix) if entry[2] == 1),
)


@breaks("[SA] §3: M[i, j] is about messages from P_i to P_j", fifo=(2, 2, 3), delivers_all=(3, 4, 7))
class DecodesRowsAsColumns(ExtraMessages):
    def matrix_of(self, entries: Entries) -> Value:
        return super().matrix_of(tuple((l, k, value) for k, l, value in entries))


# -- sending -----------------------------------------------------------------------------------------------------------


@breaks("[SA] §3, sending: first M_i is attached, then M_i[i, j] incremented", delivers_all=(2, 1, 1))
class AttachesAfterIncrementing(ExtraMessages):
    """The message carries the constraint that it be delivered itself."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        packet = Packet(i, message.receiver, "message", message, self.entries(after.matrix))
        return [step._replace(packets=[packet, *step.packets[1:]]) for step in super().send(i, state, message)]


@breaks("[SA] §3, sending: M_i is attached", fifo=(2, 2, 3))
class AttachesNothing(ExtraMessages):
    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        bare = Packet(i, message.receiver, "message", message, ())
        return [step._replace(packets=[bare, *step.packets[1:]]) for step in super().send(i, state, message)]


@breaks("[SA] §3, sending: all of M_i is attached to a user message, a column only to an extra one", causal=(3, 3, 5))
class AttachesOnlyTheColumn(ExtraMessages):
    """A user message carries what an extra message does: the constraints about its receiver."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        bare = Packet(i, message.receiver, "message", message, self.column(state, message.receiver))
        return [step._replace(packets=[bare, *step.packets[1:]]) for step in super().send(i, state, message)]


NeverIncrementsOnSending = breaks("[SA] §3, sending: M_i[i, j] is incremented", fifo=(2, 2, 3))(
    ExtraMessages,
    after_sending=lambda self, i, state, j: state._replace(
        matrix=self.ops.matrix(lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(k != i, l == j)))
    ),
)

#: M_i[i, j] is 1 after every message, not one more.
StartsCountingAnew = breaks("[SA] §3, sending: M_i[i, j] is incremented by one", fifo=(2, 3, 5))(
    ExtraMessages,
    after_sending=lambda self, i, state, j: state._replace(
        matrix=self.ops.matrix(
            lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(l == j)) + self.ops.one_if(k == i, l == j)
        )
    ),
)


@breaks("[SA] §3: the column is set to zeros except the value indicating the message, M_i[i, j]", fifo=(2, 2, 3))
class ClearsTheWholeColumn(ExtraMessages):
    """Not even the entry of the message itself is left in column j."""

    def after_sending(self, i: Value, state: State, j: Value) -> State:
        return state._replace(matrix=self.ops.matrix(lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(l == j))))


ClearsTheRow = breaks("[SA] §3: the column M_i[-, j] is set to zeros, not the row", fifo=(3, 3, 4))(
    ExtraMessages,
    after_sending=lambda self, i, state, j: state._replace(
        matrix=self.ops.matrix(
            lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(k == i, l != j)) + self.ops.one_if(k == i, l == j)
        )
    ),
)

ClearsEveryColumn = breaks("[SA] §3: column j is set to zeros, no other", fifo=(3, 3, 4))(
    ExtraMessages,
    after_sending=lambda self, i, state, j: state._replace(
        matrix=self.ops.matrix(lambda k, l: (state.matrix[k][l] + 1) * self.ops.one_if(k == i, l == j))
    ),
)


@keeps(
    "[SA] §3 sets column j to zeros when a user message is sent: that keeps matrices small and nothing else.",
    (3, 4, 3932),
    AT_2,
    never_reaches=frozenset({"several-extra-messages-are-sent-in-one-step"}),
)
class KeepsTheColumn(ExtraMessages):
    """A user message increments its entry and clears nothing; extra messages clear."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        j = message.receiver
        matrix = self.ops.matrix(lambda k, l: state.matrix[k][l] + self.ops.one_if(k == i, l == j))
        packet = Packet(i, j, "message", message, self.entries(state.matrix))
        return [
            Step(cleared, [packet, *extra], [AppEvent("send", message)])
            for cleared, extra in self.clearings(i, state._replace(matrix=matrix))
        ]


@breaks(
    "[SA] §3: too many entries are a reason to send an extra message, not to wait", never_blocks=(2, 3, 4), setup=AT_2
)
class WaitsWhileItsMatrixIsFull(ExtraMessages):
    """A process sends no extra messages, and nothing else either, while one entry more would be too much."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        full = len(self.entries(state.matrix)) == self.setting("k", i) - 1
        return [] if full else super().send(i, state, message)


# -- extra messages: when, and to whom ---------------------------------------------------------------------------------


@breaks(
    "[SA] §3: when M_i has too many non-zero values, P_i sends an extra message",
    fewer_entries_than_k=(3, 4, 5),
    setup=AT_3,
)
class NeverSendsExtraMessages(ExtraMessages):
    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        yield state, []


@breaks(
    "[SA] §3, the particular case: whenever the matrix contains n + 1 non-zero entries",
    ProgramCatch("fewer-entries-than-k", FOUR_ENTRIES, 8),
)
class AllowsK(ExtraMessages):
    """The other reading of the threshold: k entries are allowed, and k + 1 are cleared."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        if len(self.entries(state.matrix)) == self.setting("k", i):
            yield state, []
        else:
            yield from super().clearings(i, state)


@breaks(
    "[SA] §3: the particular case k = n + 1 shows one extra message; what is too much may need several",
    ProgramCatch("fewer-entries-than-k", SEVEN_ENTRIES, 13),
)
class ClearsOnce(ExtraMessages):
    """One extra message, however many entries are left."""

    symmetric = False

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            once = state
            for packet in extra[:1]:
                once = self.after_sending(i, once, packet.destination)
            yield (once, extra[:1]) if len(extra) > 1 else (cleared, extra)


@breaks(
    "[SA] §3: whenever P_i detects too many values, also those of which it knows from others",
    ProgramCatch("fewer-entries-than-k", FOUR_ENTRIES, 8),
)
class NeverClearsWhenDelivering(ExtraMessages):
    """Looks at its matrix when it has sent a message, and not when it has delivered one."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.message is None:
            return super().on_packet(i, state, packet)
        after = self.after_delivering(i, state, packet.source, self.matrix_of(packet.stamp))
        return [Step(after, (), [AppEvent("deliver", packet.message)])]


@breaks(
    "[SA] §3: whenever P_i detects too many values, also those it has added itself",
    fewer_entries_than_k=(3, 4, 5),
    setup=AT_3,
)
class NeverClearsWhenSending(ExtraMessages):
    """Looks at its matrix when it has delivered a message, and not when it has sent one."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        (step, *_) = super().send(i, state, message)
        return [step._replace(state=self.after_sending(i, state, message.receiver), packets=step.packets[:1])]


@breaks("[SA] §3: the column with most non-zero values", fewer_entries_than_k=(3, 4, 5), setup=AT_3)
class ClearsTheColumnOfOne(ExtraMessages):
    """Picks a column with the fewest entries of those that are not zero, where nothing is gained."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        if len(self.entries(state.matrix)) < self.setting("k", i):
            yield state, []
            return
        sizes = {j: len(self.column(state, j)) for j in range(self.n) if self.column(state, j)}
        for j, size in sizes.items():
            if size == min(sizes.values()):
                yield self.after_sending(i, state, j), [Packet(i, j, "extra", None, self.column(state, j))]


@breaks(
    "[SA] §3: the extra message is sent to the process whose column it is", ProgramCatch("completes", FOUR_ENTRIES, 14)
)
class SendsExtraMessagesElsewhere(ExtraMessages):
    """The extra message about P_j goes to the next process after it."""

    symmetric = False

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            others = [p for p in range(self.n) if p != i]
            yield (
                cleared,
                [
                    packet._replace(destination=others[(others.index(packet.destination) + 1) % len(others)])
                    for packet in extra
                ],
            )


# -- extra messages: what they carry and leave -------------------------------------------------------------------------


@breaks("[SA] §3: the extra message contains the constraints M_i[-, j]", ProgramCatch("causal", FOUR_ENTRIES, 12))
class ExtraMessagesCarryNothing(ExtraMessages):
    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            yield cleared, [packet._replace(stamp=()) for packet in extra]


@breaks(
    "[SA] §3: the column is attached as it was before it is deleted and its entry incremented",
    ProgramCatch("completes", FOUR_ENTRIES, 13),
)
class ExtraMessagesCarryTheirOwnEntry(ExtraMessages):
    """The column is attached as it is after clearing: the extra message waits for itself."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            yield cleared, [packet._replace(stamp=self.column(cleared, packet.destination)) for packet in extra]


@breaks("[SA] §3: the extra message contains the whole column M_i[-, j]", ProgramCatch("causal", FOUR_ENTRIES, 12))
class ExtraMessagesCarryOnlyTheSendersEntry(ExtraMessages):
    """Of the column only M_i[i, j]: the sender's own messages, and not those that it knows of."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            yield cleared, [packet._replace(stamp=tuple(e for e in packet.stamp if e[0] == i)) for packet in extra]


@breaks("[SA] §3: the column is deleted after sending the extra message", delivers_all=(3, 4, 7), setup=AT_2)
class ClearsWithoutSending(ExtraMessages):
    """The column is cleared and its entry incremented, for an extra message that is never sent."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, _ in super().clearings(i, state):
            yield cleared, []


def without(matrix: Value, columns: Collection[int], but: int | None = None) -> Value:
    """The matrix with zeroes in these columns, but for one row."""
    return tuple(
        tuple(0 if l in columns and k != but else value for l, value in enumerate(row)) for k, row in enumerate(matrix)
    )


def plus(matrix: Value, i: int, columns: Sequence[int], one: int) -> Value:
    """The matrix with so much added to row i for each of these columns."""
    return tuple(
        tuple(value + one * columns.count(l) * (k == i) for l, value in enumerate(row)) for k, row in enumerate(matrix)
    )


@breaks(
    "[SA] §4, Lemma 2: clearing needs a message that carries what is cleared", ProgramCatch("causal", FOUR_ENTRIES, 11)
)
class ForgetsTheColumn(ExtraMessages):
    """What is too much is forgotten, without any message."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for _, extra in super().clearings(i, state):
            columns = [packet.destination for packet in extra]
            yield state._replace(matrix=without(state.matrix, columns, but=i)), []


@breaks("[SA] §3: M_i[i, j] is incremented to indicate the extra message", ProgramCatch("causal", FOUR_ENTRIES, 11))
class NeverCountsTheExtraMessageAsSent(ExtraMessages):
    """The entry that is left says how many user messages were sent, and the receiver counts them all."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            columns = [packet.destination for packet in extra]
            yield cleared._replace(matrix=plus(cleared.matrix, i, columns, -1)), extra


@breaks("[SA] §3: the column is deleted with the exception of M_i[i, j]", ProgramCatch("fifo", FOUR_ENTRIES, 10))
class DropsTheEntryOfTheExtraMessage(ExtraMessages):
    """The column is deleted without the exception: nothing is left that says the extra message must come first."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            columns = [packet.destination for packet in extra]
            yield cleared._replace(matrix=without(cleared.matrix, columns)), extra


@breaks(
    "[SA] §3: after sending the extra message, the sender deletes that column",
    ProgramCatch("fewer-entries-than-k", FOUR_ENTRIES, 8),
)
class KeepsTheColumnOfTheExtraMessage(ExtraMessages):
    """Sends the extra message, counts it, and deletes nothing."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for _, extra in super().clearings(i, state):
            columns = [packet.destination for packet in extra]
            yield state._replace(matrix=plus(state.matrix, i, columns, 1)), extra


# -- delivering --------------------------------------------------------------------------------------------------------

DeliversWhatArrives = breaks(
    "[SA] §3: the message is enqueued until all the constraints are satisfied", fifo=(2, 2, 3), causal=(2, 2, 3)
)(ExtraMessages, deliverable=lambda self, i, state, packet: True)

ExtraMessagesNeverWait = breaks(
    "[SA] §4, Lemma 2: the constraints attached to an extra message are satisfied when it is delivered",
    fifo=(3, 4, 7),
    setup=AT_2,
)(
    ExtraMessages,
    deliverable=lambda self, i, state, packet: (
        packet.message is None or ExtraMessages.deliverable(self, i, state, packet)
    ),
)

ExtraMessagesWaitForEver = breaks(
    "[SA] §4, Theorem 6: extra messages are delivered in the end like any other",
    ProgramCatch("completes", FOUR_ENTRIES, 13),
)(
    ExtraMessages,
    deliverable=lambda self, i, state, packet: (
        packet.message is not None and ExtraMessages.deliverable(self, i, state, packet)
    ),
)


@breaks("[SA] §3: the constraints φ_ik for all i", causal=(3, 3, 5))
class ChecksOnlyTheSender(ExtraMessages):
    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        j = packet.source
        return state.deliv[j] >= self.matrix_of(packet.stamp)[j][i]


@breaks("[SA] §3: the constraints φ_ik for all i", fifo=(2, 2, 3))
class ChecksAllButTheSender(ExtraMessages):
    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        others = tuple(entry for entry in packet.stamp if entry[0] != packet.source)
        return self.satisfied(i, state, self.matrix_of(others))


ChecksItsRow = breaks("[SA] §3: the receiver P_j checks the column M_m[-, j]", fifo=(2, 2, 3), delivers_all=(3, 3, 5))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] >= matrix[i][k])
)

ChecksEveryColumn = breaks("[SA] §3: constraints about others are trivially satisfied", delivers_all=(3, 2, 3))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] >= sum(matrix[k]))
)

AsksForMore = breaks("[SA] §3: DELIV_j[i] ≥ M[i, j], not >", delivers_all=(2, 1, 1))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] > matrix[k][i])
)

AsksForExactlyAsMany = breaks("[SA] §3: DELIV_j[i] ≥ M[i, j], not =", delivers_all=(3, 2, 3))(
    ExtraMessages, satisfied=lambda self, i, state, matrix: self.ops.every(lambda k: state.deliv[k] == matrix[k][i])
)

# -- after delivering --------------------------------------------------------------------------------------------------


@breaks("[SA] §3, delivery: DELIV_j[i] is incremented", delivers_all=(2, 2, 3))
class NeverCountsDeliveries(ExtraMessages):
    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        return super().after_delivering(i, state, j, matrix)._replace(deliv=state.deliv)


NeverCountsTheExtraMessageAsDelivered = breaks(
    "[SA] §3: DELIV_j[i] counts what M[i, j] counts, extra messages too", ProgramCatch("completes", FOUR_ENTRIES, 14)
)(
    ExtraMessages,
    on_packet=lambda self, i, state, packet: (
        [Step(state)] if packet.message is None else ExtraMessages.on_packet(self, i, state, packet)
    ),
)


@breaks("[SA] §3, delivery: M_j is updated with the maximum values", causal=(3, 3, 5))
class NeverMerges(ExtraMessages):
    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        return super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0))


@breaks("[SA] §3, delivery: the maximum of M_m and M_j", fifo=(2, 3, 5))
class ReplacesInsteadOfMerging(ExtraMessages):
    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        forgetful = state._replace(matrix=self.ops.matrix(lambda k, l: 0))
        return super().after_delivering(i, forgetful, j, matrix)


@breaks("[SA] §3, delivery: the maximum, not the sum", delivers_all=(3, 4, 7))
class AddsInsteadOfMerging(ExtraMessages):
    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        added = self.ops.matrix(lambda k, l: (state.matrix[k][l] + matrix[k][l]) * self.ops.one_if(l != i))
        return super().after_delivering(i, state, j, matrix)._replace(matrix=added)


@breaks("[SA] §3, delivery: the maximum also where M_m says something of the same process", fifo=(3, 4, 7))
class ReplacesColumnsInsteadOfMerging(ExtraMessages):
    """A column that the message has entries of is taken from it, as if the message knew all that its receiver knew."""

    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        known = [any(matrix[k][l] for k in range(self.n)) for l in range(self.n)]
        kept = state._replace(matrix=self.ops.matrix(lambda k, l: 0 if known[l] else state.matrix[k][l]))
        return super().after_delivering(i, kept, j, matrix)


KeepsItsOwnColumn = breaks(
    "[SA] §3: the column of P_k related to itself is always zero",
    Catch("own-column-is-zero", 2, 2, 4),
    Catch("fewer-entries-than-k", 2, 3, 5, AT_2),
)(
    ExtraMessages,
    after_delivering=lambda self, i, state, j, matrix: ExtraMessages.after_delivering(
        self, i, state, j, matrix
    )._replace(matrix=self.ops.matrix(lambda k, l: self.ops.maximum(state.matrix[k][l], matrix[k][l]))),
)


@breaks(
    "[SA] §4, Lemma 2: the delivery of an extra message leaves M_i as it is", own_column_is_zero=(3, 3, 7), setup=AT_2
)
class MergesTheExtraMessage(ExtraMessages):
    """Takes the maximum with the column of an extra message, which is the receiver's own."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        (step, *more) = super().on_packet(i, state, packet)
        if packet.message is not None:
            return [step, *more]
        column = self.matrix_of(packet.stamp)
        merged = self.ops.matrix(lambda k, l: self.ops.maximum(state.matrix[k][l], column[k][l]))
        return [step._replace(state=step.state._replace(matrix=merged))]


@breaks("[SA] §4, Lemma 2: no column but the own one is lost", fifo=(2, 3, 5))
class ClearsTheSendersColumn(ExtraMessages):
    """Zeroes column j where j is the sender of the message, beside its own."""

    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        after = super().after_delivering(i, state, j, matrix)
        return after._replace(matrix=self.ops.matrix(lambda k, l: after.matrix[k][l] * self.ops.one_if(l != j)))


# -- variations --------------------------------------------------------------------------------------------------------


@keeps(
    "[SA] §3 picks the column with most values: with three processes no column has more than two, so there is no "
    "choice to make. Any with two would do.",
    (3, 4, 4025),
    AT_2,
    never_reaches=frozenset({"several-extra-messages-are-sent-in-one-step"}),
)
class ClearsAnyColumn(ExtraMessages):
    """Any column with two entries or more, not one with most of them."""

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        columns = [j for j in range(self.n) if len(self.column(state, j)) > 1]
        if len(self.entries(state.matrix)) < self.setting("k", i) or not columns:
            yield state, []
        else:
            for j in columns:
                extra = Packet(i, j, "extra", None, self.column(state, j))
                for cleared, more in self.clearings(i, self.after_sending(i, state, j)):
                    yield cleared, [extra, *more]


@keeps(
    "[SA] §3 attaches the column alone to an extra message: of the rest its receiver would take no notice.",
    (3, 4, 4025),
    AT_2,
    never_reaches=frozenset({"several-extra-messages-are-sent-in-one-step"}),
)
class ExtraMessagesCarryEverything(ExtraMessages):
    """The whole matrix travels on extra messages; their receivers read their own column of it."""

    symmetric = False

    def clearings(self, i: int, state: State) -> Iterator[tuple[State, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            before, whole = state, []
            for packet in extra:
                whole.append(packet._replace(stamp=self.entries(before.matrix)))
                before = self.after_sending(i, before, packet.destination)
            yield cleared, whole


@keeps(
    "[SA] abstract, messages of size O(k): for that, clearing just before a message is sent is enough, with fewer "
    "extra messages. What a process keeps is then not bounded by k.",
    (3, 4, 3908),
    AT_2,
    never_reaches=frozenset({"several-extra-messages-are-sent-in-one-step"}),
)
class ClearsBeforeSending(NeverClearsWhenDelivering):
    """Counts the entries when a message is to be sent, and never else: what it attaches is small, what it keeps not."""

    invariants = {name: holds for name, holds in ExtraMessages.invariants.items() if name != "fewer-entries-than-k"}

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        j = message.receiver
        return [
            Step(
                self.after_sending(i, cleared, j),
                [*extra, Packet(i, j, "message", message, self.entries(cleared.matrix))],
                [AppEvent("send", message)],
            )
            for cleared, extra in self.clearings(i, state)
        ]


RemembersItsOwnColumn = keeps(
    "[SA] §3 forgets the own column: no order and no delivery needs it, since it is satisfied already.",
    (3, 4, 4199),
    Setup(parameters={"k": 9}),
    never_reaches=frozenset(
        {
            "an-extra-message-is-received",
            "an-extra-message-is-sent",
            "an-extra-message-waits",
            "several-extra-messages-are-sent-in-one-step",
        }
    ),
)(KeepsItsOwnColumn, invariants={})

ROWS = variants_in(globals())
