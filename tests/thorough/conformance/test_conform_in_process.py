"""Classes of nodes in process: shapes that are understood, restarts, packets with timestamps, and each way to fail."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from command_line_runner import Crownless
from relays import Numbers, Relay, program

import crownless as cr
from crownless.oracle.conformance.in_process import InProcess
from crownless.runtime.errors import BadInput


def conform(kind: Any, processes: int = 2, messages: int = 2, **options: Any) -> Any:
    return cr.conform(kind, processes, messages, **options)


def node(method: str, body: Callable[..., Any], base: type = Relay) -> type:
    """A relay with one method of its own."""
    return type("Node", (base,), {method: body})


class AnyReceiverFirst(Relay):
    """Transmits to its receivers in another order each time."""

    def on_send(self, to: Any, message: str) -> None:
        super().on_send(tuple(random.sample(to, len(to))), message)


class AnyPacketFirst(Relay):
    """Transmits two packets to the same receiver, either of them first."""

    def on_send(self, to: Any, message: str) -> None:
        for packet in random.sample([message, ""], 2):
            super().on_send(to, packet)

    def on_packet(self, source: int, packet: str) -> None:
        if packet:
            self.deliver(packet)


def test_only_the_order_of_packets_to_one_receiver_is_part_of_an_answer() -> None:
    assert conform(AnyReceiverFirst, 3, 2, sends="broadcast").failures == []
    assert "not-deterministic" in conform(AnyPacketFirst, 3, 1, sends="broadcast").violations


# -- shapes that are understood ----------------------------------------------------------------------------------------


class Returns:
    def on_send(self, to: int, message: str) -> Any:
        return to, message

    def on_packet(self, source: int, packet: Any) -> Any:
        return packet


class ReturnsLists(Returns):
    def on_send(self, to: int, message: str) -> Any:
        return [(to, message)]


class Yields(Returns):
    def on_send(self, to: int, message: str) -> Iterator[Any]:
        yield to, message


class OfKeywords(Relay):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


@dataclass
class OfData:
    process: int
    transmit: Any
    deliver: Any
    had: list[Any] = field(default_factory=list)

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: Any) -> None:
        self.had.append(packet)
        self.deliver(packet)


class OfCoroutines(Relay):
    async def on_send(self, to: int, message: str) -> None:
        await self.transmit(to, message)

    async def on_packet(self, source: int, packet: Any) -> Any:
        await asyncio.sleep(0)
        return packet


class WithWorker(Relay):
    """A task in the background delivers packets from a queue."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.arrived: asyncio.Queue[str] = asyncio.Queue()
        self.worker = asyncio.create_task(self.work())

    async def work(self) -> None:
        while True:
            await self.deliver(await self.arrived.get())

    def on_packet(self, source: int, packet: Any) -> None:
        self.arrived.put_nowait(packet)


class WithThreadThatEnds(Relay):
    def on_packet(self, source: int, packet: Any) -> None:
        found: list[str] = []
        thread = threading.Thread(target=found.append, args=(packet,))
        thread.start()
        thread.join()
        self.deliver(found[0])


class PlainPacket:
    """An object without equality."""

    def __init__(self, message: str) -> None:
        self.message = message


class Wraps(Relay):
    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, PlainPacket(message))

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet.message)


class Bag(dict[str, Any], Returns):
    """Its constructor cannot be described."""


RELAYS = [Returns, ReturnsLists, Yields, OfKeywords, OfData, OfCoroutines, WithWorker, WithThreadThatEnds, Wraps, Bag]


@pytest.mark.parametrize("kind", RELAYS)
def test_a_relay_of_any_shape_breaks_all_orders_and_fails_in_nothing(kind: type) -> None:
    found = conform(kind)
    assert [(one.property.name, one.note) for one in found.failures] == []
    assert found["fifo"].verdict == "violated"
    assert found["delivers-all"].verdict == found["delivers-once"].verdict == "holds"
    assert found.unconfirmed is None


def test_a_constructor_with_another_argument_is_refused() -> None:
    def takes(self: Relay, process: int, others: int, transmit: Any, deliver: Any) -> None: ...

    def takes_by_place(self: Relay, process: int, /, processes: int, transmit: Any, deliver: Any) -> None: ...

    for constructor, said in (
        (takes, "missing a required argument: 'others'"),
        (takes_by_place, "'process' parameter is positional only, but was passed as a keyword"),
    ):
        with pytest.raises(BadInput, match=f"^Node.__init__: {said}; a node takes process, processes, transmit, del"):
            InProcess(node("__init__", constructor), 2)
    with pytest.raises(BadInput, match="object has no method on_send"):
        InProcess(object, 2)


class OnTick(Relay):
    """Delivers where time passes."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.held: list[str] = []

    def on_packet(self, source: int, packet: Any) -> None:
        self.held.append(packet)

    def on_tick(self) -> None:
        while self.held:
            self.deliver(self.held.pop(0))


def test_time_passes_at_ticks_alone() -> None:
    without, with_ticks = conform(OnTick, messages=1), conform(OnTick, messages=1, ticks=1)
    assert without["delivers-all"].verdict == "violated"
    assert len(without["delivers-all"].run) == 2
    assert with_ticks.failures == without.failures == []
    assert "tick" in str(with_ticks["delivers-all"].run)  # it was too early


# -- restarts, and what makes no difference ----------------------------------------------------------------------------


class Keeps(Numbers):
    """The numbers are on disk."""

    def on_restart(self) -> None:
        pass


class Forgets(Numbers):
    def on_restart(self) -> None:
        self.__init__(self.me, self.n, self.transmit, self.deliver)  # type: ignore[misc]


@pytest.mark.parametrize(("kind", "verdict"), [(Keeps, "holds"), (Forgets, "violated"), (Numbers, "violated")])
def test_a_node_that_keeps_its_numbers_outlives_a_restart(kind: type, verdict: str) -> None:
    assert conform(kind, orders=["fifo"])
    found = conform(kind, orders=["fifo"], restarts=1)
    assert found.verdict == verdict
    assert "up to 1 restart at each process" in found.scope
    if verdict == "violated":
        assert "restart" in [action.action for action in found["delivers-all"].run.actions]
        assert cr.conform_at_random(kind, 2, 4, runs=40, restarts=1)["delivers-all"].verdict == "violated"


def test_a_restart_is_saved_and_replayed(crownless: Crownless, tmp_path: Any) -> None:
    file, name = str(tmp_path / "schedule.json"), f"{__file__}:Forgets"
    assert crownless("conform", name, "-n", "2", "-m", "2", "--restarts", "1", "--save", file).code == 1
    assert crownless("conform", name, "--replay", file).code == 1
    assert crownless("conform", name.replace("Forgets", "Keeps"), "--replay", file).code == 0


def test_a_program_restarts(tmp_path: Any) -> None:
    found = conform(program(tmp_path, "def on_restart(): os._exit(7)"), messages=1, restarts=1)
    assert "given 'restart' it exits with code 7" in found["node-fails"].note
    assert len(found["node-fails"].run) == 1


class Stamped(Relay):
    """Packets have a number that is never the same."""

    numbers = itertools.count()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, {"message": message, "number": next(Stamped.numbers)})

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet["message"])


def test_parts_of_packets_may_be_ignored(crownless: Crownless, tmp_path: Any) -> None:
    assert list(conform(Stamped).violations) == ["not-deterministic"]
    found = conform(Stamped, ignore=r"'number': \d+")
    assert (found.verdict, found.realization.computations) == ("holds", 7)
    stamped = "def on_send(to, message): say('packet', to, f'{random.random()} {message}')\n"
    command = program(tmp_path, stamped + "def on_packet(source, body): say('deliver', body.split()[1])\n")
    options = ["conform", "-n", "2", "-m", "2", "--replies", "0", "--ignore", r"^\d\S+ ", "--", *command]
    assert crownless(*options).code == 0
    refused = crownless("conform", "node.py:Node", "--ignore", "(")
    assert (refused.code, "not a regular expression" in refused.err) == (2, True)


# -- the ways to fail --------------------------------------------------------------------------------------------------


def raises(error: BaseException) -> Callable[..., None]:
    def body(*_: Any) -> None:
        raise error

    return body


def endless(*_: Any) -> None:
    while True:
        pass


def deep(*_: Any) -> None:
    deep()


async def leaves_a_failing_task(*_: Any) -> None:
    asyncio.create_task(fails())  # noqa: RUF006


async def fails() -> None:
    raise ValueError("behind")


def transmits(value: Callable[[], Any]) -> Callable[..., None]:
    def body(self: Relay, to: int, message: str) -> None:
        self.transmit(to, value())

    return body


def delivers(*values: Any) -> Callable[..., None]:
    def body(self: Relay, source: int, packet: Any) -> None:
        for value in values:
            self.deliver(value)

    return body


def ping(self: Relay, source: int, packet: Any) -> None:
    self.transmit(source, packet)


def ping_twice(self: Relay, source: int, packet: Any) -> None:
    self.transmit(source, (packet, 1))
    self.transmit(source, (packet, 2))


def floods(self: Relay, to: int, message: str) -> None:
    while True:
        self.transmit(to, message)


def speaks_at_once(self: Relay, process: int, processes: int, transmit: Any, deliver: Any) -> None:
    transmit(0, "hello")


def speaks_later(self: Relay, source: int, packet: Any) -> None:
    threading.Timer(0.01, self.deliver, [packet]).start()
    time.sleep(0.001)


class CountsAll(Relay):
    """A counter of the class, which all its nodes have in common."""

    numbers: ClassVar[Iterator[int]] = itertools.count()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, (message, next(self.numbers)))


#: The class, how it fails, in which words, and the number of actions of a shortest run.
FAILING: dict[str, tuple[type, str, str, int]] = {
    "raises": (
        node("on_packet", raises(ValueError("no"))),
        "node-fails",
        r"^Node\.on_packet\(0, '1-2\.1'\) \(.*test_conform_in_process\.py:\d+\): ValueError: no$",
        2,
    ),
    "raises at once": (node("__init__", raises(OSError("no"))), "node-fails", r"^Node\.__init__ \(.*OSError", 1),
    "exits": (node("on_send", lambda *_: sys.exit(2)), "node-fails", r"on_send\(1, '1-2\.1'\).*SystemExit: 2", 1),
    "is interrupted": (node("on_packet", raises(KeyboardInterrupt())), "node-fails", "KeyboardInterrupt", 2),
    "takes much": (node("on_packet", lambda *_: bytearray(1 << 60)), "node-fails", "MemoryError", 2),
    "recurses": (node("on_packet", deep), "node-fails", "RecursionError", 2),
    "loops": (
        node("on_packet", endless),
        "hangs",
        r"on_packet\(0, '1-2.1'\) \(.*:\d+\) has not returned for 0\.5 s",
        2,
    ),
    "fails in a task": (node("on_packet", leaves_a_failing_task), "node-fails", "ValueError: behind", 2),
    "floods": (node("on_send", floods), "floods", "gives more than 1,000 outputs to one input", 1),
    "answers packets for ever": (node("on_packet", ping), "floods", "packets are answered by packets without", 2),
    "answers them by two": (node("on_packet", ping_twice), "floods", "packets are answered by packets", 2),
    "speaks at once": (node("__init__", speaks_at_once), "speaks-unasked", "__init__ gives Transmits", 1),
    "speaks later": (node("on_packet", speaks_later), "speaks-unasked|delivers-all", "without being called|never", 2),
    "delivers a number": (node("on_packet", delivers(1)), "not-understood", "delivers 1, an int; `deliver`", 2),
    "delivers anything": (node("on_packet", delivers("x")), "invents", "^delivers 'x', which no", 2),
    "delivers twice": (node("on_packet", delivers("1-2.1", "1-2.1")), "invents|delivers-once", "", 2),
    "delivers too early": (
        node("on_send", lambda self, to, message: self.deliver("1-2.1" if self.me else "2-1.2")),
        "delivers-once",
        "",
        1,
    ),
    "returns what is no answer": (node("on_packet", lambda *_: 7), "not-understood", "on_packet returns 7;", 2),
    "transmits to no process": (
        node("on_send", lambda self, to, message: self.transmit(9, message)),
        "invents",
        "transmits to process 9, and there are 0 to 1",
        1,
    ),
    "transmits to a name": (
        node("on_send", lambda self, to, message: self.transmit("B", message)),
        "invents",
        "transmits to 'B', which is not the number of a process",
        1,
    ),
    "transmits a lock": (node("on_send", transmits(threading.Lock)), "not-understood", "cannot be copied", 1),
    "transmits the time": (
        node("on_send", transmits(time.perf_counter_ns)),
        "not-deterministic",
        "it gave first a packet to P",
        1,
    ),
    "counts for all": (CountsAll, "not-deterministic", "it gave first a packet to P", 1),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_class_ends_in_the_failure_that_it_is(name: str) -> None:
    kind, failure, said, actions = FAILING[name]
    found = conform(kind, timeout=0.5 if failure == "hangs" else 5.0)
    assert found.verdict == "violated"
    assert found.unconfirmed is None
    first = next(iter(found.violations.values()))
    assert re.fullmatch(failure, first.property.name), first
    assert re.search(said, first.note), first.note
    assert len(first.note) < 400
    assert first.run is not None
    assert len(first.run) == actions


def test_what_nodes_print_is_no_output_and_the_clock_of_others_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(self: Relay, source: int, packet: Any) -> None:
        print("has come:", packet)
        self.deliver(packet)

    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        assert conform(node("on_packet", prints), messages=1).failures == []
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "has come: 1-2.1" in printed.err
