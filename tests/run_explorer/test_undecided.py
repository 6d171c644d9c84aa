"""A page claims no more than was searched: what a log lacks, or nodes leave pending, is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from explorer_pages import page_of, space_of
from undecided_runs import HOLE, TIMER, LateNode, Silent, log, nodes, tied

import crownless as cr
from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.logs.uncertain import ORDER_NOT_LOGGED
from crownless.run_explorer.server import ExplorerServer
from crownless.run_explorer.subjects import of_check, of_nodes


class Fails(LateNode):
    async def on_packet(self, source: int, packet: str) -> None:
        raise ValueError


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
    assert data["undecided"]["delivers-once"] == "no message is ever delivered"
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
