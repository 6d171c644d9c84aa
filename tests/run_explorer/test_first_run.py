"""The run with which a page begins: a violation, or else a packet that is held back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import one_browser
from command_line_runner import Crownless
from explorer_pages import space_of
from relays import Relay
from two_pairs import TWO_PAIRS, PromisesLittle, PromisesTotal, log_of

from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.system.request import Check
from crownless.oracle.conformance.conformance_request import DELIVERY, Request
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.oracle.logs.reader import subjects
from crownless.run_explorer.first_run import first_run
from crownless.run_explorer.server import ExplorerServer
from crownless.run_explorer.state_space import StateSpace
from crownless.run_explorer.subjects import of_check, of_computation, of_nodes
from crownless.runtime.ending import Limits, stoppable
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import ORDERS

__all__ = ["one_browser"]


def test_a_page_begins_with_a_violation_only_of_what_is_promised() -> None:
    space = space_of(PromisesLittle, 2, 2)
    assert space.promised == ["delivers-once"]
    assert "delivers-all" in [known.name for known in space.properties]
    assert first_run(space, space.as_data()).shows == "a run in which a packet is held back"
    space = of_check(Check(PromisesTotal, 2, 2)).space
    assert space.promised == ["total", "delivers-once", "delivers-all", "never-blocks"]
    found = first_run(space, space.as_data())
    assert found.shows == "a shortest run that violates what the protocol promises"
    nodes = space.nodes_of(found.choices)
    assert "total" in space.violated_by(space.moves(nodes[-2])[0][3 * found.choices[-1] + 2])


def test_a_page_begins_with_a_run_that_blocks() -> None:
    space = of_check(Check(type("Refuses", (Unordered,), {"send": lambda *_: []}), 2, 1)).space
    assert space.violated_by(space.moves(0)[1]) == ["never-blocks"]
    assert "never-blocks" in space.promised
    assert space.violated_by(space_of(Unordered, 2, 1).moves(0)[1]) == []


def test_an_order_that_a_user_names_counts_as_promised() -> None:
    assert "synchronous" not in space_of(Unordered, 2, 2).promised
    assert "synchronous" in space_of(Unordered, 2, 2, orders=("synchronous",)).promised


def test_a_served_page_finds_a_run_that_breaks_what_is_not_promised() -> None:
    with ExplorerServer(of_check(Check(PromisesLittle, 2, 1))) as server:
        number = [known.name for known in server.explored.space.properties].index("delivers-all")
        assert len(server.shortest(number)["choices"]) == 2


def test_the_page_of_a_computation_begins_with_all_of_it() -> None:
    c = to_computation(parse("P1: send x to P2; send y to P2\nP2: receive y; receive x"))
    explored = of_computation(NamedComputation("crossed", None, c))
    assert (explored.start, explored.shows) == ([0, 0, 0, 0], "one order of all events")


def space_and_data(protocol: str, processes: int, messages: int, **given: Any) -> tuple[StateSpace, dict[str, Any]]:
    space = space_of(protocol, processes, messages, **given)
    return space, space.as_data(60)


def test_a_page_that_lacks_states_does_not_pass_for_one_without_violations() -> None:
    for protocol, given in (("fifo-sequence", {}), ("isis-gc", {"channel": "unordered"})):
        space, data = space_and_data(protocol, 3, 3, **given)
        found = first_run(space, data)
        assert found.choices
        assert f"none of the {data['states']} states on this page shows a violation, and there are" in found.shows
    space = space_of("fifo-sequence", 3, 2)
    assert "further states" not in first_run(space, space.as_data()).shows


@pytest.mark.parametrize("turned", [False, True])
def test_the_recorded_order_is_that_of_the_lines_as_far_as_happened_before_allows(turned: bool, tmp_path: Path) -> None:
    events = (("C", "send", "c"), ("D", "deliver", "c"), ("A", "send", "a"), ("B", "deliver", "a"))
    peers = {"C": "D", "D": "C", "A": "B", "B": "A"}
    rows = [{"process": p, "index": 0, "kind": kind, "message": m, "peer": peers[p]} for p, kind, m in events]
    file = log_of(tmp_path, rows[::-1] if turned else rows)
    (named,) = subjects(str(file))
    c = named.computation
    lines = [c.processes[c.process_of[e]] for e in named.recorded_order]
    assert lines == (["A", "B", "C", "D"] if turned else ["C", "D", "A", "B"])


def test_the_page_of_a_log_with_holes_says_so(tmp_path: Path) -> None:
    (named,) = subjects(str(log_of(tmp_path, [row for row in TWO_PAIRS if row["index"] != 4])))
    explored = of_computation(named)
    assert "the log has 4 holes, and the page what is certain" in explored.space.names.scope


def test_the_choice_of_a_run_can_be_ended_early(crownless: Crownless, tmp_path: Path) -> None:
    with stoppable(Limits(seconds=0)) as part:
        first_run(*space_and_data("rst", 3, 4))
    assert part.reason is not None
    assert crownless("explore", "rst", "--max-seconds", "0", "--html", str(tmp_path / "page.html")).code == 3


@pytest.mark.parametrize(
    ("promises", "requested", "promised"),
    [
        ("fifo", (), {"fifo", *DELIVERY}),
        (("causal", "delivers-all"), (), {"causal", "delivers-all"}),
        ("fifo", ("causal",), {"causal", *DELIVERY}),
        (None, (), {*DELIVERY}),
    ],
)
def test_the_page_of_nodes_holds_them_to_what_they_promise(
    promises: str | tuple[str, ...] | None, requested: tuple[str, ...], promised: set[str]
) -> None:
    kind = type("Node", (Relay,), {} if promises is None else {"promises": promises})
    space = of_nodes(InProcess(kind, 2), Request(2, 2, orders=requested)).space
    judged = {known.name for known in space.properties} & {*ORDERS, *DELIVERY}
    assert {*space.promised} & judged == promised & judged
