"""The grammar of candidate invariants over the variables of a run, the same for every protocol.

Its words are the protocol's own variables, found by their shape (a number, a vector or a matrix at each process, and in
each stamp), and the history variables of the run. Its sentences state relations of all processes and messages, or that
under some relations one number is at most another, or one more, or one less. ⇔ and = are two sentences each. Every word
has two meanings: on terms of z3, and on many plain states at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import z3

from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.language.terms import Term

from .numeric_states import NumericState

# -- words -------------------------------------------------------------------------------------------------------------


class Process(NamedTuple):
    """A process variable, or the sender or receiver of a message."""

    of: str
    role: str = ""

    def __str__(self) -> str:
        return f"{self.role}({self.of})" if self.role else self.of


class Number(NamedTuple):
    """A number: 0, a message's number, the number of messages sent on a channel, or an entry of a protocol variable."""

    kind: str  #: "zero", "number", "count", "local" or "stamp"
    of: str | Process = ""  #: the owner: a message or a process
    at: tuple[Process, ...] = ()  #: the entry
    leaf: int = 0  #: the protocol variable, by place


class Literal(NamedTuple):
    """A relation or its negation."""

    relation: str
    of: tuple[str | Process, ...]
    holds: bool = True

    @property
    def negated(self) -> Literal:
        return self._replace(holds=not self.holds)


class Bound(NamedTuple):
    """``less ≤ more + by``."""

    less: Number
    more: Number
    by: int


class Clause(NamedTuple):
    """For all processes and messages: if all of `given` hold, so does `then`."""

    given: tuple[Literal, ...]
    then: Literal | Bound


class Leaf(NamedTuple):
    """One of a protocol's variables: its name, its place in the value, and its number of indices."""

    name: str
    path: tuple[int, ...]
    rank: int


def leaves(value: Any, name: str, path: tuple[int, ...] = ()) -> list[Leaf]:
    """The variables in a protocol's value, given as terms; `name` names a single one."""
    if isinstance(value, tuple):
        names = [field.upper() for field in value._fields] if hasattr(value, "_fields") else [name] * len(value)
        return [leaf for k, part in enumerate(value) for leaf in leaves(part, names[k], (*path, k))]
    if not z3.is_expr(value):  # a constant of the protocol
        return []
    rank, sort = _rank(value)
    return [Leaf(name, path, rank)] if sort == z3.IntSort() else []


def _rank(value: Term) -> tuple[int, Term]:
    """The number of indices of an entry, and its sort."""
    rank, sort = 0, value.sort()
    while sort.kind() == z3.Z3_ARRAY_SORT:
        rank, sort = rank + 1, sort.range()
    return rank, sort


@dataclass(frozen=True)
class Vocabulary:
    """The variables of a protocol: of a process and of a stamp."""

    local: tuple[Leaf, ...]
    stamp: tuple[Leaf, ...]

    @classmethod
    def of(cls, run: AnyRun) -> Vocabulary:
        return cls(
            tuple(leaves(run.before.local(run.i), "state")),
            tuple(leaves(run.stamp(run.m), "stamp")),
        )


# -- sentences ---------------------------------------------------------------------------------------------------------

LEAST, MOST = -1, 1  # of `Bound.by`


@dataclass(frozen=True, eq=False)
class Context:
    """Some variables; the candidates are the sentences built from them."""

    processes: tuple[str, ...]
    messages: tuple[str, ...]
    numbers: tuple[Number, ...]
    #: The pairs of them that are compared.
    compared: Callable[[Number, Number], bool]
    #: The conditions for comparing them.
    given: tuple[tuple[Literal, ...], ...]
    relations: tuple[Literal, ...]
    #: The greatest number of literals in a sentence without numbers.
    together: int

    def bounds(self) -> Iterator[tuple[tuple[Literal, ...], list[tuple[int, int]]]]:
        """Under each condition, the pairs of numbers that are compared, by their places in `numbers`."""
        places = {number: k for k, number in enumerate(self.numbers)}
        for given in self.given:
            fixed = {process.of for literal in given for process in _processes(literal.of) if not process.role}
            pairs = []
            for a, b in product(self.numbers, self.numbers):
                if a != b and self.compared(a, b):
                    first_come = [name for name in _variables(a, b) if name not in fixed]
                    if first_come == [name for name in self.processes if name not in fixed][: len(first_come)]:
                        pairs.append((places[a], places[b]))
            yield given, pairs

    def disjunctions(self) -> Iterator[tuple[Literal, ...]]:
        """Sets of literals whose disjunction may always hold."""
        for size in range(1, self.together + 1):
            for some in combinations(self.relations, size):
                for signs in product((True, False), repeat=size):
                    yield tuple(literal._replace(holds=sign) for literal, sign in zip(some, signs, strict=True))


def _processes(of: Iterable[str | Process]) -> list[Process]:
    return [thing for thing in of if isinstance(thing, Process)]


def _variables(*numbers: Number) -> list[str]:
    """Their process variables, in order of appearance."""
    names = [place.of for number in numbers for place in _processes((number.of, *number.at)) if not place.role]
    return list(dict.fromkeys(names))


def contexts(vocabulary: Vocabulary) -> tuple[Context, ...]:
    """Three processes; a message and two processes; two messages and a process."""
    return _of_processes(vocabulary), _of_a_message(vocabulary), _of_two_messages(vocabulary)


def _entries(kind: str, of: str | Process, some: Sequence[Leaf], places: Sequence[Process]) -> Iterator[Number]:
    for k, leaf in enumerate(some):
        for at in product(places, repeat=leaf.rank):
            yield Number(kind, of, at, k)


def _of_processes(vocabulary: Vocabulary) -> Context:
    places = Process("p"), Process("k"), Process("l")
    numbers = [
        Number("zero"),
        *(Number("count", "", at) for at in product(places, repeat=2)),
        *(entry for place in places for entry in _entries("local", place, vocabulary.local, places)),
    ]
    return Context(("p", "k", "l"), (), tuple(numbers), lambda a, b: True, ((),), (), 0)


def _circumstances(always: tuple[Literal, ...], maybe: Sequence[Literal]) -> tuple[tuple[Literal, ...], ...]:
    """The literals that always hold, and up to two others."""
    some = [
        chosen
        for size in range(3)
        for chosen in combinations(maybe, size)
        if not any(a.negated in chosen for a in chosen)
    ]
    return tuple((*always, *chosen) for chosen in some)


def _of_a_message(vocabulary: Vocabulary) -> Context:
    x, p = "x", Process("p")
    sender, receiver = Process(x, "sender"), Process(x, "receiver")
    places = (p, Process("k"), sender, receiver)
    own = [Number("number", x), *_entries("stamp", x, vocabulary.stamp, places)]
    others = [
        Number("zero"),
        *(Number("count", "", at) for at in product(places, repeat=2)),
        *(entry for place in places for entry in _entries("local", place, vocabulary.local, places)),
    ]
    delivered, knows = Literal("delivered", (x,)), Literal("knows", (p, x))
    maybe = [delivered, delivered.negated, knows, knows.negated]
    relations = (
        Literal("sent", (x,)),
        delivered,
        Literal("is its number", (x,)),
        knows,
        Literal("knows", (sender, x)),
        Literal("knows", (receiver, x)),
        Literal("same process", (sender, receiver)),
    )
    its = frozenset(own)
    return Context(
        ("p", "k"),
        (x,),
        (*own, *others),
        lambda a, b: a in its or b in its,
        _circumstances((Literal("sent", (x,)),), maybe),
        relations,
        3,
    )


def _of_two_messages(vocabulary: Vocabulary) -> Context:
    x, m, k = "x", "m", Process("k")
    ends = [Process(message, role) for message in (x, m) for role in ("sender", "receiver")]
    of_x = [Number("number", x), *_entries("stamp", x, vocabulary.stamp, (k, *ends))]
    of_m = [Number("number", m), *_entries("stamp", m, vocabulary.stamp, (k, *ends))]
    precedes, delivered = Literal("precedes", (x, m)), Literal("delivered", (x,))
    other = Literal("same message", (x, m), False)
    maybe = [precedes, precedes.negated, delivered, delivered.negated, other]
    relations = (
        Literal("sent", (x,)),
        Literal("sent", (m,)),
        delivered,
        precedes,
        other.negated,
        Literal("same process", (ends[0], ends[2])),
        Literal("same process", (ends[1], ends[3])),
        Literal("knows", (k, x)),
        Literal("knows", (ends[2], x)),
        Literal("knows", (ends[3], x)),
    )
    first, second = frozenset(of_x), frozenset(of_m)
    return Context(
        ("k",),
        (x, m),
        (*of_x, *of_m, Number("zero")),
        lambda a, b: (a in first and b in second) or (a in second and b in first),
        _circumstances((Literal("sent", (x,)), Literal("sent", (m,))), maybe),
        relations,
        3,
    )


# -- meaning, on terms -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnTerms:
    """The meaning of a sentence in a state of any run, with its variables bound to these things."""

    run: AnyRun
    now: SymbolicState
    things: Mapping[str, Term]

    def process(self, process: Process) -> Term:
        thing = self.things[process.of]
        return getattr(self.run, process.role)(thing) if process.role else thing

    def number(self, number: Number) -> Term:
        run, at = self.run, [self.process(place) for place in number.at]
        if number.kind == "zero":
            return z3.IntVal(0)
        if number.kind == "number":
            return run.number(self.things[str(number.of)])
        if number.kind == "count":
            return self.now.count(*at)
        if number.kind == "stamp":
            value = run.stamp(self.things[str(number.of)])
        else:
            assert isinstance(number.of, Process)
            value = self.now.local(self.process(number.of))
        entry = leaf_terms(value)[number.leaf]
        for place in at:
            entry = entry[place]
        return entry

    def holds(self, sentence: Literal | Bound) -> Term:
        if isinstance(sentence, Bound):
            return self.number(sentence.less) <= self.number(sentence.more) + sentence.by
        holds = self.relation(sentence)
        return holds if sentence.holds else z3.Not(holds)

    def relation(self, literal: Literal) -> Term:
        run, now = self.run, self.now
        of = [self.process(thing) if isinstance(thing, Process) else self.things[thing] for thing in literal.of]
        if literal.relation == "is its number":
            (x,) = of
            return run.numbered(run.sender(x), run.receiver(x), run.number(x)) == x
        if literal.relation.startswith("same"):
            return of[0] == of[1]
        relation = {"sent": now.sent, "delivered": now.delivered, "knows": now.knows, "precedes": run.precedes}
        return relation[literal.relation](*of)

    def clause(self, clause: Clause) -> Term:
        return z3.Or(*[z3.Not(self.holds(literal)) for literal in clause.given], self.holds(clause.then))


def leaf_terms(value: Any) -> list[Term]:
    """The terms that `leaves` describes, in the same order."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaf_terms(part)]
    return [value] if z3.is_expr(value) and _rank(value)[1] == z3.IntSort() else []


# -- meaning, on states ------------------------------------------------------------------------------------------------

Array = Any  # of numbers or truth values, by state and then as in `NumericState`


class NumericStates:
    """States with equal numbers of processes and messages, as arrays."""

    def __init__(self, vocabulary: Vocabulary, some: Sequence[NumericState]) -> None:
        self.n, self.messages, self.size = some[0].n, len(some[0].sender), len(some)

        def array(of: Callable[[NumericState], Any]) -> Array:
            return np.array([of(situation) for situation in some])

        self.local = [np.array([[_at(v, leaf.path) for v in s.local] for s in some]) for leaf in vocabulary.local]
        self.stamp = [np.array([[_at(v, leaf.path) for v in s.stamp] for s in some]) for leaf in vocabulary.stamp]
        self.role = {"sender": array(lambda s: s.sender), "receiver": array(lambda s: s.receiver)}
        self.number, self.count = array(lambda s: s.number), array(lambda s: s.count)
        self.relation = {
            "sent": array(lambda s: s.sent),
            "delivered": array(lambda s: s.delivered),
            "knows": array(lambda s: s.knows),
            "precedes": array(lambda s: s.precedes),
            "is its number": array(lambda s: s.is_its_number),
        }


def _at(value: Any, path: tuple[int, ...]) -> Any:
    for k in path:
        value = value[k]
    return value


class OnNumericStates:
    """The meaning of a sentence in states: a truth value for each choice of values for a context's variables."""

    def __init__(self, some: NumericStates, context: Context) -> None:
        self.some = some
        names = (*context.processes, *context.messages)
        sizes = [some.n if name in context.processes else some.messages for name in names]
        grid = np.indices((some.size, *sizes)).reshape(len(sizes) + 1, -1)
        self.which = grid[0]
        self.things = dict(zip(names, grid[1:], strict=True))
        self._known: dict[Any, Array] = {}

    def process(self, process: Process) -> Array:
        thing = self.things[process.of]
        return self.some.role[process.role][self.which, thing] if process.role else thing

    def number(self, number: Number) -> Array:
        if number not in self._known:
            self._known[number] = self._number(number)
        return self._known[number]

    def _number(self, number: Number) -> Array:
        some, at = self.some, [self.process(place) for place in number.at]
        if number.kind == "zero":
            return np.zeros(len(self.which), dtype=int)
        if number.kind == "number":
            return some.number[self.which, self.things[str(number.of)]]
        if number.kind == "count":
            return some.count[self.which, *at]
        if number.kind == "stamp":
            return some.stamp[number.leaf][self.which, self.things[str(number.of)], *at]
        assert isinstance(number.of, Process)
        return some.local[number.leaf][self.which, self.process(number.of), *at]

    def holds(self, literal: Literal) -> Array:
        if literal not in self._known:
            positive = literal._replace(holds=True)
            self._known[positive] = holds = self._relation(literal)
            self._known[positive.negated] = ~holds
        return self._known[literal]

    def _relation(self, literal: Literal) -> Array:
        of = [self.process(thing) if isinstance(thing, Process) else self.things[thing] for thing in literal.of]
        if literal.relation.startswith("same"):
            return of[0] == of[1]
        return self.some.relation[literal.relation][self.which, *of]

    def all_hold(self, literals: Iterable[Literal]) -> Array:
        together = np.ones(len(self.which), dtype=bool)
        for literal in literals:
            together = together & self.holds(literal)
        return together

    def broken(self, clause: Clause) -> Array:
        """The places where the sentence is false."""
        given = self.all_hold(clause.given)
        if isinstance(clause.then, Literal):
            return given & ~self.holds(clause.then)
        return given & (self.number(clause.then.less) > self.number(clause.then.more) + clause.then.by)
