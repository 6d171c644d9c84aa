"""The ghosts of a search, numbered, and the steps of the observers, tabulated.

`PlainGhosts` runs any observers as they are. `MaskGhosts` stands in for the two that nearly every check has, and makes
their steps on bit masks, in `mask_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Workload
from crownless.spec.computation import Message

from ..observers import FifoAndCausal, Ledger, Observation, Observer
from . import kernels, mask_kernels
from .columns import Column, Map

#: What happened for the application: kind, process, message.
Told = Sequence[tuple[str, int, Message]]


class Ghosts:
    """Base: ghosts by number, 0 being that of the empty run; codes by number, 0 being nothing to observe."""

    def __init__(self) -> None:
        self.steps = Map()
        self.renamed = Map()

    def __len__(self) -> int:
        raise NotImplementedError

    def code(self, told: Told) -> int:
        """The number of what the observers are told in one step."""
        raise NotImplementedError

    def fill(self, keys: Any) -> None:
        """Works out missing steps (ghost · 2³² + code)."""
        raise NotImplementedError

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        """Works out missing renamings (ghost · 2³² + number of the renaming)."""
        raise NotImplementedError

    def owed(self) -> Any:
        """Of each ghost: to which processes a delivery is owed; from bit 32 on, whose sends have not happened."""
        raise NotImplementedError

    def number(self, ghost: tuple[Any, ...]) -> int:
        """The number of a ghost as `system.System` has it, or -1 if it has not occurred."""
        raise NotImplementedError

    def arrays(self) -> kernels.Ghosts:
        """As the kernels read them; valid until the next `fill` or `rename`."""
        return kernels.Ghosts(self.steps.table, self.owed(), self.renamed.table)


class PlainGhosts(Ghosts):
    """Any observers."""

    def __init__(self, observers: Sequence[Observer], bit: dict[str, int]) -> None:
        super().__init__()
        self.observers = observers
        self._bit = bit
        self._ghosts: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._owed = Column()
        self._codes: list[tuple[tuple[int, Any], ...]] = [()]
        self._code_numbers: dict[tuple[tuple[str, int, Message], ...], int] = {(): 0}
        self._number(tuple(observer.initial() for observer in observers))

    def __len__(self) -> int:
        return len(self._ghosts)

    def _number(self, ghost: tuple[Any, ...]) -> int:
        number = self._numbers.get(ghost)
        if number is None:
            number = self._numbers[ghost] = len(self._ghosts)
            self._ghosts.append(ghost)
            ledger = self.observers[0]
            assert isinstance(ledger, Ledger)
            owed = 0
            for _, receiver in ledger.undelivered(ghost[0]):
                owed |= 1 << receiver
            for message in ledger.unsent(ghost[0]):
                owed |= 1 << (32 + message.sender)
            self._owed.append(owed)
        return number

    def number(self, ghost: tuple[Any, ...]) -> int:
        return self._numbers.get(ghost, -1)

    def code(self, told: Told) -> int:
        key = tuple(told)
        number = self._code_numbers.get(key)
        if number is None:
            observations = [Observation(kind, process, message) for kind, process, message in told]  # type: ignore[arg-type]
            code = tuple(
                (k, part) for k, observer in enumerate(self.observers) for part in observer.encode_all(observations)
            )
            number = self._code_numbers[key] = len(self._codes) if code else 0
            if code:
                self._codes.append(code)
        return number

    def fill(self, keys: Any) -> None:
        values = []
        for key in keys.tolist():
            after = list(self._ghosts[key >> 32])
            broken = 0
            for k, code in self._codes[key & 0xFFFFFFFF]:
                after[k], names = self.observers[k].observe(after[k], code)
                for name in names:
                    broken |= self._bit[name]
            values.append(self._number(tuple(after)) << 16 | broken)
        self.steps.enter(keys, np.array(values, np.int64))

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        values = []
        for key in keys.tolist():
            renaming = renamings[key & 0xFFFFFFFF]
            parts = zip(self.observers, self._ghosts[key >> 32], strict=True)
            values.append(self._number(tuple(observer.renamed(ghost, renaming) for observer, ghost in parts)))
        self.renamed.enter(keys, np.array(values, np.int64))

    def owed(self) -> Any:
        return self._owed.array


class MaskGhosts(Ghosts):
    """`Ledger`, and `FifoAndCausal` if `orders` is given, of the messages that a workload can send."""

    KINDS = {"hand": mask_kernels.HAND, "send": mask_kernels.SEND, "deliver": mask_kernels.DELIVER}

    def __init__(self, workload: Workload, ledger: Ledger, orders: FifoAndCausal | None, bit: dict[str, int]) -> None:
        super().__init__()
        self._ledger = ledger
        self._orders = orders
        messages = workload.universe()
        n = len(workload.processes)
        self._messages = {message: m for m, message in enumerate(messages)}
        self._copies = [(message, q) for message in messages for q in message.receivers]
        self._copy_numbers = {copy: c for c, copy in enumerate(self._copies)}
        words = len(self._copies) + 63 >> 6
        message_words = len(messages) + 63 >> 6
        to_receiver, from_sender = np.zeros((n, words), np.uint64), np.zeros((n, words), np.uint64)
        for c, (message, q) in enumerate(self._copies):
            to_receiver[q, c >> 6] |= np.uint64(1 << (c & 63))
            from_sender[message.sender, c >> 6] |= np.uint64(1 << (c & 63))
        self._universe = mask_kernels.Universe(
            n,
            words,
            message_words,
            np.cumsum([0, *(len(message.receivers) for message in messages)]),
            np.array([q for _, q in self._copies], np.int64),
            np.array([message.sender for message in messages], np.int64),
            to_receiver,
            from_sender,
            np.array([orders is not None and p in orders.at for p in range(n)]),
            orders is not None,
            ledger.sends_before_delivery,
            bit.get("delivers-once", 0),
            bit.get("fifo", 0),
            bit.get("causal", 0),
        )
        self._most_words = 2 * words + message_words + n * words + (words + 1) * (workload.messages + 1)
        self._code_numbers: dict[tuple[tuple[str, int, Message], ...], int] = {(): 0}
        self._starts, self._kinds, self._whose, self._what = Column(), Column(), Column(), Column()
        self._starts.extend([0, 0])
        self._permuted: tuple[Any, Any, Any] | None = None
        self._used = 0
        self._content = np.zeros(1 << 12, np.uint64)
        self._offset = np.zeros(1 << 8, np.int64)
        self._owed = np.zeros(1 << 8, np.int64)
        self._table = np.zeros(1 << 9, np.uint64)
        self._make_room(1)
        head = 2 * words + message_words + n * words
        mask_kernels.number_of(self._content, 0, head, self._pool(), 0, self._universe)
        self._used = 1

    def __len__(self) -> int:
        return self._used

    def _pool(self) -> mask_kernels.Pool:
        return mask_kernels.Pool(self._content, self._offset, self._table, self._owed)

    def _make_room(self, more: int) -> None:
        needed = int(self._offset[self._used]) + more * self._most_words
        if needed > len(self._content):
            self._content = _longer(self._content, max(needed, 2 * len(self._content)))
        if self._used + more + 1 > len(self._offset):
            size = max(self._used + more + 1, 2 * len(self._offset))
            self._offset, self._owed = _longer(self._offset, size), _longer(self._owed, size)
        size = len(self._table)
        while 2 * (self._used + more) > size:
            size *= 2
        if size > len(self._table):
            self._table = np.zeros(size, np.uint64)
            mask_kernels.rehash(self._pool(), self._used)

    def code(self, told: Told) -> int:
        key = tuple(told)
        number = self._code_numbers.get(key)
        if number is None:
            number = self._code_numbers[key] = len(self._starts) - 1
            for kind, process, message in told:
                self._kinds.append(self.KINDS[kind])
                self._whose.append(process)
                self._what.append(self._messages[message])
            self._starts.append(len(self._kinds))
        return number

    def fill(self, keys: Any) -> None:
        for start in range(0, len(keys), 1 << 14):
            some = keys[start : start + (1 << 14)]
            values = np.zeros(len(some), np.int64)
            self._make_room(len(some))
            told = (self._starts.array, self._kinds.array, self._whose.array, self._what.array)
            self._used = mask_kernels.observe(some, values, self._pool(), self._used, self._universe, *told)
            self.steps.enter(some, values)

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        if not len(keys):
            return
        if self._permuted is None:
            images = np.array([renaming.image for renaming in renamings], np.int64)
            messages = [[self._messages[r.message(message)] for message in self._messages] for r in renamings]
            copies = [[self._copy_numbers[r.message(m), r.image[q]] for m, q in self._copies] for r in renamings]
            self._permuted = images, np.array(copies, np.int64), np.array(messages, np.int64)
        for start in range(0, len(keys), 1 << 14):
            some = keys[start : start + (1 << 14)]
            values = np.zeros(len(some), np.int64)
            self._make_room(len(some))
            self._used = mask_kernels.rename(some, values, self._pool(), self._used, self._universe, *self._permuted)
            self.renamed.enter(some, values)

    def owed(self) -> Any:
        return self._owed

    def number(self, ghost: tuple[Any, ...]) -> int:
        return -1  # see `walking_back`


def _longer(array: Any, size: int) -> Any:
    longer = np.zeros(size, array.dtype)
    longer[: len(array)] = array
    return longer


def ghosts_for(observers: Sequence[Observer], workload: Workload, bit: dict[str, int]) -> Ghosts:
    """The fastest that these observers admit."""
    kinds = [type(observer) for observer in observers]
    ledger = observers[0]
    assert isinstance(ledger, Ledger)
    if kinds == [Ledger]:
        return MaskGhosts(workload, ledger, None, bit)
    if kinds == [Ledger, FifoAndCausal] and isinstance(observers[1], FifoAndCausal):
        return MaskGhosts(workload, ledger, observers[1], bit)
    return PlainGhosts(observers, bit)
