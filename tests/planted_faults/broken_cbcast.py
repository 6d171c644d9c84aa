"""Causal broadcast [BSS91], with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from overrides import LOST, TWICE, always, entries_where, vector_sum
from planted import ProgramCatch, Setup, breaks, keeps, planted_in

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.cbcast import Cbcast
from crownless.spec.computation import Message

TWO_IN_TURN = "P1: send a to P2, P3; send b to P2, P3\nP2: receive; receive\nP3: receive; receive"

# -- broadcasting: increment the own entry, attach the vector, to all others -------------------------------------------

NeverCountsItsBroadcasts = breaks(delivers_all=(2, 1, 1))(Cbcast, after_sending=lambda self, i, state: state)
CountsOnePerReceiver = breaks(delivers_all=(3, 1, 1))(
    Cbcast,
    after_sending=lambda self, i, state: self.ops.vector(lambda k: state[k] + (self.n - 1) * self.ops.one_if(k == i)),
)
AttachesTheVectorBefore = breaks(delivers_all=(2, 1, 1), fifo=(2, 2, 3))(
    Cbcast, stamped=lambda self, packet, before, after: before
)
#: A number, not a vector: what the sender has delivered does not travel.
AttachesItsOwnEntryAlone = breaks(causal=(3, 2, 4))(
    Cbcast, stamped=lambda self, packet, before, after: entries_where(self, after, lambda k: k == packet.source)
)


@breaks(delivers_all=(3, 1, 2))
class NumbersItsPackets(Cbcast):
    """A number more for each receiver, and not one vector for all."""

    symmetric = False

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        after, packets = state, []
        for j in message.receivers:
            after = self.after_sending(i, after)
            packets.append(Packet(i, j, "message", message, after))
        return [Step(after, packets, [AppEvent("send", message)])]


LeavesTheLastOut = breaks(delivers_all=(2, 1, 1))(
    Cbcast,
    symmetric=False,
    send=lambda self, i, state, message: [
        step._replace(packets=step.packets[:-1]) for step in Cbcast.send(self, i, state, message)
    ],
)
WaitsToHearFromAll = breaks(ProgramCatch("completes", TWO_IN_TURN, 3))(
    Cbcast, blocked_if=lambda self, state, message: any(count < state[message.sender] for count in state)
)

# -- delivering at i from j: VT(m)[j] = VT(p_i)[j] + 1, and VT(m)[k] ≤ VT(p_i)[k] for all others k ---------------------

DeliversBroadcastsAsTheyArrive = breaks(causal=(2, 2, 3), fifo=(2, 2, 3))(Cbcast, deliverable=always)
AsksOnlyTheSender = breaks(causal=(3, 2, 4), delivers_all=(3, 2, 5), fifo=(3, 3, 6))(
    Cbcast, deliverable=lambda self, i, state, packet: packet.stamp[packet.source] == state[packet.source] + 1
)
AsksOnlyTheOthers = breaks(fifo=(2, 2, 3))(Cbcast, every=lambda i, j, k, state, m: k == j or m[k] <= state[k])
LetsOneOfTheSenderBeMissing = breaks(fifo=(2, 2, 3), delivers_all=(2, 2, 3))(
    Cbcast, every=lambda i, j, k, state, m: m[k] <= state[k] if k != j else 0 < m[j] - state[j] <= 2
)
LetsOneOfOthersBeMissing = breaks(causal=(3, 2, 4), delivers_all=(3, 2, 5), fifo=(3, 3, 6))(
    Cbcast, every=lambda i, j, k, state, m: m[k] <= state[k] + 1 if k != j else m[j] == state[j] + 1
)
AsksTheOthersForLess = breaks(delivers_all=(2, 1, 1))(
    Cbcast, every=lambda i, j, k, state, m: m[k] < state[k] if k != j else m[j] == state[j] + 1
)
AsksTheOthersForExactlyAsMany = breaks(delivers_all=(2, 2, 2))(
    Cbcast, every_counted=lambda i, j, k, own, state, m: m[k] == state[k] + own
)
#: A copy of a message that is delivered already waits for nothing: only a channel that duplicates shows that it is not
#: = of the sender. Where every packet arrives once, = and ≤ are the same.
AsksTheSenderForAtMostOneMore = breaks(delivers_once=(2, 1, 4), setup=Setup("duplicating"))(
    keeps((3, 3, 923))(Cbcast, every_counted=lambda i, j, k, own, state, m: m[k] <= state[k] + own)
)
ThrowsAwayWhatIsEarly = breaks(delivers_all=(2, 2, 4))(Cbcast, **LOST)
DeliversBroadcastsTwice = breaks(delivers_once=(2, 1, 2))(Cbcast, on_packet=TWICE)

# -- after delivering: take the maximum --------------------------------------------------------------------------------

NeverTakesTheMaximum = breaks(delivers_all=(2, 2, 3), causal=(3, 2, 4))(
    Cbcast, after_delivering=lambda self, state, stamp: state
)
TakesTheVectorOver = breaks(delivers_all=(2, 3, 5), fifo=(2, 3, 5))(
    Cbcast, after_delivering=lambda self, state, stamp: stamp
)
AddsTheVector = breaks(delivers_all=(2, 3, 5), fifo=(2, 4, 7))(Cbcast, after_delivering=vector_sum)
#: The receiver's entry is incremented with every delivery too, as vector time would have it.
CountsADeliveryForItself = breaks(delivers_all=(2, 2, 3))(
    Cbcast, after_packet=lambda self, packet, before, after: self.after_sending(packet.destination, after)
)

# -- variations --------------------------------------------------------------------------------------------------------

#: The maximum is an increment for the sender: of the others the receiver knows as much as the message, or it would not
#: deliver it.
CountsTheDelivery = keeps((3, 3, 923))(
    Cbcast, after_packet=lambda self, packet, before, after: self.after_sending(packet.source, before)
)
#: 'all others k' may leave the receiver out. Nobody knows more of its broadcasts than it.
AsksNotForItsOwn = keeps((3, 3, 923))(
    Cbcast, every=lambda i, j, k, state, m: k == i or (m[k] <= state[k] if k != j else m[j] == state[j] + 1)
)
#: It does not have to do the 'one greater' check ([Kup], Discussion): increment after sending, ask for as many of
#: everybody, let the receiver increment too, as the matrix protocol does.
CountsAfterBroadcasting = keeps((3, 3, 923), never_reaches=["a-merge-raises-an-entry"])(
    AttachesTheVectorBefore,
    every=lambda i, j, k, state, m: m[k] <= state[k],
    after_packet=lambda self, packet, before, after: self.after_sending(packet.source, before),
)

ROWS = planted_in(globals())
