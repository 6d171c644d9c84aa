"""Ending early: signals (Ctrl-C, SIGTERM) and limits of time and memory.

A first signal raises nothing; a thread notes it. Long-running code checks regularly whether to end: a search by
`Limits.reached`, which returns the reason, other code by `look`, which raises `Stopped`. A solver does not check; the
thread stops it by its own function (`interrupted_by`). A second signal ends the process, and so does a limit that was
reached some seconds ago without a check since, as in a user's function that never returns.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from .memory import NO_MEMORY, measure_anew, memory_in_use, memory_left

#: Why a search ended after a signal.
INTERRUPTED = "interrupted"

SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: A search uses this share of the available memory, unless a limit is given.
SHARE = 0.75
#: After an interrupt the search for runs to show gets this many seconds: the user wants the results now.
SHOWN_WITHIN = 0.5
#: Seconds between two checks by the thread.
WATCH_EVERY = 0.1
#: Seconds from a first signal to the line that explains a second one.
HINT_AFTER = 3.0
#: Seconds allowed without a check once a limit is reached.
GRACE = 8.0
#: The number of items, such as rows of a log, between two checks of `looked_at`: some hundredths of a second.
ITEMS_AT_A_TIME = 1 << 12
#: Exit codes of a process that the thread ends.
EXIT_AT_LIMIT, EXIT_INTERRUPTED = 3, 130


T = TypeVar("T")


class Stopped(KeyboardInterrupt):
    """Raised by `look`: end, and report what is known. Its text is the reason."""


@dataclass(frozen=True)
class Limits:
    """When to give up: the verdict is then `unknown`. None: no limit, but for memory.

    `memory`: the bytes that this process may use; None: three quarters of the memory available at creation. `spent`:
    the seconds that earlier searches took. `ignores_signals`: of a short search after an interrupt.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    spent: float = 0.0
    ignores_signals: bool = False
    #: The most memory that may be used, and how a reason says so.
    _most: tuple[int, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        most, default = self.memory, ""
        if most is None:
            left, limited_by = memory_left()
            most = memory_in_use() + int(SHARE * left)
            default = f", three quarters of what {limited_by} left; --max-memory SIZE sets another limit"
        object.__setattr__(self, "_most", (most, f"memory limit of {most >> 20} MiB reached{default}"))

    def reached(self, seconds: float) -> str | None:
        """The reason to end after these seconds: an interrupt, a limit that is reached, or the reason of the running
        part; None if there is none.
        """
        reason = self.over(seconds)
        part = stop_reason()
        return reason if self.ignores_signals else reason or part

    def over(self, seconds: float) -> str | None:
        """The same for these limits alone."""
        if interrupted() and not self.ignores_signals:
            return INTERRUPTED
        if self.seconds is not None and seconds + self.spent > self.seconds:
            return f"time limit of {self.seconds:g} s reached"
        most, reason = self._most
        return reason if memory_in_use() > most else None

    def memory_is_why(self, reason: str | None) -> bool:
        """True if this is the reason to end when too much memory is used."""
        return reason is not None and reason.startswith(self._most[1])

    def after(self, seconds: float) -> "Limits":
        """The same for a search that comes after one that took these seconds."""
        later = replace(self, spent=self.spent + seconds)
        object.__setattr__(later, "_most", self._most)
        return later

    def for_runs_to_show(self) -> "Limits":
        """The same for the search for runs to show, after one that ended early: short after an interrupt, and with a
        quarter more of memory, which may not have been given back.
        """
        memory = None if self.memory is None else max(self.memory, memory_in_use() + self.memory // 4)
        outer = _watches[0].part.outer if _watches and _watches[0].part is not None else None
        in_a_hurry = interrupted() or (outer is not None and outer.over() is not None)
        seconds = SHOWN_WITHIN if in_a_hurry else self.seconds
        return replace(self, seconds=seconds, memory=memory, spent=0.0, ignores_signals=True)


def state_limit_reached(states: int) -> str:
    """Why a search ended at its maximum number of states."""
    return f"state limit of {states:,} reached"


class Part:
    """A part of the work that can end early. `reason`: why it did, or None."""

    def __init__(self, limits: Limits, clock: Callable[[], float], outer: "Part | None") -> None:
        self.limits = limits
        self.outer = None if limits.ignores_signals else outer
        self.reason: str | None = None
        #: When there was first a reason to end.
        self.ended_at = float("-inf")
        self._clock = clock
        self._began = clock()

    def over(self) -> str | None:
        """The reason to end, from the first time that there is one."""
        if self.reason is None:
            own = self.limits.over(self._clock() - self._began)
            self.reason = own or (None if self.outer is None else self.outer.over())
            self.ended_at = time.monotonic()
        return self.reason


class _Watch:
    """The thread that reads signals, and checks the clock and memory; there is at most one."""

    def __init__(self) -> None:
        self.part: Part | None = None
        self.interrupts: list[Callable[[], None]] = []
        self.signals = 0
        self.looked_at = time.monotonic()
        self._first_at = float("inf")
        self._leaving = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        self._reads, writes = socket.socketpair()
        writes.setblocking(False)
        # A process that was started with a signal ignored keeps ignoring it.
        watched = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = [(number, signal.signal(number, lambda *_: None)) for number in watched]
        others = signal.set_wakeup_fd(writes.fileno(), warn_on_full_buffer=False)
        thread = threading.Thread(target=self._watch, daemon=True)
        try:
            thread.start()
            yield
        finally:
            self._leaving = True
            signal.set_wakeup_fd(others)
            for number, handler in before:
                signal.signal(number, handler)
            writes.close()
            if thread.ident is not None:
                thread.join()
            self._reads.close()

    def _watch(self) -> None:
        hinted = False
        while not self._leaving:
            ready, _, _ = select.select([self._reads], [], [], WATCH_EVERY)
            numbers = self._reads.recv(64) if ready else b""
            if any(number in SIGNALS for number in numbers):
                self.signals += 1
                self._first_at = min(self._first_at, time.monotonic())
            if self.signals > 1:
                _end(EXIT_INTERRUPTED, INTERRUPTED)
            with suppress(Exception):  # of any kind: it goes on where memory has run out
                self._stop_part()
            if time.monotonic() - self._first_at > HINT_AFTER and not (hinted or self._leaving):
                hinted = True
                _write("interrupted; stopping (Ctrl-C again to stop at once)")

    def _stop_part(self) -> None:
        """Stops solvers if the running part is to end, and the process if nothing reacts."""
        part = self.part
        reason = None if part is None or self._leaving else part.over()
        if part is None or reason is None:
            return
        for interrupt in self.interrupts.copy():
            with suppress(Exception):  # of any kind, as solvers have their own: it is called again
                interrupt()
        if reason != INTERRUPTED and time.monotonic() - max(self.looked_at, part.ended_at) > GRACE:
            _end(EXIT_AT_LIMIT, f"{reason}, in the middle of a call that does not return")


_watches: list[_Watch] = []


def _write(line: str) -> None:
    with suppress(OSError):
        os.write(2, f"crownless: {line}\n".encode())


def _end(code: int, line: str) -> None:
    """Ends the process, with a line; a terminal's cursor, which a line of progress hides, is shown again."""
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")
    _write(line)
    os._exit(code)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def watching() -> Iterator[None]:
    """Within it signals are noted, and end the process only the second time; no effect outside the main thread."""
    if _watches or not _in_main_thread():
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
def stoppable(limits: Limits | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Part]:
    """A part that ends at a signal or a limit, when it checks, and then goes on after the block; see `Part.reason`.

    A failed allocation is an end of the same kind. Code that ends early may fail in any way.
    """
    with watching():
        watch = _watches[0] if _watches and _in_main_thread() else _Watch()
        outer = watch.part
        watch.part = part = Part(limits or Limits(), clock, outer)
        try:
            yield part
        except Stopped as ending:
            part.reason = part.reason or str(ending)
        except MemoryError:
            part.reason = part.reason or NO_MEMORY
        except Exception:
            if part.over() is None:
                raise
        finally:
            watch.part = outer


def stop_reason() -> str | None:
    """Why the running part is to end, or None; later findings are unreliable."""
    is_at_work()
    for watch in _watches:
        if watch.part is not None:
            return watch.part.over()
    return None


def is_at_work() -> None:
    """Says that other threads are at work, and that this one waits for them: it did not forget to check."""
    for watch in _watches:
        watch.looked_at = time.monotonic()


def memory_is_freed() -> None:
    """The memory in use is measured anew: parts that reached their limit of it may go on if they use less now."""
    measure_anew()
    part = _watches[0].part if _watches else None
    while part is not None:
        if part.limits.memory_is_why(part.reason):
            part.reason = None
        part = part.outer


def look() -> None:
    """Raises `Stopped` if the running part is to end."""
    reason = stop_reason()
    if reason is not None:
        raise Stopped(reason)


def looked_at(items: Iterable[T], every: int = ITEMS_AT_A_TIME) -> Iterator[T]:
    """The same items; raises `Stopped` before one of every so many if the running part is to end."""
    for number, item in enumerate(items):
        if not number % every:
            look()
        yield item


def looking(limits: Limits, calls: int = 1024) -> Callable[[], None]:
    """A function that raises `Stopped` if one of these limits is reached; it checks once every `calls` calls."""
    began, made = time.monotonic(), count()

    def tick() -> None:
        reason = None if next(made) % calls else limits.reached(time.monotonic() - began)
        if reason is not None:
            raise Stopped(reason)

    return tick


def interrupted() -> bool:
    """True once there was a signal."""
    return bool(_watches and _watches[0].signals)


@contextmanager
def interrupted_by(interrupt: Callable[[], None]) -> Iterator[None]:
    """Within it the thread calls this function, repeatedly, once the running part is to end."""
    interrupts = _watches[0].interrupts if _watches else []
    interrupts.append(interrupt)
    try:
        yield
    finally:
        interrupts.remove(interrupt)
