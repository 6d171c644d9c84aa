"""The run with which a page begins: a violation, or else a packet that is held back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium, one_browser, opened
from command_line_runner import Crownless
from explorer_pages import page_of, space_of
from relays import Relay

from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.check.request import Check
from crownless.oracle.conformance.conformance_request import DELIVERY, Request
from crownless.oracle.conformance.in_process import InProcess
from crownless.run_explorer.first_run import first_run
from crownless.run_explorer.server import ExplorerServer
from crownless.run_explorer.subjects import of_check, of_computation, of_nodes
from crownless.runtime.ending import Limits, stoppable
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import WITH_TOTAL

__all__ = ["one_browser"]


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
    found = first_run(space_of(protocol, 3, 3, **given))
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
    assert first_run(space).shows == "a run in which a packet is held back"
    space = of_check(Check(PromisesTotal, 2, 2)).space
    assert space.promised == ["total", "delivers-once", "delivers-all", "never-blocks"]
    found = first_run(space)
    assert found.shows == "a shortest run that violates what the protocol promises"
    nodes = space.nodes_of(found.choices)
    assert "total" in space.broken_by(space.moves(nodes[-2])[0][3 * found.choices[-1] + 2])


def test_a_page_begins_with_a_run_that_blocks() -> None:
    space = of_check(Check(type("Refuses", (Unordered,), {"send": lambda *_: []}), 2, 1)).space
    assert space.broken_by(space.moves(0)[1]) == ["never-blocks"]
    assert "never-blocks" in space.promised
    assert space.broken_by(space_of(Unordered, 2, 1).moves(0)[1]) == []


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
    with opened(page_of(tmp_path, explored.space, first_run(explored.space).choices)) as shown:
        assert re.fullmatch(headline, shown.locator("#why").inner_text())
        listed = shown.locator("#orders li").all_inner_texts()
        assert any("total" in each for each in listed) == (kind is PromisesTotal)


def test_a_served_page_finds_a_run_that_breaks_what_is_not_promised() -> None:
    with ExplorerServer(of_check(Check(PromisesLittle, 2, 1))) as server:
        number = [known.name for known in server.explored.space.properties].index("delivers-all")
        assert len(server.shortest(number)["choices"]) == 2


def test_the_page_of_a_computation_begins_with_all_of_it() -> None:
    c = to_computation(parse("P1: send x to P2; send y to P2\nP2: receive y; receive x"))
    assert first_run(of_computation(c, "crossed").space) == ([0, 0, 0, 0], "the whole computation")


def test_the_choice_of_a_run_can_be_ended_early(crownless: Crownless, tmp_path: Path) -> None:
    with stoppable(Limits(seconds=0)) as part:
        first_run(space_of("rst", 3, 4))
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
    judged = {known.name for known in space.properties} & {*WITH_TOTAL, *DELIVERY}
    assert {*space.promised} & judged == promised & judged


@needs_chromium
def test_the_page_says_which_run_it_begins_with(crownless: Crownless, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    crownless("explore", "rst", "-n", "3", "-m", "3", "--html", str(page))
    with opened(page) as shown:
        assert "a packet is held back: step back" in shown.locator("#said").inner_text()
        assert shown.locator("#run li").count() == 4
        shown.locator("#again").click()
        assert shown.locator("#run li").count() == 0
