"""Lines that wait for one another as they are walked along: which are to be looked at again?

`waiters[q]` is the first of the lines that wait for line q to move, `next_waiter[p]` the next after p of those; `queue`
holds the lines that are to be looked at.
"""

from __future__ import annotations

from typing import Any

from crownless.model_check.native.compiled import compiled

NONE = -1


@compiled
def enqueue_all(n: Any, waiters: Any, queue: Any) -> Any:
    """At first nobody waits for anybody, and all n lines are to be looked at: how many."""
    for p in range(n):
        waiters[p] = NONE
        queue[p] = p
    return n


@compiled
def wait(p: Any, q: Any, next_waiter: Any, waiters: Any) -> None:
    """Line p waits for line q. One that waits for itself waits for ever."""
    if q != p:
        next_waiter[p] = waiters[q]
        waiters[q] = p


@compiled
def notify(p: Any, next_waiter: Any, waiters: Any, queue: Any, waiting: Any) -> Any:
    """Line p has moved: all that wait for it are to be looked at. How many there are now."""
    waiter = waiters[p]
    waiters[p] = NONE
    while waiter != NONE:
        queue[waiting] = waiter
        waiting += 1
        waiter = next_waiter[waiter]
    return waiting
