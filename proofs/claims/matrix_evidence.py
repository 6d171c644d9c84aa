"""Evidence about variations of matrix protocols that are not in the registry, explored state by state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.extra_messages import State as ExtraState
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.rst import Rst, State
from crownless.impl.variants import variant
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.check_result import CheckResult
from crownless.model_check.reachable import Reached, reachable
from crownless.model_check.runs import Run, run_of
from crownless.model_check.system import State as GlobalState
from crownless.model_check.system import System
from crownless.spec import notation
from crownless.spec.computation import Message

from .evidence import explored, system_of

# -- exploring ---------------------------------------------------------------------------------------------------------


def program(text: str) -> Program:
    return Program(notation.parse(text))


class ScriptedStep(NamedTuple):
    """The packets that an action transmits or takes in, and the local state after it."""

    packets: Sequence[Packet]
    local: Any


def scripted_run(system: System, script: Sequence[tuple[int, str, str]]) -> tuple[Run, list[ScriptedStep]]:
    """The run of these (process, action, message), as far as it goes, and what each transmits and leaves."""
    state, steps, seen = system.initial(), [], []
    for process, action, name in script:
        moves = [
            (step, target)
            for step, target in system.moves(state)
            if (step.action.process, step.action.name) == (process, action)
            and step.action.message is not None
            and step.action.message.name == name
        ]
        if len(moves) != 1:
            break
        ((step, state),) = moves
        steps.append(step)
        packets = system.transmitted(step) or [packet for packet in [step.action.packet] if packet is not None]
        seen.append(ScriptedStep(packets, system.local_states(state)[process]))
    return run_of(system, steps, keep_names=isinstance(system.workload, Program)), seen


# -- one protocol beside another ---------------------------------------------------------------------------------------


class Both(NamedTuple):
    decides: object
    watches: Any


class LockstepProduct(ProtocolMachine):
    """A protocol that decides, and with it another, which sees the same messages of the application.

    The other one has a single step for each input, and sends no packets but the messages.
    """

    promises = "causal"

    def __init__(self, decides: ProtocolMachine, watches: ProtocolMachine) -> None:
        super().__init__(decides.n)
        self.decides, self.watches = decides, watches

    def initial(self, i: int) -> Both:
        return Both(self.decides.initial(i), self.watches.initial(i))

    def send(self, i: int, state: Both, message: Message) -> Sequence[Step]:
        (other,) = self.watches.send(i, state.watches, message)
        stamps = {packet.destination: packet.stamp for packet in other.packets}
        return [self._beside(step, other.state, stamps) for step in self.decides.send(i, state.decides, message)]

    def deliverable(self, i: int, state: Both, packet: Packet) -> bool:
        return bool(self.decides.deliverable(i, state.decides, packet._replace(stamp=packet.stamp[0])))

    def watcher_accepts(self, i: int, state: Both, packet: Packet) -> bool:
        return bool(self.watches.deliverable(i, state.watches, packet._replace(stamp=packet.stamp[1])))

    def on_packet(self, i: int, state: Both, packet: Packet) -> Sequence[Step]:
        after = state.watches
        if packet.message is not None:
            (other,) = self.watches.on_packet(i, state.watches, packet._replace(stamp=packet.stamp[1]))
            after = other.state
        steps = self.decides.on_packet(i, state.decides, packet._replace(stamp=packet.stamp[0]))
        return [self._beside(step, after, {}) for step in steps]

    def _beside(self, step: Step, other: object, stamps: Mapping[int, object]) -> Step:
        packets = [
            packet._replace(stamp=(packet.stamp, stamps.get(packet.destination) if packet.message else None))
            for packet in step.packets
        ]
        return Step(Both(step.state, other), packets, step.events)


class Guards(NamedTuple):
    """Of every message in flight, in every state: whether the one protocol would deliver it, and the other."""

    found: frozenset[tuple[bool, bool]]
    states: int


SAME_GUARDS = frozenset({(True, True), (False, False)})


def guards(decides: ProtocolMachine, watches: ProtocolMachine, workload: Workload) -> Guards:
    found, count = set(), 0
    for now in reachable(system_of(LockstepProduct(decides, watches), workload)):
        count += 1
        found.update(guards_in(now))
    return Guards(frozenset(found), count)


def guards_in(now: Reached) -> set[tuple[bool, bool]]:
    machine = now.system.machine
    assert isinstance(machine, LockstepProduct)
    locals_ = now.locals
    return {
        (
            machine.deliverable(packet.destination, locals_[packet.destination], packet),
            machine.watcher_accepts(packet.destination, locals_[packet.destination], packet),
        )
        for packet in now.in_flight
        if packet.message is not None
    }


# -- the matrix protocol in pieces -------------------------------------------------------------------------------------


class Pieces(Rst):
    """The matrix protocol, of methods each of which a change of `CHANGES` overrides."""

    invariants = {}

    def attach(self, i: int, j: int, before: Value, after: Value) -> Value:
        """What a message to j carries, of SENT before and after the increment."""
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
    """A piece of the matrix protocol that is changed, and what that does, as it stands in the ledger."""

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


@cache
def check_changes(n: int, m: int, *names: str) -> CheckResult:
    return explored(changed(n, *names), Free(n, m))


# -- variations of the matrix protocol, for any n ----------------------------------------------------------------------


class IncrementsBefore(Rst):
    """Increment, then attach; of the sender exactly one more than DELIV; no second increment of SENT."""

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
    """The same; who delivers a message counts it for all of its receivers."""

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


class ClearsTheWholeColumn(ExtraMessages):
    """Not even the entry of the message itself is left in column j."""

    def after_sending(self, i: Value, state: ExtraState, j: Value) -> ExtraState:
        return state._replace(matrix=self.ops.matrix(lambda k, l: state.matrix[k][l] * (1 - self.ops.one_if(l == j))))


class ToOneself(ExtraMessages):
    """[SA] excludes messages to oneself; admitted here, to see what would become of them."""

    admits_self_sends = True


class AttachesOneColumn(ExtraMessages):
    """A message carries what it asks of its receiver, and nothing else."""

    def send(self, i: int, state: ExtraState, message: Message) -> Sequence[Step]:
        column = self.column(state, message.receiver)
        return [
            step._replace(packets=[step.packets[0]._replace(stamp=column), *step.packets[1:]])
            for step in super().send(i, state, message)
        ]


class ClearsOnce(ExtraMessages):
    """One extra message at a time, however many entries are left."""

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


class ExtraMessagesNeverWait(ExtraMessages):
    """The constraints that an extra message carries are not heeded."""

    def deliverable(self, i: int, state: ExtraState, packet: Packet) -> Value:
        return packet.message is None or super().deliverable(i, state, packet)


class Numbered(ProtocolMachine):
    """A protocol whose packets are numbered on each link from one, which it cannot see."""

    promises = "causal"

    def __init__(self, inner: ProtocolMachine) -> None:
        super().__init__(inner.n)
        self.inner = inner

    def initial(self, i: int) -> Both:
        return Both(self.inner.initial(i), (0,) * self.n)

    def send(self, i: int, state: Both, message: Message) -> Sequence[Step]:
        return [self._numbered(state, step) for step in self.inner.send(i, state.decides, message)]

    def deliverable(self, i: int, state: Both, packet: Packet) -> Value:
        return self.inner.deliverable(i, state.decides, packet._replace(stamp=packet.stamp[0]))

    def on_packet(self, i: int, state: Both, packet: Packet) -> Sequence[Step]:
        steps = self.inner.on_packet(i, state.decides, packet._replace(stamp=packet.stamp[0]))
        return [self._numbered(state, step) for step in steps]

    def _numbered(self, state: Both, step: Step) -> Step:
        counts, packets = list(state.watches), list[Packet]()
        for packet in step.packets:
            counts[packet.destination] += 1
            packets.append(packet._replace(stamp=(packet.stamp, counts[packet.destination])))
        return Step(Both(step.state, tuple(counts)), packets, step.events)


# -- constraints over time ---------------------------------------------------------------------------------------------


class Times:
    """In a system of extra messages: which DELIV each process may have had before a state, and may have after it."""

    def __init__(self, system: System) -> None:
        assert isinstance(system.machine, ExtraMessages)
        self.system, self.machine = system, system.machine
        self.all = list(reachable(system))
        self.delivs: list[tuple[int, ...]] = []
        self._number: dict[tuple[int, ...], int] = {}
        own = {now.state: self._delivered(now) for now in self.all}
        self.before, self.after = dict(own), dict(own)
        for now in self.all:
            for _, target in now.moves:
                self.before[target] = _union(self.before[target], self.before[now.state])
        for now in reversed(self.all):
            for _, target in now.moves:
                self.after[now.state] = _union(self.after[now.state], self.after[target])
        self._wrong: dict[tuple[Value, Value], tuple[int, ...]] = {}

    def _delivered(self, now: Reached) -> tuple[int, ...]:
        bits = []
        for local in now.locals:
            number = self._number.setdefault(local.deliv, len(self.delivs))
            if number == len(self.delivs):
                self.delivs.append(local.deliv)
            bits.append(1 << number)
        return tuple(bits)

    def implies(self, new: Value, old: Value, times: tuple[int, ...]) -> bool:
        """True if, at all these times, every process that satisfies the new constraints satisfies the old ones."""
        wrong = self._wrong.get((new, old))
        if wrong is None:
            wrong = self._wrong[new, old] = tuple(self._wrong_at(q, new, old) for q in range(self.system.n))
        return not any(bad & some for bad, some in zip(wrong, times, strict=True))

    def _wrong_at(self, q: int, new: Value, old: Value) -> int:
        def satisfied(deliv: tuple[int, ...], matrix: Value) -> bool:
            return bool(self.machine.satisfied(q, ExtraState(matrix, deliv), matrix))

        return sum(
            1 << number
            for number, deliv in enumerate(self.delivs)
            if satisfied(deliv, new) and not satisfied(deliv, old)
        )

    @property
    def in_any_run(self) -> tuple[int, ...]:
        """Whatever any process has delivered in some state."""
        everything = (1 << len(self.delivs)) - 1
        return tuple(everything for _ in range(self.system.n))

    def always(self, state: GlobalState, target: GlobalState) -> tuple[int, ...]:
        """At any moment of any run that takes this step."""
        return _union(self.before[state], self.after[target])


def _union(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a | b for a, b in zip(one, other, strict=True))
