"""Runs that the run explorer saves can be read again; the tests among them fail where the protocol does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium, one_browser, opened  # noqa: F401
from command_line_runner import Crownless
from explorer_pages import RUNS, download, explored, page_of, space_of, the_test_in, violated_by, violation

import crownless as cr
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.run_explorer.subjects import choices_of, of_computation
from crownless.spec.computation import Computation

#: The option by which `classify` reads the messages of a log for ShiViz.
NAMED_MESSAGES = ("--pattern", r"send (?<send>\S+) to (?<to>\S+)|deliver (?<deliver>\S+) from (?<from>\S+)")


@needs_chromium
@pytest.mark.parametrize(("protocol", "n", "m", "name", "given"), RUNS[:3])
def test_what_the_page_saves_can_be_read_again(
    tmp_path: Path, crownless: Crownless, protocol: str, n: int, m: int, name: str, given: dict[str, Any]
) -> None:
    run = violation(protocol, n, m, name, **given)
    space = space_of(protocol, n, m, **given)
    with opened(page_of(tmp_path, space_of(protocol, n, m, **given), choices_of(space, run))) as shown:
        saved = {kind: download(shown, kind, tmp_path) for kind in ("json", "itf", "shiviz", "test")}
    answer = json.loads(saved["json"].read_text())["checks"][0]
    assert name in [known["name"] for known in answer["properties"]]
    assert answer["properties"][0]["run"] == run.json()
    again = crownless("explore", str(saved["json"]), "--json").json["space"]
    assert name in violated_by(again, again["start"])
    assert crownless("show", str(saved["json"])).code == 0
    with pytest.raises(AssertionError, match=f"{protocol} violates"):
        the_test_in(saved["test"])()
    if name != "causal":
        return
    assert crownless("classify", str(saved["itf"]), "--json").json["orders"]["causal"]["verdict"] == "violated"
    orders = crownless("classify", str(saved["shiviz"]), *NAMED_MESSAGES, "--json").json["orders"]
    assert orders["causal"]["verdict"] == "violated"


@needs_chromium
def test_a_saved_test_of_a_right_protocol_passes(tmp_path: Path) -> None:
    with explored(tmp_path, "rst", 3, 3) as shown:
        for _ in range(5):
            shown.keyboard.press("1")
        the_test_in(download(shown, "test", tmp_path))()


@needs_chromium
def test_a_saved_test_of_a_computation_says_what_it_breaks(tmp_path: Path) -> None:
    c = cr.parse("P1: send a to P2; send b to P2\nP2: receive b; receive a")
    odd = Computation(("10.0.0.1:80", '"x" </script>'), c.messages, c.lines)
    explored = of_computation(NamedComputation("odd", None, odd))
    with opened(page_of(tmp_path, explored.space)) as shown:
        assert shown.locator("#diagram .name").all_text_contents() == list(odd.processes)
        shown.locator("#orders button", has_text="fifo").click()
        written = download(shown, "test", tmp_path)
        assert "P2: receive b" in written.read_text()
        the_test_in(written)()


@needs_chromium
@pytest.mark.parametrize("protocol", ["rendezvous", "murty-garg"])
def test_a_log_for_shiviz_has_each_send_before_its_delivery(
    tmp_path: Path, crownless: Crownless, protocol: str
) -> None:
    """Also of protocols that deliver before the send takes effect."""
    with explored(tmp_path, protocol, 3, 2) as shown:
        for _ in range(12):
            arrivals = shown.locator("#moves button", has_not_text="send")
            moves = arrivals if arrivals.count() else shown.locator("#moves button")
            if not moves.count():
                break
            moves.first.click()
        log = download(shown, "shiviz", tmp_path)
        the_test_in(download(shown, "test", tmp_path))()
    answer = crownless("classify", str(log), *NAMED_MESSAGES, "--json")
    assert answer.code in (0, 1), answer.err
    assert answer.json["messages"] == 2
