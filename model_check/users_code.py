"""The lines at work that are the user's own code, not that of crownless, Python or an installed package."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType

from .wrong_machine import INSTALLED, place

#: A line of code that is at work.
Line = tuple[FrameType, int | None]


def innermost_place(lines: Iterable[Line]) -> str | None:
    """The first of these lines that is in the user's own files, as ``hub.py:3``; of any file but crownless's if none
    is; None if there is none at all.
    """
    known = [(frame, line) for frame, line in lines if not _is_of_crownless(frame)]
    users = [(frame, line) for frame, line in known if _is_users(frame)]
    return next((place(frame.f_code.co_filename, line) for frame, line in users or known), None)


def frames_around(innermost: FrameType | None) -> Iterator[FrameType]:
    """The frame, and those around it."""
    frame = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def lines_of(traceback: TracebackType | None) -> list[Line]:
    """The lines of a traceback, the innermost first."""
    lines: list[Line] = []
    while traceback is not None:
        lines.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return lines[::-1]


def _is_of_crownless(frame: FrameType) -> bool:
    """True of crownless's own code, and of Python's import system."""
    return _package(frame) == "crownless" or frame.f_code.co_filename.startswith("<frozen")


def _is_users(frame: FrameType) -> bool:
    if _package(frame) in sys.stdlib_module_names - {"__main__"}:
        return False
    return not os.path.realpath(frame.f_code.co_filename).startswith(INSTALLED)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
