"""A protocol's machine compared with its abstraction (`queue_abstraction`), over every state up to a bound.

Beside every global state of the machine stands a moment of the abstraction, that of the run by which the state was
first reached; and of more processes and messages, beside each state of some random runs. What a moment says of
queues and of packets in flight must be what they are; what the machine may do next, and what has then happened for
applications, must be what some event of the abstraction does, and the other way round; and what it says happened
before a send must be what did, by the applications' events alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, NamedTuple

from crownless.impl.channels import Unordered
from crownless.impl.protocol import AppEvent, Packet
from crownless.impl.workloads import Free
from crownless.model_check.system.system import State, System
from crownless.spec.computation import Message

from .queue_abstraction import About, Abstraction, AbstractState, ConcreteLogic, Part, StageEvent
from .queues import QueueProof

#: What messages and processes are, of what lasts; the rest is fixed by events.
_OF_THEMSELVES: Mapping[str, Callable[[Any], Any]] = {
    "sender": lambda x: x.sender,
    "receiver": lambda x: x.receiver,
    "rank": lambda p: p,
}

Table = dict[tuple[Any, ...], Any]


class _Then(NamedTuple):
    """A moment of the abstraction, tabulated."""

    clock: int
    #: Those that an application has handed over.
    messages: tuple[Message, ...]
    changing: Mapping[str, Table]
    lasting: Mapping[str, Table]
    #: What is in the causal past of each process, and what was in that of each send, by what happened for applications.
    known: Mapping[int, frozenset[Message]]
    before: Mapping[Message, frozenset[Message]]


#: Local states, packets in flight in some order, and what has happened.
_Seen = tuple[tuple[Any, ...], tuple[str, ...], tuple[AppEvent, ...]]


@dataclass(frozen=True)
class Refinement:
    """The scope and result of a comparison."""

    processes: int
    messages: int
    states: int
    transitions: int
    #: Along so many random runs; None: in every state.
    runs: int | None
    #: The first state in which the two differ, and how; None: in none.
    differs: str | None
    #: True if the states are all local states there are, after any number of messages.
    any_length: bool = False

    def __bool__(self) -> bool:
        return self.differs is None

    @property
    def scope(self) -> str:
        """How far was looked."""
        if self.any_length:
            return f"up to {self.processes} processes and any number of messages"
        bound = f"{self.processes} processes and {self.messages} messages"
        return f"up to {bound}" if self.runs is None else f"along {self.runs} random runs of {bound}"


#: Random runs, of more processes and messages than all states of which can be gone through.
RUNS = 50


def refines(proof: QueueProof, n: int, messages: int) -> Refinement:
    """Compares the machine with the abstraction in all states of n processes and so many messages."""
    both = _Both(proof, n, messages)
    known: dict[State, _Then] = {both.start: both.nothing}
    waiting, transitions = deque([both.start]), 0
    while waiting:
        state = waiting.popleft()
        successors = both.successors(state, known[state])
        if isinstance(successors, str):
            return Refinement(n, messages, len(known), transitions, None, successors)
        transitions += len(successors)
        for after, then in successors:
            if after not in known:
                known[after] = then
                waiting.append(after)
    return Refinement(n, messages, len(known), transitions, None, None)


def refines_along_runs(proof: QueueProof, n: int, messages: int, runs: int = RUNS) -> Refinement:
    """Compares them along so many random runs, always the same."""
    both = _Both(proof, n, messages)
    seen: set[State] = set()
    random, transitions = Random(n * 100 + messages), 0
    for _ in range(runs):
        state, then = both.start, both.nothing
        while True:
            seen.add(state)
            successors = both.successors(state, then)
            if isinstance(successors, str):
                return Refinement(n, messages, len(seen), transitions, runs, successors)
            if not successors:
                break
            transitions += len(successors)
            state, then = random.choice(successors)
    return Refinement(n, messages, len(seen), transitions, runs, None)


class _Both:
    """The machine and the abstraction, in step."""

    def __init__(self, proof: QueueProof, n: int, messages: int) -> None:
        self.proof, self.n = proof, n
        self.workload = Free(n, messages, self_sends=proof.self_sends)
        self.system = System(proof.protocol(n), self.workload, Unordered, ())
        self.start = self.system.initial()
        changing: dict[str, Table] = {name: {} for name in proof.abstraction.changing}
        lasting: dict[str, Table] = {name: {} for name in proof.abstraction.lasting}
        self.nothing = _Then(0, (), changing, lasting, dict.fromkeys(range(n), frozenset()), {})

    def successors(self, state: State, then: _Then) -> list[tuple[State, _Then]] | str:
        """The successors of both; or, in words, how they differ."""
        by_machine = {_seen(self.system, after, step.observations): after for step, after in self.system.moves(state)}
        pending_sends = [pending.message for pending in self.workload.pending_sends(self.system.position(state))]
        by_abstraction = _successors(self.proof, self.n, then, pending_sends)
        for who, more, fewer in (
            ("machine", by_machine.keys(), by_abstraction.keys()),
            ("abstraction", by_abstraction.keys(), by_machine.keys()),
        ):
            if alone := more - fewer:
                return f"after {then.clock} events the {who} alone comes to {next(iter(alone))}"
        for after in by_abstraction.values():
            wrong = _misremembered(self.proof.abstraction, after)
            if wrong is not None:
                return f"after {after.clock} events the abstraction has it wrong what happened before {wrong.name}"
        return [(after, by_abstraction[seen]) for seen, after in by_machine.items()]


def _misremembered(kind: type[Abstraction], then: _Then) -> Message | None:
    """A message of which the abstraction does not say what happened before it was sent."""
    if "precedes" not in kind.lasting:
        return None
    table = then.lasting["precedes"]
    for m, before in then.before.items():
        if {x for x in then.messages if table.get((x, m))} != before:
            return m
    return None


def _seen(system: System, state: State, observations: Sequence[Any]) -> _Seen:
    happened = tuple(AppEvent(each.kind, each.message) for each in observations if each.kind != "hand")
    return tuple(system.local_states(state)), _in_order([packet for packet, _ in system.flight(state)]), happened


def _in_order(packets: Sequence[Packet]) -> tuple[str, ...]:
    return tuple(sorted(map(repr, packets)))


def _successors(proof: QueueProof, n: int, then: _Then, pending_sends: Sequence[Message]) -> dict[_Seen, _Then]:
    """The successors in the abstraction."""
    logic = ConcreteLogic(n, [*then.messages, *pending_sends])
    about_two = proof.abstraction.events_with_another is not Abstraction.events_with_another
    concrete = _concrete(proof.abstraction, logic, then)
    found = {}
    for i, m in product(range(n), logic.all_messages):
        # The other message is one that has been handed over.
        for number, w in enumerate(then.messages if then.messages and about_two else (m,)):
            run = concrete(About(i, m, w))
            for event in (*(run.events() if number == 0 else ()), *run.events_with_another()):
                if all(event.given.values()):
                    happened = tuple(event.happens())
                    after = _remembering(_tabulated(run, event, then), i, happened)
                    now = _concrete(proof.abstraction, logic, after)(About(i, m, w))
                    states, packets = proof.view.concrete(now, now.before, n, after.messages)
                    found[(tuple(states), _in_order(packets), happened)] = after
    return found


def _remembering(then: _Then, i: int, happened: Sequence[AppEvent]) -> _Then:
    """With the causal pasts after what happened at process i."""
    known, before = dict(then.known), dict(then.before)
    for kind, m in happened:
        if kind == "send":
            before[m] = known[i]
            known[i] |= {m}
        else:
            known[i] |= {m} | before.get(m, frozenset())
    return then._replace(known=known, before=before)


def _concrete(kind: type[Abstraction], logic: ConcreteLogic, then: _Then) -> Callable[[About], Abstraction]:
    """The abstraction, at that moment, in plain values, of what it is to be about."""
    changing = {name: _looked_up(then.changing[name], part) for name, part in kind.changing.items()}
    lasting = {
        name: _OF_THEMSELVES.get(name) or _looked_up(then.lasting[name], part) for name, part in kind.lasting.items()
    }
    return lambda about: kind(logic, lasting, AbstractState(then.clock, **changing), about)


def _looked_up(table: Table, part: Part) -> Callable[..., Any]:
    """Of what is not in the table nothing is true, and nothing is said."""
    otherwise = {"truth": False, "number": 0}.get(part.is_)
    return lambda *args: table.get(args, otherwise)


def _tabulated(run: Abstraction, event: StageEvent, then: _Then) -> _Then:
    """The moment after an event."""
    assert isinstance(run.logic, ConcreteLogic)
    messages = then.messages if run.m in then.messages else (*then.messages, run.m)
    there = {"process": range(run.logic.n), "message": messages}

    def places(part: Part) -> Sequence[tuple[Any, ...]]:
        return list(product(*(there[sort] for sort in part.of)))

    changing = {
        name: {place: getattr(event.after, name)(*place) for place in places(part)}
        for name, part in run.changing.items()
    }
    lasting = dict(then.lasting)
    for name, (where, is_) in event.fixes.items():
        fixed = {place: is_(*place) for place in places(run.lasting[name]) if where(*place)}
        lasting[name] = {**lasting[name], **fixed}
    return then._replace(clock=event.after.clock, messages=messages, changing=changing, lasting=lasting)
