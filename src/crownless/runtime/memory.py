"""Memory: how much is in use, how much is left, and Python's garbage collector held off."""

import gc
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

#: Why a search ended when the system gave no more memory.
NO_MEMORY = "no more memory could be had"
#: Seconds between two measurements of the memory in use, which are slow.
LOOK_EVERY = 0.02

_PROCESS = psutil.Process()
#: The time of the last measurement of the memory in use, and its result.
_last_look = [float("-inf"), 0]


def bytes_of(size: str) -> int | None:
    """The number of bytes that a size means, such as 4G, 512M or 1.5GiB; None if it is none of 1M or more."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([MGT])(?:i?B)?", size.strip(), re.IGNORECASE)
    if found is None or float(found[1]) < 1:
        return None
    return int(float(found[1]) * (1 << {"M": 20, "G": 30, "T": 40}[found[2].upper()]))


def memory_in_use() -> int:
    """The bytes of memory that this process uses, measured from time to time."""
    now = time.monotonic()
    if now - _last_look[0] > LOOK_EVERY:
        _last_look[:] = now, _PROCESS.memory_info().rss
    return int(_last_look[1])


def measure_anew() -> None:
    """The next call of `memory_in_use` measures."""
    _last_look[0] = float("-inf")


def memory_left() -> tuple[int, str]:
    """The bytes of memory that are available, and what sets the limit: this machine, or a container."""
    left = [(int(psutil.virtual_memory().available), "this machine")]
    container = Path("/sys/fs/cgroup")
    try:
        most, used = (int((container / name).read_text()) for name in ("memory.max", "memory.current"))
        left.append((max(0, most - used), "the container"))
    except (OSError, ValueError):
        pass  # there is no container, or it has no limit
    return min(left)


@contextmanager
def collector_off() -> Iterator[None]:
    """No garbage is collected within it: the collector would only walk millions of tuples again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
