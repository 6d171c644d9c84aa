"""Does a protocol's machine do what its abstraction does (`stages`)? Checked over every state up to a bound.

Beside every global state of the machine stands a moment of the abstraction, the one of the run by which the state was
first reached. What it says of queues and of packets under way must be what they are; what the machine may do next, and
what has then happened for applications, must be what some event of the abstraction does, and the other way round.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from crownless.impl.channels import Unordered
from crownless.impl.protocol import Happened, Packet
from crownless.impl.workloads import Free
from crownless.model_check.system import State, System
from crownless.spec.computation import Message

from .queues import QueueProof
from .stages import About, Abstraction, Facts, Moment, Part, StageEvent

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


#: Local states, packets under way in some order, and what has happened.
_Seen = tuple[tuple[Any, ...], tuple[str, ...], tuple[Happened, ...]]


@dataclass(frozen=True)
class Refinement:
    """What was compared."""

    processes: int
    messages: int
    states: int
    transitions: int
    #: The first state in which the two differ, and how; None: in none.
    differs: str | None

    def __bool__(self) -> bool:
        return self.differs is None


def refines(proof: QueueProof, n: int, messages: int) -> Refinement:
    """Compares the machine with the abstraction in all states of n processes and so many messages."""
    workload = Free(n, messages, self_sends=proof.self_sends)
    system = System(proof.protocol(n), workload, Unordered, ())
    start = system.initial()
    nothing = _Then(
        0, (), {name: {} for name in proof.abstraction.changing}, {name: {} for name in proof.abstraction.lasting}
    )
    known: dict[State, _Then] = {start: nothing}
    waiting, transitions = deque([start]), 0
    while waiting:
        state = waiting.popleft()
        by_machine = {_seen(system, after, step.observations): after for step, after in system.moves(state)}
        wishes = [wish.message for wish in workload.wishes(system.position(state))]
        by_abstraction = _successors(proof, n, known[state], wishes)
        transitions += len(by_machine)
        if by_machine.keys() != by_abstraction.keys():
            more = by_machine.keys() - by_abstraction.keys() or by_abstraction.keys() - by_machine.keys()
            who = "machine" if by_machine.keys() - by_abstraction.keys() else "abstraction"
            differs = f"after {known[state].clock} events the {who} alone comes to {next(iter(more))}"
            return Refinement(n, messages, len(known), transitions, differs)
        for seen, after in by_machine.items():
            if after not in known:
                known[after] = by_abstraction[seen]
                waiting.append(after)
    return Refinement(n, messages, len(known), transitions, None)


def _seen(system: System, state: State, observations: Sequence[Any]) -> _Seen:
    happened = tuple(Happened(each.kind, each.message) for each in observations if each.kind != "hand")
    return tuple(system.local_states(state)), _in_order([packet for packet, _ in system.flight(state)]), happened


def _in_order(packets: Sequence[Packet]) -> tuple[str, ...]:
    return tuple(sorted(map(repr, packets)))


def _successors(proof: QueueProof, n: int, then: _Then, wishes: Sequence[Message]) -> dict[_Seen, _Then]:
    """What may happen next in the abstraction."""
    logic = Facts(n, [*then.messages, *wishes])
    found = {}
    for i, m, w in product(range(n), logic.all_messages, logic.all_messages):
        run = _concrete(proof.abstraction, logic, then, About(i, m, w))
        for event in run.events():
            if all(event.given.values()):
                after = _tabulated(run, event, then)
                now = _concrete(proof.abstraction, logic, after, About(i, m, w))
                states, packets = proof.view(now, now.before, n, after.messages)
                found[(tuple(states), _in_order(packets), tuple(event.happens()))] = after
    return found


def _concrete(kind: type[Abstraction], logic: Facts, then: _Then, about: About) -> Abstraction:
    """The abstraction, at that moment, in plain values."""
    changing = {name: _looked_up(then.changing[name], part) for name, part in kind.changing.items()}
    lasting = {
        name: _OF_THEMSELVES.get(name) or _looked_up(then.lasting[name], part) for name, part in kind.lasting.items()
    }
    return kind(logic, lasting, Moment(then.clock, **changing), about)


def _looked_up(table: Table, part: Part) -> Callable[..., Any]:
    """Of what is not in the table nothing is true, and nothing is said."""
    otherwise = {"truth": False, "number": 0}.get(part.is_)
    return lambda *args: table.get(args, otherwise)


def _tabulated(run: Abstraction, event: StageEvent, then: _Then) -> _Then:
    """The moment after an event."""
    assert isinstance(run.logic, Facts)
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
    return _Then(event.after.clock, messages, changing, lasting)
