"""The states and moves on a page of the run explorer are those of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from explorer_pages import CAUSAL, effect, space_of, violated_by, violation

import crownless as cr
from crownless.impl import own_protocols
from crownless.model_check.runs.actions import ShownAction, ShownPacket
from crownless.model_check.runs.runs import Run
from crownless.model_check.runs.saved_runs import SavedAction
from crownless.model_check.system.local_variables import variables_of
from crownless.model_check.system.named_numbers import comparisons
from crownless.model_check.system.request import Check
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.conformance.schedules import Schedule
from crownless.run_explorer import state_space
from crownless.run_explorer.state_space import BEYOND
from crownless.run_explorer.subjects import choices_of, of_check, of_nodes
from crownless.runtime.ending import Limits
from crownless.spec.orders import decide


@pytest.mark.parametrize("protocol", ["unordered", "rst", "rst-column", "ses", "buffer", "murty-garg", "optimal"])
def test_the_states_and_moves_are_those_of_the_engine(protocol: str) -> None:
    check = Check(protocol=protocol, processes=3, messages=2)
    counted = cr.check(protocol, 3, 2).exploration
    space = of_check(check).space
    data = space.as_data()
    states = {space._nodes[node][0] for node in range(len(data["moves"]))}
    assert len(states) == counted.states
    assert not data["beyond"]
    seen: dict[Any, int] = {}
    for node, flat in enumerate(data["moves"]):
        seen[space._nodes[node][0]] = len(flat) // 3
    assert sum(seen.values()) == counted.transitions


def test_the_runs_that_lead_further_end_where_the_page_ends() -> None:
    data = space_of("unordered", 3, 3).as_data(50)
    assert data["beyond"]
    assert len(data["moves"]) == 50
    followers = [after for flat in data["moves"] for after in flat[1::3]]
    assert BEYOND in followers
    assert max(followers) < 50


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("rst", ["deliv[P1] = 0 ≥ stamp[P1][P2] = 1: no"]),
        ("ses", ["stamp.buffer[P2][P1] = 1 ≤ time[P1] = 0: no"]),
        ("fifo-sequence", ["stamp = 2 ≤ delivered[P1] + 1 = 1: no"]),
    ],
)
def test_a_guard_says_with_which_numbers_it_fails(protocol: str, said: list[str]) -> None:
    assert said in space_of(protocol, 2, 2).as_data()["guards"].values()


def test_a_guard_that_compares_no_numbers_says_nothing() -> None:
    class Odd(cr.Protocol):
        promises = "asynchronous"

        def initial(self, i: int) -> frozenset[int]:
            return frozenset()

        def send(self, i: int, state: Any, message: cr.Message) -> list[cr.Step]:
            return []

        def deliverable(self, i: int, state: Any, packet: cr.Packet) -> bool:
            raise ValueError("it cannot be run on such numbers")

    assert comparisons(Odd(2), 0, frozenset(), cr.Packet(0, 1, "message", None, 3), ["P1", "P2"]) == []


def test_variables_are_matrices_rows_and_values() -> None:
    shown = variables_of({"a": 1, "b": frozenset({2, 1})}, str)
    assert [str(each) for each in shown] == ["state = {a: 1, b: {1, 2}}"]
    assert [str(each) for each in variables_of(((1, 2), (3, 4)), str)] == ["state = 1 2 / 3 4"]
    assert [str(each) for each in variables_of(None, str)] == ["state = –"]


@pytest.mark.parametrize("limits", [Limits(seconds=0.0), None])
def test_no_move_leads_to_a_state_that_is_not_on_the_page(limits: Limits | None, monkeypatch: Any) -> None:
    monkeypatch.setattr(state_space, "MOVES", 200)
    data = space_of("unordered", 3, 3).as_data(10_000, limits)
    assert data["beyond"]
    followers = {after for flat in data["moves"] for after in flat[1::3]}
    assert BEYOND in followers or not data["moves"]
    assert max(followers, default=-1) < len(data["moves"])


def test_a_page_always_has_the_run_with_which_it_begins() -> None:
    run = violation("rst-column", 3, 4, "causal")
    space = space_of("rst-column", 3, 4)
    start = choices_of(space_of("rst-column", 3, 4), run)
    data = space.as_data(30, start=start)
    assert len(data["moves"]) < 40
    assert "causal" in violated_by(data, start)


def test_the_orders_on_the_page_are_those_of_the_computation() -> None:
    """Of every run to its end, by the definitions."""
    space = space_of("unordered", 2, 3)
    data = space.as_data()

    def runs(node: int, violated: set[str], events: list[tuple[int, str, int]]) -> Iterator[tuple[set[str], Any]]:
        flat = data["moves"][node]
        if not flat:
            yield violated, events
        for k in range(0, len(flat), 3):
            step, after, breaks = flat[k : k + 3]
            process, _, _, _, _, _, happened, *_ = data["steps"][step]
            further = [(process, kind, message) for kind, message in happened]
            yield from runs(after, violated | effect(data, breaks), events + further)

    counted = 0
    for violated, events in runs(0, set(), []):
        senders = {message: process for process, kind, message in events if kind == "send"}
        lines = [
            "; ".join(
                f"send m{m} to P{2 - senders[m]}" if kind == "send" else f"receive m{m}"
                for p, kind, m in events if p == process
            )
            for process in range(2)
        ]  # fmt: skip
        c = cr.parse(f"P1: {lines[0]}\nP2: {lines[1]}")
        for order in ("fifo", "causal", "mailbox", "one-n", "n-n", "synchronous"):
            assert decide(c, order).kept == (order not in violated), (order, lines)
        counted += 1
    assert counted > 100


def test_a_schedule_that_nodes_cannot_follow_is_said() -> None:
    nodes = InProcess(own_protocols.load_node(f"{CAUSAL}:Matrix"), 2)
    step = SavedAction("P2", "deliver", [], [], "m1", source="P1", packet="message", number=1)
    schedule = Schedule("nodes", "fifo", Request(2, 1), [step])
    with pytest.raises(cr.BadInput, match="action 1 of the run, P2: deliver m1 from P1, cannot happen there"):
        of_nodes(nodes, Request(2, 1), schedule)


def test_nothing_is_owed_from_or_to_a_process_that_has_crashed() -> None:
    def sends(process: str, message: str, to: str) -> ShownAction:
        packet = ShownPacket("message", message, process, to)
        return ShownAction(process, "send", message, (to,), None, (packet,), (("send", message),), False)

    crash = ShownAction("P1", "crash", None, (), None, (), (), True)
    run = Run(("P1", "P2", "P3"), (sends("P1", "m1", "P2"), sends("P2", "m2", "P1"), sends("P3", "m3", "P2"), crash))
    emphasis = run.diagram(breaks="delivers-all").emphasis
    assert emphasis is not None
    assert emphasis.says == "never delivered: m3 at P2"
    assert len(emphasis.messages) == 1
