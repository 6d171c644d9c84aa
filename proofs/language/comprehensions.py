"""Elimination of z3's lambdas, with which `terms` builds vectors and matrices, from formulas.

Two arrays are equal if they are so entry by entry, and an entry of a comprehension is what it says. What is left speaks
of functions, arrays, integers and quantifiers only, for solvers and searches that know nothing else.
"""

from __future__ import annotations

import z3

from .terms import Term, is_array


def eliminate_lambdas(term: Term) -> Term:
    """The same truth without comprehensions."""
    if z3.is_quantifier(term):
        variables = [z3.FreshConst(term.var_sort(k), "x") for k in range(term.num_vars())]
        # z3 numbers variables from the innermost.
        body = eliminate_lambdas(z3.substitute_vars(term.body(), *reversed(variables)))
        looked_for = [
            z3.MultiPattern(
                *(eliminate_lambdas(z3.substitute_vars(part, *reversed(variables))) for part in some.children())
            )
            for some in map(term.pattern, range(term.num_patterns()))
        ]
        quantified = z3.ForAll if term.is_forall() else z3.Exists
        return quantified(variables, body, patterns=looked_for)
    if z3.is_eq(term) and is_array(term.arg(0)):
        return _equal(*term.children())
    if z3.is_select(term):
        return _entry(term.arg(0), eliminate_lambdas(term.arg(1)))
    return _rebuilt(term, [eliminate_lambdas(part) for part in term.children()])


def _rebuilt(term: Term, parts: list[Term]) -> Term:
    if z3.is_and(term):
        return z3.And(parts) if parts else z3.BoolVal(True)  # in SMT-LIB there is no "and" of nothing
    if z3.is_or(term):
        return z3.Or(parts) if parts else z3.BoolVal(False)
    return term.decl()(*parts) if parts else term


def _equal(a: Term, b: Term) -> Term:
    """Entry by entry."""
    k = z3.FreshConst(a.sort().domain(), "k")
    one, other = _entry(a, k), _entry(b, k)
    return z3.ForAll([k], _equal(one, other) if is_array(one) else eliminate_lambdas(one) == eliminate_lambdas(other))


def _entry(array: Term, k: Term) -> Term:
    """The entry of the array there; if that is an array, with its lambdas."""
    if z3.is_quantifier(array) and array.is_lambda():
        return _value(z3.substitute_vars(array.body(), k))
    if z3.is_app_of(array, z3.Z3_OP_ITE):
        condition, this, other = array.children()
        return z3.If(eliminate_lambdas(condition), _entry(this, k), _entry(other, k))
    if z3.is_store(array):
        rest, place, value = array.children()
        return z3.If(k == eliminate_lambdas(place), _value(value), _entry(rest, k))
    if z3.is_select(array):
        row = _entry(array.arg(0), eliminate_lambdas(array.arg(1)))
        return row[k] if z3.is_select(row) else _entry(row, k)
    return eliminate_lambdas(array)[k]


def _value(term: Term) -> Term:
    return term if is_array(term) else eliminate_lambdas(term)
