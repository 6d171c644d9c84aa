"""What takes longer of the tests in `test_explorer.py`."""

from __future__ import annotations

import pytest
from in_order import bound
from plain_check import run_check

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.search.engines import NATIVE_CHANNELS
from crownless.model_check.search.explorer import explore
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.monitors import DeliveryMonitor, FifoAndCausal, History, Monitor
from crownless.model_check.system.open_points import OpenPoints
from crownless.model_check.system.request import Check
from crownless.model_check.system.system import System
from crownless.runtime.ending import Limits

# -- a naive exploration -----------------------------------------------------------------------------------------------


def counts(found: Exploration) -> dict[str, int]:
    return {
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "terminal states": found.terminal_states,
    }


def explored(kind: type[ProtocolMachine], channel: str, n: int, messages: int, *watching: Monitor) -> Exploration:
    return explore(System(kind(n), Free(n, messages), CHANNELS[channel], [DeliveryMonitor(), *watching]), [])


# -- counts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
def test_the_counts_do_not_depend_on_the_monitors(protocol: str, channel: str) -> None:
    n, messages = bound(protocol, *((2, 2) if channel == "duplicating" else (3, 2)), channel)
    kind = PROTOCOLS[protocol]
    alone = explored(kind, channel, n, messages)
    monitored: list[list[Monitor]] = [[OpenPoints(n, "synchronous")], [History(n, "n-n")]]
    if kind.sends_before_delivery:
        monitored += [[FifoAndCausal(n)], [FifoAndCausal(n), OpenPoints(n, "synchronous")]]
    for monitors in monitored if (protocol, channel) != ("murty-garg", "duplicating") else monitored[:1]:
        found = explored(kind, channel, n, messages, *monitors)
        assert counts(found) == counts(alone)
        assert found.graded == alone.graded
        assert found.nodes >= alone.nodes >= alone.states


@pytest.mark.parametrize(
    ("protocol", "channel", "n", "messages"),
    [
        (protocol, channel, n, messages)
        for protocol in PROTOCOLS
        for channel in NATIVE_CHANNELS
        for n, messages in ((2, 2), (3, 3))
        if messages == 2 or channel != "duplicating"  # which would take minutes
    ],
)
def test_a_space_is_called_graded_exactly_if_every_action_leads_one_level_down(
    protocol: str, channel: str, n: int, messages: int
) -> None:
    n, messages = bound(protocol, n, messages, channel)
    system = System(PROTOCOLS[protocol](n), Free(n, messages), CHANNELS[channel], [DeliveryMonitor()])
    level = {system.initial(): 0}
    edges = []
    for state in (states := [system.initial()]):
        for _, target in system.moves(state):
            edges.append((state, target))
            if target not in level:
                level[target] = level[state] + 1
                states.append(target)
    graded = all(level[target] == level[state] + 1 for state, target in edges)
    assert explore(system, []).graded == graded


# -- limits ------------------------------------------------------------------------------------------------------------


def claims(result: CheckResult) -> set[str]:
    """What is said to hold and needed a look at everything."""
    return {
        known.property.name
        for known in result.properties
        if known.property.kind != "sometimes" and known.verdict == "holds"
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_search_that_reaches_its_limit_of_states_claims_nothing_to_hold(protocol: str) -> None:
    n, messages = bound(protocol, 2, 3)
    check = Check(protocol, processes=n, messages=messages)
    everything = run_check(check).exploration.states
    for states in (1, 2, 10, everything - 1):
        result = run_check(check, Limits(states=states))
        assert result.exploration.states == states
        assert result.exploration.stopped == f"state limit of {states} reached"
        assert result.verdict in ("unknown", "violated")
        assert claims(result) == set()
        assert f"search ended early: state limit of {states} reached" in result.scope
