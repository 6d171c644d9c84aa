"""Limits that end a search early: states, seconds, memory.

Without a limit of its own a search may use three quarters of the memory that is available when it starts: what this
machine has free, what its control groups (version 1 or 2) leave, and what `ulimit -v` and `ulimit -d` leave of address
space and data; the smallest counts.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import psutil

#: Of the memory that is available a search uses so much, unless a limit is given.
SHARE = 0.75
#: Seconds between two looks at memory.
LOOK_EVERY = 0.02

#: Why a search ended where not even that can be found out.
NO_MEMORY = "no more memory could be had"

Measure = Literal["rss", "vms", "data"]

#: What is measured, in words.
_MEASURED: dict[Measure, str] = {"rss": "memory", "vms": "address space", "data": "data"}

#: Measures that a shell limits for a process: what limits them, and by which command.
_BY_THE_SHELL: tuple[tuple[Measure, int, str], ...] = (
    ("vms", resource.RLIMIT_AS, "ulimit -v"),
    ("data", resource.RLIMIT_DATA, "ulimit -d"),
)


@dataclass(frozen=True)
class Available:
    """So many bytes more may be used, by this measure; `whose` says who sets that limit."""

    measure: Measure
    free: int
    whose: str


@dataclass(frozen=True)
class Limits:
    """When to give up: the verdict is then `unknown`. None: no limit, but for memory.

    `memory`: the bytes that this process may use; None: three quarters of what is available when this is made. `spent`:
    the seconds that earlier searches took.
    """

    states: int | None = None
    seconds: float | None = None
    memory: int | None = None
    spent: float = 0.0
    #: For each measure the most that may be used, and why, in words.
    _most: tuple[tuple[Measure, int, str], ...] = field(init=False, repr=False, compare=False)
    #: When memory is looked at again.
    _look_again: float = field(default=float("-inf"), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.memory is not None:
            most: list[tuple[Measure, int, str]] = [
                ("rss", self.memory, f"{self.memory >> 20} MiB of memory are used"),
            ]
        else:
            used = _used()
            most = []
            for known in available():
                limit = used[known.measure] + int(SHARE * known.free)
                by_default = f"three quarters of what {known.whose} left; --max-memory SIZE sets another limit"
                most.append(
                    (known.measure, limit, f"{limit >> 20} MiB of {_MEASURED[known.measure]} are used, {by_default}")
                )
        object.__setattr__(self, "_most", tuple(most))

    def reached(self, seconds: float) -> str | None:
        """Says which limit is reached after so many seconds, if one is; states are counted elsewhere."""
        return self.seconds_are_over(seconds) or self.memory_is_used()

    def after(self, seconds: float) -> Limits:
        """The same for a search that comes after one that took so many seconds."""
        return replace(self, spent=self.spent + seconds)

    def of_a_second_search(self, seconds: float | None) -> Limits:
        """The same after a search that ended early, whose memory may not have been given back: a quarter more of it."""
        memory = None if self.memory is None else max(self.memory, memory_in_use() + self.memory // 4)
        return replace(self, seconds=seconds, memory=memory, spent=0.0)

    def seconds_are_over(self, seconds: float) -> str | None:
        """Says so, if the seconds that a search may take are over."""
        over = self.seconds is not None and seconds + self.spent > self.seconds
        return f"{self.seconds:g} seconds are over" if over else None

    def memory_is_used(self) -> str | None:
        """Says so, if all the memory is in use that may be; it is looked at now and then, since a look is slow."""
        now = time.monotonic()
        if now < self._look_again:
            return None
        object.__setattr__(self, "_look_again", now + LOOK_EVERY)
        used = _used()
        return next((said for measure, most, said in self._most if used[measure] > most), None)


def states_are_reached(states: int) -> str:
    """Why a search ended that may not have more states."""
    return f"{states} states are reached"


def memory_in_use() -> int:
    """The bytes of memory that this process has taken."""
    return int(psutil.Process().memory_info().rss)


def allocation_failed() -> str:
    """Why a search ended to which the system gave no more memory."""
    try:
        said = f"{NO_MEMORY} than {memory_in_use() >> 20} MiB"
        limits = [name for _, limit, name in _BY_THE_SHELL if resource.getrlimit(limit)[0] != resource.RLIM_INFINITY]
        return f"{said}; {' and '.join(limits)} set a limit" if limits else said
    except (MemoryError, OSError):
        return NO_MEMORY


def available() -> list[Available]:
    """The remaining limits, by each measure: of several limits on the same the smallest."""
    known = [Available("rss", psutil.virtual_memory().available, "this machine")]
    known += [Available("rss", free, "the control group") for free in free_in_control_groups()]
    used = _used()
    for measure, limit, name in _BY_THE_SHELL:
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            known.append(Available(measure, max(0, soft - used[measure]), name))
    least: dict[Measure, Available] = {}
    for one in sorted(known, key=lambda one: one.free):
        least.setdefault(one.measure, one)
    return list(least.values())


def free_in_control_groups(
    membership: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """The bytes that each control group around this process leaves to it; none where none has a limit."""
    try:
        lines = membership.read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            root, limit, usage, reclaimable = mounted, "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            root, limit, usage = mounted / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            reclaimable = "total_inactive_file"
        else:
            continue
        folder = root / group.lstrip("/")
        # Inside a container the path may be that outside, of which only the end is mounted, as the root.
        for each in (folder, *folder.parents):
            if each.is_relative_to(root):
                most, used = _number(each / limit), _number(each / usage)
                if most is not None and used is not None and most < psutil.virtual_memory().total:
                    yield max(0, most - used + _of_statistics(each / "memory.stat", reclaimable))


def _number(file: Path) -> int | None:
    """The number in a file; None if there is none, as where a group has no limit."""
    try:
        return int(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _of_statistics(file: Path, name: str) -> int:
    """A figure of a control group's: of memory in use, what the system takes back before it refuses any."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)


def _used() -> dict[Measure, int]:
    info = psutil.Process().memory_info()
    return {"rss": int(info.rss), "vms": int(info.vms), "data": int(getattr(info, "data", 0))}
