"""Events of one run as numbers, column by column, in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .layout import SEND, Numbers


@dataclass(frozen=True)
class Events:
    """Events as numbers. The peers of a send are its receivers; those of a deliver its sender, if known:
    ``peer[first_peer[event]:first_peer[event + 1]]``.
    """

    process: Numbers
    #: The number of the event on its process.
    place: Numbers
    kind: Numbers
    #: An arbitrary number shared by a send and its delivers.
    message: Numbers
    first_peer: Numbers
    peer: Numbers

    @classmethod
    def none(cls) -> Events:
        process, place, kind, message = (np.empty(0, of) for of in (np.int32, np.int64, np.int8, np.int64))
        return cls(process, place, kind, message, np.zeros(1, np.int64), np.empty(0, np.int32))

    def rows(self) -> Iterator[tuple[int, bool, int, list[int]]]:
        """The events as rows: process, whether it sends, message, peers."""
        columns = (self.process, self.kind == SEND, self.message, self.first_peer, self.peer)
        process, sends, message, first, peer = (column.tolist() for column in columns)
        for event in range(len(self)):
            yield process[event], sends[event], message[event], peer[first[event] : first[event + 1]]

    def __len__(self) -> int:
        return len(self.process)

    def __add__(self, more: Events) -> Events:
        return Events(
            np.concatenate([self.process, more.process]),
            np.concatenate([self.place, more.place]),
            np.concatenate([self.kind, more.kind]),
            np.concatenate([self.message, more.message]),
            np.concatenate([self.first_peer, more.first_peer[1:] + self.first_peer[-1]]),
            np.concatenate([self.peer, more.peer]),
        )

    def some(self, which: Numbers) -> Events:
        """The events of these numbers, in that order."""
        first, counts = self.first_peer[which], np.diff(self.first_peer)[which]
        ends = np.cumsum(counts)
        at = np.arange(int(counts.sum())) + np.repeat(first - (ends - counts), counts)
        process, place, kind, message = self.process[which], self.place[which], self.kind[which], self.message[which]
        return Events(process, place, kind, message, np.append(0, ends), self.peer[at])
