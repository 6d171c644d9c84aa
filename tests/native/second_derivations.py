"""The protocols a second time, from their texts alone, and the counting of their states.

Nothing here uses the machines of `impl` or the system of `model_check`: each protocol is written as its text describes
it (where the text leaves a choice, as the docstring of its machine says), with the channel beside it. A global state is
what the processes keep, what is in flight, and how many sends were made on each (sender, set of receivers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from pinned_counts import Counts

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


# -- matrices ----------------------------------------------------------------------------------------------------------


class Rst(Unordered):
    """[Kup]: (SENT_i, DELIV_i)."""

    def start(self, i: int) -> Any:
        return self.square, self.zeroes

    def attached(self, sent: Matrix, j: int) -> Matrix:
        return sent

    def delivered(self, i: int, sent: Matrix, deliv: Vector) -> Vector:
        return deliv

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        (sent, deliv), [j] = local, m.to
        yield Outcome((one_more_in(sent, i, j), deliv), [(i, j, m, self.attached(sent, j))])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        (j, _, m, sent_m), (sent, deliv) = packet, local
        if at_most(column(sent_m, i), deliv):
            sent = tuple(map(sup, one_more_in(sent, j, i), sent_m))
            yield Outcome((sent, self.delivered(i, sent, one_more(deliv, j))), [], [m])


class RstSentAlone(Rst):
    """[Kup], "Is DELIV redundant?": SENT_i, whose own column is used in place of DELIV_i."""

    def delivered(self, i: int, sent: Matrix, deliv: Vector) -> Vector:
        return column(sent, i)


class RstColumn(Rst):
    """[Kup], "couldn't you just send the one column": the others as if they were zero."""

    def attached(self, sent: Matrix, j: int) -> Matrix:
        return tuple(changed(self.zeroes, j, row[j]) for row in sent)


class RstBefore(Unordered):
    """[MF] §2 on [RST91]: M_i."""

    def start(self, i: int) -> Any:
        return self.square

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        [j] = m.to
        matrix = one_more_in(local, i, j)
        yield Outcome(matrix, [(i, j, m, matrix)])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        j, _, m, matrix = packet
        if all(matrix[k][i] <= local[k][i] for k in self.others(j)) and matrix[j][i] == local[j][i] + 1:
            yield Outcome(tuple(map(sup, local, matrix)), [], [m])


class ExtraMessages(Unordered):
    """[SA] §3: (M_i, DELIV_i)."""

    def start(self, i: int) -> Any:
        return self.square, self.zeroes

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        (matrix, deliv), [j] = local, m.to
        yield from self.cleared(i, self.addressed(i, j, matrix), deliv, Outcome(None, [(i, j, m, matrix)]))

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        (j, _, m, attached), (matrix, deliv) = packet, local
        if m == "extra":
            if at_most(attached, deliv):
                yield Outcome((matrix, one_more(deliv, j)))
        elif at_most(column(attached, i), deliv):
            matrix = tuple(changed(row, i, 0) for row in map(sup, matrix, attached))
            yield from self.cleared(i, matrix, one_more(deliv, j), Outcome(None, [], [m]))

    def addressed(self, i: int, j: int, matrix: Matrix) -> Matrix:
        """ "The column M_i[-, j] is set to zeros except the value indicating the message m, M_i[i, j]"."""
        return tuple(changed(row, j, row[j] + 1 if k == i else 0) for k, row in enumerate(matrix))

    def cleared(self, i: int, matrix: Matrix, deliv: Vector, outcome: Outcome) -> Outcomes:
        """ "It selects the process P_j … (most non-zero values in its column) and sends an extra message"."""
        non_zero = [sum(entry > 0 for entry in column(matrix, j)) for j in range(self.n)]
        if sum(non_zero) < self.setting("k", i, self.n + 1) or max(non_zero) < 2:
            yield outcome._replace(local=(matrix, deliv))
            return
        for j in range(self.n):
            if non_zero[j] == max(non_zero):
                packets = [*outcome.packets, (i, j, "extra", column(matrix, j))]
                yield from self.cleared(i, self.addressed(i, j, matrix), deliv, outcome._replace(packets=packets))


# -- vectors and pairs -------------------------------------------------------------------------------------------------


class Ses(Unordered):
    """[SES] §4.2: (VT(S), ORD_BUFF_S as a set of pairs)."""

    deletes = False

    def start(self, i: int) -> Any:
        return self.zeroes, frozenset()

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        vt, ord_buff = local
        vt = one_more(vt, i)
        packets = []
        for j in m.to:
            accompanying = self.inserted(ord_buff, [(other, vt) for other in m.to if other != j])
            packets.append((i, j, m, vt, accompanying))
        yield Outcome((vt, self.inserted(ord_buff, [(j, vt) for j in m.to])), packets)

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        vt, ord_buff = local
        j, _, m, vt_m, accompanying = packet
        pairs = dict(accompanying)
        if i in pairs and not at_most(pairs[i], vt):
            return
        merged = dict(ord_buff)
        for site, time in pairs.items():
            if site != i:
                merged[site] = sup(merged[site], time) if site in merged else time
        if self.deletes and j in merged and at_most(merged[j], vt_m):
            del merged[j]
        vt = tuple(vt[k] + 1 if k == i else max(vt[k], vt_m[k]) for k in range(self.n))
        yield Outcome((vt, frozenset(merged.items())), [], [m])

    @staticmethod
    def inserted(ord_buff: Any, pairs: Iterable[tuple[int, Any]]) -> Any:
        """ "The older pair can simply be discarded"."""
        return frozenset({**dict(ord_buff), **dict(pairs)}.items())


class SesDelete(Ses):
    """[SES] §4.2.4."""

    deletes = True


class SesMulticast(Ses):
    """[SES], end of §4.2.1: `Ses` has it."""


class SesRollback(Ses):
    """[SES] §4.3: (the events so far, the hold-back queue, (the site that broke down, N)).

    An event is the message sent or the packet delivered; the clock and ORD_BUFF_S are those after the events.
    """

    undoes = True

    def start(self, i: int) -> Any:
        return (), frozenset(), None

    def after(self, i: int, events: Iterable[Any]) -> Any:
        local = super().start(i)
        for event in events:
            how = super().send if isinstance(event, Message) else super().take
            [outcome] = how(i, local, event)
            local = outcome.local
        return local

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        events, room, failure = local
        [outcome] = super().send(i, self.after(i, events), m)
        yield Outcome(((*events, m), room, failure), outcome.packets)

    def own(self, i: int, local: Any) -> Outcomes:
        events, room, failure = local
        for packet in room:
            for outcome in super().take(i, self.after(i, events), packet):
                yield Outcome(((*events, packet), room - {packet}, failure), [], outcome.delivered)

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        events, room, failure = local
        if packet[2] == "agreed":
            failure = site, first = packet[3]
            kept = 0
            while kept < len(events) and self.after(i, events[: kept + 1])[0][site] <= first - 1:
                kept += 1
            undone = {event for event in events[kept:] if not isinstance(event, Message)}
            room = frozenset(waiting for waiting in room | undone if waiting[3][site] < first)
            yield Outcome((events[:kept], room, failure))
        elif failure is not None and packet[3][failure[0]] >= failure[1]:
            yield Outcome(local)
        else:
            yield Outcome((events, room | {packet}, failure))

    def agree(self, locals_: dict[int, Any], failed: int) -> Any:
        minima = []
        for i, (events, room, _) in locals_.items():
            vt, _ = self.after(i, events)
            pairs = [dict(accompanying).get(i) for *_, accompanying in room]
            minima += [time[failed] for time in pairs if time is not None and time[failed] > vt[failed]]
        return (failed, min(minima)) if minima else None


Log = frozenset[tuple[int, int, frozenset[int]]]


class Optimal(Unordered):
    """[KS98]: (clock_j, SR_j, LOG_j), an entry of which is (i, clock_i, Dests)."""

    def start(self, i: int) -> Any:
        return 0, self.zeroes, frozenset()

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        clock, sr, log = local
        clock, dests = clock + 1, frozenset(m.to)
        packets = []
        for d in m.to:
            o_m = frozenset((s, t, to - dests | (to & {d})) for s, t, to in log)
            packets.append((i, d, m, clock, self.purged(o_m)))
        log = frozenset((s, t, to - dests) for s, t, to in log)
        # As printed: purged, and then inserted. So an older entry of its own may stay empty until the next purge.
        yield Outcome((clock, sr, self.purged(log) | {(i, clock, dests)}), packets)

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        clock, sr, log = local
        k, _, m, t_k, o_m = packet
        if any(i in to and t > sr[s] for s, t, to in o_m):
            return
        o_m = frozenset((s, t, to - {i}) for s, t, to in o_m | {(k, t_k, frozenset(m.to))})
        mine, theirs = {(s, t): to for s, t, to in log}, {(s, t): to for s, t, to in o_m}
        marked_mine = {(s, t) for s, t in mine for z, u in theirs if s == z and t < u and (s, t) not in theirs}
        marked_theirs = {(s, t) for s, t in theirs for z, u in mine if s == z and t < u and (s, t) not in mine}
        both = {}
        for entry in mine.keys() - marked_mine | theirs.keys() - marked_theirs:
            if entry in mine and entry in theirs:
                both[entry] = mine[entry] & theirs[entry]
            else:
                both[entry] = mine[entry] if entry in mine else theirs[entry]
        log = self.purged(frozenset((s, t, to) for (s, t), to in both.items()))
        yield Outcome((clock, changed(sr, k, t_k), log), [], [m])

    @staticmethod
    def purged(log: Log) -> Log:
        """Without entries that have no destinations and are not the latest of their sender."""
        return frozenset((s, t, to) for s, t, to in log if to or not any(z == s and u > t for z, u, _ in log))


# -- buffers -----------------------------------------------------------------------------------------------------------


class Buffer(Unordered):
    """[MF] §3.2: (OB_i, from whose input buffer its loop waits for an acknowledgement, and for how many, IB_i)."""

    def start(self, i: int) -> Any:
        return (), None, 0, ()

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        output, *rest = local
        if self.has_room("output", i, output):
            yield Outcome(((*output, m), *rest))

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        output, to, missing, input_ = local
        j, _, what = packet
        if what == "ack":
            yield Outcome((output, *self.acknowledged(j, to, missing), input_))
        elif self.has_room("input", i, input_):
            yield Outcome((output, to, missing, (*input_, what)), [(i, j, "ack")])

    def own(self, i: int, local: Any) -> Outcomes:
        output, to, missing, input_ = local
        if output and self.may_post(to, output[0].to[0]):
            [j] = output[0].to
            yield Outcome((output[1:], j, missing + 1, input_), [(i, j, output[0])])
        if input_:
            yield Outcome((output, to, missing, input_[1:]), [], [input_[0]])

    def has_room(self, buffer: str, i: int, kept: Sequence[Message]) -> bool:
        return True

    def acknowledged(self, j: int, to: int | None, missing: int) -> tuple[int | None, int]:
        return (None, 0) if to == j else (to, missing)

    def may_post(self, to: int | None, j: int) -> bool:
        return to is None


class BufferPipelined(Buffer):
    """[MF] footnote 4: it posts on to the same receiver, and waits for all acknowledgements before another one."""

    def acknowledged(self, j: int, to: int | None, missing: int) -> tuple[int | None, int]:
        return (to if missing > 1 else None), missing - 1

    def may_post(self, to: int | None, j: int) -> bool:
        return to in (None, j)


class BufferBounded(Buffer):
    """[MF] §3.2 and footnote 2: whoever acknowledges, and no more in a buffer than there is room for."""

    def has_room(self, buffer: str, i: int, kept: Sequence[Message]) -> bool:
        return len(kept) < self.setting(buffer, i, 1)


_ALL = (
    *(
        Unordered,
        FifoSequence,
        FifoAck,
        Rendezvous,
        MurtyGarg,
        Isis,
        IsisGc,
        IsisGcWaits,
        Cbcast,
        Kearns,
        Rst,
        RstBefore,
    ),
    *(RstSentAlone, RstColumn, ExtraMessages, Ses, SesDelete, SesMulticast, SesRollback, Optimal, Buffer),
    *(BufferPipelined, BufferBounded),
)
#: Each text by the name of its protocol: `IsisGcWaits` is that of isis-gc-waits.
TEXTS = {re.sub("(?<!^)(?=[A-Z])", "-", kind.__name__).lower(): kind for kind in _ALL}


# -- channels and counting ---------------------------------------------------------------------------------------------

#: One way for a packet to be taken in: the packet, what is then in flight, what is if it is not taken in (None: as it
#: was), and the packets that would have to be taken in before it if any of them may.
Way = tuple[Any, Any, Any, tuple[Any, ...]]


class Anyhow:
    """Packets arrive in any order: a multiset, as a sorted tuple of (number of the) packets."""

    def __init__(self, link: Callable[[int], Any]) -> None:
        self.link = link

    def put(self, flight: Any, packets: list[int]) -> Any:
        return tuple(sorted([*flight, *packets])) if packets else flight

    def ways(self, flight: Any) -> Iterator[Way]:
        for place, packet in enumerate(flight):
            if packet not in flight[:place]:
                yield packet, flight[:place] + flight[place + 1 :], None, ()

    def lost(self, flight: Any) -> Iterator[tuple[int, Any]]:
        """Each packet that may be lost, and what is then left in flight."""
        for packet, left, _, _ in self.ways(flight):
            yield packet, left

    def faults(self, flight: Any) -> Iterator[Any]:
        """What is left in flight after each fault of the channel."""
        yield from ()


class Lossy(Anyhow):
    def faults(self, flight: Any) -> Iterator[Any]:
        return (left for _, left in self.lost(flight))


class Duplicating(Anyhow):
    """In flight is each packet with whether it may still be doubled."""

    def put(self, flight: Any, packets: list[int]) -> Any:
        return tuple(sorted([*flight, *((packet, True) for packet in packets)]))

    def ways(self, flight: Any) -> Iterator[Way]:
        return ((packet, left, None, ()) for (packet, _), left, _, _ in super().ways(flight))

    def faults(self, flight: Any) -> Iterator[Any]:
        for (packet, whole), left, _, _ in super().ways(flight):
            if whole:
                yield tuple(sorted([*left, (packet, False), (packet, False)]))


class InOrder(Anyhow):
    """Packets on one link arrive in order; in front of the process is a room for each link: (queue, room) by link."""

    def put(self, flight: Any, packets: list[int]) -> Any:
        links = dict(flight)
        for packet in packets:
            queue, room = links.get(self.link(packet), ((), ()))
            links[self.link(packet)] = (*queue, packet), room
        return tuple(sorted(links.items()))

    def ways(self, flight: Any) -> Iterator[Way]:
        for link, (queue, room) in flight:

            def then(queue: Any, room: Any, link: Any = link) -> Any:
                links = {**dict(flight), link: (queue, room)}
                return tuple(sorted((link, state) for link, state in links.items() if state != ((), ())))

            if queue:
                yield queue[0], then(queue[1:], room), then(queue[1:], (*room, queue[0])), room
            for place, packet in enumerate(room):
                yield packet, then(queue, room[:place] + room[place + 1 :]), None, room[:place]

    def lost(self, flight: Any) -> Iterator[tuple[int, Any]]:
        return ((packet, left) for packet, left, moved, _ in self.ways(flight) if moved is not None)


CHANNELS = {"unordered": Anyhow, "fifo": InOrder, "lossy": Lossy, "duplicating": Duplicating}


class Numbers:
    """Numbers for values, so that large ones are compared once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.known: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        number = self.known.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class Move(NamedTuple):
    """What may happen: the state afterwards, the kind (send, own, take, wait, fault, agree), and to whom it happens."""

    after: Any
    kind: str
    process: int = -1
    handed: Message | None = None
    delivered: Sequence[Message] = ()


def receivers(n: int, i: int, sends: str) -> list[tuple[int, ...]]:
    """To whom a message of process i may go."""
    others = [j for j in range(n) if j != i]
    sizes = {"unicast": [1], "broadcast": [n - 1], "multicast": list(range(1, n))}[sends]
    return [to for size in sizes for to in combinations(others, size)]


FAILED = "failed"


class Moves:
    """What may happen in a global state: (what the processes keep …, what is in flight, sends made on each way)."""

    def __init__(self, text: Unordered, channel: str, m: int, sends: str = "unicast", crash: int | None = None) -> None:
        self.text, self.m, self.crash = text, m, crash
        self.locals, self.packets = Numbers(), Numbers()
        self.channel = CHANNELS[channel](lambda packet: self.packets.values[packet][:2])
        self.ways = [(i, to) for i in range(text.n) for to in receivers(text.n, i, sends)]
        self.results: dict[Any, list[tuple[int, list[int], Outcome]]] = {}
        start = (*(self.locals(text.start(i)) for i in range(text.n)), ())
        self.start = (*start, (0,) * len(self.ways))

    def results_of(self, handler: str, i: int, local: int, what: Any = None) -> list[tuple[int, list[int], Outcome]]:
        """What a handler leads to, worked out once."""
        key = (handler, i, local, what)
        if key not in self.results:
            kept = self.locals.values[local]
            if kept == FAILED:
                outcomes: Iterable[Outcome] = ()
            elif handler == "send":
                outcomes = self.text.send(i, kept, what)
            elif handler == "take":
                outcomes = self.text.take(i, kept, self.packets.values[what])
            else:
                outcomes = self.text.own(i, kept)
            self.results[key] = [(self.locals(o.local), [self.packets(p) for p in o.packets], o) for o in outcomes]
        return self.results[key]

    def __call__(self, state: Any) -> Iterator[Move]:
        n = self.text.n
        flight, made = state[n:]

        def after(i: int, result: tuple[int, list[int], Outcome], flight: Any = flight, made: Any = made) -> Any:
            local, packets, _ = result
            return (*state[:i], local, *state[i + 1 : n], self.channel.put(flight, packets), made)

        arrivals = [(self.packets.values[way[0]], way) for way in self.channel.ways(flight)]
        agreed = [(packet[1], way) for packet, way in arrivals if packet[2] == "agreed"]
        if agreed:
            i, (packet, left, _, _) = min(agreed)
            [result] = self.results_of("take", i, state[i], packet)
            yield Move(after(i, result, left), "take")
            return
        if sum(made) < self.m:
            for way, (i, to) in enumerate(self.ways):
                m = Message(i, to, made[way] + 1)
                for result in self.results_of("send", i, state[i], m):
                    yield Move(after(i, result, made=one_more(made, way)), "send", i, m, result[2].delivered)
        for i in range(n):
            for result in self.results_of("own", i, state[i]):
                yield Move(after(i, result), "own", i, None, result[2].delivered)
        for (_, i, *_), (packet, left, moved, first) in arrivals:
            results = self.results_of("take", i, state[i], packet)
            if any(self.results_of("take", i, state[i], other) for other in first):
                results = []
            for result in results:
                yield Move(after(i, result, left), "take", i, None, result[2].delivered)
            if not results and moved is not None:
                yield Move((*state[:n], moved, made), "wait")
        for left in self.channel.faults(flight):
            yield Move((*state[:n], left, made), "fault")
        if self.crash is not None:
            yield from self.failing(state, self.crash)

    def failed(self, state: Any) -> int | None:
        """The process that has crashed."""
        return self.crash if self.crash is not None and self.locals.values[state[self.crash]] == FAILED else None

    def failing(self, state: Any, crash: int) -> Iterator[Move]:
        """The crash; and then, what may be lost of what the process had transmitted, and what the others agree on."""
        n = self.text.n
        flight, made = state[n:]
        if self.failed(state) is None:
            yield Move((*state[:crash], self.locals(FAILED), *state[crash + 1 :]), "fault")
            return
        for packet, left in self.channel.lost(flight):
            if self.packets.values[packet][0] == crash:
                yield Move((*state[:n], left, made), "fault")
        others = [i for i in range(n) if i != crash]
        agreed = self.text.agree({i: self.locals.values[state[i]] for i in others}, crash)
        if agreed is not None:
            packets = [self.packets((i, i, "agreed", agreed)) for i in others]
            yield Move((*state[:n], self.channel.put(flight, packets), made), "agree")


class MonitorState(NamedTuple):
    """What has happened: the messages that precede the next event at each process, and those delivered at each."""

    past: tuple[frozenset[Message], ...]
    delivered: tuple[frozenset[Message], ...]
    #: Of each message, those sent before it, in the sense of happened before.
    before: frozenset[tuple[Message, frozenset[Message]]]


def follow(text: Unordered, monitor_state: MonitorState, move: Move) -> tuple[MonitorState, set[str]]:
    """What has happened after a move, and what that breaks ([SES] §2, [MF] §1, where both messages are delivered)."""
    i, m = move.process, move.handed
    past, delivered, before = monitor_state
    broken: set[str] = set()
    if m is not None:
        before |= {(m, past[i])}
        past = changed(past, i, past[i] | {m})
    for m in move.delivered:
        earlier = dict(before)[m]
        overtaken = [other for other in earlier if i in other.to and other not in delivered[i]]
        if overtaken and i in text.ordered_at():
            broken.add("causal")
            if any(other.sender == m.sender for other in overtaken):
                broken.add("fifo")
        if m in delivered[i]:
            broken.add("delivers-once")
        delivered = changed(delivered, i, delivered[i] | {m})
        past = changed(past, i, past[i] | earlier | {m})
    return MonitorState(past, delivered, before), broken


def owed(monitor_state: MonitorState, failed: int | None) -> bool:
    """Is a message of one that did not fail to another such one still to be delivered?"""
    sent = [m for m, _ in monitor_state.before if m.sender != failed]
    return any(m not in monitor_state.delivered[i] for m in sent for i in m.to if i != failed)


class Found(NamedTuple):
    counts: Counts
    #: property → the number of moves of a shortest run that breaks it.
    broken: dict[str, int]


def search(moves: Moves) -> Found:
    """All states, and all that may have happened before each, level by level."""
    text, monitor_states = moves.text, Numbers()
    nobody = (frozenset[Message](),) * text.n
    followed: dict[Any, tuple[int, set[str]]] = {}
    broken: dict[str, int] = {}

    def judged(monitor_state: int, move: Move) -> int:
        if text.undoes or not (move.handed or move.delivered):
            return monitor_state
        key = (monitor_state, move.process, move.handed, tuple(move.delivered))
        if key not in followed:
            after, names = follow(text, monitor_states.values[monitor_state], move)
            followed[key] = monitor_states(after), names
        for name in followed[key][1]:
            broken.setdefault(name, depth + 1)
        return followed[key][0]

    start = (moves.start, monitor_states(MonitorState(nobody, nobody, frozenset())))
    states, nodes, level = {moves.start}, {start}, [start]
    counted: set[Any] = set()
    depth = deepest = transitions = terminal = 0
    while level:
        following = []
        for state, monitor_state in level:
            enabled = list(moves(state))
            if state not in counted:
                counted.add(state)
                transitions += len(enabled)
                terminal += not enabled
            # A run may end where nobody is obliged to go on.
            may_end = all(move.kind in ("send", "fault") for move in enabled)
            if may_end and owed(monitor_states.values[monitor_state], moves.failed(state)):
                broken.setdefault("delivers-all", depth)
            for move in enabled:
                node = (move.after, judged(monitor_state, move))
                if move.after not in states:
                    states.add(move.after)
                    deepest = depth + 1
                if node not in nodes:
                    nodes.add(node)
                    following.append(node)
        depth += 1
        level = following
    return Found(Counts(len(states), transitions, deepest, terminal), broken)
