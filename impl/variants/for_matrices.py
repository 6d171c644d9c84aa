"""Variants of the matrix and extra-message protocols, which claims of [Kup] and [SA] are about."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.extra_messages import State as ExtraState
from crownless.impl.protocols.rst import Rst, State
from crownless.impl.workloads import Free
from crownless.spec.computation import Message

from . import variant

# -- the matrix protocol in pieces -------------------------------------------------------------------------------------


class Pieces(Rst):
    """The matrix protocol in methods, each overridden by a change of `CHANGES`."""

    invariants = {}

    def attach(self, i: int, j: int, before: Value, after: Value) -> Value:
        """The stamp of a message to j, from SENT before and after the increment."""
        return before

    def count_sent(self, i: int, state: State, j: int) -> State:
        return self.after_sending(i, state, j)

    def check(self, i: int, j: int, counts: Value, stamp: Value) -> bool:
        return all(counts[k] >= stamp[k][i] for k in range(self.n))

    def read(self, i: int, state: State) -> Value:
        return state.deliv

    def count_delivered(self, state: State, j: Value) -> Value:
        return self.deliv_after(state, j)

    def count_received(self, i: Value, sent: Value, j: Value) -> Value:
        return self.ops.incremented(sent, j, i)

    def merge(self, i: Value, column: int, sent: int, carried: int) -> int:
        return max(sent, carried)

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        j = message.receiver
        after = self.count_sent(i, state, j)
        packet = Packet(i, j, "message", message, self.attach(i, j, state.sent, after.sent))
        return [Step(after, [packet], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return self.check(i, packet.source, self.read(i, state), packet.stamp)

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        sent = self.count_received(i, state.sent, j)
        merged = self.ops.matrix(lambda k, l: self.merge(i, l, sent[k][l], stamp[k][l]))
        return State(merged, self.count_delivered(state, j))


class Change(NamedTuple):
    """A changed piece of the matrix protocol, and the effect recorded in the ledger."""

    piece: str
    #: `saves`: harmless, and less work.
    effect: Literal["unsafe", "not live", "neither", "harmless", "saves"]
    override: Callable[..., Any]


def _masked(matrix: Value, kept: Callable[[int, int], bool]) -> Value:
    return tuple(tuple(value if kept(k, l) else 0 for l, value in enumerate(row)) for k, row in enumerate(matrix))


#: Asked of the form that increments before it sends.
ONE_MORE = "ask the sender for exactly one less than SENT_m says"

CHANGES: dict[str, Change] = {
    "attach SENT after the increment": Change("attach", "not live", lambda self, i, j, before, after: after),
    "attach column j alone": Change(
        "attach", "unsafe", lambda self, i, j, before, after: _masked(before, lambda k, l: l == j)
    ),
    "attach all but the own column": Change(
        "attach", "saves", lambda self, i, j, before, after: _masked(before, lambda k, l: l != i)
    ),
    "attach the own row alone": Change(
        "attach", "unsafe", lambda self, i, j, before, after: _masked(before, lambda k, l: k == i)
    ),
    "attach zeroes": Change("attach", "unsafe", lambda self, i, j, before, after: _masked(before, lambda k, l: False)),
    "no increment on sending": Change("count_sent", "unsafe", lambda self, i, state, j: state),
    "check the sender's entry alone": Change(
        "check", "unsafe", lambda self, i, j, counts, stamp: counts[j] >= stamp[j][i]
    ),
    "check all but the sender's entry": Change(
        "check",
        "unsafe",
        lambda self, i, j, counts, stamp: all(counts[k] >= stamp[k][i] for k in range(self.n) if k != j),
    ),
    "check every column": Change(
        "check", "not live", lambda self, i, j, counts, stamp: all(counts[k] >= sum(stamp[k]) for k in range(self.n))
    ),
    "check row i": Change(
        "check", "neither", lambda self, i, j, counts, stamp: all(counts[k] >= stamp[i][k] for k in range(self.n))
    ),
    "ask for more than SENT_m says": Change(
        "check", "not live", lambda self, i, j, counts, stamp: all(counts[k] > stamp[k][i] for k in range(self.n))
    ),
    "ask for exactly what SENT_m says": Change(
        "check", "not live", lambda self, i, j, counts, stamp: all(counts[k] == stamp[k][i] for k in range(self.n))
    ),
    "ask the sender for exactly what SENT_m says": Change(
        "check",
        "harmless",
        lambda self, i, j, counts, stamp: Pieces.check(self, i, j, counts, stamp) and counts[j] == stamp[j][i],
    ),
    ONE_MORE: Change(
        "check",
        "neither",
        lambda self, i, j, counts, stamp: all(
            counts[k] >= stamp[k][i] if k != j else counts[k] == stamp[k][i] - 1 for k in range(self.n)
        ),
    ),
    "check nothing": Change("check", "unsafe", lambda self, i, j, counts, stamp: True),
    "read the own column of SENT": Change("read", "saves", lambda self, i, state: [row[i] for row in state.sent]),
    "DELIV never counts": Change("count_delivered", "not live", lambda self, state, j: state.deliv),
    "no second increment of SENT": Change("count_received", "saves", lambda self, i, sent, j: sent),
    "no maximum": Change("merge", "unsafe", lambda self, i, column, sent, carried: sent),
    "take SENT_m over": Change("merge", "unsafe", lambda self, i, column, sent, carried: carried),
    "add SENT_m": Change("merge", "not live", lambda self, i, column, sent, carried: sent + carried),
    "maximum in the own column alone": Change(
        "merge", "unsafe", lambda self, i, column, sent, carried: max(sent, carried) if column == i else sent
    ),
    "maximum in all but the own column": Change(
        "merge", "saves", lambda self, i, column, sent, carried: max(sent, carried) if column != i else sent
    ),
}


def changed(n: int, *names: str) -> Pieces:
    """The matrix protocol with these changes, each of another piece."""
    overrides: dict[str, Any] = {CHANGES[name].piece: CHANGES[name].override for name in names}
    return variant(Pieces, **overrides)(n)


# -- variations of the matrix protocol, for any n ----------------------------------------------------------------------


class IncrementsBefore(Rst):
    """Increment, then attach; exactly one more than DELIV from the sender; no second increment of SENT."""

    invariants = {}

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, after.sent)], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        return self.ops.all_of(
            self.ops.every(lambda k: state.deliv[k] + self.ops.one_if(k == j) >= stamp[k][i]),
            stamp[j][i] == state.deliv[j] + 1,
        )

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        return State(self.ops.maximum(state.sent, stamp), self.deliv_after(state, j))


class CountsOnce(Rst):
    """The matrix protocol as [SA] §3 prints it: on delivery the maximum is taken, and SENT is not incremented."""

    invariants = {}

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        return State(self.ops.maximum(state.sent, stamp), self.deliv_after(state, j))


class ForgetsItsOwnColumn(CountsOnce):
    """The same, with the own column kept at zero."""

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        after = super().after_delivering(i, state, j, stamp)
        return after._replace(sent=self.ops.matrix(lambda k, l: after.sent[k][l] * (1 - self.ops.one_if(l == i))))


class TellsWhatMayBeRelayed(Rst):
    """Entry (k, l) travels to j only if something may get from j to l. `links`: who may ever send to whom."""

    invariants = {}

    def __init__(self, n: int, links: frozenset[tuple[int, int]]) -> None:
        super().__init__(n)
        self.reaches = {(p, p) for p in range(n)} | set(links)
        for middle in range(n):
            into = [p for p, q in self.reaches if q == middle]
            out_of = [q for p, q in self.reaches if p == middle]
            self.reaches |= {(p, q) for p in into for q in out_of}

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[self._thinned(packet) for packet in step.packets])]

    def _thinned(self, packet: Packet) -> Packet:
        j = packet.destination
        stamp = self.ops.matrix(lambda k, l: packet.stamp[k][l] if (j, l) in self.reaches else 0)
        return packet._replace(stamp=stamp)


class Linked(Free):
    """The free workload over some links alone."""

    def __init__(self, n: int, messages: int, links: frozenset[tuple[int, int]]) -> None:
        super().__init__(n, messages)
        self.channels = [(p, receivers) for p, receivers in self.channels if (p, receivers[0]) in links]
        self._number = {channel: number for number, channel in enumerate(self.channels)}


class Broadcasting(Rst):
    """A message to several: SENT is attached, and then incremented for each receiver. On delivery as printed."""

    invariants = {}
    admits_multicast = True

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        after = state
        for j in message.receivers:
            after = self.after_sending(i, after, j)
        packets = [Packet(i, j, "message", message, self.stamp(state)) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class BroadcastingAndCountingAll(Broadcasting):
    """The same; a process that delivers a message counts it for all of its receivers."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        assert packet.message is not None
        after = step.state
        for j in packet.message.receivers:
            if j != i:
                after = self.after_sending(packet.source, after, j)
        return [step._replace(state=after)]


class BroadcastingBefore(IncrementsBefore):
    """A message to several, in the form that increments before it sends."""

    admits_multicast = True

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        after = state
        for j in message.receivers:
            after = self.after_sending(i, after, j)
        packets = [Packet(i, j, "message", message, after.sent) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


# -- variations of the protocol with extra messages --------------------------------------------------------------------


#: Not even the entry of the message itself is left in column j.
ClearsTheWholeColumn = variant(
    ExtraMessages,
    "ClearsTheWholeColumn",
    after_sending=lambda self, i, state, j: state._replace(
        matrix=self.ops.matrix(lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(l == j)))
    ),
)
#: [SA] excludes self-sends; admitted here, to see their effect.
ToOneself = variant(ExtraMessages, "ToOneself", admits_self_sends=True)
#: Every packet is delivered on arrival.
WaitsForNothing = variant(ExtraMessages, "WaitsForNothing", satisfied=lambda self, i, state, matrix: self.ops.all_of())
#: On delivery the own matrix is kept, instead of the maximum.
LearnsNothing = variant(
    ExtraMessages, "LearnsNothing", after_delivering=lambda self, i, state, j, matrix: self.after_extra(state, j)
)


class ForgetsWhatItHad(ExtraMessages):
    """On delivery the matrix of the message is taken over, instead of the maximum."""

    def after_delivering(self, i: Value, state: ExtraState, j: Value, matrix: Value) -> ExtraState:
        taken = self.ops.matrix(lambda k, l: matrix[k][l] * self.ops.one_if(l != i))
        return ExtraState(taken, self.after_extra(state, j).deliv)


class ClearsOnce(ExtraMessages):
    """One extra message at a time, regardless of the number of remaining entries."""

    def clearings(self, i: int, state: ExtraState) -> Iterable[tuple[ExtraState, Sequence[Packet]]]:
        for cleared, extra in super().clearings(i, state):
            if not extra:
                return [(cleared, extra)]
        sizes = [len(self.column(state, j)) for j in range(self.n)]
        return [
            (self.after_sending(i, state, j), [Packet(i, j, "extra", None, self.column(state, j))])
            for j in range(self.n)
            if sizes[j] == max(sizes)
        ]
