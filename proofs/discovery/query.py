"""Lazy queries: z3 is given only those instances of the hypotheses that matter.

A hypothesis is of use only in what it says of the few things that a query speaks of. z3 is given that as soon as a
state that it finds breaks it. A state that breaks none of them is a counterexample as it stands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import z3

from crownless.proofs.asking import ask, reason_for_giving_up
from crownless.proofs.terms import Term

Clause = TypeVar("Clause")
State = TypeVar("State")

#: z3 steps allowed to one query.
STEPS = 2_000_000
#: Of one hypothesis that a state breaks z3 is given at most so many instances at a time.
AT_A_TIME = 4


class QueryGaveUp(Exception):
    """z3 neither finds a state nor shows that there is none."""


class LazyQuery(ABC, Generic[Clause, State]):
    """Whether a state satisfies a formula and some clauses; reusable."""

    def __init__(self, steps: int = STEPS) -> None:
        self.solver = z3.Solver()
        self.solver.set(rlimit=steps, random_seed=0)
        self._flags: dict[Clause, Term] = {}

    @abstractmethod
    def examine(self, given: Sequence[Clause]) -> Callable[[Term], tuple[State, Iterable[tuple[Clause, Term]]]]:
        """Of a model: its state, and the given clauses that it breaks, each with an instance that is false there."""

    def formula(self, wanted: Term) -> Term:
        """The formula as z3 is given it."""
        return wanted

    def counterexample(self, wanted: Term, given: Sequence[Clause]) -> State | None:
        """A state in which `wanted` and all that is given hold; None if there is none. Raises `QueryGaveUp`."""
        asked = z3.FreshBool("asked")
        self.solver.add(z3.Implies(asked, self.formula(wanted)))
        examine = self.examine(given)
        try:
            while True:
                answer = ask(self.solver, asked, *[self._flags[each] for each in given if each in self._flags])
                if answer == z3.unsat:
                    return None
                if answer == z3.unknown:
                    raise QueryGaveUp(reason_for_giving_up(self.solver.reason_unknown()))
                state, broken = examine(self.solver.model())
                instances = list(broken)
                if not instances:
                    return state
                for clause, instance in instances:
                    flag = self._flags.setdefault(clause, z3.FreshBool("given"))
                    self.solver.add(z3.Implies(flag, instance))
        finally:
            self.solver.add(z3.Not(asked))

    def core(self, wanted: Term, given: Sequence[Clause]) -> list[Clause] | None:
        """The given clauses that rule out `wanted`; None if it is possible, or z3 gives up."""
        try:
            if self.counterexample(wanted, given) is not None:
                return None
        except QueryGaveUp:
            return None
        clauses = {self._flags[clause].get_id(): clause for clause in given if clause in self._flags}
        return [clauses[flag.get_id()] for flag in self.solver.unsat_core() if flag.get_id() in clauses]

    def least(
        self, wanted: Term, given: Sequence[Clause], last: Callable[[Clause], Any] = lambda clause: 0
    ) -> list[Clause] | None:
        """Those of the given clauses that rule out `wanted`, none of which can be left out; None if they do not. They
        are left out in the order of `last`.
        """
        used = self.core(wanted, given)
        if used is None:
            return None
        for clause in sorted(used, key=last):
            fewer = self.core(wanted, [each for each in used if each != clause])
            used = used if fewer is None else fewer
        return used
