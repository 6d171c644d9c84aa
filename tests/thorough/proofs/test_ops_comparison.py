"""What z3 checks is what runs: each operation, and each operator, gives the same on terms and on integers.

Terms are evaluated by z3 itself, over a sort of n processes. Operands are of any size, or alike but for a place or two,
where a fault at a single place shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from random import Random
from typing import Any, NamedTuple

import z3

from crownless.impl.ops import Integers, Ops
from crownless.proofs.language.arrays import eliminate_lambdas
from crownless.proofs.language.ground import finite_sort, ground_over
from crownless.proofs.language.symbols import Symbol, SymbolicOps
from crownless.proofs.language.terms import Term, Terms


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
        ("", lambda ops, g: ops.all_of(ops.every(lambda k: True))),
        ("", lambda ops, g: ops.every(lambda k: False)),
    ),
    "all_of": (
        ("", lambda ops, g: ops.all_of()),
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
        ("pq", lambda ops, g: ops.one_if(g.p <= g.q, g.q <= g.p) + 2 * ops.one_if(g.p != g.q, True)),
        ("p", lambda ops, g: ops.one_if(g.p > 0, False)),
    ),
    "indicator": (
        ("ij", lambda ops, g: ops.indicator(g.i, (g.j,))),
        ("ij", lambda ops, g: ops.vector(lambda k: ops.indicator(k, (g.i, g.j)))),
        ("i", lambda ops, g: ops.indicator(g.i, ())),
        ("is", lambda ops, g: ops.indicator(g.i, g.s)),
        ("is", lambda ops, g: ops.indicator(g.i, g.s[::-2])),
    ),
    "an operator": (
        *(("pq", lambda ops, g, of=of: of(g.p, g.q)) for of in (
            lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: 1 + p * 2 - 3, lambda p, q: 1 - -p,
            lambda p, q: p < q, lambda p, q: p <= q, lambda p, q: p > q, lambda p, q: p >= q, lambda p, q: p == q,
            lambda p, q: p != q, lambda p, q: (p < q) + 2 * (q < p), lambda p, q: (p < q) != (q < 0),
        )),
        ("ij", lambda ops, g: g.i == g.j),
        ("ij", lambda ops, g: g.i != g.j),
        ("ai", lambda ops, g: g.a[g.i]),
        ("xij", lambda ops, g: g.x[g.i][g.j]),
        ("ab", lambda ops, g: g.a == g.b),
        ("ab", lambda ops, g: g.a != g.b),
        ("xi", lambda ops, g: g.x[g.i]),
    ),
}  # fmt: skip

EVERY = [(name, *program) for name, programs in PROGRAMS.items() for program in programs]
VALUES = (-2, -1, 0, 0, 1, 1, 2, 3, 127, 255, 256, 2**31, 2**53 + 1, 2**63 - 1, 2**64, -(2**63))


@cache
def cases() -> list[tuple[str, str, Program, int, dict[str, Any]]]:
    """Each program with a few random operands, at up to five processes; and then ones that differ in one place."""
    random, found = Random(1), []
    for (name, takes, program), n in product(EVERY, range(1, 6)):
        sizes = {"p": 1, "q": 1, "a": n, "b": n, "x": n * n, "y": n * n}
        for case in range(3 * n if any(one in sizes for one in takes) else n):
            values: dict[str, Any] = {one: random.randrange(n) for one in takes if one in "ij"}
            first = [random.choice(VALUES) for _ in range(n * n)]
            for number, one in enumerate(one for one in takes if one in sizes):
                entries = list(first[: sizes[one]])
                if number and case % 3:
                    entries[case % len(entries)] += random.choice((-1, 1))
                elif number:
                    entries = [random.choice(VALUES) for _ in entries]
                shaped = entries[0] if one in "pq" else tuple(entries)
                values[one] = tuple(zip(*[iter(entries)] * n, strict=True)) if one in "xy" else shaped
            found.append((name, takes, program, n, values))
    return found


@cache
def of_processes(n: int) -> tuple[Term, Sequence[Term]]:
    return finite_sort(f"{n} processes", [f"process {k} of {n}" for k in range(n)])


def on_terms(program: Program, takes: str, n: int, values: Mapping[str, Any]) -> Any:
    sort, processes = of_processes(n)

    def term(value: Any) -> Term:
        if not isinstance(value, tuple):
            return z3.IntVal(value)
        array = z3.K(sort, term(value[0]))
        for process, entry in zip(processes, value, strict=True):
            array = z3.Store(array, process, term(entry))
        return array

    def value(term: Term) -> Any:
        if term.sort_kind() == z3.Z3_ARRAY_SORT:
            return tuple(value(term[process]) for process in processes)
        found = z3.simplify(ground_over(eliminate_lambdas(term), {sort: processes}) if z3.is_bool(term) else term)
        return found.as_long() if z3.is_int_value(found) else {"True": True, "False": False}[str(found)]

    given = {one: Symbol(processes[value] if one in "ij" else term(value)) for one, value in values.items()}
    everyone = tuple(map(Symbol, processes)) if "s" in takes else ()
    return value(program(SymbolicOps(Terms(sort)), Given(**given, s=everyone))._term)


def test_integers_and_terms_agree_on_every_operation() -> None:
    differences = {
        name
        for name, takes, program, n, values in cases()
        if program(Integers(n), Given(**values, s=tuple(range(n)) if "s" in takes else ()))
        != on_terms(program, takes, n, values)
    }
    assert differences == set()
    operations = {name for name, value in vars(Ops).items() if callable(value) and not name.startswith("_")}
    assert PROGRAMS.keys() == operations | {"an operator"}
    operators = ["add", "radd", "sub", "rsub", "mul", "rmul", "neg", "lt", "le", "gt", "ge", "eq", "ne", "getitem"]
    refused = ["bool", "iter", "len", "contains", "hash", "index", "int"]
    own = {name.strip("_") for name in vars(Symbol) if name.startswith("__") and callable(getattr(Symbol, name))}
    assert own - {"init", "repr"} == {*operators, *refused}
