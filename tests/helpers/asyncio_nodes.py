"""Nodes that start tasks, threads and timers."""

from __future__ import annotations

import asyncio
from typing import Any

from relays import Relay

import crownless as cr

FILE = __file__


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


class Sleepy(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        await asyncio.sleep(0.01)
        self.deliver(packet)


class Timeout(Worker):
    async def work(self) -> None:
        while True:
            try:
                self.deliver(await asyncio.wait_for(self.arrived.get(), 5))
            except TimeoutError:
                continue


def conform(kind: type, **options: Any) -> Any:
    return cr.conform(kind, 2, 2, **{"orders": ["fifo"], "channel": "fifo", "replies": 0, **options})
