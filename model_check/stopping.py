"""The one way to end a long search: by a signal (Ctrl-C, SIGTERM), by the clock, or where memory runs out.

Python runs the handlers of signals in the main thread alone, between two of its own instructions: not while compiled
code is at work, and also in the middle of a destructor, from which no exception gets out. So a thread watches. It reads
the number of each signal from a socket, to which Python writes it at once; it looks at the clock and at memory; it
stops solvers in their own way, and *nudges* the main thread until the exception is where it belongs. What does not hear
of a signal at all, or not of a second one, is ended by the thread.

The first signal raises `Stopped`: what was found by then is printed. A second one raises `KeyboardInterrupt`, which
ends the process at once.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import _GeneratorContextManager, contextmanager
from inspect import unwrap
from types import FrameType
from typing import TYPE_CHECKING

from crownless.spec.memory import lacks_memory, release_reserve

from .lasting_calls import Calls, LastingCalls
from .limits import NO_MEMORY, Limits, allocation_failed
from .threads import Beside, Repeatedly

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: Why a search ended that a signal ended.
INTERRUPTED = "interrupted"

#: What stands between the reason and the call in whose middle something ended.
_IN_A_CALL = "; meanwhile "

SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: By which the thread has the main thread run its handler.
_NUDGE = signal.SIGUSR1

#: Seconds between two looks at the clock and at memory, and between two nudges.
LOOK_EVERY, NUDGE_EVERY = 0.1, 0.3
#: Seconds in which the main thread must hear of a signal, have ended after a second one, and have left a part that is
#: to end.
HEARS_WITHIN, ENDS_WITHIN, LEAVES_WITHIN = 1.5, 1.0, 8.0
#: Seconds in which a search that looks for itself must have looked.
LOOKS_WITHIN = 8.0
#: Seconds for which the main thread waits for the threads to end.
WAITS = 1.0
#: Functions from which no exception gets out: destructors, and what z3 calls.
LOSES_EXCEPTIONS = ("__del__", "z3_error_handler")
#: Another one is of the module that imports modules.
_LOSES_AT_IMPORT, _IMPORTS = "cb", "importlib._bootstrap"
#: The module whose destructors fail where a constructor was left half way.
_Z3 = "z3.z3"
#: Exit codes of a process that is ended by the thread: by signals, or at a limit.
_CODE_OF_SIGNALS, _CODE_OF_LIMITS = 130, 3


class Stopped(KeyboardInterrupt):
    """Raised in the main thread: end, and report what is known. Its text says why."""


class StoppedInCall(Stopped):
    """The same in the middle of a call of a user's own code, which a search cannot end by itself."""

    def __init__(self, reason: str, call: str = "") -> None:
        super().__init__(without_call(reason) + (f"{_IN_A_CALL}{call}" if call else ""))


def reason_of(ending: KeyboardInterrupt) -> str:
    """Why something ended."""
    return str(ending) or INTERRUPTED


def raised_by_signal(ending: KeyboardInterrupt) -> bool:
    """False if a user's own code raised it. Where no signals are watched, none can be told from the other: True."""
    return isinstance(ending, Stopped) or not _watches or _watches[0].at_once


def without_call(reason: str) -> str:
    """Why something ended, without the call in the middle of which it did."""
    return reason.partition(_IN_A_CALL)[0]


def is_interrupt(reason: str | None) -> bool:
    """True if a signal is why something ended, also in the middle of a call."""
    return reason is not None and without_call(reason) == INTERRUPTED


class Part:
    """A part that can be stopped. `reason`: why it was, or None; `out_of_memory`: an allocation failed.

    `interrupt` is called in a thread of its own, as a solver may have it wait for a lock, and nothing else is to.
    """

    def __init__(self, limits: Limits, interrupt: Callable[[], None] | None) -> None:
        self.limits = limits
        self.began = time.monotonic()
        self.reason: str | None = None
        self.out_of_memory = False
        self._interrupting = None if interrupt is None else Repeatedly(interrupt)

    def interrupt(self) -> None:
        """Stops what does not run Python."""
        if self._interrupting is not None:
            self._interrupting.request()

    def lacked_memory(self, reason: str) -> None:
        """Notes that an allocation failed, if nothing else has stopped it."""
        if self.reason is None:
            self.out_of_memory = True
            self.reason = reason

    def left(self) -> None:
        """From then on nothing is interrupted, as what is interrupted may be taken down."""
        if self._interrupting is not None:
            self._interrupting.end(WAITS)


class _Watch:
    """The handlers and the thread; there is one at most."""

    def __init__(self) -> None:
        self.part: Part | None = None
        #: The calls of a user's own code that are made.
        self.calls: LastingCalls | None = None
        #: What is to be raised as soon as that can be.
        self.pending: KeyboardInterrupt | None = None
        #: Does a search look for itself whether it is to end?
        self.deferring = False
        #: True once the search has been notified.
        self.search_notified = False
        #: When does it not?
        self.unless: Callable[[], bool] = lambda: False
        #: Is it being taken down?
        self.leaving = False
        #: Held while the main thread is nudged: its handler is there until then.
        self._nudging = threading.Lock()
        #: The signals that the main thread has heard of, and when it last heard of anything.
        self.heard = 0
        self.heard_at = 0.0
        self.first_heard_at = float("inf")
        self.raised_at = float("-inf")
        #: Has the main thread raised something for the first signal?
        self.first_is_reported = False
        # Of the thread: when each signal came, when it last nudged, and since when a part is to end.
        self._came: list[float] = []
        self._nudged_at = self._stopped_at = 0.0
        self._stopped: Part | None = None

    @property
    def at_once(self) -> bool:
        """True if there has been a second signal."""
        return self.heard > 1

    @contextmanager
    def installed(self) -> Iterator[None]:
        self._reads, writes = socket.socketpair()
        writes.setblocking(False)
        # A process that was started to ignore a signal goes on to do so.
        numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = [(number, signal.signal(number, self._handle)) for number in (*numbers, _NUDGE)]
        others = signal.set_wakeup_fd(writes.fileno(), warn_on_full_buffer=False)
        hook, sys.unraisablehook = sys.unraisablehook, self._raise_again(sys.unraisablehook)
        thread: Beside | None = None
        try:
            thread = Beside(self._watch)
            yield
        finally:
            with self._nudging:
                self.leaving = True
            sys.unraisablehook = hook
            signal.set_wakeup_fd(others)
            writes.close()
            if thread is None or thread.wait(WAITS):
                self._reads.close()
            for number, handler in before:
                signal.signal(number, handler)
        if self.pending is not None:
            raise self.pending  # it came too late for the call at work

    # -- in the main thread --------------------------------------------------------------------------------------------

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.heard_at = time.monotonic()
        if number != _NUDGE:
            self.heard += 1
            self.first_heard_at = min(self.first_heard_at, self.heard_at)
            if not self.at_once and self.first_is_reported:
                return  # by a nudge, whose handler was run before this one
            self.pending = KeyboardInterrupt() if self.at_once else Stopped(INTERRUPTED)
        calls = self.calls
        call = None if calls is None else calls.lasting(frame, self.heard_at)
        ending = self.pending or self.of_the_part
        if ending is None and call is not None and calls is not None and calls.reason is not None:
            ending = Stopped(calls.reason)
        waits = self.leaving or (call is None and self._is_left_to_the_search()) or _would_be_lost(frame)
        # Two come together after compiled code: the second would be in the way of the first.
        again = number == _NUDGE and self.heard_at - self.raised_at < NUDGE_EVERY / 2
        if ending is None or waits or again:
            return
        self.raised_at = self.heard_at
        self.pending = None
        self.first_is_reported |= bool(self._came) and reason_of(ending) == INTERRUPTED
        if call is not None and not self.at_once:
            ending = StoppedInCall(reason_of(ending), call)
        if self.part is not None and (self.part.reason is None or isinstance(ending, StoppedInCall)):
            self.part.reason = reason_of(ending)
        raise ending

    def _raise_again(self, report: Callable[[UnraisableHookArgs], object]) -> Callable[[UnraisableHookArgs], None]:
        """What is raised where Python loses exceptions, as in the callback of a weak reference, is raised once more."""

        def hook(lost: UnraisableHookArgs) -> None:
            if isinstance(lost.exc_value, KeyboardInterrupt):
                self.pending = lost.exc_value
            else:
                report(lost)

        return hook

    def _is_left_to_the_search(self) -> bool:
        """True if a search looks for itself; if it has not for long, it is in a call that does not come to its end."""
        if not self.deferring or self.at_once or self.unless():
            return False
        return self.search_notified or time.monotonic() - self.first_heard_at < LOOKS_WITHIN

    @property
    def of_the_part(self) -> Stopped | None:
        """The exception that ends the part at work, if it is to end."""
        return None if self.part is None or self.part.reason is None else Stopped(self.part.reason)

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self.leaving:
            try:
                self._look()
            except MemoryError:
                if self.part is not None:
                    self.part.lacked_memory(NO_MEMORY)
                time.sleep(LOOK_EVERY)

    def _look(self) -> None:
        came = self._came
        ready, _, _ = select.select([self._reads], [], [], LOOK_EVERY)
        if ready:
            numbers = self._reads.recv(64)
            came += [time.monotonic()] * sum(numbers.count(number) for number in SIGNALS)
        if self.leaving:
            return
        now, part = time.monotonic(), self.part
        if part is not None and part.reason is None and self.heard >= len(came):
            reached = part.limits.reached(now - part.began)
            if part.reason is None and reached is not None:  # the main thread may have heard of a signal meanwhile
                part.reason = reached
        # Also what was heard of where nothing could be raised: a query may have begun since.
        waits = self.heard < len(came) or (self.pending is not None and not self.deferring)
        stops = part is not None and (part.reason is not None or waits)
        if (stops or self.pending is not None) and now - self._nudged_at > NUDGE_EVERY:
            self._nudged_at = now
            if part is not None and stops:
                if part.reason is None and not self.deferring:
                    part.reason = INTERRUPTED  # before anything fails because it is interrupted
                part.interrupt()
            self._nudge()
        if part is not None and part.reason is not None:
            if part is not self._stopped:
                self._stopped, self._stopped_at = part, now
            if now - self._stopped_at > LEAVES_WITHIN:
                code = _CODE_OF_SIGNALS if came else _CODE_OF_LIMITS
                _end(code, f"{part.reason}, in the middle of what cannot be ended otherwise")
        self._look_at_calls(now)
        if len(came) > 1 and now - came[1] > ENDS_WITHIN:
            _end(_CODE_OF_SIGNALS, INTERRUPTED)
        if came and not self.heard and self.heard_at < came[0] and now - came[0] > HEARS_WITHIN:
            _end(_CODE_OF_SIGNALS, f"{INTERRUPTED}, in the middle of what cannot be ended otherwise")

    def _look_at_calls(self, now: float) -> None:
        """Ends a call that lasts where a limit is reached, or after a signal."""
        calls = self.calls
        if calls is None:
            return
        calls.look(now, INTERRUPTED if self._came else None)
        if calls.reason is None:
            return
        if now - self._nudged_at > NUDGE_EVERY:
            self._nudged_at = now
            self._nudge()
        if now - calls.reason_since > LEAVES_WITHIN:
            code = _CODE_OF_SIGNALS if self._came else _CODE_OF_LIMITS
            _end(
                code,
                f"{calls.reason}, in the middle of a call that cannot be ended otherwise: {calls.lasting_now(now)}",
            )

    def _nudge(self) -> None:
        main = threading.main_thread().ident
        assert main is not None
        with self._nudging:
            if not self.leaving:
                signal.pthread_kill(main, _NUDGE)


_watches: list[_Watch] = []


def _would_be_lost(frame: FrameType | None) -> bool:
    """True if a destructor is at work, or a function that C calls, whose exceptions are printed and lost; or code that
    has to come to its end: a constructor of z3, a context manager of this module.
    """
    while frame is not None:
        name = frame.f_code.co_name
        of_import = name == _LOSES_AT_IMPORT and frame.f_globals.get("__name__") == _IMPORTS
        if name in LOSES_EXCEPTIONS or of_import or _has_to_end(frame):
            return True
        frame = frame.f_back
    return False


def _has_to_end(frame: FrameType) -> bool:
    constructs = frame.f_code.co_name == "__init__" and frame.f_globals.get("__name__") == _Z3
    return constructs or _is_of_this_module(frame)


def _is_of_this_module(frame: FrameType) -> bool:
    code = frame.f_code
    if code in (_GeneratorContextManager.__enter__.__code__, _GeneratorContextManager.__exit__.__code__):
        code = frame.f_locals["self"].gen.gi_code
    return code in _CONTEXTS


def _end(code: int, said: str) -> None:
    try:
        os.write(2, f"crownless: {said}\n".encode())
    finally:  # also where nothing can be written
        os._exit(code)


@contextmanager
def watching() -> Iterator[None]:
    """Within it signals end things in the way of this module; outside the main thread nothing changes."""
    if _watches or threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch()
    _watches.append(watch)
    try:
        with watch.installed():
            yield
    finally:
        _watches.clear()


@contextmanager
def stoppable(limits: Limits | None = None, interrupt: Callable[[], None] | None = None) -> Iterator[Part]:
    """A part that ends at a signal or at a limit, wherever it is, and then goes on after the block; see `Part.reason`.

    The search is notified again until the block is left, since a search within may take it for a request to end early
    alone. `interrupt` stops what does not run Python, such as a solver; the thread calls it. An allocation that fails
    is an end of the same kind. Outside the main thread signals and limits have no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Part(limits or Limits(), None)
        return
    with watching():
        part = Part(limits or Limits(), interrupt)
        (watch,) = _watches
        outer, watch.part = watch.part, part
        try:
            yield part
        except KeyboardInterrupt as ending:
            watch.part = None
            if watch.at_once:
                raise
            part.reason = part.reason or reason_of(ending)
        except Exception as error:
            if lacks_memory(error):
                watch.part = None
                release_reserve()
                part.lacked_memory(allocation_failed())
            elif part.reason is None:
                raise
            # What is broken off in the middle may fail in any way.
        finally:
            watch.part = outer
            if part.reason is not None and not watch.at_once:
                watch.pending = None  # the part has heard of it
            part.left()


def stop_reason() -> str | None:
    """Why the part at work is to end, or None: what it finds from then on is not to be relied on."""
    return next((watch.part.reason for watch in _watches if watch.part is not None), None)


@contextmanager
def deferred(unless: Callable[[], bool] = lambda: False) -> Iterator[Callable[[], str | None]]:
    """Within it a first signal raises nothing, since the search in it looks for itself: by the function that is given,
    which says why it is to end, or None. A second signal raises `KeyboardInterrupt`, and `unless` says when the first
    raises `Stopped` all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    with watching():
        (watch,) = _watches
        outer, watch.deferring, watch.unless = watch.deferring, True, unless
        seen: list[str] = []

        def reason() -> str | None:
            ending = watch.pending or watch.of_the_part
            if ending is not None and not seen:
                watch.search_notified = True
                seen.append(reason_of(ending))
            return seen[0] if seen else None

        try:
            yield reason
        finally:
            watch.deferring, watch.search_notified = outer, False
            if seen and not watch.at_once:
                watch.pending = None  # the search has heard of it


@contextmanager
def ending_calls(
    calls: Calls, over: Callable[[], str | None], report: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Within it a call of a user's own code that does not return is ended by the first signal, and where a limit is
    reached, of which `over` says which it is: by `StoppedInCall`, also where a search looks for itself. `report` gets a
    line on one that lasts long.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with watching():
        (watch,) = _watches
        outer, watch.calls = watch.calls, LastingCalls(calls, over, report)
        try:
            yield
        finally:
            watch.calls = outer


#: What the context managers of this module run.
_CONTEXTS = [unwrap(context).__code__ for context in (_Watch.installed, watching, stoppable, deferred, ending_calls)]
