"""Invariants as functions of what they are claimed of, `lambda run, now, p, x: …` of all p and x; and their induction.

What follows the parameters of a state is quantified over, in the order of the parameters. Their names say of what
sort they are, as in the texts: x, y, z and m are messages; i, j, k, l, p and q processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from itertools import groupby
from typing import Any

import z3

from .theorem import Claim

#: Parameter → the method that speaks of all of its sort.
SORTS = {**dict.fromkeys("xyzm", "messages"), **dict.fromkeys("ijklpq", "processes")}

Holds = Callable[..., Any]


def for_all(invariants: Mapping[str, Holds | tuple[Holds, ...]]) -> dict[str, Holds]:
    """Invariants of a run at a moment, or of an abstraction, in a logic. Of several functions all hold."""
    return {name: partial(_claimed, holds) for name, holds in invariants.items()}


def _claimed(holds: Holds | tuple[Holds, ...], run: Any, now: Any, *logic: Any) -> Any:
    """The claim about everything that the parameters after those of the state stand for."""
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
    """The sorts of the parameters after the first ones, in order, and how many parameters in a row are of each."""
    names = list(signature(holds).parameters)[after:]
    return [(sort, len(list(same))) for sort, same in groupby(names, SORTS.__getitem__)]


def induction(run: Any, name: str, holds: Callable[[Any], Any], given: Mapping[str, Any] | None = None) -> list[Claim]:
    """That something holds at every moment of a run: at the start, and each event keeps it.

    :param given: what is known of each moment besides.
    """
    before = {**(given or {}), name: holds(run.before)}
    kept = [
        Claim(f"{name}: kept by {event.name}", {**before, **event.given}, holds(event.after)) for event in run.events()
    ]
    return [Claim(f"{name}: at the start", {}, holds(run.start)), *kept]
