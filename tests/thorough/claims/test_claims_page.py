"""The ledger as a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import needs_chromium, opened
from command_line_runner import Capture, Crownless


@pytest.fixture
def page(capsys: Capture, tmp_path: Path) -> Path:
    file = tmp_path / "claims.html"
    answer = Crownless(capsys)("claims", "KU8", "MF2", "--quick", "--html", str(file))
    assert answer.code == 0
    return file


@needs_chromium
def test_it_has_each_claim_with_its_verdict_and_pictures(page: Path) -> None:
    with opened(page) as shown:
        assert shown.locator("tbody tr").count() == 2
        assert shown.locator("tbody tr").first.inner_text().split("\t")[:3] == [
            "KU8", "[Kup] Bob's fateful message to Carol", "repaired",
        ]  # fmt: skip
        assert shown.locator("section#KU8 figure svg").count() >= 2
        assert shown.locator("section#KU8 dt", has_text="scope").count() == 1
        shown.locator("a", has_text="KU8").click()
        assert shown.url.endswith("#KU8")


def test_its_pictures_have_ids_of_their_own(page: Path) -> None:
    text = page.read_text("utf-8")
    ids = [part.split('"')[0] for part in text.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
