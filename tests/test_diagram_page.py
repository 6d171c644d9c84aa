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


def test_the_policy_of_the_page_admits_nothing_else(page: Path) -> None:
    planted = page.read_text("utf-8").replace("</html>", "<script>document.title = 'planted'</script></html>")
    page.write_text(planted, "utf-8")
    with pytest.raises(AssertionError, match="Content Security Policy"), opened(page) as shown:
        assert shown.title() != "planted"
