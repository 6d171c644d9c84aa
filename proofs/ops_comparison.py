"""Machine arithmetic (`ops.Integers`) and proof arithmetic (`terms.Terms`) compared, operation by operation.

That is no theorem but a comparison: each operation, and each operator of a `Symbol`, is a small program (`PROGRAMS`)
that is run on integers and on terms, which are then given the same values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import z3

from crownless.impl.ops import Integers, Ops

from .comprehensions import eliminate_lambdas
from .ground import finite_sort, ground_over
from .symbols import Symbol, SymbolicOps
from .terms import Term, Terms

#: Small values, all of which are tried together, and ones at which machine integers end or saturate.
SMALL = (-1, 0, 2)
LARGE = (
    *SMALL,
    1,
    3,
    -2,
    127,
    255,
    256,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    -(2**31),
    2**53 + 1,
    2**63 - 1,
    2**64,
    -(2**63),
)


class Given(NamedTuple):
    """The arguments of a program: processes, numbers, vectors, matrices."""

    i: Any = None
    j: Any = None
    p: Any = None
    q: Any = None
    a: Any = None
    b: Any = None
    x: Any = None
    y: Any = None


Program = Callable[[Any, Given], Any]

#: operation → what it is given, and programs that use it.
PROGRAMS: Mapping[str, Sequence[tuple[str, Program]]] = {
    "vector": (
        ("ab", lambda ops, g: ops.vector(lambda k: g.a[k] - 2 * g.b[k])),
        ("ai", lambda ops, g: ops.vector(lambda k: g.a[k] * ops.one_if(k == g.i) + 1)),
    ),
    "matrix": (
        ("x", lambda ops, g: ops.matrix(lambda k, l: g.x[k][l] - 2 * g.x[l][k])),
        ("aij", lambda ops, g: ops.matrix(lambda k, l: g.a[k] + 3 * ops.one_if(k == g.i, l == g.j))),
    ),
    "every": (
        ("ab", lambda ops, g: ops.every(lambda k: g.a[k] <= g.b[k])),
        ("", lambda ops, g: ops.every(lambda k: True)),
        ("", lambda ops, g: ops.every(lambda k: False)),
    ),
    "all_of": (
        ("", lambda ops, g: ops.all_of()),
        ("pq", lambda ops, g: ops.all_of(g.p <= g.q)),
        ("pq", lambda ops, g: ops.all_of(g.p <= g.q, True, g.q <= g.p)),
        ("pq", lambda ops, g: ops.all_of(g.p == g.q, g.q > 0, g.p > 0)),
    ),
    "maximum": (
        ("pq", lambda ops, g: ops.maximum(g.p, g.q)),
        ("p", lambda ops, g: ops.maximum(g.p, 1)),
        ("ab", lambda ops, g: ops.maximum(g.a, g.b)),
        ("xy", lambda ops, g: ops.maximum(g.x, g.y)),
    ),
    "incremented": (
        ("ai", lambda ops, g: ops.incremented(g.a, g.i)),
        ("xij", lambda ops, g: ops.incremented(g.x, g.i, g.j)),
    ),
    "one_if": (
        ("", lambda ops, g: ops.one_if()),
        ("pq", lambda ops, g: ops.one_if(g.p < g.q)),
        ("pq", lambda ops, g: ops.one_if(g.p <= g.q, g.q <= g.p) + 2 * ops.one_if(g.p != g.q, True)),
        ("p", lambda ops, g: ops.one_if(g.p > 0, False)),
    ),
    "indicator": (
        ("ij", lambda ops, g: ops.indicator(g.i, (g.j,))),
        ("ij", lambda ops, g: ops.vector(lambda k: ops.indicator(k, (g.i, g.j)))),
        ("i", lambda ops, g: ops.indicator(g.i, ())),
    ),
}

#: The operators that a machine may use beside them.
OPERATORS: Sequence[tuple[str, Program]] = (
    ("pq", lambda ops, g: g.p + g.q),
    ("pq", lambda ops, g: g.p - g.q),
    ("pq", lambda ops, g: g.p * g.q),
    ("p", lambda ops, g: 1 + g.p * 2 - 3),
    ("p", lambda ops, g: 1 - -g.p),
    *(
        ("pq", compare)
        for compare in (
            lambda ops, g: g.p < g.q,
            lambda ops, g: g.p <= g.q,
            lambda ops, g: g.p > g.q,
            lambda ops, g: g.p >= g.q,
            lambda ops, g: g.p == g.q,
            lambda ops, g: g.p != g.q,
            lambda ops, g: (g.p < g.q) + 2 * (g.q < g.p),
            lambda ops, g: (g.p < g.q) != (g.q < 0),
            lambda ops, g: (g.p < g.q) == 1,
        )
    ),
    ("ij", lambda ops, g: g.i == g.j),
    ("ij", lambda ops, g: g.i != g.j),
    ("ai", lambda ops, g: g.a[g.i]),
    ("xij", lambda ops, g: g.x[g.i][g.j]),
    ("ab", lambda ops, g: g.a == g.b),
    ("ab", lambda ops, g: g.a != g.b),
    ("xi", lambda ops, g: g.x[g.i]),
)


@dataclass(frozen=True)
class Comparison:
    """How many cases were compared, and where the two differ."""

    compared: int
    differences: tuple[str, ...]
    scope: str


@cache
def compare_ops(
    integers: Callable[[int], Ops] = Integers,
    terms: Callable[[Term], Terms] = Terms,
    *,
    together: int = 9,
    some: int = 3,
    processes: int = 3,
    seed: int = 0,
) -> Comparison:
    """Compares all programs, up to so many processes: all small values where those are no more than `together`, and
    `some` random ones of any size. Names at most one difference of each program.
    """
    chance, compared, differences = random.Random(seed), 0, []
    every = [(name, each) for name, programs in PROGRAMS.items() for each in programs]
    every += [("an operator", each) for each in OPERATORS]
    for n in range(1, processes + 1):
        on_terms, on_integers = OnTerms(n, terms), integers(n)
        for name, (takes, program) in every:
            for chosen in product(range(n), repeat=sum(one in "ij" for one in takes)):
                agrees = on_terms.program(program, takes, chosen)
                for values in assignments(takes, n, chance, together, some):
                    compared += 1
                    expected = program(on_integers, _given(takes, chosen, values))
                    if not agrees(values, expected):
                        where = f"{name} of {n} processes, {takes or 'nothing'}: {(*chosen, *values.values())}"
                        differences.append(f"{where}: on integers {expected}, not so on terms")
                        break
    scope = f"1 to {processes} processes, small values and random ones of any size"
    return Comparison(compared, tuple(differences), scope)


def _given(takes: str, processes: Sequence[Any], values: Mapping[str, Any]) -> Given:
    return Given(**dict(zip([one for one in takes if one in "ij"], processes, strict=True)), **values)


def assignments(takes: str, n: int, chance: random.Random, together: int, some: int) -> Iterator[Mapping[str, Any]]:
    """Values for the numbers, vectors and matrices: all small ones where they are few, and random ones."""
    names = [one for one in takes if one not in "ij"]
    if not names:
        yield {}
        return
    entries = sum(_entries(one, n) for one in names)
    if len(SMALL) ** entries <= together:
        for values in product(SMALL, repeat=entries):
            yield _shaped(names, n, values)
    for _ in range(some):
        yield _shaped(names, n, [chance.choice(LARGE) + chance.choice((0, 0, 1)) for _ in range(entries)])


def _entries(name: str, n: int) -> int:
    return 1 if name in "pq" else n if name in "ab" else n * n


def _shaped(names: Sequence[str], n: int, values: Sequence[int]) -> dict[str, Any]:
    rest = iter(values)
    shaped: dict[str, Any] = {}
    for name in names:
        if name in "pq":
            shaped[name] = next(rest)
        elif name in "ab":
            shaped[name] = tuple(next(rest) for _ in range(n))
        else:
            shaped[name] = tuple(tuple(next(rest) for _ in range(n)) for _ in range(n))
    return shaped


class OnTerms:
    """Programs on terms over a sort of n processes, evaluated for values."""

    def __init__(self, n: int, terms: Callable[[Term], Terms]) -> None:
        self.n = n
        self.sort, self.processes = finite_sort(f"{n} processes", [f"process {k} of {n}" for k in range(n)])
        self.ops = SymbolicOps(terms(self.sort))

    def program(
        self, program: Program, takes: str, processes: Sequence[int]
    ) -> Callable[[Mapping[str, Any], Any], bool]:
        """Runs the program once for these processes; True if, for values of all else, it gives what is expected."""
        names = [one for one in takes if one not in "ij"]
        unknown = {name: self._shape(name) for name in names}
        symbols = {name: Symbol(self._array(entries)) for name, entries in unknown.items()}
        result = program(self.ops, _given(takes, [Symbol(self.processes[k]) for k in processes], symbols))
        entries = _flat(self._read(result._term))
        variables = [one for name in names for one in _flat(unknown[name])]

        def agrees(values: Mapping[str, Any], expected: Any) -> bool:
            numbers = [z3.IntVal(one) for name in names for one in _flat(values[name])]
            same = z3.And([entry == one for entry, one in zip(entries, _flat(expected), strict=True)])
            return bool(z3.is_true(z3.simplify(z3.substitute(same, *zip(variables, numbers, strict=True)))))

        return agrees

    def _shape(self, name: str) -> Any:
        if name in "pq":
            return z3.Int(name)
        if name in "ab":
            return tuple(z3.Int(f"{name}{k}") for k in range(self.n))
        return tuple(tuple(z3.Int(f"{name}{k}{l}") for l in range(self.n)) for k in range(self.n))

    def _array(self, entries: Any) -> Term:
        """A number, or an array of these entries, by process."""
        if not isinstance(entries, tuple):
            return entries
        rows = [self._array(entry) for entry in entries]
        array = z3.K(self.sort, rows[0])
        for process, row in zip(self.processes, rows, strict=True):
            array = z3.Store(array, process, row)
        return array

    def _read(self, term: Term) -> Any:
        if term.sort_kind() == z3.Z3_ARRAY_SORT:
            return tuple(self._read(term[process]) for process in self.processes)
        term = z3.simplify(term)
        if z3.is_bool(term):
            term = z3.simplify(ground_over(eliminate_lambdas(term), {self.sort: self.processes}))
        return term


def _flat(value: Any) -> list[Any]:
    return [one for part in value for one in _flat(part)] if isinstance(value, tuple) else [value]
