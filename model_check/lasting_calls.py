"""A watch over calls of a machine's own code that do not return, kept by another thread.

A search looks at the clock and for signals between two calls; in an endless one it never does. So the thread that
watches over signals and limits (`stopping`) looks which call the main thread is in. One that has lasted for a second is
ended by a first signal, and where a limit is reached; one that has lasted for longer is reported, once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType

from .wrong_machine import CallsOf

#: Seconds after which a call is one that lasts.
LASTS = 1.0
#: Seconds after which it is reported.
REPORTED_AFTER = 5.0


class LastingCalls:
    """The call that the main thread is in; `over` says which limit is reached, if one is, and `report` gets a line on a
    call that lasts long, from the other thread.
    """

    def __init__(self, kind: type, over: Callable[[], str | None], report: Callable[[str], None] | None = None) -> None:
        self._calls = CallsOf(kind)
        self._over = over
        self._report = report
        self._reported = False
        self._frame: FrameType | None = None
        self._since = 0.0
        #: Why the call is to end that has lasted, and since when.
        self.reason: str | None = None
        self.reason_since = 0.0

    def look(self, now: float, interrupted: str | None) -> None:
        """Looks at the main thread, from another one; `interrupted`: there was a signal."""
        frame = self._calls.outermost(sys._current_frames().get(threading.main_thread().ident or 0))
        if frame is not self._frame:
            self._frame, self._since, self.reason = frame, now, None
        if frame is not None and self.reason is None and now - self._since > LASTS:
            self.reason, self.reason_since = interrupted or self._over(), now
        long = frame is not None and self.reason is None and now - self._since > REPORTED_AFTER
        if frame is not None and long and self._report is not None and not self._reported:
            self._reported = True
            self._report(f"{self._said(frame, now)}; Ctrl-C ends it")

    def lasting(self, frame: FrameType | None, now: float) -> str | None:
        """The call that lasts, in words, if the main thread is in one in this frame."""
        call = self._calls.outermost(frame)
        if call is None or call is not self._frame or now - self._since <= LASTS:
            return None
        return self._said(call, now)

    def _said(self, frame: FrameType, now: float) -> str:
        call = self._calls.call(frame)
        return f"{call.subject} has not returned for {now - self._since:.0f} s{call.arguments}"
