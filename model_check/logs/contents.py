"""The contents of a file: what is small for the spec to decide, and a log of many lines decided by the monitor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from crownless.model_check.oracle import NamedComputation, computation_in, content_of, lines_of, runs_in
from crownless.spec.orders import UnreceivedPolicy
from crownless.spec.reading import as_text

from .files import Format, read_table

if TYPE_CHECKING:
    from .classified import ClassifiedLog

#: A log with no more lines than this is read and decided by the spec alone: nothing need be compiled for it.
SMALL_UP_TO = 5_000


def contents(
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    form: Format | None = None,
    columns: Mapping[str, str] | None = None,
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> ClassifiedLog | Iterator[NamedComputation]:
    """A log of the file of that name (`-`: standard input), classified; what is small enough, to be classified.

    `form`: its format, if the name does not say it; `columns`: what its columns are called there, where that is
    something else. `around_monitor`: what is open while the monitor is at work. Raises `BadInput` for a file that
    cannot be read.
    """
    content, form = content_of(name, form)
    if form is None:
        return computation_in(as_text(content, name), name)
    table = None
    if form != "jsonl" or columns or _has_more_lines(content, SMALL_UP_TO):
        table = read_table(content, form, name, columns)
    if table is None or table.num_rows <= SMALL_UP_TO:
        return runs_in(lines_of(content, form, name, columns), name)
    from .classified import classified  # which loads what is compiled

    with around_monitor():
        log = classified(table, name, orders, reading)
    # All lines together say where a row contradicts another one.
    return runs_in(lines_of(content, form, name, columns), name) if log is None else log


def _has_more_lines(content: bytes, than: int) -> bool:
    end = -1
    for _ in range(than + 1):
        end = content.find(b"\n", end + 1)
        if end < 0:
            return False
    return True
