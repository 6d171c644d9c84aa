"""Message-count vectors, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.impl.kearns import Kearns
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.variants import ProgramCatch, Setup, breaks, keeps, twice, variants_in
from crownless.spec.computation import Message

#: The third client hears of a from one who has only heard of it.
A_CHAIN_OF_CLIENTS = """
P1: receive; receive
P2: send a to P1; send b to P3
P3: receive; send c to P4
P4: receive; send d to P1
"""

#: After a and b the server has added 1 and 2, as many as e says there are.
THREE_AND_ONE_THAT_INFORMS = """
P1: receive; receive; receive; receive
P2: send a to P1; send b to P1; send c to P1; send d to P3
P3: receive; send e to P1
"""

#: The text names no channel, and the protocol needs this one.
FIFO = Setup("fifo")

# -- a client sends ----------------------------------------------------------------------------------------------------

NeverCountsItsSends = breaks(
    "[MF] §2: before a client issues a message to the server, it increments V_i[i]", causal=(3, 3, 5), setup=FIFO
)(Kearns, after_sending=lambda self, i, state, j: state)

CountsSendsToClients = breaks(
    "[MF] §2: V_i[j] is the number of messages sent to the server, not of all: a slight variant of vector time",
    delivers_all=(3, 2, 4),
    setup=FIFO,
)(Kearns, after_sending=lambda self, i, state, j: self.ops.vector(lambda k: state[k] + self.ops.one_if(k == i)))


@breaks(
    "[MF] §2: V_i[j] is the number of messages sent to the server, not of others", delivers_all=(3, 2, 4), setup=FIFO
)
class CountsOnlySendsToClients(Kearns):
    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == i, j != self.server))


@breaks("[MF] §2: the client increments its own component", delivers_all=(2, 1, 2), setup=FIFO)
class CountsAtTheServersEntry(Kearns):
    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == self.server, j == self.server))


@breaks(
    "[MF] §2: before it issues the message; else the server never learns that it was sent",
    delivers_all=(3, 3, 6),
    setup=FIFO,
)
class CountsAfterAttaching(Kearns):
    """The vector does not count the message itself, and the server never learns of a client's last one."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, state)], [AppEvent("send", message)])]


@breaks("[MF] §2: vectors are piggybacked on each message, to clients too", causal=(3, 3, 5), setup=FIFO)
class AttachesNothingToClients(Kearns):
    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if message.receiver == self.server:
            return [step]
        nothing = self.ops.vector(lambda k: 0)
        return [step._replace(packets=[packet._replace(stamp=nothing) for packet in step.packets])]


@breaks("[MF] §2: the client attaches the vector, what it knows of others included", causal=(3, 3, 5), setup=FIFO)
class AttachesOnlyItsOwnCount(Kearns):
    """To the server: what the client knows of others does not travel."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if message.receiver != self.server:
            return [step]
        own = self.ops.vector(lambda k: step.state[k] * self.ops.one_if(k == i))
        return [step._replace(packets=[packet._replace(stamp=own) for packet in step.packets])]


WaitsForTheServer = breaks(
    "[MF] §2: delayed are messages at the server; no client waits to send",
    ProgramCatch("completes", "P1: receive; receive\nP2: send a to P1; send b to P1", 2, FIFO),
)(
    Kearns,
    send=lambda self, i, state, message: (
        [] if message.receiver == self.server and state[i] else Kearns.send(self, i, state, message)
    ),
)

# -- a client receives -------------------------------------------------------------------------------------------------

ClientsLearnNothing = breaks("[MF] §2: a client receiving a message updates its vector", causal=(3, 3, 5), setup=FIFO)(
    Kearns,
    on_packet=lambda self, i, state, packet: [
        step if i == self.server else step._replace(state=state) for step in Kearns.on_packet(self, i, state, packet)
    ],
)

ClientsTakeTheVectorOver = breaks("[MF] §2: to the maximum of V_k and V_j, not to V_k", causal=(3, 4, 7), setup=FIFO)(
    Kearns,
    on_packet=lambda self, i, state, packet: [
        step if i == self.server else step._replace(state=packet.stamp)
        for step in Kearns.on_packet(self, i, state, packet)
    ],
)

ClientsAdd = breaks("[MF] §2: to the maximum, not the sum", delivers_all=(3, 4, 8), setup=FIFO)(
    Kearns,
    on_packet=lambda self, i, state, packet: [
        step if i == self.server else step._replace(state=self.ops.vector(lambda k: state[k] + packet.stamp[k]))
        for step in Kearns.on_packet(self, i, state, packet)
    ],
)


@breaks(
    "[MF] §2: taking the maximum incorporates indirect knowledge: causality is transitive",
    ProgramCatch("causal", A_CHAIN_OF_CLIENTS, 7, FIFO),
)
@keeps(
    "[MF] §2: with two clients knowledge is never indirect. What one hears of is its own count or the other's.",
    (3, 3, 655),
    FIFO,
)
class ClientsLearnOfTheSenderAlone(Kearns):
    """No indirect knowledge, though causality is transitive."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        its = self.ops.vector(lambda k: packet.stamp[k] * self.ops.one_if(k == packet.source))
        return super().on_packet(i, state, packet if i == self.server else packet._replace(stamp=its))


ClientsDelayToo = breaks(
    "[MF] §2: it is the server that compares; what the vectors count was sent to nobody else",
    delivers_all=(3, 2, 4),
    setup=FIFO,
)(Kearns, deliverable=lambda self, i, state, packet: Kearns.deliverable(self, self.server, state, packet))

# -- the server --------------------------------------------------------------------------------------------------------

ServerDelaysNothing = breaks(
    "[MF] §2: if V_s[j] < V_m[j] for some j ≠ i, the message is delayed", causal=(3, 3, 5), setup=FIFO
)(Kearns, deliverable=lambda self, i, state, packet: True)


@breaks("[MF] §2: for some j ≠ i; V_m[i] counts the message itself", delivers_all=(2, 1, 2), setup=FIFO)
class ServerChecksTheSender(Kearns):
    """j = i too: the message is counted in its own vector, and waits for itself."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: packet.stamp[j] <= state[j])


@breaks("[MF] §2: if V_s[j] < V_m[j], by one also", causal=(3, 3, 5), setup=FIFO)
class ServerLetsOneBeMissing(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: j == packet.source or packet.stamp[j] <= state[j] + 1)


@breaks("[MF] §2: <, not ≤", delivers_all=(2, 1, 2), setup=FIFO)
class ServerAsksForMore(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: j == packet.source or packet.stamp[j] < state[j])


@breaks("[MF] §2: <, not ≠: of others the server may know more", delivers_all=(3, 2, 4), setup=FIFO)
class ServerAsksForExactlyAsMany(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: j == packet.source or packet.stamp[j] == state[j])


ServerDropsWhatIsEarly = breaks(
    "[MF] §2: the message is delayed until the missing message has arrived, not lost",
    delivers_all=(3, 3, 6),
    setup=FIFO,
)(
    Kearns,
    deliverable=lambda self, i, state, packet: True,
    on_packet=lambda self, i, state, packet: (
        Kearns.on_packet(self, i, state, packet) if Kearns.deliverable(self, i, state, packet) else [Step(state)]
    ),
)


ServerConsumesTwice = breaks("[MF] §2: the server consumes the message, once", delivers_once=(2, 1, 2), setup=FIFO)(
    Kearns, on_packet=lambda self, i, state, packet: twice(Kearns.on_packet(self, i, state, packet))
)


ServerLearnsNothing = breaks("[MF] §2: the server updates its own vector", delivers_all=(3, 3, 6), setup=FIFO)(
    Kearns,
    on_packet=lambda self, i, state, packet: [
        step if i != self.server else step._replace(state=state) for step in Kearns.on_packet(self, i, state, packet)
    ],
)

ServerTakesTheVectorOver = breaks(
    "[MF] §2: to the maximum of V_m and V_s, not to V_m", delivers_all=(3, 4, 8), setup=FIFO
)(
    Kearns,
    on_packet=lambda self, i, state, packet: [
        step if i != self.server else step._replace(state=packet.stamp)
        for step in Kearns.on_packet(self, i, state, packet)
    ],
)


@breaks("[MF] §2: to the maximum, not the sum", ProgramCatch("causal", THREE_AND_ONE_THAT_INFORMS, 9, FIFO))
class ServerAdds(Kearns):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        added = self.ops.vector(lambda k: state[k] + packet.stamp[k])
        return [
            step if i != self.server else step._replace(state=added) for step in super().on_packet(i, state, packet)
        ]


ServerLearnsOnArrival = breaks(
    "[MF] §2: the server first compares, and updates its vector if it consumes the message",
    causal=(3, 3, 5),
    setup=FIFO,
)(
    Kearns,
    deliverable=lambda self, i, state, packet: Kearns.deliverable(
        self, i, self.after_delivering(state, packet.stamp), packet
    ),
)

# -- variations --------------------------------------------------------------------------------------------------------

ServerCounts = keeps(
    "[MF] §2: over FIFO channels the server's maximum is an increment for the sender: of the others it knows as "
    "much as the message, or it would not consume it.",
    (3, 3, 689),
    FIFO,
)(
    Kearns,
    on_packet=lambda self, i, state, packet: [
        step
        if i != self.server
        else step._replace(state=self.ops.vector(lambda k: state[k] + self.ops.one_if(k == packet.source)))
        for step in Kearns.on_packet(self, i, state, packet)
    ],
)


@keeps(
    "[MF] §2: j ≠ i leaves the sender out, which only FIFO channels excuse. To wait for exactly one more of the "
    "sender, as in the matrix protocol further down, the server needs no channel but the unordered.",
    (3, 3, 759),
)
@keeps(
    "[MF] §2: over FIFO channels the sender's next message is the next, whether the server checks it or not.",
    (3, 3, 689),
    FIFO,
)
class ServerAsksTheSenderForOneMore(Kearns):
    """j = i too, as the next one: what [MF] §2 asks further down, of matrices."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        its = packet.stamp[packet.source] == state[packet.source] + 1
        return i != self.server or (its and super().deliverable(i, state, packet))


@keeps(
    "[MF] §2: the text has vectors taken from 'another client' alone, and needs no more: all that the server could "
    "mention it has itself consumed, and it delays no message for that.",
    (3, 3, 583),
    FIFO,
)
class ServerTellsNothing(Kearns):
    """The server's own messages carry no knowledge: the text has only clients' do."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if i != self.server:
            return [step]
        nothing = self.ops.vector(lambda k: 0)
        return [step._replace(packets=[packet._replace(stamp=nothing) for packet in step.packets])]


ROWS = variants_in(globals())
