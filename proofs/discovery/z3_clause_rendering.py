"""Rendering of z3's clauses over numbers and truth values in readable words."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import z3

from crownless.proofs.terms import Term


def conjuncts(term: Term) -> list[Term]:
    """The conjuncts of a formula."""
    term = z3.simplify(term, arith_lhs=True)
    return [part for each in term.children() for part in conjuncts(each)] if z3.is_and(term) else [term]


#: What it means that a number of this name lies between two others (None: no limit); None if it is a plain number.
About = Callable[[str, int | None, int | None], str | None]


def render_clause(clause: Term, about: About) -> str:
    """The clause as an implication."""
    given: list[str] = []
    then: list[str] = []
    for literal in clause.children() if z3.is_or(clause) else [clause]:
        holds, atom = not z3.is_not(literal), literal.arg(0) if z3.is_not(literal) else literal
        if not _is_bound(atom):
            (then if holds else given).append(str(atom))
        elif (meant := _meant(atom, not holds, about)) is not None:
            given.append(meant)  # its opposite
        else:
            then.append(_bound(atom, holds))
    if not then:
        return f"never {' ∧ '.join(given)}"
    return f"{' ∧ '.join(given)} ⇒ {' ∨ '.join(then)}" if given else " ∨ ".join(then)


def _is_bound(term: Term) -> bool:
    return bool(z3.is_le(term) or z3.is_ge(term))


def _at_most(term: Term, holds: bool) -> dict[str, int]:
    """Coefficients by name, "" being the constant, of a sum that is at most 0 just if the bound holds, or does not."""
    left, right = _linear(term.arg(0)), _linear(term.arg(1))
    sign = 1 if z3.is_le(term) == holds else -1
    total = {name: sign * (left.get(name, 0) - right.get(name, 0)) for name in {"": 0, **left, **right}}
    if not holds:
        total[""] += 1
    return {name: value for name, value in total.items() if value or not name}


def _meant(term: Term, holds: bool, about: About) -> str | None:
    """What a bound of one number says that is none to the reader."""
    total = _at_most(term, holds)
    constant = total.pop("")
    if len(total) != 1:
        return None
    ((name, factor),) = total.items()
    return about(name, None, -constant) if factor > 0 else about(name, constant, None)


def _bound(term: Term, holds: bool) -> str:
    total = _at_most(term, holds)
    constant = total.pop("")
    left = _side({name: value for name, value in total.items() if value > 0})
    right = _side({name: -value for name, value in total.items() if value < 0})
    if constant == 1 and left and right:
        return f"{left} < {right}"
    if constant > 0:
        left = f"{left} + {constant}" if left and right else left or str(constant)
        right = right or str(-constant)
    elif constant < 0:
        right, left = (f"{right} + {-constant}" if right else str(-constant)), left or "0"
    return f"{left or '0'} ≤ {right or '0'}"


def _side(terms: dict[str, int]) -> str:
    return " + ".join(name if value == 1 else f"{value} {name}" for name, value in sorted(terms.items()))


def _linear(term: Term) -> dict[str, int]:
    if z3.is_int_value(term):
        return {"": term.as_long()}
    if z3.is_add(term):
        return reduce(_plus, map(_linear, term.children()))
    if z3.is_mul(term):
        factor, rest = term.children()
        return {name: factor.as_long() * value for name, value in _linear(rest).items()}
    return {str(term): 1}


def _plus(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}
