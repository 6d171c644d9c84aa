"""The set of rows of one owner."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels, row_set_kernels


class RowSet:
    """The rows of one owner, and a hash table of them."""

    def __init__(self, words: int, *, sleeps: bool = False) -> None:
        self.rows = np.zeros((1 << 10, words), np.uint64)
        self.is_new = np.zeros(1 << 10, np.bool_)
        #: Which moves of each row sleep, if any do; see `full_kernels.expand`.
        self.asleep = np.zeros(1 << 10 if sleeps else 0, np.uint32)
        self.table = np.zeros(1 << 11, np.uint64)
        self.used = 0

    def clear(self, words: int) -> None:
        """Forgets all rows; the next ones are of so many words."""
        if self.rows.shape[1] != words:
            self.rows = np.zeros((len(self.rows) * self.rows.shape[1] // words + 1, words), np.uint64)
            self.is_new = np.zeros(len(self.rows), np.bool_)
            if len(self.asleep):
                self.asleep = np.zeros(len(self.rows), np.uint32)
        self.table[:] = 0
        self.used = 0

    def make_room(self, more: int, layout: kernels.Layout) -> None:
        """Room for so many more rows."""
        needed = self.used + more
        if needed > len(self.rows):
            size = max(needed, len(self.rows) * 3 // 2)
            # In place: the system moves pages, and copies nothing.
            self.rows.resize((size, self.rows.shape[1]), refcheck=False)
            self.is_new.resize(size, refcheck=False)
            if len(self.asleep):
                self.asleep.resize(size, refcheck=False)
        if needed * 3 > len(self.table) * 2:
            size = len(self.table)
            while needed * 3 > size * 2:
                size *= 2
            self.table = np.zeros(size, np.uint64)
            row_set_kernels.rehash(self.rows, 0, self.used, layout, self.table)

    def add(self, rows: Any, layout: kernels.Layout, is_new: Any = False) -> None:
        """Puts in rows that differ from one another, and from those that are there."""
        first, end = self.used, self.used + len(rows)
        self.make_room(len(rows), layout)
        self.rows[first:end] = rows
        self.is_new[first:end] = is_new
        row_set_kernels.rehash(self.rows, first, end, layout, self.table)
        self.used = end

    def insert(
        self, rows: Any, hashes: Any, asleep: Any, count: int, layout: kernels.Layout, level_start: int, tallies: Any
    ) -> None:
        """Puts in those of the first so many rows that are not there; see `row_set_kernels.insert`."""
        self.make_room(count, layout)
        self.used = row_set_kernels.insert(
            rows,
            hashes,
            asleep,
            count,
            layout,
            self.rows,
            self.is_new,
            self.asleep,
            self.table,
            level_start,
            self.used,
            tallies,
        )

    def repack(self, before: kernels.Layout, after: kernels.Layout) -> None:
        rows = np.zeros((len(self.rows), after.words), np.uint64)
        row_set_kernels.repack(self.rows, self.used, before, after, rows, np.zeros(len(after.word), np.int64))
        self.rows = rows
        self.table[:] = 0
        row_set_kernels.rehash(self.rows, 0, self.used, after, self.table)
