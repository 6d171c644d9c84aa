"""The matrix protocol of Raynal, Schiper & Toueg as independent choices.

The first alternatives are those of [Kup]; others are those of [MF] §2 and [SA] §3, and what an implementer may try or
get wrong. SENT and DELIV are those of `protocols/rst.py`. All are written in `ops`, so that z3 executes them, too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.rst import Rst, State
from crownless.spec.computation import Message

from .combinations import combination_of

if TYPE_CHECKING:
    from crownless.proofs.induction.causal_order import CausalOrder


class Sending(NamedTuple):
    attached: Value  #: SENT as it travels
    kept: Value  #: SENT as the sender keeps it


class RstByKnobs(Rst):
    """The matrix protocol in methods, with the alternatives of each."""

    admits_self_sends = False
    bound = (4, 4)  # among three processes a row and a column are the whole of what matters
    invariants = {}
    rules = {}

    @classmethod
    def proof_of(cls) -> "CausalOrder | None":
        """The proof of a combination, which reads its invariants off the choices."""
        from .proof_of_rst import proof  # z3 takes long to import

        combination = combination_of(cls)
        return None if combination is None else proof(combination)

    # -- on sending ----------------------------------------------------------------------------------------------------

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        j = message.receiver
        sending = self.sender_counts(i, j, state.sent)
        stamp = self.left_out(i, j, self.attached(i, j, sending.attached))
        after = State(self.forgotten(i, j, sending.kept), state.deliv)
        return [Step(after, [Packet(i, j, "message", message, stamp)], [AppEvent("send", message)])]

    def sender_counts(self, i: Value, j: Value, sent: Value) -> Sending:
        """SENT_i[i, j] is incremented."""
        return Sending(sent, self.ops.incremented(sent, i, j))

    def attached(self, i: Value, j: Value, sent: Value) -> Value:
        """The part of SENT that travels."""
        return sent

    def left_out(self, i: Value, j: Value, stamp: Value) -> Value:
        """The stamp without entries that are not needed."""
        return stamp

    def forgotten(self, i: Value, j: Value, sent: Value) -> Value:
        """SENT_i after a message to j was sent: what the sender forgets."""
        return sent

    # -- on arrival ----------------------------------------------------------------------------------------------------

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        return self.guard(i, packet.source, self.delivered(i, state), packet.stamp)

    def delivered(self, i: Value, state: State) -> Value:
        """By sender, the number of messages delivered."""
        return state.deliv

    def guard(self, i: Value, j: Value, delivered: Value, stamp: Value) -> Value:
        return self.ops.every(lambda k: delivered[k] >= stamp[k][i])

    # -- on delivery ---------------------------------------------------------------------------------------------------

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        return State(self.learned(i, j, state.sent, stamp), self.deliv_after(state, j))

    def learned(self, i: Value, j: Value, sent: Value, stamp: Value) -> Value:
        """SENT_i after a delivery: the message is counted, then SENT_m is merged."""
        return self.merged(i, self.receiver_counts(i, j, sent), stamp)

    def receiver_counts(self, i: Value, j: Value, sent: Value) -> Value:
        """SENT_i[j, i] is incremented."""
        return self.ops.incremented(sent, j, i)

    def merged(self, i: Value, sent: Value, stamp: Value) -> Value:
        return self.ops.maximum(sent, stamp)

    # -- the alternatives ----------------------------------------------------------------------------------------------

    def only(self, matrix: Value, kept: Callable[[Value, Value], Value]) -> Value:
        """The matrix with its other entries zero; `kept` gives 1 for those to keep, else 0."""
        return self.ops.matrix(lambda k, l: matrix[k][l] * kept(k, l))

    knobs: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
        "sender_counts": {
            "after sending": lambda self, i, j, sent: Sending(sent, self.ops.incremented(sent, i, j)),
            "before sending": lambda self, i, j, sent: Sending(
                self.ops.incremented(sent, i, j), self.ops.incremented(sent, i, j)
            ),
            "never": lambda self, i, j, sent: Sending(sent, sent),
        },
        "attached": {
            "SENT": lambda self, i, j, sent: sent,
            "the receiver's column": lambda self, i, j, sent: self.only(sent, lambda k, l: self.ops.one_if(l == j)),
            "the sender's row": lambda self, i, j, sent: self.only(sent, lambda k, l: self.ops.one_if(k == i)),
            "the sender's row and the receiver's column": lambda self, i, j, sent: self.only(
                sent, lambda k, l: 1 - self.ops.one_if(k != i, l != j)
            ),
        },
        "left_out": {
            "nothing": lambda self, i, j, stamp: stamp,
            "the sender's column": lambda self, i, j, stamp: self.only(stamp, lambda k, l: 1 - self.ops.one_if(l == i)),
            "the entry of the channel": lambda self, i, j, stamp: self.only(
                stamp, lambda k, l: 1 - self.ops.one_if(k == i, l == j)
            ),
        },
        "forgotten": {
            "nothing": lambda self, i, j, sent: sent,
            "the receiver's column, but for the own entry": lambda self, i, j, sent: self.only(
                sent, lambda k, l: 1 - self.ops.one_if(l == j, k != i)
            ),
        },
        "delivered": {
            "DELIV": lambda self, i, state: state.deliv,
            "the own column of SENT": lambda self, i, state: self.ops.vector(lambda k: state.sent[k][i]),
        },
        "guard": {
            "all that SENT_m says": lambda self, i, j, delivered, stamp: self.ops.every(
                lambda k: delivered[k] >= stamp[k][i]
            ),
            "and exactly that from the sender": lambda self, i, j, delivered, stamp: self.ops.all_of(
                self.ops.every(lambda k: delivered[k] >= stamp[k][i]), delivered[j] == stamp[j][i]
            ),
            "one less from the sender": lambda self, i, j, delivered, stamp: self.ops.every(
                lambda k: delivered[k] + self.ops.one_if(k == j) >= stamp[k][i]
            ),
            "exactly one less from the sender": lambda self, i, j, delivered, stamp: self.ops.all_of(
                self.ops.every(lambda k: delivered[k] + self.ops.one_if(k == j) >= stamp[k][i]),
                delivered[j] + 1 == stamp[j][i],
            ),
            "exactly that from all": lambda self, i, j, delivered, stamp: self.ops.every(
                lambda k: delivered[k] == stamp[k][i]
            ),
            "of the sender alone": lambda self, i, j, delivered, stamp: delivered[j] >= stamp[j][i],
            "of all but the sender": lambda self, i, j, delivered, stamp: self.ops.every(
                lambda k: delivered[k] + self.ops.one_if(k == j) * stamp[k][i] >= stamp[k][i]
            ),
            "nothing": lambda self, i, j, delivered, stamp: self.ops.all_of(),
        },
        "receiver_counts": {
            "yes": lambda self, i, j, sent: self.ops.incremented(sent, j, i),
            "no": lambda self, i, j, sent: sent,
        },
        "merged": {
            "maximum": lambda self, i, sent, stamp: self.ops.maximum(sent, stamp),
            "overwritten": lambda self, i, sent, stamp: stamp,
            "not at all": lambda self, i, sent, stamp: sent,
        },
        "learned": {
            "counted, then merged": lambda self, i, j, sent, stamp: self.merged(
                i, self.receiver_counts(i, j, sent), stamp
            ),
            "merged, then counted": lambda self, i, j, sent, stamp: self.receiver_counts(
                i, j, self.merged(i, sent, stamp)
            ),
        },
    }
