"""Validation of saved rows and table logs, before any compiled loop reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels
from .tables import Tables

#: Rows that are looked at together.
BLOCK = 1 << 16


def problem_with_rows(rows: Any, layout: kernels.Layout, tables: Tables, channel: int) -> str | None:
    """The entry of these rows that is in no table, or stands where no search puts it; None if all are valid."""
    if rows.shape[1] != layout.words:
        return "rows of another width"
    known = _Known(tables, channel)
    used_bits = np.zeros(layout.words, np.uint64)
    for word, shift, mask in zip(layout.word, layout.shift, layout.mask, strict=True):
        used_bits[word] |= mask << shift
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        if (some & ~used_bits).any():
            return "bits outside of all fields"
        numbers = ((some[:, layout.word] >> layout.shift) & layout.mask).astype(np.int64)
        problem = known.problem(numbers)
        if problem is not None:
            return problem
    return None


class _Known:
    """The tables, as rows refer to them."""

    def __init__(self, tables: Tables, channel: int) -> None:
        self.n, self.channel = tables.n, channel
        self.monitor_states = len(tables.monitor_states)
        self.process_of_cell = np.array([process for process, _, _ in tables.cells], np.int64)
        self.frame_of = np.array([tables.frame_of(p) for p in range(tables.n)], np.int64)
        self.destination = np.array([packet.destination for packet in tables.packets], np.int64)
        self.source = np.array([packet.source - packet.destination for packet in tables.packets], np.int64)
        self.shared = tables.shared

    def problem(self, numbers: Any) -> str | None:
        cells, slots = numbers[:, 1 : 1 + self.n], numbers[:, 1 + self.n :]
        if (numbers[:, 0] >= self.monitor_states).any() or (cells >= len(self.process_of_cell)).any():
            return "monitor states or cells that there are not"
        if (self.process_of_cell[cells] != self.frame_of).any():
            return "cells of other processes"
        used = slots > 0
        if (used[:, 1:] & ~used[:, :-1]).any():
            return "an empty slot before a packet"
        slot = np.where(used, slots - 1, 0)
        packet, place = slot >> kernels.PROCESS_BITS + 1, (slot >> 1) & kernels.PROCESS
        if (used & ((packet >= len(self.destination)) | (place >= self.n))).any():
            return "packets that there are not"
        if not len(self.destination):
            return None
        if not self.shared and (used & (self.destination[packet] != place)).any():
            return "packets at other destinations"
        marked = used & (slot & 1 == 1)
        if marked.any() and self.channel not in (kernels.FIFO, kernels.DUPLICATING):
            return "packets marked as this channel marks none"
        queue = slots
        if self.channel == kernels.FIFO:
            queue = ((place * self.n + (place + self.source[packet]) % self.n) << 1) | (slot & 1)
        if (used[:, 1:] & (queue[:, 1:] < queue[:, :-1])).any():
            return "packets out of order"
        return None
