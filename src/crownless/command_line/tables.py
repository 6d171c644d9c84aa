"""Tables that fit the terminal: cells are wrapped, and never cut off.

The first cell of a row stands on the row's first line, and is folded last, so that a program can look for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.table import Table
from rich.text import Text

from crownless.spec.printable import printable

from .output import console, spelled
from .widths import FOLDED, columns, fitting, lines_within

#: Spaces between two columns.
GAP = 2

Cell = str | Text


class Rows:
    """The rows of a table; the columns named in `right` hold numbers."""

    def __init__(self, *headings: str, right: Sequence[str] = ()) -> None:
        self.headings = (*headings, *(name for name in right if name not in headings))
        self._right = right
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: Cell) -> None:
        """Adds a row; cells that are not given are empty."""
        self._rows.append([_safe(cell) for cell in (*cells, *[""] * (len(self.headings) - len(cells)))])

    def print(self, *, indent: str = "") -> None:
        """Prints all rows."""
        cells = [[name, *(row[k].plain for row in self._rows)] for k, name in enumerate(self.headings)]
        widths = fitting(cells, _room(len(self.headings), len(indent)))
        _print(self.headings, self._rows, widths, self._right, indent=indent)


class StreamedRows:
    """A table of which each row is printed as soon as it is known: so its widths are known before.

    `widest` has for each heading how wide the longest text to come will be; the column `rest` gets what is left.
    """

    def __init__(self, widest: dict[str, int], *, rest: str, right: Sequence[str] = ()) -> None:
        self._headings, self._right = tuple(widest), right
        room = _room(len(widest), 0)
        given = {name: max(len(name), width) for name, width in widest.items()}
        left = room - sum(width for name, width in given.items() if name != rest)
        self._widths = [left if name == rest else width for name, width in given.items()]
        if left < FOLDED:
            self._widths = fitting([[width * "x"] for width in given.values()], room)

    def print_headings(self) -> None:
        _print(self._headings, [], self._widths, self._right)

    def print_row(self, *cells: Cell) -> None:
        _print(self._headings, [[_safe(cell) for cell in cells]], self._widths, self._right, headed=False)


def _room(count: int, indent: int) -> int:
    return columns() - indent - GAP * (count - 1)


def _safe(cell: Cell) -> Text:
    if isinstance(cell, str):
        return Text(spelled(printable(cell)))
    safe = spelled(printable(cell.plain))
    return cell.copy() if safe == cell.plain else Text(safe, style=cell.style)


def _wrapped(cell: Text, width: int) -> Text:
    """The cell in lines that are no longer."""
    return Text("\n").join(cell[start:end] for start, end in lines_within(cell.plain, width))


def _print(
    headings: Sequence[str],
    rows: Sequence[Sequence[Text]],
    widths: Sequence[int],
    right: Sequence[str],
    *,
    headed: bool = True,
    indent: str = "",
) -> None:
    plain = Table(box=None, padding=(0, GAP, 0, 0), header_style="bold", show_header=headed)
    for heading, width in zip(headings, widths, strict=True):
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        plain.add_column(_wrapped(Text(spelled(heading)), width), width=width, justify=justify, overflow="fold")
    for row in rows:
        plain.add_row(*(_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)))
    out = console()
    with out.capture() as captured:
        out.print(plain)
    for line in captured.get().splitlines():
        print(indent + line.rstrip(), flush=not headed)
