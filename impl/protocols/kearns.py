"""Message-count vectors of Kearns & Koodalattupuram ([MF] §2): one server hears its clients in causal order.

V_i[k] is process i's knowledge of the number of messages that k has sent to the server. A client increments its own
component before each message to the server, attaches its vector to every message, and takes the maximum with received
vectors. The server delays a message until no message of *another* client on which it causally depends is missing.

Modelling choices: the text says what a client does with the vector of another client; it takes the maximum with that
of the server's messages too. The server is P1 unless set otherwise. Messages among clients, and from the server, are
delivered as they arrive: the promise is about the deliveries at the server alone.

A finding: the server's condition leaves out the sender (j ≠ i), and so two messages of one client may overtake each
other where the channel lets them. The text names no channel; the protocol needs FIFO channels.
"""

from collections.abc import Sequence

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Parameter, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rules import merges, waits
from crownless.spec.computation import Message


class Kearns(ProtocolMachine):
    source = "[MF] §2"
    promises = "causal"
    needs_channel = "fifo"
    bound = (3, 4)
    parameters = {
        "server": Parameter(
            "the number of the process that is the server", lambda n: 1, 1, "processes are numbered from 1", False,
            lambda n: n,
        )
    }  # fmt: skip

    rules = {
        "the-server-waits-for-another-client": waits(lambda machine, t: (t.before, t.packet.stamp))[
            "waits-for-a-message-of-another"
        ],
        **merges(lambda machine, t: (t.before, t.packet.stamp)),
        "a-client-counts-its-message-to-the-server": lambda machine, t: (
            t.sends and t.message.receiver == machine.server
        ),
        "a-client-learns-from-another": lambda machine, t: (
            t.received
            and machine.server not in (t.process, t.packet.source)
            and any(there > here for here, there in zip(t.before, t.packet.stamp, strict=True))
        ),
        "the-server-learns-of-messages-of-another-client": lambda machine, t: (
            t.received
            and t.process == machine.server
            and any(count for k, count in enumerate(t.packet.stamp) if k != t.packet.source)
        ),
    }

    @property
    def server(self) -> int:
        return self.setting("server") - 1

    @property
    def ordered_at(self) -> frozenset[int]:
        return frozenset({self.server})

    def initial(self, i: int) -> Value:
        """The local state is V_i: n messages to the server, by sender."""
        return self.ops.vector(lambda k: 0)

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        """Before a client issues a message to the server it increments its own component; it attaches the vector."""
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, after)], [AppEvent("send", message)])]

    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == i, j == self.server))

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        """At the server: for all j ≠ i, the sender: V_s[j] ≥ V_m[j]. A client delays nothing."""
        return i != self.server or self.ops.every(
            lambda j: self.ops.one_if(j != packet.source) * packet.stamp[j] <= state[j]
        )

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        """Consumes the message after taking the componentwise maximum."""
        return [Step(self.after_delivering(state, packet.stamp), (), [AppEvent("deliver", packet.message)])]

    def after_delivering(self, state: Value, stamp: Value) -> Value:
        return self.ops.maximum(state, stamp)

    def renamed(self, state: Value, renaming: Renaming) -> Value:
        """Printed although the server differs from its clients, to show that it does."""
        return renaming.vector(state)

    def renamed_stamp(self, kind: str, stamp: Value, renaming: Renaming) -> Value:
        return renaming.vector(stamp)
