"""The vector-pair protocol of Schiper, Eggli & Sandoz as independent choices.

The first alternatives are those of [SES] §4.2. Others are its deletion of obsolete pairs (§4.2.4), pairs and timestamps
of one entry, and what an implementer may try or get wrong. All are written in `ops`, so that z3 executes them, too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.ses import Ses, Stamp, State
from crownless.spec.computation import Message

from .combinations import combination_of

if TYPE_CHECKING:
    from crownless.proofs.induction.causal_order import CausalOrder


class SesByKnobs(Ses):
    """The vector-pair protocol in methods, with the alternatives of each."""

    invariants = {}
    rules = {}

    @classmethod
    def proof_of(cls) -> "CausalOrder | None":
        """The proof of a combination, which reads its invariants off the choices."""
        from .proof_of_ses import proof  # z3 takes long to import

        combination = combination_of(cls)
        return None if combination is None else proof(combination)

    # -- on sending ----------------------------------------------------------------------------------------------------

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        j = message.receiver
        time = self.clock(i, state.time, state.time, 1)
        buffer = self.with_pair(state.buffer, j, self.inserted(i, state.buffer[j], state.time, time))
        stamp = Stamp(self.time_attached(i, time), self.attached(i, j, state.buffer, buffer))
        return [Step(State(time, buffer), [Packet(i, j, "message", message, stamp)], [AppEvent("send", message)])]

    def inserted(self, i: Value, older: Value, before: Value, time: Value) -> Value:
        """The pair for the receiver after a send, given that before it, and VT(S) before and after."""
        return time

    def time_attached(self, i: Value, time: Value) -> Value:
        """The timestamp that travels."""
        return time

    def attached(self, i: Value, j: Value, before: Value, after: Value) -> Value:
        """The pairs that travel: those before the insertion, or after it."""
        return before

    # -- on arrival ----------------------------------------------------------------------------------------------------

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        return self.test(i, packet.source, packet.stamp.buffer[i], state.time)

    def test(self, i: Value, j: Value, pair: Value, time: Value) -> Value:
        """Compares the pair for this site, which a message from j carries, with VT(S)."""
        return self.ops.every(lambda k: pair[k] <= time[k])

    # -- on delivery ---------------------------------------------------------------------------------------------------

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Stamp) -> State:
        buffer = self.deleted(j, self.merged(i, state.buffer, stamp.buffer), stamp.time)
        return State(self.clock(i, state.time, stamp.time, 0), buffer)

    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        """The site's pairs merged with those of the message."""
        return self.without_pair(i, self.ops.maximum(buffer, carried))

    def deleted(self, j: Value, buffer: Value, of_message: Value) -> Value:
        """The pairs without obsolete ones, after a message from j with this time."""
        return buffer

    # -- on both -------------------------------------------------------------------------------------------------------

    def clock(self, i: Value, time: Value, of_message: Value, sends: Value) -> Value:
        """VT(S) after a send, or a delivery of a message with this time. `sends`: 1 after a send, otherwise 0."""
        return self.ops.incremented(self.ops.maximum(time, of_message), i)

    # -- the alternatives ----------------------------------------------------------------------------------------------

    def is_empty(self, pair: Value) -> Value:
        """1 if there is no such pair, otherwise 0."""
        return self.ops.one_if(self.ops.every(lambda k: pair[k] == 0))

    def is_obsolete(self, pair: Value, of_message: Value) -> Value:
        """1 if VT ≤ VT(M), otherwise 0."""
        return self.ops.one_if(self.ops.every(lambda k: pair[k] <= of_message[k]))

    def entry_alone(self, i: Value, time: Value) -> Value:
        """The time with the other entries zero."""
        return self.ops.vector(lambda k: time[k] * self.ops.one_if(k == i))

    def without_pair(self, j: Value, buffer: Value) -> Value:
        """The buffer without the pair for j."""
        return self.ops.matrix(lambda l, k: buffer[l][k] * self.ops.one_if(l != j))

    def without_pair_if(self, deletes: Value, j: Value, buffer: Value) -> Value:
        """The buffer, without the pair for j if the number is 1, not 0."""
        return self.ops.matrix(lambda l, k: buffer[l][k] * (1 - self.ops.one_if(l == j) * deletes))

    knobs: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
        "inserted": {
            "VT(M)": lambda self, i, older, before, time: time,
            "the sender's entry of VT(M), alone": lambda self, i, older, before, time: self.entry_alone(i, time),
            "the sender's entry of VT(M), into the older pair": lambda self, i, older, before, time: self.ops.maximum(
                older, self.entry_alone(i, time)
            ),
            "the time before the send": lambda self, i, older, before, time: before,
        },
        "attached": {
            "the buffer before the insertion": lambda self, i, j, before, after: before,
            "the buffer after the insertion": lambda self, i, j, before, after: after,
            "the receiver's pair alone": lambda self, i, j, before, after: self.ops.matrix(
                lambda l, k: before[l][k] * self.ops.one_if(l == j)
            ),
        },
        "time_attached": {
            "VT(M)": lambda self, i, time: time,
            "the sender's entry of VT(M)": lambda self, i, time: self.entry_alone(i, time),
        },
        "test": {
            "VT ≤ VT(S)": lambda self, i, j, pair, time: self.ops.every(lambda k: pair[k] <= time[k]),
            "VT ≤ VT(S), but for the own entry": lambda self, i, j, pair, time: self.ops.every(
                lambda k: pair[k] * self.ops.one_if(k != i) <= time[k]
            ),
            "VT ≤ VT(S), and not equal": lambda self, i, j, pair, time: self.ops.all_of(
                self.ops.every(lambda k: pair[k] <= time[k]),
                self.ops.one_if(self.ops.every(lambda k: pair[k] == time[k])) <= self.is_empty(pair),
            ),
            "the sender's entry alone": lambda self, i, j, pair, time: pair[j] <= time[j],
        },
        "merged": {
            "supremum": lambda self, i, buffer, carried: self.without_pair(i, self.ops.maximum(buffer, carried)),
            "supremum, also of the own pair": lambda self, i, buffer, carried: self.ops.maximum(buffer, carried),
            "a carried pair replaces the local one": lambda self, i, buffer, carried: self.without_pair(
                i, self.ops.matrix(lambda l, k: carried[l][k] + buffer[l][k] * self.is_empty(carried[l]))
            ),
        },
        "deleted": {
            "nothing": lambda self, j, buffer, of_message: buffer,
            "the sender's pair, if VT ≤ VT(M)": lambda self, j, buffer, of_message: self.without_pair_if(
                self.is_obsolete(buffer[j], of_message), j, buffer
            ),
            "of the sender's pair, the entries ≤ VT(M)": lambda self, j, buffer, of_message: self.ops.matrix(
                lambda l, k: buffer[l][k] * (1 - self.ops.one_if(l == j, buffer[j][k] <= of_message[k]))
            ),
            "the sender's pair": lambda self, j, buffer, of_message: self.without_pair(j, buffer),
        },
        "clock": {
            "sends and deliveries tick": lambda self, i, time, of_message, sends: self.ops.incremented(
                self.ops.maximum(time, of_message), i
            ),
            "sends tick": lambda self, i, time, of_message, sends: self.ops.vector(
                lambda k: self.ops.maximum(time[k], of_message[k]) + sends * self.ops.one_if(k == i)
            ),
            "deliveries tick": lambda self, i, time, of_message, sends: self.ops.vector(
                lambda k: self.ops.maximum(time[k], of_message[k]) + (1 - sends) * self.ops.one_if(k == i)
            ),
            "both tick, the other entries overwritten": lambda self, i, time, of_message, sends: self.ops.vector(
                lambda k: (time[k] + 1) * self.ops.one_if(k == i) + of_message[k] * self.ops.one_if(k != i)
            ),
        },
    }
