"""Automatic discovery of the invariants by which a protocol realizes causal order, for every n.

No hint is given how the protocol works. Candidates are built from its variables and the history variables of a run
(`templates`). Simulated runs refute some of them (`candidates`); those that some step need not keep are dropped too
(`houdini`). The rest is inductive. If it implies that a message is accepted only after all messages sent before it to
its receiver are delivered, the protocol is safe, and the few invariants needed for this are reported; likewise for
the other two properties of `causal_order`.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import z3

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import protocol_named
from crownless.proofs.induction.any_run import ASSUMED, AnyRun
from crownless.proofs.induction.causal_order import CausalOrder, parts_of
from crownless.proofs.induction.proved_properties import SHOWN, WAITS, assumptions_used, in_words
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.theorem import Outcome, theorem
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.language.terms import Term
from crownless.proofs.proving import PROOFS
from crownless.runtime.ending import look
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import listed
from crownless.spec.result import Result

from .candidates import Candidates
from .houdini import CounterexampleQuery, Entries, Induction, Kept, Placed, always, kept
from .numeric_states import simulated
from .rendering import ClauseRenderer
from .templates import Clause, Context, OnTerms, Vocabulary

Progress = Callable[[str], None]

SEED = 1
#: Simulated runs: numbers of processes, messages and runs; every state of each run, or every third.
RUNS = ((2, 6, 10, 1), (3, 6, 20, 1), (4, 6, 10, 1), (3, 12, 20, 3), (4, 12, 20, 3), (5, 12, 20, 3), (4, 16, 10, 3))


@dataclass(frozen=True)
class Discovered(Result):
    """The invariants found of a protocol."""

    json_keys = """
        protocol candidates survived inductive runs situations overtakes independent given_up safe waits_only_for_causes
        live needed needed_for_waiting confirmed processes messages assumptions=assumed seconds
        """
    processes = messages = "any number"

    protocol: str
    #: Numbers of sentences of the grammar; of those that no simulated run refutes; of those that every step keeps.
    candidates: int
    survived: int
    inductive: int
    #: Numbers of simulated runs and of their states.
    runs: int
    situations: int
    #: True if a simulated run violates causal order. The search then ends, unless `anyway`.
    overtakes: bool
    #: The number of invariants that imply all inductive ones.
    independent: int
    #: The number dropped because z3 gave up.
    given_up: int
    safe: Outcome
    waits_only_for_causes: Outcome
    live: Outcome
    #: A minimal set of invariants that implies safety; and the additional ones needed so that messages
    #: wait only for causes.
    needed: tuple[str, ...]
    needed_for_waiting: tuple[str, ...]
    #: True if z3 also proves them for all processes and messages at once.
    confirmed: bool
    seconds: float

    @property
    def verdict(self) -> str:
        """As in a check."""
        return {"proved": "holds", "refuted": "violated"}.get(self.safe, "unknown")

    @property
    def proved(self) -> list[str]:
        """The properties that follow."""
        return [name for name in SHOWN if getattr(self, name) == "proved"]

    @property
    def assumed(self) -> list[str]:
        """The assumptions about the environment that they use."""
        return assumptions_used(ASSUMED, self.proved)

    def lines(self) -> list[str]:
        """The printed lines."""
        tried = f"{self.survived:,} survive {self.situations:,} states of {self.runs} simulated runs"
        lines = [self.summary]
        if self.safe != "refuted":
            lines.append(
                f"of the candidates {tried}, and z3 shows {self.inductive:,} to be inductive; all follow from "
                f"{self.independent}"
            )
        if self.needed:
            again = "; z3 confirms it without instantiation" if self.confirmed else ""
            lines += [f"safe, by these invariants, all of them needed{again}:", *(f"- {line}" for line in self.needed)]
        if self.needed_for_waiting:
            lines += [
                f"{in_words(WAITS)}, by these additional ones:",
                *(f"- {line}" for line in self.needed_for_waiting),
            ]
        if self.safe == "proved" and self.waits_only_for_causes != "proved":
            lines.append("that messages wait only for causes, and so liveness, does not follow")
        return lines

    @property
    def summary(self) -> str:
        """A one-line summary of the result."""
        if self.safe == "refuted":
            return f"{self.protocol}: a simulated run violates causal order"
        found = f"{self.protocol}: {self.inductive:,} of {self.candidates:,} candidates are inductive"
        if self.safe == "unknown":
            return f"{found}; safety does not follow from them"
        return f"{found}; these follow: {listed([in_words(name) for name in self.proved])}"


def discover(
    protocol: str | type[ProtocolMachine],
    effort: int = EFFORT,
    progress: Progress | None = None,
    *,
    anyway: bool = False,
) -> Discovered:
    """Look for invariants; `effort`: z3 steps per query. `anyway`: also if a simulated run violates causal order.
    Raises `BadInput` if the protocol's steps cannot be put to z3.
    """
    machine = protocol_named(protocol) if isinstance(protocol, str) else protocol
    name = protocol if isinstance(protocol, str) else machine.__name__
    if isinstance(PROOFS.get(name), QueueProof):
        raise BadInput(
            f"{name}: --discover supports protocols of vectors and matrices, not of queues",
            hint=f"its proof names its invariants: crownless prove {name}",
        )
    if machine.sends != "unicast":
        raise BadInput(
            f"{name}: --discover supports messages to one process, not multicasts",
            hint=f"its proof covers them: crownless prove {name}",
        )
    return _Discovery(name, machine, effort, progress or (lambda line: None)).found(anyway)


class _Discovery:
    def __init__(self, name: str, machine: type[ProtocolMachine], effort: int, report: Progress) -> None:
        self.name, self.machine, self.effort, self.report = name, machine, effort, report
        try:
            self.run = AnyRun(self.machine)
            self.run.events()
        except (TypeError, ValueError, IndexError, AttributeError, AssertionError) as error:
            raise BadInput(
                f"{name}: z3 cannot execute its steps: they branch on its state, or its state is not only numbers",
                hint=f"crownless check {name} explores all runs up to a bound",
            ) from error
        self.vocabulary = Vocabulary.of(self.run)
        self.induction = Induction(self.machine, self.run, self.vocabulary, effort)

    def found(self, anyway: bool) -> Discovered:
        started = time.monotonic()
        candidates = Candidates(self.vocabulary)
        made = len(candidates)
        runs, situations, overtakes = self._simulate(candidates, anyway)
        survived = len(candidates)
        keeps, safe, waits = Kept([], 0), None, None
        needed: list[Placed] = []
        more: list[Placed] = []
        if anyway or not overtakes:
            candidates.settle(always(self.run))
            survived = len(candidates)
            keeps = kept(self.induction, candidates, self.report)
            query, missing = self._safe()
            safe = query.least(missing, keeps.clauses, _fewest_messages_last)
        if safe is not None:
            needed = self._irreducible(
                self._closed(safe, keeps.clauses), lambda given: query.core(missing, given) is not None
            )
            waits = self._waits(keeps.clauses, needed)
        if waits is not None:
            more = self._closed(list(dict.fromkeys([*needed, *waits])), keeps.clauses)
        assert safe is None or not overtakes, "what is proved does not happen"
        reading = ClauseRenderer(self.vocabulary)
        return Discovered(
            protocol=self.name,
            candidates=made,
            survived=survived,
            inductive=len(candidates) if keeps.basis else 0,
            runs=runs,
            situations=situations,
            overtakes=overtakes,
            independent=len(keeps.clauses),
            given_up=keeps.given_up,
            safe="refuted" if overtakes else "unknown" if safe is None else "proved",
            waits_only_for_causes="unknown" if waits is None else "proved",
            live="proved" if waits is not None and self._live() else "unknown",
            needed=_read(reading, needed),
            needed_for_waiting=_read(reading, [placed for placed in more if placed not in needed]),
            confirmed=bool(needed) and self._confirmed(needed),
            seconds=time.monotonic() - started,
        )

    # -- candidates ----------------------------------------------------------------------------------------------------

    def _simulate(self, candidates: Candidates, anyway: bool) -> tuple[int, int, bool]:
        """The numbers of runs and of their states, and whether one run violates causal order."""
        random, runs, seen, overtakes = Random(SEED), 0, 0, False
        for n, messages, some, step in RUNS:
            for _ in range(some):
                look()
                self.report(f"simulated runs leave {len(candidates)} candidates")
                run = list(simulated(self.machine, n, messages, random))
                overtakes |= any(situation.overtakes for situation in run)
                if overtakes and not anyway:
                    return runs + 1, seen, True
                candidates.absorb(run[::step])
                runs, seen = runs + 1, seen + len(run[::step])
        return runs, seen, overtakes

    # -- consequences --------------------------------------------------------------------------------------------------

    def _query(self, given: Iterable[Term], messages: Sequence[Term], processes: Sequence[Term]) -> CounterexampleQuery:
        return CounterexampleQuery(self.run, self.vocabulary, given, messages, processes, steps=self.effort)

    def _safe(self) -> tuple[CounterexampleQuery, Term]:
        """m is accepted, but some x sent before it to the same receiver is not delivered."""
        run, x = self.run, z3.Const("missing", self.run.message)
        given = [*run.in_flight.values(), run.accepted]
        missing = z3.And(run.precedes(x, run.m), run.to(x, run.i), z3.Not(run.arrived(run.before, x, run.i)))
        return self._query(given, [run.m, x], [run.i]), missing

    def _waits(self, given: Sequence[Placed], at_hand: Sequence[Placed]) -> list[Placed] | None:
        """The invariants that imply, for each part of the guard, its truth once everything before m is delivered."""
        run, now = self.run, self.run.before
        numbered = run.all_numbered
        if not theorem("at the start", {}, numbered(run.start), self.effort) or not all(
            theorem(event.name, {**event.given, "now": numbered(now)}, numbered(event.after), self.effort)
            for event in run.events()
        ):
            return None
        k = run.terms.any_process("k")
        used: list[Placed] = []
        for part in parts_of(run.accepted, k):
            numbers = [term for term in Entries().eliminated(part).children() if term.sort() == z3.IntSort()]
            missing = [run.numbered(p, run.i, number) for p, number in product((k, run.sender(run.m)), numbers)]
            there = [
                z3.Implies(
                    z3.And(y.arg(2) >= 1, y.arg(2) <= now.count(y.arg(0), y.arg(1))),
                    z3.And(now.sent(y), run.sender(y) == y.arg(0), run.to(y, run.i), run.number(y) == y.arg(2)),
                )
                for y in missing
            ]
            query = self._query([*run.in_flight.values(), run.past_delivered, *there], [run.m, *missing], [run.i, k])
            because = query.least(
                z3.Not(part), given, lambda placed: (placed in at_hand, *_fewest_messages_last(placed))
            )
            if because is None:
                return None
            used += [placed for placed in because if placed not in used]
        return used

    def _live(self) -> bool:
        """If messages wait only for causes, the earliest message in flight is accepted; the condition is not checked
        here.
        """
        proof = CausalOrder(self.machine, {}, (), (), lambda run, k: run.m)
        return all(theorem(*claim, effort=self.effort) for claim in proof.claims()["live"])

    # -- a minimal set for safety --------------------------------------------------------------------------------------

    def _closed(self, some: Sequence[Placed], given: Sequence[Placed]) -> list[Placed]:
        """These invariants, with all that are used to show that they are kept."""
        closed, waiting = list(some), list(some)
        while waiting:
            self.report(f"{len(closed)} invariants are needed, {len(waiting)} of them to be shown")
            clause = waiting.pop(0)
            if self.induction.kept_by(clause, closed) is None:
                more = [each for each in self.induction.kept_by(clause, given) or [] if each not in closed]
                closed += more
                waiting += more
        return closed

    def _irreducible(self, some: Sequence[Placed], safe: Callable[[Sequence[Placed]], bool]) -> list[Placed]:
        """These invariants without any that can be left out while the rest remains inductive and implies safety."""
        needed, before = list(some), len(some) + 1
        while len(needed) < before:
            before = len(needed)
            for clause in needed[::-1]:
                self.report(f"{len(needed)} invariants are enough")
                fewer = [each for each in needed if each != clause]
                if safe(fewer) and all(self.induction.kept_by(each, fewer) is not None for each in fewer):
                    needed = fewer
        return needed

    # -- confirmation --------------------------------------------------------------------------------------------------

    def _confirmed(self, needed: Sequence[Placed]) -> bool:
        """True if z3 proves the same for all processes and messages, without instantiation."""
        proof = CausalOrder(
            self.machine,
            {str(number): _of_all(*placed) for number, placed in enumerate(needed)},
            [str(number) for number in range(len(needed))],
            (),
            lambda run, k: run.m,
        )
        claims = proof.claims()
        return all(
            theorem(*claim, effort=self.effort, attempts=3) for part in ("invariants", "safe") for claim in claims[part]
        )


def _fewest_messages_last(placed: Placed) -> tuple[int]:
    return (-len(placed[0].messages),)


def _of_all(context: Context, clause: Clause) -> Callable[[AnyRun, Any], Term]:
    """The clause as an invariant over all processes and messages."""

    def holds(run: AnyRun, now: Any) -> Term:
        things = {
            **{name: z3.FreshConst(run.terms.process, name) for name in context.processes},
            **{name: z3.FreshConst(run.message, name) for name in context.messages},
        }
        return z3.ForAll(list(things.values()), OnTerms(run, now, things).clause(clause))

    return holds


def _read(reading: ClauseRenderer, some: Sequence[Placed]) -> tuple[str, ...]:
    found: list[str] = []
    for context in dict.fromkeys(context for context, _ in some):
        found += reading.sentences(context, [clause for each, clause in some if each is context])
    return tuple(found)
