"""A watch over calls of a user's own code that do not return, kept by another thread.

A search looks at the clock and for signals between two calls; in an endless one it never does. So the thread that
watches over signals and limits (`stopping`) looks which call the main thread is in. One that has lasted for a second is
ended by a first signal, and where a limit is reached; one that has lasted for longer is reported, once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Protocol

#: Seconds after which a call is one that lasts.
LASTS = 1.0
#: Seconds after which it is reported.
REPORTED_AFTER = 5.0


class Lasting(Protocol):
    """A call of a user's own code, in words."""

    @property
    def subject(self) -> str: ...

    @property
    def arguments(self) -> str: ...


class Calls(Protocol):
    """Finds among the frames of a thread, of which one is the innermost, the call of a user's code that it is in."""

    def outermost(self, innermost: FrameType | None) -> FrameType | None:
        """The frame of the call, if there is one."""

    def call(self, frame: FrameType, innermost: FrameType) -> Lasting:
        """The call that a frame runs."""


class LastingCalls:
    """The call that the main thread is in; `over` says which limit is reached, if one is, and `report` gets a line on a
    call that lasts long, from the other thread.
    """

    def __init__(
        self, calls: Calls, over: Callable[[], str | None], report: Callable[[str], None] | None = None
    ) -> None:
        self._calls = calls
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
        innermost = _of_the_main_thread()
        frame = self._calls.outermost(innermost)
        if frame is not self._frame:
            self._frame, self._since, self.reason = frame, now, None
        if frame is not None and self.reason is None and now - self._since > LASTS:
            self.reason, self.reason_since = interrupted or self._over(), now
        long = frame is not None and self.reason is None and now - self._since > REPORTED_AFTER
        if frame is not None and innermost is not None and long and self._report is not None and not self._reported:
            self._reported = True
            self._report(f"{self._said(frame, innermost, now)}; Ctrl-C ends it")

    def lasting(self, frame: FrameType | None, now: float) -> str | None:
        """The call that lasts, in words, if the main thread is in one in this frame."""
        call = self._calls.outermost(frame)
        if frame is None or call is None or call is not self._frame or now - self._since <= LASTS:
            return None
        return self._said(call, frame, now)

    def lasting_now(self, now: float) -> str:
        """The call that lasts, in words, or that there is one, as another thread sees it."""
        return self.lasting(_of_the_main_thread(), now) or "a call has not returned"

    def _said(self, frame: FrameType, innermost: FrameType, now: float) -> str:
        call = self._calls.call(frame, innermost)
        return f"{call.subject} has not returned for {now - self._since:.0f} s{call.arguments}"


def _of_the_main_thread() -> FrameType | None:
    return sys._current_frames().get(threading.main_thread().ident or 0)
