"""The places of events on their processes by `--order-by`: a column of time stamps or numbers, or the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crownless.runtime.errors import BadInput

from .formats import BY_LINE
from .layout import Numbers, on_lines
from .named_rows import MISSING, as_numbers
from .reasons import BadField, MissingField, Reason
from .rows import Row, in_words
from .skipped import Quarantine

if TYPE_CHECKING:
    import pyarrow as pa

ORDERING = "a whole number, a decimal or an ISO 8601 time"
#: Digits after the point of decimals.
_DIGITS = 18

#: The line of each row in the file.
LineOf = Callable[[int], int]


class Places:
    """Numbers the events of each process of a run 0, 1, 2, … by the values of a column, or by line.

    `in_blocks`: the log comes in several tables, and no event of a process belongs before those of an earlier table.
    With a `quarantine`, two events of a process with one value get one place, and those without a usable value
    `MISSING`; otherwise they raise `BadInput`, with their lines.
    """

    def __init__(
        self,
        by: str,
        file: str = "",
        *,
        in_blocks: bool = False,
        quarantine: Quarantine | None = None,
    ) -> None:
        self.by, self.file, self.quarantine = by, file, quarantine
        self._are_times: bool | None = None
        #: For each run and process the value, the place and the line of its last event so far.
        self._last: dict[tuple[str, str], tuple[Any, int, int]] | None = {} if in_blocks else None

    def of_table(self, table: pa.Table, line_of: LineOf) -> pa.Table:
        """Plain rows that have the value of the column as `index`: with their places instead."""
        import pyarrow as pa

        values = None if self.by == BY_LINE else table["index"].combine_chunks()
        places = self.of(table["run"].combine_chunks(), table["process"].combine_chunks(), values, line_of)
        column = pa.array(places, mask=places == MISSING)
        return table.set_column(table.schema.get_field_index("index"), "index", column)

    def of_rows(self, rows: Sequence[Row], values: Sequence[str | None]) -> list[Row]:
        """These rows with their places, given the values of the column; without those that go to the quarantine."""
        import pyarrow as pa

        runs, processes = (pa.array([getattr(row, name) for row in rows], pa.string()) for name in ("run", "process"))
        given = None if self.by == BY_LINE else pa.array(values, pa.string())
        places = self.of(runs, processes, given, lambda row: rows[row].line)
        placed = []
        for row, value, place in zip(rows, values, places.tolist(), strict=True):
            if place != MISSING:
                placed.append(replace(row, index=place))
            elif self.quarantine is not None:
                self.quarantine.add(row.line, row.json(), self.unusable(value))
        return placed

    def unusable(self, value: object) -> Reason:
        """Why an event with this value has no place."""
        return MissingField(self.by, ORDERING) if value is None else BadField(self.by, in_words(value), ORDERING)

    def of(self, runs: pa.Array, processes: pa.Array, given: pa.Array | None, line_of: LineOf) -> Numbers:
        """The places of events of these runs and processes; `given`: the values of the column."""
        import pyarrow.compute as pc

        run, process = (
            as_numbers(names.dictionary_encode().indices, -1).astype(np.int64) for names in (runs, processes)
        )
        line, values = (run + 1) * (len(processes) + 2) + process + 1, None
        if given is None:
            ranks = np.arange(1, len(line) + 1)
        else:
            values = self._comparable(given)
            ranks = np.from_dlpack(pc.rank(values, tiebreaker="dense")).astype(np.int64)
        missing = np.zeros(len(line), bool)
        if values is not None and values.null_count:
            missing = np.array(values.is_null().to_pylist())
        if not len(line):
            return ranks
        before, places = on_lines(line, ranks)

        def where(row: int) -> tuple[tuple[str, str], Any, int]:
            value = line_of(row) if values is None else values[row].as_py()
            return (str(runs[row]), str(processes[row])), value, line_of(row)

        if self.quarantine is None:
            for row in np.flatnonzero(missing)[:1].tolist():
                reason = self.unusable(None if given is None else given[row].as_py())
                raise BadInput(reason.text, hint=reason.hint, file=self.file, line=line_of(row))
            for row in np.flatnonzero(ranks == before)[:1].tolist():
                first = int(np.flatnonzero((line == line[row]) & (ranks == ranks[row]))[0])
                self._refuse_tie(str(processes[row]), given[row], line_of(first), line_of(row))  # type: ignore[index]
        if self._last is not None:
            places = self._after_the_last(line, places, where)
        return np.where(missing, MISSING, places)

    def _after_the_last(self, line: Numbers, places: Numbers, where: Callable[[int], Any]) -> Numbers:
        """The places after those of earlier tables; raises `BadInput` if an event belongs before one of those."""
        assert self._last is not None
        line = np.unique(line, return_inverse=True)[1]
        lasts = np.flatnonzero(places == np.bincount(line)[line] - 1).tolist()
        begin = np.zeros(int(line.max()) + 1, np.int64)
        for row in np.flatnonzero(places == 0).tolist():
            (run, process), value, at = where(row)
            last, place, earlier = self._last.get((run, process), (value, -1, at))
            begin[line[row]] = place + 1
            if place >= 0 and value == last:
                self._refuse_tie(process, value, earlier, at)
            if value < last:
                problem = f"{process} goes back in '{self.by}': lines {earlier:,} and {at:,}"
                hint = f"sort the log by {self.by}, or leave --one-run out"
                raise BadInput(problem, hint=hint, file=self.file, line=at)
        places = places + begin[line]
        for row in lasts:
            key, value, at = where(row)
            self._last[key] = value, int(places[row]), at
        return places

    def _refuse_tie(self, process: str, value: object, first: int, second: int) -> None:
        problem = f"{process} has two events with '{self.by}' {value}: lines {first:,} and {second:,}"
        hint = "order by a column that tells them apart, or by line if each process logs in order"
        hint += "; classify --skip-bad leaves copies out"
        raise BadInput(problem, hint=hint, file=self.file, line=second)

    def _comparable(self, given: pa.Array) -> pa.Array:
        """The values as numbers, times as such of nanoseconds; null where one is unusable, or unlike the first."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
        if pa.types.is_floating(kind):
            return pc.if_else(pc.is_finite(given), given, None)
        if pa.types.is_timestamp(kind):
            return given.cast(pa.int64())
        if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
            return given
        if not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
            raise BadInput(f"the column '{self.by}' is of type {kind}", hint=f"give it as {ORDERING}", file=self.file)
        # ISO 8601 allows a comma, too, before the fraction of a second.
        texts = pc.replace_substring_regex(given.cast(pa.string()), r"(:\d\d),(\d)", r"\1.\2")
        for wanted in (pa.int64(), *_types()):
            try:
                found = _cast(texts, wanted)
            except pa.ArrowInvalid:
                continue
            are_times = pa.types.is_timestamp(wanted)
            if self._are_times not in (None, are_times):
                hint = f"give {ORDERING}, the same in all lines"
                raise BadInput(f"some values of '{self.by}' are numbers, and some times", hint=hint, file=self.file)
            self._are_times = are_times
            return found
        first = next(text for text in texts if text.is_valid)
        wanted = next((one for one in _types() if _value(first, one) is not None), None)
        each = (None if wanted is None else _value(text, wanted) for text in texts)
        return pa.array(each, wanted if wanted is not None and pa.types.is_decimal(wanted) else pa.int64())


def _types() -> list[pa.DataType]:
    """The types of texts that order events, besides whole numbers: decimals, and times without and with a zone."""
    import pyarrow as pa

    return [pa.decimal128(38, _DIGITS), pa.timestamp("ns"), pa.timestamp("ns", "UTC")]


def _cast(texts: Any, wanted: pa.DataType) -> Any:
    import pyarrow as pa

    found = texts.cast(wanted)
    return found.cast(pa.int64()) if pa.types.is_timestamp(wanted) else found


def _value(text: pa.Scalar, wanted: pa.DataType) -> Any:
    """The value of a text of that type; None if it is of another type."""
    import pyarrow as pa

    try:
        return _cast(text, wanted).as_py()
    except pa.ArrowInvalid:
        return None
