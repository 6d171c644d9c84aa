"""The steps of a queue machine and the events of its abstraction correspond, for queues of any content, by z3.

The machine's own code runs on symbolic queues (`symbolic_queues`), along every path. Let its local states and the
packets in flight be those of the abstraction (`MachineView`), and let the invariants hold. Then

- an input that the machine takes is a possible event: *some event happens*;
- where an event is possible, the machine reaches its state, transmits its packets, and reports its application events;
  all other processes keep their states: *as …*;
- where the machine does nothing, no event is possible: *not …*;
- each event comes from an input: *… comes of an input*;
- the causal pasts of which the abstraction speaks grow as the application events define them: *the causal past …*.

An application may request a message of any process, or of one; the abstraction does not distinguish the two, so a
machine whose `receive` does cannot be shown.

With *at the start* this is a bisimulation, for any number of processes and messages, so whatever is proved of the
abstraction holds of the machine. If one of these claims fails, or cannot be made, nothing is proved of the machine.
Assumed: a non-empty queue has an oldest element.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import z3

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocol_validation import WrongMachine
from crownless.model_check.system.machine_calls import Call
from crownless.proofs.language.machine_code import compiled_anew
from crownless.proofs.language.symbolic_queues import (
    MessageSymbol,
    NumberOfProcesses,
    One,
    OnQueues,
    Path,
    ProcessSymbol,
    Queue,
    Stretch,
    UnsupportedStep,
    every_path,
)
from crownless.proofs.language.terms import Term
from crownless.runtime.printable import shown
from crownless.spec.result import Result

from .queue_abstraction import AbstractState, FlagField, OptionField, PacketKind, QueueField, StageEvent, fixed_by
from .queues import QueueProof
from .theorem import Claim

Formula = Term


@dataclass(frozen=True)
class Compared(Result):
    """A machine's steps, compared with the proved ones in every state of this many processes, after any messages."""

    json_keys = "processes states differs"

    processes: int
    states: int
    #: The first state in which the two differ, and how; None if there is none.
    differs: str | None

    def __bool__(self) -> bool:
        return self.differs is None


@dataclass(frozen=True)
class _Input:
    """An input of the machine, its condition, and the resulting step, if any."""

    name: str
    given: Mapping[str, Formula]
    taken: Callable[[Path], Step | None]
    events: Sequence[str]
    #: True if it is about m. Otherwise about the oldest message of a queue.
    of_message: bool = True
    #: The kind of packet that it takes from the channel.
    consumed: str | None = None


def step_claims(proof: QueueProof) -> list[Claim]:
    """The claims to put to z3; raises `UnsupportedStep` if a step uses an operation not covered for queues of any
    content.
    """
    return _Steps(proof).claims()


class _Steps:
    def __init__(self, proof: QueueProof) -> None:
        self.proof, self.view = proof, proof.view
        self.run = proof.abstraction()
        number: Any = NumberOfProcesses()
        self.machine = compiled_anew(proof.protocol, OnQueues)(number, number)
        self.rank = self.run.rank if "rank" in proof.abstraction.lasting else None
        self.events = {event.name: event for event in self.run.events()}
        self.now = proof.now(self.run)

    def claims(self) -> list[Claim]:
        inputs = self._inputs()
        claims = self._at_the_start()
        for each in inputs:
            for number, (path, step) in enumerate(every_path(each.taken, self.rank), 1):
                claims += self._of_path(each, f"{each.name}, way {number}", path, step)
        for name, event in self.events.items():
            comes = [z3.And(*each.given.values()) for each in inputs if name in each.events]
            claims.append(Claim(f"{name}: comes of an input", {**self.now, **event.given}, z3.Or(*comes)))
            if "precedes" in self.proof.abstraction.lasting:
                given = {**self.now, **event.given, **fixed_by(self.run, event)}
                claims.append(
                    Claim(f"{name}: the causal past is that of the applications' events", given, self._past(event))
                )
        return claims

    def _past(self, event: StageEvent) -> Formula:
        """True if the history variables grow by definition: the past of a message is fixed when it is sent, as what its
        sender then knows; a delivery adds the message and its past to what the receiver knows.
        """
        run, now, i, l = self.run, self.run.before, self.run.i, self.run.logic
        sent = [each.message for each in event.happens() if each.kind == "send"]
        delivered = [each.message for each in event.happens() if each.kind == "deliver"]

        def learns(x: Term) -> Formula:
            return l.either(*(x == m for m in sent), *(l.either(x == m, run.precedes(x, m)) for m in delivered))

        fixed = event.fixes.get("precedes")
        return l.both(
            l.processes(
                lambda p: l.messages(
                    lambda x: event.after.knows(p, x) == l.either(now.knows(p, x), l.both(p == i, learns(x)))
                )
            ),
            *(l.messages(lambda x, m=m: run.precedes(x, m) == now.knows(i, x)) for m in sent),
            *(l.processes(lambda p, m=m: l.no(now.knows(p, m))) for m in sent),
            l.messages(lambda x, y: l.implies(fixed.where(x, y), l.either(*(y == m for m in sent))), of=2)
            if fixed is not None
            else l.both(),
        )

    # -- inputs --------------------------------------------------------------------------------------------------------

    def _inputs(self) -> list[_Input]:
        run, view = self.run, self.view
        now, i, m, l = run.before, run.i, run.m, run.logic
        machine = self.machine
        submitted = {"m is submitted to i": l.both(run.sender(m) == i, view.fresh(run, now, m))}
        if not self.proof.self_sends:
            submitted["nobody sends to itself"] = run.sender(m) != run.receiver(m)

        def sent(path: Path) -> Step | None:
            return self._only("send", machine.send(self._i(path), self._state(path), self._message(path, m)))

        def received(path: Path) -> Step | None:
            return self._only("receive", machine.receive(self._i(path), self._state(path), None))

        def received_from(path: Path) -> Step | None:
            sender: Any = ProcessSymbol(z3.Const("requested sender", i.sort()), path)
            return self._only("receive", machine.receive(self._i(path), self._state(path), sender))

        def internal(path: Path) -> Step | None:
            named = machine.internal(self._i(path), self._state(path))
            if not isinstance(named, list | tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in named):
                raise self._wrong("internal", named, "a list of pairs of a name and a Step")
            return self._only("internal", [step for _, step in named])

        return [
            _Input("send", submitted, sent, view.on_send),
            _Input("request", {}, received, view.on_receive, of_message=False),
            _Input("request of a sender", {}, received_from, view.on_receive, of_message=False),
            _Input("internal step", {}, internal, view.on_internal, of_message=False),
            *(self._packet(machine, kind) for kind in view.packets),
        ]

    def _packet(self, machine: ProtocolMachine, kind: str) -> _Input:
        run, packet = self.run, self.view.packets[kind]
        now, i, m, l = run.before, run.i, run.m, run.logic

        def arrived(path: Path) -> Step | None:
            at, state = self._i(path), self._state(path)
            source = ProcessSymbol(packet.source(run, m), path)
            carried = self._message(path, m) if packet.carries else None
            arriving = Packet(source, at, kind, carried)
            if not machine.deliverable(at, state, arriving):
                return None
            return self._only("on_packet", machine.on_packet(at, state, arriving))

        comes = {
            f"m's {kind} is in flight to i": l.both(packet.in_flight(run, now, m), packet.destination(run, m) == i)
        }
        return _Input(f"receive {kind}", comes, arrived, self.view.on_packet[kind], consumed=kind)

    def _only(self, method: str, steps: Any) -> Step | None:
        """The one outcome, if there is one."""
        if not isinstance(steps, list | tuple) or not all(isinstance(step, Step) for step in steps):
            raise self._wrong(method, steps, "a list of steps")
        if len(steps) > 1:
            raise UnsupportedStep("a step has several outcomes")
        return next(iter(steps), None)

    def _wrong(self, method: str, answer: Any, noun: str) -> WrongMachine:
        return Call(self.proof.protocol, method).wrong(f"returns {shown(answer)}, not {noun}", f"return {noun}")

    def _i(self, path: Path) -> Any:
        return ProcessSymbol(self.run.i, path)

    def _message(self, path: Path, x: Term) -> Any:
        sender, receiver = self.run.sender(x), self.run.receiver(x)
        return MessageSymbol(x, path, ProcessSymbol(sender, path), ProcessSymbol(receiver, path))

    def _symbol(self, path: Path, value: Term) -> Any:
        return self._message(path, value) if value.sort() == self.run.m.sort() else ProcessSymbol(value, path)

    def _state(self, path: Path) -> Any:
        """The local state of i, whatever its queues hold."""
        run, now, i = self.run, self.run.before, self.run.i
        values: dict[str, Any] = {}
        for name, field in self.view.fields.items():
            if isinstance(field, FlagField):
                values[name] = path.holds(field.holds(run, now, i))
            elif isinstance(field, OptionField):
                there = path.holds(field.there(run, now, i))
                values[name] = ProcessSymbol(field.value(run, now, i), path) if there else None
            else:
                values[name] = Queue([self._stretch(path, field)], path, run.m.sort())
        return self.view.state(**values)

    def _stretch(self, path: Path, field: QueueField) -> Stretch:
        run, now, i = self.run, self.run.before, self.run.i
        return Stretch(
            lambda x: field.inside(run, now, i, x),
            lambda x: field.at(run, x),
            lambda x: self._symbol(path, field.element(run, x)),
        )

    # -- the claims about a path through a step ------------------------------------------------------------------------

    def _of_path(self, each: _Input, name: str, path: Path, step: Step | None) -> list[Claim]:
        run = self.run
        given = {**self.now, **each.given, "this way is taken": z3.And(*path.conditions)}
        claims = []
        if step is not None:
            others = [run.m, *path.oldest]
            happens = [
                z3.substitute(z3.And(*self.events[event].given.values()), (run.m, about), (run.w, other))
                for event in each.events
                for about in (others[:1] if each.of_message else others)
                for other in others
            ]
            claims.append(Claim(f"{name}: some event happens", given, z3.Or(*happens)))
        for event in map(self.events.__getitem__, each.events):
            happening = {**given, **event.given, **fixed_by(run, event)}
            if step is None:
                claims.append(Claim(f"{name}: not {event.name}", happening, z3.BoolVal(False)))
            else:
                does = z3.And(*self._does(step, event, each.consumed))
                claims.append(Claim(f"{name}: as {event.name}", happening, does))
        return claims

    def _at_the_start(self) -> list[Claim]:
        run = self.run
        start = run.start()
        claims = []
        for path, state in every_path(lambda path: self.machine.initial(self._i(path)), self.rank):
            packets = [
                run.logic.messages(lambda x, kind=kind: z3.Not(kind.in_flight(run, start, x)))
                for kind in self.view.packets.values()
            ]
            is_so = z3.And(*self._is(state, start), *packets)
            claims.append(Claim("the machine: at the start", {"a way": z3.And(*path.conditions)}, is_so))
        return claims

    def _does(self, step: Step, event: StageEvent, consumed: str | None) -> list[Formula]:
        """True if the step has the effect of the event."""
        return [
            *self._is(step.state, event.after),
            *self._others_stay(event.after),
            *self._transmits(step.packets, event.after, consumed),
            *self._reports(step.events, event.happens()),
        ]

    def _is(self, state: Any, now: AbstractState) -> list[Formula]:
        """True if this is the local state of i in that state."""
        run, i = self.run, self.run.i
        if type(state) is not self.view.state:
            raise UnsupportedStep("its local states are not of the class that the proof is about")
        said: list[Formula] = []
        for name, field in self.view.fields.items():
            value = getattr(state, name)
            if isinstance(field, FlagField):
                if not isinstance(value, bool):
                    raise UnsupportedStep(f"{name} is neither True nor False")
                said.append(field.holds(run, now, i) == value)
            elif isinstance(field, OptionField):
                there = field.there(run, now, i)
                said.append(z3.Not(there) if value is None else z3.And(there, _same(value, field.value(run, now, i))))
            else:
                inside = lambda x, field=field: field.inside(run, now, i, x)  # noqa: E731
                said += self._same_queue(_pieces(value), inside, field)
        return said

    def _same_queue(
        self, pieces: Sequence[Stretch | One], inside: Callable[[Term], Formula], field: QueueField
    ) -> list[Formula]:
        """True if the pieces hold the messages inside, in the order in which they entered."""
        run, l = self.run, self.run.logic
        parts = [self._messages_of(piece) for piece in pieces]
        said = [l.messages(lambda x: inside(x) == z3.Or(*(part(x) for part in parts)))]

        def in_order(one: Callable[[Term], Formula], other: Callable[[Term], Formula]) -> Formula:
            return l.messages(
                lambda x, y: z3.Implies(z3.And(one(x), other(y)), field.at(run, x) < field.at(run, y)), of=2
            )

        said += [in_order(one, other) for one, other in combinations(parts, 2)]
        for piece, part in zip(pieces, parts, strict=True):
            said.append(l.messages(lambda x, p=piece, part=part: z3.Implies(part(x), self._stands_for(p, x, field))))
            if isinstance(piece, Stretch):
                ordered = lambda x, y, p=piece: (p.at(x) < p.at(y)) == (field.at(run, x) < field.at(run, y))  # noqa: E731
                both = lambda x, y, part=part: z3.And(part(x), part(y))  # noqa: E731
                said.append(l.messages(lambda x, y, b=both, o=ordered: z3.Implies(b(x, y), o(x, y)), of=2))
        return said

    def _stands_for(self, piece: Stretch | One, x: Term, field: QueueField) -> Formula:
        value = piece.value if isinstance(piece, One) else piece.element(x)
        return _same(value, field.element(self.run, x))

    def _messages_of(self, piece: Stretch | One) -> Callable[[Term], Formula]:
        """The messages that the elements represent; other elements represent the message of the step."""
        if isinstance(piece, Stretch):
            return piece.inside
        value = piece.value.message if isinstance(piece.value, Packet) else piece.value
        message = value.term if isinstance(value, MessageSymbol) else self.run.m
        return lambda x: x == message

    def _others_stay(self, after: AbstractState) -> list[Formula]:
        run, now, i, l = self.run, self.run.before, self.run.i, self.run.logic

        def stays(field: QueueField | FlagField | OptionField, p: Term) -> Formula:
            if isinstance(field, QueueField):
                return l.messages(lambda x: field.inside(run, now, p, x) == field.inside(run, after, p, x))
            if isinstance(field, FlagField):
                return field.holds(run, now, p) == field.holds(run, after, p)
            there = field.there(run, now, p)
            same = z3.Implies(there, field.value(run, now, p) == field.value(run, after, p))
            return z3.And(there == field.there(run, after, p), same)

        return [
            l.processes(lambda p, field=field: z3.Implies(p != i, stays(field, p)))
            for field in self.view.fields.values()
        ]

    def _transmits(self, packets: Any, after: AbstractState, consumed: str | None) -> list[Formula]:
        """True if, of each kind, exactly these packets are transmitted, and only the received one is removed."""
        by_kind: dict[str, list[Stretch | One]] = {name: [] for name in self.view.packets}
        for piece in _pieces(packets):
            packet = piece.value if isinstance(piece, One) else piece.element(self.run.m)
            if not isinstance(packet, Packet) or packet.kind not in by_kind or packet.stamp is not None:
                raise UnsupportedStep("a step transmits what is not a packet of the protocol")
            if self.view.packets[packet.kind].carries != (packet.message is not None):
                raise UnsupportedStep(f"a step transmits a packet of kind {packet.kind} with a message, or without")
            by_kind[packet.kind].append(piece)
        return [
            formula
            for name, kind in self.view.packets.items()
            for formula in self._transmits_of_kind(kind, by_kind[name], after, name == consumed)
        ]

    def _transmits_of_kind(
        self, kind: PacketKind, pieces: Sequence[Stretch | One], after: AbstractState, consumed: bool
    ) -> list[Formula]:
        run, l = self.run, self.run.logic
        parts = [self._messages_of(piece) for piece in pieces]

        def was(x: Term) -> Formula:
            return kind.in_flight(run, run.before, x)

        def comes(x: Term) -> Formula:
            return kind.in_flight(run, after, x)

        def goes(piece: Stretch | One, x: Term) -> Formula:
            packet = piece.value if isinstance(piece, One) else piece.element(x)
            way = [_same(packet.source, kind.source(run, x)), _same(packet.destination, kind.destination(run, x))]
            return z3.And(*way, *([_same(packet.message, x)] if kind.carries else []))

        def taken(x: Term) -> Formula:
            return x == run.m if consumed else z3.BoolVal(False)

        return [
            l.messages(lambda x: z3.Or(*(part(x) for part in parts)) == z3.And(comes(x), z3.Not(was(x)))),
            l.messages(lambda x: taken(x) == z3.And(was(x), z3.Not(comes(x)))),
            *(
                l.messages(lambda x, one=one, other=other: z3.Not(z3.And(one(x), other(x))))
                for one, other in combinations(parts, 2)
            ),
            *(
                l.messages(lambda x, piece=piece, part=part: z3.Implies(part(x), goes(piece, x)))
                for piece, part in zip(pieces, parts, strict=True)
            ),
        ]

    def _reports(self, events: Any, expected: Sequence[AppEvent]) -> list[Formula]:
        if not isinstance(events, list | tuple) or not all(isinstance(each, AppEvent) for each in events):
            raise UnsupportedStep("a step reports what is not an application event")
        if len(events) != len(expected):
            return [z3.BoolVal(False)]
        return [
            z3.And(_kind(one.kind) == _kind(other.kind), _same(one.message, other.message))
            for one, other in zip(events, expected, strict=True)
        ]


def _kind(kind: Any) -> Term:
    return z3.StringVal(kind) if isinstance(kind, str) else kind


def _same(value: Any, expected: Term) -> Formula:
    if not isinstance(value, ProcessSymbol | MessageSymbol):
        raise UnsupportedStep("a step computes a value that is neither a process nor a message")
    return value.term == expected if value.term.sort() == expected.sort() else z3.BoolVal(False)


def _pieces(some: Any) -> Sequence[Stretch | One]:
    if isinstance(some, Queue):
        return some.pieces
    if not isinstance(some, list | tuple):
        raise UnsupportedStep("a step computes a value that is not a queue")
    return [One(each) for each in some]
