"""Tables that fit the terminal: cells are wrapped, and never cut off."""

from collections.abc import Mapping, Sequence
from typing import Literal

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from crownless.runtime.printable import printable

from .output import columns, console, spelled, wraps

#: Spaces between two columns.
GAP = 2
#: Columns enough for any row to stay on one line.
WHOLE = 10_000

Cell = str | Text


class Rows:
    """The rows of a table; the columns named in `right` hold numbers. The first column is wrapped last."""

    def __init__(self, *headings: str, right: Sequence[str] = ()) -> None:
        self.headings = (*headings, *(name for name in right if name not in headings))
        self._right = right
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: Cell) -> None:
        """Adds a row; cells that are not given are empty."""
        self._rows.append([_safe(cell) for cell in (*cells, *[""] * (len(self.headings) - len(cells)))])

    def print(self, *, sentences: bool = False) -> None:
        """Prints all rows; if they hold sentences, each row stays on one line in a pipe."""
        table = _table()
        cells = [[name, *(row[k].plain for row in self._rows)] for k, name in enumerate(self.headings)]
        room = columns() if wraps() or not sentences else WHOLE
        widths = _fitting(cells, room - GAP * (len(cells) - 1))
        for heading, width in zip(self.headings, widths, strict=True):
            justify: Literal["left", "right"] = "right" if heading in self._right else "left"
            table.add_column(Text(spelled(heading)), width=width, justify=justify, overflow="fold")
        for row in self._rows:
            table.add_row(*row)
        _print(table, room)


class StreamedRows:
    """A table whose rows are printed as soon as they are known, so column widths are fixed in advance.

    `widths` gives the width of each column, by its heading; the column `rest` gets the remaining width.
    """

    def __init__(self, widths: Mapping[str, int], *, rest: str, right: Sequence[str] = ()) -> None:
        self._right = right
        self._widths = {name: max(len(name), width) for name, width in widths.items()}
        others = sum(width for name, width in self._widths.items() if name != rest)
        self._widths[rest] = max(self._widths[rest] // 2, columns() - others - GAP * (len(widths) - 1))

    def print_headings(self) -> None:
        _print(self._table(headed=True))

    def print_row(self, *cells: Cell) -> None:
        table = self._table(headed=False)
        table.add_row(*map(_safe, cells))
        _print(table)

    def _table(self, *, headed: bool) -> Table:
        table = _table(headed=headed)
        for name, width in self._widths.items():
            table.add_column(name, width=width, justify="right" if name in self._right else "left", overflow="fold")
        return table


def _table(*, headed: bool = True) -> Table:
    return Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold", show_header=headed)


def _fitting(cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """The widths of columns with these cells, so that all fit: the widest column is narrowed first, between words while
    that is possible, and the first column last of all.
    """
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in cells]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in cells]
    for least in ([widths[0], *words[1:]], words, [1] * len(cells)):
        while sum(widths) > room:
            place = max(range(len(widths)), key=lambda k: widths[k] if widths[k] > least[k] else 0)
            if widths[place] <= least[place]:
                break
            widths[place] -= 1
    return widths


def _safe(cell: Cell) -> Text:
    if isinstance(cell, str):
        return Text(spelled(printable(cell)))
    safe = spelled(printable(cell.plain))
    return cell.copy() if safe == cell.plain else Text(safe, style=cell.style)


def _print(table: Table, room: int | None = None) -> None:
    out = console()
    with out.capture() as captured:
        out.print(table, width=room or columns())
    for line in captured.get().splitlines():
        print(line.rstrip(), flush=True)
