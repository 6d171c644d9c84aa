"""The size of packets in bytes: one encoding for all protocols, so that they can be compared.

A packet has a header of `HEADER` bytes (source, destination, kind, number), the payload of the message that it carries,
if any, and its stamp. A stamp is a row of numbers:

- a number, a truth value or a process is one number;
- a record (a named tuple), a vector of numbers, or a matrix of n × n numbers is its numbers, one after the other: both
  ends know how many there are;
- any other collection (a set, a list of entries) is one number, its length, and then its members. (At n = 3 a list of
  three entries of three numbers looks like a matrix, and is encoded without its length.)
- a message of the application that occurs in a stamp is its sender, its number and its receivers.

Each number takes four bytes, or, as a *varint*, seven bits per byte, at least one byte. Messages that a protocol
piggybacks on another one ([SES] §3's ISIS) bring their payload along; in packets that carry no message themselves they
are identifiers.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from crownless.impl.protocol import Packet
from crownless.spec.computation import Message

#: Bytes that every packet needs, even without a protocol.
HEADER = 20
#: Bytes of a number of fixed size.
WORD = 4


class Size(NamedTuple):
    """The bytes of a packet without the header and the payload of its own message."""

    numbers: int  #: in its stamp
    fixed: int  #: bytes, each number `WORD` of them
    varint: int  #: bytes, each number as few as hold it
    carried: int  #: other messages whose payload it brings


def size_of(packet: Packet, n: int) -> Size:
    """The size of a packet's stamp, in a system of n processes."""
    if packet.stamp is None:
        return Size(0, 0, 0, 0)
    numbers = list(numbers_in(packet.stamp, n))
    carried = 0 if packet.message is None else sum(message != packet.message for message in _messages_in(packet.stamp))
    return Size(len(numbers), WORD * len(numbers), sum(map(varint_bytes, numbers)), carried)


def varint_bytes(number: int) -> int:
    """Bytes of a non-negative number, with seven bits in each."""
    return 1 if number < 128 else (number.bit_length() + 6) // 7


def numbers_in(value: Any, n: int) -> Iterator[int]:
    """The numbers that encode a value, in order."""
    if value is None:
        return
    if isinstance(value, int):
        yield int(value)
    elif isinstance(value, Message):
        yield from (value.sender, int(value.name), *value.receivers)
    elif hasattr(value, "_fields"):
        for field in value:
            yield from numbers_in(field, n)
    else:
        if not _is_vector(value) and not _is_square(value, n):
            yield len(value)
        for member in value:
            yield from numbers_in(member, n)


def _is_vector(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(entry, int) for entry in value)


def _is_square(value: Any, n: int) -> bool:
    return isinstance(value, tuple) and len(value) == n and all(_is_vector(row) and len(row) == n for row in value)


def _messages_in(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
    elif isinstance(value, (tuple, frozenset)):
        for member in value:
            yield from _messages_in(member)
