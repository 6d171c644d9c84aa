"""The plain explorer counts what is there, stops at its limits, and never claims more than it has seen."""

from __future__ import annotations

from typing import Any

import pytest
from overrides import changed
from plain_check import run_check

from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.variant import variant
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.system.request import Check
from crownless.runtime.ending import Limits
from crownless.spec import notation


def check_of(kind: type[ProtocolMachine], limits: Limits | None = None, **facts: Any) -> CheckResult:
    return run_check(Check(kind, **facts), limits)


def verdicts(result: CheckResult) -> dict[str, str]:
    return {known.property.name: known.verdict for known in result.properties}


def says(result: CheckResult, name: str) -> list[str]:
    """The run that is shown for a property, action by action."""
    run = result[name].run
    assert run is not None
    return [action.say() for action in run.actions]


def note(result: CheckResult, name: str) -> str:
    return result[name].note


def test_a_limit_that_is_not_exceeded_changes_nothing() -> None:
    check = Check("rst", processes=2, messages=3)
    everything = run_check(check).exploration.states
    result = run_check(check, Limits(states=everything))
    assert result.exploration.stopped is None
    assert result.verdict == "holds"
    assert "every interleaving" in result.scope


def test_what_was_reached_or_broken_before_the_limit_is_still_reported() -> None:
    result = run_check(Check("unordered"), Limits(states=400))
    assert result.verdict == "violated"
    assert verdicts(result) == {
        "fifo": "violated",
        "causal": "violated",
        "delivers-once": "unknown",
        "delivers-all": "unknown",
        "never-blocks": "unknown",
        "delivers-something": "holds",
    }


# -- sometimes ---------------------------------------------------------------------------------------------------------


NeverSleeps = variant(Unordered, witnesses={"sleeps": lambda machine, i, state: False})


def test_a_situation_that_no_run_reaches_is_unknown_and_not_said_to_hold() -> None:
    result = check_of(NeverSleeps, processes=2, messages=2)
    assert verdicts(result)["sleeps"] == "unknown"
    assert note(result, "sleeps") == "no run within the bound reaches it"


def test_where_nothing_is_ever_delivered_nothing_is_said_to_hold() -> None:
    result = run_check(Check("rst", program=notation.parse("P1: ...\nP2:")))
    assert result.exploration.stopped is None
    assert verdicts(result)["delivers-something"] == "unknown"
    assert result.verdict == "unknown"


BadFromTheStart = variant(Unordered, invariants={"never-true": lambda machine, i, state: False})


def test_an_invariant_that_is_false_at_first_is_broken_by_the_empty_run() -> None:
    result = check_of(BadFromTheStart, processes=2, messages=1)
    assert result.exploration.violated["never-true"] == 0
    assert says(result, "never-true") == []


# -- runs that never end -----------------------------------------------------------------------------------------------


def at_p2(**follows: list[tuple[str, str]]) -> Any:
    """`internal`, by which P2 alone changes: state → the step and the state after it."""
    return lambda self, i, state: [(name, Step(after)) for name, after in follows[state]] if i else []


#: No protocol, at processes that fall asleep and wake up as they like; nothing arrives at one asleep.
Dozing = variant(
    Unordered,
    symmetric=False,
    initial=lambda self, i: "awake",
    send=lambda self, i, state, message: changed(Unordered.send(self, i, (), message), lambda _: state),
    deliverable=lambda self, i, state, packet: state == "awake",
    on_packet=lambda self, i, state, packet: changed(Unordered.on_packet(self, i, (), packet), lambda _: state),
    internal=lambda self, i, state: [
        ("fall asleep", Step("asleep")) if state == "awake" else ("wake up", Step("awake"))
    ],
)
SULKS = at_p2(awake=[("turn left", "left")], left=[("turn right", "right")], right=[("turn left", "left")])
#: P2 may also sulk: from then on it turns left and right for ever, and nothing arrives.
Sulking = variant(Dozing, internal=SULKS)
#: P2 may also sleep for good, and dream: a step that changes nothing.
Spinning = variant(Dozing, internal=at_p2(awake=[("fall asleep", "asleep")], asleep=[("dream", "asleep")]))
#: P2 may fall into a deep sleep or, in one step more, into a deeper one; it wakes from neither.
TwoSleeps = variant(
    Dozing,
    internal=at_p2(
        awake=[("lie down", "abed"), ("fall asleep", "asleep")],
        abed=[("fall deeper asleep", "deeper")],
        asleep=[("dream", "asleep")],
        deeper=[("dream", "deeper")],
    ),
)
SendsAwake = variant(
    Dozing, send=lambda self, i, state, message: Dozing.send(self, i, state, message) if state == "awake" else []
)
#: P2 sulks before anything else, so that what it should have sent is never sent.
SulksAtFirst = variant(SendsAwake, internal=SULKS, initial=lambda self, i: "left" if i == 1 else "awake")


@pytest.mark.parametrize(
    ("kind", "messages", "run"),
    [
        (Dozing, 2, None),  # a delivery that can only be postponed is not missing
        (SendsAwake, 2, None),  # nor is a send blocked that can only be postponed
        (Sulking, 1, ["P1: send m1 to P2", "P2: turn left"]),
        (Spinning, 1, ["P1: send m1 to P2", "P2: fall asleep"]),  # a step that changes nothing goes on for ever
        (TwoSleeps, 1, ["P1: send m1 to P2", "P2: fall asleep"]),  # of several ways a shortest is shown
    ],
)
def test_a_delivery_is_missing_where_something_else_can_go_on_for_ever(
    kind: type[ProtocolMachine], messages: int, run: list[str] | None
) -> None:
    result = check_of(kind, processes=2, messages=messages, orders=("asynchronous",))
    assert verdicts(result) == dict.fromkeys(verdicts(result), "holds") | ({"delivers-all": "violated"} if run else {})
    if run:
        assert sorted(says(result, "delivers-all")) == run
        assert note(result, "delivers-all") == "from here on it can repeat forever; never delivered: m1 at P2"
        assert result.exploration.terminal_states == 0 or kind is not Sulking


def test_a_program_that_waits_for_ever_while_something_else_goes_on_does_not_complete() -> None:
    program = notation.parse("P1: receive\nP2: send x to P1")
    result = check_of(SulksAtFirst, program=program, orders=("asynchronous",))
    assert verdicts(result)["completes"] == "violated"
    assert says(result, "completes") == []
    postponed = check_of(SendsAwake, program=program, orders=("asynchronous",))
    assert verdicts(postponed)["completes"] == "holds"


def test_a_search_that_was_stopped_says_nothing_of_runs_that_never_end() -> None:
    result = check_of(Sulking, Limits(states=3), processes=2, messages=1, orders=("asynchronous",))
    assert verdicts(result)["delivers-all"] == "unknown"


def test_a_space_without_cycles_has_no_run_that_never_ends_though_it_is_not_graded() -> None:
    result = run_check(Check("unordered", processes=2, messages=2, channel="duplicating"))
    assert not result.exploration.graded
    assert verdicts(result)["delivers-all"] == "holds"
