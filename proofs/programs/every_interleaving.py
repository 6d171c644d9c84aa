"""Verdicts on a program under a protocol, by z3: all interleavings at once, where `model_check` enumerates them.

Each property is one query on the formula of `symbolic_run`: is there a run that breaks it (or, of a `sometimes`
property, reaches it)? The properties, their names and what they mean are those of `model_check.properties`, so that a
verdict here is to agree with that of ``crownless check PROTOCOL --program NAME``. Not decided here are the orders one-n
and n-n; local invariants that reckon with values, and do not just compare them; and, over FIFO channels, `holds-back`:
when a packet can be refused depends on when those ahead of it were put into the hold-back queue.

No run from z3 is reported unchecked: it is replayed on the explorer's own system, move by move, where the protocol runs
on ints, and its monitors must say that the property breaks (`ReplayFailed` otherwise). That no run does is z3's word
alone. Effort is bounded by z3's count of its steps; where it gives up the verdict is `unknown`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, permutations
from typing import Any, Literal, NamedTuple

import z3

from crownless.impl.protocol_validation import machine_errors
from crownless.impl.workloads import Program
from crownless.model_check.check.request import Check, ResolvedCheck
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.search.explorer import live_properties_broken
from crownless.model_check.system.properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ONCE,
    DELIVERS_SOMETHING,
    HOLDS_BACK,
    Property,
)
from crownless.model_check.system.system import LocalStep, State
from crownless.proofs.induction.proving import PROOFS
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import ask, reason_for_giving_up
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

from .symbolic_entries import Condition, SymbolicEntries, all_hold, any_holds, condition_for, implied, negated
from .symbolic_run import Happening, Slot, SymbolicRun, protocols_on_terms, why_not_symbolic

#: z3 steps allowed to one query, by default.
EFFORT = 100_000_000
#: The formula grows with the square of the messages, and what z3 takes much faster.
MOST_MESSAGES = 60

ORDERS = ("fifo", "causal", "mailbox", "synchronous")
CHANNELS = ("unordered", "fifo")

Outcome = Literal["holds", "violated", "unknown"]


class ReplayFailed(AssertionError):
    """The protocol does not do what z3 says it does: the formula is wrong, or the explorer."""


@dataclass(frozen=True)
class PropertyFinding:
    """z3's verdict on one property. `run` violates it, or, for a `sometimes` property, reaches it."""

    property: Property
    verdict: Outcome
    run: Run | None = None
    #: True if no run is shorter; False if z3 gave up looking for one, or was not to look.
    shortest: bool = False
    note: str = ""
    #: True if z3 gave up.
    gave_up: bool = False
    seconds: float = 0.0

    def json(self) -> dict[str, Any]:
        return {
            "name": self.property.name,
            "kind": self.property.kind,
            "verdict": self.verdict,
            "run": None if self.run is None else self.run.json(),
            "shortest": self.shortest,
            "gave_up": self.gave_up,
            "note": self.note,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class ProgramVerdict:
    """z3's verdict on a program under a protocol."""

    protocol: str
    program: str
    channel: str
    properties: tuple[PropertyFinding, ...]
    #: What `crownless check` also decides of the protocol, and what is not decided here.
    not_asked: tuple[str, ...]
    scope: str
    seconds: float

    def found(self, name: str) -> PropertyFinding:
        """The finding on the property of that name."""
        return next(found for found in self.properties if found.property.name == name)

    @property
    def verdict(self) -> Outcome:
        """As of `crownless check`."""
        if any(found.verdict == "violated" for found in self.properties):
            return "violated"
        if any(found.gave_up for found in self.properties) or self.found(DELIVERS_SOMETHING.name).verdict == "unknown":
            return "unknown"
        return "holds"

    @property
    def completes(self) -> str:
        """Whether the program comes to its end: `always`, `sometimes`, `never`, or `unknown`."""
        always, can = self.found(COMPLETES.name), self.found(CAN_COMPLETE.name)
        if always.verdict != "violated":
            return "unknown" if always.gave_up else "always"
        return "unknown" if can.gave_up else "sometimes" if can.verdict == "holds" else "never"

    def json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            "program": self.program,
            "channel": self.channel,
            "verdict": self.verdict,
            "completes": self.completes,
            "scope": self.scope,
            "properties": [found.json() for found in self.properties],
            "not_asked": list(self.not_asked),
            "seconds": round(self.seconds, 3),
        }


def judge(
    check: Check,
    effort: int = EFFORT,
    attempts: int = 3,
    progress: Callable[[Property], None] | None = None,
    *,
    shortest: bool = True,
) -> ProgramVerdict:
    """The verdict on every property that can be put to z3; raises `BadInput` for a check that cannot be.

    `shortest`: find a violating run with the fewest sends and deliveries. `progress` is called with each
    property before it is put to z3.
    """
    started = time.monotonic()
    resolved = _resolved(check)
    program = resolved.workload
    assert isinstance(program, Program)
    decided = resolved.properties()
    found = []
    with machine_errors(type(resolved.machine)):
        queries = _Queries(_run(resolved, program), resolved, effort, attempts, shortest)
        for known in decided:
            if known.name in queries.formulas:
                if progress is not None:
                    progress(known)
                found.append(queries.decide(known))
    return ProgramVerdict(
        resolved.protocol,
        program.name,
        resolved.channel_name,
        tuple(found),
        tuple(known.name for known in decided if known.name not in queries.formulas),
        _scope(resolved, effort),
        time.monotonic() - started,
    )


# -- which checks are possible -----------------------------------------------------------------------------------------


def _resolved(check: Check) -> ResolvedCheck:
    if check.program is None:
        raise BadInput("only a program can be put to z3: the free workload has none", hint="name one with --program")
    if check.crash is not None or check.clocks:
        raise BadInput("crashes and clocks are the explorer's", hint="leave out --crash and --clock, or use check")
    resolved = check.resolve()
    assert isinstance(resolved.workload, Program)
    name = resolved.workload.name
    messages = len(resolved.workload.all_messages)
    if messages > MOST_MESSAGES:
        raise BadInput(
            f"program {name} has {messages} messages: the formula would be too large for z3",
            hint=f"give at most {MOST_MESSAGES}; or: crownless check {resolved.protocol} --program {name}",
        )
    if resolved.channel_name not in CHANNELS:
        raise BadInput(
            f"a {resolved.channel_name} channel cannot be put to z3", hint=f"use {' or '.join(CHANNELS)}, or use check"
        )
    for order in resolved.orders:
        if order not in ORDERS:
            raise BadInput(f"{order} order cannot be put to z3", hint=f"ask for {', '.join(ORDERS)}, or use check")
    return resolved


def _run(check: ResolvedCheck, program: Program) -> SymbolicRun:
    machine = check.machine
    n, kind = machine.n, type(machine)
    why = why_not_symbolic(kind, n, machine.settings)
    if why is None:
        try:
            return SymbolicRun(
                kind(n, SymbolicEntries(n), machine.settings), program, fifo=check.channel_name == "fifo"
            )
        except TypeError as error:
            why = str(error)
    of_queues = isinstance(PROOFS.get(check.protocol), QueueProof)
    proved = f"its proof is of an abstraction: crownless prove {check.protocol}; " if of_queues else ""
    raise BadInput(
        f"{check.protocol} cannot be run on z3's terms: {why}",
        hint=f"{proved}crownless check explores it; those that can: {', '.join(protocols_on_terms())}",
    )


def _scope(check: ResolvedCheck, effort: int) -> str:
    parts = [
        check.workload.scope,
        f"{check.channel_name} channel: {check.channel.meaning}",
    ]
    if check.machine.ordered_at is not None:
        names = ", ".join(check.workload.processes[i] for i in sorted(check.machine.ordered_at))
        parts.append(f"orders judged at {names} alone")
    return "; ".join([*parts, "every interleaving, as one formula", f"up to {effort:,} steps of z3 a query"])


# -- queries -----------------------------------------------------------------------------------------------------------


class _Answer(NamedTuple):
    """z3's answer: a model, none, or why it gave up."""

    model: Term = None
    reason: str = ""


class _Queries:
    """Puts a program's properties to z3."""

    def __init__(self, run: SymbolicRun, check: ResolvedCheck, effort: int, attempts: int, shortest: bool) -> None:
        self.run = run
        self.check = check
        self.effort = effort
        self.attempts = attempts
        self.shortest = shortest
        #: Property → what is true of a run that breaks it, or reaches it.
        self.formulas: dict[str, Callable[[], Condition]] = {
            "fifo": lambda: overtakes(run, check.machine.ordered_at, same_sender=True),
            "causal": lambda: overtakes(run, check.machine.ordered_at),
            "mailbox": lambda: cycle_of_sends(run),
            "synchronous": lambda: crown(run),
            DELIVERS_ONCE.name: lambda: delivers_again(run),
            COMPLETES.name: lambda: all_hold((at_rest(run), negated(at_end(run)))),
            CAN_COMPLETE.name: lambda: at_end(run),
            DELIVERS_SOMETHING.name: lambda: any_holds(run.happens[slot] for slot in run.takes),
        }
        for name, predicate in check.machine.invariants.items():
            try:
                broken = breaks_invariant(run, predicate)
            except TypeError:
                continue
            self.formulas[name] = partial(_known, broken)
        if not run.fifo:
            self.formulas[HOLDS_BACK.name] = lambda: refuses(run)

    def decide(self, known: Property) -> PropertyFinding:
        began = time.monotonic()
        sometimes = known.kind == "sometimes"
        formula = self.formulas[known.name]()
        answer = self._solve([formula])
        seconds = time.monotonic() - began
        if answer.reason:
            note = f"z3 gave up: {answer.reason}"
            return PropertyFinding(known, "unknown", note=note, gave_up=True, seconds=seconds)
        if answer.model is None:
            note = "no run reaches it" if sometimes else ""
            return PropertyFinding(known, "unknown" if sometimes else "holds", note=note, seconds=seconds)
        is_shortest = False
        if self.shortest and not sometimes:
            answer, is_shortest = self._shorter(formula, answer)
        replay = _Replay(self.run, self.check, known, answer.model)
        note = "; ".join(self.check.workload.describe(replay.position)) if known == COMPLETES else ""
        seconds = time.monotonic() - began
        shown = run_of(replay.system, replay.steps, keep_names=True)
        return PropertyFinding(known, "holds" if sometimes else "violated", shown, is_shortest, note, seconds=seconds)

    def _shorter(self, formula: Condition, answer: _Answer) -> tuple[_Answer, bool]:
        """A run with the fewest events; and whether z3 showed that it is one."""
        events = list(self.run.happens.values())
        while length := len(self.run.happenings(answer.model)):
            shorter = self._solve([formula, z3.AtMost(*events, length - 1)])
            if shorter.model is None:
                return answer, not shorter.reason
            answer = shorter
        return answer, True

    def _solve(self, conditions: Sequence[Condition]) -> _Answer:
        """A run of which these hold, if there is one. Each attempt is made with another seed."""
        wanted = all_hold(conditions)
        if wanted is False:
            return _Answer()
        reason = ""
        for seed in range(self.attempts):
            solver = z3.Solver()
            solver.set(rlimit=self.effort, random_seed=seed)
            solver.add(*self.run.axioms, wanted)
            answer = ask(solver)
            if answer != z3.unknown:
                return _Answer(solver.model() if answer == z3.sat else None)
            reason = reason_for_giving_up(solver.reason_unknown()) or "no reason given"
        return _Answer(reason=reason)


def _known(condition: Condition) -> Condition:
    return condition


# -- properties --------------------------------------------------------------------------------------------------------


def at_end(run: SymbolicRun) -> Condition:
    """Every process is at the end of its program."""
    return all_hold(run.happens.values())


def at_rest(run: SymbolicRun) -> Condition:
    """Nothing more can happen: no process stands at a send, or at a receive for which something may be received."""
    conditions = []
    for slot in run.slots:
        stands = run.stands(*slot)
        more = (
            True
            if run.sends(slot)
            else any_holds(
                all_hold((run.sent(c), negated(run.taken(c)), run.may_arrive(c, slot.place))) for c in run.takes[slot]
            )
        )
        conditions.append(implied(negated(more), by=stands))
    return all_hold(conditions)


def refuses(run: SymbolicRun) -> Condition:
    """A packet is there and not deliverable yet."""
    return any_holds(
        all_hold((run.stands(c.destination, k), run.sent(c), negated(run.taken(c)), negated(run.deliverable(c, k))))
        for c in run.copies
        for k in range(len(run.lines[c.destination]) + 1)
    )


def delivers_again(run: SymbolicRun) -> Condition:
    """A delivery that is not owed: to no receiver of the message, or the second one."""
    return any_holds(
        takes if slot.process not in c.message.receivers else all_hold((takes, run.delivered(c.message, *slot)))
        for slot, some in run.takes.items()
        for c, takes in some.items()
    )


def breaks_invariant(run: SymbolicRun, predicate: Callable[[Any, int, Any], bool]) -> Condition:
    """A process is left in a local state of which the predicate does not hold."""
    return any_holds(
        all_hold((run.stands(p, k), negated(condition_for(lambda state, p=p: predicate(run.machine, p, state), state))))  # type: ignore[misc]
        for p, states in enumerate(run.states)
        for k, state in enumerate(states)
    )


def overtakes(run: SymbolicRun, at: frozenset[int] | None, *, same_sender: bool = False) -> Condition:
    """A delivery breaks causal order (FIFO: with a message of the same sender), at one of these processes or any: a
    message to the same process, sent causally before, is not delivered yet.
    """
    overtakings = []
    for slot, some in run.takes.items():
        q = slot.process
        if at is not None and q not in at:
            continue
        for c, takes in some.items():
            if q not in c.message.receivers:
                continue
            earlier = any_holds(
                all_hold((run.carried[c].past[run.number[x]], negated(run.delivered(x, q, slot.place))))
                for x in run.program.all_messages
                if x != c.message and q in x.receivers and (x.sender == c.message.sender or not same_sender)
            )
            overtakings.append(all_hold((takes, negated(run.delivered(c.message, *slot)), earlier)))
    return any_holds(overtakings)


def crown(run: SymbolicRun) -> Condition:
    """No completion is synchronous: messages drawn as points form a cycle, each before the next on some line.

    What is sent and not delivered will come after all that is on its receiver's line.
    """

    def comes_before(x: Message, y: Message) -> Condition:
        ways = []
        for p, line in enumerate(run.lines):
            length = len(line)
            for a, b in combinations(range(length), 2):
                ways.append(all_hold((_has_event(run, x, Slot(p, a)), _has_event(run, y, Slot(p, b)))))
            if p in y.receivers:
                there = any_holds(_has_event(run, x, Slot(p, a)) for a in range(length))
                to_come = all_hold((run.happens[run.sent_in[y]], negated(run.delivered(y, p))))
                ways.append(all_hold((there, to_come)))
        return any_holds(ways)

    return _cycle({(x, y): comes_before(x, y) for x, y in permutations(run.program.all_messages, 2)})


def cycle_of_sends(run: SymbolicRun) -> Condition:
    """No linearization has one queue per receiver: events form a cycle, where sends to one process also come in the
    order in which it receives, those it has not received last.
    """
    before: dict[tuple[Slot, Slot], list[Condition]] = {}

    def comes_before(a: Slot, b: Slot, condition: Condition) -> None:
        before.setdefault((a, b), []).append(all_hold((run.happens[a], run.happens[b], condition)))

    for a, b in pairwise(run.slots):
        if a.process == b.process:
            comes_before(a, b, True)
    for slot, some in run.takes.items():
        for c, takes in some.items():
            comes_before(c.sent_in, slot, takes)
    for x, y in permutations(run.program.all_messages, 2):
        for q in set(x.receivers) & set(y.receivers):
            places = range(len(run.lines[q]))
            received_so = [
                all_hold((_receives(run, x, Slot(q, a)), _receives(run, y, Slot(q, b))))
                for a, b in combinations(places, 2)
            ]
            never = all_hold((run.delivered(x, q), negated(run.delivered(y, q))))
            comes_before(run.sent_in[x], run.sent_in[y], any_holds([*received_so, never]))
    return _cycle({pair: any_holds(conditions) for pair, conditions in before.items()})


def _receives(run: SymbolicRun, message: Message, slot: Slot) -> Condition:
    if slot.process not in message.receivers:
        return False
    return any_holds(takes for c, takes in run.takes.get(slot, {}).items() if c.message == message)


def _has_event(run: SymbolicRun, message: Message, slot: Slot) -> Condition:
    return run.happens[slot] if run.sent_in[message] == slot else _receives(run, message, slot)


def _cycle(before: dict[tuple[Any, Any], Condition]) -> Condition:
    """True if there is a cycle: if some of the things have, each, another of them before it."""
    inside = {thing: z3.FreshBool("inside") for pair in before for thing in pair}
    to: dict[Any, list[Condition]] = {thing: [] for thing in inside}
    for (x, y), condition in before.items():
        to[y].append(all_hold((inside[x], condition)))
    return all_hold(
        [any_holds(inside.values()), *(implied(any_holds(to[thing]), by=there) for thing, there in inside.items())]
    )


# -- replaying ---------------------------------------------------------------------------------------------------------


class _Replay:
    """The run that a model stands for, made on the explorer's own system."""

    def __init__(self, run: SymbolicRun, check: ResolvedCheck, known: Property, model: Term) -> None:
        self.system = check.system()
        self.state: State = self.system.initial()
        self.monitor_state = self.system.initial_monitor_state()
        self.steps: list[LocalStep] = []
        self.broken: set[str] = set()
        self.invariants = check.machine.invariants
        happenings = run.happenings(model)
        for happening in happenings:
            self._happen(run, happening)
        if known in (COMPLETES, CAN_COMPLETE):
            self._come_to_rest()
        counts = [sum(happening.slot.process == p for happening in happenings) for p in range(run.n)]
        expected = [run.state_in(model, p, count) for p, count in enumerate(counts)]
        if self.system.local_states(self.state) != expected:
            raise ReplayFailed(f"{known.name}: the local states are not those of z3's run")
        if not self._shows(known):
            raise ReplayFailed(f"{known.name}: z3's run does not show it")

    @property
    def position(self) -> Any:
        return self.system.position(self.state)

    def _happen(self, run: SymbolicRun, happening: Happening) -> None:
        """Makes the move; over a FIFO channel, once the packets ahead of it are in the hold-back queue."""
        p, c = happening.slot.process, happening.taken
        message = run.lines[p][happening.slot.place] if c is None else c.message
        while True:
            for step, target in self.system.moves(self.state):
                action = step.action
                if (action.process, action.name, action.message) != (p, "send" if c is None else "deliver", message):
                    continue
                if c is None or (action.packet is not None and action.packet.source == c.source):
                    self._take(step, target)
                    return
            if c is None or not self._put_away(lambda source, at: (source, at) == (c.source, p)):
                raise ReplayFailed(f"{happening}: z3's run goes on with what the protocol does not do")

    def _come_to_rest(self) -> None:
        """Over a FIFO channel: what is still on a link goes to the hold-back queue."""
        while self._put_away(lambda source, at: True):
            pass

    def _put_away(self, of_link: Callable[[int, int], bool]) -> bool:
        """Puts a packet of such a link, from and to these processes, into the hold-back queue; false if none can be."""
        for step, target in self.system.moves(self.state):
            packet = step.action.packet
            if step.action.name == "receive" and packet is not None and of_link(packet.source, packet.destination):
                self._take(step, target)
                return True
        return False

    def _take(self, step: LocalStep, target: State) -> None:
        self.monitor_state, broken = self.system.evaluate(self.monitor_state, step)
        self.broken.update(broken)
        self.state = target
        self.steps.append(step)

    def _shows(self, known: Property) -> bool:
        moves = self.system.moves(self.state)
        if known == COMPLETES:
            return not moves and known.name in live_properties_broken(
                self.system, self.state, self.monitor_state, moves
            )
        if known == CAN_COMPLETE:
            return not moves and self.system.finished(self.state)
        if known == DELIVERS_SOMETHING:
            return any(step.delivered for step in self.steps)
        if known == HOLDS_BACK:
            return bool(self.system.refused(self.state))
        if known.name in self.invariants:
            states = enumerate(self.system.local_states(self.state))
            return any(not self.invariants[known.name](self.system.machine, p, state) for p, state in states)
        return known.name in self.broken
