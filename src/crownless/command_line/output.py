"""What all verbs share: where text and progress go, JSON, what is said of an answer that is not complete.

Everything that a verb prints goes through this module or `endings.say`, which let no control character through to the
terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from crownless.model_check.stopping import Part, is_interrupt
from crownless.spec.printable import as_json, printable, printable_line, printable_lines

from .endings import EXIT_HOLDS as EXIT_HOLDS
from .endings import EXIT_INTERRUPTED, EXIT_NO_MEMORY, say
from .endings import EXIT_UNKNOWN as EXIT_UNKNOWN
from .endings import EXIT_VIOLATED as EXIT_VIOLATED

#: Colours of the verdicts, on a terminal.
STYLES = {
    "holds": "green",
    "kept": "green",
    "violated": "bold red",
    "broken": "bold red",
    "unknown": "yellow",
}


class SafeConsole(Console):
    """A console that escapes whatever a terminal would not show as itself; only its own styles are escape sequences.

    Newlines stay, since drawings have them: names are made printable where they enter a line.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text
            safe = segment.control is not None or (text.isascii() and text.isprintable())
            yield segment if safe else Segment(printable_lines(text), segment.style)


def console() -> Console:
    """Standard output. Lines are as long as they need to be: a terminal may wrap them, but nothing is cut off."""
    return SafeConsole(highlight=False, markup=False, emoji=False, soft_wrap=True, width=10_000)


def print_line(line: str) -> None:
    """A line on standard output, whatever the names in it hold."""
    console().print(printable_line(line))


def some(number: int, thing: str) -> str:
    """A number of things, in the singular if it is one: ``1 process``, ``3 messages``."""
    plural = {"process": "processes"}.get(thing, f"{thing}s")
    return f"{number:,} {thing if number == 1 else plural}"


def table(*headings: str, right: Sequence[str] = ()) -> Table:
    """A plain table; the columns named in `right` hold numbers."""
    plain = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (*headings, *right):
        plain.add_column(heading, justify="right" if heading in right else "left")
    return plain


def print_table(plain: Table, *, indent: str = "") -> None:
    """Prints without the spaces that pad the last column."""
    out = console()
    with out.capture() as captured:
        out.print(plain)
    for line in captured.get().splitlines():
        print(indent + line.rstrip())


def speaks_unicode() -> bool:
    """Can standard output show the characters of the drawings?"""
    try:
        "┃●◀╭╯┊→".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON, at once; names are exact, escaped as JSON does."""
    ascii_only = (sys.stdout.encoding or "ascii").lower() not in ("utf-8", "utf8")
    print(as_json(value, indent=indent, ascii_only=ascii_only), flush=True)


class ProgressLine:
    """A line of progress that can be changed."""

    def __init__(self, line: Status) -> None:
        self._line = line

    def update(self, text: str) -> None:
        self._line.update(Text(printable(text)))


@contextmanager
def status(quiet: bool) -> Iterator[ProgressLine | None]:
    """A line of progress on standard error; None if that is no terminal or nobody wants it."""
    stderr = SafeConsole(stderr=True, highlight=False, markup=False)
    if quiet or not stderr.is_terminal:
        yield None
    else:
        with stderr.status("") as line:
            yield ProgressLine(line)


def ended_with_nothing(part: Part) -> int:
    """Says why a part ended that has nothing to report yet; the exit code."""
    say(f"{part.reason}; nothing is known yet")
    if part.out_of_memory:
        return EXIT_NO_MEMORY
    return EXIT_INTERRUPTED if is_interrupt(part.reason) else EXIT_UNKNOWN
