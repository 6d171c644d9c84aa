"""Nodes of a Python class: one object per process.

    class MyNode:
        def __init__(self, process, processes, transmit, deliver): ...
        def on_send(self, to, message): ...      # the application sends: call transmit(to, packet)
        def on_packet(self, source, packet): ... # a packet has come: call deliver(message), now or later
        def on_tick(self): ...                   # if it has timers
        def on_restart(self): ...                # after a crash: keeps what was on disk; without it, nothing is kept

Processes are numbered from 0. `to` is one of them if messages are unicasts; otherwise it is a tuple, even of one. The
attribute `sends` of the class says how messages are addressed, unless the request does: `unicast`, the default,
`multicast`, `broadcast`, or `broadcast-to-all`. A node may instead return its outputs: pairs `(to, packet)`, and the
messages that it delivers, as strings. The constructor takes any of these four arguments, by name. Methods may be
coroutines (see `event_loop`).
"""

import asyncio
import inspect
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from operator import index
from re import Pattern
from typing import Any

from crownless.impl.protocol_validation import check_promises
from crownless.impl.user_frames import code_of, place, place_of_error
from crownless.runtime.ending import Stopped
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import shown, shown_error, with_article
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends
from crownless.spec.orders import order_named

from .bodies import Body, value_body
from .conformance_request import DELIVERY, sends_of
from .event_loop import NodeLoop
from .node import (
    ONE_AT_A_TIME,
    Answer,
    Arrival,
    Delivers,
    Implementation,
    Input,
    Node,
    NodeFailure,
    NodeLimits,
    Output,
    Pending,
    Restart,
    Send,
    Transmits,
    name_for_nodes,
)

#: The arguments of a node's constructor.
ARGUMENTS = ("process", "processes", "transmit", "deliver")


class _Done:
    """An awaitable that is done at once: coroutines await `deliver` and `transmit`."""

    def __await__(self) -> Iterator[None]:
        yield from ()


DONE = _Done()


class _Hangs(BaseException):
    """Raised inside a call that lasts too long; `except Exception` does not catch it."""


def promises_of(kind: type) -> tuple[str, ...]:
    """The properties that these nodes promise, by the class attribute `promises`: a tuple, or an order, and then all
    deliveries too; none if there is none.
    """
    promises = getattr(kind, "promises", None)
    if isinstance(promises, str):
        return (order_named(promises).name, *DELIVERY)
    if not isinstance(promises, tuple):
        return ()
    check_promises(kind)
    return promises


class InProcess(Implementation):
    """Nodes of a class."""

    def __init__(
        self,
        kind: type,
        n: int,
        limits: NodeLimits | None = None,
        *,
        name: str | None = None,
        ignored: Pattern[str] | None = None,
        sends: Sends = "unicast",
    ) -> None:
        """`name`: the name in reports, by default that of the class. `ignored`: parts of packets not compared. `sends`:
        how applications send.
        """
        super().__init__(kind.__name__ if name is None else name, n, limits)
        self.kind = kind
        self.unicasts = sends == sends_of(kind) == "unicast"
        self.promises = promises_of(kind)
        self.ignored = ignored
        self.arguments = arguments_of(kind)
        for method in ("on_send", "on_packet"):
            if not callable(getattr(kind, method, None)):
                hint = "a node has __init__(process, processes, transmit, deliver), on_send(to, message) and "
                raise BadInput(f"{kind.__name__} has no method {method}", hint=hint + "on_packet(source, packet)")
        methods = [value for base in kind.__mro__ for value in vars(base).values()]
        self.is_async = any(inspect.iscoroutinefunction(method) for method in methods)
        self.not_tried = ONE_AT_A_TIME if self.is_async else ""
        self.restarts = callable(getattr(kind, "on_restart", None))

    def start(self, process: int, running: Node | None = None) -> Node:
        if running is not None:
            running.close()
        return _Object(self, process)


class _Object(Node):
    """An object of the class at a process, and its outputs at an input."""

    def __init__(self, nodes: InProcess, process: int) -> None:
        self.nodes = nodes
        self.process = process
        self.object: Any = None
        self.outputs: list[Output] = []
        #: Whether it is handling an input; and its output without one, in words.
        self.at_work = False
        self.unasked = ""
        self.reply: Message | None = None
        #: The asyncio loop, if its class has coroutines; what is left pending there.
        self.loop: NodeLoop | None = None
        self._pending: str | None = None
        self._make()

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

        def make() -> None:
            self.object = self.nodes.kind(**{name: values[name] for name in self.nodes.arguments})

        self._call("__init__", (), make)
        if self.outputs:
            said = f"{self._called('__init__')} gives {shown(self.outputs[0])}; nodes act only when called"
            raise NodeFailure("speaks-unasked", said)

    def answer(self, given: Input) -> Answer:
        self.reply = given.reply
        if isinstance(given, Restart) and not self.nodes.restarts:
            self.close()
            self._make()  # nothing is kept
            return self._answered()
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
        return self._answered()

    def _answered(self) -> Answer:
        return (*self.outputs, *([] if self._pending is None else [Pending(self._pending)]))

    def _sending(self, message: Message) -> tuple[Any, ...]:
        to = message.receivers[0] if self.nodes.unicasts and len(message.receivers) == 1 else message.receivers
        return (to, name_for_nodes(message))

    def _call(self, method: str, arguments: tuple[Any, ...], call: Callable[[], None] | None = None) -> None:
        """Calls the node: its exceptions become a `NodeFailure` with the location. Its prints go to standard error."""
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
        known = place_of_error(error) or (code and place(code.co_filename, code.co_firstlineno))
        return f" ({known})" if known else ""

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Limits the time of a node's call within it; only in the main thread, where signals are handled."""
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
        """Makes a call, and notes its result: inside an asyncio loop if the class has coroutines."""
        if self.loop is None and self.nodes.is_async:
            self.loop = NodeLoop()
        if self.loop is None:
            self._note_returned(method, call())
            return
        self._pending = self.loop.run_until_complete(self._run_to_idle(self.loop, method, call))
        for error in self.loop.take_errors():
            raise error

    async def _run_to_idle(self, loop: NodeLoop, method: str, call: Callable[[], Any]) -> str | None:
        """Makes a call, then runs the node's tasks; returns the pending one, in words."""
        self._note_returned(method, call())
        return await loop.run_to_idle()

    async def _awaited(self, method: str, coroutine: Any) -> None:
        self._note_returned(method, await coroutine)

    # -- outputs of a node ---------------------------------------------------------------------------------------------

    def transmit(self, to: Any, packet: Any) -> _Done:
        """Called by the node to put a packet on the channel."""
        if self._is_asked(f"transmits a packet to {shown(to)}"):
            self._transmit(to, packet)
        return DONE

    def deliver(self, message: Any) -> _Done:
        """Called by the node to hand a message to its application, which may send another one from inside."""
        if self._is_asked(f"delivers {shown(message)}"):
            self._deliver(message)
        return DONE

    def _is_asked(self, deed: str) -> bool:
        """True while an input is handled; otherwise the output is noted for the next one."""
        if not self.at_work:
            self.unasked = self.unasked or f"{deed} without being called"
        return self.at_work

    def _transmit(self, to: Any, packet: Any) -> None:
        if not hasattr(type(to), "__index__"):
            raise NodeFailure("invents", f"transmits to {shown(to)}, which is not the number of a process")
        try:
            body = value_body(packet, self.nodes.ignored)
        except Exception as error:  # of any kind: it may be the node's own code
            said = f"transmits {shown(packet)}, which cannot be copied as a packet must be: {shown_error(error)}"
            raise NodeFailure("not-understood", said) from None
        self._note(Transmits(index(to), body))

    def _deliver(self, message: Any) -> None:
        if not isinstance(message, str):
            what = f"{shown(message)}, {with_article(type(message).__name__)}"
            raise NodeFailure("not-understood", f"delivers {what}; `deliver` takes what `on_send` was given")
        self._note(Delivers(message))
        if self.reply is not None:
            reply, self.reply = self.reply, None
            self._note_returned("on_send", self.object.on_send(*self._sending(reply)))

    def _note(self, output: Output) -> None:
        if len(self.outputs) >= self.nodes.limits.outputs:
            raise NodeFailure("floods", f"gives more than {self.nodes.limits.outputs:,} outputs to one input")
        self.outputs.append(output)

    def _note_returned(self, method: str, returned: Any) -> None:
        """Notes a method's result: nothing, a coroutine, an output, or several."""
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


def _is_output(value: Any) -> bool:
    """True of a message, and of a pair of a process and a packet."""
    if isinstance(value, tuple | list):
        return len(value) == 2 and hasattr(type(value[0]), "__index__")
    return isinstance(value, str)


def arguments_of(kind: type) -> tuple[str, ...]:
    """The arguments for the constructor: the named ones of the four, or all for `**kwargs`. Raises `BadInput` if it
    cannot be called with them.
    """
    if not any("__init__" in vars(base) or "__new__" in vars(base) for base in kind.__mro__[:-1]):
        return ()
    try:
        signature = inspect.signature(kind)
    except ValueError:  # of a class that Python inherits from C, such as `dict`
        return ()
    any_name = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values())
    named = tuple(name for name in ARGUMENTS if any_name or name in signature.parameters)
    try:
        signature.bind(**dict.fromkeys(named))
    except TypeError as error:
        hint = f"a node takes {', '.join(ARGUMENTS)}, by these names, or some of them; others need a default"
        raise BadInput(f"{kind.__name__}.__init__: {error}", hint=hint) from None
    return named
