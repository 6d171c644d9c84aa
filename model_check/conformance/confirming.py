"""Violations are confirmed by nodes that are made anew, and given all inputs, before anything is said of them."""

from __future__ import annotations

from collections.abc import Iterable

from crownless.model_check.properties import NEVER_BLOCKS

from .conformance_request import Request
from .findings import Finding
from .queries import Queries
from .schedules import replay, schedule_of


def unconfirmed(violations: Iterable[Finding], queries: Queries, request: Request) -> str | None:
    """What differs where nodes that are made anew are taken through the runs that show violations; None: nothing."""
    for one in violations:
        for process, state in enumerate(() if one.run is None else one.run.local_states):
            differs = queries.confirmed(process, state.history)
            if differs is not None:
                return f"{one.name}: P{process + 1}: {differs.said}"
        if queries.uses_states and one.run is not None and one.name != NEVER_BLOCKS.name:
            schedule = schedule_of(queries.implementation.name, one.name, one.run, request)
            if replay(queries.implementation, schedule):
                return f"{one.name}: nodes that are given all inputs, and no state, do not break it"
    return None
