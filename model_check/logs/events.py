"""Events of one run as numbers, column by column, in the order in which they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .layout import DELIVER, NONE, SEND, Numbers
from .named_rows import as_numbers

if TYPE_CHECKING:
    import pyarrow as pa


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
    def of(cls, process: pa.Array, sends: pa.Array, message: pa.Array, receivers: pa.ListArray) -> Events:
        """Events as columns; `receivers` has none where there is a deliver."""
        counts = as_numbers(receivers.value_lengths(), 0)
        return cls(
            as_numbers(process, NONE).astype(np.int32),
            np.where(sends.to_numpy(zero_copy_only=False), SEND, DELIVER).astype(np.int8),
            as_numbers(message, NONE).astype(np.int64),
            np.append(0, np.cumsum(counts)).astype(np.int64),
            as_numbers(receivers.flatten(), NONE).astype(np.int32),
        )

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
