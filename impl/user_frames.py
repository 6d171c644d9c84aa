"""Lines of the user's own code: not that of crownless, of Python or of an installed package."""

import inspect
import os
import sys
import sysconfig
from collections.abc import Iterable
from types import CodeType, FrameType, TracebackType
from typing import Any

INSTALLED = tuple(os.path.realpath(path) for name in ("purelib", "platlib") if (path := sysconfig.get_path(name)))

#: A frame, and the line that it runs.
Line = tuple[FrameType, int | None]


def place(file: str, line: int | None) -> str:
    """A line of code, with its file relative to the working directory: ``hub.py:3``."""
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return f"{file if relative.startswith(os.pardir) else relative}:{line}"


def place_of_error(error: BaseException) -> str | None:
    """The innermost line of the user's own code that the error came through; None if there is none."""
    return innermost_place(lines_of(error.__traceback__))


def place_of_definition(function: Any) -> str | None:
    """The line where the user wrote a function or method; None if it is not the user's."""
    code = code_of(function)
    if code is None or _is_installed(code.co_filename) or _is_of_crownless_or_python(function.__module__):
        return None
    return place(code.co_filename, code.co_firstlineno)


def innermost_place(lines: Iterable[Line]) -> str | None:
    """The first of these lines that is in the user's own files; if none is, in any file but crownless's; None if there
    is none at all.
    """
    found = _innermost(lines)
    return None if found is None else _place_in(found)


def innermost_call(lines: Iterable[Line]) -> str:
    """The same line with its function: ``Batch.flush (node.py:9)``."""
    found = _innermost(lines)
    return "unknown code" if found is None else f"{found[0].f_code.co_qualname} ({_place_in(found)})"


def _innermost(lines: Iterable[Line]) -> Line | None:
    known = [(frame, line) for frame, line in lines if not _is_of_crownless(frame)]
    return next((one for one in known if _is_users(one[0])), known[0] if known else None)


def _place_in(line: Line) -> str:
    return place(line[0].f_code.co_filename, line[1])


def lines_of(traceback: TracebackType | None) -> list[Line]:
    """The lines of a traceback, the innermost first."""
    lines: list[Line] = []
    while traceback is not None:
        lines.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return lines[::-1]


def code_of(value: Any) -> CodeType | None:
    """The code of a function, method, property or partial, behind what `functools.wraps` put around it."""
    for name in ("__func__", "fget", "func"):
        value = getattr(value, name, value)
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return code if isinstance(code, CodeType) else None


def _is_of_crownless(frame: FrameType) -> bool:
    """True of crownless's own code, and of Python's import system."""
    return _package(frame) == "crownless" or frame.f_code.co_filename.startswith("<frozen")


def _is_users(frame: FrameType) -> bool:
    return not _is_of_crownless_or_python(_package(frame)) and not _is_installed(frame.f_code.co_filename)


def _is_installed(file: str) -> bool:
    return os.path.realpath(file).startswith(INSTALLED)


def _is_of_crownless_or_python(module: str) -> bool:
    return module.partition(".")[0] in {"crownless", *sys.stdlib_module_names} - {"__main__"}


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
