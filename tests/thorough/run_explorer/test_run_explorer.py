"""The page of the run explorer, in a browser: a run is made, changed and shared, by mouse and by keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser import needs_chromium, one_browser, opened  # noqa: F401
from explorer_pages import choose, explored, page_of, space_of

import crownless as cr
from crownless.run_explorer.page import explorer_page


@needs_chromium
def test_a_run_is_played_to_a_violation_and_back_and_its_address_leads_there_again(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 2, 2))
    with opened(file) as shown:
        choose(shown, "P1: send m1 to P2", "P1: send m2 to P2", "P2: deliver m2 from P1")
        assert "violates fifo" in shown.locator("#run li").nth(2).inner_text()
        assert shown.locator("#orders .violated").all_inner_texts()[0] == "✗ fifo"
        assert shown.locator("#diagram .ring").count() == 1
        status = shown.get_by_role("status").inner_text()
        assert status.startswith("P2: deliver m2 from P1. This violates fifo, causal")
        assert "not fifo: P2 receives m2 and not m1, which was sent earlier" in status
        address = shown.url
        shown.keyboard.press("ArrowLeft")
        assert shown.locator("#orders .violated").count() == 0
        assert shown.locator("#run li").count() == 2
        shown.keyboard.press("ArrowRight")
        assert shown.locator("#run li").count() == 3
        shown.keyboard.press("Home")
        assert shown.locator("#run li").count() == 0
        shown.keyboard.press("1")
        assert shown.locator("#run li").count() == 1
    with opened(address) as shown:
        assert shown.locator("#run li").count() == 3
        assert "violates fifo" in shown.locator("#run li").nth(2).inner_text()


@needs_chromium
def test_one_click_leads_to_the_shortest_violation_or_says_that_there_is_none(tmp_path: Path) -> None:
    with explored(tmp_path, "rst-column", 3, 3) as shown:
        shown.locator("#orders button", has_text="causal").click()
        assert shown.locator("#said").inner_text() == "A shortest run that violates causal: 5 actions."
        assert shown.locator("#run li").count() == 5
        shown.locator("#orders button", has_text="fifo").click()
        assert shown.locator("#said").inner_text() == "No run violates fifo."


@needs_chromium
def test_what_is_held_back_says_why(tmp_path: Path) -> None:
    with explored(tmp_path, "rst", 2, 2) as shown:
        for _ in range(2):
            shown.locator("#moves button", has_text="to P2").first.click()
        held = shown.locator("#flight > li").nth(1).inner_text()
        assert held.split("\n") == ["m2 from P1 to P2, held back", "deliv[P1] = 0 ≥ stamp[P1][P2] = 1: no"]
        assert shown.locator("#locals mark").all_inner_texts() == ["2"]


@needs_chromium
def test_an_action_can_happen_earlier_or_later_and_what_that_makes_is_said(tmp_path: Path) -> None:
    with explored(tmp_path, "unordered", 2, 2) as shown:
        choose(shown, "P1: send m1 to P2", "P2: send m2 to P1", "P2: deliver m1 from P1")
        later = shown.get_by_role("button", name="later: P1: send m1 to P2")
        later.click()
        assert shown.locator("#said").inner_text().startswith("The same computation")
        assert shown.locator("#run li").first.inner_text().startswith("P2: send m1 to P1")
        shown.get_by_role("button", name="later: P1: send m2 to P2").click()
        assert shown.locator("#said").inner_text().startswith("Not possible")
        shown.get_by_role("button", name="earlier: P2: deliver m2").click()
        assert shown.locator("#said").inner_text().startswith("Not possible")


@needs_chromium
def test_what_has_arrived_over_a_fifo_channel_is_in_the_hold_back_queue(tmp_path: Path) -> None:
    with explored(tmp_path, "ses", 3, 3, channel="fifo") as shown:
        choose(shown, "P1: send m1 to P3", "P1: send m2 to P2", "P2: deliver m2", "P2: send m3 to P3", "P3: receive m3")
        flight = shown.locator("#flight > li").all_inner_texts()
        assert flight[0] == "m1 from P1 to P3"
        assert flight[1].startswith("m3 from P2 to P3, in the hold-back queue, held back")


@needs_chromium
def test_the_comparison_that_fails_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    with explored(tmp_path, "cbcast", 3, 3) as shown:
        choose(shown, "P1: send m1", "P2: deliver m1", "P2: send m2")
        failing = shown.locator("#flight .bad").all_inner_texts()
        assert failing == ["stamp[P1] = 1 ≤ state[P1] + 0 = 0: no"]
        assert "yes" in shown.locator("#flight").inner_text()


@needs_chromium
def test_the_keyboard_alone_makes_a_run_and_keeps_its_place(tmp_path: Path) -> None:
    with explored(tmp_path, "unordered", 2, 3) as shown:
        shown.locator("#moves button").first.focus()
        for done in range(1, 4):
            shown.keyboard.press("Enter")
            assert shown.locator("#run li").count() == done
            assert shown.evaluate("document.activeElement.closest('#moves') !== null")
        for words in ("fifo: no delivery yet", "later: P1: send m1 to P2"):
            shown.get_by_role("button", name=words).first.focus()
            shown.keyboard.press("Enter")
            assert shown.evaluate("document.activeElement !== document.body")


@needs_chromium
def test_an_event_lands_where_it_is_dragged_also_if_actions_have_several_rows(tmp_path: Path) -> None:
    with explored(tmp_path, "fifo-ack", 2, 3) as shown:
        choose(shown, "P1: send m1 to P2", "P2: deliver m1", "P2: send m2 to P1", "P1: deliver m2")
        places = [
            int(each)
            for each in shown.locator("#diagram .events > g").evaluate_all("all => all.map(one => one.dataset.place)")
        ]
        assert len(places) > len(set(places))
        rows = shown.locator("#diagram .events > g")
        shown.evaluate("move = (from, to) => { window.moved = [from, to]; }")
        start, end = rows.nth(len(places) - 1).bounding_box(), rows.nth(1).bounding_box()
        assert start is not None
        assert end is not None
        shown.mouse.move(start["x"] + 4, start["y"] + 4)
        shown.mouse.down()
        shown.mouse.move(start["x"] + 4, end["y"] + 4, steps=3)
        shown.mouse.up()
        assert shown.evaluate("window.moved") == [places[-1], places[1]]


@needs_chromium
def test_an_action_that_leads_beyond_the_page_is_not_called_impossible(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 3, 4), nodes=60)
    with opened(file) as shown:
        choose(shown, "P1: send m1 to P2", "P1: send m2 to P2", "P1: send m3 to P3")
        shown.evaluate("act(() => move(2, 0))")
        assert "Not possible" not in shown.locator("#said").inner_text()


@needs_chromium
def test_the_browsers_own_back_leads_back_and_an_address_of_another_page_is_refused(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 2, 2))
    with opened(file) as shown:
        shown.keyboard.press("1")
        shown.keyboard.press("1")
        address = shown.url
        shown.go_back()
        assert shown.locator("#run li").count() == 1
    other = tmp_path / "other.html"
    other.write_text(explorer_page(space_of("rst", 3, 2).as_data(), "another page"), "utf-8")
    with opened(other.as_uri() + "#" + address.split("#")[1]) as shown:
        assert shown.locator("#said").inner_text() == "The run in the address belongs to another page."
        assert shown.locator("#run li").count() == 0
    with opened(f"{file.as_uri()}#run=abc") as shown:
        assert "contains no readable run" in shown.locator("#said").inner_text()


@needs_chromium
def test_names_are_inert(tmp_path: Path) -> None:
    class Odd(cr.Protocol):
        """Sends packets of a kind that is no kind."""

        promises = "asynchronous"

        def initial(self, i: int) -> tuple[str, ...]:
            return ("</script><img src=x onerror=alert(1)>",)

        def send(self, i: int, state: Any, message: cr.Message) -> list[cr.Step]:
            packet = cr.Packet(i, message.receivers[0], "<b>&lt;", message, None)
            return [cr.Step(state, [packet], [cr.AppEvent("send", message)])]

        def on_packet(self, i: int, state: Any, packet: cr.Packet) -> list[cr.Step]:
            return [cr.Step(state, (), [cr.AppEvent("deliver", packet.message)])]

    with explored(tmp_path, Odd, 2, 1) as shown:
        shown.keyboard.press("1")
        assert "<b>&lt; m1" in shown.locator("#flight").inner_text()
        assert "</script><img src=x onerror=alert(1)>" in shown.locator("#locals").inner_text()
        assert shown.locator("img, b").count() == 0


@needs_chromium
def test_an_address_that_is_none_of_the_page_is_said(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 2, 1))
    with opened(f"{file.as_uri()}#run=0.99") as shown:
        assert "is longer than this page covers" in shown.locator("#said").inner_text()
        assert shown.locator("#run li").count() == 1
