"""The grammar of candidate invariants of an abstraction of queues (`proofs.stages`).

They are made of the signatures of its functions alone, and name no protocol. A sentence speaks of any one or two
messages, or of any process, or of both: one of a few literals holds. A literal is a truth of the abstraction, an
equation of processes or messages, or says which of two numbers is less; or it is the negation of one. Terms are
variables, what a process variable refers to (``awaits(p)``), and the processes that a message belongs to
(``sender(x)``). Each sentence has two meanings: a formula of the abstraction's logic, and a truth value for every
choice of things in a table (`stages_runs.TabulatedState`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any, Literal, NamedTuple

import numpy as np

from crownless.proofs.stages import Abstraction, AbstractState, Part, Sort, Truth

from .stages_runs import Array, TabulatedState


class Term(NamedTuple):
    """A variable, or a function of the abstraction of some terms; ``clock`` is the number of events so far."""

    name: str
    of: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.of))})" if self.of else self.name

    @property
    def size(self) -> int:
        return 1 + sum(term.size for term in self.of)

    def renamed(self, names: Mapping[str, str]) -> Term:
        if not self.of:
            return Term(names.get(self.name, self.name))
        return Term(self.name, tuple(term.renamed(names) for term in self.of))

    def variables(self) -> set[str]:
        return {name for term in self.of for name in term.variables()} if self.of else {self.name}


CLOCK = Term("clock")

#: So many literals a sentence has at most; one about two messages alone; and a plain one of those.
SHORT, LONG, LONGEST = 3, 4, 5


class Atom(NamedTuple):
    """``left`` alone: it holds; else the two are the same, or the first is less."""

    relation: Literal["holds", "=", "<"]
    left: Term
    right: Term | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        return (self.left,) if self.right is None else (self.left, self.right)

    def variables(self) -> set[str]:
        return {name for term in self.terms for name in term.variables()} - {"clock"}

    def renamed(self, names: Mapping[str, str]) -> Atom:
        left, *right = (term.renamed(names) for term in self.terms)
        if self.relation == "=":
            return equal(left, right[0])
        return Atom(self.relation, left, *right)


def equal(one: Term, other: Term) -> Atom:
    """That they are the same, whichever is named first."""
    first, second = sorted((one, other), key=lambda term: (bool(term.of), str(term)))
    return Atom("=", first, second)


#: An atom's place in its context, twice, and one more if it is negated.
Place = int


@dataclass(frozen=True, eq=False)
class Context:
    """Some variables, and what is said of them."""

    processes: tuple[str, ...]
    messages: tuple[str, ...]
    atoms: tuple[Atom, ...]
    #: The greatest number of literals in a sentence; and in one of those atoms alone that are plain.
    together: int
    together_plain: int
    #: Those that speak of what belongs to a message alone, and to no process that is not its own.
    plain: frozenset[Atom]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.processes, *self.messages)

    @cached_property
    def swapped(self) -> tuple[Place, ...]:
        """Where each literal comes to if the two messages change places."""
        if len(self.messages) < 2:
            return tuple(range(2 * len(self.atoms)))
        x, y = self.messages
        places = {atom: k for k, atom in enumerate(self.atoms)}
        other = [places[atom.renamed({x: y, y: x})] for atom in self.atoms]
        return tuple(2 * other[place // 2] + place % 2 for place in range(2 * len(self.atoms)))

    def belongs(self, literals: Sequence[Place]) -> bool:
        """True if it uses all of the variables. Else, if it is short, it is a sentence of another context too."""
        if len(literals) > SHORT:
            return True
        atoms = [self.atoms[place // 2] for place in literals]
        return {name for atom in atoms for name in atom.variables()} == set(self.names)


class Clause(NamedTuple):
    """For all processes and messages: one of these literals holds."""

    context: Context
    literals: tuple[Place, ...]

    def of(self, truths: Mapping[Atom, Truth], logic: Any) -> Truth:
        """Its meaning, given the meaning of each of its atoms."""
        signed = [(truths[self.context.atoms[place // 2]], place % 2) for place in self.literals]
        return logic.either(*[logic.no(holds) if negated else holds for holds, negated in signed])

    def meaning(self, run: Abstraction, now: AbstractState, things: Mapping[str, Any]) -> Truth:
        """Its meaning for these things."""
        atoms = [self.context.atoms[place // 2] for place in self.literals]
        return self.of({atom: _meaning(atom, run, now, things) for atom in atoms}, run.logic)

    def of_all(self, run: Abstraction, now: AbstractState) -> Truth:
        """Its meaning for all processes and messages."""
        processes, messages, l = self.context.processes, self.context.messages, run.logic

        def of_messages(known: Mapping[str, Any]) -> Truth:
            if not messages:
                return self.meaning(run, now, known)
            holds = lambda *some: self.meaning(run, now, {**known, **dict(zip(messages, some, strict=True))})  # noqa: E731
            return l.messages(holds, of=len(messages))

        if not processes:
            return of_messages({})
        return l.processes(lambda *some: of_messages(dict(zip(processes, some, strict=True))), of=len(processes))

    def __str__(self) -> str:
        """As it is read: what is given, and what is then."""
        said = [(self.context.atoms[place // 2], not place % 2) for place in self.literals]
        then = [each for each in said if each[1]] or said[-1:]
        given = [_said(atom, not holds) for atom, holds in said if (atom, holds) not in then]
        shows = " ∨ ".join(_said(*each) for each in then)
        of = {name for atom, _ in said for name in atom.variables()}
        names = ", ".join(name for name in self.context.names if name in of)
        return f"for all {names}: {' ∧ '.join(given)} ⇒ {shows}" if given else f"for all {names}: {shows}"


def _said(atom: Atom, holds: bool) -> str:
    if atom.right is None:
        return f"{'' if holds else '¬'}{atom.left}"
    return f"{atom.left} {({'=': '=', '<': '<'} if holds else {'=': '≠', '<': '≥'})[atom.relation]} {atom.right}"


def _meaning(atom: Atom, run: Abstraction, now: AbstractState, things: Mapping[str, Any]) -> Truth:
    left, *right = (_value(term, run, now, things) for term in atom.terms)
    if atom.relation == "holds":
        return left
    return left == right[0] if atom.relation == "=" else left < right[0]


def _value(term: Term, run: Abstraction, now: AbstractState, things: Mapping[str, Any]) -> Any:
    if term == CLOCK:
        return now.clock
    if not term.of:
        return things[term.name]
    function = getattr(now if term.name in run.changing else run, term.name)
    return function(*[_value(each, run, now, things) for each in term.of])


# -- in a table --------------------------------------------------------------------------------------------------------


def choices(context: Context, now: TabulatedState) -> dict[str, Array]:
    """The thing each variable stands for, in every choice of things of that state."""
    sizes = [now.n] * len(context.processes) + [now.messages] * len(context.messages)
    return dict(zip(context.names, np.indices(sizes).reshape(len(sizes), -1), strict=True))


def truths(context: Context, now: TabulatedState) -> Array:
    """For every choice of things (rows), which atoms hold (columns)."""
    things = choices(context, now)
    size = len(next(iter(things.values())))
    known: dict[Term, Array] = {Term(name): of for name, of in things.items()} | {CLOCK: np.full(size, now.clock)}

    def value(term: Term) -> Array:
        if term not in known:
            known[term] = now.values[term.name][tuple(value(each) for each in term.of)]
        return known[term]

    held = np.empty((size, len(context.atoms)), dtype=bool)
    for k, atom in enumerate(context.atoms):
        left, *right = (value(term) for term in atom.terms)
        held[:, k] = left if not right else left == right[0] if atom.relation == "=" else left < right[0]
    return held


# -- from the signatures -----------------------------------------------------------------------------------------------


def contexts(kind: type[Abstraction]) -> tuple[Context, ...]:
    """One process; one message; both; two messages; and a process with them."""
    return (
        _context(kind, ("p",), (), SHORT),
        _context(kind, (), ("x",), SHORT),
        _context(kind, ("p",), ("x",), SHORT),
        _context(kind, (), ("x", "y"), LONG, together_plain=LONGEST),
        _context(kind, ("p",), ("x", "y"), SHORT),
    )


def _context(
    kind: type[Abstraction],
    processes: tuple[str, ...],
    messages: tuple[str, ...],
    together: int,
    together_plain: int = 0,
) -> Context:
    parts = {**kind.changing, **kind.lasting}
    variables: dict[Sort, list[Term]] = {"process": [*map(Term, processes)], "message": [*map(Term, messages)]}
    terms = {sort: list(some) for sort, some in variables.items()}
    if not messages:
        terms["message"] += _applied(parts, "message", variables)
    terms["process"] += _applied(parts, "process", {"process": [], "message": terms["message"]})
    found = [Atom("holds", term) for term in _applied(parts, "truth", terms)]
    found += [equal(*pair) for pair in chain(*(combinations(each, 2) for each in terms.values()))]
    if messages:
        referred = _applied(parts, "message", {"process": terms["process"], "message": []})
        found += [equal(*pair) for pair in product(variables["message"], referred)]
    for name, part in parts.items():
        if part.is_ == "number":
            numbers = _applied({name: part}, "number", terms)
            found += [Atom("<", *pair) for pair in product(numbers, repeat=2) if pair[0] != pair[1]]
            if part.of == ("message",):
                found += [Atom("<", number, CLOCK) for number in numbers]
    atoms = tuple(dict.fromkeys(found))
    plain = frozenset(atom for atom in atoms if _is_plain(atom, variables["message"]))
    return Context(processes, messages, atoms, together, max(together, together_plain), plain)


def _applied(parts: Mapping[str, Part], is_: Sort, terms: Mapping[Sort, Sequence[Term]]) -> list[Term]:
    """Every function with such values, of these terms."""
    return [
        Term(name, some)
        for name, part in parts.items()
        if part.is_ == is_ and all(sort in terms for sort in part.of)
        for some in product(*[terms[sort] for sort in part.of])
    ]


def _is_plain(atom: Atom, messages: Sequence[Term]) -> bool:
    """True if it is about one stage of a message, compares a number of each of two, or says that the same process is
    at the same end of both.
    """
    names = {term.name for term in atom.terms if term.of}
    alike = len(names) <= 1 and CLOCK not in atom.terms
    return alike and all(not term.of or (len(term.of) == 1 and term.of[0] in messages) for term in atom.terms)


#: Called with how far a search has come.
Progress = Callable[[str], None]
