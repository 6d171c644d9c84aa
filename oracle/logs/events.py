"""Events of one run as numbers, column by column, in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .layout import DELIVER, SEND, Numbers


@dataclass(frozen=True)
class Events:
    """Events as numbers, those of each process in order; the receivers of a send are
    ``receiver[first_receiver[event]:first_receiver[event + 1]]``, and a deliver has none.
    """

    process: Numbers
    kind: Numbers
    #: Any number, which a send and its delivers share.
    message: Numbers
    first_receiver: Numbers
    receiver: Numbers

    @classmethod
    def none(cls) -> Events:
        process, kind, message = np.empty(0, np.int32), np.empty(0, np.int8), np.empty(0, np.int64)
        return cls(process, kind, message, np.zeros(1, np.int64), np.empty(0, np.int32))

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, bool, int, Sequence[int]]]) -> Events:
        """Events as rows: process, whether it sends, message, receivers."""
        return cls(
            np.array([row[0] for row in rows], np.int32),
            np.array([SEND if row[1] else DELIVER for row in rows], np.int8),
            np.array([row[2] for row in rows], np.int64),
            np.cumsum([0, *(len(row[3]) for row in rows)]).astype(np.int64),
            np.array([q for row in rows for q in row[3]], np.int32),
        )

    def rows(self) -> Iterator[tuple[int, bool, int, list[int]]]:
        """The events as rows."""
        columns = (self.process, self.kind, self.message, self.first_receiver, self.receiver)
        process, kind, message, first, receiver = (column.tolist() for column in columns)
        for event in range(len(self)):
            sends = kind[event] == SEND
            yield process[event], sends, message[event], receiver[first[event] : first[event + 1]]

    def __len__(self) -> int:
        return len(self.process)

    def __add__(self, more: Events) -> Events:
        return Events(
            np.concatenate([self.process, more.process]),
            np.concatenate([self.kind, more.kind]),
            np.concatenate([self.message, more.message]),
            np.concatenate([self.first_receiver, more.first_receiver[1:] + self.first_receiver[-1]]),
            np.concatenate([self.receiver, more.receiver]),
        )

    def some(self, which: Numbers) -> Events:
        """The events of these numbers, in that order."""
        first, counts = self.first_receiver[which], np.diff(self.first_receiver)[which]
        ends = np.cumsum(counts)
        at = np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts)
        return Events(self.process[which], self.kind[which], self.message[which], np.append(0, ends), self.receiver[at])
