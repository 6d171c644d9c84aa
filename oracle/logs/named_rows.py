"""The rows of a log with numbered names: column by column, by run, and as the monitor's input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crownless.model_check.native.compiled import compiled

from .columns import PEER_SEPARATOR, PLAIN_COLUMNS, plain_types
from .layout import DELIVER, INTERNAL, NO_KIND, NONE, SEND, Numbers, Rows

#: The columns of names.
NAMED = ("run", "process", "kind", "message", "peer", "text")
#: The place of a row without an index; rejected like any negative one.
MISSING = -(1 << 62)

_KINDS = {"send": SEND, "deliver": DELIVER, "receive": DELIVER, "internal": INTERNAL}
#: The number of an invalid name.
_NO_NAME = -2


@dataclass
class Named:
    """A column of names as numbers: `names[codes[row]]`, or none where the number is negative."""

    codes: Numbers
    names: pa.StringArray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Named:
        """The names of a column, numbered in the order of their first rows."""
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column
            column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0)
        if not pa.types.is_dictionary(column.type):
            encoded = column.dictionary_encode()
            return cls(codes_of(encoded), encoded.dictionary)
        names = column.dictionary
        if names.null_count or len(names.unique()) < len(names):
            return cls.of(column.cast(pa.string()))
        codes = codes_of(column).copy()
        seen, number, used = (np.full(len(names), NONE, np.int32) for _ in range(3))
        count = compact(codes, seen, number, 0, used)
        return cls(codes, names.take(pa.array(used[:count])))

    def only(self, rows: slice) -> Named:
        """These rows, with the names in them."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        missing = int(used[0] < 0)
        return Named((codes - missing).astype(np.int32), self.names.take(pa.array(used[missing:])))

    def name(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else str(self.names[code].as_py())


def codes_of(column: pa.DictionaryArray) -> Numbers:
    """The numbers of a column of names, with NONE where there is none."""
    return as_numbers(column.indices, NONE).astype(np.int32)


def as_numbers(column: pa.Array, otherwise: int) -> Numbers:
    """A column of numbers, with a default for missing ones (`to_numpy` would import pandas)."""
    return np.from_dlpack(column.fill_null(otherwise) if column.null_count else column)


@dataclass
class NamedRows:
    """Plain rows, column by column; `first` has the first row of each run, if the rows are ordered by run."""

    named: dict[str, Named]
    index: Numbers
    first: Numbers
    #: The place of each row in the log, from 0; None if the rows have the order of the log.
    place: Numbers | None = None
    #: The names of the processes, by their numbers in `numbers`.
    processes: list[str] = field(default_factory=list)

    @classmethod
    def by_run(cls, named: dict[str, Named], index: Numbers) -> NamedRows:
        """The rows of these columns, grouped by run, runs in the order of their numbers."""
        runs = named["run"]
        if (runs.codes[1:] >= runs.codes[:-1]).all():  # already grouped
            return cls(named, index, np.searchsorted(runs.codes, np.arange(len(runs.names) + 1, dtype=np.int32)))
        first, place = np.empty(len(runs.names) + 1, np.int64), np.empty(len(index), np.int64)
        order_by(runs.codes, len(runs.names), first, place)
        for column in named.values():
            column.codes = column.codes[place]
        return cls(named, index[place], first, place)

    def of_run(self, number: int) -> NamedRows:
        """The rows of one run, with the names in them, and their places in the log."""
        rows = slice(int(self.first[number]), int(self.first[number + 1]))
        named = {name: column.only(rows) for name, column in self.named.items()}
        place = np.arange(rows.start, rows.stop) if self.place is None else self.place[rows]
        return NamedRows(named, self.index[rows], np.array([0, rows.stop - rows.start]), place)

    def row(self, row: int) -> dict[str, Any]:
        """A plain row; a missing index is reported as missing."""
        index = int(self.index[row])
        plain = {name: self.named[name].name(row) if name in self.named else None for name in PLAIN_COLUMNS}
        return {**plain, "index": None if index == MISSING else index}

    def table(self, first: int, past: int) -> pa.Table:
        """Plain rows of these numbers, as a table."""
        columns: dict[str, pa.Array] = {}
        for name, kind in plain_types():
            column = self.named.get(name)
            if name == "index":
                columns[name] = pa.array(self.index[first:past], kind, mask=self.index[first:past] == MISSING)
            elif column is None:
                columns[name] = pa.nulls(past - first, kind)
            else:
                codes = column.codes[first:past]
                columns[name] = column.names.take(pa.array(codes, mask=codes < 0))
        return pa.table(columns)

    def numbers(self) -> Rows:
        """The columns as numbers."""
        none = np.full(len(self.index), NONE, np.int32)
        process, peer, message = (self.named.get(name) for name in ("process", "peer", "message"))
        number: dict[str, int] = {}
        peers: list[list[int]] = []
        of_process = none if process is None else _by_code(_in_common(process.names, number), process, NONE)
        of_peer = none if peer is None else _by_code(_receivers(peer.names, number, peers), peer, NONE)
        self.processes = list(number)
        return Rows(
            self.first,
            of_process,
            self.index,
            self._kinds(),
            none if message is None else _own_numbers(message),
            of_peer,
            np.cumsum([0, *map(len, peers)]).astype(np.int32),
            np.array([name for names in peers for name in names], np.int32),
        )

    def _kinds(self) -> Numbers:
        kinds = np.full(len(self.index), NO_KIND, np.int8)
        if "kind" in self.named:
            of = [_KINDS.get(name, NO_KIND) for name in self.named["kind"].names.to_pylist()]
            kinds = _by_code(np.array(of, np.int8), self.named["kind"], NO_KIND)
        if "text" in self.named:
            kinds[self.named["text"].codes >= 0] = NO_KIND
        return kinds


def by_run(table: pa.Table) -> NamedRows:
    """Plain rows, grouped by run, runs in the order of their first events."""
    named = {name: Named.of(table[name]) for name in NAMED if table[name].null_count < table.num_rows}
    return NamedRows.by_run(named, as_numbers(table["index"].combine_chunks(), MISSING))


def _by_code(table: Numbers, column: Named, otherwise: int) -> Numbers:
    return np.append(table, table.dtype.type(otherwise))[column.codes]  # a missing value has the code -1, the last


def are_names(names: pa.StringArray, *, empty: bool = False) -> Numbers:
    """For each string, whether it is a name (see `oracle.logs.event_logs`), or empty if that is allowed."""
    content = names.buffers()[2]
    plain = content is None or _is_plain_ascii(np.frombuffer(content, np.uint8))
    if plain:
        return np.ones(len(names), bool) if empty else as_numbers(pc.binary_length(names), 0) > 0
    texts = names.to_pylist()
    return np.fromiter((text.isprintable() and (empty or text != "") for text in texts), bool, len(texts))


def _is_plain_ascii(content: Numbers) -> bool:
    """True if all these characters are printable single bytes."""
    return not len(content) or bool(content.min() >= ord(" ") and content.max() <= ord("~"))


def _own_numbers(column: Named) -> Numbers:
    """The numbers of names unchanged, except for invalid names."""
    usable = are_names(column.names)
    if usable.all():
        return column.codes
    return _by_code(np.where(usable, np.arange(len(usable), dtype=np.int32), np.int32(_NO_NAME)), column, NONE)


def _in_common(names: pa.StringArray, number: dict[str, int]) -> Numbers:
    """Numbers of names that are processes."""
    usable = are_names(names).tolist()
    numbers = [
        number.setdefault(name, len(number)) if ok else _NO_NAME
        for name, ok in zip(names.to_pylist(), usable, strict=True)
    ]
    return np.array(numbers, np.int32)


def _receivers(names: pa.StringArray, number: dict[str, int], peers: list[list[int]]) -> Numbers:
    """Indices into `peers`, which gets the processes named by each of these strings."""
    found = []
    for text in names.to_pylist():
        parts = text.split(PEER_SEPARATOR)
        if all(part and part.isprintable() for part in parts) and len(set(parts)) == len(parts):
            found.append(len(peers))
            peers.append([number.setdefault(part, len(number)) for part in parts])
        else:
            found.append(_NO_NAME)
    return np.array(found, np.int32)


# -- rows grouped by number, in time linear in the rows ----------------------------------------------------------------


@compiled
def order_by(numbers: Any, how_many: Any, first: Any, place: Any) -> Any:
    """Sorts `numbers`, each below `how_many`, stably: fills `first` with the start of each number, `place` with the
    rows in order.
    """
    for k in range(how_many + 1):
        first[k] = 0
    for row in range(len(numbers)):
        first[numbers[row] + 1] += 1
    for k in range(how_many):
        first[k + 1] += first[k]
    for row in range(len(numbers)):
        place[first[numbers[row]]] = row
        first[numbers[row]] += 1
    for k in range(how_many, 0, -1):
        first[k] = first[k - 1]
    first[0] = 0


@compiled
def compact(codes: Any, seen: Any, number: Any, mark: Any, used: Any) -> Any:
    """Renumbers `codes` in place by first occurrence (negative ones stay); fills `used` with the old codes; returns
    their number.
    """
    count = 0
    for row in range(len(codes)):
        code = codes[row]
        if code < 0:
            continue
        if seen[code] != mark:
            seen[code] = mark
            number[code] = count
            used[count] = code
            count += 1
        codes[row] = number[code]
    return count
