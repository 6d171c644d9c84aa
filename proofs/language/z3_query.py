"""Queries to z3, which end early by z3's own interrupt.

Python collects garbage in whichever thread triggers it, and one thread watches for signals and limits while z3 works.
Freed z3 objects are kept until z3 can process them (see `crownless.proofs`); during a query none are freed at all.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import z3

from crownless.runtime.ending import interrupted_by, look
from crownless.runtime.memory import collector_off

from .terms import Term

#: z3's reason at its limit of steps; sometimes also "canceled", or "push canceled", without an interrupt.
AT_ITS_LIMIT = "max. resource limit exceeded"


class Answer(NamedTuple):
    """z3's answer to a query: a model, none, or why it gave up."""

    model: Term = None
    reason: str = ""


def model_of(query: Iterable[Term], effort: int, attempts: int) -> Answer:
    """A model of the terms, if there is one; `effort`: z3 steps per attempt.

    Each query has a context of its own, in which z3 knows nothing of earlier queries. z3's search depends on its seed;
    where it gives up, the query is repeated with another seed, up to the given number of attempts.
    """
    context, reason = z3.Context(), ""
    z3.Z3_enable_concurrent_dec_ref(context.ref())
    terms = [z3.BoolSort().cast(term).translate(context) for term in query]
    for seed in range(attempts):
        solver = z3.Solver(ctx=context)
        solver.set(rlimit=effort, random_seed=seed)
        solver.add(*terms)
        answer = ask(solver)
        if answer != z3.unknown:
            return Answer(solver.model().translate(z3.main_ctx()) if answer == z3.sat else None)
        reason = reason_for_giving_up(solver.reason_unknown()) or "no reason given"
    return Answer(reason=reason)


def ask(solver: Any, *given: Any) -> Any:
    """z3's answer to this solver's query, with these further hypotheses; raises `Stopped` instead where the current
    part is to end.
    """
    look()
    with collector_off(), interrupted_by(solver.ctx.interrupt):
        return solver.check(*given)


def reason_for_giving_up(reason: str) -> str:
    """z3's reason for giving up; raises `Stopped` if that is the requested interruption."""
    look()
    return AT_ITS_LIMIT if "canceled" in reason else reason
