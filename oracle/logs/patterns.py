"""Regular expressions that say what the text of a log means, as ShiViz has them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from crownless.spec.errors import BadInput

_PARTS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|\(\?<(?=[A-Za-z_])", re.DOTALL)


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
