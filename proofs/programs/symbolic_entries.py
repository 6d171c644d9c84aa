"""Vectors and matrices of unknown numbers, for a system of n processes.

Unlike `terms`, which runs a transition for every n at once, n is given here: processes are 0, …, n-1 as in a run, and a
vector is a tuple of n numbers. A number is an int as long as it can be, otherwise a term of z3. A transition may
compare processes (``k == i``) in plain Python; it may not test whether a comparison of numbers is true, or a number
zero: only z3 knows. `Number` and `Truth` then raise `Branches`, on every path taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from types import NoneType
from typing import Any

import z3

from crownless.proofs.language.terms import Term, like

#: A condition: a plain bool where it is known, otherwise a term of z3.
Condition = Any

#: The names of values that are no numbers, by type.
NOT_NUMBERS = {tuple: "queues", frozenset: "sets", bool: "what is true or not", NoneType: "what may be missing"}


class Branches(TypeError):
    """A transition tests whether a value is true; it cannot be run on terms."""


class Truth:
    """The truth of a comparison of numbers; Python must not test it."""

    __slots__ = ("condition",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, condition: Condition) -> None:
        self.condition = condition

    def __bool__(self) -> bool:
        raise Branches("its steps depend on a number in its state")


def _comparison(operation: Callable[[Any, Any], Any]) -> Any:
    """The comparison of a number with another value."""
    return lambda self, other: _compared(self, other, operation)


class Number:
    """A number in a vector or a matrix: an int, or a term of z3."""

    __slots__ = ("term",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Term) -> None:
        self.term = term

    def __bool__(self) -> bool:
        raise Branches("its steps depend on a number in its state")

    def __add__(self, other: Any) -> Number:
        return _combined(self, _number(other), operator.add)

    def __sub__(self, other: Any) -> Number:
        return _combined(self, _number(other), operator.sub)

    def __mul__(self, other: Any) -> Number:
        other = _number(other)
        for one, another in ((self, other), (other, self)):
            if isinstance(one.term, int):
                return _times(one.term, another)
            if (cases := _cases(one.term)) is not None:  # so that the product stays linear
                condition, a, b = cases
                return chosen(condition, _times(a, another), _times(b, another))
        return Number(self.term * other.term)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Number:
        return _number(other) - self

    def __neg__(self) -> Number:
        return 0 - self

    __le__ = _comparison(operator.le)
    __lt__ = _comparison(operator.lt)
    __ge__ = _comparison(operator.ge)
    __gt__ = _comparison(operator.gt)
    __eq__ = _comparison(operator.eq)
    __ne__ = _comparison(operator.ne)


@dataclass(frozen=True)
class SymbolicEntries:
    """An `impl.ops.Ops` over tuples of `Number`, for a system of `n` processes."""

    n: int

    def vector(self, entry: Callable[[int], Any]) -> tuple[Number, ...]:
        return tuple(_number(entry(k)) for k in range(self.n))

    def matrix(self, entry: Callable[[int, int], Any]) -> tuple[tuple[Number, ...], ...]:
        return tuple(self.vector(lambda l, k=k: entry(k, l)) for k in range(self.n))  # type: ignore[misc]

    def every(self, holds: Callable[[int], Any]) -> Truth:
        return self.all_of(*map(holds, range(self.n)))

    def all_of(self, *conditions: Any) -> Truth:
        return Truth(all_hold(map(condition_of, conditions)))

    def maximum(self, a: Any, b: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(map(self.maximum, a, b))
        a, b = _number(a), _number(b)
        return chosen((a >= b).condition, a, b)

    def incremented(self, array: Any, *place: int) -> Any:
        k, *within = place
        return (*array[:k], self.incremented(array[k], *within) if within else array[k] + 1, *array[k + 1 :])

    def one_if(self, *conditions: Any) -> Number:
        return chosen(self.all_of(*conditions).condition, Number(1), Number(0))

    def indicator(self, k: int, some: Collection[int]) -> Number:
        return Number(int(k in some))


# -- conditions --------------------------------------------------------------------------------------------------------


def condition_of(value: Any) -> Condition:
    """The value of a guard: a plain bool, or a `Truth`."""
    return value.condition if isinstance(value, Truth) else value


def all_hold(conditions: Iterable[Condition]) -> Condition:
    """The conjunction, without the conditions known to hold."""
    left = []
    for condition in conditions:
        if condition is False:
            return False
        if condition is not True:
            left.append(condition)
    return z3.And(*left) if len(left) > 1 else left[0] if left else True


def any_holds(conditions: Iterable[Condition]) -> Condition:
    """The disjunction, without the conditions known not to hold."""
    left = []
    for condition in conditions:
        if condition is True:
            return True
        if condition is not False:
            left.append(condition)
    return z3.Or(*left) if len(left) > 1 else left[0] if left else False


def negated(condition: Condition) -> Condition:
    """The negation."""
    if isinstance(condition, bool):
        return not condition
    return condition.arg(0) if z3.is_not(condition) else z3.Not(condition)


def implied(condition: Condition, by: Condition) -> Condition:
    """The first holds if the second does."""
    return any_holds((negated(by), condition))


# -- numbers -----------------------------------------------------------------------------------------------------------


def chosen(condition: Condition, this: Number, other: Number) -> Number:
    """This number if the condition holds, else the other."""
    if isinstance(condition, bool):
        return this if condition else other
    a, b = this.term, other.term
    if isinstance(a, int) and isinstance(b, int):
        return this if a == b else Number(z3.If(condition, z3.IntVal(a), z3.IntVal(b)))
    if not isinstance(a, int) and not isinstance(b, int) and a.eq(b):
        return this
    return Number(z3.If(condition, a, b))


def mapped(change: Callable[..., Any], *values: Any) -> Any:
    """A value built from tuples of the same form, with each number mapped; raises `TypeError` if their forms differ, or
    they contain other values.

    A number may also be a plain int.
    """
    first, *others = values
    if isinstance(first, tuple):
        if any(type(other) is not type(first) or len(other) != len(first) for other in others):
            raise TypeError("it keeps queues or sets, of no fixed size")
        return like(first, [mapped(change, *parts) for parts in zip(*values, strict=True)])
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | Number):
            raise TypeError(f"it keeps {NOT_NUMBERS.get(type(value), 'more than numbers')}")
    return change(*map(_number, values))


def _number(value: Any) -> Number:
    if isinstance(value, Number):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Number(value)
    raise TypeError(f"it computes with {NOT_NUMBERS.get(type(value), 'more than numbers')}")


def _times(factor: int, number: Number) -> Number:
    return Number(0) if not factor else number if factor == 1 else Number(factor * number.term)


def _cases(term: Term) -> tuple[Condition, int, int] | None:
    """The condition and the two ints of a term that is one of two ints."""
    if isinstance(term, int) or not z3.is_app_of(term, z3.Z3_OP_ITE):
        return None
    condition, this, other = term.children()
    if not (z3.is_int_value(this) and z3.is_int_value(other)):
        return None
    return condition, this.as_long(), other.as_long()


def _of_cases(one: Number, other: Number, operation: Callable[[Any, Any], Any]) -> tuple[Condition, Any, Any] | None:
    """The results of an operation on an int and a number that is one of two ints, and the condition for the first."""
    if isinstance(other.term, int) and (cases := _cases(one.term)) is not None:
        condition, a, b = cases
        return condition, operation(a, other.term), operation(b, other.term)
    if isinstance(one.term, int) and (cases := _cases(other.term)) is not None:
        condition, a, b = cases
        return condition, operation(one.term, a), operation(one.term, b)
    return None


def _combined(one: Number, other: Number, operation: Callable[[Any, Any], Any]) -> Number:
    results = _of_cases(one, other, operation)
    if results is not None:
        condition, this, that = results
        return chosen(condition, Number(this), Number(that))
    if isinstance(other.term, int) and other.term == 0 and operation(1, 0) == 1:
        return one
    return Number(operation(one.term, other.term))


def _compared(one: Number, other: Any, operation: Callable[[Any, Any], Any]) -> Truth:
    other = _number(other)
    a, b = one.term, other.term
    if not isinstance(a, int) and not isinstance(b, int) and a.eq(b):
        return Truth(operation(0, 0))
    results = _of_cases(one, other, operation)
    if results is None:
        return Truth(operation(a, b))
    condition, this, that = results
    return Truth(this if this == that else condition if this else negated(condition))
