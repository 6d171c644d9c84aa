"""The protocols a second time, from their texts alone: FIFO and synchronous order, broadcasts, and one server.

No machine of `impl` and nothing of `model_check` is used here: each protocol is written as its text describes it, with
the reading that the docstring of its machine names where the text leaves a choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

#: A packet, by whatever distinguishes it from others; its first two entries are where it comes from and where it goes.
Packet = tuple[Any, ...]
Vector = tuple[int, ...]
Matrix = tuple[Vector, ...]


class Message(NamedTuple):
    """The application's message: who sends it, to whom, and its number on that way."""

    sender: int
    to: tuple[int, ...]
    number: int


class Outcome(NamedTuple):
    """What a handler leads to: what the process then keeps, the packets it transmits, the messages it delivers."""

    local: Any
    packets: Sequence[Packet] = ()
    delivered: Sequence[Message] = ()


#: Nothing, if the input must wait.
Outcomes = Iterator[Outcome]


def changed(row: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*row[:place], value, *row[place + 1 :])


def one_more(vector: Vector, place: int) -> Vector:
    return changed(vector, place, vector[place] + 1)


def one_more_in(matrix: Matrix, k: int, l: int) -> Matrix:
    return changed(matrix, k, one_more(matrix[k], l))


def sup(a: Vector, b: Vector) -> Vector:
    return tuple(map(max, a, b))


def at_most(a: Vector, b: Vector) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))


def column(matrix: Matrix, j: int) -> Vector:
    return tuple(row[j] for row in matrix)


class Unordered:
    """A message is delivered when it arrives. Base of all, with what most texts have."""

    #: Does its text undo events? Then what has happened does not show what is owed.
    undoes = False
    #: The properties that are judged of it.
    judged: tuple[str, ...] = ("fifo", "causal", "delivers-once", "delivers-all")

    def __init__(self, n: int, **settings: int | tuple[int, ...]) -> None:
        self.n, self.settings = n, settings
        self.zeroes = (0,) * n
        self.square = (self.zeroes,) * n

    def setting(self, name: str, i: int, default: int) -> int:
        """What is set for process i: one number for all, or one for each."""
        value = self.settings.get(name, default)
        return value[i] if isinstance(value, tuple) else value

    def ordered_at(self) -> list[int]:
        """At which processes an order is promised."""
        return list(range(self.n))

    def others(self, i: int) -> list[int]:
        return [j for j in range(self.n) if j != i]

    def start(self, i: int) -> Any:
        return ()

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        yield Outcome(local, [(i, j, m) for j in m.to])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        """A packet is there."""
        yield Outcome(local, [], [packet[2]])

    def own(self, i: int, local: Any) -> Outcomes:
        """What process i, its buffers and its application can do of themselves."""
        yield from ()

    def agree(self, locals_: dict[int, Any], failed: int) -> Any:
        """What those that did not fail agree on; None: nothing."""
        return None


# -- FIFO and synchronous order ----------------------------------------------------------------------------------------


class FifoSequence(Unordered):
    """[MF] §2: (messages sent to each, messages delivered from each)."""

    def start(self, i: int) -> Any:
        return self.zeroes, self.zeroes

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        (sent, got), [j] = local, m.to
        yield Outcome((one_more(sent, j), got), [(i, j, m, sent[j] + 1)])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        (j, _, m, number), (sent, got) = packet, local
        if number == got[j] + 1:
            yield Outcome((sent, one_more(got, j)), [], [m])


class FifoAck(Unordered):
    """[MF] §2: whether the sender is blocked."""

    def start(self, i: int) -> Any:
        return "free"

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        if local == "free":
            yield Outcome("blocked", [(i, m.to[0], m)])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        j, _, what = packet
        yield Outcome("free") if what == "ack" else Outcome(local, [(i, j, "ack")], [what])


class Rendezvous(FifoAck):
    """[MF] Fig. 1: whether the process waits "for the delivery of its own message before accepting the other"."""

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        if packet[2] == "ack" or local == "free":
            yield from super().take(i, local, packet)


class MurtyGarg(Unordered):
    """[MG] Fig. 8, line by line: (messageQueue, ackQueue, state). Its sends may follow their deliveries."""

    judged = ()

    def start(self, i: int) -> Any:
        return (), (), "active"

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        yield self.send_intent(i, local, m, m.to[0])

    def send_intent(self, i: int, local: Any, m: Message, j: int) -> Outcome:
        message_queue, ack_queue, state = local
        if i < j:
            return Outcome(local, [(i, j, "message", m)])
        if state == "active":
            return Outcome((message_queue, ack_queue, "passive"), [(i, j, "message", m)])
        return Outcome(((*message_queue, (m, j)), ack_queue, state))

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        message_queue, ack_queue, state = local
        j, _, what = packet[:3]
        if what == "ack":
            acks = [(i, k, "ack") for k in ack_queue]
            if message_queue:
                (m, k), *rest = message_queue
                yield Outcome((tuple(rest), (), "passive"), [*acks, (i, k, "message", m)])
            else:
                yield Outcome(((), (), "active"), acks)
        elif i > j:
            yield self.send_intent(i, local, packet[3], j)
        elif state == "active":
            yield Outcome(local, [(i, j, "ack")])
        else:
            yield Outcome((message_queue, (*ack_queue, j), state))


# -- broadcasts, and one server ----------------------------------------------------------------------------------------


class Isis(Unordered):
    """[SES] §3: BUFF_S, in order of emission."""

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        yield Outcome((*local, m), [(i, j, (*local, m)) for j in m.to])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        yield self.merged(i, local, packet[2])

    @staticmethod
    def merged(i: int, buff: tuple[Message, ...], packet: tuple[Message, ...]) -> Outcome:
        new = [m for m in packet if m not in buff]
        return Outcome((*buff, *new), [], [m for m in new if i in m.to])


class IsisGc(Isis):
    """[SES] §3: (BUFF_S, what must not be sent to each, (ids requested, answers missing), requests still allowed)."""

    def start(self, i: int) -> Any:
        return (), (frozenset(),) * self.n, None, self.setting("rounds", i, 1)

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        buff, noted, *rest = local
        packets = [(i, j, tuple(known for known in (*buff, m) if known not in noted[j])) for j in m.to]
        yield Outcome(((*buff, m), noted, *rest), packets)

    def own(self, i: int, local: Any) -> Outcomes:
        buff, noted, requested, rounds, *received = local
        if buff and requested is None and rounds:
            ids = frozenset(buff)
            requests = [(i, j, "request", ids) for j in self.others(i)]
            yield Outcome((buff, noted, (ids, self.n - 1), rounds - 1, *received), requests)

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        buff, noted, requested, *rest = local
        j, _, what, *ids = packet
        if what == "request":
            yield Outcome((buff, changed(noted, j, noted[j] | ids[0]), requested, *rest), [(i, j, "ack")])
        elif what == "ack":
            named, missing = requested
            if missing > 1:
                yield Outcome((buff, noted, (named, missing - 1), *rest))
            else:
                yield Outcome((tuple(m for m in buff if m not in named), noted, None, *rest))
        else:
            merged = self.merged(i, buff, what)
            yield merged._replace(local=(merged.local, noted, requested, *rest))


class IsisGcWaits(IsisGc):
    """As above, but a request waits until all it names for this site is received: (…, what was ever received)."""

    def start(self, i: int) -> Any:
        return *super().start(i), frozenset()

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        received = local[-1]
        if packet[2] != "request" or received.issuperset(m for m in packet[3] if i in m.to):
            for outcome in super().take(i, local, packet):
                yield outcome._replace(local=(*outcome.local[:-1], received.union(outcome.delivered)))


class Cbcast(Unordered):
    """[BSS91]: broadcasts delivered from each; the own place counts the own broadcasts."""

    def start(self, i: int) -> Any:
        return self.zeroes

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        vt = one_more(local, i)
        yield Outcome(vt, [(i, j, m, vt) for j in m.to])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        j, _, m, vt = packet
        if vt[j] == local[j] + 1 and all(vt[k] <= local[k] for k in self.others(j)):
            yield Outcome(sup(local, vt), [], [m])


class Kearns(Cbcast):
    """[MF] §2 on [KK89]: the message-count-vector V."""

    def ordered_at(self) -> list[int]:
        return [self.setting("server", 0, 1) - 1]

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        v = one_more(local, i) if list(m.to) == self.ordered_at() else local
        yield Outcome(v, [(i, m.to[0], m, v)])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        j, _, m, v = packet
        if i not in self.ordered_at() or not any(local[k] < v[k] for k in self.others(j)):
            yield Outcome(sup(local, v), [], [m])
