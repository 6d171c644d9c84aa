"""Every complete computation that a protocol generates, over every interleaving within a bound.

Complete: everything sent is delivered to every receiver, and every delivered message was sent. A message handed to the
protocol and not yet sent is not part of the computation. One search with the bound M serves every number of messages
up to M, as each prefix of a run is a run.

The monitor state of a run is its whole computation, identified by a number. A state is expanded once for all monitor
states that reach it together, and the effect of an event on a monitor state is looked up in a table, so that the
search costs little more than one without monitor states.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from crownless.impl.channels import Channel
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Workload
from crownless.model_check.system.monitors import UNDOES, Lines, Monitor, Observation, lines_after
from crownless.model_check.system.system import State, System
from crownless.runtime.ending import Limits, look, stoppable
from crownless.runtime.errors import BadInput
from crownless.runtime.memory import collector_off
from crownless.spec.computation import Computation, Event, Message, process_names
from crownless.spec.enumeration import trusted

#: A complete computation up to message names: the same as `Lines`, but a message is identified by its sender and by
#: the number of messages its sender sent before it.
Form = tuple[tuple[tuple[str, int, int], ...], ...]

#: The monitor state of runs that are not computations: a message was delivered twice, or to a wrong process.
NO_COMPUTATION = 0
#: The number of states, or computations, between two checks whether to end.
EVERY = 512
#: After a search that ended early, at most this many of its monitor states are still examined.
LOOKED_AT_AFTERWARDS = 10_000


class Memory(Monitor):
    """Remembers the whole computation and evaluates nothing. Monitor states are numbers; `lines` gives the computation.

    The code of a step's events is a table from monitor states to monitor states, filled on demand.
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

    def observe(self, monitor_state: int, code: "After") -> tuple[int, tuple[str, ...]]:
        return code[monitor_state], ()

    @property
    def takes_back(self) -> bool:
        """True if anything has been undone."""
        return any(event.kind in UNDOES for events in self._tables for event in events)


class After(dict[int, int]):
    """The monitor state after these events, for each monitor state before."""

    def __init__(self, memory: Memory, events: tuple[Observation, ...]) -> None:
        self.memory = memory
        self.events = events

    def __missing__(self, monitor_state: int) -> int:
        lines = self.memory.lines[monitor_state]
        for event in self.events:
            misdelivered = event.kind == "deliver" and event.process not in event.message.receivers
            lines = None if lines is None or misdelivered else lines_after(lines, event)
        self[monitor_state] = NO_COMPUTATION if lines is None else self.memory.number(lines)
        return self[monitor_state]


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
    """The computation, its messages called m1, m2, … by sender; not validated, as it may be invalid: see `possible`."""
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
    """True if no messages form a cycle, each received before it is sent; a protocol that delivers early can do that."""
    try:
        Computation(c.processes, c.messages, c.lines)
    except BadInput:
        return False
    return True


# -- the search --------------------------------------------------------------------------------------------------------


@dataclass
class Search:
    """The findings of a search. `stopped`: why it is not complete, or None if it is.

    `states` counts global states, `nodes` counts them with their computations. `misdelivers`: some run delivers a
    message twice, or to a wrong process; it was not followed from there. `ended`: monitor states with which a run may
    end.
    """

    states: int = 1
    nodes: int = 1
    misdelivers: bool = False
    stopped: str | None = None
    ended: set[int] = field(default_factory=set)
    forms: frozenset[Form] = frozenset()

    def __repr__(self) -> str:
        return f"<{self.states:,} states, {len(self.forms):,} forms of computations>"


def generate(
    machine: ProtocolMachine,
    workload: Workload,
    channel: type[Channel],
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> Search:
    """Every complete computation of every run. Ctrl-C or a limit also ends it, with the findings so far."""
    memory = Memory(machine.n)
    found = Search()
    with stoppable(limits) as part, collector_off():
        _search(System(machine, workload, channel, [memory]), found, progress)
    found.stopped = part.reason
    # Events may be undone later: for protocols that undo, only computations at possible ends of runs count.
    monitor_states: Iterable[int] = found.ended if memory.takes_back else range(len(memory.lines))
    lines = (memory.lines[each] for each in islice(monitor_states, LOOKED_AT_AFTERWARDS if found.stopped else None))
    found.forms = frozenset(form for each in lines if each is not None and (form := form_of(each)) is not None)
    return found


def _search(system: System, found: Search, progress: Callable[[str], None] | None) -> None:
    """Searches level by level. If new computations reach an old state, it is expanded again for these alone."""
    level: dict[State, set[int]] = {system.initial(): set(system.initial_monitor_state())}
    known = {state: set(monitor_states) for state, monitor_states in level.items()}
    while level:
        following: dict[State, set[int]] = {}
        for done, (state, monitor_states) in enumerate(level.items()):
            if not done % EVERY:
                look()
                if progress is not None:
                    progress(f"{found.states:,} states, {found.nodes:,} with their computations")
            moves = system.moves(state)
            if system.may_end(moves):
                found.ended |= monitor_states
            for step, target in moves:
                after = monitor_states
                if step.codes:
                    after = set(map(step.codes[0][2].__getitem__, monitor_states))
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
