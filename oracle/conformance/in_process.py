"""Nodes of a Python class: one object a process, which goes on, or is made anew and given all inputs again.

    class MyNode:
        def __init__(self, process, processes, transmit, deliver): ...
        def on_send(self, to, message): ...      # the application sends: call transmit(to, packet)
        def on_packet(self, source, packet): ... # a packet has come: call deliver(message), now or later
        def on_tick(self): ...                   # if it has timers
        def on_restart(self): ...                # after a crash: keeps what was on disk; without it, nothing is kept

Processes are numbered from 0. `to` is one of them, or a tuple of several. A class with `sends = "broadcast"`, or
"multicast", always gets a tuple. A node may instead return what it does: pairs `(to, packet)`, and the messages that it
delivers, as strings; or, if its constructor takes no `deliver`, put them on a queue of its own, `self.delivered`. The
constructor takes those of these four arguments that it names. Methods may be coroutines.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from operator import index
from re import Pattern
from types import FrameType
from typing import Any

from crownless.impl.user_frames import code_of, innermost_place, lines_of, place
from crownless.runtime.ending import Stopped
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends, known_sends
from crownless.spec.errors import BadInput
from crownless.spec.printable import shown, shown_error

from .bodies import Body, value_body
from .node import (
    Answer,
    Arrival,
    Delivers,
    History,
    Implementation,
    Input,
    NodeFailure,
    NodeLimits,
    Output,
    Query,
    Restart,
    Send,
    Transmits,
    name_for_nodes,
)

#: The arguments of a node's constructor.
ARGUMENTS = ("process", "processes", "transmit", "deliver")
#: How often the tasks of a node may each go on after an input.
TURNS = 50


class _Done:
    """A result that may be awaited, and is there at once: coroutines await `deliver` and `transmit`."""

    def __await__(self) -> Iterator[None]:
        yield from ()


DONE = _Done()


class _Hangs(BaseException):
    """Raised in the middle of a call that lasts too long; no `except Exception` stops it."""


def sends_of(kind: type) -> Sends:
    """What the messages of these nodes are addressed to, as the attribute `sends` of the class says."""
    said = getattr(kind, "sends", None)
    return known_sends(said) if isinstance(said, str) else "unicast"


class InProcess(Implementation):
    """Nodes of a class. `n` processes; `limits` on each answer."""

    def __init__(
        self,
        kind: type,
        n: int,
        limits: NodeLimits | None = None,
        *,
        name: str | None = None,
        ignored: Pattern[str] | None = None,
    ) -> None:
        """`name`: what it is called in reports, if not by the name of its class. `ignored`: what makes no difference in
        packets.
        """
        self.name = kind.__name__ if name is None else name
        self.n = n
        self.limits = limits or NodeLimits()
        self.kind = kind
        self.sends = sends_of(kind)
        self.ignored = ignored
        self.arguments = arguments_of(kind)
        for method in ("on_send", "on_packet"):
            if not callable(getattr(kind, method, None)):
                hint = "a node has __init__(process, processes, transmit, deliver), on_send(to, message) and "
                raise BadInput(f"{kind.__name__} has no method {method}", hint=hint + "on_packet(source, packet)")
        methods = [value for base in kind.__mro__ for value in vars(base).values()]
        self.is_async = any(inspect.iscoroutinefunction(method) for method in methods)
        self.restarts = callable(getattr(kind, "on_restart", None))
        #: The node that was given an input last at each process, and all inputs that it has had.
        self._running: dict[int, tuple[History, _Node]] = {}

    def give(self, process: int, inputs: History) -> tuple[int, list[Answer | NodeFailure]]:
        had, node = self._running.pop(process, ((), None))
        if node is None or had != inputs[: len(had)] or len(had) == len(inputs):
            if node is not None:
                node.close()
            had, node = (), _Node(self, process)
        answers = node.answers(inputs[len(had) :])
        if isinstance(answers[-1], NodeFailure):
            node.close()
        else:
            self._running[process] = inputs, node
        return len(had), answers

    def give_anew(self, queries: Sequence[Query]) -> list[Answer | NodeFailure]:
        last = []
        for process, inputs in queries:
            node = _Node(self, process)
            last.append(node.answers(inputs)[-1])
            node.close()
        return last

    def close(self) -> None:
        for _, node in self._running.values():
            node.close()
        self._running.clear()


class _Node:
    """An object of the class at a process, and what it does at an input. It is made at its first input."""

    def __init__(self, nodes: InProcess, process: int) -> None:
        self.nodes = nodes
        self.process = process
        self.object: Any = None
        self.outputs: list[Output] = []
        #: Is it at work on an input? What it said without one, in words.
        self.at_work = False
        self.unasked = ""
        self.reply: Message | None = None
        #: That of asyncio, if its class has coroutines, and what its tasks raised.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._errors: list[Any] = []

    def answers(self, inputs: History) -> list[Answer | NodeFailure]:
        """The answers to these inputs; a failure is the last one."""
        answers: list[Answer | NodeFailure] = []
        try:
            for one in inputs:
                if self.object is None:
                    self._make()
                answers.append(self._answer(one))
        except NodeFailure as failure:
            answers.append(failure)
        return answers

    def close(self) -> None:
        """Ends its tasks."""
        if self.loop is not None:
            self.at_work, loop, self.loop = False, self.loop, None
            for task in asyncio.all_tasks(loop):
                task.cancel()
            with suppress(BaseException), self._limited():
                loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    def __del__(self) -> None:
        if self.loop is not None:
            self.loop.close()

    # -- the calls of a node -------------------------------------------------------------------------------------------

    def _make(self) -> None:
        values = dict(zip(ARGUMENTS, (self.process, self.nodes.n, self.transmit, self.deliver), strict=True))
        positional, named = self.nodes.arguments

        def make() -> None:
            self.object = self.nodes.kind(
                *(values[name] for name in positional), **{name: values[name] for name in named}
            )

        self._call("__init__", (), make)
        if self.outputs:
            said = f"{self._called('__init__')} gives {shown(self.outputs[0])}; nodes act only when they are called"
            raise NodeFailure("speaks-unasked", said)

    def _answer(self, given: Input) -> Answer:
        self.reply = given.reply
        if isinstance(given, Restart) and not self.nodes.restarts:
            self.close()
            self._make()  # nothing is kept
            return ()
        if isinstance(given, Send):
            self._call("on_send", self._sending(given.message))
        elif isinstance(given, Arrival):
            assert isinstance(given.body, Body)
            self._call("on_packet", (given.source, given.body.copy()))
        elif isinstance(given, Restart):
            self._call("on_restart", ())
        else:
            self._call("on_tick", (), None if hasattr(self.object, "on_tick") else lambda: None)
        if self.unasked:
            raise NodeFailure("speaks-unasked", f"{self.nodes.kind.__name__} {self.unasked}")
        return tuple(self.outputs)

    def _sending(self, message: Message) -> tuple[Any, ...]:
        several = self.nodes.sends != "unicast" or len(message.receivers) > 1
        return (message.receivers if several else message.receivers[0], name_for_nodes(message))

    def _call(self, method: str, arguments: tuple[Any, ...], call: Callable[[], None] | None = None) -> None:
        """Makes a call of the node: what comes out of it is a `NodeFailure`, with the place. What it prints goes to
        standard error."""
        self.outputs, self.at_work = [], True
        given = f"({', '.join(map(shown, arguments))})" if arguments else ""
        called = self._called(method) + given
        try:
            with redirect_stdout(sys.stderr), self._limited():
                self._perform(method, call or (lambda: getattr(self.object, method)(*arguments)))
        except NodeFailure as failure:
            raise NodeFailure(failure.kind, f"{called}{self._where(method, failure)}: {failure.said}") from None
        except _Hangs as hang:
            said = f"{called}{self._where(method, hang)} has not returned for {self.nodes.limits.seconds:g} s"
            raise NodeFailure("hangs", said) from None
        except BaseException as error:  # of any kind: it is the node's own code
            if isinstance(error, Stopped):
                raise
            said = f"{called}{self._where(method, error)}: {shown_error(error)}"
            raise NodeFailure("node-fails", said) from error
        finally:
            self.at_work = False

    def _called(self, method: str) -> str:
        return f"{self.nodes.kind.__name__}.{method}"

    def _where(self, method: str, error: BaseException) -> str:
        """The innermost line of the user's code, in brackets."""
        code = code_of(getattr(self.nodes.kind, method, None))
        known = innermost_place(lines_of(error.__traceback__)) or (
            code and place(code.co_filename, code.co_firstlineno)
        )
        return f" ({known})" if known else ""

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Within it a call of a node ends at its time limit; in the main thread alone, where signals are handled."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_alarm(*_: object) -> None:
            raise _Hangs

        before = signal.signal(signal.SIGALRM, on_alarm)
        earlier, _ = signal.setitimer(signal.ITIMER_REAL, self.nodes.limits.seconds, 0.1)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, earlier)
            signal.signal(signal.SIGALRM, before)

    # -- coroutines ----------------------------------------------------------------------------------------------------

    def _perform(self, method: str, call: Callable[[], Any]) -> None:
        """Makes a call, and notes what it returns: with a loop of asyncio around it if the class has coroutines."""
        if self.loop is None and self.nodes.is_async:
            self.loop = asyncio.new_event_loop()
            self.loop.set_exception_handler(lambda _, context: self._errors.append(context.get("exception")))
        if self.loop is None:
            self._note_returned(method, call())
            self._drain()
            return
        self.loop.run_until_complete(self._turn(method, call))
        if self._errors and (error := self._errors.pop(0)) is not None:
            raise error

    async def _turn(self, method: str, call: Callable[[], Any]) -> None:
        """Makes a call, and lets the tasks of the node go on, until all have ended or wait."""
        self._note_returned(method, call())
        for _ in range(TURNS):
            await asyncio.sleep(0)
            self._drain()

    async def _awaited(self, method: str, coroutine: Any) -> None:
        try:
            self._note_returned(method, await coroutine)
        except Exception as error:  # of any kind: it is the node's own code
            self._errors.append(error)

    # -- what a node does ----------------------------------------------------------------------------------------------

    def transmit(self, to: Any, packet: Any) -> _Done:
        """The node's way to put a packet on the channel."""
        if self._is_asked(f"transmits a packet to {shown(to)}"):
            self._transmit(to, packet, _place(sys._getframe(1)))
        return DONE

    def deliver(self, message: Any) -> _Done:
        """The node's way to hand a message to its application, which may send another one from inside."""
        if self._is_asked(f"delivers {shown(message)}"):
            self._deliver(message, _place(sys._getframe(1)))
        return DONE

    def _is_asked(self, deed: str) -> bool:
        """True at an input; otherwise it is noted for the next one."""
        if not self.at_work:
            self.unasked = self.unasked or f"{deed} without being called"
        return self.at_work

    def _transmit(self, to: Any, packet: Any, where: str = "") -> None:
        if not hasattr(type(to), "__index__"):
            raise NodeFailure("invents", f"transmits to {shown(to)}, which is not the number of a process")
        try:
            body = value_body(packet, self.nodes.ignored)
        except Exception as error:  # of any kind: it may be the node's own code
            said = f"transmits {shown(packet)}, which cannot be copied as a packet is: {shown_error(error)}"
            raise NodeFailure("not-understood", said) from None
        self._note(Transmits(index(to), body, where))

    def _deliver(self, message: Any, where: str = "") -> None:
        if not isinstance(message, str):
            said = f"delivers {shown(message)}, a {type(message).__name__}; `deliver` takes what `on_send` was given"
            raise NodeFailure("not-understood", said)
        self._note(Delivers(message, where))
        if self.reply is not None:
            reply, self.reply = self.reply, None
            self._note_returned("on_send", self.object.on_send(*self._sending(reply)))

    def _note(self, output: Output) -> None:
        if len(self.outputs) >= self.nodes.limits.outputs:
            raise NodeFailure("floods", f"gives more than {self.nodes.limits.outputs:,} outputs to one input")
        self.outputs.append(output)

    def _note_returned(self, method: str, returned: Any) -> None:
        """Notes what a method returns: nothing, a coroutine, an output, or several."""
        if returned is None or returned is DONE:
            return
        if inspect.isawaitable(returned):
            assert self.loop is not None, "a class that returns coroutines has some"
            self.loop.create_task(self._awaited(method, returned))
            return
        several = returned if hasattr(returned, "__iter__") and not _is_output(returned) else [returned]
        for one in several:
            if isinstance(one, str):
                self._deliver(one)
            elif _is_output(one):
                self._transmit(*one)
            elif one is not DONE and one is not None:
                said = f"{method} returns {shown(one)}; a node returns pairs (to, packet), and messages it delivers"
                raise NodeFailure("not-understood", said)

    def _drain(self) -> None:
        """Delivers what the node has put on a queue of its own, oldest first."""
        if "deliver" in (*self.nodes.arguments[0], *self.nodes.arguments[1]):
            return
        waiting = getattr(self.object, "delivered", None)
        if isinstance(waiting, list | deque):
            messages = list(waiting)
            waiting.clear()
        else:
            messages = []
            with suppress(queue.Empty, asyncio.QueueEmpty, AttributeError):
                while True:
                    messages.append(waiting.get_nowait())  # type: ignore[union-attr]  # or there is no queue
        for message in messages:
            self._deliver(message)


def _is_output(value: Any) -> bool:
    """True of a message, and of a pair of a process and a packet."""
    if isinstance(value, tuple | list):
        return len(value) == 2 and hasattr(type(value[0]), "__index__")
    return isinstance(value, str)


def _place(frame: FrameType) -> str:
    return _line(frame.f_code.co_filename, frame.f_lineno)


@cache
def _line(file: str, line: int) -> str:
    return place(file, line)


def arguments_of(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The arguments for the constructor, by position and by name: those of the four that it names, or all for `*args`
    or `**kwargs`. Raises `BadInput` if it cannot be called with them.
    """
    if not any("__init__" in vars(base) or "__new__" in vars(base) for base in kind.__mro__[:-1]):
        return (), ()
    try:
        signature = inspect.signature(kind)
    except ValueError:  # of a class that Python inherits from C, such as `dict`
        return (), ()
    kinds = {one.kind for one in signature.parameters.values()}
    positional: tuple[str, ...] = ()
    named = tuple(name for name in ARGUMENTS if name in signature.parameters)
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        positional, named = ARGUMENTS, ()
    elif inspect.Parameter.VAR_KEYWORD in kinds:
        named = ARGUMENTS
    try:
        signature.bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        hint = f"a node takes {', '.join(ARGUMENTS)}, by these names, or some of them; others need a default"
        raise BadInput(f"{kind.__name__}.__init__: {error}", hint=hint) from None
    return positional, named
