"""One interrupt ends what z3 does. z3 by itself takes Ctrl-C for its own: it gives up on a query, and tells nobody."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import z3

#: Seconds until an interrupt is repeated, if what is under way has taken it for something of its own.
PATIENCE = 3.0

#: What z3 says where it took an interrupt for its own.
INTERRUPTED = "interrupted from keyboard"
#: What it says at its limit of steps; sometimes also "canceled", or "push canceled", which nobody did.
AT_ITS_LIMIT = "max. resource limit exceeded"

#: Has there been an interrupt that is to end it all?
_came = threading.Event()


def reason_for_giving_up(reason: str) -> str:
    """Why z3 gave up, in its words; raises `KeyboardInterrupt` if that is because it was interrupted."""
    if INTERRUPTED in reason or _came.is_set():
        raise KeyboardInterrupt
    return AT_ITS_LIMIT if "canceled" in reason else reason


@contextmanager
def ended_by_an_interrupt() -> Iterator[None]:
    """Within it an interrupt raises `KeyboardInterrupt` in the main thread, also in the middle of a query.

    While z3 is at work Python's handlers do not run. But Python writes the number of each signal to a socket at once; a
    thread that reads it stops z3, and the handler has its turn. It goes on until the block is left, since a search
    may take an interrupt for the wish that it end early. Outside the main thread it changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told, tells = socket.socketpair()
    tells.setblocking(False)
    over = threading.Event()
    context = z3.main_ctx()

    def stop() -> None:
        while signal.SIGINT not in (numbers := told.recv(64)):
            if not numbers:
                return
        _came.set()
        context.interrupt()
        while not over.wait(PATIENCE):
            context.interrupt()
            os.kill(os.getpid(), signal.SIGINT)

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        """Where z3's terms are let go no exception can be raised; what is lost there is raised again soon."""
        if not _came.is_set():
            told_before(lost)

    before, told_before = z3.get_param("ctrl_c"), sys.unraisablehook
    sys.unraisablehook = unraisable
    z3.set_param("ctrl_c", False)
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    others = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    try:
        yield
        if _came.is_set():
            raise KeyboardInterrupt  # what was under way has kept it to itself
    except Exception as error:
        if _came.is_set():
            raise KeyboardInterrupt from error  # what is broken off in the middle may fail in any way
        raise
    finally:
        over.set()
        signal.set_wakeup_fd(others)
        tells.close()
        stopping.join()
        told.close()
        z3.set_param("ctrl_c", before)
        sys.unraisablehook = told_before
        _came.clear()
