"""Protocols with one planted fault each, and variations that look like faults and are none.

Every machine here is a protocol of `impl` with one rule of its text overridden. `BROKEN` says which rule that is, which
property names the fault, how small a bound shows it and in how many actions; `HARMLESS` are changes that no property
notices, which says something about the text. The tests hold both tables to what the explorer finds. Before them: how a
machine that is in no registry is checked, and how a run is told move by move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

from crownless.impl import buffer, murty_garg, registry, rst
from crownless.impl.buffer import Buffer
from crownless.impl.channels import channel_named
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.ops import Value
from crownless.impl.protocol import Happened, Packet, ProtocolMachine, Step
from crownless.impl.rst import Rst
from crownless.impl.workloads import Program, Workload
from crownless.model_check.checking import Check, CheckResult, run_check
from crownless.model_check.explorer import Limits
from crownless.model_check.observers import Ledger, Observation, Observer
from crownless.model_check.system import Ghost, LocalStep, State, System
from crownless.spec import notation
from crownless.spec.computation import Computation, Message
from crownless.spec.notation import Script, SendStatement

# -- checking what is in no registry, and telling runs -----------------------------------------------------------------


def check(
    kind: type[ProtocolMachine],
    processes: int = 3,
    messages: int = 3,
    *,
    program: Script | str | None = None,
    channel: str = "unordered",
    orders: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> CheckResult:
    """What `run_check` says of a machine, as if it were registered under its class name."""
    script = notation.parse(program) if isinstance(program, str) else program
    asked = Check(
        kind.__name__, processes, messages, script, "a program" if script else None, channel=channel, orders=orders
    )
    with patch.object(registry, "PROTOCOLS", {kind.__name__: kind}):
        return run_check(asked, limits)


def violations(result: CheckResult) -> dict[str, int]:
    """Each property found violated, with the length of the run shown for it."""
    return {
        known.property.name: len(known.run.actions)
        for known in result.properties
        if known.verdict == "violated" and known.run is not None
    }


def never_reached(result: CheckResult) -> set[str]:
    """The `sometimes` properties that no run reaches."""
    return {
        known.property.name
        for known in result.properties
        if known.property.kind == "sometimes" and known.verdict != "holds"
    }


class Replay:
    """One run of a program, move by move. A move is told in words: `P1 send x`, `P1 post`, `P3 deliver z from P2`."""

    def __init__(self, kind: type[ProtocolMachine], program: Script | str, channel: str = "unordered") -> None:
        script = notation.parse(program) if isinstance(program, str) else program
        self.processes = script.processes
        self.machine = kind(len(self.processes))
        self.system = System(self.machine, Program(script), channel_named(channel), [Ledger()])
        self.state = self.system.initial()
        #: What has happened for the applications: `P1 sends x`.
        self.happened: list[str] = []

    def _moves(self) -> dict[str, tuple[LocalStep, State]]:
        moves: dict[str, tuple[LocalStep, State]] = {}
        for step, target in self.system.moves(self.state):
            action = step.action
            message = action.message.name if action.message else None
            origin = f"from {self.processes[action.packet.source]}" if action.packet else None
            told = " ".join(filter(None, (self.processes[action.process], action.name, message, origin)))
            assert told not in moves, f"two moves are both told as '{told}'"
            moves[told] = (step, target)
        return moves

    def can(self) -> set[str]:
        """Every move that can be made now."""
        return set(self._moves())

    def do(self, told: str) -> list[Packet]:
        """Makes that move, and returns what it transmits."""
        moves = self._moves()
        assert told in moves, f"'{told}' cannot happen now; what can: {sorted(moves)}"
        step, self.state = moves[told]
        self.happened += [
            f"{self.processes[process]} {kind}s {message.name}"
            for kind, process, message in step.observations
            if kind != "hand"
        ]
        return self.system.transmitted(step)

    def at(self, process: str) -> Any:
        """The protocol's local state at a process."""
        return self.system.local_states(self.state)[self.processes.index(process)]

    def waiting(self) -> list[str]:
        """What each application that is not at its end waits for."""
        return self.system.workload.describe(self.system.position(self.state))


#: A computation as plain data: for each process its events, as (`send` or `receive`, message name).
Lines = tuple[tuple[tuple[str, str], ...], ...]


class Recorder(Observer):
    """Remembers the computation and judges nothing."""

    watches = ()

    def __init__(self, n: int) -> None:
        self.n = n

    def initial(self) -> Lines:
        return ((),) * self.n

    def encode(self, observation: Observation) -> tuple[int, tuple[str, str]] | None:
        kind, process, message = observation
        if kind == "hand":
            return None
        return process, ("send" if kind == "send" else "receive", message.name)

    def observe(self, ghost: Any, code: tuple[int, tuple[str, str]]) -> tuple[Ghost, tuple[str, ...]]:
        process, event = code
        return (*ghost[:process], (*ghost[process], event), *ghost[process + 1 :]), ()


class Ending(NamedTuple):
    """Where a run ends: nothing can happen any more."""

    computation: Lines
    finished: bool
    locals: list[Any]
    waiting: list[str]


def endings(kind: type[ProtocolMachine], workload: Workload, channel: str = "unordered") -> Iterator[Ending]:
    """Every end of every run, told apart by the computations that led there."""
    machine = kind(len(workload.processes))
    system = System(machine, workload, channel_named(channel), [Ledger(), Recorder(machine.n)])
    nodes = [(system.initial(), system.initial_ghost())]
    known = set(nodes)
    for state, ghost in nodes:
        moves = system.moves(state)
        if not moves:
            waiting = workload.describe(system.position(state))
            yield Ending(ghost[1], system.finished(state), system.local_states(state), waiting)
        for step, target in moves:
            node = (target, system.judge(ghost, step)[0])
            if node not in known:
                known.add(node)
                nodes.append(node)


def computation_of(script: Script) -> Lines:
    """The computation that a script says, without its internal activity."""
    return tuple(
        tuple(
            ("send" if isinstance(part, SendStatement) else "receive", part.message or "")
            for part in parts
            if not isinstance(part, notation.Activity)
        )
        for parts in script.statements
    )


def lines_of(c: Computation) -> Lines:
    """The computation as plain data; a message is called by its channel and something of its own."""

    def name(m: int) -> str:
        return f"{c.messages[m].sender + 1}→{c.messages[m].receiver + 1}#{c.messages[m].name}"

    return tuple(
        tuple((event.kind, name(event.message)) for event in line if event.message is not None) for line in c.lines
    )


def numbered(lines: Lines) -> Lines:
    """The computation with the messages of each channel numbered in the order sent, whatever they were called."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for line in lines:
        for kind, name in line:
            if kind == "send":
                channel = name.partition("#")[0]
                counts[channel] = counts.get(channel, 0) + 1
                names[name] = f"{channel}#{counts[channel]}"
    return tuple(tuple((kind, names[name]) for kind, name in line) for line in lines)


# -- the tables' rows --------------------------------------------------------------------------------------------------


class Catch(NamedTuple):
    """A property that the fault breaks: the smallest bound that shows it, and the actions of a shortest such run."""

    property: str
    processes: int
    messages: int
    actions: int


class Broken(NamedTuple):
    """A machine with a fault, the rule of the text that it breaks, and what catches it: first what names the fault."""

    machine: type[ProtocolMachine]
    rule: str
    catches: tuple[Catch, ...]


class BrokenProgram(NamedTuple):
    """A machine whose fault only a program shows, since the free workload takes whatever is delivered."""

    machine: type[ProtocolMachine]
    rule: str
    program: str
    property: str
    actions: int


class Harmless(NamedTuple):
    """A variation that keeps what its protocol promises at a bound, and what that says about the text."""

    machine: type[ProtocolMachine]
    finding: str
    processes: int
    messages: int
    states: int
    channel: str = "unordered"
    #: Situations of the protocol that the variation does not know.
    never_reaches: frozenset[str] = frozenset()


# -- the matrix protocol: sending --------------------------------------------------------------------------------------


class AttachesAfterIncrementing(Rst):
    """The metadata counts the message itself: its receiver waits for it before it delivers it."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        after = self.after_sending(i, state, message.receiver)
        return [Step(after, [Packet(i, message.receiver, "message", message, after.sent)], [Happened("send", message)])]


class AttachesNothing(Rst):
    def stamp(self, state: rst.State) -> Value:
        return self.ops.matrix(lambda k, l: 0)


class AttachesOnlyTheColumn(Rst):
    """Only the column that is checked travels; what the receiver would pass on does not."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        j = message.receiver
        column = self.ops.matrix(lambda k, l: state.sent[k][l] * self.ops.one_if(l == j))
        packet = Packet(i, j, "message", message, column)
        return [Step(self.after_sending(i, state, j), [packet], [Happened("send", message)])]


class NeverIncrementsOnSending(Rst):
    def after_sending(self, i: Value, state: rst.State, j: Value) -> rst.State:
        return state


class IncrementsTheMirroredEntry(Rst):
    """SENT_i[j, i] for SENT_i[i, j]: rows and columns are exchanged."""

    def after_sending(self, i: Value, state: rst.State, j: Value) -> rst.State:
        return super().after_sending(j, state, i)


class WaitsForAnAnswer(Rst):
    """A process sends once, and then waits for an acknowledgement that this protocol does not have."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        return [] if any(state.sent[i]) else super().send(i, state, message)


# -- the matrix protocol: delivering -----------------------------------------------------------------------------------


class DeliversWhatArrives(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return True


class ChecksOnlyTheSender(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return state.deliv[packet.source] >= packet.stamp[packet.source][i]


class ChecksAllButTheSender(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: k == packet.source or state.deliv[k] >= packet.stamp[k][i])


class ChecksItsRow(Rst):
    """SENT_m[i, k] for SENT_m[k, i]: the messages that the receiver sent, not those sent to it."""

    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[i][k])


class ChecksEveryColumn(Rst):
    """All that causally precedes, whoever it is for: what a causal broadcast would ask ([Kup], footnote 1)."""

    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] >= sum(packet.stamp[k]))


class AsksForMore(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] > packet.stamp[k][i])


class AsksForExactlyAsMany(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.deliv[k] == packet.stamp[k][i])


# -- the matrix protocol: after delivering -----------------------------------------------------------------------------


class NeverCountsDeliveries(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(deliv=state.deliv)


class NeverCountsTheDeliveredAsSent(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


class NeverMerges(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0))


class ReplacesInsteadOfMerging(Rst):
    """SENT_i becomes SENT_m: what only the receiver knew is forgotten."""

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        return super().after_delivering(i, state, j, stamp)._replace(sent=stamp)


class AddsInsteadOfMerging(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        incremented = super().after_delivering(i, state, j, self.ops.matrix(lambda k, l: 0)).sent
        sent = self.ops.matrix(lambda k, l: incremented[k][l] + stamp[k][l])
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


class MergesOnlyItsOwnColumn(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        column = self.ops.matrix(lambda k, l: stamp[k][l] * self.ops.one_if(l == i))
        return super().after_delivering(i, state, j, column)


# -- the matrix protocol: variations -----------------------------------------------------------------------------------


class LearnsOfItsOwnDeliveriesLate(NeverCountsTheDeliveredAsSent):
    """Without the receiver's extra increment, and held to the orders and to liveness only."""

    invariants = {}


class MergesBeforeIncrementing(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        merged = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state._replace(sent=merged), j, self.ops.matrix(lambda k, l: 0))


class MergesAllButItsOwnColumn(Rst):
    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        others = self.ops.matrix(lambda k, l: stamp[k][l] * (1 - self.ops.one_if(l == i)))
        return super().after_delivering(i, state, j, others)


class ReadsItsColumnForDeliv(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        return self.ops.every(lambda k: state.sent[k][i] >= packet.stamp[k][i])


class AsksForExactlyAsManyOfTheSender(Rst):
    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        exact = state.deliv[packet.source] == packet.stamp[packet.source][i]
        return exact and super().accepts(i, state, packet)


class IncrementsBeforeSending(AttachesAfterIncrementing):
    """The matrix protocol as [MF] §2 tells it: increment, send, ask for exactly one more, and only merge."""

    def accepts(self, i: int, state: rst.State, packet: Packet) -> Value:
        j, stamp = packet.source, packet.stamp
        one_more = stamp[j][i] == state.deliv[j] + 1
        return one_more and self.ops.every(lambda k: k == j or state.deliv[k] >= stamp[k][i])

    def after_delivering(self, i: Value, state: rst.State, j: Value, stamp: Value) -> rst.State:
        sent = self.ops.matrix(lambda k, l: self.ops.maximum(state.sent[k][l], stamp[k][l]))
        return super().after_delivering(i, state, j, stamp)._replace(sent=sent)


# -- the buffer protocol: the output buffer ----------------------------------------------------------------------------


class InsertsAtTheFront(Buffer):
    def insert(self, state: buffer.State, message: Message) -> buffer.State:
        return state._replace(output=(message, *state.output))


class InsertsIntoItsInputBuffer(Buffer):
    def insert(self, state: buffer.State, message: Message) -> buffer.State:
        return state._replace(input=(*state.input, message))


class PostsWithoutWaiting(Buffer):
    def may_post(self, state: buffer.State) -> bool:
        return True


class PostsAllAtOnce(Buffer):
    """Waits for an acknowledgement before it posts, but then posts all there is."""

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        if not state.output or state.waiting:
            return []
        packets = [Packet(i, message.receiver, "message", message) for message in state.output]
        return [("post", Step(state._replace(output=(), waiting=True), packets))]


class PostsTheSameAgain(Buffer):
    """Transmits the oldest message and does not dequeue it."""

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return [(name, step._replace(state=state._replace(waiting=True))) for name, step in super().internal(i, state)]


class PostsNothing(Buffer):
    """Dequeues the oldest message and does not transmit it."""

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return [(name, step._replace(packets=())) for name, step in super().internal(i, state)]


class PostsToEverybody(Buffer):
    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        others = [j for j in range(self.n) if j != i]
        return [
            (name, step._replace(packets=[packet._replace(destination=j) for packet in step.packets for j in others]))
            for name, step in super().internal(i, state)
        ]


class NeverStopsWaiting(Buffer):
    def acknowledged(self, state: buffer.State) -> buffer.State:
        return state


# -- the buffer protocol: the input buffer -----------------------------------------------------------------------------


class NeverAcknowledgesAGet(Buffer):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()


class AcknowledgesTwice(Buffer):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [*super().acknowledgement(i, packet), *super().acknowledgement(i, packet)]


class AcknowledgesToEverybody(Buffer):
    """The acknowledgement is for the output buffer that posted; others take it for their own."""

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return [Packet(i, j, "ack") for j in range(self.n) if j != i]


class GetsAtTheFront(Buffer):
    def get(self, state: buffer.State, message: Message) -> buffer.State:
        return state._replace(input=(message, *state.input))


class GetsIntoItsOutputBuffer(Buffer):
    def get(self, state: buffer.State, message: Message) -> buffer.State:
        return state._replace(output=(*state.output, message))


class NeverEnqueues(Buffer):
    def get(self, state: buffer.State, message: Message) -> buffer.State:
        return state


class DeliversTheNewest(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return super().receive(i, state._replace(input=state.input[-1:] + state.input[:-1]), sender)


class DeliversWithoutDequeuing(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [step._replace(state=state) for step in super().receive(i, state, sender)]


class SearchesItsInputBuffer(Buffer):
    """A selective receive takes the oldest message from the sender it names, wherever that is in the buffer."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        for place, message in enumerate(state.input):
            if sender in (None, message.sender):
                rest = state.input[:place] + state.input[place + 1 :]
                return [Step(state._replace(input=rest), (), [Happened("deliver", message)])]
        return []


class Arrived(NamedTuple):
    """A buffer state with messages that are acknowledged and not yet enqueued."""

    output: tuple[Message, ...]
    waiting: bool
    input: tuple[Message, ...]
    arrived: tuple[Message, ...]


class EnqueuesLate(Buffer):
    """Acknowledges at once and enqueues by a later step: another message may be enqueued in between."""

    def initial(self, i: int) -> Any:
        return Arrived((), False, (), ())

    def get(self, state: Any, message: Message) -> Any:
        return state._replace(arrived=(*state.arrived, message))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [
            *super().internal(i, state),
            *(("enqueue", Step(self.enqueued(state, place))) for place in range(len(state.arrived))),
        ]

    def enqueued(self, state: Arrived, place: int) -> Arrived:
        rest = state.arrived[:place] + state.arrived[place + 1 :]
        return state._replace(input=(*state.input, state.arrived[place]), arrived=rest)


# -- the buffer protocol: variations -----------------------------------------------------------------------------------


class AcknowledgesBeforeEnqueuing(EnqueuesLate):
    """Getting a message is two steps in the order printed, and the next one is got when both are done."""

    def accepts(self, i: int, state: Any, packet: Packet) -> bool:
        return packet.kind == "ack" or not state.arrived


class AcknowledgesOnDelivery(Buffer):
    """Synchronous communication between an output buffer and the *process*."""

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return ()

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [
            step._replace(packets=[Packet(i, event.message.sender, "ack") for event in step.events])
            for step in super().receive(i, state, sender)
        ]


class WaitsAndAcknowledges(AcknowledgesOnDelivery):
    """No buffers: the sender does nothing else until its message has been received ([MF] §2)."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return [] if state.output or state.waiting else super().send(i, state, message)

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [] if state.output or state.waiting else super().receive(i, state, sender)


class RefusesWhileItWaits(Buffer):
    """The send blocks until the last message is acknowledged."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return [] if state.output or state.waiting else super().send(i, state, message)


class PostsAtOnce(Buffer):
    """[MF] §3.1's words: to an empty output buffer a message is "immediately transmitted"; no step lies between."""

    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return [self.posting(i, step) for step in super().send(i, state, message)]

    def arrive(self, i: int, state: buffer.State, packet: Packet) -> Sequence[Step]:
        return [self.posting(i, step) for step in super().arrive(i, state, packet)]

    def posting(self, i: int, step: Step) -> Step:
        for _, post in super().internal(i, step.state):
            return Step(post.state, [*step.packets, *post.packets], step.events)
        return step

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return []


class Posted(NamedTuple):
    """A buffer state that counts the posts not yet acknowledged, all of them to one receiver."""

    output: tuple[Message, ...]
    waiting: int
    input: tuple[Message, ...]
    towards: int | None


class PostsOnToTheSameReceiver(Buffer):
    """Waits only before it posts to another receiver than the last ([MF] footnote 4)."""

    witnesses = {}

    def initial(self, i: int) -> Any:
        return Posted((), 0, (), None)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if not state.output or (state.waiting and state.output[0].receiver != state.towards):
            return []
        message, *rest = state.output
        after = Posted(tuple(rest), state.waiting + 1, state.input, message.receiver)
        return [("post", Step(after, [Packet(i, message.receiver, "message", message)]))]

    def acknowledged(self, state: Any) -> Any:
        return state._replace(waiting=state.waiting - 1, towards=state.towards if state.waiting > 1 else None)


# -- Murty & Garg: the priority rule -----------------------------------------------------------------------------------


class NobodyAsks(MurtyGarg):
    def must_ask(self, i: int, j: int) -> bool:
        return False


class EverybodyAsks(MurtyGarg):
    def must_ask(self, i: int, j: int) -> bool:
        return True


class CommitsWhenItAsks(MurtyGarg):
    """The smaller process commits at its request, not when the message comes back."""

    def send(self, i: int, state: murty_garg.State, message: Message) -> Sequence[Step]:
        if self.must_ask(i, message.receiver):
            return [step._replace(events=[self.commit(i, message)]) for step in super().send(i, state, message)]
        return super().send(i, state, message)

    def arrive(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        steps = super().arrive(i, state, packet)
        if packet.message is not None and packet.message.sender == i:
            return [step._replace(events=()) for step in steps]
        return steps


class CommitsARequestWhilePassive(MurtyGarg):
    """The bigger process executes what it is asked for at once, not when "in a position to commit"."""

    def arrive(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "request":
            assert packet.message is not None
            return [self.commit_and_send(i, state._replace(active=False), packet.message)]
        return super().arrive(i, state, packet)


class IgnoresRequests(MurtyGarg):
    def arrive(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        return [Step(state)] if packet.kind == "request" else super().arrive(i, state, packet)


class SendsBackUncommitted(MurtyGarg):
    """The bigger process sends a requested message back and does not commit it."""

    def commit_and_send(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().commit_and_send(i, state, message)
        return step if message.sender == i else step._replace(events=())


class Uncommitted(NamedTuple):
    """A state of Murty & Garg with the message sent and not yet committed, if there is one."""

    active: bool
    messages: tuple[Message, ...]
    acks: tuple[int, ...]
    message: Message | None


class CommitsOnAcknowledgement(MurtyGarg):
    """The sender of a message to a smaller process commits it at the acknowledgement ([MG] §4.1: "either")."""

    def initial(self, i: int) -> Any:
        return Uncommitted(True, (), (), None)

    def commit_and_send(self, i: int, state: Any, message: Message) -> Step:
        step = super().commit_and_send(i, state, message)
        return step if message.sender != i else Step(state._replace(message=message), step.packets)

    def acknowledged(self, i: int, state: Any) -> Step:
        committed = [] if state.message is None else [self.commit(i, state.message)]
        packets = [Packet(i, j, "ack") for j in state.acks]
        active = Uncommitted(True, state.messages[1:], (), None)
        if not state.messages:
            return Step(active, packets, committed)
        sent = self.send_to_smaller(i, active, state.messages[0])  # type: ignore[arg-type]
        return Step(sent.state, [*packets, *sent.packets], [*committed, *sent.events])


# -- Murty & Garg: sends and acknowledgements --------------------------------------------------------------------------


class SendsWhilePassive(MurtyGarg):
    def may_send(self, state: murty_garg.State) -> bool:
        return True


class StaysActiveOnSending(MurtyGarg):
    def send_to_smaller(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().send_to_smaller(i, state, message)
        return step._replace(state=step.state._replace(active=state.active))


class SendsTwice(MurtyGarg):
    def commit_and_send(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().commit_and_send(i, state, message)
        return step._replace(packets=[*step.packets, *step.packets])


class AcknowledgesWhilePassive(MurtyGarg):
    def may_acknowledge(self, state: murty_garg.State) -> bool:
        return True


class NeverAcknowledges(MurtyGarg):
    def commit_and_acknowledge(self, i: int, state: murty_garg.State, j: int, message: Message) -> Step:
        return Step(state, (), [self.commit(i, message)])


class NeverWithholdsTheDebt(MurtyGarg):
    """While passive it neither acknowledges nor remembers to."""

    def commit_and_acknowledge(self, i: int, state: murty_garg.State, j: int, message: Message) -> Step:
        return super().commit_and_acknowledge(i, state, j, message)._replace(state=state)


class StaysPassive(MurtyGarg):
    """After an acknowledgement it does all that Fig. 8 says but to become active."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        return step._replace(state=step.state._replace(active=False))


class KeepsItsAcknowledgements(MurtyGarg):
    """Active again, it does not send the acknowledgements that it owes."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state._replace(acks=()))
        return step._replace(state=step.state._replace(acks=state.acks))


class SendsOneAcknowledgement(MurtyGarg):
    """`if (notEmpty(ackQueue))` for `while`: the others are kept."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state._replace(acks=state.acks[:1]))
        return step._replace(state=step.state._replace(acks=state.acks[1:]))


class KeepsItsMessages(MurtyGarg):
    """Active again, it does not send the message that waits."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state._replace(messages=()))
        return step._replace(state=step.state._replace(messages=state.messages))


class StaysActiveOnSendingAQueuedMessage(MurtyGarg):
    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        return step._replace(state=step.state._replace(active=True))


class SendsAllItsMessages(MurtyGarg):
    """`while (notEmpty(messageQueue))` for `if`: all that wait are sent at once."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        for message in state.messages[1:]:
            more = self.commit_and_send(i, step.state._replace(messages=()), message)
            step = Step(more.state, [*step.packets, *more.packets], [*step.events, *more.events])
        return step


# -- Murty & Garg: variations ------------------------------------------------------------------------------------------


class ReversesTheRanks(MurtyGarg):
    """The total order of the processes is the other way round; the invariant that names it goes with it."""

    invariants = {name: holds for name, holds in MurtyGarg.invariants.items() if "bigger" not in name}

    def must_ask(self, i: int, j: int) -> bool:
        return i > j


class SendsTheNewestMessage(MurtyGarg):
    """messageQueue is a stack."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        return super().acknowledged(i, state._replace(messages=state.messages[-1:] + state.messages[:-1]))


class RefusesToSendWhilePassive(MurtyGarg):
    """The application's own sends to smaller processes wait outside; only requests are queued."""

    def send(self, i: int, state: murty_garg.State, message: Message) -> Sequence[Step]:
        refused = not state.active and not self.must_ask(i, message.receiver)
        return [] if refused else super().send(i, state, message)


class CommitsOnlyWhileActive(MurtyGarg):
    """A message from a bigger process waits in the mail room while the receiver is passive, and with it its commit."""

    witnesses = {"a-send-waits-for-an-acknowledgement": lambda machine, i, state: bool(state.messages)}

    def accepts(self, i: int, state: murty_garg.State, packet: Packet) -> bool:
        return packet.kind != "message" or state.active


class Blocks(MurtyGarg):
    """A passive process takes in nothing but its acknowledgement: the informal algorithm, made safe by the ranks."""

    witnesses = {}

    def send(self, i: int, state: murty_garg.State, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) if state.active else []

    def accepts(self, i: int, state: murty_garg.State, packet: Packet) -> bool:
        return packet.kind == "ack" or state.active


# -- the tables --------------------------------------------------------------------------------------------------------

BROKEN = (
    # [Kup], Sending messages
    Broken(
        AttachesAfterIncrementing,
        "[Kup] Sending: attach the current SENT_i, before the increment",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(AttachesNothing, "[Kup] Sending: attach the current SENT_i", (Catch("fifo", 2, 2, 3),)),
    Broken(
        AttachesOnlyTheColumn,
        "[Kup] Question on the single column: the rest is what the receiver passes on",
        (Catch("causal", 3, 3, 5),),
    ),
    Broken(NeverIncrementsOnSending, "[Kup] Sending: increment SENT_i[i, j] after sending", (Catch("fifo", 2, 2, 3),)),
    Broken(
        IncrementsTheMirroredEntry,
        "[Kup] Getting started: rows are senders, columns receivers",
        (Catch("deliv-equals-sent-column", 2, 1, 1), Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 3, 5)),
    ),
    Broken(WaitsForAnAnswer, "[Kup] Sending: nothing delays a send", (Catch("never-blocks", 2, 3, 4),)),
    # [Kup], Delivering messages (or not)
    Broken(
        DeliversWhatArrives,
        "[Kup] Delivering: DELIV_i[k] ≥ SENT_m[k, i] for all k",
        (Catch("fifo", 2, 2, 3), Catch("causal", 2, 2, 3), Catch("deliv-equals-sent-column", 2, 3, 4)),
    ),
    Broken(ChecksOnlyTheSender, "[Kup] Delivering: for all k, not only the sender", (Catch("causal", 3, 3, 5),)),
    Broken(ChecksAllButTheSender, "[Kup] Delivering: for all k, the sender too", (Catch("fifo", 2, 2, 3),)),
    Broken(
        ChecksItsRow,
        "[Kup] Delivering: column i, not row i",
        (Catch("fifo", 2, 2, 3), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(ChecksEveryColumn, "[Kup] Delivering: column i, not the others", (Catch("delivers-all", 2, 2, 3),)),
    Broken(AsksForMore, "[Kup] Delivering: ≥, not >", (Catch("delivers-all", 2, 1, 1),)),
    Broken(AsksForExactlyAsMany, "[Kup] Delivering: ≥, not =", (Catch("delivers-all", 3, 2, 3),)),
    # [Kup], After delivering a message
    Broken(
        NeverCountsDeliveries,
        "[Kup] After delivering: increment DELIV_i[j]",
        (Catch("deliv-equals-sent-column", 2, 1, 2), Catch("delivers-all", 2, 2, 3)),
    ),
    Broken(
        NeverCountsTheDeliveredAsSent,
        "[Kup] After delivering: increment SENT_i[j, i]",
        (Catch("deliv-equals-sent-column", 2, 1, 2),),
    ),
    Broken(NeverMerges, "[Kup] After delivering: take the maximum with SENT_m", (Catch("causal", 3, 3, 5),)),
    Broken(
        ReplacesInsteadOfMerging,
        "[Kup] After delivering: the maximum of itself and SENT_m",
        (Catch("fifo", 2, 3, 5), Catch("deliv-equals-sent-column", 2, 1, 2)),
    ),
    Broken(
        AddsInsteadOfMerging,
        "[Kup] After delivering: the maximum, not the sum",
        (Catch("delivers-all", 2, 3, 5), Catch("deliv-equals-sent-column", 2, 2, 4)),
    ),
    Broken(MergesOnlyItsOwnColumn, "[Kup] After delivering: every entry", (Catch("causal", 3, 3, 5),)),
    # [MF] §3, the output buffer
    Broken(InsertsAtTheFront, "[MF] §3.1: output buffers are FIFO queues", (Catch("fifo", 2, 2, 5),)),
    Broken(
        InsertsIntoItsInputBuffer,
        "[MF] §3.2: OB_i inserts m, to be posted to IB_j",
        (Catch("input-holds-messages-for-itself", 2, 1, 1), Catch("delivers-once", 2, 1, 2)),
    ),
    Broken(PostsWithoutWaiting, "[MF] §3.2: wait for an acknowledgement", (Catch("fifo", 2, 2, 6),)),
    Broken(PostsAllAtOnce, "[MF] §3.2: dequeue the next message, one at a time", (Catch("fifo", 2, 2, 5),)),
    Broken(PostsTheSameAgain, "[MF] §3.2: dequeue the next message", (Catch("delivers-once", 2, 1, 8),)),
    Broken(PostsNothing, "[MF] §3.2: transmit it", (Catch("delivers-all", 2, 1, 2),)),
    Broken(
        PostsToEverybody,
        "[MF] §3.2: transmit it to IB_j",
        (Catch("input-holds-messages-for-itself", 3, 1, 3), Catch("delivers-once", 3, 1, 4)),
    ),
    Broken(NeverStopsWaiting, "[MF] §3.2: an acknowledgement ends the waiting", (Catch("delivers-all", 2, 2, 6),)),
    # [MF] §3, the input buffer
    Broken(
        NeverAcknowledgesAGet,
        "[MF] §3.2: getting a message, send an acknowledgement",
        (Catch("delivers-all", 2, 2, 5),),
    ),
    Broken(AcknowledgesTwice, "[MF] §3.2: one acknowledgement a message", (Catch("fifo", 2, 3, 12),)),
    Broken(AcknowledgesToEverybody, "[MF] §3.2: an acknowledgement to OB_j", (Catch("causal", 3, 3, 10),)),
    Broken(EnqueuesLate, "[MF] §3.2: getting is one operation, its end the get event", (Catch("fifo", 2, 2, 9),)),
    Broken(GetsAtTheFront, "[MF] §3.1: input buffers are FIFO queues", (Catch("fifo", 2, 2, 8),)),
    Broken(
        GetsIntoItsOutputBuffer,
        "[MF] §3.2: IB_i enqueues the message",
        (Catch("output-holds-own-messages", 2, 1, 3), Catch("delivers-all", 2, 1, 4)),
    ),
    Broken(NeverEnqueues, "[MF] §3.2: enqueue message in buffer", (Catch("delivers-all", 2, 1, 4),)),
    Broken(DeliversTheNewest, "[MF] §3.1: the first message, which is the oldest", (Catch("fifo", 2, 2, 8),)),
    Broken(DeliversWithoutDequeuing, "[MF] §3.2: dequeue the next message", (Catch("delivers-once", 2, 1, 5),)),
    Broken(
        WaitsAndAcknowledges,
        "[MF] §3.1: with buffers the processes are free to proceed (without: Fig. 1)",
        (Catch("delivers-all", 2, 2, 6), Catch("never-blocks", 2, 3, 6)),
    ),
    # [MG] §4.2.1, the priority rule, and §4.1, the commit point
    Broken(
        NobodyAsks,
        "[MG] §4.2.1 PR, type 2: the smaller process sends a request",
        (
            Catch("synchronous", 2, 2, 2),
            Catch("acknowledges-only-bigger-processes", 2, 2, 3),
            Catch("delivers-all", 2, 3, 5),
        ),
    ),
    Broken(
        EverybodyAsks,
        "[MG] §4.2.1 PR, type 1: the bigger process sends at once",
        (Catch("synchronous", 2, 2, 4), Catch("delivers-all", 2, 3, 8)),
    ),
    Broken(
        CommitsWhenItAsks,
        "[MG] §4.2.1 PR, type 2: the smaller process commits on receiving",
        (Catch("synchronous", 2, 2, 2),),
    ),
    Broken(
        CommitsARequestWhilePassive,
        "[MG] §4.2.1 PR, type 2: executed when in a position to commit",
        (Catch("synchronous", 2, 2, 4),),
    ),
    Broken(IgnoresRequests, "[MG] §4.2.1 PR, type 2: the bigger process sends it", (Catch("delivers-all", 2, 1, 2),)),
    Broken(
        SendsBackUncommitted,
        "[MG] §4.2.1 PR, type 2: the bigger process commits it at its send",
        (Catch("delivers-all", 2, 1, 4),),
    ),
    Broken(
        CommitsOnAcknowledgement,
        "[MG] §4.2.1 PR, type 1: committed at the send (§4.1 would also allow the acknowledgement)",
        (Catch("synchronous", 3, 3, 7),),
    ),
    # [MG] §4.3, active and passive, and Fig. 8
    Broken(SendsWhilePassive, "[MG] §4.3.1 SP: send only while active", (Catch("synchronous", 2, 2, 3),)),
    Broken(StaysActiveOnSending, "[MG] §4.3: on sending become passive", (Catch("synchronous", 2, 2, 3),)),
    Broken(
        SendsTwice,
        "[MG] Fig. 8: send the message once, for one acknowledgement",
        (Catch("delivers-once", 2, 1, 3), Catch("synchronous", 2, 3, 8)),
    ),
    Broken(AcknowledgesWhilePassive, "[MG] §4.3.2 RP: acknowledge only while active", (Catch("synchronous", 3, 3, 6),)),
    Broken(NeverAcknowledges, "[MG] §4.3: on receiving send an acknowledgement", (Catch("delivers-all", 2, 2, 3),)),
    Broken(
        NeverWithholdsTheDebt,
        "[MG] Fig. 8: enqueue the acknowledgement while passive",
        (Catch("delivers-all", 3, 3, 6),),
    ),
    Broken(StaysPassive, "[MG] §4.3: on an acknowledgement become active", (Catch("delivers-all", 2, 2, 4),)),
    Broken(
        KeepsItsAcknowledgements,
        "[MG] Fig. 8: send the queued acknowledgements",
        (Catch("nothing-queued-while-active", 3, 2, 5), Catch("delivers-all", 3, 3, 6)),
    ),
    Broken(
        SendsOneAcknowledgement,
        "[MG] Fig. 8: send the queued acknowledgements, while there are any",
        (Catch("nothing-queued-while-active", 4, 3, 7),),
    ),
    Broken(
        KeepsItsMessages,
        "[MG] Fig. 8: send the next queued message",
        (Catch("nothing-queued-while-active", 2, 2, 4), Catch("delivers-all", 2, 2, 4)),
    ),
    Broken(
        StaysActiveOnSendingAQueuedMessage,
        "[MG] Fig. 8: passive again when a queued message is sent",
        (Catch("synchronous", 2, 3, 6), Catch("nothing-queued-while-active", 2, 3, 5)),
    ),
    Broken(SendsAllItsMessages, "[MG] Fig. 8: send one queued message, not all", (Catch("synchronous", 2, 3, 6),)),
)

#: The program of [MF] Fig. 1, in which synchronous communication deadlocks.
FIG_1 = "P1: send x to P2; receive\nP2: send y to P1; receive"
#: P2 never asks for what it is sent.
NOBODY_ASKS = "P1: send x to P2; send y to P3\nP2:\nP3: receive"
#: While P2 is passive it receives from P3 and from P4, and owes both an acknowledgement before they can send to P1.
TWO_DEBTS = """
P1: receive; receive; receive
P2: send a to P1; receive; receive
P3: send b to P2; send d to P1
P4: send c to P2; send e to P1
"""
#: The first program of [MF] §4.1 with P3's selective receives.
PROGRAM_1_SELECTIVE = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive from P2; receive from P1"

BROKEN_PROGRAMS = (
    BrokenProgram(
        SearchesItsInputBuffer,
        "[MF] §4.1: messages in the FIFO queue cannot be reordered, whatever a receive asks for",
        PROGRAM_1_SELECTIVE,
        "causal",
        12,
    ),
    BrokenProgram(
        WaitsAndAcknowledges,
        "[MF] §3.1: with buffers the processes are free to proceed (without: Fig. 1)",
        FIG_1,
        "completes",
        6,
    ),
    BrokenProgram(
        AcknowledgesOnDelivery,
        "[MF] §3.1: the input buffer acknowledges immediately",
        NOBODY_ASKS,
        "completes",
        4,
    ),
    BrokenProgram(
        SendsOneAcknowledgement,
        "[MG] Fig. 8: send the queued acknowledgements, while there are any",
        TWO_DEBTS,
        "completes",
        12,
    ),
)

HARMLESS = (
    Harmless(
        LearnsOfItsOwnDeliveriesLate,
        "[Kup] After delivering, increment SENT_i[j, i]: neither causal order nor delivery needs it, only DELIV = own "
        "column; what it tells others is of a message already delivered, which delays nobody.",
        3,
        5,
        24731,
    ),
    Harmless(
        MergesBeforeIncrementing,
        "[Kup] After delivering: the order of the second and the third step makes no difference.",
        3,
        4,
        7370,
    ),
    Harmless(
        MergesAllButItsOwnColumn,
        "[Kup] After delivering: a process's own column never learns anything from the maximum.",
        3,
        4,
        7370,
    ),
    Harmless(
        ReadsItsColumnForDeliv,
        "[Kup] Is DELIV redundant? The guard may read the own column of SENT instead.",
        3,
        4,
        7370,
    ),
    Harmless(
        AsksForExactlyAsManyOfTheSender,
        "[Kup] Delivering: of the sender's own messages the receiver has never delivered more than SENT_m says.",
        3,
        4,
        7370,
    ),
    Harmless(
        IncrementsBeforeSending,
        "[Kup] Discussion: increment before sending, ask for exactly one more, drop the receiver's increment.",
        3,
        4,
        7370,
    ),
    Harmless(
        AcknowledgesBeforeEnqueuing,
        "[MF] §3.2: acknowledging before enqueuing, as printed, needs only that gets do not overlap.",
        3,
        3,
        14984,
    ),
    Harmless(
        AcknowledgesOnDelivery,
        "[MF] §3.1: a later acknowledgement is as safe, and as live while every process goes on receiving.",
        3,
        3,
        3869,
    ),
    Harmless(
        RefusesWhileItWaits,
        "[MF] §3.1: that sends do not block is no matter of order.",
        3,
        3,
        5821,
        never_reaches=frozenset({"a-message-waits-for-an-acknowledgement"}),
    ),
    Harmless(
        PostsAtOnce,
        "[MF] §3.1 posts to an empty output buffer immediately, §3.2 in a loop of its own: no matter of order.",
        3,
        3,
        4847,
    ),
    Harmless(
        PostsOnToTheSameReceiver,
        "[MF] footnote 4: without waiting, to the same receiver, if the transport does not reorder.",
        3,
        3,
        8929,
        channel="fifo",
    ),
    Harmless(
        ReversesTheRanks,
        "[MG] §4.2.1 PR: any total order of the processes serves.",
        3,
        3,
        2491,
    ),
    Harmless(
        SendsTheNewestMessage,
        "[MG] Fig. 8: messageQueue need not be a queue; sends are not kept in the order intended anyway.",
        3,
        3,
        2521,
    ),
    Harmless(
        RefusesToSendWhilePassive,
        "[MG] §4.3.1 SP: a send may as well block; only requests must be queued.",
        3,
        3,
        2033,
    ),
    Harmless(
        CommitsOnlyWhileActive,
        "[MG] §4.3.2 RP: receiving only while active is as safe and live, and less concurrent.",
        3,
        3,
        2351,
    ),
    Harmless(
        Blocks,
        "[MG] §1: with the priority rule even the blocking algorithm does not deadlock.",
        3,
        3,
        1376,
    ),
)
