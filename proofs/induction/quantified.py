"""Invariants as functions of their subjects, `lambda run, now, p, x: …` for all p and x; and their induction.

The parameters after the state are quantified, in order. Their names give their sorts, as in the papers: x, y, z and m
are messages; i, j, k, l, p and q processes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from itertools import groupby
from typing import Any

import z3

from .theorem import Claim

#: Parameter → the method that quantifies over its sort.
SORTS = {**dict.fromkeys("xyzm", "messages"), **dict.fromkeys("ijklpq", "processes")}

Holds = Callable[..., Any]


def for_all(invariants: Mapping[str, Holds | tuple[Holds, ...]]) -> dict[str, Holds]:
    """Invariants of a state of a run or an abstraction, in a logic. Several functions are conjoined."""
    return {name: partial(_claimed, holds) for name, holds in invariants.items()}


def _claimed(holds: Holds | tuple[Holds, ...], run: Any, now: Any, *logic: Any) -> Any:
    """The claim for all values of the parameters after the state."""
    if isinstance(holds, tuple):
        return z3.And(*(_claimed(part, run, now, *logic) for part in holds))
    state = (run, now, *logic)
    speaks = logic[0] if logic else run

    def quantified(left: Sequence[tuple[str, int]], bound: tuple[Any, ...]) -> Any:
        if not left:
            return holds(*state, *bound)
        (sort, count), *rest = left
        return getattr(speaks, sort)(lambda *some: quantified(rest, (*bound, *some)), of=count)

    return quantified(_sorts(holds, len(state)), ())


@cache
def _sorts(holds: Holds, after: int) -> list[tuple[str, int]]:
    """The sorts of the parameters after the first ones, in order, with the number of consecutive parameters of each."""
    names = list(signature(holds).parameters)[after:]
    return [(sort, len(list(same))) for sort, same in groupby(names, SORTS.__getitem__)]


def induction(run: Any, name: str, holds: Callable[[Any], Any], given: Mapping[str, Any] | None = None) -> list[Claim]:
    """Claims that a statement holds in every state of a run: at the start, and each event keeps it.

    :param given: other known facts about each state.
    """
    before = {**(given or {}), name: holds(run.before)}
    kept = [
        Claim(f"{name}: kept by {event.name}", {**before, **event.given}, holds(event.after)) for event in run.events()
    ]
    return [Claim(f"{name}: at the start", {}, holds(run.start)), *kept]
