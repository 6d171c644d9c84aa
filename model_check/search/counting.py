"""The number of computations in each order."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from crownless.runtime.ending import look, stoppable
from crownless.runtime.printable import some
from crownless.runtime.requests import Limited, option
from crownless.spec.enumeration import computations
from crownless.spec.orders import ORDERS, kept_orders
from crownless.spec.result import Result, Table

MAX_PROCESSES = 8
MAX_MESSAGES = 8
#: The number of computations between two checks of the clock and of memory.
EVERY = 256


@dataclass(frozen=True)
class CountRequest(Limited):
    """The options of `crownless count`."""

    processes: int = field(
        metadata=option(
            f"Number of processes, at most {MAX_PROCESSES}.", "number", "-n", "--processes", most=MAX_PROCESSES
        )
    )
    messages: int = field(
        metadata=option(f"Number of messages, at most {MAX_MESSAGES}.", "number", "-m", "--messages", most=MAX_MESSAGES)
    )
    _: KW_ONLY
    self_sends: bool = field(
        default=False, metadata=option("Processes may also send to themselves.", "flag", "--self-sends")
    )


@dataclass(frozen=True)
class Count(Result, Table):
    """Complete computations of labelled processes, messages up to renaming. `stopped`: why there may be more, or None
    if all are counted.
    """

    json_keys = "processes messages counts complete stopped"

    processes: int
    messages: int
    counts: dict[str, int]
    stopped: str | None = None

    @property
    def brief(self) -> str:
        """The bound and the numbers."""
        counts = ", ".join(f"{name} {number:,}" for name, number in self.counts.items())
        least = "" if self.stopped is None else "at least: "
        return f"{some(self.processes, 'process')}, {some(self.messages, 'message')}: {least}{counts}"

    def __str__(self) -> str:
        lines = [f"{name:12} {number:>12,}" for name, number in self.counts.items()]
        return "\n".join([*lines, *([] if self.stopped is None else [f"at least: {self.stopped}"])])

    @property
    def complete(self) -> bool:
        """True if all are counted."""
        return self.stopped is None

    def rows(self) -> list[dict[str, Any]]:
        """A row per order: `order`, `computations`."""
        return [{"order": name, "computations": number} for name, number in self.counts.items()]


def count(request: CountRequest, progress: Callable[[int], None] | None = None) -> Count:
    """Counts by enumeration, all of them or until a limit is reached; Ctrl-C also ends it. An order is decided only for
    computations that keep all orders which contain it.
    """
    n, m, counts = request.processes, request.messages, dict.fromkeys(ORDERS, 0)
    with stoppable(request.limits) as part:
        for number, c in enumerate(computations(n, m, self_sends=request.self_sends)):
            if not number % EVERY:
                look()
                if progress is not None:
                    progress(number)
            for order in kept_orders(c):
                counts[order] += 1
    return Count(n, m, counts, part.reason)
