"""Nodes of a user's own class, joined by a channel, and their events when they are driven step by step.

A node is one object a process:

    class MyNode:
        def __init__(self, process, processes, transmit, deliver): ...
        def on_send(self, to, message): ...      # the application sends: call transmit(to, packet)
        def on_packet(self, source, packet): ... # a packet has come: call deliver(message), now or later

`process` counts from 0. Packets may be anything that can be copied; a message is a string.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from operator import index
from typing import Any, Literal, NamedTuple, Protocol

from crownless.impl.channels import Channel
from crownless.model_check.users_code import innermost_place, lines_of
from crownless.model_check.wrong_machine import code_of, place, shown, shown_error
from crownless.spec.computation import Computation, process_names
from crownless.spec.recorder import Recorder

#: A node's way to put a packet on the channel: to which process, and the packet.
Transmit = Callable[[int, Any], None]
#: A node's way to hand a message to its application.
Deliver = Callable[[str], None]


class Node(Protocol):
    """The methods that a driven class must have; see the head of this file."""

    def __init__(self, process: int, processes: int, transmit: Transmit, deliver: Deliver) -> None: ...

    def on_send(self, to: int, message: str) -> None: ...

    def on_packet(self, source: int, packet: Any) -> None: ...


class Move(NamedTuple):
    """Something that may happen next: an application sends, a packet is received or a process takes a step of its own,
    or the channel loses or duplicates a packet. Moves of another run have the same `like` if they are alike.
    """

    kind: Literal["send", "step", "fault"]
    like: Hashable
    happen: Callable[[], None]


class NodeFailure(AssertionError):
    """A node did what no node may, or raised an exception; the text says where in the user's files."""


def root_of(error: Exception | None) -> BaseException | None:
    """The exception behind a failure, which is the user's own where there is one."""
    return None if error is None else error.__cause__ or error


class Network:
    """The nodes, and the packets in flight between them."""

    def __init__(self, node: type[Node], processes: int, messages: int, channel: type[Channel]) -> None:
        self._names = process_names(processes)
        self._packets: list[tuple[int, int, Any]] = []
        self._channel = channel(lambda packet: self._packets[packet][0] * processes + self._packets[packet][1])
        self._flight = self._channel.empty()
        self._sent, self._unsent = 0, messages
        self._receivers: dict[str, str] = {}
        self._recorder = Recorder(self._names)
        self.said: list[str] = []
        #: What is sent and not delivered: (message, receiver).
        self.owed: set[tuple[str, str]] = set()
        self._node = node
        self._nodes: list[Node] = []
        for p in range(processes):
            with self._called("__init__", p):
                self._nodes.append(node(p, processes, partial(self._transmit, p), partial(self._deliver, p)))

    @property
    def progress(self) -> int:
        """A number that changes when the order may have been broken."""
        return -len(self.owed)

    def moves(self) -> list[Move]:
        """All that may happen next: new sends, arrivals, and faults of the channel."""
        n = len(self._names)
        pairs = [(p, q) for p in range(n) for q in range(n) if p != q] if self._unsent else []
        moves = [Move("send", ("send", p, q), partial(self._send, p, q)) for p, q in pairs]
        for packet, after, *_ in self._channel.arrivals(self._flight):
            moves.append(Move("step", ("receive", *self._packets[packet][:2]), partial(self._arrive, packet, after)))
        for name, packet, after in self._channel.faults(self._flight):
            like = (name, *self._packets[packet][:2])
            moves.append(Move("fault", like, partial(self._fault, name, packet, after)))
        return moves

    @property
    def computation(self) -> Computation:
        """The events that the applications saw so far."""
        return self._recorder.computation

    def _send(self, p: int, q: int) -> None:
        self._sent += 1
        self._unsent -= 1
        message = f"m{self._sent}"
        self.said.append(f"{self._names[p]}: send {message} to {self._names[q]}")
        self._recorder.send(self._names[p], message, to=self._names[q])
        self.owed.add((message, self._names[q]))
        self._receivers[message] = self._names[q]
        with self._called("on_send", p):
            self._nodes[p].on_send(q, message)

    def _arrive(self, packet: int, after: Any) -> None:
        source, destination, body = self._packets[packet]
        self._flight = after
        self.said.append(f"{self._names[destination]}: receives a packet from {self._names[source]}")
        with self._called("on_packet", destination):
            self._nodes[destination].on_packet(source, deepcopy(body))

    @contextmanager
    def _called(self, method: str, process: int) -> Iterator[None]:
        """Around a call of a node: an exception that comes out of it is a `NodeFailure`, with the place."""
        try:
            yield
        except (Exception, SystemExit) as error:
            code = code_of(getattr(self._node, method))
            known = innermost_place(lines_of(error.__traceback__)) or (code and place(code, code.co_firstlineno))
            where = "" if known is None else f" ({known})"
            said = str(error) if isinstance(error, NodeFailure) else shown_error(error)
            called = f"{self._node.__name__}.{method} at {self._names[process]}"
            raise NodeFailure(f"{called}{where}: {said}") from error

    def _fault(self, name: str, packet: int, after: Any) -> None:
        source, destination, _ = self._packets[packet]
        self._flight = after
        self.said.append(f"the channel: {name} a packet from {self._names[source]} to {self._names[destination]}")

    def _transmit(self, source: int, to: int, packet: Any) -> None:
        if not hasattr(type(to), "__index__") or not 0 <= to < len(self._names):
            known = f"they are 0 to {len(self._names) - 1}"
            raise NodeFailure(f"transmits to process {shown(to)}, which is not there; {known}")
        self._packets.append((source, index(to), deepcopy(packet)))
        self._flight = self._channel.put(self._flight, (len(self._packets) - 1,))

    def _deliver(self, process: int, message: str) -> None:
        name = self._names[process]
        said = shown(message, str)
        self.said.append(f"{name}: delivers {said}")
        receiver = self._receivers.get(message) if isinstance(message, str) else None
        if receiver is None:
            kind = "" if isinstance(message, str) else f"a {type(message).__name__}, "
            raise NodeFailure(f"delivers {said}, {kind}which nobody sent; deliver takes the messages that on_send got")
        if receiver != name:
            raise NodeFailure(f"delivers {said}, which was sent to {receiver}")
        if (message, name) not in self.owed:
            raise NodeFailure(f"delivers {said} a second time")
        self.owed.discard((message, name))
        self._recorder.deliver(name, message)

    def story(self) -> str:
        """All that has happened, drawn and in words."""
        return "\n".join(["", str(self.computation), *(f"{k:3}. {line}" for k, line in enumerate(self.said, 1))])
