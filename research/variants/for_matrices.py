"""Variants of the matrix and extra-message protocols, which claims of [Kup] and [SA] are about."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.extra_messages import State as ExtraState
from crownless.impl.protocols.rst import Rst, State
from crownless.impl.variant import variant
from crownless.impl.workloads import Free
from crownless.research.knobs.knobs_of_rst import RstByKnobs
from crownless.spec.computation import Message

# -- the matrix protocol with one thing changed -----------------------------------------------------------------------


class Change(NamedTuple):
    """A method of `RstByKnobs` overridden, and the effect recorded in the ledger."""

    method: str
    #: `saves`: harmless, and less work.
    effect: Literal["unsafe", "not live", "neither", "harmless", "saves"]
    override: Callable[..., Any]


def _alternative(method: str, name: str) -> Callable[..., Any]:
    return RstByKnobs.knobs[method][name]


#: Asked of the form that increments before it sends.
ONE_MORE = "ask the sender for exactly one less than SENT_m says"

#: The changes that are alternatives of a knob: name → its effect, the method, the alternative.
_OF_KNOBS: dict[str, tuple[Literal["unsafe", "not live", "neither", "harmless", "saves"], str, str]] = {
    "attach SENT after the increment": ("not live", "sender_counts", "before sending"),
    "attach column j alone": ("unsafe", "attached", "the receiver's column"),
    "attach all but the own column": ("saves", "left_out", "the sender's column"),
    "attach the own row alone": ("unsafe", "attached", "the sender's row"),
    "no increment on sending": ("unsafe", "sender_counts", "never"),
    "check the sender's entry alone": ("unsafe", "guard", "of the sender alone"),
    "check all but the sender's entry": ("unsafe", "guard", "of all but the sender"),
    "ask for exactly what SENT_m says": ("not live", "guard", "exactly that from all"),
    "ask the sender for exactly what SENT_m says": ("harmless", "guard", "and exactly that from the sender"),
    ONE_MORE: ("neither", "guard", "exactly one less from the sender"),
    "check nothing": ("unsafe", "guard", "nothing"),
    "read the own column of SENT": ("saves", "delivered", "the own column of SENT"),
    "no second increment of SENT": ("saves", "receiver_counts", "no"),
    "no maximum": ("unsafe", "merged", "not at all"),
    "take SENT_m over": ("unsafe", "merged", "overwritten"),
}

CHANGES: dict[str, Change] = {
    **{name: Change(method, effect, _alternative(method, of)) for name, (effect, method, of) in _OF_KNOBS.items()},
    "attach zeroes": Change("attached", "unsafe", lambda self, i, j, sent: self.ops.matrix(lambda k, l: 0)),
    "check every column": Change(
        "guard",
        "not live",
        lambda self, i, j, delivered, stamp: all(delivered[k] >= sum(stamp[k]) for k in range(self.n)),
    ),
    "check row i": Change(
        "guard",
        "neither",
        lambda self, i, j, delivered, stamp: self.ops.every(lambda k: delivered[k] >= stamp[i][k]),
    ),
    "ask for more than SENT_m says": Change(
        "guard",
        "not live",
        lambda self, i, j, delivered, stamp: self.ops.every(lambda k: delivered[k] > stamp[k][i]),
    ),
    "DELIV never counts": Change("deliv_after", "not live", lambda self, state, j: state.deliv),
    "add SENT_m": Change(
        "merged",
        "not live",
        lambda self, i, sent, stamp: self.ops.matrix(lambda k, l: sent[k][l] + stamp[k][l]),
    ),
    "maximum in the own column alone": Change(
        "merged",
        "unsafe",
        lambda self, i, sent, stamp: self.ops.maximum(sent, self.only(stamp, lambda k, l: self.ops.one_if(l == i))),
    ),
    "maximum in all but the own column": Change(
        "merged",
        "saves",
        lambda self, i, sent, stamp: self.ops.maximum(sent, self.only(stamp, lambda k, l: 1 - self.ops.one_if(l == i))),
    ),
}


def changed(n: int, *names: str) -> RstByKnobs:
    """The matrix protocol with these changes, each of another method."""
    overrides: dict[str, Any] = {CHANGES[name].method: CHANGES[name].override for name in names}
    return variant(RstByKnobs, **overrides)(n)


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
