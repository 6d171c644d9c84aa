"""Pages of the run explorer, and what their data mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import opened

import crownless as cr
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.request import Check
from crownless.run_explorer.page import explorer_page
from crownless.run_explorer.state_space import StateSpace
from crownless.run_explorer.subjects import of_check

if TYPE_CHECKING:
    from playwright.sync_api import Page

CAUSAL = str(Path(__file__).parents[2] / "examples" / "nodes" / "python" / "causal.py")


def space_of(protocol: Any, processes: int, messages: int, **given: Any) -> StateSpace:
    return of_check(Check(protocol=protocol, processes=processes, messages=messages, **given)).space


def page_of(folder: Path, space: StateSpace, start: list[int] | None = None, **given: Any) -> Path:
    file = folder / "page.html"
    file.write_text(explorer_page(space.as_data(start=start or (), **given), "a page", start or []), "utf-8")
    return file


def effect(data: dict[str, Any], number: int) -> set[str]:
    """The properties that a move breaks, or a run by ending, by the number that the data have for it."""
    return {data["properties"][k][0] for k in data["effects"][number]}


def violated_by(data: dict[str, Any], choices: Iterable[int]) -> set[str]:
    """The properties that a run breaks, also by ending."""
    node, violated = 0, set()
    for choice in choices:
        _, node, number = data["moves"][node][3 * choice : 3 * choice + 3]
        violated |= effect(data, number)
    return violated | effect(data, data["ends"].get(str(node), 0))


@contextmanager
def explored(folder: Path, protocol: Any, n: int, m: int, **given: Any) -> Iterator[Page]:
    with opened(page_of(folder, space_of(protocol, n, m, **given))) as shown:
        yield shown


def choose(shown: Page, *words: str) -> None:
    """Takes the first move with each of these words."""
    for each in words:
        shown.locator("#moves button", has_text=each).first.click()


def violation(protocol: Any, n: int, m: int, name: str, **given: Any) -> Run:
    run = cr.check(protocol, n, m, **given).violations[name].run
    assert isinstance(run, Run)
    return run


RUNS = [
    ("rst-column", 3, 3, "causal", {}),
    ("rendezvous", 3, 2, "delivers-all", {"channel": "lossy"}),
    ("unordered", 2, 1, "delivers-once", {"channel": "duplicating"}),
    ("buffer", 3, 2, "synchronous", {"orders": ["synchronous"]}),
    ("murty-garg", 2, 2, "delivers-all", {"channel": "lossy"}),
    ("isis", 3, 3, "synchronous", {"orders": ["synchronous"]}),
]


def download(shown: Page, kind: str, folder: Path) -> Path:
    """What the page saves."""
    with shown.expect_download() as download:
        shown.locator(f"#{kind}").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def the_test_in(file: Path) -> Callable[[], None]:
    """The test that a page has saved."""
    known: dict[str, Any] = {}
    exec(file.read_text(), known)
    found = [function for name, function in known.items() if name.startswith("test_")]
    assert len(found) == 1
    return found[0]  # type: ignore[no-any-return]
