"""Grounding: statements about all processes and messages, instantiated for a few, so that z3 need not."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import z3

from .arrays import eliminate_lambdas
from .terms import Term

#: For each sort, the things mentioned.
Things = Mapping[Term, Sequence[Term]]


def instances(holds: Term, things: Things) -> list[Term]:
    """The formula grounded over these things: z3 need not instantiate its quantifiers."""
    if z3.is_and(holds):
        return [instance for part in holds.children() for instance in instances(part, things)]
    if not (z3.is_quantifier(holds) and holds.is_forall()):
        return [holds]
    sorts = [holds.var_sort(k) for k in range(holds.num_vars())]
    # z3 numbers variables from the innermost.
    chosen = [tuple(reversed(some)) for some in product(*[things[sort] for sort in sorts])]
    return [instance for some in chosen for instance in instances(z3.substitute_vars(holds.body(), *some), things)]


def ground_over(holds: Term, things: Things) -> Term:
    """An equivalent formula, if these are all things that exist."""
    if z3.is_quantifier(holds):
        return z3.And([ground_over(each, things) for each in instances(holds, things)]) if holds.is_forall() else holds
    parts = [ground_over(part, things) for part in holds.children()]
    return holds.decl()(*parts) if parts and z3.is_bool(holds) else holds


def said_of(things: Things) -> Callable[[Term], Term]:
    """`ground_over` for these things, also within comprehensions; results are cached."""
    #: By z3's number of a term; z3 reuses it once the term is freed.
    known: dict[int, tuple[Term, Term]] = {}

    def said(holds: Term) -> Term:
        number = holds.get_id()
        if number not in known:
            known[number] = holds, ground_over(eliminate_lambdas(holds), things)
        return known[number][1]

    return said


class FiniteSort(NamedTuple):
    """A sort, with all of its elements."""

    sort: Term
    all: Sequence[Term]


#: Sorts declared so far, by name: z3 declares a name once.
_DECLARED: dict[str, FiniteSort] = {}


def finite_sort(name: str, things: Sequence[str]) -> FiniteSort:
    """The sort of exactly these elements; a name always denotes the same sort."""
    if name not in _DECLARED:
        _DECLARED[name] = FiniteSort(*z3.EnumSort(name, things))
    return _DECLARED[name]


def three(name: str, things: str) -> FiniteSort:
    """A sort of three elements."""
    return finite_sort(f"{name} of three", things.split())


def three_of_each() -> tuple[Term, Term, Things]:
    """The sorts of three processes and of three messages, with the elements of each."""
    process, message = three("Process", "P1 P2 P3"), three("Message", "x y z")
    numbers = [z3.IntVal(number) for number in range(1, 4)]
    return process.sort, message.sort, {message.sort: message.all, process.sort: process.all, z3.IntSort(): numbers}
