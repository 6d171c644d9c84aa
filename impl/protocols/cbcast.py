"""Causal broadcast with vector clocks, CBCAST of Birman, Schiper & Stephenson [BSS91], as [Kup] refers to it.

Every process counts the broadcasts it has delivered from each other process, and its own. A broadcast carries the
vector, with its own number at its sender's place. It is delivered when it is the next one from its sender, and all
others that its vector counts are delivered.

Modelling choices: one group whose members stay the same. A process's own broadcast counts as delivered to itself at
once, and is not a self-send here. A message to fewer than all others is the misuse of [Kup] footnote 1: "it
would certainly be a big problem for liveness".
"""

from collections.abc import Sequence

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rules import merges, waits
from crownless.spec.computation import Message


class Cbcast(ProtocolMachine):
    source = "[BSS91], [Kup]"
    promises = "causal"
    sends = "broadcast"
    bound = (3, 4)
    admits_multicast = True
    symmetric = True

    rules = {
        **waits(lambda machine, t: (t.before, earlier_broadcasts(t.packet))),
        **merges(lambda machine, t: (t.before, t.packet.stamp)),
    }

    def initial(self, i: int) -> Value:
        """The local state is VT(p_i): n broadcasts, by sender."""
        return self.ops.vector(lambda k: 0)

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        """Increment the own entry and attach the vector."""
        after = self.after_sending(i, state)
        packets = [Packet(i, j, "message", message, after) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]

    def after_sending(self, i: Value, state: Value) -> Value:
        return self.ops.incremented(state, i)

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        """VT(m)[j] = VT(p_i)[j] + 1 for the sender j, and VT(m)[k] ≤ VT(p_i)[k] for all others k."""
        j, stamp = packet.source, packet.stamp
        return self.ops.all_of(
            self.ops.every(lambda k: stamp[k] <= state[k] + self.ops.one_if(k == j)), stamp[j] == state[j] + 1
        )

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [Step(self.after_delivering(state, packet.stamp), (), [AppEvent("deliver", packet.message)])]

    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return self.ops.maximum(state, stamp)

    def renamed(self, state: Value, renaming: Renaming) -> Value:
        return renaming.vector(state)

    def renamed_stamp(self, kind: str, stamp: Value, renaming: Renaming) -> Value:
        return renaming.vector(stamp)


def earlier_broadcasts(packet: Packet) -> tuple[int, ...]:
    """The counts of the packet's vector, less its own broadcast."""
    return tuple([count - (k == packet.source) for k, count in enumerate(packet.stamp)])
