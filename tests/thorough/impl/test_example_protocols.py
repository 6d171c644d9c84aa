"""The protocols of `examples/`: the right ones hold, each wrong one is caught by its property, with a shortest run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.command_line.commands.conform_report import print_conformance, shown
from crownless.impl.protocol import default_bound
from crownless.impl.protocols.unordered import Unordered
from crownless.testing import stateful

EXAMPLES = Path(__file__).parents[3] / "examples"
#: File and class of the right one; of the wrong one its class, the property that it breaks, and the actions of the run.
PAIRS = [
    ("total_order/sequencer.py", "Sequencer", "DeliversAtOnce", "total", 6),
    ("total_order/token_ring.py", "TokenRing", "KeepsNumbers", "total", 7),
]


@pytest.mark.parametrize(("file", "right", "wrong", "breaks", "actions"), PAIRS)
def test_the_right_one_holds_and_the_wrong_one_has_a_shortest_run(
    file: str, right: str, wrong: str, breaks: str, actions: int
) -> None:
    holds = cr.check(f"{EXAMPLES / file}:{right}")
    assert holds.verdict == "holds"
    assert not holds.never_exercised
    broken = cr.check(f"{EXAMPLES / file}:{wrong}", 3, 2)
    assert len(broken.violations[breaks].run or ()) == actions


@pytest.mark.parametrize(
    ("subject", "code"),
    [
        ("alternating_bit.py", 0),  # the only class of its file
        ("alternating_bit_wrong.py:IgnoresDuplicates", 1),
        ("alternating_bit_wrong.py:TakesAnyAcknowledgement", 1),
        ("total_order/sequencer.py:Sequencer", 0),
        ("total_order/token_ring.py:TokenRing", 0),
    ],
)
def test_one_command_judges_it_by_its_exit_code(crownless: Crownless, subject: str, code: int) -> None:
    assert crownless("check", str(EXAMPLES / subject), "--quiet").code == code


@pytest.mark.parametrize(("file", "right", "wrong", "breaks", "actions"), PAIRS)
def test_it_fits_on_a_screen(file: str, right: str, wrong: str, breaks: str, actions: int) -> None:
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert f"crownless check {Path(file).name}:{right} " in text
    assert f"crownless check {Path(file).name}:{wrong} " in text


def test_total_order_of_a_sequencer_is_not_fifo_order() -> None:
    found = cr.check(
        f"{EXAMPLES / 'total_order' / 'sequencer.py'}:Sequencer", 2, 2, orders=["fifo", "mailbox", "total"]
    )
    assert set(found.violations) == {"fifo", "mailbox"}
    over_fifo: dict[str, Any] = {"channel": "fifo", "orders": ["mailbox", "n-n"]}
    found = cr.check(f"{EXAMPLES / 'total_order' / 'sequencer.py'}:Sequencer", 2, 3, **over_fifo)
    assert found.verdict == "holds"


@pytest.mark.parametrize(
    ("sends", "n", "m", "note"),
    [
        ("broadcast", 3, 2, "two senders' receivers can disagree from -n 3 -m 3 or -n 4 -m 2 on"),
        ("broadcast", 3, 3, ""),
        ("broadcast-to-all", 3, 1, "two senders' receivers can disagree from -n 2 -m 2 on"),
        ("broadcast-to-all", 2, 2, ""),
    ],
)
def test_a_bound_that_leaves_no_room_for_disagreement_says_so(sends: Any, n: int, m: int, note: str) -> None:
    found = cr.check(f"{EXAMPLES / 'total_order' / 'sequencer.py'}:Sequencer", n, m, sends=sends)
    assert (found["total"].verdict, found["total"].note) == ("holds", note)


def test_with_fifo_links_receivers_disagree_from_these_bounds_on() -> None:
    fifo: dict[str, Any] = {"sends": "broadcast", "channel": "fifo", "orders": ["total"]}
    assert cr.check("unordered", 3, 2, **fifo)["total"].verdict == "holds"
    assert cr.check("unordered", 3, 3, **fifo)["total"].verdict == "violated"
    assert cr.check("unordered", 4, 2, **fifo)["total"].verdict == "violated"


class SequencerNode:
    """The same as a class of nodes; `in_turn` says whether numbers are waited for."""

    sends = "broadcast-to-all"
    in_turn = True

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.me, self.n, self.transmit, self.deliver = process, processes, transmit, deliver
        self.numbered, self.next = 0, 0
        self.held: dict[int, str] = {}

    def on_send(self, to: tuple[int, ...], message: str) -> None:
        self.transmit(0, (None, message))

    def on_packet(self, source: int, packet: Any) -> None:
        number, message = packet
        if number is None:
            for q in range(self.n):
                self.transmit(q, (self.numbered, message))
            self.numbered += 1
        elif not self.in_turn:
            self.deliver(message)
        else:
            self.held[number] = message
            while self.next in self.held:
                self.deliver(self.held.pop(self.next))
                self.next += 1


class DeliversAtOnceNode(SequencerNode):
    in_turn = False


def test_nodes_keep_total_order_or_are_shown_a_shortest_run() -> None:
    right = cr.conform(SequencerNode, 2, 2, orders=["total"], replies=0)
    assert (right.verdict, right.strongest, right["fifo"].verdict) == ("holds", ["total"], "violated")
    wrong = cr.conform(DeliversAtOnceNode, 2, 2, orders=["total"], replies=0)
    assert wrong.violated == ["total"]
    assert len(wrong["total"].run or ()) == 6
    assert "total" not in cr.conform(SequencerNode, 2, 1, sends="unicast", replies=0).json()["orders"]


def test_a_promise_in_a_word_is_held_to_and_deliveries_with_it() -> None:
    promising = type("Promising", (DeliversAtOnceNode,), {"promises": "total"})
    wrong = cr.conform(promising, 2, 2, replies=0)
    assert (wrong.request.orders, wrong.violated, wrong.verdict) == (("total",), ["total"], "violated")
    silent = type("Silent", (DeliversAtOnceNode,), {"promises": "asynchronous", "on_packet": lambda *_: None})
    assert cr.conform(silent, 2, 1, replies=0).violated == ["delivers-all"]


def test_what_is_drawn_first_is_no_order_that_nodes_with_total_order_need_not_keep(
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = cr.conform(SequencerNode, 2, 2, replies=0)
    assert (right["fifo"].verdict, shown(right)) == ("violated", [])
    assert [line.property.name for line in shown(cr.conform(DeliversAtOnceNode, 2, 2, replies=0))] == ["fifo"]
    print_conformance(cr.conform(DeliversAtOnceNode, 2, 2, replies=0), drawings=False)
    assert "to require total order: --order total" in capsys.readouterr().out
    print_conformance(right, drawings=False)
    assert "to hold it to" not in capsys.readouterr().out
    facts = {"promises": ("delivers-once",), "on_packet": lambda *_: None}
    silent = type("Silent", (DeliversAtOnceNode,), facts)
    assert shown(cr.conform(silent, 2, 1, replies=0)) == []


def test_a_class_of_broadcasts_without_a_bound_gets_a_smaller_one() -> None:
    plain: dict[str, Any] = {"send": Unordered.send, "sends": "broadcast-to-all"}
    assert default_bound(type("Sends", (Unordered,), plain)) == (3, 3)
    assert default_bound(type("Sends", (Unordered,), {**plain, "bound": (2, 5)})) == (2, 5)
    assert default_bound(Unordered) == Unordered.bound == (3, 4)
    assert cr.check(type("Sends", (Unordered,), plain)).scope.startswith("3 processes, up to 3 messages,")


def test_random_runs_decide_it_too() -> None:
    wrong = cr.conform_at_random(DeliversAtOnceNode, 3, 4, orders=["total"], runs=30)
    assert wrong.violated == ["total"]
    assert cr.conform_at_random(SequencerNode, 3, 4, orders=["total"], runs=10).verdict == "holds"


def test_a_test_case_fails_with_the_deliveries_that_disagree() -> None:
    asked: dict[str, Any] = {"orders": "total", "processes": (2, 2), "messages": 2}
    with pytest.raises(AssertionError, match=r"no common order of the messages exists"):
        stateful(DeliversAtOnceNode, **asked).TestCase("runTest").runTest()
    with pytest.raises(cr.BadInput, match="several receivers"):
        stateful(SequencerNode, orders="total", sends="unicast")


TestSequencerNodes = stateful(SequencerNode, orders="total", messages=3, walks=20).TestCase
