"""The matrix protocol with a hold-back queue of its own, as independent choices: when what waits is looked at again.

In `protocols/rst.py` a packet that is not deliverable yet waits at the channel, and is tried at any time. Programs keep
such packets in a queue, and look at it when a packet arrives. That is where several public implementations go wrong:
the choices here are theirs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.spec.computation import Message


class State(NamedTuple):
    sent: Value  #: as in `rst`
    deliv: Value
    queue: tuple[Packet, ...]  #: the hold-back queue, the oldest packet first


class Looked(NamedTuple):
    """The state after some packets were looked at, and the messages delivered."""

    state: State
    delivered: tuple[Message, ...]


class RstQueueByKnobs(ProtocolMachine):
    """The matrix protocol with its hold-back queue in methods, and the alternatives of each."""

    source = "[Kup], [RST91]"
    promises = "causal"
    bound = (3, 4)

    def initial(self, i: int) -> State:
        return State(self.ops.matrix(lambda k, l: 0), self.ops.vector(lambda k: 0), ())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """Attach SENT_i, then increment SENT_i[i, j]."""
        j = message.receiver
        after = state._replace(sent=self.ops.incremented(state.sent, i, j))
        return [Step(after, [Packet(i, j, "message", message, state.sent)], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        """The packet joins the queue, which is then looked at."""
        if self.dropped(i, state, packet):
            return [Step(state)]
        waiting = state._replace(queue=(*state.queue, packet), sent=self.merged_on_arrival(state.sent, packet.stamp))
        after, delivered = self.looked_at(i, waiting)
        return [Step(after, (), [AppEvent("deliver", message) for message in delivered])]

    def dropped(self, i: int, state: State, packet: Packet) -> bool:
        """True if an arriving packet is dropped as a duplicate."""
        return False

    def merged_on_arrival(self, sent: Value, stamp: Value) -> Value:
        """SENT_i after a packet arrives that may wait."""
        return sent

    def looked_at(self, i: int, state: State) -> Looked:
        """Deliver what can be delivered, again and again until nothing changes."""
        delivered: tuple[Message, ...] = ()
        while True:
            after, more = self.one_pass(i, state, state.queue)
            if not more:
                return Looked(after, delivered)
            state, delivered = after, delivered + more

    def one_pass(self, i: int, state: State, packets: Sequence[Packet]) -> Looked:
        """Each of these packets is looked at once, in this order."""
        delivered: tuple[Message, ...] = ()
        for packet in packets:
            if self.accepted(i, packet.source, state.deliv, packet.stamp):
                queue = list(state.queue)
                queue.remove(packet)
                state = self.after_delivering(i, state._replace(queue=tuple(queue)), packet.source, packet.stamp)
                delivered += (packet.message,)
        return Looked(state, delivered)

    def accepted(self, i: int, j: int, delivered: Value, stamp: Value) -> bool:
        """For all k: DELIV_i[k] ≥ SENT_m[k, i]."""
        return bool(self.ops.every(lambda k: delivered[k] >= stamp[k][i]))

    def after_delivering(self, i: int, state: State, j: int, stamp: Value) -> State:
        sent = self.merged_on_delivery(self.receiver_counts(i, j, state.sent), stamp)
        return state._replace(sent=sent, deliv=self.ops.incremented(state.deliv, j))

    def receiver_counts(self, i: int, j: int, sent: Value) -> Value:
        """SENT_i[j, i] is incremented."""
        return self.ops.incremented(sent, j, i)

    def merged_on_delivery(self, sent: Value, stamp: Value) -> Value:
        """The maximum of SENT_i and SENT_m."""
        return self.ops.maximum(sent, stamp)

    knobs: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
        "looked_at": {
            "until nothing changes": lambda self, i, state: RstQueueByKnobs.looked_at(self, i, state),
            "in one pass, the oldest first": lambda self, i, state: self.one_pass(i, state, state.queue),
            "in one pass, the newest first": lambda self, i, state: self.one_pass(i, state, state.queue[::-1]),
            "until one is delivered": lambda self, i, state: next(
                filter(lambda looked: looked.delivered, (self.one_pass(i, state, [each]) for each in state.queue)),
                Looked(state, ()),
            ),
            "only the packet that arrives": lambda self, i, state: self.one_pass(i, state, state.queue[-1:]),
            "only if the packet that arrives is not delivered": lambda self, i, state: (
                self.one_pass(i, state, state.queue[-1:])
                if self.one_pass(i, state, state.queue[-1:]).delivered
                else RstQueueByKnobs.looked_at(self, i, state)
            ),
        },
        "dropped": {
            "nothing": lambda self, i, state, packet: False,
            "what is delivered, by its number": lambda self, i, state, packet: (
                packet.stamp[packet.source][i] < state.deliv[packet.source]
            ),
            "what is delivered, by its number, or waits": lambda self, i, state, packet: (
                packet.stamp[packet.source][i] < state.deliv[packet.source] or packet in state.queue
            ),
            "what SENT knows": lambda self, i, state, packet: (
                packet.stamp[packet.source][i] < state.sent[packet.source][i]
            ),
        },
        "merged_on_arrival": {
            "no": lambda self, sent, stamp: sent,
            "yes": lambda self, sent, stamp: self.ops.maximum(sent, stamp),
        },
        "accepted": {
            "all that SENT_m says": lambda self, i, j, delivered, stamp: bool(
                self.ops.every(lambda k: delivered[k] >= stamp[k][i])
            ),
            "and exactly that from the sender": lambda self, i, j, delivered, stamp: (
                delivered[j] == stamp[j][i] and bool(self.ops.every(lambda k: delivered[k] >= stamp[k][i]))
            ),
        },
        "receiver_counts": {
            "yes": lambda self, i, j, sent: self.ops.incremented(sent, j, i),
            "no": lambda self, i, j, sent: sent,
        },
        "merged_on_delivery": {
            "yes": lambda self, sent, stamp: self.ops.maximum(sent, stamp),
            "no": lambda self, sent, stamp: sent,
        },
    }
