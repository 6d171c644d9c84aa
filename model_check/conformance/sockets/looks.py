"""A look at a node through Linux: which of its threads are asleep, for how long, and what it has not read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import inf, isnan
from typing import NamedTuple

from .waits import wait_for_timers, wait_of

#: The states of threads that do nothing: asleep, or ended.
_RESTING = "SZXI"
TABLES = ("udp", "udp6", "tcp", "tcp6")


class Thread(NamedTuple):
    """A thread. `ran`: nanoseconds on a processor; `switches`: how often it was put on one."""

    process: int
    number: int
    state: str
    ran: int
    switches: int


class Socket(NamedTuple):
    """A socket as the tables of `/proc/net` have it."""

    port: int
    #: Bytes, or connections, that have come and are not taken.
    unread: int
    #: Datagrams for which there was no room.
    dropped: int


class Look(NamedTuple):
    """A moment. `longest`: the longest time for which any thread waits, of those that wait for a limited time up to
    `settle`, which stands for one that cannot be read; None: there is none. `later`: some wait for longer."""

    threads: tuple[Thread, ...]
    longest: float | None = None
    later: bool = False
    #: What files the processes have.
    files: frozenset[str] = frozenset()

    @property
    def runs(self) -> bool:
        """Is any thread not asleep?"""
        return any(thread.state not in _RESTING for thread in self.threads)

    @property
    def ran(self) -> int:
        """Nanoseconds on processors."""
        return sum(thread.ran for thread in self.threads)


def look_at(process: int, settle: float) -> Look:
    """The program that was started as this process, and those that it started and that are still its own."""
    threads = tuple(_threads(process))
    look = Look(threads)
    if look.runs:
        return look
    waits = [wait_of(thread.process, thread.number) for thread in threads if thread.state == "S"]
    owned: set[str] = set()
    for each in {thread.process for thread in threads}:
        files = files_of(each)
        waits.append(wait_for_timers(each, files))
        owned |= set(files.values())
    limited = [settle if isnan(wait) else wait for wait in waits if wait != inf]
    longest = max((wait for wait in limited if wait <= settle), default=None)
    return Look(threads, longest, any(wait > settle for wait in limited), frozenset(owned))


def unread_port(look: Look) -> int | None:
    """A port of the node at which something has come that it has not taken; None: there is none."""
    unread = (one for inode, one in sockets().items() if one.unread and f"socket:[{inode}]" in look.files)
    return next((one.port for one in unread), None)


def _threads(process: int) -> Iterator[Thread]:
    """The threads of a process, and of all that are below it."""
    with suppress(OSError):
        for number in sorted(map(int, os.listdir(f"/proc/{process}/task"))):
            folder = f"/proc/{process}/task/{number}"
            with suppress(OSError, ValueError, IndexError):
                stat = _read(f"{folder}/stat").rpartition(")")[2].split()
                yield Thread(process, number, stat[0], *_counts(folder, stat))
            with suppress(OSError):
                for child in map(int, _read(f"{folder}/children").split()):
                    yield from _threads(child)


def _counts(folder: str, stat: list[str]) -> tuple[int, int]:
    """Nanoseconds on a processor, and how often the thread was put on one."""
    try:
        ran, _, times = map(int, _read(f"{folder}/schedstat").split())
    except (OSError, ValueError):  # a kernel that does not count these
        lines = _read(f"{folder}/status").splitlines()
        times = sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
        ran = (int(stat[11]) + int(stat[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return ran, times


def files_of(process: int) -> dict[int, str]:
    """What the open files of a process are."""
    found = {}
    with suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                found[int(name)] = os.readlink(f"/proc/{process}/fd/{name}")
    return found


def sockets(tables: Iterable[str] = TABLES) -> dict[int, Socket]:
    """The sockets of this machine by their inodes; these tables take milliseconds to read."""
    found = {}
    for table in tables:
        with suppress(OSError):
            for line in _read(f"/proc/net/{table}").splitlines()[1:]:
                parts = line.split()
                dropped = int(parts[12]) if table.startswith("udp") else 0
                found[int(parts[9])] = Socket(
                    int(parts[1].rpartition(":")[2], 16), int(parts[4].partition(":")[2], 16), dropped
                )
    return found


def _read(name: str) -> str:
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()
