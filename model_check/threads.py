"""Threads that neither hang nor vanish where memory runs out.

`threading.Thread.start` waits for a sign of the new thread, without end if that fails before it gives one; and what a
thread does not catch is printed.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from contextlib import suppress

#: Bytes: these threads call little, and the usual 8 MiB may be more than is left.
STACK = 1 << 20
#: Seconds after which a thread that has given no sign has failed.
BEGINS_WITHIN = 10.0


class Beside:
    """A thread that runs a function; it is no reason for Python not to end. Raises `MemoryError` if there is none."""

    def __init__(self, function: Callable[[], None]) -> None:
        begun, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        begun.acquire()
        self._ended.acquire()

        def run() -> None:
            begun.release()
            try:
                function()
            finally:
                self._ended.release()

        usual = threading.stack_size(STACK)
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError as error:
            raise MemoryError(str(error)) from error
        finally:
            threading.stack_size(usual)
        if not begun.acquire(timeout=BEGINS_WITHIN):
            raise MemoryError("a new thread does not run")

    def wait(self, seconds: float) -> bool:
        """Waits so long for it to end; has it?"""
        ended = self._ended.acquire(timeout=seconds)
        if ended:
            self._ended.release()
        return ended


class Repeatedly:
    """A thread that calls a function on request. A request takes no memory and never waits."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._requested = _thread.allocate_lock()
        self._requested.acquire()
        self._over = False
        self._thread = Beside(self._run)

    def request(self) -> None:
        """Causes one more call of the function; no more than one if it is still at work."""
        with suppress(RuntimeError):  # it has been requested already
            self._requested.release()

    def end(self, seconds: float) -> bool:
        """Ends the thread as soon as the function is not at work, and waits so long for that; has it ended?"""
        self._over = True
        self.request()
        return self._thread.wait(seconds)

    def _run(self) -> None:
        while True:
            self._requested.acquire()
            if self._over:
                return
            with suppress(Exception):  # of any kind, as solvers have their own: it will be called again
                self._function()
