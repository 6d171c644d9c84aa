"""Queries to z3, which end early by z3's own interrupt.

Python collects garbage in whatever thread it comes to that, and one watches over signals and limits while z3 is at
work. What it drops is kept until z3 has time for it (see `crownless.proofs`); during a query nothing is dropped at all.
"""

from __future__ import annotations

from typing import Any

import z3

from crownless.runtime.ending import interrupted_by, look
from crownless.runtime.memory import collector_off

#: What z3 says at its limit of steps; sometimes also "canceled", or "push canceled", with no interrupt.
AT_ITS_LIMIT = "max. resource limit exceeded"


def own_context() -> z3.Context:
    """A context in which z3 knows nothing of earlier queries."""
    context = z3.Context()
    z3.Z3_enable_concurrent_dec_ref(context.ref())
    return context


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
