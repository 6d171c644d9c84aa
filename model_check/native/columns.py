"""Arrays that grow, and hash tables of numbers, as Python fills them and the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import kernels, vectorized
from .compiled import HAVE_NUMBA

#: The inner loops: compiled, or else on whole arrays.
loops: Any = kernels if HAVE_NUMBA else vectorized


class Column:
    """A numpy array that grows at its end."""

    def __init__(self, dtype: Any = np.int64) -> None:
        self._room = np.zeros(1024, dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def append(self, value: int) -> None:
        if self._used == len(self._room):
            self._room = np.concatenate([self._room, np.zeros_like(self._room)])
        self._room[self._used] = value
        self._used += 1

    def extend(self, values: Sequence[int]) -> None:
        for value in values:
            self.append(value)

    def __setitem__(self, place: int, value: int) -> None:
        self._room[place] = value

    def __getitem__(self, place: int) -> int:
        return int(self._room[place])

    @property
    def array(self) -> Any:
        """What is there, and some room behind it. Valid until the next `append`."""
        return self._room


class Records(Column):
    """Rows of numbers, likewise."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._room = np.zeros((1024, columns), np.int64)

    def append(self, value: Sequence[int]) -> None:  # type: ignore[override]
        if self._used == len(self._room):
            self._room = np.concatenate([self._room, np.zeros_like(self._room)])
        self._room[self._used, : len(value)] = value
        self._used += 1

    def set(self, row: int, column: int, value: int) -> None:
        self._room[row, column] = value

    def get(self, row: int, column: int) -> int:
        return int(self._room[row, column])


class Map:
    """A hash table from keys, two numbers each (major · 2³² + minor), to numbers below 2⁶³."""

    def __init__(self) -> None:
        self.table = self._empty(1 << 12)
        self.used = 0

    def __len__(self) -> int:
        return self.used

    @staticmethod
    def _empty(size: int) -> Any:
        return np.full((size, 2), kernels.EMPTY, np.uint64)

    def enter(self, keys: Any, values: Any) -> None:
        """Enters (arrays of) keys with their values."""
        size = len(self.table)
        while (self.used + len(keys)) * 2 > size:
            size *= 2
        if size > len(self.table):
            known, self.table = self.table, self._empty(size)
            loops.enter(self.table, known[:, 0], known[:, 1])
        self.used += loops.enter(self.table, keys, values.astype(np.uint64))
