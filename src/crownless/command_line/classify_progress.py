"""The line of progress of `crownless classify`: how much of a log is read and decided, and at what rate."""

from __future__ import annotations

import time
from collections.abc import Callable

from crownless.spec.printable import printable_name


class Rate:
    """Says how much is done, and how much of it a second."""

    def __init__(self, update: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._update, self._clock = update, clock
        self.file = ""
        self._doing: tuple[str, str] | None = None
        self._began = 0.0

    def __call__(self, doing: str, done: int, of: int | None, unit: str) -> None:
        """So many lines, bytes or runs are read, or decided, of so many."""
        now = self._clock()
        if (self.file, doing + unit) != self._doing:
            self._doing, self._began = (self.file, doing + unit), now
        so_far = f"{done:,}" if of is None else f"{done:,} of {of:,}"
        seconds = now - self._began
        rate = f", {_short(done / seconds)} a second" if done and seconds >= 0.1 else ""
        self._update(f"{printable_name(self.file)}: {doing} {so_far} {unit}{rate}")


def _short(number: float) -> str:
    """A number in three digits at most, such as 1.1 M."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"
