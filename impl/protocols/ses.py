"""The vector-pair protocol of Schiper, Eggli & Sandoz [SES] §4.2.

Every site S keeps its logical time VT(S), a vector, and ORD_BUFF_S, a set of pairs (S', VT): no message that carries
such a pair can be delivered to S' as long as VT ≤ VT(S') is not true. A message carries its timestamp and the sender's
buffer as it was before the message itself was entered.

Modelling choices: sending is an event and advances the clock; the timestamp VT(M) is the time just after it. So is
delivery ("update the site's logical time", §4.2.2), not arrival. There is at most one pair per site, so ORD_BUFF_S is
kept as a matrix: the row of S' is its time vector, and a row of zeroes means that there is no pair. (No message has the
time zero, and zero is ≤ every time, so that a site without a pair needs no case of its own.)

The text writes < for ≤ on vectors. Messages to oneself are excluded: a buffer holds pairs for every *other* site.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step, Transition
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class State(NamedTuple):
    time: Value  #: VT(S): n events, by site
    buffer: Value  #: ORD_BUFF_S: for each site the time vector of its pair, or zeroes


class Stamp(NamedTuple):
    time: Value  #: VT(M)
    buffer: Value  #: ORD_BUFF of the sender, before M


class Ses(ProtocolMachine):
    source = "[SES] §4.2"
    promises = "causal"
    symmetric = True

    invariants = {
        "pairs-are-of-the-past": lambda machine, i, state: machine.ops.every(
            lambda l: machine.ops.every(lambda k: state.buffer[l][k] <= state.time[k])
        ),
        "no-pair-for-itself": lambda machine, i, state: machine.ops.every(lambda k: state.buffer[i][k] == 0),
    }

    rules = {
        "an-older-pair-is-replaced": lambda machine, t: (
            t.sends and any(any(t.before.buffer[j]) for j in t.message.receivers)
        ),
        "a-pair-for-this-site-is-of-the-past": lambda machine, t: (
            bool(t.delivers()) and any(machine.delivered(t).stamp.buffer[t.process])
        ),
        "a-pair-is-introduced": lambda machine, t: any(not any(own) for own, _ in pairs_met(machine, t)),
        "a-carried-pair-is-greater": lambda machine, t: any(
            any(own) and less(own, carried) for own, carried in pairs_met(machine, t)
        ),
        "a-local-pair-is-greater": lambda machine, t: any(less(carried, own) for own, carried in pairs_met(machine, t)),
        "of-two-pairs-the-supremum-is-neither": lambda machine, t: any(
            own != carried and not less(own, carried) and not less(carried, own)
            for own, carried in pairs_met(machine, t)
            if any(own)
        ),
        "an-entry-of-the-time-is-raised": lambda machine, t: (
            bool(t.delivers()) and any(map(int.__lt__, t.before.time, machine.delivered(t).stamp.time))
        ),
        "a-greater-entry-of-the-time-is-kept": lambda machine, t: (
            bool(t.delivers()) and any(map(int.__gt__, t.before.time, machine.delivered(t).stamp.time))
        ),
    }

    def initial(self, i: int) -> State:
        return State(self.ops.vector(lambda k: 0), self.ops.matrix(lambda k, l: 0))

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """Emission (§4.2.1): the buffer goes with the message; then the pair (S2, VT(M)) is inserted."""
        time = self.after_event(i, state.time)
        packet = Packet(i, message.receiver, "message", message, Stamp(time, state.buffer))
        after = State(time, self.with_pair(state.buffer, message.receiver, time))
        return [Step(after, [packet], [AppEvent("send", message)])]

    def after_event(self, i: Value, time: Value) -> Value:
        """A local event: VT(S_i)[i] := VT(S_i)[i] + 1 (§4.1)."""
        return self.ops.incremented(time, i)

    def with_pair(self, buffer: Value, j: Value, time: Value) -> Value:
        """(S_j, VT) inserted; an older pair for S_j is discarded (§4.2.1)."""
        return self.ops.matrix(lambda l, k: buffer[l][k] * self.ops.one_if(l != j) + time[k] * self.ops.one_if(l == j))

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        """Arrival (§4.2.2): the message carries no pair for this site, or one with VT ≤ VT(S)."""
        return self.ops.every(lambda k: packet.stamp.buffer[i][k] <= state.time[k])

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        after = self.after_delivering(i, state, packet.source, packet.stamp)
        return [Step(after, (), [AppEvent("deliver", packet.message)])]

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Stamp) -> State:
        """(1) Merge the accompanying buffer, (2) update the logical time (§4.2.2)."""
        return State(self.time_after(i, state.time, stamp.time), self.merged(i, state.buffer, stamp.buffer))

    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        """The rule of §4.1: the own entry + 1, the others the maximum."""
        return self.ops.vector(
            lambda k: (
                (time[k] + 1) * self.ops.one_if(k == i)
                + self.ops.maximum(time[k], of_message[k]) * self.ops.one_if(k != i)
            )
        )

    def merged(self, i: Value, buffer: Value, carried: Value) -> Value:
        """Of two pairs for one site the supremum; a pair for this site need not be introduced (§4.2.2)."""
        return self.ops.matrix(lambda l, k: self.ops.maximum(buffer[l][k], carried[l][k]) * self.ops.one_if(l != i))

    def delivered(self, t: Transition) -> Packet:
        """The packet whose message a transition delivers."""
        packet: Packet = t.packet
        return packet

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.vector(state.time), renaming.matrix(state.buffer))

    def renamed_stamp(self, kind: str, stamp: Stamp, renaming: Renaming) -> Stamp:
        return Stamp(renaming.vector(stamp.time), renaming.matrix(stamp.buffer))


def pairs_met(machine: Ses, t: Transition) -> list[tuple[Sequence[int], Sequence[int]]]:
    """On a delivery, for each other site for which the message carries a pair: the pair here, or zeroes, and that."""
    if not t.delivers():
        return []
    carried = machine.delivered(t).stamp.buffer
    return [(t.before.buffer[l], carried[l]) for l in range(machine.n) if l != t.process and any(carried[l])]


def less(a: Sequence[int], b: Sequence[int]) -> bool:
    """a < b, as vectors are compared."""
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))
