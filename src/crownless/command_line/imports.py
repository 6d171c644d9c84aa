"""The import of a user's own protocols, which a limit or the first signal ends where it does not come to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, NamedTuple

import click

from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.impl.user_frames import Line, frames_around, innermost_place, lines_of
from crownless.model_check.limits import Limits
from crownless.model_check.stopping import Stopped, StoppedInCall, ending_calls, is_interrupt, reason_of
from crownless.spec.printable import printable_name

from .endings import EXIT_INTERRUPTED, EXIT_UNKNOWN, say
from .output import print_json


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
                reason = f"{reason}; meanwhile {_Import(name, lines_of(ending.__traceback__)).subject}"
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


class _Import(NamedTuple):
    """The import of a protocol, in words; the lines that are at work, the innermost first."""

    name: str
    lines: list[Line]
    arguments: str = ""

    @property
    def subject(self) -> str:
        """The import, and the innermost line of the user's own files; of any file if that has none."""
        at = innermost_place(self.lines)
        return f"the import of {printable_name(self.name)}{'' if at is None else f' ({at})'}"


class _ImportOf:
    """Finds among the frames of a thread the import of this protocol."""

    def __init__(self, name: str) -> None:
        self._name = name

    def outermost(self, innermost: FrameType | None) -> FrameType | None:
        """The frame of the import, if there is one."""
        return next((frame for frame in frames_around(innermost) if frame.f_code is _import.__code__), None)

    def call(self, frame: FrameType, innermost: FrameType) -> _Import:
        """The import that this frame runs."""
        lines: list[Line] = []
        for inner in frames_around(innermost):
            if inner is frame:
                break
            lines.append((inner, inner.f_lineno))
        return _Import(self._name, lines)
