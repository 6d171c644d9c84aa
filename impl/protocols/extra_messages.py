"""The extra-message protocol of Sánchez & Álvarez [SA] §3: a matrix protocol that keeps its matrix small.

M_i[k, j] constrains P_j: it must have delivered that many messages from P_k. Sending to j replaces column j by the
number of the message itself, since its delivery implies the rest. A process whose matrix reaches k non-zero entries
picks a column with the most of them and sends its process an extra message that carries only that column; that, too,
leaves one entry. Messages carry the matrix as its non-zero entries (k, j, M[k, j]).

Readings. The threshold: "the maximum number of non-zero entries a process allows … before it starts clearing" could
mean that k entries are allowed; the particular case k = n + 1 acts whenever "a process P_i detects that its matrix
clock contains n + 1 non-zero entries", and so does this machine: it acts at k. (Allowing k is acting at k + 1.) It
acts within the step that brought the matrix to k, and repeats until fewer are left, so that no process keeps and no
message carries k entries; the text describes one extra message, and for n = 4 one is not always enough. If several
columns have the most entries, each choice is a step. If no column has two entries, nothing can be gained, and it stops:
that is possible only for k < n, since the own column is empty.

DELIV_j[i] counts the extra messages with the others, since M[i, j] does ("which is incremented to indicate the extra
message").
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Parameter, ProtocolMachine, Step, checked_columns
from crownless.impl.renaming import Renaming
from crownless.impl.rules import column, entries, merges, waits
from crownless.spec import invariants
from crownless.spec.computation import Message

#: A matrix by its non-zero entries: (row, column, value), in order.
Entries = tuple[tuple[int, int, int], ...]


class State(NamedTuple):
    matrix: Value  #: M_i: n × n messages, row sender, column receiver
    deliv: Value  #: DELIV_i: n messages, extra ones included, by sender


class ExtraMessages(ProtocolMachine):
    source = "[SA] §3"
    promises = "causal"
    symmetric = True
    parameters = {
        "k": Parameter(
            "non-zero entries at which a matrix is cleared; the paper has n < k ≤ n²",
            lambda n: n + 1, 1, "an empty matrix has 0 non-zero entries", True,
        )
    }  # fmt: skip

    invariants = {
        "own-column-is-zero": lambda machine, i, state: invariants.column_is_zero(state.matrix, i),
        "fewer-entries-than-k": lambda machine, i, state: (
            machine.setting("k", i) < machine.n or len(machine.entries(state.matrix)) < machine.setting("k", i)
        ),
    }

    rules = {
        **waits(lambda machine, t: (t.before.deliv, column(machine.matrix_of(t.packet.stamp), t.process))),
        **merges(lambda machine, t: (entries(t.before.matrix), entries(machine.matrix_of(t.packet.stamp)))),
        "a-column-is-replaced-on-sending": lambda machine, t: (
            t.sends and any(row[t.message.receiver] for k, row in enumerate(t.before.matrix) if k != t.process)
        ),
        "an-extra-message-is-sent": lambda machine, t: t.transmits("extra") > 0,
        "an-extra-message-waits": lambda machine, t: t.held_back and t.packet.kind == "extra",
        "an-extra-message-is-received": lambda machine, t: t.receives("extra"),
        "several-extra-messages-are-sent-in-one-step": lambda machine, t: t.transmits("extra") > 1,
    }

    @property
    def remark(self) -> str:
        values = {self.setting("k", i) for i in range(self.n)}
        return "" if all(self.n < k <= self.n**2 for k in values) else "not n < k ≤ n², as the text has it"

    def initial(self, i: int) -> State:
        return State(self.ops.matrix(lambda k, l: 0), self.ops.vector(lambda k: 0))

    # -- encoding ------------------------------------------------------------------------------------------------------

    def entries(self, matrix: Value) -> Entries:
        """The tuples (k, l, M[k, l]) with M[k, l] > 0: a zero entry is trivially satisfied."""
        return tuple((k, l, value) for k, row in enumerate(matrix) for l, value in enumerate(row) if value)

    def matrix_of(self, entries: Entries) -> Value:
        given = {(k, l): value for k, l, value in entries}
        return self.ops.matrix(lambda k, l: given.get((k, l), 0))

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """Attach M_i; then clear column j but for the entry of this message; then clear the excess entries."""
        packet = Packet(i, message.receiver, "message", message, self.entries(state.matrix))
        after = self.after_sending(i, state, message.receiver)
        return [
            Step(cleared, [packet, *extra], [AppEvent("send", message)]) for cleared, extra in self.clearings(i, after)
        ]

    def after_sending(self, i: Value, state: State, j: Value) -> State:
        """M_i[-, j] is set to zeroes but for M_i[i, j], which is incremented; the same for user and extra messages."""
        matrix = self.ops.matrix(
            lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(k != i, l == j)) + self.ops.one_if(k == i, l == j)
        )
        return state._replace(matrix=matrix)

    def clearings(self, i: int, state: State) -> Iterable[tuple[State, Sequence[Packet]]]:
        """Every way of sending extra messages until the matrix has fewer than k non-zero entries, each once."""
        chosen = checked_columns("columns_to_clear", self.columns_to_clear(i, state), range(self.n))
        if not chosen:
            return [(state, ())]
        ways = {
            (cleared, tuple(sorted((self.extra(i, state, j), *more))))
            for j in chosen
            for cleared, more in self.clearings(i, self.after_sending(i, state, j))
        }
        return sorted(ways)

    def columns_to_clear(self, i: int, state: State) -> list[int]:
        """The columns with most entries, candidates to be cleared next; none if the matrix is small enough."""
        column_sizes = [sum(1 for row in state.matrix if row[j]) for j in range(self.n)]
        most = max(column_sizes)
        if sum(column_sizes) < self.setting("k", i) or most < 2:
            return []
        return [j for j in range(self.n) if column_sizes[j] == most]

    def extra(self, i: int, state: State, j: int) -> Packet:
        """The extra message to P_j."""
        return Packet(i, j, "extra", None, self.column(state, j))

    def column(self, state: State, j: int) -> Entries:
        """M_i[-, j], the constraints that P_j should fulfil: all that an extra message carries."""
        return tuple(entry for entry in self.entries(state.matrix) if entry[1] == j)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        """All constraints about P_i are satisfied: DELIV_i[k] ≥ M_m[k, i]; extra messages wait like any other."""
        return self.satisfied(i, state, self.matrix_of(packet.stamp))

    def satisfied(self, i: Value, state: State, matrix: Value) -> Value:
        return self.ops.every(lambda k: state.deliv[k] >= matrix[k][i])

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.message is None:
            return [Step(self.after_extra(state, packet.source))]
        after = self.after_delivering(i, state, packet.source, self.matrix_of(packet.stamp))
        return [
            Step(cleared, extra, [AppEvent("deliver", packet.message)]) for cleared, extra in self.clearings(i, after)
        ]

    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        """Increment DELIV_i[j]; take the maximum of M_i and M_m, but for the own column, which stays zero."""
        merged = self.ops.matrix(
            lambda k, l: self.ops.maximum(state.matrix[k][l], matrix[k][l]) * self.ops.one_if(l != i)
        )
        return State(merged, self.after_extra(state, j).deliv)

    def after_extra(self, state: State, j: Value) -> State:
        """The delivery of an extra message leaves the matrix as it is; DELIV_i[j] counts it."""
        return state._replace(deliv=self.ops.incremented(state.deliv, j))

    # -- renaming ------------------------------------------------------------------------------------------------------

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.matrix(state.matrix), renaming.vector(state.deliv))

    def renamed_stamp(self, kind: str, stamp: Entries, renaming: Renaming) -> Entries:
        """The renamed entries, sorted by their new places."""
        image = renaming.image
        return tuple(sorted([(image[k], image[l], value) for k, l, value in stamp]))
