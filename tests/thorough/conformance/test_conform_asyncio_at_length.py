"""What takes longer of the tests in `test_conform_asyncio.py`."""

from __future__ import annotations

import asyncio
from inspect import getfile
from pathlib import Path
from typing import Any

import pytest
from asyncio_nodes import Sleepy, Spawn, Timeout, Worker, conform
from command_line_runner import Crownless
from relays import Relay, program

import crownless as cr
from crownless.oracle.conformance.node import ONE_AT_A_TIME
from crownless.runtime.errors import Undecided


class Reorders(Spawn):
    async def handle(self, packet: str, turns: int) -> None:
        await asyncio.sleep(turns / 100)
        self.deliver(packet)


class Later(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        asyncio.get_running_loop().call_later(0.01, self.deliver, packet)


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
    assert f"{Path(getfile(kind)).name}:" in found.undecided
    assert found["delivers-all"].verdict == found["fifo"].verdict == "unknown"
    assert found["fifo"].note == found["delivers-once"].note == found.undecided
    assert found.kept == ["asynchronous"]
    assert (found.json()["pending"], found.json()["generates"]) == (found.undecided, None)
    assert found.undecided in str(found)
    with pytest.raises(Undecided, match="is neither true nor false: a t"):
        bool(found)


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
    answer = crownless("conform", f"{getfile(kind)}:{kind.__name__}", *scope)
    assert answer.code == 0
    assert "keeps fifo order within the bound, one input at a time, and delivers everything\n" in answer.out
    assert ONE_AT_A_TIME in answer.out.replace("\n  ", " ")
    assert ONE_AT_A_TIME in file.read_text("utf-8")


def test_a_program_may_have_tasks_that_conform_cannot_see(tmp_path: Path) -> None:
    found = cr.conform(program(tmp_path), 2, 1, replies=0)
    assert ONE_AT_A_TIME in found.scope
    assert "holds, one input at a time, keeps" in str(found)


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
    assert "(tests/thorough/conformance/test_conform_asyncio_at_length.py:" in note
    assert "ValueError: " in note


@pytest.mark.slow
def test_an_exception_that_the_node_handles_is_none() -> None:
    assert conform(HandlesIts).verdict == "holds"
