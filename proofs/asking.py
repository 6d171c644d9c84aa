"""Queries to z3, during which no other thread collects garbage.

Python collects garbage in whatever thread it comes to that, and some watch over signals and limits while z3 is at work.
What they drop is kept until z3 has time for it (see `crownless.proofs`); during a query nothing is dropped at all.
"""

from __future__ import annotations

from typing import Any

from crownless.model_check.collector import collector_off


def ask(solver: Any, *given: Any) -> Any:
    """What z3 answers to the query of this solver, with these further hypotheses."""
    with collector_off():
        return solver.check(*given)
