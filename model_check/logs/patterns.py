"""Regular expressions that say what the text of a log means, as ShiViz has them."""

from __future__ import annotations

import re
import signal
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from crownless.spec.errors import BadInput

#: The log lines of GoVector; ShiViz's default.
GOVECTOR = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"

#: Seconds between two looks at limits during a match, and for which the match then gives way.
_EVERY, _GIVES_WAY = 0.1, 0.002

_PARTS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|\(\?<(?=[A-Za-z_])", re.DOTALL)


@dataclass(frozen=True)
class Patterns:
    """The options of the command line that say how a text is read as events."""

    pattern: str | None = None
    delimiter: str | None = None
    send: str | None = None
    deliver: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{name}" for name in ("pattern", "delimiter", "send", "deliver") if getattr(self, name) is not None]


def compiled(text: str, what: str, required: Iterable[str] = (), line: int | None = None) -> re.Pattern[str]:
    """The regular expression, whose groups may be named as in JavaScript; raises `BadInput`, which calls it `what`."""
    as_python = _PARTS.sub(lambda part: "(?P<" if part[0] == "(?<" else part[0], text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = re.compile(as_python, re.MULTILINE)
    except re.error as error:
        hint = r"such as (?<host>\S*), in the syntax that JavaScript and Python share"
        raise BadInput(f"{what} is no regular expression: {error.msg}", hint=hint, line=line) from None
    except (RecursionError, OverflowError):
        raise BadInput(f"{what} is too large a regular expression", hint="shorten it", line=line) from None
    missing = [name for name in required if name not in found.groupindex]
    if missing:
        hint = f"name a group so: (?<{missing[0]}>…)"
        raise BadInput(f"{what} has no group '{missing[0]}'", hint=hint, line=line)
    return found


@contextmanager
def stoppable_matching() -> Iterator[None]:
    """While expressions are matched, limits and signals are noticed, as some expressions take for ever.

    A match holds the interpreter's lock and looks at signals only. So a timer sends one, whose handler gives the lock
    to the thread that watches limits (`stopping`).
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGALRM) is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: time.sleep(_GIVES_WAY))
    timer = signal.setitimer(signal.ITIMER_REAL, _EVERY, _EVERY)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


def is_parser(line: str) -> bool:
    """True of a log's first line if it is the expression that the log is read by."""
    return "(?<host>" in line or "(?P<host>" in line
