"""The errors that mean out of memory, and a reserve of memory from which the last line is printed."""

from __future__ import annotations

import errno
import mmap

#: Bytes; a few of the blocks in which Python takes memory. Never written to, so that it is address space alone.
SIZE = 4 << 20
#: What failures of other kinds say where there is no memory: to start a thread, to load a library.
_SAID = ("can't start new thread", "annot allocate memory", "failed to map segment", "out of memory")

_reserve: list[mmap.mmap] = []


def keep_reserve() -> None:
    """Sets memory aside, once."""
    if not _reserve:
        _reserve.append(_unused(SIZE))


def require(size: int) -> None:
    """Raises `MemoryError` unless so many bytes can be had."""
    _unused(size).close()


def _unused(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size)
    except OSError as error:
        raise MemoryError from error


def release_reserve() -> None:
    """Gives it back: to be called where memory has run out, before anything is said of that."""
    _reserve.clear()


def lacks_memory(error: BaseException) -> bool:
    """Was this raised because no memory could be had?"""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if not isinstance(error, Exception):
        return False
    try:
        text = str(error)
    except (Exception, SystemExit):  # of any kind: it may be anybody's code
        return False
    return any(said in text for said in _SAID)
