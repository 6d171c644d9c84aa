"""The width of the output, and the columns and lines that fit."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len

#: Where nobody says how wide it may be, such as in a pipe; and what no table gets less than.
USUAL, LEAST = 80, 40
#: A word is folded only where columns of so many characters would not fit.
FOLDED = 12
#: What is longer, and has no hyphen, is no word, but a path or a number.
LONGEST_WORD = 20


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

    Cells are wrapped between words first, the widest column before others, then after hyphens. Columns in `whole` are
    wrapped after the others, and after what is too long for a word. Words are folded last.
    """
    natural = [max((cell_len(line) for cell in column for line in cell.split("\n")), default=0) for column in cells]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in cells]
    pieces = [max((cell_len(piece) for cell in column for piece in _pieces(cell)), default=0) for column in cells]
    folded = [min(least, FOLDED) for least in pieces]
    widths = list(natural)
    no_words = [min(least, LONGEST_WORD) for least in pieces]
    kept_whole = [
        [natural[place] if place in whole else width for place, width in enumerate(least)]
        for least in (words, pieces, no_words)
    ]
    for least in (*kept_whole, pieces, folded, [1] * len(widths)):
        while sum(widths) > room:
            place = max(range(len(widths)), key=lambda k: widths[k] if widths[k] > least[k] else 0)
            if widths[place] <= least[place]:
                break
            widths[place] -= 1
    return widths


#: A word, up to a space; a part of it, up to a hyphen.
_WORD = re.compile(r"\S+")
_PIECE = re.compile(r"\w[^\s-]*-(?=\w)|\S+?-(?=\w)|\S+")


def _pieces(cell: str) -> list[str]:
    return _PIECE.findall(cell)


def lines_within(cell: str, width: int) -> Iterator[tuple[int, int]]:
    """The lines of a cell in a column of that width, each from where to where: it is wrapped between words; in a word
    that is too long after hyphens, and within a part that is too long where it must be.
    """
    start = end = 0
    for word in _WORD.finditer(cell):
        if cell_len(cell[start : word.end()]) <= width and "\n" not in cell[end : word.start()]:
            end = word.end()
            continue
        if end > start:
            yield start, end
            start = word.start()
        end = word.end()
        if cell_len(word[0]) > width:
            for line_start, line_end in _lines_of_word(cell, word.start(), word.end(), width):
                if line_end == word.end():
                    start = line_start
                else:
                    yield line_start, line_end
    yield start, end


def _lines_of_word(cell: str, start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    end = start
    for piece in _PIECE.finditer(cell, start, stop):
        if end > start and cell_len(cell[start : piece.end()]) > width:
            yield start, end
            start = end
        end = piece.end()
        while (cut := _past_what_fits(cell, start, end, width)) < end:
            yield start, cut
            start = cut
    yield start, end


def _past_what_fits(cell: str, start: int, end: int, width: int) -> int:
    """Where a line of that width ends; it has at least one character."""
    past = min(start + 1, end)
    while past < end and cell_len(cell[start : past + 1]) <= width:
        past += 1
    return past
