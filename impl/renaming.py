"""Renamings of the processes, applied to the values of protocols.

Protocols that do not rank processes behave alike under every renaming: the behaviour of one process determines that of
another, and only one of the states that differ by names alone need be visited. Only the protocol knows how to rename a
local state or a stamp (`ProtocolMachine.renamed`); it does so with the methods of this class.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeVar

from crownless.spec.computation import Message

from .free_message import FreeMessage

#: Several messages or processes: in their order, or as a set.
Messages = TypeVar("Messages", tuple[Message, ...], frozenset[Message])
Processes = TypeVar("Processes", tuple[int, ...], frozenset[int])


@dataclass(frozen=True)
class Renaming:
    """A permutation: process p is called ``image[p]``."""

    image: tuple[int, ...]
    #: Process ``inverse[p]`` is called p.
    inverse: tuple[int, ...] = field(init=False, repr=False, compare=False)
    #: Takes a vector to the renamed one. Searches rename millions of states, so it is made once, and in C.
    _permuted: Callable[[Any], Any] = field(init=False, repr=False, compare=False)
    #: The messages renamed before.
    _messages: dict[Message, Message] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n = len(self.image)
        inverse = tuple(sorted(range(n), key=self.image.__getitem__))
        assert [self.image[p] for p in inverse] == list(range(n)), f"{self.image} is not a permutation"
        object.__setattr__(self, "inverse", inverse)
        # Of one index an itemgetter makes no tuple.
        object.__setattr__(self, "_permuted", itemgetter(*inverse) if n > 1 else tuple)
        object.__setattr__(self, "_messages", {})

    def message(self, message: Message) -> Message:
        """A renamed message of the free workload: it keeps its number, and gets its new sender and receivers."""
        renamed = self._messages.get(message)
        if renamed is None:
            assert isinstance(message, FreeMessage), f"{message} is not a message of the free workload"
            renamed = self._messages[message] = message.renamed(self.image)
        return renamed

    def messages(self, messages: Messages) -> Messages:
        """A sequence keeps its order, which is temporal."""
        return type(messages)([self.message(message) for message in messages])

    def vector(self, vector: Any) -> Any:
        """The entry of process k becomes that of its image."""
        return self._permuted(vector)

    def matrix(self, matrix: Any) -> Any:
        """Rows and columns alike."""
        return tuple(map(self._permuted, self._permuted(matrix)))

    def process(self, process: int | None) -> int | None:
        return None if process is None else self.image[process]

    def processes(self, processes: Processes) -> Processes:
        """A sequence keeps its order."""
        return type(processes)([self.image[p] for p in processes])
