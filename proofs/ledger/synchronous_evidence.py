"""Evidence for the claims of [MG]: computations with control messages, their conditions, and machines made for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heapify, heappop, heappush
from itertools import combinations, permutations
from typing import Any, ClassVar, NamedTuple

import z3

from crownless.impl.channels import channel_named
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import Happened, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rendezvous import Rendezvous
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.explorer import explore
from crownless.model_check.generating import Memory, computation_of, form_of
from crownless.model_check.observers import Crowns, Ledger, Observation, Observer
from crownless.model_check.properties import Property
from crownless.model_check.runs import Run, run_of
from crownless.model_check.shortest import shortest_run
from crownless.model_check.system import Action, LocalStep, State, System
from crownless.proofs.proving import ATTEMPTS
from crownless.proofs.terms import Term
from crownless.proofs.theorem import theorem, vacuous
from crownless.spec.computation import Computation, Message, restrict
from crownless.spec.enumeration import computations
from crownless.spec.errors import BadInput
from crownless.spec.notation import parse, to_computation

# -- computations with control messages --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """A computation whose messages are in part the application's ([MG]'s ℰ), the others control messages (ℰᶜ)."""

    whole: Computation
    own: tuple[int, ...]  #: the application's messages

    def precedes(self, e: int, f: int) -> bool:
        """[MG]'s ≺: on one line."""
        return e < f and self.whole.process_of[e] == self.whole.process_of[f]

    def leads(self, e: int, f: int) -> bool:
        """[MG]'s →: also through control messages."""
        return self.whole.happened_before(e, f)

    @property
    def send(self) -> tuple[int, ...]:
        return self.whole.send_event

    @cached_property
    def receive(self) -> tuple[int, ...]:
        return tuple(
            receives[m.receiver] for m, receives in zip(self.whole.messages, self.whole.receive_events, strict=True)
        )

    def pairs(self) -> Iterator[tuple[int, int]]:
        return permutations(self.own, 2)

    @cached_property
    def application(self) -> Computation:
        """What the application sees of it."""
        return restrict(self.whole, self.own)

    def maps_to(self, e: int, f: int) -> bool:
        """[MG]'s ↦, read so that it holds what §4.2 needs: → whose first message, if any, is the application's."""
        return self.precedes(e, f) or any(
            (e == self.send[m] or self.precedes(e, self.send[m]))
            and (self.receive[m] == f or self.leads(self.receive[m], f))
            for m in self.own
        )

    def maps_to_as_printed(self, e: int, f: int) -> bool:
        """[MG]'s ↦ by the letter: ≺ and → leave out the event itself."""
        direct = any((e, f) == (self.send[m], self.receive[m]) for m in self.own)
        later = any(self.precedes(e, self.send[m]) and self.leads(self.receive[m], f) for m in self.own)
        return direct or self.precedes(e, f) or later

    def lemma_1_as_printed(self, e: int, f: int) -> bool:
        """What [MG] Lemma 1 says of e ↦ f, if that is not by one message."""
        own = any(e == self.send[m] and self.leads(self.receive[m], f) for m in self.own)
        return own or self.maps_to_as_printed(e, f)

    def chain_leads(self, e: int, f: int) -> bool:
        """Is there a chain of events, step by step, from e to f, whose first message, if any, is the application's?"""
        c = self.whole
        successors = c.immediate_successors()
        line = [x for x in range(e, c.event_count) if c.process_of[x] == c.process_of[e]]
        if f in line[1:]:
            return True
        reached = [self.receive[m] for m in self.own if self.send[m] in line]
        for event in reached:
            reached += [after for after in successors[event] if after not in reached]
        return f in reached

    def ranked(self) -> bool:
        """PR: the application's messages go from bigger to smaller processes."""
        return all(self.whole.messages[m].sender > self.whole.messages[m].receiver for m in self.own)

    def send_condition(self) -> bool:
        """SC."""
        return all(
            self.leads(self.receive[a], self.receive[b])
            for a, b in self.pairs()
            if self.precedes(self.send[a], self.send[b])
        )

    def receive_condition(self) -> bool:
        """RC."""
        return not any(
            self.precedes(self.send[a], self.receive[b]) and self.leads(self.receive[b], self.receive[a])
            for a, b in self.pairs()
        )

    def strong_receive_condition(self) -> bool:
        """RC made strong enough: if s1 ≺ r2, what follows from r2 at another process follows from r1 too."""
        return all(
            self.leads(self.receive[a], f)
            for a, b in self.pairs()
            if self.precedes(self.send[a], self.receive[b])
            for f in range(self.whole.event_count)
            if self.leads(self.receive[b], f) and not self.precedes(self.receive[b], f)
        )

    def crown_sizes(self, *, strong: bool, as_printed: bool = False) -> list[int]:
        """The sizes of all crowns by ↦ (strong: by ≺) among the application's messages."""
        before = self.precedes if strong else self.maps_to_as_printed if as_printed else self.maps_to
        links = {(a, b) for a, b in self.pairs() if before(self.send[a], self.receive[b])}
        return [
            size
            for size in range(2, len(self.own) + 1)
            for circle in permutations(self.own, size)
            if circle[0] == min(circle)
            and all(pair in links for pair in zip(circle, (*circle[1:], circle[0]), strict=True))
        ]


def splits(n: int, m: int) -> Iterator[Split]:
    """Every complete computation of n processes and m messages, two or more of which are the application's."""
    for whole in computations(n, m):
        for size in range(2, m + 1):
            for own in combinations(range(m), size):
                yield Split(whole, own)


def split_up_to(*bounds: tuple[int, int]) -> Iterator[Split]:
    """All of them, for each number of processes up to so many messages."""
    for n, m in bounds:
        for messages in range(2, m + 1):
            yield from splits(n, messages)


def split_by_names(whole: Computation) -> Split:
    """The split whose control messages are those called c1, c2, …"""
    return Split(whole, tuple(m for m, message in enumerate(whole.messages) if message.name[0] != "c"))


def answers_only(split: Split) -> bool:
    """Is every control message an acknowledgement: the only one from a receiver back to the sender, after a receive?"""
    whole, answered = split.whole, set[int]()
    for c, control in enumerate(whole.messages):
        if c in split.own:
            continue
        (to,) = control.receivers
        asked = [
            m
            for m in split.own
            if (whole.messages[m].sender, whole.messages[m].receivers) == (to, (control.sender,))
            and split.precedes(split.receive[m], split.send[c])
            and m not in answered
        ]
        if not asked:
            return False
        answered.add(asked[0])
    return True


# -- what z3 shows of any number of processes and messages -------------------------------------------------------------


class AnySplit:
    """Any computation with control messages: events and messages are of sorts of which only this is known."""

    def __init__(self) -> None:
        event, message = z3.DeclareSort("Event"), z3.DeclareSort("Message")
        self.event, self.message = event, message
        self.precedes = z3.Function("precedes", event, event, z3.BoolSort())
        self.leads = z3.Function("leads", event, event, z3.BoolSort())
        self.process = z3.Function("process", event, z3.IntSort())
        self.transmits = z3.Function("transmits", event, z3.BoolSort())
        self.send, self.receive, self.ack, self.acked = (
            z3.Function(name, message, event) for name in ("send", "receive", "ack", "acked")
        )
        self.m, self.k, self.l = z3.Consts("m k l", message)
        self.e, self.f, self.g = z3.Consts("e f g", event)

    def computation(self) -> dict[str, Term]:
        """≺ orders each line, → is transitive, holds ≺ and every message, and has no circle."""
        e, f, g, m, k = self.e, self.f, self.g, self.m, self.k
        send, receive = self.send, self.receive
        return {
            "→ is transitive": z3.ForAll(
                [e, f, g], z3.Implies(z3.And(self.leads(e, f), self.leads(f, g)), self.leads(e, g))
            ),
            "→ has no circle": z3.ForAll([e], z3.Not(self.leads(e, e))),
            "≺ is → on one line": z3.ForAll(
                [e, f], self.precedes(e, f) == z3.And(self.leads(e, f), self.process(e) == self.process(f))
            ),
            "a line is in order": z3.ForAll(
                [e, f],
                z3.Implies(self.process(e) == self.process(f), z3.Or(e == f, self.precedes(e, f), self.precedes(f, e))),
            ),
            "a message is sent, then received elsewhere": z3.ForAll(
                [m],
                z3.And(self.leads(send(m), receive(m)), self.process(send(m)) != self.process(receive(m))),
            ),
            "each event is of one message": z3.ForAll(
                [m, k],
                z3.And(z3.Implies(z3.Or(send(m) == send(k), receive(m) == receive(k)), m == k), send(m) != receive(k)),
            ),
        }

    def maps_to(self, e: Term, f: Term) -> Term:
        """As `Split.maps_to`."""
        l = self.l
        leaves = z3.Or(e == self.send(l), self.precedes(e, self.send(l)))
        arrives = z3.Or(self.receive(l) == f, self.leads(self.receive(l), f))
        return z3.Or(self.precedes(e, f), z3.Exists([l], z3.And(leaves, arrives)))

    def send_condition(self) -> Term:
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(self.precedes(self.send(m), self.send(k)), self.leads(self.receive(m), self.receive(k))),
        )

    def receive_condition(self) -> Term:
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(
                self.precedes(self.send(m), self.receive(k)), z3.Not(self.leads(self.receive(k), self.receive(m)))
            ),
        )

    def strong_receive_condition(self) -> Term:
        m, k, f = self.m, self.k, self.f
        leaves = z3.And(self.leads(self.receive(k), f), z3.Not(self.precedes(self.receive(k), f)))
        return z3.ForAll(
            [m, k, f],
            z3.Implies(z3.And(self.precedes(self.send(m), self.receive(k)), leaves), self.leads(self.receive(m), f)),
        )

    def acknowledged(self) -> dict[str, Term]:
        """Each message is acknowledged: r ≺ r.ack ⇝ s.ack, at the same two processes."""
        m = self.m
        return {
            "each message is acknowledged": z3.ForAll(
                [m],
                z3.And(
                    self.precedes(self.receive(m), self.ack(m)),
                    self.leads(self.ack(m), self.acked(m)),
                    self.precedes(self.send(m), self.acked(m)),
                ),
            )
        }

    def send_protocol(self) -> Term:
        m, k = self.m, self.k
        return z3.ForAll(
            [m, k],
            z3.Implies(self.precedes(self.send(m), self.send(k)), self.precedes(self.acked(m), self.send(k))),
        )

    def silent_while_passive(self) -> dict[str, Term]:
        """SP, and RP as it is told: while passive a process transmits nothing, no acknowledgement either."""
        m, k, e, f = self.m, self.k, self.e, self.f
        silence = z3.And(self.precedes(self.send(m), e), self.precedes(e, self.acked(m)))
        out = z3.Function("way_out", self.event, self.event, self.event)(e, f)
        way_out = z3.And(z3.Or(out == e, self.precedes(e, out)), self.transmits(out), self.leads(out, f))
        return {
            "a passive process transmits nothing": z3.ForAll([m, e], z3.Implies(silence, z3.Not(self.transmits(e)))),
            "receiving transmits nothing": z3.ForAll(
                [m, k], z3.Not(z3.Or(self.transmits(self.receive(m)), self.transmits(self.acked(k))))
            ),
            "→ leaves a line by what is transmitted": z3.ForAll(
                [e, f],
                z3.Implies(z3.And(self.leads(e, f), z3.Not(self.precedes(e, f))), way_out),
            ),
        }

    def two_messages(self) -> tuple[Term, Term]:
        first, second = z3.Consts("m1 m2", self.message)
        return first, second


def shows(name: str, given: dict[str, Term], what: Term) -> bool:
    """Does z3 show it, and has it a model of what is given?"""
    return bool(theorem(name, given, what, attempts=ATTEMPTS)) and vacuous(name, given).outcome == "refuted"


@cache
def theorem_4_is_proved() -> bool:
    any_split = AnySplit()
    given = {**any_split.computation(), **any_split.acknowledged(), "SP": any_split.send_protocol()}
    return shows("SP implies SC", given, any_split.send_condition())


@cache
def theorem_5_is_proved() -> bool:
    """Of acknowledgements alone, sent only while active: RC, and more. Runs of Fig. 8 are models of what is given."""
    any_split = AnySplit()
    given = {**any_split.computation(), **any_split.acknowledged(), **any_split.silent_while_passive()}
    del given["each event is of one message"], given["→ has no circle"]
    strong = any_split.strong_receive_condition()
    return bool(theorem("silence implies RC⁺", given, strong, attempts=ATTEMPTS)) and bool(
        theorem("RC⁺ implies RC", {**any_split.computation(), "RC⁺": strong}, any_split.receive_condition())
    )


@cache
def lemma_2(*, distinct: bool = True) -> str:
    """z3's answer, of two messages, or of any, the same twice included."""
    any_split = AnySplit()
    first, second = any_split.two_messages()
    given = {
        **any_split.computation(),
        "SC": any_split.send_condition(),
        "s1 ↦ r2": any_split.maps_to(any_split.send(first), any_split.receive(second)),
        **({"two messages": first != second} if distinct else {}),
    }
    either = z3.Or(
        any_split.leads(any_split.receive(first), any_split.receive(second)),
        any_split.precedes(any_split.send(first), any_split.receive(second)),
    )
    return theorem("Lemma 2", given, either).outcome


@cache
def lemma_3_is_proved() -> bool:
    any_split = AnySplit()
    first, second = any_split.two_messages()
    crown = [(first, second), (second, first)]
    given = {
        **any_split.computation(),
        "SC": any_split.send_condition(),
        "RC": any_split.receive_condition(),
        "two messages": first != second,
        "crown": z3.And([any_split.maps_to(any_split.send(a), any_split.receive(b)) for a, b in crown]),
    }
    strong = z3.And([any_split.precedes(any_split.send(a), any_split.receive(b)) for a, b in crown])
    return shows("Lemma 3", given, strong)


@cache
def crown_shrinks() -> bool:
    """The step of Lemma 4: of s0 ↦ r1, s1 ↦ r2 and not s1 ≺ r2 the middle may be left out; and RC⁺ implies RC."""
    any_split = AnySplit()
    first, second = any_split.two_messages()
    before = z3.Const("m0", any_split.message)
    given = {
        **any_split.computation(),
        "SC": any_split.send_condition(),
        "RC⁺": any_split.strong_receive_condition(),
    }
    step = {
        **given,
        "three messages": z3.Distinct(before, first, second),
        "s0 ↦ r1": any_split.maps_to(any_split.send(before), any_split.receive(first)),
        "s1 ↦ r2": any_split.maps_to(any_split.send(first), any_split.receive(second)),
        "not s1 ≺ r2": z3.Not(any_split.precedes(any_split.send(first), any_split.receive(second))),
    }
    left_out = any_split.maps_to(any_split.send(before), any_split.receive(second))
    return shows("a crown shrinks", step, left_out)


@cache
def strong_crowns_descend() -> bool:
    """Under PR, s1 ≺ r2 puts m2 at bigger processes than m1: P(s1) < P(s2). So no strong crown comes round."""
    any_split = AnySplit()
    first, second = any_split.two_messages()
    m = any_split.m
    given = {
        **any_split.computation(),
        "PR": z3.ForAll([m], any_split.process(any_split.send(m)) > any_split.process(any_split.receive(m))),
        "s1 ≺ r2": any_split.precedes(any_split.send(first), any_split.receive(second)),
    }
    climbs = any_split.process(any_split.send(first)) < any_split.process(any_split.send(second))
    return shows("a strong crown climbs", given, climbs)


# -- machines that remember what is known where ------------------------------------------------------------------------


class Received(NamedTuple):
    """That a message was received, and what its receiver had sent before."""

    message: Message
    at: int
    after: frozenset[Message]


class Watching(NamedTuple):
    """A local state, with what its process has sent, and the receives in the past of its last event."""

    inner: Any
    sent: tuple[Message, ...]
    known: frozenset[Received]
    broken: frozenset[str]


class Stamp(NamedTuple):
    known: frozenset[Received]
    sent: tuple[Message, ...]  #: what the sender sent before


class Watched(ProtocolMachine):
    """A machine whose packets carry what happened before them, so that SC and RC can be seen at each receive.

    The events are [MG]'s: a message is sent where its packet is transmitted, and received where that arrives.
    """

    kind: type[ProtocolMachine]
    #: The kinds of packets through which → goes.
    through: ClassVar[tuple[str, ...]] = ("message", "ack", "request")
    sends_before_delivery = False
    promises = "synchronous"
    invariants = {
        name: lambda machine, i, state, name=name: name not in state.broken  # type: ignore[misc]
        for name in ("SC", "RC", "RC+", "PR")
    }

    def __init__(self, n: Any, *rest: Any) -> None:
        super().__init__(n, *rest)
        self.inner = self.kind(n)

    def initial(self, i: int) -> Watching:
        return Watching(self.inner.initial(i), (), frozenset(), frozenset())

    def accepts(self, i: int, state: Watching, packet: Packet) -> Any:
        return self.inner.accepts(i, state.inner, packet._replace(stamp=None))

    def send(self, i: int, state: Watching, message: Message) -> Sequence[Step]:
        return [self.stamped(state, step) for step in self.inner.send(i, state.inner, message)]

    def internal(self, i: int, state: Watching) -> Sequence[tuple[str, Step]]:
        return [(name, self.stamped(state, step)) for name, step in self.inner.internal(i, state.inner)]

    def arrive(self, i: int, state: Watching, packet: Packet) -> Sequence[Step]:
        after = self.learned(i, state, packet)
        return [self.stamped(after, step) for step in self.inner.arrive(i, state.inner, packet._replace(stamp=None))]

    def learned(self, i: int, state: Watching, packet: Packet) -> Watching:
        if packet.kind not in self.through:
            return state
        known = state.known | packet.stamp.known
        broken = set(state.broken)
        received = {one.message for one in known}
        if packet.kind == "message":
            assert packet.message is not None
            broken |= {"SC"} if not set(packet.stamp.sent) <= received else set()
            broken |= {"RC"} if any(packet.message in one.after for one in known) else set()
            broken |= {"PR"} if packet.source < packet.destination else set()
        broken |= {"RC+"} if any(one.at != i and not one.after <= received for one in known) else set()
        if packet.kind == "message":
            assert packet.message is not None
            known = known | {Received(packet.message, i, frozenset(state.sent))}
        return state._replace(known=known, broken=frozenset(broken))

    def stamped(self, state: Watching, step: Step) -> Step:
        packets, sent = [], state.sent
        for packet in step.packets:
            stamp = Stamp(state.known, sent) if packet.kind in self.through else None
            packets.append(packet._replace(stamp=stamp))
            if packet.kind == "message" and packet.message is not None:
                sent = (*sent, packet.message)
        return Step(state._replace(inner=step.state, sent=sent), packets, step.events)


class WatchedMurtyGarg(Watched):
    """Fig. 8; → goes through requests too."""

    kind = MurtyGarg


class WatchedAcknowledgements(WatchedMurtyGarg):
    """Fig. 8; → goes through the application's messages and acknowledgements alone."""

    through = ("message", "ack")


class WatchedBlocking(Watched):
    """Wait and acknowledge."""

    kind = Rendezvous


class Owed(NamedTuple):
    """An acknowledgement that is owed: to whom, and whether it must wait for that of the send open at the receive."""

    to: int
    waits: bool


class ByTheLetter(ProtocolMachine):
    """Any system with SP and RP as their formulas have them: s1 ≺ s2 ⇒ s1.ack ≺ s2, and s1 ≺ r2 ⇒ s1.ack ≺ r2.ack.

    A message is sent while no other is unacknowledged. It is received when it arrives, and acknowledged at any time
    after that, but not before what was open at the receive is acknowledged.
    """

    sends_before_delivery = True
    promises = "synchronous"

    def initial(self, i: int) -> Any:
        return (True, ())

    def may_send_to(self, i: int, j: int) -> bool:
        return True

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        active, owed = state
        if not active or not self.may_send_to(i, message.receiver):
            return []
        return [Step((False, owed), [Packet(i, message.receiver, "message", message)], [Happened("send", message)])]

    def arrive(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        active, owed = state
        if packet.kind == "ack":
            return [Step((True, tuple(one._replace(waits=False) for one in owed)))]
        assert packet.message is not None
        after = tuple(sorted([*owed, Owed(packet.source, waits=not active)]))
        return [Step((active, after), (), [Happened("deliver", packet.message)])]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        active, owed = state
        return [
            ("acknowledge", Step((active, (*owed[:k], *owed[k + 1 :])), [Packet(i, one.to, "ack")]))
            for k, one in enumerate(owed)
            if not one.waits
        ]


class ByTheLetterWithRanks(ByTheLetter):
    """And PR: to smaller processes only."""

    def may_send_to(self, i: int, j: int) -> bool:
        return i > j


class WatchedByTheLetter(Watched):
    kind = ByTheLetterWithRanks


class Silent(ByTheLetter):
    """RP as it is told: an acknowledgement is sent by an active process only."""

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return super().internal(i, state) if state[0] else []


class Watch(NamedTuple):
    """What a search of a watched machine found."""

    states: int
    runs: dict[str, Run]  #: shortest runs to what is broken


@cache
def watched(kind: type[Watched], n: int, m: int, program: str = "") -> Watch:
    """Every interleaving of a watched machine: up to m messages of n processes, or a program."""
    workload: Workload = Program(parse(program)) if program else Free(n, m)
    system = System(kind(n), workload, channel_named("unordered"), [Ledger()])
    properties = [Property(name, "always", name) for name in kind.invariants]
    found = explore(system, properties)
    runs = {}
    for known in properties:
        if known.name in found.broken:
            steps, *_ = shortest_run(system, known, found.broken[known.name])
            runs[known.name] = run_of(system, steps, keep_names=bool(program))
    return Watch(found.states, runs)


@cache
def quiet_computations(kind: type[ByTheLetter], n: int, m: int) -> tuple[Computation, ...]:
    """The computations of all runs at whose end everything is received and acknowledged."""
    memory = Memory(n)
    system = System(kind(n), Free(n, m), channel_named("unordered"), [memory])
    start = (system.initial(), system.initial_ghost())
    found, nodes = {start}, [start]
    forms = set()
    for state, ghost in nodes:
        if not system.in_flight(state) and all(local == (True, ()) for local in system.local_states(state)):
            lines = memory.lines[ghost[0]]
            forms.add(None if lines is None else form_of(lines))
        for step, target in system.moves(state):
            node = (target, system.judge(ghost, step)[0])
            if node not in found:
                found.add(node)
                nodes.append(node)
    return tuple(computation_of(form) for form in forms if form is not None)


class Placing(NamedTuple):
    """A clock, the message whose place is not known yet, and the line in the order of time: (what, message, place)."""

    clock: int
    unplaced: Message | None
    line: tuple[tuple[str, Message, tuple[int, int]], ...]


class PlacedAfterwards(ProtocolMachine):
    """Not [MG]'s: a message is received at once, and its place is the receiver's clock; its sender learns it later.

    One message at a time. The place of a send among the receives that came meanwhile is told when it is acknowledged.
    """

    sends_before_delivery = False
    promises = "synchronous"

    def initial(self, i: int) -> Placing:
        return Placing(0, None, ())

    def send(self, i: int, state: Placing, message: Message) -> Sequence[Step]:
        if state.unplaced is not None:
            return []
        after = Placing(state.clock, message, (*state.line, ("wants", message, (0, 0))))
        return [Step(after, [Packet(i, message.receiver, "message", message, state.clock)])]

    def arrive(self, i: int, state: Placing, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        if packet.kind == "ack":
            placed = (*state.line, ("send", packet.message, packet.stamp))
            after = Placing(max(state.clock, packet.stamp[0]), None, placed)
            return [Step(after, (), [Happened("send", packet.message)])]
        place = (max(state.clock, packet.stamp) + 1, i)
        after = Placing(place[0], state.unplaced, (*state.line, ("receive", packet.message, place)))
        ack = Packet(i, packet.source, "ack", packet.message, place)
        return [Step(after, [ack], [Happened("deliver", packet.message)])]

    @staticmethod
    def in_time(state: Placing) -> bool:
        """Is each send after what came before it was wanted, and before what came after it was acknowledged?"""
        line = state.line
        events = [(k, place) for k, (what, _, place) in enumerate(line) if what != "wants"]
        return all(
            (place < own or k > line.index(("wants", message, (0, 0)))) and (place > own or k < j)
            for j, (what, message, own) in enumerate(line)
            if what == "send"
            for k, place in events
            if k != j
        )


@cache
def placed_afterwards(n: int, m: int) -> tuple[tuple[Computation, ...], bool]:
    """The computations of its runs to their ends, lines in the order of places; and is each send placed in time?"""
    system, forms, in_time = system_of(PlacedAfterwards, n, m), set(), True
    for state in states_of(system):
        local = system.local_states(state)
        if not system.in_flight(state) and all(one.unplaced is None for one in local):
            in_time &= all(PlacedAfterwards.in_time(one) for one in local)
            placed = [sorted((place, what, x) for what, x, place in one.line if what != "wants") for one in local]
            forms.add(form_of(tuple(tuple((what, message) for _, what, message in line) for line in placed)))
    return tuple(computation_of(form) for form in forms if form is not None), in_time


# -- variations of Fig. 8, and what is asked of it ---------------------------------------------------------------------


class CommitsAtAcknowledgement(MurtyGarg):
    """A message to a smaller process is committed by its sender when the acknowledgement comes (§4.1)."""

    def initial(self, i: int) -> Any:
        return (super().initial(i), None)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [self.later(i, state[1], step) for step in super().send(i, state[0], message)]

    def arrive(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        inner, uncommitted = state
        committed = [Happened("send", uncommitted)] if packet.kind == "ack" and uncommitted is not None else []
        rest = None if packet.kind == "ack" else uncommitted
        steps = [self.later(i, rest, step) for step in super().arrive(i, inner, packet)]
        return [step._replace(events=[*committed, *step.events]) for step in steps]

    def later(self, i: int, uncommitted: Message | None, step: Step) -> Step:
        """The step without the commit of what goes out to a smaller process, which is kept for later."""
        out = {packet.message for packet in step.packets if packet.kind == "message"}
        kept = [event for event in step.events if event.kind == "send" and event.message in out]
        events = [event for event in step.events if event not in kept]
        return step._replace(state=(step.state, kept[0].message if kept else uncommitted), events=events)

    invariants = {}
    witnesses = {}


class AcknowledgesAtOnce(MurtyGarg):
    """Receives are done with in bounded time."""

    def may_acknowledge(self, state: Any) -> bool:
        return True


class SendsAtOnce(MurtyGarg):
    """Sends are done with in bounded time."""

    def may_send(self, state: Any) -> bool:
        return True


class IntendedOrder(Observer):
    """A process's sends happen in the order in which it handed the messages over; or those to one receiver do."""

    watches = ("in-order",)

    def __init__(self, *, to_one_receiver: bool) -> None:
        self.to_one_receiver = to_one_receiver

    def initial(self) -> tuple[Message, ...]:
        return ()

    def observe(self, ghost: Any, code: Observation) -> tuple[Any, tuple[str, ...]]:
        message = code.message
        if code.kind == "hand":
            return (*ghost, message), ()
        if code.kind != "send":
            return ghost, ()
        rivals = [
            other
            for other in ghost
            if other.sender == message.sender and (not self.to_one_receiver or other.receivers == message.receivers)
        ]
        after = tuple(other for other in ghost if other != message)
        return after, ("in-order",) if rivals[0] != message else ()


@cache
def first_run_that_breaks(
    name: str, kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered"
) -> Run | None:
    """A shortest run, of the free workload, that breaks `synchronous`, `in-order` or `in-order-to-one`."""
    observer: Observer = (
        Crowns(n) if name == "synchronous" else IntendedOrder(to_one_receiver=name == "in-order-to-one")
    )
    system = System(kind(n), Free(n, m), channel_named(channel), [Ledger(), observer])
    known = Property(observer.watches[0], "always", name)
    found = explore(system, [known])
    if known.name not in found.broken:
        return None
    steps, *_ = shortest_run(system, known, found.broken[known.name])
    return run_of(system, steps, keep_names=False)


def commits(n: int, m: int) -> tuple[int, list[str]]:
    """How many commits the steps of Fig. 8 make, and which of them do not go with a packet to a smaller process."""
    system = system_of(MurtyGarg, n, m)
    count, wrong = 0, []
    for state in states_of(system):
        for step, _ in system.moves(state):
            moved = [(packet, packet.source) for packet in system.transmitted(step)]
            moved += [(step.action.packet, step.action.process)] if step.action.packet is not None else []
            carried = {(at, packet.message) for packet, at in moved if packet.kind == "message"}
            committed = {(seen.process, seen.message) for seen in step.observations if seen.kind != "hand"}
            downhill = all(packet.source > packet.destination for packet, _ in moved if packet.kind == "message")
            count += len(committed)
            wrong += [] if carried == committed and downhill else [str(step.action)]
    return count, wrong


def system_of(kind: type[ProtocolMachine], n: int, m: int) -> System:
    """The free workload over unordered channels."""
    return System(kind(n), Free(n, m), channel_named("unordered"), [Ledger()])


def states_of(system: System) -> list[State]:
    """Every state of it."""
    found, states = {system.initial()}, [system.initial()]
    for state in states:
        for _, target in system.moves(state):
            if target not in found:
                found.add(target)
                states.append(target)
    return states


class Cost(NamedTuple):
    """Of a run: messages to bigger and to smaller processes, and control packets transmitted."""

    up: int
    down: int
    control: int


def costs(n: int, m: int) -> set[Cost]:
    """What the runs of Fig. 8 cost at whose end nothing is under way or waits, m messages in each."""
    workload = Free(n, m)
    system = System(MurtyGarg(n), workload, channel_named("unordered"), [Ledger()])
    start = (system.initial(), 0)
    found, nodes, ends = {start}, [start], set()
    for state, control in nodes:
        moves = system.moves(state)
        if not moves:
            position = system.position(state)
            up = sum(k for k, (p, (q,)) in zip(position, workload.channels, strict=True) if p < q)
            ends.add(Cost(up, m - up, control))
        for step, target in moves:
            node = (target, control + sum(packet.kind != "message" for packet in system.transmitted(step)))
            if node not in found:
                found.add(node)
                nodes.append(node)
    return ends


# -- two processes in lockstep -----------------------------------------------------------------------------------------


class Lockstep(NamedTuple):
    """How runs go in which two processes do the same at the same time, each with one message for the other."""

    alike: bool  #: do their local states stay mirror images?
    ends: frozenset[Computation]  #: complete computations at their ends


def lockstep(machine: ProtocolMachine) -> Lockstep:
    """All such runs; a step for which there is no mirror image ends the search as not alike."""
    memory, swap = Memory(2), Renaming((1, 0))
    system = System(machine, Free(2, 2), channel_named("unordered"), [memory])
    start = (system.initial(), system.initial_ghost())
    found, nodes, ends, alike = {start}, [start], set(), True
    for state, ghost in nodes:
        rounds = [move for move in system.moves(state) if move[0].action.process == 0]
        if not rounds:
            lines = memory.lines[ghost[0]]
            form = None if lines is None else form_of(lines)
            ends |= set() if form is None else {computation_of(form)}
        for step, target in rounds:
            answers = [x for x in system.moves(target) if x[0].action == _mirrored(machine, swap, step)]
            for answer, after in answers:
                first, second = system.local_states(after)
                alike &= second == machine.renamed(first, swap)
                node = (after, system.judge(system.judge(ghost, step)[0], answer)[0])
                if node not in found and alike:
                    found.add(node)
                    nodes.append(node)
            alike &= bool(answers)
    return Lockstep(alike, frozenset(ends))


def _mirrored(machine: ProtocolMachine, swap: Renaming, step: LocalStep) -> Action:
    process, name, message, packet, by_channel = step.action
    return Action(
        1 - process,
        name,
        None if message is None else swap.message(message),
        None if packet is None else machine.renamed_packet(packet, swap),
        by_channel,
    )


# -- a run in time -----------------------------------------------------------------------------------------------------


class Timed(NamedTuple):
    """A run of a program of Fig. 8, and when each of its actions happened, in ticks."""

    run: Run
    times: tuple[int, ...]

    def when(self, process: str, action: str, message: str | None = None) -> int:
        """The time of the first such action."""
        return next(
            time
            for time, known in zip(self.times, self.run.actions, strict=True)
            if (known.process, known.action) == (process, action) and message in (None, known.message)
        )


def timed(program: str, sends: Mapping[str, int], delays: Mapping[str, int], delay: int) -> Timed:
    """The run in which messages are handed over at these times, and packets take these delays, all others the same."""
    workload = Program(parse(program))
    system = System(MurtyGarg(len(workload.processes)), workload, channel_named("unordered"), [Ledger()])
    agenda: list[tuple[int, int, Packet | None, str]] = [
        (time, k, None, name) for k, (name, time) in enumerate(sends.items())
    ]
    heapify(agenda)
    state, steps, times, number = system.initial(), [], [], len(agenda)
    while agenda:
        time, _, packet, name = heappop(agenda)
        step, state = next(
            (step, target)
            for step, target in system.moves(state)
            if (step.action.packet == packet and packet is not None)
            or (packet is None and step.action.message is not None and step.action.message.name == name)
        )
        steps.append(step)
        times.append(time)
        for sent in system.transmitted(step):
            number += 1
            known = sent.message.name if sent.message is not None else ""
            heappush(agenda, (time + delays.get(known, delay), number, sent, known))
    return Timed(run_of(system, steps, keep_names=True), tuple(times))


# -- the cases of the impossibilities ----------------------------------------------------------------------------------


def crossing(first: Sequence[str]) -> Computation | None:
    """Fig. 4(a)'s messages, where each process first sends, or first receives; None if that is no computation."""
    lines = []
    for p, (mine, theirs) in enumerate([("m1", "m2"), ("m2", "m1")]):
        events = [f"send {mine} to P{2 - p}", f"receive {theirs}"]
        lines.append(f"P{p + 1}: " + "; ".join(events if first[p] == "send" else events[::-1]))
    return _computation(lines)


def ring(first: Sequence[str]) -> Computation | None:
    """Three processes in a ring, each with a message for the next; each first sends, or first receives."""
    lines = []
    for p in range(3):
        events = [f"send m{p + 1} to P{(p + 1) % 3 + 1}", f"receive m{(p - 1) % 3 + 1}"]
        lines.append(f"P{p + 1}: " + "; ".join(events if first[p] == "send" else events[::-1]))
    return _computation(lines)


def ring_cut_short(p: int) -> Computation:
    """What process p of the ring cannot tell from it, if it sends first and its message is late: the process before it
    goes on and sends to the one after it.
    """
    before, after = (p - 1) % 3, (p + 1) % 3
    mine, theirs = f"m{p + 1}", f"m{before + 1}"
    lines = {
        p: f"P{p + 1}: send {mine} to P{after + 1}; receive {theirs}",
        before: f"P{before + 1}: send {theirs} to P{p + 1}; send next to P{after + 1}",
        after: f"P{after + 1}: receive next; receive {mine}",
    }
    found = _computation([lines[q] for q in range(3)])
    assert found is not None
    return found


def _computation(lines: Sequence[str]) -> Computation | None:
    try:
        return to_computation(parse("\n".join(lines)))
    except BadInput:
        return None
