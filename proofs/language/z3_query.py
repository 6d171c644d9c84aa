"""Queries to z3, which end early by z3's own interrupt.

Python collects garbage in whatever thread it comes to that, and one watches over signals and limits while z3 is at
work. What it drops is kept until z3 has time for it (see `crownless.proofs`); during a query nothing is dropped at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import z3

from crownless.runtime.ending import interrupted_by, look
from crownless.runtime.memory import collector_off

from .terms import Term

#: What z3 says at its limit of steps; sometimes also "canceled", or "push canceled", with no interrupt.
AT_ITS_LIMIT = "max. resource limit exceeded"


class Answer(NamedTuple):
    """z3's answer to a query: a model, none, or why it gave up."""

    model: Term = None
    reason: str = ""


def model_of(query: Iterable[Term], effort: int, attempts: int) -> Answer:
    """A model of the terms, if there is one; `effort`: steps of z3 in one attempt.

    Each query has a context of its own, in which z3 knows nothing of earlier queries. Which way it takes depends on
    its seed; where it gives up, the query is repeated with another seed, so many times in all.
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
    """What z3 answers to the query of this solver, with these further hypotheses; raises `Stopped` instead where the
    part at work is to end.
    """
    look()
    with collector_off(), interrupted_by(solver.ctx.interrupt):
        return solver.check(*given)


def reason_for_giving_up(reason: str) -> str:
    """Why z3 gave up, in its words; raises `Stopped` if that is because it was to end."""
    look()
    return AT_ITS_LIMIT if "canceled" in reason else reason
