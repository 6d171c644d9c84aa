"""Verdicts on a program under a protocol, by z3: all interleavings at once, where `model_check` enumerates them.

Each property is one query on the formula of `symbolic_run`: is there a run that violates it (or, for a `sometimes`
property, reaches it)? The properties, their names and meanings are those of `model_check.system.properties`, so a
verdict here must agree with that of ``crownless check PROTOCOL --program NAME``. Not decided here: the orders one-n
and n-n; local invariants; and, over FIFO channels, `holds-back`: when a packet can be refused depends on when the
packets ahead of it were put into the hold-back queue.

No run from z3 is reported unchecked: it is replayed on the explorer's own system, move by move, where the protocol runs
on ints, and the explorer's monitors must report the violation (`ReplayFailed` otherwise). Only the absence of violating
runs rests on z3 alone. Effort is bounded by z3's count of its steps; where it gives up the verdict is `unknown`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import z3

from crownless.impl.protocol_validation import machine_errors
from crownless.impl.workloads import Program
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.runs.stepwise import StepwiseRun
from crownless.model_check.search.explorer import live_properties_violated
from crownless.model_check.system.properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ONCE,
    DELIVERS_SOMETHING,
    HOLDS_BACK,
    NOTHING_DELIVERED,
    OF_DELIVERIES,
    Property,
)
from crownless.model_check.system.request import Check, ResolvedCheck
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.language.proof_request import EFFORT_OF_PROGRAM
from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import Answer, model_of
from crownless.proofs.proving import PROOFS
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import with_article
from crownless.spec.result import Result

from .program_properties import at_end, at_rest, crown, cycle_of_sends, delivers_again, overtakes, refuses
from .symbolic_entries import Condition, SymbolicEntries, all_hold, any_holds, negated
from .symbolic_run import Happening, SymbolicRun, protocols_on_terms, why_not_symbolic

#: The formula grows with the square of the number of messages, and z3's time much faster.
MAX_MESSAGES = 60

ORDERS = ("fifo", "causal", "mailbox", "synchronous")
CHANNELS = ("unordered", "fifo")

Outcome = Literal["holds", "violated", "unknown"]


class ReplayFailed(AssertionError):
    """The protocol does not do what z3's run says: the formula is wrong, or the explorer."""


@dataclass(frozen=True)
class PropertyFinding(Result):
    """z3's verdict on one property. `run` violates it, or, for a `sometimes` property, reaches it."""

    json_keys = "name=property.name kind=property.kind verdict run shortest gave_up note seconds"

    property: Property
    verdict: Outcome
    run: Run | None = None
    #: True if no run is shorter; False if z3 gave up looking for one.
    shortest: bool = False
    note: str = ""
    #: True if z3 gave up.
    gave_up: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class ProgramVerdict(Result):
    """z3's verdict on a program under a protocol."""

    json_keys = "protocol program channel verdict completes scope properties not_asked seconds"

    protocol: str
    program: str
    channel: str
    properties: tuple[PropertyFinding, ...]
    #: The properties that `crownless check` also decides for the protocol, but that are not decided here.
    not_asked: tuple[str, ...]
    scope: str
    seconds: float

    def found(self, name: str) -> PropertyFinding:
        """The finding on the property with that name."""
        return next(found for found in self.properties if found.property.name == name)

    @property
    def verdict(self) -> Outcome:
        """The verdict, as in `crownless check`."""
        if any(found.verdict == "violated" for found in self.properties):
            return "violated"
        if any(found.gave_up for found in self.properties) or self.found(DELIVERS_SOMETHING.name).verdict == "unknown":
            return "unknown"
        return "holds"

    @property
    def completes(self) -> str:
        """Whether the program completes: `always`, `sometimes`, `never`, or `unknown`."""
        always, can = self.found(COMPLETES.name), self.found(CAN_COMPLETE.name)
        if always.verdict != "violated":
            return "unknown" if always.gave_up else "always"
        return "unknown" if can.gave_up else "sometimes" if can.verdict == "holds" else "never"


def judge(
    check: Check,
    effort: int = EFFORT_OF_PROGRAM,
    attempts: int = 3,
    progress: Callable[[str], None] | None = None,
) -> ProgramVerdict:
    """The verdict on every property that can be put to z3; raises `BadInput` for an unsupported check.

    A violating run has the fewest sends and deliveries. `progress` is called with the name of each property before its
    query.
    """
    started = time.monotonic()
    resolved = _resolved(check)
    program = resolved.workload
    assert isinstance(program, Program)
    decided = resolved.properties
    found = []
    with machine_errors(type(resolved.machine)):
        queries = _Queries(_run(resolved, program), resolved, effort, attempts)
        for known in decided:
            if known.name in queries.formulas:
                if progress is not None:
                    progress(known.name)
                found.append(queries.decide(known))
    delivers = next(each for each in found if each.property.name == DELIVERS_SOMETHING.name)
    if delivers.verdict != "holds" and not delivers.gave_up:
        found = [_without_deliveries(each) for each in found]
    return ProgramVerdict(
        resolved.protocol,
        program.name,
        resolved.channel_name,
        tuple(found),
        tuple(known.name for known in decided if known.name not in queries.formulas),
        _scope(resolved, effort),
        time.monotonic() - started,
    )


def _without_deliveries(found: PropertyFinding) -> PropertyFinding:
    """What is known of the property where no message is ever delivered."""
    says_nothing = found.property.name in OF_DELIVERIES and found.verdict == "holds"
    return replace(found, verdict="unknown", note=NOTHING_DELIVERED) if says_nothing else found


# -- supported checks --------------------------------------------------------------------------------------------------


def _resolved(check: Check) -> ResolvedCheck:
    if check.program is None:
        raise BadInput("z3 checks only programs, not the free workload", hint="name one with --program")
    if check.crash is not None or check.clocks:
        raise BadInput(
            "only the explorer supports crashes and clocks", hint="leave out --crash and --clock, or use check"
        )
    resolved = check.resolve()
    assert isinstance(resolved.workload, Program)
    name = resolved.workload.name
    messages = len(resolved.workload.all_messages)
    if messages > MAX_MESSAGES:
        raise BadInput(
            f"program {name} has {messages} messages: the formula would be too large for z3",
            hint=f"give at most {MAX_MESSAGES}; or: crownless check {resolved.protocol} --program {name}",
        )
    if resolved.channel_name not in CHANNELS:
        problem = f"{with_article(resolved.channel_name)} channel is not supported by z3"
        raise BadInput(problem, hint=f"use {' or '.join(CHANNELS)}, or use check")
    for order in resolved.orders:
        if order not in ORDERS:
            raise BadInput(f"z3 cannot check {order} order here", hint=f"choose {', '.join(ORDERS)}, or use check")
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
        f"{check.protocol} cannot run on z3 terms: {why}",
        hint=f"{proved}crownless check explores it; supported: {', '.join(protocols_on_terms())}",
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


class _Queries:
    """Puts a program's properties to z3."""

    def __init__(self, run: SymbolicRun, check: ResolvedCheck, effort: int, attempts: int) -> None:
        self.run = run
        self.check = check
        self.effort = effort
        self.attempts = attempts
        #: Property → the formula for a run that violates it, or reaches it.
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
        if not sometimes:
            answer, is_shortest = self._shorter(formula, answer)
        replay = _Replay(self.run, self.check, known, answer.model)
        note = "; ".join(self.check.workload.describe(replay.position)) if known == COMPLETES else ""
        seconds = time.monotonic() - began
        shown = run_of(replay.system, replay.steps)
        return PropertyFinding(known, "holds" if sometimes else "violated", shown, is_shortest, note, seconds=seconds)

    def _shorter(self, formula: Condition, answer: Answer) -> tuple[Answer, bool]:
        """A run with the fewest events; and whether z3 showed that none has fewer."""
        events = list(self.run.happens.values())
        while length := len(self.run.happenings(answer.model)):
            shorter = self._solve([formula, z3.AtMost(*events, length - 1)])
            if shorter.model is None:
                return answer, not shorter.reason
            answer = shorter
        return answer, True

    def _solve(self, conditions: Sequence[Condition]) -> Answer:
        """A run that satisfies these formulas, if there is one."""
        wanted = all_hold(conditions)
        if wanted is False:
            return Answer()
        return model_of([*self.run.axioms, wanted], self.effort, self.attempts)


# -- replaying ---------------------------------------------------------------------------------------------------------


class _Replay(StepwiseRun):
    """The run of a model, replayed on the explorer's own system."""

    def __init__(self, run: SymbolicRun, check: ResolvedCheck, known: Property, model: Term) -> None:
        super().__init__(check.system())
        for happening in run.happenings(model):
            self._happen(run, happening)
        if known in (COMPLETES, CAN_COMPLETE):
            while self._put_away(lambda source, at: True):  # over a FIFO channel: all that is still on a link
                pass
        if not self._shows(known):
            raise ReplayFailed(f"{known.name}: z3's run does not show it")

    @property
    def position(self) -> Any:
        return self.system.position(self.state)

    def _happen(self, run: SymbolicRun, happening: Happening) -> None:
        """Makes the move; over a FIFO channel, after the packets ahead of it have been put into the hold-back queue."""
        p, c = happening.slot.process, happening.taken
        message = run.lines[p][happening.slot.place] if c is None else c.message
        while True:
            for step, target in self.system.moves(self.state):
                action = step.action
                if (action.process, action.name, action.message) != (p, "send" if c is None else "deliver", message):
                    continue
                if c is None or (action.packet is not None and action.packet.source == c.source):
                    self.take(step, target)
                    return
            if c is None or not self._put_away(lambda source, at: (source, at) == (c.source, p)):
                raise ReplayFailed(f"{happening}: the protocol cannot follow z3's run")

    def _put_away(self, of_link: Callable[[int, int], bool]) -> bool:
        """Puts a packet of such a link, between these processes, into the hold-back queue; False if none can be."""
        for step, target in self.system.moves(self.state):
            packet = step.action.packet
            if step.action.name == "receive" and packet is not None and of_link(packet.source, packet.destination):
                self.take(step, target)
                return True
        return False

    def _shows(self, known: Property) -> bool:
        moves = self.system.moves(self.state)
        if known == COMPLETES:
            return not moves and known.name in live_properties_violated(
                self.system, self.state, self.monitor_state, moves
            )
        if known == CAN_COMPLETE:
            return not moves and self.system.finished(self.state)
        if known == DELIVERS_SOMETHING:
            return any(step.delivered for step in self.steps)
        if known == HOLDS_BACK:
            return bool(self.system.refused(self.state))
        return known.name in self.violated
