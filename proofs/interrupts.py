"""Interrupts of z3, which by itself takes Ctrl-C as a request to give up on one query, and reports nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import z3

from crownless.model_check.limits import Limits
from crownless.model_check.stopping import Part, Stopped, stop_reason, stoppable
from crownless.spec.memory import require

from .asking import ROOM, interrupt

#: What z3 says where it took an interrupt for its own.
INTERRUPTED = "interrupted from keyboard"
#: What it says at its limit of steps; sometimes also "canceled", or "push canceled", which nobody did.
AT_ITS_LIMIT = "max. resource limit exceeded"


def reason_for_giving_up(reason: str) -> str:
    """Why z3 gave up, in its words; raises `KeyboardInterrupt` if that is because it was to end."""
    stopped = stop_reason()
    if stopped is not None:
        raise Stopped(stopped)
    if INTERRUPTED in reason:
        raise KeyboardInterrupt
    return AT_ITS_LIMIT if "canceled" in reason else reason


@contextmanager
def stoppable_proof(limits: Limits | None = None) -> Iterator[Part]:
    """A part that can be stopped (`stopping.stoppable`), also in the middle of a query."""
    if threading.current_thread() is not threading.main_thread():
        with stoppable(limits) as part:
            yield part
        return
    require(ROOM)
    before = z3.get_param("ctrl_c")
    z3.set_param("ctrl_c", False)
    try:
        with stoppable(limits, interrupt) as part:
            yield part
    finally:
        z3.set_param("ctrl_c", before)
