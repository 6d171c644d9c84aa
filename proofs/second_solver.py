"""Every theorem asked again of another solver, cvc5 (`pip install crownless[cvc5]`).

What z3 found to be unsatisfiable is written in SMT-LIB and read by cvc5. On the way comprehensions (z3's lambdas, which
are arrays there) are read out: two arrays are equal if they are so entry by entry, and an entry of a comprehension is
what it says. So what cvc5 is given speaks of functions, arrays, integers and quantifiers only.
"""

from __future__ import annotations

from typing import Any

import z3

from crownless.spec.errors import BadInput

from .terms import Term
from .theorem import Claim, Outcome

#: Ways to look for instances of what is said of all: by patterns, by models, by going through terms.
WAYS: tuple[dict[str, str], ...] = ({}, {"mbqi": "true"}, {"enum-inst": "true"})
#: Resource units of cvc5 that one way may use; nearly all take a hundredth.
EFFORT = 300_000


def required() -> Any:
    """The library; raises `BadInput` if it is not installed."""
    try:
        import cvc5
    except ImportError:
        mend = "pip install 'crownless[cvc5]'"
        raise BadInput("the second solver, cvc5, is not installed", mend=mend) from None
    return cvc5


def asked_again(claim: Claim, effort: int = EFFORT) -> Outcome:
    """What cvc5 says of the claim: proved, refuted, or unknown."""
    cvc5 = required()
    script = as_smt_lib(claim)
    for way in WAYS:
        solver = cvc5.Solver()
        for option, value in {"rlimit-per": str(effort), **way}.items():
            solver.setOption(option, value)
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, claim.name)
        symbols = parser.getSymbolManager()
        answer = None
        while not (command := parser.nextCommand()).isNull():
            said = command.invoke(solver, symbols)
            answer = said.strip() or answer
        if answer == "unsat":
            return "proved"
        if answer == "sat":
            return "refuted"
        if answer is None or not answer.startswith("unknown"):
            raise AssertionError(f"cvc5 does not understand: {answer}")
    return "unknown"


def as_smt_lib(claim: Claim) -> str:
    """That the claim fails, in SMT-LIB, without comprehensions."""
    solver = z3.Solver()
    solver.add(*(read_out(term) for term in [*claim.given.values(), z3.Not(claim.shows)]))
    return f"(set-logic ALL)\n{solver.to_smt2()}"


def read_out(term: Term) -> Term:
    """The same truth without comprehensions."""
    if z3.is_quantifier(term):
        variables = [z3.FreshConst(term.var_sort(k), "x") for k in range(term.num_vars())]
        # z3 numbers variables from the innermost.
        body = read_out(z3.substitute_vars(term.body(), *reversed(variables)))
        looked_for = [
            z3.MultiPattern(*(read_out(z3.substitute_vars(part, *reversed(variables))) for part in some.children()))
            for some in map(term.pattern, range(term.num_patterns()))
        ]
        quantified = z3.ForAll if term.is_forall() else z3.Exists
        return quantified(variables, body, patterns=looked_for)
    if z3.is_eq(term) and _is_array(term.arg(0)):
        return _equal(*term.children())
    if z3.is_select(term):
        return _entry(term.arg(0), read_out(term.arg(1)))
    return _rebuilt(term, [read_out(part) for part in term.children()])


def _rebuilt(term: Term, parts: list[Term]) -> Term:
    if not parts:
        return term
    if z3.is_and(term):
        return z3.And(parts)
    return z3.Or(parts) if z3.is_or(term) else term.decl()(*parts)


def _equal(a: Term, b: Term) -> Term:
    """Entry by entry."""
    k = z3.FreshConst(a.sort().domain(), "k")
    one, other = _entry(a, k), _entry(b, k)
    return z3.ForAll([k], _equal(one, other) if _is_array(one) else read_out(one) == read_out(other))


def _entry(array: Term, k: Term) -> Term:
    """What the array has there; if that is an array, not read out yet."""
    if z3.is_quantifier(array) and array.is_lambda():
        return _value(z3.substitute_vars(array.body(), k))
    if z3.is_app_of(array, z3.Z3_OP_ITE):
        condition, this, other = array.children()
        return z3.If(read_out(condition), _entry(this, k), _entry(other, k))
    if z3.is_store(array):
        rest, place, value = array.children()
        return z3.If(k == read_out(place), _value(value), _entry(rest, k))
    if z3.is_select(array):
        row = _entry(array.arg(0), read_out(array.arg(1)))
        return row[k] if z3.is_select(row) else _entry(row, k)
    return read_out(array)[k]


def _value(term: Term) -> Term:
    return term if _is_array(term) else read_out(term)


def _is_array(term: Term) -> bool:
    return isinstance(term.sort(), z3.ArraySortRef)
