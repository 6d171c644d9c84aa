"""The protocols a second time, from their texts alone: matrices, vectors and pairs, and buffers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from derived_protocols import (
    Matrix,
    Message,
    Outcome,
    Outcomes,
    Packet,
    Unordered,
    Vector,
    at_most,
    changed,
    column,
    one_more,
    one_more_in,
    sup,
)

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
