"""Files of packed rows, which tasks on Spark pass to one another.

A *block* is a stretch of one file: rows, one after the other, then the sleep set of each, then, if it is a level's own,
whether each is the first with its state. No two attempts of a task write to one file, and no task reads a file before
the driver knows its name: a task may be run twice, or die, at any time.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from crownless.model_check.native import kernels
from crownless.model_check.native.layout import layout
from crownless.model_check.native.saved_directories import digest

#: Parts of a block begin at multiples of this many bytes, as the kernels read them.
ALIGNED = 8


class Shape(NamedTuple):
    """The parameters of a layout: slots, and bounds of the numbers of monitor states, cells and packets."""

    slots: int
    monitor_states: int
    cells: int
    packets: int

    def layout(self, n: int) -> kernels.Layout:
        return layout(n, self.slots, monitor_states=self.monitor_states, cells=self.cells, packets=self.packets)

    def joined(self, other: Shape) -> Shape:
        """The least shape with room for both."""
        return Shape(*map(max, self, other))


class Block(NamedTuple):
    """The place, number and layout of rows; `sleeps`: true if their sleep sets are stored."""

    file: str
    start: int
    size: int
    shape: Shape
    sleeps: bool


class Written(NamedTuple):
    """A completely written file: its name and, if it is lasting, its SHA-256."""

    file: str
    sha256: str


@contextmanager
def new_file(directory: Path, name: str) -> Iterator[tuple[str, BinaryIO]]:
    """Opens a file of this attempt only; yields its name and the file."""
    file = f"{name}-{uuid.uuid4().hex[:12]}.rows"
    with (directory / file).open("xb", buffering=0) as opened:
        yield file, opened


def append(file: BinaryIO, name: str, shape: Shape, rows: Any, asleep: Any, is_new: Any = None) -> Block:
    """Writes rows at the end of a file."""
    block = Block(name, file.tell(), len(rows), shape, len(asleep) > 0)
    for part in (rows, asleep) if is_new is None else (rows, asleep, is_new):
        _write_all(file, memoryview(part).cast("B") if part.size else memoryview(b""))
        file.write(bytes(-part.nbytes % ALIGNED))
    return block


def _write_all(file: BinaryIO, content: memoryview) -> None:
    """Writes all of the content; an unbuffered file may accept only a part at once."""
    while content.nbytes:
        content = content[file.write(content) :]


def whole(directory: Path, name: str) -> Any:
    """The bytes of a file, mapped into memory copy-on-write."""
    path = directory / name
    if not path.stat().st_size:
        return np.zeros(0, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, mode="c"))


def read(content: Any, block: Block, words: int, *, of_level: bool = False) -> tuple[Any, Any, Any]:
    """Rows of this many words, their sleep sets, and flags of the new ones; the flags are empty unless the block is a
    level's own.
    """
    place = block.start

    def part(length: int, dtype: Any) -> Any:
        nonlocal place
        size = length * np.dtype(dtype).itemsize
        array = content[place : place + size].view(dtype)
        place += size + -size % ALIGNED
        return array

    rows = part(block.size * words, np.uint64).reshape(block.size, words)
    asleep = part(block.size if block.sleeps else 0, np.uint32)
    return rows, asleep, part(block.size if of_level else 0, np.bool_)


def fsync_and_digest(file: BinaryIO, directory: Path, name: str, *, lasting: bool) -> Written:
    """The file as written so far; a lasting one is synced to disk and gets its digest."""
    if not lasting:
        return Written(name, "")
    os.fsync(file.fileno())
    return Written(name, digest(directory, name))
