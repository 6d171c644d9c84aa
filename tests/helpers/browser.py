"""A page in headless Chromium, whose complaints fail the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _missing() -> str | None:
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "there is no package playwright here (pip install playwright)"
    return "there is no Chromium here (apt-get install chromium)" if CHROMIUM is None else None


#: Why no page can be tested in a browser; None if it can.
MISSING = _missing()
needs_chromium = pytest.mark.skipif(MISSING is not None, reason=f"{MISSING}: no page is tested in a browser")


#: That of the module whose tests run.
_browser: Browser | None = None


@pytest.fixture(scope="module", autouse=True)
def one_browser() -> Iterator[None]:
    """All tests of a module that imports this have one browser."""
    global _browser
    if MISSING is not None:
        yield
        return
    with _started() as _browser:
        yield
    _browser = None


@contextmanager
def _started() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(page: Path | str, *, width: int = 1200, height: int = 900) -> Iterator[Page]:
    """The page of that file or address; at the end nothing may have been complained of in the console."""
    said: list[str] = []
    with nullcontext(_browser) if _browser is not None else _started() as browser:
        shown = browser.new_page(viewport={"width": width, "height": height})
        shown.on("console", lambda line: said.append(line.text))
        shown.on("pageerror", lambda error: said.append(str(error)))
        shown.on("request", lambda request: _inside(request.url, said))
        shown.goto(page.as_uri() if isinstance(page, Path) else page)
        try:
            yield shown
        finally:
            shown.close()
    assert not said, "\n".join(said)


def _inside(url: str, said: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:")):
        said.append(f"a request to {url}")
