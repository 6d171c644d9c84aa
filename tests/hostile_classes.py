"""Classes of nodes that do what no node may, each with the failure that it is and what is said of it."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any, ClassVar


class Relay:
    """Delivers each packet as it comes."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.me, self.n, self.transmit, self.deliver = process, processes, transmit, deliver

    def on_send(self, to: int, message: str) -> Any:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: Any) -> Any:
        self.deliver(packet)


class Returns:
    def on_send(self, to: int, message: str) -> Any:
        return to, message

    def on_packet(self, source: int, packet: Any) -> Any:
        return packet


def node(method: str, body: Callable[..., Any], base: type = Relay) -> type:
    """A relay with one method of its own."""
    return type("Node", (base,), {method: body})


def raises(error: BaseException) -> Callable[..., None]:
    def body(*_: Any) -> None:
        raise error

    return body


def endless(*_: Any) -> None:
    while True:
        pass


def stubborn(*_: Any) -> None:
    while True:
        try:  # noqa: SIM105
            time.sleep(0.001)
        except BaseException:
            pass


def stubborn_and_asleep(*_: Any) -> None:
    while True:
        try:
            time.sleep(999)
        except:  # noqa: E722
            continue


def catches(*_: Any) -> None:
    with suppress(BaseException):
        endless()


def deep(*_: Any) -> None:
    deep()


async def endless_task(*_: Any) -> None:
    while True:
        await asyncio.sleep(0)


async def failing_task() -> None:
    raise ValueError("behind")


async def leaves_a_failing_task(*_: Any) -> None:
    asyncio.create_task(failing_task())  # noqa: RUF006


async def leaves_an_endless_task(self: Relay, source: int, packet: str) -> None:
    asyncio.create_task(endless_task())  # noqa: RUF006
    self.deliver(packet)


def sends_itself(self: Relay, to: int, message: str) -> None:
    self.transmit(to, self)


class Uncopyable:
    def __deepcopy__(self, memo: Any) -> Any:
        raise ValueError("mine")


def transmits(value: Callable[[], Any]) -> Callable[..., None]:
    def body(self: Relay, to: int, message: str) -> None:
        self.transmit(to, value())

    return body


def delivers(*values: Any) -> Callable[..., None]:
    def body(self: Relay, source: int, packet: Any) -> None:
        for value in values:
            self.deliver(value)

    return body


def threaded(self: Relay, source: int, packet: Any) -> None:
    thread = threading.Thread(target=self.deliver, args=(packet,), name="Worker")
    thread.start()
    thread.join()


def ping(self: Relay, source: int, packet: Any) -> None:
    self.transmit(source, packet)


def ping_twice(self: Relay, source: int, packet: Any) -> None:
    self.transmit(source, (packet, 1))
    self.transmit(source, (packet, 2))


def floods(self: Relay, to: int, message: str) -> None:
    while True:
        self.transmit(to, message)


def yields_for_ever(self: Relay, to: int, message: str) -> Iterator[Any]:
    while True:
        yield to, message


def speaks_at_once(self: Relay, process: int, processes: int, transmit: Any, deliver: Any) -> None:
    Relay.__init__(self, process, processes, transmit, deliver)
    transmit(0, "hello")


class CountsAll(Relay):
    """A counter of the class, which all its nodes have in common."""

    numbers: ClassVar[Iterator[int]] = count()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, (message, next(self.numbers)))

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet[0])


class RemembersAll(Relay):
    """A set of the class, which all its nodes have in common."""

    had: ClassVar[set[str]] = set()

    def on_packet(self, source: int, packet: Any) -> None:
        if packet not in self.had:
            self.had.add(packet)
            self.deliver(packet)


class Aborted(BaseException):
    pass


#: How the class is made, how it fails, in which words, and the number of actions of a shortest run.
HOSTILE: dict[str, tuple[Callable[[], type], str, str, int | None]] = {
    "raises": (
        lambda: node("on_packet", raises(ValueError("no"))),
        "node-fails",
        r"^Node\.on_packet\(0, '1-2\.1'\) \(.*hostile_classes\.py:\d+\): ValueError: no$",
        2,
    ),
    "raises at once": (
        lambda: node("__init__", raises(OSError("no"))),
        "node-fails",
        r"^Node\.__init__ \(.*OSError",
        1,
    ),
    "exits": (
        lambda: node("on_send", lambda *_: sys.exit(2)),
        "node-fails",
        r"on_send\(1, '1-2\.1'\).*SystemExit: 2",
        1,
    ),
    "raises what is no Exception": (lambda: node("on_packet", raises(Aborted())), "node-fails", "Aborted", 2),
    "cancels": (lambda: node("on_packet", raises(asyncio.CancelledError())), "node-fails", "CancelledError", 2),
    "says that memory is out": (lambda: node("on_packet", raises(MemoryError())), "node-fails", "MemoryError", 2),
    "asks for much": (lambda: node("on_packet", lambda *_: bytearray(1 << 60)), "node-fails", "MemoryError", 2),
    "says so in words": (
        lambda: node("on_send", raises(ValueError("out of memory"))),
        "node-fails",
        "out of memory",
        1,
    ),
    "recurses": (lambda: node("on_packet", deep), "node-fails", "RecursionError", 2),
    "stops iterating": (lambda: node("on_packet", raises(StopIteration())), "node-fails", "StopIteration", 2),
    "loops": (
        lambda: node("on_packet", endless),
        "hangs",
        r"on_packet\(0, '1-2.1'\) \(.*has not returned for 0\.5 s",
        2,
    ),
    "loops at once": (lambda: node("__init__", endless), "hangs", r"__init__ \(.*has not returned", 1),
    "loops and catches all": (lambda: node("on_packet", stubborn), "hangs", "has not returned for 0.5 s", 2),
    "sleeps and catches all": (lambda: node("on_packet", stubborn_and_asleep), "hangs", "has not returned", 2),
    "loops, catches, returns": (lambda: node("on_packet", catches), "hangs", "has not returned for 0.5 s", 2),
    "loops in a coroutine": (lambda: node("on_packet", endless_task), "hangs", "has not returned", 2),
    "loops in a task": (lambda: node("on_packet", leaves_an_endless_task), "hangs", "has not returned", 2),
    "loops where it is copied": (
        lambda: node("on_send", transmits(lambda: type("Slow", (), {"__deepcopy__": endless})())),
        "hangs",
        "has not returned",
        1,
    ),
    "fails in a task": (lambda: node("on_packet", leaves_a_failing_task), "node-fails", "ValueError: behind", 2),
    "floods": (lambda: node("on_send", floods), "floods", "gives more than 1,000 outputs to one input", 1),
    "yields for ever": (lambda: node("on_send", yields_for_ever, Returns), "floods", "more than 1,000 outputs", 1),
    "answers packets for ever": (
        lambda: node("on_packet", ping),
        "floods",
        "packets are answered by packets without",
        2,
    ),
    "answers them by two": (lambda: node("on_packet", ping_twice), "floods", "packets are answered by packets", 2),
    "speaks at once": (lambda: node("__init__", speaks_at_once), "speaks-unasked", "__init__ gives Transmits", 1),
    "speaks in a thread": (
        lambda: node("on_packet", threaded),
        "speaks-unasked",
        r"^Node delivers '1-2\.1' in a thread of its own, Worker, without being called$",
        2,
    ),
    "delivers a number": (lambda: node("on_packet", delivers(1)), "not-understood", "delivers 1, a int; `deliver`", 2),
    "delivers None": (lambda: node("on_packet", delivers(None)), "not-understood", "delivers None, a NoneType", 2),
    "delivers what nobody sends": (lambda: node("on_packet", delivers("x")), "invents", "delivers 'x', which no", 2),
    "delivers twice": (lambda: node("on_packet", delivers("1-2.1", "1-2.1")), "invents|delivers-once", "", 2),
    "delivers too early": (
        lambda: node("on_send", lambda self, to, message: self.deliver(f"{2 - self.me}-{self.me + 1}.1")),
        "delivers-once",
        "",
        1,
    ),
    "returns what is no answer": (lambda: node("on_packet", lambda *_: 7), "not-understood", "on_packet returns 7;", 2),
    "transmits to nobody": (
        lambda: node("on_send", lambda self, to, message: self.transmit(9, message)),
        "invents",
        "transmits to process 9, and there are 0 to 1",
        1,
    ),
    "transmits to a name": (
        lambda: node("on_send", lambda self, to, message: self.transmit("B", message)),
        "invents",
        "transmits to 'B', which is not the number of a process",
        1,
    ),
    "transmits itself": (lambda: node("on_send", sends_itself), "not-understood", "does not travel", 1),
    "transmits a lock": (lambda: node("on_send", transmits(threading.Lock)), "not-understood", "cannot be copied", 1),
    "transmits what fails": (lambda: node("on_send", transmits(Uncopyable)), "not-understood", "ValueError: mine", 1),
    "transmits chance": (
        lambda: node("on_send", transmits(lambda: time.perf_counter_ns())),
        "not-deterministic",
        "output 1 was first a packet to P",
        1,
    ),
    "counts for all": (lambda: CountsAll, "not-deterministic", "output 1 was first a packet to P", 1),
    "remembers for all": (
        lambda: type("Remembers", (RemembersAll,), {"had": set()}),
        "not-deterministic",
        "it gave first 1 output and then 0",
        2,
    ),
}
