"""The asyncio loop of a node: its clock stands still, and it reports what is left pending, and exceptions.

It names the timer, thread or task that is left pending, and has the exceptions that nobody retrieved. A node is idle
when none of its tasks can resume before another input. Tasks that wait for an input are idle, too: no timer, thread or
socket can wake them. Until conform drives timers, none fires, and no thread is started.
"""

import asyncio
import gc
import selectors
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import Context
from types import FrameType
from typing import Any, TypeVar, TypeVarTuple, Unpack

from crownless.impl.user_frames import Line, innermost_call

Arguments = TypeVarTuple("Arguments")
Value = TypeVar("Value")

#: How often each task of a node may resume after an input.
TURNS = 1000


class NodeLoop(asyncio.SelectorEventLoop):
    """A loop for one node."""

    def __init__(self) -> None:
        self._timers: list[tuple[asyncio.TimerHandle, str]] = []
        self._threads: list[str] = []
        #: The tasks that have ended since the last call of `take_errors`, in the order of their ends.
        self._ended: list[asyncio.Task[Any]] = []
        self._errors: list[BaseException] = []
        self._watched = selectors.DefaultSelector()
        super().__init__(self._watched)
        #: The file descriptors of its own.
        self._own = len(self._watched.get_map())

    def time(self) -> float:
        return 0.0

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        if when > self.time():
            self._timers.append((handle, innermost_call(_callers())))
        return handle

    def create_task(self, coro: Coroutine[Any, Any, Value], **options: Any) -> asyncio.Task[Value]:  # type: ignore[override]
        task = super().create_task(coro, **options)
        task.add_done_callback(self._ended.append)
        return task

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Arguments]], Value], *args: *Arguments
    ) -> asyncio.Future[Value]:
        self._threads.append(innermost_call(_callers()))
        return self.create_future()

    def run_until_complete(self, future: Generator[Any, None, Value] | Awaitable[Value]) -> Value:
        with _no_running_loop():
            return super().run_until_complete(future)

    async def run_to_idle(self) -> str | None:
        """Runs the tasks until none can resume; returns a description of the first pending one, or None."""
        idle = 0
        for _ in range(TURNS):
            await asyncio.sleep(0)
            # A timer that is due at once is ready one iteration later.
            idle = idle + 1 if self._is_idle() else 0
            if idle == 2:
                break
        return self._pending()

    def take_errors(self) -> list[BaseException]:
        """The exceptions since the last call that nobody retrieved: of callbacks, and of tasks that have ended, whether
        or not the node keeps them.
        """
        errors = [*self._errors, *filter(None, map(_unretrieved, self._ended))]
        self._errors.clear()
        self._ended.clear()
        return errors

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if (error := context.get("exception")) is not None:
            self._errors.append(error)

    def _is_idle(self) -> bool:
        return not self._ready  # type: ignore[attr-defined]

    def _pending(self) -> str | None:
        self._timers = [(handle, where) for handle, where in self._timers if not handle.cancelled()]
        if self._timers:
            return f"a timer is pending: {self._timers[0][1]}"
        if self._threads:
            return f"a thread is pending: {self._threads[0]}"
        if len(self._watched.get_map()) > self._own:
            return "a socket or pipe is pending"
        return None if self._is_idle() else f"a task still runs after {TURNS:,} turns: {self._ready_task()}"

    def _ready_task(self) -> str:
        """The first task, by name, that can resume."""
        others = asyncio.all_tasks(self) - {asyncio.current_task(self)}
        ready = [task for task in others if task._fut_waiter is None]  # type: ignore[attr-defined]
        return min((innermost_call(_awaits(task.get_coro())) for task in ready), default="a callback")


@contextmanager
def _no_running_loop() -> Iterator[None]:
    """Sets aside the loop that this thread is running, such as a notebook's, and its current task."""
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    if loop is not None and task is not None:
        asyncio._leave_task(loop, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
        if loop is not None and task is not None:
            asyncio._enter_task(loop, task)


def _unretrieved(task: asyncio.Task[Any]) -> BaseException | None:
    """The exception of a task that has ended, if nobody retrieved it: from the task, or from the future to which it was
    passed on, such as that of `asyncio.gather`.
    """
    if task.cancelled():
        return None
    is_open = _awaits_retrieval(task)
    error = task.exception()
    if error is None or is_open:
        return error
    holders = [one for one in gc.get_referrers(error) if isinstance(one, asyncio.Future) and _awaits_retrieval(one)]
    for one in holders:
        one.exception()
    return error if holders else None


def _awaits_retrieval(future: asyncio.Future[Any]) -> bool:
    return bool(future._log_traceback)


def _callers() -> Iterator[Line]:
    """The lines that led to a call of the loop, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame, frame.f_lineno
        frame = frame.f_back


def _awaits(coroutine: Any) -> list[Line]:
    """The lines at which a coroutine, and those that it awaits, are suspended, the innermost first."""
    lines: list[Line] = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        lines.append((frame, frame.f_lineno))
        coroutine = coroutine.cr_await
    return lines[::-1]
