"""Untrusted text made safe to print: names, file names and messages on a terminal, in a table, in a diagram.

A name may hold anything: escape sequences that move the cursor, U+202E that reverses what follows, a newline that
forges a line of output, characters that take no room. All of these are printed as escapes, ``\\x1b`` or ``\\u202e``.
JSON output keeps names as they are, and escapes them as JSON does.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import accumulate, chain
from typing import Any

#: A longer name is cut when it is printed, and ends in an ellipsis. JSON output has it whole.
LONGEST_NAME = 60
#: A longer `repr` of a value is cut.
LONGEST_REPR = 100
#: Values and error texts in a message are shortened to this many characters.
LONGEST_VALUE, LONGEST_ERROR = 72, 120
#: Python's default `repr` of an object.
_AT_AN_ADDRESS = re.compile(r"<(?:[\w.<>]+\.)?(\w+) object at 0x[0-9a-f]+>")
#: A longer printed line, escapes included, is cut in the middle.
LONGEST_LINE = 2_000
_GAP = " … "

#: Characters that Python counts as printable and that show nothing: fillers, blanks, variation selectors.
_INVISIBLE = frozenset(
    chain(
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xE0100, 0xE01F0),
    )
)
_NOT_ASCII = re.compile(r"[^ -~\n]")


def is_shown(character: str) -> bool:
    """True if a terminal shows the character, in its place in the line."""
    return character.isprintable() and ord(character) not in _INVISIBLE


def printable(text: str) -> str:
    """The text on one line, with an escape for each character that is not shown as itself."""
    return text if text.isascii() and text.isprintable() else "".join(_shown(text))


def printable_name(name: str) -> str:
    """A name as it is printed: one line, escaped, and cut if it is long."""
    shown = printable(name[: LONGEST_NAME + 1])
    return shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "…"


def in_brackets(text: str) -> str:
    """The `repr` of a value: `<…>`, one short line, escaped, and cut with an ellipsis if it is long."""
    shown = printable(text[: LONGEST_REPR + 1])
    return f"<{shown if len(shown) <= LONGEST_REPR else shown[: LONGEST_REPR - 1] + '…'}>"


def some(number: int, thing: str) -> str:
    """A number with its noun, singular for one: ``1 process``, ``3 messages``."""
    plural = {"process": "processes"}.get(thing, f"{thing}s")
    return f"{number:,} {thing if number == 1 else plural}"


def with_article(noun: str) -> str:
    """A noun, such as the name of a channel or of a type, with its article: ``a fifo``, ``an unordered``."""
    return f"{'an' if noun[:1] in tuple('aeiouAEIOU') else 'a'} {noun}"


def listed(names: Iterable[str]) -> str:
    """Names as in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    *others, last = names or ("",)
    return " and ".join(filter(None, (", ".join(others), last)))


def error_line(error: BaseException) -> str:
    """The text of an exception, with its type, on one line; even if its own `str` fails."""
    try:
        text = " ".join(str(error).split())
    except (Exception, SystemExit):
        text = ""
    return printable_line(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def shown(value: Any, show: Callable[[Any], str] = repr) -> str:
    """A value from any code on one line, shortened in the middle if it is long."""
    try:
        text = show(value)
    except Exception as error:  # any exception: it is the value's own code
        return f"<{with_article(type(value).__name__)}: its {show.__name__} fails with {type(error).__name__}>"
    return shortened(_AT_AN_ADDRESS.sub(r"<\1>", text), LONGEST_VALUE)


def shown_error(error: BaseException) -> str:
    """An exception with its type on one line, shortened in the middle if it is long."""
    return shortened(error_line(error), LONGEST_ERROR)


def shortened(text: str, longest: int) -> str:
    """The text on one line, without its middle if it is longer."""
    line = " ".join(text.split())
    half = longest // 2
    return line if len(line) <= longest else f"{line[: longest - half - 1]}…{line[-half:]}"


def printable_line(line: str) -> str:
    """A line of output: escaped, and cut in the middle if it is very long."""
    shown = printable(line) if len(line) <= LONGEST_LINE else None
    if shown is not None and len(shown) <= LONGEST_LINE:
        return shown
    end = LONGEST_LINE // 4
    head = _as_many_as_fit(_shown(line[:LONGEST_LINE]), LONGEST_LINE - end - len(_GAP))
    tail = _as_many_as_fit(reversed(_shown(line[-end:])), end)
    return "".join((*head, _GAP, *reversed(tail)))


def printable_lines(text: str) -> str:
    """The same for a text of several lines, such as a drawing; no line is cut."""
    return "\n".join(map(printable, text.split("\n")))


def as_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """A value as JSON that is safe to print: names stay exact, and unprintable characters are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    return _NOT_ASCII.sub(lambda found: _json_escape(found[0]), text)


def _shown(text: str) -> list[str]:
    """Each character of the text as it is printed."""
    shown = [character if is_shown(character) else _escape(character) for character in text]
    if text and unicodedata.category(text[0]).startswith("M"):
        shown[0] = _escape(text[0])  # it would change the character printed before
    return shown


def _as_many_as_fit(shown: Iterable[str], room: int) -> list[str]:
    """The longest prefix that fits, without cutting an escape in two."""
    lengths = accumulate(map(len, shown := list(shown)))
    return shown[: sum(length <= room for length in lengths)]


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escape(character: str) -> str:
    return character if is_shown(character) else json.dumps(character)[1:-1]
