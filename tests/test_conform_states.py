"""States that nodes offer, restarts, and packets that may differ in part."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from hostile_classes import Relay
from hostile_nodes import program
from test_conform import of_protocol

import crownless as cr
from crownless.spec.errors import BadInput

NODES = Path(__file__).parent.parent / "examples" / "nodes" / "python"


class ByValue(of_protocol("rst")):  # type: ignore[misc]
    """Compares its nodes by what they know."""

    def known(self) -> Any:
        return self.state, tuple(self.waiting)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByValue) and self.known() == other.known()

    def __hash__(self) -> int:
        return hash(self.known())


class KnowsHalf(ByValue):
    def known(self) -> Any:
        return (self.state,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnowsHalf) and self.known() == other.known()

    __hash__ = ByValue.__hash__


def test_nodes_that_are_compared_by_value_have_fewer_states_and_the_same_verdicts() -> None:
    by_history, by_value = (cr.conform(kind, 3, 3) for kind in (of_protocol("rst"), ByValue))
    assert by_value.realization is not None
    assert by_value.realization.computations == 278
    assert by_value.searches[0].result.exploration.states < by_history.searches[0].result.exploration.states
    assert by_value.named == by_history.named == ["causal"]
    for name in ("fifo", "causal", "mailbox", "synchronous", "delivers-all"):
        assert by_value[name].verdict == by_history[name].verdict
        runs = [found[name].run for found in (by_value, by_history)]
        assert len({None if run is None else len(run) for run in runs}) == 1


def test_a_comparison_that_leaves_something_out_is_noticed() -> None:
    found = cr.conform(KnowsHalf, 3, 3)
    assert [one.name for one in found.failures] == ["not-deterministic"]
    assert "its state does not say all" in found["not-deterministic"].note


class Hides(Relay):
    """Its packets have numbers until time passes after a send; that it has is no part of its value."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        super().__init__(process, processes, transmit, deliver)
        self.sent, self.expected, self.late = 0, 0, False
        self.held: dict[int, str] = {}

    def on_tick(self) -> None:
        self.late |= self.sent > 0

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, (None if self.late else self.sent, message))
        self.sent += 1

    def on_packet(self, source: int, packet: Any) -> None:
        number, message = packet
        if number is None:
            self.deliver(message)
            return
        self.held[number] = message
        while self.expected in self.held:
            self.deliver(self.held.pop(self.expected))
            self.expected += 1


class HidesInItsValue(Hides):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, HidesInItsValue) and hash(self) == hash(other)

    def __hash__(self) -> int:
        return hash((self.sent, self.expected, *self.held.items()))


def test_what_a_value_leaves_out_is_noticed_where_it_was_set_after_the_first_time() -> None:
    assert cr.conform(Hides, 2, 3, orders=["fifo"], ticks=1)["fifo"].verdict == "violated"
    assert [one.name for one in cr.conform(HidesInItsValue, 2, 3, ticks=1).failures] == ["not-deterministic"]


class CannotCompare(Relay):
    """Whatever a comparison raises, the verdict is that of nodes which are not compared."""

    raised: BaseException = RuntimeError()

    def __eq__(self, other: object) -> bool:
        raise self.raised

    def __hash__(self) -> int:
        return 1


class NeverCompared(Relay):
    def __eq__(self, other: object) -> bool:
        while True:
            pass

    def __hash__(self) -> int:
        return 1


def test_nodes_whose_comparison_hangs_are_not_compared() -> None:
    assert cr.conform(NeverCompared, 2, 2, timeout=0.2)["fifo"].verdict == "violated"


@pytest.mark.parametrize("raised", [RuntimeError(), SystemExit(0)], ids=["an error", "an exit"])
def test_nodes_that_cannot_be_compared_are_not(raised: BaseException) -> None:
    kind = type("CannotCompare", (CannotCompare,), {"raised": raised})
    assert cr.conform(kind, 2, 2)["fifo"].verdict == "violated"


#: A program that counts what it has sent, and numbers its packets; it delivers them in that order.
NUMBERS = """
sent, next_, held = [0] * 9, [0] * 9, {}
def on_init():
    global sent, next_, held
    sent, next_, held = [0] * n, [0] * n, {}
def on_send(to, message):
    say('packet', to, f"{sent[int(to)]}:{message}")
    sent[int(to)] += 1
def on_packet(source, body):
    number, message = body.split(':')
    held[source, int(number)] = message
    while (source, next_[source]) in held:
        say('deliver', held.pop((source, next_[source])))
        next_[source] += 1
"""
OFFERS = """
def state():
    return repr(({}, sorted(held.items()))).replace(' ', '')
def load(text):
    global sent, next_, held
    (sent, next_), held = eval(text)
    held = dict(held)
"""


@pytest.mark.parametrize(
    ("offers", "verdict"),
    [("(sent,next_)", "holds"), ("(sent,[min(k,1)for(k)in(next_)])", "violated")],
    ids=["says all", "forgets a number"],
)
def test_a_program_offers_its_state(tmp_path: Path, offers: str, verdict: str) -> None:
    plain = cr.conform(program(tmp_path, NUMBERS), 2, 3, orders=["fifo"], replies=0)
    command = program(tmp_path, NUMBERS + OFFERS.replace("{}", offers))
    offering = cr.conform(command, 2, 3, orders=["fifo"], replies=0)
    assert plain.verdict == "holds"
    assert offering.verdict == verdict
    if verdict == "holds":
        assert offering.searches[0].result.exploration.states < plain.searches[0].result.exploration.states
        assert offering.realization is not None
        assert plain.realization is not None
        assert offering.realization.computations == plain.realization.computations
    else:
        assert [one.name for one in offering.failures] == ["not-deterministic"]
        assert "its state does not say all" in offering["not-deterministic"].note


def test_a_violation_of_nodes_with_states_is_confirmed_by_all_inputs(tmp_path: Path) -> None:
    wrong = NUMBERS.replace("while (source, next_[source]) in held:", "if (source, next_[source]) in held:")
    found = cr.conform(program(tmp_path, wrong + OFFERS.replace("{}", "(sent,next_)")), 2, 3, replies=0)
    assert found["delivers-all"].verdict == "violated"
    assert found.unconfirmed is None


# -- restarts ----------------------------------------------------------------------------------------------------------


class New(Relay):
    """Numbers its packets. Its class knows of no restarts: a new object takes the place."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        super().__init__(process, processes, transmit, deliver)
        self.sent, self.expected, self.held = [0] * processes, [0] * processes, dict[Any, str]()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, (self.sent[to], message))
        self.sent[to] += 1

    def on_packet(self, source: int, packet: Any) -> None:
        number, message = packet
        self.held[source, number] = message
        while (source, self.expected[source]) in self.held:
            self.deliver(self.held.pop((source, self.expected[source])))
            self.expected[source] += 1


class Keeps(New):
    """The numbers are on disk."""

    def on_restart(self) -> None:
        pass


class Forgets(New):
    def on_restart(self) -> None:
        self.sent, self.expected, self.held = [0] * len(self.sent), [0] * len(self.sent), {}


@pytest.mark.parametrize("kind", [Keeps, Forgets, New])
def test_without_restarts_all_keep_fifo_order(kind: type) -> None:
    assert cr.conform(kind, 2, 2, orders=["fifo"])


def test_a_node_that_keeps_its_numbers_outlives_a_restart() -> None:
    found = cr.conform(Keeps, 2, 2, orders=["fifo"], restarts=1)
    assert found.verdict == "holds"
    assert "up to 1 restart at each process" in found.scope


@pytest.mark.parametrize("kind", [Forgets, New])
def test_one_that_forgets_them_does_not(kind: type) -> None:
    found = cr.conform(kind, 2, 2, orders=["fifo"], restarts=1)
    assert found.verdict == "violated"
    run = found["delivers-all"].run
    assert run is not None
    assert "restart" in [action.action for action in run.actions]
    assert cr.conform_at_random(kind, 2, 4, runs=40, restarts=1)["delivers-all"].verdict == "violated"


def test_a_restart_is_saved_and_replayed(crownless: Crownless, tmp_path: Path) -> None:
    file, node = str(tmp_path / "schedule.json"), "tests/test_conform_states.py:Forgets"
    assert crownless("conform", node, "-n", "2", "-m", "2", "--restarts", "1", "--save", file).code == 1
    assert '"restart"' in Path(file).read_text("utf-8")
    assert crownless("conform", node, "--replay", file).code == 1
    assert crownless("conform", node.replace("Forgets", "Keeps"), "--replay", file).code == 0


@pytest.mark.parametrize(
    ("more", "verdict"),
    [("def on_restart(): pass", "holds"), ("def on_restart(): on_init()", "violated")],
    ids=["keeps", "forgets"],
)
def test_a_program_restarts(tmp_path: Path, more: str, verdict: str) -> None:
    assert (
        cr.conform(program(tmp_path, NUMBERS + more), 2, 2, orders=["fifo"], replies=0, restarts=1).verdict == verdict
    )


# -- what makes no difference ------------------------------------------------------------------------------------------


class Stamped(Relay):
    """Packets have a number that is never the same."""

    numbers = itertools.count()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, {"message": message, "number": next(Stamped.numbers)})

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet["message"])


def test_parts_of_packets_may_differ_from_time_to_time() -> None:
    assert [one.name for one in cr.conform(Stamped, 2, 2).failures] == ["not-deterministic"]
    found = cr.conform(Stamped, 2, 2, ignore=r"'number': \d+")
    assert found.verdict == "holds"
    assert found.realization is not None
    assert found.realization.computations == 7


def test_parts_of_a_programs_packets_may_differ(crownless: Crownless, tmp_path: Path) -> None:
    stamped = "import random\ndef on_send(to, message): say('packet', to, f'{random.random()} {message}')\n"
    command = program(tmp_path, stamped + "def on_packet(source, body): say('deliver', body.split()[1])\n")
    assert [one.name for one in cr.conform(command, 2, 2, replies=0).failures] == ["not-deterministic"]
    assert cr.conform(command, 2, 2, replies=0, ignore=r"^0\.\d+(e-\d+)? ").verdict == "holds"
    arguments = ["conform", "-n", "2", "-m", "2", "--replies", "0", "--ignore", r"^\d\S+ ", "--", *command]
    assert crownless(*arguments).code == 0


def test_what_is_no_regular_expression_is_refused(crownless: Crownless) -> None:
    answer = crownless("conform", f"{NODES / 'causal.py'}:Matrix", "--ignore", "(")
    assert answer.code == 2
    assert "no regular expression" in answer.err
    with pytest.raises(BadInput, match=re.escape("no regular expression")):
        cr.conform(Relay, ignore="[")
