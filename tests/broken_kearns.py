"""Message-count vectors, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl.kearns import Kearns
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.spec.computation import Message

#: The text names no channel, and the protocol needs this one.
FIFO = Setup("fifo")

# -- a client sends ----------------------------------------------------------------------------------------------------


class NeverCountsItsSends(Kearns):
    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return state


class CountsSendsToClients(Kearns):
    """Every send counts, whoever it is to, as in vector time, of which these are "only a slight variant"."""

    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == i))


class CountsOnlySendsToClients(Kearns):
    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == i, j != self.server))


class CountsAtTheServersEntry(Kearns):
    def after_sending(self, i: Value, state: Value, j: Value) -> Value:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == self.server, j == self.server))


class CountsAfterAttaching(Kearns):
    """The vector does not count the message itself, and the server never learns of a client's last one."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, state)], [AppEvent("send", message)])]


class AttachesNothingToClients(Kearns):
    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if message.receiver == self.server:
            return [step]
        nothing = self.ops.vector(lambda k: 0)
        return [step._replace(packets=[packet._replace(stamp=nothing) for packet in step.packets])]


class AttachesOnlyItsOwnCount(Kearns):
    """To the server: what the client knows of others does not travel."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if message.receiver != self.server:
            return [step]
        own = self.ops.vector(lambda k: step.state[k] * self.ops.one_if(k == i))
        return [step._replace(packets=[packet._replace(stamp=own) for packet in step.packets])]


class WaitsForTheServer(Kearns):
    """A client sends to the server once, and then waits for an answer that this protocol does not have."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        return [] if message.receiver == self.server and state[i] else super().send(i, state, message)


# -- a client receives -------------------------------------------------------------------------------------------------


class ClientsLearnNothing(Kearns):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [
            step if i == self.server else step._replace(state=state) for step in super().on_packet(i, state, packet)
        ]


class ClientsTakeTheVectorOver(Kearns):
    """What the sender does not know the client forgets, its own count included."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [
            step if i == self.server else step._replace(state=packet.stamp)
            for step in super().on_packet(i, state, packet)
        ]


class ClientsAdd(Kearns):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        added = self.ops.vector(lambda k: state[k] + packet.stamp[k])
        return [
            step if i == self.server else step._replace(state=added) for step in super().on_packet(i, state, packet)
        ]


class ClientsLearnOfTheSenderAlone(Kearns):
    """No indirect knowledge, though causality is transitive."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        its = self.ops.vector(lambda k: packet.stamp[k] * self.ops.one_if(k == packet.source))
        return super().on_packet(i, state, packet if i == self.server else packet._replace(stamp=its))


class ClientsDelayToo(Kearns):
    """Every process checks, as if the messages counted were for it."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return super().deliverable(self.server, state, packet)


# -- the server --------------------------------------------------------------------------------------------------------


class ServerDelaysNothing(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return True


class ServerChecksTheSender(Kearns):
    """j = i too: the message is counted in its own vector, and waits for itself."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: packet.stamp[j] <= state[j])


class ServerLetsOneBeMissing(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: j == packet.source or packet.stamp[j] <= state[j] + 1)


class ServerAsksForMore(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: j == packet.source or packet.stamp[j] < state[j])


class ServerAsksForExactlyAsMany(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return i != self.server or self.ops.every(lambda j: j == packet.source or packet.stamp[j] == state[j])


class ServerDropsWhatIsEarly(Kearns):
    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return True

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet) if super().deliverable(i, state, packet) else [Step(state)]


class ServerConsumesTwice(Kearns):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(i, state, packet)]


class ServerLearnsNothing(Kearns):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [
            step if i != self.server else step._replace(state=state) for step in super().on_packet(i, state, packet)
        ]


class ServerTakesTheVectorOver(Kearns):
    """What the client does not know the server forgets."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        return [
            step if i != self.server else step._replace(state=packet.stamp)
            for step in super().on_packet(i, state, packet)
        ]


class ServerAdds(Kearns):
    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        added = self.ops.vector(lambda k: state[k] + packet.stamp[k])
        return [
            step if i != self.server else step._replace(state=added) for step in super().on_packet(i, state, packet)
        ]


class ServerLearnsOnArrival(Kearns):
    """The maximum is taken first and compared afterwards: nothing is ever missing."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        return super().deliverable(i, self.after_delivering(state, packet.stamp), packet)


# -- variations --------------------------------------------------------------------------------------------------------


class ServerCounts(Kearns):
    """The server increments the sender's entry instead of taking the maximum."""

    def on_packet(self, i: int, state: Value, packet: Packet) -> Sequence[Step]:
        counted = self.ops.vector(lambda k: state[k] + self.ops.one_if(k == packet.source))
        return [
            step if i != self.server else step._replace(state=counted) for step in super().on_packet(i, state, packet)
        ]


class ServerAsksTheSenderForOneMore(Kearns):
    """j = i too, as the next one: what [MF] §2 asks further down, of matrices."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        its = packet.stamp[packet.source] == state[packet.source] + 1
        return i != self.server or (its and super().deliverable(i, state, packet))


class ServerTellsNothing(Kearns):
    """The server's own messages carry no knowledge: the text has only clients' do."""

    def send(self, i: int, state: Value, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if i != self.server:
            return [step]
        nothing = self.ops.vector(lambda k: 0)
        return [step._replace(packets=[packet._replace(stamp=nothing) for packet in step.packets])]


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    # a client sends
    Broken(
        NeverCountsItsSends,
        "[MF] §2: before a client issues a message to the server, it increments V_i[i]",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
    Broken(
        CountsSendsToClients,
        "[MF] §2: V_i[j] is the number of messages sent to the server, not of all: a slight variant of vector time",
        (Catch("delivers-all", 3, 2, 4, FIFO),),
    ),
    Broken(
        CountsOnlySendsToClients,
        "[MF] §2: V_i[j] is the number of messages sent to the server, not of others",
        (Catch("delivers-all", 3, 2, 4, FIFO),),
    ),
    Broken(
        CountsAtTheServersEntry,
        "[MF] §2: the client increments its own component",
        (Catch("delivers-all", 2, 1, 2, FIFO),),
    ),
    Broken(
        CountsAfterAttaching,
        "[MF] §2: before it issues the message; else the server never learns that it was sent",
        (Catch("delivers-all", 3, 3, 6, FIFO),),
    ),
    Broken(
        AttachesNothingToClients,
        "[MF] §2: vectors are piggybacked on each message, to clients too",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
    Broken(
        AttachesOnlyItsOwnCount,
        "[MF] §2: the client attaches the vector, what it knows of others included",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
    # a client receives
    Broken(
        ClientsLearnNothing,
        "[MF] §2: a client receiving a message updates its vector",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
    Broken(
        ClientsTakeTheVectorOver,
        "[MF] §2: to the maximum of V_k and V_j, not to V_k",
        (Catch("causal", 3, 4, 7, FIFO),),
    ),
    Broken(ClientsAdd, "[MF] §2: to the maximum, not the sum", (Catch("delivers-all", 3, 4, 8, FIFO),)),
    Broken(
        ClientsDelayToo,
        "[MF] §2: it is the server that compares; what the vectors count was sent to nobody else",
        (Catch("delivers-all", 3, 2, 4, FIFO),),
    ),
    # the server
    Broken(
        ServerDelaysNothing,
        "[MF] §2: if V_s[j] < V_m[j] for some j ≠ i, the message is delayed",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
    Broken(
        ServerChecksTheSender,
        "[MF] §2: for some j ≠ i; V_m[i] counts the message itself",
        (Catch("delivers-all", 2, 1, 2, FIFO),),
    ),
    Broken(
        ServerLetsOneBeMissing,
        "[MF] §2: if V_s[j] < V_m[j], by one also",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
    Broken(ServerAsksForMore, "[MF] §2: <, not ≤", (Catch("delivers-all", 2, 1, 2, FIFO),)),
    Broken(
        ServerAsksForExactlyAsMany,
        "[MF] §2: <, not ≠: of others the server may know more",
        (Catch("delivers-all", 3, 2, 4, FIFO),),
    ),
    Broken(
        ServerDropsWhatIsEarly,
        "[MF] §2: the message is delayed until the missing message has arrived, not lost",
        (Catch("delivers-all", 3, 3, 6, FIFO),),
    ),
    Broken(
        ServerConsumesTwice, "[MF] §2: the server consumes the message, once", (Catch("delivers-once", 2, 1, 2, FIFO),)
    ),
    Broken(
        ServerLearnsNothing,
        "[MF] §2: the server updates its own vector",
        (Catch("delivers-all", 3, 3, 6, FIFO),),
    ),
    Broken(
        ServerTakesTheVectorOver,
        "[MF] §2: to the maximum of V_m and V_s, not to V_m",
        (Catch("delivers-all", 3, 4, 8, FIFO),),
    ),
    Broken(
        ServerLearnsOnArrival,
        "[MF] §2: the server first compares, and updates its vector if it consumes the message",
        (Catch("causal", 3, 3, 5, FIFO),),
    ),
)

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

BROKEN_PROGRAMS = (
    BrokenProgram(
        WaitsForTheServer,
        "[MF] §2: delayed are messages at the server; no client waits to send",
        "P1: receive; receive\nP2: send a to P1; send b to P1",
        "completes",
        2,
        FIFO,
    ),
    BrokenProgram(
        ClientsLearnOfTheSenderAlone,
        "[MF] §2: taking the maximum incorporates indirect knowledge: causality is transitive",
        A_CHAIN_OF_CLIENTS,
        "causal",
        7,
        FIFO,
    ),
    BrokenProgram(
        ServerAdds,
        "[MF] §2: to the maximum, not the sum",
        THREE_AND_ONE_THAT_INFORMS,
        "causal",
        9,
        FIFO,
    ),
)

HARMLESS = (
    Harmless(
        ServerCounts,
        "[MF] §2: over FIFO channels the server's maximum is an increment for the sender: of the others it knows as "
        "much as the message, or it would not consume it.",
        3,
        3,
        689,
        FIFO,
    ),
    Harmless(
        ServerTellsNothing,
        "[MF] §2: the text has vectors taken from 'another client' alone, and needs no more: all that the server could "
        "mention it has itself consumed, and it delays no message for that.",
        3,
        3,
        583,
        FIFO,
    ),
    Harmless(
        ClientsLearnOfTheSenderAlone,
        "[MF] §2: with two clients knowledge is never indirect. What one hears of is its own count or the other's.",
        3,
        3,
        655,
        FIFO,
    ),
    Harmless(
        ServerAsksTheSenderForOneMore,
        "[MF] §2: j ≠ i leaves the sender out, which only FIFO channels excuse. To wait for exactly one more of the "
        "sender, as in the matrix protocol further down, the server needs no channel but the unordered.",
        3,
        3,
        759,
    ),
    Harmless(
        ServerAsksTheSenderForOneMore,
        "[MF] §2: over FIFO channels the sender's next message is the next, whether the server checks it or not.",
        3,
        3,
        689,
        FIFO,
    ),
)
