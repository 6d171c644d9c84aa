"""Reachable states with a history variable beside them; and checks that decide chosen properties alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from crownless.impl.protocols.unordered import Unordered
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.search.reachable import HistoryVariable, reachable, shortest_path, shortest_run_to
from crownless.model_check.system.properties import CAN_COMPLETE, COMPLETES, DELIVERS_ALL, Property
from crownless.model_check.system.request import Check, NotApplicable
from crownless.model_check.system.system import LocalStep, System
from crownless.runtime.errors import BadInput
from crownless.spec import notation
from crownless.spec.orders import ORDERS

CAUSAL = Property("causal", "always", ORDERS["causal"].demands)


def lossy() -> System:
    return Check(Unordered(2), workload=Free(2, 1), channel="lossy", orders=("asynchronous",)).resolve().system()


def _losses(system: System, losses: int, step: LocalStep) -> int:
    return losses + (step.action.name == "lose")


LOSSES = HistoryVariable(0, _losses)


def test_a_state_counts_once_for_each_value_of_the_history_variable() -> None:
    # Of either message: in flight, or gone, whether it was delivered or lost.
    assert [now.depth for now in reachable(lossy())] == [0, 1, 1, 2, 2]
    assert [(now.depth, now.history) for now in reachable(lossy(), history=LOSSES)] == [
        (0, 0), (1, 0), (1, 0), (2, 0), (2, 1), (2, 0), (2, 1)
    ]  # fmt: skip


def test_a_history_variable_records_which_way_a_state_was_reached() -> None:
    run = shortest_run_to(lossy(), lambda now: now.history == 1, history=LOSSES)
    assert run is not None
    assert [action.action for action in run.actions] == ["send", "lose"]
    delivered = shortest_run_to(lossy(), lambda now: now.depth == 2 and now.history == 0, history=LOSSES)
    assert delivered is not None
    assert [action.action for action in delivered.actions] == ["send", "deliver"]
    assert shortest_path(lossy(), lambda now: now.history == 2, history=LOSSES) is None


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_check_decides_the_chosen_properties_alone(engine: str) -> None:
    overtaken = run_check(Check("unordered", 3, 3, properties=(CAUSAL,)), engine=engine)
    assert [line.property.name for line in overtaken.properties] == list(overtaken.violations) == ["causal"]
    assert overtaken["causal"].run is not None
    delivered = run_check(Check("unordered", 3, 3, properties=(DELIVERS_ALL,)), engine=engine)
    assert delivered.holds
    assert [line.property.name for line in delivered.properties] == ["delivers-all"]


def test_of_a_program_that_waits_for_ever_all_may_yet_be_delivered() -> None:
    program = notation.parse("P1: send x to P2\nP2: receive; receive")
    assert "completes" in run_check(Check("unordered", program=program)).violations
    chosen = run_check(Check("unordered", program=program, properties=(DELIVERS_ALL,)))
    assert chosen.holds
    assert chosen.completes is None
    for properties in ((COMPLETES,), (COMPLETES, CAN_COMPLETE)):
        assert run_check(Check("unordered", program=program, properties=properties)).completes == "never"


@pytest.mark.parametrize(
    "known", [Property("synchronous", "always", ""), CAUSAL._replace(kind="live"), Property("causal", "sometimes", "")]
)
def test_a_property_that_the_check_cannot_decide_is_refused(known: Property) -> None:
    with pytest.raises(NotApplicable, match=f"{known.kind} property '{known.name}' cannot be decided by this check"):
        Check("rst", 2, 2, orders=("fifo", "causal"), properties=(known,)).resolve()


def test_a_check_of_chosen_properties_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="a check with custom properties cannot be saved"):
        run_check(Check("rst", 2, 2, properties=(CAUSAL,)), checkpoint=tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
