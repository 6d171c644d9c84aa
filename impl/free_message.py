"""The messages of the free workload, identified by their channel and their number on it."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.spec.computation import Message


class FreeMessage(Message):
    """The message of that number on the channel from a process to some others, as an immutable value."""

    __slots__ = ()

    def __new__(cls, sender: int, receivers: tuple[int, ...], number: int) -> FreeMessage:
        name = f"{sender + 1}→{''.join([str(q + 1) for q in receivers])}#{number}"
        return super().__new__(cls, name, sender, receivers)

    @property
    def number(self) -> int:
        return int(self.name.rpartition("#")[2])

    def __getnewargs__(self) -> tuple[int, tuple[int, ...], int]:
        return self.sender, self.receivers, self.number

    def renamed(self, image: Sequence[int]) -> FreeMessage:
        """The same message with process p renamed to ``image[p]``: it keeps its number."""
        return FreeMessage(image[self.sender], tuple(sorted([image[q] for q in self.receivers])), self.number)
