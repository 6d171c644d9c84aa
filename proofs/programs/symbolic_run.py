"""Every run of a program as one formula: the protocol's own steps on symbolic numbers.

The behaviour of a process depends only on its own events, so interleavings with the same events at each process need
not be distinguished. Each statement of the program is a *slot*. A slot happens or not, and a run is a prefix of each
process's line; a receive that happens takes one of the packets that its statement admits; and each slot has a time, so
that a packet is received after it was sent. Local states are functions of the packets taken, and so are the contents of
a packet: `initial`, `send`, `deliverable` and `on_packet` of `impl` compute them on terms (`symbolic_entries`).

Over a FIFO channel a packet is delivered only if each earlier one of its link is delivered, or refused at the current
state of the process; links and the hold-back queue add nothing else, since a refused packet can always be put into the
hold-back queue at that point.

This covers only protocols of vectors and matrices whose steps send or deliver a single message and do nothing else: see
`why_not_symbolic`.
"""

from collections.abc import Iterable, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import z3

from crownless.impl.protocol import Packet, ProtocolMachine, Setting, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Program
from crownless.proofs.language.terms import Term
from crownless.spec.computation import Message

from .symbolic_entries import (
    Condition,
    Number,
    SymbolicEntries,
    all_hold,
    any_holds,
    chosen,
    condition_of,
    implied,
    mapped,
    negated,
)


class Slot(NamedTuple):
    """A statement of the program: a position on the line of a process, from 0."""

    process: int
    place: int


class Copy(NamedTuple):
    """A packet that the program puts on a channel, identified by its number; `SymbolicRun.carried` has its contents.

    Numbers increase along the line of each sender, and so along each link.
    """

    number: int
    message: Message
    source: int
    destination: int
    kind: str
    sent_in: Slot


class Carried(NamedTuple):
    """The contents of a packet, as terms, and its sender's knowledge: the sends in its causal past."""

    stamp: Any
    past: tuple[Condition, ...]


class Happening(NamedTuple):
    """One event of a run that z3 found: the send of a message, or the delivery of a packet."""

    slot: Slot
    taken: Copy | None


class SymbolicRun:
    """Any run of the program, stopped anywhere; `axioms` say what makes it one."""

    def __init__(self, machine: ProtocolMachine, program: Program, *, fifo: bool) -> None:
        """The machine computes with `SymbolicEntries`; `TypeError` where it cannot. `fifo`: over FIFO channels."""
        self.machine = machine
        self.program = program
        self.fifo = fifo
        self.n = len(program.processes)
        self.lines = program.statements
        self.number = {message: m for m, message in enumerate(program.all_messages)}
        self.slots = [Slot(p, k) for p, line in enumerate(self.lines) for k in range(len(line))]
        #: True if this statement happens in the run.
        self.happens = {slot: z3.Bool(f"happens-{slot.process}-{slot.place}") for slot in self.slots}
        self.time = {slot: z3.Int(f"time-{slot.process}-{slot.place}") for slot in self.slots}
        self.sent_in: dict[Message, Slot] = {
            statement: Slot(p, k)
            for p, line in enumerate(self.lines)
            for k, statement in enumerate(line)
            if isinstance(statement, Message)
        }
        #: The contents of each packet if it is sent first: they have the form of all possible contents.
        self._like: dict[Copy, Any] = {}
        self.copies = list(self._copies())
        #: True if this receive takes this packet.
        self.takes = {
            slot: {c: z3.Bool(f"takes-{slot.process}-{slot.place}-{c.number}") for c in self._admitted(slot)}
            for slot in self.slots
            if not self.sends(slot)
        }
        self.carried: dict[Copy, Carried] = {}
        #: The local state before each slot, and after the last.
        self.states: list[list[Any]] = [[machine.initial(p)] for p in range(self.n)]
        self._knows: list[tuple[Condition, ...]] = [(False,) * len(self.number) for _ in range(self.n)]
        self._axioms: list[Condition] = []
        self._accepted: dict[tuple[int, Copy], Condition] = {}
        self._walk()

    # -- the program ---------------------------------------------------------------------------------------------------

    def sends(self, slot: Slot) -> bool:
        """True if this statement is a send."""
        return isinstance(self.lines[slot.process][slot.place], Message)

    def _copies(self) -> Iterable[Copy]:
        """Every possible packet, in the order of the statements that send them."""
        for message, slot in self.sent_in.items():
            for packet in self._sent(slot.process, self.machine.initial(slot.process), message).packets:
                copy = Copy(len(self._like), message, packet.source, packet.destination, packet.kind, slot)
                self._like[copy] = packet.stamp
                yield copy

    def _admitted(self, slot: Slot) -> list[Copy]:
        """The packets that the receive statement admits, independently of the protocol."""
        q, k = slot
        position = tuple(k if p == q else 0 for p in range(self.n))
        return [
            c
            for c in self.copies
            if c.destination == q
            and self.program.delivered(position, q, c.message) is not None
            and not (c.sent_in.process == q and c.sent_in.place >= k)
        ]

    def _sent(self, i: int, state: Any, message: Message) -> Step:
        return _only(self.machine.send(i, state, message), "send", message)

    # -- states --------------------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        """The local states along each line.

        A receive needs the contents of the packets that it may take. Where processes may wait for each other in a
        cycle, the contents of a packet are constants, equated to what its sender puts there.
        """
        unfinished = set(range(self.n))
        while unfinished:
            moved = False
            for p in sorted(unfinished):
                while len(self.states[p]) <= len(self.lines[p]):
                    slot = Slot(p, len(self.states[p]) - 1)
                    if any(c not in self.carried for c in self.takes.get(slot, ())):
                        break
                    self._step(slot)
                    moved = True
                else:
                    unfinished.discard(p)
            if not moved and unfinished:
                p = min(unfinished)
                missing = next(c for c in self.takes[Slot(p, len(self.states[p]) - 1)] if c not in self.carried)
                self.carried[missing] = self._anything(missing)

    def _step(self, slot: Slot) -> None:
        p, k = slot
        state, knows = self.states[p][k], self._knows[p]
        statement = self.lines[p][k]
        if isinstance(statement, Message):
            step = self._sent(p, state, statement)
            copies = [c for c in self.copies if c.sent_in == slot]
            if [packet[:4] for packet in step.packets] != [
                (c.source, c.destination, c.kind, c.message) for c in copies
            ]:
                raise TypeError("what it transmits is not always the same")
            for c, packet in zip(copies, step.packets, strict=True):
                self._carry(c, Carried(packet.stamp, knows))
            after, m = step.state, self.number[statement]
            knows = (*knows[:m], True, *knows[m + 1 :])
        else:
            after = state
            learnt: dict[int, list[Condition]] = {m: [known] for m, known in enumerate(knows)}
            for c, takes in self.takes[slot].items():
                step = _only(self.machine.on_packet(p, state, self.packet(c)), "deliver", c.message)
                after = mapped(partial(chosen, takes), step.state, after)
                if p in c.message.receivers:
                    for m, known in enumerate(self.carried[c].past):
                        learnt[m].append(all_hold((takes, any_holds((known, m == self.number[c.message])))))
            knows = tuple(any_holds(learnt[m]) for m in range(len(knows)))
        self.states[p].append(after)
        self._knows[p] = knows

    def _anything(self, copy: Copy) -> Carried:
        """Arbitrary contents for the packet."""
        name, like = f"carried-{copy.number}", self._like[copy]
        stamp = None if like is None else mapped(lambda _: Number(z3.FreshInt(name)), like)
        return Carried(stamp, tuple(z3.FreshBool(name) for _ in self.number))

    def _carry(self, copy: Copy, carried: Carried) -> None:
        """Equates the packet's contents with these if it is sent."""
        expected = self.carried.setdefault(copy, carried)
        if expected is carried:
            return
        same: list[Condition] = [a == b for a, b in zip(expected.past, carried.past, strict=True)]

        def note(a: Number, b: Number) -> Number:
            same.append((a == b).condition)
            return a

        if carried.stamp is not None:
            mapped(note, expected.stamp, carried.stamp)
        self._axioms.append(implied(all_hold(same), by=self.happens[copy.sent_in]))

    def packet(self, copy: Copy) -> Packet:
        """The packet as the protocol sees it."""
        return Packet(copy.source, copy.destination, copy.kind, copy.message, self.carried[copy].stamp)

    # -- the formulas of a run -----------------------------------------------------------------------------------------

    def stands(self, q: int, k: int) -> Condition:
        """The run leaves process q just before slot k, or at its end."""
        before = self.happens[Slot(q, k - 1)] if k else True
        return all_hold((before, negated(self.happens[Slot(q, k)]) if k < len(self.lines[q]) else True))

    def sent(self, copy: Copy) -> Condition:
        """True if the packet is sent."""
        return self.happens[copy.sent_in]

    def taken(self, copy: Copy, before: int | None = None) -> Condition:
        """True if the packet is received before that slot of its destination."""
        return any_holds(
            takes[copy]
            for slot, takes in self.takes.items()
            if slot.process == copy.destination and copy in takes and (before is None or slot.place < before)
        )

    def delivered(self, message: Message, q: int, before: int | None = None) -> Condition:
        """True if the message is delivered at process q before that slot."""
        return any_holds(self.taken(c, before) for c in self.copies if c.message == message and c.destination == q)

    def deliverable(self, copy: Copy, k: int) -> Condition:
        """True if the packet is deliverable at its destination just before slot k."""
        if (k, copy) not in self._accepted:
            q = copy.destination
            guard = self.machine.deliverable(q, self.states[q][k], self.packet(copy))
            self._accepted[k, copy] = condition_of(guard)
        return self._accepted[k, copy]

    def may_arrive(self, copy: Copy, k: int) -> Condition:
        """True if guard and channel allow the packet, if in flight, to be received before slot k."""
        conditions = [self.deliverable(copy, k)]
        if self.fifo:
            link = (copy.source, copy.destination)
            earlier = [c for c in self.copies if (c.source, c.destination) == link and c.number < copy.number]
            conditions += [any_holds((self.taken(c, k), negated(self.deliverable(c, k)))) for c in earlier]
        return all_hold(conditions)

    @cached_property
    def axioms(self) -> list[Term]:
        """The axioms of a run."""
        axioms = list(self._axioms)
        for slot, happens in self.happens.items():
            p, k = slot
            if k:
                before = Slot(p, k - 1)
                axioms += [z3.Implies(happens, self.happens[before]), self.time[before] < self.time[slot]]
            if slot not in self.takes:
                continue
            takes = self.takes[slot]
            axioms.append(happens == any_holds(takes.values()))
            axioms += _at_most_one(takes.values())
            for c, taken in takes.items():
                axioms.append(implied(all_hold((self.sent(c), self.may_arrive(c, k))), by=taken))
                axioms.append(implied(self.time[c.sent_in] < self.time[slot], by=taken))
        for c in self.copies:
            axioms += _at_most_one(takes[c] for takes in self.takes.values() if c in takes)
        return [axiom for axiom in (*axioms, *self._counts()) if axiom is not True]

    def _counts(self) -> Iterable[Condition]:
        """A process that has not reached a receive takes at most as many packets as there are receives before it.

        The other axioms imply this, but z3 would find it only by trying every matching of receives and packets.
        """
        for q, line in enumerate(self.lines):
            ever = [taken for taken in (self.taken(c) for c in self.copies if c.destination == q) if taken is not False]
            receives = [Slot(q, k) for k in range(len(line)) if not self.sends(Slot(q, k))]
            for number, slot in enumerate(receives):
                if number < len(ever):
                    yield z3.Or(self.happens[slot], z3.AtMost(*ever, number))

    # -- from models to runs -------------------------------------------------------------------------------------------

    def happenings(self, model: Term) -> list[Happening]:
        """The events of the model's run, in an order in which they can happen."""

        def true(condition: Condition) -> bool:
            return bool(z3.is_true(model.eval(condition, model_completion=True)))

        def when(slot: Slot) -> tuple[int, Slot]:
            return model.eval(self.time[slot], model_completion=True).as_long(), slot

        return [
            Happening(slot, next((c for c, takes in self.takes.get(slot, {}).items() if true(takes)), None))
            for slot in sorted(filter(lambda slot: true(self.happens[slot]), self.slots), key=when)
        ]


def _at_most_one(conditions: Iterable[Term]) -> list[Term]:
    some = list(conditions)
    return [z3.AtMost(*some, 1)] if len(some) > 1 else []


def _only(steps: Sequence[Step], kind: str, message: Message) -> Step:
    """The single step, in which the message is sent or delivered and nothing else happens."""
    if len(steps) != 1:
        raise TypeError(f"it has {len(steps)} ways to {kind} a message")
    (step,) = steps
    if list(step.events) != [(kind, message)]:
        raise TypeError(f"more or less than a {kind} happens when it {kind}s a message")
    if kind == "deliver" and step.packets:
        raise TypeError("it transmits on delivery")
    return step


# -- supported protocols -----------------------------------------------------------------------------------------------


def why_not_symbolic(kind: type[ProtocolMachine], n: int, settings: dict[str, Setting] | None = None) -> str | None:
    """Why the protocol cannot be run on terms; None if it can.

    Each of its inputs is tried, at each process and with each other one, in an arbitrary state: a step that branches on
    a value raises `Branches`; a comparison of z3's own terms would not.
    """
    base = ProtocolMachine
    if kind.receive is not base.receive or kind.internal is not base.internal:
        return "it has its own buffers or takes internal steps"
    if kind.rolls_back:
        return "it retracts events"
    machine = kind(n, SymbolicEntries(n), settings)
    try:
        for i in range(n):
            others = tuple(j for j in range(n) if j != i)
            for receivers in {(j,) for j in others} | ({others} if kind.admits_multicast and others else set()):
                _try(machine, i, Message("m", i, receivers))
    except TypeError as error:
        return str(error)
    return None


def _try(machine: ProtocolMachine, i: int, message: Message) -> None:
    """Raises `TypeError` if the send or the delivery of this message cannot be run on terms."""

    def unknown(value: Any) -> Any:
        return mapped(lambda _: Number(z3.FreshInt("any")), value)

    state = unknown(machine.initial(i))
    sent = _only(machine.send(i, state, message), "send", message)
    mapped(lambda number, _: number, state, sent.state)  # their forms must be equal
    for packet in sent.packets:
        if packet.source != i or packet.message != message:
            raise TypeError("it transmits packets other than the message's own")
        j, there = packet.destination, unknown(machine.initial(packet.destination))
        carried = packet if packet.stamp is None else packet._replace(stamp=unknown(packet.stamp))
        condition_of(machine.deliverable(j, there, carried))
        delivered = _only(machine.on_packet(j, there, carried), "deliver", message)
        mapped(lambda number, _: number, there, delivered.state)


@cache
def protocols_on_terms() -> tuple[str, ...]:
    """The protocols of the registry that can be run on terms."""
    return tuple(name for name, kind in PROTOCOLS.items() if why_not_symbolic(kind, 3) is None)
