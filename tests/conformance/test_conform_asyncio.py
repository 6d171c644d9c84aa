"""Nodes with tasks and timers: what is left pending is named, and no verdict covers races that were not tried."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from asyncio_nodes import FILE, Sleepy, Spawn, conform
from command_line_runner import Crownless
from relays import Relay

import crownless as cr
from crownless.oracle.conformance.node import ONE_AT_A_TIME


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


def test_the_summary_names_the_timer_and_the_exit_code_is_3(crownless: Crownless) -> None:
    answer = crownless("conform", "-n", "2", "-m", "2", "--order", "fifo", f"{FILE}:Sleepy")
    assert answer.code == 3
    assert "Sleepy: unknown: a timer is pending: Sleepy.on_packet (" in answer.out
    assert "complete computations" not in answer.out


def test_a_violation_before_any_timer_fires_is_certain() -> None:
    found = conform(ReversesBeforeATimer)
    assert (found.verdict, found["fifo"].verdict) == ("violated", "violated")
    assert found["delivers-all"].verdict == "unknown"


def test_random_runs_of_a_node_with_a_timer_do_not_decide(crownless: Crownless) -> None:
    answer = crownless("conform", f"{FILE}:Timeout", "-n", "2", "-m", "2", "--random", "5", "--order", "fifo")
    assert answer.code == 3
    assert "Timeout: unknown: a timer is pending: Timeout.work (" in answer.out


def test_a_search_that_ends_early_says_so_too() -> None:
    found = cr.conform(Spawn, 2, 2, channel="fifo", max_seconds=0)
    assert "search ended early: " in found.scope
    assert f"; {ONE_AT_A_TIME}; " in found.scope


def test_random_runs_say_that_inputs_come_one_at_a_time(crownless: Crownless) -> None:
    answer = crownless("conform", f"{FILE}:Spawn", "-n", "2", "-m", "2", "--channel", "fifo", "--random", "5")
    assert answer.code == 0
    assert "in all of 5 random runs, one input at a time: a sample of all runs" in answer.out
    assert ONE_AT_A_TIME in answer.out.replace("\n  ", " ")


def test_a_class_without_coroutines_has_no_tasks() -> None:
    found = conform(Relay)
    assert "every interleaving; " in found.scope
    assert found.json()["not_tried"] is None
    assert "one input at a time" not in repr(found)


def test_the_page_of_a_node_with_a_timer_ends_no_run_there(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "space.html"
    assert crownless("explore", f"{FILE}:Sleepy", "-n", "2", "-m", "1", "--html", str(file)).code == 0
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
