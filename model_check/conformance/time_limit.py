"""A limit on the time that a call of a node takes, in process, also where the node catches what would end it.

`Hangs` is raised by a signal, again and again until the call has ended. Signals are handled after calls, at the
beginning of functions and at the ends of loops, so that nothing comes between an exception and an assignment that is
the first thing where it is caught.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from itertools import chain, cycle
from typing import Any, NoReturn

#: Seconds after which a call that has caught `Hangs` gets it again: first when it has had time to end; then each time
#: at another moment, as somewhere in its loop nothing is caught.
AT_FIRST, AGAIN = (0.05, 0.05, 0.05), (4e-6, 7e-6, 1.2e-5, 2e-5, 3.5e-5, 6e-5, 1e-4, 1e-3)

#: Seconds after which it comes once more, whatever was done with the last one: a signal that comes just before a system
#: call does not end it.
ANYWAY = 0.05

#: Is there a limit on a call that has not ended?
_limited = False


class Hangs(BaseException):
    """Raised in the middle of a call that lasts too long; no `except Exception` stops it."""


def within(seconds: float, call: Callable[[], None]) -> None:
    """Makes the call, and raises `Hangs` if it lasts longer; in the main thread alone, where signals are handled.
    `os._exit` raises `SystemExit` in it, or the search would end with nothing printed.

    Within another such call there is no further limit.
    """
    global _limited  # there is one clock
    if _limited or threading.current_thread() is not threading.main_thread():
        call()
        return
    waits: Iterator[float] = chain(AT_FIRST, cycle(AGAIN))
    armed = True
    hung = False

    def on_alarm(*_: object) -> None:
        nonlocal hung
        if armed:
            hung = True
            signal.setitimer(signal.ITIMER_REAL, next(waits), ANYWAY)
            raise Hangs

    def on_exit(status: int) -> NoReturn:
        if os.getpid() != process or threading.current_thread() is not threading.main_thread():
            exit_at_once(status)  # a process that the node has forked, or the end of the search
        raise SystemExit(f"it called os._exit({status})")

    process, exit_at_once = os.getpid(), os._exit
    before: Any = signal.signal(signal.SIGALRM, on_alarm)
    earlier, _ = signal.setitimer(signal.ITIMER_REAL, seconds, ANYWAY)
    _limited = True
    try:
        os._exit = on_exit
        call()
        armed = False
    except BaseException:
        armed = False
        if not hung:
            raise
    finally:
        os._exit = exit_at_once
        _limited = False
        signal.setitimer(signal.ITIMER_REAL, earlier)
        signal.signal(signal.SIGALRM, before)
    if hung:  # also where the call has caught it, or something failed as it was raised
        asyncio._set_running_loop(None)
        raise Hangs
