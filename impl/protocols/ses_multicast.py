"""The vector-pair protocol with messages to several sites ([SES], end of §4.2.1).

The sender sends "to every site S in DEST, in the buffer accompanying M, all the pairs (S', VT(M)), where S' is in DEST
and S' ≠ S." The copies go out in one event; afterwards the sender's own buffer has the pair of every site in DEST. The
text does not mention this: it is §4.2.1's rule for one destination, applied to each.
"""

from collections.abc import Collection, Sequence

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.spec.computation import Message

from .ses import Ses, Stamp, State


class SesMulticast(Ses):
    source = "[SES] §4.2.1, end"
    sends = "multicast"
    admits_multicast = True
    bound = (3, 3)

    rules = {
        **Ses.rules,
        "a-copy-carries-the-pair-of-another-destination": lambda machine, t: (
            t.sends and any(packet.stamp.time in packet.stamp.buffer for packet in t.step.packets)
        ),
    }

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        time = self.after_event(i, state.time)
        packets = [
            Packet(i, j, "message", message, Stamp(time, self.accompanying(state.buffer, j, message.receivers, time)))
            for j in message.receivers
        ]
        after = State(time, self.with_pairs(state.buffer, message.receivers, time))
        return [Step(after, packets, [AppEvent("send", message)])]

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        """The stamp of the copy for S_j: the buffer, and the pairs of the other sites in DEST."""
        pairs = self.with_pairs(buffer, dest, time)
        return self.ops.matrix(
            lambda l, k: buffer[l][k] * self.ops.one_if(l == j) + pairs[l][k] * self.ops.one_if(l != j)
        )

    def with_pairs(self, buffer: Value, dest: Collection[int], time: Value) -> Value:
        """(S', VT) inserted for every S' in DEST; older pairs for them are discarded (§4.2.1)."""
        among = self.ops.indicator
        return self.ops.matrix(lambda l, k: buffer[l][k] * (1 - among(l, dest)) + time[k] * among(l, dest))
