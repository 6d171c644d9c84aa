"""Which complete computations a protocol can generate, over every interleaving, and which order that set is.

Complete: everything sent is delivered to every receiver, and every delivered message was sent. What is handed to the
protocol and not yet sent is no part of a computation. One search with the bound M serves every number of messages up
to M, as each prefix of a run is a run.

The ghost of a run is its whole computation, known by a number. A state is expanded once for all ghosts that reach it
together, and what an event makes of a ghost is looked up in a table, so that the search costs little more than one
without ghosts. What it generates is then held against `spec.enumeration`, judged by each order.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from crownless.impl.channels import channel_named
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import protocol_named
from crownless.impl.workloads import Workload
from crownless.spec.computation import Computation, Event, Message, process_names
from crownless.spec.enumeration import computations, trusted
from crownless.spec.errors import BadInput
from crownless.spec.notation import of_computation
from crownless.spec.orders import ORDERS, decide, strongest, weaker

from .asking import Check, sends_of, settings_of, workload_of
from .observers import Observation, Observer
from .properties import AT_ONE_RECEIVER
from .system import State, System

#: For each process its events, as (`send` or `receive`, message), the message by the name that the workload gave it.
Lines = tuple[tuple[tuple[str, Message], ...], ...]
#: A complete computation, whatever its messages are called: the same as `Lines`, but a message is told by its sender
#: and by how many its sender sent before it.
Form = tuple[tuple[tuple[str, int, int], ...], ...]

#: The ghost of runs that make no computation: some message was delivered twice, or to whom it was not sent.
NO_COMPUTATION = 0
#: What takes an event back, in protocols that roll back, and which event.
UNDOES = {"unsend": "send", "undeliver": "receive", "orphan": "receive"}
#: A search looks at the clock whenever it has expanded so many states, or compared so many computations.
EVERY = 512


class Memory(Observer):
    """Remembers the whole computation and judges nothing. A ghost is a number; `lines` tells which computation it is.

    The code of what happens in a step is a table from ghosts to ghosts, filled as it is needed.
    """

    watches = ()

    def __init__(self, n: int) -> None:
        self.n = n
        self.lines: list[Lines | None] = [None]
        self._numbers: dict[Lines, int] = {}
        self._tables: dict[tuple[Observation, ...], After] = {}

    def initial(self) -> int:
        return self.number(((),) * self.n)

    def number(self, lines: Lines) -> int:
        number = self._numbers.setdefault(lines, len(self.lines))
        if number == len(self.lines):
            self.lines.append(lines)
        return number

    def encode_all(self, observations: Iterable[Observation]) -> list[Any]:
        events = tuple(observation for observation in observations if observation.kind != "hand")
        return [self._tables.setdefault(events, After(self, events))] if events else []

    def observe(self, ghost: int, code: After) -> tuple[int, tuple[str, ...]]:
        return code[ghost], ()

    @property
    def takes_back(self) -> bool:
        """Has anything been undone?"""
        return any(event.kind in UNDOES for events in self._tables for event in events)


class After(dict[int, int]):
    """What these events make of each ghost."""

    def __init__(self, memory: Memory, events: tuple[Observation, ...]) -> None:
        self.memory = memory
        self.events = events

    def __missing__(self, ghost: int) -> int:
        lines = self.memory.lines[ghost]
        for event in self.events:
            lines = None if lines is None else _with(lines, event)
        self[ghost] = NO_COMPUTATION if lines is None else self.memory.number(lines)
        return self[ghost]


def _with(lines: Lines, observation: Observation) -> Lines | None:
    """The lines with one event more, or one taken back; None if they are no computation then."""
    kind, p, message = observation
    if kind in UNDOES:
        line = tuple(event for event in lines[p] if event != (UNDOES[kind], message))
    else:
        event = ("send" if kind == "send" else "receive", message)
        if event in lines[p] or (kind == "deliver" and p not in message.receivers):
            return None
        line = (*lines[p], event)
    return (*lines[:p], line, *lines[p + 1 :])


def form_of(lines: Lines) -> Form | None:
    """The form of a complete computation; None if it is not complete."""
    number: dict[Message, int] = {}
    for line in lines:
        sends = (message for kind, message in line if kind == "send")
        number.update((message, k) for k, message in enumerate(sends))
    if any(message not in number for line in lines for _, message in line):
        return None
    if sum(map(len, lines)) < sum(1 + len(message.receivers) for message in number):
        return None
    return tuple(tuple((kind, message.sender, number[message]) for kind, message in line) for line in lines)


def computation_of(form: Form) -> Computation:
    """The computation, its messages called m1, m2, … by sender; not validated, since it may be none: see `possible`."""
    numbers = {(s, k): m for m, (s, k) in enumerate((s, k) for line in form for kind, s, k in line if kind == "send")}
    receivers: dict[tuple[int, int], list[int]] = {message: [] for message in numbers}
    for p, line in enumerate(form):
        for kind, s, k in line:
            if kind == "receive":
                receivers[s, k].append(p)
    messages = tuple(Message(f"m{m + 1}", s, tuple(receivers[s, k])) for (s, k), m in numbers.items())
    lines = tuple(
        tuple(Event("send" if kind == "send" else "receive", numbers[s, k]) for kind, s, k in line) for line in form
    )
    return trusted(process_names(len(form)), messages, lines)


def possible(c: Computation) -> bool:
    """Are there no messages in a circle, each received before it is sent? What delivers before it sends can do that."""
    try:
        Computation(c.processes, c.messages, c.lines)
    except BadInput:
        return False
    return True


# -- the search --------------------------------------------------------------------------------------------------------


@dataclass
class Search:
    """What a search has found. `stopped`: why it is not complete, or None if it is.

    `states` counts global states, `nodes` counts them with their computations. `misdelivers`: some run delivers a
    message twice, or to whom it was not sent; it was not followed from there. `ended`: ghosts with which a run may end.
    """

    states: int = 1
    nodes: int = 1
    misdelivers: bool = False
    stopped: str | None = None
    ended: set[int] = field(default_factory=set)
    forms: frozenset[Form] = frozenset()


#: Told in words how far a search has got; says why it must stop, or None.
Clock = Callable[[str], str | None]


def clock_of(max_seconds: float | None, progress: Callable[[str], None] | None = None) -> Clock:
    """A clock that starts now."""
    started = time.monotonic()

    def clock(said: str) -> str | None:
        if progress is not None:
            progress(said)
        over = max_seconds is not None and time.monotonic() - started > max_seconds
        return f"{max_seconds:g} seconds are over" if over else None

    return clock


def generate(machine: ProtocolMachine, workload: Workload, channel: str, clock: Clock) -> Search:
    """Every complete computation of every run. Ctrl-C also ends it, with what was found."""
    memory = Memory(machine.n)
    found = Search()
    collecting = gc.isenabled()
    gc.disable()  # as in the explorer: millions of tuples and no cycles
    try:
        _search(System(machine, workload, channel_named(channel), [memory]), found, clock)
    except KeyboardInterrupt:
        found.stopped = "interrupted"
    finally:
        if collecting:
            gc.enable()
    # What is taken back later never was: of protocols that do so, only that counts after which nothing need happen.
    ghosts: Iterable[int] = found.ended if memory.takes_back else range(len(memory.lines))
    forms = (form_of(lines) for lines in map(memory.lines.__getitem__, ghosts) if lines is not None)
    found.forms = frozenset(form for form in forms if form is not None)
    return found


def _search(system: System, found: Search, clock: Clock) -> None:
    """Level by level. Where new computations reach an old state, it is expanded again for those alone."""
    level: dict[State, set[int]] = {system.initial(): set(system.initial_ghost())}
    known = {state: set(ghosts) for state, ghosts in level.items()}
    while level:
        following: dict[State, set[int]] = {}
        for done, (state, ghosts) in enumerate(level.items()):
            if not done % EVERY:
                found.stopped = clock(f"{found.states:,} states, {found.nodes:,} with their computations")
                if found.stopped:
                    return
            moves = system.moves(state)
            if system.may_end(moves):
                found.ended |= ghosts
            for step, target in moves:
                after = ghosts
                if step.codes:
                    after = set(map(step.codes[0][2].__getitem__, ghosts))
                    if NO_COMPUTATION in after:
                        found.misdelivers = True
                        after.remove(NO_COMPUTATION)
                before = known.get(target)
                if before is None:
                    before = known[target] = set()
                    found.states += 1
                new = after - before
                if new:
                    before |= new
                    following.setdefault(target, set()).update(new)
                    found.nodes += len(new)
        level = following


# -- the comparison ----------------------------------------------------------------------------------------------------


@dataclass
class Comparison:
    """What was generated beside one order. The counts are of computations with exactly as many messages as the bound.

    `missing`: the smallest computation of the order that is never generated; `extra`: the smallest generated one
    outside the order. Smallest by messages, and then the first in `spec.enumeration`. None: there is none.
    """

    order: str
    computations: int = 0
    generated: int = 0
    missing: Computation | None = None
    extra: Computation | None = None


@dataclass
class Realization:
    """The answer. `computations` counts what is generated with exactly as many messages as the bound.

    `broken_by`: the smallest generated computation that breaks the promise. `impossible`: how many circles of messages
    are generated, each received before it is sent; they are no computations, and outside every order. `stopped`: why
    the answer is not complete, or None if it is; what is `extra` is certain also then.
    """

    check: Check
    machine: ProtocolMachine
    workload: Workload
    found: Search
    orders: dict[str, Comparison]
    computations: int = 0
    impossible: int = 0
    broken_by: Computation | None = None
    seconds: float = 0.0

    @property
    def processes(self) -> int:
        return len(self.workload.processes)

    @property
    def messages(self) -> int:
        return self.workload.messages

    @property
    def channel(self) -> str:
        """The channel over which it was asked: the one the protocol needs, unless told otherwise."""
        return self.check.channel or self.machine.needs_channel

    @property
    def promises(self) -> str:
        return self.machine.promises

    @property
    def stopped(self) -> str | None:
        return self.found.stopped

    @property
    def contained_in(self) -> list[str]:
        """The orders that everything generated keeps."""
        return [] if self.stopped else [name for name, one in self.orders.items() if one.extra is None]

    @property
    def contains(self) -> list[str]:
        """The orders of which every computation is generated."""
        return [] if self.stopped else [name for name, one in self.orders.items() if one.missing is None]

    @property
    def equal_orders(self) -> list[str]:
        """The orders that cannot be told from what is generated within the bound, the one that names it first: the
        promised one if it is among them, else the strongest.
        """
        equal = [name for name in self.contained_in if name in self.contains]
        first = self.promises if self.promises in equal else next(iter(self.strongest(equal)), None)
        return sorted(equal, key=lambda name: name != first)

    @property
    def equals(self) -> str | None:
        return next(iter(self.equal_orders), None)

    @property
    def shown_missing(self) -> str | None:
        """The order whose smallest missing computation tells most: the promised one, else the strongest around it."""
        wanted = (self.promises, *self.strongest(self.contained_in))
        return next((name for name in wanted if self.orders[name].missing is not None), None)

    def strongest(self, orders: Iterable[str]) -> list[str]:
        """Of these orders those not implied by another, among unicasts or multicasts as the case may be."""
        return strongest(orders, max(self.enumerated(1), key=lambda c: len(c.messages[0].receivers)))

    def enumerated(self, messages: int) -> Iterator[Computation]:
        """Every computation of so many messages that the workload allows."""
        sends = sends_of(self.check, type(self.machine))
        return computations(self.processes, messages, self_sends=self.check.self_sends, sends=sends)

    @property
    def scope(self) -> str:
        """In words, how far the answer reaches."""
        to = {"unicast": "any other", "multicast": "any set of others", "broadcast": "all others"}
        sends = f"any process to {to[sends_of(self.check, type(self.machine))]}"
        bound = f"{self.processes} processes, up to {self.messages} message{'s' * (self.messages != 1)}"
        parts = [f"{bound}, {sends}{', itself included' * self.check.self_sends}"]
        parts.append(f"{self.channel} channel: {channel_named(self.channel).meaning}")
        for key, value in self.machine.settings.items():
            parts.append(f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
        if self.machine.ordered_at is not None:
            names = ", ".join(self.workload.processes[i] for i in sorted(self.machine.ordered_at))
            parts.append(f"{self.promises} order is promised of deliveries at {names} alone")
        how = f"search ended early: {self.stopped}" if self.stopped else "every interleaving, complete computations"
        return "; ".join([*parts, how])

    def json(self) -> dict[str, Any]:
        return {
            "protocol": self.check.protocol,
            "processes": self.processes,
            "messages": self.messages,
            "channel": self.channel,
            "sends": sends_of(self.check, type(self.machine)),
            "self_sends": self.check.self_sends,
            "parameters": dict(self.machine.settings),
            "promises": self.promises,
            "decided": self.stopped is None,
            "computations": self.computations,
            "equals": self.equals,
            "equal_orders": self.equal_orders,
            "contained_in": self.contained_in,
            "contains": self.contains,
            "missing": {name: _json(one.missing, None) for name, one in self.orders.items()},
            "extra": {name: _json(one.extra, name) for name, one in self.orders.items()},
            "broken_by": _json(self.broken_by, self.promises),
            "orders": {
                name: {"computations": one.computations, "generated": one.generated}
                for name, one in self.orders.items()
            },
            "impossible": self.impossible,
            "misdelivers": self.found.misdelivers,
            "states": self.found.states,
            "nodes": self.found.nodes,
            "seconds": round(self.seconds, 3),
            "scope": self.scope,
        }


def _json(c: Computation | None, broken: str | None) -> dict[str, Any] | None:
    """A computation, and why it breaks that order."""
    if c is None:
        return None
    facts = {"messages": len(c.messages), "computation": lines_in_notation(c)}
    return facts if broken is None else {**facts, "because": because(c, broken)}


def lines_in_notation(c: Computation) -> list[str]:
    """One line a process."""
    return of_computation(c).print().splitlines()


def because(c: Computation, order: str) -> str:
    """Why a computation breaks an order, in a line."""
    if not possible(c):
        return "messages in a circle, each received before it is sent"
    witness = decide(c, order).witness
    return "" if witness is None else witness.headline(c)


def realize(
    check: Check, *, max_seconds: float | None = None, progress: Callable[[str], None] | None = None
) -> Realization:
    """Searches and compares, for the free workload without crashes; raises `BadInput` for what cannot be asked."""
    assert (check.program, check.crash) == (None, None), "programs and crashes are not for this question"
    clock = clock_of(max_seconds, progress)
    started = time.monotonic()
    kind = protocol_named(check.protocol)
    workload = workload_of(check, kind)
    n = len(workload.processes)
    machine = kind(n, parameters=settings_of(check, kind, n))
    found = generate(machine, workload, check.channel or kind.needs_channel, clock)
    answer = Realization(check, machine, workload, found, {name: Comparison(name) for name in ORDERS})
    try:
        _compare(answer, clock)
    except KeyboardInterrupt:
        found.stopped = "interrupted"
    answer.seconds = time.monotonic() - started
    return answer


def _compare(answer: Realization, clock: Clock) -> None:
    """Judges every computation, the smallest first."""
    for number, (c, generated) in enumerate(_candidates(answer)):
        if not number % EVERY and not answer.stopped:
            answer.found.stopped = clock(f"{number:,} computations compared")
            if answer.stopped:
                return
        in_full = len(c.messages) == answer.messages
        real = not generated or possible(c)
        kept = _kept(c) if real else frozenset[str]()
        answer.impossible += in_full and not real
        answer.computations += in_full and generated and real
        for name, one in answer.orders.items():
            if name in kept:
                one.computations += in_full
                one.generated += in_full and generated
                if not generated and one.missing is None:
                    one.missing = c
            elif generated and one.extra is None:
                one.extra = c
        if generated and answer.broken_by is None and not (real and _keeps_promise(c, kept, answer.machine)):
            answer.broken_by = c


def _candidates(answer: Realization) -> Iterator[tuple[Computation, bool]]:
    """Every computation of each number of messages, and whether it is generated; then what is generated and is none.

    After a search that ended early: what it generated, and no others.
    """
    for messages in range(1, answer.messages + 1):
        forms = {form for form in answer.found.forms if sum(e[0] == "send" for line in form for e in line) == messages}
        if not answer.stopped:
            for c in answer.enumerated(messages):
                form = form_of(tuple(tuple((kind, c.messages[m or 0]) for kind, m in line) for line in c.lines))
                assert form is not None, "the enumeration has complete computations only"
                yield c, form in forms
                forms.discard(form)
        for form in sorted(forms):
            yield computation_of(form), True


def _kept(c: Computation) -> frozenset[str]:
    """The orders that it keeps; each is decided only if all that contain it are kept."""
    unicasts = all(len(message.receivers) == 1 for message in c.messages)
    kept: frozenset[str] = frozenset()
    for order in ORDERS:
        if weaker(order, unicasts=unicasts) <= kept and decide(c, order).kept:
            kept |= {order}
    return kept


def _keeps_promise(c: Computation, kept: frozenset[str], machine: ProtocolMachine) -> bool:
    """Does it keep what is promised? If that is about some processes only: FIFO or causal order of deliveries there."""
    if machine.promises in kept:
        return True
    places = machine.ordered_at
    if places is None or machine.promises not in AT_ONE_RECEIVER:
        return False
    return not any(
        c.happened_before(c.send_event[a], c.send_event[b]) and received[q] < c.receive_events[a][q]
        for b, received in enumerate(c.receive_events)
        for a, first in enumerate(c.messages)
        if machine.promises == "causal" or first.sender == c.messages[b].sender
        for q in places & received.keys() & c.receive_events[a].keys()
    )
