"""`crownless.testing`: a user's class is checked against an order, in few lines; what is wrong is shrunk and drawn."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from doc_pages import PLUGIN
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test
from relays import Numbers, Relay

import crownless as cr
from crownless.impl.channels import CHANNELS
from crownless.impl.free_message import FreeMessage
from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.runs.runs import Run
from crownless.oracle.conformance.node import name_for_nodes
from crownless.runtime.errors import Undecided
from crownless.spec.computation import Computation
from crownless.spec.notation import Script, of_computation, parse, to_computation
from crownless.testing import computations, programs, schedules, stateful

pytest_plugins = ["pytester"]

QUICK = settings(
    max_examples=300,
    stateful_step_count=20,
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
#: The same without shrinking.
FEW = settings(QUICK, max_examples=10, phases=[Phase.generate])


#: The names of the first messages of the channels of three processes.
FIRST = {name_for_nodes(FreeMessage(p, (q,), 1)) for p in range(3) for q in range(3)}


class Drops(Relay):
    """Delivers nothing but the first message of a channel."""

    def on_packet(self, source: int, packet: Any) -> None:
        if packet in FIRST:
            self.deliver(packet)


def failure(subject: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as error:
        run_state_machine_as_test(stateful(subject, **options), settings=QUICK)
    return str(error.value)


TestNumberedKeepsFifoOrder = stateful(Numbers, orders="fifo", walks=100).TestCase
TestRstKeepsCausalOrder = stateful(Rst, walks=100).TestCase
TestNumberedKeepsFifoOrder.settings = TestRstKeepsCausalOrder.settings = QUICK


def test_a_broken_node_is_shrunk_to_its_smallest_run() -> None:
    said = failure(Relay, orders="fifo")
    assert "P2 receives m2 and not m1, which was sent earlier" in said
    assert [line.strip() for line in said.splitlines() if re.match(r" *\d+\.", line)] == [
        "1. P1: send m1 to P2",
        "2. P1: send m2 to P2",
        "3. P2: deliver m2 from P1",
    ]


def by_walks(subject: Any, **options: Any) -> list[str]:
    """The actions of the run with which the test case fails."""
    with pytest.raises(AssertionError, match="random walks") as error:
        stateful(subject, **options).TestCase("runTest").runTest()
    return [line.strip() for line in str(error.value).splitlines() if re.match(r" *\d+\.", line)]


class InOrderAlone(FifoSequence):
    promises = "causal"


@pytest.mark.parametrize(("subject", "actions"), [(Numbers, 5), (InOrderAlone, 5)])
def test_a_fifo_layer_is_not_causal_and_random_walks_show_a_shortest_run(subject: Any, actions: int) -> None:
    assert len(by_walks(subject, orders="causal")) == actions


def test_random_walks_show_two_messages_of_which_one_is_lost() -> None:
    sends = [line for line in by_walks(Drops, orders="fifo") if "send" in line]
    assert len(sends) == 2


def test_a_walk_that_fails_is_shrunk() -> None:
    assert len(by_walks(Relay, orders="fifo", processes=(3, 3), messages=8, walks=20)) == 3


class Broadcasts(Relay):
    sends = "broadcast"


class BroadcastsAsAProtocol(Unordered):
    sends = "broadcast"


@pytest.mark.parametrize("subject", [Broadcasts, BroadcastsAsAProtocol])
def test_a_class_that_says_broadcast_is_given_broadcasts(subject: Any) -> None:
    sends = [line for line in by_walks(subject, orders="fifo", processes=(3, 3), messages=2) if "send" in line]
    assert len(sends) == 2
    assert all(re.search(r"send m\d to P\d, P\d$", line) for line in sends), sends


@pytest.mark.parametrize("subject", [Broadcasts, BroadcastsAsAProtocol])
def test_the_test_says_what_is_sent_in_place_of_the_class(subject: Any) -> None:
    asked = {"orders": "fifo", "processes": (2, 2), "messages": 2}
    sends = [line for line in by_walks(subject, sends="broadcast-to-all", **asked) if "send" in line]
    assert len(sends) == 2
    assert all(line.endswith("to P1, P2") for line in sends), sends


def test_a_class_or_a_test_that_says_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(cr.BadInput, match="did you mean 'broadcast'"):
        stateful(type("Misspelt", (Broadcasts,), {"sends": "brodcast"}))
    with pytest.raises(cr.BadInput, match="did you mean 'broadcast'"):
        stateful(Broadcasts, sends="brodcast")  # type: ignore[arg-type]


class Raises(Relay):
    def on_packet(self, source: int, packet: Any) -> None:
        if packet == "1-2.2":
            list[int]()[source]
        super().on_packet(source, packet)


class DeliversAgain(Relay):
    def on_packet(self, source: int, packet: Any) -> None:
        super().on_packet(source, packet)
        super().on_packet(source, packet)


class DeliversElsewhere(Relay):
    def on_send(self, to: int, message: str) -> None:
        self.transmit(1 - to, message)


class Guarded(Unordered):
    def deliverable(self, i: int, state: Any, packet: Any) -> Any:
        return 1 // packet.source if i == 1 else True


@pytest.mark.parametrize("walks", [50, 0])
@pytest.mark.parametrize(
    ("subject", "problem", "actions"),
    [
        (Raises, "P#: Raises.on_packet(#, '1-2.2') (HERE): IndexError: ", "send send receive"),
        (DeliversAgain, "P# delivers m1 a second time", "send deliver"),
        (DeliversElsewhere, "P#: delivers 1-2.1, which is for P#", None),
        (
            Guarded,
            "Guarded.deliverable fails at P#: ZeroDivisionError: integer division or modulo by zero (HERE), ",
            "send",
        ),
    ],
)
def test_what_goes_wrong_in_a_node_is_reported_with_its_place_and_the_run(
    subject: Any, problem: str, actions: str | None, walks: int
) -> None:
    machine = stateful(subject, orders="asynchronous", processes=(2, 2), messages=2, walks=walks)
    machine.TestCase.settings = QUICK
    with pytest.raises(AssertionError) as error:
        machine.TestCase("runTest").runTest()
    said = re.sub(r"\bP\d", "P#", re.sub(r"[^\s(]*test_testing\.py:\d+", "HERE", str(error.value)))
    said = re.sub(r"(on_send|on_packet)\(\d,", r"\1(#,", said)
    assert said.startswith(problem)
    if actions:
        shown = re.findall(r"\d+\. P#: (\w+)", said)
        assert shown == actions.split() or (not walks and shown[-1] == actions.split()[-1])


@pytest.mark.slow
def test_a_message_that_is_never_delivered_is_reported_unless_that_is_allowed() -> None:
    assert "never delivered: m2 at P2" in failure(Drops, orders="fifo")
    run_state_machine_as_test(stateful(Drops, orders="fifo", delivers_all=False, walks=100), settings=QUICK)


class Sleepy(Relay):
    async def on_packet(self, source: int, packet: Any) -> None:
        await asyncio.sleep(0.01)
        self.deliver(packet)


class Silent(Relay):
    def on_packet(self, source: int, packet: Any) -> None:
        """Delivers nothing."""


class SilentProtocol(Unordered):
    def on_packet(self, i: int, state: Any, packet: Any) -> Any:
        return [cr.Step(state)]


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (Sleepy, r"Sleepy: unknown: a timer is pending: Sleepy\.on_packet \("),
        (Silent, "Silent: unknown: no message is ever delivered"),
        (SilentProtocol, "SilentProtocol: unknown: no message is ever delivered"),
    ],
)
def test_a_test_that_decides_nothing_does_not_pass(subject: Any, said: str) -> None:
    machine = stateful(subject, orders="fifo", delivers_all=False, walks=20, messages=3)
    machine.TestCase.settings = FEW
    with pytest.raises(Undecided, match=said):
        machine.TestCase("runTest").runTest()


def test_a_message_that_waits_for_a_timer_is_not_reported_as_never_delivered() -> None:
    with pytest.raises(Undecided, match="a timer is pending"):
        run_state_machine_as_test(stateful(Sleepy, orders="fifo", processes=(2, 2)), settings=FEW)


def test_a_protocol_is_held_to_what_it_promises_over_the_channel_it_needs() -> None:
    stateful(FifoSequence, walks=100).TestCase("runTest").runTest()
    assert stateful(FifoSequence).__name__ == "FifoSequenceKeepsFifo"


class NumbersPromisesMore(Numbers):
    promises = ("fifo", "causal")


def test_nodes_are_held_to_the_order_that_is_named_alone() -> None:
    stateful(NumbersPromisesMore, orders="fifo", delivers_all=False, walks=100).TestCase("runTest").runTest()
    with pytest.raises(AssertionError, match="causal: violated"):
        stateful(NumbersPromisesMore, delivers_all=False, walks=100).TestCase("runTest").runTest()


class Deaf:
    def on_send(self, to: int, message: str) -> None:
        pass


@pytest.mark.parametrize(
    ("subject", "options", "said"),
    [
        (
            Numbers(0, 2, print, print),
            {},
            "a Numbers cannot be driven: it is not a class; give the class, not an object",
        ),
        ("rst", {}, "'rst' cannot be driven: it is not a class; give the class, not an object"),
        (Deaf, {}, "Deaf cannot be driven; give it on_send and on_packet, or derive it from crownless.Protocol"),
        (
            Numbers,
            {"channel": "loosy"},
            f"unknown channel 'loosy'; did you mean 'lossy'? known: {', '.join(CHANNELS)}",
        ),
        (Numbers, {"processes": 3}, "`processes` 3: not two numbers; such as processes=(2, 3): at least 2, at most 3"),
        (Numbers, {"processes": (1, 3)}, "`processes[0]` 1: too small; give 2 to 16"),
        (Numbers, {"processes": (2, "3")}, "`processes[1]` '3': not a whole number; give 2 to 16"),
        (Numbers, {"processes": (3, 2)}, "`processes` (3, 2): the least is more than the most; give the smaller first"),
        (Numbers, {"messages": 0}, "`messages` 0: too small; give 1 to 64"),
        (Numbers, {"walks": -1}, "`walks` -1: too small; give 0 or more"),
        (Numbers, {"walks": 1.5}, "`walks` 1.5: not a whole number; give 0 or more"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_at_once(subject: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(cr.BadInput) as problem:
        stateful(subject, **options)
    assert str(problem.value) == said


# -- strategies --------------------------------------------------------------------------------------------------------


@given(computations(receivers=2, internal=True))
def test_computations_are_valid_and_can_be_written_down(c: Computation) -> None:
    assert 2 <= len(c.processes) <= 4
    assert len(c.messages) <= 6
    assert to_computation(parse(of_computation(c).print())).lines is not None


@given(computations(complete=True))
def test_complete_computations_are_complete(c: Computation) -> None:
    assert c.complete
    assert all(message.sender != message.receiver for message in c.messages)


@given(programs(receivers=2))
def test_programs_can_be_read_back(script: Script) -> None:
    assert parse(script.print()) == script


@given(schedules("buffer", messages=3))
def test_schedules_are_runs_of_the_protocol(run: Run) -> None:
    assert len(run) <= 25
    assert {action.action for action in run.actions} <= {"send", "post", "deliver", "receive message", "receive ack"}


# -- the plugin --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("assert cr.check('unordered', 2, 2, orders=['fifo'])", "3. P2: deliver m2 from P1"),
        ("result = cr.check('unordered', 2, 2)\n    assert result.holds", "3. P2: deliver m2 from P1"),
        ("assert cr.classify(SWAPPED)['fifo']", "P1 sends x → P1 sends y"),
        ("assert cr.classify(SWAPPED)['fifo'].kept", "P1 sends x → P1 sends y"),
    ],
)
def test_a_failed_assertion_prints_the_shortest_violating_run(pytester: pytest.Pytester, body: str, shown: str) -> None:
    pytester.makepyfile(
        "import crownless as cr\n"
        "SWAPPED = 'P1: send x to P2; send y to P2\\nP2: receive y; receive x'\n\n"
        f"def test_it():\n    {body}\n"
    )
    result = pytester.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    assert shown in result.stdout.str()
    assert result.stdout.str().count(shown) == 1


def test_a_suite_without_crownless_pays_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\n\ndef test_it():\n    assert 'crownless.model_check' not in sys.modules\n")
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)
