"""The width of the output, and the columns and lines that fit."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Collection, Sequence

from rich.cells import cell_len

#: Where nobody says how wide it may be, such as in a pipe; and what no table gets less than.
USUAL, LEAST = 80, 40
#: A word is folded only where columns of so many characters would not fit.
FOLDED = 12


def columns_given() -> int | None:
    """The columns that the environment sets, if it does."""
    given = os.environ.get("COLUMNS", "")
    return max(LEAST, int(given)) if given.isascii() and given.isdigit() and int(given) else None


def columns() -> int:
    """The number of columns: as `COLUMNS` says, else as the terminal has, else 80."""
    given = columns_given()
    if given is not None:
        return given
    if sys.stdout.isatty():
        try:
            return max(LEAST, os.get_terminal_size(sys.stdout.fileno()).columns or USUAL)
        except OSError:
            pass
    return USUAL


def wrapped(line: str, room: int) -> str:
    """The line in as many lines as it takes, the further ones indented; a long word, such as a path, stays whole."""
    if cell_len(line) <= room:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, room, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False, tabsize=1
    )


def fitting(cells: Sequence[Collection[str]], room: int, whole: Collection[int] = (0,)) -> list[int]:
    """The widths of columns with these cells, so that all of them fit.

    Cells are wrapped between words first, the widest column before others, and then within words. Columns in `whole`
    are wrapped last.
    """
    natural = [max((cell_len(line) for cell in column for line in cell.split("\n")), default=0) for column in cells]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in cells]
    for place in whole:
        words[place] = natural[place]
    folded = [least if place in whole else min(least, FOLDED) for place, least in enumerate(words)]
    widths = list(natural)
    for least in (words, folded, [1] * len(widths)):
        while sum(widths) > room:
            place = max(range(len(widths)), key=lambda k: widths[k] if widths[k] > least[k] else 0)
            if widths[place] <= least[place]:
                break
            widths[place] -= 1
    return widths
