"""Evidence for the claims of [MF] beside checks: state walks, programs and what they can become, special machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

from crownless.impl.buffer import Buffer
from crownless.impl.buffer import State as BufferState
from crownless.impl.buffer_bounded import BufferBounded
from crownless.impl.channels import channel_named
from crownless.impl.kearns import Kearns
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.registry import protocol_named
from crownless.impl.rst_before import RstBefore
from crownless.impl.workloads import Free, Program
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult
from crownless.model_check.generating import Clock, Form, form_of, generate
from crownless.model_check.reachable import HistoryVariable, Reached, reachable, shortest_run_to
from crownless.model_check.realizing import Realization, realize
from crownless.model_check.request import Check, load_program
from crownless.model_check.runs import Run
from crownless.model_check.system import LocalStep, System
from crownless.spec import notation
from crownless.spec.computation import Computation, Message
from crownless.spec.crowns import crowns
from crownless.spec.enumeration import computations

from .evidence import system_of

# -- every state -------------------------------------------------------------------------------------------------------


def bundled_system(protocol: str, program: str) -> System:
    """A bundled program under a protocol, over the channel it needs."""
    workload = Program(load_program(program))
    return system_of(protocol_named(protocol)(len(workload.processes)), workload)


def _arrivals_too(system: System, arrived: tuple[str, ...], step: LocalStep) -> tuple[str, ...]:
    if step.action.name == "receive message" and step.action.message is not None:
        return (*arrived, step.action.message.name)
    return arrived


#: In which order messages get into input buffers.
ARRIVALS = HistoryVariable((), _arrivals_too)


def in_flight(now: Reached) -> set[str]:
    """The names of the messages that are in flight, or arrived and refused."""
    return {packet.message.name for packet in now.in_flight if packet.message is not None}


def refused(now: Reached) -> set[str]:
    """The names of the messages that have arrived and must wait."""
    return {packet.message.name for packet in now.system.refused(now.state) if packet.message is not None}


def delays_z_at_its_receiver() -> bool:
    """Under the matrix protocol: z, arrived, waits exactly while x is in flight; x and y are in flight together."""
    waits = together = False
    for now in reachable(bundled_system("rst", "mf-program-1")):
        names, waiting = in_flight(now), refused(now)
        if "z" in names and ("z" in waiting) != ("x" in names):
            return False
        waits |= "z" in waiting
        together |= {"x", "y"} <= names
    return waits and together


def delays_y_at_its_sender() -> bool:
    """Under the buffer protocol: y waits in P1's output buffer while x is in flight; nothing that arrives waits."""
    waits = False
    for now in reachable(bundled_system("buffer", "mf-program-1")):
        names = in_flight(now)
        if {"x", "y"} <= names or refused(now):
            return False
        waits |= "x" in names and "y" in {message.name for message in now.locals[0].output}
    return waits


class Stuck(NamedTuple):
    """What the messages have in common that are never delivered once another, or its acknowledgement, is lost."""

    same_sender: bool
    same_receiver: bool


@cache
def after_a_loss(protocol: str, n: int, m: int) -> frozenset[Stuck]:
    """Which other messages stay undelivered once one packet is lost, over every run with one loss."""
    system = system_of(protocol_named(protocol)(n), Free(n, m), channel="lossy")
    found = set()
    for now in reachable(system, history=LOSSES):
        lost, owed = now.history
        if lost not in (None, "more") and system.may_end(now.moves):
            found |= {Stuck(x.sender == lost[0], x.receiver == lost[1]) for x in owed if x != lost[2]}
    return frozenset(found)


def _losses_too(system: System, remembered: Any, step: LocalStep) -> Any:
    lost, owed = remembered
    packet = step.action.packet
    if step.action.name == "lose" and packet is not None:
        way = (packet.source, packet.destination) if packet.message else (packet.destination, packet.source)
        return ((*way, packet.message) if lost is None else "more"), owed
    for kind, _, message in step.observations:
        owed = owed | {message} if kind == "hand" else owed - {message} if kind == "deliver" else owed
    return lost, owed


#: What was lost, (sender, receiver, message) or `more` than one packet; and what is not delivered.
LOSSES = HistoryVariable((None, frozenset()), _losses_too)


# -- the lemmas of §3.3 ------------------------------------------------------------------------------------------------


class Lemmas(NamedTuple):
    """How each lemma fares over every run: how many steps it was asked of, and a shortest run that breaks it."""

    nodes: int
    asked: Mapping[str, int]
    broken: Mapping[str, Run]


class Waiting(NamedTuple):
    """For each process messages in the order of their events; and the lemmas that the last step broke, or was about."""

    sent: tuple[tuple[Message, ...], ...]  #: sent and not got
    posted: tuple[tuple[Message, ...], ...]  #: posted and not got
    got: tuple[tuple[Message, ...], ...]  #: got and not received
    posted_before: tuple[bool, ...]  #: True if a message of it has been got
    broke: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()


@cache
def lemmas(
    protocol: str | type[ProtocolMachine], n: int, m: int, channel: str = "unordered", *, self_sends: bool = False
) -> Lemmas:
    """Checks that every step that gets or delivers a message takes the earliest of those that wait for that.

    One event precedes another in the sense of happened-before if it does so in every interleaving; so each lemma says
    that its queue is left in order, whatever the interleaving. Asked: the steps where there is another to compare.
    """
    empty = ((),) * n
    waiting = HistoryVariable(Waiting(empty, empty, empty, (False,) * n), _follow)
    kind = protocol_named(protocol) if isinstance(protocol, str) else protocol
    system = system_of(kind(n), Free(n, m, self_sends=self_sends), channel=channel)
    nodes, asked, broken = 0, Counter[str](), set[str]()
    for now in reachable(system, history=waiting):
        nodes += 1
        asked.update(now.history.asked)
        broken |= now.history.broke
    runs = {lemma: shortest_run_to(system, partial(_breaks, lemma), history=waiting) for lemma in broken}
    return Lemmas(nodes, asked, {lemma: run for lemma, run in runs.items() if run is not None})


def _breaks(lemma: str, now: Reached) -> bool:
    """True if the last step broke the lemma."""
    return lemma in now.history.broke


def _follow(system: System, waiting: Waiting, step: LocalStep) -> Waiting:
    sent, posted, got = ([list(queue) for queue in queues] for queues in waiting[:3])
    broke, asked = set(), set()

    before = list(waiting.posted_before)

    def leaves(queue: list[Message], message: Message, lemma: str, another: bool = False) -> None:
        if another or len(queue) > 1:
            asked.add(lemma)
        if queue[0] != message:
            broke.add(lemma)
        queue.remove(message)

    process, message = step.action.process, step.action.message
    for kind, _, observed in step.observations:
        if kind == "send":
            sent[process].append(observed)
        elif kind == "deliver":
            leaves(got[process], observed, "Lemma 4")
    posted[process] += [packet.message for packet in system.transmitted(step) if packet.message]
    if step.action.name == "receive message" and message is not None:
        leaves(posted[message.sender], message, "Lemma 2", before[message.sender])
        leaves(sent[message.sender], message, "Lemma 3", before[message.sender])
        before[message.sender] = True
        got[process].append(message)
    queues = [tuple(map(tuple, some)) for some in (sent, posted, got)]
    return Waiting(queues[0], queues[1], queues[2], tuple(before), frozenset(broke), frozenset(asked))


# -- programs ----------------------------------------------------------------------------------------------------------


@cache
def on(protocol: str, text: str, name: str, settings: tuple[tuple[str, int], ...] = ()) -> CheckResult:
    """The check of a protocol on a program written here, under that name."""
    program = replace(notation.parse(text), name=name)
    check = Check(protocol, program=program, orders=("causal",), parameters=dict(settings))
    return run_check(check, engine="plain")


@cache
def outcomes(protocol: str, program: str) -> frozenset[Form]:
    """All that a bundled program can be when it has come to its end."""
    return _outcomes(protocol, Program(load_program(program)))


def outcomes_of(protocol: str, text: str) -> frozenset[Form]:
    """All that a program written here can be when it has come to its end."""
    return _outcomes(protocol, Program(notation.parse(text)))


def _outcomes(protocol: str, workload: Program) -> frozenset[Form]:
    kind = protocol_named(protocol)
    found = generate(kind(len(workload.processes)), workload, channel_named(kind.needs_channel), Clock())
    events = sum(map(len, workload.statements))
    return frozenset(form for form in found.forms if sum(map(len, form)) == events)


def form(c: Computation) -> Form:
    """A computation without the names of its messages."""
    lines = tuple(
        tuple(("send" if e.kind == "send" else "receive", c.messages[e.message]) for e in line if e.message is not None)
        for line in c.lines
    )
    found = form_of(lines)
    assert found is not None, "complete computations only"
    return found


def plain_programs(n: int, m: int, *, complete: bool = True, self_sends: bool = False) -> list[str]:
    """Every program that some computation of n processes and m messages completes, all its receives plain."""
    texts: dict[str, None] = {}
    for c in computations(n, m, complete=complete, self_sends=self_sends):
        texts[plain_program(c)] = None
    return list(texts)


def plain_program(c: Computation) -> str:
    """The program that does what the computation does, all its receives plain."""
    return "\n".join(_plain(c, p) for p in range(len(c.processes)))


def _plain(c: Computation, p: int) -> str:
    """One process of the program; messages are called by their sender and how many it sent before."""
    statements: list[str] = []
    for event in c.lines[p]:
        if event.kind == "send" and event.message is not None:
            to = c.processes[c.messages[event.message].receiver]
            statements.append(f"send m{p + 1}.{len(statements) + 1} to {to}")
        else:
            statements.append("receive")
    return f"{c.processes[p]}: " + "; ".join(statements)


@cache
def realized(protocol: str, n: int, m: int, *, self_sends: bool = False) -> Realization:
    """Which order a protocol generates exactly."""
    return realize(Check(protocol, n, m, self_sends=self_sends))


def three_crowns(c: Computation) -> str | None:
    """How the two strong crowns of three messages without a common message lie to each other: `overlapping` (every
    process has the events of one crown's send, the other's, its receive, the other's), `nested` (the other's both lie
    between); None if neither.
    """
    of_three = [set(crown.messages) for crown in crowns(c, strong=True) if len(crown.messages) == 3]
    for one in of_three:
        for other in of_three:
            patterns = {
                "".join("A" if e.message in one else "B" for e in line if e.message is not None) for line in c.lines
            }
            if not one & other and patterns in ({"ABAB"}, {"ABBA"}):
                return "overlapping" if patterns == {"ABAB"} else "nested"
    return None


# -- bounded buffers ---------------------------------------------------------------------------------------------------


def sends_first(each: int, names: Sequence[str] = ("P1", "P2")) -> str:
    """Each process sends so many messages to the next one, and only then receives as many."""
    lines = []
    for p, name in enumerate(names):
        sends = [f"send m{p + 1}.{k + 1} to {names[(p + 1) % len(names)]}" for k in range(each)]
        lines.append(f"{name}: " + "; ".join(sends + ["receive"] * each))
    return "\n".join(lines)


def circular_wait(n: int, m: int, *, self_sends: bool = False) -> tuple[int | None, int]:
    """The least number of messages with which processes can wait in a circle for each other's places, each buffer
    holding one; and how many states were looked at.

    Looked for among the states after at most m sends: processes with a full output buffer, each with a message that a
    full input buffer of another of them keeps out. If each of them wants to send one message more, none can go on.
    """
    machine = BufferBounded(n, parameters={"output": 1, "input": 1})
    system = system_of(machine, Free(n, m, self_sends=self_sends))
    least: int | None = None
    states = 0
    for now in reachable(system):
        states += 1
        locals_: list[BufferState] = now.locals
        kept_out = {packet.source: packet.destination for packet in system.refused(now.state)}
        circle = {i for i, at in enumerate(locals_) if len(at.output) == 1 and i in kept_out}
        while any(kept_out[i] not in circle for i in circle):
            circle = {i for i in circle if kept_out[i] in circle}
        if circle:
            messages = sum(system.position(now.state)) + len(circle)
            least = messages if least is None else min(least, messages)
    return least, states


# -- machines that stand in no registry --------------------------------------------------------------------------------


def accepted_once_merged() -> bool:
    """True if a first message is accepted where its matrix has been merged already."""
    machine = RstBefore(2)
    (message,) = next(computations(2, 1)).messages
    ((_, (packet,), _),) = machine.send(message.sender, machine.initial(message.sender), message)
    assert isinstance(packet, Packet)
    merged = machine.after_delivering(machine.initial(message.receiver), packet.stamp)
    return bool(machine.deliverable(message.receiver, merged, packet))


class KearnsInTurn(Kearns):
    """The server asks also for the sender's next message in turn."""

    def deliverable(self, i: int, state: Value, packet: Packet) -> Value:
        k = packet.source
        return super().deliverable(i, state, packet) and (i != self.server or packet.stamp[k] == state[k] + 1)


class NeverAsked(Buffer):
    """The buffer protocol under applications that send and never receive."""

    def receive(self, i: int, state: BufferState, sender: int | None) -> Sequence[Step]:
        return ()


class TakesTheYoungest(Buffer):
    """An input buffer is last in, first out."""

    def receive(self, i: int, state: BufferState, sender: int | None) -> Sequence[Step]:
        return super().receive(i, state._replace(input=state.input[::-1]), sender)


class CopyByCopy(Buffer):
    """The buffer protocol with messages to several processes: the output buffer posts one copy after the other."""

    admits_multicast = True
    witnesses = {}

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if not state.output or not self.may_post(state):
            return []
        (message, q), *rest = state.output
        packet = Packet(i, q, "message", message)
        return [("post", Step(state._replace(output=tuple(rest), awaits=q), [packet]))]

    def insert(self, state: Any, message: Message) -> Any:
        return state._replace(output=(*state.output, *((message, q) for q in message.receivers)))

    invariants = {}


class Released(NamedTuple):
    """A buffer state for broadcasts: what is posted is in all input buffers before anybody may deliver it."""

    output: tuple[Message, ...]
    posted: Message | None  #: the message whose acknowledgements are awaited
    missing: int  #: how many of them
    input: tuple[tuple[Message, bool], ...]  #: the oldest first; True if released


class ReleasedTogether(ProtocolMachine):
    """Buffers for broadcasts in two rounds: all input buffers get the message, and only then may it be delivered."""

    promises = "causal"
    sends = "broadcast"
    admits_multicast = True

    def initial(self, i: int) -> Released:
        return Released((), None, 0, ())

    def send(self, i: int, state: Released, message: Message) -> Sequence[Step]:
        return [Step(state._replace(output=(*state.output, message)), (), [AppEvent("send", message)])]

    def internal(self, i: int, state: Released) -> Sequence[tuple[str, Step]]:
        if not state.output or state.posted is not None:
            return []
        message, *rest = state.output
        packets = [Packet(i, q, "message", message) for q in message.receivers]
        after = state._replace(output=tuple(rest), posted=message, missing=len(packets))
        return [("post", Step(after, packets))]

    def on_packet(self, i: int, state: Released, packet: Packet) -> Sequence[Step]:
        message = packet.message
        if packet.kind == "message":
            assert message is not None
            return [Step(state._replace(input=(*state.input, (message, False))), [Packet(i, packet.source, "ack")])]
        if packet.kind == "release":
            marked = tuple((m, free or m == message) for m, free in state.input)
            return [Step(state._replace(input=marked))]
        if state.missing > 1:
            return [Step(state._replace(missing=state.missing - 1))]
        assert state.posted is not None
        releases = [Packet(i, q, "release", state.posted) for q in state.posted.receivers]
        return [Step(state._replace(posted=None, missing=0), releases)]

    def receive(self, i: int, state: Released, sender: int | None) -> Sequence[Step]:
        if not state.input or not state.input[0][1]:
            return []
        (message, _), *rest = state.input
        return [Step(state._replace(input=tuple(rest)), (), [AppEvent("deliver", message)])]
