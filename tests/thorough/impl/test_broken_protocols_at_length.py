"""What takes longer of the tests in `test_broken_protocols.py`."""

from __future__ import annotations

from functools import cache

import broken_buffer
import broken_murty_garg
import broken_rst
import pytest
from broken_protocols import BROKEN_PROGRAMS, HARMLESS
from catches import CATCHES, keeps_by_definition, original
from planted import Catch, Harmless, ProgramCatch
from replay import check, never_reached, violations
from tiers import slow_where

from crownless.impl.protocol import ProtocolMachine
from crownless.runtime.ending import Limits
from crownless.spec.orders import ORDERS


def enough(kind: type[ProtocolMachine]) -> Limits:
    """Some faults let buffers grow for ever, one of them with every state."""
    return Limits(states=2_000 if kind is broken_buffer.PostsTheSameAgain else 20_000)


SETUPS = {repr(catch.setup): catch.setup for _, catch in CATCHES}


def name_of(value: type[ProtocolMachine] | Catch | ProgramCatch | Harmless) -> str:
    """The name of a test's case."""
    if isinstance(value, Catch | ProgramCatch):
        return value.property
    return (value.machine if isinstance(value, Harmless) else value).__name__


@cache
def broken_at(kind: type[ProtocolMachine], n: int, m: int, setup: str) -> dict[str, int]:
    """The properties that break at this bound, with the actions of a shortest run; `setup`: its text."""
    return violations(check(kind, n, m, **SETUPS[setup]._asdict(), limits=enough(kind)))


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "catch"), slow_where(lambda row: row[1].processes * row[1].messages > 6, CATCHES), ids=name_of
)
def test_a_fault_is_caught_by_the_property_that_names_it_in_as_many_actions(
    kind: type[ProtocolMachine], catch: Catch
) -> None:
    """At that bound and at no smaller one, and the protocol itself keeps the property there."""
    name, n, m, actions, setup = catch
    result = check(kind, n, m, **setup._asdict(), limits=enough(kind))
    assert result.verdict == "violated"
    assert violations(result)[name] == actions
    assert name not in ORDERS or not keeps_by_definition(result, name)
    for smaller in ((n - 1, m), (n, m - 1)):
        if smaller[0] >= 2 and smaller[1] >= 1:
            assert name not in broken_at(kind, *smaller, repr(setup))  # type: ignore[arg-type]
    assert name not in broken_at(original(kind), n, m, repr(setup))  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "catch"), BROKEN_PROGRAMS, ids=name_of)
def test_a_fault_that_only_a_program_shows_is_caught(kind: type[ProtocolMachine], catch: ProgramCatch) -> None:
    setup = catch.setup._asdict()
    assert violations(check(kind, program=catch.program, **setup))[catch.property] == catch.actions
    assert catch.property not in violations(check(original(kind), program=catch.program, **setup))


@pytest.mark.parametrize(
    ("kind", "situation"),
    [
        (broken_rst.AsksForMore, "delivers-something"),
        (broken_rst.DeliversWhatArrives, "holds-back"),
        (broken_buffer.RefusesWhileItWaits, "a-message-waits-for-an-acknowledgement"),
        (broken_buffer.NeverEnqueues, "an-input-buffer-holds-two"),
        (broken_murty_garg.SendsWhilePassive, "a-send-waits-for-an-acknowledgement"),
        (broken_murty_garg.AcknowledgesWhilePassive, "an-acknowledgement-is-withheld"),
    ],
)
def test_a_machine_that_never_comes_into_a_situation_is_not_said_to_reach_it(
    kind: type[ProtocolMachine], situation: str
) -> None:
    assert situation in never_reached(check(kind, 3, 3))
    assert situation not in never_reached(check(original(kind), 3, 3))


# -- variations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", slow_where(lambda row: row.processes * row.messages > 6, HARMLESS), ids=name_of)
def test_a_harmless_variation_keeps_every_property(row: Harmless) -> None:
    result = check(row.machine, row.processes, row.messages, **row.setup._asdict())
    assert result.verdict == "holds"
    assert violations(result) == {}
    assert never_reached(result) == row.never_reaches
    assert result.exploration.states == row.states


@pytest.mark.parametrize(
    "kind",
    [
        broken_rst.MergesBeforeIncrementing,
        broken_rst.MergesAllButItsOwnColumn,
        broken_rst.ReadsItsColumnForDeliv,
        broken_rst.IncrementsBeforeSending,
        broken_murty_garg.ReversesTheRanks,
    ],
)
@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 3), (4, 2)])
def test_a_variation_that_is_the_protocol_in_other_words_has_its_counts(
    kind: type[ProtocolMachine], n: int, m: int
) -> None:
    found = [check(machine, n, m).exploration for machine in (kind, original(kind))]
    ours, its = ((one.states, one.transitions, one.depth, one.terminal_states) for one in found)
    assert ours == its
