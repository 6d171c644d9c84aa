"""`crownless explore`: its subjects, its refusals, and pages that are served."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import needs_chromium, one_browser, opened  # noqa: F401
from command_line_runner import Crownless
from explorer_pages import CAUSAL, effect, violated_by

import crownless as cr
from crownless.model_check.system.request import Check
from crownless.run_explorer.server import ExplorerServer
from crownless.run_explorer.subjects import of_check


def test_the_failures_of_nodes_are_on_the_page(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "node.py"
    file.write_text(
        "class Node:\n"
        "    def __init__(self, process, processes, transmit, deliver):\n"
        "        self.transmit = transmit\n"
        "    def on_send(self, to, message):\n"
        "        self.transmit(to, message)\n"
        "    def on_packet(self, source, packet):\n"
        "        print(1 / 0)\n"
    )
    space = crownless("explore", f"{file}", "-n", "2", "-m", "1", "--json").json["space"]
    violated = [effect(space, number) for flat in space["moves"] for number in flat[2::3]]
    assert sum("node-fails" in names for names in violated) == 2


def test_a_saved_run_a_computation_and_a_protocol_are_explored(crownless: Crownless, tmp_path: Path) -> None:
    saved, page = tmp_path / "runs.json", tmp_path / "page.html"
    saved.write_text(crownless("check", "unordered", "-n", "2", "-m", "2", "--json").out, "utf-8")
    for subject in ([str(saved)], ["mf-fig8"], ["rst", "-n", "2", "-m", "2"]):
        answer = crownless("explore", *subject, "--html", str(page))
        assert (answer.code, answer.out) == (0, ""), answer.err
        assert answer.err.endswith("open it in a browser\n")
        assert page.read_text("utf-8").startswith("<!doctype html>")
    start = crownless("explore", str(saved), "--json").json["space"]["start"]
    assert len(start) == 3


def test_a_run_of_a_protocol_of_ones_own_is_explored_where_the_protocol_is_named(
    crownless: Crownless, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from crownless.impl.protocols.unordered import Unordered\n\nclass Mine(Unordered):\n    promises = 'causal'\n"
    )
    Path("runs.json").write_text(crownless("check", "mine.py:Mine", "-n", "2", "-m", "2", "--json").out)
    refused = crownless("explore", "runs.json", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "crownless explore mine.py:Mine --replay FILE" in refused.err
    space = crownless("explore", "mine.py:Mine", "--replay", "runs.json", "--json").json["space"]
    assert {"fifo", "causal"} <= violated_by(space, space["start"])


def test_runs_of_implementations_are_explored_without_their_code(crownless: Crownless, tmp_path: Path) -> None:
    saved, schedule = tmp_path / "found.json", tmp_path / "schedule.json"
    node = f"{CAUSAL}:OwnColumn"
    found = crownless("conform", node, "--order", "causal", "--json", "--save", str(schedule))
    saved.write_text(found.out, "utf-8")
    for file in (saved, schedule):
        space = crownless("explore", str(file), "--json").json["space"]
        assert "causal" in violated_by(space, space["start"])
    program = ["--", sys.executable, str(Path(CAUSAL).parent / "adapter.py"), "causal.py:OwnColumn"]
    spaces = [
        crownless("explore", "--replay", str(schedule), "--json", *nodes).json["space"] for nodes in ([node], program)
    ]
    assert [(len(space["start"]), len(space["moves"])) for space in spaces] == [(5, len(spaces[0]["moves"]))] * 2
    assert crownless("explore", "counterexample-mf5", "--json").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("rst", "no output is chosen for the page; add --html page.html, or --serve"),
        ("mf-fig8 -n 3 --html x.html", "--processes: a computation has its own processes and messages; leave it out"),
        ("rst --program kuper-program -n 3 --html x.html", "a program has its own processes and messages"),
        ("gone.txt --html x.html", "gone.txt: cannot read it: No such file or directory"),
        ("nosuch --html x.html", "unknown protocol 'nosuch'"),
        ("rst -n 0 --html x.html", "-n/--processes 0"),
        ("--html x.html", "there is nothing to explore; give a protocol, a class such as node.py:MyNode, a command"),
        ("rst --replay gone.json --html x.html", "gone.json: cannot read it: No such file or directory"),
        ("mf-fig8 --replay gone.json --html x.html", "--replay: mf-fig8 is neither a protocol nor a node class"),
        ("rst --replay gone.json --run friday --html x.html", "--run works only with an event log; leave it out"),
        ("counterexample-mf5 --run friday --html x.html", "--run works only with an event log; leave it out"),
        ("rst --replay gone.json -n 3 --html x.html", "--processes: the saved run has its own check; leave it"),
        ("rst --html x.html -- ./their-node", "'rst' and a command are given"),
        (f"{CAUSAL}:Matrix --crash P1 --html x.html", "--crash: works only with a protocol; leave it out"),
        (f"{CAUSAL}:Matrix -n 1 --html x.html", "1 process has no other process to send to"),
        (f"{CAUSAL}:Matrix --replay s.json -m 2 --html x.html", "--messages: the schedule has its own; leave it out"),
        (f"{CAUSAL}:Matrx --html x.html", f"did you mean 'Matrix'? its protocols and nodes: {CAUSAL}:Matrix"),
        ("rst --serve --html x.html", "--serve cannot be combined with --html or --json; leave --html and --json out"),
        ("rst -n 2 -m 2 --html /none/x.html", "--html /none/x.html: no such folder"),
    ],
)
def test_what_cannot_be_explored_is_said(crownless: Crownless, arguments: str, said: str) -> None:
    answer = crownless("explore", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_page_that_has_not_all_states_says_so(crownless: Crownless, tmp_path: Path) -> None:
    answer = crownless("explore", "rst", "--max-states", "100", "--html", str(tmp_path / "page.html"), "--quiet")
    assert answer.code == 3
    assert "the page holds the 100 states" in answer.err


@contextmanager
def served(protocol: str, n: int, m: int, **given: Any) -> Iterator[ExplorerServer]:
    with ExplorerServer(of_check(Check(protocol, n, m, **given))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@needs_chromium
def test_a_served_page_goes_on_where_its_states_end() -> None:
    with served("buffer", 4, 4) as server:
        with opened(server.address) as shown:
            begun = shown.locator("#run li").count()
            actions = begun + 15
            for done in range(begun + 1, actions + 1):
                shown.keyboard.press("1")
                shown.locator(f"#run li:nth-child({done})").wait_for()
            address = shown.url
            said = shown.locator("#run").inner_text()
        with opened(address) as shown:
            shown.locator(f"#run li:nth-child({actions})").wait_for()
            assert shown.locator("#run").inner_text() == said


@needs_chromium
def test_a_served_page_has_the_engine_search_for_the_shortest_violation() -> None:
    with served("unordered", 4, 5, channel="fifo") as server, opened(server.address) as shown:
        shown.locator("#again").click()
        shown.locator("#orders button", has_text="causal").click()
        shown.get_by_text("A shortest run that violates causal: 5 actions.").wait_for()
        assert shown.locator("#run li").count() == 5
        shown.locator("#orders button", has_text="fifo").click()
        shown.get_by_text("No run violates fifo.").wait_for()


@needs_chromium
def test_a_page_of_a_server_that_has_ended_shows_nothing_of_another() -> None:
    with served("unordered", 3, 5) as server, opened(server.address) as shown:
        server.session = "another"
        shown.evaluate("go([0, 0, 0, 0, 0]).catch(error => announce(error.message))")
        shown.get_by_text("reload it").wait_for()


def test_it_is_served_to_this_machine_alone_and_knows_its_nodes() -> None:
    with served("unordered", 2, 2) as server:

        def status(path: str, host: str | None = None, **headers: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            connection.request("GET", path, headers=headers if host is None else {"Host": host})
            return connection.getresponse().status

        assert server.address.startswith("http://127.0.0.1:")
        assert status("/") == 200
        assert status("/", "elsewhere.example") == 403
        assert status("/", Origin="http://elsewhere.example") == 403
        assert status("/", Origin=server.address.rstrip("/")) == 200
        session = f"session={server.session}"
        assert status(f"/more?node=1&steps=0&{session}") == 200
        queries = ("", "node=-1", "node=x", "node=999999")
        assert {status(f"/more?{query}&{session}") for query in queries} == {400}
        assert status("/etc/passwd") == 404
        with pytest.raises(cr.BadInput, match=f"port {server.server_port}: Address already in use"):
            ExplorerServer(server.explored, server.server_port)


def test_serving_ends_with_an_interrupt() -> None:
    command = [sys.executable, "-m", "crownless", "explore", "unordered", "-n", "2", "-m", "2", "--serve"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        assert "Serving at" in serving.stderr.readline()
        serving.send_signal(signal.SIGINT)
        assert serving.wait(30) == 0
        assert serving.stderr.read() == ""
