"""A page claims no more than was searched: what a log lacks, or nodes leave pending, is unknown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium, opened
from explorer_pages import choose, explored, page_of, space_of

import crownless as cr
from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.logs.reader import subjects
from crownless.oracle.logs.uncertain import ORDER_NOT_LOGGED
from crownless.run_explorer.server import ExplorerServer
from crownless.run_explorer.state_space import StateSpace
from crownless.run_explorer.subjects import of_check, of_computation, of_nodes

TIMER = "a timer is pending: LateNode.on_packet"
HOLE = "not violated by what is logged; a: event 1 is missing"


class LateNode:
    """Delivers at once, and sets a timer that delivers nothing."""

    def __init__(self, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver = transmit, deliver

    async def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    async def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)
        asyncio.get_running_loop().call_later(1.0, print)


class Fails(LateNode):
    async def on_packet(self, source: int, packet: str) -> None:
        raise ValueError


class Silent(LateNode):
    async def on_packet(self, source: int, packet: str) -> None:
        pass


class Prompt(LateNode):
    async def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)


class Beats(Unordered):
    """Sends a beat again and again."""

    needs_channel = "lossy"
    timers = ("beat",)
    control_kinds = frozenset({"beat"})

    def internal(self, i: int, state: Any) -> list[tuple[str, cr.Step]]:
        return [("beat", cr.Step(state, [cr.Packet(i, 1 - i, "beat")]))]

    def on_packet(self, i: int, state: Any, packet: cr.Packet) -> Sequence[cr.Step]:
        return [cr.Step(state)] if packet.kind == "beat" else super().on_packet(i, state, packet)


def nodes(kind: type, messages: int = 1) -> StateSpace:
    return of_nodes(InProcess(kind, 2), Request(2, messages)).space


def tied(folder: Path) -> StateSpace:
    """The page of spans: a sends x and y at the same time, and then z; b delivers y, x, and c z alone."""

    def span(name: str, kind: int, start: int, cause: str = "") -> dict[str, Any]:
        links = [{"traceId": "1", "spanId": cause}] if cause else []
        return {"traceId": "1", "spanId": name, "kind": kind, "startTimeUnixNano": str(start), "links": links}

    services = {
        "a": [span("x", 4, 10), span("y", 4, 10), span("z", 4, 20)],
        "b": [span("1", 5, 30, "y"), span("2", 5, 40, "x")],
        "c": [span("3", 5, 30, "z")],
    }
    content = [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]},
            "scopeSpans": [{"spans": each}],
        }
        for name, each in services.items()
    ]
    file = folder / "spans.json"
    file.write_text(json.dumps({"resourceSpans": content}), "utf-8")
    (named,) = subjects(str(file))
    return of_computation(named).space


def log(folder: Path, index: int) -> StateSpace:
    """The page of a log of two messages; with index 2 of the second send, it has a hole."""
    events = [("a", 0, "send", "x"), ("a", index, "send", "y"), ("b", 0, "deliver", "x"), ("b", 1, "deliver", "y")]
    rows = [
        {"process": p, "index": k, "kind": kind, "message": m} | ({"peer": "b"} if kind == "send" else {})
        for p, k, kind, m in events
    ]
    file = folder / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (named,) = subjects(str(file))
    return of_computation(named).space


def names_of(data: dict[str, Any]) -> set[str]:
    return {name for name, _ in data["properties"]}


def test_nothing_holds_of_nodes_that_leave_a_timer_pending() -> None:
    data = nodes(LateNode).as_data()
    assert data["undecided"].keys() == names_of(data)
    assert all(reason.startswith(TIMER) for reason in data["undecided"].values())
    assert data["undecided_in_run"] == {}
    (pending,) = {*data["pending"].values()}
    assert pending.startswith(TIMER)
    delivered = {step[8] for step in data["steps"] if any(kind == "deliver" for kind, _ in step[6])}
    assert {str(local) for local in delivered} == {*data["pending"]}


def test_nothing_but_their_failures_is_known_of_nodes_that_fail() -> None:
    undecided = nodes(Fails).as_data()["undecided"]
    assert {undecided.get(name) for name in ("fifo", "causal", "delivers-all")} == {"a node fails first"}
    assert "node-fails" not in undecided


def test_answers_that_were_not_repeated_may_vary_and_the_rest_is_known() -> None:
    data = nodes(Prompt).as_data()
    assert {*data["undecided"]} == {"not-deterministic", "speaks-unasked"}
    assert data["pending"] == {}


def test_a_log_with_holes_keeps_nothing_in_any_run(tmp_path: Path) -> None:
    data = log(tmp_path, 2).as_data()
    assert data["undecided"] == data["undecided_in_run"] == dict.fromkeys(names_of(data), HOLE)
    assert log(tmp_path, 1).as_data()["undecided"] == {}


def test_nodes_that_deliver_nothing_keep_no_order() -> None:
    data = nodes(Silent).as_data()
    assert {data["undecided"].get(name) for name in ("fifo", "causal", "synchronous")} == {
        "no message is ever delivered"
    }
    assert "delivers-once" not in data["undecided"]
    assert "fifo" not in nodes(Prompt).as_data()["undecided"]
    with ExplorerServer(of_nodes(InProcess(Silent, 2), Request(2, 1))) as server:
        answer = server.shortest([known.name for known in server.explored.space.properties].index("fifo"))
    assert answer == {"choices": None, "unknown": "no message is ever delivered"}


def test_a_violation_by_an_order_that_the_log_does_not_show_is_unknown(tmp_path: Path) -> None:
    space = tied(tmp_path)
    data = space.as_data()
    assert data["undecided"]["fifo"] == data["undecided_in_run"]["fifo"] == ORDER_NOT_LOGGED
    shown = {data["properties"][k][0] for effect in data["effects"] for k in effect}
    assert shown.isdisjoint({"fifo", "causal"})


@pytest.mark.parametrize(
    ("protocol", "bound"), [(Beats, "copies=2; beat: at any time; a packet that equals 2"), ("buffer", "channel")]
)
def test_a_page_has_the_bounds_that_check_prints(protocol: str | type, bound: str, tmp_path: Path) -> None:
    page = page_of(tmp_path, space_of(protocol, 2, 1)).read_text("utf-8")
    scope, printed = space_of(protocol, 2, 1).as_data()["scope"], run_check(Check(protocol, 2, 1)).scope
    assert bound in scope
    assert scope in page
    assert printed.startswith(f"{scope}; every interleaving; ")


@pytest.mark.parametrize(("kind", "unknown"), [(LateNode, TIMER), (Prompt, None)])
def test_a_server_finds_no_violation_and_says_why_there_may_be_one(kind: type, unknown: str | None) -> None:
    with ExplorerServer(of_nodes(InProcess(kind, 2), Request(2, 1))) as server:
        answer = server.shortest([known.name for known in server.explored.space.properties].index("fifo"))
    assert answer["choices"] is None
    assert (answer["unknown"] or "").startswith(unknown or "")
    assert (answer["unknown"] is None) == (unknown is None)


def test_a_run_without_end_is_not_served_as_a_shortest_violation() -> None:
    explored = of_check(Check(Beats, 2, 1, parameters={"copies": 1}))
    assert run_check(explored.check)["delivers-all"].verdict == "violated"
    with ExplorerServer(explored) as server:
        number = [known.name for known in explored.space.properties].index("delivers-all")
        assert server.shortest(number) == {"choices": None, "unknown": None}


@needs_chromium
def test_the_page_of_nodes_with_a_timer_says_that_it_is_unknown(tmp_path: Path) -> None:
    with opened(page_of(tmp_path, nodes(LateNode))) as shown:
        choose(shown, "P1: send m1 to P2")
        assert shown.get_by_role("button", name="fifo: no delivery yet, nothing to judge").inner_text() == "· fifo"
        choose(shown, "P2: deliver m1")
        assert shown.locator("#orders button", has_text="fifo").inner_text() == "? fifo"
        assert shown.locator(".strip .kept").count() == 0
        shown.locator("#orders button", has_text="fifo").click()
        said = shown.locator("#said").inner_text()
        assert said.startswith(f"No run was found that violates fifo; it is unknown: {TIMER}")


@needs_chromium
def test_the_page_of_a_log_with_holes_says_that_it_is_unknown(tmp_path: Path) -> None:
    space = log(tmp_path, 2)
    with opened(page_of(tmp_path, space)) as shown:
        choose(shown, "a: send x to b", "b: deliver x")
        assert shown.locator(".strip .kept").count() == 0
        assert shown.get_by_role("button", name=f"fifo: unknown: {HOLE}").count() == 1
        shown.locator("#orders button", has_text="fifo").click()
        assert shown.locator("#said").inner_text() == f"No run was found that violates fifo; it is unknown: {HOLE}."


@needs_chromium
def test_the_page_of_nodes_that_deliver_nothing_says_so(tmp_path: Path) -> None:
    with opened(page_of(tmp_path, nodes(Silent))) as shown:
        choose(shown, "P1: send m1 to P2", "P2: receive message m1")
        fifo = shown.locator("#orders button", has_text="fifo")
        assert fifo.inner_text() == "· fifo"
        fifo.click()
        said = "No run was found that violates fifo; it is unknown: no message is ever delivered."
        assert shown.locator("#said").inner_text() == said


@needs_chromium
def test_the_page_of_a_log_with_events_of_unknown_order_shows_no_violation_by_them(tmp_path: Path) -> None:
    with opened(page_of(tmp_path, tied(tmp_path))) as shown:
        choose(shown, "a: send", "a: send", "b: deliver")
        assert shown.get_by_role("button", name=f"fifo: unknown: {ORDER_NOT_LOGGED}").inner_text() == "? fifo"
        shown.locator("#orders button", has_text="fifo").click()
        said = f"No run was found that violates fifo; it is unknown: {ORDER_NOT_LOGGED}."
        assert shown.locator("#said").inner_text() == said


@needs_chromium
def test_runs_without_end_are_said_not_to_be_judged_by_a_page(tmp_path: Path) -> None:
    with explored(tmp_path, "rst", 2, 1) as shown:
        shown.locator("#properties button", has_text="delivers-all").click()
        endless = "Runs without end are judged by crownless check alone."
        assert shown.locator("#said").inner_text() == f"No run that ends violates delivers-all. {endless}"
