"""An event loop of asyncio that runs until nothing is left to do, and whose time passes only on request."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


class _IdleSelector(selectors.DefaultSelector):
    """A selector that never waits: where the loop has nothing to run, it stops it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: QuietLoop | None = None

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.loop is not None and (timeout is None or timeout > 0):
            self.loop.until_next_timer = timeout
            self.loop.stop()
        return super().select(0)


class QuietLoop(asyncio.SelectorEventLoop):
    """Runs coroutines until all of them have ended or wait; timers wait until `pass_time`."""

    def __init__(self) -> None:
        selector = _IdleSelector()
        self._now = 0.0
        #: Seconds until the next timer, if there is one.
        self.until_next_timer: float | None = None
        self._failures: list[BaseException] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        super().__init__(selector)
        selector.loop = self
        self.set_exception_handler(self._note_failure)
        self.set_task_factory(self._made_task)

    def time(self) -> float:
        """The time of timers, in seconds; it stands still."""
        return self._now

    def run_until_idle(self, coroutine: Coroutine[Any, Any, Any] | None = None) -> None:
        """Runs what is ready, and the coroutine. Raises what it raises, and what any task does that nobody awaits."""
        if coroutine is not None:
            self.create_task(coroutine)
        self.until_next_timer = None
        self.run_forever()
        for task in [task for task in self._tasks if task.done()]:
            self._tasks.discard(task)
            if not task.cancelled() and getattr(task, "_log_traceback", False):  # its end was not looked at
                error = task.exception()
                assert error is not None
                self._failures.append(error)
        if self._failures:
            raise self._failures.pop(0)

    def _made_task(self, loop: Any, coroutine: Any, **named: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **named)
        self._tasks.add(task)
        return task

    def _note_failure(self, loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self._failures.append(error)

    def close(self) -> None:
        """Drops all that has not ended."""
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # they are dropped with the node
            coroutine = task.get_coro()
            with suppress(BaseException):
                if coroutine is not None and not task.done():
                    coroutine.close()
        self._tasks.clear()
        super().close()

    def pass_time(self) -> None:
        """Lets the time of the next timer come."""
        self._now += self.until_next_timer or 0.0
        self.run_until_idle()
