"""Output that all commands share: text, progress and JSON.

Everything that a command prints goes through this module or `endings.say`, which let no control characters through to
the terminal.
"""

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from crownless.model_check.runs.runs import Run
from crownless.runtime.printable import as_json, printable, printable_line, printable_lines

from .endings import say

#: Colours of the verdicts, on a terminal.
STYLES = {
    "holds": "green",
    "kept": "green",
    "violated": "bold red",
    "unknown": "yellow",
    "nothing": "yellow",
}

#: Keys for the values of `--ascii` and `--json` while a command runs.
ASCII, JSON = "crownless.ascii", "crownless.json"
_SPELLED = str.maketrans(
    {"×": "x", "…": "...", "·": "|", "–": "-", "±": "+-", "→": "->", "≤": "<=", "≥": ">=", "²": "^2", "§": "section "}
)


class SafeConsole(Console):
    """A console that escapes unprintable characters; only its own styles are escape sequences.

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
    """Standard output, for drawings: lines are as long as they need to be."""
    return SafeConsole(highlight=False, markup=False, emoji=False, soft_wrap=True, width=10_000)


#: Default number of columns, such as in a pipe, and the minimum for tables.
USUAL_COLUMNS, LEAST_COLUMNS = 80, 40


def columns_given() -> int | None:
    """The number of columns set by the environment, if any."""
    given = os.environ.get("COLUMNS", "")
    return max(LEAST_COLUMNS, int(given)) if given.isascii() and given.isdigit() and int(given) else None


def wraps() -> bool:
    """True if sentences are wrapped: on a terminal, or to the width that `COLUMNS` sets; not in a pipe."""
    return sys.stdout.isatty() or columns_given() is not None


def columns() -> int:
    """The number of columns: that of `COLUMNS`, else of the terminal, else 80."""
    if wraps():
        return max(LEAST_COLUMNS, shutil.get_terminal_size((USUAL_COLUMNS, 24)).columns)
    return USUAL_COLUMNS


def wrapped(line: str, room: int) -> str:
    """The line wrapped, with continuation lines indented; a long word, such as a path, stays whole."""
    if cell_len(line) <= room:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, room, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False, tabsize=1
    )


def print_drawing(drawing: str) -> None:
    """Prints lines unchanged."""
    console().print(drawing)


def print_line(line: str = "") -> None:
    """Prints a line on standard output; control characters in names are escaped.

    It is wrapped on a terminal, or to the width that `COLUMNS` sets. In a pipe each sentence stays on one line.
    """
    shown = spelled(printable_line(line))
    if wraps():
        shown = wrapped(shown, columns())
    console().print(shown)


def print_run(run: Run, *properties: str, drawn: bool = True) -> None:
    """Prints the run as a drawing, its actions in words, one per line, and why it violates these properties, by default
    the one that it was found to violate.
    """
    if drawn:
        print_drawing(run.draw(unicode=speaks_unicode()))
    for line in [*run.say().splitlines(), *run.why(*properties)]:
        print_line(line)


def speaks_unicode() -> bool:
    """True if standard output can show the characters of the drawings, and `--ascii` was not given."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(ASCII):
        return False
    try:
        "┃●◀╭╯┊→".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def spelled(text: str) -> str:
    """The text with decorative characters replaced, if they cannot be shown or are not wanted."""
    if text.isascii() or speaks_unicode():
        return text
    return text.translate(_SPELLED).encode("ascii", "backslashreplace").decode()


def print_json(facts: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Prints a command's answer as one JSON object, with the version; names are exact, escaped as in JSON."""
    ascii_only = not speaks_unicode() or (sys.stdout.encoding or "ascii").lower() not in ("utf-8", "utf8")
    print(as_json({"crownless": version("crownless"), **facts}, indent=indent, ascii_only=ascii_only), flush=True)


#: Seconds after which progress is printed where standard error is no terminal.
PRINTED_AFTER = 5.0


class Progress:
    """The progress of a command, on standard error.

    On a terminal it is one line that changes; otherwise, with `printed`, a line after some seconds, and then whenever
    the elapsed time has doubled.
    """

    def __init__(self, line: Status | None = None, *, printed: bool = False) -> None:
        self._line, self._printed = line, printed
        self._began, self._next = time.monotonic(), PRINTED_AFTER

    def update(self, text: str) -> None:
        """Shows this from now on."""
        if self._line is not None:
            self._line.update(Text(printable(text)))
        elif self._printed and (seconds := time.monotonic() - self._began) >= self._next:
            self._next = 2 * seconds
            say(f"{text}, {seconds:.0f} s")

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hides the line while something is printed on standard output."""
        if self._line is not None:
            self._line.stop()
        try:
            yield
        finally:
            if self._line is not None:
                self._line.start()


@contextmanager
def status(quiet: bool, *, printed: bool = False) -> Iterator[Progress]:
    """The progress of a command, which shows nothing if it is not wanted."""
    stderr = SafeConsole(stderr=True, highlight=False, markup=False)
    if quiet or not stderr.is_terminal:
        yield Progress(printed=printed and not quiet)
    else:
        with stderr.status("") as line:
            yield Progress(line)
