"""Copies of messages, numbered, so that monitors keep sets of them as bits."""

from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class Copies:
    """Numbers the copies (message, receiver) in a run, so that sets of them are bits of an int."""

    def __init__(self) -> None:
        self.copies: list[tuple[Message, int]] = []
        self._bits: dict[Message, dict[int, int]] = {}
        self.to_receiver: dict[int, int] = {}
        self.from_sender: dict[int, int] = {}

    def of(self, message: Message) -> dict[int, int]:
        """receiver → the bit of its copy."""
        bits = self._bits.get(message)
        if bits is None:
            bits = self._bits[message] = {}
            for q in message.receivers:
                bit = 1 << len(self.copies)
                bits[q] = bit
                self.copies.append((message, q))
                self.to_receiver[q] = self.to_receiver.get(q, 0) | bit
                self.from_sender[message.sender] = self.from_sender.get(message.sender, 0) | bit
        return bits

    def all_of(self, message: Message) -> int:
        """The bits of all its copies."""
        return sum(self.of(message).values())

    def members(self, bits: int) -> list[tuple[Message, int]]:
        """The copies in a set, even a small set among very many copies."""
        members = []
        while bits:
            least = bits & -bits
            members.append(self.copies[least.bit_length() - 1])
            bits ^= least
        return members

    def renamed(self, bits: int, renaming: Renaming) -> int:
        """The set of the same copies with the processes renamed."""
        return sum(self.of(renaming.message(message))[renaming.image[q]] for message, q in self.members(bits))
