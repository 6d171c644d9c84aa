"""The run with which a page begins: a violation, or else a packet that is held back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium, one_browser, opened
from command_line_runner import Crownless
from explorer_pages import page_of, space_of, violated_by
from relays import Relay

from crownless.impl.protocols.fifo_sequence import FifoSequence
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

#: Of the log of two pairs: sender and receiver; and by place of a delivery the message, the first two swapped.
PAIRS, SWAPPED = (("A", "B"), ("C", "D")), list(enumerate((1, 0, *range(2, 9))))


@pytest.mark.parametrize(
    ("protocol", "given", "shows", "actions"),
    [
        ("unordered", {}, "a shortest run that violates what the protocol promises", 3),
        ("rendezvous", {"channel": "lossy"}, "a shortest run that violates what the protocol promises", 2),
        ("rst", {}, "a run in which a packet is held back", 4),  # a message of a third process, not of the same link
        ("fifo-sequence", {}, "a run in which a packet is held back", 2),
        ("fifo-ack", {}, "a run in which every message is delivered", 6),
    ],
)
def test_a_page_begins_with_a_run_worth_stepping_through(
    protocol: str, given: dict[str, Any], shows: str, actions: int
) -> None:
    space = space_of(protocol, 3, 3, **given)
    found = first_run(space, space.as_data())
    assert (found.shows, len(found.choices)) == (shows, actions)


#: Over a channel that loses, it promises neither an order nor that all is delivered.
PromisesLittle = type("PromisesLittle", (FifoSequence,), {"promises": ("delivers-once",), "needs_channel": "lossy"})


class PromisesTotal(Unordered):
    promises = "total"
    sends = "broadcast-to-all"


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


@needs_chromium
@pytest.mark.parametrize(
    ("kind", "headline"),
    [
        (PromisesTotal, r"not total: P\d delivers m\d (before|and not) m\d, P\d delivers m\d (before|and not) m\d"),
        (PromisesLittle, ""),  # the held-back packet is in no order of interest
    ],
)
def test_the_headline_is_about_what_is_promised(kind: Any, headline: str, tmp_path: Path) -> None:
    explored = of_check(Check(kind, 2, 2))
    start = first_run(explored.space, explored.space.as_data()).choices
    with opened(page_of(tmp_path, explored.space, start)) as shown:
        assert re.fullmatch(headline, shown.locator("#why").inner_text())
        listed = shown.locator("#orders li").all_inner_texts()
        assert any("total" in each for each in listed) == (kind is PromisesTotal)


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


#: Two pairs of processes, each with a message that overtakes another: 2,916 states, and the runs to the end are long.
TWO_PAIRS = [
    *({"process": p, "index": k, "kind": "send", "message": f"{p}{k}", "peer": q} for p, q in PAIRS for k in range(9)),
    *({"process": q, "index": k, "kind": "deliver", "message": f"{p}{m}"} for p, q in PAIRS for k, m in SWAPPED),
]


def log_of(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "log.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return file


def test_the_page_of_a_log_begins_with_its_recorded_order_which_violates_six_orders(
    crownless: Crownless, tmp_path: Path
) -> None:
    space = crownless("explore", str(log_of(tmp_path, TWO_PAIRS)), "--json").json["space"]
    assert len(space["start"]) == len(TWO_PAIRS)
    assert violated_by(space, space["start"]) == {*ORDERS} - {"asynchronous", "total"}


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


@needs_chromium
def test_the_page_says_which_run_it_begins_with(crownless: Crownless, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    crownless("explore", "rst", "-n", "3", "-m", "3", "--html", str(page))
    with opened(page) as shown:
        assert "a packet is held back: step back" in shown.locator("#said").inner_text()
        assert shown.locator("#run li").count() == 4
        assert shown.get_by_role("heading", name="Orders in this run").count() == 1
        assert set(shown.locator("#orders li").evaluate_all("all => all.map(one => one.innerText[0])")) == {"✓"}
        shown.locator("#again").click()
        assert shown.locator("#run li").count() == 0
        ticks = shown.locator("#orders li, #properties li").evaluate_all("all => all.map(one => one.innerText[0])")
        assert set(ticks) == {"·"}


@needs_chromium
def test_the_page_of_a_log_shows_its_violations_at_once(crownless: Crownless, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    crownless("explore", str(log_of(tmp_path, TWO_PAIRS)), "--html", str(page))
    with opened(page) as shown:
        assert shown.locator("#said").inner_text().startswith("This is the order in which the log has these events")
        assert shown.locator("#diagram .events > g").count() == len(TWO_PAIRS)
        assert shown.locator("#orders .violated").count() == 6
