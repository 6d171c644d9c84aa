"""Classes of nodes in process: of every shape that is understood, and such as hang, raise, share or go on."""

from __future__ import annotations

import asyncio
import queue
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

import pytest
from hostile_classes import HOSTILE, Relay, Returns, node

from crownless.model_check.conformance import in_process
from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.in_process import InProcess
from crownless.model_check.conformance.node import NodeLimits
from crownless.model_check.conformance.time_limit import Hangs, within
from crownless.spec.errors import BadInput


def conformance(kind: type, request: Request | None = None, **limits: float) -> Conformance:
    most = NodeLimits(**{"seconds": 0.5, **limits})  # type: ignore[arg-type]
    return conform(InProcess(kind, 2, most), request or Request(2, 2))


# -- shapes that are understood ----------------------------------------------------------------------------------------


class ReturnsLists(Returns):
    def on_send(self, to: int, message: str) -> Any:
        return [(to, message)]

    def on_packet(self, source: int, packet: Any) -> Any:
        return [packet]


class Yields(Returns):
    def on_send(self, to: int, message: str) -> Iterator[Any]:
        yield to, message

    def on_packet(self, source: int, packet: Any) -> Iterator[Any]:
        yield packet


class ReturnsWhatIsDone(Relay):
    def on_send(self, to: int, message: str) -> Any:
        return self.transmit(to, message)

    def on_packet(self, source: int, packet: Any) -> Any:
        return [self.deliver(packet)]


class WithDeque:
    def __init__(self, process: int, processes: int, transmit: Any) -> None:
        self.transmit = transmit
        self.delivered: Any = deque()
        self.put = self.delivered.append

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: Any) -> None:
        self.put(packet)


class WithList(WithDeque):
    def __init__(self, process: int, processes: int, transmit: Any) -> None:
        self.transmit = transmit
        self.delivered = []
        self.put = self.delivered.append


class WithQueue(WithDeque):
    def __init__(self, process: int, processes: int, transmit: Any) -> None:
        self.transmit = transmit
        self.delivered = queue.Queue()
        self.put = self.delivered.put


class OfKeywords(Relay):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


class OfKeywordsOnly(Relay):
    def __init__(self, process: int, *, processes: int, transmit: Any, deliver: Any, log: Any = None) -> None:
        super().__init__(process, processes, transmit, deliver)


class OfAnyArguments(Relay):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)


@dataclass
class OfData:
    process: int
    processes: int
    transmit: Any
    deliver: Any
    had: list[Any] = field(default_factory=list)

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: Any) -> None:
        self.had.append(packet)
        self.deliver(packet)


@dataclass(slots=True, frozen=True, kw_only=True)
class OfFrozenData:
    transmit: Any
    deliver: Any

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet)


class OfCoroutines(Relay):
    async def on_send(self, to: int, message: str) -> None:
        await self.transmit(to, message)

    async def on_packet(self, source: int, packet: Any) -> None:
        await asyncio.gather(self.deliver(packet), asyncio.sleep(0))


class OfCoroutinesThatReturn(Returns):
    async def on_send(self, to: int, message: str) -> Any:
        return to, message

    async def on_packet(self, source: int, packet: Any) -> Any:
        await asyncio.sleep(0)
        return packet


class ReturnsCoroutines(Relay):
    def on_packet(self, source: int, packet: Any) -> Any:
        return _delivered(self.deliver, packet)


async def _delivered(deliver: Any, packet: Any) -> None:
    await deliver(packet)


class WithWorker:
    """A task in the background takes packets from one queue and puts messages on another."""

    def __init__(self, process: int, processes: int, transmit: Any) -> None:
        self.transmit = transmit
        self.arrived: asyncio.Queue[str] = asyncio.Queue()
        self.delivered: asyncio.Queue[str] = asyncio.Queue()
        self.worker = asyncio.create_task(self.work())

    async def work(self) -> None:
        while True:
            await self.delivered.put(await self.arrived.get())

    def on_send(self, to: int, message: str) -> None:
        asyncio.create_task(self.transmit(to, message))  # noqa: RUF006

    def on_packet(self, source: int, packet: Any) -> None:
        self.arrived.put_nowait(packet)


class OfClosures(Relay):
    """Keeps what it has in variables of a function."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        super().__init__(process, processes, transmit, deliver)
        numbers = count(1)

        def number(message: str) -> tuple[str, int]:
            return message, next(numbers)

        self.number = number

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, self.number(message))

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet[0])


class WithThreadThatEnds(Relay):
    def on_packet(self, source: int, packet: Any) -> None:
        found: list[str] = []
        thread = threading.Thread(target=found.append, args=(packet,))
        thread.start()
        thread.join()
        self.deliver(found[0])


class AsksForMuchAndGoesOn(Relay):
    def on_packet(self, source: int, packet: Any) -> None:
        try:
            bytearray(1 << 60)
        except MemoryError:
            self.deliver(packet)


RELAYS = [
    Returns,
    ReturnsLists,
    Yields,
    ReturnsWhatIsDone,
    WithDeque,
    WithList,
    WithQueue,
    OfKeywords,
    OfKeywordsOnly,
    OfAnyArguments,
    OfData,
    OfFrozenData,
    OfCoroutines,
    OfCoroutinesThatReturn,
    ReturnsCoroutines,
    WithWorker,
    OfClosures,
    WithThreadThatEnds,
    AsksForMuchAndGoesOn,
]


@pytest.mark.parametrize("kind", RELAYS)
def test_a_relay_of_any_shape_breaks_all_orders_and_fails_in_nothing(kind: type) -> None:
    answer = conformance(kind)
    assert [(one.name, one.note) for one in answer.failures] == []
    assert answer["fifo"].verdict == "violated"
    assert answer["delivers-all"].verdict == answer["delivers-once"].verdict == "holds"
    assert answer.unconfirmed is None


def test_an_argument_of_another_name_is_refused() -> None:
    def takes(self: Relay, process: int, others: int, transmit: Any, deliver: Any) -> None:
        Relay.__init__(self, process, others, transmit, deliver)

    def takes_more(self: Relay, pid: int, **given: Any) -> None:
        Relay.__init__(self, pid, **given)

    def takes_by_place(self: Relay, process: int, /, processes: int, transmit: Any, deliver: Any) -> None:
        Relay.__init__(self, process, processes, transmit, deliver)

    for constructor, said in (
        (takes, "missing a required argument: 'others'"),
        (takes_more, "missing a required argument: 'pid'"),
        (takes_by_place, "'process' parameter is positional only"),
    ):
        with pytest.raises(BadInput, match=said) as refused:
            InProcess(node("__init__", constructor), 2)
        assert str(refused.value).startswith("Node.__init__: ")
        assert "process, processes, transmit, deliver" in str(refused.value.hint)


def test_a_constructor_that_python_cannot_describe_takes_no_arguments() -> None:
    class Bag(dict[str, Any]):
        def on_send(self, to: int, message: str) -> list[Any]:
            return [(to, message)]

        def on_packet(self, source: int, packet: str) -> str:
            return packet

    assert conformance(Bag)["delivers-all"].verdict == "holds"


class OnTimer(OfCoroutines):
    """Delivers a second after the packet has come."""

    async def on_packet(self, source: int, packet: Any) -> None:
        await asyncio.sleep(1)
        self.deliver(packet)


class OnTick(Relay):
    """Delivers where time passes."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.held: list[str] = []

    def on_packet(self, source: int, packet: Any) -> None:
        self.held.append(packet)

    def on_tick(self) -> None:
        while self.held:
            self.deliver(self.held.pop(0))


@pytest.mark.parametrize("kind", [OnTimer, OnTick])
def test_time_passes_at_ticks_alone(kind: type) -> None:
    without, with_ticks = conformance(kind, Request(2, 1)), conformance(kind, Request(2, 1, ticks=1))
    assert without["delivers-all"].verdict == "violated"
    assert without["delivers-all"].run is not None
    assert len(without["delivers-all"].run) == 2
    assert with_ticks.failures == without.failures == []
    run = next(one.run for one in with_ticks.violations if one.run is not None)
    assert "tick" in str(run)  # it was too early


# -- hostile ones ------------------------------------------------------------------------------------------------------


class Invents(Returns):
    """Delivers what nobody has sent."""

    def on_packet(self, source: int, packet: Any) -> str:
        return "nothing"


def test_a_failure_has_a_place_in_the_nodes_code_or_none() -> None:
    """What a node returns is looked at after its call: what has called crownless is not the place."""
    first = conformance(Invents, Request(2, 1)).violations[0]
    assert first.name == "invents"
    assert first.note == "delivers 'nothing', which no application sends"


class ToFarAway(Relay):
    """Transmits to a process that there is not, and then to one that there is."""

    to = cycle([10**300, 1])

    def on_send(self, to: int, message: str) -> None:
        self.transmit(next(self.to), message)


def test_a_number_that_is_not_a_process_is_shortened_where_it_is_said() -> None:
    first = conformance(ToFarAway, Request(2, 1)).violations[0]
    assert first.name == "not-deterministic"
    assert len(first.note) < 300


def test_a_call_ends_too_whose_alarm_came_just_before_it_went_to_sleep() -> None:
    """A signal that no system call is interrupted by; here it is taken away before it is handled."""

    def sleeps() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        signal.sigwait([signal.SIGALRM])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        time.sleep(20)

    began = time.monotonic()
    with pytest.raises(Hangs):
        within(0.05, sleeps)
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_class_ends_in_the_failure_that_it_is(name: str) -> None:
    kind, failure, said, actions = HOSTILE[name]
    answer = conformance(kind(), inputs=60)
    assert answer.verdict == "violated"
    assert answer.unconfirmed is None
    first = answer.violations[0]
    assert re.fullmatch(failure, first.name), first
    assert re.search(said, first.note), first.note
    assert len(first.note) < 400
    assert first.run is not None
    assert actions is None or len(first.run) == actions


def test_what_nodes_print_is_no_output_of_the_harness(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(self: Relay, source: int, packet: Any) -> None:
        print("has come:", packet)
        self.deliver(packet)

    assert conformance(node("on_packet", prints)).failures == []
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "has come: 1-2.1" in printed.err


def test_threads_that_go_on_are_counted_and_do_not_keep_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "MOST_THREADS", threading.active_count() + 20)
    ended = threading.Event()

    def starts(self: Relay, *given: Any) -> None:
        Relay.__init__(self, *given)
        self.thread = threading.Thread(target=ended.wait)  # type: ignore[attr-defined]
        self.thread.start()  # type: ignore[attr-defined]

    before = set(threading.enumerate())
    try:
        answer = conformance(node("__init__", starts))
        started = set(threading.enumerate()) - before
        assert [one.name for one in answer.failures] == ["floods"]
        assert "threads running" in answer.failures[0].note
        assert all(thread.daemon for thread in started)
    finally:
        ended.set()


def test_the_clock_of_others_goes_on() -> None:
    import signal

    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        conformance(Relay, Request(2, 1))
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)
