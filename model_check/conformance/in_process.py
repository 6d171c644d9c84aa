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

import inspect
import queue
import sys
import threading
from asyncio import Queue as AsyncQueue
from asyncio import QueueEmpty
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from re import Pattern
from typing import Any

from crownless.impl.user_frames import code_of, innermost_place, lines_of, place
from crownless.runtime.ending import Stopped
from crownless.runtime.memory import memory_left
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends, known_sends
from crownless.spec.errors import BadInput
from crownless.spec.printable import shown, shown_error

from .bodies import Body
from .class_arguments import arguments_of
from .node import Answer, Arrival, History, Implementation, Input, NodeFailure, NodeLimits, Restart, Send
from .port import DONE, Port, name_of, receivers_of
from .quiet_loop import QuietLoop
from .time_limit import Hangs, within

#: So many threads may go on at once.
MOST_THREADS = 100
#: Where so many bytes can be had, the harness has memory enough.
ENOUGH = 64 << 20


@dataclass
class _Live:
    """A node, and the event loop that it lives on if it has one."""

    node: Any
    loop: QuietLoop | None

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs what a method has returned: within the call of another method, or until nothing is left to do."""
        if self.loop is not None and self.loop.is_running():
            self.loop.create_task(coroutine)
            return
        self.loop = self.loop or QuietLoop()
        self.loop.run_until_idle(coroutine)


class NodeState:
    """A node as it was after an input, equal to others if the class says so."""

    __slots__ = ("_hash", "_owner", "node")

    def __init__(self, node: Any, owner: InProcess) -> None:
        self.node = node
        self._owner = owner
        self._hash = hash(node)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, NodeState):
            return self is other
        return self._hash == other._hash and self._owner.are_equal(self.node, other.node)

    def __hash__(self) -> int:
        return self._hash


def sends_of(kind: type) -> Sends:
    """What the messages of these nodes are addressed to, as the attribute `sends` of the class says."""
    said = getattr(kind, "sends", None)
    return known_sends(said) if isinstance(said, str) else "unicast"


class InProcess(Implementation):
    """Nodes of a class. `n` processes; `limits` on each answer."""

    most_repeats = 50_000
    takes_replies = trusts_running_nodes = True
    takes_on_states = False
    best_effort: str | None = None

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
        self._kind = kind
        self.sends = sends_of(kind)
        self._arguments = arguments_of(kind)
        for method in ("on_send", "on_packet"):
            if not callable(getattr(kind, method, None)):
                hint = "a node has __init__(process, processes, transmit, deliver), on_send(to, message) and "
                raise BadInput(f"{kind.__name__} has no method {method}", hint=hint + "on_packet(source, packet)")
        own = {name: value for base in reversed(kind.__mro__[:-1]) for name, value in vars(base).items()}
        self._is_async = any(_is_coroutine(value) for base in kind.__mro__ for value in vars(base).values())
        self._by_value = "__eq__" in own and own.get("__hash__") is not None
        self._restarts = callable(getattr(kind, "on_restart", None))
        self._ports = [Port(self.limits.outputs, ignored) for _ in range(n)]
        #: The node that was given an input last at each process, and all inputs that it has had.
        self._running: dict[int, tuple[History, _Live]] = {}

    def close(self) -> None:
        self._running.clear()

    def answer(self, process: int, history: History, given: Input) -> Answer:
        if isinstance(given, Restart) and not self._restarts:
            return Answer()
        history = self._remembered(history)
        live = self._after(process, history)
        try:
            answer = self._given(process, live, given)
        except BaseException:
            self._close(process, live)
            raise
        state = self._state_of(live)
        if live.loop is not None:
            self._close(process, live)
        elif state is None:
            self._running[process] = (*history, given), live
        return answer._replace(state=state)

    def _after(self, process: int, history: History) -> _Live:
        """A node after these inputs: the running one if they continue its own, otherwise a new one."""
        had, live = self._running.pop(process, ((), None))
        if history[: len(had)] != had:
            had, live = (), None
        return self._replayed(process, history[len(had) :], live)

    def are_equal(self, one: Any, other: Any) -> bool:
        """Does the class say so? Once it cannot say, no two nodes are equal any more."""
        found: list[bool] = []
        if self._by_value:
            try:
                within(self.limits.seconds, lambda: found.append(bool(one == other)))
            except BaseException as error:  # of any kind: it is the node's own code
                if _is_of_harness(error):
                    raise
                self._by_value = False
        return found == [True]

    def _state_of(self, live: _Live) -> NodeState | None:
        """The state of a node whose class compares its objects by value."""
        if not self._by_value or live.loop is not None:
            return None
        found: list[NodeState] = []
        try:
            within(self.limits.seconds, lambda: found.append(NodeState(live.node, self)))
        except BaseException as error:  # of any kind: it is the node's own code
            if _is_of_harness(error):
                raise
            self._by_value = False  # such as a list among what is compared
            return None
        return found[0]

    def answer_anew(self, process: int, history: History, given: Input) -> Answer:
        if isinstance(given, Restart) and not self._restarts:
            return Answer()
        live = self._replayed(process, self._remembered(history))
        try:
            return self._given(process, live, given)
        finally:
            self._close(process, live)

    def place_of(self, process: int, history: History, given: Input, output: int) -> str | None:
        port = self._ports[process]
        live = self._replayed(process, self._remembered(history))
        port.watched, port.place = output, None
        try:
            self._given(process, live, given)
        except NodeFailure:
            pass  # only now; the place is known or not
        finally:
            port.watched = None
            self._close(process, live)
        return port.place

    def _remembered(self, history: History) -> History:
        """The inputs that a node remembers: where its class has no `on_restart`, a new object takes its place."""
        restarts = [] if self._restarts else [k for k, given in enumerate(history) if isinstance(given, Restart)]
        return history[restarts[-1] + 1 :] if restarts else history

    def _replayed(self, process: int, history: History, live: _Live | None = None) -> _Live:
        """A node, new unless it is given, after these inputs."""
        live = live or self._made(process)
        try:
            for given in history:
                self._given(process, live, given)
        except BaseException:
            self._close(process, live)
            raise
        return live

    def _made(self, process: int) -> _Live:
        port = self._ports[process]
        if threading.active_count() > MOST_THREADS:
            raise NodeFailure(
                "floods", f"{self._kind.__name__}: its nodes leave more than {MOST_THREADS} threads running"
            )
        live = _Live(None, QuietLoop() if self._is_async else None)
        values = {"process": process, "processes": self.n, "transmit": port.transmit, "deliver": port.deliver}
        positional = [values[name] for name in self._arguments.positional]
        named = {name: values[name] for name in self._arguments.named}

        def make() -> None:
            live.node = self._kind(*positional, **named)

        port.begin()
        try:
            self._call("__init__", (), partial(_run, live, make))
            if said := port.end():
                failure = f"{self._kind.__name__}.__init__ gives {shown(said[0])}; nodes act only when they are called"
                raise NodeFailure("speaks-unasked", failure)
        except BaseException:
            self._close(process, live)
            raise
        return live

    def _given(self, process: int, live: _Live, given: Input) -> Answer:
        """The answer of a node to an input."""
        port = self._ports[process]

        def send(message: Message) -> None:
            to = receivers_of(message) if self.sends == "unicast" else message.receivers
            self._take(live, port, "on_send", (to, name_of(message)))

        port.begin(given.replies, send)
        try:
            if isinstance(given, Send):
                send(given.message)
            elif isinstance(given, Arrival):
                assert isinstance(given.body, Body)
                self._take(live, port, "on_packet", (given.source, given.body))
            elif isinstance(given, Restart):
                self._take(live, port, "on_restart", ())
            elif hasattr(live.node, "on_tick"):
                self._take(live, port, "on_tick", ())
            elif live.loop is not None:
                self._call("on_packet", (), live.loop.pass_time)
            if not self._arguments.has("deliver"):
                self._call("delivered", (), partial(self._drain, live, port))
        finally:
            outputs = port.end()
        if port.unasked is not None:
            said, port.unasked = port.unasked, None
            raise NodeFailure("speaks-unasked", f"{self._kind.__name__} {said}")
        return Answer(outputs)

    def _take(self, live: _Live, port: Port, method: str, arguments: tuple[Any, ...]) -> None:
        """Calls the method, and notes what it returns."""

        async def awaited(coroutine: Awaitable[Any]) -> None:
            self._note_returned(port, method, await coroutine)

        def call() -> None:
            returned = getattr(live.node, method)(*map(_as_given, arguments))
            if not inspect.isawaitable(returned) or returned is DONE:
                self._note_returned(port, method, returned)
            else:
                live.start(awaited(returned))

        self._call(method, arguments, partial(_run, live, call))

    def _note_returned(self, port: Port, method: str, returned: Any) -> None:
        if returned is None or returned is DONE:
            return
        single = isinstance(returned, str) or (isinstance(returned, tuple) and _is_packet(returned))
        given = [returned] if single else returned
        if not hasattr(given, "__iter__") or isinstance(given, bytes | dict):
            said = f"{method} returns {shown(returned)}; a node returns pairs (to, packet), and messages it delivers"
            raise NodeFailure("not-understood", said)
        for one in given:
            if isinstance(one, str):
                port.deliver(one)
            elif isinstance(one, tuple | list) and _is_packet(tuple(one)):
                port.transmit(*one)
            elif one is not DONE and one is not None:
                said = f"{method} returns {shown(one)} among others; a node returns pairs (to, packet), and messages"
                raise NodeFailure("not-understood", said)

    def _drain(self, live: _Live, port: Port) -> None:
        """Delivers what the node has put on its queue."""
        for message in _taken_from(getattr(live.node, "delivered", None)):
            port.deliver(message)

    def _call(self, method: str, arguments: tuple[Any, ...], call: Callable[[], None]) -> None:
        """Makes a call of a node: what comes out of it is a `NodeFailure`, with the place. What it prints goes to
        standard error; threads that it starts do not keep the interpreter from ending."""
        thread, printed_to = vars(threading.current_thread()), sys.stdout
        was_daemonic = thread.get("_daemonic")
        thread["_daemonic"] = True
        sys.stdout = sys.stderr
        try:
            within(self.limits.seconds, call)
        except NodeFailure as failure:
            said = f"{self._place(method, arguments, failure)}: {failure.said}"
            raise NodeFailure(failure.kind, said) from None
        except Hangs as hang:
            said = f"{self._place(method, arguments, hang)} has not returned for {self.limits.seconds:g} s"
            raise NodeFailure("hangs", said) from None
        except BaseException as error:  # of any kind: it is the node's own code
            if _is_of_harness(error):
                raise
            said = f"{self._place(method, arguments, error)}: {shown_error(error)}"
            raise NodeFailure("node-fails", said) from error
        finally:
            thread["_daemonic"] = was_daemonic
            sys.stdout = printed_to

    def _place(self, method: str, arguments: tuple[Any, ...], error: BaseException) -> str:
        called = f"{self._kind.__name__}.{method}"
        code = code_of(getattr(self._kind, method, None))
        known = innermost_place(lines_of(error.__traceback__)) or (
            code and place(code.co_filename, code.co_firstlineno)
        )
        if isinstance(error, NodeFailure) and error.said.startswith(called):  # a reply from inside a delivery
            return "in a delivery"
        given = f"({', '.join(map(shown, arguments))})" if arguments else ""
        return f"{called}{given}" if known is None else f"{called}{given} ({known})"

    def _close(self, process: int, live: _Live) -> None:
        if live.loop is not None:
            with self._ports[process].muted(), suppress(Hangs):
                within(self.limits.seconds, live.loop.close)


def _is_coroutine(value: Any) -> bool:
    return inspect.iscoroutinefunction(getattr(value, "__func__", value))


def _as_given(argument: Any) -> Any:
    """An argument as the node gets it: of what can change, a copy of its own."""
    return argument.copy() if isinstance(argument, Body) else argument


def _run(live: _Live, call: Callable[[], None]) -> None:
    """Makes a call of a node: on its event loop if it has one, and then until nothing is left to do."""
    if live.loop is None or live.loop.is_running():  # which runs at a reply from inside a delivery
        call()
        return

    async def called() -> None:
        call()

    live.loop.run_until_idle(called())


def _is_of_harness(error: BaseException) -> bool:
    """True if a signal or a limit ends the search, or no memory is left. A node may have requested more than there is,
    and raised `KeyboardInterrupt` by itself."""
    return isinstance(error, Stopped) or (isinstance(error, MemoryError) and memory_left()[0] < ENOUGH)


def _is_packet(pair: tuple[Any, ...]) -> bool:
    return len(pair) == 2 and hasattr(type(pair[0]), "__index__")


def _taken_from(waiting: Any) -> Iterator[Any]:
    """Everything on a queue of deliveries, oldest first."""
    if isinstance(waiting, list | deque):
        while waiting:
            yield waiting.pop(0) if isinstance(waiting, list) else waiting.popleft()
    elif isinstance(waiting, queue.Queue | queue.SimpleQueue | AsyncQueue):
        while True:
            try:
                yield waiting.get_nowait()
            except (queue.Empty, QueueEmpty):
                return
