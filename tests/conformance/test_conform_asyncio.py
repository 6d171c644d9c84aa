"""Nodes with tasks and timers: what is left pending is named, and no verdict covers races that were not tried."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from relays import Relay, program

import crownless as cr
from crownless.oracle.conformance.node import ONE_AT_A_TIME
from crownless.runtime.errors import Undecided


class Spawn(Relay):
    """A task for each packet: the first takes three turns of the loop, later ones take one."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.tasks: list[asyncio.Task[None]] = []

    async def handle(self, packet: str, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        self.deliver(packet)

    async def on_packet(self, source: int, packet: str) -> None:
        self.tasks.append(asyncio.create_task(self.handle(packet, 1 if self.tasks else 3)))


class Worker(Relay):
    """A task that waits for nothing but packets."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.arrived: asyncio.Queue[str] = asyncio.Queue()
        self.task = asyncio.create_task(self.work())

    async def work(self) -> None:
        while True:
            self.deliver(await self.arrived.get())

    async def on_packet(self, source: int, packet: str) -> None:
        await self.arrived.put(packet)


class Reorders(Spawn):
    async def handle(self, packet: str, turns: int) -> None:
        await asyncio.sleep(turns / 100)
        self.deliver(packet)


class Sleepy(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        await asyncio.sleep(0.01)
        self.deliver(packet)


class Later(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        asyncio.get_running_loop().call_later(0.01, self.deliver, packet)


class Timeout(Worker):
    async def work(self) -> None:
        while True:
            try:
                self.deliver(await asyncio.wait_for(self.arrived.get(), 5))
            except TimeoutError:
                continue


class InAThread(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        await asyncio.to_thread(str)
        self.deliver(packet)


class Polls(Relay):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.task = asyncio.create_task(self.poll())

    async def poll(self) -> None:
        while True:
            await asyncio.sleep(0)


class DueAtOnce(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        asyncio.create_task(self.handle(packet))  # noqa: RUF006

    async def handle(self, packet: str) -> None:
        later = asyncio.get_running_loop().call_later
        later(0, later, 0, later, 0, self.deliver, packet)


class EndsItsTimer(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        async with asyncio.timeout(5):
            self.deliver(packet)


class ReversesBeforeATimer(Relay):
    """Delivers the newest of two packets first, and has a timer for other work."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.task = asyncio.create_task(asyncio.sleep(1))
        self.waiting: list[str] = []

    async def on_packet(self, source: int, packet: str) -> None:
        self.waiting.append(packet)
        while len(self.waiting) > 1:
            self.deliver(self.waiting.pop())


def conform(kind: type, **options: Any) -> Any:
    return cr.conform(kind, 2, 2, **{"orders": ["fifo"], "channel": "fifo", "replies": 0, **options})


PENDING = {
    Reorders: "a timer is pending: Reorders.handle (",
    Sleepy: "a timer is pending: Sleepy.on_packet (",
    Later: "a timer is pending: Later.on_packet (",
    Timeout: "a timer is pending: Timeout.work (",
    InAThread: "a thread is pending: InAThread.on_packet (",
    Polls: "a task still runs after 1,000 turns: Polls.poll (",
}


@pytest.mark.parametrize("kind", PENDING)
def test_a_node_that_is_left_with_a_timer_a_thread_or_a_running_task_is_unknown_and_it_is_named(kind: type) -> None:
    found = conform(kind)
    assert found.verdict == "unknown"
    assert found.undecided.startswith(PENDING[kind])
    assert "test_conform_asyncio.py:" in found.undecided
    assert found["delivers-all"].verdict == found["fifo"].verdict == "unknown"
    assert found.kept == ["asynchronous"]
    assert (found.json()["pending"], found.json()["generates"]) == (found.undecided, None)
    assert found.undecided in str(found)
    with pytest.raises(Undecided, match="is neither true nor false: a t"):
        bool(found)


def test_the_summary_names_the_timer_and_the_exit_code_is_3(crownless: Crownless) -> None:
    answer = crownless("conform", "-n", "2", "-m", "2", "--order", "fifo", f"{__file__}:Sleepy")
    assert answer.code == 3
    assert "Sleepy: unknown: a timer is pending: Sleepy.on_packet (" in answer.out
    assert "complete computations" not in answer.out


def test_a_violation_before_any_timer_fires_is_certain() -> None:
    found = conform(ReversesBeforeATimer)
    assert (found.verdict, found["fifo"].verdict) == ("violated", "violated")
    assert found["delivers-all"].verdict == "unknown"


def test_random_runs_of_a_node_with_a_timer_do_not_decide(crownless: Crownless) -> None:
    answer = crownless("conform", f"{__file__}:Timeout", "-n", "2", "-m", "2", "--random", "5", "--order", "fifo")
    assert answer.code == 3
    assert "Timeout: unknown: a timer is pending: Timeout.work (" in answer.out


@pytest.mark.parametrize("kind", [Spawn, Worker, DueAtOnce, EndsItsTimer])
def test_tasks_that_end_or_wait_for_inputs_leave_a_verdict_without_races_between_them(
    kind: type, crownless: Crownless, tmp_path: Path
) -> None:
    found = conform(kind)
    assert found.verdict == "holds"
    assert f"every interleaving of inputs; {ONE_AT_A_TIME}; " in found.scope
    assert found.json()["not_tried"] == ONE_AT_A_TIME
    assert "holds, one input at a time, keeps fifo" in repr(found)
    assert "holds, one input at a time, keeps fifo" in str(found)
    file = tmp_path / "report.xml"
    scope = ("-n", "2", "-m", "2", "--order", "fifo", "--channel", "fifo", "--junit", str(file))
    answer = crownless("conform", f"{__file__}:{kind.__name__}", *scope)
    assert answer.code == 0
    assert "keeps fifo order within the bound, one input at a time, and delivers everything\n" in answer.out
    assert ONE_AT_A_TIME in answer.out.replace("\n  ", " ")
    assert ONE_AT_A_TIME in file.read_text("utf-8")


def test_a_search_that_ends_early_says_so_too() -> None:
    found = cr.conform(Spawn, 2, 2, channel="fifo", max_seconds=0)
    assert "search ended early: " in found.scope
    assert f"; {ONE_AT_A_TIME}; " in found.scope


def test_random_runs_say_that_inputs_come_one_at_a_time(crownless: Crownless) -> None:
    answer = crownless("conform", f"{__file__}:Spawn", "-n", "2", "-m", "2", "--channel", "fifo", "--random", "5")
    assert answer.code == 0
    assert "in all of 5 random runs, one input at a time: a sample of all runs" in answer.out
    assert ONE_AT_A_TIME in answer.out.replace("\n  ", " ")


def test_a_program_may_have_tasks_that_conform_cannot_see(tmp_path: Path) -> None:
    found = cr.conform(program(tmp_path), 2, 1, replies=0)
    assert ONE_AT_A_TIME in found.scope
    assert "holds, one input at a time, keeps" in str(found)


def test_a_class_without_coroutines_has_no_tasks() -> None:
    found = conform(Relay)
    assert "every interleaving; " in found.scope
    assert found.json()["not_tried"] is None
    assert "one input at a time" not in repr(found)


def test_the_page_of_a_node_with_a_timer_ends_no_run_there(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "space.html"
    assert crownless("explore", f"{__file__}:Sleepy", "-n", "2", "-m", "1", "--html", str(file)).code == 0
    text = file.read_text("utf-8")
    assert ONE_AT_A_TIME in text
    start = text.index('{"', text.index("<script"))
    space, _ = json.JSONDecoder().raw_decode(text[start:])
    assert space["ends"] == {} or all(not effect for effect in space["ends"].values())


def test_the_clock_of_the_loop_stands_still() -> None:
    class Clock(Relay):
        async def on_send(self, to: int, message: str) -> None:
            await asyncio.sleep(0)
            self.transmit(to, message if asyncio.get_running_loop().time() == 0.0 else "late")

    assert conform(Clock).verdict == "holds"


# -- inside a running loop ---------------------------------------------------------------------------------------------


class Checks(Relay):
    """Notes whether it runs inside a loop and a task of its own."""

    loops: set[Any] = set()

    async def on_packet(self, source: int, packet: str) -> None:
        await asyncio.sleep(0)
        self.loops.update({asyncio.get_running_loop(), asyncio.current_task()})
        self.deliver(packet)


def test_nodes_are_driven_inside_a_running_loop_too() -> None:
    async def main() -> None:
        own = {asyncio.get_running_loop(), asyncio.current_task()}
        assert conform(Checks).verdict == "holds"
        assert conform(Sleepy).undecided.startswith("a timer is pending: ")
        assert cr.conform_at_random(Checks, 2, 2, runs=2, orders=["fifo"], channel="fifo").verdict == "holds"
        assert Checks.loops.isdisjoint(own)
        assert {asyncio.get_running_loop(), asyncio.current_task()} == own
        await asyncio.sleep(0)

    asyncio.run(main())


# -- exceptions --------------------------------------------------------------------------------------------------------


class WorkerFails(Worker):
    """Its worker ends at the first packet."""

    async def work(self) -> None:
        await self.arrived.get()
        raise ValueError("in the worker")


class GatherFails(WorkerFails):
    """Keeps the future of several workers."""

    def __init__(self, **given: Any) -> None:
        Relay.__init__(self, **given)
        self.arrived = asyncio.Queue()
        self.tasks = asyncio.gather(self.work(), asyncio.sleep(0))


class WaitedFor(WorkerFails):
    """Waits for its worker without a look at its result."""

    async def on_packet(self, source: int, packet: str) -> None:
        await self.arrived.put(packet)
        await asyncio.wait([self.task])


class ShieldFails(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        self.future = asyncio.shield(self.handle())

    async def handle(self) -> None:
        raise ValueError("behind a shield")


class CallbackFails(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        asyncio.get_running_loop().call_soon(self.handle, packet)

    def handle(self, packet: str) -> None:
        raise ValueError(packet)


class HandlesIts(Spawn):
    """Retrieves the exception of each task, itself or by a callback."""

    async def handle(self, packet: str, turns: int) -> None:
        self.deliver(packet)
        raise ValueError

    async def on_packet(self, source: int, packet: str) -> None:
        await super().on_packet(source, packet)
        if len(self.tasks) == 1:
            self.tasks[-1].add_done_callback(lambda task: task.exception())
        else:
            await asyncio.gather(self.tasks[-1], return_exceptions=True)


@pytest.mark.parametrize("kind", [WorkerFails, GatherFails, WaitedFor, ShieldFails, CallbackFails])
def test_an_exception_that_nobody_retrieves_is_a_failure_with_its_line(kind: type) -> None:
    found = conform(kind)
    assert found.verdict == "violated"
    note = found["node-fails"].note
    assert note.startswith(f"{kind.__name__}.on_packet(0, '")
    assert "(tests/conformance/test_conform_asyncio.py:" in note
    assert "ValueError: " in note


def test_an_exception_that_the_node_handles_is_none() -> None:
    assert conform(HandlesIts).verdict == "holds"


# -- nodes that deliver nothing ----------------------------------------------------------------------------------------


class Silent(Relay):
    promises = ("fifo",)

    def on_packet(self, source: int, packet: str) -> None:
        """Delivers nothing, and promises no delivery."""


def test_a_node_that_never_delivers_keeps_no_order(crownless: Crownless) -> None:
    answer = crownless("conform", f"{__file__}:Silent", "-n", "2", "-m", "2")
    assert answer.code == 3
    assert "delivers-something  unknown" in answer.out
    assert answer.out.endswith("Silent: unknown: no message is ever delivered\n")
    found = cr.conform(Silent, 2, 2)
    assert (found.verdict, found.kept) == ("unknown", ["asynchronous"])


def test_random_runs_that_deliver_nothing_decide_nothing() -> None:
    found = cr.conform_at_random(Silent, 2, 2, runs=5)
    assert (found.verdict, found["delivers-something"].verdict) == ("unknown", "unknown")
    found = cr.conform_at_random(Relay, 2, 2, runs=5)
    assert (found.verdict, found["delivers-something"].verdict) == ("holds", "holds")
