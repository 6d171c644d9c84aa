"""The side of a node that faces its application and the network: it notes what a node does, and lets replies happen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import takewhile
from operator import index
from re import Pattern
from threading import current_thread, get_ident, main_thread
from typing import Any

from crownless.impl.user_frames import frames_around, innermost_place
from crownless.spec.computation import Message
from crownless.spec.printable import shown, shown_error

from .bodies import Body
from .node import Delivers, NodeFailure, Output, Transmits, name_for_nodes
from .time_limit import within


class Done(Coroutine[Any, Any, None]):
    """A result that may be awaited, and is there at once: nodes of asyncio await `deliver` and `transmit`, or make
    tasks of them."""

    def __await__(self) -> Any:
        yield from ()

    def send(self, value: Any) -> Any:
        raise StopIteration

    def throw(self, *error: Any) -> Any:
        raise error[0]

    def close(self) -> None:
        pass


DONE = Done()


class Port:
    """Gathers the outputs of one input at one process."""

    def __init__(self, most_outputs: int, ignored: Pattern[str] | None = None) -> None:
        """`ignored`: what makes no difference in a packet (`bodies`)."""
        self._most = most_outputs
        self._ignored = ignored
        self.outputs: list[Output] = []
        #: The number of the output whose place in the user's code is noted as it is given, and that place.
        self.watched: int | None = None
        self.place: str | None = None
        #: What was said between an answer and the next input, in words.
        self.unasked: str | None = None
        self._replies: list[Message] = []
        self._thread: int | None = None
        self._muted = False
        #: Has the node's application send a message.
        self._send: Callable[[Message], None] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("what belongs to a node does not travel")

    def begin(self, replies: tuple[Message, ...] = (), send: Callable[[Message], None] | None = None) -> None:
        """Before an input: nothing is noted yet, and these messages are to be sent from inside deliveries."""
        self.outputs, self._replies, self._send = [], list(replies), send
        self._thread = get_ident()

    def end(self) -> tuple[Output, ...]:
        """After an input: its outputs. Nothing may be said until the next one."""
        self._thread, self._send = None, None
        return tuple(self.outputs)

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Within it nothing that is said counts, as nodes are taken down."""
        self._muted = True
        try:
            yield
        finally:
            self._muted = False

    def transmit(self, to: Any, packet: Any) -> Done:
        """The node's way to put a packet on the channel."""
        if not self._is_asked(f"transmits a packet to {shown(to)}"):
            return DONE
        if not hasattr(type(to), "__index__"):
            raise NodeFailure("invents", f"transmits to {shown(to)}, which is not the number of a process")
        try:
            body = Body(packet, self._ignored)
        except Exception as error:  # of any kind: it may be the node's own code
            if isinstance(error, MemoryError):
                raise
            said = f"transmits {shown(packet)}, which cannot be copied as a packet is: {shown_error(error)}"
            raise NodeFailure("not-understood", said) from None
        self._note(Transmits(index(to), body))
        return DONE

    def deliver(self, message: Any) -> Done:
        """The node's way to hand a message to its application, which may send another one from inside."""
        if not self._is_asked(f"delivers {shown(message)}"):
            return DONE
        if not isinstance(message, str):
            said = f"delivers {shown(message)}, a {type(message).__name__}; `deliver` takes what `on_send` was given"
            raise NodeFailure("not-understood", said)
        self._note(Delivers(message))
        if self._replies and self._send is not None:
            self._send(self._replies.pop(0))
        return DONE

    def _is_asked(self, what: str) -> bool:
        """False while nodes are taken down; and noted, if the node was given no input, or if a thread of its own says
        this: nobody knows when it would."""
        if self._muted:
            return False
        if self._thread == get_ident():
            return True
        thread = "" if current_thread() is main_thread() else f" in a thread of its own, {current_thread().name},"
        self.unasked = self.unasked or f"{what}{thread} without being called"
        return False

    def _note(self, output: Output) -> None:
        if len(self.outputs) >= self._most:
            raise NodeFailure("floods", f"gives more than {self._most:,} outputs to one input")
        if len(self.outputs) == self.watched:
            self.place = _place_in_the_node()
        self.outputs.append(output)


def receivers_of(message: Message) -> int | tuple[int, ...]:
    """The receivers of a message as nodes get them: one number, or several."""
    return message.receivers[0] if len(message.receivers) == 1 else message.receivers


def name_of(message: Message) -> str:
    """The message as nodes get it."""
    return name_for_nodes(message)


def _place_in_the_node() -> str | None:
    """The innermost line of the user's code in the call of the node that is made; None outside of it, as where what it
    has put on its queue, or returns, is looked at.
    """
    frames = list(frames_around(sys._getframe()))
    inside = list(takewhile(lambda frame: frame.f_code is not within.__code__, frames))
    if len(inside) == len(frames):
        return None
    return innermost_place((frame, frame.f_lineno) for frame in inside)
