"""The import of a user's own protocols, which a limit or the first signal ends where it does not come to its end."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import click

from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.model_check.limits import Limits
from crownless.model_check.stopping import Stopped, StoppedInCall, ending_calls, is_interrupt, reason_of
from crownless.model_check.wrong_machine import place
from crownless.spec.printable import printable_name

from .endings import EXIT_INTERRUPTED, EXIT_UNKNOWN, say
from .output import print_json

#: Where installed packages are, whose code is not the user's.
_INSTALLED = tuple(os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib"))


def import_protocols(
    names: Iterable[str], limits: Limits | None = None, answer: Mapping[str, Any] | None = None
) -> None:
    """Imports those of these protocols that are the user's own, within the limits for each.

    An import that is ended ends the verb: its exit code is that of a limit, or of an interrupt with nothing to report;
    one line says where the import was. `answer`: what is printed then as JSON.
    """
    limits = limits or Limits()
    for name in names:
        if name in PROTOCOLS or not (own_protocols.is_own(name) or name in own_protocols.registered()):
            continue
        try:
            with ending_calls(_ImportOf(name), _over(limits), say):
                _import(name)
        except Stopped as ending:
            reason = reason_of(ending)
            if not isinstance(ending, StoppedInCall):  # it has not lasted for long
                reason = f"{reason}; meanwhile {_Import(name, _of_traceback(ending.__traceback__)).subject}"
            if answer is not None:
                print_json(answer)
            say(f"{reason}; nothing is known yet")
            raise click.exceptions.Exit(EXIT_INTERRUPTED if is_interrupt(reason) else EXIT_UNKNOWN) from None


def _over(limits: Limits) -> Callable[[], str | None]:
    """Says which limit is reached, if one is, counted from now."""
    began = time.monotonic()
    return lambda: limits.reached(time.monotonic() - began)


def _import(name: str) -> None:
    protocol_named(name)


#: A line of code that is at work.
_Line = tuple[FrameType, int | None]


class _Import(NamedTuple):
    """The import of a protocol, in words; the lines that are at work, the innermost first."""

    name: str
    lines: list[_Line]
    arguments: str = ""

    @property
    def subject(self) -> str:
        """The import, and the innermost line of the user's own files; of any file if that has none."""
        imported = [(frame.f_code, line) for frame, line in self.lines if not _is_of_crownless(frame)]
        users = [(frame.f_code, line) for frame, line in self.lines if _is_users(frame)]
        at = next((f" ({place(code, line)})" for code, line in users or imported), "")
        return f"the import of {printable_name(self.name)}{at}"


def _is_of_crownless(frame: FrameType) -> bool:
    """True of crownless's own code, and of Python's import system."""
    return _package(frame) == "crownless" or frame.f_code.co_filename.startswith("<frozen")


def _is_users(frame: FrameType) -> bool:
    if _is_of_crownless(frame) or _package(frame) in sys.stdlib_module_names - {"__main__"}:
        return False
    return not os.path.realpath(frame.f_code.co_filename).startswith(_INSTALLED)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


class _ImportOf:
    """Finds among the frames of a thread the import of this protocol."""

    def __init__(self, name: str) -> None:
        self._name = name

    def outermost(self, innermost: FrameType | None) -> FrameType | None:
        """The frame of the import, if there is one."""
        return next((frame for frame in _around(innermost) if frame.f_code is _import.__code__), None)

    def call(self, frame: FrameType, innermost: FrameType) -> _Import:
        """The import that this frame runs."""
        lines: list[_Line] = []
        for inner in _around(innermost):
            if inner is frame:
                break
            lines.append((inner, inner.f_lineno))
        return _Import(self._name, lines)


def _around(innermost: FrameType | None) -> Iterator[FrameType]:
    """The frame, and those around it."""
    frame = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def _of_traceback(traceback: TracebackType | None) -> list[_Line]:
    lines: list[_Line] = []
    while traceback is not None:
        lines.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return lines[::-1]
