"""`crownless conform`: the order of its searches, limits and progress, what is counted, and nodes that end Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Capture, Crownless
from hostile_classes import Relay

import crownless as cr
from crownless.command_line import output
from crownless.command_line.output import PrintedProgress
from crownless.model_check.conformance import conforming
from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.in_process import InProcess
from crownless.model_check.conformance.node import Answer, History, Input
from crownless.model_check.conformance.same_orders import same_orders
from crownless.runtime.ending import Limits
from crownless.spec.orders import ORDERS

CAUSAL = str(Path(__file__).parent.parent / "examples" / "nodes" / "python" / "causal.py")


@pytest.fixture
def crownless(capsys: Capture) -> Crownless:
    return Crownless(capsys)


# -- what is counted ---------------------------------------------------------------------------------------------------

RENDEZVOUS = """
class Rendezvous:
    '''Delivers nothing before its own message is acknowledged: two that send to each other wait for ever.'''

    def __init__(self, process, processes, transmit, deliver):
        self.transmit, self.deliver, self.waiting = transmit, deliver, []

    def on_send(self, to, message):
        self.waiting.append((to, message))
        if len(self.waiting) == 1:
            self.transmit(to, message)

    def on_packet(self, source, packet):
        if packet == "ack":
            self.waiting.pop(0)
            if self.waiting:
                self.transmit(*self.waiting[0])
        elif not self.waiting:
            self.deliver(packet)
            self.transmit(source, "ack")
"""


def test_an_order_that_is_broken_by_runs_that_cannot_be_completed_is_said_to_be(
    crownless: Crownless, tmp_path: Path
) -> None:
    (tmp_path / "rendezvous_node.py").write_text(RENDEZVOUS)
    answer = crownless("conform", f"{tmp_path}/rendezvous_node.py:Rendezvous", "-n", "2", "-m", "2", "--quiet")
    assert "synchronous  broken" in answer.out
    assert "generates 4 complete computations (2 messages, all delivered), exactly those of synchronous" in answer.out
    assert "runs that cannot be completed, which are not counted, break synchronous" in answer.out


def test_an_order_that_replies_alone_break_is_said_to_be(crownless: Crownless) -> None:
    answer = crownless("conform", f"{CAUSAL}:ClockAfterCallback", "--order", "causal", "--quiet")
    assert "(3 messages, all delivered), exactly those of causal order" in answer.out
    assert "replies from inside deliveries, which are not counted, break causal" in answer.out


def test_asynchronous_order_may_be_named_too(crownless: Crownless) -> None:
    answer = crownless("conform", f"{CAUSAL}:OwnColumn", "-n", "2", "-m", "2", "--order", "asynchronous", "--quiet")
    assert answer.code == 0
    assert "complete computations (2 messages, all delivered)" in answer.out


# -- orders that the bound does not distinguish ------------------------------------------------------------------------


def test_an_order_that_is_the_same_as_a_weaker_one_within_the_bound_is_named_with_a_larger_bound(
    crownless: Crownless,
) -> None:
    node = f"{CAUSAL}:Matrix"
    answer = crownless("conform", node, "-n", "2", "-m", "2", "--replies", "0", "--order", "causal", "--quiet")
    assert "within this bound causal is the same as fifo order; -n 3 -m 3 distinguishes them" in answer.out
    answer = crownless("conform", node, "-n", "2", "-m", "2", "--replies", "0", "--order", "causal", "--json")
    assert answer.json["same_orders"] == [{"order": "causal", "weaker": ["fifo"], "processes": 3, "messages": 3}]
    answer = crownless("conform", node, "-n", "2", "-m", "2", "--replies", "0", "--order", "fifo", "--quiet")
    assert "is the same as" not in answer.out


class ToAll(Relay):
    """A relay of broadcasts."""

    def on_send(self, to: Any, message: str) -> None:
        for q in to:
            self.transmit(q, message)


@pytest.mark.parametrize(
    ("kind", "sends", "messages"),
    [(Relay, "unicast", 2), (Relay, "unicast", 3), (ToAll, "broadcast", 2)],
)
def test_the_larger_bound_distinguishes_the_orders(kind: type, sends: Any, messages: int) -> None:
    found = cr.conform(kind, 3, messages, replies=0, sends=sends).realization
    assert found is not None
    same = {order: one for order in ORDERS if (one := same_orders(found, order)) is not None}
    expected = {
        ("unicast", 2): {"causal": (3, 3), "mailbox": (4, 4), "one-n": (4, 4), "n-n": (3, 4)},
        ("unicast", 3): {"mailbox": (4, 4), "one-n": (4, 4), "n-n": (3, 4)},
        ("broadcast", 2): {"mailbox": (3, 3), "one-n": (3, 3), "n-n": (3, 4)},
    }
    assert {order: (one.processes, one.messages) for order, one in same.items()} == expected[sends, messages]


# -- free sends first --------------------------------------------------------------------------------------------------


def test_free_sends_are_judged_before_replies_and_their_verdict_is_printed_first(crownless: Crownless) -> None:
    node = f"{CAUSAL}:ClockAfterCallback"
    answer = crownless("conform", node, "--order", "causal")
    kept = "keeps causal order within the bound, and delivers everything"
    assert answer.err.startswith(f"crownless: with free sends, {node} {kept}; still searching…\n")
    assert "replies from inside deliveries, up to 3 messages: break causal" in answer.out
    assert answer.out.endswith(f"{node} breaks causal\n")
    assert answer.code == 1


def test_when_the_verdict_on_free_sends_is_known_nothing_else_is_searched() -> None:
    searched: list[str] = []
    known: list[set[str]] = []

    def on_verdict(answer: Conformance) -> None:
        known.append({one.name for one in answer.searches})
        assert searched[-1] == "answers repeated by new nodes"

    found = conform(
        InProcess(Relay, 2),
        Request(2, 2),
        on_input=lambda search, inputs: searched.append(search),
        on_verdict=on_verdict,
    )
    assert known == [{"free sends"}]
    assert {one.name for one in found.searches} == {"free sends", "replies from inside deliveries"}


def test_replies_are_not_searched_where_free_sends_break_what_is_promised(crownless: Crownless) -> None:
    node = f"{CAUSAL}:OwnColumn"
    answer = crownless("conform", node, "--order", "causal", "--quiet")
    assert answer.code == 1
    assert "replies from inside deliveries were not searched: free sends break causal" in answer.out
    assert "replies from inside deliveries: up to" not in answer.out


# -- limits and progress -----------------------------------------------------------------------------------------------


class Counted(InProcess):
    """Nodes that count the inputs that they are given."""

    given = 0

    def answer(self, process: int, history: History, given: Input) -> Answer:
        self.given += 1
        return super().answer(process, history, given)

    def answer_anew(self, process: int, history: History, given: Input) -> Answer:
        self.given += 1
        return super().answer_anew(process, history, given)


class Clock:
    """A clock that goes on by a second with each input."""

    def __init__(self, nodes: Counted) -> None:
        self.nodes = nodes

    def monotonic(self) -> float:
        return float(self.nodes.given)


def test_a_limit_is_looked_at_before_each_input(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Counted(Relay, 3)
    monkeypatch.setattr(conforming, "time", Clock(nodes))
    found = conform(nodes, Request(3, 3, replies=0), Limits(seconds=5))
    assert found.ended_early == "5 seconds are over"
    assert found.verdict == "unknown"
    assert nodes.given == 6


def test_seconds_of_earlier_searches_count() -> None:
    limits = Limits(seconds=5).after(3)
    assert limits.reached(1) is None
    assert limits.reached(2.5) == limits.after(1).reached(1.5) == "5 seconds are over"


def test_progress_is_printed_after_five_seconds_and_ever_less_often(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter([0.0, 1.0, 4.9, 5.0, 6.0, 9.9, 10.0, 19.0, 21.0])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(output, "PRINTED_AFTER", 5.0)
        progress = PrintedProgress(lambda: next(seconds))
    for number in range(8):
        progress.update(f"search {number}")
    assert capsys.readouterr().err.splitlines() == [
        "crownless: search 2, 5 s",
        "crownless: search 5, 10 s",
        "crownless: search 7, 21 s",
    ]


def test_progress_is_printed_where_standard_error_is_no_terminal(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PRINTED_AFTER", 0.0)
    command = ["conform", f"{CAUSAL}:Matrix", "-n", "2", "-m", "2", "--replies", "0"]
    assert f"crownless: {CAUSAL}:Matrix: one message, 0 different inputs, 0 s\n" in crownless(*command).err
    assert crownless(*command, "--quiet").err == ""


# -- nodes that end Python ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "said"),
    [("os._exit(0)", "SystemExit: it called os._exit(0)"), ("raise KeyboardInterrupt", "KeyboardInterrupt")],
)
@pytest.mark.parametrize("options", [[], ["--random", "10"]])
def test_a_node_that_ends_the_interpreter_fails(how: str, said: str, options: list[str], tmp_path: Path) -> None:
    node = RENDEZVOUS.replace("if packet ==", f"{how}\n        if packet ==")
    (tmp_path / "node.py").write_text(f"import os\n{node}")
    command = [sys.executable, "-m", "crownless", "conform", f"{tmp_path}/node.py:Rendezvous", "-n", "2", "-m", "2"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    printed = " ".join(done.stdout.split())
    assert said in printed
    assert printed.endswith("node.py:Rendezvous breaks node-fails")


class Forks(Relay):
    """Has another process end at once, as programs do that fork."""

    def on_packet(self, source: int, packet: Any) -> None:
        import os

        if not (child := os.fork()):
            os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        super().on_packet(source, packet)


def test_a_process_that_a_node_forks_ends_as_it_says() -> None:
    assert cr.conform(Forks, 2, 1, replies=0).failures == []
