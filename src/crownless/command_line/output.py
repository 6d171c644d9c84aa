"""What all verbs share: where text and progress go, JSON, what is said of an answer that is not complete."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.table import Table

from crownless.model_check.stopping import INTERRUPTED, Part

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


def console() -> Console:
    """Standard output. Lines are as long as they need to be: a terminal may wrap them, but nothing is cut off."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=10_000)


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


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def status(quiet: bool) -> Iterator[Status | None]:
    """A line of progress on standard error; None if that is no terminal or nobody wants it."""
    stderr = Console(stderr=True, highlight=False)
    if quiet or not stderr.is_terminal:
        yield None
    else:
        with stderr.status("") as line:
            yield line


def ended_with_nothing(part: Part) -> int:
    """Says why a part ended that has nothing to report yet; the exit code."""
    say(f"{part.reason}; nothing is known yet")
    if part.out_of_memory:
        return EXIT_NO_MEMORY
    return EXIT_INTERRUPTED if part.reason == INTERRUPTED else EXIT_UNKNOWN
