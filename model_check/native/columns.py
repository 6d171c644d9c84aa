"""Arrays that grow, and hash tables of numbers, as Python fills them and the kernels read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels, vectorized
from .compiled import HAVE_NUMBA

#: The inner loops: compiled, or else on whole arrays.
loops: Any = kernels if HAVE_NUMBA else vectorized


class Column:
    """A numpy array that grows at its end; given `columns`, one of rows of so many numbers."""

    def __init__(self, columns: int | None = None) -> None:
        self._room = np.zeros(1024 if columns is None else (1024, columns), np.int64)
        self._used = 0
        #: What was appended and is not in the array yet: all at once costs little more than one.
        self._pending: list[Any] = []
        self.append = self._pending.append
        self.extend = self._pending.extend

    def __len__(self) -> int:
        return self._used + len(self._pending)

    def __setitem__(self, place: Any, value: int) -> None:
        self.array[place] = value

    def __getitem__(self, place: Any) -> int:
        return int(self.array[place])

    @property
    def array(self) -> Any:
        """What is there, and some room behind it. Valid until more is appended."""
        if self._pending:
            used = len(self)
            if used > len(self._room):
                room = np.zeros((max(used, 2 * len(self._room)), *self._room.shape[1:]), np.int64)
                room[: self._used] = self._room[: self._used]
                self._room = room
            self._room[self._used : used] = self._pending
            self._used = used
            self._pending.clear()
        return self._room


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
