"""The lines of a JSON document on which objects begin: `json` does not say it, and an error message needs it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from crownless.spec.errors import BadInput

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,\n]', re.DOTALL)


def values_in(text: str, what: str) -> list[object]:
    """The one JSON value of a text, or the values on its lines; raises `BadInput`."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError as error:
        whole = error
    except (ValueError, RecursionError):
        raise _unreadable(what) from None
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except json.JSONDecodeError as error:
            problem, line_number = (error, number) if values else (whole, whole.lineno)
            said = f"not JSON: {problem.msg}"
            raise BadInput(said, hint=f"give {what}", line=line_number, column=problem.colno) from None
        except (ValueError, RecursionError):
            raise _unreadable(what).at(line=number) from None
    return values


def _unreadable(what: str) -> BadInput:
    return BadInput("not JSON that can be read: a number too long or a nesting too deep", hint=f"give {what}")


def lines_of_objects(text: str, path: Sequence[str]) -> list[int]:
    """The line of each object under these keys, from the outermost to the innermost, in a text that is JSON."""
    found: list[int] = []
    line = 1
    keys: list[str] = []  # of all open objects and arrays those under a key have it, others ""
    last, key = "", ""
    for token in _TOKENS.finditer(text):
        part = token[0]
        if part == "\n":
            line += 1
        elif part[0] == '"':
            last = part
        elif part == ":":
            key = last[1:-1]
        elif part in "{[":
            keys.append(key)
            key = ""
            if part == "{" and [name for name in keys if name] == list(path):
                found.append(line)
        elif part in "}]":
            keys.pop()
            key = ""
        else:
            key = ""
    return found
