"""Regular expressions that say what the text of a log means, as ShiViz has them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from crownless.spec.errors import BadInput

#: The log lines of GoVector; ShiViz's default.
GOVECTOR = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"

_PARTS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|\(\?<(?=[A-Za-z_])", re.DOTALL)


@dataclass(frozen=True)
class Patterns:
    """The options of `classify` that say how a text is read as events."""

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


def is_parser(line: str) -> bool:
    """True of a log's first line if it is the expression that the log is read by."""
    return "(?<host>" in line or "(?P<host>" in line
