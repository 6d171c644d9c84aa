"""The wait queue of a walk along the lines of a run: lines that wait for one another, and those to resume.

`heard[q]` is the first of the lines that wait for line q to move, `waits[p]` the next after p of those; `queue` holds
the lines that are to be looked at.
"""

from __future__ import annotations

from typing import Any

from crownless.model_check.native.compiled import compiled

NONE = -1


@compiled
def all_waiting(n: Any, heard: Any, queue: Any) -> Any:
    """At first nobody waits for anybody, and all n lines are to be looked at: how many."""
    for p in range(n):
        heard[p] = NONE
        queue[p] = p
    return n


@compiled
def wait(p: Any, q: Any, waits: Any, heard: Any) -> None:
    """Line p waits for line q. One that waits for itself waits for ever."""
    if q != p:
        waits[p] = heard[q]
        heard[q] = p


@compiled
def wake(p: Any, waits: Any, heard: Any, queue: Any, waiting: Any) -> Any:
    """Line p has moved: all that wait for it are to be looked at. How many there are now."""
    woken = heard[p]
    heard[p] = NONE
    while woken != NONE:
        queue[waiting] = woken
        waiting += 1
        woken = waits[woken]
    return waiting
