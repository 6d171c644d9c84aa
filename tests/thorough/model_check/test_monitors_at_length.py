"""What takes longer of the tests in `test_monitors.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from monitored_systems import REPEATED, WORKLOADS, system_of, walk

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.system import open_points
from crownless.model_check.system.clocks import Clocks
from crownless.model_check.system.monitors import (
    DeliveryMonitor,
    FifoAndCausal,
    History,
    Monitor,
    Observation,
)
from crownless.model_check.system.open_points import OpenPoints
from crownless.model_check.system.system import System
from crownless.spec.clocks import LamportClock, VectorClock
from crownless.spec.computation import Message


def admitted(kind: type[ProtocolMachine], workload: Workload) -> bool:
    """Does the protocol's text admit the messages of this workload?"""
    if isinstance(workload, Free):
        messages = [Message("", sender, receivers) for sender, receivers in workload.channels]
    else:
        assert isinstance(workload, Program)
        messages = workload.all_messages
    return all(
        (kind.admits_self_sends or message.sender not in message.receivers)
        and (kind.admits_multicast or len(message.receivers) == 1)
        for message in messages
    )


#: What a monitor sees differs with these: sends and deliveries in one step or more, several deliveries in one step,
#: sends after the delivery, deadlocks, multicasts.
KINDS = {
    name: PROTOCOLS[name]
    for name in ("unordered", "rst", "buffer", "murty-garg", "rendezvous", "isis", "ses-multicast")
}

EXPLORED = [
    (protocol, channel, name)
    for protocol, kind in KINDS.items()
    for channel, workloads in (("unordered", WORKLOADS), ("fifo", WORKLOADS), ("duplicating", REPEATED))
    for name, workload in workloads.items()
    if admitted(kind, workload())
]


# -- full explorations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "channel", "workload"),
    [combination for combination in EXPLORED if PROTOCOLS[combination[0]].sends_before_delivery],
)
def test_fifo_and_causal_reports_what_history_reports_at_every_node(protocol: str, channel: str, workload: str) -> None:
    system = system_of(
        protocol, channel, workload, lambda n: [FifoAndCausal(n), History(n, "fifo"), History(n, "causal")]
    )
    nodes = 0
    for _, _, (compact, by_fifo, by_causal) in walk(system):
        assert compact == by_fifo | by_causal
        nodes += 1
    assert nodes > 3


@pytest.mark.parametrize("order", open_points.WATCHED)
@pytest.mark.parametrize(("protocol", "channel", "workload"), EXPLORED)
def test_open_points_report_what_history_reports_at_every_node(
    protocol: str, channel: str, workload: str, order: str
) -> None:
    """History waits with its judgement while a message is delivered and not yet sent."""
    system = system_of(protocol, channel, workload, lambda n: [OpenPoints(n, order), History(n, order)])
    judged = 0
    for _, monitor_state, (compact, whole) in walk(system):
        assert whole <= compact
        events = set(chain.from_iterable(monitor_state[1]))
        if all(("send", message) in events for _, message in events):
            assert compact == whole
            judged += 1
    assert judged > 1


# -- renamed ---------------------------------------------------------------------------------------------------------

#: With three processes.
MONITORS: dict[str, Callable[[], Monitor]] = {
    "DeliveryMonitor": DeliveryMonitor,
    "DeliveryMonitor, deliveries after the send": lambda: DeliveryMonitor(sends_before_delivery=True),
    "FifoAndCausal": lambda: FifoAndCausal(3),
    **{f"OpenPoints of {order}": partial(OpenPoints, 3, order) for order in open_points.WATCHED},
    "History of n-n": lambda: History(3, "n-n"),
    "Lamport's clocks": lambda: Clocks(3, LamportClock()),
    "vector clocks": lambda: Clocks(3, VectorClock()),
}


@st.composite
def runs_of_three(draw: st.DrawFn) -> list[tuple[Observation, ...]]:
    """What happens for the applications in the first steps of a run of the free workload."""
    protocol = draw(st.sampled_from(sorted(KINDS)))
    channel = draw(st.sampled_from(["unordered", "duplicating"]))
    free = Free(3, 4, sends="multicast" if KINDS[protocol].admits_multicast else "unicast")
    system = System(KINDS[protocol](3), free, CHANNELS[channel], [DeliveryMonitor()])
    state, steps = system.initial(), []
    for _ in range(draw(st.integers(0, 14))):
        moves = system.moves(state)
        if not moves:
            break
        step, state = draw(st.sampled_from(moves))
        steps.append(step.observations)
    return steps


@pytest.mark.parametrize("kind", MONITORS)
@given(runs_of_three(), st.permutations(range(3)), st.booleans())
def test_a_monitor_state_renamed_is_the_monitor_state_of_the_run_renamed(
    kind: str, run: list[tuple[Observation, ...]], image: list[int], seen_before: bool
) -> None:
    monitor, renaming = MONITORS[kind](), Renaming(tuple(image))
    renamed_run = [
        [Observation(kind, image[process], renaming.message(message)) for kind, process, message in step]
        for step in run
    ]
    if seen_before:  # then the copies are numbered in another order
        for step in renamed_run:
            monitor.encode_all(step)
    monitor_state, other = monitor.initial(), monitor.initial()
    for before, after in zip(run, renamed_run, strict=True):
        for code, code_after in zip(monitor.encode_all(before), monitor.encode_all(after), strict=True):
            monitor_state, reported = monitor.observe(monitor_state, code)
            other, reported_after = monitor.observe(other, code_after)
            assert reported == reported_after
        assert monitor.renamed(monitor_state, renaming) == other
