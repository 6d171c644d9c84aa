"""The matrix protocol in the form of [MF] §2: increment before sending, and require exactly one more from the sender.

Every process i has a matrix M_i. Sending to j increments M_i[i, j] and attaches M_i. A message from i with matrix M is
delivered at j when M[k, j] ≤ M_j[k, j] for all k ≠ i, and M[i, j] = M_j[i, j] + 1; M_j then becomes the maximum of
the two. There is no DELIV: the own column of M_j serves. [Kup] (Discussion) has a hunch that this is the same protocol.

The text says that whenever "a process j receives a message together with its attached matrix M, M_j is updated"; the
update is made when the message is delivered, since otherwise a message would be counted as received while it still
waits.

A finding: a message to oneself is never delivered, since M[i, i] ≤ M_i[i, i] from its own sending on.
"""

from collections.abc import Sequence

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rules import column, entries, merges, waits
from crownless.spec.computation import Message


class RstBefore(ProtocolMachine):
    source = "[MF] §2"
    promises = "causal"
    admits_self_sends = True  # the text does not exclude them; the explorer shows what they do
    symmetric = True

    rules = {
        **waits(lambda machine, t: (column(t.before, t.process), column(before_sending(t.packet), t.process))),
        **merges(lambda machine, t: (entries(t.before), entries(before_sending(t.packet)))),
    }

    def initial(self, i: int) -> Value:
        """The local state is M_i: n × n messages, row sender, column receiver."""
        return self.ops.matrix(lambda k, l: 0)

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        """Increment M_i[i, j] and attach M_i."""
        after = self.after_sending(i, state, message.receiver)
        packet = Packet(i, message.receiver, "message", message, self.stamp(state, after))
        return [Step(after, [packet], [AppEvent("send", message)])]

    def stamp(self, before: Value, after: Value) -> Value:
        return after

    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.incremented(state, i, j)

    def deliverable(self, j: int, state: Value, packet: Packet) -> Value:
        """∀k ≠ i: M[k, j] ≤ M_j[k, j], and M[i, j] = M_j[i, j] + 1."""
        i, stamp = packet.source, packet.stamp
        return self.ops.all_of(
            self.ops.every(lambda k: stamp[k][j] <= state[k][j] + self.ops.one_if(k == i)),
            stamp[i][j] == state[i][j] + 1,
        )

    def on_packet(self, j: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [Step(self.after_delivering(state, packet.stamp), (), [AppEvent("deliver", packet.message)])]

    def after_delivering(self, state: Value, stamp: Value) -> Value:
        """The componentwise maximum of M and M_j."""
        return self.ops.maximum(state, stamp)

    def renamed(self, state: Value, renaming: Renaming) -> Value:
        return renaming.matrix(state)

    def renamed_stamp(self, kind: str, stamp: Value, renaming: Renaming) -> Value:
        return renaming.matrix(stamp)


def before_sending(packet: Packet) -> tuple[tuple[int, ...], ...]:
    """The matrix of the sender before it incremented."""
    i, j = packet.source, packet.destination
    return tuple(
        [tuple([entry - (k == i and l == j) for l, entry in enumerate(row)]) for k, row in enumerate(packet.stamp)]
    )
