"""Queries to z3, during which no other thread collects garbage.

Python collects garbage in whatever thread it comes to that, and some watch over signals and limits while z3 is at work.
What they drop is kept until z3 has time for it (see `crownless.proofs`); during a query nothing is dropped at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import z3

from crownless.model_check.collector import collector_off
from crownless.spec.memory import require

#: Bytes without which z3 cannot begin: it would break down, as `z3.Context` does not look whether it has been made.
ROOM = 24 << 20

#: Those of the queries that z3 is at.
_at_work: list[z3.Context] = []


def own_context() -> z3.Context:
    """A context in which z3 knows nothing of earlier queries; raises `MemoryError` if there is no room for it."""
    require(ROOM)
    context = z3.Context()
    z3.Z3_enable_concurrent_dec_ref(context.ref())
    return context


def ask(solver: Any, *given: Any) -> Any:
    """What z3 answers to the query of this solver, with these further hypotheses."""
    with _at_query(solver.ctx):
        return solver.check(*given)


@contextmanager
def _at_query(context: z3.Context) -> Iterator[None]:
    _at_work.append(context)
    try:
        with collector_off():
            yield
    finally:
        _at_work.remove(context)


def interrupt() -> None:
    """Has z3 give up on the queries that it is at; called from another thread. In a context in which it is at none,
    whatever comes next would be "canceled".
    """
    for context in _at_work.copy():
        context.interrupt()
