"""Growing arrays and hash tables of numbers, filled by Python and read by the kernels."""

import math
from typing import Any

import numpy as np

from . import kernels


def distinct(numbers: Any) -> Any:
    """The distinct numbers of an array, sorted. `np.unique` hashes, which takes far longer for as many as here."""
    numbers = np.sort(numbers)
    is_first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]


def aligned(shape: tuple[int, ...], dtype: Any = np.int64) -> Any:
    """Zeroes that begin with a cache line."""
    line, size = 64, math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + line, np.uint8)
    begin = -room.ctypes.data % line
    return room[begin : begin + size].view(dtype).reshape(shape)


class Column:
    """A numpy array that grows at its end; given `columns`, one of rows of that many numbers."""

    def __init__(self, columns: int | None = None, dtype: Any = np.int64) -> None:
        self._room = aligned((1024,) if columns is None else (1024, columns), dtype)
        self._used = 0
        #: Appended values not yet in the array: adding all at once costs little more than adding one.
        self._pending: list[Any] = []
        self.append = self._pending.append
        self.extend = self._pending.extend

    def __len__(self) -> int:
        return self._used + len(self._pending)

    def __setitem__(self, place: Any, value: Any) -> None:
        self.array[place] = value

    @property
    def array(self) -> Any:
        """The array, with spare room at its end. Valid until more is appended."""
        if self._pending:
            self._write(self._pending)
            self._pending.clear()
        return self._room

    def add(self, values: Any) -> None:
        """Appends an array."""
        _ = self.array  # what is pending comes first
        self._write(values)

    def _write(self, values: Any) -> None:
        used = self._used + len(values)
        if used > len(self._room):
            room = aligned((max(used, 2 * len(self._room)), *self._room.shape[1:]), self._room.dtype)
            room[: self._used] = self._room[: self._used]
            self._room = room
        self._room[self._used : used] = values
        self._used = used


class Map:
    """A hash table from keys, two numbers each (major · 2³² + minor), to numbers below 2⁶³.

    Threads may read `table` while something is entered: they find the entry or miss it.
    """

    def __init__(self) -> None:
        #: The table in the form that kernels read.
        self.table = aligned((1 << 12, 2), np.uint64)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def enter(self, keys: Any, values: Any) -> None:
        """Enters (arrays of) keys with their values."""
        size = len(self.table)
        while (self._used + len(keys)) * 2 > size:
            size *= 2
        if size > len(self.table):
            table = aligned((size, 2), np.uint64)
            for known in np.array_split(self.table, len(self.table) >> 12):  # a few at a time, to need little memory
                kernels.enter(table, known[:, 0] - np.uint64(1), known[:, 1] - np.uint64(1))
            self.table = table
        self._used += kernels.enter(self.table, keys, values.astype(np.uint64))

    def values(self, keys: Any) -> Any:
        """The values of keys, or -1."""
        values = np.zeros(len(keys), np.int64)
        kernels.look_up_all(self.table, keys, values)
        return values
