"""What takes longer of the tests in `test_first_run.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium, opened
from command_line_runner import Crownless
from explorer_pages import page_of, space_of, violated_by
from two_pairs import TWO_PAIRS, PromisesLittle, PromisesTotal, log_of

from crownless.model_check.system.request import Check
from crownless.run_explorer.first_run import first_run
from crownless.run_explorer.subjects import of_check
from crownless.spec.orders import ORDERS


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


def test_the_page_of_a_log_begins_with_its_recorded_order_which_violates_six_orders(
    crownless: Crownless, tmp_path: Path
) -> None:
    space = crownless("explore", str(log_of(tmp_path, TWO_PAIRS)), "--json").json["space"]
    assert len(space["start"]) == len(TWO_PAIRS)
    assert violated_by(space, space["start"]) == {*ORDERS} - {"asynchronous", "total"}


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
