"""A page in headless Chromium, whose complaints fail the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium here: apt-get install chromium, and what pages do is tested, too"
)


@contextmanager
def opened(page: Path | str, *, width: int = 1200, height: int = 900) -> Iterator[Page]:
    """The page of that file or address; at the end nothing may have been complained of in the console."""
    said: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            shown = browser.new_page(viewport={"width": width, "height": height})
            shown.on("console", lambda line: said.append(line.text))
            shown.on("pageerror", lambda error: said.append(str(error)))
            shown.on("request", lambda request: _inside(request.url, said))
            shown.goto(page.as_uri() if isinstance(page, Path) else page)
            yield shown
        finally:
            browser.close()
    assert not said, "\n".join(said)


def _inside(url: str, said: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:")):
        said.append(f"a request to {url}")
