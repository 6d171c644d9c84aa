"""For how long a thread waits that is asleep in a system call, as Linux shows it."""

from __future__ import annotations

import os
import platform
import struct
import time
from contextlib import suppress
from math import inf, nan
from typing import Literal, NamedTuple


class Timed(NamedTuple):
    """Of a system call that may wait for a limited time: which argument says for how long, and as what."""

    argument: int
    how: Literal["milliseconds", "timespec", "timeval"]


#: By the names of the calls.
_TIMED = {
    "poll": Timed(2, "milliseconds"),
    "epoll_wait": Timed(3, "milliseconds"),
    "epoll_pwait": Timed(3, "milliseconds"),
    "epoll_pwait2": Timed(3, "timespec"),
    "ppoll": Timed(2, "timespec"),
    "select": Timed(4, "timeval"),
    "pselect6": Timed(4, "timespec"),
    "futex": Timed(3, "timespec"),
    "nanosleep": Timed(0, "timespec"),
    "clock_nanosleep": Timed(2, "timespec"),
    "rt_sigtimedwait": Timed(2, "timespec"),
    "semtimedop": Timed(3, "timespec"),
    "mq_timedsend": Timed(4, "timespec"),
    "mq_timedreceive": Timed(4, "timespec"),
    "io_getevents": Timed(4, "timespec"),
}
#: Calls that may wait for a limited time, of which nothing shows for how long.
_UNKNOWN = ("restart_syscall", "futex_waitv", "futex_wait", "io_pgetevents", "io_uring_enter")
_NUMBERS = {
    "x86_64": {
        "poll": 7, "select": 23, "nanosleep": 35, "futex": 202, "io_getevents": 208, "restart_syscall": 219,
        "semtimedop": 220, "rt_sigtimedwait": 128, "clock_nanosleep": 230, "epoll_wait": 232, "mq_timedsend": 242,
        "mq_timedreceive": 243, "pselect6": 270, "ppoll": 271, "epoll_pwait": 281, "io_pgetevents": 333,
        "io_uring_enter": 426, "epoll_pwait2": 441, "futex_waitv": 449, "futex_wait": 455,
    },
    "aarch64": {
        "io_getevents": 4, "epoll_pwait": 22, "pselect6": 72, "ppoll": 73, "futex": 98, "nanosleep": 101,
        "clock_nanosleep": 115, "restart_syscall": 128, "rt_sigtimedwait": 137, "mq_timedsend": 182,
        "mq_timedreceive": 183, "semtimedop": 192, "io_pgetevents": 292, "io_uring_enter": 426, "epoll_pwait2": 441,
        "futex_waitv": 449, "futex_wait": 455,
    },
}  # fmt: skip
_NAMES = {number: name for name, number in _NUMBERS.get(platform.machine(), {}).items()}

#: Of the operation of a futex: the bits of flags, that of the clock of the day, and the one in which times are points.
_FUTEX_FLAGS, _FUTEX_REALTIME, _FUTEX_FROM_NOW = 0x180, 0x100, 0


def wait_of(process: int, thread: int) -> float:
    """Seconds for which a thread that is asleep goes on waiting at most; `inf`: until something happens; `nan`: that
    cannot be read."""
    try:
        with open(f"/proc/{process}/task/{thread}/syscall", "rb") as file:
            number, *words = file.read().split()
    except (OSError, ValueError):
        return nan
    if not words or not _NAMES:  # it runs, or the numbers of its system calls are not known
        return nan
    name, arguments = _NAMES.get(int(number), ""), [int(word, 16) for word in words[:6]]
    if name in _UNKNOWN:
        return nan
    timed = _TIMED.get(name)
    if timed is None:
        return inf
    given = arguments[timed.argument]
    if timed.how == "milliseconds":
        given &= 0xFFFFFFFF
        return inf if given >= 1 << 31 else given / 1000
    if not given:
        return inf
    seconds: float = _seconds_at(process, given, timed.how)
    clock = _clock(name, arguments)
    return seconds if clock is None else max(0.0, seconds - time.clock_gettime(clock))


def _clock(name: str, arguments: list[int]) -> int | None:
    """The clock by which a point in time is given; None: it is given how long from now."""
    if name == "futex":
        if arguments[1] & ~_FUTEX_FLAGS == _FUTEX_FROM_NOW:
            return None
        return time.CLOCK_REALTIME if arguments[1] & _FUTEX_REALTIME else time.CLOCK_MONOTONIC
    if name == "clock_nanosleep":
        return (time.CLOCK_REALTIME if arguments[0] == 0 else time.CLOCK_MONOTONIC) if arguments[1] & 1 else None
    return time.CLOCK_REALTIME if name.startswith("mq_") else None


def _seconds_at(process: int, address: int, how: str) -> float:
    """The time in the memory of a process."""
    try:
        memory = os.open(f"/proc/{process}/mem", os.O_RDONLY)
        try:
            seconds, part = struct.unpack("qq", os.pread(memory, 16, address))
        finally:
            os.close(memory)
    except (OSError, struct.error, OverflowError):
        return nan
    total: float = seconds + part * (1e-9 if how == "timespec" else 1e-6)
    return total


def wait_for_timers(process: int, files: dict[int, str]) -> float:
    """Seconds until a timer may ring that a process has as a file, or of POSIX; `inf`: none; `nan`: it cannot be read.

    What `setitimer` and `alarm` have set is not shown anywhere.
    """
    longest = -inf
    for number, target in files.items():
        if target == "anon_inode:[timerfd]":
            with suppress(OSError, ValueError), open(f"/proc/{process}/fdinfo/{number}", encoding="ascii") as file:
                text = file.read()
                left = text.partition("it_value: (")[2].partition(")")[0]
                seconds, nanoseconds = map(int, left.split(","))
                longest = max(longest, seconds + nanoseconds * 1e-9) if seconds or nanoseconds else longest
    with suppress(OSError), open(f"/proc/{process}/timers", "rb") as posix:
        if posix.read(1):
            return nan
    return longest if longest >= 0 else inf
