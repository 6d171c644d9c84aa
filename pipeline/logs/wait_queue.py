"""The wait queue of a walk along the lines of a run: lines that wait for one another, and those to resume.

`waiters[q]` is the first of the lines that wait for line q to move, `next_waiter[p]` the next after p of those; `queue`
holds the lines to resume.
"""

from __future__ import annotations

from typing import Any

from crownless.model_check.native.compiled import compiled

NONE = -1


@compiled
def enqueue_all(n: Any, waiters: Any, queue: Any) -> Any:
    """Puts all n lines into the queue, with no waiters; returns n."""
    for p in range(n):
        waiters[p] = NONE
        queue[p] = p
    return n


@compiled
def wait(p: Any, q: Any, next_waiter: Any, waiters: Any) -> None:
    """Adds line p to the waiters of line q. A line that waits for itself waits for ever."""
    if q != p:
        next_waiter[p] = waiters[q]
        waiters[q] = p


@compiled
def notify(p: Any, next_waiter: Any, waiters: Any, queue: Any, waiting: Any) -> Any:
    """Puts the waiters of line p, which has moved, into the queue; returns the queue's new length."""
    waiter = waiters[p]
    waiters[p] = NONE
    while waiter != NONE:
        queue[waiting] = waiter
        waiting += 1
        waiter = next_waiter[waiter]
    return waiting
