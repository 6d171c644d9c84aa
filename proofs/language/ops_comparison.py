"""Machine arithmetic (`ops.Integers`) and proof arithmetic (`terms.Terms`) compared, operation by operation.

That is no theorem but a comparison: each operation, and each operator of a `Symbol`, is a small program (`PROGRAMS`)
that is run on integers and on terms, which are then given the same values: random ones, and operands that are alike but
for one or two places, where a fault at a single place shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import z3

from crownless.impl.ops import Integers, Ops

from .symbols import Symbol, SymbolicOps
from .term_values import N, evaluation
from .terms import Term, Terms

#: The numbers of processes for which the operations are compared.
SIZES = range(1, 6)
#: Cases for each choice of processes: with operands of any value, and with operands that are nearly alike.
RANDOM, ALIKE = 4, 40
#: Small values, and ones at which machine integers end or saturate.
VALUES = (
    *(-2, -1, 0, 0, 1, 1, 2, 3, 10, 127, 255, 256),
    *(2**15, 2**31 - 1, 2**31, 2**32, -(2**31), 2**53 + 1, 2**63 - 1, 2**64, -(2**63)),
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
    scope: str = f"{SIZES[0]} to {SIZES[-1]} processes: random values, and operands alike but for a place or two"


@cache
def compare_ops(
    integers: Callable[[int], Ops] = Integers, terms: Callable[[Term], Terms] = Terms, *, seed: int = 0
) -> Comparison:
    """Compares the programs; names at most one difference of each."""
    chance, compared, differences = random.Random(seed), 0, []
    for name, (takes, program) in EVERY:
        on_terms = run_on_terms(program, takes, terms)
        cases = ((n, values) for n in SIZES for values in assignments(takes, n, chance))
        for n, values in cases:
            compared += 1
            expected = program(integers(n), Given(**values))
            if on_terms(n, values) != expected:
                where = f"{name} of {n} processes, {takes or 'nothing'}: {tuple(values.values())}"
                differences.append(f"{where}: on integers {expected}, not so on terms")
                break
    return Comparison(compared, tuple(differences))


def assignments(takes: str, n: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Values for the arguments of a program, for every choice of processes."""
    chosen, operands = [one for one in takes if one in "ij"], [one for one in takes if one in _ENTRIES]
    everyone = {"s": tuple(range(n))} if "s" in takes else {}
    for processes in product(range(n), repeat=len(chosen)):
        for case in range(RANDOM + ALIKE if operands else 1):
            fixed = {**dict(zip(chosen, processes, strict=True)), **everyone}
            first = [chance.choice(VALUES) for _ in range(max((_ENTRIES[one](n) for one in operands), default=0))]
            for one in operands:
                entries = first[: _ENTRIES[one](n)]
                if case < RANDOM:
                    entries = [chance.choice(VALUES) for _ in entries]
                elif one != operands[0]:
                    for place in chance.sample(range(len(entries)), min(len(entries), chance.choice((0, 1, 1, 2)))):
                        entries[place] += chance.choice((-7, -1, 1, 7))
                fixed[one] = _shaped(one, n, entries)
            yield fixed


_ENTRIES: Mapping[str, Callable[[int], int]] = {
    **dict.fromkeys("pq", lambda n: 1),
    **dict.fromkeys("ab", lambda n: n),
    **dict.fromkeys("xy", lambda n: n * n),
}


def _shaped(operand: str, n: int, entries: Sequence[int]) -> Any:
    """The entries as a number, a vector or a matrix."""
    if operand in "pq":
        return entries[0]
    return tuple(entries) if operand in "ab" else tuple(tuple(entries[k * n : (k + 1) * n]) for k in range(n))


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
