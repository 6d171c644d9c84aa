"""The value of a z3 term for given values of its constants, at any number of processes: ints, truths and tuples.

Processes are 0, …, n - 1, vectors are tuples, matrices tuples of rows, as in `impl.ops.Integers`. A term is translated
once, into nested Python functions, so that it can be evaluated for many values; tests compare them with z3's own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import z3

from .terms import Term

#: Values of constants by name, and of bound variables, the innermost last → the value of a term.
_Value = Callable[[Mapping[str, Any], tuple[int, ...]], Any]

#: The value of `n` in the values of constants: the number of processes.
N = "n"


def _stored(array: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*array[:place], value, *array[place + 1 :])


_OPERATIONS: Mapping[int, Callable[..., Any]] = {
    z3.Z3_OP_TRUE: lambda: True,
    z3.Z3_OP_FALSE: lambda: False,
    z3.Z3_OP_AND: lambda *parts: all(parts),
    z3.Z3_OP_OR: lambda *parts: any(parts),
    z3.Z3_OP_NOT: operator.not_,
    z3.Z3_OP_ITE: lambda holds, this, other: this if holds else other,
    z3.Z3_OP_ADD: lambda *parts: sum(parts),
    z3.Z3_OP_SUB: operator.sub,
    z3.Z3_OP_MUL: lambda *parts: prod(parts),
    z3.Z3_OP_UMINUS: operator.neg,
    z3.Z3_OP_LE: operator.le,
    z3.Z3_OP_LT: operator.lt,
    z3.Z3_OP_GE: operator.ge,
    z3.Z3_OP_GT: operator.gt,
    z3.Z3_OP_EQ: operator.eq,
    z3.Z3_OP_DISTINCT: operator.ne,
    z3.Z3_OP_SELECT: operator.getitem,
    z3.Z3_OP_STORE: _stored,
}


def evaluation(term: Term) -> Callable[[Mapping[str, Any]], Any]:
    """The value of the term, as a function of the values of its constants and of `N`."""
    value = _translated(term)
    return lambda given: value(given, ())


def _translated(term: Term) -> _Value:
    if z3.is_var(term):
        place = -1 - z3.get_var_index(term)  # z3 numbers variables from the innermost
        return lambda given, bound: bound[place]
    if z3.is_quantifier(term):
        assert term.num_vars() == 1
        body, together = _translated(term.body()), tuple if term.is_lambda() else all if term.is_forall() else any
        return lambda given, bound: together([body(given, (*bound, k)) for k in range(given[N])])
    if z3.is_int_value(term):
        number = term.as_long()
        return lambda given, bound: number
    kind = term.decl().kind()
    if kind == z3.Z3_OP_UNINTERPRETED:
        name = term.decl().name()
        return lambda given, bound: given[name]
    operation, parts = _OPERATIONS[kind], [_translated(part) for part in term.children()]
    if len(parts) == 2:
        one, other = parts
        return lambda given, bound: operation(one(given, bound), other(given, bound))
    return lambda given, bound: operation(*[part(given, bound) for part in parts])
