"""Workloads: the sends and receives of applications, and their order.

A workload is a pure data structure like a channel: an immutable *position*, what may be handed to the protocol next,
and whether an application is ready for a delivery. The free workload lets every process send to any other at any time
and is always ready; a program says, process by process, what is sent and received when.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import some
from crownless.spec.computation import Message, process_names
from crownless.spec.enumeration import Sends, receiver_sets, with_self_sends
from crownless.spec.notation import ReceiveStatement, Script, SendStatement

from .free_message import FreeMessage
from .renaming import Renaming

#: The progress of the applications; hashable.
Position = Any


class PendingSend(NamedTuple):
    """An application's next send, and the position once the protocol has taken the message."""

    process: int
    message: Message
    after: Position


class Workload:
    """Base of all workloads, for the processes named in `processes`."""

    processes: tuple[str, ...]
    #: The total number of messages sent.
    messages: int
    #: True if every delivery is welcome at any time and leaves the position unchanged.
    takes_anything = False

    @property
    def scope(self) -> str:
        """The processes, and the messages that they may send, in words."""
        return f"{some(len(self.processes), 'process')}, {some(self.messages, 'message')}"

    def start(self) -> Position:
        """Nothing has been sent or received."""
        raise NotImplementedError

    def pending_sends(self, position: Position, at: int | None = None) -> Sequence[PendingSend]:
        """The messages that the applications may submit now; given `at`, those at this process."""
        raise NotImplementedError

    def ready_to_receive(self, position: Position, process: int) -> bool:
        """True if the application at this process is ready to receive something."""
        raise NotImplementedError

    def wanted_sender(self, position: Position, process: int) -> int | None:
        """The sender whose message it requests; None: any."""
        return None

    def delivered(self, position: Position, process: int, message: Message) -> Position | None:
        """The position once this message is delivered, or None if the application does not want it now."""
        raise NotImplementedError

    def finished(self, position: Position, crashed: int | None = None) -> bool:
        """True if every application has done all that it wanted, except that of a crashed process."""
        raise NotImplementedError

    def at_end(self, position: Position, process: int) -> bool:
        """True if the application at this process has come to its end."""
        return False

    def universe(self) -> Iterator[Message]:
        """Every message that can be sent; there may be very many."""
        raise NotImplementedError

    def has(self, message: Message) -> bool:
        """True if an application can send this message."""
        return any(message == one for one in self.universe())

    def alone(self, position: Position, process: int) -> Position:
        """The position as if all other processes had done nothing: its possible next actions depend on that alone."""
        raise NotImplementedError

    def describe(self, position: Position, crashed: int | None = None) -> list[str]:
        """The waits of unfinished applications, except that of a crashed process."""
        raise NotImplementedError


#: The receivers of a message in the free workload, in words.
_RECEIVERS = {"unicast": "any other", "multicast": "any set of others", "broadcast": "all others"}


class Free(Workload):
    """Any process may send to any other while fewer than `messages` sends have happened in all.

    With `sends` multicast it may send to any set of the others at once, with broadcast to all others at once; with
    `self_sends` it counts as one of the others. Broadcast-to-all is broadcast with `self_sends`.

    A position counts the messages on each channel. Messages are identified by their channel and their number on it, so
    that runs that differ only in the order of concurrent sends meet in one state.
    """

    takes_anything = True

    def __init__(self, n: int, messages: int, *, self_sends: bool = False, sends: Sends = "unicast") -> None:
        self.processes = process_names(n)
        self.messages = messages
        self.sends, self.self_sends = with_self_sends(sends, self_sends)
        self.channels: list[tuple[int, tuple[int, ...]]] = [
            (p, receivers) for p in range(n) for receivers in receiver_sets(n, p, self_sends=self_sends, sends=sends)
        ]
        self._messages: dict[tuple[int, int], Message] = {}
        self._number = {channel: number for number, channel in enumerate(self.channels)}
        if not self.channels:
            raise BadInput(
                f"{n} process has no other process to send to", hint="use two processes or more, or --self-sends"
            )

    @property
    def scope(self) -> str:
        bound = f"{some(len(self.processes), 'process')}, up to {some(self.messages, 'message')}"
        to = "all" if self.self_sends and self.sends == "broadcast" else _RECEIVERS[self.sends]
        return f"{bound}, any process to {to}{', itself included' * self.self_sends}"

    def start(self) -> Position:
        return (0,) * len(self.channels)

    def pending_sends(self, position: Position, at: int | None = None) -> Sequence[PendingSend]:
        if sum(position) >= self.messages:
            return []
        pending_sends = []
        for channel, (sender, _) in enumerate(self.channels):
            if at is not None and sender != at:
                continue
            number = position[channel] + 1
            after = (*position[:channel], number, *position[channel + 1 :])
            pending_sends.append(PendingSend(sender, self.message(channel, number), after))
        return pending_sends

    def message(self, channel: int, number: int) -> Message:
        """The message of that number on a channel."""
        message = self._messages.get((channel, number))
        if message is None:
            message = self._messages[channel, number] = FreeMessage(*self.channels[channel], number)
        return message

    def universe(self) -> Iterator[Message]:
        for channel in self.channels:
            for number in range(1, self.messages + 1):
                yield FreeMessage(*channel, number)

    def has(self, message: Message) -> bool:
        channel = self._number.get((message.sender, message.receivers))
        return channel is not None and any(message == self.message(channel, k + 1) for k in range(self.messages))

    def alone(self, position: Position, process: int) -> Position:
        return tuple(
            count if sender == process else 0 for count, (sender, _) in zip(position, self.channels, strict=True)
        )

    def renamed(self, position: Position, renaming: Renaming) -> Position:
        """The position, once the processes are renamed."""
        counts = [0] * len(position)
        for count, (sender, receivers) in zip(position, self.channels, strict=True):
            if count:
                channel = (renaming.image[sender], tuple(sorted(renaming.image[q] for q in receivers)))
                counts[self._number[channel]] = count
        return tuple(counts)

    def ready_to_receive(self, position: Position, process: int) -> bool:
        return True

    def delivered(self, position: Position, process: int, message: Message) -> Position | None:
        return position

    def finished(self, position: Position, crashed: int | None = None) -> bool:
        return bool(sum(position) == self.messages)

    def describe(self, position: Position, crashed: int | None = None) -> list[str]:
        return [f"{self.messages - sum(position)} of {self.messages} sends were never accepted by the protocol"]


class Program(Workload):
    """A program in the papers' notation: process by process, the sends and receives in order.

    A receive is plain, or selective by sender (``receive from P2``), by message (``receive x``), or both.
    A position counts the statements that each process has done.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.processes = script.processes
        number = {name: p for p, name in enumerate(script.processes)}
        self.statements: list[list[Message | ReceiveStatement]] = []
        self.senders: dict[str, int] = number
        for p, statements in enumerate(script.statements):
            line: list[Message | ReceiveStatement] = []
            for statement in statements:
                if isinstance(statement, SendStatement):
                    receivers = tuple(sorted(number[q] for q in statement.receivers))
                    line.append(Message(statement.message, p, receivers))
                elif isinstance(statement, ReceiveStatement):
                    line.append(statement)
            self.statements.append(line)
        #: Every message that the program sends.
        self.all_messages = [part for line in self.statements for part in line if isinstance(part, Message)]
        self.messages = len(self.all_messages)

    @property
    def name(self) -> str:
        """Its name in reports."""
        return "a program" if self.script.name is None else self.script.name

    @property
    def scope(self) -> str:
        called = self.name if self.script.name is None else f"program {self.name}"
        return f"{called}, {some(len(self.processes), 'process')}"

    def start(self) -> Position:
        return (0,) * len(self.processes)

    def _next(self, position: Position, process: int) -> Message | ReceiveStatement | None:
        line = self.statements[process]
        return line[position[process]] if position[process] < len(line) else None

    def _advance(self, position: Position, process: int) -> Position:
        return (*position[:process], position[process] + 1, *position[process + 1 :])

    def at_end(self, position: Position, process: int) -> bool:
        return self._next(position, process) is None

    def universe(self) -> Iterator[Message]:
        return iter(self.all_messages)

    def alone(self, position: Position, process: int) -> Position:
        return tuple(done if p == process else 0 for p, done in enumerate(position))

    def pending_sends(self, position: Position, at: int | None = None) -> Sequence[PendingSend]:
        pending_sends = []
        for p in range(len(self.processes)) if at is None else [at]:
            statement = self._next(position, p)
            if isinstance(statement, Message):
                pending_sends.append(PendingSend(p, statement, self._advance(position, p)))
        return pending_sends

    def ready_to_receive(self, position: Position, process: int) -> bool:
        return isinstance(self._next(position, process), ReceiveStatement)

    def wanted_sender(self, position: Position, process: int) -> int | None:
        statement = self._next(position, process)
        if isinstance(statement, ReceiveStatement) and statement.sender is not None:
            return self.senders[statement.sender]
        return None

    def delivered(self, position: Position, process: int, message: Message) -> Position | None:
        statement = self._next(position, process)
        if not isinstance(statement, ReceiveStatement):
            return None
        if statement.sender is not None and self.senders[statement.sender] != message.sender:
            return None
        if statement.message is not None and statement.message != message.name:
            return None
        return self._advance(position, process)

    def finished(self, position: Position, crashed: int | None = None) -> bool:
        return all(position[p] == len(line) for p, line in enumerate(self.statements) if p != crashed)

    def describe(self, position: Position, crashed: int | None = None) -> list[str]:
        waits = []
        for p, name in enumerate(self.processes):
            statement = None if p == crashed else self._next(position, p)
            if isinstance(statement, Message):
                waits.append(f"{name} at its statement {position[p] + 1}, send {statement.name}")
            elif isinstance(statement, ReceiveStatement):
                which = f" {statement.message}" if statement.message else ""
                whose = f" from {statement.sender}" if statement.sender else ""
                waits.append(f"{name} at its statement {position[p] + 1}, receive{which}{whose}")
        return waits
