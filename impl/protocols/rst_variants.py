"""Two variations on the matrix protocol that [Kup] raises; the third, increment before sending, is `rst-before`.

"Is DELIV redundant?" `rst-sent-alone` keeps no DELIV and reads the own column of SENT in its place. A finding: it is
redundant as long as self-sends are excluded. Such a message counts in the own column before it is delivered, and where
`rst` then no longer delivers, this one also violates FIFO and causal order.

"Couldn't you just send the one column you're actually going to look at", and save space? `rst-column` does, and
violates causal order, since columns that the receiver would pass on to others no longer travel.
"""

from collections.abc import Sequence

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rules import column, waits
from crownless.spec.computation import Message

from .rst import Rst, State


class RstSentAlone(Rst):
    """The matrix protocol without DELIV: the own column of SENT serves ([Kup])."""

    source = "[Kup], Is DELIV redundant?"
    invariants = {}
    constants = ("deliv",)  # there is none
    rules = {
        **Rst.rules,
        **waits(lambda machine, t: (column(t.before.sent, t.process), column(t.packet.stamp, t.process))),
    }

    def initial(self, i: int) -> State:
        return State(self.ops.matrix(lambda k, l: 0), ())

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        """For all k: SENT_i[k, i] ≥ SENT_m[k, i]."""
        return self.ops.every(lambda k: state.sent[k][i] >= packet.stamp[k][i])

    def deliv_after(self, state: State, j: Value) -> Value:
        return ()

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.matrix(state.sent), ())


class RstColumn(Rst):
    """The matrix protocol with only the receiver's column on packets; unsafe ([Kup])."""

    source = "[Kup], Bob's fateful message to Carol"
    #: No process learns of messages between two others, so none ever waits for a message of another.
    rules = {
        name: rule
        for name, rule in waits(lambda machine, t: (t.before.deliv, t.packet.stamp)).items()
        if name != "waits-for-a-message-of-another"
    }

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """Attach column j of SENT_i and nothing else; then increment SENT_i[i, j]."""
        packet = Packet(i, message.receiver, "message", message, self.column(state, message.receiver))
        return [Step(self.after_sending(i, state, message.receiver), [packet], [AppEvent("send", message)])]

    def column(self, state: State, j: Value) -> Value:
        return self.ops.vector(lambda k: state.sent[k][j])

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k])

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        """As in `rst`, but only the receiver's own column is known of the matrix with which the maximum is taken."""
        column = self.ops.matrix(lambda k, l: stamp[k] * self.ops.one_if(l == i))
        return super().after_delivering(i, state, j, column)

    def renamed_stamp(self, kind: str, stamp: Value, renaming: Renaming) -> Value:
        return renaming.vector(stamp)
