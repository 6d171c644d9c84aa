"""Houdini for abstractions of queues: the sentences that every event keeps (Flanagan & Leino, 2001).

What an event does not keep, given all candidates (`stages_candidates`), is weakened, until every event keeps all that
is left.

Counterexamples are looked for among a few processes and messages, where z3 has them all in view. That such a one is
one as well of any number: it is a state as it stands, and the abstraction itself takes the event there, in its
reading by `ConcreteLogic`. That what is needed is kept for any number of processes and messages is shown afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import z3

from crownless.proofs.asking import ask
from crownless.proofs.ground import FiniteSort, Things, finite_sort, ground_over
from crownless.proofs.queues import QueueProof
from crownless.proofs.stages import About, Part, StageEvent, SymbolicLogic, fixed_by, symbolic
from crownless.proofs.terms import Term

from .query import AT_A_TIME, LazyQuery, QueryGaveUp
from .stages_candidates import InContext
from .stages_grammar import Clause, Context, Progress, choices, truths
from .stages_runs import TabulatedState, after, all_events, concrete

#: So many processes and messages are looked at for counterexamples.
PROCESSES, MESSAGES = 4, 4


def _things(sort: str, size: int) -> FiniteSort:
    """A sort of so many things."""
    return finite_sort(f"{sort} of {size}", [f"{sort} {k}" for k in range(size)])


class Few:
    """The abstraction of a few processes and messages, on terms of z3."""

    def __init__(self, proof: QueueProof, contexts: Sequence[Context]) -> None:
        self.proof, self.contexts = proof, contexts
        self._process, self.processes = _things("process", PROCESSES)
        self._message, self.messages = _things("message", MESSAGES)
        self.run = symbolic(proof.abstraction, SymbolicLogic(self._process, self._message))
        self.all: Mapping[str, Sequence[Term]] = {"process": self.processes, "message": self.messages}
        self.places = {str(thing): k for some in self.all.values() for k, thing in enumerate(some)}
        # Which process and message an event is about does not matter, only whether w is another message than m.
        run = self.run
        self.given = [run.i == self.processes[0], run.m == self.messages[0]]
        self.given += [z3.Or(run.w == self.messages[0], run.w == self.messages[1])]
        self.given += [self.ground_over(holds(run, run.before, run.logic)) for holds in proof.axioms.values()]
        functions = {name: getattr(run.before, name) for name in run.changing}
        functions |= {name: getattr(run, name) for name in run.lasting}
        self._cells = {
            name: [functions[name](*some) for some in product(*[self.all[sort] for sort in part.of])]
            for name, part in {**run.changing, **run.lasting}.items()
        }
        self._anything = symbolic(proof.abstraction)
        self._always: dict[Clause, bool] = {}

    def ground_over(self, holds: Term) -> Term:
        things: Things = {self._process: self.processes, self._message: self.messages}
        return ground_over(holds, things)

    def instance(self, clause: Clause, of: tuple[int, ...]) -> Term:
        """The meaning of a clause before the event, its variables standing for these things."""
        context = clause.context
        things = {name: self.all["process" if name in context.processes else "message"] for name in context.names}
        some = {name: things[name][place] for name, place in zip(context.names, of, strict=True)}
        return clause.meaning(self.run, self.run.before, some)

    def always(self, clause: Clause) -> bool:
        """True if it holds of any abstraction whatever, by the meaning of = and <."""
        if clause not in self._always:
            run = self._anything
            assert isinstance(run.logic, SymbolicLogic)
            some = {
                name: z3.Const(name, run.logic.sorts["process" if name in clause.context.processes else "message"])
                for name in clause.context.names
            }
            solver = z3.Solver()
            solver.add(z3.Not(clause.meaning(run, run.before, some)))
            self._always[clause] = bool(ask(solver) == z3.unsat)
        return self._always[clause]

    def situation(self, model: Term) -> TabulatedState:
        values = {
            name: np.array([self._plain(model, cell, part) for cell in self._cells[name]]).reshape(
                [len(self.all[sort]) for sort in part.of]
            )
            for name, part in {**self.run.changing, **self.run.lasting}.items()
        }
        clock = self._plain(model, self.run.before.clock, Part((), "number"))
        return TabulatedState(PROCESSES, MESSAGES, clock, values)

    def about(self, model: Term) -> About:
        of = Part((), "process")
        return About(*[self._plain(model, each, of) for each in (self.run.i, self.run.m, self.run.w)])

    def _plain(self, model: Term, term: Term, part: Part) -> Any:
        value = model.eval(term, model_completion=True)
        if part.is_ == "truth":
            return bool(z3.is_true(value))
        return int(value.as_long()) if part.is_ == "number" else self.places[str(value)]


class StagesQuery(LazyQuery[Clause, tuple[TabulatedState, About]]):
    """Whether a state of few processes and messages, with an event, satisfies a formula and some clauses; reusable."""

    def __init__(self, few: Few, given: Sequence[Term], effort: int) -> None:
        super().__init__(effort)
        self.few = few
        self.solver.add(*few.given, *map(few.ground_over, given))

    def examine(
        self, given: Sequence[Clause]
    ) -> Callable[[Term], tuple[tuple[TabulatedState, About], Iterable[tuple[Clause, Term]]]]:
        broken = Broken(self.few.contexts, given)

        def of(model: Term) -> tuple[tuple[TabulatedState, About], Iterable[tuple[Clause, Term]]]:
            state = self.few.situation(model)
            instances = ((clause, self.few.instance(clause, things)) for clause, things in broken.by(state))
            return (state, self.few.about(model)), instances

        return of


class Broken:
    """Which of some clauses a state breaks."""

    def __init__(self, contexts: Sequence[Context], clauses: Sequence[Clause]) -> None:
        self.parts = []
        for context in contexts:
            some = [clause for clause in clauses if clause.context is context]
            literals = np.zeros((len(some), 2 * len(context.atoms)), dtype=np.float32)
            for row, clause in zip(literals, some, strict=True):
                row[list(clause.literals)] = 1
            self.parts.append((context, some, literals))

    def by(self, situation: TabulatedState) -> Iterator[tuple[Clause, tuple[int, ...]]]:
        """The clauses, and a few of the choices of things of which they are wrong."""
        for context, clauses, literals in self.parts:
            if not clauses:
                continue
            held = truths(context, situation)
            signed = np.empty((len(held), 2 * held.shape[1]), dtype=np.float32)
            signed[:, ::2], signed[:, 1::2] = held, ~held
            wrong = signed @ literals.T == 0
            things = choices(context, situation)
            for k in np.flatnonzero(wrong.any(axis=0)):
                for row in np.flatnonzero(wrong[:, k])[:AT_A_TIME]:
                    yield clauses[k], tuple(int(things[name][row]) for name in context.names)


class Induction:
    """The questions whether the start has, and each event keeps, what clauses say."""

    def __init__(self, proof: QueueProof, contexts: Sequence[Context], effort: int) -> None:
        self.few = Few(proof, contexts)
        run = self.few.run
        self.events: list[StageEvent | None] = [None, *all_events(run)]
        self.flags = [z3.Bool(f"stage {stage}") for stage in range(len(self.events))]
        happens = []
        for flag, event in zip(self.flags, self.events, strict=True):
            given = [] if event is None else [*event.given.values(), *fixed_by(run, event).values()]
            happens += [z3.Implies(flag, self.few.ground_over(holds)) for holds in given]
        self.query = StagesQuery(self.few, happens, effort)
        self._fails: dict[tuple[int, Clause], Term] = {}

    def name(self, stage: int) -> str:
        event = self.events[stage]
        return "the start" if event is None else event.name

    def fails(self, stage: int, clause: Clause) -> Term:
        """That the clause does not hold then, of some things."""
        if (stage, clause) not in self._fails:
            event, run = self.events[stage], self.few.run
            then = run.start() if event is None else event.after
            things = {name: self._some(name, clause.context) for name in clause.context.names}
            self._fails[stage, clause] = self.few.ground_over(z3.Not(clause.meaning(run, then, things)))
        return self._fails[stage, clause]

    def _some(self, name: str, context: Context) -> Term:
        logic = self.few.run.logic
        assert isinstance(logic, SymbolicLogic)
        return z3.Const(f"some {name}", logic.sorts["process" if name in context.processes else "message"])

    def counterexample(
        self, stage: int, clauses: Sequence[Clause], given: Sequence[Clause]
    ) -> tuple[TabulatedState, TabulatedState] | None:
        """A state that breaks nothing given, and what the event makes of it, which breaks one of the clauses."""
        wanted = z3.And(self.flags[stage], z3.Or([self.fails(stage, clause) for clause in clauses]))
        found = self.query.counterexample(wanted, [] if self.events[stage] is None else given)
        if found is None:
            return None
        now, about = found
        run = concrete(self.few.proof.abstraction, now, about)
        event = None if self.events[stage] is None else all_events(run)[stage - 1]
        assert event is None or all(event.given.values()), "the two readings of an abstraction agree"
        return now, after(run, event, now)

    def core(self, stage: int, clause: Clause, given: Sequence[Clause]) -> list[Clause] | None:
        """The given clauses used to show that the clause is kept; None if it is not, or z3 gives up."""
        wanted = z3.And(self.flags[stage], self.fails(stage, clause))
        return self.query.core(wanted, [] if self.events[stage] is None else given)


class Houdini:
    """Weakens what is not kept until all that is left is."""

    def __init__(self, induction: Induction, candidates: Sequence[InContext], report: Progress) -> None:
        self.induction, self.candidates, self.report = induction, candidates, report
        #: So many sentences were dropped since z3 did not find out whether they are kept.
        self.given_up = 0

    def basis(self) -> list[Clause]:
        """Sentences that all candidates follow from."""
        return [
            clause for part in self.candidates for clause in part.clauses() if not self.induction.few.always(clause)
        ]

    def kept(self) -> list[Clause]:
        """Those that every event keeps, given all of them."""
        basis = self.basis()
        quiet = stage = 0
        while quiet < len(self.induction.events):
            self.report(f"{self.induction.name(stage)}: {len(basis)} sentences stand for all candidates")
            if self._weakened(stage, basis):
                quiet, basis = 0, self.basis()
            else:
                quiet, stage = quiet + 1, (stage + 1) % len(self.induction.events)
        return basis

    def _weakened(self, stage: int, basis: Sequence[Clause]) -> bool:
        """Weakens those that an event breaks, as long as what is left of the basis determines what the
        candidates say of the states in which it does.
        """
        rest, changed = list(basis), False
        while rest:
            try:
                found = self.induction.counterexample(stage, rest, rest)
            except QueryGaveUp:
                self._forget(self._not_found_out(stage, rest))
                return True
            if found is None:
                return changed
            now, then = found
            if changed and self.induction.events[stage] and not all(part.allows(now) for part in self.candidates):
                return True
            weakened = [part.absorb(part.new([then])) for part in self.candidates]
            assert any(weakened), "the abstraction keeps on plain values what z3 says that it breaks"
            broken = {clause for clause, _ in Broken(self.induction.few.contexts, rest).by(then)}
            rest = [clause for clause in rest if clause not in broken]
            changed = True
            self.report(f"{self.induction.name(stage)}: {len(rest)} sentences are left")
        return changed

    def _not_found_out(self, stage: int, clauses: Sequence[Clause]) -> list[Clause]:
        """Those of which z3 does not find out whether they are kept; if there is none, all."""
        forgotten = []
        for clause in clauses:
            try:
                self.induction.counterexample(stage, [clause], clauses)
            except QueryGaveUp:
                forgotten.append(clause)
        return forgotten or list(clauses)

    def _forget(self, clauses: Sequence[Clause]) -> None:
        for clause in clauses:
            next(part for part in self.candidates if part.context is clause.context).forget(clause.literals)
        self.given_up += len(clauses)
