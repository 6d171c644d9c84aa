"""What takes longer of the tests in `test_undecided.py`."""

from __future__ import annotations

from pathlib import Path

from browser import needs_chromium, opened
from explorer_pages import choose, explored, page_of
from undecided_runs import HOLE, TIMER, LateNode, Silent, log, nodes, tied

from crownless.oracle.logs.uncertain import ORDER_NOT_LOGGED


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
