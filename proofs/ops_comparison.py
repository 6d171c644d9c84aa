"""Machine arithmetic (`ops.Integers`) and proof arithmetic (`terms.Terms`) compared, operation by operation.

That is no theorem but a comparison: each operation, and each operator of a `Symbol`, is a small program (`PROGRAMS`)
that is run on integers and on terms, which are then given the same values. Of the numbers of
processes in `SIZES` a fault at a single place shows, whichever entry, process or condition that is (`distinguishing`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations, product
from typing import Any, NamedTuple

import z3

from crownless.impl.ops import Integers, Ops

from .symbols import Symbol, SymbolicOps
from .term_values import N, evaluation
from .terms import Term, Terms

#: The numbers of processes for which the operations are compared.
SIZES = range(1, 10)

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
    """The arguments of a program: processes, all of them in order, numbers, vectors, matrices."""

    i: Any = None
    j: Any = None
    s: Any = ()
    p: Any = None
    q: Any = None
    a: Any = None
    b: Any = None
    x: Any = None
    y: Any = None


Program = Callable[[Any, Given], Any]


def _indicator_without(place: int, ops: Any, g: Given) -> Any:
    """The indicator of all processes but the one at that place."""
    return ops.indicator(g.i, (*g.s[:place], *g.s[place + 1 :]))


#: operation → what it is given, and programs that use it.
PROGRAMS: Mapping[str, Sequence[tuple[str, Program]]] = {
    "vector": (
        ("ab", lambda ops, g: ops.vector(lambda k: g.a[k] - 2 * g.b[k])),
        ("ai", lambda ops, g: ops.vector(lambda k: g.a[k] * ops.one_if(k == g.i) + 1)),
    ),
    "matrix": (
        ("x", lambda ops, g: ops.matrix(lambda k, l: g.x[k][l] - 2 * g.x[l][k])),
        ("ai", lambda ops, g: ops.matrix(lambda k, l: g.a[k] + 3 * ops.one_if(k == g.i, l != g.i))),
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
        ("sab", lambda ops, g: ops.all_of(*[g.a[k] <= g.b[k] for k in g.s])),
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
        ("sab", lambda ops, g: ops.one_if(*[g.a[k] <= g.b[k] for k in g.s])),
    ),
    "indicator": (
        ("ij", lambda ops, g: ops.indicator(g.i, (g.j,))),
        ("ij", lambda ops, g: ops.vector(lambda k: ops.indicator(k, (g.i, g.j)))),
        ("i", lambda ops, g: ops.indicator(g.i, ())),
        ("is", lambda ops, g: ops.indicator(g.i, g.s)),
        ("is", lambda ops, g: ops.indicator(g.i, g.s[::-2])),
        *(("is", partial(_indicator_without, place)) for place in range(SIZES[-1])),
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


#: Each program with the operation it is of.
EVERY: Sequence[tuple[str, tuple[str, Program]]] = (
    *((name, program) for name, programs in PROGRAMS.items() for program in programs),
    *(("an operator", program) for program in OPERATORS),
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
    some: int = 1,
    programs: Sequence[tuple[str, tuple[str, Program]]] = EVERY,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> Comparison:
    """Compares the programs: all small values where those are no more than `together`, those that distinguish each
    place, and `some` random ones of any size. Names at most one difference of each program.
    """
    chance, compared, differences = random.Random(seed), 0, []
    for name, (takes, program) in programs:
        cases = ((n, values) for n in sizes for values in assignments(takes, n, chance, together, some))
        on_terms = run_on_terms(program, takes, terms)
        for n, values in cases:
            compared += 1
            expected = program(integers(n), Given(**values))
            if on_terms(n, values) != expected:
                where = f"{name} of {n} processes, {takes or 'nothing'}: {tuple(values.values())}"
                differences.append(f"{where}: on integers {expected}, not so on terms")
                break
    scope = (
        f"{sizes[0]} to {sizes[-1]} processes: small values, random ones, and 0, 1 and multiples of 10, changed by 1 "
        "or 7 at one place or two"
    )
    return Comparison(compared, tuple(differences), scope)


def assignments(takes: str, n: int, chance: random.Random, together: int, some: int) -> Iterator[dict[str, Any]]:
    """Values for the arguments of a program: of every choice of processes, all small numbers where they are few, those
    that distinguish each place, and random ones.
    """
    names, chosen = [one for one in takes if one in _ENTRIES], [one for one in takes if one in "ij"]
    entries = [_ENTRIES[one](n) for one in names]
    everyone = {"s": tuple(range(n))} if "s" in takes else {}

    def numbers() -> Iterator[Sequence[int]]:
        yield from product(SMALL, repeat=sum(entries)) if len(SMALL) ** sum(entries) <= together else ()
        yield from distinguishing(len(names), max(entries, default=0))
        for _ in range(some):
            yield [chance.choice(LARGE) + chance.choice((0, 0, 1)) for _ in range(sum(entries))]

    for processes in product(range(n), repeat=len(chosen)):
        for values in numbers() if names else [()]:
            yield {**dict(zip(chosen, processes, strict=True)), **everyone, **_shaped(names, n, values)}


def distinguishing(operands: int, entries: int) -> Iterator[Sequence[int]]:
    """Operands of entries that all differ, that are all 0, and all 1. Those of a second operand are one less, the same
    and one greater, in turn; and the same but for one place, or two of few, where they are less, or greater.
    """
    for first in ([10 * (k + 1) for k in range(entries)], [0] * entries, [1] * entries):
        if operands < 2:
            yield first
            continue
        for turn in range(3):
            yield [*first, *(value + (k + turn) % 3 - 1 for k, value in enumerate(first))]
        places = [{k} for k in range(entries)]
        if entries <= SIZES[-1]:
            places += [set(pair) for pair in combinations(range(entries), 2)]
        for changed, more in product(places, (-7, -1, 1, 7)):
            yield [*first, *(value + more * (k in changed) for k, value in enumerate(first))]


_ENTRIES: Mapping[str, Callable[[int], int]] = {
    **dict.fromkeys("pq", lambda n: 1),
    **dict.fromkeys("ab", lambda n: n),
    **dict.fromkeys("xy", lambda n: n * n),
}


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


def run_on_terms(
    program: Program, takes: str, terms: Callable[[Term], Terms] = Terms
) -> Callable[[int, Mapping[str, Any]], Any]:
    """Runs a program on terms: what it gives for n processes and values of its arguments. Only a program that is given
    all processes is run again for another n.
    """
    ops = terms(z3.DeclareSort("Process"))
    constants: dict[str, Callable[[str], Term]] = {
        **dict.fromkeys("ij", ops.any_process),
        **dict.fromkeys("pq", z3.Int),
        **dict.fromkeys("ab", ops.any_vector),
        **dict.fromkeys("xy", ops.any_matrix),
    }
    given = {one: Symbol(constants[one](one)) for one in takes if one in constants}

    @cache
    def run(everyone: range) -> Callable[[Mapping[str, Any]], Any]:
        some = tuple(Symbol(ops.any_process(f"process {k}")) for k in everyone)
        return evaluation(program(SymbolicOps(ops), Given(**given, s=some))._term)

    def value(n: int, values: Mapping[str, Any]) -> Any:
        everyone = range(n if "s" in takes else 0)
        return run(everyone)({N: n, **{f"process {k}": k for k in everyone}, **values})

    return value
