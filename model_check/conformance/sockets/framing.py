"""Packets in a stream of TCP: lines, or blocks of bytes, each after its length in four bytes."""

from __future__ import annotations

from .speaking import Frame


class Unframed(Exception):
    """What came is no packet, in words."""


def framed(body: bytes, frame: Frame) -> bytes:
    """A packet as it is sent."""
    return body + b"\n" if frame == "line" else len(body).to_bytes(4, "big") + body


def packets_in(received: bytearray, frame: Frame, most: int) -> list[bytes]:
    """The whole packets of what was received, which are taken out of it; raises `Unframed` for one of more bytes."""
    found: list[bytes] = []
    while True:
        if frame == "line":
            size = received.find(b"\n")
            begin, end = 0, size + 1
        else:
            size = int.from_bytes(received[:4], "big") if len(received) >= 4 else -1
            begin, end = 4, 4 + size
        if max(size, len(received) if size < 0 else 0) > most:
            raise Unframed(f"a packet of more than {most:,} bytes")
        if size < 0 or len(received) < end:
            return found
        found.append(bytes(received[begin : begin + size]))
        del received[:end]
