"""A recheck of every theorem with another solver, cvc5 (extra `cvc5`).

What z3 finds unsatisfiable is written in SMT-LIB and read by cvc5. Comprehensions, which only z3 treats as arrays, are
eliminated first (`arrays`).
"""

from typing import Any

import z3

from crownless.proofs.language.arrays import eliminate_lambdas
from crownless.runtime.errors import BadInput, install_hint

from .theorem import Claim, Outcome

#: Quantifier instantiation strategies: by patterns, by models, by enumerating terms.
WAYS: tuple[dict[str, str], ...] = ({}, {"mbqi": "true"}, {"enum-inst": "true"})
#: Resource units of cvc5 per strategy; nearly all queries take a hundredth.
EFFORT = 300_000


def required() -> Any:
    """The library; raises `BadInput` if it is not installed."""
    try:
        import cvc5
    except ImportError:
        raise BadInput("the second solver, cvc5, is not installed", hint=install_hint("cvc5")) from None
    return cvc5


def recheck_with_cvc5(claim: Claim, effort: int = EFFORT) -> Outcome:
    """cvc5's outcome for the claim: proved, refuted, or unknown."""
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
    """The negated claim in SMT-LIB, without comprehensions."""
    solver = z3.Solver()
    solver.add(*(eliminate_lambdas(term) for term in [*claim.given.values(), z3.Not(claim.shows)]))
    return f"(set-logic ALL)\n{solver.to_smt2()}"
