"""Houdini: the candidates that a protocol keeps at every step, for any number of processes and messages.

Houdini (Flanagan & Leino, 2001): a candidate that a step does not keep, given all candidates, is dropped, until every
step keeps all remaining ones. Here z3 never gets a query about all processes and messages: a step and a violated
candidate involve a few, and a hypothesis is useful only for its instances about these. Such an instance is added as
soon as z3's state violates it. A state that violates none of them is a genuine counterexample, since a statement about
all things holds of some; so the protocol itself takes the step there, on ints, and every candidate that is false in the
resulting state is dropped or weakened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from crownless.impl.protocol import ProtocolMachine
from crownless.proofs.induction.any_run import AnyRun, Event, SymbolicState
from crownless.proofs.language.arrays import Eliminator
from crownless.proofs.language.ground import instances
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.language.terms import Term, is_array, like
from crownless.proofs.language.z3_query import ask, reason_for_giving_up

from .candidates import Candidates
from .numeric_states import NumericState, delivered, nothing_happened, sent
from .templates import Clause, Context, NumericStates, OnNumericStates, OnTerms, Vocabulary, leaf_terms

#: A clause, with the context of its variables.
Placed = tuple[Context, Clause]

#: At most this many instances of one violated hypothesis are added to a query at a time.
AT_A_TIME = 4


class QueryGaveUp(Exception):
    """z3 finds neither a state nor a proof that there is none."""


class Entries(Eliminator):
    """An entry of an array about which nothing is known is a function of the array's arguments and the index."""

    def __init__(self) -> None:
        super().__init__()
        self._functions: dict[tuple[str, int], Term] = {}

    def given(self, entry: Term) -> Term:
        if is_array(entry):
            return entry
        places: list[Term] = []
        while z3.is_select(entry):
            places.insert(0, entry.arg(1))
            entry = entry.arg(0)
        of = [*entry.children(), *places]
        key = entry.decl().name(), len(places)
        if key not in self._functions:
            sorts = [thing.sort() for thing in of]
            self._functions[key] = z3.Function(f"{key[0]} at", *sorts, z3.IntSort())
        return self._functions[key](*of)


class CounterexampleQuery:
    """A reusable query for a state, on given processes and messages, that satisfies some clauses and terms.

    `messages` and `processes`: the things that the query mentions.
    """

    def __init__(
        self,
        run: AnyRun,
        vocabulary: Vocabulary,
        given: Iterable[Term],
        messages: Sequence[Term],
        processes: Sequence[Term],
        changed: Iterable[Term] = (),
        steps: int = EFFORT,
    ) -> None:
        """`changed`: terms in which quantifiers may be hidden; the things that they mention are added."""
        self.run, self.vocabulary = run, vocabulary
        self.messages = list(messages)
        self.processes = [*processes, *(end(message) for message in messages for end in (run.sender, run.receiver))]
        self.solver = z3.Solver()
        self.solver.set(rlimit=steps, random_seed=0)
        self._flags: dict[Placed, Term] = {}
        self._hidden: dict[int, tuple[Term, Term]] = {}
        self._entries: dict[tuple[int, int], tuple[Term, Term]] = {}
        self._arrays = Entries()
        for term in changed:
            self._uncovered(term)
        things = {run.message: self.messages, run.terms.process: self.processes}
        for term in given:
            for each in instances(term, things):
                self.solver.add(*self._on_the_things(each))

    def _on_the_things(self, given: Term) -> list[Term]:
        """The given formula, instantiated with the query's things."""
        if z3.is_eq(given) and is_array(given.arg(0)):
            return self._arrays.agree(given.arg(0), given.arg(1), self.processes)
        return [self._uncovered(given)]

    def _uncovered(self, term: Term) -> Term:
        """The term without arrays, with a name in place of each of its quantifiers; if that is false, some thing is a
        witness.
        """
        term = z3.simplify(self._arrays.eliminated(term))
        for quantified in [each for each in _subterms(term) if z3.is_quantifier(each) and not each.is_lambda()]:
            assert quantified.is_forall(), "steps say what holds of every process, not that there is one"
            if quantified.get_id() not in self._hidden:
                name = z3.FreshBool("holds of all")
                some = [
                    z3.FreshConst(quantified.var_sort(k), "exception") for k in reversed(range(quantified.num_vars()))
                ]
                self.processes += some
                self.solver.add(z3.Or(name, z3.Not(z3.substitute_vars(quantified.body(), *some))))
                things = {self.run.message: self.messages, self.run.terms.process: self.processes}
                self.solver.add(*[z3.Implies(name, instance) for instance in instances(quantified, things)])
                self._hidden[quantified.get_id()] = quantified, name
            term = z3.substitute(term, (quantified, self._hidden[quantified.get_id()][1]))
        return term

    def counterexample(self, wanted: Term, given: Sequence[Placed]) -> NumericState | None:
        """A state in which `wanted` and all given clauses hold; None if there is none. Raises `QueryGaveUp`."""
        asked = z3.FreshBool("asked")
        self.solver.add(z3.Implies(asked, self._uncovered(wanted)))
        try:
            while True:
                answer = ask(self.solver, asked, *[self._flags[each] for each in given if each in self._flags])
                if answer == z3.unsat:
                    return None
                if answer == z3.unknown:
                    raise QueryGaveUp(reason_for_giving_up(self.solver.reason_unknown()))
                state, broken = self._examined(self.solver.model(), given)
                if not broken:
                    return state
                for clause, instance in broken:
                    flag = self._flags.setdefault(clause, z3.FreshBool("given"))
                    self.solver.add(z3.Implies(flag, instance))
        finally:
            self.solver.add(z3.Not(asked))

    def core(self, wanted: Term, given: Sequence[Placed]) -> list[Placed] | None:
        """Given clauses that rule out `wanted`; None if it is possible, or z3 gives up."""
        try:
            if self.counterexample(wanted, given) is not None:
                return None
        except QueryGaveUp:
            return None
        clauses = {self._flags[clause].get_id(): clause for clause in given if clause in self._flags}
        return [clauses[flag.get_id()] for flag in self.solver.unsat_core() if flag.get_id() in clauses]

    def least(
        self, wanted: Term, given: Sequence[Placed], last: Callable[[Placed], Any] = lambda clause: 0
    ) -> list[Placed] | None:
        """A minimal subset of the given clauses that rules out `wanted`; None if they do not. Clauses are removed in
        the order of `last`.
        """
        used = self.core(wanted, given)
        if used is None:
            return None
        for clause in sorted(used, key=last):
            fewer = self.core(wanted, [each for each in used if each != clause])
            used = used if fewer is None else fewer
        return used

    def _examined(self, model: Term, given: Sequence[Placed]) -> tuple[NumericState, list[tuple[Placed, Term]]]:
        """The state, and the given clauses that it violates, each with an instance that is false there."""
        messages, processes = self._things(model, self.messages), self._things(model, self.processes)
        state = self._situation(model, messages, processes)
        broken = self._broken(state, messages, processes, given)
        return state, [(placed, self._arrays.eliminated(instance)) for placed, instance in broken]

    # -- the states of z3 ----------------------------------------------------------------------------------------------

    @staticmethod
    def _things(model: Term, terms: Sequence[Term]) -> list[Term]:
        """One term for each thing: the first one found."""
        values = [model.eval(term, model_completion=True) for term in terms]
        found: dict[int, Term] = {}
        for value, term in zip(values, terms, strict=True):
            found.setdefault(value.get_id(), term)
        return list(found.values())

    def _situation(self, model: Term, messages: Sequence[Term], processes: Sequence[Term]) -> NumericState:
        run, now = self.run, self.run.before
        all_values = [model.eval(process, model_completion=True) for process in processes]
        values = {value.get_id(): k for k, value in enumerate(all_values)}

        def number(term: Term) -> int:
            return int(model.eval(term, model_completion=True).as_long())

        def truth(term: Term) -> bool:
            return bool(z3.is_true(model.eval(term, model_completion=True)))

        def process(term: Term) -> int:
            return values[model.eval(term, model_completion=True).get_id()]

        def plain(value: Any) -> Any:
            """The value with its arrays as tuples."""
            return like(value, map(plain, value)) if isinstance(value, tuple) else entries(value)

        def entries(term: Term) -> Any:
            if is_array(term):
                return tuple(entries(self._entry(term, each)) for each in processes)
            return number(self._arrays.eliminated(term))

        return NumericState(
            local=tuple(plain(now.local(p)) for p in processes),
            sender=tuple(process(run.sender(x)) for x in messages),
            receiver=tuple(process(run.receiver(x)) for x in messages),
            number=tuple(number(run.number(x)) for x in messages),
            is_its_number=tuple(
                truth(run.numbered(run.sender(x), run.receiver(x), run.number(x)) == x) for x in messages
            ),
            stamp=tuple(plain(run.stamp(x)) for x in messages),
            precedes=tuple(tuple(truth(run.precedes(x, m)) for m in messages) for x in messages),
            sent=tuple(truth(now.sent(x)) for x in messages),
            delivered=tuple(truth(now.delivered(x)) for x in messages),
            knows=tuple(tuple(truth(now.knows(p, x)) for x in messages) for p in processes),
            count=tuple(tuple(number(now.count(k, l)) for l in processes) for k in processes),
        )

    def _entry(self, array: Term, place: Term) -> Term:
        key = array.get_id(), place.get_id()
        if key not in self._entries:
            self._entries[key] = array, array[place]
        return self._entries[key][1]

    def _broken(
        self, situation: NumericState, messages: Sequence[Term], processes: Sequence[Term], given: Sequence[Placed]
    ) -> Iterator[tuple[Placed, Term]]:
        """The clauses that the state violates, each with its violated instances."""
        some = NumericStates(self.vocabulary, [situation])
        meanings: dict[int, OnNumericStates] = {}
        for placed in given:
            context, clause = placed
            if id(context) not in meanings:
                meanings[id(context)] = OnNumericStates(some, context)
            on = meanings[id(context)]
            for row in on.broken(clause).nonzero()[0][:AT_A_TIME]:
                things = {
                    name: (messages if name in context.messages else processes)[which[row]]
                    for name, which in on.things.items()
                }
                yield placed, OnTerms(self.run, self.run.before, things).clause(clause)


def _subterms(term: Term) -> Iterator[Term]:
    """The term and its subterms, without duplicates; quantifiers are included, but not their bodies."""
    seen, rest = set(), [term]
    while rest:
        each = rest.pop()
        if each.get_id() not in seen:
            seen.add(each.get_id())
            yield each
            rest += each.children() if z3.is_app(each) else []


# -- the induction -----------------------------------------------------------------------------------------------------


class Stage:
    """A step of a run, or the start: its hypotheses, and the state after it, on terms and in a concrete state."""

    def __init__(self, run: AnyRun, machine: type[ProtocolMachine], event: Event | None) -> None:
        self.run, self.machine, self.event = run, machine, event
        self.name = "the start" if event is None else event.name
        self.after: SymbolicState = run.start if event is None else event.after
        given = {} if event is None else event.given
        self.given = [term for term in given.values() if not _mentions(term, run.witness)]

    def replayed(self, before: NumericState, message: int) -> NumericState:
        machine = self.machine(before.n)
        if self.event is None:
            return nothing_happened(machine, before)
        return (sent if self.event.sends else delivered)(machine, before, message)


def _mentions(term: Term, function: Term) -> bool:
    return any(
        _mentions(each.body(), function) if z3.is_quantifier(each) else each.decl().eq(function)
        for each in _subterms(term)
        if not z3.is_var(each)
    )


class Induction:
    """The queries whether clauses hold at the start, and whether each step keeps them."""

    def __init__(
        self, protocol: type[ProtocolMachine], run: AnyRun, vocabulary: Vocabulary, steps: int = EFFORT
    ) -> None:
        self.run, self.vocabulary, self.steps = run, vocabulary, steps
        self.stages = [Stage(run, protocol, event) for event in (None, *run.events())]
        self._queries: dict[tuple[int, int], CounterexampleQuery] = {}
        self._terms: dict[tuple[int, Placed], Term] = {}

    def things(self, context: Context) -> dict[str, Term]:
        process, message = self.run.terms.process, self.run.message
        return {
            **{name: z3.Const(f"some {name}", process) for name in context.processes},
            **{name: z3.Const(f"some {name}", message) for name in context.messages},
        }

    def query(self, stage: Stage, context: Context) -> CounterexampleQuery:
        key = id(stage), id(context)
        if key not in self._queries:
            run, things = self.run, self.things(context)
            event_messages = [] if stage.event is None else [run.m]
            self._queries[key] = CounterexampleQuery(
                run,
                self.vocabulary,
                stage.given,
                [*event_messages, *(things[name] for name in context.messages)],
                [run.i, *(things[name] for name in context.processes)],
                [entry for leaf in leaf_terms(stage.after.local(run.i)) for entry in _entry(leaf)],
                self.steps,
            )
        return self._queries[key]

    def fails(self, stage: Stage, placed: Placed) -> Term:
        """A formula: the clause does not hold after the step."""
        key = id(stage), placed
        if key not in self._terms:
            context, clause = placed
            self._terms[key] = z3.Not(OnTerms(self.run, stage.after, self.things(context)).clause(clause))
        return self._terms[key]

    def counterexample(
        self,
        stage: Stage,
        context: Context,
        clauses: Sequence[Clause],
        given: Sequence[Placed],
    ) -> NumericState | None:
        """A state after a step that violates one of the clauses, from a state that satisfies all given clauses."""
        query = self.query(stage, context)
        before = query.counterexample(
            z3.Or([self.fails(stage, (context, clause)) for clause in clauses]),
            [] if stage.event is None else given,
        )
        return None if before is None else stage.replayed(before, 0)

    def kept_by(self, placed: Placed, given: Sequence[Placed]) -> list[Placed] | None:
        """The given clauses that show that the clause holds at the start and after each step; None if it does not, or
        z3 gives up.
        """
        used: list[Placed] = []
        for stage in self.stages:
            because = self.query(stage, placed[0]).core(self.fails(stage, placed), given if stage.event else [])
            if because is None:
                return None
            used += [each for each in because if each not in used]
        return used


def always(run: AnyRun) -> Callable[[Context, Clause], bool]:
    """True if a clause holds in every state."""

    def holds(context: Context, clause: Clause) -> bool:
        things = {
            **{name: run.terms.any_process(name) for name in context.processes},
            **{name: z3.Const(name, run.message) for name in context.messages},
        }
        solver = z3.Solver()
        solver.add(z3.Not(OnTerms(run, run.before, things).clause(clause)))
        return bool(ask(solver) == z3.unsat)

    return holds


def _entry(leaf: Term) -> list[Term]:
    """Any entry of a variable."""
    while is_array(leaf):
        leaf = leaf[z3.FreshConst(leaf.sort().domain(), "any")]
    return [leaf]


@dataclass(frozen=True)
class Kept:
    """The clauses that every step keeps, and a subset that implies them."""

    basis: list[tuple[Context, list[Clause]]]
    #: The number dropped because z3 gave up.
    given_up: int

    @property
    def clauses(self) -> list[Placed]:
        return [(context, clause) for context, clauses in self.basis for clause in clauses]


def kept(induction: Induction, candidates: Candidates, progress: Callable[[str], None] | None = None) -> Kept:
    """Drop candidates that are not kept until all remaining ones are."""
    found = Kept(candidates.basis(), 0)
    rounds = [(stage, k) for stage in induction.stages for k in range(len(found.basis))]
    quiet = place = 0
    while quiet < len(rounds):
        stage, k = rounds[place % len(rounds)]
        context, clauses = found.basis[k]
        if progress is not None:
            progress(f"{stage.name}: {len(found.clauses)} invariants stand for {len(candidates)} candidates")
        try:
            after = induction.counterexample(stage, context, clauses, found.clauses) if clauses else None
            forgotten: list[Clause] = []
        except QueryGaveUp:
            after, forgotten = _one_by_one(induction, stage, context, clauses, found.clauses)
        if after is None and not forgotten:
            place, quiet = place + 1, quiet + 1
            continue
        quiet = 0
        if after is not None:
            assert candidates.absorb([after]), "the protocol keeps on ints what z3 says that it breaks"
        for clause in forgotten:
            candidates.forget(clause, context)
        found = Kept(candidates.basis(), found.given_up + len(forgotten))
    return found


def _one_by_one(
    induction: Induction, stage: Stage, context: Context, clauses: Sequence[Clause], given: Sequence[Placed]
) -> tuple[NumericState | None, list[Clause]]:
    """A counterexample to one of the clauses; or else the clauses for which z3 gives up."""
    forgotten = []
    for clause in clauses:
        try:
            after = induction.counterexample(stage, context, [clause], given)
        except QueryGaveUp:
            forgotten.append(clause)
            continue
        if after is not None:
            return after, []
    return None, forgotten
