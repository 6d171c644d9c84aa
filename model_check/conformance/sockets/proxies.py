"""The sockets of the harness around one node: each stands for another process, and holds back what is sent to it.

The node at a process sees every process, itself too, at a port of the harness. What it sends there is a packet to that
process; what that process sends to it comes from there when the schedule says so. In a stream of TCP, packets are
lines, or blocks of bytes, each after its length in four bytes.
"""

from __future__ import annotations

import select
import socket
import struct
from abc import ABC, abstractmethod
from contextlib import suppress
from re import Pattern
from typing import NamedTuple

from crownless.model_check.conformance.node import NodeFailure

from .looks import sockets
from .speaking import Frame, Kind

HOST = "127.0.0.1"
#: Room for what a node sends before it is read, in bytes; the system may give less.
ROOM = 1 << 22
#: Closes a connection without a trace, so that its port can be used again at once.
_AT_ONCE = struct.pack("ii", 1, 0)


def is_ignored(text: bytes, ignored: Pattern[str] | None) -> bool:
    """True if all of it makes no difference."""
    return ignored is not None and ignored.fullmatch(text.decode("utf-8", "surrogateescape")) is not None


class Received(NamedTuple):
    """A packet from the node to a process."""

    to: int
    body: bytes


class Proxies(ABC):
    """The sockets around one node, which is to listen at `port`."""

    def __init__(self, kind: Kind, n: int, ignored: Pattern[str] | None = None) -> None:
        """`ignored`: packets that match it as a whole, such as heartbeats, are dropped."""
        self.kind = kind
        self._ignored = ignored
        self._type = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
        #: Packets that nobody has taken yet.
        self.received: list[Received] = []
        self._sockets = [self._bound() for _ in range(n)]
        self._of = {each.fileno(): process for process, each in enumerate(self._sockets)}
        self.port = self.free_port()

    def _bound(self) -> socket.socket:
        made = socket.socket(socket.AF_INET, self._type)
        made.bind((HOST, 0))
        made.setblocking(False)
        return made

    def free_port(self) -> int:
        """A port at which nobody listens now."""
        with self._bound() as made:
            port: int = made.getsockname()[1]
            return port

    @property
    def ports(self) -> list[int]:
        """Where the node sees each process."""
        return [each.getsockname()[1] for each in self._sockets]

    def watched(self, poll: select.poll) -> None:
        """From now on `poll` says when something has come."""
        self._poll = poll
        for number in self._of:
            poll.register(number, select.POLLIN)

    def knows(self, number: int) -> bool:
        """Is that the number of a socket of these?"""
        return number in self._of

    def take_packets(self) -> list[Received]:
        """What was received, by receivers: over different sockets nobody knows what came first."""
        found, self.received = sorted(self.received, key=lambda one: one.to), []
        return found

    @abstractmethod
    def read(self, number: int) -> bool:
        """Takes what has come at a socket; false if all of it is dropped. Raises `NodeFailure` for all but packets."""

    def _keep(self, process: int, body: bytes) -> bool:
        """Notes a packet to a process; false if it is dropped."""
        kept = not is_ignored(body, self._ignored)
        if kept:
            self.received.append(Received(process, body))
        return kept

    @abstractmethod
    def send(self, source: int, body: bytes) -> None:
        """A packet of another process comes to the node; raises `OSError`."""

    @abstractmethod
    def check_end(self) -> None:
        """Raises `NodeFailure` if something of an answer is missing."""

    @abstractmethod
    def forget(self) -> None:
        """The node has ended: nothing that it has left counts."""

    def close(self) -> None:
        self.forget()
        for each in self._sockets:
            each.close()


class OfDatagrams(Proxies):
    """Over UDP: a datagram is a packet."""

    def __init__(self, n: int, ignored: Pattern[str] | None = None) -> None:
        super().__init__("udp", n, ignored)
        for each in self._sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        self._dropped = 0

    def read(self, number: int) -> bool:
        process = self._of[number]
        try:
            body = self._sockets[process].recv(1 << 16)
        except BlockingIOError:
            return False
        return self._keep(process, body)

    def send(self, source: int, body: bytes) -> None:
        self._sockets[source].sendto(body, (HOST, self.port))

    def check_end(self) -> None:
        if (dropped := self._count_dropped()) > self._dropped:
            self._dropped = dropped
            raise NodeFailure("floods", "sends datagrams faster than they can be taken, and some are lost")

    def _count_dropped(self) -> int:
        ports = set(self.ports)
        return sum(each.dropped for each in sockets(["udp"]).values() if each.port in ports)

    def forget(self) -> None:
        for each in self._sockets:
            with suppress(BlockingIOError):
                while True:
                    each.recv(1 << 16)
        self.received, self._dropped = [], self._count_dropped()


class _Connection(NamedTuple):
    """A connection to or from the node, and the process that it stands for."""

    process: int
    socket: socket.socket
    unframed: bytearray


class OfStreams(Proxies):
    """Over TCP: what is a packet in a stream, `frame` says. A process connects to the node with its first packet."""

    def __init__(self, n: int, frame: Frame, most: int, seconds: float, ignored: Pattern[str] | None = None) -> None:
        """`most`: bytes of a packet. `seconds`: for which a node may not take what is sent to it."""
        super().__init__("tcp", n, ignored)
        self._frame = frame
        self._most, self._seconds = most, seconds
        self._connections: dict[int, _Connection] = {}
        #: The connections by which each process sends.
        self._to_node: dict[int, socket.socket] = {}
        for each in self._sockets:
            each.listen(socket.SOMAXCONN)

    def knows(self, number: int) -> bool:
        return number in self._of or number in self._connections

    def read(self, number: int) -> bool:
        if number in self._of:
            with suppress(BlockingIOError, ConnectionError):
                process = self._of[number]
                self._add(process, self._sockets[process].accept()[0])
            return False
        process, connection, unframed = self._connections[number]
        block = b""
        with suppress(BlockingIOError, ConnectionError):
            block = connection.recv(1 << 16)
        unframed += block
        try:
            kept = [self._keep(process, body) for body in packets_in(unframed, self._frame, self._most)]
        except Unframed as problem:
            raise NodeFailure("floods", f"sends {problem} to process {process}; {self._hint}") from None
        if not block:
            self._poll.unregister(number)  # what is left of a packet shows at the end of the answer
        return any(kept) or bool(block and unframed)

    @property
    def _hint(self) -> str:
        return f"--frame {self._frame} says what a packet is"

    def send(self, source: int, body: bytes) -> None:
        connection = self._to_node.get(source)
        if connection is None:
            connection = socket.create_connection((HOST, self.port), self._seconds)
            self._to_node[source] = connection
            self._add(source, connection)
        connection.settimeout(self._seconds)
        connection.sendall(framed(body, self._frame))
        connection.setblocking(False)

    def _add(self, process: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self._connections[connection.fileno()] = _Connection(process, connection, bytearray())
        self._poll.register(connection.fileno(), select.POLLIN)

    def check_end(self) -> None:
        for process, _, unframed in self._connections.values():
            if unframed:
                said = f"sends a part of a packet to process {process} and no end; {self._hint}"
                raise NodeFailure("not-understood", said)

    def forget(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()
        self._connections, self._to_node, self.received = {}, {}, []
        for each in self._sockets:
            with suppress(BlockingIOError, ConnectionError):
                while True:
                    each.accept()[0].close()


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
