"""Growing arrays and hash tables of numbers, filled by Python and read by the kernels."""

from typing import Any

import numpy as np

from . import kernels


class Column:
    """A numpy array that grows at its end; given `columns`, one of rows of that many numbers."""

    def __init__(self, columns: int | None = None, dtype: Any = np.int64) -> None:
        self._room = np.zeros(1024 if columns is None else (1024, columns), dtype)
        self._used = 0
        #: Appended values not yet in the array: adding all at once costs little more than adding one.
        self._pending: list[Any] = []
        self.append = self._pending.append
        self.extend = self._pending.extend

    def __len__(self) -> int:
        return self._used + len(self._pending)

    def __setitem__(self, place: Any, value: Any) -> None:
        self.array[place] = value

    def __getitem__(self, place: Any) -> int:
        return int(self.array[place])

    @property
    def array(self) -> Any:
        """The array, with spare room at its end. Valid until more is appended."""
        if self._pending:
            used = len(self)
            if used > len(self._room):
                room = np.zeros((max(used, 2 * len(self._room)), *self._room.shape[1:]), self._room.dtype)
                room[: self._used] = self._room[: self._used]
                self._room = room
            self._room[self._used : used] = self._pending
            self._used = used
            self._pending.clear()
        return self._room


class Map:
    """A hash table from keys, two numbers each (major · 2³² + minor), to numbers below 2⁶³."""

    def __init__(self) -> None:
        self._table = self._empty(1 << 12)
        self._used = 0
        #: Entries not yet in the table, which others may be reading.
        self._pending: list[tuple[Any, Any]] = []

    def __len__(self) -> int:
        self._settle()
        return self._used

    @staticmethod
    def _empty(size: int) -> Any:
        return np.full((size, 2), kernels.EMPTY, np.uint64)

    def enter(self, keys: Any, values: Any) -> None:
        """Enters (arrays of) keys with their values."""
        self._pending.append((keys, values.astype(np.uint64)))

    @property
    def table(self) -> Any:
        """The table in the form that kernels read. It does not change until the next call."""
        self._settle()
        return self._table

    def _settle(self) -> None:
        needed = self._used + sum(len(keys) for keys, _ in self._pending)
        size = len(self._table)
        while needed * 2 > size:
            size *= 2
        if size > len(self._table):
            known, self._table = self._table, self._empty(size)
            kernels.enter(self._table, known[:, 0], known[:, 1])
        for keys, values in self._pending:
            self._used += kernels.enter(self._table, keys, values)
        self._pending.clear()
