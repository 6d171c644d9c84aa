"""The HTML page of diagrams, in a browser: events by mouse and by keys, local variables, names that are only text."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import needs_chromium, opened

import crownless as cr
from crownless.spec.computation import Computation, Event, Message

pytestmark = needs_chromium


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """The page of a protocol that breaks causal order."""
    file = tmp_path / "page.html"
    file.write_text(cr.draw(cr.check("rst-column", 3, 4), form="html"), "utf-8")
    return file


def test_keys_lead_from_event_to_event_and_say_what_happens(page: Path) -> None:
    with opened(page) as shown:
        aside = shown.locator("aside")
        shown.keyboard.press("Tab")
        assert "P1 sends m1" in aside.inner_text()
        shown.keyboard.press("ArrowDown")
        shown.keyboard.press("ArrowDown")
        assert "P3 receives m2" in aside.inner_text()
        assert "Local variables of P3" in aside.inner_text()
        # SENT has the message and what was learnt with it; DELIV counts it.
        assert aside.locator("mark").all_inner_texts() == ["1", "1"]
        shown.keyboard.press("ArrowUp")
        assert "P1 sends m2" in aside.inner_text()
        shown.keyboard.press("End")
        assert "P2 receives m3" in aside.inner_text()
        shown.keyboard.press("ArrowDown")
        assert "P2 receives m3" in aside.inner_text()


def test_the_mouse_does_so_too(page: Path) -> None:
    with opened(page) as shown:
        shown.locator("svg [tabindex]").nth(4).hover()
        assert "P2 receives m3" in shown.locator("aside").inner_text()


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "${1}", "'\"&"])
def test_names_are_inert(tmp_path: Path, name: str) -> None:
    c = Computation((name, "P2"), (Message(name, 0, (1,)),), ((Event("send", 0),), (Event("receive", 0),)))
    file = tmp_path / "page.html"
    file.write_text(cr.draw(c, form="html"), "utf-8")
    with opened(file) as shown:
        shown.keyboard.press("Tab")
        assert f"{name} sends {name}" in shown.locator("aside").inner_text()
        assert shown.locator("img").count() == 0
        assert shown.locator("script").count() == 2


@pytest.fixture
def long_page(tmp_path: Path) -> Path:
    """The page of a long computation whose last messages are out of order."""
    names = [f"m{k}" for k in range(80)]
    sends = "; ".join(f"send {name} to P2" for name in names)
    receives = "; ".join(f"receive {name}" for name in [*names[:-2], names[-1], names[-2]])
    file = tmp_path / "long.html"
    file.write_text(cr.draw(f"P1: {sends}\nP2: {receives}", form="html"), "utf-8")
    return file


def test_what_breaks_the_order_is_in_view_and_a_button_leads_back_to_it(long_page: Path) -> None:
    with opened(long_page, height=600) as shown:
        arrow = shown.locator("figure svg > .shown").first

        def in_view() -> bool:
            found, frame = arrow.bounding_box(), shown.locator("figure").bounding_box()
            assert found is not None
            assert frame is not None
            return frame["y"] < found["y"] and found["y"] + found["height"] < frame["y"] + frame["height"]

        assert in_view()
        shown.locator("figure").evaluate("figure => { figure.scrollTop = 0 }")
        assert not in_view()
        shown.get_by_role("button", name="Show the violation").click()
        assert in_view()


def test_where_all_is_in_view_there_is_no_button(page: Path) -> None:
    with opened(page) as shown:
        assert shown.locator("button").count() == 1
        assert not shown.locator("button").is_visible()


def test_the_arrow_keys_lead_from_top_to_bottom(long_page: Path) -> None:
    with opened(long_page) as shown:
        down = shown.locator("figure [tabindex] circle").evaluate_all(
            "all => all.map(each => Number(each.getAttribute('cy')))"
        )
        assert down == sorted(down)
        shown.keyboard.press("Tab")  # the button
        for place in range(4):
            shown.keyboard.press("ArrowDown" if place else "Tab")
            focused = shown.locator(":focus circle").get_attribute("cy")
            assert float(focused or 0) == down[place]


def test_what_is_printed_is_the_whole_diagram_in_light_colours(long_page: Path) -> None:
    with opened(long_page) as shown:
        shown.emulate_media(media="print", color_scheme="dark")
        figure = shown.locator("figure")
        assert (
            figure.evaluate("figure => figure.clientHeight") >= figure.evaluate("figure => figure.scrollHeight") > 2000
        )
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        fill = "getComputedStyle(document.querySelector('rect.page')).fill"
        assert shown.evaluate(fill) == "rgb(255, 255, 255)"
        assert not shown.locator("aside").is_visible()
        assert not shown.locator("button").is_visible()
        shown.emulate_media(media="screen", color_scheme="dark")
        assert shown.evaluate(fill) != "rgb(255, 255, 255)"


def test_the_policy_of_the_page_admits_nothing_else(page: Path) -> None:
    planted = page.read_text("utf-8").replace("</html>", "<script>document.title = 'planted'</script></html>")
    page.write_text(planted, "utf-8")
    with pytest.raises(AssertionError, match="Content Security Policy"), opened(page) as shown:
        assert shown.title() != "planted"
